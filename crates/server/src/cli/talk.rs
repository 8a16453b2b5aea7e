//! Interactive chat in the terminal. Streams answers, stops them on Ctrl-C, and reconnects when the server restarts.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use session::Stage;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::cursor::Cursor;

use super::client::{Client, Pause};
use super::terminal::{plain, remark, say};

/// How the answer to a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Completed,
    NotCompleted,
}

/// Prints the entries of a session.
#[derive(Debug)]
pub(crate) struct Teller {
    /// Entries up to this one are older than this chat and not printed.
    from: u64,
    /// Whether the terminal's cursor is in the middle of a line.
    in_line: bool,
    reasoning: bool,
    /// The current run.
    run: Option<u64>,
    /// Whether to print a prompt.
    prompts: bool,
    /// The printed text of the current answer.
    said: String,
    /// The text of a continuation, as long as its seam with the printed text is undecided.
    continuation: Option<String>,
    /// Whether the run was interrupted. Printed once it is clear that the run does not resume.
    interrupted: bool,
}

impl Teller {
    pub(crate) fn new(from: u64) -> Self {
        Self {
            from,
            in_line: false,
            reasoning: false,
            run: None,
            prompts: false,
            said: String::new(),
            continuation: None,
            interrupted: false,
        }
    }

    /// Creates a teller that prints a prompt, if this is a terminal.
    fn prompting(from: u64) -> Self {
        Self { prompts: io::stdin().is_terminal() && io::stdout().is_terminal(), ..Self::new(from) }
    }

    /// Prints one entry. Returns how the run ended, if the entry is its end.
    pub(crate) fn tell(&mut self, entry: &Value) -> io::Result<Option<Shown>> {
        let Some((kind, body)) = entry["event"].as_object().and_then(|event| event.iter().next()) else {
            return Ok(None);
        };
        let quiet = entry["seq"].as_u64().unwrap_or(0) <= self.from;
        match kind.as_str() {
            "run_started" => {
                self.run = entry["seq"].as_u64();
                if body["cause"] == "resume" {
                    // The run continues the printed text, so print nothing in between.
                    self.interrupted = false;
                } else {
                    self.settled()?;
                    // The user's Enter ended the line of the prompt.
                    self.in_line &= !self.prompts;
                    if body["cause"] != "continue" {
                        self.said.clear();
                    }
                }
            }
            "step_started" if body["asked_to_continue"] == true => self.continuation = Some(String::new()),
            "run_ended" => {
                self.run = None;
                if !quiet {
                    return self.ended(&body["end"]).map(Some);
                }
            }
            "text_added" if !quiet => self.text(body["text"].as_str().unwrap_or_default())?,
            "text_added" => self.said.push_str(body["text"].as_str().unwrap_or_default()),
            "reasoning_added" if !quiet => self.stream(body["text"].as_str().unwrap_or_default(), true)?,
            "call_asked" if !quiet => {
                self.join(Stage::Completed)?;
                self.said.clear();
                self.note(&format!(
                    "{} {}",
                    body["tool"].as_str().unwrap_or_default(),
                    body["arguments"].as_str().unwrap_or_default()
                ))?;
            }
            "title_generated" if !quiet => {
                self.note(&format!("title: {}", body["title"].as_str().unwrap_or_default()))?;
                self.prompt()?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Prints text of the answer. Joins a continuation to the printed text, as all other clients do.
    fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(continuation) = &mut self.continuation {
            continuation.push_str(text);
            return self.join(Stage::Unfinished);
        }
        self.said.push_str(text);
        self.stream(text, false)
    }

    /// Joins the continuation to the printed text and prints the new part, if any.
    fn join(&mut self, stage: Stage) -> io::Result<()> {
        let Some(continuation) = self.continuation.take() else { return Ok(()) };
        let printed = self.said.len();
        session::join(&mut self.said, &continuation, stage);
        if self.said.len() == printed && stage == Stage::Unfinished {
            self.continuation = Some(continuation);
        }
        let new = self.said[printed..].to_owned();
        self.stream(&new, false)
    }

    /// Prints that the answer was interrupted, if it does not resume automatically.
    pub(crate) fn settled(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.interrupted) {
            self.note(
                "interrupted; everything above is saved; continue in the browser or send another message",
            )?;
        }
        Ok(())
    }

    fn stream(&mut self, text: &str, reasoning: bool) -> io::Result<()> {
        if self.reasoning != reasoning {
            self.end_line()?;
            self.reasoning = reasoning;
        }
        let text = plain(text);
        self.in_line = !text.is_empty() && !text.ends_with('\n') || (self.in_line && text.is_empty());
        // Dim the reasoning. The text itself contains no escape sequences.
        say(&if reasoning { format!("\x1b[2m{text}\x1b[0m") } else { text })
    }

    fn ended(&mut self, end: &Value) -> io::Result<Shown> {
        if end == "completed" {
            self.join(Stage::Completed)?;
            self.end_line()?;
            self.prompt()?;
            return Ok(Shown::Completed);
        }
        // Don't print a held-back continuation: the next run continues the printed text.
        self.continuation = None;
        if end.get("interrupted").is_some() {
            self.interrupted = true;
            return Ok(Shown::NotCompleted);
        }
        self.end_line()?;
        if let Some(failed) = end["failed"]["error"].as_str() {
            self.note(failed)?;
            self.prompt()?;
        } else if end.get("stopped").is_some() {
            self.note("stopped; everything above is saved")?;
            self.prompt()?;
        } else if end.get("output_limit").is_some() {
            self.note("output limit reached; everything above is saved")?;
            self.prompt()?;
        } else {
            self.note("ended; everything above is saved")?;
            self.prompt()?;
        }
        Ok(Shown::NotCompleted)
    }

    /// Prints a prompt if the user can type now.
    fn prompt(&mut self) -> io::Result<()> {
        if !self.prompts || self.run.is_some() || self.in_line {
            return Ok(());
        }
        self.in_line = true;
        say("> ")
    }

    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        say(&format!("[{}]\n", plain(text)))
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.in_line) { say("\n") } else { Ok(()) }
    }
}

/// Prints the answer of a turn until it ends, across restarts of the server.
pub(crate) async fn follow_turn(
    client: &Client,
    session: Uuid,
    turn: u64,
    teller: &mut Teller,
) -> anyhow::Result<Shown> {
    let mut cursor = Cursor::number(turn.saturating_sub(1));
    let mut ours = None;
    let mut ended = None;
    let mut pause = Pause::default();
    loop {
        if let Ok(mut events) = client.follow(session, cursor).await {
            while let Some(event) = events.next().await {
                pause = Pause::default();
                if event.name == "caught_up"
                    && let Some(shown) = ended
                {
                    teller.settled()?;
                    return Ok(shown);
                }
                let Some(id) = event.id.filter(|_| event.name == "entry") else { continue };
                let entry: Value = serde_json::from_str(&event.data)?;
                let started = &entry["event"]["run_started"];
                if started["turn"].as_u64() == Some(turn) {
                    (ours, ended) = (Some(id.seq.0), None);
                }
                // Skip other turns of the session.
                let about_ours = started["turn"].as_u64() == Some(turn) || run_of(&entry) == ours;
                if about_ours && let Some(shown) = teller.tell(&entry)? {
                    // An interrupted run may resume in a new run, which follows immediately in the log.
                    if shown == Shown::Completed
                        || entry["event"]["run_ended"]["end"].get("interrupted").is_none()
                    {
                        return Ok(shown);
                    }
                    ended = Some(shown);
                }
                cursor = id;
            }
        }
        pause.wait().await;
    }
}

fn run_of(entry: &Value) -> Option<u64> {
    entry["event"].as_object()?.values().next()?["run"].as_u64()
}

/// State shared by the input and the output of a chat.
struct Shared {
    client: Client,
    session: Uuid,
    /// The current run; 0 for none.
    run: AtomicU64,
    away: AtomicBool,
    /// The last printed entry.
    told: watch::Sender<u64>,
}

pub(crate) async fn run(client: Client, session: Option<Uuid>) -> anyhow::Result<ExitCode> {
    let (session, from) = match session {
        Some(session) => {
            let view = client.ask(Method::GET, &format!("/sessions/{session}"), None).await?;
            (session, view["seq"].as_u64().unwrap_or(0))
        }
        None => (client.create().await?, 0),
    };
    remark(&format!(
        "session {session}   (Ctrl-C stops an answer; press it again to exit. Return with `everturn chat --session {session}`)"
    ));
    let shared = Arc::new(Shared {
        client,
        session,
        run: AtomicU64::new(0),
        away: AtomicBool::new(false),
        told: watch::Sender::new(0),
    });
    let follower = crate::spawn::spawn(follow(shared.clone(), from));
    let (lines, mut typed) = mpsc::channel(16);
    crate::spawn::spawn(async move {
        let mut input = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = input.next_line().await {
            if lines.send(line).await.is_err() {
                return;
            }
        }
    });
    let mut leaving = false;
    loop {
        tokio::select! {
            line = typed.recv() => match line {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => {
                    leaving = false;
                    post(&shared, &line).await;
                }
                None => {
                    wait_until_quiet(&shared).await;
                    break;
                }
            },
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                let run = shared.run.load(Ordering::Acquire);
                if run == 0 || leaving {
                    break;
                }
                leaving = true;
                let path = format!("/sessions/{}/stop", shared.session);
                if let Err(error) = shared.client.ask(Method::POST, &path, Some(&json!({ "run": run }))).await {
                    remark(&format!("[{error}]"));
                }
            }
        }
    }
    follower.abort();
    remark("");
    Ok(ExitCode::SUCCESS)
}

async fn post(shared: &Shared, line: &str) {
    match shared.client.post(shared.session, line, "queue").await {
        Ok(kept) => {
            if kept["run"].is_null() {
                remark("[queued until the current answer ends]");
            } else {
                // Store the run before its first entry arrives, so that Ctrl-C can stop it.
                shared.run.store(kept["run"].as_u64().unwrap_or(0), Ordering::Release);
            }
        }
        Err(error) => remark(&format!("[not sent: {error}]")),
    }
}

/// Waits until all messages are answered, after the input has ended, as with a pipe.
async fn wait_until_quiet(shared: &Shared) {
    let mut told = shared.told.subscribe();
    loop {
        let view = shared.client.ask(Method::GET, &format!("/sessions/{}", shared.session), None).await;
        if let Ok(view) = view {
            let quiet = view["run"].is_null()
                && view["queue"]
                    .as_array()
                    .is_none_or(|queue| queue.iter().all(|queued| queued["paused"] == true));
            let seq = view["seq"].as_u64().unwrap_or(0);
            // An error means that the follower has ended, so nothing more is printed.
            if told.wait_for(|told| *told >= seq).await.is_err() || quiet {
                return;
            }
        }
        if told.changed().await.is_err() {
            return;
        }
    }
}

/// Prints all entries of the session. Reconnects when the server restarts.
async fn follow(shared: Arc<Shared>, from: u64) {
    let mut teller = Teller::prompting(from);
    let mut cursor = Cursor::number(0);
    let mut pause = Pause::default();
    loop {
        match shared.client.follow(shared.session, cursor).await {
            Ok(mut events) => {
                if shared.away.swap(false, Ordering::AcqRel) {
                    drop(teller.note("reconnected"));
                }
                while let Some(event) = events.next().await {
                    pause = Pause::default();
                    if event.name == "caught_up" && (teller.settled().is_err() || teller.prompt().is_err()) {
                        return;
                    }
                    let Some(id) = event.id.filter(|_| event.name == "entry") else { continue };
                    let Ok(entry) = serde_json::from_str(&event.data) else { continue };
                    if teller.tell(&entry).is_err() {
                        return;
                    }
                    shared.run.store(teller.run.unwrap_or(0), Ordering::Release);
                    cursor = id;
                    shared.told.send_replace(cursor.seq.0);
                }
            }
            Err(error) if error.is_passing() => {}
            Err(error) => {
                remark(&format!("[{error}]"));
                return;
            }
        }
        if !shared.away.swap(true, Ordering::AcqRel) {
            drop(teller.note("disconnected, reconnecting; nothing is lost"));
        }
        pause.wait().await;
    }
}

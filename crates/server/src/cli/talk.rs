//! A conversation in the terminal: answers stream, one Ctrl-C stops them, and a server that goes away and comes back
//! is picked up where it was.

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

/// Tells the entries of a session to a person.
#[derive(Debug)]
pub(crate) struct Teller {
    /// Entries up to this one are not told: they were there before.
    from: u64,
    /// Whether the cursor is in the middle of a line.
    in_line: bool,
    reasoning: bool,
    /// The run that is going on.
    run: Option<u64>,
    /// Whether a person is asked for the next message.
    prompts: bool,
    /// The text of the current answer, as it was printed.
    said: String,
    /// The text of a run that was asked to continue, while its seam is open.
    continuation: Option<String>,
    /// An interruption, printed once it is clear that the run does not resume.
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

    /// One that shows a sign when it is the person's turn.
    fn prompting(from: u64) -> Self {
        Self { prompts: io::stdin().is_terminal() && io::stdout().is_terminal(), ..Self::new(from) }
    }

    /// Tells one entry. Answers how a run ended, when one did and does not go on.
    pub(crate) fn tell(&mut self, entry: &Value) -> io::Result<Option<Shown>> {
        let Some((kind, body)) = entry["event"].as_object().and_then(|event| event.iter().next()) else {
            return Ok(None);
        };
        let quiet = entry["seq"].as_u64().unwrap_or(0) <= self.from;
        match kind.as_str() {
            "run_started" => {
                self.run = entry["seq"].as_u64();
                if body["cause"] == "resume" {
                    // It continues the text that was printed, so nothing is said in between.
                    self.interrupted = false;
                } else {
                    self.settled()?;
                    // The person's own Enter ended the line of the sign.
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

    /// Prints text of the answer. A continuation is joined to what was printed, as every other reader gets it.
    fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(continuation) = &mut self.continuation {
            continuation.push_str(text);
            return self.join(Stage::Unfinished);
        }
        self.said.push_str(text);
        self.stream(text, false)
    }

    /// Joins the continuation to the printed text, and prints the new part. The seam stays open until there is one.
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

    /// Prints that the answer was interrupted, once it is clear that it does not resume by itself.
    pub(crate) fn settled(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.interrupted) {
            self.note(
                "interrupted; everything above is kept; continue in the browser or send another message",
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
        // Reasoning is dimmed; these are our own two escapes.
        say(&if reasoning { format!("\x1b[2m{text}\x1b[0m") } else { text })
    }

    fn ended(&mut self, end: &Value) -> io::Result<Shown> {
        if end == "completed" {
            self.join(Stage::Completed)?;
            self.end_line()?;
            self.prompt()?;
            return Ok(Shown::Completed);
        }
        // Held-back text stays unprinted: the next run is asked to continue the printed text.
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
            self.note("stopped; everything above is kept")?;
            self.prompt()?;
        } else if end.get("output_limit").is_some() {
            self.note("the output limit was reached; everything above is kept")?;
            self.prompt()?;
        } else {
            self.note("ended; everything above is kept")?;
            self.prompt()?;
        }
        Ok(Shown::NotCompleted)
    }

    /// Shows that it is the person's turn.
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

/// Follows until the turn's answer ended, through restarts.
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
                // Other turns of the session are somebody else's business.
                let about_ours = started["turn"].as_u64() == Some(turn) || run_of(&entry) == ours;
                if about_ours && let Some(shown) = teller.tell(&entry)? {
                    // A run that a crash cut off goes on by itself; its successor stands right behind it.
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

/// What the terminal's parts share.
struct Shared {
    client: Client,
    session: Uuid,
    /// The run that is going on; 0 for none.
    run: AtomicU64,
    away: AtomicBool,
    /// Entries told so far.
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
        "session {session}   (Ctrl-C stops an answer, twice leaves; `everturn chat --session {session}` comes back)"
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
                remark("[it waits until the answer before it ends]");
            } else {
                // The run is known before its first entry is read, so that Ctrl-C stops it.
                shared.run.store(kept["run"].as_u64().unwrap_or(0), Ordering::Release);
            }
        }
        Err(error) => remark(&format!("[not sent: {error}]")),
    }
}

/// Input ended, as in a pipe: what was asked is answered first.
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
            // A follower that is gone tells nothing more.
            if told.wait_for(|told| *told >= seq).await.is_err() || quiet {
                return;
            }
        }
        if told.changed().await.is_err() {
            return;
        }
    }
}

/// Tells everything that happens in the session, through every restart.
async fn follow(shared: Arc<Shared>, from: u64) {
    let mut teller = Teller::prompting(from);
    let mut cursor = Cursor::number(0);
    let mut pause = Pause::default();
    loop {
        match shared.client.follow(shared.session, cursor).await {
            Ok(mut events) => {
                if shared.away.swap(false, Ordering::AcqRel) {
                    drop(teller.note("the server is back"));
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
            drop(teller.note("the connection is gone; nothing is lost, trying again"));
        }
        pause.wait().await;
    }
}

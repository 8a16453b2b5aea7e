//! What clients and readers do: they post, stop, undo, retry and withdraw, lose answers on purpose, ask twice, use keys
//! again, are cut off, and come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use crate::api::{Api, Brought};
use crate::dice::Dice;
use crate::history::{History, Outcome, Record};
use crate::shown::{self, ShownAnswer};
use crate::verify::{Class, Judgement, Log, Violation, judge};

/// Pause before a server that is away is asked again.
const AWAY: Duration = Duration::from_millis(25);
/// How long a session may be idle with messages waiting, once every client is done.
const REST_MAX: Duration = Duration::from_secs(60);
/// Readers of each session.
const READERS: u32 = 2;
/// The name of a model that takes no prefix, which every server under judgement has.
pub const ASKED_MODEL: &str = "asked";

/// Everyone who plays.
#[derive(Debug)]
pub struct Play {
    pub api: Api,
    pub history: History,
    pub seed: u64,
    pub sessions: usize,
    done: Arc<AtomicBool>,
    pub counts: Arc<Counts>,
}

/// What was done so far, and what was tried with keys.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests whose answer was thrown away, and that were asked again.
    pub dropped: AtomicU64,
    /// Requests that were sent twice after they were answered.
    pub doubled: AtomicU64,
    /// Keys that were used for another body.
    pub reused: AtomicU64,
    /// Answers that were not the same, or not refused, as they must.
    pub wrong: AtomicU64,
    /// Connections of readers.
    pub connections: AtomicU64,
    /// Messages that were accepted so far.
    pub accepted: AtomicU64,
    /// Entries of all sessions that were shown so far.
    pub shown: AtomicU64,
}

impl Play {
    /// Players for a number of sessions.
    pub fn new(api: Api, history: History, seed: u64, sessions: usize) -> Self {
        Self { api, history, seed, sessions, done: Arc::default(), counts: Arc::default() }
    }

    /// Plays until `over`, lets everything come to rest, and answers every log, and the sessions that did not rest.
    ///
    /// # Errors
    /// When a player fails, or a log cannot be had.
    pub async fn run(
        &self,
        over: impl Future<Output = ()>,
    ) -> anyhow::Result<(BTreeMap<Uuid, Log>, Vec<Uuid>)> {
        let sessions = self.ids();
        let mut clients = tokio::task::JoinSet::new();
        let mut readers = tokio::task::JoinSet::new();
        for (no, session) in sessions.iter().enumerate() {
            while !self.api.create(*session).await {
                tokio::time::sleep(AWAY).await;
            }
            let client = Client {
                api: self.api.clone(),
                history: self.history.clone(),
                counts: self.counts.clone(),
                done: self.done.clone(),
                session: *session,
                dice: Dice::new(self.seed.wrapping_mul(31).wrapping_add(no as u64)),
                no: 0,
                name: format!("s{no}"),
                last: None,
            };
            clients.spawn(client.run());
            for reader in 0..READERS {
                let dice =
                    Dice::new(self.seed.wrapping_mul(37).wrapping_add(no as u64 * 7 + u64::from(reader)));
                let (api, history, counts) = (self.api.clone(), self.history.clone(), self.counts.clone());
                readers.spawn(read(api, history, counts, *session, reader, dice));
            }
        }
        over.await;
        self.done.store(true, Ordering::Release);
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        // Several long queues take less time at once.
        for session in &sessions {
            self.resume_queue(*session).await;
        }
        let mut restless = Vec::new();
        let mut logs = BTreeMap::new();
        for session in sessions {
            if !self.rests(session).await {
                restless.push(session);
            }
            logs.insert(session, self.log(session).await?);
        }
        // Readers get what is there by now, and are judged by what they saw until then.
        tokio::time::sleep(Duration::from_millis(200)).await;
        readers.shutdown().await;
        Ok((logs, restless))
    }

    /// Plays until `over` and judges what became of it; answers the logs as well.
    ///
    /// # Errors
    /// When a player fails, or a log cannot be had.
    pub async fn judged(
        &self,
        over: impl Future<Output = ()>,
    ) -> anyhow::Result<(Judgement, BTreeMap<Uuid, Log>)> {
        let (logs, restless) = self.run(over).await?;
        let mut judgement = judge(&self.history.records(), &logs);
        for (session, log) in &logs {
            shown::judge(*session, &self.answers(*session).await?, &mut judgement);
            let stuck = self.api.view(*session).await.is_some_and(|view| view["stuck"] == true);
            shown::judge_suspension(*session, log, stuck, &mut judgement);
        }
        judgement.violations.extend(restless.into_iter().map(|session| Violation {
            class: Class::Wedged,
            session,
            what: "the session does not come to rest".to_owned(),
        }));
        Ok((judgement, logs))
    }

    /// The visible answers of a session, as any reader gets them.
    async fn answers(&self, session: Uuid) -> anyhow::Result<Vec<ShownAnswer>> {
        for _ in 0..400 {
            if let Some(answers) = self.api.answers(session).await {
                return Ok(answers);
            }
            if self.api.is_missing(session).await {
                return Ok(Vec::new());
            }
            tokio::time::sleep(AWAY).await;
        }
        anyhow::bail!("the answers of {session} cannot be had")
    }

    /// Every log, as the server gives it now.
    ///
    /// # Errors
    /// When one cannot be had.
    pub async fn logs(&self) -> anyhow::Result<BTreeMap<Uuid, Log>> {
        let mut logs = BTreeMap::new();
        for session in self.ids() {
            logs.insert(session, self.log(session).await?);
        }
        Ok(logs)
    }

    /// The sessions that are played; a seed repeats them.
    fn ids(&self) -> Vec<Uuid> {
        let ids = (0..self.sessions as u128)
            .map(|no| Uuid::from_u128(u128::from(self.seed) << 64 | 0xE7E7_0000 | no));
        ids.collect()
    }

    /// Resumes a queue that a stop paused: every message must come to an end.
    async fn resume_queue(&self, session: Uuid) {
        let path = format!("/sessions/{session}/queue/resume");
        drop(self.api.ask(Method::POST, &path, &json!({}), None).await);
    }

    /// Waits until a session has no run and an empty queue. Returns whether it got there before it was idle for too long.
    async fn rests(&self, session: Uuid) -> bool {
        let (mut last, mut deadline) = (Value::Null, Instant::now() + REST_MAX);
        while Instant::now() < deadline {
            let view = self.api.view(session).await;
            if let Some(view) = view.as_ref().filter(|view| view["seq"] != last) {
                last = view["seq"].clone();
                deadline = Instant::now() + REST_MAX;
            }
            if let Some(view) = view
                && view["run"].is_null()
                && !shown::will_resume(&view)
                && let Some(queue) = view["queue"].as_array()
            {
                if queue.is_empty() {
                    return true;
                }
                self.resume_queue(session).await;
            }
            // Nothing of it will change any more.
            if self.api.is_missing(session).await {
                return true;
            }
            tokio::time::sleep(AWAY).await;
        }
        false
    }

    async fn log(&self, session: Uuid) -> anyhow::Result<Log> {
        for _ in 0..400 {
            let Some(mut follower) = self.api.follow(session, 0).await else {
                // A session that is gone has an empty log, by which it is judged.
                if self.api.is_missing(session).await {
                    return Ok(Log::new());
                }
                tokio::time::sleep(AWAY).await;
                continue;
            };
            let mut log = Log::new();
            while let Some(brought) = follower.next().await {
                for one in brought {
                    match one {
                        Brought::Entry(shown) => log.push(shown),
                        Brought::CaughtUp => return Ok(log),
                        Brought::Other => {}
                    }
                }
            }
        }
        anyhow::bail!("the log of {session} cannot be had")
    }
}

/// Reads a session for as long as it is let, through every cut.
async fn read(api: Api, history: History, counts: Arc<Counts>, session: Uuid, reader: u32, mut dice: Dice) {
    let mut cursor = 0;
    loop {
        let Some(mut follower) = api.follow(session, cursor).await else {
            tokio::time::sleep(AWAY).await;
            continue;
        };
        counts.connections.fetch_add(1, Ordering::AcqRel);
        while let Some(brought) = follower.next().await {
            let entries: Vec<_> = brought
                .into_iter()
                .filter_map(|one| match one {
                    Brought::Entry(shown) => Some(shown),
                    Brought::CaughtUp | Brought::Other => None,
                })
                .collect();
            let Some(last) = entries.last().map(|last| last.seq) else { continue };
            let records = entries.iter().map(|shown| Record::Seen {
                session,
                reader,
                seq: shown.seq,
                hash: shown.hash(),
            });
            if history.note(records.collect()).is_err() {
                return;
            }
            cursor = last;
            if reader == 0 {
                counts.shown.fetch_add(entries.len() as u64, Ordering::AcqRel);
            }
            if dice.chance(2) {
                break;
            }
        }
    }
}

/// One person in one session.
struct Client {
    api: Api,
    history: History,
    counts: Arc<Counts>,
    done: Arc<AtomicBool>,
    session: Uuid,
    dice: Dice,
    no: u64,
    name: String,
    /// The message that was accepted last: its key, body and turn.
    last: Option<(String, Value, u64)>,
}

impl Client {
    async fn run(mut self) -> anyhow::Result<()> {
        while !self.done.load(Ordering::Acquire) {
            match self.dice.below(100) {
                0..55 => self.post().await?,
                55..63 => {
                    self.ask("stop", Method::POST, "/stop", json!({})).await?;
                    // Most people go on; what stays paused waits until somebody resumes it.
                    if self.dice.chance(70) {
                        self.ask("resume queue", Method::POST, "/queue/resume", json!({})).await?;
                    }
                }
                63..68 => self.ask("undo", Method::POST, "/undo", json!({})).await?,
                68..72 => self.ask("put back", Method::POST, "/put-back", json!({})).await?,
                72..78 => self.ask("retry", Method::POST, "/retry", json!({})).await?,
                78..84 => self.ask("continue", Method::POST, "/continue", json!({})).await?,
                84..86 => self.withdraw().await?,
                86..88 => self.ask("resume queue", Method::POST, "/queue/resume", json!({})).await?,
                88..94 => self.double().await,
                _ => self.reuse().await,
            }
            let pause = 2 + self.dice.below(40);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    fn path(&self, rest: &str) -> String {
        format!("/sessions/{}{rest}", self.session)
    }

    /// Posts a message and asks until it is known what became of it.
    async fn post(&mut self) -> anyhow::Result<()> {
        self.no += 1;
        let (no, key) = (self.no, format!("{}-{}", self.name, self.no));
        let mut text =
            format!("say {} of {}m{no} pace {}", 3 + self.dice.below(25), self.name, 1 + self.dice.below(6));
        for (percent, more) in [(15, " call"), (10, " think 3"), (4, " cut 5"), (4, " refuse 1")] {
            if self.dice.chance(percent) {
                text.push_str(more);
            }
        }
        let mut mode = match self.dice.below(10) {
            0..7 => "queue",
            7..9 => "steer",
            _ => "interrupt",
        };
        let mut model = None;
        // Half of them are answered by a model that takes no prefix.
        if self.dice.chance(50) {
            (model, mode) = (Some(ASKED_MODEL), if mode == "steer" { "queue" } else { mode });
            text.push_str(if self.dice.chance(50) { " loose code" } else { " loose" });
        }
        let body = json!({ "text": text, "mode": mode, "model": model });
        let path = self.path("/messages");
        self.history.note(vec![Record::Sent { session: self.session, by: 0, no, key: key.clone(), text }])?;
        if self.dice.chance(12) {
            // The answer is thrown away at some moment: before, while or after the server keeps it.
            self.counts.dropped.fetch_add(1, Ordering::AcqRel);
            let moment = Duration::from_micros(self.dice.below(4_000));
            drop(tokio::time::timeout(moment, self.api.ask(Method::POST, &path, &body, Some(&key))).await);
        }
        loop {
            let outcome = self.api.ask(Method::POST, &path, &body, Some(&key)).await;
            if outcome != Outcome::Unknown {
                if let Outcome::Kept { turn } = outcome {
                    self.counts.accepted.fetch_add(1, Ordering::AcqRel);
                    self.last = Some((key.clone(), body, turn));
                }
                return self.history.note(vec![Record::Answered { session: self.session, key, outcome }]);
            }
            if self.done.load(Ordering::Acquire) {
                return self.history.note(vec![Record::Answered { session: self.session, key, outcome }]);
            }
            tokio::time::sleep(AWAY).await;
        }
    }

    async fn ask(&mut self, what: &str, method: Method, rest: &str, body: Value) -> anyhow::Result<()> {
        let outcome = self.api.ask(method, &self.path(rest), &body, None).await;
        self.history.note(vec![Record::Asked { session: self.session, what: what.to_owned(), outcome }])
    }

    /// Takes back a message that waits.
    async fn withdraw(&mut self) -> anyhow::Result<()> {
        let Some(view) = self.api.view(self.session).await else { return Ok(()) };
        let waiting = view["queue"].as_array().cloned().unwrap_or_default();
        let Some(turn) = waiting.last().and_then(|queued| queued["turn"].as_u64()) else { return Ok(()) };
        self.ask("withdraw", Method::DELETE, &format!("/queue/{turn}"), json!({})).await
    }

    /// The same key and body give the same turn, however late.
    async fn double(&mut self) {
        let Some((key, body, turn)) = &self.last else { return };
        let outcome = self.api.ask(Method::POST, &self.path("/messages"), body, Some(key)).await;
        self.counts.doubled.fetch_add(1, Ordering::AcqRel);
        if !matches!(&outcome, Outcome::Unknown) && outcome != (Outcome::Kept { turn: *turn }) {
            self.counts.wrong.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The same key and another body are refused.
    async fn reuse(&mut self) {
        let Some((key, ..)) = &self.last else { return };
        let body = json!({ "text": "say 1 of other" });
        let outcome = self.api.ask(Method::POST, &self.path("/messages"), &body, Some(key)).await;
        self.counts.reused.fetch_add(1, Ordering::AcqRel);
        let refused = Outcome::Refused { code: "key_reused".to_owned() };
        if outcome != Outcome::Unknown && outcome != refused {
            self.counts.wrong.fetch_add(1, Ordering::AcqRel);
        }
    }
}

//! Logs made ahead of a measurement: whole turns appended to the store in large batches, as a hub would have left
//! them.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::future::join_all;
use hub::{Clock, SystemClock};
use session::{
    Entry, Event, Link, Message, NodeId, PostMode, RunCause, RunEnd, RunId, Session, SessionId, SlotNo, Time,
    TurnId, UserId,
};
use store::{Append, Claim, Claiming, LogStore, Snapshot, Urgency};

use super::prose::{Author, Random};

/// Sessions claimed at once.
const CLAIMS: usize = 2_048;

/// A log that grows in memory until it is handed to the store.
#[derive(Debug)]
pub(crate) struct Log {
    claim: Claim,
    durable: Link,
    state: Session,
    entries: Vec<Arc<Entry>>,
    now: Time,
    random: Random,
}

/// Makes sessions, each with its first entry.
pub(crate) async fn logs(store: &dyn LogStore, count: usize) -> Result<Vec<Log>> {
    let clock = SystemClock;
    let node: NodeId = clock.node_id();
    let mut logs = Vec::with_capacity(count);
    while logs.len() < count {
        let ids: Vec<SessionId> = (logs.len()..count).take(CLAIMS).map(|_| clock.session_id()).collect();
        let claims = ids.iter().map(|id| store.claim(*id, node, Claiming::New, clock.now()));
        for claim in join_all(claims).await {
            let seed = logs.len() as u64;
            logs.push(Log::new(claim?, clock.now(), seed));
        }
    }
    Ok(logs)
}

/// Makes sessions of prose, with so many turns and so many bytes in each message and each answer.
pub(crate) async fn prose(
    store: &dyn LogStore,
    author: &mut Author,
    sessions: usize,
    turns: usize,
    said_bytes: usize,
) -> Result<Vec<Log>> {
    let mut logs = logs(store, sessions).await?;
    for log in &mut logs {
        for _ in 0..turns {
            let (message, answer) = (author.text(said_bytes), author.text(said_bytes));
            log.turn(&message, [answer.as_str()]);
        }
        append(store, [log]).await?;
    }
    Ok(logs)
}

impl Log {
    fn new(claim: Claim, now: Time, seed: u64) -> Self {
        let mut log = Self {
            claim,
            durable: Link::START,
            state: Session::default(),
            entries: Vec::new(),
            now,
            random: Random::new(seed),
        };
        let title = Some(format!("Session {seed} about a few things"));
        log.add(Event::SessionCreated { id: claim.session, title, after: None, user: UserId::FIRST });
        log
    }

    pub(crate) fn claim(&self) -> Claim {
        self.claim
    }

    pub(crate) fn session(&self) -> SessionId {
        self.claim.session
    }

    /// Entries that the log has.
    pub(crate) fn length(&self) -> u64 {
        self.state.head().0
    }

    /// The time of the last entry.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Adds an entry, some tens of milliseconds after the one before.
    fn add(&mut self, event: Event) -> u64 {
        self.now = self.now.plus_micros(33_000 + self.random.below(20_000) as i64);
        let entry = Entry::seal(&self.state.link, self.now, self.claim.epoch, event);
        session::fold(&mut self.state, &entry);
        let seq = entry.seq.0;
        self.entries.push(Arc::new(entry));
        seq
    }

    /// Adds a message and the beginning of a run that answers it.
    pub(crate) fn begin_turn(&mut self, message: &str) -> (TurnId, RunId) {
        let message = Message::text(message);
        let turn = TurnId(self.add(Event::MessagePosted { message, mode: PostMode::Queue, key: None }));
        let run = self.add(Event::RunStarted { turn, cause: RunCause::Message, spool: Some(SlotNo(1)) });
        (turn, RunId(run))
    }

    pub(crate) fn text(&mut self, run: RunId, text: &str) {
        self.add(Event::TextAdded { run, text: text.to_owned() });
    }

    pub(crate) fn reasoning(&mut self, run: RunId, text: &str) {
        self.add(Event::ReasoningAdded { run, text: text.to_owned() });
    }

    pub(crate) fn end_turn(&mut self, turn: TurnId, run: RunId) {
        self.add(Event::RunEnded { turn, run, end: RunEnd::Completed });
    }

    /// Adds a whole turn.
    pub(crate) fn turn<'a>(&mut self, message: &str, chunks: impl IntoIterator<Item = &'a str>) {
        let (turn, run) = self.begin_turn(message);
        for chunk in chunks {
            self.text(run, chunk);
        }
        self.end_turn(turn, run);
    }

    /// What was added since the last time, as an append.
    fn take(&mut self) -> Append {
        let last = std::mem::replace(&mut self.durable, self.state.link);
        Append {
            claim: self.claim,
            last,
            entries: std::mem::take(&mut self.entries),
            urgency: Urgency::Normal,
        }
    }

    /// The state at the end, as a hub keeps it when it gives the session up.
    pub(crate) async fn keep_snapshot(&self, store: &dyn LogStore) -> Result<()> {
        let snapshot = Snapshot { at: self.state.link, state: self.state.to_bytes() };
        Ok(store.save_snapshot(self.claim.session, snapshot).await?)
    }
}

/// Hands to the store what was added to the logs, as one batch.
pub(crate) async fn append(store: &dyn LogStore, logs: impl IntoIterator<Item = &mut Log>) -> Result<()> {
    let batch: Vec<Append> = logs.into_iter().map(Log::take).collect();
    for result in store.append(batch).await {
        result.map_err(|error| anyhow!("append to a made log: {error}"))?;
    }
    Ok(())
}

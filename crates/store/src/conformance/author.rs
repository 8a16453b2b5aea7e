//! Writes a session as a writer does: decide, seal, append, fold. What it wrote is what a store must give back.

use std::sync::Arc;

use session::{
    Accepted, Attachment, Command, Context, Decision, Entry, Event, Journal, Link, Message, MessageKey,
    NodeId, PostMode, Progress, Rejected, Runs, Seq, Session, SessionId, Time, TurnId, UserId, decide, fold,
    recover,
};
use uuid::Uuid;

use crate::{Append, AppendError, Claim, Claiming, Store, Urgency};

/// The node that writes unless a case says otherwise.
pub(super) const NODE: NodeId = NodeId(Uuid::from_u128(0x0e0d));

/// When the first entry of a session is written.
pub(super) const START: Time = Time(1_700_000_000_000_000);

/// A session id that a case can tell from others.
pub(super) fn id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x5e55_0000 + number))
}

/// The writer of one session, with all that it wrote.
#[derive(Debug, Clone)]
pub struct Author {
    pub claim: Claim,
    pub state: Session,
    /// Every entry of the log, the shared ones of a branch as well.
    pub log: Vec<Entry>,
    /// The time of the next entry; moves on by a millisecond with each command.
    pub now: Time,
    pub runs: Runs,
}

impl Author {
    /// Claims a new session and begins it.
    pub async fn create(store: &dyn Store, session: SessionId) -> Self {
        Self::create_for(store, session, UserId::FIRST).await
    }

    /// Claims a new session of a user and begins it.
    pub async fn create_for(store: &dyn Store, session: SessionId, user: UserId) -> Self {
        let claim = store.claim(session, NODE, Claiming::New, START).await.unwrap();
        let mut author =
            Self { claim, state: Session::default(), log: Vec::new(), now: START, runs: Runs::Allowed };
        author.ask(store, Command::Create { id: session, title: None, after: None, user }).await;
        author
    }

    /// Claims a branch of this session after entry `at` and begins it.
    pub async fn branch(&self, store: &dyn Store, session: SessionId, at: Seq) -> Self {
        let from = self.claim.session;
        let claim = store.claim(session, NODE, Claiming::Branch { from, at }, self.now).await.unwrap();
        let mut author = self.at(at);
        author.claim = claim;
        author.ask(store, Command::Branch { id: session, from, at }).await;
        author
    }

    /// This author when the log ended at `at`.
    pub fn at(&self, at: Seq) -> Self {
        let log: Vec<Entry> = self.log.iter().filter(|entry| entry.seq <= at).cloned().collect();
        let mut state = Session::default();
        log.iter().for_each(|entry| fold(&mut state, entry));
        Self { claim: self.claim, state, log, now: self.now, runs: self.runs }
    }

    /// The id under which the log was made.
    pub fn id(&self) -> SessionId {
        self.claim.session
    }

    /// Where the log ends.
    pub fn end(&self) -> Link {
        self.state.link
    }

    /// What a command comes to, not appended yet.
    ///
    /// # Errors
    /// When the session may not.
    pub fn decide(&self, command: Command) -> Result<Decision, Rejected> {
        decide(&self.state, command, &self.context())
    }

    /// What a writer appends first after a crash.
    pub fn recover(&self, journal: Journal) -> Decision {
        recover(&self.state, journal, session::InterruptReason::Crash, &self.context())
    }

    fn context(&self) -> Context {
        Context {
            now: self.now,
            spool: Some(session::SlotNo(3)),
            runs: self.runs,
            chat: false,
            resume_within_micros: session::limits::RESUME_WITHIN_MICROS,
        }
    }

    /// The append of some events, in the order given.
    pub fn append(&self, events: Vec<Event>) -> Append {
        let mut last = self.end();
        let seal = |event| {
            let entry = Entry::seal(&last, self.now, self.claim.epoch, event);
            last = entry.link();
            Arc::new(entry)
        };
        let entries = events.into_iter().map(seal).collect();
        Append { claim: self.claim, last: self.end(), entries, urgency: Urgency::Normal }
    }

    /// Takes what a store has accepted.
    pub fn accept(&mut self, append: &Append) {
        for entry in &append.entries {
            fold(&mut self.state, entry);
            self.log.push(Entry::clone(entry));
        }
        self.now = self.now.plus_micros(1_000);
    }

    /// Appends events that a store must accept.
    pub async fn write(&mut self, store: &dyn Store, events: Vec<Event>) {
        let append = self.append(events);
        assert_eq!(store.append(vec![append.clone()]).await, [Ok(())]);
        self.accept(&append);
    }

    /// Decides and appends a command that must be accepted.
    pub async fn ask(&mut self, store: &dyn Store, command: Command) -> Accepted {
        let decision = self.decide(command).unwrap();
        self.write(store, decision.events).await;
        decision.accepted
    }

    /// Posts a message; it waits when a run is going on.
    pub async fn post(&mut self, store: &dyn Store, text: &str) -> TurnId {
        self.ask(store, post(text)).await.turn.unwrap()
    }

    /// Posts a message that must not be appended, and tells why it was not.
    pub async fn refused(&self, store: &dyn Store, command: Command) -> AppendError {
        let append = self.append(self.decide(command).unwrap().events);
        store.append(vec![append]).await.remove(0).unwrap_err()
    }

    /// What the open run brings.
    pub async fn progress(&mut self, store: &dyn Store, progress: Progress) {
        let run = self.state.open_run.expect("a run is going on");
        self.ask(store, Command::Progress { run, progress }).await;
    }

    /// Lets the open run answer and end.
    pub async fn answer(&mut self, store: &dyn Store, text: &str) {
        self.progress(store, Progress::Step { asked_to_continue: false }).await;
        self.progress(store, Progress::Text(text.to_owned())).await;
        self.progress(store, Progress::Completed).await;
    }

    /// A whole turn.
    pub async fn turn(&mut self, store: &dyn Store, question: &str, answer: &str) -> TurnId {
        let turn = self.post(store, question).await;
        self.answer(store, answer).await;
        turn
    }

    /// That a store reads the log back whole.
    pub async fn assert_read(&self, store: &dyn Store) {
        assert_eq!(read_all(store, self.id()).await, self.log);
        assert_eq!(store.open(self.id()).await.unwrap().end, self.end());
    }
}

/// Everything that a session's log holds, read page by page.
pub(super) async fn read_all(store: &dyn Store, session: SessionId) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(Seq(0), |entry| entry.seq);
        let page = store.read(session, after, 1_000).await.unwrap();
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

/// A message that waits when a run is going on.
pub(super) fn post(text: &str) -> Command {
    Command::PostMessage { message: Message::text(text), mode: PostMode::Queue, key: None }
}

/// A message under a key.
pub(super) fn post_with_key(text: &str, key: &str) -> Command {
    let key = Some(MessageKey(key.to_owned()));
    Command::PostMessage { message: Message::text(text), mode: PostMode::Queue, key }
}

/// A message with a file.
pub(super) fn post_with_file(text: &str, blob: &session::BlobHash) -> Command {
    let file = Attachment {
        name: "notes.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        blob: blob.clone(),
        size_bytes: 1,
    };
    let message = Message { attachments: vec![file], ..Message::text(text) };
    Command::PostMessage { message, mode: PostMode::Queue, key: None }
}

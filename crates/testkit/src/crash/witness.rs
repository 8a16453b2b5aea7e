//! What a child tells its parent, line by line, and what the parent makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::{Deserialize, Serialize};
use session::{BlobHash, Hash, MessageKey, PostMode, RunId, Seq, SessionId, TurnId};

/// One line of a child's standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    /// Before a command is submitted.
    Ask { op: u64, what: Asked },
    /// After it was acknowledged.
    Ack { op: u64, seq: Seq, turn: Option<TurnId>, session: SessionId },
    /// It was not acknowledged. `nothing_kept` when the product said so each time it was tried.
    Nak { op: u64, nothing_kept: bool, why: String },
    /// A follower was given an entry.
    Seen { session: SessionId, seq: Seq, hash: Hash },
    /// Up to this entry a log was written elsewhere, by an agent that says other words.
    Inherited { session: SessionId, seq: Seq },
    /// An agent was told that so many words of its run are durable.
    Brought { session: SessionId, run: RunId, words: u64 },
    /// How often a point was hit.
    Count { name: String, hits: u64 },
    /// Something that must never happen did.
    Broken { why: String },
    /// Where a log ended when the checker was done with it.
    Head { session: SessionId, seq: Seq, hash: Hash },
    /// The store could not be opened, and said why.
    Refused { why: String },
    /// The workload came to its end.
    End,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    Create {
        session: SessionId,
    },
    Branch {
        from: SessionId,
    },
    Post {
        session: SessionId,
        text: String,
        mode: PostMode,
        key: Option<MessageKey>,
        blob: Option<BlobHash>,
    },
    Rename {
        session: SessionId,
        title: String,
    },
    Blob {
        hash: BlobHash,
        text: String,
        session: SessionId,
    },
    Erase {
        session: SessionId,
    },
    /// Anything whose acknowledgement names the end of the log only.
    Other {
        session: SessionId,
        name: String,
    },
}

/// A request and what became of it.
#[derive(Debug, Clone)]
pub struct Op {
    pub what: Asked,
    pub acked: Option<Acked>,
    pub nothing_kept: bool,
}

/// What an acknowledgement named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    pub seq: Seq,
    pub turn: Option<TurnId>,
    pub session: SessionId,
}

/// Everything that a store's children told.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    pub ops: BTreeMap<u64, Op>,
    pub seen: BTreeMap<SessionId, BTreeMap<Seq, Hash>>,
    pub inherited: BTreeMap<SessionId, Seq>,
    pub brought: BTreeMap<(SessionId, RunId), u64>,
    pub broken: Vec<String>,
}

impl Witness {
    /// What lines say.
    pub fn of(lines: &[Line]) -> Self {
        let mut witness = Self::default();
        lines.iter().for_each(|line| witness.hear(line));
        witness
    }

    fn hear(&mut self, line: &Line) {
        match line {
            Line::Ask { op, what } => {
                self.ops.insert(*op, Op { what: what.clone(), acked: None, nothing_kept: false });
            }
            Line::Ack { op, seq, turn, session } => {
                if let Some(op) = self.ops.get_mut(op) {
                    op.acked = Some(Acked { seq: *seq, turn: *turn, session: *session });
                }
            }
            Line::Nak { op, nothing_kept, .. } => {
                if let Some(op) = self.ops.get_mut(op) {
                    op.nothing_kept = *nothing_kept;
                }
            }
            Line::Seen { session, seq, hash } => {
                let before = self.seen.entry(*session).or_default().insert(*seq, *hash);
                if before.is_some_and(|before| before != *hash) {
                    self.broken.push(format!("{session} showed two entries {seq}"));
                }
            }
            Line::Inherited { session, seq } => drop(self.inherited.insert(*session, *seq)),
            Line::Brought { session, run, words } => {
                let most = self.brought.entry((*session, *run)).or_default();
                *most = (*most).max(*words);
            }
            Line::Broken { why } => self.broken.push(why.clone()),
            Line::Count { .. } | Line::Head { .. } | Line::Refused { .. } | Line::End => {}
        }
    }

    /// Requests that were acknowledged.
    pub fn acked(&self) -> usize {
        self.ops.values().filter(|op| op.acked.is_some()).count()
    }

    /// Sessions that were asked for or acknowledged.
    pub fn sessions(&self) -> BTreeSet<SessionId> {
        let named = self.ops.values().filter_map(|op| match &op.what {
            Asked::Create { session } => Some(*session),
            Asked::Branch { .. } => op.acked.map(|acked| acked.session),
            _ => None,
        });
        named.chain(self.seen.keys().copied()).collect()
    }

    /// Whether a session was acknowledged to exist.
    pub fn exists(&self, session: SessionId) -> bool {
        let made = |op: &Op| match &op.what {
            Asked::Create { session: made } => op.acked.is_some() && *made == session,
            Asked::Branch { .. } => op.acked.is_some_and(|acked| acked.session == session),
            _ => false,
        };
        self.ops.values().any(made) || self.seen.contains_key(&session)
    }

    /// Whether erasing a session was asked for, and acknowledged.
    pub fn erased(&self, session: SessionId) -> Option<bool> {
        let erases = |op: &&Op| matches!(&op.what, Asked::Erase { session: erased } if *erased == session);
        let mut asked = self.ops.values().filter(erases).peekable();
        asked.peek()?;
        Some(asked.any(|op| op.acked.is_some()))
    }
}

/// Tells the parent, in one write, before anything else happens.
pub fn say(line: &Line) {
    let Ok(mut text) = serde_json::to_string(line) else { return };
    text.push('\n');
    let mut out = std::io::stdout().lock();
    // A parent that is gone hears nothing, and needs nothing.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Reads what a child said. Its last line may be cut.
pub fn read(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

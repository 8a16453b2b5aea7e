//! What the writing thread is asked, and how each is answered.

use std::io::Write;

use session::{BlobHash, ChatKey, Link, NodeId, SessionId, Time};
use tokio::sync::oneshot;

use crate::catalog::ListRow;
use crate::error::{AppendError, ClaimError, Dead, StoreError};
use crate::{Append, Binding, Bound, Claim, Claiming, Snapshot};

use super::project::{NotProjected, Projection};

pub(super) type Answer<T> = oneshot::Sender<T>;

/// What the writing thread is asked.
#[derive(Debug)]
pub(super) enum Request {
    Append {
        batch: Vec<Append>,
        answer: Answer<Vec<Result<(), AppendError>>>,
    },
    Claim {
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
        /// The list row of what a branch shares with its origin.
        shared: Option<ListRow>,
        answer: Answer<Result<Claim, ClaimError>>,
    },
    Heartbeat {
        node: NodeId,
        now: Time,
        answer: Answer<Result<(), StoreError>>,
    },
    Bind {
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
        answer: Answer<Result<Bound, StoreError>>,
    },
    Snapshot {
        session: SessionId,
        snapshot: PackedSnapshot,
        answer: Answer<Result<(), StoreError>>,
    },
    /// Records an upload whose file is about to be written.
    Upload {
        blob: BlobHash,
        now: Time,
        answer: Answer<Result<(), StoreError>>,
    },
    ExpireUploads {
        before: Time,
        answer: Answer<Result<u64, StoreError>>,
    },
    Erase {
        claim: Claim,
        answer: Answer<Result<(), AppendError>>,
    },
    Settle {
        answer: Answer<Result<(), StoreError>>,
    },
    Revive {
        answer: Answer<Result<(), StoreError>>,
    },
    Projected {
        session: SessionId,
        no: i64,
        life: u64,
        answer: Result<Box<Projection>, NotProjected>,
    },
    Forgotten {
        no: i64,
        result: Result<(), String>,
    },
    Tidied,
    /// A search found damage in the index.
    SearchDamaged,
    /// The search index was rebuilt, in a file of this generation.
    WordsMade {
        generation: [u8; 16],
        commits: u64,
    },
    Folded {
        life: u64,
        result: Result<(), String>,
    },
    /// Everything is folded together; the answer, if anybody waits for it, says when.
    Close(Option<Answer<()>>),
}

/// A snapshot as it is stored.
#[derive(Debug)]
pub(super) struct PackedSnapshot {
    pub(super) at: Link,
    pub(super) body: Vec<u8>,
}

impl PackedSnapshot {
    /// Compresses a snapshot, with a checksum: nothing else would tell a state that changed on the disk.
    pub(super) fn new(snapshot: &Snapshot) -> std::io::Result<Self> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1)?;
        encoder.include_checksum(true)?;
        encoder.write_all(&snapshot.state)?;
        Ok(Self { at: snapshot.at, body: encoder.finish()? })
    }
}

/// What waits for the next group commit, in order.
pub(super) enum Quick {
    Append(Vec<Append>, Answer<Vec<Result<(), AppendError>>>),
    Claim(SessionId, NodeId, Claiming, Time, Option<ListRow>, Answer<Result<Claim, ClaimError>>),
    Heartbeat(NodeId, Time, Answer<Result<(), StoreError>>),
    Bind(ChatKey, Option<Binding>, Binding, Answer<Result<Bound, StoreError>>),
    Upload(BlobHash, Time, Answer<Result<(), StoreError>>),
}

/// What became of one of them.
pub(super) enum Outcome {
    Append(Vec<Result<(), AppendError>>),
    Claim(Result<Claim, ClaimError>),
    Heartbeat,
    Bind(Bound),
    Upload(Result<(), StoreError>),
}

/// Why a group was not committed.
pub(super) enum Failure {
    /// Nothing was written.
    Before(String),
    /// The disk may or may not have it.
    Unknown(String),
}

impl Failure {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Before(reason) | Self::Unknown(reason) => reason,
        }
    }

    pub(super) fn store_error(&self) -> StoreError {
        Dead { reason: self.reason().to_owned() }.into()
    }

    pub(super) fn append_error(&self) -> AppendError {
        match self {
            Self::Before(_) => self.store_error().into(),
            Self::Unknown(reason) => AppendError::Unknown { reason: reason.clone() },
        }
    }
}

impl Quick {
    pub(super) fn answer(self, outcome: Outcome) {
        match (self, outcome) {
            (Self::Append(_, answer), Outcome::Append(results)) => answer_with(answer, results),
            (Self::Claim(.., answer), Outcome::Claim(result)) => answer_with(answer, result),
            (Self::Heartbeat(.., answer), Outcome::Heartbeat) => answer_with(answer, Ok(())),
            (Self::Bind(.., answer), Outcome::Bind(bound)) => answer_with(answer, Ok(bound)),
            (Self::Upload(.., answer), Outcome::Upload(result)) => answer_with(answer, result),
            (
                Self::Append(..) | Self::Claim(..) | Self::Heartbeat(..) | Self::Bind(..) | Self::Upload(..),
                _,
            ) => {
                unreachable!("outcomes are made in order")
            }
        }
    }

    pub(super) fn fail(self, failure: &Failure) {
        match self {
            Self::Append(batch, answer) => {
                answer_with(answer, batch.iter().map(|_| Err(failure.append_error())).collect());
            }
            Self::Claim(.., answer) => answer_with(answer, Err(failure.store_error().into())),
            Self::Heartbeat(.., answer) => answer_with(answer, Err(failure.store_error())),
            Self::Bind(.., answer) => answer_with(answer, Err(failure.store_error())),
            Self::Upload(.., answer) => answer_with(answer, Err(failure.store_error())),
        }
    }
}

/// Answers a caller; one that stopped waiting needs none.
pub(super) fn answer_with<T>(answer: Answer<T>, value: T) {
    drop(answer.send(value));
}

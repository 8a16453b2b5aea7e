//! What an agent may remember across sessions: completed turns are handed to a memory provider, in batches.
//!
//! A provider tells its failures, and tells *accepted* from *done*. Handing over the same key again is harmless: a
//! provider that took it before takes it once.

use futures_util::future::BoxFuture;
use session::{Message, Owner, SessionId, TurnId};

/// A memory provider.
pub trait Memory: Send + Sync + 'static {
    /// Who is owed what a run of this session completes; none when nobody wants it.
    fn owner(&self, session: SessionId) -> Option<Owner>;

    /// Hands completed turns over.
    fn commit(&self, handover: Handover) -> BoxFuture<'static, Result<Taken, MemoryError>>;

    /// How far a task is that was accepted before.
    fn look(&self, owner: Owner, task: String) -> BoxFuture<'static, Result<TaskState, MemoryError>>;

    /// Lets go of what is held open for an owner; nothing is owed by this session any more, or it is not in memory.
    fn release(&self, session: SessionId, owner: Owner);
}

/// Completed turns for their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// The same each time the same turns are handed over, and never for others.
    pub key: String,
    pub session: SessionId,
    pub owner: Owner,
    pub turns: Vec<CompletedTurn>,
}

/// A turn that was completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedTurn {
    pub turn: TurnId,
    /// Its place among all that the session completed.
    pub generation: u64,
    /// What the person said, also into the run.
    pub messages: Vec<Message>,
    pub answer: String,
}

/// What a provider says to a handover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The turns are in memory.
    Done,
    /// The provider works on them under this name.
    Accepted { task: String },
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    Working,
    Done,
    Failed { error: String },
}

/// Why a provider could not be asked, or would not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The owner's account or agent is gone; an operator may owe its turns to another.
    #[error("the memory owner {} no longer exists; its turns stay pending and can be reassigned", .0.0)]
    NoSuchOwner(Owner),
    #[error("the memory provider rejected the request: {reason}")]
    Refused { reason: String },
    #[error("failed to reach the memory provider: {reason}")]
    Unavailable { reason: String },
}

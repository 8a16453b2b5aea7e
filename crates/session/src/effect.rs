//! What the shell must do once the entries are durable. Each may be performed twice without harm.

use crate::id::{Owner, RunId, Seq, TurnId};

/// An instruction to the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Let the agent work on the turn.
    StartRun { turn: TurnId, run: RunId },
    /// Take the run's worker away; the run has ended in the log already.
    CancelRun { run: RunId },
    /// Ask the model of `run` for a title of the session, which has none.
    SuggestTitle { turn: TurnId, run: RunId },
    /// Hand what is owed to its owner. The key is the same each time the same generations are handed over.
    CommitMemory(MemoryCommit),
    /// Let go of what is held open for an owner, who is not this session's any more.
    ReleaseOwner { owner: Owner },
}

/// What a commit hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCommit {
    /// The entry that began it.
    pub commit: Seq,
    pub owner: Owner,
    /// The generations, by number.
    pub first: u64,
    pub last: u64,
    /// The entries that completed the first and the last generation.
    pub from: Seq,
    pub through: Seq,
}

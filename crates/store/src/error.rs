//! Why a store did not: one enum per operation, leaves shared.

use session::{BlobHash, Damage, Epoch, NodeId, Seq, SessionId};

/// The store stopped being written to; nothing is acknowledged until it was revived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store is read-only after a write error: {reason}")]
pub struct Dead {
    pub reason: String,
}

/// The store could not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Dead(#[from] Dead),
    #[error("failed to {doing}: {reason}")]
    Failed { doing: &'static str, reason: String },
}

/// Why a session was not claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("session {0} was deleted")]
    Deleted(SessionId),
    #[error("the session ID {0} is already in use")]
    Exists(SessionId),
    #[error("the session is claimed by node {node}, which is alive")]
    Held { node: NodeId },
    #[error(
        "the log is damaged after entry {intact}; entries up to there can still be read, but no new ones are \
         accepted"
    )]
    Damaged { intact: Seq },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an append did not happen, or is not known to have happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    #[error("the claim is outdated: the session's current epoch is {current}")]
    Fenced { current: Epoch },
    #[error("the log ends at entry {head}, not where the writer expected")]
    Conflict { head: Seq },
    #[error("the idempotency key was already used at entry {seq}")]
    KeyUsed { seq: Seq },
    #[error("the session ID {0} is already in use")]
    IdTaken(SessionId),
    #[error("the attachment {} is not stored", .0.0)]
    BlobMissing(BlobHash),
    #[error("the disk is full except for its reserve; nothing was written, free some space")]
    Full,
    #[error("session {0} was deleted")]
    Deleted(SessionId),
    /// Nothing was written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It may or may not be durable: the writer must read the end of the log before it goes on.
    #[error("it is unknown whether the entries are durable: {reason}")]
    Unknown { reason: String },
}

/// Why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("session {0} was deleted")]
    Deleted(SessionId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why entries could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("the log is damaged after entry {intact}: {damage}; entries up to there can still be read")]
    Damaged { intact: Seq, damage: Damage },
    #[error("there is no entry {after} yet; the log ends at {head}")]
    BeyondEnd { after: Seq, head: Seq },
    #[error(transparent)]
    Store(#[from] StoreError),
}

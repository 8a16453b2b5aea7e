//! Why something asked of the hub did not happen.

use session::{BlobHash, Rejected, Seq, SessionId};
use store::{AppendError, ClaimError, OpenError, ReadError, StoreError};

/// Why a command has no acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("session {0} was deleted")]
    Deleted(SessionId),
    #[error("the session ID {0} is already in use")]
    Exists(SessionId),
    /// The caller may not; nothing happened.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error("the idempotency key was already used for a different request; nothing was changed")]
    KeyReused,
    /// An upload expired, or its bytes were erased with the last session that used them.
    #[error("the attachment {} is no longer stored; nothing was changed, upload it again", .0.0)]
    AttachmentMissing(BlobHash),
    /// Nothing was kept; it can be asked again.
    #[error("nothing was saved: {reason}")]
    Unavailable { reason: String },
    /// It may or may not have been kept; asking again with the same key is harmless.
    #[error("it is unknown whether this was saved: {reason}")]
    Doubtful { reason: String },
    /// Another node writes the session.
    #[error("the session moved to another node")]
    Moved,
    #[error("the session's log is damaged after entry {intact}; entries up to there can still be read")]
    Damaged { intact: Seq },
    /// The writer retired before it took the command; the handle asks the next one.
    #[error("the session's writer exited")]
    Retired,
}

impl CommandError {
    /// Whether the same may be answered otherwise later. What does not pass must not be waited for.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::AttachmentMissing(_)
            | Self::Unavailable { .. }
            | Self::Doubtful { .. }
            | Self::Moved
            | Self::Retired => true,
            Self::Unknown(_)
            | Self::Deleted(_)
            | Self::Exists(_)
            | Self::Rejected(_)
            | Self::KeyReused
            | Self::Damaged { .. } => false,
        }
    }
}

impl From<ClaimError> for CommandError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Unknown(session) => Self::Unknown(session),
            ClaimError::Deleted(session) => Self::Deleted(session),
            ClaimError::Exists(session) => Self::Exists(session),
            ClaimError::Held { .. } => Self::Moved,
            ClaimError::Damaged { intact } => Self::Damaged { intact },
            ClaimError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable { reason: error.to_string() }
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unknown(session) => Self::Unknown(session),
            OpenError::Deleted(session) => Self::Deleted(session),
            OpenError::Store(error) => error.into(),
        }
    }
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unknown(session) => Self::Unknown(session),
            ReadError::Damaged { intact, .. } => Self::Damaged { intact },
            ReadError::BeyondEnd { .. } => Self::Unavailable { reason: error.to_string() },
            ReadError::Store(error) => error.into(),
        }
    }
}

impl From<AppendError> for CommandError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Fenced { .. } | AppendError::Conflict { .. } => Self::Moved,
            AppendError::KeyUsed { .. } => Self::KeyReused,
            AppendError::IdTaken(session) => Self::Exists(session),
            AppendError::BlobMissing(blob) => Self::AttachmentMissing(blob),
            AppendError::Deleted(session) => Self::Deleted(session),
            AppendError::Full | AppendError::Store(_) => Self::Unavailable { reason: error.to_string() },
            AppendError::Unknown { reason } => Self::Doubtful { reason },
        }
    }
}

/// Why a reader gets no more entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The reader was too slow and was cut off; it can resume after this entry.
    #[error("the reader was too slow; resume after entry {after}")]
    CutOff { after: Seq },
    #[error("there is no entry {after} yet; the log ends at {head}")]
    BeyondEnd { after: Seq, head: Seq },
    /// A disk that lied lost what the reader has, or an older backup was restored.
    #[error("entry {after} differs from the reader's copy; read the log again from the start")]
    AnotherLog { after: Seq },
    /// The writer went away; the reader can resume after this entry.
    #[error("the session's writer exited; resume after entry {after}")]
    Ended { after: Seq },
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Why a hub did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("failed to prepare the spool: {0}")]
    Spool(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

//! Which node may write a session, and the proof of it.

use session::{Epoch, NodeId, Seq, SessionId};

/// Age of the last heartbeat at which a node's sessions may be taken over. It only delays a takeover: an append of
/// the old holder is refused by its epoch, not by a clock.
pub const HEARTBEAT_MICROS_MAX: i64 = 15_000_000;

/// A node's right to write a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The id under which the log was made.
    pub session: SessionId,
    pub node: NodeId,
    pub epoch: Epoch,
}

/// What kind of session is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claiming {
    /// One that exists.
    Existing,
    /// A new one, with an empty log.
    New,
    /// A new one that shares `from`'s log up to and including `at`.
    Branch { from: SessionId, at: Seq },
}

//! What the shell must do once the entries are durable. Each may be performed twice without harm.

use crate::id::{RunId, TurnId};

/// An instruction to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Let the agent work on the turn.
    StartRun { turn: TurnId, run: RunId },
    /// Take the run's worker away; the run has ended in the log already.
    CancelRun { run: RunId },
    /// Let the agent think of a name for the session, which has none.
    SuggestTitle,
}

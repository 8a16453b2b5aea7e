//! What must be appended after a crash, before anything else is decided: the run that was going on is closed with
//! what its journal gave, and goes on by itself where that is safe.

use crate::command::Journal;
use crate::decide::{Context, Decision, Plan, Runs};
use crate::event::{CommitOutcome, RunCause, RunEnd};
use crate::id::Time;
use crate::limits::{CONTINUE_AGE_MICROS_MAX, INTERRUPTED_IN_A_ROW_MAX, RECOVERY_GIVE_UP_MICROS};
use crate::state::{Recovering, Run, Session};

/// Whether an interrupted run goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterCrash {
    /// Where no call may have run, it was not interrupted three times in a row, and it is not older than an hour.
    #[default]
    Continue,
    /// Never; it waits for a person.
    Wait,
}

/// Decides what a writer that just took over a session appends first. `journal` is what was found outside the log
/// for the run that was open; it is not looked at when none was.
pub fn recover(session: &Session, journal: Journal, policy: AfterCrash, context: &Context) -> Decision {
    let mut plan = Plan::new(session, context);
    // Whether the provider did what it was asked is not known; the next boundary asks again under the same key.
    plan.end_commit(CommitOutcome::Failed { error: "The process that asked died.".to_owned() });
    if let Some((turn, run)) = session.open() {
        let unused = journal == Journal::Unused;
        let ended = matches!(journal, Journal::Output { end: Some(_), .. });
        plan.close_dead(turn.id, run.id, journal);
        let goes_on = unused && policy == AfterCrash::Continue && safe_to_go_on(session, run, context.now);
        if goes_on && context.runs == Runs::Allowed {
            plan.start_run(turn.id, RunCause::Resume);
        } else if ended || !goes_on {
            plan.start_next();
        }
    } else {
        plan.start_next();
    }
    plan.decision
}

fn safe_to_go_on(session: &Session, run: &Run, now: Time) -> bool {
    run.open_calls().next().is_none()
        && session.interrupted_in_a_row + 1 < INTERRUPTED_IN_A_ROW_MAX
        && now.micros_since(run.started_at) <= CONTINUE_AGE_MICROS_MAX
}

impl Session {
    /// The run that ended stopped, failed or interrupted, if the newest turn's answer did.
    pub fn unfinished(&self) -> Option<&Run> {
        let run = self.turns.back()?.answer()?.last()?;
        match run.end {
            None | Some(RunEnd::Completed) => None,
            Some(RunEnd::Stopped { .. } | RunEnd::Failed { .. } | RunEnd::Interrupted { .. }) => Some(run),
        }
    }
}

impl Recovering {
    /// Whether the marker settles without another look at the journal.
    pub fn is_given_up(&self, now: Time) -> bool {
        !fault::planted("marker_never_gives_up")
            && now.micros_since(self.first_seen) >= RECOVERY_GIVE_UP_MICROS
    }
}

//! Recovery: the run whose worker is gone is closed with what its journal gave, and [`Session::resumable`] says whether an
//! interrupted run resumes by itself. One rule for every kind of interruption: crash, shutdown, restart, outage, lost node.

use crate::command::Journal;
use crate::decide::{Context, Decision, Plan};
use crate::event::{CommitOutcome, InterruptReason, RunEnd};
use crate::id::Time;
use crate::limits::{INTERRUPTED_IN_A_ROW_MAX, RECOVERY_GIVE_UP_MICROS, RUNS_PER_ANSWER_MAX};
use crate::state::{Need, Recovering, Recovery, Run, Session, Turn};

/// Decides what a writer that just took over a session appends first. `journal` is what was found outside the log
/// for the run that was open; it is not looked at when none was. [`Command::Proceed`](crate::Command::Proceed) follows.
pub fn recover(session: &Session, journal: Journal, reason: InterruptReason, context: &Context) -> Decision {
    let mut plan = Plan::new(session, context);
    // Whether the provider did what it was asked is not known; the next boundary asks again under the same key.
    plan.end_commit(CommitOutcome::Failed { error: "The process that asked died.".to_owned() });
    if let Some((turn, run)) = session.open() {
        plan.close_dead(turn.id, run, journal, reason);
    }
    plan.decision
}

impl Session {
    /// The interrupted run that resumes by itself, and its turn: the newest one, whose last output is at most
    /// `within_micros` old, unless one of its calls may have run or it makes no progress.
    pub fn resumable(&self, now: Time, within_micros: i64) -> Option<(&Turn, &Run)> {
        let (turn, run) = self.interrupted()?;
        let fresh = within_micros > 0 && now.micros_since(self.freshness(run)) <= within_micros;
        let settled = run.recovery != Recovery::Recovering;
        let moves = self.interrupted_in_a_row < INTERRUPTED_IN_A_ROW_MAX;
        let room = turn.answer().is_some_and(|runs| runs.len() < RUNS_PER_ANSWER_MAX);
        (fresh && settled && moves && room && run.open_calls().next().is_none()).then_some((turn, run))
    }

    /// Returns the time of the run's last output.
    fn freshness(&self, run: &Run) -> Time {
        if fault::planted("freshness_counts_from_start") { run.started_at } else { run.last_at }
    }

    /// The newest run, if it was interrupted and its answer is the one that is shown.
    pub(crate) fn interrupted(&self) -> Option<(&Turn, &Run)> {
        // A branch, an undo or another chosen answer settled it.
        if self.open_run.is_some() || self.needs != Some(Need::Interrupted) || self.trashed {
            return None;
        }
        let turn = self.turns.back()?;
        let run = turn.runs.iter().max_by_key(|run| run.id)?;
        let shown = turn.answer()?.iter().any(|candidate| candidate.id == run.id);
        let resumes = match &run.end {
            Some(RunEnd::Interrupted { reason, .. }) => {
                let drained =
                    matches!(reason, InterruptReason::ShutdownTimeout | InterruptReason::RestartTimeout);
                !(drained && fault::planted("drained_run_waits"))
            }
            _ => false,
        };
        (shown && resumes).then_some((turn, run))
    }

    /// Whether the run was interrupted so often without output in between that it no longer resumes by itself.
    pub fn is_stuck(&self) -> bool {
        self.interrupted_in_a_row >= INTERRUPTED_IN_A_ROW_MAX && self.interrupted().is_some()
    }

    /// Whether an interrupted run will resume by itself, now or once its journal can be read.
    pub fn awaits_resume(&self, now: Time, within_micros: i64) -> bool {
        let Some((_, run)) = self.interrupted() else { return false };
        let fresh = within_micros > 0 && now.micros_since(self.freshness(run)) <= within_micros;
        fresh && !self.is_stuck() && run.open_calls().next().is_none()
    }

    /// The run that did not complete, if the newest turn's answer did not.
    pub fn unfinished(&self) -> Option<&Run> {
        let run = self.turns.back()?.answer()?.last()?;
        match run.end {
            None | Some(RunEnd::Completed) => None,
            Some(_) => Some(run),
        }
    }
}

impl Recovering {
    /// Returns whether the marker settles by its age, without another look at the journal.
    pub fn is_given_up(&self, now: Time) -> bool {
        !fault::planted("marker_never_gives_up")
            && now.micros_since(self.first_seen) >= RECOVERY_GIVE_UP_MICROS
    }

    /// Returns whether the clock was a day or more ahead when the marker was set. Its age then says nothing: the marker
    /// settles after a look that finds no journal.
    pub(crate) fn is_from_the_future(&self, now: Time) -> bool {
        !fault::planted("marker_never_gives_up")
            && self.first_seen.micros_since(now) >= RECOVERY_GIVE_UP_MICROS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{RunId, TurnId};

    #[test]
    fn a_marker_settles_by_age_only_once_it_is_old() {
        let seen = RECOVERY_GIVE_UP_MICROS * 400;
        let marker = Recovering {
            turn: TurnId(2),
            run: RunId(3),
            spool: None,
            attempts: 0,
            first_seen: Time(seen),
            reason: InterruptReason::Crash,
        };
        for day in [RECOVERY_GIVE_UP_MICROS, seen] {
            let (later, earlier) = (Time(seen + day), Time(seen - day));
            assert!(marker.is_given_up(later) && !marker.is_from_the_future(later), "{day} later");
            assert!(!marker.is_given_up(earlier) && marker.is_from_the_future(earlier), "{day} earlier");
        }
        for now in [seen - RECOVERY_GIVE_UP_MICROS + 1, seen, seen + RECOVERY_GIVE_UP_MICROS - 1].map(Time) {
            assert!(!marker.is_given_up(now) && !marker.is_from_the_future(now), "{now:?}");
        }
    }
}

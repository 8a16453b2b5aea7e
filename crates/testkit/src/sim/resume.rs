//! Whether interrupted runs resume by themselves and Stop holds, read off the log without the session's own rule.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use session::event::{RunCause, RunEnd};
use session::{CallNo, Entry, Event, RunId, Session, TurnId};

use super::world::World;

/// Interruptions in a row without output after which a run waits for a person.
const IDLE_MAX: u32 = 3;
/// Age of the last output up to which a run resumes, less what clocks may differ by.
const FRESH_MICROS: i64 = 3_000 * 1_000_000;

/// The newest run, as far as its log tells.
#[derive(Default)]
struct Newest {
    run: Option<RunId>,
    /// It was interrupted, and nobody did anything about it since.
    interrupted: bool,
    recovering: bool,
    output: bool,
    last_at: i64,
    open_calls: Vec<CallNo>,
    /// Interruptions in a row without output between them.
    idle: u32,
    /// Someone asked for a run since it was interrupted.
    asked: bool,
    ended_at: u64,
}

/// C16, C17: whether the log ends with an interrupted run that must resume by itself.
pub(crate) fn is_due(world: &World, log: &[Entry]) -> bool {
    let mut newest = Newest::default();
    log.iter().for_each(|entry| newest.read(entry));
    let clocks = world.nodes.iter().map(|node| node.skew_micros.load(Ordering::Relaxed));
    let age = world.now_micros() + clocks.max().unwrap_or(0) - newest.last_at;
    newest.resumes() && age < FRESH_MICROS
}

/// C16, C17: a message that waited before the interruption does not go before the run that resumes.
pub(crate) fn order(log: &[Entry]) -> Option<String> {
    let mut newest = Newest::default();
    for entry in log {
        if let Event::RunStarted { turn, cause: RunCause::Message, .. } = &entry.event
            && newest.resumes()
            && !newest.asked
            && turn.0 < newest.ended_at
            && entry.time.0 - newest.last_at < FRESH_MICROS
        {
            return Some(format!(
                "C16 the message {turn} went before a run that resumes, at entry {}",
                entry.seq
            ));
        }
        newest.read(entry);
    }
    None
}

impl Newest {
    /// Whether it resumes by itself while its output is fresh.
    fn resumes(&self) -> bool {
        self.interrupted && !self.recovering && self.open_calls.is_empty() && self.idle < IDLE_MAX
    }

    fn read(&mut self, entry: &Entry) {
        match &entry.event {
            Event::RunStarted { .. } => {
                let idle = self.idle;
                *self =
                    Self { run: Some(RunId(entry.seq.0)), last_at: entry.time.0, idle, ..Self::default() };
            }
            Event::RunEnded { end, .. } => {
                self.ended_at = entry.seq.0;
                self.end(end);
            }
            Event::MessagePosted { .. } | Event::QueuedEdited { .. } | Event::QueueResumed {} => {
                self.asked = true
            }
            Event::RecoverySettled { run, .. } if Some(*run) == self.run => self.recovering = false,
            Event::TurnsUndone { .. }
            | Event::SessionCleared {}
            | Event::SessionBranched { .. }
            | Event::AnswerChosen { .. }
            | Event::QueuePaused {} => self.interrupted = false,
            event if self.run.is_some() && event.output_of() == self.run => self.output(entry),
            _ => {}
        }
    }

    fn end(&mut self, end: &RunEnd) {
        match end {
            RunEnd::Interrupted { recovering, .. } => {
                self.idle = if self.output { 1 } else { self.idle + 1 };
                (self.interrupted, self.recovering) = (true, *recovering);
            }
            RunEnd::Completed | RunEnd::OutputLimit { .. } => self.idle = 0,
            RunEnd::Stopped { .. } | RunEnd::Failed { .. } | RunEnd::Other(_) => {}
        }
    }

    fn output(&mut self, entry: &Entry) {
        match &entry.event {
            Event::CallAsked { call, .. } => self.open_calls.push(*call),
            Event::CallFinished { call, .. } => self.open_calls.retain(|open| open != call),
            _ => {}
        }
        let said = matches!(
            entry.event,
            Event::TextAdded { .. }
                | Event::ReasoningAdded { .. }
                | Event::CallDrafted { .. }
                | Event::CallAsked { .. }
        );
        self.output |= said;
        if self.interrupted {
            // Output that a journal gave back: the run had moved.
            self.idle = if said { self.idle.min(1) } else { self.idle };
        } else {
            self.last_at = self.last_at.max(entry.time.0);
        }
    }
}

/// C17: interruptions count only without output between them. What a journal gave back late is not looked at.
pub(crate) fn counted(log: &[Entry]) -> Option<String> {
    let (mut newest, mut state) = (Newest::default(), Session::default());
    for entry in log {
        newest.read(entry);
        session::fold(&mut state, entry);
        if newest.recovering || matches!(entry.event, Event::SessionBranched { .. }) {
            return None;
        }
        if newest.idle != state.interrupted_in_a_row {
            let (idle, counted) = (newest.idle, state.interrupted_in_a_row);
            return Some(format!("C17 {counted} interruptions count at entry {}, {idle} should", entry.seq));
        }
    }
    None
}

/// C12: every message that waits and is not paused comes to its turn.
pub(crate) fn taken(log: &[Entry]) -> Option<String> {
    let mut waiting: BTreeMap<TurnId, bool> = BTreeMap::new();
    for entry in log {
        match &entry.event {
            Event::MessagePosted { .. } | Event::MessageEdited { .. } => {
                waiting.insert(TurnId(entry.seq.0), false);
            }
            Event::RunStarted { turn, .. }
            | Event::MessageSteered { turn, .. }
            | Event::QueuedRemoved { turn } => drop(waiting.remove(turn)),
            Event::QueuedEdited { turn, mode: Some(_), .. } => {
                waiting.entry(*turn).and_modify(|paused| *paused = false);
            }
            Event::QueuePaused {} => waiting.values_mut().for_each(|paused| *paused = true),
            Event::QueueResumed {} => waiting.values_mut().for_each(|paused| *paused = false),
            Event::SessionBranched { .. } => waiting.clear(),
            _ => {}
        }
    }
    let left = waiting.into_iter().find(|(_, paused)| !paused);
    left.map(|(turn, _)| format!("C12 the message {turn} never came to its turn"))
}

/// C15: nothing starts right behind a stop.
pub(crate) fn stopped(log: &[Entry]) -> Option<String> {
    log.windows(2).find_map(|pair| {
        let stopped =
            matches!(&pair[0].event, Event::RunEnded { end: RunEnd::Stopped { by_message: false, .. }, .. });
        let starts = matches!(&pair[1].event, Event::RunStarted { cause: RunCause::Message, .. });
        let at_once = pair[0].time == pair[1].time;
        (stopped && starts && at_once)
            .then(|| format!("C15 a stop at entry {} sent the next message", pair[0].seq))
    })
}

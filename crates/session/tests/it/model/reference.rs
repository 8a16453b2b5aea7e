//! A second, simpler opinion of what a session is: lists of texts, changed by hand.

use std::collections::BTreeSet;

use session::event::{CallStatus, PostMode, RunCause, RunEnd};
use session::limits::{
    ANSWERS_PER_TURN_MAX, INTERRUPTED_IN_A_ROW_MAX, QUEUE_MAX, RECOVERY_ATTEMPTS_MAX, RECOVERY_UNUSED_LOOKS,
    SESSION_IDS_MAX, STATE_BYTES_MAX, TURNS_IN_STATE_MAX, UNDONE_MAX,
};
use session::{
    Command, Event, Flag, InterruptReason, Journal, Message, Progress, ProjectId, Rejected, SessionId,
};

pub(super) const HOUR: i64 = 3_600_000_000;

/// What can be seen of a session, by its own simple words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Seen {
    pub(super) turns: Vec<Turn>,
    pub(super) before: u64,
    pub(super) undone: Vec<Vec<Turn>>,
    pub(super) queue: Vec<Waiting>,
    pub(super) open: Option<u64>,
    pub(super) recovering: Vec<Recovering>,
    /// The title, and who gave it.
    pub(super) title: Option<(String, Namer)>,
    pub(super) flags: [bool; 3],
    pub(super) trashed_since: Option<i64>,
    pub(super) tags: Vec<String>,
    pub(super) project: Option<ProjectId>,
    pub(super) ids: Vec<SessionId>,
    pub(super) summary: Option<u64>,
    pub(super) crashes: u32,
    pub(super) active: i64,
}

/// Who named a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namer {
    Person,
    Model,
    Fold,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) id: u64,
    pub(super) text: String,
    pub(super) posted: i64,
    pub(super) answers: Vec<Vec<Run>>,
    pub(super) shown: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: u64,
    /// It resumed the run before it by itself.
    pub(super) resumed: bool,
    pub(super) last: i64,
    pub(super) stepped: bool,
    pub(super) said: Vec<Said>,
    pub(super) end: Option<RunEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Text(String),
    Thought(String),
    /// A call: its number, then its arguments and how it stands.
    Call(u32, (String, Standing)),
    Steered(u64, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    Drafted,
    Asked,
    Finished(CallStatus, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) text: String,
    pub(super) posted: i64,
    pub(super) mode: PostMode,
    pub(super) paused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recovering {
    pub(super) run: u64,
    pub(super) attempts: u32,
    pub(super) since: i64,
}

/// The reference: what is seen, and where every message went that is not.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) seen: Seen,
    pub(super) seq: u64,
    pub(super) now: i64,
    pub(super) held: bool,
    /// Whether the last thing that happened to a run is that it was interrupted.
    pub(super) interrupted: bool,
    /// How old the newest output of a run that resumes may be.
    pub(super) within: i64,
    /// Messages that left the state: hidden by an edit, a clearing, a later message, or age.
    pub(super) hidden: BTreeSet<u64>,
    /// Messages that a person withdrew.
    pub(super) withdrawn: BTreeSet<u64>,
    /// The kinds of the events of the command that is being asked.
    pub(super) kinds: Vec<&'static str>,
}

type Answer = Result<Vec<&'static str>, Rejected>;

impl Model {
    #[expect(clippy::too_many_lines, reason = "one flat arm a command")]
    pub(super) fn ask(&mut self, command: &Command) -> Answer {
        self.kinds.clear();
        match command {
            Command::Create { id, .. } => {
                self.event("session_created");
                self.seen.ids.push(*id);
                self.seen.active = self.now;
            }
            Command::PostMessage { message, mode, .. } => {
                (self.seen.queue.len() < QUEUE_MAX).then_some(()).ok_or(Rejected::QueueFull)?;
                self.wait("message_posted", message, mode.clone());
            }
            Command::EditMessage { turn, message, .. } => {
                let at = self.place(turn.0).ok_or(Rejected::NoSuchTurn)?;
                (self.seen.queue.len() < QUEUE_MAX).then_some(()).ok_or(Rejected::QueueFull)?;
                self.end(RunEnd::Stopped { by_message: false, device: None });
                self.hide_from(at);
                self.wait("message_edited", message, PostMode::Interrupt);
            }
            Command::EditQueued { turn, message } => {
                let at = self.waiting(turn.0)?;
                self.seen.queue[at].text.clone_from(&message.text);
                self.event("queued_edited");
            }
            Command::SteerQueued { turn } => {
                let at = self.waiting(turn.0)?;
                self.seen.queue[at].mode = PostMode::Steer;
                self.seen.queue[at].paused = false;
                self.event("queued_edited");
                if self.seen.open.is_none() && !self.held {
                    self.start(turn.0, RunCause::Message);
                }
            }
            Command::RemoveQueued { turn } => {
                let at = self.waiting(turn.0)?;
                self.withdrawn.insert(self.seen.queue.remove(at).id);
                self.event("queued_removed");
            }
            Command::Stop { run, .. } => {
                let named = |candidate: u64| run.is_none_or(|run| run.0 == candidate);
                let waits = self.seen.queue.iter().any(|waiting| !waiting.paused);
                let pauses = if self.seen.open.is_some() {
                    let stops = self.stoppable().into_iter().any(named);
                    if stops {
                        self.end(RunEnd::Stopped { by_message: false, device: None });
                    }
                    stops && waits
                } else {
                    let resumes = self.interrupted_run().is_some_and(|run| named(run.id));
                    resumes || (waits && run.is_none())
                };
                if pauses {
                    self.pause();
                }
            }
            Command::ResumeQueue => {
                if self.seen.queue.iter().any(|waiting| waiting.paused) {
                    self.event("queue_resumed");
                    self.seen.queue.iter_mut().for_each(|waiting| waiting.paused = false);
                }
                self.start_next();
            }
            Command::ClearQueue => {
                for waiting in std::mem::take(&mut self.seen.queue) {
                    self.event("queued_removed");
                    self.withdrawn.insert(waiting.id);
                }
            }
            Command::Undo { from } => {
                let at = match from {
                    Some(from) => self.place(from.0).ok_or(Rejected::NoSuchTurn)?,
                    None => self.seen.turns.len().checked_sub(1).ok_or(Rejected::NothingToUndo)?,
                };
                self.end(RunEnd::Stopped { by_message: false, device: None });
                self.hide_from(at);
                self.interrupted = false;
                self.event("turns_undone");
                self.start_next();
            }
            Command::PutBack => {
                let possible = self.seen.open.is_none() && !self.seen.undone.is_empty();
                possible.then_some(()).ok_or(Rejected::NothingToPutBack)?;
                let turns = self.seen.undone.pop().unwrap_or_default();
                self.seen.turns.extend(turns);
                self.event("turns_put_back");
                self.forget_old();
            }
            Command::Retry => {
                let turn = self.seen.turns.last().ok_or(Rejected::NothingToRetry)?.id;
                (!self.held).then_some(()).ok_or(Rejected::RunsHeld)?;
                self.end(RunEnd::Stopped { by_message: false, device: None });
                self.start(turn, RunCause::Retry);
            }
            Command::Continue => {
                let turn = self.seen.turns.last().filter(|_| self.seen.open.is_none());
                let shown = turn.and_then(|turn| turn.answers[turn.shown].last());
                let over = shown.is_some_and(|run| run.end != Some(RunEnd::Completed));
                let turn = turn.filter(|_| over).ok_or(Rejected::NothingToContinue)?.id;
                (!self.held).then_some(()).ok_or(Rejected::RunsHeld)?;
                self.start(turn, RunCause::Continue);
            }
            Command::ChooseAnswer { turn, run } => {
                let at = self.place(turn.0).ok_or(Rejected::NoSuchTurn)?;
                let turn = &mut self.seen.turns[at];
                let shown = turn.answers.iter().position(|runs| runs[0].id == run.0);
                turn.shown = shown.ok_or(Rejected::NoSuchAnswer)?;
                self.interrupted = false;
                self.event("answer_chosen");
            }
            Command::Clear => {
                self.end(RunEnd::Stopped { by_message: false, device: None });
                self.interrupted = false;
                self.event("session_cleared");
                let turns = std::mem::take(&mut self.seen.turns);
                self.hide(&turns);
                self.drop_undone();
                self.seen.before = 0;
                self.seen.summary = None;
                self.start_next();
            }
            Command::Rename { title } => {
                self.event("session_renamed");
                self.seen.title = Some((title.clone(), Namer::Person));
                self.seen.active = self.now;
            }
            Command::SuggestTitle { title } => {
                if !matches!(self.seen.title, Some((_, Namer::Person))) {
                    self.event("title_generated");
                    self.seen.title = Some((title.clone(), Namer::Model));
                }
            }
            Command::BillRequest { .. } => {
                self.event("request_billed");
            }
            Command::SetFlag { flag, on } => {
                self.event("flag_set");
                let place = [Flag::Pinned, Flag::Archived, Flag::Trashed].iter().position(|one| one == flag);
                self.seen.flags[place.expect("a flag of today")] = *on;
                if *flag == Flag::Trashed {
                    let since = self.seen.trashed_since.unwrap_or(self.now);
                    self.seen.trashed_since = on.then_some(since);
                }
            }
            Command::SetTags { tags } => {
                self.event("tags_set");
                self.seen.tags.clone_from(tags);
            }
            Command::SetProject { project } => {
                self.event("project_set");
                self.seen.project = *project;
            }
            Command::AddId { id } => {
                if !self.seen.ids.contains(id) {
                    (self.seen.ids.len() < SESSION_IDS_MAX).then_some(()).ok_or(Rejected::TooManyIds)?;
                    self.event("id_added");
                    self.seen.ids.push(*id);
                }
            }
            Command::RemoveId { id } => {
                self.seen.ids.contains(id).then_some(()).ok_or(Rejected::NoSuchId)?;
                (self.seen.ids.len() > 1).then_some(()).ok_or(Rejected::LastId)?;
                self.event("id_removed");
                self.seen.ids.retain(|other| other != id);
            }
            Command::CompactContext { through, .. } => {
                self.place(through.0).ok_or(Rejected::NoSuchTurn)?;
                self.event("context_compacted");
                self.seen.summary = Some(through.0);
            }
            Command::Progress { run, progress } => {
                (Some(run.0) == self.seen.open).then_some(()).ok_or(Rejected::RunOver)?;
                self.progress(progress);
            }
            Command::Interrupt { reason } => {
                self.interrupt(reason.clone(), false, false);
            }
            Command::Heal { run, journal } => self.heal(run.0, journal),
            Command::Proceed => self.proceed(),
            Command::Branch { .. } => unreachable!("a branch is another log"),
            Command::MarkResume { .. } | Command::ClearResume => unreachable!("told in stories"),
            Command::SetMemoryOwner { .. }
            | Command::ReassignMemory { .. }
            | Command::CommitMemory { .. }
            | Command::AcceptCommit { .. }
            | Command::EndCommit { .. } => unreachable!("memory has a model of its own"),
            Command::Deliver { .. } => unreachable!("nothing here comes from a chat"),
        }
        Ok(self.kinds.clone())
    }

    pub(super) fn crash(&mut self, journal: &Journal) -> Vec<&'static str> {
        self.kinds.clear();
        let Some(run) = self.seen.open else { return Vec::new() };
        let reason = InterruptReason::Crash;
        match journal {
            Journal::Unused => self.interrupt(reason, false, false),
            Journal::Output { events, end: Some(end) } => {
                events.iter().for_each(|event| self.output(run, event));
                self.end(end.clone());
                let stopped = matches!(end, RunEnd::Stopped { by_message: false, .. });
                if stopped && self.seen.queue.iter().any(|waiting| !waiting.paused) {
                    self.pause();
                }
            }
            Journal::Output { events, end: None } if !events.is_empty() => {
                let said = |event: &Event| !matches!(event, Event::UsageReported { .. });
                self.interrupt(reason, true, events.iter().any(said));
                self.heal(run, journal);
            }
            Journal::NotYet | Journal::SealedEmpty | Journal::Output { .. } => {
                self.interrupt(reason, true, false);
            }
        }
        self.kinds.clone()
    }

    /// Interrupts the run that goes on; `more` is output that comes back later.
    fn interrupt(&mut self, reason: InterruptReason, recovering: bool, more: bool) {
        let Some(run) = self.seen.open else { return };
        let said = &self.run(run).expect("the open run is there").said;
        let progress = more || said.iter().any(|said| !matches!(said, Said::Steered(..)));
        self.end(RunEnd::Interrupted { reason, recovering, progress });
    }

    /// Resumes the newest run where it was interrupted, or starts the next message.
    fn proceed(&mut self) {
        if self.seen.open.is_some() || self.held {
            return;
        }
        match self.resumable() {
            Some(turn) => self.start(turn, RunCause::Resume),
            None => self.start_next(),
        }
    }

    fn pause(&mut self) {
        self.event("queue_paused");
        self.interrupted = false;
        self.seen.queue.iter_mut().for_each(|waiting| waiting.paused = true);
    }

    /// The open run, and those that it resumed.
    fn stoppable(&self) -> Vec<u64> {
        let answers = self.seen.turns.iter().flat_map(|turn| &turn.answers);
        let mut answers = answers.filter(|runs| runs.iter().any(|run| Some(run.id) == self.seen.open));
        let mut named = Vec::new();
        for run in answers.next().into_iter().flatten().rev() {
            named.push(run.id);
            if !run.resumed {
                break;
            }
        }
        named
    }

    /// The newest run, if it was interrupted and nobody did anything about it.
    fn interrupted_run(&self) -> Option<&Run> {
        let turn = self.seen.turns.last()?;
        let newest = turn.answers.iter().flatten().max_by_key(|run| run.id)?;
        let shown = turn.answers[turn.shown].iter().any(|run| run.id == newest.id);
        let interrupted = matches!(newest.end, Some(RunEnd::Interrupted { .. }));
        let wanted = self.interrupted && !self.seen.flags[2];
        (wanted && shown && interrupted).then_some(newest)
    }

    fn resumable(&self) -> Option<u64> {
        let turn = self.seen.turns.last()?;
        let newest = self.interrupted_run()?;
        let settled = self.seen.recovering.iter().all(|recovering| recovering.run != newest.id);
        let unclear = newest.said.iter().any(|said| matches!(said, Said::Call(_, (_, Standing::Asked))));
        let young = self.within > 0 && self.now - newest.last <= self.within;
        let moves = self.seen.crashes < INTERRUPTED_IN_A_ROW_MAX;
        (settled && !unclear && young && moves).then_some(turn.id)
    }

    pub(super) fn event(&mut self, kind: &'static str) -> u64 {
        self.seq += 1;
        self.kinds.push(kind);
        self.seq
    }

    fn place(&self, turn: u64) -> Option<usize> {
        self.seen.turns.iter().position(|candidate| candidate.id == turn)
    }

    fn waiting(&self, turn: u64) -> Result<usize, Rejected> {
        self.seen.queue.iter().position(|waiting| waiting.id == turn).ok_or(Rejected::NotQueued)
    }

    /// Accepts a message and starts what may start.
    fn wait(&mut self, kind: &'static str, message: &Message, mode: PostMode) {
        let id = self.event(kind);
        self.seen.active = self.now;
        let interrupts = mode == PostMode::Interrupt;
        if self.seen.title.is_none() {
            // The messages here are one short line.
            self.seen.title = Some((message.text.clone(), Namer::Fold));
        }
        let text = message.text.clone();
        let waiting = Waiting { id, text, posted: self.now, mode, paused: false };
        if interrupts {
            self.seen.queue.insert(0, waiting);
            self.end(RunEnd::Stopped { by_message: true, device: None });
        } else {
            self.seen.queue.push(waiting);
        }
        self.start_next();
    }

    fn start_next(&mut self) {
        if let Some(first) = self.seen.queue.iter().find(|waiting| !waiting.paused).map(|waiting| waiting.id)
            && self.seen.open.is_none()
            && !self.held
        {
            self.start(first, RunCause::Message);
        }
    }

    fn start(&mut self, turn: u64, cause: RunCause) {
        self.interrupted = false;
        let id = self.event("run_started");
        if let Ok(at) = self.waiting(turn) {
            let Waiting { id, text, posted, .. } = self.seen.queue.remove(at);
            self.seen.turns.push(Turn { id, text, posted, answers: Vec::new(), shown: 0 });
            self.drop_undone();
        }
        self.forget_old();
        self.seen.open = Some(id);
        self.seen.active = self.now;
        let resumed = cause == RunCause::Resume;
        let run = Run { id, resumed, last: self.now, stepped: false, said: Vec::new(), end: None };
        let turn = self.seen.turns.last_mut().expect("a run is of the newest turn");
        match cause {
            RunCause::Message | RunCause::Retry | RunCause::Other(_) => {
                turn.answers.push(vec![run]);
                turn.shown = turn.answers.len() - 1;
            }
            RunCause::Continue => turn.answers[turn.shown].push(run),
            RunCause::Resume => turn.newest_answer().push(run),
        }
        while turn.answers.len() > ANSWERS_PER_TURN_MAX {
            let Some(lost) = turn.forget_oldest() else { break };
            self.hidden.extend(lost.iter().flat_map(Run::steered));
        }
    }

    fn end(&mut self, end: RunEnd) {
        let Some(id) = self.seen.open.take() else { return };
        self.event("run_ended");
        self.interrupted = matches!(end, RunEnd::Interrupted { .. });
        let completed = end == RunEnd::Completed;
        let (mut crashes, mut active) = (if completed { 0 } else { self.seen.crashes }, self.now);
        if matches!(end, RunEnd::OutputLimit { .. }) {
            crashes = 0;
        }
        if let RunEnd::Interrupted { recovering, progress, .. } = end {
            crashes = if progress { 1 } else { self.seen.crashes + 1 };
            active = self.seen.active;
            if recovering {
                self.seen.recovering.push(Recovering { run: id, attempts: 0, since: self.now });
            }
        }
        (self.seen.crashes, self.seen.active) = (crashes, active);
        self.run(id).expect("the open run is there").end = Some(end);
    }

    fn progress(&mut self, progress: &Progress) {
        let run = self.seen.open.expect("checked by the caller");
        match progress {
            Progress::Step { .. } | Progress::StepEnded => {
                let turn = self.seen.turns.last().expect("the open run has a turn").id;
                let queue = std::mem::take(&mut self.seen.queue);
                let finishes_text = *progress != Progress::StepEnded && self.finishes_text(run);
                let steers = |waiting: &Waiting| {
                    waiting.mode == PostMode::Steer && waiting.id > turn && !waiting.paused && !finishes_text
                };
                let (steered, waits): (Vec<_>, Vec<_>) = queue.into_iter().partition(steers);
                self.seen.queue = waits;
                let takes_a_step = *progress != Progress::StepEnded || !steered.is_empty();
                for Waiting { id, text, .. } in steered {
                    self.event("message_steered");
                    self.run(run).expect("it is open").said.push(Said::Steered(id, text));
                }
                if takes_a_step {
                    self.event("step_started");
                    let now = self.now;
                    let open = self.run(run).expect("it is open");
                    (open.last, open.stepped) = (now, true);
                }
            }
            Progress::OutputLimit { tokens } => {
                self.end(RunEnd::OutputLimit { tokens: *tokens });
                self.start_next();
            }
            Progress::Completed => {
                // All that its answer holds, also what the runs before it said.
                let answers = self.seen.turns.iter().flat_map(|turn| &turn.answers);
                let answer = answers.filter(|answer| answer.iter().any(|one| one.id == run)).flatten();
                let silent = answer.flat_map(|run| &run.said).all(|said| matches!(said, Said::Steered(..)));
                let error = "The agent ended without an answer.".to_owned();
                self.end(if silent { RunEnd::Failed { error } } else { RunEnd::Completed });
                self.start_next();
            }
            Progress::Failed { error } => {
                self.end(RunEnd::Failed { error: error.clone() });
                self.start_next();
            }
            output => {
                if let Some(event) = output.clone().into_output(session::RunId(run)) {
                    self.output(run, &event);
                }
            }
        }
    }

    fn heal(&mut self, id: u64, journal: &Journal) {
        let day_old = |recovering: &Recovering| (self.now - recovering.since).abs() >= 24 * HOUR;
        let Some(at) = self.seen.recovering.iter().position(|recovering| recovering.run == id) else {
            return;
        };
        let old = day_old(&self.seen.recovering[at]);
        let settled = match journal {
            Journal::Output { events, .. } if !events.is_empty() => {
                let active = self.seen.active;
                events.iter().for_each(|event| self.output(id, event));
                self.seen.active = active;
                true
            }
            Journal::NotYet if !old => return,
            _ if old => true,
            _ => {
                self.seen.recovering[at].attempts += 1;
                let unused = *journal == Journal::Unused;
                let most = if unused { RECOVERY_UNUSED_LOOKS } else { RECOVERY_ATTEMPTS_MAX };
                self.seen.recovering[at].attempts >= most
            }
        };
        if settled {
            self.event("recovery_settled");
            self.seen.recovering.remove(at);
        } else {
            self.event("recovery_attempted");
        }
    }

    /// Whether a run has not asked its model yet, and will continue a text then.
    fn finishes_text(&self, id: u64) -> bool {
        let answers = self.seen.turns.iter().flat_map(|turn| &turn.answers);
        let runs = answers.filter(|answer| answer.iter().any(|run| run.id == id)).flatten();
        let runs: Vec<_> = runs.take_while(|run| run.id != id || !run.stepped).collect();
        let before = runs.iter().filter(|run| run.id != id).flat_map(|run| &run.said);
        runs.iter().any(|run| run.id == id) && matches!(before.last(), Some(Said::Text(_)))
    }

    /// The run, wherever it still is.
    pub(super) fn run(&mut self, id: u64) -> Option<&mut Run> {
        let undone = self.seen.undone.iter_mut().flatten();
        let turns = self.seen.turns.iter_mut().chain(undone);
        turns.flat_map(|turn| turn.answers.iter_mut().flatten()).find(|run| run.id == id)
    }

    fn hide_from(&mut self, at: usize) {
        let turns = self.seen.turns.split_off(at);
        self.seen.summary.take_if(|through| turns.iter().any(|turn| turn.id == *through));
        self.seen.undone.push(turns);
        if self.seen.undone.len() > UNDONE_MAX {
            let lost = self.seen.undone.remove(0);
            self.hide(&lost);
        }
    }

    fn drop_undone(&mut self) {
        let undone = std::mem::take(&mut self.seen.undone);
        undone.iter().for_each(|turns| self.hide(turns));
    }

    fn hide(&mut self, turns: &[Turn]) {
        self.hidden.extend(turns.iter().flat_map(Turn::messages));
    }

    fn forget_old(&mut self) {
        let turns = &mut self.seen.turns;
        let size = |turns: &[Turn]| turns.iter().map(Turn::bytes).sum::<usize>();
        while turns.len() > TURNS_IN_STATE_MAX || (turns.len() > 1 && size(turns) > STATE_BYTES_MAX) {
            self.hidden.extend(turns.remove(0).messages());
            self.seen.before += 1;
        }
    }
}

//! Which events and effects follow from a command. Pure: everything it knows comes in as an argument.

use crate::command::{Command, Journal, Progress};
use crate::effect::{Effect, MemoryCommit};
use crate::event::{
    CommitOutcome, Event, InterruptReason, Message, PostMode, RecoveryOutcome, RunCause, RunEnd,
};
use crate::fold::is_empty;
use crate::id::{Owner, RunId, Seq, SessionId, SlotNo, Time, TurnId};
use crate::limits::{
    ATTACHMENTS_MAX, MESSAGE_BYTES_MAX, QUEUE_MAX, QUEUE_MIB_MAX, RECOVERY_ATTEMPTS_MAX,
    RECOVERY_UNUSED_LOOKS, RUNS_PER_ANSWER_MAX, SESSION_IDS_MAX, TAG_CHARS_MAX, TAGS_MAX, TITLE_BYTES_MAX,
    TITLE_REQUESTS_MAX, TITLE_TURNS_MAX,
};
use crate::memory::Segment;
use crate::organise::checked_tags;
use crate::state::{Piece, Queued, Recovering, Run, Session, Title, Turn};

/// What the outside contributes to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub now: Time,
    /// A free spool slot for a run that may start.
    pub spool: Option<SlotNo>,
    pub runs: Runs,
    /// Whether a chat is bound to the session: what interrupts it leaves a mark.
    pub chat: bool,
    /// Age of its newest output up to which an interrupted run resumes by itself; 0 when none does.
    pub resume_within_micros: i64,
}

/// Whether a run may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    Allowed,
    /// The server drains, or its disk is full: messages are kept and wait.
    Held,
}

/// The events to append, the effects to perform once they are durable, and the answer to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    pub accepted: Accepted,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accepted {
    /// The turn that the command made or concerned.
    pub turn: Option<TurnId>,
    /// The run that it started.
    pub run: Option<RunId>,
    /// Messages that go into the step that begins.
    pub steered: Vec<Message>,
}

/// The caller may not. Nothing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("the session exists already")]
    Exists,
    #[error("a message needs text or an attachment")]
    EmptyMessage,
    #[error("the message is longer than {MESSAGE_BYTES_MAX} bytes")]
    MessageTooLong,
    #[error("a message carries at most {ATTACHMENTS_MAX} attachments")]
    TooManyAttachments,
    #[error("the queue is full: it holds at most {QUEUE_MAX} messages and {QUEUE_MIB_MAX} MiB of text")]
    QueueFull,
    #[error("no such message is waiting; it may have been taken")]
    NotQueued,
    #[error("there is no such turn among the newest; branch from it instead")]
    NoSuchTurn,
    #[error("the turn has no such answer")]
    NoSuchAnswer,
    #[error("there is nothing to take back")]
    NothingToUndo,
    #[error("there is nothing to put back")]
    NothingToPutBack,
    #[error("there is no turn to answer again")]
    NothingToRetry,
    #[error("there is nothing to continue: no answer was cut short, or one is being written")]
    NothingToContinue,
    #[error("the run is over")]
    RunOver,
    #[error("a title needs 1 to {TITLE_BYTES_MAX} bytes")]
    BadTitle,
    #[error("a tag needs 1 to {TAG_CHARS_MAX} visible characters")]
    BadTag,
    #[error("a session has at most {TAGS_MAX} tags")]
    TooManyTags,
    #[error("a session has at most {SESSION_IDS_MAX} ids")]
    TooManyIds,
    #[error("that id does not lead here")]
    NoSuchId,
    #[error("a session keeps at least one id; erase it instead")]
    LastId,
    #[error("no run starts while the server drains or its disk is full; ask again later")]
    RunsHeld,
    #[error("the session is not marked to be resumed")]
    NotMarked,
    #[error("nothing of that answer is owed to a chat")]
    NotOwed,
}

/// Decides a command.
///
/// # Errors
/// When the caller may not; nothing has happened then.
#[expect(clippy::too_many_lines, reason = "one flat arm a command; each arm is a line or two")]
pub fn decide(session: &Session, command: Command, context: &Context) -> Result<Decision, Rejected> {
    let mut plan = Plan::new(session, context);
    match command {
        Command::Create { id, title, after, user } => {
            if session.head() != Seq(0) {
                return Err(Rejected::Exists);
            }
            let title = title.map(checked_title).transpose()?;
            plan.push(Event::SessionCreated { id, title, after, user });
        }
        Command::Branch { id, from, at } => {
            plan.push(Event::SessionBranched { id, from, at });
        }
        Command::PostMessage { message, mode, key } => {
            checked(&message)?;
            plan.room_to_wait(&message)?;
            plan.post(Event::MessagePosted { message, mode: mode.clone(), key }, &mode);
        }
        Command::EditQueued { turn, message } => {
            checked(&message)?;
            // Whoever changes it, and where: its answer goes to where it came from.
            let from = plan.queued(turn)?.message.from.clone();
            room_for_text(plan.waiting_bytes(Some(turn)) + message.size_bytes())?;
            let message = Message { from, ..message };
            plan.push(Event::QueuedEdited { turn, message, mode: None });
        }
        Command::SteerQueued { turn } => {
            let message = plan.queued(turn)?.message.clone();
            plan.push(Event::QueuedEdited { turn, message, mode: Some(PostMode::Steer) });
            // Without a run to steer, it is the next message.
            plan.start_if_allowed(turn);
        }
        Command::RemoveQueued { turn } => {
            plan.queued(turn)?;
            plan.push(Event::QueuedRemoved { turn });
        }
        Command::Stop { run, device } => match session.open() {
            Some((turn, open)) => {
                if run.is_none_or(|run| resumed_from(turn, open, run)) {
                    plan.stop(StoppedBy::Person, device);
                    plan.pause_queue();
                }
            }
            None => plan.stop_pending(run),
        },
        Command::ResumeQueue => plan.resume_queue(),
        Command::ClearQueue => {
            for queued in &session.queue {
                plan.push(Event::QueuedRemoved { turn: queued.turn });
            }
        }
        Command::Undo { from } => plan.undo(from)?,
        Command::PutBack => {
            let undone = session.undone.last().ok_or(Rejected::NothingToPutBack)?;
            if session.open_run.is_some() {
                return Err(Rejected::NothingToPutBack);
            }
            plan.push(Event::TurnsPutBack { from: undone.from });
        }
        Command::Retry => {
            plan.stop(StoppedBy::Person, None);
            let turn = session.turns.back().ok_or(Rejected::NothingToRetry)?.id;
            plan.start(turn, RunCause::Retry)?;
        }
        Command::Continue => plan.go_on()?,
        Command::ChooseAnswer { turn, run } => {
            let found = session.turn(turn).ok_or(Rejected::NoSuchTurn)?;
            if !found.answers().any(|runs| runs.first().is_some_and(|first| first.id == run)) {
                return Err(Rejected::NoSuchAnswer);
            }
            plan.push(Event::AnswerChosen { turn, run });
        }
        Command::EditMessage { turn, message, key } => {
            checked(&message)?;
            session.turn(turn).ok_or(Rejected::NoSuchTurn)?;
            plan.room_to_wait(&message)?;
            plan.stop(StoppedBy::Person, None);
            let hides = Some(plan.hides(turn));
            plan.post(Event::MessageEdited { turn, message, key, hides }, &PostMode::Interrupt);
        }
        Command::Clear => {
            plan.stop(StoppedBy::Person, None);
            plan.push(Event::SessionCleared {});
            plan.commit_memory(None);
            plan.start_next();
        }
        Command::Rename { title } => {
            plan.push(Event::SessionRenamed { title: checked_title(title)? });
        }
        Command::SuggestTitle { title } => {
            let named = matches!(session.title, Some(Title::Person(_)));
            if !named || fault::planted("title_overwrites_name") {
                plan.push(Event::TitleGenerated { title: checked_title(title)? });
            }
        }
        Command::BillRequest { turn, run, purpose, usage } => {
            plan.push(Event::RequestBilled { turn, run, purpose, usage });
        }
        Command::SetFlag { flag, on } => {
            plan.push(Event::FlagSet { flag, on });
        }
        Command::SetTags { tags } => {
            plan.push(Event::TagsSet { tags: checked_tags(tags)? });
        }
        Command::SetProject { project } => {
            plan.push(Event::ProjectSet { project });
        }
        Command::AddId { id } => plan.add_id(id)?,
        Command::RemoveId { id } => {
            if !session.ids.contains(&id) {
                return Err(Rejected::NoSuchId);
            }
            if session.ids.len() == 1 {
                return Err(Rejected::LastId);
            }
            plan.push(Event::IdRemoved { id });
        }
        Command::CompactContext { run, summary, through } => {
            if run.is_some() && run != session.open_run {
                return Err(Rejected::RunOver);
            }
            // An open run proves that no turn was hidden since it read the session; `through` may be out of the state.
            let earlier = run.is_some() && session.turns_before > 0;
            if session.turn(through).is_none() && !earlier {
                return Err(Rejected::NoSuchTurn);
            }
            plan.push(Event::ContextCompacted { summary, through });
        }
        Command::MarkResume { .. } if fault::planted("marks_have_one_reason") => {
            plan.push(Event::ResumeMarked { reason: (&InterruptReason::SpoolFull).into(), at: None });
        }
        Command::MarkResume { reason } => {
            plan.push(Event::ResumeMarked { reason, at: Some(context.now) });
        }
        Command::ClearResume => {
            session.resume.as_ref().ok_or(Rejected::NotMarked)?;
            plan.push(Event::ResumeCleared {});
        }
        Command::SetMemoryOwner { owner } => plan.set_memory_owner(owner),
        Command::ReassignMemory { from, to } => plan.reassign_memory(&from, &to),
        Command::CommitMemory { owner } => plan.commit_memory(owner.as_ref()),
        Command::AcceptCommit { commit, task } => {
            if plan.is_under_way(commit) {
                plan.push(Event::MemoryCommitAccepted { commit, task });
            }
        }
        Command::EndCommit { commit, outcome } => {
            if plan.is_under_way(commit) {
                plan.end_commit(outcome);
            }
        }
        Command::Progress { run, progress } => plan.progress(run, progress)?,
        Command::Interrupt { reason } => {
            if let Some((turn, run)) = session.open() {
                let progress = run.has_output();
                plan.end(turn.id, run.id, RunEnd::Interrupted { reason, recovering: false, progress });
            }
        }
        Command::Heal { run, journal } => {
            let recovering = session.recovering.iter().find(|candidate| candidate.run == run).cloned();
            if let Some(recovering) = recovering {
                plan.heal(&recovering, journal);
            }
        }
        Command::Deliver { answer, step } => plan.deliver(answer, step)?,
        Command::Proceed => plan.proceed(),
    }
    Ok(plan.decision)
}

fn checked(message: &Message) -> Result<(), Rejected> {
    if is_empty(message) {
        return Err(Rejected::EmptyMessage);
    }
    if message.size_bytes() > MESSAGE_BYTES_MAX {
        return Err(Rejected::MessageTooLong);
    }
    if message.attachments.len() > ATTACHMENTS_MAX {
        return Err(Rejected::TooManyAttachments);
    }
    Ok(())
}

/// Whether the open run is `run`, or resumed it by itself: a stop that named it before a restart means the open run now.
fn resumed_from(turn: &Turn, open: &Run, run: RunId) -> bool {
    let answer = turn.answers().find(|runs| runs.iter().any(|one| one.id == open.id)).unwrap_or_default();
    let at = answer.iter().position(|one| one.id == run);
    at.is_some_and(|at| answer[at + 1..].iter().all(|one| one.cause == RunCause::Resume))
}

/// Whether so much text may wait.
fn room_for_text(bytes: usize) -> Result<(), Rejected> {
    if bytes <= QUEUE_MIB_MAX * 1024 * 1024 { Ok(()) } else { Err(Rejected::QueueFull) }
}

/// Returns whether `run` continues text that an earlier run left unfinished.
fn continues_text(turn: &Turn, run: RunId) -> bool {
    let runs = turn.answers().find(|runs| runs.iter().any(|known| known.id == run)).unwrap_or_default();
    let before = runs.iter().take_while(|known| known.id != run).flat_map(|known| &known.pieces);
    matches!(before.last(), Some(Piece::Text(_)))
}

/// Whether the answer that a run gives or goes on with holds anything of the agent's.
fn said_anything(turn: &Turn, run: RunId) -> bool {
    let answer = turn.answers().find(|runs| runs.iter().any(|one| one.id == run)).unwrap_or_default();
    answer.iter().any(Run::has_output)
}

fn checked_title(title: String) -> Result<String, Rejected> {
    let fits = !title.trim().is_empty() && title.len() <= TITLE_BYTES_MAX;
    if fits { Ok(title) } else { Err(Rejected::BadTitle) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StoppedBy {
    Person,
    Message,
}

/// A decision in the making.
pub(crate) struct Plan<'a> {
    session: &'a Session,
    context: &'a Context,
    /// Whether the plan leaves a run open.
    run_open: bool,
    pub(crate) decision: Decision,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(session: &'a Session, context: &'a Context) -> Self {
        Self { session, context, run_open: session.open_run.is_some(), decision: Decision::default() }
    }

    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// Adds an event and says which `seq` it will have.
    pub(crate) fn push(&mut self, event: Event) -> Seq {
        self.decision.events.push(event);
        Seq(self.session.head().0 + self.decision.events.len() as u64)
    }

    fn room_to_wait(&self, message: &Message) -> Result<(), Rejected> {
        if self.session.queue.len() >= QUEUE_MAX {
            return Err(Rejected::QueueFull);
        }
        room_for_text(self.waiting_bytes(None) + message.size_bytes())
    }

    /// Bytes that wait, without one message.
    fn waiting_bytes(&self, except: Option<TurnId>) -> usize {
        let others = self.session.queue.iter().filter(|queued| Some(queued.turn) != except);
        others.map(|queued| queued.message.size_bytes()).sum()
    }

    fn queued(&self, turn: TurnId) -> Result<&Queued, Rejected> {
        self.session.queue.iter().find(|queued| queued.turn == turn).ok_or(Rejected::NotQueued)
    }

    fn post(&mut self, event: Event, mode: &PostMode) {
        let device = event.message().and_then(|message| message.device.clone());
        let turn = TurnId(self.push(event).0);
        self.decision.accepted.turn = Some(turn);
        match mode {
            PostMode::Interrupt => {
                self.stop(StoppedBy::Message, device);
                self.start_if_allowed(turn);
            }
            PostMode::Queue | PostMode::Steer | PostMode::Other(_) => {
                let first = self.next_queued().unwrap_or(turn);
                self.start_if_allowed(first);
            }
        }
    }

    /// Ends the open run, keeping all it brought.
    fn stop(&mut self, by: StoppedBy, device: Option<String>) {
        let Some((turn, run)) = self.session.open().filter(|_| self.run_open) else { return };
        let end = RunEnd::Stopped { by_message: by == StoppedBy::Message, device };
        if fault::planted("stop_ends_twice") {
            self.push(Event::RunEnded { turn: turn.id, run: run.id, end: end.clone() });
        }
        self.end(turn.id, run.id, end);
    }

    pub(crate) fn end(&mut self, turn: TurnId, run: RunId, end: RunEnd) {
        if let RunEnd::Interrupted { reason, .. } = &end {
            self.mark_cut_off(run, reason);
        }
        self.push(Event::RunEnded { turn, run, end });
        self.decision.effects.push(Effect::CancelRun { run });
        self.run_open = false;
    }

    /// The first message that waits and is not paused.
    fn next_queued(&self) -> Option<TurnId> {
        let waits = |queued: &&Queued| !queued.paused || fault::planted("stop_sends_queue");
        self.session.queue.iter().find(waits).map(|queued| queued.turn)
    }

    /// Starts the first message that waits, if a run may start.
    pub(crate) fn start_next(&mut self) {
        if let Some(turn) = self.next_queued() {
            self.start_if_allowed(turn);
        }
    }

    /// Keeps the messages that wait from running until someone resumes the queue.
    fn pause_queue(&mut self) {
        if fault::planted("stop_sends_queue") {
            self.start_next();
        } else if self.session.queue.iter().any(|queued| !queued.paused) {
            self.push(Event::QueuePaused {});
        }
    }

    /// Keeps the interrupted run from resuming by itself and the messages that wait from starting. No run is open.
    fn stop_pending(&mut self, run: Option<RunId>) {
        let waits = run.is_none() && self.session.queue.iter().any(|queued| !queued.paused);
        let interrupted = self.session.interrupted().map(|(_, interrupted)| interrupted.id);
        let resumes = interrupted.is_some() && (run.is_none() || run == interrupted);
        if (waits || resumes) && !fault::planted("stop_forgets_interrupted_run") {
            self.push(Event::QueuePaused {});
        }
    }

    fn resume_queue(&mut self) {
        if self.session.queue.iter().any(|queued| queued.paused) {
            self.push(Event::QueueResumed {});
        }
        if let Some(first) = self.session.queue.front() {
            self.start_if_allowed(first.turn);
        }
    }

    /// Resumes the interrupted run, or starts the next message, where nothing else goes on.
    fn proceed(&mut self) {
        if self.run_open || self.context.runs != Runs::Allowed {
            return;
        }
        let Context { now, resume_within_micros, .. } = *self.context;
        match self.session.resumable(now, resume_within_micros) {
            Some((turn, _)) => self.start_run(turn.id, RunCause::Resume),
            None => self.start_next(),
        }
    }

    fn start_if_allowed(&mut self, turn: TurnId) {
        if !self.run_open && self.context.runs == Runs::Allowed {
            self.start_run(turn, RunCause::Message);
        }
    }

    fn start(&mut self, turn: TurnId, cause: RunCause) -> Result<(), Rejected> {
        match self.context.runs {
            Runs::Held => Err(Rejected::RunsHeld),
            Runs::Allowed => {
                self.start_run(turn, cause);
                Ok(())
            }
        }
    }

    pub(crate) fn start_run(&mut self, turn: TurnId, cause: RunCause) {
        let spool = self.context.spool;
        let run = RunId(self.push(Event::RunStarted { turn, cause: cause.clone(), spool }).0);
        self.owe(turn, run, &cause);
        self.decision.effects.push(Effect::StartRun { turn, run });
        self.decision.accepted.turn = self.decision.accepted.turn.or(Some(turn));
        self.decision.accepted.run = Some(run);
        self.run_open = true;
    }

    /// How many visible turns there are from a turn of the state on.
    fn hides(&self, from: TurnId) -> u64 {
        let turns = &self.session.turns;
        turns.iter().rev().position(|turn| turn.id == from).map_or(0, |later| later as u64 + 1)
    }

    fn undo(&mut self, from: Option<TurnId>) -> Result<(), Rejected> {
        let turns = &self.session.turns;
        let from = match from {
            Some(from) => turns.iter().find(|turn| turn.id == from).ok_or(Rejected::NoSuchTurn)?.id,
            None => turns.back().ok_or(Rejected::NothingToUndo)?.id,
        };
        self.stop(StoppedBy::Person, None);
        self.push(Event::TurnsUndone { from, hides: Some(self.hides(from)) });
        self.decision.accepted.turn = Some(from);
        self.start_next();
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), Rejected> {
        // The answer that is shown may be over while another one is being given.
        if self.run_open {
            return Err(Rejected::NothingToContinue);
        }
        let turn = self.session.turns.back().ok_or(Rejected::NothingToContinue)?;
        let answer = turn.answer().filter(|runs| runs.len() < RUNS_PER_ANSWER_MAX);
        let last = answer.and_then(<[_]>::last).ok_or(Rejected::NothingToContinue)?;
        match last.end {
            None | Some(RunEnd::Completed) => Err(Rejected::NothingToContinue),
            Some(
                RunEnd::Stopped { .. }
                | RunEnd::Failed { .. }
                | RunEnd::OutputLimit { .. }
                | RunEnd::Interrupted { .. }
                | RunEnd::Other(_),
            ) => self.start(turn.id, RunCause::Continue),
        }
    }

    fn add_id(&mut self, id: SessionId) -> Result<(), Rejected> {
        if self.session.ids.contains(&id) {
            return Ok(());
        }
        if self.session.ids.len() >= SESSION_IDS_MAX {
            return Err(Rejected::TooManyIds);
        }
        self.push(Event::IdAdded { id });
        Ok(())
    }

    fn is_under_way(&self, commit: Seq) -> bool {
        self.session.memory.commit.as_ref().is_some_and(|under_way| under_way.id == commit)
    }

    /// Marks the session of a chat, ahead of the end of a run that is cut off. One that its agent had not begun is not
    /// marked, unless nobody can tell any more.
    fn mark_cut_off(&mut self, run: RunId, reason: &InterruptReason) {
        let brought = self.decision.events.iter().any(|event| event.output_of() == Some(run));
        let begun = self.session.open().is_some_and(|(_, open)| open.id == run && open.has_begun());
        let unknown = matches!(reason, InterruptReason::Crash | InterruptReason::LostNode);
        let told = brought || begun || unknown;
        if self.context.chat && told && !fault::planted("interruption_leaves_no_mark") {
            self.push(Event::ResumeMarked { reason: reason.into(), at: Some(self.context.now) });
        }
    }

    fn set_memory_owner(&mut self, owner: Option<Owner>) {
        let before = self.session.memory.owner.clone();
        if owner != before {
            self.push(Event::MemoryOwnerSet { owner });
            self.decision.effects.extend(before.map(|owner| Effect::ReleaseOwner { owner }));
        }
    }

    /// The commit that is under way ended.
    pub(crate) fn end_commit(&mut self, outcome: CommitOutcome) {
        let memory = &self.session.memory;
        let (Some(commit), Some(oldest)) = (&memory.commit, memory.segments.front()) else { return };
        let (commit, first, last) = (commit.id, oldest.first, oldest.last);
        self.push(Event::MemoryCommitEnded { commit, first, last, outcome });
    }

    /// What is owed to `from` is owed to `to`, but for what is being handed over.
    fn reassign_memory(&mut self, from: &Owner, to: &Owner) {
        let memory = &self.session.memory;
        let offered = usize::from(memory.commit.is_some());
        for segment in
            memory.segments.iter().skip(offered).filter(|segment| segment.owner.as_ref() == Some(from))
        {
            let Segment { first, last, .. } = *segment;
            self.push(Event::MemoryReassigned { first, last, from: Some(from.clone()), to: to.clone() });
        }
    }

    /// Begins to hand over the oldest segment. Nothing happens while another commit is under way, or when nothing is
    /// owed to anyone who is known.
    pub(crate) fn commit_memory(&mut self, named: Option<&Owner>) {
        if fault::planted("clean_session_commits") {
            self.commit_nothing(named);
        }
        let Some((owner, segment)) = self.session.memory.next(named) else { return };
        let Segment { first, last, from, through, .. } = *segment;
        if segment.owner.as_ref() != Some(&owner) {
            let before = segment.owner.clone();
            self.push(Event::MemoryReassigned { first, last, from: before, to: owner.clone() });
        }
        let commit = self.push(Event::MemoryCommitStarted { owner: owner.clone(), first, last });
        let commit = MemoryCommit { commit, owner, first, last, from, through };
        self.decision.effects.push(Effect::CommitMemory(commit));
    }

    /// A bug that can be planted: a call although nothing is owed.
    fn commit_nothing(&mut self, named: Option<&Owner>) {
        let memory = &self.session.memory;
        if let Some(owner) = named.or(memory.owner.as_ref()).filter(|_| !memory.is_dirty()).cloned() {
            let commit = self.push(Event::MemoryCommitStarted { owner: owner.clone(), first: 1, last: 0 });
            let commit = MemoryCommit { commit, owner, first: 1, last: 0, from: Seq(1), through: Seq(1) };
            self.decision.effects.push(Effect::CommitMemory(commit));
        }
    }

    fn progress(&mut self, run: RunId, progress: Progress) -> Result<(), Rejected> {
        let (turn, open) = self.session.open().filter(|(_, open)| open.id == run).ok_or(Rejected::RunOver)?;
        match progress {
            Progress::Step { asked_to_continue } => {
                // A run that continues a text finishes it first: the steering message enters when that step ends.
                if open.steps > 0 || !continues_text(turn, run) || fault::planted("steer_cuts_resumed_text") {
                    self.steer(turn.id, run);
                }
                self.push(Event::StepStarted { run, step: open.steps + 1, asked_to_continue });
            }
            Progress::StepEnded => {
                if !fault::planted("steer_waits_for_a_call") {
                    self.steer(turn.id, run);
                }
                if !self.decision.accepted.steered.is_empty() {
                    self.push(Event::StepStarted { run, step: open.steps + 1, asked_to_continue: false });
                }
            }
            // A run that goes on may find that everything was said already.
            Progress::Completed if !said_anything(turn, run) && !fault::planted("silent_end_completes") => {
                self.end(
                    turn.id,
                    run,
                    RunEnd::Failed { error: "The agent ended without an answer.".to_owned() },
                );
                self.start_next();
            }
            Progress::Completed => {
                self.end(turn.id, run, RunEnd::Completed);
                let turns = self.session.turns_before + self.session.turns.len() as u64;
                let unnamed = matches!(self.session.title, None | Some(Title::Provisional(_)));
                let requested = self.session.titles_requested;
                let may_ask = requested < TITLE_REQUESTS_MAX || fault::planted("title_asks_for_ever");
                if unnamed && turns <= TITLE_TURNS_MAX && may_ask {
                    self.decision.effects.push(Effect::SuggestTitle { turn: turn.id, run });
                }
                self.start_next();
            }
            Progress::OutputLimit { tokens } => {
                let failed = fault::planted("output_limit_fails");
                let end = if failed {
                    RunEnd::Failed { error: "Too long.".to_owned() }
                } else {
                    RunEnd::OutputLimit { tokens }
                };
                self.end(turn.id, run, end);
                self.start_next();
            }
            Progress::Failed { error } => {
                self.end(turn.id, run, RunEnd::Failed { error });
                self.start_next();
            }
            output @ (Progress::Text(_)
            | Progress::Reasoning(_)
            | Progress::CallDrafted { .. }
            | Progress::CallAsked { .. }
            | Progress::CallFinished { .. }
            | Progress::Usage(_)
            | Progress::Part(_)
            | Progress::Retry { .. }) => {
                if let Some(event) = output.into_output(run) {
                    self.push(event);
                }
            }
        }
        Ok(())
    }

    /// Puts the messages that steer the run into it. A message from before this turn was meant for a run that is over.
    fn steer(&mut self, turn: TurnId, run: RunId) {
        let steers =
            |queued: &&Queued| queued.mode == PostMode::Steer && queued.turn > turn && !queued.paused;
        for queued in self.session.queue.iter().filter(steers) {
            self.push(Event::MessageSteered { turn: queued.turn, run });
            self.decision.accepted.steered.push(queued.message.clone());
        }
    }

    /// What a look at the journal of an interrupted run leads to.
    fn heal(&mut self, recovering: &Recovering, journal: Journal) {
        let Recovering { turn, run, attempts, .. } = *recovering;
        let settle = |outcome| Event::RecoverySettled { turn, run, outcome };
        match journal {
            Journal::Output { mut events, .. } if !events.is_empty() => {
                if fault::planted("heal_reverses_output") {
                    events.reverse();
                }
                self.decision.events.extend(events);
                self.push(settle(RecoveryOutcome::Recovered));
            }
            _ if recovering.is_given_up(self.context.now) => {
                self.push(settle(RecoveryOutcome::Neutral));
            }
            Journal::NotYet if recovering.is_from_the_future(self.context.now) => {
                self.push(settle(RecoveryOutcome::Neutral));
            }
            Journal::NotYet => {
                if fault::planted("missing_journal_costs_attempt") {
                    self.push(Event::RecoveryAttempted { turn, run, attempts: attempts + 1 });
                }
            }
            Journal::Unused | Journal::SealedEmpty | Journal::Output { .. } => {
                let attempts = attempts + 1;
                // An unused journal that can be read holds nothing back: the log has everything.
                let most =
                    if journal == Journal::Unused { RECOVERY_UNUSED_LOOKS } else { RECOVERY_ATTEMPTS_MAX };
                self.push(if attempts >= most && !fault::planted("sealed_empty_never_settles") {
                    settle(RecoveryOutcome::Neutral)
                } else {
                    Event::RecoveryAttempted { turn, run, attempts }
                });
            }
        }
    }

    /// Ends a run whose worker is gone, with what its journal gave.
    pub(crate) fn close_dead(&mut self, turn: TurnId, run: &Run, journal: Journal, reason: InterruptReason) {
        let (id, mut progress) = (run.id, run.has_output());
        let interrupted =
            |recovering, progress| RunEnd::Interrupted { reason: reason.clone(), recovering, progress };
        match journal {
            Journal::NotYet if fault::planted("missing_journal_is_unused") => {
                self.end(turn, id, interrupted(false, progress));
            }
            Journal::Unused => self.end(turn, id, interrupted(false, progress)),
            Journal::Output { events, end: Some(end) } => {
                self.decision.events.extend(events);
                let stopped = matches!(end, RunEnd::Stopped { by_message: false, .. });
                self.end(turn, id, end);
                if stopped {
                    self.pause_queue();
                }
            }
            Journal::Output { events, end: None } if !events.is_empty() => {
                progress |= events.iter().any(Event::is_said);
                // After the end, as every healing: what comes back is no activity of the run.
                self.end(turn, id, interrupted(true, progress));
                self.decision.events.extend(events);
                let outcome = RecoveryOutcome::Recovered;
                self.push(Event::RecoverySettled { turn, run: id, outcome });
            }
            Journal::NotYet | Journal::SealedEmpty | Journal::Output { .. } => {
                self.end(turn, id, interrupted(true, progress));
            }
        }
    }
}

//! Random things to ask of a session, by place rather than by id, so that most of them mean something.

use proptest::prelude::*;
use session::event::CallStatus;
use session::{
    CallNo, Command, Event, Flag, InterruptReason, Journal, Message, Outcome, PostMode, Progress, ProjectId,
    RunEnd, RunId, SessionId, TurnId, Usage,
};

use super::reference::{HOUR, Model};

/// Something that happens to a session.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Post(PostMode, u8),
    EditQueued(u8),
    SteerQueued(u8),
    RemoveQueued(u8),
    Stop,
    ResumeQueue,
    ClearQueue,
    StopRun(u8),
    Undo,
    UndoFrom(u8),
    PutBack,
    Retry,
    Continue,
    Choose(u8, u8),
    Edit(u8),
    Clear,
    Rename(u8),
    Suggest(u8),
    Flag(Flag, bool),
    Tags(u8),
    Project(u8),
    AddId(u8),
    RemoveId(u8),
    Compact(u8),
    Step,
    StepEnded,
    Bring(Out),
    Done,
    OutputLimit,
    Fail,
    /// Something from a run that may be over.
    Late(u8),
    Drain(InterruptReason),
    Heal(u8, Found),
    Take,
    /// A crash, and how old the newest output of a run that resumes may be.
    Crash(Found, i64),
    Hold,
    Allow,
    Wait(i64),
    /// So many turns, from the message to the end.
    Turns(u8),
    /// So many retries in a row, each stopped by the next.
    Retries(u8),
}

/// What a run brings.
#[derive(Debug, Clone)]
pub(super) enum Out {
    Text(u8),
    Thought(u8),
    Draft(u8),
    Call(u8),
    Result(u8, CallStatus),
    Usage(u8),
    /// Enough to fill the state.
    Long(u8),
}

/// What is found in a journal.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Unused,
    NotYet,
    SealedEmpty,
    Output(Vec<Out>, Option<bool>),
}

pub(super) fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(ask(), 1..=60)
}

fn ask() -> impl Strategy<Value = Ask> {
    let n = any::<u8>;
    let mode = || prop::sample::select(vec![PostMode::Queue, PostMode::Steer, PostMode::Interrupt]);
    let talk = prop_oneof![
        12 => (mode(), n()).prop_map(|(mode, n)| Ask::Post(mode, n)),
        18 => out().prop_map(Ask::Bring),
        6 => Just(Ask::Step),
        8 => Just(Ask::Done),
        3 => Just(Ask::StepEnded),
        1 => Just(Ask::OutputLimit),
        2 => Just(Ask::Fail),
        1 => n().prop_map(Ask::Late),
        2 => n().prop_map(Ask::EditQueued),
        2 => n().prop_map(Ask::SteerQueued),
        2 => n().prop_map(Ask::RemoveQueued),
    ];
    let change = prop_oneof![
        4 => Just(Ask::Stop),
        3 => Just(Ask::ResumeQueue),
        1 => Just(Ask::ClearQueue),
        1 => n().prop_map(Ask::StopRun),
        4 => Just(Ask::Undo),
        2 => n().prop_map(Ask::UndoFrom),
        4 => Just(Ask::PutBack),
        4 => Just(Ask::Retry),
        4 => Just(Ask::Continue),
        4 => (n(), n()).prop_map(|(turn, run)| Ask::Choose(turn, run)),
        3 => n().prop_map(Ask::Edit),
        1 => Just(Ask::Clear),
        1 => n().prop_map(Ask::Compact),
    ];
    let marks = prop_oneof![
        n().prop_map(Ask::Rename),
        n().prop_map(Ask::Suggest),
        (prop::sample::select(vec![Flag::Pinned, Flag::Archived, Flag::Trashed]), any::<bool>())
            .prop_map(|(flag, on)| Ask::Flag(flag, on)),
        n().prop_map(Ask::Tags),
        n().prop_map(Ask::Project),
        n().prop_map(Ask::AddId),
        n().prop_map(Ask::RemoveId),
    ];
    let within = prop_oneof![4 => Just(HOUR), 1 => Just(0)];
    let reasons =
        vec![InterruptReason::ShutdownTimeout, InterruptReason::RestartTimeout, InterruptReason::SpoolFull];
    let world = prop_oneof![
        6 => (found(), within).prop_map(|(found, within)| Ask::Crash(found, within)),
        6 => (n(), found()).prop_map(|(run, found)| Ask::Heal(run, found)),
        1 => prop::sample::select(reasons).prop_map(Ask::Drain),
        2 => Just(Ask::Hold),
        4 => Just(Ask::Allow),
        3 => Just(Ask::Take),
        3 => (0..5_000_000_i64).prop_map(Ask::Wait),
        1 => (3_000_000_000..90_000_000_000_i64).prop_map(Ask::Wait),
    ];
    let many = prop_oneof![(1..70_u8).prop_map(Ask::Turns), (1..40_u8).prop_map(Ask::Retries)];
    prop_oneof![50 => talk, 28 => change, 6 => marks, 20 => world, 1 => many]
}

fn out() -> impl Strategy<Value = Out> {
    let n = any::<u8>;
    let status = prop_oneof![Just(CallStatus::Ok), Just(CallStatus::Error)];
    prop_oneof![
        8 => n().prop_map(Out::Text),
        4 => n().prop_map(Out::Thought),
        3 => n().prop_map(Out::Draft),
        4 => n().prop_map(Out::Call),
        4 => (n(), status).prop_map(|(n, status)| Out::Result(n, status)),
        1 => n().prop_map(Out::Usage),
        1 => n().prop_map(Out::Long),
    ]
}

fn found() -> impl Strategy<Value = Found> {
    prop_oneof![
        3 => Just(Found::Unused),
        2 => Just(Found::NotYet),
        2 => Just(Found::SealedEmpty),
        3 => (prop::collection::vec(out(), 0..4), any::<Option<bool>>()).prop_map(|(out, end)| Found::Output(out, end)),
    ]
}

impl Ask {
    /// The command that this is where the reference stands; none for what is no command.
    pub(super) fn command(&self, model: &Model) -> Option<Command> {
        let open = RunId(model.seen.open.unwrap_or_default());
        let progress = |progress| Command::Progress { run: open, progress };
        Some(match self {
            Self::Post(mode, n) => {
                Command::PostMessage { message: message(*n), mode: mode.clone(), key: None }
            }
            Self::EditQueued(n) => Command::EditQueued { turn: waiting(model, *n), message: message(*n) },
            Self::SteerQueued(n) => Command::SteerQueued { turn: waiting(model, *n) },
            Self::RemoveQueued(n) => Command::RemoveQueued { turn: waiting(model, *n) },
            Self::Stop => Command::Stop { run: None, device: None },
            Self::ResumeQueue => Command::ResumeQueue,
            Self::ClearQueue => Command::ClearQueue,
            Self::StopRun(n) => Command::Stop { run: Some(RunId(u64::from(*n))), device: None },
            Self::Undo => Command::Undo { from: None },
            Self::UndoFrom(n) => Command::Undo { from: Some(turn(model, *n)) },
            Self::PutBack => Command::PutBack,
            Self::Retry => Command::Retry,
            Self::Continue => Command::Continue,
            Self::Choose(n, run) => choose(model, turn(model, *n), *run),
            Self::Edit(n) => Command::EditMessage { turn: turn(model, *n), message: message(*n), key: None },
            Self::Clear => Command::Clear,
            Self::Rename(n) => Command::Rename { title: format!("name {n}") },
            Self::Suggest(n) => Command::SuggestTitle { title: format!("title {n}") },
            Self::Flag(flag, on) => Command::SetFlag { flag: flag.clone(), on: *on },
            Self::Tags(n) => Command::SetTags { tags: (0..n % 4).map(|at| format!("tag {at}")).collect() },
            Self::Project(n) => {
                Command::SetProject { project: (n % 2 == 0).then(|| ProjectId(session_id(*n).0)) }
            }
            Self::AddId(n) => Command::AddId { id: session_id(*n) },
            Self::RemoveId(n) => Command::RemoveId { id: session_id(*n) },
            Self::Compact(n) => Command::CompactContext {
                run: None,
                summary: format!("summary {n}"),
                through: turn(model, *n),
            },
            Self::Step => progress(Progress::Step { asked_to_continue: false }),
            Self::StepEnded => progress(Progress::StepEnded),
            Self::Bring(out) => progress(out.progress()),
            Self::Done => progress(Progress::Completed),
            Self::OutputLimit => progress(Progress::OutputLimit { tokens: 100 }),
            Self::Fail => progress(Progress::Failed { error: "No credit.".to_owned() }),
            Self::Late(n) => {
                Command::Progress { run: RunId(u64::from(*n)), progress: Progress::Text("late".to_owned()) }
            }
            Self::Drain(reason) => Command::Interrupt { reason: reason.clone() },
            Self::Heal(n, found) => {
                let run =
                    pick(&model.seen.recovering, *n).map_or(RunId(u64::from(*n)), |found| RunId(found.run));
                Command::Heal { run, journal: found.journal(run) }
            }
            Self::Take => Command::Proceed,
            Self::Crash(..)
            | Self::Hold
            | Self::Allow
            | Self::Wait(_)
            | Self::Turns(_)
            | Self::Retries(_) => {
                return None;
            }
        })
    }
}

impl Out {
    pub(super) fn progress(&self) -> Progress {
        let call = |n: u8| CallNo(u32::from(n % 3));
        let (tool, provider_call) = ("shell".to_owned(), None);
        match self {
            Self::Text(n) => Progress::Text(format!("t{n} ")),
            Self::Thought(n) => Progress::Reasoning(format!("r{n} ")),
            Self::Draft(n) => Progress::CallDrafted { call: call(*n), tool, arguments: format!("d{n}") },
            Self::Call(n) => {
                Progress::CallAsked { call: call(*n), tool, arguments: format!("a{n}"), provider_call }
            }
            Self::Result(n, status) => {
                let outcome = Outcome { status: status.clone(), content: format!("result {n}") };
                Progress::CallFinished { call: call(*n), outcome }
            }
            Self::Usage(n) => {
                Progress::Usage(Usage { input_tokens: u64::from(*n), output_tokens: 1, ..Usage::default() })
            }
            Self::Long(n) => Progress::Text(format!("{n} ").repeat(30_000)),
        }
    }
}

impl Found {
    pub(super) fn journal(&self, run: RunId) -> Journal {
        match self {
            Self::Unused => Journal::Unused,
            Self::NotYet => Journal::NotYet,
            Self::SealedEmpty => Journal::SealedEmpty,
            Self::Output(out, end) => {
                let events: Vec<Event> =
                    out.iter().filter_map(|out| out.progress().into_output(run)).collect();
                let failed = RunEnd::Failed { error: "No credit.".to_owned() };
                let end = end.map(|whole| if whole { RunEnd::Completed } else { failed });
                Journal::Output { events, end }
            }
        }
    }
}

fn message(n: u8) -> Message {
    Message::text(format!("message {n}"))
}

pub(super) fn session_id(n: u8) -> SessionId {
    SessionId(uuid::Uuid::from_u128(u128::from(n % 20)))
}

/// One of the list, or, now and then, none.
fn pick<T>(list: &[T], n: u8) -> Option<&T> {
    list.get(usize::from(n) % (list.len() + 1))
}

fn waiting(model: &Model, n: u8) -> TurnId {
    TurnId(pick(&model.seen.queue, n).map_or(u64::from(n), |waiting| waiting.id))
}

fn turn(model: &Model, n: u8) -> TurnId {
    TurnId(pick(&model.seen.turns, n).map_or(u64::from(n), |turn| turn.id))
}

fn choose(model: &Model, turn: TurnId, n: u8) -> Command {
    let found = model.seen.turns.iter().find(|candidate| candidate.id == turn.0);
    let answer = found.and_then(|turn| pick(&turn.answers, n));
    Command::ChooseAnswer { turn, run: RunId(answer.map_or(u64::from(n), |runs| runs[0].id)) }
}

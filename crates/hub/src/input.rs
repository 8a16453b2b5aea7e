//! Everything that can come to a writer, and what waits in its batch until it is durable.

use std::sync::Arc;

use session::{
    Accepted, Command, Effect, Entry, Event, Link, Message, Progress, Rejected, RunId, Seq, Session, SlotNo,
    Time, UserId,
};
use store::{Claim, Urgency};
use tokio::sync::oneshot;

use crate::error::{CommandError, FollowError};
use crate::follow;
use crate::handle::Acknowledged;
use crate::runner::RunOver;
use crate::slots::LentSlot;
use crate::spool::Look;

pub(crate) type CommandAnswer = Result<Acknowledged, CommandError>;
pub(crate) type ProgressAnswer = Result<Vec<Message>, RunOver>;

/// Everything that can come to a writer.
pub(crate) enum Input {
    Command {
        command: Command,
        answer: oneshot::Sender<CommandAnswer>,
    },
    Progress {
        run: RunId,
        progress: Progress,
        answer: oneshot::Sender<ProgressAnswer>,
    },
    Read {
        answer: oneshot::Sender<Result<Box<Session>, CommandError>>,
    },
    Follow {
        after: Seq,
        answer: oneshot::Sender<Result<follow::Subscription, FollowError>>,
    },
    /// Answers once the session is repaired, and asks for nothing else.
    Open {
        answer: oneshot::Sender<Result<(), CommandError>>,
    },
    /// Look again at the journals of runs that are being recovered.
    LookAgain,
    Healed {
        run: RunId,
        look: Look,
        links: Vec<Link>,
    },
    /// Give the session up once nothing is going on: the hub closes, or the session is erased.
    Retire {
        when: Retire,
        answer: oneshot::Sender<GivenUp>,
    },
}

/// What a writer leaves to whoever asked it to give its session up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    pub(crate) claim: Claim,
    /// Whose session it is.
    pub(crate) user: UserId,
    /// Slots that may hold output of the session.
    pub(crate) slots: Vec<(RunId, SlotNo)>,
}

/// When a writer gives its session up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retire {
    /// Once no run is going on.
    WhenQuiet,
    /// At once: the session is erased.
    Now,
    /// At once, if it is in the trash since then or longer and nothing goes on: it is erased.
    Trashed { until: Time },
}

/// Who waits for the batch to be durable.
pub(crate) enum Waiting {
    Command(oneshot::Sender<CommandAnswer>, Result<Accepted, Rejected>),
    Progress(oneshot::Sender<ProgressAnswer>, Result<Vec<Message>, RunOver>, Durable),
}

/// Where a run wants something to be durable before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// In the log: a deed follows.
    InLog,
    /// In the log, or in the spool while the store is away.
    Anywhere,
}

impl Durable {
    pub(crate) fn of(progress: &Progress) -> Self {
        match progress {
            Progress::Step { .. } | Progress::StepEnded | Progress::CallAsked { .. } => Self::InLog,
            _ => Self::Anywhere,
        }
    }
}

/// What was decided and is not durable yet.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) effects: Vec<Effect>,
    /// Slots of the runs that it starts.
    pub(crate) lent: Vec<LentSlot>,
    /// Whether durable entries of the batch change the list of sessions, or owe a delivery to a chat.
    pub(crate) touches_list: bool,
    pub(crate) owes_deliveries: bool,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.waiting.is_empty()
    }

    /// Whether it holds nothing but what people asked for, and wait for.
    pub(crate) fn is_asked_for(&self) -> bool {
        let asked = |waiting: &Waiting| matches!(waiting, Waiting::Command(..));
        !self.waiting.is_empty()
            && self.waiting.iter().all(asked)
            && self.entries.iter().all(|entry| entry.event.output_of().is_none())
    }
}

/// Whether a command ends the run that is going on.
pub(crate) fn ends_run(command: &Command) -> bool {
    match command {
        Command::Stop { .. }
        | Command::Undo { .. }
        | Command::Retry
        | Command::EditMessage { .. }
        | Command::Clear
        | Command::Interrupt { .. }
        | Command::PostMessage { mode: session::PostMode::Interrupt, .. } => true,
        Command::Create { .. }
        | Command::Branch { .. }
        | Command::PostMessage { .. }
        | Command::EditQueued { .. }
        | Command::SteerQueued { .. }
        | Command::RemoveQueued { .. }
        | Command::PutBack
        | Command::Continue
        | Command::ChooseAnswer { .. }
        | Command::Rename { .. }
        | Command::SuggestTitle { .. }
        | Command::BillRequest { .. }
        | Command::SetFlag { .. }
        | Command::SetTags { .. }
        | Command::SetProject { .. }
        | Command::AddId { .. }
        | Command::RemoveId { .. }
        | Command::CompactContext { .. }
        | Command::MarkResume { .. }
        | Command::ClearResume
        | Command::SetMemoryOwner { .. }
        | Command::ReassignMemory { .. }
        | Command::CommitMemory { .. }
        | Command::AcceptCommit { .. }
        | Command::EndCommit { .. }
        | Command::Progress { .. }
        | Command::Heal { .. }
        | Command::Deliver { .. }
        | Command::ResumeQueue
        | Command::ClearQueue
        | Command::Proceed => false,
    }
}

/// Whether a command may start a run, which then wants a spool slot.
pub(crate) fn may_start_run(command: &Command) -> bool {
    match command {
        Command::PostMessage { .. }
        | Command::SteerQueued { .. }
        | Command::Continue
        | Command::ResumeQueue
        | Command::Proceed => true,
        Command::Progress { progress, .. } => progress.ends_run(),
        other => ends_run(other),
    }
}

/// Which points a batch passes.
pub(crate) enum BatchKind {
    Accept,
    Output,
    Stop,
    End,
}

impl BatchKind {
    pub(crate) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut kind = Self::Accept;
        for entry in entries {
            match &entry.event {
                Event::RunEnded { end: session::RunEnd::Stopped { .. }, .. } => return Self::Stop,
                Event::RunEnded { .. } => kind = Self::End,
                event if event.output_of().is_some() && matches!(kind, Self::Accept) => kind = Self::Output,
                _ => {}
            }
        }
        kind
    }

    pub(crate) fn before(&self) -> &'static str {
        match self {
            Self::Accept => "accept.before_append",
            Self::Output => "output.before_append",
            Self::Stop => "stop.before_append",
            Self::End => "end.before_append",
        }
    }

    pub(crate) fn after(&self) -> &'static str {
        match self {
            Self::Accept => "accept.after_append",
            Self::Output => "output.after_append",
            Self::Stop => "stop.after_append",
            Self::End => "end.after_append",
        }
    }
}

impl Waiting {
    pub(crate) fn acknowledge(self, seq: Seq) {
        // A caller that stopped waiting finds what it asked for in the log.
        match self {
            Self::Command(answer, Ok(accepted)) => {
                drop(answer.send(Ok(Acknowledged { seq, turn: accepted.turn, run: accepted.run })));
            }
            Self::Command(answer, Err(rejected)) => drop(answer.send(Err(rejected.into()))),
            Self::Progress(answer, steered, _) => drop(answer.send(steered)),
        }
    }

    pub(crate) fn fail(self, error: &CommandError) {
        match self {
            Self::Command(answer, _) => drop(answer.send(Err(error.clone()))),
            Self::Progress(answer, ..) => drop(answer.send(Err(RunOver))),
        }
    }
}

impl Input {
    /// Lets the next run start, if one waits. Nobody waits for the answer.
    pub(crate) fn proceed() -> Self {
        Self::Command { command: Command::Proceed, answer: oneshot::channel().0 }
    }

    /// Whether it is a command of a user that may start or stop a run: it takes precedence over automatic resume.
    pub(crate) fn takes_precedence(&self) -> bool {
        let Self::Command { command, .. } = self else { return false };
        matches!(command, Command::Stop { .. }) || (*command != Command::Proceed && may_start_run(command))
    }

    /// Whether it is a command that ends the run that is going on.
    pub(crate) fn ends_run(&self) -> bool {
        matches!(self, Self::Command { command, .. } if ends_run(command))
    }

    /// Whether everything before it must be durable first, and nothing may share its batch.
    pub(crate) fn stands_alone(&self) -> bool {
        match self {
            Self::Command { command, .. } => {
                matches!(
                    command,
                    Command::PostMessage { key: Some(_), .. }
                        | Command::EditMessage { key: Some(_), .. }
                        | Command::AddId { .. }
                        | Command::RemoveId { .. }
                ) || command.message().is_some_and(|message| !message.attachments.is_empty())
            }
            Self::Progress { .. } => false,
            Self::Read { .. }
            | Self::Follow { .. }
            | Self::Open { .. }
            | Self::LookAgain
            | Self::Healed { .. }
            | Self::Retire { .. } => true,
        }
    }

    pub(crate) fn fail(self, error: &CommandError) {
        // Whoever asked may be gone.
        match self {
            Self::Command { answer, .. } => drop(answer.send(Err(error.clone()))),
            Self::Progress { answer, .. } => drop(answer.send(Err(RunOver))),
            Self::Read { answer } => drop(answer.send(Err(error.clone()))),
            Self::Follow { answer, .. } => drop(answer.send(Err(error.clone().into()))),
            Self::Open { answer } => drop(answer.send(Err(error.clone()))),
            Self::LookAgain | Self::Healed { .. } | Self::Retire { .. } => {}
        }
    }
}

/// Ends and marks may use the disk's reserve.
pub(crate) trait OfEntries {
    fn of(entries: &[Arc<Entry>]) -> Self;
}

impl OfEntries for Urgency {
    fn of(entries: &[Arc<Entry>]) -> Self {
        let essential = entries.iter().any(|entry| {
            matches!(
                entry.event,
                Event::RunEnded { .. }
                    | Event::RecoverySettled { .. }
                    | Event::ResumeMarked { .. }
                    | Event::FlagSet { .. }
            )
        });
        if essential { Self::Essential } else { Self::Normal }
    }
}

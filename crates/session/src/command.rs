//! Everything that can be asked of a session.

use crate::chat::ResumeReason;
use crate::delivery::DeliveryStep;
use crate::event::{
    CommitOutcome, Event, Flag, InterruptReason, Message, Outcome, PostMode, ProviderPart, RequestPurpose,
    RetryReason, RunEnd, Usage,
};
use crate::id::{CallNo, MessageKey, Owner, ProjectId, RunId, Seq, SessionId, TurnId, UserId};

/// A request that something happen; it may be rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin the session. `after` is the session that its author leaves behind.
    Create { id: SessionId, title: Option<String>, after: Option<SessionId>, user: UserId },
    /// Begin the session as a branch of `from` after entry `at`.
    Branch { id: SessionId, from: SessionId, at: Seq },
    /// Say something.
    PostMessage { message: Message, mode: PostMode, key: Option<MessageKey> },
    /// Change a waiting message.
    EditQueued { turn: TurnId, message: Message },
    /// Lets a message that waits go into the run.
    SteerQueued { turn: TurnId },
    /// Withdraw a waiting message.
    RemoveQueued { turn: TurnId },
    /// End the run that is going on and keep all it brought. With `run`, only that one. `device` is where that was asked.
    Stop { run: Option<RunId>, device: Option<String> },
    /// Take back the newest turn, or all from `from` on.
    Undo { from: Option<TurnId> },
    /// Put back what was taken back last.
    PutBack,
    /// Ask for another answer to the newest turn; the earlier ones stay as alternatives.
    Retry,
    /// Go on after a stop, a failure or an interruption.
    Continue,
    /// Show another of a turn's answers.
    ChooseAnswer { turn: TurnId, run: RunId },
    /// Say something else in place of `turn` and all after it.
    EditMessage { turn: TurnId, message: Message, key: Option<MessageKey> },
    /// Take every turn out of sight.
    Clear,
    /// Give the session a name.
    Rename { title: String },
    /// Suggest a name; a person's name beats it.
    SuggestTitle { title: String },
    /// Add the usage of a request outside of runs to that of a run that has ended.
    BillRequest { turn: TurnId, run: RunId, purpose: RequestPurpose, usage: Usage },
    /// Pin, archive or trash the session, or undo that.
    SetFlag { flag: Flag, on: bool },
    /// Give the session these tags and no others.
    SetTags { tags: Vec<String> },
    /// Put the session into a project, or out of the one that it stands in.
    SetProject { project: Option<ProjectId> },
    /// Let another id lead here.
    AddId { id: SessionId },
    /// Let an id lead here no more.
    RemoveId { id: SessionId },
    /// Let the model read `summary` in place of all up to `through`.
    CompactContext { run: Option<RunId>, summary: String, through: TurnId },
    /// Tell the next turn of an interruption.
    MarkResume { reason: ResumeReason },
    /// Take that mark away.
    ClearResume,
    /// Owe what is completed from now on to this owner, or to none.
    SetMemoryOwner { owner: Option<Owner> },
    /// Owe what is owed to `from` to `to` instead: `from` cannot take it any more.
    ReassignMemory { from: Owner, to: Owner },
    /// A boundary: hand the oldest segment that is owed to its owner. `owner` takes what has none.
    CommitMemory { owner: Option<Owner> },
    /// The provider took a commit and works on it.
    AcceptCommit { commit: Seq, task: String },
    /// A commit ended.
    EndCommit { commit: Seq, outcome: CommitOutcome },
    /// What a run brings.
    Progress { run: RunId, progress: Progress },
    /// End the run that is going on because the server stops.
    Interrupt { reason: InterruptReason },
    /// What was found in the journal of a run that is being recovered.
    Heal { run: RunId, journal: Journal },
    /// What happens to an answer that is owed to a chat.
    Deliver { answer: RunId, step: DeliveryStep },
    /// Resume the interrupted run or start the next waiting message, unless a run is open.
    Proceed,
    /// Let the paused messages run.
    ResumeQueue,
    /// Withdraw every message that waits.
    ClearQueue,
}

impl Command {
    /// What a person says with it, if anything.
    pub fn message(&self) -> Option<&Message> {
        if let Self::PostMessage { message, .. }
        | Self::EditQueued { message, .. }
        | Self::EditMessage { message, .. } = self
        {
            return Some(message);
        }
        None
    }
}

/// What a run brings, in the order in which it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A request to the provider begins. The answer names the messages that go into it.
    Step {
        /// Whether the model is asked to continue its own text.
        asked_to_continue: bool,
    },
    /// A request to the provider ended without a call. The answer names the messages that want another step; none when the
    /// run is done.
    StepEnded,
    Text(String),
    Reasoning(String),
    CallDrafted {
        call: CallNo,
        tool: String,
        arguments: String,
    },
    CallAsked {
        call: CallNo,
        tool: String,
        arguments: String,
        provider_call: Option<String>,
    },
    CallFinished {
        call: CallNo,
        outcome: Outcome,
    },
    Usage(Usage),
    /// A part that only the provider understands.
    Part(ProviderPart),
    /// A request failed and is sent again after a wait.
    Retry {
        reason: RetryReason,
        error: String,
        wait_ms: u64,
        request: Option<String>,
    },
    Completed,
    /// The model reached its output limit.
    OutputLimit {
        tokens: u64,
    },
    Failed {
        error: String,
    },
}

impl Progress {
    /// Whether this is the run's own end.
    pub fn ends_run(&self) -> bool {
        matches!(self, Self::Completed | Self::OutputLimit { .. } | Self::Failed { .. })
    }

    /// The event that this becomes, for everything but steps and ends.
    pub fn into_output(self, run: RunId) -> Option<Event> {
        match self {
            Self::Text(text) => (!text.is_empty()).then_some(Event::TextAdded { run, text }),
            Self::Reasoning(text) => (!text.is_empty()).then_some(Event::ReasoningAdded { run, text }),
            Self::CallDrafted { call, tool, arguments } => {
                Some(Event::CallDrafted { run, call, tool, arguments })
            }
            Self::CallAsked { call, tool, arguments, provider_call } => {
                Some(Event::CallAsked { run, call, tool, arguments, provider_call })
            }
            Self::CallFinished { call, outcome } => Some(Event::CallFinished { run, call, outcome }),
            Self::Usage(usage) => Some(Event::UsageReported { run, usage }),
            Self::Part(part) => Some(Event::ProviderPartAdded { run, part }),
            Self::Retry { reason, error, wait_ms, request } => {
                Some(Event::RetryScheduled { run, reason, error, wait_ms, request })
            }
            Self::Step { .. }
            | Self::StepEnded
            | Self::Completed
            | Self::OutputLimit { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// What was found where a run's output may wait outside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Journal {
    /// Readable, and the run never wrote there: the log has everything.
    Unused,
    /// Missing, empty or out of reach, and not sealed: it may still arrive.
    NotYet,
    /// Sealed without output.
    SealedEmpty,
    /// Output in the order in which it happened, and the run's end if that was written too.
    Output { events: Vec<Event>, end: Option<RunEnd> },
}

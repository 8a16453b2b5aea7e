//! What is known of a session at a `seq`: plain data, changed by `fold` alone, bounded whatever the log's length.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::chat::ResumeMark;
use crate::delivery::Delivery;
use crate::entry::Link;
use crate::event::{
    InterruptReason, Message, Outcome, PostMode, ProviderPart, RetryReason, RunCause, RunEnd, Usage,
};
use crate::id::{CallNo, ProjectId, RunId, Seq, SessionId, SlotNo, Time, TurnId, UserId};
use crate::memory::Ledger;
use crate::tags::TagState;

/// The state of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Session {
    /// The end of the log that the state is derived from.
    pub link: Link,
    /// The session's user.
    #[serde(default)]
    pub user: UserId,
    pub created_at: Time,
    /// The time of the last activity by a user or the agent. Recovery and compaction don't count.
    pub active_at: Time,
    /// The session that this one continues from.
    pub after: Option<SessionId>,
    /// The session that this one was branched from.
    #[serde(default)]
    pub origin: Option<SessionId>,
    pub title: Option<Title>,
    /// The number of requests for a title.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub titles_requested: u32,
    pub pinned: bool,
    pub archived: bool,
    pub trashed: bool,
    /// When the session was moved to the trash.
    pub trashed_at: Option<Time>,
    /// Its tags, in order.
    pub tags: Vec<String>,
    /// The session's project, if the user still has it.
    pub project: Option<ProjectId>,
    /// The session's IDs.
    pub ids: Vec<SessionId>,
    /// The newest visible turns, oldest first.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Turn>))]
    pub turns: VecDeque<Turn>,
    /// The number of visible turns older than those in `turns`.
    pub turns_before: u64,
    /// Turns undone since the last message, the latest undo last.
    pub undone: Vec<Undone>,
    /// The queued messages.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Queued>))]
    pub queue: VecDeque<Queued>,
    /// The active run; always one of the newest turn's.
    pub open_run: Option<RunId>,
    /// Why the newest turn needs the user's attention, if it does.
    #[serde(default)]
    pub needs: Option<Need>,
    /// Runs whose journal can't be read yet.
    pub recovering: Vec<Recovering>,
    /// The summary that the model reads instead of older turns.
    pub summary: Option<Summary>,
    /// Interruptions since a run last completed or produced output.
    pub interrupted_in_a_row: u32,
    /// The interruption mark, set until a turn is completed.
    pub resume: Option<ResumeMark>,
    /// Pending memory commits.
    pub memory: Ledger,
    /// Pending deliveries to chats, oldest first, and the latest ended ones.
    #[serde(default)]
    pub deliveries: Vec<Delivery>,
}

/// The shape of a stored state. It rises with every change of what the fold leaves in the state, because a state of before
/// lacks what today's fold would have put there. `fixtures/state.txt` is the shape that it stands for.
pub const SHAPE: u32 = 9;

/// Why a session needs the user's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The newest answer failed.
    Failed,
    /// The newest answer was interrupted and doesn't resume automatically.
    Interrupted,
}

/// A session's title and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Title {
    Person(String),
    Generated(String),
    /// The first line of the first message, until a better title is known.
    Provisional(String),
}

impl Title {
    /// The name itself.
    pub fn text(&self) -> &str {
        match self {
            Self::Person(text) | Self::Generated(text) | Self::Provisional(text) => text,
        }
    }
}

/// A user message and its answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turn {
    pub id: TurnId,
    pub message: Message,
    pub posted_at: Time,
    /// The turn's runs, grouped by answer. A retry starts a new answer; continuing extends the shown one.
    pub runs: Vec<Run>,
    /// The first run of the shown answer.
    pub chosen: Option<RunId>,
}

/// One attempt of the agent to answer a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    pub id: RunId,
    pub cause: RunCause,
    pub started_at: Time,
    pub spool: Option<SlotNo>,
    pub steps: u32,
    /// The run's output, in order.
    pub pieces: Vec<Piece>,
    /// Provider-specific parts of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PlacedPart>,
    /// The wait before the next request, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    pub usage: Usage,
    pub end: Option<RunEnd>,
    pub ended_at: Option<Time>,
    pub recovery: Recovery,
    /// Whether the model was asked to continue the previous text, so that the seam needs repair.
    pub asked_to_continue: bool,
    /// The time of the last output; the start time if there is none yet.
    pub last_at: Time,
    /// The stream's position relative to reasoning tags.
    pub(crate) tags: TagState,
}

/// A provider-specific part and its position in a run's output. It belongs to the step that ended when it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PlacedPart {
    /// The number of pieces that arrived before the part.
    pub pieces_before: usize,
    pub part: ProviderPart,
}

/// The wait before a failed request is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Retry {
    pub reason: RetryReason,
    pub error: String,
    pub until: Time,
}

/// A piece of a run's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Text(String),
    Reasoning(String),
    Call(Call),
    /// A message that entered the active run.
    Steered {
        turn: TurnId,
        message: Message,
    },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Call {
    pub no: CallNo,
    pub tool: String,
    /// JSON text; incomplete while the arguments are arriving.
    pub arguments: String,
    pub provider_call: Option<String>,
    pub state: CallState,
}

/// A tool call's progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call's arguments are incomplete.
    Drafted,
    /// The call may have started.
    Asked,
    Finished(Outcome),
}

/// Whether more of a run's output may be recovered from its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// All that is known is in the log.
    #[default]
    None,
    Recovering,
    Recovered,
    /// Given up without a claim.
    Neutral,
}

/// The recovery state of a run whose journal can't be read yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Recovering {
    pub turn: TurnId,
    pub run: RunId,
    pub spool: Option<SlotNo>,
    pub attempts: u32,
    pub first_seen: Time,
    pub reason: InterruptReason,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Queued {
    pub turn: TurnId,
    pub message: Message,
    pub posted_at: Time,
    pub mode: PostMode,
    /// Whether Stop paused the message: it waits until the queue is resumed.
    #[serde(default)]
    pub paused: bool,
}

/// Undone turns that can be redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Undone {
    pub from: TurnId,
    /// The newest of the undone turns, as far as the state holds them.
    pub turns: Vec<Turn>,
    /// The number of older undone turns, which are only in the log.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub before: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none_yet(times: &u32) -> bool {
    *times == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The summary that the model reads instead of older turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Summary {
    pub text: String,
    pub through: TurnId,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            link: Link::START,
            user: UserId::FIRST,
            created_at: Time(0),
            active_at: Time(0),
            after: None,
            origin: None,
            title: None,
            titles_requested: 0,
            pinned: false,
            archived: false,
            trashed: false,
            trashed_at: None,
            tags: Vec::new(),
            project: None,
            ids: Vec::new(),
            turns: VecDeque::new(),
            turns_before: 0,
            undone: Vec::new(),
            queue: VecDeque::new(),
            open_run: None,
            needs: None,
            recovering: Vec::new(),
            summary: None,
            interrupted_in_a_row: 0,
            resume: None,
            memory: Ledger::default(),
            deliveries: Vec::new(),
        }
    }
}

impl Session {
    /// The last entry's position.
    pub fn head(&self) -> Seq {
        self.link.seq
    }

    /// A visible turn that is still in the state.
    pub fn turn(&self, turn: TurnId) -> Option<&Turn> {
        self.turns.iter().rev().find(|candidate| candidate.id == turn)
    }

    /// The turn and run of the run that is going on.
    pub fn open(&self) -> Option<(&Turn, &Run)> {
        let run = self.open_run?;
        let turn = self.turns.back()?;
        Some((turn, turn.run(run)?))
    }

    /// Whether undo left visible turns, and none of them in the state: [`refill`](crate::refill) puts them back.
    pub fn wants_refill(&self) -> bool {
        self.turns.is_empty() && self.turns_before > 0 && !fault::planted("undo_reaches_state_only")
    }

    /// The state as stored bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // The state holds strings, numbers and lists only, so there is nothing that JSON cannot carry.
        serde_json::to_vec(&(SHAPE, self)).unwrap_or_default()
    }

    /// Reads a stored state; `None` when another version wrote it in another shape: then the log is folded anew.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (shape, state): (u32, Self) = serde_json::from_slice(bytes).ok()?;
        (shape == SHAPE).then_some(state)
    }
}

impl Turn {
    /// One of the turn's runs.
    pub fn run(&self, run: RunId) -> Option<&Run> {
        self.runs.iter().rev().find(|candidate| candidate.id == run)
    }

    pub(crate) fn run_mut(&mut self, run: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|candidate| candidate.id == run)
    }

    /// The turn's answers: each a run that began one, with the runs that went on from it.
    pub fn answers(&self) -> impl Iterator<Item = &[Run]> {
        self.runs.chunk_by(|_, next| next.goes_on())
    }

    /// The answer that is shown.
    pub fn answer(&self) -> Option<&[Run]> {
        let chosen = self.chosen?;
        self.answers().find(|runs| runs.iter().any(|run| run.id == chosen))
    }

    /// The entry that started its first run, of those that are in the state.
    pub fn started(&self) -> Option<Seq> {
        self.runs.iter().map(|run| Seq(run.id.0)).min()
    }

    /// Bytes of content, for the bound on the state.
    pub(crate) fn size_bytes(&self) -> usize {
        self.message.text.len() + self.runs.iter().map(Run::size_bytes).sum::<usize>()
    }
}

impl Run {
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self.cause, RunCause::Continue | RunCause::Resume)
    }

    /// Calls that may have run and whose outcome is unknown.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call(call) if call.state == CallState::Asked => Some(call),
            Piece::Call(_) | Piece::Text(_) | Piece::Reasoning(_) | Piece::Steered { .. } => None,
        })
    }

    /// Whether the agent said or did anything; what a person said into the run is not the agent's.
    pub(crate) fn has_output(&self) -> bool {
        self.tags.holds_text() || self.pieces.iter().any(|piece| !matches!(piece, Piece::Steered { .. }))
    }

    fn size_bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|placed| placed.part.data.len()).sum();
        self.pieces.iter().map(Piece::size_bytes).sum::<usize>() + parts
    }
}

impl Piece {
    fn size_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.len(),
            Self::Steered { message, .. } => message.text.len(),
            Self::Call(call) => {
                let result = match &call.state {
                    CallState::Finished(outcome) => outcome.content.len(),
                    CallState::Drafted | CallState::Asked => 0,
                };
                call.arguments.len() + result
            }
        }
    }
}

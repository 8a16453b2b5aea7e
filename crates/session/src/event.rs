//! Everything that can happen in a session. This is the stored format: variants and optional fields are added,
//! never changed or removed; old shapes pass through `upcast.rs`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

use crate::chat::{ResumeReason, readable_time};
use crate::delivery::{DeliveryOutcome, FromChat};
use crate::entry::Hash;
use crate::id::{
    BlobHash, CallNo, Epoch, MessageKey, Owner, ProjectId, RunId, Seq, SessionId, SlotNo, Time, TurnId,
    UserId,
};

/// One fact, past tense. The entry's `seq` is the id of the turn or run that an event makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The session began. `after` is the session that its author left behind.
    SessionCreated {
        id: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<SessionId>,
        /// Whose session it is; a branch is its origin's user's.
        #[serde(default, skip_serializing_if = "UserId::is_first")]
        user: UserId,
    },
    /// The session began as a branch: its log is `from`'s up to `at`, then its own.
    SessionBranched { id: SessionId, from: SessionId, at: Seq },
    /// A person gave the session a name.
    SessionRenamed { title: String },
    /// A model suggested a name; it holds until a person gives one.
    TitleGenerated { title: String },
    /// The session was pinned, archived or put in the trash, or taken out again.
    FlagSet { flag: Flag, on: bool },
    /// The session has these tags from now on, in order, and no others.
    TagsSet { tags: Vec<String> },
    /// The session stands in this project from now on, or in none.
    ProjectSet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectId>,
    },
    /// Another id leads here from now on.
    IdAdded { id: SessionId },
    /// An id no longer leads here; it stays used for ever.
    IdRemoved { id: SessionId },

    /// A message was accepted and begins turn `seq`. It waits when a run is going on.
    MessagePosted {
        message: Message,
        mode: PostMode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<MessageKey>,
    },
    /// A waiting message was changed.
    QueuedEdited {
        turn: TurnId,
        message: Message,
        /// What it does from now on, when that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<PostMode>,
    },
    /// A waiting message was withdrawn.
    QueuedRemoved { turn: TurnId },
    /// Stop paused the queue: the messages that wait stay until it is resumed or cleared.
    QueuePaused {},
    /// The paused messages may run again.
    QueueResumed {},
    /// A waiting message went into the running run.
    MessageSteered { turn: TurnId, run: RunId },
    /// A new message (turn `seq`) took the place of `turn` and all after it.
    MessageEdited {
        turn: TurnId,
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<MessageKey>,
        /// The number of turns that this hides. A state may no longer hold all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hides: Option<u64>,
    },
    /// The turns from `from` on were taken back.
    TurnsUndone {
        from: TurnId,
        /// The number of turns that this hides. A state may no longer hold all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hides: Option<u64>,
    },
    /// The turns taken back last were put back.
    TurnsPutBack { from: TurnId },
    /// Every turn was taken out of sight.
    SessionCleared {},
    /// Another of a turn's answers was chosen.
    AnswerChosen { turn: TurnId, run: RunId },

    /// A run (`seq`) began to work on a turn; `spool` is the slot that catches its output in an outage.
    RunStarted {
        turn: TurnId,
        cause: RunCause,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spool: Option<SlotNo>,
    },
    /// A request to the provider began. `asked_to_continue` when the model was asked to continue its own text, because
    /// it takes no prefix: the seam is repaired when the texts are joined.
    StepStarted {
        run: RunId,
        step: u32,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked_to_continue: bool,
    },
    /// Answer text arrived, as the provider sent it.
    TextAdded { run: RunId, text: String },
    /// Reasoning arrived.
    ReasoningAdded { run: RunId, text: String },
    /// A piece of a call's arguments arrived; the call is not complete yet.
    CallDrafted { run: RunId, call: CallNo, tool: String, arguments: String },
    /// The agent asks for a call. The tool starts only after this is durable.
    CallAsked {
        run: RunId,
        call: CallNo,
        tool: String,
        arguments: String,
        /// The provider's own name of the call, sent back with its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_call: Option<String>,
    },
    /// A call ended.
    CallFinished { run: RunId, call: CallNo, outcome: Outcome },
    /// What a step used.
    UsageReported { run: RunId, usage: Usage },
    /// A part of the answer that only its provider understands arrived.
    ProviderPartAdded { run: RunId, part: ProviderPart },
    /// A request to the provider failed. The run sends it again in `wait_ms` milliseconds.
    RetryScheduled {
        run: RunId,
        reason: RetryReason,
        error: String,
        wait_ms: u64,
        /// The failed request's id at the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    },
    /// A request for a title or a summary ended, outside of any run. Its usage counts towards `run`, which ended before.
    RequestBilled { turn: TurnId, run: RunId, purpose: RequestPurpose, usage: Usage },
    /// The run ended: its seal. Nothing of it follows but what was healed from its spool.
    RunEnded { turn: TurnId, run: RunId, end: RunEnd },

    /// A sealed, empty journal was looked at once more.
    RecoveryAttempted { turn: TurnId, run: RunId, attempts: u32 },
    /// Recovery is over; nothing of it stays open.
    RecoverySettled { turn: TurnId, run: RunId, outcome: RecoveryOutcome },

    /// The model reads `summary` in place of everything up to and including turn `through`.
    ContextCompacted { summary: String, through: TurnId },
    /// Entries that stood behind this one's predecessor were damaged and set aside by an operator. At least so many.
    EntriesSetAside { count: u64 },

    /// The next turn is told of an interruption; only a completed turn, or a clearing, takes the mark away.
    ResumeMarked {
        reason: ResumeReason,
        #[serde(default, deserialize_with = "readable_time", skip_serializing_if = "Option::is_none")]
        at: Option<Time>,
    },
    /// The mark was taken away.
    ResumeCleared {},

    /// What is completed from now on is owed to this owner, or to none.
    MemoryOwnerSet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// Generations `first` to `last` are owed to `to` from now on.
    MemoryReassigned {
        first: u64,
        last: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Owner>,
        to: Owner,
    },
    /// Commit `seq` of the oldest segment began. The provider is asked only after this is durable.
    MemoryCommitStarted { owner: Owner, first: u64, last: u64 },
    /// The provider took the commit and works on it; that is not done.
    MemoryCommitAccepted { commit: Seq, task: String },
    /// A commit of generations `first` to `last` ended.
    MemoryCommitEnded { commit: Seq, first: u64, last: u64, outcome: CommitOutcome },

    /// What answers the turn from run `answer` on goes to the chat that its message came from.
    DeliveryOwed { turn: TurnId, answer: RunId, to: Box<FromChat> },
    /// A part of the answer is about to be sent. Without a receipt after it, it may have arrived.
    DeliveryAttempted { answer: RunId, part: u32 },
    /// The part that was about to be sent surely did not arrive.
    DeliveryUnsent { answer: RunId, part: u32 },
    /// A part arrived; `receipt` is the platform's own name of it.
    PartDelivered { answer: RunId, part: u32, receipt: String },
    /// The chat was told that `run` resumes the answer after an interruption.
    ChatNotified { answer: RunId, run: RunId },
    /// Nothing more of the answer goes to the chat, unless it goes on.
    DeliveryEnded { answer: RunId, outcome: DeliveryOutcome },

    /// A kind that this version does not know: kept, and skipped.
    #[serde(skip)]
    Unknown { kind: String },
}

/// What a person said: text and attachments, and who is to answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The model that is asked, by the name that it has here; the server's first one if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which of its author's devices or programs it came from, as the server calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The chat that it came from, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<FromChat>>,
}

impl Message {
    /// A message of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Bytes of its text and of the names in it.
    pub(crate) fn size_bytes(&self) -> usize {
        let names = self.attachments.iter().map(|file| file.name.len() + file.media_type.len());
        self.text.len() + self.model.as_ref().map_or(0, String::len) + names.sum::<usize>()
    }

    /// Leaves out where it was said.
    pub(crate) fn forget_place(&mut self) {
        (self.device, self.from) = (None, None);
    }

    /// What its author asked for: the same when it is asked again from another device.
    fn said(&self) -> Cow<'_, Self> {
        match self.device {
            None => Cow::Borrowed(self),
            Some(_) => Cow::Owned(Self { device: None, ..self.clone() }),
        }
    }
}

/// What a key was used for: a digest of the request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The digest of a posted message.
    pub fn of_post(message: &Message, mode: &PostMode) -> Self {
        Self::of(&("post", &message.said(), mode))
    }

    /// The digest of an edit.
    pub fn of_edit(turn: TurnId, message: &Message) -> Self {
        Self::of(&("edit", turn, &message.said()))
    }

    fn of(body: &impl Serialize) -> Self {
        // A body holds strings and numbers only, so there is nothing that JSON cannot carry.
        let body = serde_json::to_string(body).unwrap_or_default();
        Self(Hash::START.next(Seq(0), Time(0), Epoch(0), &body).0)
    }
}

/// A file that came with a message, kept by its content's hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attachment {
    pub name: String,
    pub media_type: String,
    pub blob: BlobHash,
    pub size_bytes: u64,
}

/// What a message does when a run is going on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PostMode {
    /// Wait for the run to end.
    #[default]
    Queue,
    /// Enter the run when its current step ends; wait if the run ends first.
    Steer,
    /// Stop the run, then go first.
    Interrupt,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<PostMode, _>")] serde_json::Value),
}

impl Variants for PostMode {
    const NAMES: &'static [&'static str] = &["queue", "steer", "interrupt"];
}

/// Why a run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunCause {
    /// Its turn's message.
    Message,
    /// A person asked for another answer.
    Retry,
    /// A person asked to continue after a stop, a failure, an interruption or the output limit.
    Continue,
    /// It resumes by itself after an interruption.
    Resume,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RunCause, _>")] serde_json::Value),
}

impl Variants for RunCause {
    const NAMES: &'static [&'static str] = &["message", "retry", "continue", "resume"];
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The agent is done.
    Completed,
    /// A person stopped it; `by_message` when their next message did.
    Stopped {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_message: bool,
        /// The device on which that was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
    },
    /// It could not go on.
    Failed { error: String },
    /// The model reached its output limit. The answer can be continued.
    OutputLimit { tokens: u64 },
    /// Its worker is gone. `recovering` when its journal could not be read yet; `progress` when the run brought output.
    Interrupted {
        reason: InterruptReason,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recovering: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        progress: bool,
    },
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RunEnd, _>")] serde_json::Value),
}

impl Variants for RunEnd {
    const NAMES: &'static [&'static str] = &["completed", "stopped", "failed", "interrupted", "output_limit"];
}

/// What took a run's worker away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InterruptReason {
    /// The process died.
    Crash,
    /// The server was stopped and the run did not end in time.
    ShutdownTimeout,
    /// The server was restarted and the run did not end in time.
    RestartTimeout,
    /// The store was away for longer than the spool could hold.
    SpoolFull,
    /// Another node took the session over: the one that worked on it was lost.
    LostNode,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<InterruptReason, _>")] serde_json::Value),
}

impl Variants for InterruptReason {
    const NAMES: &'static [&'static str] =
        &["crash", "shutdown_timeout", "restart_timeout", "spool_full", "lost_node"];
}

/// What became of a run whose journal could not be read at first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// Its output came back from the journal.
    Recovered,
    /// No more output is known; nothing is claimed.
    Neutral,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RecoveryOutcome, _>")] serde_json::Value),
}

impl Variants for RecoveryOutcome {
    const NAMES: &'static [&'static str] = &["recovered", "neutral"];
}

/// How a commit to memory ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommitOutcome {
    Done,
    /// The generations stay owed, to the same owner.
    Failed {
        error: String,
    },
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<CommitOutcome, _>")] serde_json::Value),
}

impl Variants for CommitOutcome {
    const NAMES: &'static [&'static str] = &["done", "failed"];
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Outcome {
    pub status: CallStatus,
    pub content: String,
}

/// Whether a call did what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Ok,
    Error,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<CallStatus, _>")] serde_json::Value),
}

impl Variants for CallStatus {
    const NAMES: &'static [&'static str] = &["ok", "error"];
}

/// A part of an answer that only its provider understands: thinking with its signature, encrypted reasoning, extra content of
/// a call. It goes back unchanged to the same wire format and model family, and to no other. It is neither shown nor searched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProviderPart {
    /// The wire format that it arrived in.
    pub wire: String,
    /// The provider's host and the family of models there that understands the part.
    pub family: String,
    /// The name that the wire format has for such a part.
    pub kind: String,
    /// The call that it belongs to, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallNo>,
    /// Bytes of the step's text that arrived before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub text_before: u64,
    /// JSON, as it arrived.
    pub data: String,
}

/// Why a request to a provider is sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    RateLimit,
    /// The provider is overloaded or failing.
    Overloaded,
    /// The provider could not be reached.
    Network,
    /// The provider sent nothing for too long.
    Silent,
    /// The answer was cut off or can't be read.
    Cut,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RetryReason, _>")] serde_json::Value),
}

impl Variants for RetryReason {
    const NAMES: &'static [&'static str] = &["rate_limit", "overloaded", "network", "silent", "cut"];
}

/// The purpose of a request outside of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestPurpose {
    Title,
    /// A person asked to compact the session.
    Summary,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RequestPurpose, _>")] serde_json::Value),
}

impl Variants for RequestPurpose {
    const NAMES: &'static [&'static str] = &["title", "summary"];
}

/// What a step used, as the provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Output tokens that the model spent on reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Millionths of the currency in which the model's prices are given; 0 when they are not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A mark on the session as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    Pinned,
    Archived,
    Trashed,
    /// A variant of a newer version, kept as it was written.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<Flag, _>")] serde_json::Value),
}

impl Variants for Flag {
    const NAMES: &'static [&'static str] = &["pinned", "archived", "trashed"];
}

/// An enum of the stored format that newer versions may add variants to.
pub(crate) trait Variants {
    /// The variants that this version knows, as they are stored.
    const NAMES: &'static [&'static str];
}

/// Reads a variant that this version does not know. A known one of another shape is damage.
pub(crate) fn unknown<'de, T: Variants, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<serde_json::Value, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let name = match &value {
        serde_json::Value::String(name) => Some(name.as_str()),
        serde_json::Value::Object(fields) if fields.len() == 1 => fields.keys().next().map(String::as_str),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    };
    match name {
        Some(name) if !T::NAMES.contains(&name) && !fault::planted("unknown_variant_is_damage") => Ok(value),
        Some(name) => Err(serde::de::Error::custom(format!("variant `{name}` of another shape"))),
        None => Err(serde::de::Error::custom("not a variant")),
    }
}

impl Event {
    /// The caller's key and what it was used for, so that the same key with another body is noticed.
    pub fn key(&self) -> Option<(&MessageKey, Fingerprint)> {
        if let Self::MessagePosted { message, mode, key: Some(key) } = self {
            return Some((key, Fingerprint::of_post(message, mode)));
        }
        if let Self::MessageEdited { turn, message, key: Some(key), .. } = self {
            return Some((key, Fingerprint::of_edit(*turn, message)));
        }
        None
    }

    /// What a person said with it, if anything.
    pub fn message(&self) -> Option<&Message> {
        if let Self::MessagePosted { message, .. }
        | Self::MessageEdited { message, .. }
        | Self::QueuedEdited { message, .. } = self
        {
            return Some(message);
        }
        None
    }

    /// Whether this is something that the agent said or asked for.
    pub fn is_said(&self) -> bool {
        matches!(
            self,
            Self::TextAdded { .. }
                | Self::ReasoningAdded { .. }
                | Self::CallDrafted { .. }
                | Self::CallAsked { .. }
                | Self::CallFinished { .. }
        )
    }

    /// The run whose output this is: what a spool may hold and healing may bring back.
    pub fn output_of(&self) -> Option<RunId> {
        match self {
            Self::StepStarted { run, .. }
            | Self::TextAdded { run, .. }
            | Self::ReasoningAdded { run, .. }
            | Self::CallDrafted { run, .. }
            | Self::CallAsked { run, .. }
            | Self::CallFinished { run, .. }
            | Self::UsageReported { run, .. }
            | Self::ProviderPartAdded { run, .. }
            | Self::RetryScheduled { run, .. } => Some(*run),
            Self::SessionCreated { .. }
            | Self::SessionBranched { .. }
            | Self::SessionRenamed { .. }
            | Self::TitleGenerated { .. }
            | Self::RequestBilled { .. }
            | Self::FlagSet { .. }
            | Self::TagsSet { .. }
            | Self::ProjectSet { .. }
            | Self::IdAdded { .. }
            | Self::IdRemoved { .. }
            | Self::MessagePosted { .. }
            | Self::QueuedEdited { .. }
            | Self::QueuedRemoved { .. }
            | Self::MessageSteered { .. }
            | Self::MessageEdited { .. }
            | Self::TurnsUndone { .. }
            | Self::TurnsPutBack { .. }
            | Self::SessionCleared {}
            | Self::AnswerChosen { .. }
            | Self::RunStarted { .. }
            | Self::RunEnded { .. }
            | Self::RecoveryAttempted { .. }
            | Self::RecoverySettled { .. }
            | Self::ContextCompacted { .. }
            | Self::EntriesSetAside { .. }
            | Self::ResumeMarked { .. }
            | Self::ResumeCleared {}
            | Self::MemoryOwnerSet { .. }
            | Self::MemoryReassigned { .. }
            | Self::MemoryCommitStarted { .. }
            | Self::MemoryCommitAccepted { .. }
            | Self::MemoryCommitEnded { .. }
            | Self::DeliveryOwed { .. }
            | Self::DeliveryAttempted { .. }
            | Self::DeliveryUnsent { .. }
            | Self::PartDelivered { .. }
            | Self::DeliveryEnded { .. }
            | Self::ChatNotified { .. }
            | Self::QueuePaused {}
            | Self::QueueResumed {}
            | Self::Unknown { .. } => None,
        }
    }
}

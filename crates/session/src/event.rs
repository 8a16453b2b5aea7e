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

/// An event in a session's log. If it creates a turn or run, the entry's `seq` is its ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The session was created. `after` is the session that it continues from.
    SessionCreated {
        id: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<SessionId>,
        /// The session's user. A branch belongs to its origin's user.
        #[serde(default, skip_serializing_if = "UserId::is_first")]
        user: UserId,
    },
    /// The session was created as a branch: its log continues the log of `from` after `at`.
    SessionBranched { id: SessionId, from: SessionId, at: Seq },
    /// A user renamed the session.
    SessionRenamed { title: String },
    /// A model generated a title, which applies until a user sets one.
    TitleGenerated { title: String },
    /// The session was pinned, archived or moved to the trash, or one of these was reversed.
    FlagSet { flag: Flag, on: bool },
    /// The session's tags were replaced by these, in order.
    TagsSet { tags: Vec<String> },
    /// The session was moved to this project, or out of its project.
    ProjectSet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectId>,
    },
    /// An ID was added to the session.
    IdAdded { id: SessionId },
    /// An ID was removed from the session. It is never reused.
    IdRemoved { id: SessionId },

    /// A message was accepted and starts turn `seq`. If a run is active, it is queued.
    MessagePosted {
        message: Message,
        mode: PostMode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<MessageKey>,
    },
    /// A queued message was edited.
    QueuedEdited {
        turn: TurnId,
        message: Message,
        /// The new mode, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<PostMode>,
    },
    /// A queued message was removed.
    QueuedRemoved { turn: TurnId },
    /// Stop paused the queue: queued messages wait until it is resumed or cleared.
    QueuePaused {},
    /// The queue was resumed.
    QueueResumed {},
    /// A queued message entered the active run.
    MessageSteered { turn: TurnId, run: RunId },
    /// A message was edited: turn `seq` replaces `turn` and all turns after it.
    MessageEdited {
        turn: TurnId,
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<MessageKey>,
        /// The number of turns hidden. The state may no longer hold all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hides: Option<u64>,
    },
    /// The turns from `from` on were undone.
    TurnsUndone {
        from: TurnId,
        /// The number of turns hidden. The state may no longer hold all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hides: Option<u64>,
    },
    /// The turns undone last were redone.
    TurnsPutBack { from: TurnId },
    /// All turns were hidden.
    SessionCleared {},
    /// Another of a turn's answers was chosen.
    AnswerChosen { turn: TurnId, run: RunId },

    /// Run `seq` started on a turn; `spool` is the slot that buffers its output during a storage outage.
    RunStarted {
        turn: TurnId,
        cause: RunCause,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spool: Option<SlotNo>,
    },
    /// A request to the provider started. `asked_to_continue` is set if the model was asked to continue its own text
    /// because it doesn't support prefill; the seam is repaired when the texts are joined.
    StepStarted {
        run: RunId,
        step: u32,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked_to_continue: bool,
    },
    /// Answer text arrived from the provider.
    TextAdded { run: RunId, text: String },
    /// Reasoning text arrived from the provider.
    ReasoningAdded { run: RunId, text: String },
    /// A piece of a tool call's arguments arrived; the call is not complete yet.
    CallDrafted { run: RunId, call: CallNo, tool: String, arguments: String },
    /// The model requested a tool call. The tool starts only after this is durable.
    CallAsked {
        run: RunId,
        call: CallNo,
        tool: String,
        arguments: String,
        /// The provider's ID for the call, sent back with its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_call: Option<String>,
    },
    /// A tool call ended.
    CallFinished { run: RunId, call: CallNo, outcome: Outcome },
    /// A step's usage was reported.
    UsageReported { run: RunId, usage: Usage },
    /// A provider-specific part of the answer arrived.
    ProviderPartAdded { run: RunId, part: ProviderPart },
    /// A request to the provider failed. The run retries it in `wait_ms` milliseconds.
    RetryScheduled {
        run: RunId,
        reason: RetryReason,
        error: String,
        wait_ms: u64,
        /// The provider's ID of the failed request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    },
    /// A request for a title or a summary ended, outside any run. Its usage is billed to `run`, which ended earlier.
    RequestBilled { turn: TurnId, run: RunId, purpose: RequestPurpose, usage: Usage },
    /// The run ended. Only output recovered from its spool can follow.
    RunEnded { turn: TurnId, run: RunId, end: RunEnd },

    /// Another attempt was made to recover output from a sealed, empty journal.
    RecoveryAttempted { turn: TurnId, run: RunId, attempts: u32 },
    /// Recovery of the run's output ended.
    RecoverySettled { turn: TurnId, run: RunId, outcome: RecoveryOutcome },

    /// The model reads `summary` instead of all turns up to and including `through`.
    ContextCompacted { summary: String, through: TurnId },
    /// An operator set aside at least `count` damaged entries that followed the previous one.
    EntriesSetAside { count: u64 },

    /// The session was marked as interrupted: the model gets a note in the next turn. A completed turn or a clear
    /// removes the mark.
    ResumeMarked {
        reason: ResumeReason,
        #[serde(default, deserialize_with = "readable_time", skip_serializing_if = "Option::is_none")]
        at: Option<Time>,
    },
    /// The interruption mark was cleared.
    ResumeCleared {},

    /// The owner of future completed turns was set or removed.
    MemoryOwnerSet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// The pending generations `first` to `last` were reassigned to `to`.
    MemoryReassigned {
        first: u64,
        last: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Owner>,
        to: Owner,
    },
    /// Memory commit `seq` of the oldest segment started. The provider is called only after this is durable.
    MemoryCommitStarted { owner: Owner, first: u64, last: u64 },
    /// The provider accepted the commit and is processing it; it is not complete yet.
    MemoryCommitAccepted { commit: Seq, task: String },
    /// A memory commit of generations `first` to `last` ended.
    MemoryCommitEnded { commit: Seq, first: u64, last: u64, outcome: CommitOutcome },

    /// The answer that starts with run `answer` is to be delivered to the chat that the message came from.
    DeliveryOwed { turn: TurnId, answer: RunId, to: Box<FromChat> },
    /// A part of the answer is about to be sent. If no receipt follows, it may have been delivered.
    DeliveryAttempted { answer: RunId, part: u32 },
    /// The part about to be sent was not delivered.
    DeliveryUnsent { answer: RunId, part: u32 },
    /// A part was delivered; `receipt` is its ID on the platform.
    PartDelivered { answer: RunId, part: u32, receipt: String },
    /// The chat was notified that `run` resumes the answer after an interruption.
    ChatNotified { answer: RunId, run: RunId },
    /// The delivery ended. It resumes only if the answer continues.
    DeliveryEnded { answer: RunId, outcome: DeliveryOutcome },

    /// A kind that this version does not know: kept, and skipped.
    #[serde(skip)]
    Unknown { kind: String },
}

/// A user's message: text, attachments and the model to answer it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The name of the model to use; if omitted, the project's or server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The device or program that the message was sent from, as named by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The chat that the message came from, if any.
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

/// A file attached to a message, stored by the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attachment {
    pub name: String,
    pub media_type: String,
    pub blob: BlobHash,
    pub size_bytes: u64,
}

/// How a message is handled while a run is active.
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
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<PostMode, _>")] serde_json::Value),
}

impl Variants for PostMode {
    const NAMES: &'static [&'static str] = &["queue", "steer", "interrupt"];
}

/// Why a run started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunCause {
    /// The turn's message started it.
    Message,
    /// A user retried the turn.
    Retry,
    /// A user continued the answer after a stop, a failure, an interruption or the output limit.
    Continue,
    /// The run resumes automatically after an interruption.
    Resume,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RunCause, _>")] serde_json::Value),
}

impl Variants for RunCause {
    const NAMES: &'static [&'static str] = &["message", "retry", "continue", "resume"];
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The answer is complete.
    Completed,
    /// A user stopped the run; `by_message` if their next message did.
    Stopped {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_message: bool,
        /// The device that stopped the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
    },
    /// The run failed.
    Failed { error: String },
    /// The model reached its output limit. The answer can be continued.
    OutputLimit { tokens: u64 },
    /// The run's worker was lost. `recovering` is set while its journal can't be read; `progress` if the run produced
    /// output.
    Interrupted {
        reason: InterruptReason,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recovering: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        progress: bool,
    },
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RunEnd, _>")] serde_json::Value),
}

impl Variants for RunEnd {
    const NAMES: &'static [&'static str] = &["completed", "stopped", "failed", "interrupted", "output_limit"];
}

/// Why a run was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InterruptReason {
    /// The process died.
    Crash,
    /// The server shut down before the run ended.
    ShutdownTimeout,
    /// The server restarted before the run ended.
    RestartTimeout,
    /// The store was unavailable for longer than the spool could buffer.
    SpoolFull,
    /// Another node took over the session because the previous one was lost.
    LostNode,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<InterruptReason, _>")] serde_json::Value),
}

impl Variants for InterruptReason {
    const NAMES: &'static [&'static str] =
        &["crash", "shutdown_timeout", "restart_timeout", "spool_full", "lost_node"];
}

/// The outcome of recovering a run's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// The output was recovered from the journal.
    Recovered,
    /// No further output was found.
    Neutral,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RecoveryOutcome, _>")] serde_json::Value),
}

impl Variants for RecoveryOutcome {
    const NAMES: &'static [&'static str] = &["recovered", "neutral"];
}

/// The outcome of a memory commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommitOutcome {
    Done,
    /// The generations stay pending for the same owner.
    Failed {
        error: String,
    },
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<CommitOutcome, _>")] serde_json::Value),
}

impl Variants for CommitOutcome {
    const NAMES: &'static [&'static str] = &["done", "failed"];
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Outcome {
    pub status: CallStatus,
    pub content: String,
}

/// Whether a tool call succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Ok,
    Error,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<CallStatus, _>")] serde_json::Value),
}

impl Variants for CallStatus {
    const NAMES: &'static [&'static str] = &["ok", "error"];
}

/// A part of an answer that only its provider understands: signed thinking, encrypted reasoning, or extra content of a
/// call. It is sent back unchanged to the same wire format and model family, and to no other. It is neither shown nor
/// searched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProviderPart {
    /// The part's wire format.
    pub wire: String,
    /// The provider's host and the model family that understands the part.
    pub family: String,
    /// The part's kind in the wire format.
    pub kind: String,
    /// The call that the part belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallNo>,
    /// Bytes of the step's text that arrived before the part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub text_before: u64,
    /// JSON, as it arrived.
    pub data: String,
}

/// Why a request to a provider is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    RateLimit,
    /// The provider is overloaded or failing.
    Overloaded,
    /// The provider can't be reached.
    Network,
    /// The provider sent nothing for too long.
    Silent,
    /// The answer was cut off or can't be read.
    Cut,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RetryReason, _>")] serde_json::Value),
}

impl Variants for RetryReason {
    const NAMES: &'static [&'static str] = &["rate_limit", "overloaded", "network", "silent", "cut"];
}

/// The purpose of a request outside any run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestPurpose {
    Title,
    /// A user compacted the session.
    Summary,
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<RequestPurpose, _>")] serde_json::Value),
}

impl Variants for RequestPurpose {
    const NAMES: &'static [&'static str] = &["title", "summary"];
}

/// A step's usage, as reported by the provider.
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
    /// The cost in millionths of the currency of the model's prices; 0 if they are unknown.
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

/// A session flag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    Pinned,
    Archived,
    Trashed,
    /// A variant written by a newer version, stored unchanged.
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

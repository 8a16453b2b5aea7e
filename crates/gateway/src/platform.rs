//! What a messaging platform must be able to do, and how it tells what became of it. `adding/platform.md` says how to add one.

pub mod matrix;
mod reply;
pub mod telegram;
pub mod webhook;

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{ChatKey, ChatKind};

/// One account on one platform. Everything that the gateway knows of it stands here.
///
/// Nothing may be kept in memory that a restart must not lose: what was received is received again until the next call names
/// a later cursor, and who sends tells by its result what is known of the message.
pub trait Platform: Send + Sync + 'static {
    /// What the operator calls it; the same at every start. Part of the keys of its chats.
    fn name(&self) -> &str;

    /// What kind of platform it is: `matrix`, `telegram`, `webhook`.
    fn kind(&self) -> &'static str;

    fn abilities(&self) -> Abilities;

    /// Waits for what is new after `cursor`, at most about half a minute, and tells it in the platform's order. All before
    /// `cursor` may be forgotten by the platform from now on, so it is passed only once that is durable here. Without a cursor:
    /// everything that the platform still has.
    ///
    /// May be dropped while it waits.
    fn receive(&self, cursor: Option<String>) -> BoxFuture<'_, Result<Batch, ReceiveError>>;

    /// Waits until a message may be sent to a chat, as the platform's rates allow, and keeps that turn for the next [`Self::send`]
    /// there. It is waited for before a message is noted as about to be sent: a message that waits is not in doubt.
    fn turn(&self, _to: &Place) -> BoxFuture<'_, Result<(), SendError>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Sends a message to a chat. `key` is the same whenever the same message is sent again; a platform that can, uses it to
    /// show the message once.
    fn send(&self, to: &Place, message: Outbound, key: String)
    -> BoxFuture<'_, Result<MessageId, SendError>>;

    /// Puts other text in place of a message that was sent. Doing it twice is as good as once. Only where `abilities` say so.
    fn edit(
        &self,
        to: &Place,
        message: MessageId,
        text: String,
        key: String,
    ) -> BoxFuture<'_, Result<(), SendError>>;

    /// Whether there is room in a place for what could as well be left out: the edits of an answer that grows. Under load there
    /// is none, and who asks sends the whole answer alone.
    fn slack(&self, _to: &Place) -> bool {
        true
    }

    /// Shows for a few seconds that an answer is being written. Nothing depends on it.
    fn typing(&self, to: &Place) -> BoxFuture<'_, ()>;

    /// Fetches a file that came with a message; at most so many bytes.
    fn fetch(&self, file: &InboundFile, most: usize) -> BoxFuture<'_, Result<Bytes, SendError>>;

    /// Asks the platform who this account is there: shows that address and credentials are right.
    fn who_am_i(&self) -> BoxFuture<'_, Result<String, ReceiveError>>;

    /// Enters a chat that this account was asked into. Doing it twice is as good as once. Where nobody is asked, whoever writes
    /// is already in: nothing is to be done.
    fn accept(&self, _to: &Place) -> BoxFuture<'_, Result<(), SendError>> {
        std::future::ready(Ok(())).boxed()
    }
}

/// What differs between platforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The longest text, counted as `counting` says.
    pub text_max: usize,
    pub counting: Counting,
    /// Whether a message can be changed after it was sent: then an answer grows while it is written.
    pub edits: bool,
    /// Whether the same key twice is one message.
    pub idempotent: bool,
    /// How long an edit keeps from the next one in the same chat.
    pub edit_every: Duration,
}

/// In what a platform counts the length of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    Bytes,
    Utf16,
    Chars,
}

impl Counting {
    /// The length of a text.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
        }
    }
}

/// What came in one go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    pub events: Vec<Inbound>,
    /// From where to go on once all of these are durable; none when that is where it was.
    pub cursor: Option<String>,
}

/// Something that a person did on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The platform's own name of the event: the same however often it is told.
    pub event: String,
    pub place: Place,
    pub sender: Sender,
    pub what: What,
    /// Whether it is meant for this account: said to it alone, naming it, or answering it.
    pub addressed: bool,
}

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Said something.
    Said { message: MessageId, text: String, files: Vec<InboundFile> },
    /// Changed what they had said.
    Changed { message: MessageId, text: String },
    /// Asks this account into a chat.
    Invited,
}

/// A place where people talk on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub kind: ChatKind,
    pub chat: String,
    pub thread: Option<String>,
}

impl Place {
    /// The place that a chat's key names.
    pub fn of(chat: &ChatKey) -> Self {
        Self { kind: chat.kind, chat: chat.chat.clone(), thread: chat.thread.clone() }
    }
}

/// Somebody on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The platform's own id, which nobody can choose freely.
    pub id: String,
    /// What others see; anybody can choose any.
    pub name: String,
}

/// The platform's own name of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageId(pub String);

/// A file on a platform, not fetched yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundFile {
    /// What the platform needs to find it.
    pub reference: String,
    pub name: String,
    pub media_type: String,
    pub size_bytes: Option<u64>,
}

/// A message to be sent. Text is Markdown; a platform shows of it what it can.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outbound {
    pub text: String,
    /// The message that it answers.
    pub answers: Option<MessageId>,
    pub files: Vec<OutboundFile>,
}

impl Outbound {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A file to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundFile {
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

/// Why nothing could be received.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// It may work later.
    #[error("{reason}")]
    Away { reason: String, retry_after: Option<Duration> },
    /// Another process receives with the same credentials.
    #[error("another process is receiving with the same credentials: {reason}")]
    Elsewhere { reason: String },
    /// The credentials are not taken.
    #[error("the platform rejected the credentials: {reason}")]
    Unauthorized { reason: String },
}

/// What is known of a message that was not confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It surely did not arrive, and may later: no connection, or too many at once.
    #[error("not sent: {reason}")]
    NotSent { reason: String, retry_after: Option<Duration> },
    /// It may have arrived: the answer was lost.
    #[error("delivery uncertain: {reason}")]
    Doubtful { reason: String },
    /// It is longer than the platform takes.
    #[error("too long for the platform")]
    TooLong,
    /// It will never arrive: the chat is gone, or this account may not write there.
    #[error("refused: {reason}")]
    Refused { reason: String },
}

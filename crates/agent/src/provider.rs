//! The seam to models: what one is asked, and what it streams back. Each wire format is one file.

pub mod anthropic;
pub mod openai;
pub(crate) mod refusal;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use secrecy::{ExposeSecret, SecretString};
use session::{PromptMessage, Usage};

use crate::answer::{AnswerLimits, answer};
use crate::dialect::{LearnedDialect, own_parts};
use crate::transport::{Reply, Request, Transport};

/// Characters of a provider's own words that are kept; an error page must not fill a log.
const SAID_MAX: usize = 500;
/// Longest wait for more of a refusal.
const REFUSAL_MAX: Duration = Duration::from_secs(10);
/// Bytes of a refusal that are read to find those words.
const REFUSAL_BYTES_MAX: usize = 16 * 1024;

/// Bytes of one part that only its provider understands.
const PART_BYTES_MAX: usize = 1024 * 1024;

/// Times that one question is asked again without what was refused by name.
const CORRECTIONS_MAX: usize = 3;

/// Characters of a key that is too short to be looked for in other texts.
const REDACTED_MIN: usize = 8;

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat Completions, as OpenAI and many others speak it.
    OpenAi,
    /// Messages, as Anthropic speaks it.
    Anthropic,
}

impl Wire {
    /// The name under which the log keeps what only this format understands.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "chat_completions",
            Self::Anthropic => "messages",
        }
    }
}

/// A key for a provider. It shows itself to nobody but the provider, and is wiped from memory when it is dropped.
#[derive(Debug, Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(SecretString::from(key.into()))
    }
}

/// Where a key comes from, asked for every question: one that was changed counts at once.
pub trait KeySource: Send + Sync {
    /// The key.
    ///
    /// # Errors
    /// When there is none; the text says what to do.
    fn key(&self) -> Result<ApiKey, String>;
}

impl KeySource for ApiKey {
    fn key(&self) -> Result<ApiKey, String> {
        Ok(self.clone())
    }
}

/// Whom to ask.
#[derive(Clone)]
pub struct Provider {
    pub wire: Wire,
    /// Where the format's paths begin, for example `https://api.openai.com/v1`.
    pub url: String,
    pub key: Option<Arc<dyn KeySource>>,
    /// Whether a question that ends with the beginning of an answer is answered from there on.
    pub takes_prefix: bool,
    pub transport: Arc<dyn Transport>,
    pub limits: AnswerLimits,
    /// What the model accepts.
    pub dialect: LearnedDialect,
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("wire", &self.wire).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Provider {
    /// Asks a model. What it streams ends with its end or an error.
    ///
    /// # Errors
    /// When no answer begins.
    pub async fn ask(
        &self,
        question: &Question,
    ) -> Result<BoxStream<'static, Result<Delta, ProviderError>>, ProviderError> {
        let key = self.key.as_ref().map(|source| source.key()).transpose();
        let key = key.map_err(|reason| ProviderError::Refused { kind: RefusalKind::Key, reason })?;
        let mut question = question.clone();
        own_parts(&mut question.messages, self.wire.name(), &self.dialect.now().family);
        let question = &question;
        let mut corrections = 0;
        loop {
            let dialect = self.dialect.now();
            let (path, body, decoder): (_, _, Box<dyn Decoder>) = match self.wire {
                Wire::OpenAi => {
                    let body = openai::body(question, &dialect);
                    ("chat/completions", body, Box::new(openai::Chunks::default()))
                }
                Wire::Anthropic => {
                    ("messages", anthropic::body(question, &dialect), Box::new(anthropic::Events::default()))
                }
            };
            let headers = headers(self.wire, key.as_ref());
            let request = Request { url: endpoint(&self.url, path), headers, body: body.to_string() };
            let reply = self.transport.send(request).await?;
            if reply.status == 200 {
                let answer = answer(reply.body, decoder, self.limits);
                return Ok(answer
                    .map(move |said| said.map_err(|error| without(error, key.as_ref())))
                    .boxed());
            }
            let error = without(refusal(reply).await, key.as_ref());
            // A refusal that names what was sent is believed: the question is asked again without it.
            if let ProviderError::Refused { reason, .. } = &error
                && corrections < CORRECTIONS_MAX
                && self.dialect.learn(&dialect, reason)
            {
                corrections += 1;
                continue;
            }
            return Err(error);
        }
    }
}

/// The address of an endpoint: below the path of the base, and before its query.
fn endpoint(base: &str, path: &str) -> String {
    let (place, query) = match base.split_once('?') {
        Some((place, query)) => (place, format!("?{query}")),
        None => (base, String::new()),
    };
    let place = place.trim_end_matches('/');
    if place.ends_with(path) {
        return format!("{place}{query}");
    }
    format!("{place}/{path}{query}")
}

/// What tells a provider who asks.
pub fn headers(wire: Wire, key: Option<&ApiKey>) -> Vec<(&'static str, String)> {
    let secret = key.map(|key| key.0.expose_secret());
    match (wire, secret) {
        (Wire::OpenAi, None) => Vec::new(),
        (Wire::OpenAi, Some(key)) => vec![("authorization", format!("Bearer {key}"))],
        (Wire::Anthropic, key) => {
            let key = key.iter().map(|key| ("x-api-key", (*key).to_owned()));
            key.chain([("anthropic-version", "2023-06-01".to_owned())]).collect()
        }
    }
}

/// What a reply that is no answer means.
async fn refusal(mut reply: Reply) -> ProviderError {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES_MAX {
        match tokio::time::timeout(REFUSAL_MAX, reply.body.next()).await {
            Ok(Some(Ok(bytes))) => body.extend_from_slice(&bytes),
            Ok(Some(Err(_)) | None) | Err(_) => break,
        }
    }
    refusal::of_status(reply.status, &String::from_utf8_lossy(&body), reply.retry_after)
}

/// An error without the key that a provider may have repeated in it.
fn without(error: ProviderError, key: Option<&ApiKey>) -> ProviderError {
    let Some(key) = key.map(|key| key.0.expose_secret()).filter(|key| key.len() >= REDACTED_MIN) else {
        return error;
    };
    let hide = |reason: String| reason.replace(key, "[key]");
    match error {
        ProviderError::Busy { kind, reason, retry_after } => {
            ProviderError::Busy { kind, reason: hide(reason), retry_after }
        }
        ProviderError::Refused { kind, reason } => ProviderError::Refused { kind, reason: hide(reason) },
        ProviderError::Cut { reason } => ProviderError::Cut { reason: hide(reason) },
        ProviderError::Unreadable { reason } => ProviderError::Unreadable { reason: hide(reason) },
        ProviderError::Silent { seconds } => ProviderError::Silent { seconds },
    }
}

/// A provider's words, within bounds and without characters that a terminal would act on.
pub(crate) fn said(text: &str) -> String {
    let acts = |character: char| {
        let turns_text = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        character.is_control() || turns_text
    };
    let visible = text.chars().map(|character| if acts(character) { ' ' } else { character });
    let mut words: String = visible.take(SAID_MAX).collect();
    if text.chars().nth(SAID_MAX).is_some() {
        words.push('…');
    }
    words
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub model: String,
    /// What the model is told before the session.
    pub instructions: Option<String>,
    /// What was said, oldest first. When the last one is the model's, it goes on from there.
    pub messages: Vec<PromptMessage>,
    pub tools: Vec<ToolOffer>,
    pub output_tokens_max: u32,
}

impl Question {
    /// Returns the bytes of text in the messages, tools and instructions.
    pub(crate) fn size_bytes(&self) -> usize {
        let messages: usize = self.messages.iter().map(PromptMessage::size_bytes).sum();
        let tools: usize = self.tools.iter().map(ToolOffer::size_bytes).sum();
        messages + tools + self.instructions.as_deref().map_or(0, str::len)
    }
}

/// A tool that the model may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOffer {
    pub name: String,
    pub about: String,
    /// The JSON schema of its arguments.
    pub arguments: serde_json::Value,
}

impl ToolOffer {
    /// Bytes that a model is shown of it.
    pub(crate) fn size_bytes(&self) -> usize {
        self.name.len() + self.about.len() + self.arguments.to_string().len()
    }
}

/// A fragment of an answer, as the provider streams it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A piece of a call. The place tells the calls of an answer apart; id and tool come with its first piece.
    Call {
        place: u32,
        id: Option<String>,
        tool: Option<String>,
        arguments: String,
    },
    /// What only the provider understands, as JSON; `place` names the call that it belongs to, if any. It goes back unchanged.
    Part {
        place: Option<u32>,
        kind: &'static str,
        data: String,
    },
    /// What the provider counted so far in this answer; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is whole. Nothing follows.
    End(Finish),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The model said what it had to say.
    Said,
    /// It waits for the outcome of its calls.
    Calls,
    /// It reached the most tokens that it may say.
    Length,
    /// The window is full: it holds no more of the answer.
    WindowFull,
    /// The provider kept back the rest.
    Withheld,
    /// The provider gave another reason, or one that is not known. The answer may be incomplete.
    Other(String),
}

/// The reason for an error that a retry may solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyKind {
    RateLimit,
    /// It is overloaded or out of order.
    Overloaded,
    /// The provider could not be reached.
    Network,
}

/// Why a provider does not accept a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The prompt does not fit the model's window.
    TooLong,
    /// The account has no credit left.
    Quota,
    Key,
    UnknownModel,
    /// It does not take a parameter of the request.
    Parameter,
    /// Its rules forbid the content.
    Policy,
    /// The address does not answer as a model does.
    NotAModel,
    Other,
}

/// Why an answer did not come, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The provider asks to wait, or is out of order for the moment.
    #[error("the provider is busy: {reason}")]
    Busy { kind: BusyKind, reason: String, retry_after: Option<Duration> },
    /// The provider does not accept the question; asking the same again does not help.
    #[error("the provider refused: {reason}")]
    Refused { kind: RefusalKind, reason: String },
    /// The stream ended or broke before the answer did.
    #[error("the answer was cut off: {reason}")]
    Cut { reason: String },
    /// The stream stalled.
    #[error("the provider sent nothing for {seconds} s")]
    Silent { seconds: u64 },
    /// What came is not what the wire format says.
    #[error("the provider sent something unreadable: {reason}")]
    Unreadable { reason: String },
}

impl ProviderError {
    /// Returns the cause in the provider's words, or in ours if it has none.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Busy { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Cut { reason }
            | Self::Unreadable { reason } => reason.clone(),
            Self::Silent { .. } => self.to_string(),
        }
    }
}

/// How the status of a reply that is no answer begins its reason.
const STATUS: &str = "HTTP ";

impl ProviderError {
    /// The status of the reply, when it was the reply that was no answer.
    pub fn status(&self) -> Option<u16> {
        let (Self::Busy { reason, .. } | Self::Refused { reason, .. }) = self else { return None };
        reason.strip_prefix(STATUS)?.split(':').next()?.parse().ok()
    }
}

/// Reads one answer off the events of a stream, in order.
pub trait Decoder: Send {
    /// Takes one event.
    ///
    /// # Errors
    /// When the provider says that it failed, or the event cannot be read.
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError>;

    /// Reads a whole answer that was not streamed. Returns `None` if it is none.
    fn document(&mut self, answer: &serde_json::Value) -> Option<Vec<Delta>>;

    /// How far the answer is.
    fn ending(&mut self) -> &mut Ending;
}

/// How far an answer is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    Open,
    /// All of the answer came; only its bill and the end of the stream are missing.
    Whole(Finish),
    /// Its end was given. What follows is no part of it.
    Given,
}

impl Ending {
    /// The end of an answer that is whole, once; otherwise nothing.
    pub fn give(&mut self) -> Option<Delta> {
        match std::mem::replace(self, Self::Given) {
            Self::Whole(finish) => Some(Delta::End(finish)),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// How a model is told what was said before the turns that it is shown.
fn before(summary: &str) -> String {
    format!("What was said before, in short:\n{summary}")
}

#[cfg(test)]
mod tests {
    use super::endpoint;

    #[test]
    fn an_endpoint_stands_before_the_query_and_only_once() {
        let chat = |base| endpoint(base, "chat/completions");
        assert_eq!(chat("https://a.example/v1/"), "https://a.example/v1/chat/completions");
        assert_eq!(
            chat("https://a.example/d?api-version=1"),
            "https://a.example/d/chat/completions?api-version=1"
        );
        assert_eq!(chat("https://a.example/v1/chat/completions"), "https://a.example/v1/chat/completions");
    }
}

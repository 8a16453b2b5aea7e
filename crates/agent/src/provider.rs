//! The seam to models: what one is asked, and what it streams back. Each wire format is one file.

pub mod anthropic;
pub mod openai;
pub(crate) mod refusal;
pub mod responses;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use secrecy::{ExposeSecret, SecretString};
use session::{Attachment, Message, PromptMessage, Usage};

use crate::answer::{AnswerLimits, answer};
use crate::dialect::{Dialect, LearnedDialect, drop_parts, own_parts};
use crate::media::{Media, MediaKind, Shown};
use crate::options::RequestOptions;
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
    /// Responses, OpenAI's newer format.
    Responses,
    /// Messages, as Anthropic speaks it.
    Anthropic,
}

/// Hosts of OpenAI's models: OpenAI's own and Azure's.
pub(crate) const OPENAI_HOSTS: [&str; 4] =
    ["openai.com", "openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"];

impl Wire {
    /// The name under which the log keeps what only this format understands.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "chat_completions",
            Self::Responses => "responses",
            Self::Anthropic => "messages",
        }
    }

    /// Returns the wire format for an OpenAI-compatible address: the one that its path names, otherwise Responses at
    /// OpenAI and Azure, and Chat Completions elsewhere.
    pub fn of_openai(url: &str) -> Self {
        let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        if path.ends_with(Self::Responses.path()) {
            return Self::Responses;
        }
        // Azure's older addresses name a deployment, and have no Responses.
        if path.ends_with(Self::OpenAi.path()) || path.contains("/deployments/") {
            return Self::OpenAi;
        }
        if is_at(url, &OPENAI_HOSTS) { Self::Responses } else { Self::OpenAi }
    }

    /// The path below the base that questions go to.
    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Responses => "responses",
            Self::Anthropic => "messages",
        }
    }
}

/// Whether the host of `url` is one of `domains`, or a subdomain of one.
pub fn is_at(url: &str, domains: &[&str]) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_lowercase));
    host.is_some_and(|host| {
        domains.iter().any(|domain| {
            host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
    })
}

/// A key for a provider. It shows itself to nobody but the provider, and is wiped from memory when it is dropped.
#[derive(Debug, Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(SecretString::from(key.into()))
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Hides the key in what a provider sends, before any of it is shortened: half a key is no match.
    pub fn hide<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let (key, text) = (self.0.expose_secret(), text.into());
        let is_hidden = key.len() >= REDACTED_MIN && text.contains(key);
        if is_hidden { Cow::Owned(text.replace(key, "[key]")) } else { text }
    }
}

/// The secrets that a request carries. They are hidden in what the provider sends back.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Arc<[ApiKey]>);

impl Secrets {
    /// Replaces the secrets in a text.
    pub fn hide<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        self.0.iter().fold(text.into(), |text, key| key.hide(text))
    }
}

impl From<Option<ApiKey>> for Secrets {
    fn from(key: Option<ApiKey>) -> Self {
        key.into_iter().collect()
    }
}

impl FromIterator<ApiKey> for Secrets {
    fn from_iter<T: IntoIterator<Item = ApiKey>>(keys: T) -> Self {
        Self(keys.into_iter().collect())
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

/// The deltas of an answer as they arrive.
pub type AnswerStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// The response to a question.
pub struct ProviderResponse {
    /// The provider's request id, which its support asks for.
    pub request: Option<String>,
    /// The answer as it arrives, or the error if none begins.
    pub answer: Result<AnswerStream, ProviderError>,
}

impl std::fmt::Debug for ProviderResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let refused = self.answer.as_ref().err();
        f.debug_struct("ProviderResponse").field("request", &self.request).field("refused", &refused).finish()
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
    pub options: RequestOptions,
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("wire", &self.wire).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Provider {
    /// Sends a question to the model. The stream ends with the answer's end or an error.
    pub async fn ask(&self, question: &Question) -> ProviderResponse {
        let mut request = None;
        let answer = self.answer(question, &mut request).await;
        ProviderResponse { request, answer }
    }

    /// Sends a question, again with each correction of the dialect. Sets `id` to the provider's id of the last request.
    async fn answer(
        &self,
        question: &Question,
        id: &mut Option<String>,
    ) -> Result<AnswerStream, ProviderError> {
        let key = self.key.as_ref().map(|source| source.key()).transpose();
        let no_key = |reason| ProviderError::Refused { kind: RefusalKind::Key, reason };
        let key = key.map_err(no_key)?;
        let secrets = self.options.secrets(key.as_ref()).map_err(no_key)?;
        let mut question = question.clone();
        let mut corrections = 0;
        loop {
            let dialect = self.dialect.now().at(question.effort);
            let wire = self.wire_of(&dialect);
            own_parts(&mut question.messages, wire.name(), &dialect.family);
            let (mut body, decoder): (_, Box<dyn Decoder>) = match wire {
                Wire::OpenAi => (openai::body(&question, &dialect), Box::new(openai::Chunks::default())),
                Wire::Responses => {
                    (responses::body(&question, &dialect), Box::new(responses::Events::default()))
                }
                Wire::Anthropic => {
                    (anthropic::body(&question, &dialect), Box::new(anthropic::Events::default()))
                }
            };
            self.options.patch(&mut body);
            let request = Request {
                url: self.options.add_query(endpoint(wire, &self.url, wire.path())),
                headers: self.options.complete(headers(wire, &self.url, key.as_ref())).map_err(no_key)?,
                body: body.to_string(),
            };
            *id = None;
            let first_byte_max = self.limits.first_byte_max;
            let silent = |_| ProviderError::Silent { seconds: first_byte_max.as_secs() };
            let sending = self.transport.send(request);
            let reply = tokio::time::timeout(first_byte_max, sending).await.map_err(silent)??;
            *id = reply.request.as_ref().map(|id| secrets.hide(id).into_owned());
            if reply.status == 200 {
                let answer = answer(reply.body, decoder, self.limits, secrets.clone());
                return Ok(answer.map(move |said| said.map_err(|error| without(error, &secrets))).boxed());
            }
            let error = without(refusal(reply, &secrets).await, &secrets);
            if corrections < CORRECTIONS_MAX && self.corrects(wire, &dialect, &error, &mut question) {
                corrections += 1;
                continue;
            }
            return Err(error);
        }
    }

    /// Adjusts the dialect or the question to a refusal. Returns whether to ask again.
    fn corrects(
        &self,
        wire: Wire,
        dialect: &Dialect,
        error: &ProviderError,
        question: &mut Question,
    ) -> bool {
        let ProviderError::Refused { reason, kind } = error else { return false };
        let has_no_endpoint = matches!(error.status(), Some(404 | 405)) && *kind != RefusalKind::UnknownModel;
        if wire == Wire::Responses && (has_no_endpoint || refusal::names_responses(reason)) {
            self.dialect.use_completions(dialect);
            return true;
        }
        // A part is unreadable after the API key or the provider's own keys changed.
        refusal::is_of_parts(reason) && drop_parts(&mut question.messages)
            || self.dialect.learn(dialect, reason)
            || drops_media(question, reason)
    }

    /// Returns the wire format of the next request.
    pub(crate) fn wire_now(&self) -> Wire {
        self.wire_of(&self.dialect.now())
    }

    fn wire_of(&self, dialect: &Dialect) -> Wire {
        match self.wire {
            Wire::Responses if dialect.chat_completions => Wire::OpenAi,
            wire => wire,
        }
    }

    /// Whether the model continues an answer that the question ends with. Responses never does.
    pub(crate) fn continues_prefix(&self) -> bool {
        self.takes_prefix && self.wire_now() != Wire::Responses
    }
}

/// Returns the URL of an endpoint below a base URL, and keeps the base's query. The base may also be the URL of another
/// endpoint, or a host alone.
pub fn endpoint(wire: Wire, base: &str, path: &str) -> String {
    let (place, query) = match base.split_once('?') {
        Some((place, query)) => (place, format!("?{query}")),
        None => (base, String::new()),
    };
    let place = place.trim_end_matches('/');
    let ends = [Wire::OpenAi, Wire::Responses, Wire::Anthropic].map(Wire::path);
    let named = ends.iter().find_map(|end| place.strip_suffix(end)?.strip_suffix('/'));
    let base = named.unwrap_or(place);
    let is_host_alone = !base.split_once("://").map_or(base, |(_, rest)| rest).contains('/');
    // Anthropic's own libraries take the address without the version.
    let lacks_version = match wire {
        Wire::Anthropic => named.is_none() && !base.ends_with("/v1"),
        Wire::OpenAi | Wire::Responses => named.is_none() && is_host_alone,
    };
    let version = if lacks_version { "/v1" } else { "" };
    format!("{base}{version}/{path}{query}")
}

/// What tells a provider who asks.
pub fn headers(wire: Wire, url: &str, key: Option<&ApiKey>) -> Vec<(Cow<'static, str>, String)> {
    let secret = key.map(|key| key.0.expose_secret());
    let headers = match (wire, secret) {
        (Wire::OpenAi | Wire::Responses, None) => Vec::new(),
        (Wire::OpenAi | Wire::Responses, Some(key)) if is_at(url, &["azure.com"]) => {
            vec![("api-key", key.to_owned())]
        }
        (Wire::OpenAi | Wire::Responses, Some(key)) => vec![("authorization", format!("Bearer {key}"))],
        (Wire::Anthropic, key) => {
            let key = key.iter().map(|key| ("x-api-key", (*key).to_owned()));
            key.chain([("anthropic-version", "2023-06-01".to_owned())]).collect()
        }
    };
    headers.into_iter().map(|(name, value): (&'static str, _)| (Cow::Borrowed(name), value)).collect()
}

/// Leaves pictures and documents out of a question if the refusal is about one of them. Returns whether there were any.
fn drops_media(question: &mut Question, reason: &str) -> bool {
    let told = reason.to_lowercase();
    let is_of_media = ["image", "pdf", "document", "media"].iter().any(|word| told.contains(word));
    let drops = is_of_media && !question.shown.is_empty();
    if drops {
        tracing::warn!("provider rejected a picture or document, resending without any");
        question.shown = Shown::default();
    }
    drops
}

/// What a reply that is no answer means.
async fn refusal(mut reply: Reply, secrets: &Secrets) -> ProviderError {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES_MAX {
        match tokio::time::timeout(REFUSAL_MAX, reply.body.next()).await {
            Ok(Some(Ok(bytes))) => body.extend_from_slice(&bytes),
            Ok(Some(Err(_)) | None) | Err(_) => break,
        }
    }
    let body = String::from_utf8_lossy(&body);
    let body = secrets.hide(body);
    refusal::of_status(reply.status, &body, reply.retry_after)
}

/// An error without the key, which may have been escaped in what the provider sent.
fn without(error: ProviderError, secrets: &Secrets) -> ProviderError {
    let hide = |reason: String| secrets.hide(reason).into_owned();
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
    pub effort: Effort,
    /// The pictures and documents of the messages.
    pub shown: Shown,
}

/// A picture or document of a message, with its file name.
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    pub(crate) media: &'a Media,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// The provider's default.
    #[default]
    Default,
    /// The lowest that the model takes; for titles and summaries.
    Lowest,
}

impl Question {
    /// Returns the pictures and documents of a message that the model accepts.
    pub(crate) fn parts<'a>(&'a self, message: &'a Message, dialect: &Dialect) -> Vec<Part<'a>> {
        let part = |attachment: &'a Attachment| {
            let media = self.shown.get(&attachment.blob)?;
            let accepted = match media.kind {
                MediaKind::Picture => dialect.pictures,
                MediaKind::Document => dialect.documents,
            };
            accepted.then_some(Part { name: &attachment.name, media })
        };
        message.attachments.iter().filter_map(part).collect()
    }

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
    #[error("the provider rejected the request: {reason}")]
    Refused { kind: RefusalKind, reason: String },
    /// The stream ended or broke before the answer did.
    #[error("the answer was cut off: {reason}")]
    Cut { reason: String },
    /// The stream stalled.
    #[error("the provider sent nothing for {seconds} s")]
    Silent { seconds: u64 },
    /// What came is not what the wire format says.
    #[error("failed to parse the provider's answer: {reason}")]
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
    /// Returns the end of an answer whose stream has ended.
    ///
    /// # Errors
    /// Returns [`ProviderError::Cut`] if no finish reason arrived.
    pub fn close(&mut self) -> Result<Delta, ProviderError> {
        self.give()
            .ok_or_else(|| ProviderError::Cut { reason: "the stream ended before the answer".to_owned() })
    }

    /// Handles an event without content. Returns no deltas for an empty event or one after the end, and the end for
    /// `[DONE]`. Returns `None` if the event has content.
    pub(crate) fn without_content(&mut self, data: &str) -> Option<Result<Vec<Delta>, ProviderError>> {
        if *self == Self::Given || data.is_empty() {
            return Some(Ok(Vec::new()));
        }
        (data == "[DONE]").then(|| self.close().map(|end| vec![end]))
    }

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

/// Parses the JSON of an event.
fn parse<T: serde::de::DeserializeOwned>(data: &str) -> Result<T, ProviderError> {
    serde_json::from_str(data).map_err(|error| ProviderError::Unreadable { reason: error.to_string() })
}

/// How a model is told what was said before the turns that it is shown.
fn before(summary: &str) -> String {
    format!("What was said before, in short:\n{summary}")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{StreamExt, stream};

    use super::{
        ApiKey, Decoder, Delta, Finish, Reply, Wire, anthropic, endpoint, is_at, openai, refusal, responses,
    };
    use crate::answer::{AnswerLimits, answer};

    const KEY: &str = "sk-a-key-of-this-test";

    #[tokio::test]
    async fn a_key_is_hidden_before_a_refusal_is_shortened() {
        let key = ApiKey::new(KEY);
        for before in 470..500 {
            let words = "y".repeat(before);
            for body in [format!("{words}{KEY}"), format!("{{\"error\":{{\"message\":\"{words}{KEY}\"}}}}")] {
                let body = stream::iter([Ok(Bytes::from(body))]).boxed();
                let reply = Reply { status: 400, retry_after: None, request: None, body };
                let told = refusal(reply, &Some(key.clone()).into()).await.reason();
                assert!(!told.contains(&KEY[..8]), "{told}");
            }
        }
    }

    #[tokio::test]
    async fn a_key_is_hidden_in_every_field_of_an_answer() {
        let streams: [(Box<dyn Decoder>, String); 3] = [
            (
                Box::new(openai::Chunks::default()),
                format!(
                    "{{\"choices\":[{{\"delta\":{{\"content\":\"{KEY}\"}},\"finish_reason\":\"{KEY}\"}}]}}"
                ),
            ),
            (
                Box::new(responses::Events::default()),
                format!(
                    "{{\"type\":\"response.completed\",\"response\":{{\"status\":\"{KEY}\",\"output\":[]}}}}"
                ),
            ),
            (
                Box::new(anthropic::Events::default()),
                format!("{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{KEY}\"}}}}"),
            ),
        ];
        for (decoder, event) in streams {
            let bytes = format!("data: {event}\n\ndata: {{\"type\":\"message_stop\"}}\n\ndata: [DONE]\n\n");
            let bytes = stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
            let secrets = Some(ApiKey::new(KEY)).into();
            let given: Vec<_> = answer(bytes, decoder, AnswerLimits::default(), secrets).collect().await;
            let is_end = |given: &Result<Delta, _>| matches!(given, Ok(Delta::End(Finish::Other(reason))) if reason == "[key]");
            assert!(given.iter().any(is_end), "{given:?}");
            assert!(!format!("{given:?}").contains(KEY), "{given:?}");
        }
    }

    #[test]
    fn an_endpoint_stands_before_the_query_and_only_once() {
        let chat = |base| endpoint(Wire::OpenAi, base, "chat/completions");
        assert_eq!(chat("https://a.example/v1/"), "https://a.example/v1/chat/completions");
        assert_eq!(
            chat("https://a.example/d?api-version=1"),
            "https://a.example/d/chat/completions?api-version=1"
        );
        assert_eq!(chat("https://a.example/v1/chat/completions"), "https://a.example/v1/chat/completions");
        assert_eq!(chat("https://a.example/v1/responses?x=1"), "https://a.example/v1/chat/completions?x=1");
    }

    #[test]
    fn an_address_without_a_version_gets_one() {
        let chat = |base| endpoint(Wire::OpenAi, base, "chat/completions");
        assert_eq!(chat("http://127.0.0.1:11434/"), "http://127.0.0.1:11434/v1/chat/completions");
        assert_eq!(chat("https://a.example/chat/completions"), "https://a.example/chat/completions");
        let messages = |base| endpoint(Wire::Anthropic, base, "messages");
        assert_eq!(messages("https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
        assert_eq!(messages("https://a.example/anthropic/"), "https://a.example/anthropic/v1/messages");
        assert_eq!(messages("https://a.example/v1"), "https://a.example/v1/messages");
        assert_eq!(messages("https://a.example/x/messages"), "https://a.example/x/messages");
    }

    #[test]
    fn the_address_tells_the_format() {
        for (url, expected) in [
            ("https://api.openai.com/v1", Wire::Responses),
            ("https://api.openai.com", Wire::Responses),
            ("https://api.openai.com/v1/chat/completions", Wire::OpenAi),
            ("https://me.openai.azure.com/openai/v1", Wire::Responses),
            ("https://me.openai.azure.com/openai/deployments/d?api-version=1", Wire::OpenAi),
            ("https://notopenai.com/v1", Wire::OpenAi),
            ("http://127.0.0.1:8000/v1", Wire::OpenAi),
            ("http://127.0.0.1:8000/v1/responses?x=1", Wire::Responses),
        ] {
            assert_eq!(Wire::of_openai(url), expected, "{url}");
        }
        assert!(is_at("https://OpenAI.com:443/v1", &["openai.com"]));
    }
}

//! Request options by model, looked up by address and model name, and corrected when a provider rejects a parameter by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use session::{CallNo, Message, PromptCall, PromptMessage, ProviderPart};

use crate::provider::{Effort, OPENAI_HOSTS, is_at};

/// The field for the most tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    MaxTokens,
    MaxCompletionTokens,
}

/// What ids of calls look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Letters, digits, `_` and `-`, up to 64 of them.
    Usual,
    /// Nine letters and digits.
    NineLetters,
}

/// Whether reasoning goes back with the calls that followed it, as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    No,
    /// Only where there is any.
    Present,
    /// Always, if need be as empty text.
    Always,
    /// Always, if need be as a placeholder: empty text counts as missing.
    NeverEmpty,
}

/// What a model accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    pub output_limit: OutputLimit,
    pub call_ids: CallIds,
    /// Whether it takes tools at all.
    pub tools: bool,
    /// The effort that is asked for beside tools. Some models take tools only when they are asked not to think.
    pub effort_with_tools: Option<Cow<'static, str>>,
    /// The lowest reasoning effort, if the model takes one.
    pub lowest_effort: Option<Cow<'static, str>>,
    /// Whether it takes the option that asks for the usage of a stream.
    pub usage_option: bool,
    /// Whether a message of the user may follow a result.
    pub user_after_result: bool,
    pub reasoning_back: ReasoningBack,
    /// Whether the end of the instructions and of the prompt must be marked, so that the provider caches what is before.
    pub cache_marks: bool,
    /// Whether a call without a signature of its own needs a placeholder.
    pub placeholder_signature: bool,
    /// Whether to use Chat Completions, because the provider doesn't support Responses.
    pub chat_completions: bool,
    /// Whether to request encrypted reasoning, to be sent back. Responses only.
    pub encrypted_reasoning: bool,
    /// Whether to request a summary of the reasoning. Responses only.
    pub reasoning_summary: bool,
    /// Whether it accepts pictures.
    pub pictures: bool,
    /// Whether it accepts PDF documents.
    pub documents: bool,
    /// The provider's host and the family of models there. Only the same family gets a provider's parts back.
    #[serde(skip)]
    pub family: String,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            output_limit: OutputLimit::MaxTokens,
            call_ids: CallIds::Usual,
            tools: true,
            effort_with_tools: None,
            lowest_effort: None,
            usage_option: true,
            user_after_result: true,
            reasoning_back: ReasoningBack::No,
            cache_marks: false,
            placeholder_signature: false,
            chat_completions: false,
            encrypted_reasoning: true,
            reasoning_summary: true,
            pictures: false,
            documents: false,
            family: String::new(),
        }
    }
}

/// Families of model names that think, and take `max_completion_tokens` only.
const THINKING_AT_OPENAI: [&str; 4] = ["gpt-5", "o1", "o3", "o4"];
/// Those of them that take tools on Chat Completions only without thinking.
const NO_TOOLS_WITH_THINKING: [&str; 3] = ["gpt-5.4", "gpt-5.5", "gpt-5.6"];
/// Families of OpenAI's models that don't think.
const WITHOUT_THINKING: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt"];
const OF_MISTRAL: [&str; 7] =
    ["mistral", "magistral", "ministral", "codestral", "devstral", "pixtral", "mixtral"];

/// Parts of the names of models that accept pictures. The catalog takes precedence.
const SEES_PICTURES: [&str; 18] = [
    "vision",
    "llava",
    "-vl",
    "vl-",
    "pixtral",
    "gemma3",
    "gemma-3",
    "gemma4",
    "gemma-4",
    "gemini",
    "claude",
    "gpt-4o",
    "gpt-4.1",
    "gpt-5",
    "llama-4",
    "llama4",
    "minicpm-v",
    "moondream",
];
/// Phrases of a model that accepts no pictures at all, in lower case. A picture that can't be read is another matter.
const REFUSES_PICTURES: [&str; 9] = [
    "not support image",
    "not support vision",
    "images are not supported",
    "image input is not supported",
    "image inputs are not supported",
    "support image input",
    "at most 0 image",
    "missing data required for image",
    "unknown variant `image_url`",
];
/// Phrases of a model that accepts no documents.
const REFUSES_DOCUMENTS: [&str; 5] = [
    "not support pdf",
    "not support file",
    "not support document",
    "unknown variant `file`",
    "file input is not supported",
];

/// Families that accept `low` as their reasoning effort.
const TAKES_LOW_EFFORT: [&str; 7] = ["gpt-5", "gpt-oss", "o1", "o3", "o4", "gemini-2.5", "gemini-3"];

/// Families that take their reasoning back with their calls.
const THINKING_ALOUD: [&str; 2] = ["glm", "minimax"];
/// Hosts that refuse fields of messages that they don't know, whatever model they run.
const KNOWN_FIELDS_ONLY: [&str; 2] = ["groq.com", "mistral.ai"];
/// Phrases for reasoning that did not come back, in lower case.
const REASONING_MISSING: [&str; 3] = ["missing", "must be passed back", "required"];
/// Phrases for a model or a server that takes no tools, in lower case.
const REFUSES_TOOLS: [&str; 6] = [
    "does not support tools",
    "does not support tool",
    "tools are not supported",
    // vLLM, Groq, OpenRouter.
    "tool choice requires --enable-auto-tool-choice",
    "tool calling` is not supported",
    "no endpoints found that support tool use",
];

impl Dialect {
    /// Returns what the model at this address accepts, as far as is known before it was asked.
    pub fn of(url: &str, model: &str) -> Self {
        let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_lowercase));
        let host = host.unwrap_or_default();
        let is_at = |domain: &str| is_at(url, &[domain]);
        let name = model.to_lowercase();
        let name = name.rsplit('/').next().unwrap_or(&name);
        let is_of = |family: &str| {
            name.strip_prefix(family)
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
        };
        let letters = name.find(|letter: char| !letter.is_alphabetic()).unwrap_or(name.len());
        let family = format!("{host}/{}", &name[..letters]);
        let mut dialect = Self { family, ..Self::default() };
        if OPENAI_HOSTS.iter().any(|host| is_at(host))
            || THINKING_AT_OPENAI.iter().any(|family| is_of(family))
        {
            dialect.output_limit = OutputLimit::MaxCompletionTokens;
        }
        if NO_TOOLS_WITH_THINKING.iter().any(|family| is_of(family)) {
            dialect.effort_with_tools = Some("none".into());
        }
        if is_at("mistral.ai") || OF_MISTRAL.iter().any(|family| name.starts_with(family)) {
            dialect.call_ids = CallIds::NineLetters;
            dialect.user_after_result = false;
        }
        if KNOWN_FIELDS_ONLY.iter().any(|domain| is_at(domain)) {
            dialect.reasoning_back = ReasoningBack::No;
        } else if is_at("deepseek.com") || name.starts_with("deepseek") {
            dialect.reasoning_back = ReasoningBack::Always;
        } else if name.starts_with("kimi") {
            dialect.reasoning_back = ReasoningBack::NeverEmpty;
        } else if THINKING_ALOUD.iter().any(|family| name.starts_with(family)) {
            dialect.reasoning_back = ReasoningBack::Present;
        }
        dialect.cache_marks = is_at("anthropic.com") || is_at("openrouter.ai") && name.starts_with("claude");
        let thinks = !WITHOUT_THINKING.iter().any(|family| name.starts_with(family));
        (dialect.encrypted_reasoning, dialect.reasoning_summary) = (thinks, thinks);
        dialect.pictures = SEES_PICTURES.iter().any(|part| name.contains(part));
        dialect.documents = is_at("anthropic.com") && dialect.pictures;
        let takes_effort = TAKES_LOW_EFFORT.iter().any(|family| name.starts_with(family));
        dialect.lowest_effort = takes_effort.then(|| "low".into());
        dialect.placeholder_signature = name.starts_with("gemini-3");
        dialect
    }

    /// Returns the dialect with an operator's overrides, by field name.
    ///
    /// # Errors
    /// Returns an error that names an unknown field or value.
    pub fn overridden(&self, overrides: &Map<String, Value>) -> Result<Self, String> {
        let mut fields = serde_json::to_value(self).map_err(|error| error.to_string())?;
        for (name, value) in overrides {
            fields[name.as_str()] = value.clone();
        }
        let overridden: Self = serde_json::from_value(fields).map_err(|error| error.to_string())?;
        Ok(Self { family: self.family.clone(), ..overridden })
    }

    /// Returns the dialect for a request with this effort.
    pub(crate) fn at(self, effort: Effort) -> Self {
        match effort {
            Effort::Default => Self { lowest_effort: None, ..self },
            Effort::Lowest => self,
        }
    }

    /// Returns the corrected dialect and the change for the log, if `refusal` names a parameter that was sent.
    fn corrected(&self, refusal: &str) -> Option<(Self, &'static str)> {
        let told = refusal.to_lowercase();
        let names = |field: &str| {
            told.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == field)
        };
        if self.output_limit == OutputLimit::MaxTokens && names("max_completion_tokens") {
            let output_limit = OutputLimit::MaxCompletionTokens;
            return Some((Self { output_limit, ..self.clone() }, "use max_completion_tokens"));
        }
        if self.output_limit == OutputLimit::MaxCompletionTokens && names("max_completion_tokens") {
            let output_limit = OutputLimit::MaxTokens;
            return Some((Self { output_limit, ..self.clone() }, "use max_tokens"));
        }
        if self.cache_marks && names("cache_control") {
            return Some((Self { cache_marks: false, ..self.clone() }, "omit cache_control"));
        }
        if self.encrypted_reasoning && told.contains("encrypted content is not supported") {
            let without = Self { encrypted_reasoning: false, reasoning_summary: false, ..self.clone() };
            return Some((without, "omit encrypted reasoning"));
        }
        if self.lowest_effort.is_some() && (names("reasoning_effort") || told.contains("reasoning.effort")) {
            return Some((Self { lowest_effort: None, ..self.clone() }, "omit the lowest effort"));
        }
        let refuses_summary = ["reasoning.summary", "reasoning summaries"];
        if self.reasoning_summary && refuses_summary.iter().any(|phrase| told.contains(phrase)) {
            return Some((Self { reasoning_summary: false, ..self.clone() }, "omit reasoning.summary"));
        }
        if names("reasoning_effort") {
            let (effort_with_tools, change) = match self.effort_with_tools {
                None => (Some("none".into()), "reasoning_effort=none with tools"),
                Some(_) => (None, "omit reasoning_effort"),
            };
            return Some((Self { effort_with_tools, ..self.clone() }, change));
        }
        if self.usage_option && (names("stream_options") || names("include_usage")) {
            return Some((Self { usage_option: false, ..self.clone() }, "omit stream_options"));
        }
        if names("reasoning_content") {
            let is_missing = REASONING_MISSING.iter().any(|phrase| told.contains(phrase));
            let (reasoning_back, change) = match (is_missing, self.reasoning_back) {
                (true, ReasoningBack::No | ReasoningBack::Present) => {
                    (ReasoningBack::Always, "send reasoning_content with calls")
                }
                (true, ReasoningBack::Always) => {
                    (ReasoningBack::NeverEmpty, "never send empty reasoning_content")
                }
                (true, ReasoningBack::NeverEmpty) | (false, ReasoningBack::No) => return None,
                (false, _) => (ReasoningBack::No, "omit reasoning_content"),
            };
            return Some((Self { reasoning_back, ..self.clone() }, change));
        }
        if self.pictures && REFUSES_PICTURES.iter().any(|phrase| told.contains(phrase)) {
            return Some((Self { pictures: false, ..self.clone() }, "omit pictures"));
        }
        if self.documents && REFUSES_DOCUMENTS.iter().any(|phrase| told.contains(phrase)) {
            return Some((Self { documents: false, ..self.clone() }, "omit documents"));
        }
        if self.tools && REFUSES_TOOLS.iter().any(|phrase| told.contains(phrase)) {
            return Some((Self { tools: false, ..self.clone() }, "omit tools"));
        }
        None
    }
}

/// A dialect that refusals correct, shared by all clones of a provider.
#[derive(Debug, Clone, Default)]
pub struct LearnedDialect(Arc<Mutex<Dialect>>);

impl LearnedDialect {
    pub fn new(dialect: Dialect) -> Self {
        Self(Arc::new(Mutex::new(dialect)))
    }

    /// Whether the model accepts pictures, as far as is known.
    pub fn takes_pictures(&self) -> bool {
        self.now().pictures
    }

    /// Whether the model accepts documents, as far as is known.
    pub fn takes_documents(&self) -> bool {
        self.now().documents
    }

    pub(crate) fn now(&self) -> Dialect {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Corrects the dialect after a refusal. Returns whether asking again makes sense.
    pub(crate) fn learn(&self, asked: &Dialect, refusal: &str) -> bool {
        let Some((corrected, change)) = asked.corrected(refusal) else { return false };
        tracing::info!(change, "unsupported parameter, adjusting later requests");
        self.set(asked, corrected);
        true
    }

    /// Switches to Chat Completions, because the provider doesn't support Responses.
    pub(crate) fn use_completions(&self, asked: &Dialect) {
        tracing::info!("Responses API not supported, using Chat Completions");
        self.set(asked, Dialect { chat_completions: true, ..asked.clone() });
    }

    /// Replaces the dialect. Keeps its lowest effort if `asked` had none, because such a request can't tell whether the model
    /// takes one.
    fn set(&self, asked: &Dialect, corrected: Dialect) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lowest_effort =
            if asked.lowest_effort.is_none() { now.lowest_effort.take() } else { corrected.lowest_effort };
        *now = Dialect { lowest_effort, ..corrected };
    }
}

/// Gives every call an id that the model accepts and that no other call of the prompt has, and its result the same.
pub(crate) fn with_call_ids(messages: &[PromptMessage], form: CallIds) -> Vec<PromptMessage> {
    let mut used = BTreeSet::new();
    let mut made = 0;
    let mut ids: BTreeMap<CallNo, String> = BTreeMap::new();
    let mut id = |call: &PromptCall| {
        let own = call.provider_call.clone().filter(|id| is_id(id, form) && !used.contains(id));
        let id = own.unwrap_or_else(|| {
            loop {
                made += 1;
                let id = match form {
                    CallIds::Usual => format!("call_{made}"),
                    CallIds::NineLetters => format!("call{made:05}"),
                };
                if !used.contains(&id) {
                    break id;
                }
            }
        });
        used.insert(id.clone());
        id
    };
    let mut named = Vec::with_capacity(messages.len());
    for message in messages {
        named.push(match message {
            PromptMessage::Assistant { text, reasoning, calls, parts } => {
                let calls = calls.iter().map(|call| {
                    let id = id(call);
                    ids.insert(call.call, id.clone());
                    PromptCall { provider_call: Some(id), ..call.clone() }
                });
                let calls = calls.collect();
                PromptMessage::Assistant {
                    text: text.clone(),
                    reasoning: reasoning.clone(),
                    calls,
                    parts: parts.clone(),
                }
            }
            PromptMessage::Result { call, provider_call, content } => PromptMessage::Result {
                call: *call,
                provider_call: ids.get(call).cloned().or(provider_call.clone()),
                content: content.clone(),
            },
            other => other.clone(),
        });
    }
    named
}

/// Appended to a request without tools that ends with a result, because an answer must follow a user message.
const ANSWER_NOW: &str = "Answer now, from what the tools returned.";

/// Writes calls and their results as text of one answer. Many providers refuse calls in a request that offers no tools.
pub(crate) fn tools_as_text(messages: &[PromptMessage]) -> Vec<PromptMessage> {
    let mut written: Vec<PromptMessage> = Vec::with_capacity(messages.len());
    // Whether the last message is an answer to append to.
    let mut is_open = false;
    for message in messages {
        let line = match message {
            PromptMessage::Assistant { text, calls, .. } if !calls.is_empty() => {
                let calls =
                    calls.iter().map(|call| format!("[called tool {}: {}]", call.tool, call.arguments));
                Some(text.clone()).filter(|text| !text.trim().is_empty()).into_iter().chain(calls).collect()
            }
            PromptMessage::Result { content, .. } => vec![format!("[the tool returned: {content}]")],
            PromptMessage::Assistant { text, .. } if is_open => vec![text.clone()],
            other => {
                written.push(other.clone());
                is_open = false;
                continue;
            }
        };
        let line = line.join("\n");
        match written.last_mut() {
            Some(PromptMessage::Assistant { text, .. }) if is_open => {
                text.push('\n');
                text.push_str(&line);
            }
            _ => written.push(PromptMessage::said(line)),
        }
        is_open = true;
    }
    if matches!(messages.last(), Some(PromptMessage::Result { .. })) {
        written.push(PromptMessage::User(Message::text(ANSWER_NOW)));
    }
    written
}

/// Removes the provider parts that another wire format or model family made.
pub(crate) fn own_parts(messages: &mut [PromptMessage], wire: &str, family: &str) {
    for message in messages {
        if let PromptMessage::Assistant { parts, .. } = message {
            let is_own = |part: &ProviderPart| part.wire == wire && part.family == family;
            parts.retain(|part| is_own(part) || fault::planted("provider_part_goes_elsewhere"));
        }
    }
}

/// Removes all provider parts. Returns whether there were any.
pub(crate) fn drop_parts(messages: &mut [PromptMessage]) -> bool {
    let mut dropped = false;
    for message in messages {
        if let PromptMessage::Assistant { parts, .. } = message {
            dropped |= !parts.is_empty();
            parts.clear();
        }
    }
    dropped
}

fn is_id(id: &str, form: CallIds) -> bool {
    match form {
        CallIds::Usual => {
            (1..=64).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        }
        CallIds::NineLetters => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_follows_from_address_and_model() {
        let limit = |url: &str, model: &str| Dialect::of(url, model).output_limit;
        for (url, model, expected) in [
            ("https://api.openai.com/v1", "gpt-4o", OutputLimit::MaxCompletionTokens),
            ("https://me.openai.azure.com/openai/v1", "mine", OutputLimit::MaxCompletionTokens),
            ("https://gateway.example/v1", "openai/gpt-5-mini", OutputLimit::MaxCompletionTokens),
            ("https://gateway.example/v1", "o3", OutputLimit::MaxCompletionTokens),
            ("https://gateway.example/v1", "o3x", OutputLimit::MaxTokens),
            ("https://notopenai.com/v1", "llama", OutputLimit::MaxTokens),
        ] {
            assert_eq!(limit(url, model), expected, "{url} {model}");
        }
        let effort = |model: &str| Dialect::of("https://api.openai.com/v1", model).effort_with_tools;
        assert_eq!(
            (effort("gpt-5.5"), effort("gpt-5.1"), effort("gpt-4o")),
            (Some("none".into()), None, None)
        );
        assert_eq!(Dialect::of("https://api.mistral.ai/v1", "any").call_ids, CallIds::NineLetters);
        assert_eq!(Dialect::of("http://127.0.0.1:11434/v1", "magistral:24b").call_ids, CallIds::NineLetters);
        let reasoning = |url: &str, model: &str| Dialect::of(url, model).reasoning_back;
        for (url, model, expected) in [
            ("https://api.moonshot.ai/v1", "kimi-k2.5", ReasoningBack::NeverEmpty),
            ("https://api.deepseek.com", "deepseek-chat", ReasoningBack::Always),
            ("https://api.z.ai/api/paas/v4", "glm-5", ReasoningBack::Present),
            ("https://api.groq.com/openai/v1", "moonshotai/kimi-k2-instruct", ReasoningBack::No),
            ("https://api.groq.com/openai/v1", "deepseek-r1-distill-llama-70b", ReasoningBack::No),
        ] {
            assert_eq!(reasoning(url, model), expected, "{url} {model}");
        }
    }

    #[test]
    fn a_refusal_corrects_whether_reasoning_goes_back() {
        let learned = LearnedDialect::default();
        let told =
            |refusal: &str| learned.learn(&learned.now(), refusal).then(|| learned.now().reasoning_back);
        let missing =
            "HTTP 400: thinking is enabled but reasoning_content is missing in assistant tool call message";
        assert_eq!(told(missing), Some(ReasoningBack::Always));
        assert_eq!(told(missing), Some(ReasoningBack::NeverEmpty));
        assert_eq!(told(missing), None, "nothing is left to do");
        let unsupported = "HTTP 400: 'messages.1' : property 'reasoning_content' is unsupported";
        assert_eq!(told(unsupported), Some(ReasoningBack::No));
        assert_eq!(told(unsupported), None);
    }

    #[test]
    fn servers_without_tools_are_known_by_their_words() {
        for refusal in [
            "HTTP 400: registry.ollama.ai/library/gemma3:27b does not support tools",
            "HTTP 400: \"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "HTTP 400: `tool calling` is not supported with this model",
            "HTTP 404: No endpoints found that support tool use.",
        ] {
            let learned = LearnedDialect::default();
            assert!(learned.learn(&learned.now(), refusal), "{refusal}");
            assert!(!learned.now().tools, "{refusal}");
        }
    }

    #[test]
    fn a_refusal_corrects_what_it_names_once() {
        let learned = LearnedDialect::default();
        let before = learned.now();
        let refusal = "HTTP 400: Unsupported parameter: 'max_tokens' is not supported with this model. \
            Use 'max_completion_tokens' instead.";
        assert!(learned.learn(&before, refusal));
        assert_eq!(learned.now().output_limit, OutputLimit::MaxCompletionTokens);
        assert!(!learned.learn(&learned.now(), "HTTP 400: the weather is bad"));
        assert!(learned.learn(&learned.now(), "registry/llama does not support tools"));
        assert!(!learned.now().tools);
        assert!(
            !learned.learn(&learned.now(), "registry/llama does not support tools"),
            "nothing is left to do"
        );
    }

    #[test]
    fn ids_are_accepted_unique_and_shared_with_the_result() {
        let call = |no, id: &str| PromptCall {
            call: CallNo(no),
            provider_call: Some(id.to_owned()),
            tool: "clock".to_owned(),
            arguments: "{}".to_owned(),
        };
        let assistant = |calls| PromptMessage::Assistant {
            text: String::new(),
            reasoning: String::new(),
            calls,
            parts: Vec::new(),
        };
        let result =
            |no| PromptMessage::Result { call: CallNo(no), provider_call: None, content: String::new() };
        let messages = [
            assistant(vec![call(1, "call_1"), call(2, "a:b")]),
            result(1),
            result(2),
            assistant(vec![call(1, "call_1")]),
            result(1),
        ];
        let ids = |form| {
            let named = with_call_ids(&messages, form);
            let ids = named.iter().flat_map(|message| match message {
                PromptMessage::Assistant { calls, .. } => {
                    calls.iter().filter_map(|call| call.provider_call.clone()).collect()
                }
                PromptMessage::Result { provider_call, .. } => {
                    provider_call.iter().cloned().collect::<Vec<_>>()
                }
                _ => Vec::new(),
            });
            ids.collect::<Vec<_>>()
        };
        assert_eq!(ids(CallIds::Usual), ["call_1", "call_2", "call_1", "call_2", "call_3", "call_3"]);
        let short = ids(CallIds::NineLetters);
        assert_eq!(short, ["call00001", "call00002", "call00001", "call00002", "call00003", "call00003"]);
    }

    #[test]
    fn calls_and_results_are_text_of_one_answer() {
        let call = PromptCall {
            call: CallNo(1),
            provider_call: None,
            tool: "clock".to_owned(),
            arguments: "{}".to_owned(),
        };
        let asked = |text: &str| PromptMessage::Assistant {
            text: text.to_owned(),
            reasoning: "hm".to_owned(),
            calls: vec![call.clone()],
            parts: Vec::new(),
        };
        let result =
            PromptMessage::Result { call: CallNo(1), provider_call: None, content: "noon".to_owned() };
        let user = |text: &str| PromptMessage::User(Message::text(text));
        let first = "Let me look.\n[called tool clock: {}]\n[the tool returned: noon]";
        let messages = [user("when?"), asked("Let me look."), result.clone()];
        assert_eq!(tools_as_text(&messages), [user("when?"), PromptMessage::said(first), user(ANSWER_NOW)]);
        let more = [asked(" "), result, PromptMessage::said("It is noon."), user("thanks")];
        let second = format!("{first}\n[called tool clock: {{}}]\n[the tool returned: noon]\nIt is noon.");
        assert_eq!(
            tools_as_text(&[messages.as_slice(), &more].concat()),
            [user("when?"), PromptMessage::said(second), user("thanks")]
        );
        let plain = [user("hi"), PromptMessage::said("a"), PromptMessage::said("b")];
        assert_eq!(tools_as_text(&plain), plain);
    }
}

//! Chat Completions, as OpenAI and many others speak it. Servers differ in what they leave out or add, so every field
//! may be missing or of another type, and every word unknown.

use serde_json::{Value, json};
use session::{PromptCall, PromptMessage, ProviderPart, Usage};

use super::{Decoder, Delta, Ending, Finish, PART_BYTES_MAX, Part, ProviderError, Question, refusal};
use crate::dialect::{Dialect, OutputLimit, ReasoningBack, tools_as_text, with_call_ids};
use crate::media::MediaKind;

/// Stands for an answer that was interrupted after its calls, where a provider wants an answer between a result and the
/// next message.
const INTERRUPTED: &str = "[This answer was interrupted.]";

/// What Google adds to a call, and what it accepts for a call that it did not make.
const EXTRA_CONTENT: &str = "extra_content";
const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// Stands for the reasoning that led to a call of another model, where a provider wants some.
const PLACEHOLDER_REASONING: &str = ".";

/// Lists that only the provider understands. They arrive in pieces and go back whole.
const OPAQUE_LISTS: [&str; 2] = ["reasoning_details", "thinking_blocks"];

/// Fields of their items that arrive in pieces.
const TEXTS: [&str; 4] = ["text", "summary", "data", "thinking"];

/// The body of a question.
pub fn body(question: &Question, dialect: &Dialect) -> Value {
    let mut messages = messages(question, dialect);
    if dialect.cache_marks {
        mark_cache(&mut messages);
    }
    let mut body = json!({
        "model": question.model,
        "messages": messages,
        "stream": true,
    });
    if dialect.usage_option {
        body["stream_options"] = json!({ "include_usage": true });
    }
    let limit = match dialect.output_limit {
        OutputLimit::MaxTokens => "max_tokens",
        OutputLimit::MaxCompletionTokens => "max_completion_tokens",
    };
    body[limit] = question.output_tokens_max.into();
    if let Some(effort) = &dialect.lowest_effort {
        body["reasoning_effort"] = effort.as_ref().into();
    }
    if !question.tools.is_empty() && dialect.tools {
        let tools = question.tools.iter().map(|tool| {
            let function =
                json!({ "name": tool.name, "description": tool.about, "parameters": tool.arguments });
            json!({ "type": "function", "function": function })
        });
        body["tools"] = tools.collect();
        if let Some(effort) = &dialect.effort_with_tools {
            body["reasoning_effort"] = effort.as_ref().into();
        }
    }
    body
}

/// Marks the end of the instructions and of the user's last message: everything before a mark is cached.
fn mark_cache(messages: &mut [Value]) {
    let system = messages.iter().position(|message| message["role"] == "system");
    let user = messages.iter().rposition(|message| message["role"] == "user");
    for at in system.into_iter().chain(user) {
        let mut parts = content_list(&messages[at]["content"]);
        if let Some(text) = parts.iter_mut().rev().find(|part| part["type"] == "text") {
            text["cache_control"] = json!({ "type": "ephemeral" });
            messages[at]["content"] = parts.into();
        }
    }
}

/// Composes the messages: one system message, and nobody speaks twice in a row. Templates of many models insist on both.
fn messages(question: &Question, dialect: &Dialect) -> Vec<Value> {
    let mut system: Vec<String> = question.instructions.iter().cloned().collect();
    let mut messages: Vec<Value> = Vec::new();
    let offers_tools = !question.tools.is_empty() && dialect.tools;
    let asked = if offers_tools { question.messages.clone() } else { tools_as_text(&question.messages) };
    for message in with_call_ids(&asked, dialect.call_ids) {
        match message {
            PromptMessage::Summary(text) => system.push(super::before(&text)),
            PromptMessage::Note(text) => add_user(&mut messages, &text, &[], dialect),
            PromptMessage::User(said) => {
                add_user(&mut messages, &said.text, &question.parts(&said, dialect), dialect);
            }
            PromptMessage::Assistant { text, reasoning, calls, parts } => {
                let text = if text.trim().is_empty() { "" } else { text.as_str() };
                let mut said = json!({ "role": "assistant", "content": text });
                if !calls.is_empty() {
                    said["tool_calls"] = calls.iter().map(|call| call_of(call, &parts)).collect();
                    if dialect.placeholder_signature {
                        sign(&mut said["tool_calls"][0]);
                    }
                    let is_empty = reasoning.trim().is_empty();
                    let goes_back = match dialect.reasoning_back {
                        ReasoningBack::No => None,
                        ReasoningBack::Present => (!is_empty).then_some(reasoning),
                        ReasoningBack::NeverEmpty if is_empty => Some(PLACEHOLDER_REASONING.to_owned()),
                        ReasoningBack::Always | ReasoningBack::NeverEmpty => Some(reasoning),
                    };
                    if let Some(reasoning) = goes_back {
                        said["reasoning_content"] = reasoning.into();
                    }
                }
                for part in parts.iter().filter(|part| part.call.is_none()) {
                    // What can't be read was not written by this format.
                    if let Ok(data) = serde_json::from_str::<Value>(&part.data) {
                        said[part.kind.as_str()] = data;
                    }
                }
                messages.push(said);
            }
            PromptMessage::Result { provider_call, content, .. } => {
                messages.push(json!({ "role": "tool", "tool_call_id": provider_call, "content": content }));
            }
        }
    }
    if !system.is_empty() {
        messages.insert(0, json!({ "role": "system", "content": system.join("\n\n") }));
    }
    messages
}

/// A call as the model asked for it, with what its provider added.
fn call_of(call: &PromptCall, parts: &[ProviderPart]) -> Value {
    let function = json!({ "name": call.tool, "arguments": call.arguments });
    let mut said = json!({ "id": call.provider_call, "type": "function", "function": function });
    for part in parts.iter().filter(|part| part.call == Some(call.call)) {
        if let Ok(data) = serde_json::from_str::<Value>(&part.data) {
            said[part.kind.as_str()] = data;
        }
    }
    said
}

/// Gives a call without a signature the placeholder that Google accepts for calls of other models.
fn sign(call: &mut Value) {
    if call[EXTRA_CONTENT].is_null() {
        call[EXTRA_CONTENT] = json!({ "google": { "thought_signature": PLACEHOLDER_SIGNATURE } });
    }
}

/// Adds what the user said, to their last message if nothing came between.
fn add_user(messages: &mut Vec<Value>, text: &str, parts: &[Part<'_>], dialect: &Dialect) {
    if let Some(last) = messages.last_mut()
        && last["role"] == "user"
    {
        last["content"] = match last["content"].as_str().filter(|_| parts.is_empty()) {
            Some(before) => format!("{before}\n\n{text}").into(),
            None => [content_list(&last["content"]), content(text, parts)].concat().into(),
        };
        return;
    }
    if !dialect.user_after_result && messages.last().is_some_and(|last| last["role"] == "tool") {
        messages.push(json!({ "role": "assistant", "content": INTERRUPTED }));
    }
    let content = if parts.is_empty() { text.into() } else { Value::from(content(text, parts)) };
    messages.push(json!({ "role": "user", "content": content }));
}

/// Returns content as a list of parts.
fn content_list(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        text => vec![json!({ "type": "text", "text": text })],
    }
}

fn content(text: &str, parts: &[Part<'_>]) -> Vec<Value> {
    let said = (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    let shown = parts.iter().map(|Part { name, media }| match media.kind {
        MediaKind::Picture => json!({ "type": "image_url", "image_url": { "url": media.url() } }),
        MediaKind::Document => {
            json!({ "type": "file", "file": { "filename": name, "file_data": media.url() } })
        }
    });
    said.into_iter().chain(shown).collect()
}

/// Reads the chunks of one answer.
#[derive(Debug, Default)]
pub struct Chunks {
    ending: Ending,
    calls: Vec<CallSoFar>,
    /// The items of each of [`OPAQUE_LISTS`], as far as they arrived.
    opaque: [Vec<Value>; OPAQUE_LISTS.len()],
    /// Bytes of these items.
    opaque_bytes: usize,
}

/// A call as far as its pieces came.
#[derive(Debug)]
struct CallSoFar {
    index: Option<u64>,
    id: Option<String>,
    arguments: String,
}

impl Decoder for Chunks {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if let Some(ended) = self.ending.without_content(data) {
            return ended;
        }
        let chunk: Value = super::parse(data)?;
        if !chunk.is_object() {
            return Err(ProviderError::Unreadable {
                reason: format!("not an object: {}", super::said(data)),
            });
        }
        // Some servers add an empty error to every chunk.
        if let Some(error) = chunk.get("error").filter(|error| !is_nothing(error)) {
            return Err(refusal::of_event(error));
        }
        let mut deltas = Vec::new();
        let choice = &chunk["choices"][0];
        self.said(&choice["delta"], &mut deltas);
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.ending = Ending::Whole(finish(reason));
            deltas.extend(self.opaque_parts());
        }
        deltas.extend(usage(&chunk["usage"]));
        Ok(deltas)
    }

    fn document(&mut self, answer: &Value) -> Option<Vec<Delta>> {
        let choice = answer["choices"].get(0)?;
        let mut deltas = Vec::new();
        self.said(&choice["message"], &mut deltas);
        deltas.extend(usage(&answer["usage"]));
        let finish = choice["finish_reason"].as_str().map_or(Finish::Other("none".to_owned()), finish);
        self.ending = Ending::Given;
        deltas.extend(self.opaque_parts());
        deltas.push(Delta::End(finish));
        Some(deltas)
    }

    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }
}

impl Chunks {
    /// Reads what a message, or a piece of one, says.
    fn said(&mut self, said: &Value, deltas: &mut Vec<Delta>) {
        let mut reasoning = String::new();
        let mut text = String::new();
        let thought = [&said["reasoning_content"], &said["reasoning"]].into_iter().find_map(Value::as_str);
        reasoning.push_str(thought.unwrap_or_default());
        read_content(&said["content"], &mut text, &mut reasoning);
        // What a model says instead of an answer is an answer to whoever reads it.
        text.push_str(said["refusal"].as_str().unwrap_or_default());
        deltas.extend(Some(reasoning).filter(|reasoning| !reasoning.is_empty()).map(Delta::Reasoning));
        deltas.extend(Some(text).filter(|text| !text.is_empty()).map(Delta::Text));
        for (list, known) in OPAQUE_LISTS.iter().zip(&mut self.opaque) {
            for item in said[*list].as_array().into_iter().flatten() {
                self.opaque_bytes = self.opaque_bytes.saturating_add(item.to_string().len());
                // A part of a list is of no use, so one that is too large is dropped whole.
                if self.opaque_bytes <= PART_BYTES_MAX {
                    add_item(known, item);
                } else {
                    known.clear();
                }
            }
        }
        for piece in said["tool_calls"].as_array().into_iter().flatten() {
            let call = self.call(piece);
            let extra = &piece[EXTRA_CONTENT];
            if let (Delta::Call { place, .. }, false) = (&call, is_nothing(extra)) {
                let part = Delta::Part { place: Some(*place), kind: EXTRA_CONTENT, data: extra.to_string() };
                deltas.extend([call, part]);
            } else {
                deltas.push(call);
            }
        }
    }

    /// Returns the lists that only the provider understands, once all of the answer came.
    fn opaque_parts(&mut self) -> impl Iterator<Item = Delta> + use<> {
        let lists = OPAQUE_LISTS.into_iter().zip(std::mem::take(&mut self.opaque));
        lists.filter(|(_, items)| !items.is_empty()).map(|(kind, items)| Delta::Part {
            place: None,
            kind,
            data: Value::from(items).to_string(),
        })
    }

    /// Reads a piece of a call. Its index tells calls apart; where servers repeat or omit it, a new id or a new name
    /// after complete arguments begins another call.
    fn call(&mut self, piece: &Value) -> Delta {
        let present = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (index, id) = (piece["index"].as_u64(), present(&piece["id"]));
        let tool = present(&piece["function"]["name"]);
        let arguments = match &piece["function"]["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            whole => whole.to_string(),
        };
        let known = self.calls.iter().rposition(|call| match index {
            Some(index) => call.index == Some(index),
            None => true,
        });
        let known = known.filter(|at| {
            let call = &self.calls[*at];
            let is_other = match (&id, &call.id) {
                (Some(id), Some(known)) => id != known,
                (Some(_), None) => tool.is_some(),
                (None, _) => {
                    let is_complete = serde_json::from_str::<Value>(&call.arguments).is_ok();
                    tool.is_some() && (is_complete || index.is_none())
                }
            };
            !is_other
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(CallSoFar { index, id: id.clone(), arguments: String::new() });
            self.calls.len() - 1
        });
        self.calls[at].arguments.push_str(&arguments);
        Delta::Call { place: u32::try_from(at).unwrap_or(u32::MAX), id, tool, arguments }
    }
}

/// Adds an item to a list, or to the item that it continues: the last one of the same type and index.
fn add_item(items: &mut Vec<Value>, item: &Value) {
    let continues = |last: &&mut Value| last["type"] == item["type"] && last["index"] == item["index"];
    let Some((last, fields)) = items.last_mut().filter(continues).zip(item.as_object()) else {
        return items.push(item.clone());
    };
    for (name, value) in fields {
        let is_text = TEXTS.contains(&name.as_str());
        match (last[name].as_str().filter(|_| is_text), value.as_str()) {
            (Some(before), Some(more)) => last[name] = format!("{before}{more}").into(),
            _ if value.is_null() => {}
            _ => last[name] = value.clone(),
        }
    }
}

/// Reads content that is text, or an array of parts, of which some may be thinking.
fn read_content(content: &Value, text: &mut String, reasoning: &mut String) {
    match content {
        Value::String(said) => text.push_str(said),
        Value::Array(parts) => {
            for part in parts {
                match part["type"].as_str() {
                    Some("thinking") => {
                        let thought = &part["thinking"];
                        let mut inner = String::new();
                        read_content(thought, &mut inner, reasoning);
                        reasoning.push_str(&inner);
                    }
                    _ => text.push_str(part["text"].as_str().or(part.as_str()).unwrap_or_default()),
                }
            }
        }
        _ => {}
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn usage(counts: &Value) -> Option<Delta> {
    let input_tokens = counts["prompt_tokens"].as_u64()?;
    let output_tokens = counts["completion_tokens"].as_u64().unwrap_or(0);
    let cached_tokens = counts["prompt_tokens_details"]["cached_tokens"].as_u64();
    // DeepSeek and Kimi name it in places of their own.
    let cached_tokens = cached_tokens.or(counts["prompt_cache_hit_tokens"].as_u64());
    let cached_tokens = cached_tokens.or(counts["cached_tokens"].as_u64()).unwrap_or(0);
    let cache_write_tokens = counts["prompt_tokens_details"]["cache_write_tokens"].as_u64().unwrap_or(0);
    let reasoning_tokens = counts["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0);
    let cost_micros = counts["cost"].as_f64().map_or(0, |cost| (cost.max(0.0) * 1e6).ceil() as u64);
    Some(Delta::Usage(Usage {
        input_tokens,
        output_tokens,
        cached_tokens,
        cache_write_tokens,
        reasoning_tokens,
        cost_micros,
    }))
}

/// Reads why an answer ended. A word that is not known is never taken for a whole answer.
fn finish(reason: &str) -> Finish {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "end" | "complete" | "completed" => {
            Finish::Said
        }
        "tool_calls" | "function_call" | "tool_use" => Finish::Calls,
        "length" | "max_tokens" | "max_output_tokens" => Finish::Length,
        // Mistral and GLM: the window holds no more.
        "model_length" | "model_context_window_exceeded" => Finish::WindowFull,
        "content_filter" | "safety" | "recitation" | "refusal" | "sensitive" | "prohibited_content"
        | "blocklist" | "spii" => Finish::Withheld,
        _ if fault::planted("unknown_finish_is_whole") => Finish::Said,
        // Among them are `insufficient_system_resource` of DeepSeek, `error` of Mistral and OpenRouter, `abort` of vLLM.
        _ => Finish::Other(super::said(reason)),
    }
}

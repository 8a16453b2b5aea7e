//! Messages, as Anthropic speaks it.

use serde::Deserialize;
use serde_json::{Value, json};
use session::{PromptMessage, ProviderPart, Usage};

use super::{Decoder, Delta, Ending, Finish, PART_BYTES_MAX, Part, ProviderError, Question, refusal};
use crate::dialect::{CallIds, Dialect, tools_as_text, with_call_ids};
use crate::media::MediaKind;

/// The body of a question. Messages of one side in a row are one message there.
pub fn body(question: &Question, dialect: &Dialect) -> Value {
    let mut system: Vec<String> = question.instructions.iter().cloned().collect();
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let offers_tools = !question.tools.is_empty() && dialect.tools;
    let asked = if offers_tools { question.messages.clone() } else { tools_as_text(&question.messages) };
    for message in &with_call_ids(&asked, CallIds::Usual) {
        let (role, parts) = match message {
            PromptMessage::Summary(text) => {
                system.push(super::before(text));
                continue;
            }
            PromptMessage::Note(note) => ("user", visible(note)),
            PromptMessage::User(message) => {
                let parts = question.parts(message, dialect);
                ("user", parts.iter().map(block_of).chain(visible(&message.text)).collect())
            }
            PromptMessage::Assistant { text: said, calls, parts, .. } => {
                let said = in_order(said, parts);
                let calls = calls.iter().map(|call| {
                    // Arguments that are not JSON were never run; the model is shown that it gave none.
                    let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
                    json!({ "type": "tool_use", "id": call.provider_call, "name": call.tool, "input": input })
                });
                let mut blocks: Vec<Value> = said.into_iter().chain(calls).collect();
                // A continued answer that was cut before it said anything new ends with its thinking, which is refused.
                while blocks.pop_if(|last| is_thinking(last)).is_some() {}
                ("assistant", blocks)
            }
            PromptMessage::Result { provider_call, content, .. } => {
                let result =
                    json!({ "type": "tool_result", "tool_use_id": provider_call, "content": content });
                ("user", vec![result])
            }
        };
        match messages.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ if parts.is_empty() => {}
            _ => messages.push((role, parts)),
        }
    }
    // A question may end with the beginning of the answer, but not with white space.
    if let Some(("assistant", parts)) = messages.last_mut()
        && let Some(last) = parts.last_mut()
        && let Some(said) = last["text"].as_str().map(str::trim_end)
    {
        *last = text(said);
    }
    let messages: Vec<Value> =
        messages.into_iter().map(|(role, parts)| json!({ "role": role, "content": parts })).collect();
    let mut body = json!({
        "model": question.model,
        "messages": messages,
        "stream": true,
        "max_tokens": question.output_tokens_max,
    });
    if !system.is_empty() {
        body["system"] = system.join("\n\n").into();
    }
    if offers_tools {
        let tools = question.tools.iter().map(
            |tool| json!({ "name": tool.name, "description": tool.about, "input_schema": tool.arguments }),
        );
        body["tools"] = tools.collect();
    }
    if dialect.cache_marks {
        mark_cache(&mut body);
    }
    body
}

/// Marks the end of the instructions, which are after the tools, and of what was said: everything before a mark is cached.
fn mark_cache(body: &mut Value) {
    let mark = || json!({ "type": "ephemeral" });
    if let Some(system) = body["system"].as_str() {
        body["system"] = json!([{ "type": "text", "text": system, "cache_control": mark() }]);
    } else if let Some(tool) = body["tools"].as_array_mut().and_then(|tools| tools.last_mut()) {
        tool["cache_control"] = mark();
    }
    let messages = body["messages"].as_array_mut();
    let last = messages.and_then(|all| all.iter_mut().rev().find(|message| message["role"] == "user"));
    if let Some(block) = last.and_then(|last| last["content"].as_array_mut()?.last_mut()) {
        block["cache_control"] = mark();
    }
}

fn block_of(part: &Part<'_>) -> Value {
    let Part { name, media } = part;
    let source = json!({ "type": "base64", "media_type": media.media_type, "data": &*media.data });
    match media.kind {
        MediaKind::Picture => json!({ "type": "image", "source": source }),
        MediaKind::Document => json!({ "type": "document", "source": source, "title": name }),
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The blocks of an answer before its calls: text and, where they arrived, the blocks that only the provider understands.
fn in_order(said: &str, parts: &[ProviderPart]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut from = 0;
    for part in parts.iter().filter(|part| part.call.is_none()) {
        let at = usize::try_from(part.text_before).unwrap_or(usize::MAX).min(said.len());
        let at = said.floor_char_boundary(at).max(from);
        blocks.extend(visible(&said[from..at]));
        // What can't be read was not written by this format.
        blocks.extend(serde_json::from_str::<Value>(&part.data).ok());
        from = at;
    }
    blocks.extend(visible(&said[from..]));
    blocks
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// A block of text, if it says anything: blocks of white space are refused.
fn visible(said: &str) -> Vec<Value> {
    if said.trim().is_empty() { Vec::new() } else { vec![text(said)] }
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    index: Option<u32>,
    message: Option<Value>,
    content_block: Option<Block>,
    delta: Option<Piece>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Piece {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Default)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    /// Reads counts; what is no count is left out.
    fn read(usage: &Value) -> Option<Self> {
        let count = |name: &str| usage[name].as_u64();
        usage.is_object().then(|| Self {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_read_input_tokens: count("cache_read_input_tokens"),
            cache_creation_input_tokens: count("cache_creation_input_tokens"),
        })
    }
}

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub struct Events {
    usage: Usage,
    ending: Ending,
    /// The thinking block that is arriving.
    thinking: Option<Thinking>,
}

/// A thinking block, as far as it arrived.
#[derive(Debug, Default)]
struct Thinking {
    text: String,
    signature: String,
}

impl Thinking {
    /// The block that goes back. Without a signature the provider would refuse it.
    fn part(self) -> Option<Delta> {
        let Self { text, signature } = self;
        let block = json!({ "type": "thinking", "thinking": text, "signature": signature });
        let part = Delta::Part { place: None, kind: "thinking", data: block.to_string() };
        (!signature.is_empty()).then_some(part)
    }
}

impl Events {
    /// Notes the beginning of a block. Returns the part that it is, if it is complete already.
    fn begin(&mut self, block: &Block) -> Option<Delta> {
        let copy = |text: &Option<String>| text.clone().unwrap_or_default();
        match block.kind.as_str() {
            "thinking" => {
                let (text, signature) = (copy(&block.thinking), copy(&block.signature));
                self.thinking = Some(Thinking { text, signature });
                None
            }
            "redacted_thinking" => {
                let block = json!({ "type": "redacted_thinking", "data": block.data });
                Some(Delta::Part { place: None, kind: "redacted_thinking", data: block.to_string() })
            }
            _ => None,
        }
    }

    fn extend(&mut self, piece: &Piece) {
        if let Some(thinking) = &mut self.thinking {
            thinking.text.push_str(piece.thinking.as_deref().unwrap_or_default());
            thinking.signature.push_str(piece.signature.as_deref().unwrap_or_default());
        }
        // What is too large to be kept is not gathered either.
        self.thinking.take_if(|thinking| thinking.text.len() + thinking.signature.len() > PART_BYTES_MAX);
    }

    fn count(&mut self, counts: &Counts) -> Delta {
        let before = self.usage;
        let uncached = before
            .input_tokens
            .saturating_sub(before.cached_tokens.saturating_add(before.cache_write_tokens));
        let uncached = counts.input_tokens.unwrap_or(uncached);
        self.usage.cached_tokens = counts.cache_read_input_tokens.unwrap_or(before.cached_tokens);
        self.usage.cache_write_tokens =
            counts.cache_creation_input_tokens.unwrap_or(before.cache_write_tokens);
        // Anthropic counts tokens that were read from or written to the cache apart.
        self.usage.input_tokens =
            uncached.saturating_add(self.usage.cached_tokens).saturating_add(self.usage.cache_write_tokens);
        self.usage.output_tokens = counts.output_tokens.unwrap_or(self.usage.output_tokens);
        Delta::Usage(self.usage)
    }
}

impl Decoder for Events {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if self.ending == Ending::Given || data.is_empty() {
            return Ok(Vec::new());
        }
        let event: Event = super::parse(data)?;
        let mut deltas = Vec::new();
        match event.kind.as_str() {
            "message_start" => {
                let counts = event.message.and_then(|message| Counts::read(&message["usage"]));
                deltas.extend(counts.map(|counts| self.count(&counts)));
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    deltas.extend(self.begin(&block));
                    deltas.extend(block.give(event.index));
                }
            }
            "content_block_delta" => {
                if let Some(piece) = event.delta {
                    self.extend(&piece);
                    deltas.extend(piece.give(event.index));
                }
            }
            "content_block_stop" => deltas.extend(self.thinking.take().and_then(Thinking::part)),
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|piece| piece.stop_reason) {
                    self.ending = Ending::Whole(finish(&reason));
                }
                let counts = event.usage.as_ref().and_then(Counts::read);
                deltas.extend(counts.map(|counts| self.count(&counts)));
            }
            "message_stop" => {
                deltas.push(self.ending.close()?);
            }
            "error" => {
                return Err(refusal::of_event(&event.error.unwrap_or_default()));
            }
            // `ping`, and kinds of later versions.
            _ => {}
        }
        Ok(deltas)
    }

    fn document(&mut self, answer: &Value) -> Option<Vec<Delta>> {
        let mut deltas = Vec::new();
        for (at, block) in answer["content"].as_array()?.iter().enumerate() {
            let place = u32::try_from(at).unwrap_or(u32::MAX);
            let read: Block = serde_json::from_value(block.clone()).ok()?;
            let is_call = read.kind == "tool_use";
            deltas.extend(self.begin(&read));
            deltas.extend(self.thinking.take().and_then(Thinking::part));
            deltas.extend(read.give(Some(place)));
            if is_call {
                let arguments = block["input"].to_string();
                deltas.push(Delta::Call { place, id: None, tool: None, arguments });
            }
        }
        let counts = Counts::read(&answer["usage"]);
        deltas.extend(counts.map(|counts| self.count(&counts)));
        let finish = answer["stop_reason"].as_str().map_or(Finish::Other("none".to_owned()), finish);
        self.ending = Ending::Given;
        deltas.push(Delta::End(finish));
        Some(deltas)
    }

    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }
}

impl Block {
    /// What a block brings with its beginning.
    fn give(self, index: Option<u32>) -> Option<Delta> {
        let present = |text: &String| !text.is_empty();
        match self.kind.as_str() {
            "tool_use" => Some(Delta::Call {
                place: index.unwrap_or(0),
                id: self.id,
                tool: self.name,
                arguments: String::new(),
            }),
            "thinking" => self.thinking.filter(present).map(Delta::Reasoning),
            _ => self.text.filter(present).map(Delta::Text),
        }
    }
}

impl Piece {
    fn give(self, index: Option<u32>) -> Option<Delta> {
        let call = |arguments| Delta::Call { place: index.unwrap_or(0), id: None, tool: None, arguments };
        let text = self.text.map(Delta::Text).or(self.thinking.map(Delta::Reasoning));
        text.or(self.partial_json.map(call))
    }
}

/// Reads why an answer ended. A word that is not known is never taken for a whole answer.
fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Said,
        "tool_use" => Finish::Calls,
        "max_tokens" => Finish::Length,
        "model_context_window_exceeded" => Finish::WindowFull,
        "refusal" => Finish::Withheld,
        // Among them is `pause_turn`.
        _ => Finish::Other(super::said(reason)),
    }
}

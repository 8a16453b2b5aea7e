//! Messages, as Anthropic speaks it.

use serde::Deserialize;
use serde_json::{Value, json};
use session::{PromptMessage, Usage};

use super::{Decoder, Delta, Ending, Finish, ProviderError, Question, refusal};
use crate::dialect::{CallIds, with_call_ids};

/// The body of a question. Messages of one side in a row are one message there.
pub fn body(question: &Question) -> Value {
    let mut system: Vec<String> = question.instructions.iter().cloned().collect();
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &with_call_ids(&question.messages, CallIds::Usual) {
        let (role, parts) = match message {
            PromptMessage::Summary(text) => {
                system.push(super::before(text));
                continue;
            }
            PromptMessage::Note(note) => ("user", visible(note)),
            PromptMessage::User(message) => ("user", visible(&message.text)),
            PromptMessage::Assistant { text: said, calls, .. } => {
                let said = visible(said);
                let calls = calls.iter().map(|call| {
                    // Arguments that are not JSON were never run; the model is shown that it gave none.
                    let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
                    json!({ "type": "tool_use", "id": call.provider_call, "name": call.tool, "input": input })
                });
                ("assistant", said.into_iter().chain(calls).collect())
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
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(
            |tool| json!({ "name": tool.name, "description": tool.about, "input_schema": tool.arguments }),
        );
        body["tools"] = tools.collect();
    }
    body
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
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
    usage: Option<Counts>,
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
}

#[derive(Debug, Deserialize)]
struct Piece {
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub struct Events {
    usage: Usage,
    ending: Ending,
}

impl Events {
    fn count(&mut self, counts: &Counts) -> Delta {
        self.usage.input_tokens = counts.input_tokens.unwrap_or(self.usage.input_tokens);
        self.usage.output_tokens = counts.output_tokens.unwrap_or(self.usage.output_tokens);
        Delta::Usage(self.usage)
    }
}

impl Decoder for Events {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if self.ending == Ending::Given || data.is_empty() {
            return Ok(Vec::new());
        }
        let unreadable = |error: serde_json::Error| ProviderError::Unreadable { reason: error.to_string() };
        let event: Event = serde_json::from_str(data).map_err(unreadable)?;
        let mut deltas = Vec::new();
        match event.kind.as_str() {
            "message_start" => {
                let counts =
                    event.message.and_then(|message| serde_json::from_value(message["usage"].clone()).ok());
                deltas.extend(counts.map(|counts: Counts| self.count(&counts)));
            }
            "content_block_start" => {
                deltas.extend(event.content_block.and_then(|block| block.give(event.index)))
            }
            "content_block_delta" => deltas.extend(event.delta.and_then(|piece| piece.give(event.index))),
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|piece| piece.stop_reason) {
                    self.ending = Ending::Whole(finish(&reason));
                }
                deltas.extend(event.usage.map(|counts| self.count(&counts)));
            }
            "message_stop" => {
                // Without a reason, nobody said that the answer is whole.
                let cut = || ProviderError::Cut { reason: "the stream ended before the answer".to_owned() };
                deltas.push(self.ending.give().ok_or_else(cut)?);
            }
            "error" => {
                return Err(refusal::of_event(&event.error.unwrap_or_default()));
            }
            // `ping`, `content_block_stop`, and whatever comes to be.
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
            deltas.extend(read.give(Some(place)));
            if is_call {
                let arguments = block["input"].to_string();
                deltas.push(Delta::Call { place, id: None, tool: None, arguments });
            }
        }
        let counts: Option<Counts> = serde_json::from_value(answer["usage"].clone()).ok();
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

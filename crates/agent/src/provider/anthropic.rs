//! Messages, as Anthropic speaks it.

use serde::Deserialize;
use serde_json::{Value, json};
use session::{PromptMessage, Usage};

use super::{Decoder, Delta, Ending, Finish, ProviderError, Question};

/// The body of a question. Messages of one side in a row are one message there.
pub fn body(question: &Question) -> Value {
    let mut system: Vec<String> = question.instructions.iter().cloned().collect();
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &question.messages {
        let (role, parts) = match message {
            PromptMessage::Summary(text) => {
                system.push(super::before(text));
                continue;
            }
            PromptMessage::Note(note) => ("user", vec![text(note)]),
            PromptMessage::User(message) => ("user", vec![text(&message.text)]),
            PromptMessage::Assistant { text: said, calls, .. } => {
                let said = (!said.is_empty()).then(|| text(said));
                let calls = calls.iter().map(|call| {
                    // Arguments that are not JSON were never run; the model is shown that it gave none.
                    let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
                    let id = call_id(call.provider_call.as_deref(), call.call.0);
                    json!({ "type": "tool_use", "id": id, "name": call.tool, "input": input })
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
            PromptMessage::Result { call, provider_call, content } => {
                let id = call_id(provider_call.as_deref(), call.0);
                ("user", vec![json!({ "type": "tool_result", "tool_use_id": id, "content": content })])
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

fn call_id(provider_call: Option<&str>, call: u32) -> String {
    provider_call.map_or_else(|| format!("toolu_{call}"), str::to_owned)
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
                let end = self.ending.give().unwrap_or(Delta::End(Finish::Said));
                self.ending = Ending::Given;
                deltas.push(end);
            }
            "error" => {
                let error = event.error.unwrap_or_default();
                let reason = super::said(error["message"].as_str().unwrap_or(&error.to_string()));
                return Err(match error["type"].as_str() {
                    Some("overloaded_error" | "rate_limit_error" | "api_error") => {
                        ProviderError::Busy { reason, retry_after: None }
                    }
                    _ => ProviderError::Cut { reason },
                });
            }
            // `ping`, `content_block_stop`, and whatever comes to be.
            _ => {}
        }
        Ok(deltas)
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

fn finish(reason: &str) -> Finish {
    match reason {
        "tool_use" => Finish::Calls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Withheld,
        _ => Finish::Said,
    }
}

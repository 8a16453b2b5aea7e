//! Chat Completions, as OpenAI and many others speak it. Servers differ in what they leave out or add, so every field
//! may be missing and every word unknown.

use serde::Deserialize;
use serde_json::{Value, json};
use session::{PromptMessage, Usage};

use super::{Decoder, Delta, Ending, Finish, ProviderError, Question};

/// The body of a question.
pub fn body(question: &Question) -> Value {
    let mut messages = Vec::new();
    if let Some(instructions) = &question.instructions {
        messages.push(json!({ "role": "system", "content": instructions }));
    }
    // Many servers want the roles to alternate, so a note shares the message that it stands before.
    let mut note = None;
    for one in &question.messages {
        match (one, note.take()) {
            (PromptMessage::Note(text), _) => note = Some(text),
            (PromptMessage::User(said), Some(note)) => {
                messages.push(json!({ "role": "user", "content": format!("{note}\n\n{}", said.text) }));
            }
            (other, _) => messages.push(message(other)),
        }
    }
    let mut body = json!({
        "model": question.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": question.output_tokens_max,
    });
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|tool| {
            let function =
                json!({ "name": tool.name, "description": tool.about, "parameters": tool.arguments });
            json!({ "type": "function", "function": function })
        });
        body["tools"] = tools.collect();
    }
    body
}

fn message(message: &PromptMessage) -> Value {
    match message {
        PromptMessage::Summary(text) => {
            json!({ "role": "system", "content": super::before(text) })
        }
        PromptMessage::Note(text) => json!({ "role": "user", "content": text }),
        PromptMessage::User(message) => json!({ "role": "user", "content": message.text }),
        PromptMessage::Assistant { text, calls, .. } => {
            let mut said = json!({ "role": "assistant", "content": text });
            if !calls.is_empty() {
                let calls = calls.iter().map(|call| {
                    let function = json!({ "name": call.tool, "arguments": call.arguments });
                    json!({ "id": call_id(call.provider_call.as_deref(), call.call.0), "type": "function", "function": function })
                });
                said["tool_calls"] = calls.collect();
            }
            said
        }
        PromptMessage::Result { call, provider_call, content } => {
            let id = call_id(provider_call.as_deref(), call.0);
            json!({ "role": "tool", "tool_call_id": id, "content": content })
        }
    }
}

/// The id under which the provider knows a call, or one of ours where it gave none.
fn call_id(provider_call: Option<&str>, call: u32) -> String {
    provider_call.map_or_else(|| format!("call_{call}"), str::to_owned)
}

#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Said,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Said {
    content: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Deserialize)]
struct CallPiece {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Debug, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// Reads the chunks of one answer.
#[derive(Debug, Default)]
pub struct Chunks {
    ending: Ending,
}

impl Decoder for Chunks {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if self.ending == Ending::Given || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            let cut = || ProviderError::Cut { reason: "the stream ended before the answer".to_owned() };
            return self.ending.give().map(|end| vec![end]).ok_or_else(cut);
        }
        let unreadable = |error: serde_json::Error| ProviderError::Unreadable { reason: error.to_string() };
        let chunk: Chunk = serde_json::from_str(data).map_err(unreadable)?;
        if let Some(error) = chunk.error {
            let reason = super::said(error["message"].as_str().unwrap_or(&error.to_string()));
            return Err(ProviderError::Cut { reason });
        }
        let mut deltas = Vec::new();
        for choice in chunk.choices.into_iter().take(1) {
            choice.delta.give(&mut deltas);
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.ending = Ending::Whole(finish(&reason));
            }
        }
        if let Some(Counts { prompt_tokens: Some(input_tokens), completion_tokens }) = chunk.usage {
            let output_tokens = completion_tokens.unwrap_or(0);
            deltas.push(Delta::Usage(Usage { input_tokens, output_tokens, cost_micros: 0 }));
        }
        Ok(deltas)
    }

    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }
}

impl Said {
    fn give(self, deltas: &mut Vec<Delta>) {
        let present = |text: &String| !text.is_empty();
        let reasoning = self.reasoning_content.or(self.reasoning).filter(present);
        deltas.extend(reasoning.map(Delta::Reasoning));
        deltas.extend(self.content.filter(present).map(Delta::Text));
        for (at, piece) in self.tool_calls.unwrap_or_default().into_iter().enumerate() {
            let function = piece.function.unwrap_or(FunctionPiece { name: None, arguments: None });
            deltas.push(Delta::Call {
                place: piece.index.unwrap_or(u32::try_from(at).unwrap_or(u32::MAX)),
                id: piece.id.filter(present),
                tool: function.name.filter(present),
                arguments: function.arguments.unwrap_or_default(),
            });
        }
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "tool_calls" | "function_call" => Finish::Calls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::Withheld,
        // Many words for the same: `stop`, `eos`, `end_turn`.
        _ => Finish::Said,
    }
}

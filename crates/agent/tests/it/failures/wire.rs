//! The same answers in each wire format.

use agent::Wire;
use serde_json::{Value, json};

pub(super) const WIRES: [Wire; 3] = [Wire::OpenAi, Wire::Responses, Wire::Anthropic];

pub(super) fn event(data: &Value) -> String {
    let kind = data["type"].as_str().map(|kind| format!("event: {kind}\n"));
    format!("{}data: {data}\n\n", kind.unwrap_or_default())
}

pub(super) fn text(wire: Wire, text: &str) -> String {
    event(&match wire {
        Wire::OpenAi => json!({ "choices": [{ "delta": { "content": text }, "finish_reason": null }] }),
        Wire::Responses => json!({ "type": "response.output_text.delta", "output_index": 1, "delta": text }),
        Wire::Anthropic => {
            let delta = json!({ "type": "text_delta", "text": text });
            json!({ "type": "content_block_delta", "index": 1, "delta": delta })
        }
    })
}

pub(super) fn reasoning(wire: Wire, thought: &str) -> String {
    event(&match wire {
        Wire::OpenAi => json!({ "choices": [{ "delta": { "reasoning_content": thought } }] }),
        Wire::Responses => {
            json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": thought })
        }
        Wire::Anthropic => {
            let delta = json!({ "type": "thinking_delta", "thinking": thought });
            json!({ "type": "content_block_delta", "index": 0, "delta": delta })
        }
    })
}

/// A call without arguments, and the end of the answer.
pub(super) fn calls(tool: &str) -> String {
    let call = json!({ "index": 0, "id": "c", "function": { "name": tool, "arguments": "{}" } });
    event(&json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] }))
}

/// A whole answer.
pub(super) fn says(wire: Wire, words: &str) -> String {
    let end = match wire {
        Wire::OpenAi => {
            event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })) + "data: [DONE]\n\n"
        }
        Wire::Responses => {
            event(&json!({ "type": "response.completed", "response": { "status": "completed" } }))
        }
        Wire::Anthropic => {
            event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }))
                + &event(&json!({ "type": "message_stop" }))
        }
    };
    text(wire, words) + &end
}

/// An error as a document.
pub(super) fn error(wire: Wire, words: &str) -> String {
    match wire {
        Wire::OpenAi | Wire::Responses => json!({ "error": { "message": words } }),
        Wire::Anthropic => json!({ "type": "error", "error": { "type": "error", "message": words } }),
    }
    .to_string()
}

/// Returns the beginning of an answer at the end of a request.
pub(super) fn begun(body: &Value) -> String {
    let messages = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    let said = messages.last().filter(|last| last["role"] == "assistant").map(|last| &last["content"]);
    let text = said.and_then(|said| said.as_str().or(said[0]["text"].as_str()));
    text.unwrap_or_default().to_owned()
}

//! The Responses format of a strict server: its requests are checked as messages, with each answer's reasoning items beside
//! it, and its answers are items.

use serde_json::{Value, json};

use super::speech::{Says, call_id, opaque_list, pieces, thought};
use super::{Strict, bill};

/// The field of a message that holds the reasoning items before its text or calls.
pub(crate) const REASONING: &str = "reasoning_items";
/// A field of a message that no rule knows: reasoning that nothing follows.
const ORPHAN: &str = "reasoning_without_item";

/// Returns the request with its input as messages.
pub(crate) fn with_messages(body: &Value) -> Value {
    let mut messages = Vec::new();
    if let Some(instructions) = body["instructions"].as_str() {
        messages.push(json!({ "role": "system", "content": instructions }));
    }
    let mut reasoning: Vec<Value> = Vec::new();
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str().unwrap_or("message") {
            "reasoning" => reasoning.push(item.clone()),
            "function_call" => {
                let call = json!({ "id": item["call_id"], "type": "function",
                    "function": { "name": item["name"], "arguments": item["arguments"] } });
                add_call(&mut messages, call, &mut reasoning);
            }
            "function_call_output" => {
                add_orphans(&mut messages, &mut reasoning);
                let result =
                    json!({ "role": "tool", "tool_call_id": item["call_id"], "content": item["output"] });
                messages.push(result);
            }
            _ => {
                let is_answer = item["role"] == "assistant";
                if !is_answer {
                    add_orphans(&mut messages, &mut reasoning);
                }
                let mut message = json!({ "role": item["role"], "content": item["content"] });
                if is_answer && !reasoning.is_empty() {
                    message[REASONING] = std::mem::take(&mut reasoning).into();
                }
                messages.push(message);
            }
        }
    }
    add_orphans(&mut messages, &mut reasoning);
    let mut checked = body.clone();
    checked["messages"] = messages.into();
    checked
}

/// Adds a call to the answer that it belongs to, with the reasoning before it.
fn add_call(messages: &mut Vec<Value>, call: Value, reasoning: &mut Vec<Value>) {
    if messages.last().is_none_or(|last| last["role"] != "assistant") {
        messages.push(json!({ "role": "assistant", "content": "" }));
    }
    let Some(message) = messages.last_mut() else { return };
    for (field, added) in [("tool_calls", vec![call]), (REASONING, std::mem::take(reasoning))] {
        let mut all = message[field].as_array().cloned().unwrap_or_default();
        all.extend(added);
        if !all.is_empty() {
            message[field] = all.into();
        }
    }
}

fn add_orphans(messages: &mut Vec<Value>, reasoning: &mut Vec<Value>) {
    let orphans =
        reasoning.drain(..).map(|item| json!({ "role": "assistant", "content": "…", ORPHAN: item }));
    messages.extend(orphans);
}

/// The events of an answer.
pub(super) fn events(provider: &Strict, body: &Value, step: &str, says: &Says) -> Vec<String> {
    let mut frames = vec![event("response.created", json!({ "response": { "status": "in_progress" } }))];
    let mut at = 0;
    let mut item = |begin: Value, pieces: Vec<(&str, String)>, whole: Value, frames: &mut Vec<String>| {
        frames.push(event("response.output_item.added", json!({ "output_index": at, "item": begin })));
        frames.extend(
            pieces
                .into_iter()
                .map(|(kind, piece)| event(kind, json!({ "output_index": at, "delta": piece }))),
        );
        frames.push(event("response.output_item.done", json!({ "output_index": at, "item": whole })));
        at += 1;
    };
    for mut whole in opaque_list(provider, step).as_array().cloned().unwrap_or_default() {
        whole["id"] = format!("rs_{step}").into();
        let begin = json!({ "type": "reasoning", "id": whole["id"], "summary": [] });
        let summary = vec![("response.reasoning_summary_text.delta", thought(step))];
        item(begin, summary, whole, &mut frames);
    }
    let output = match says {
        Says::Text(text) => {
            let message =
                |content: Value| json!({ "type": "message", "role": "assistant", "content": content });
            let deltas = pieces(text).map(|piece| ("response.output_text.delta", piece.to_owned())).collect();
            let whole = message(json!([{ "type": "output_text", "text": text }]));
            item(message(json!([])), deltas, whole, &mut frames);
            text.len()
        }
        Says::Calls(count) => {
            for n in 0..*count {
                let call = |arguments: &str| {
                    json!({ "type": "function_call", "call_id": call_id(provider, step, n), "name": "clock",
                        "arguments": arguments })
                };
                let deltas =
                    ["{", "}"].map(|piece| ("response.function_call_arguments.delta", piece.to_owned()));
                item(call(""), deltas.to_vec(), call("{}"), &mut frames);
            }
            *count
        }
    };
    let usage = bill::of_response(provider, body, output);
    let response = json!({ "status": "completed", "usage": usage });
    frames.push(event("response.completed", json!({ "response": response })));
    frames
}

fn event(kind: &str, mut more: Value) -> String {
    more["type"] = kind.into();
    format!("event: {kind}\ndata: {more}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_stands_with_the_answer_that_follows_it() {
        let reasoning = json!({ "type": "reasoning", "encrypted_content": "sealed" });
        let call = json!({ "type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}" });
        let output = json!({ "type": "function_call_output", "call_id": "c", "output": "noon" });
        let user = json!({ "role": "user", "content": "time?" });
        let messages = |input: Value| with_messages(&json!({ "input": input }))["messages"].clone();
        let asked = messages(json!([user, reasoning, call, output]));
        assert_eq!(asked[1][REASONING], json!([reasoning]));
        assert_eq!((&asked[1]["tool_calls"][0]["id"], &asked[2]["role"]), (&json!("c"), &json!("tool")));
        assert_eq!(messages(json!([user, reasoning, user]))[1][ORPHAN], reasoning);
        assert_eq!(messages(json!([user, reasoning]))[1][ORPHAN], reasoning);
    }
}

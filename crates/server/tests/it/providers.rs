//! Tool loops through the binary with providers that insist on getting back what only they understand.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::read;
use crate::stage::{Stage, text};

/// Longest wait for a request. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a provider does with a request.
enum Does {
    /// Sends these events.
    Streams(Vec<Value>),
    /// Refuses it, in its own words.
    Refuses(Value),
}

/// How a provider answers.
struct Dialog {
    /// Whether the request carries what was sent with the calls.
    is_signed: fn(&Value) -> bool,
    refusal: fn() -> Value,
    asks_for_calls: fn() -> Vec<Value>,
    says: fn(&str) -> Vec<Value>,
}

impl Dialog {
    fn does(&self, body: &Value) -> Does {
        let last = body["messages"].as_array().or(body["input"].as_array()).unwrap().last().unwrap();
        let asked = last["content"].as_str().or(last["content"][0]["text"].as_str()).unwrap_or_default();
        let has_result = last["role"] == "tool"
            || last["type"] == "function_call_output"
            || last["content"][0]["type"] == "tool_result";
        if has_result && !(self.is_signed)(body) {
            return Does::Refuses((self.refusal)());
        }
        Does::Streams(match (has_result, asked.contains("time")) {
            (true, _) => (self.says)("It is noon."),
            (false, true) => (self.asks_for_calls)(),
            (false, false) => (self.says)("Hello."),
        })
    }
}

/// A provider on a socket. It keeps the first request with results waiting if it is told to.
struct Strict {
    url: String,
    kept: Receiver<TcpStream>,
}

impl Strict {
    fn new(dialog: Dialog, keeps_results_waiting: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (keep, kept) = mpsc::channel();
        let dialog = Arc::new(dialog);
        std::thread::spawn(move || {
            let mut keeps = keeps_results_waiting;
            for socket in listener.incoming() {
                serve(socket.unwrap(), &dialog, &keep, &mut keeps);
            }
        });
        Self { url, kept }
    }
}

fn serve(mut socket: TcpStream, dialog: &Dialog, keep: &Sender<TcpStream>, keeps: &mut bool) {
    let body: Value = serde_json::from_slice(&read(&mut socket).1).unwrap();
    let sent = body.to_string();
    let has_result =
        ["tool_result", "tool_call_id", "function_call_output"].iter().any(|word| sent.contains(word));
    if has_result && std::mem::take(keeps) {
        keep.send(socket).unwrap();
        return;
    }
    let reply = match dialog.does(&body) {
        Does::Streams(events) => {
            let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
        }
        Does::Refuses(refusal) => {
            let refusal = refusal.to_string();
            let length = refusal.len();
            format!("HTTP/1.1 400 No\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{refusal}")
        }
    };
    // A run that was stopped needs no answer.
    drop(socket.write_all(reply.as_bytes()));
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "choices": [{ "delta": delta, "finish_reason": finish }] })
}

/// The assistant's message before the results.
fn asked_by(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().rev().find(|message| message["role"] == "assistant").unwrap().clone()
}

fn completion(said: &str) -> Vec<Value> {
    vec![chunk(&json!({ "content": said }), Some("stop"))]
}

/// Gemini signs the first of parallel calls, and sends them without an index.
fn gemini() -> Dialog {
    Dialog {
        is_signed: |body| {
            asked_by(body)["tool_calls"][0]["extra_content"]["google"]["thought_signature"] == "c2lnbmVk"
        },
        refusal: || {
            let message = "Function call is missing a thought_signature in functionCall parts.";
            json!([{ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } }])
        },
        asks_for_calls: || {
            let call = |id| json!({ "id": id, "type": "function", "function": { "name": "clock", "arguments": "{}" } });
            let mut signed = call("a");
            signed["extra_content"] = json!({ "google": { "thought_signature": "c2lnbmVk" } });
            vec![
                chunk(&json!({ "tool_calls": [signed] }), None),
                chunk(&json!({ "tool_calls": [call("b")] }), Some("tool_calls")),
            ]
        },
        says: completion,
    }
}

/// DeepSeek wants the reasoning that led to the calls.
fn deepseek() -> Dialog {
    Dialog {
        is_signed: |body| asked_by(body)["reasoning_content"] == "A clock knows.",
        refusal: || {
            let message = "Missing `reasoning_content` field in the assistant message at message index 1.";
            json!({ "error": { "message": message, "type": "invalid_request_error" } })
        },
        asks_for_calls: || {
            let call = json!({ "index": 0, "id": "a", "function": { "name": "clock", "arguments": "{}" } });
            vec![
                chunk(&json!({ "reasoning_content": "A clock knows." }), None),
                chunk(&json!({ "tool_calls": [call] }), Some("tool_calls")),
            ]
        },
        says: completion,
    }
}

fn event(kind: &str, more: &Value) -> Value {
    let mut event = more.clone();
    event["type"] = kind.into();
    event
}

fn stop(reason: &str) -> [Value; 2] {
    [
        event("message_delta", &json!({ "delta": { "stop_reason": reason } })),
        event("message_stop", &json!({})),
    ]
}

/// Anthropic wants its thinking blocks, the redacted ones too, before the call that followed them.
fn anthropic() -> Dialog {
    Dialog {
        is_signed: |body| {
            let blocks = asked_by(body)["content"].clone();
            let thinking =
                json!({ "type": "thinking", "thinking": "A clock knows.", "signature": "c2lnbmVk" });
            let redacted = json!({ "type": "redacted_thinking", "data": "c2VjcmV0" });
            blocks[0] == thinking && blocks[1] == redacted && blocks[2]["type"] == "tool_use"
        },
        refusal: || {
            let message = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
        },
        asks_for_calls: || {
            let begin = |index: u32, block: Value| {
                event("content_block_start", &json!({ "index": index, "content_block": block }))
            };
            let delta = |index: u32, delta: Value| {
                event("content_block_delta", &json!({ "index": index, "delta": delta }))
            };
            let end = |index: u32| event("content_block_stop", &json!({ "index": index }));
            let events = vec![
                begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
                delta(0, json!({ "type": "thinking_delta", "thinking": "A clock knows." })),
                delta(0, json!({ "type": "signature_delta", "signature": "c2lnbmVk" })),
                end(0),
                begin(1, json!({ "type": "redacted_thinking", "data": "c2VjcmV0" })),
                end(1),
                begin(2, json!({ "type": "tool_use", "id": "toolu_a", "name": "clock", "input": {} })),
                delta(2, json!({ "type": "input_json_delta", "partial_json": "{}" })),
                end(2),
            ];
            events.into_iter().chain(stop("tool_use")).collect()
        },
        says: |said| {
            let block = json!({ "index": 0, "content_block": { "type": "text", "text": said } });
            std::iter::once(event("content_block_start", &block)).chain(stop("end_turn")).collect()
        },
    }
}

/// OpenAI wants its reasoning right before the call that followed it, in a request that it does not store.
fn responses() -> Dialog {
    fn item(at: u32, item: &Value) -> [Value; 2] {
        ["response.output_item.added", "response.output_item.done"]
            .map(|kind| event(kind, &json!({ "output_index": at, "item": item })))
    }
    fn completed() -> [Value; 1] {
        [event("response.completed", &json!({ "response": { "status": "completed", "usage": null } }))]
    }
    Dialog {
        is_signed: |body| {
            let input = body["input"].as_array().unwrap();
            let calls = input.iter().enumerate().filter(|(_, item)| item["type"] == "function_call");
            let mut before = calls.map(|(at, _)| &input[at - 1]["encrypted_content"]);
            body["store"] == false && before.all(|content| content == "c2lnbmVk")
        },
        refusal: || {
            let message = "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.";
            json!({ "error": { "message": message, "type": "invalid_request_error", "param": "input" } })
        },
        asks_for_calls: || {
            let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2lnbmVk",
                "summary": [{ "type": "summary_text", "text": "A clock knows." }] });
            let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "clock",
                "arguments": "{}" });
            [item(0, &reasoning).as_slice(), &item(1, &call), &completed()].concat()
        },
        says: |said| {
            let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": said }] });
            [item(0, &message).as_slice(), &completed()].concat()
        },
    }
}

/// A server with this model alone.
fn stage_with(provider: &Strict, wire: &'static str, model: &'static str) -> Stage {
    let (wire, path) = wire.split_once('/').map_or((wire, ""), |(wire, _)| (wire, "/responses"));
    let mut stage = Stage::asking(format!("{}{path}", provider.url), 100_000);
    stage.setup.provider = wire;
    stage.setup.model = model;
    stage.setup.takes_prefix = false;
    stage.setup.configure().unwrap();
    stage.restart();
    stage
}

/// Two turns with calls, and a restart between them.
fn loops_through_two_turns(dialog: Dialog, wire: &'static str, model: &'static str) {
    let provider = Strict::new(dialog, false);
    let mut stage = stage_with(&provider, wire, model);
    let session = stage.client.create().unwrap();
    stage.answered(&session, "What time is it?");
    stage.restart();
    stage.answered(&session, "And the time now?");
    let view = stage.view(&session);
    for turn in view["turns"].as_array().unwrap() {
        assert_eq!(
            (&turn["answer"]["complete"], &turn["marker"]),
            (&Value::Bool(true), &Value::Null),
            "{turn}"
        );
        assert!(text(turn).contains("It is noon."), "{turn}");
    }
    assert!(!view.to_string().contains("c2lnbmVk"), "readers don't see it");
}

/// A crash between the step with the calls and the next one.
fn resumes_between_two_steps(dialog: Dialog, wire: &'static str, model: &'static str) {
    let provider = Strict::new(dialog, true);
    let mut stage = stage_with(&provider, wire, model);
    let session = stage.client.create().unwrap();
    stage.client.post(&session, "What time is it?").unwrap();
    let _waiting = provider.kept.recv_timeout(PATIENCE).unwrap();
    stage.restart();
    let mut log = stage.client.follow(&session, Some(0)).unwrap();
    assert!(log.until("run_ended").unwrap().1["end"]["interrupted"].is_object());
    assert_eq!(log.until("run_ended").unwrap().1["end"], "completed");
    let view = stage.view(&session);
    assert!(text(&view["turns"][0]).contains("It is noon."), "{view}");
}

#[test]
fn c25_gemini_gets_back_its_signatures() {
    loops_through_two_turns(gemini(), "openai", "gemini-3-pro");
}

#[test]
fn c25_gemini_gets_back_its_signatures_after_a_crash() {
    resumes_between_two_steps(gemini(), "openai", "gemini-3-pro");
}

#[test]
fn c25_deepseek_gets_back_its_reasoning() {
    loops_through_two_turns(deepseek(), "openai", "deepseek-reasoner");
}

#[test]
fn c25_deepseek_gets_back_its_reasoning_after_a_crash() {
    resumes_between_two_steps(deepseek(), "openai", "deepseek-reasoner");
}

#[test]
fn c25_claude_gets_back_its_thinking() {
    loops_through_two_turns(anthropic(), "anthropic", "claude-opus-5");
}

#[test]
fn c25_claude_gets_back_its_thinking_after_a_crash() {
    resumes_between_two_steps(anthropic(), "anthropic", "claude-opus-5");
}

#[test]
fn c25_openai_gets_back_its_reasoning() {
    loops_through_two_turns(responses(), "openai/responses", "gpt-5.5");
}

#[test]
fn c25_openai_gets_back_its_reasoning_after_a_crash() {
    resumes_between_two_steps(responses(), "openai/responses", "gpt-5.5");
}

//! Runs in the Responses format: returned reasoning, and the fallback to Chat Completions.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::sync::{Arc, Mutex};

use agent::{Agent, AnswerLimits, Broken, Dialect, LearnedDialect, Provider, ProviderError, Reply, Request};
use agent::{RequestOptions, Transport, Wire};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use session::Progress;

use crate::runs::{asks, model_with, run};

/// A status and a body for each request, the last one repeated, and the requests that were received.
#[derive(Clone, Default)]
struct Replies {
    replies: Arc<Mutex<Vec<(u16, String)>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Replies {
    fn new(replies: &[(u16, String)]) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.to_vec())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Replies {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let path = request.url.rsplit("/v1/").next().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push((path, serde_json::from_str(&request.body).unwrap()));
        let mut replies = self.replies.lock().unwrap();
        let (status, body) = if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
        let body = stream::iter([Ok::<_, Broken>(Bytes::from(body))]).boxed();
        std::future::ready(Ok(Reply { status, retry_after: None, request: None, body })).boxed()
    }
}

fn agent(replies: &Replies, model: &str) -> Agent {
    let url = "https://api.openai.com/v1";
    let provider = Provider {
        wire: Wire::of_openai(url),
        url: url.to_owned(),
        key: None,
        takes_prefix: true,
        transport: Arc::new(replies.clone()),
        limits: AnswerLimits::default(),
        dialect: LearnedDialect::new(Dialect::of(url, model)),
        options: RequestOptions::default(),
    };
    model_with(provider)
}

fn events(events: &[Value]) -> (u16, String) {
    (200, events.iter().map(|event| format!("data: {event}\n\n")).collect())
}

fn item(at: u32, item: &Value) -> [Value; 2] {
    ["response.output_item.added", "response.output_item.done"]
        .map(|kind| json!({ "type": kind, "output_index": at, "item": item }))
}

fn ended(status: &str) -> Value {
    let kind = format!("response.{status}");
    json!({ "type": kind, "response": { "status": status, "usage": { "input_tokens": 100, "output_tokens": 9 } } })
}

fn says(text: &str) -> (u16, String) {
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
    events(&[item(0, &message).as_slice(), &[ended("completed")]].concat())
}

/// Reasoning, and then a call.
fn calls() -> (u16, String) {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "sealed",
        "summary": [{ "type": "summary_text", "text": "A clock knows." }] });
    let call = json!({ "type": "function_call", "call_id": "call_a", "name": "clock", "arguments": "{}" });
    events(&[item(0, &reasoning).as_slice(), &item(1, &call), &[ended("completed")]].concat())
}

fn refuses(status: u16, message: &str) -> (u16, String) {
    (status, json!({ "error": { "message": message, "type": "invalid_request_error" } }).to_string())
}

fn completion(text: &str) -> (u16, String) {
    events(&[json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] })])
}

#[tokio::test(start_paused = true)]
async fn c25_reasoning_goes_back_before_its_call() {
    let replies = Replies::new(&[calls(), says("It is noon.")]);
    let recorder = run(&agent(&replies, "gpt-5.5"), asks("time?")).await;
    assert_eq!(recorder.text(), "It is noon.");
    let asked = replies.asked();
    let input = &asked[1].1["input"];
    assert_eq!(asked[1].0, "responses");
    assert_eq!(input[1]["encrypted_content"], "sealed", "{input}");
    assert_eq!((&input[2]["type"], &input[2]["call_id"]), (&json!("function_call"), &json!("call_a")));
    assert_eq!((&input[3]["type"], &input[3]["call_id"]), (&json!("function_call_output"), &json!("call_a")));
    assert!(asked.iter().all(|(_, body)| body["store"] == false), "nothing stays at the provider");
}

#[tokio::test(start_paused = true)]
async fn c25_reasoning_that_the_provider_cannot_read_any_more_is_left_out() {
    let stale = "The encrypted content seal... could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    let replies = Replies::new(&[calls(), refuses(400, stale), says("It is noon.")]);
    let recorder = run(&agent(&replies, "gpt-5.5"), asks("time?")).await;
    assert_eq!((recorder.failure(), recorder.text()), (None, "It is noon.".to_owned()));
    let input = replies.asked()[2].1["input"].clone();
    assert_eq!(input[1]["type"], "function_call", "{input}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_without_responses_is_asked_in_completions_from_then_on() {
    for (status, told) in [
        (404, "Resource not found"),
        (400, "Azure OpenAI Responses API is enabled only for api-version 2025-03-01-preview and later"),
    ] {
        let replies = Replies::new(&[refuses(status, told), completion("Hello.")]);
        let agent = agent(&replies, "mine");
        assert_eq!(run(&agent, asks("hi")).await.text(), "Hello.");
        assert_eq!(run(&agent, asks("hi")).await.text(), "Hello.");
        let paths: Vec<String> = replies.asked().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["responses", "chat/completions", "chat/completions"], "{told}");
    }
    let unknown = refuses(404, "The model `gpt-9` does not exist or you do not have access to it.");
    let replies = Replies::new(&[unknown]);
    assert!(run(&agent(&replies, "gpt-9"), asks("hi")).await.failure().unwrap().contains("gpt-9"));
    assert_eq!(replies.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_think_is_not_asked_for_its_reasoning() {
    let refusals = [
        refuses(400, "Encrypted content is not supported with this model."),
        refuses(400, "Your organization must be verified to generate reasoning summaries."),
    ];
    for (refusal, included) in refusals.into_iter().zip([false, true]) {
        let replies = Replies::new(&[refusal, says("Hello.")]);
        let agent = agent(&replies, "mine");
        assert_eq!(run(&agent, asks("hi")).await.text(), "Hello.");
        assert_eq!(run(&agent, asks("hi")).await.text(), "Hello.");
        let asked = replies.asked();
        assert_eq!(asked.len(), 3, "what is learned stays");
        assert_eq!(asked[2].1["include"].is_array(), included);
        assert!(asked[2].1["reasoning"].is_null());
    }
    let replies = Replies::new(&[says("Hello.")]);
    run(&agent(&replies, "gpt-4o"), asks("hi")).await;
    assert!(replies.asked()[0].1["include"].is_null());
}

#[tokio::test(start_paused = true)]
async fn c24_an_incomplete_response_says_why() {
    let message =
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "Half of the ans" }] });
    let replies = |status, details: Value| {
        let mut end = ended(status);
        end["response"]["incomplete_details"] = details;
        Replies::new(&[events(&[item(0, &message).as_slice(), &[end]].concat())])
    };
    let length = agent(&replies("incomplete", json!({ "reason": "max_output_tokens" })), "m");
    let recorder = run(&length, asks("hi")).await;
    let reported = recorder.reported.lock().unwrap().clone();
    assert!(reported.iter().any(|one| matches!(one, Progress::OutputLimit { .. })), "{reported:?}");
    for details in [json!({ "reason": "eclipse" }), Value::Null] {
        let recorder = run(&agent(&replies("incomplete", details), "m"), asks("hi")).await;
        let told = recorder.failure().unwrap();
        assert!(told.contains("incomplete") && recorder.text() == "Half of the ans", "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn c27_a_cut_response_is_not_asked_for_again() {
    let delta =
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Half of the ans" });
    let replies = Replies::new(&[events(&[delta]), says("Half of the answer.")]);
    let recorder = run(&agent(&replies, "gpt-5.5"), asks("hi")).await;
    assert_eq!(recorder.text(), "Half of the ans");
    assert_eq!(replies.asked().len(), 1, "this format takes no beginning of an answer");
}

//! Failures that no retry can fix: a spent quota, a wrong address, a wrong key.

use agent::Wire;
use serde_json::json;

use super::provider::{Answer, Fate};
use super::wire::{WIRES, error, event, says, text};
use super::{AGAIN, Case, KEY, own};

const PAGE: &str = "<!doctype html><html><title>Welcome</title></html>";
const ADD_CREDIT: &str =
    "Everything above is saved. Add credit at the provider or choose another model, then press Continue.";
const CORRECT_ADDRESS: &str =
    "Everything above is saved. Correct the model or its URL under Settings, or choose another model.";
const CORRECT_KEY: &str = "Everything above is saved. Correct the key under Settings, then press Continue.";

/// Expects one request, and this sentence.
async fn refused(name: &str, wire: Wire, answer: Answer, sentence: &str) {
    let told = format!("failed: {sentence} Request ID: req_1");
    Case::new(name, wire, [answer, Answer::streams(says(wire, "Hello."))]).log([told]).check().await;
}

#[tokio::test(start_paused = true)]
async fn a_used_up_quota_is_not_retried() {
    let openai = json!({ "message": "You exceeded your current quota.", "type": "insufficient_quota",
        "param": null, "code": "insufficient_quota" });
    let openrouter = json!({ "code": 402, "message": "Insufficient credits. Add more." });
    let anthropic = json!({ "type": "invalid_request_error",
        "message": "Your credit balance is too low to access the Anthropic API." });
    let anthropic = json!({ "type": "error", "error": anthropic });
    let failed = json!({ "type": "response.failed", "response": { "error": openai } });
    let (openai, openrouter) = (json!({ "error": openai }), json!({ "error": openrouter }));
    let low = "HTTP 400: Your credit balance is too low to access the Anthropic API";
    for (wire, answer, words) in [
        (Wire::OpenAi, Answer::refuses(429, openai.to_string()), "HTTP 429: You exceeded your current quota"),
        (
            Wire::Responses,
            Answer::refuses(429, openai.to_string()),
            "HTTP 429: You exceeded your current quota",
        ),
        (
            Wire::OpenAi,
            Answer::refuses(402, openrouter.to_string()),
            "HTTP 402: Insufficient credits. Add more",
        ),
        (Wire::Anthropic, Answer::refuses(400, anthropic.to_string()), low),
        (Wire::OpenAi, Answer::streams(event(&openai)), "You exceeded your current quota"),
        (Wire::Responses, Answer::streams(event(&failed)), "You exceeded your current quota"),
    ] {
        // Not even if it says when to retry.
        let answer = answer.with(&[("retry-after", "1")]);
        let sentence = format!("The provider account has no credit left: {words}. {ADD_CREDIT}");
        refused("quota", wire, answer, &sentence).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_web_page_is_blamed_on_the_address() {
    for wire in WIRES {
        let words = "the URL returned a web page, not an API response; check the model's address";
        let sentence = format!("Unexpected response from the provider: {words}. {CORRECT_ADDRESS}");
        refused("200", wire, Answer::streams(PAGE), &sentence).await;

        let sentence =
            format!("Unexpected response from the provider: HTTP 404: a web page. {CORRECT_ADDRESS}");
        let not_found = Answer::refuses(404, PAGE);
        if wire == Wire::Responses {
            // Many servers have only Chat Completions, so that is tried at once.
            let told = format!("failed: {sentence} Request ID: req_2");
            Case::new("404", wire, [not_found]).pauses([0..=0]).log([told]).check().await;
        } else {
            refused("404", wire, not_found, &sentence).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_provider_repeats_is_hidden() {
    let escaped = KEY.replace('-', "\\u002d");
    for wire in WIRES {
        let wrong = error(wire, &format!("Incorrect API key provided: {KEY}."));
        let words = "HTTP 401: Incorrect API key provided: [key]";
        let sentence = format!("The provider rejected the API key: {words}. {CORRECT_KEY}");
        for body in [wrong.clone(), wrong.replace(KEY, &escaped)] {
            refused("401", wire, Answer::refuses(401, body), &sentence).await;
        }
        let named = Answer::refuses(401, wrong).with(&[("x-request-id", KEY)]);
        let told = format!("failed: {sentence} Request ID: [key]");
        Case::new("request ID", wire, [named]).log([told]).check().await;

        let busy = Answer::refuses(503, error(wire, &format!("No worker for {KEY}")));
        let log = ["retry overloaded req_1: HTTP 503: No worker for [key]", "text Hello.", "answered"];
        let case = Case::new("retry", wire, [busy, Answer::streams(says(wire, "Hello."))]);
        case.pauses([own(500)]).log(log).check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_in_a_stream_is_hidden() {
    for (wire, error) in [
        (Wire::OpenAi, json!({ "error": { "message": format!("{KEY} was revoked") } })),
        (Wire::Responses, json!({ "type": "error", "message": format!("{KEY} was revoked") })),
        (Wire::Anthropic, json!({ "type": "error", "error": { "message": format!("{KEY} was revoked") } })),
    ] {
        let answer = Answer::streams(text(wire, "Half of the") + &event(&error)).then(Fate::Stalls);
        let told = format!("failed: The answer was cut off: [key] was revoked. {AGAIN} Request ID: req_1");
        Case::new("stream", wire, [answer]).log(["text Half of the", &told]).check().await;
    }
}

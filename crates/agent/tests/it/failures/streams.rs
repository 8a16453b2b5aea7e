//! Errors in the middle of a stream: before any text, after text, and after reasoning alone.

use agent::Wire;
use serde_json::{Value, json};

use super::provider::{Answer, Fate};
use super::wire::{WIRES, calls, event, reasoning, says, text};
use super::{AGAIN, Case, Pause, asked, own};

/// One way to end a stream too early.
struct Failure {
    wire: Wire,
    event: String,
    fate: Fate,
    kind: &'static str,
    words: &'static str,
    pause: Pause,
}

fn told(wire: Wire, error: &Value, kind: &'static str, words: &'static str, pause: Pause) -> Failure {
    Failure { wire, event: event(error), fate: Fate::Ends, kind, words, pause }
}

fn untold(wire: Wire, fate: Fate, words: &'static str) -> Failure {
    Failure { wire, event: String::new(), fate, kind: "cut", words, pause: own(500) }
}

/// Every failure in every format.
fn failures() -> Vec<Failure> {
    let completions = |error: Value| {
        let choice = json!({ "delta": { "content": "" }, "finish_reason": "error" });
        json!({ "error": error, "choices": [choice] })
    };
    let response = |error: Value| {
        let response = json!({ "status": "failed", "error": error });
        json!({ "type": "response.failed", "response": response })
    };
    let message =
        |kind: &str, words: &str| json!({ "type": "error", "error": { "type": kind, "message": words } });
    let limit = json!({ "code": "rate_limit_exceeded", "message": "Please try again in 2s" });
    let mut limit_event = limit.clone();
    limit_event["type"] = "error".into();
    let failed = json!({ "code": "server_error", "message": "Worker died" });
    let lost = json!({ "code": 502, "message": "Upstream failed" });
    let odd = json!({ "message": "Something broke" });
    let mut all = vec![
        told(Wire::OpenAi, &completions(lost), "overloaded", "Upstream failed", own(500)),
        told(Wire::OpenAi, &completions(limit.clone()), "rate_limit", "Please try again in 2s", asked(2_000)),
        told(Wire::OpenAi, &completions(odd), "cut", "Something broke", own(500)),
        told(Wire::Responses, &response(failed), "overloaded", "Worker died", own(500)),
        told(Wire::Responses, &response(limit), "rate_limit", "Please try again in 2s", asked(2_000)),
        told(Wire::Responses, &limit_event, "rate_limit", "Please try again in 2s", asked(2_000)),
        told(
            Wire::Anthropic,
            &message("overloaded_error", "Overloaded"),
            "overloaded",
            "Overloaded",
            own(500),
        ),
        told(Wire::Anthropic, &message("api_error", "Worker died"), "overloaded", "Worker died", own(500)),
        told(
            Wire::Anthropic,
            &message("rate_limit_error", "Slow down"),
            "rate_limit",
            "Slow down",
            own(5_000),
        ),
    ];
    for wire in WIRES {
        all.push(untold(wire, Fate::Breaks, "connection reset"));
        all.push(untold(wire, Fate::Ends, "the stream ended before the answer"));
    }
    all
}

impl Failure {
    /// Streams `begun`, then fails.
    fn after(&self, begun: &str) -> Answer {
        Answer::streams(format!("{begun}{}", self.event)).then(self.fate)
    }

    fn retry(&self, number: u32) -> String {
        format!("retry {} req_{number}: {}", self.kind, self.words)
    }

    fn told(&self) -> String {
        let happened = match self.kind {
            "rate_limit" => "The provider's rate limit was reached",
            "overloaded" => "The provider is overloaded or failing",
            _ => "The answer was cut off",
        };
        format!("failed: {happened}: {}. {AGAIN} Request ID: req_1", self.words)
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_before_any_text_is_tried_again() {
    for failure in failures() {
        let wire = failure.wire;
        let answers = [failure.after(""), Answer::streams(says(wire, "Hello."))];
        let log = [&failure.retry(1), "text Hello.", "answered"];
        let case = Case::new(failure.words, wire, answers);
        case.pauses([failure.pause]).log(log).check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_after_text_keeps_it_and_sends_nothing_again() {
    for failure in failures() {
        let wire = failure.wire;
        // Responses takes no prefix, whatever the settings say.
        for takes_prefix in [false, wire == Wire::Responses] {
            let answers = [
                failure.after(&text(wire, "Half of the")),
                Answer::streams(says(wire, "Half of the answer.")),
            ];
            let case = Case { takes_prefix, ..Case::new(failure.words, wire, answers) };
            case.log(["text Half of the", &failure.told()]).check().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_after_text_is_resumed_where_a_prefix_is_taken() {
    for failure in failures() {
        let wire = failure.wire;
        if wire == Wire::Responses {
            continue;
        }
        let answers = [
            failure.after(&text(wire, "Half")),
            failure.after(&text(wire, " of the")),
            Answer::streams(says(wire, " answer.")),
        ];
        let case =
            Case { takes_prefix: true, prefix: "Half of the", ..Case::new(failure.words, wire, answers) };
        // The pauses of our own choice grow.
        let second =
            if *failure.pause.start() == 2_000 { asked(2_000) } else { own(2 * failure.pause.start()) };
        let log =
            ["text Half", &failure.retry(1), "text  of the", &failure.retry(2), "text  answer.", "answered"];
        case.pauses([failure.pause.clone(), second]).log(log).check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn reasoning_before_a_cut_is_no_part_of_the_answer() {
    for failure in failures() {
        let wire = failure.wire;
        let answers = [
            failure.after(&reasoning(wire, "Let me see")),
            Answer::streams(reasoning(wire, "I see") + &says(wire, "Hello.")),
        ];
        let log = ["reasoning Let me see", &failure.retry(1), "reasoning I see", "text Hello.", "answered"];
        let case = Case { takes_prefix: true, ..Case::new(failure.words, wire, answers) };
        case.pauses([failure.pause]).log(log).check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn reasoning_goes_back_once_after_a_cut() {
    let wire = Wire::OpenAi;
    let answers = [
        Answer::streams(reasoning(wire, "A clock is")).then(Fate::Breaks),
        Answer::streams(reasoning(wire, "A clock is needed.") + &calls("clock")),
        Answer::streams(says(wire, "Noon.")),
    ];
    let log = [
        "reasoning A clock is",
        "retry cut req_1: connection reset",
        "reasoning A clock is needed.",
        "call clock",
        "text Noon.",
        "answered",
    ];
    let case = Case { model: "deepseek-reasoner", ..Case::new("reasoning", wire, answers) };
    let asked = case.pauses([own(500), 0..=0]).log(log).check().await;
    assert_eq!(asked[2].body["messages"][1]["reasoning_content"], "A clock is needed.");
}

//! Providers that send nothing for a long time, or nothing that counts as an answer.

use std::time::Duration;

use agent::Wire;

use super::provider::{Answer, Fate};
use super::wire::{WIRES, event, says, text};
use super::{AGAIN, Case, after, own};

const COMMENT: &str = ": keep-alive\n\n";

/// Sends `piece` every 15 s for ten minutes, then `last`.
fn ten_minutes(piece: &str, last: String) -> Answer {
    let mut pieces = vec![(Duration::from_secs(15), piece.to_owned()); 40];
    pieces.push((Duration::from_secs(15), last));
    Answer::timed(pieces)
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_comments_keep_an_answer_alive() {
    let ping = event(&serde_json::json!({ "type": "ping" }));
    let kinds = WIRES.map(|wire| (wire, COMMENT)).into_iter().chain([(Wire::Anthropic, ping.as_str())]);
    for (wire, piece) in kinds {
        let answer = ten_minutes(piece, says(wire, "Hello."));
        Case::new(piece, wire, [answer]).log(["text Hello.", "answered"]).check().await;
        let answer = ten_minutes(piece, text(wire, "Half of the")).then(Fate::Stalls);
        let told = format!("failed: The provider sent nothing for 300 s. {AGAIN} Request ID: req_1");
        Case::new(piece, wire, [answer]).log(["text Half of the", &told]).check().await;
    }
}

/// One way to send nothing.
struct Silence {
    name: &'static str,
    answer: Answer,
    /// The seconds after which the request fails.
    lasts: u64,
    /// Whether the reply has a request id.
    has_id: bool,
}

fn silences() -> [Silence; 4] {
    let late = |wire| Answer::timed([(Duration::from_secs(601), says(wire, "Too late."))]);
    let silence = |name, answer, lasts| Silence { name, answer, lasts, has_id: true };
    [
        Silence { has_id: false, ..silence("no head", Answer::streams("").then(Fate::NeverBegins), 600) },
        silence("no byte", Answer::timed([]).then(Fate::Stalls), 600),
        silence("ten minutes", late(Wire::OpenAi), 600),
        silence("a comment", Answer::streams(COMMENT).then(Fate::Stalls), 300),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_silent_provider_is_asked_twice_more() {
    for wire in WIRES {
        for Silence { name, answer, lasts, has_id } in silences() {
            let id = |number: u32| if has_id { format!("req_{number}") } else { "unnamed".to_owned() };
            let line =
                |number: u32| format!("retry silent {}: the provider sent nothing for {lasts} s", id(number));
            let request = if has_id { " Request ID: req_3" } else { "" };
            let told = format!("failed: The provider sent nothing for {lasts} s. {AGAIN}{request}");
            let pauses = [after(lasts, &own(500)), after(lasts, &own(1_000))];
            let stays = Case::new(name, wire, [answer.clone()]).log([line(1), line(2), told]);
            stays.pauses(pauses.clone()).check().await;

            let answers = [answer, Answer::streams(says(wire, "Hello."))];
            let passes = Case::new(name, wire, answers);
            let log = [&line(1), "text Hello.", "answered"];
            passes.pauses(pauses[..1].to_vec()).log(log).check().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silence_after_text_keeps_it() {
    for wire in WIRES {
        let stalls = || Answer::streams(text(wire, "Half of the")).then(Fate::Stalls);
        let told = format!("failed: The provider sent nothing for 300 s. {AGAIN} Request ID: req_1");
        let answers = [stalls(), Answer::streams(says(wire, "Half of the answer."))];
        Case::new("ends", wire, answers).log(["text Half of the", &told]).check().await;
        if wire == Wire::Responses {
            continue;
        }
        let answers = [stalls(), Answer::streams(says(wire, " answer."))];
        let case = Case { takes_prefix: true, prefix: "Half of the", ..Case::new("resumes", wire, answers) };
        let log = [
            "text Half of the",
            "retry silent req_1: the provider sent nothing for 300 s",
            "text  answer.",
            "answered",
        ];
        case.pauses([after(300, &own(500))]).log(log).check().await;
    }
}

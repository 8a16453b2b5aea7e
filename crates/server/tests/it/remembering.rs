//! Long sessions through the binary: the model reads every turn that its window holds, and a summary of the others.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::operating::stop;
use crate::peer::read;
use crate::stage::{Stage, text};

/// What the model was sent, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sent {
    /// The numbers of the turns whose message it was sent, in order.
    turns: Vec<u64>,
    bytes: usize,
    /// Whether it was asked for a summary.
    summary: bool,
}

/// A model that repeats every word of its prompt that begins with `needle-`, also in a summary.
struct Recall {
    url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Recall {
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let kept = sent.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                answer(socket.unwrap(), &kept);
            }
        });
        Self { url, sent }
    }

    /// What it was sent for the newest answer.
    fn newest(&self) -> Sent {
        self.sent.lock().unwrap().iter().rev().find(|sent| !sent.summary).unwrap().clone()
    }

    fn summaries(&self) -> usize {
        self.sent.lock().unwrap().iter().filter(|sent| sent.summary).count()
    }

    /// The largest prompt that it was sent.
    fn bytes_max(&self) -> usize {
        self.sent.lock().unwrap().iter().map(|sent| sent.bytes).max().unwrap()
    }
}

fn answer(mut socket: TcpStream, kept: &Mutex<Vec<Sent>>) {
    let body: Value = serde_json::from_slice(&read(&mut socket).1).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let texts: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
    let turn = |text: &&str| text.strip_prefix("turn ")?.split(' ').next()?.parse().ok();
    let sent = Sent {
        turns: texts.iter().filter_map(turn).collect(),
        bytes: texts.iter().map(|text| text.len()).sum(),
        summary: texts.last().unwrap().starts_with("Summarise"),
    };
    let mut needles: Vec<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
    needles.retain(|word| word.starts_with("needle-"));
    needles.sort_unstable();
    needles.dedup();
    let said = format!("I know {} .", needles.join(" "));
    kept.lock().unwrap().push(sent);
    let said = json!({ "choices": [{ "delta": { "content": said }, "finish_reason": null }] });
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    // A run that was stopped needs no answer.
    drop(write!(socket, "{head}data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n"));
}

/// The newest answer.
fn answer_of(stage: &Stage, session: &str) -> String {
    let view = stage.view(session);
    text(view["turns"].as_array().unwrap().last().unwrap())
}

#[test]
fn a_needle_of_the_first_turn_is_known_a_thousand_turns_later() {
    let model = Recall::new();
    let stage = Stage::asking(model.url.clone(), 1_000_000);
    let session = stage.client.create().unwrap();
    stage.answered(&session, "turn 0 needle-heron");
    for turn in 1..1_000 {
        stage.answered(&session, &format!("turn {turn}"));
        assert_eq!(model.newest().turns.len(), turn + 1);
    }
    assert_eq!(model.newest().turns, (0..1_000).collect::<Vec<_>>());
    assert!(answer_of(&stage, &session).contains("needle-heron"));
    assert_eq!(model.summaries(), 0);
}

#[test]
fn a_needle_goes_into_the_summary_of_a_narrow_window() {
    let model = Recall::new();
    let mut stage = Stage::asking(model.url.clone(), 8_192);
    let session = stage.client.create().unwrap();
    stage.answered(&session, "turn 0 needle-heron");
    let rest = "and so on ".repeat(60);
    for turn in 1..150 {
        stage.answered(&session, &format!("turn {turn} {rest}"));
        if turn == 75 {
            stage.restart();
        }
    }
    assert!(answer_of(&stage, &session).contains("needle-heron"));
    let (newest, summaries) = (model.newest(), model.summaries());
    assert!((2..30).contains(&summaries), "{summaries}");
    assert!(!newest.turns.contains(&0) && newest.turns.len() > 5, "{newest:?}");
    assert!(model.bytes_max() < 8_192 * 3, "{}", model.bytes_max());
}

#[test]
fn a_message_of_a_megabyte_hides_nothing_and_undo_restores_all() {
    let model = Recall::new();
    let stage = Stage::asking(model.url.clone(), 1_000_000);
    let session = stage.client.create().unwrap();
    for text in ["turn 0 needle-heron", "turn 1", "turn 2"] {
        stage.answered(&session, text);
    }
    let long = format!("turn 3 {}", "word ".repeat(200_000));
    stage.answered(&session, &long);
    assert_eq!(model.newest().turns, [0, 1, 2, 3]);
    let undo = |times: usize| {
        for _ in 0..times {
            stage.must("POST", &format!("/sessions/{session}/undo"), &json!({}));
        }
    };
    undo(1);
    stage.answered(&session, "turn 4");
    assert_eq!(model.newest().turns, [0, 1, 2, 4]);
    stage.answered(&session, &long);
    undo(4);
    stage.answered(&session, "turn 5");
    assert_eq!(model.newest().turns, [0, 5]);
    assert!(answer_of(&stage, &session).contains("needle-heron"));
}

#[test]
fn a_model_with_a_narrower_window_reads_summaries_of_all_that_is_older() {
    let model = Recall::new();
    let mut stage = Stage::asking(model.url.clone(), 1_000_000);
    let session = stage.client.create().unwrap();
    let rest = "and so on ".repeat(60);
    for turn in 0..120 {
        let needle = if turn % 40 == 0 { format!("needle-{turn}") } else { String::new() };
        stage.answered(&session, &format!("turn {turn} {needle} {rest}"));
    }
    assert_eq!(model.summaries(), 0);
    stage.setup.window_tokens = 8_192;
    stage.setup.configure().unwrap();
    stage.restart();
    stage.answered(&session, "turn 120");
    let answer = answer_of(&stage, &session);
    for needle in ["needle-0", "needle-40", "needle-80"] {
        assert!(answer.contains(needle), "{needle} is missing from: {answer}");
    }
    assert!(model.summaries() >= 2 && model.newest().bytes < 8_192 * 3);
}

#[test]
fn undo_behind_the_turns_in_memory_leaves_a_sound_store() {
    let model = Recall::new();
    let mut stage = Stage::asking(model.url.clone(), 1_000_000);
    let session = stage.client.create().unwrap();
    for turn in 0..70 {
        stage.answered(&session, &format!("turn {turn}"));
    }
    for _ in 0..66 {
        stage.must("POST", &format!("/sessions/{session}/undo"), &json!({}));
    }
    stage.answered(&session, "turn 70");
    let seen = stage.view(&session);
    assert_eq!(model.newest().turns, [0, 1, 2, 3, 70]);
    stop(&mut stage);
    let verified = stage.setup.command().arg("verify").output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    stage.server = Some(stage.setup.serve().unwrap());
    let count = |view: &Value| {
        view["turns"].as_array().unwrap().len() as u64 + view["turns_before"].as_u64().unwrap()
    };
    assert_eq!((count(&stage.view(&session)), count(&seen)), (5, 5));
}

//! An answer that was interrupted and continued reads like the uninterrupted one in every export, on the shared page and in
//! chats: the answers of `fixtures/answers`, cut at every place.

use serde_json::Value;
use session::{Entry, Epoch, Event, Message, Part, PostMode, RunCause, RunEnd, RunId, Session, Time, TurnId};

use super::{TranscriptTurn, html, json, markdown};

/// Characters before the cut that a model repeats.
const REPEATED: usize = 60;

/// One run of the answer.
struct Run<'a> {
    text: &'a str,
    asked_to_continue: bool,
}

/// The turn that these runs answer; all but the last were interrupted.
fn answered_by(runs: &[Run<'_>]) -> TranscriptTurn {
    let mut log = Session::default();
    let mut seal = |event| {
        let entry = Entry::seal(&log.link, Time(0), Epoch(1), event);
        session::fold(&mut log, &entry);
        entry.seq
    };
    let message = Message::text("tell me");
    let turn = TurnId(seal(Event::MessagePosted { message, mode: PostMode::Queue, key: None }).0);
    for (at, Run { text, asked_to_continue }) in runs.iter().enumerate() {
        let cause = if at == 0 { RunCause::Message } else { RunCause::Resume };
        let run = RunId(seal(Event::RunStarted { turn, cause, spool: None }).0);
        seal(Event::StepStarted { run, step: 1, asked_to_continue: *asked_to_continue });
        seal(Event::TextAdded { run, text: (*text).to_owned() });
        let end = if at + 1 == runs.len() {
            RunEnd::Completed
        } else {
            let reason = session::event::InterruptReason::Crash;
            RunEnd::Interrupted { reason, recovering: false, progress: true }
        };
        seal(Event::RunEnded { turn, run, end });
    }
    TranscriptTurn { turn: log.turns.pop_back().unwrap(), hidden: None }
}

/// Everything that a reader gets of the answer, without the notes about its interruptions.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    markdown: String,
    html: String,
    /// The text of the JSON export.
    json: String,
    /// The text of the API, the shared page and chats.
    shown: Vec<String>,
}

fn read(turn: &TranscriptTurn) -> Read {
    let without = |text: &str, is_note: &dyn Fn(&str) -> bool| {
        text.lines().filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    };
    let told: Value = serde_json::from_str(&json::turn(turn, true)).unwrap();
    let shown = session::turn_view(&turn.turn).answer.unwrap().parts;
    Read {
        markdown: without(&markdown::turn(turn), &|line| line.ends_with("continued\\)*")),
        html: without(&html::turn(turn), &|line| line.ends_with(", continued)</p>")),
        json: told["answers"][0]["text"].as_str().unwrap().to_owned(),
        shown: shown
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => text,
                other => panic!("{other:?} is no text"),
            })
            .collect(),
    }
}

fn answers() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/answers");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files
        .map(|file| {
            (file.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn c14_a_continued_answer_reads_like_the_uninterrupted_one() {
    let (mut files, mut cuts) = (0, 0);
    for (name, text) in answers() {
        files += 1;
        let whole = read(&answered_by(&[Run { text: &text, asked_to_continue: false }]));
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        for (no, at) in places.iter().copied().enumerate() {
            let before = &text[..at];
            let first = Run { text: before, asked_to_continue: false };
            // Half of the models take a prefix; the others repeat what they said last.
            let repeats = no % 2 == 1 && no >= REPEATED;
            let from = if repeats { places[no - REPEATED] } else { at };
            let second = Run { text: &text[from..], asked_to_continue: repeats };
            let read = read(&answered_by(&[first, second]));
            assert_eq!(read, whole, "{name} cut at {at}");
            cuts += 1;
        }
    }
    assert!(files >= 12 && cuts >= 2_000, "{files} answers, {cuts} cuts");
}

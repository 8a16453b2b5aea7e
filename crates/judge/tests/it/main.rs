//! The judge is judged: histories with one thing wrong each, and one with nothing wrong.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use judge::api::Shown;
use judge::history::{Outcome, Record, read};
use judge::verify::{Class, Log, judge};
use serde_json::{Value, json};
use uuid::Uuid;

const SESSION: Uuid = Uuid::from_u128(7);

/// A history and the log that it is judged by.
#[derive(Clone)]
struct Case {
    records: Vec<Record>,
    log: Log,
}

fn shown(seq: u64, event: &Value) -> Shown {
    Shown { seq, data: json!({ "seq": seq, "time": seq, "event": event }).to_string() }
}

/// Two messages, the first answered in two runs with a crash in between; a reader saw all of it.
fn sound() -> Case {
    let post = |key: &str, text: &str| json!({ "message_posted": { "key": key, "mode": "queue", "message": { "text": text } } });
    let start = |turn: u64, cause: &str| json!({ "run_started": { "turn": turn, "cause": cause } });
    let text = |run: u64, text: &str| json!({ "text_added": { "run": run, "text": text } });
    let end =
        |turn: u64, run: u64, end: Value| json!({ "run_ended": { "turn": turn, "run": run, "end": end } });
    let events = [
        json!({ "session_created": { "id": SESSION } }),
        post("a", "say 4 of m1"),
        start(2, "message"),
        text(3, "m1.1 m1.2 "),
        post("b", "say 2 of m2"),
        end(2, 3, json!({ "interrupted": { "reason": "crash" } })),
        start(2, "resume"),
        text(7, "m1.3 m1.4 "),
        end(2, 7, json!("completed")),
        start(5, "message"),
        text(10, "m2.1 "),
        text(10, "m2.2 "),
        end(5, 10, json!("completed")),
    ];
    let log: Log = events.iter().zip(1..).map(|(event, seq)| shown(seq, event)).collect();
    let sent = |no: u64, key: &str, text: &str| Record::Sent {
        session: SESSION,
        by: 0,
        no,
        key: key.to_owned(),
        text: text.to_owned(),
    };
    let mut records =
        vec![sent(1, "a", "say 4 of m1"), kept("a", 2), sent(2, "b", "say 2 of m2"), kept("b", 5)];
    records.extend(log.iter().map(|shown| seen(0, shown)));
    records.extend(log.iter().map(|shown| seen(1, shown)));
    Case { records, log }
}

fn kept(key: &str, turn: u64) -> Record {
    Record::Answered { session: SESSION, key: key.to_owned(), outcome: Outcome::Kept { turn } }
}

fn seen(reader: u32, shown: &Shown) -> Record {
    Record::Seen { session: SESSION, reader, seq: shown.seq, hash: shown.hash() }
}

fn classes(case: &Case) -> Vec<Class> {
    let logs = BTreeMap::from([(SESSION, case.log.clone())]);
    let mut classes: Vec<Class> =
        judge(&case.records, &logs).violations.iter().map(|wrong| wrong.class).collect();
    classes.sort();
    classes.dedup();
    classes
}

/// Nobody read it, so that only the log itself is judged.
fn unread(mut case: Case) -> Case {
    case.records.retain(|record| !matches!(record, Record::Seen { .. }));
    case
}

fn with_event(mut case: Case, seq: u64, event: &Value) -> Case {
    let at = usize::try_from(seq - 1).unwrap();
    case.log[at] = shown(seq, event);
    case
}

#[test]
fn a_sound_history_is_found_sound() {
    assert_eq!(classes(&sound()), []);
    let logs = BTreeMap::from([(SESSION, sound().log)]);
    let judgement = judge(&sound().records, &logs);
    assert_eq!((judgement.messages, judgement.entries, judgement.seen, judgement.tokens), (2, 13, 26, 6));
    assert_eq!(judgement.happened.get("gone on by itself"), Some(&1));
}

/// Changes one thing.
type Forge = fn(Case) -> Case;

#[test]
#[expect(clippy::too_many_lines, reason = "one short arm a forgery")]
fn each_forged_history_is_found_out() {
    let forged: [(&str, Class, Forge); 23] = [
        ("the end of the log is gone", Class::Lost, |mut case| {
            case.log.truncate(11);
            case
        }),
        ("a middle entry is gone", Class::Lost, |case| {
            let mut case = unread(case);
            case.log.remove(3);
            case
        }),
        ("the beginning is gone", Class::Lost, |case| {
            let mut case = unread(case);
            case.log.remove(0);
            case
        }),
        ("an accepted message is gone", Class::Lost, |case| {
            let case = unread(case);
            with_event(case, 5, &json!({ "step_started": { "run": 3 } }))
        }),
        ("a session in which nothing was accepted is gone", Class::Lost, |mut case| {
            case.records.clear();
            case.log.clear();
            case
        }),
        ("the whole session is gone", Class::Lost, |mut case| {
            case.records.push(Record::Answered {
                session: Uuid::from_u128(8),
                key: "z".to_owned(),
                outcome: Outcome::Kept { turn: 2 },
            });
            case
        }),
        ("a reader missed an entry", Class::Lost, |mut case| {
            case.records.retain(|record| !matches!(record, Record::Seen { reader: 1, seq: 6, .. }));
            case
        }),
        ("a token in the middle is gone", Class::Lost, |case| {
            with_event(unread(case), 8, &json!({ "text_added": { "run": 7, "text": "m1.4 " } }))
        }),
        ("a complete answer is short", Class::Lost, |case| {
            with_event(unread(case), 12, &json!({ "usage_reported": { "run": 10 } }))
        }),
        ("an entry is there twice", Class::Doubled, |mut case| {
            case.log.insert(4, case.log[3].clone());
            case
        }),
        ("a message is there twice", Class::Doubled, |case| {
            let again = json!({ "message_posted": { "key": "a", "message": { "text": "say 4 of m1" } } });
            let mut case = with_event(unread(case), 4, &again);
            case.log[3] = shown(4, &again);
            case
        }),
        ("a token is there twice", Class::Doubled, |case| {
            with_event(unread(case), 8, &json!({ "text_added": { "run": 7, "text": "m1.2 m1.3 m1.4 " } }))
        }),
        ("an answer begins anew after the crash", Class::Doubled, |case| {
            with_event(
                unread(case),
                8,
                &json!({ "text_added": { "run": 7, "text": "m1.1 m1.2 m1.3 m1.4 " } }),
            )
        }),
        ("a reader was shown an entry twice", Class::Doubled, |mut case| {
            let again = seen(0, &case.log[12]);
            case.records.push(again);
            case
        }),
        ("two runs go on at once", Class::Doubled, |case| {
            with_event(unread(case), 6, &json!({ "step_started": { "run": 3 } }))
        }),
        ("a run ends twice", Class::Doubled, |case| {
            with_event(unread(case), 8, &json!({ "run_ended": { "turn": 2, "run": 3, "end": "completed" } }))
        }),
        ("messages changed places", Class::Reordered, |mut case| {
            case.records.swap(0, 2);
            case.records.swap(1, 3);
            case
        }),
        ("entries changed places", Class::Reordered, |case| {
            let mut case = unread(case);
            case.log.swap(6, 7);
            case
        }),
        ("output follows the end of its run", Class::Reordered, |case| {
            with_event(unread(case), 12, &json!({ "text_added": { "run": 7, "text": "m1.5 " } }))
        }),
        ("a message that nobody sent", Class::Phantom, |case| {
            let other = json!({ "message_posted": { "key": "x", "message": { "text": "say 1 of x" } } });
            with_event(unread(case), 4, &other)
        }),
        ("a message that was refused", Class::Phantom, |mut case| {
            case.records[3] = Record::Answered {
                session: SESSION,
                key: "b".to_owned(),
                outcome: Outcome::Refused { code: "queue_full".to_owned() },
            };
            case
        }),
        ("an entry is not what a reader saw", Class::Changed, |case| {
            with_event(case, 12, &json!({ "text_added": { "run": 10, "text": "m2.2  " } }))
        }),
        ("a message waits for ever", Class::Wedged, |case| {
            let mut case = unread(case);
            case.log.truncate(9);
            case
        }),
    ];
    for (name, class, forge) in forged {
        let found = classes(&forge(sound()));
        assert!(found.contains(&class), "{name}: {found:?}");
    }
}

#[test]
fn what_is_unknown_may_be_there_once_or_not_at_all() {
    let mut case = sound();
    case.records[3] = Record::Answered { session: SESSION, key: "b".to_owned(), outcome: Outcome::Unknown };
    assert_eq!(classes(&case), []);
    case.records[2] =
        Record::Sent { session: SESSION, by: 0, no: 2, key: "c".to_owned(), text: "say 2 of m2".to_owned() };
    assert_eq!(classes(&case), [Class::Phantom], "that of the key that was sent before");
}

#[test]
fn a_history_is_read_back_as_it_was_written() {
    let lines: Vec<String> =
        sound().records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    assert_eq!(read(&lines.join("\n")).unwrap(), sound().records);
}

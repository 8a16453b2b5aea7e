//! Golden logs: what a released version wrote must fold for ever, and to the same view. `UPDATE=1` rewrites the
//! views and states, never the logs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use session::{Damage, Entry, Epoch, Event, Hash, Link, Seq, Session, Time, View, fold, view};

use crate::story;
use crate::variants::variants;

fn updates() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The names of the files in a folder, without what they end with.
fn names(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(fixtures().join(folder)).expect("the fixtures can be listed");
    files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The entries of a golden log, checked link by link.
fn entries(name: &str) -> Vec<Entry> {
    let text = fs::read_to_string(fixtures().join("logs/v1").join(name).with_extension("jsonl")).unwrap();
    let mut last = Link::START;
    let mut entries = Vec::new();
    for line in text.lines() {
        let entry = open(&last, line).unwrap_or_else(|damage| panic!("{name}: {damage}"));
        last = entry.link();
        entries.push(entry);
    }
    entries
}

/// Opens a line: the numbers and the hash, then the stored bytes as they stand.
fn open(last: &Link, line: &str) -> Result<Entry, Damage> {
    let head: serde_json::Value = serde_json::from_str(line).unwrap();
    let body = line.split_once(r#","event":"#).and_then(|(_, rest)| rest.strip_suffix('}')).unwrap();
    let time = Time(head["time"].as_i64().unwrap());
    let epoch = Epoch(head["epoch"].as_u64().unwrap());
    let hash = u128::from_str_radix(head["hash"].as_str().unwrap(), 16).unwrap();
    Entry::open(last, Seq(head["seq"].as_u64().unwrap()), time, epoch, body, Some(Hash(hash.to_be_bytes())))
}

#[test]
fn every_golden_log_folds_into_the_view_that_it_always_had() {
    for (name, session) in folded("folds") {
        let folded = view(&session);
        let expected: View = serde_json::from_value(golden("folds", &name, &folded)).unwrap();
        assert_eq!(folded, expected, "{name}");
    }
}

#[test]
fn every_golden_log_folds_into_the_golden_state() {
    for (name, session) in folded("states") {
        assert_eq!(serde_json::to_value(&session).unwrap(), golden("states", &name, &session), "{name}");
    }
}

/// Every golden log with the state that it folds to. Each has its file in `folder`, and each file its log.
fn folded(folder: &str) -> Vec<(String, Session)> {
    let logs = names("logs/v1");
    if !updates() {
        assert_eq!(logs, names(folder), "every log has its file in {folder}, and every file its log");
    }
    let fold_all = |name: String| {
        let mut session = Session::default();
        entries(&name).iter().for_each(|entry| fold(&mut session, entry));
        (name, session)
    };
    logs.into_iter().map(fold_all).collect()
}

/// Returns the expected value of a log. With `UPDATE` set, stores `found` as the expected value first.
fn golden(folder: &str, name: &str, found: &impl serde::Serialize) -> serde_json::Value {
    let path = fixtures().join(folder).join(name).with_extension("json");
    if updates() {
        fs::create_dir_all(fixtures().join(folder)).unwrap();
        fs::write(&path, serde_json::to_string_pretty(found).unwrap() + "\n").unwrap();
    }
    serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap()
}

/// The places that hold something in a value: `turns[].runs[].id`.
fn places(value: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| places(field, &format!("{at}.{name}"), found));
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| places(item, &format!("{at}[]"), found))
        }
        _ => drop(found.insert(at.to_owned())),
    }
}

#[test]
fn a_state_has_the_shape_that_its_number_stands_for() {
    let mut found = BTreeSet::new();
    for name in names("logs/v1") {
        let mut session = Session::default();
        for entry in entries(&name) {
            fold(&mut session, &entry);
            places(&serde_json::to_value(&session).unwrap(), "state", &mut found);
        }
    }
    let lines: Vec<String> = variant_lines().into_iter().chain(found).collect();
    let told = format!("shape {}\n{}\n", session::SHAPE, lines.join("\n"));
    let path = fixtures().join("state.txt");
    if updates() {
        assert_the_shape_rose_with_its_variants(&fs::read_to_string(&path).unwrap());
        fs::write(&path, &told).unwrap();
    }
    assert_eq!(told, fs::read_to_string(path).unwrap(), "raise SHAPE when the state changes, then UPDATE=1");
}

/// The variants of every stored enum, one a line.
fn variant_lines() -> Vec<String> {
    let line = |(name, variants): (&str, Vec<String>)| {
        variants.into_iter().map(move |variant| format!("{name}::{variant}")).collect::<Vec<_>>()
    };
    variants().into_iter().flat_map(line).collect()
}

/// A page that does not know a variant must not fold states with it, so a new variant is a new shape.
#[track_caller]
fn assert_the_shape_rose_with_its_variants(before: &str) {
    let known: Vec<&str> = before.lines().filter(|line| line.contains("::")).collect();
    let same = variant_lines() == known;
    assert!(same || !before.starts_with(&format!("shape {}\n", session::SHAPE)), "raise SHAPE first");
}

#[test]
fn a_state_of_another_shape_is_not_read() {
    let session = Session::default();
    let stored = session.to_bytes();
    assert_eq!(Session::from_bytes(&stored), Some(session.clone()));
    let other = String::from_utf8(stored).unwrap().replacen(&session::SHAPE.to_string(), "1", 1);
    assert_eq!(Session::from_bytes(other.as_bytes()), None);
    assert_eq!(
        Session::from_bytes(&serde_json::to_vec(&session).unwrap()),
        None,
        "from before there were shapes"
    );
}

#[test]
fn every_kind_of_event_stands_in_some_golden_log() {
    let mut missing = story::event_kinds();
    for entry in names("logs/v1").iter().flat_map(|name| entries(name)) {
        missing.remove(&story::kind(&entry.event));
    }
    assert_eq!(missing, BTreeSet::new(), "kinds that no golden log holds");
}

#[test]
fn every_kind_of_event_is_written_as_an_object_with_its_kind_as_the_only_key() {
    for entry in names("logs/v1").iter().flat_map(|name| entries(name)) {
        let body: serde_json::Value = serde_json::from_str(&entry.body).unwrap();
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    }
    for kind in story::event_kinds() {
        let word = serde_json::from_value::<Event>(serde_json::Value::String(kind.clone()));
        assert!(word.is_err(), "{kind} is written as a word: give its variant braces");
    }
}

#[test]
fn the_names_of_known_variants_are_those_that_are_read() {
    let kinds: BTreeSet<String> =
        variants().into_iter().filter(|(name, _)| *name == "Event").flat_map(|(_, kinds)| kinds).collect();
    assert_eq!(kinds, story::event_kinds());
}

#[test]
fn what_was_written_then_is_written_the_same_today() {
    for entry in names("logs/v1").iter().flat_map(|name| entries(name)) {
        if matches!(entry.event, Event::Unknown { .. }) {
            continue;
        }
        let stored: serde_json::Value = serde_json::from_str(&entry.body).unwrap();
        assert_eq!(serde_json::to_value(&entry.event).unwrap(), stored, "at {}", entry.seq);
    }
}

#[test]
fn a_kind_of_the_future_is_kept_with_its_bytes_and_changes_nothing_but_the_place() {
    let entries = entries("kinds_of_the_future");
    let unknown = entries.iter().filter(|entry| matches!(entry.event, Event::Unknown { .. }));
    let bodies: Vec<&str> = unknown.map(|entry| &*entry.body).collect();
    let expected = [
        r#"{"approval_given":{"by":"a later version"}}"#,
        r#"{"delivery_confirmed":{"by":"a later version"}}"#,
    ];
    assert_eq!(bodies, expected);

    let mut session = Session::default();
    for entry in &entries {
        let before = Session { link: entry.link(), ..session.clone() };
        fold(&mut session, entry);
        if matches!(entry.event, Event::Unknown { .. }) {
            assert_eq!(session, before);
        }
    }
}

#[test]
fn r7_a_variant_of_the_future_is_kept_as_it_was_written() {
    let entries = entries("variants_of_the_future");
    let newer = [
        "whisper",
        "scheduled",
        "partial",
        "handed_over",
        "starred",
        "eclipse",
        "partly",
        "deferred",
        "expired",
    ];
    for word in newer {
        let entry = entries.iter().find(|entry| entry.body.contains(word)).unwrap();
        assert_eq!(
            serde_json::to_string(&entry.event).unwrap(),
            &*entry.body,
            "{word} is written again as it was"
        );
    }
    let mut session = Session::default();
    entries.iter().for_each(|entry| fold(&mut session, entry));
    assert_eq!(Session::from_bytes(&session.to_bytes()), Some(session), "a stored state keeps them too");
}

#[test]
fn a_field_of_the_future_is_passed_over() {
    let body = r#"{"session_renamed":{"title":"Files","by":"a later version"}}"#;
    let entry = Entry::open(&Link::START, Seq(1), Time(0), Epoch(1), body, None).unwrap();
    assert_eq!(entry.event, Event::SessionRenamed { title: "Files".to_owned() });
    assert_eq!(&*entry.body, body, "its bytes stay as they were");
}

#[test]
fn a_known_kind_in_a_wrong_shape_is_damage() {
    let wrong = [
        r#"{"session_renamed":{}}"#,
        r#"{"session_renamed":{"title":7}}"#,
        r#"{"session_renamed":null}"#,
        r#"{"session_cleared":7}"#,
        r#"{"run_ended":{"turn":2,"run":3,"end":{"failed":{}}}}"#,
        r#"{"run_ended":{"turn":2,"run":3,"end":7}}"#,
        r#"{"run_ended":{"turn":2,"run":3,"end":{"stopped":{},"vanished":{}}}}"#,
        r#"{"message_posted":{"message":{"text":"hi"},"mode":{"queue":{"at":3}}}}"#,
    ];
    for body in wrong {
        assert_unreadable(body);
    }
}

#[test]
fn bytes_that_are_no_event_are_damage() {
    for body in
        ["", "7", "null", "\"hello\"", "{}", "[]", "{\"a\":1,\"b\":2}", "{\"approval_given\":{}", "\u{0}"]
    {
        assert_unreadable(body);
    }
}

#[track_caller]
fn assert_unreadable(body: &str) {
    let opened = Entry::open(&Link::START, Seq(1), Time(0), Epoch(1), body, None);
    assert!(matches!(opened, Err(Damage::Unreadable { seq: Seq(1), .. })), "{body} opened as {opened:?}");
}

#[test]
fn a_changed_letter_of_a_golden_log_is_noticed() {
    let text = fs::read_to_string(fixtures().join("logs/v1/a_turn_with_a_tool.jsonl")).unwrap();
    let line = text.lines().next().unwrap();
    let changed = line.replace("session_created", "session_creatxd");
    assert_ne!(line, changed);
    assert_eq!(open(&Link::START, &changed), Err(Damage::ChainBroken { seq: Seq(1) }));
}

#[test]
fn an_epoch_never_falls() {
    let entry = &entries("recovered_run")[0];
    let last = Link { epoch: Epoch(9), ..Link::START };
    let opened = Entry::open(&last, entry.seq, entry.time, entry.epoch, entry.body.clone(), None);
    assert_eq!(opened, Err(Damage::EpochFell { seq: Seq(1) }));
}

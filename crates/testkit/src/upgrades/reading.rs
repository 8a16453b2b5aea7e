//! Does today's binary tell the same of a golden store as the version that made it, and go on with it?

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::golden::{CutOff, Golden, SessionTold};
use super::passkeys;
use super::people::{self, When};
use crate::Report;
use crate::client::Client;
use crate::trial::{Setup, now};

/// How long a session may take to come to rest. Only a failing campaign waits this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Turns of a page.
const PAGE: usize = 10;

/// Every golden store once.
///
/// # Errors
/// When a server cannot be started or asked.
pub(super) fn all(
    report: &mut Report,
    name: &str,
    goldens: &[Golden],
    model_port: u16,
) -> anyhow::Result<()> {
    let (mut sessions, mut turns, mut broken) = (0, 0, Vec::new());
    let (mut rows, mut answers) = (0, 0);
    for golden in goldens {
        let home = tempfile::tempdir()?;
        let setup = settle_in(golden, home.path(), model_port)?;
        let mut found = Vec::new();
        if let Some(told) = &golden.told.people {
            found.extend(people::opened(golden, &setup)?);
            rows += told.tables.values().map(Vec::len).sum::<usize>();
            answers += told.answers.len();
        }
        found.extend(visit(golden, &setup)?);
        broken.extend(found.into_iter().map(|what| format!("{}: {what}", golden.name)));
        sessions += golden.told.sessions.len();
        turns += golden.told.sessions.iter().map(|told| told.turns.len()).sum::<usize>();
    }
    let (least_sessions, least_turns) = (goldens.len() * 10, goldens.len() * 40);
    report.line(&format!("{name}.sessions"), sessions, least_sessions, sessions >= least_sessions);
    report.line(&format!("{name}.turns"), turns, least_turns, turns >= least_turns);
    report.line(&format!("{name}.rows_of_people"), rows, 60, rows >= 60);
    report.line(&format!("{name}.answers_about_people"), answers, 20, answers >= 20);
    super::broken(report, name, &broken);
    Ok(())
}

/// A home for today's server with the golden store as its data.
///
/// # Errors
/// When it cannot be made.
pub(super) fn settle_in(golden: &Golden, home: &Path, model_port: u16) -> anyhow::Result<Setup> {
    let setup = Setup { postgres: golden.database()?, ..Setup::at(home, model_port)? };
    golden.unpack(&setup.data)?;
    setup.configure()?;
    // Older stores do not count observed time. Their sessions in the trash would be erased once the store is a month old.
    let config = std::fs::read_to_string(setup.config())?;
    std::fs::write(setup.config(), format!("trash_days = 0\n{config}"))?;
    Ok(setup)
}

/// Starts the server, reads everything and says something in every session. Answers what is not as it was.
///
/// # Errors
/// When the server cannot be started or asked.
pub(super) fn visit(golden: &Golden, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let server = setup.serve()?;
    let mut broken = people::answers(golden, setup)?;
    for told in &golden.told.sessions {
        let client = client_of(golden, setup.port, &told.user)?;
        let found = same(&client, told).and_then(|mut found| {
            found.extend(goes_on(&client, told)?);
            Ok(found)
        });
        let found = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
        broken.extend(found.into_iter().map(|what| format!("{} ({:?}): {what}", told.session, told.title)));
    }
    broken.extend(around(golden, setup)?);
    broken.extend(passkeys::log_in(golden, setup)?);
    drop(server);
    broken.extend(people::tables(golden, &setup.data, When::Served)?);
    Ok(broken)
}

/// A client with the token of a user.
pub(super) fn client_of(golden: &Golden, port: u16, user: &str) -> anyhow::Result<Client> {
    let token = golden.told.tokens.get(user).context("every user has a token")?.clone();
    Ok(Client { port, token })
}

/// What is not told as it was.
fn same(client: &Client, told: &SessionTold) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    let session = told.session;
    if told.cut_off.is_some() {
        at_rest(client, told)?;
    }
    let lines = client.must("GET", &format!("/sessions?shelf={}&count=200", told.shelf), &Value::Null)?;
    let line = lines["sessions"]
        .as_array()
        .and_then(|lines| lines.iter().find(|line| line["session"] == json!(session)));
    match line {
        None => broken.push(format!("is not on the shelf {}", told.shelf)),
        Some(line) if line["title"] != json!(told.title) => {
            broken.push(format!("is called {}", line["title"]))
        }
        Some(_) => {}
    }
    let view = client.must("GET", &format!("/sessions/{session}"), &Value::Null)?;
    broken.extend(told.view.as_ref().and_then(|old| difference("view", &joined(old), &view)));
    let mut turns = turns(client, told, &view)?;
    if let Some(cut) = &told.cut_off {
        let begun = turns.iter().position(|turn| turn["turn"] == json!(cut.turn)).unwrap_or(turns.len());
        broken.extend(went_on(cut, &turns.split_off(begun)));
    }
    broken.extend(difference("turns", &joined(&Value::from(told.turns.clone())), &Value::from(turns)));
    let entries = log(client, told)?;
    let enough = entries == told.entries || told.cut_off.is_some() && entries > told.entries;
    if !enough || view["seq"] != json!(entries) {
        broken.push(format!("has {entries} entries at {}, and had {}", view["seq"], told.entries));
    }
    Ok(broken)
}

/// Waits until nothing goes on in a session any more.
pub(super) fn at_rest(client: &Client, told: &SessionTold) -> anyhow::Result<()> {
    let begun = now();
    loop {
        let view = client.must("GET", &format!("/sessions/{}", told.session), &Value::Null)?;
        if view["run"].is_null()
            && view["queue"]
                .as_array()
                .is_none_or(|queue| queue.iter().all(|queued| queued["paused"] == true))
        {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "does not come to rest: {view}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Every visible turn, oldest first: the newest from the view, older ones by page.
fn turns(client: &Client, told: &SessionTold, view: &Value) -> anyhow::Result<Vec<Value>> {
    let mut turns: Vec<Value> = view["turns"].as_array().cloned().unwrap_or_default();
    loop {
        let Some(before) = turns.first().map(|turn| turn["turn"].clone()) else { return Ok(turns) };
        let path = format!("/sessions/{}/turns?count={PAGE}&before={before}", told.session);
        let page = client.must("GET", &path, &Value::Null)?;
        let page = page["turns"].as_array().filter(|page| !page.is_empty()).cloned();
        let Some(mut page) = page else { return Ok(turns) };
        page.append(&mut turns);
        turns = page;
    }
}

/// Entries of the log, without gap and each with what happened.
fn log(client: &Client, told: &SessionTold) -> anyhow::Result<u64> {
    let mut stream = client.follow(&told.session.to_string(), Some(0))?;
    let mut entries = 0;
    while let Some(event) = stream.event()? {
        match event.name.as_str() {
            "entry" => {
                anyhow::ensure!(event.id == Some(entries + 1), "entry {:?} follows {entries}", event.id);
                anyhow::ensure!(event.happened().is_some(), "entry {:?} tells nothing", event.id);
                entries += 1;
            }
            "caught_up" => break,
            _ => {}
        }
    }
    Ok(entries)
}

/// What is wrong with an answer that was cut off and went on, and with the one that waited behind it.
fn went_on(cut: &CutOff, turns: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    let [answer, waiting] = turns else {
        return vec![format!("{} turns came of a cut off one", turns.len())];
    };
    let text = text_of(answer);
    if !text.starts_with(&cut.seen) {
        broken.push(format!("`{}` was seen, and is now `{text}`", cut.seen));
    }
    // One that was cut off long ago, or too often, does not go on by itself; it says so.
    let complete = answer["answer"]["complete"] == json!(true);
    let count = if complete { cut.count } else { text.split_whitespace().count() as u64 };
    if !says(&text, &cut.tag, count) || complete != answer["marker"].is_null() {
        broken.push(format!("an answer that was cut off became `{text}`, marked {}", answer["marker"]));
    }
    let answered = waiting["answer"]["complete"] == json!(true) || !waiting["marker"].is_null();
    if waiting["turn"] != json!(cut.waiting) || !answered {
        broken.push(format!("what waited behind it was not answered: {waiting}"));
    }
    broken
}

/// The text of a turn's answer.
fn text_of(turn: &Value) -> String {
    let parts = turn["answer"]["parts"].as_array();
    parts.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}

/// Whether a text is what the scripted model says, each word once and in order.
fn says(text: &str, tag: &str, count: u64) -> bool {
    text.split_whitespace().eq((1..=count).map(|at| format!("{tag}.{at}")))
}

/// A new message is kept and answered.
fn goes_on(client: &Client, told: &SessionTold) -> anyhow::Result<Vec<String>> {
    let session = told.session.to_string();
    let turn = client.post(&session, "say 3 of onward")?["turn"].clone();
    let mut stream = client.follow(&session, turn.as_u64())?;
    while stream.until("run_ended")?.1["turn"] != turn {}
    let view = client.must("GET", &format!("/sessions/{session}"), &Value::Null)?;
    let newest = view["turns"].as_array().and_then(|turns| turns.last()).cloned().unwrap_or_default();
    let answered = newest["turn"] == turn && says(&text_of(&newest), "onward", 3);
    Ok(if answered { Vec::new() } else { vec![format!("a new message was answered so: {newest}")] })
}

/// What is not as it was beside the sessions: files, keys, what was erased, who is let in.
fn around(golden: &Golden, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let told = &golden.told;
    let mut broken = Vec::new();
    let owner = client_of(golden, setup.port, "owner")?;
    for file in &told.attachments {
        let path = format!("/attachments/{}", file.blob);
        let (status, bytes) = owner.exchange("GET", &path, "", &Value::Null)?;
        let kept = store::blob::hash_of(&bytes).0 == file.blob && bytes.len() == file.size_bytes;
        if status != 200 || !kept {
            broken.push(format!("the file {} is not what it was: {status}", file.blob));
        }
    }
    for session in &told.erased {
        let status = owner.ask("GET", &format!("/sessions/{session}"), &Value::Null)?.status;
        if status < 400 {
            broken.push(format!("{session} was erased and can be read"));
        }
    }
    for key in &told.keys {
        let (path, header) =
            (format!("/sessions/{}/messages", key.session), format!("idempotency-key: {}\r\n", key.key));
        let (status, body) = owner.exchange("POST", &path, &header, &json!({ "text": key.text }))?;
        let again: Value = serde_json::from_slice(&body).unwrap_or_default();
        if again["turn"] != json!(key.turn) {
            broken.push(format!("a key that gave turn {} gives {status} {again}", key.turn));
        }
    }
    for words in &told.words {
        let found = owner.must("GET", &format!("/search?words={}", words.words), &Value::Null)?;
        let hits = found["hits"].as_array();
        if !hits.is_some_and(|hits| hits.iter().any(|hit| hit["session"] == json!(words.session))) {
            broken.push(format!("`{}` is not found any more: {found}", words.words));
        }
    }
    let nobody = Client { port: setup.port, token: String::new() };
    for share in &told.shares {
        let shared = nobody.ask("GET", &format!("/shared/{}", share.secret), &Value::Null)?;
        if shared.status != 200 || shared.body["turns"].as_array().is_none_or(Vec::is_empty) {
            broken.push(format!("a share of {} shows {} {}", share.session, shared.status, shared.body));
        }
    }
    for login in &told.logins {
        let status = nobody.ask("POST", "/login", login)?.status;
        if status != 200 {
            broken.push(format!("{} cannot log in: {status}", login["name"]));
        }
    }
    for session in told.sessions.iter().filter(|session| session.user != "owner") {
        let status = owner.ask("GET", &format!("/sessions/{}", session.session), &Value::Null)?.status;
        if status != 404 {
            broken.push(format!("the owner is told {status} of a session of {}", session.user));
        }
    }
    Ok(broken)
}

/// What older versions told, as it is told today: they told an interrupted text in pieces with the marker between them, and
/// their markers did not say what had interrupted the run.
fn joined(told: &Value) -> Value {
    match told {
        Value::Object(fields) => {
            let is_marker = fields.get("kind").is_some_and(|kind| kind == "interrupted");
            let kept = fields.iter().filter(|(name, _)| !(is_marker && *name == "text"));
            let fields = kept.map(|(name, value)| match value {
                Value::Array(parts) if name == "parts" => (name.clone(), joined_parts(parts)),
                value => (name.clone(), joined(value)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(joined).collect(),
        value => value.clone(),
    }
}

fn joined_parts(parts: &[Value]) -> Value {
    let mut told: Vec<Value> = Vec::new();
    let mut continues = false;
    for part in parts {
        if part.get("marker").is_some() {
            continues = true;
            continue;
        }
        match (told.last_mut().and_then(|last| last.get_mut("text")), part["text"].as_str()) {
            (Some(Value::String(text)), Some(more)) if continues => text.push_str(more),
            _ => told.push(joined(part)),
        }
        continues = false;
    }
    told.into()
}

/// Where something that was told is not told the same; fields that were added since do not count.
pub(super) fn difference(place: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().find_map(|(name, old)| {
            difference(&format!("{place}.{name}"), old, new.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut pairs = old.iter().zip(new).enumerate();
            pairs.find_map(|(at, (old, new))| difference(&format!("{place}[{at}]"), old, new))
        }
        (old, new) if old == new => None,
        (old, new) => Some(format!("{place} was {old} and is {new}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_wherever_it_is_and_a_new_field_is_none() {
        let old = json!({ "turns": [{ "text": "a", "marker": null }] });
        assert_eq!(difference("", &old, &json!({ "turns": [{ "text": "a", "new": 1 }], "more": [] })), None);
        for new in [
            json!({ "turns": [{ "text": "b" }] }),
            json!({ "turns": [] }),
            json!({ "turns": [{ "text": "a", "marker": {} }] }),
            json!({ "turns": [{ "text": "a" }, { "text": "a" }] }),
            json!({}),
        ] {
            assert!(difference("", &old, &new).is_some(), "{new}");
        }
    }

    #[test]
    fn a_text_that_was_told_in_pieces_is_one() {
        let marker = json!({ "kind": "interrupted", "run": 3, "text": "Interrupted. The run ended here." });
        let old =
            json!({ "parts": [{ "text": "a " }, { "marker": marker }, { "text": "b" }], "marker": marker });
        let new = json!({ "parts": [{ "text": "a b" }], "marker": { "kind": "interrupted", "run": 3 } });
        assert_eq!(joined(&old), new);
    }

    #[test]
    fn only_every_word_once_and_in_order_is_what_the_model_says() {
        assert!(says("a.1 a.2 a.3", "a", 3));
        for text in ["a.1 a.2", "a.1 a.3 a.2", "a.1 a.2 a.2 a.3", "a.1 a.2 a.3 a.4", ""] {
            assert!(!says(text, "a", 3), "{text}");
        }
    }
}

//! Compares `people.db` of a golden store, and what the API says of it, with what was recorded when the store was made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::furnish::LATER;
use super::golden::Golden;
use super::reading::{client_of, difference};
use crate::client::Client;
use crate::trial::Setup;

/// The content of `people.db`, and answers of the API about it.
#[derive(Debug, Deserialize)]
pub(super) struct PeopleTold {
    pub(super) schema: usize,
    pub(super) tables: BTreeMap<String, Vec<Map<String, Value>>>,
    pub(super) answers: Vec<AnswerTold>,
}

/// One answer of the API.
#[derive(Debug, Deserialize)]
pub(super) struct AnswerTold {
    user: String,
    /// Whether a browser asked, which tokens cannot replace everywhere.
    #[serde(default)]
    login: bool,
    path: String,
    body: Value,
}

/// When tables are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the first server ran: every row is as it was.
    Opened,
    /// Afterwards: logins and audit lines were added, tokens and passkeys were used, and time passed for the trash.
    Served,
}

impl When {
    /// Returns whether rows of a table may have been added.
    fn may_grow(self, table: &str) -> bool {
        self == Self::Served && matches!(table, "audit" | "credentials")
    }

    /// Returns whether a row stays. The server forgets events of a platform after two weeks.
    fn stays(self, table: &str, row: &Map<String, Value>) -> bool {
        self == Self::Opened
            || table != "gateway_taken"
            || row.get("at").and_then(Value::as_i64) >= Some(LATER.0)
    }

    /// Returns whether a column keeps its value.
    fn keeps(self, table: &str, column: &str) -> bool {
        let changes = matches!(
            (table, column),
            ("credentials", "used_at") | ("passkeys", "used_at" | "passkey") | ("observed" | "trash", _)
        );
        self == Self::Opened || !changes
    }
}

/// Returns how the tables differ from the recorded ones. Columns and tables added since do not count.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn tables(golden: &Golden, data: &Path, when: When) -> anyhow::Result<Vec<String>> {
    let Some(told) = &golden.told.people else { return Ok(Vec::new()) };
    // A copy, because opening the file would change its write-ahead log.
    let copy = tempfile::tempdir()?;
    for name in ["people.db", "people.db-wal"] {
        let from = data.join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name))?;
        }
    }
    let file = Connection::open(copy.path().join("people.db"))?;
    let mut broken = Vec::new();
    for (table, old) in &told.tables {
        match rows(&file, table) {
            Ok(new) => broken.extend(changes(table, old, &new, when)),
            Err(error) => broken.push(format!("the table {table} cannot be read: {error}")),
        }
    }
    Ok(broken)
}

fn rows(file: &Connection, table: &str) -> rusqlite::Result<Vec<Map<String, Value>>> {
    let mut select = file.prepare(&format!("SELECT * FROM \"{table}\""))?;
    let names: Vec<String> = select.column_names().map(str::to_owned).collect();
    let row = |row: &Row<'_>| {
        let values = names
            .iter()
            .enumerate()
            .map(|(at, name)| row.get_ref(at).map(|value| (name.clone(), plain(value))));
        values.collect::<rusqlite::Result<Map<_, _>>>()
    };
    select.query_map([], row)?.collect()
}

fn plain(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => json!({ "blob": session::hex(bytes) }),
    }
}

/// Returns the rows that are missing or changed, and those that should not be there.
fn changes(table: &str, old: &[Map<String, Value>], new: &[Map<String, Value>], when: When) -> Vec<String> {
    let columns: Vec<&String> =
        old.first().into_iter().flat_map(Map::keys).filter(|column| when.keeps(table, column)).collect();
    if columns.is_empty() {
        return Vec::new();
    }
    let kept = |row: &Map<String, Value>| -> Vec<Value> {
        columns.iter().map(|column| row.get(*column).cloned().unwrap_or(json!("no such column"))).collect()
    };
    let stay = |rows: &[Map<String, Value>]| -> Vec<Vec<Value>> {
        rows.iter().filter(|row| when.stays(table, row)).map(kept).collect()
    };
    let (mut added, mut broken) = (stay(new), Vec::new());
    for row in stay(old) {
        match added.iter().position(|other| *other == row) {
            Some(at) => drop(added.swap_remove(at)),
            None => broken.push(format!("{table} {columns:?} has no {}", Value::from(row))),
        }
    }
    if !when.may_grow(table) {
        broken.extend(added.into_iter().map(|row| format!("{table} {columns:?} has {}", Value::from(row))));
    }
    broken
}

/// Asks a running server everything again and returns the answers that differ.
///
/// # Errors
/// Returns an error if the server cannot be asked.
pub(super) fn answers(golden: &Golden, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let Some(told) = &golden.told.people else { return Ok(Vec::new()) };
    let (mut broken, mut browsers) = (Vec::new(), BTreeMap::new());
    // A login adds a line to some of the other answers.
    let (by_login, by_token): (Vec<_>, Vec<_>) = told.answers.iter().partition(|answer| answer.login);
    for answer in by_token.into_iter().chain(by_login) {
        let user = &answer.user;
        let client = client_of(golden, setup.port, user)?;
        let now = match (answer.login, answer.path.as_str()) {
            (true, path) => {
                let browser = match browsers.get(user) {
                    Some(browser) => browser,
                    None => {
                        let login = golden.told.logins.iter().find(|login| login["name"] == json!(user));
                        let browser = client.sign_in(login.context("a browser has a password")?)?;
                        browsers.entry(user).or_insert(browser)
                    }
                };
                let (status, body) = client.exchange("GET", path, browser, &Value::Null)?;
                ensure!(status == 200, "GET {path} of {user}: {status}");
                Ok(serde_json::from_slice(&body)?)
            }
            (false, "/audit") => audit(&client, &answer.body),
            (false, "/models") => added_models(&client),
            (false, path) => client.must("GET", path, &Value::Null),
        };
        let place = format!("{} of {user}", answer.path);
        broken.extend(match now {
            Ok(now) => difference(&place, &answer.body, &now),
            Err(error) => Some(format!("{place}: {error:#}")),
        });
    }
    Ok(broken)
}

/// Returns as many lines of the audit log as were recorded, oldest first.
fn audit(client: &Client, told: &Value) -> anyhow::Result<Value> {
    let (mut lines, mut path) = (Vec::new(), "/audit".to_owned());
    loop {
        let page = client.must("GET", &path, &Value::Null)?;
        let page = page["lines"].as_array().context("a page of lines")?;
        let Some(last) = page.last() else { break };
        path = format!("/audit?before={}", last["no"]);
        lines.extend(page.iter().cloned());
    }
    lines.reverse();
    lines.truncate(told["lines"].as_array().map_or(0, Vec::len));
    Ok(json!({ "lines": lines }))
}

/// Returns the models that are not from the configuration, which every server here has its own of.
fn added_models(client: &Client) -> anyhow::Result<Value> {
    let mut body = client.must("GET", "/models", &Value::Null)?;
    let models = body["models"].as_array_mut().context("a list of models")?;
    models.retain(|model| model["from"] == "settings");
    Ok(body)
}

/// Opens `people.db` with today's binary and no server, and returns the rows that differ.
///
/// # Errors
/// Returns an error if the binary fails or the file cannot be read.
pub(super) fn opened(golden: &Golden, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let output = setup.command().args(["user", "list"]).output()?;
    ensure!(output.status.success(), "user list: {}", String::from_utf8_lossy(&output.stderr));
    tables(golden, &setup.data, When::Opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: Value) -> Vec<Map<String, Value>> {
        serde_json::from_value(rows).unwrap()
    }

    #[test]
    fn a_changed_missing_or_added_row_is_found_and_a_new_column_is_none() {
        let old = table(json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "b" }]));
        let same = table(json!([{ "name": "b", "id": 2, "new": 0 }, { "id": 1, "name": "a", "new": 0 }]));
        assert_eq!(changes("users", &old, &same, When::Opened), Vec::<String>::new());
        for (rows, count) in [
            (json!([{ "id": 1, "name": "a" }]), 1),
            (json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "c" }]), 2),
            (json!([{ "id": 1, "name": "a" }, { "id": 2, "name": "b" }, { "id": 3, "name": "b" }]), 1),
            (json!([{ "id": 1 }, { "id": 2, "name": "b" }]), 2),
        ] {
            let found = changes("users", &old, &table(rows), When::Served);
            assert_eq!(found.len(), count, "{found:?}");
        }
    }

    #[test]
    fn only_events_that_the_server_forgets_may_be_missing() {
        let old = table(json!([{ "event": "e-1", "at": 5 }, { "event": "e-2", "at": LATER.0 }]));
        assert_eq!(changes("gateway_taken", &old, &old[1..], When::Served), Vec::<String>::new());
        assert_eq!(changes("gateway_taken", &old, &old[..1], When::Served).len(), 1);
        assert_eq!(changes("gateway_taken", &old, &old[1..], When::Opened).len(), 1);
    }

    #[test]
    fn only_a_server_adds_logins_and_notes_their_use() {
        let old = table(json!([{ "id": 1, "used_at": null }]));
        let new = table(json!([{ "id": 1, "used_at": 5 }, { "id": 2, "used_at": null }]));
        assert_eq!(changes("credentials", &old, &new, When::Served), Vec::<String>::new());
        assert_eq!(changes("credentials", &old, &new, When::Opened).len(), 3);
        assert_eq!(changes("credentials", &old, &[], When::Served).len(), 1);
    }
}

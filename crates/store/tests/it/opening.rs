//! Which directories a store opens, and what it leaves alone.

#![expect(clippy::expect_used, reason = "test code")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use session::Time;
use store::conformance::Author;
use store::people::{People, PeopleError};
use store::sqlite::{OpenStoreError, SqliteStore};
use store::{Claiming, LogStore};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::{node, session_id};

fn refusal(path: &Path) -> OpenStoreError {
    SqliteStore::open(settings(path)).expect_err("the store must be refused")
}

#[tokio::test]
async fn a_directory_serves_one_store_at_a_time() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let author = Author::create(&store, session_id(1)).await;
    let second = refusal(directory.path());
    assert!(matches!(&second, OpenStoreError::InUse(path) if path == directory.path()), "{second}");
    author.assert_read(&store).await;
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.assert_read(&store).await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let author = Author::create(&store, session_id(1)).await;
    drop(store);
    let file = directory.path().join("everturn.db");
    let version =
        |number: i64| Connection::open(&file).unwrap().pragma_update(None, "user_version", number).unwrap();
    let today: i64 =
        Connection::open(&file).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    version(99);
    let before = fs::read(&file).unwrap();
    let refused = refusal(directory.path());
    assert!(matches!(&refused, OpenStoreError::Refused(text) if text.contains("99")), "{refused}");
    assert!(fs::read(&file).unwrap() == before, "the file was changed");
    version(today);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.assert_read(&store).await;
}

/// What later versions added is taken off again, as a store of the first version stands.
#[tokio::test]
async fn a_store_of_the_first_schema_is_brought_to_todays() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    author.turn(&store, "question", "answer").await;
    drop(store);
    let file = Connection::open(directory.path().join("everturn.db")).unwrap();
    file.execute_batch(
        "DROP INDEX list_undelivered; ALTER TABLE list DROP COLUMN undelivered; DROP INDEX list_live; DROP INDEX list_needing; DROP INDEX list_pinned; ALTER TABLE list DROP COLUMN needs;
         DROP TABLE list_tags; DROP INDEX list_in_trash; DROP INDEX list_by_project; ALTER TABLE list DROP COLUMN tags;
         ALTER TABLE list DROP COLUMN project; ALTER TABLE list DROP COLUMN trashed_at;
         DROP INDEX list_by_activity; ALTER TABLE list DROP COLUMN user;
         CREATE INDEX list_by_activity ON list (shelf, active_at, no); DROP TABLE chats; ALTER TABLE list DROP COLUMN interrupted; ALTER TABLE list DROP COLUMN resume_pending;
         DROP INDEX list_that_owe; ALTER TABLE list DROP COLUMN owed; ALTER TABLE list DROP COLUMN remembers;
         PRAGMA user_version = 1",
    )
    .unwrap();
    drop(file);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.assert_read(&store).await;
    author.turn(&store, "and now", "still here").await;
}

#[test]
fn a_database_of_someone_else_is_refused_and_left_as_it_is() {
    for marks in ["", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("everturn.db");
        let foreign = Connection::open(&file).unwrap();
        foreign.execute_batch(&format!("CREATE TABLE birds (name TEXT); {marks}")).unwrap();
        drop(foreign);
        let before = fs::read(&file).unwrap();
        let refused = refusal(directory.path());
        assert!(matches!(&refused, OpenStoreError::Refused(_)), "{marks}: {refused}");
        assert!(fs::read(&file).unwrap() == before, "{marks}: the file was changed");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("everturn.db");
    let text = "a letter, not a database\n".repeat(100);
    fs::write(&file, &text).unwrap();
    let refused = refusal(directory.path());
    assert!(matches!(&refused, OpenStoreError::Failed(_)), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_look_refuses_what_an_opening_would_and_makes_nothing() {
    let directory = TempDir::new().unwrap();
    let look = || store::sqlite::check(directory.path());
    let names = || {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    look().unwrap();
    assert!(names().is_empty(), "{:?}", names());
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    Author::create(&store, session_id(1)).await;
    // Also while it is in use.
    look().unwrap();
    drop(store);
    let file = directory.path().join("everturn.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&file).unwrap();
    let refused = look().expect_err("the store must be refused");
    let told = matches!(&refused, OpenStoreError::Refused(text) if text.contains("99") && text.contains("nothing was changed"));
    assert!(told, "{refused}");
    assert!(fs::read(&file).unwrap() == before, "the file was changed");
}

#[test]
fn a_file_that_is_not_of_people_is_refused_and_left_as_it_is() {
    let now = Time(1_700_000_000_000_000);
    for marks in ["", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("people.db");
        let foreign = Connection::open(&file).unwrap();
        foreign.execute_batch(&format!("CREATE TABLE birds (name TEXT); {marks}")).unwrap();
        drop(foreign);
        let before = fs::read(&file).unwrap();
        let refused = People::open(&file, now).expect_err("the file must be refused");
        assert!(matches!(refused, PeopleError::Foreign), "{marks}: {refused}");
        assert!(fs::read(&file).unwrap() == before, "{marks}: the file was changed");
    }
}

#[test]
fn newer_people_are_refused_and_left_as_they_are() {
    let now = Time(1_700_000_000_000_000);
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("people.db");
    drop(People::open(&file, now).unwrap());
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&file).unwrap();
    let refused = People::open(&file, now).expect_err("the file must be refused").to_string();
    assert!(refused.contains("99") && refused.contains("nothing was changed"), "{refused}");
    assert!(fs::read(&file).unwrap() == before, "the file was changed");
}

#[tokio::test]
async fn a_restart_does_not_wait_for_the_heartbeat_of_the_process_before() {
    let directory = TempDir::new().unwrap();
    let now = Time(1_700_000_000_000_000);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let author = Author::create(&store, session_id(1)).await;
    store.heartbeat(author.claim.node, now).await.unwrap();
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let claim = store.claim(session_id(1), node(2), Claiming::Existing, now).await.unwrap();
    assert!(claim.epoch > author.claim.epoch);
}

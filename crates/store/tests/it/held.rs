//! Readers that hold a read transaction for long: nothing that is written waits for them.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use store::conformance::Author;
use store::sqlite::SqliteStore;
use store::{Catalog, LogStore};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::session_id;

/// Far less than a busy timeout, far more than a commit.
const WAIT_MAX: Duration = Duration::from_secs(1);
const MARKER: &str = "wolpertinger";

/// A read transaction of another program, as it stands now.
fn hold(directory: &Path) -> Connection {
    let file = directory.join("everturn.db");
    let reader = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM tail", [], |_| Ok(())).unwrap();
    reader
}

fn log_bytes(directory: &Path) -> Vec<u8> {
    fs::read(directory.join("everturn.db-wal")).unwrap()
}

fn is_in_log(directory: &Path, needle: &str) -> bool {
    log_bytes(directory).windows(needle.len()).any(|window| window == needle.as_bytes())
}

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_MAX, work).await.unwrap_or_else(|_| panic!("{what} waited for a reader"))
}

#[tokio::test]
async fn a_reader_holds_up_no_append_and_no_erase() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    let mut doomed = Author::create(&store, session_id(2)).await;
    doomed.turn(&store, MARKER, "an answer").await;
    let reader = hold(directory.path());
    for round in 0..3 {
        in_time("an append", author.turn(&store, &format!("question {round}"), "answer")).await;
        // Settling empties the log as a quiet moment does.
        in_time("settling", store.settle()).await.unwrap();
    }
    in_time("an erase", store.erase(doomed.claim)).await.unwrap();
    in_time("an append", author.turn(&store, "last", "answer")).await;
    assert!(is_in_log(directory.path(), MARKER), "the reader still needs it");
    drop(reader);
    in_time("settling", store.settle()).await.unwrap();
    assert_eq!(log_bytes(directory.path()), b"");
    author.assert_read(&store).await;
}

/// Erases a session whose bytes a reader keeps in the log.
async fn erase_beside_a_reader(directory: &Path) -> (SqliteStore, Connection) {
    let store = SqliteStore::open(settings(directory)).unwrap();
    let mut doomed = Author::create(&store, session_id(1)).await;
    doomed.turn(&store, MARKER, "an answer").await;
    let reader = hold(directory);
    store.erase(doomed.claim).await.unwrap();
    (store, reader)
}

/// Waits until the store has emptied the log by itself: nobody asks it for anything.
async fn until_scrubbed(directory: &Path) {
    while is_in_log(directory, MARKER) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn erased_bytes_leave_the_log_once_the_reader_is_gone() {
    let directory = TempDir::new().unwrap();
    let (store, reader) = erase_beside_a_reader(directory.path()).await;
    assert!(is_in_log(directory.path(), MARKER));
    drop(reader);
    until_scrubbed(directory.path()).await;
    drop(store);
}

#[tokio::test]
async fn erased_bytes_leave_the_log_after_a_restart_beside_the_reader() {
    let directory = TempDir::new().unwrap();
    let (store, reader) = erase_beside_a_reader(directory.path()).await;
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert!(is_in_log(directory.path(), MARKER));
    drop(reader);
    until_scrubbed(directory.path()).await;
    drop(store);
}

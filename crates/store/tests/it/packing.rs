//! Long runs are packed on the way, and the tail is trimmed.

#![expect(clippy::unwrap_used, reason = "test code")]

use rusqlite::{Connection, OpenFlags};
use session::{Command, Event, Progress, UserId};
use store::conformance::Author;
use store::sqlite::SqliteStore;
use store::{Catalog, DocumentKind, Hit};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::session_id;

/// A figure of the file, read beside the store.
fn figure(directory: &TempDir, sql: &str) -> i64 {
    let file = directory.path().join("everturn.db");
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Chunks of the open run, hundreds in an append.
async fn stream(author: &mut Author, store: &SqliteStore, chunks: std::ops::Range<u32>) {
    let run = author.state.open_run.unwrap();
    let chunks: Vec<u32> = chunks.collect();
    for some in chunks.chunks(500) {
        let events = some.iter().map(|chunk| Event::TextAdded { run, text: format!("chunk{chunk} ") });
        author.write(store, events.collect()).await;
    }
}

#[tokio::test]
async fn a_long_run_is_packed_while_it_goes_on_and_reads_the_same() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    let mut other = Author::create(&store, session_id(2)).await;
    other.turn(&store, "beside it", "a short one").await;
    let turn = author.post(&store, "a long story").await;
    let run = author.state.open_run.unwrap();
    stream(&mut author, &store, 0..6_000).await;
    store.settle().await.unwrap();
    assert_eq!(author.state.open_run, Some(run));
    assert_eq!(figure(&directory, "SELECT count(*) FROM tail"), 0);
    assert!(figure(&directory, "SELECT count(*) FROM packs WHERE no = 1") >= 2);
    author.assert_read(&store).await;

    stream(&mut author, &store, 6_000..12_000).await;
    author.assert_read(&store).await;
    author.progress(&store, Progress::Completed).await;
    store.settle().await.unwrap();
    assert_eq!(figure(&directory, "SELECT count(*) FROM tail"), 0);
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.assert_read(&store).await;
    other.assert_read(&store).await;
    // The answer is one document, though it came in many packs.
    let last = author.log.last().unwrap();
    let (session, kind) = (session_id(1), DocumentKind::Answer(run));
    let hit = Hit { session, turn, kind, time: last.time, seq: last.seq };
    assert_eq!(
        store.search(store::SearchQuery::new(UserId::FIRST, "chunk0 chunk5999 chunk11999", 10)).await,
        Ok(vec![hit])
    );
}

#[tokio::test]
async fn a_shared_beginning_does_not_pin_the_tail_after_its_origin_went() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut origin = Author::create(&store, session_id(1)).await;
    origin.turn(&store, "shared", "beginning").await;
    let branch = origin.branch(&store, session_id(2), origin.end().seq).await;
    origin.ask(&store, Command::Clear).await;
    store::LogStore::erase(&store, origin.claim).await.unwrap();
    store.settle().await.unwrap();
    assert_eq!(figure(&directory, "SELECT count(*) FROM tail"), 0);
    branch.assert_read(&store).await;
}

#[tokio::test]
async fn what_is_trimmed_is_given_back_to_the_disk() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    author.post(&store, "a long story").await;
    stream(&mut author, &store, 0..20_000).await;
    store.settle().await.unwrap();
    assert_eq!(figure(&directory, "SELECT freelist_count FROM pragma_freelist_count"), 0);
    let wal = std::fs::metadata(directory.path().join("everturn.db-wal")).unwrap().len();
    let file = std::fs::metadata(directory.path().join("everturn.db")).unwrap().len();
    assert_eq!(wal, 0);
    let plain: usize = author.log.iter().map(|entry| entry.body.len()).sum();
    assert!(file < u64::try_from(plain).unwrap() / 2, "{file} bytes for {plain} of entries");
}

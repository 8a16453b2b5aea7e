//! The file of words beside the logs: whatever becomes of it, search finds what the logs say, or says that it cannot.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use session::{Command, Message, UserId};
use store::conformance::Author;
use store::postgres::PostgresStore;
use store::sqlite::SqliteStore;
use store::{AppendError, Catalog, Hit, LogStore};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::session_id;

/// A store with two sessions, each with a message and an answer, settled and closed; and the author of the second.
async fn made(directory: &Path) -> (Vec<Hit>, Author) {
    let store = SqliteStore::open(settings(directory)).unwrap();
    let mut first = Author::create(&store, session_id(1)).await;
    first.turn(&store, "the heron waits", "a heron answers").await;
    let mut second = Author::create(&store, session_id(2)).await;
    second.turn(&store, "the heron waits", "a heron answers").await;
    store.settle().await.unwrap();
    let hits = found(&store, "heron").await;
    assert_eq!(hits.len(), 4, "two messages and two answers");
    (hits, second)
}

/// A name, and what is done to the file of words.
type Loss<'a> = (&'a str, &'a dyn Fn(&Path));

async fn found(store: &SqliteStore, words: &str) -> Vec<Hit> {
    store.search(store::SearchQuery::new(UserId::FIRST, words, 100)).await.unwrap()
}

#[tokio::test]
async fn words_that_are_missing_damaged_or_older_are_made_anew() {
    let words = |directory: &Path| directory.join("search.db");
    let change = |directory: &Path, sql: &str| {
        Connection::open(words(directory)).unwrap().execute_batch(sql).unwrap();
    };
    let losses: [Loss<'_>; 6] = [
        ("missing", &|directory| fs::remove_file(words(directory)).unwrap()),
        ("empty", &|directory| fs::write(words(directory), b"").unwrap()),
        ("not a database", &|directory| fs::write(words(directory), b"once upon a time").unwrap()),
        ("cut off", &|directory| {
            fs::File::options().write(true).open(words(directory)).unwrap().set_len(8_192).unwrap();
        }),
        ("of another store", &|directory| {
            change(directory, "UPDATE written SET generation = randomblob(16)")
        }),
        ("older than the logs rely on", &|directory| {
            change(directory, "DELETE FROM documents; UPDATE written SET commits = 0");
        }),
    ];
    for (name, lose) in losses {
        let directory = TempDir::new().unwrap();
        let (hits, _) = made(directory.path()).await;
        lose(directory.path());
        let store = SqliteStore::open(settings(directory.path())).unwrap();
        assert_eq!(found(&store, "heron").await, hits, "{name}");
        // And it goes on from there.
        let mut author = Author::create(&store, session_id(3)).await;
        author.turn(&store, "a bittern", "booms").await;
        store.settle().await.unwrap();
        assert_eq!(found(&store, "bittern").await.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn an_index_that_a_search_finds_damaged_is_rebuilt() {
    let directory = TempDir::new().unwrap();
    let (hits, _) = made(directory.path()).await;
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_eq!(found(&store, "heron").await, hits);
    let words = Connection::open(directory.path().join("search.db")).unwrap();
    words.execute_batch("UPDATE fulltext_data SET block = x'ff' WHERE id > 10").unwrap();
    drop(words);
    let query = || store::SearchQuery::new(UserId::FIRST, "heron", 100);
    store.search(query()).await.expect_err("the index is damaged");
    let rebuilt = loop {
        match store.search(query()).await {
            Ok(rebuilt) => break rebuilt,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(rebuilt, hits);
    assert!(!store.health().search_off);
}

#[tokio::test]
async fn words_of_entries_that_the_log_lost_are_not_found() {
    let directory = TempDir::new().unwrap();
    let (hits, mut author) = made(directory.path()).await;
    let before = TempDir::new().unwrap();
    for file in ["everturn.db", "lock"] {
        fs::copy(directory.path().join(file), before.path().join(file)).unwrap();
    }
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.turn(&store, "a heron that will be lost", "lost").await;
    store.settle().await.unwrap();
    assert_eq!(found(&store, "heron").await.len(), hits.len() + 1);
    drop(store);
    // The logs as they were before, with the words of after.
    fs::copy(directory.path().join("search.db"), before.path().join("search.db")).unwrap();
    let store = SqliteStore::open(settings(before.path())).unwrap();
    assert_eq!(found(&store, "heron").await, hits);
    assert_eq!(found(&store, "lost").await, []);
}

#[tokio::test]
async fn without_words_search_says_so_and_erasing_owes_them() {
    let directory = TempDir::new().unwrap();
    let (_, author) = made(directory.path()).await;
    let words = directory.path().join("search.db");
    let kept = directory.path().join("kept");
    fs::rename(&words, &kept).unwrap();
    // Nothing can be written there, and it cannot be removed as a file.
    fs::create_dir(&words).unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    store
        .search(store::SearchQuery::new(UserId::FIRST, "heron", 100))
        .await
        .expect_err("search that is off finds nothing, and says why");
    let erased = store.erase(author.claim).await;
    assert!(matches!(erased, Err(AppendError::Unknown { .. })), "{erased:?}");
    drop(store);
    fs::remove_dir(&words).unwrap();
    fs::rename(&kept, &words).unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    store.settle().await.unwrap();
    let left = found(&store, "heron").await;
    assert_eq!(left.len(), 2, "those of the session that stayed");
    assert!(left.iter().all(|hit| hit.session == session_id(1)));
}

#[tokio::test]
async fn search_that_failed_works_again_without_a_restart() {
    let directory = TempDir::new().unwrap();
    let (hits, mut author) = made(directory.path()).await;
    let words = directory.path().join("search.db");
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_eq!(found(&store, "heron").await, hits);
    // The disk fails while words are stored, and for a while after it.
    fault::fail_next("search.before_commit");
    author.turn(&store, "an egret", "one egret").await;
    store.settle().await.unwrap();
    let heron = || store::SearchQuery::new(UserId::FIRST, "heron", 100);
    store.search(heron()).await.expect_err("search that is off finds nothing, and says why");
    assert!(!words.exists());
    fs::create_dir(&words).unwrap();
    author.turn(&store, "a bittern", "one bittern").await;
    fs::remove_dir(&words).unwrap();
    let works = async {
        while store.search(heron()).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), works).await.unwrap();
    assert_eq!(found(&store, "heron").await, hits);
    assert_eq!(found(&store, "egret").await.len(), 2);
    assert_eq!(found(&store, "bittern").await.len(), 2);
    author.turn(&store, "a crane", "one crane").await;
    store.settle().await.unwrap();
    assert_eq!(found(&store, "crane").await.len(), 2);
    drop(store);
    // The next start keeps the rebuilt index.
    let inode = fs::metadata(&words).map(|words| std::os::unix::fs::MetadataExt::ino(&words)).unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_eq!(found(&store, "crane").await.len(), 2);
    assert_eq!(fs::metadata(&words).map(|words| std::os::unix::fs::MetadataExt::ino(&words)).unwrap(), inode);
}

#[tokio::test]
async fn the_earlier_form_of_a_text_is_found_again_when_the_later_was_lost() {
    let directory = TempDir::new().unwrap();
    let (_, mut author) = made(directory.path()).await;
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.post(&store, "a run that goes on").await;
    let turn = author.post(&store, "an egret waits").await;
    store.settle().await.unwrap();
    drop(store);
    let before = TempDir::new().unwrap();
    for file in ["everturn.db", "lock"] {
        fs::copy(directory.path().join(file), before.path().join(file)).unwrap();
    }
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    author.ask(&store, Command::EditQueued { turn, message: Message::text("a grebe dives") }).await;
    store.settle().await.unwrap();
    assert_eq!((found(&store, "egret").await.len(), found(&store, "grebe").await.len()), (0, 1));
    drop(store);
    fs::copy(directory.path().join("search.db"), before.path().join("search.db")).unwrap();
    let store = SqliteStore::open(settings(before.path())).unwrap();
    assert_eq!((found(&store, "egret").await.len(), found(&store, "grebe").await.len()), (1, 0));
}

#[tokio::test]
async fn a_rebuilt_index_keeps_the_order_of_hits() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut late = Author::create(&store, session_id(1)).await;
    let mut early = Author::create(&store, session_id(2)).await;
    late.now = late.now.plus_micros(60_000_000);
    late.turn(&store, "the heron waits", "a heron answers").await;
    early.turn(&store, "the heron waits", "a heron answers").await;
    early.post(&store, "a run that goes on").await;
    let removed = early.post(&store, "a heron that is removed").await;
    let edited = early.post(&store, "a crane that becomes a heron").await;
    early.ask(&store, Command::RemoveQueued { turn: removed }).await;
    early.ask(&store, Command::EditQueued { turn: edited, message: Message::text("a late heron") }).await;
    let branch = late.branch(&store, session_id(3), late.end().seq).await;
    late.ask(&store, Command::Undo { from: None }).await;
    store.settle().await.unwrap();
    let hits = found(&store, "heron").await;
    let sessions: Vec<_> = hits.iter().map(|hit| hit.session).collect();
    assert_eq!(sessions, [branch.id(), branch.id(), early.id(), early.id(), early.id()]);
    drop(store);
    fs::remove_file(directory.path().join("search.db")).unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_eq!(found(&store, "heron").await, hits);
    assert_eq!(found(&store, "crane").await, []);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test runner passes the server in the environment")]
async fn words_of_another_form_are_made_anew_on_postgres() {
    let url = std::env::var("TEST_POSTGRES").expect("run it with `just test`");
    let schema = format!("s{}", uuid::Uuid::now_v7().simple());
    let settings = store::postgres::Settings { url: url.clone(), schema: schema.clone() };
    let store = PostgresStore::open(&settings).await.unwrap();
    let mut late = Author::create(&store, session_id(1)).await;
    late.now = late.now.plus_micros(60_000_000);
    late.turn(&store, "the heron waits", "a heron answers").await;
    let mut early = Author::create(&store, session_id(2)).await;
    early.turn(&store, "the heron waits", "a heron answers").await;
    let branch = late.branch(&store, session_id(3), late.end().seq).await;
    late.ask(&store, Command::Undo { from: None }).await;
    let query = store::SearchQuery::new(UserId::FIRST, "heron", 100);
    let hits = store.search(query.clone()).await.unwrap();
    assert_eq!((hits.len(), hits[0].session), (4, branch.id()));
    let erased = Author::create(&store, session_id(4)).await;
    store.erase(erased.claim).await.unwrap();
    drop(store);
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = format!(
        "UPDATE {schema}.logs SET words_form = 0; UPDATE {schema}.documents SET text = '', words = ''"
    );
    client.batch_execute(&sql).await.unwrap();
    let store = PostgresStore::open(&settings).await.unwrap();
    assert_eq!(store.search(query).await.unwrap(), hits);
}

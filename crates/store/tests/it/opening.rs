//! Which directories a store opens, and what it leaves alone.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use session::{Time, UserId};
use store::catalog::{ListQuery, Shelf};
use store::conformance::Author;
use store::directory::{DataDirectory, LogsAt};
use store::people::{By, People, Role};
use store::postgres::PostgresStore;
use store::sqlite::{self, OpenStoreError, SqliteStore};
use store::{Catalog as _, Claiming, LogStore, Snapshot};
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
        "DROP TABLE pending_blobs; DROP INDEX list_undelivered; ALTER TABLE list DROP COLUMN undelivered; DROP INDEX list_live; DROP INDEX list_needing; DROP INDEX list_pinned; ALTER TABLE list DROP COLUMN needs;
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

/// Every file in a directory with its bytes, except the shared memory of SQLite.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
        .filter(|(name, _)| !name.ends_with("-shm"))
        .collect()
}

fn enter(directory: &Path) -> Result<DataDirectory, OpenStoreError> {
    DataDirectory::enter(directory, LogsAt::Here)
}

const NOW: Time = Time(1_700_000_000_000_000);

#[tokio::test]
async fn entering_refuses_a_newer_store_and_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    Author::create(&store, session_id(1)).await;
    // Beside the process that uses it, nothing is checked again.
    assert!(DataDirectory::enter_shared(directory.path(), LogsAt::Here).unwrap().is_shared());
    drop(store);
    let file = directory.path().join("everturn.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = files(directory.path());
    let refused = enter(directory.path()).expect_err("the store must be refused").to_string();
    assert!(refused.contains("99") && refused.contains("nothing was changed"), "{refused}");
    assert!(files(directory.path()) == before, "a file was changed");
}

#[test]
fn a_file_that_is_not_of_people_is_refused_and_left_as_it_is() {
    for marks in ["", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let directory = TempDir::new().unwrap();
        let foreign = Connection::open(directory.path().join("people.db")).unwrap();
        foreign.execute_batch(&format!("CREATE TABLE birds (name TEXT); {marks}")).unwrap();
        drop(foreign);
        drop(enter(directory.path()));
        let before = files(directory.path());
        let refused = enter(directory.path()).expect_err("the file must be refused").to_string();
        assert!(refused.contains("not an Everturn user database"), "{marks}: {refused}");
        assert!(files(directory.path()) == before, "{marks}: a file was changed");
    }
}

#[test]
fn newer_people_are_refused_and_left_as_they_are() {
    let directory = TempDir::new().unwrap();
    drop(People::open(&enter(directory.path()).unwrap(), NOW).unwrap());
    let file = directory.path().join("people.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = files(directory.path());
    let refused = enter(directory.path()).expect_err("the file must be refused").to_string();
    assert!(refused.contains("99") && refused.contains("nothing was changed"), "{refused}");
    assert!(files(directory.path()) == before, "a file was changed");
}

/// A directory with a store and users, copied while both are open, as a crash leaves it.
async fn crashed(to: &Path) {
    let directory = TempDir::new().unwrap();
    let entered = enter(directory.path()).unwrap();
    let people = People::open(&entered, NOW).unwrap();
    let by = By { user: None, now: NOW, id: uuid::Uuid::from_u128(1) };
    people.add_user(by, "ann", Role::Member, None).unwrap();
    let store = SqliteStore::open_in(entered, settings(directory.path())).unwrap();
    // The store indexes and merges its log meanwhile; a copy counts if it fell between two commits.
    let mut copy = BTreeMap::new();
    for no in 1..1_000 {
        Author::create(&store, session_id(no)).await;
        copy = files(directory.path());
        if is_recorded(&copy) {
            break;
        }
    }
    assert!(is_recorded(&copy), "no copy fell between two commits");
    for (name, bytes) in copy {
        fs::write(to.join(name), bytes).unwrap();
    }
}

/// Whether the lock file records every frame of both write-ahead logs.
fn is_recorded(files: &BTreeMap<String, Vec<u8>>) -> bool {
    ["everturn.db", "people.db"].into_iter().enumerate().all(|(at, database)| {
        let frames = ends_of_commits(&files[&format!("{database}-wal")]).last().map(|end| end / FRAME_BYTES);
        let recorded = &files["lock"][16 + at * 24..][8..16];
        frames.is_some_and(|frames| recorded == (frames as u64).to_be_bytes())
    })
}

const FRAME_BYTES: usize = 24 + 4_096;

/// Where each transaction of a write-ahead log ends.
fn ends_of_commits(log: &[u8]) -> Vec<usize> {
    let frames = log.get(32..).unwrap_or_default().chunks_exact(FRAME_BYTES).enumerate();
    frames.filter(|(_, frame)| frame[4..8] != [0; 4]).map(|(at, _)| 32 + (at + 1) * FRAME_BYTES).collect()
}

/// Why a directory is refused; also a second time, after whatever the first look did.
fn refused_twice(directory: &Path) -> String {
    let before = files(directory);
    let first = enter(directory).expect_err("the directory must be refused").to_string();
    let second = enter(directory).expect_err("the directory must be refused again").to_string();
    assert_eq!(first, second);
    assert!(files(directory) == before, "a file was changed");
    first
}

#[tokio::test]
async fn a_lost_or_emptied_write_ahead_log_is_refused() {
    for database in ["everturn.db", "people.db"] {
        let directory = TempDir::new().unwrap();
        crashed(directory.path()).await;
        let log = directory.path().join(format!("{database}-wal"));
        assert!(fs::metadata(&log).unwrap().len() > 0, "{database} has a log");
        fs::write(&log, b"").unwrap();
        let refused = refused_twice(directory.path());
        assert!(refused.contains(", is empty;") && refused.contains("everturn repair"), "{refused}");
        fs::remove_file(&log).unwrap();
        let refused = refused_twice(directory.path());
        assert!(refused.contains(", is missing;") && refused.contains("everturn repair"), "{refused}");
    }
}

#[tokio::test]
async fn a_write_ahead_log_without_its_last_transactions_is_refused() {
    for database in ["everturn.db", "people.db"] {
        let directory = TempDir::new().unwrap();
        crashed(directory.path()).await;
        let log = directory.path().join(format!("{database}-wal"));
        let whole = fs::read(&log).unwrap();
        let commits = ends_of_commits(&whole);
        let (last, earlier) = commits.split_last().expect("a commit");
        assert_eq!(*last, whole.len());
        for end in earlier.iter().chain([&32]) {
            fs::write(&log, &whole[..*end]).unwrap();
            let refused = refused_twice(directory.path());
            assert!(refused.contains(", is cut short;") && refused.contains("everturn repair"), "{refused}");
        }
        fs::write(&log, &whole).unwrap();
        drop(enter(directory.path()).unwrap());
    }
}

#[tokio::test]
async fn a_database_without_its_last_pages_is_refused() {
    let close = |directory: &Path| {
        let entered = enter(directory).unwrap();
        let people = People::open(&entered, NOW).unwrap();
        drop(SqliteStore::open_in(entered, settings(directory)).unwrap());
        people.close().unwrap();
    };
    for closed in [false, true] {
        for database in ["everturn.db", "people.db"] {
            let directory = TempDir::new().unwrap();
            crashed(directory.path()).await;
            if closed {
                close(directory.path());
            }
            let file = directory.path().join(database);
            let whole = fs::read(&file).unwrap();
            for missing in [1, 4_096, 3 * 4_096] {
                fs::write(&file, &whole[..whole.len() - missing]).unwrap();
                let refused = refused_twice(directory.path());
                assert!(refused.contains("is cut short: pages"), "closed {closed}: {refused}");
            }
            fs::write(&file, &whole).unwrap();
            drop(enter(directory.path()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_lost_database_is_refused() {
    for database in ["everturn.db", "people.db"] {
        let directory = TempDir::new().unwrap();
        crashed(directory.path()).await;
        let file = directory.path().join(database);
        fs::write(&file, b"").unwrap();
        assert!(refused_twice(directory.path()).contains("missing or empty"));
        fs::remove_file(&file).unwrap();
        assert!(refused_twice(directory.path()).contains("missing or empty"));
    }
}

#[tokio::test]
async fn people_without_tables_are_refused_in_a_used_directory() {
    let directory = TempDir::new().unwrap();
    drop(SqliteStore::open(settings(directory.path())).unwrap());
    // A copy of the file without its log, as earlier versions left it.
    let file = directory.path().join("people.db");
    Connection::open(&file).unwrap().pragma_update(None, "journal_mode", "WAL").unwrap();
    let refused = refused_twice(directory.path());
    assert!(refused.contains("users, tokens and secrets are missing"), "{refused}");
    fs::remove_file(&file).unwrap();
    let entered = enter(directory.path()).unwrap();
    let refused = People::open(&entered, NOW).expect_err("the users must be missed").to_string();
    assert!(refused.contains("users, tokens and secrets are missing"), "{refused}");
    assert!(!file.exists());
    drop(entered);
    // A version that kept tokens in a file of text had no users.
    fs::write(directory.path().join("tokens.toml"), "").unwrap();
    assert_eq!(People::open(&enter(directory.path()).unwrap(), NOW).unwrap().users().unwrap().len(), 1);
}

#[tokio::test]
async fn every_crash_and_every_close_can_be_entered() {
    let directory = TempDir::new().unwrap();
    crashed(directory.path()).await;
    for _ in 0..3 {
        let entered = enter(directory.path()).unwrap();
        let people = People::open(&entered, NOW).unwrap();
        assert_eq!(people.users().unwrap().len(), 2);
        let store = SqliteStore::open_in(entered, settings(directory.path())).unwrap();
        let crash = TempDir::new().unwrap();
        for (name, bytes) in files(directory.path()) {
            fs::write(crash.path().join(name), bytes).unwrap();
        }
        drop(enter(crash.path()).unwrap());
        drop((store, people));
    }
    // A closed database needs no log.
    for log in ["everturn.db-wal", "people.db-wal"] {
        drop(fs::remove_file(directory.path().join(log)));
    }
    let people = People::open(&enter(directory.path()).unwrap(), NOW).unwrap();
    assert_eq!(people.users().unwrap().len(), 2);
}

#[test]
fn changes_of_people_are_in_the_one_file() {
    let directory = TempDir::new().unwrap();
    let people = People::open(&enter(directory.path()).unwrap(), NOW).unwrap();
    let by = By { user: None, now: NOW, id: uuid::Uuid::from_u128(1) };
    people.add_user(by, "ann", Role::Member, None).unwrap();
    let copy = directory.path().join("copy.db");
    fs::copy(directory.path().join("people.db"), &copy).unwrap();
    let count =
        Connection::open(&copy).unwrap().query_row("SELECT count(*) FROM users", [], |row| row.get(0));
    assert_eq!(count, Ok(2));
}

#[test]
fn an_erased_draft_is_in_no_file() {
    let directory = TempDir::new().unwrap();
    let people = People::open(&enter(directory.path()).unwrap(), NOW).unwrap();
    let draft = "herons at the lake ".repeat(20);
    people.put_draft(UserId::FIRST, session_id(1), &draft, None).unwrap();
    let holds = || {
        files(directory.path())
            .values()
            .any(|bytes| bytes.windows(18).any(|part| part == b"herons at the lake"))
    };
    assert!(holds());
    let by = By { user: None, now: NOW, id: uuid::Uuid::from_u128(1) };
    people.note_erased(by, session_id(1), "").unwrap();
    assert!(!holds(), "the draft is still in a file");
}

#[tokio::test]
async fn a_restart_does_not_wait_for_the_heartbeat_of_the_process_before() {
    let directory = TempDir::new().unwrap();
    let now = NOW;
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let author = Author::create(&store, session_id(1)).await;
    store.heartbeat(author.claim.node, now).await.unwrap();
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let claim = store.claim(session_id(1), node(2), Claiming::Existing, now).await.unwrap();
    assert!(claim.epoch > author.claim.epoch);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test runner passes the server in the environment")]
async fn postgres_is_not_migrated_while_another_process_uses_it() {
    let url = std::env::var("TEST_POSTGRES").expect("run it with `just test`");
    let schema = format!("s{}", uuid::Uuid::now_v7().simple());
    let settings = store::postgres::Settings { url: url.clone(), schema: schema.clone() };
    let first = PostgresStore::open(&settings).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let newest = || async {
        let sql = format!("SELECT max(version) FROM {schema}.migrations");
        client.query_one(&sql, &[]).await.unwrap().get::<_, i32>(0)
    };
    let before = newest().await;
    // As if the first process were of an earlier version.
    client.execute(&format!("DELETE FROM {schema}.migrations WHERE version = {before}"), &[]).await.unwrap();
    let refused = PostgresStore::open(&settings).await.expect_err("it must be refused").to_string();
    assert!(refused.contains("another process uses the store"), "{refused}");
    assert_eq!(newest().await, before - 1, "nothing was migrated");
    drop(first);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test runner passes the server in the environment")]
async fn postgres_says_why_it_cannot_be_reached() {
    let url = std::env::var("TEST_POSTGRES").expect("run it with `just test`");
    let url = url.replace("dbname=postgres", "dbname=nowhere");
    let settings = store::postgres::Settings { url, schema: "everturn".to_owned() };
    let refused = PostgresStore::open(&settings).await.expect_err("it must be refused").to_string();
    assert!(refused.contains("database \"nowhere\" does not exist"), "{refused}");
}

#[tokio::test]
async fn snapshots_saved_just_before_the_close_are_stored() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut saved = Vec::new();
    for no in 1..=40 {
        let author = Author::create(&store, session_id(no)).await;
        saved.push((author.id(), Snapshot { at: author.end(), state: author.state.to_bytes() }));
    }
    for (session, snapshot) in &saved {
        store.save_snapshot(*session, snapshot.clone()).await.unwrap();
    }
    store.close().await;
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    for (session, snapshot) in saved {
        assert_eq!(store.open(session).await.unwrap().snapshot, Some(snapshot));
    }
}

#[tokio::test]
async fn damage_outside_of_logs_is_found_and_reported() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    for no in 1..=200 {
        Author::create(&store, session_id(no)).await;
    }
    store.settle().await.unwrap();
    store.close().await;
    drop(store);
    let file = directory.path().join("everturn.db");
    let connection = Connection::open(&file).unwrap();
    let root: u64 = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'list'", [], |row| row.get(0))
        .unwrap();
    drop(connection);
    let mut bytes = fs::read(&file).unwrap();
    let page = usize::try_from((root - 1) * 4_096).unwrap();
    bytes[page + 3..page + 8].copy_from_slice(&[0xff, 0, 0xee, 0x11, 0x22]);
    fs::write(&file, bytes).unwrap();
    let found = sqlite::look(&enter(directory.path()).unwrap()).expect_err("doctor must tell").to_string();
    assert!(found.contains("everturn.db"), "{found}");
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_eq!(store.health().malformed, None);
    store.list(ListQuery::of(UserId::FIRST, Shelf::Active)).await.expect_err("the list can't be read");
    let found = async {
        while store.health().malformed.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("the damage is found");
}

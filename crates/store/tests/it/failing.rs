//! A full disk, a store that cannot write, and damage: what still works, and that nothing is made up.

#![expect(clippy::unwrap_used, reason = "test code")]

use rusqlite::Connection;
use session::{Command, Progress, Seq, SessionId, Time};
use store::blob::Blobs;
use store::conformance::Author;
use store::sqlite::{Settings, SqliteStore};
use store::{AppendError, Catalog, ClaimError, Claiming, LogStore, ReadError, StoreError, Urgency};
use tempfile::TempDir;

use crate::fresh::settings;
use crate::{node, session_id};

const NOW: Time = Time(1_800_000_000_000_000);

fn stop() -> Command {
    Command::Stop { run: None, device: None }
}

fn rename() -> Command {
    Command::Rename { title: "Herons".to_owned() }
}

/// Changes the file beside the store.
fn meddle(directory: &TempDir, sql: &str) {
    Connection::open(directory.path().join("everturn.db")).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn at_the_reserve_only_what_is_essential_is_written() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    author.post(&store, "question").await;
    drop(store);
    let full = Settings { reserve_bytes: u64::MAX, ..settings(directory.path()) };
    let store = SqliteStore::open(full).unwrap();
    assert_eq!(author.refused(&store, rename()).await, AppendError::Full);
    author.assert_read(&store).await;
    assert!(store.put_blob(b"no room".to_vec(), Time(1)).await.is_err());
    // One that is refused does not keep the other back.
    let mut end = author.append(author.decide(stop()).unwrap().events);
    end.urgency = Urgency::Essential;
    let normal = author.append(author.decide(rename()).unwrap().events);
    assert_eq!(store.append(vec![normal, end.clone()]).await, [Err(AppendError::Full), Ok(())]);
    author.accept(&end);
    store.settle().await.unwrap();
    author.assert_read(&store).await;
    let claim = store.claim(session_id(1), node(2), Claiming::Existing, NOW).await.unwrap();
    store.erase(claim).await.unwrap();
}

#[tokio::test]
async fn a_store_that_cannot_write_is_dead_until_it_is_revived() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut author = Author::create(&store, session_id(1)).await;
    author.turn(&store, "question", "answer").await;
    meddle(&directory, "ALTER TABLE list RENAME TO away");
    let post = author.append(author.decide(Command::Retry).unwrap().events);
    let Err(AppendError::Store(StoreError::Dead(dead))) = store.append(vec![post.clone()]).await.remove(0)
    else {
        panic!("the append must fail")
    };
    let dead = StoreError::Dead(dead);
    // The reason stays, also for what would have worked by itself.
    assert_eq!(author.refused(&store, rename()).await, AppendError::Store(dead.clone()));
    let claim = store.claim(session_id(1), node(1), Claiming::Existing, NOW).await;
    assert_eq!(claim, Err(ClaimError::Store(dead.clone())));
    assert_eq!(store.heartbeat(node(1), NOW).await, Err(dead.clone()));
    assert_eq!(store.settle().await, Err(dead.clone()));
    assert_eq!(store.erase(author.claim).await, Err(AppendError::Store(dead.clone())));
    author.assert_read(&store).await;
    // What still cannot be written kills it again.
    store.revive().await.unwrap();
    assert_eq!(store.append(vec![post.clone()]).await, [Err(AppendError::Store(dead.clone()))]);
    assert_eq!(store.settle().await, Err(dead));
    author.assert_read(&store).await;

    meddle(&directory, "ALTER TABLE away RENAME TO list");
    store.revive().await.unwrap();
    store.revive().await.unwrap();
    assert_eq!(store.append(vec![post.clone()]).await, [Ok(())]);
    author.accept(&post);
    store.settle().await.unwrap();
    author.assert_read(&store).await;
}

#[tokio::test]
async fn a_revival_that_fails_halfway_starts_over() {
    if !fault::INJECTED {
        return;
    }
    for point in ["reader.connect", "revive.after_open"] {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(settings(directory.path())).unwrap();
        let mut author = Author::create(&store, session_id(1)).await;
        meddle(&directory, "ALTER TABLE list RENAME TO away");
        author.refused(&store, rename()).await;
        meddle(&directory, "ALTER TABLE away RENAME TO list");
        fault::fail_next(point);
        store.revive().await.unwrap_err();
        assert!(store.heartbeat(node(1), NOW).await.is_err(), "{point}");
        assert!(store.health().dead.is_some(), "{point}");
        store.revive().await.unwrap();
        assert_eq!(store.health().dead, None, "{point}");
        author.turn(&store, "question", "answer").await;
        author.assert_read(&store).await;
    }
}

/// That session 1 is intact up to entry `intact` and no further, and session 2 as if nothing had happened.
async fn assert_contained(store: &SqliteStore, damaged: &Author, intact: Seq, sound: &mut Author) {
    let count = usize::try_from(intact.0).unwrap();
    if count > 0 {
        assert_eq!(store.read(session_id(1), Seq(0), 100).await.unwrap(), damaged.log[..count]);
    }
    let further = store.read(session_id(1), intact, 100).await;
    assert!(matches!(further, Err(ReadError::Damaged { intact: at, .. }) if at == intact), "{further:?}");
    store.settle().await.unwrap();
    let branch = Claiming::Branch { from: session_id(1), at: damaged.end().seq };
    let refused = store.claim(session_id(1), node(1), Claiming::Existing, NOW).await;
    assert!(matches!(refused, Err(ClaimError::Damaged { .. })), "{refused:?}");
    let refused = store.claim(session_id(9), node(1), branch, NOW).await;
    assert!(matches!(refused, Err(ClaimError::Store(StoreError::Failed { .. }))), "{refused:?}");
    assert_eq!(store.health().damaged, 1);
    sound.turn(store, "question", "answer").await;
    store.settle().await.unwrap();
    sound.assert_read(store).await;
}

#[tokio::test]
async fn a_changed_entry_stops_its_session_alone() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut damaged = Author::create(&store, session_id(1)).await;
    let mut sound = Author::create(&store, session_id(2)).await;
    // A run that goes on stays in the tail.
    damaged.post(&store, "question").await;
    damaged.progress(&store, Progress::Text("answer".to_owned())).await;
    meddle(&directory, "UPDATE tail SET body = replace(body, 'answer', 'ANSWER') WHERE no = 1");
    assert_contained(&store, &damaged, Seq(3), &mut sound).await;
    drop(store);
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    assert_contained(&store, &damaged, Seq(3), &mut sound).await;
}

#[tokio::test]
async fn a_changed_pack_is_noticed_and_stops_its_session_alone() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    let mut damaged = Author::create(&store, session_id(1)).await;
    let mut sound = Author::create(&store, session_id(2)).await;
    damaged.turn(&store, "question", "answer").await;
    store.settle().await.unwrap();
    meddle(&directory, "UPDATE packs SET body = x'00' WHERE no = 1");
    for _ in 0..2 {
        let read = store.read(session_id(1), Seq(0), 100).await;
        assert!(matches!(read, Err(ReadError::Damaged { intact: Seq(0), .. })), "{read:?}");
        assert_eq!(store.health().damaged, 1);
        let branch = Claiming::Branch { from: session_id(1), at: damaged.end().seq };
        let refused = store.claim(session_id(9), node(1), branch, NOW).await;
        assert!(matches!(refused, Err(ClaimError::Store(StoreError::Failed { .. }))), "{refused:?}");
        sound.turn(&store, "question", "answer").await;
        store.settle().await.unwrap();
        sound.assert_read(&store).await;
    }
}

/// Waits until the turn of a session is in the index.
async fn indexed(store: &SqliteStore, session: SessionId) {
    while store.turns(session, None, 10).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_transient_error_of_the_projector_damages_nothing() {
    // Only the whole workspace is built with points that fail.
    if !fault::INJECTED {
        return;
    }
    for point in ["project.connect", "project.read"] {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(settings(directory.path())).unwrap();
        fault::fail_next(point);
        if point == "project.connect" {
            // The projector reopens its connection after an error.
            fault::panic_next("project.read");
        }
        let mut author = Author::create(&store, session_id(1)).await;
        author.turn(&store, "question", "answer").await;
        indexed(&store, session_id(1)).await;
        assert_eq!(store.health().damaged, 0, "{point}");
        store.claim(session_id(1), node(2), Claiming::Existing, NOW).await.unwrap();
    }
}

#[tokio::test]
async fn a_panic_of_the_projector_stops_no_session() {
    if !fault::INJECTED {
        return;
    }
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(settings(directory.path())).unwrap();
    fault::panic_next("project.read");
    let mut one = Author::create(&store, session_id(1)).await;
    one.turn(&store, "question", "answer").await;
    let mut two = Author::create(&store, session_id(2)).await;
    two.turn(&store, "question", "answer").await;
    indexed(&store, session_id(1)).await;
    indexed(&store, session_id(2)).await;
    assert_eq!(store.health().damaged, 0);
}

#[tokio::test]
async fn a_panic_while_words_are_erased_stops_no_session() {
    if !fault::INJECTED {
        return;
    }
    for point in ["forget.before_commit", "forget.after_commit", "scrub.before_commit"] {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(settings(directory.path())).unwrap();
        let mut one = Author::create(&store, session_id(1)).await;
        one.turn(&store, "question", "answer").await;
        indexed(&store, session_id(1)).await;
        fault::panic_next(point);
        let claim = store.claim(session_id(1), node(1), Claiming::Existing, NOW).await.unwrap();
        store.erase(claim).await.unwrap();
        let mut two = Author::create(&store, session_id(2)).await;
        two.turn(&store, "question", "answer").await;
        indexed(&store, session_id(2)).await;
        assert_eq!(store.health().damaged, 0, "{point}");
    }
}

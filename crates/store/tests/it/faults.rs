//! The switches of the reference store do what they say.

use session::{Command, Seq, Time};
use store::conformance::Author;
use store::memory::MemoryStore;
use store::{AppendError, Catalog, Claiming, Dead, LogStore, ReadError, StoreError, Urgency};

use crate::{node, session_id};

fn rename() -> Command {
    Command::Rename { title: "Herons".to_owned() }
}

fn is_dead<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Dead(Dead { .. })))
}

#[tokio::test]
async fn nothing_is_written_in_an_outage_and_everything_after_it() {
    let store = MemoryStore::new();
    let mut author = Author::create(&store, session_id(1)).await;
    store.faults().begin_outage();
    let refused = author.refused(&store, rename()).await;
    assert!(matches!(refused, AppendError::Store(StoreError::Dead(_))), "{refused}");
    assert!(is_dead(&store.heartbeat(node(1), Time(0)).await));
    assert!(is_dead(&store.revive().await));
    assert!(is_dead(&store.settle().await));
    assert!(store.claim(session_id(2), node(1), Claiming::New, Time(0)).await.is_err());
    author.assert_read(&store).await;
    store.faults().end_outage();
    author.turn(&store, "question", "answer").await;
    author.assert_read(&store).await;
}

#[tokio::test]
async fn a_full_disk_takes_what_is_essential() {
    let store = MemoryStore::new();
    let mut author = Author::create(&store, session_id(1)).await;
    store.faults().fill_disk();
    assert_eq!(author.refused(&store, rename()).await, AppendError::Full);
    let mut essential = author.append(author.decide(rename()).unwrap().events);
    essential.urgency = Urgency::Essential;
    assert_eq!(store.append(vec![essential.clone()]).await, [Ok(())]);
    author.accept(&essential);
    store.faults().free_disk();
    author.turn(&store, "question", "answer").await;
    author.assert_read(&store).await;
}

#[tokio::test]
async fn an_unknown_outcome_is_either_durable_or_not() {
    let store = MemoryStore::new();
    let mut author = Author::create(&store, session_id(1)).await;
    store.faults().drop_next_append();
    let append = author.append(author.decide(rename()).unwrap().events);
    let unknown = |results: &[Result<(), AppendError>]| matches!(results, [Err(AppendError::Unknown { .. })]);
    assert!(unknown(&store.append(vec![append.clone()]).await));
    author.assert_read(&store).await;
    store.faults().lose_next_answer();
    assert!(unknown(&store.append(vec![append.clone()]).await));
    author.accept(&append);
    author.assert_read(&store).await;
    author.turn(&store, "question", "answer").await;
}

#[tokio::test]
async fn a_failed_sync_is_unknown_and_the_store_dead_until_it_is_revived() {
    let store = MemoryStore::new();
    let mut author = Author::create(&store, session_id(1)).await;
    store.faults().fail_next_sync();
    let refused = author.refused(&store, rename()).await;
    assert!(matches!(refused, AppendError::Unknown { .. }), "{refused}");
    let refused = author.refused(&store, rename()).await;
    assert!(matches!(refused, AppendError::Store(StoreError::Dead(_))), "{refused}");
    author.assert_read(&store).await;
    store.revive().await.unwrap();
    author.turn(&store, "question", "answer").await;
    author.assert_read(&store).await;
}

#[tokio::test]
async fn a_damaged_log_is_read_up_to_the_damage() {
    let store = MemoryStore::new();
    let mut author = Author::create(&store, session_id(1)).await;
    author.turn(&store, "question", "answer").await;
    store.faults().damage(session_id(1), Seq(3));
    assert_eq!(store.read(session_id(1), Seq(0), 100).await.unwrap(), author.log[..3]);
    let further = store.read(session_id(1), Seq(3), 100).await;
    assert!(matches!(further, Err(ReadError::Damaged { intact: Seq(3), .. })), "{further:?}");
}

//! What is kept besides the entries: snapshots, open runs, waiting messages and blobs.

use session::{BlobHash, Journal, Progress, RunId, SlotNo, Time, UserId};

use super::Fresh;
use super::author::{Author, id};
use crate::catalog::SearchQuery;
use crate::{OpenRun, Snapshot, Store};

fn snapshot(author: &Author) -> Snapshot {
    Snapshot { at: author.end(), state: author.state.to_bytes() }
}

async fn saved(store: &dyn Store) -> Option<Snapshot> {
    store.settle().await.unwrap();
    store.open(id(1)).await.unwrap().snapshot
}

pub async fn the_newest_snapshot_is_kept(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    assert_eq!(saved(&*store).await, None);
    for _ in 0..3 {
        author.turn(&*store, "question", "answer").await;
        store.save_snapshot(id(1), snapshot(&author)).await.unwrap();
        assert_eq!(saved(&*store).await, Some(snapshot(&author)));
        store = fresh.reopen(store);
        assert_eq!(saved(&*store).await, Some(snapshot(&author)));
    }
}

pub async fn an_older_snapshot_never_replaces_a_newer_one(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let oldest = snapshot(&author);
    author.turn(&*store, "question", "answer").await;
    let older = snapshot(&author);
    author.turn(&*store, "question", "answer").await;
    let newest = snapshot(&author);
    // At once, so that neither waits for the other to be written.
    let (first, second) = futures_util::future::join(
        store.save_snapshot(id(1), newest.clone()),
        store.save_snapshot(id(1), older),
    )
    .await;
    assert_eq!((first, second), (Ok(()), Ok(())));
    assert_eq!(saved(&*store).await, Some(newest.clone()));
    store.save_snapshot(id(1), oldest).await.unwrap();
    assert_eq!(saved(&*store).await, Some(newest));
}

pub async fn open_runs_are_those_without_an_end(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    assert_eq!(store.open_runs().await, Ok(Vec::new()));
    two.post(&*store, "question").await;
    one.post(&*store, "question").await;
    let open = |author: &Author| OpenRun {
        session: author.id(),
        run: author.state.open_run.unwrap(),
        spool: Some(SlotNo(3)),
    };
    assert_eq!(store.open_runs().await, Ok(vec![open(&one), open(&two)]));
    one.answer(&*store, "done").await;
    assert_eq!(store.open_runs().await, Ok(vec![open(&two)]));
    two.ask(&*store, session::Command::Stop { run: None, device: None }).await;
    assert_eq!(store.open_runs().await, Ok(Vec::new()));
}

pub async fn a_run_that_is_being_recovered_stays_open(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "question").await;
    let run = author.state.open_run.unwrap();
    let recovered = author.recover(Journal::NotYet);
    author.write(&*store, recovered.events).await;
    assert_eq!(author.state.open_run, None);
    for _ in 0..2 {
        let open = OpenRun { session: id(1), run, spool: Some(SlotNo(3)) };
        assert_eq!(store.open_runs().await, Ok(vec![open]));
        store.settle().await.unwrap();
        store = fresh.reopen(store);
    }
    let events = vec![session::Event::TextAdded { run, text: "found again".to_owned() }];
    let heal = session::Command::Heal { run, journal: Journal::Output { events, end: None } };
    author.ask(&*store, heal).await;
    assert_eq!(store.open_runs().await, Ok(Vec::new()));
    store.settle().await.unwrap();
    let found = store.search(SearchQuery::new(UserId::FIRST, "found again", 10)).await.unwrap();
    assert_eq!(found.len(), 1);
}

pub async fn open_runs_survive_packing_and_a_cold_start(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "question").await;
    author.progress(&*store, Progress::Text("half".to_owned())).await;
    let open = vec![OpenRun { session: id(1), run: RunId(3), spool: Some(SlotNo(3)) }];
    store.settle().await.unwrap();
    assert_eq!(store.open_runs().await, Ok(open.clone()));
    let store = fresh.reopen(store);
    assert_eq!(store.open_runs().await, Ok(open));
    author.progress(&*store, Progress::Completed).await;
    let store = fresh.reopen(store);
    assert_eq!(store.open_runs().await, Ok(Vec::new()));
}

pub async fn sessions_with_waiting_messages_are_known(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut waits = Author::create(&*store, id(1)).await;
    let mut rests = Author::create(&*store, id(2)).await;
    let mut erased = Author::create(&*store, id(3)).await;
    rests.turn(&*store, "question", "answer").await;
    for author in [&mut waits, &mut erased] {
        author.post(&*store, "first").await;
        author.post(&*store, "second").await;
    }
    let branch = waits.branch(&*store, id(4), waits.end().seq).await;
    assert!(branch.state.queue.is_empty());
    store.erase(erased.claim).await.unwrap();
    // What is not indexed yet may be named without need, but nothing that waits is left out.
    assert!(store.waiting().await.unwrap().contains(&id(1)));
    for _ in 0..2 {
        store.settle().await.unwrap();
        assert_eq!(store.waiting().await, Ok(vec![id(1)]));
        store = fresh.reopen(store);
        assert!(store.waiting().await.unwrap().contains(&id(1)));
    }
    waits.answer(&*store, "one").await;
    waits.answer(&*store, "two").await;
    store.settle().await.unwrap();
    assert_eq!(store.waiting().await, Ok(Vec::new()));
}

pub async fn blobs_are_read_back(fresh: &dyn Fresh) {
    let store = fresh.store();
    let large: Vec<u8> = (0..300_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    let mut put = Vec::new();
    for bytes in [Vec::new(), b"text".to_vec(), large] {
        let hash = store.put_blob(bytes.clone(), Time(1)).await.unwrap();
        assert_eq!(hash, crate::blob::hash_of(&bytes));
        assert_eq!(store.put_blob(bytes.clone(), Time(1)).await, Ok(hash.clone()));
        put.push((hash, bytes));
    }
    let store = fresh.reopen(store);
    for (hash, bytes) in put {
        assert_eq!(store.blob(hash).await, Ok(Some(bytes)));
    }
}

pub async fn an_unknown_blob_is_none(fresh: &dyn Fresh) {
    let store = fresh.store();
    for name in [crate::blob::hash_of(b"never put"), BlobHash("../lock".to_owned()), BlobHash(String::new())]
    {
        assert_eq!(store.blob(name).await, Ok(None));
    }
}

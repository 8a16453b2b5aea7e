//! What is gone with an erased session, and what stays for others.

use session::{Command, Epoch, MessageKey, Seq, Time, UserId};

use super::Fresh;
use super::author::{Author, NODE, START, id, post, post_with_file, post_with_key};
use super::lists::list;
use crate::catalog::{SearchQuery, Shelf};
use crate::{AppendError, ClaimError, Claiming, OpenError, ReadError, Snapshot, Store};

/// A session with everything that a store can hold of one, and a second id.
async fn full(store: &dyn Store) -> Author {
    let mut author = Author::create(store, id(1)).await;
    author.ask(store, Command::AddId { id: id(2) }).await;
    author.ask(store, post_with_key("about herons", "k1")).await;
    author.answer(store, "herons nest").await;
    store.save_snapshot(id(1), Snapshot { at: author.end(), state: author.state.to_bytes() }).await.unwrap();
    store.settle().await.unwrap();
    author.post(store, "herons again").await;
    author
}

async fn assert_gone(store: &dyn Store, author: &Author) {
    for gone in [id(1), id(2)] {
        assert_eq!(store.open(gone).await, Err(OpenError::Deleted(gone)));
        assert_eq!(store.read(gone, Seq(0), 10).await, Err(ReadError::Unknown(gone)));
        for claiming in [Claiming::Existing, Claiming::New] {
            let claimed = store.claim(gone, NODE, claiming, START).await;
            assert_eq!(claimed, Err(ClaimError::Deleted(gone)));
        }
        assert_eq!(store.find_key(gone, MessageKey("k1".to_owned())).await, Ok(None));
        assert_eq!(store.turns(gone, None, 10).await, Ok(Vec::new()));
    }
    assert_eq!(author.refused(store, post("late")).await, AppendError::Deleted(id(1)));
    assert_eq!(store.erase(author.claim).await, Err(AppendError::Deleted(id(1))));
    assert_eq!(store.open_runs().await, Ok(Vec::new()));
    assert_eq!(list(store, Shelf::Active).await, []);
    store.settle().await.unwrap();
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "herons", 10)).await, Ok(Vec::new()));
}

pub async fn an_erased_session_is_gone_and_its_ids_stay_used(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = full(&*store).await;
    store.erase(author.claim).await.unwrap();
    assert_gone(&*store, &author).await;
    let other = Author::create(&*store, id(3)).await;
    assert_eq!(other.refused(&*store, Command::AddId { id: id(2) }).await, AppendError::IdTaken(id(2)));
}

pub async fn an_erased_session_stays_gone_after_a_cold_start(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = full(&*store).await;
    store.erase(author.claim).await.unwrap();
    let store = fresh.reopen(store);
    assert_gone(&*store, &author).await;
    let store = fresh.reopen(store);
    assert_gone(&*store, &author).await;
}

pub async fn erasing_needs_the_current_claim(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = full(&*store).await;
    let old = author.claim;
    author.claim = store.claim(id(1), NODE, Claiming::Existing, START).await.unwrap();
    assert_eq!(store.erase(old).await, Err(AppendError::Fenced { current: Epoch(2) }));
    author.assert_read(&*store).await;
    store.erase(author.claim).await.unwrap();
    assert_gone(&*store, &author).await;
}

pub async fn a_blob_goes_with_its_last_session(fresh: &dyn Fresh) {
    let store = fresh.store();
    let shared = store.put_blob(b"shared".to_vec(), Time(1)).await.unwrap();
    let alone = store.put_blob(b"alone".to_vec(), Time(1)).await.unwrap();
    let waiting = store.put_blob(b"waiting".to_vec(), Time(1)).await.unwrap();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    for blob in [&shared, &alone] {
        one.ask(&*store, post_with_file("a file", blob)).await;
        one.answer(&*store, "read").await;
    }
    two.ask(&*store, post_with_file("the same file", &shared)).await;
    store.settle().await.unwrap();
    one.ask(&*store, post_with_file("not indexed", &waiting)).await;
    store.erase(one.claim).await.unwrap();
    assert_eq!(store.blob(alone).await, Ok(None));
    assert_eq!(store.blob(waiting).await, Ok(None));
    assert_eq!(store.blob(shared.clone()).await, Ok(Some(b"shared".to_vec())));
    let store = fresh.reopen(store);
    store.erase(two.claim).await.unwrap();
    assert_eq!(store.blob(shared).await, Ok(None));
}

pub async fn a_blob_that_another_session_just_posted_stays(fresh: &dyn Fresh) {
    let store = fresh.store();
    let blob = store.put_blob(b"passed on".to_vec(), Time(1)).await.unwrap();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    one.ask(&*store, post_with_file("a file", &blob)).await;
    store.settle().await.unwrap();
    two.ask(&*store, post_with_file("the same file", &blob)).await;
    store.erase(one.claim).await.unwrap();
    assert_eq!(store.blob(blob.clone()).await, Ok(Some(b"passed on".to_vec())));
    store.erase(two.claim).await.unwrap();
    assert_eq!(store.blob(blob).await, Ok(None));
}

pub async fn a_blob_in_a_shared_beginning_stays_for_the_branch(fresh: &dyn Fresh) {
    let store = fresh.store();
    let early = store.put_blob(b"early".to_vec(), Time(1)).await.unwrap();
    let late = store.put_blob(b"late".to_vec(), Time(1)).await.unwrap();
    let mut origin = Author::create(&*store, id(1)).await;
    origin.ask(&*store, post_with_file("a file", &early)).await;
    origin.answer(&*store, "read").await;
    let branch = origin.branch(&*store, id(2), origin.end().seq).await;
    origin.ask(&*store, post_with_file("another", &late)).await;
    store.settle().await.unwrap();
    store.erase(origin.claim).await.unwrap();
    assert_eq!(store.blob(late).await, Ok(None));
    let store = fresh.reopen(store);
    assert_eq!(store.blob(early.clone()).await, Ok(Some(b"early".to_vec())));
    branch.assert_read(&*store).await;
    store.erase(branch.claim).await.unwrap();
    assert_eq!(store.blob(early).await, Ok(None));
}

pub async fn a_branch_keeps_only_the_blobs_that_it_shares(fresh: &dyn Fresh) {
    let store = fresh.store();
    let blob = store.put_blob(b"not shared".to_vec(), Time(1)).await.unwrap();
    let mut origin = Author::create(&*store, id(1)).await;
    origin.turn(&*store, "question", "answer").await;
    let early = origin.end().seq;
    origin.ask(&*store, post_with_file("a file", &blob)).await;
    origin.answer(&*store, "read").await;
    let branch = origin.branch(&*store, id(2), origin.end().seq).await;
    // It begins before its own origin's first entry.
    let early = branch.branch(&*store, id(3), early).await;
    store.erase(origin.claim).await.unwrap();
    assert_eq!(store.blob(blob.clone()).await, Ok(Some(b"not shared".to_vec())));
    store.erase(branch.claim).await.unwrap();
    assert_eq!(store.blob(blob).await, Ok(None));
    early.assert_read(&*store).await;
}

pub async fn a_message_names_only_bytes_that_are_stored(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let never = crate::blob::hash_of(b"never put");
    let refused = one.refused(&*store, post_with_file("a file", &never)).await;
    assert_eq!(refused, AppendError::BlobMissing(never));
    let blob = store.put_blob(b"erased".to_vec(), Time(1)).await.unwrap();
    one.ask(&*store, post_with_file("a file", &blob)).await;
    store.erase(one.claim).await.unwrap();
    let mut two = Author::create(&*store, id(2)).await;
    let refused = two.refused(&*store, post_with_file("a file", &blob)).await;
    assert_eq!(refused, AppendError::BlobMissing(blob.clone()));
    assert_eq!(store.has_blob(blob.clone()).await, Ok(false));
    assert_eq!(store.put_blob(b"erased".to_vec(), Time(1)).await, Ok(blob.clone()));
    two.ask(&*store, post_with_file("a file", &blob)).await;
    two.assert_read(&*store).await;
    assert_eq!(store.blob(blob).await, Ok(Some(b"erased".to_vec())));
}

pub async fn an_upload_outlives_other_sessions_with_the_same_bytes(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    let blob = store.put_blob(b"twice".to_vec(), Time(1)).await.unwrap();
    one.ask(&*store, post_with_file("a file", &blob)).await;
    assert_eq!(store.put_blob(b"twice".to_vec(), Time(2)).await, Ok(blob.clone()));
    let store = fresh.reopen(store);
    store.erase(one.claim).await.unwrap();
    let store = fresh.reopen(store);
    two.ask(&*store, post_with_file("the same file", &blob)).await;
    assert_eq!(store.blob(blob.clone()).await, Ok(Some(b"twice".to_vec())));
    store.erase(two.claim).await.unwrap();
    assert_eq!(store.blob(blob).await, Ok(None));
}

pub async fn an_upload_that_no_message_names_expires(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let named = store.put_blob(b"named".to_vec(), Time(1)).await.unwrap();
    author.ask(&*store, post_with_file("a file", &named)).await;
    assert_eq!(store.put_blob(b"named".to_vec(), Time(1)).await, Ok(named.clone()));
    let old = store.put_blob(b"old".to_vec(), Time(1)).await.unwrap();
    let young = store.put_blob(b"young".to_vec(), Time(9)).await.unwrap();
    assert_eq!(store.expire_uploads(Time(1)).await, Ok(0));
    let store = fresh.reopen(store);
    assert_eq!(store.expire_uploads(Time(9)).await, Ok(2));
    assert_eq!(store.expire_uploads(Time(9)).await, Ok(0));
    assert_eq!(store.blob(old).await, Ok(None));
    assert_eq!(store.blob(young).await, Ok(Some(b"young".to_vec())));
    assert_eq!(store.blob(named).await, Ok(Some(b"named".to_vec())));
}

pub async fn erasing_one_session_leaves_the_others_alone(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut authors = Vec::new();
    for number in 0..6 {
        authors.push(Author::create(&*store, id(number)).await);
    }
    while let Some(gone) = authors.pop() {
        for author in &mut authors {
            author.turn(&*store, "herons", "cranes").await;
        }
        store.erase(gone.claim).await.unwrap();
        for author in &mut authors {
            author.post(&*store, "storks").await;
            author.assert_read(&*store).await;
            author.answer(&*store, "cranes").await;
        }
        store.settle().await.unwrap();
        let found = store.search(SearchQuery::new(UserId::FIRST, "storks", 100)).await.unwrap();
        assert!(found.iter().all(|hit| authors.iter().any(|author| author.id() == hit.session)));
        assert_eq!(list(&*store, Shelf::Active).await.len(), authors.len());
        store = fresh.reopen(store);
    }
}

pub async fn a_reader_beside_an_erase_sees_the_log_or_nothing(fresh: &dyn Fresh) {
    let store = fresh.store();
    for number in 0..40 {
        let mut author = Author::create(&*store, id(number)).await;
        author.turn(&*store, "question", "answer").await;
        if number % 2 == 0 {
            store.settle().await.unwrap();
        }
        author.post(&*store, "next").await;
        let erase = async {
            store.erase(author.claim).await.unwrap();
            // Whatever stands in its place now is another session's.
            Author::create(&*store, id(100 + number)).await.post(&*store, "other").await;
        };
        let read = async {
            loop {
                match store.read(id(number), Seq(0), 100).await {
                    Ok(entries) => assert!(author.log.starts_with(&entries)),
                    Err(error) => return error,
                }
            }
        };
        let ((), error) = futures_util::future::join(erase, read).await;
        assert_eq!(error, ReadError::Unknown(id(number)));
    }
}

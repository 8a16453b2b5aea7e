//! One writer at a time: who may claim a session, and that an old claim writes nothing.

use session::{Epoch, NodeId};
use uuid::Uuid;

use super::Fresh;
use super::author::{Author, NODE, START, id, post};
use crate::claim::HEARTBEAT_MICROS_MAX;
use crate::{AppendError, Claim, ClaimError, Claiming};

const OTHER: NodeId = NodeId(Uuid::from_u128(0x07e4));

pub async fn a_new_session_is_claimed_once(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    assert_eq!(author.claim, Claim { session: id(1), node: NODE, epoch: Epoch(1) });
    for claiming in [Claiming::New, Claiming::Branch { from: id(1), at: author.end().seq }] {
        let again = store.claim(id(1), NODE, claiming, START).await;
        assert_eq!(again, Err(ClaimError::Exists(id(1))));
    }
    store.settle().await.unwrap();
    assert_eq!(store.claim(id(1), NODE, Claiming::New, START).await, Err(ClaimError::Exists(id(1))));
    author.assert_read(&*store).await;
}

pub async fn a_claimed_session_without_entries_is_as_good_as_new(fresh: &dyn Fresh) {
    let store = fresh.store();
    store.claim(id(1), NODE, Claiming::New, START).await.unwrap();
    let store = fresh.reopen(store);
    let mut author = Author::create(&*store, id(1)).await;
    assert_eq!(author.claim.epoch, Epoch(2));
    author.turn(&*store, "question", "answer").await;
    author.assert_read(&*store).await;
}

pub async fn an_unknown_session_cannot_be_claimed(fresh: &dyn Fresh) {
    let store = fresh.store();
    assert_eq!(store.claim(id(1), NODE, Claiming::Existing, START).await, Err(ClaimError::Unknown(id(1))));
    // Asking made nothing.
    Author::create(&*store, id(1)).await;
}

pub async fn a_live_node_keeps_its_sessions_and_a_lapsed_one_loses_them(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    store.heartbeat(NODE, START.plus_micros(1_000)).await.unwrap();
    let lapses = START.plus_micros(1_000 + HEARTBEAT_MICROS_MAX);
    assert_eq!(
        store.claim(id(1), OTHER, Claiming::Existing, lapses).await,
        Err(ClaimError::Held { node: NODE })
    );
    author.post(&*store, "still mine").await;
    store.heartbeat(NODE, START.plus_micros(2_000)).await.unwrap();
    let later = lapses.plus_micros(1);
    assert_eq!(
        store.claim(id(1), OTHER, Claiming::Existing, later).await,
        Err(ClaimError::Held { node: NODE })
    );
    let lapsed = lapses.plus_micros(1_001);
    let taken = store.claim(id(1), OTHER, Claiming::Existing, lapsed).await;
    assert_eq!(taken, Ok(Claim { session: id(1), node: OTHER, epoch: Epoch(2) }));
    // A heartbeat brings nothing back: the epoch decides.
    store.heartbeat(NODE, lapsed).await.unwrap();
    assert_eq!(author.refused(&*store, post("late")).await, AppendError::Fenced { current: Epoch(2) });
    author.assert_read(&*store).await;
    // The new holder never said that it is alive.
    let back = store.claim(id(1), NODE, Claiming::Existing, lapsed).await;
    assert_eq!(back, Ok(Claim { session: id(1), node: NODE, epoch: Epoch(3) }));
}

pub async fn the_same_node_claims_again_under_a_higher_epoch(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    store.heartbeat(NODE, START).await.unwrap();
    let old = author.clone();
    author.claim = store.claim(id(1), NODE, Claiming::Existing, START).await.unwrap();
    assert_eq!(author.claim.epoch, Epoch(2));
    assert_eq!(old.refused(&*store, post("old")).await, AppendError::Fenced { current: Epoch(2) });
    author.turn(&*store, "new", "answer").await;
    author.assert_read(&*store).await;
}

pub async fn an_old_epoch_is_refused_in_the_batch_in_which_others_succeed(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let two = Author::create(&*store, id(2)).await;
    let mut three = Author::create(&*store, id(3)).await;
    store.claim(id(2), OTHER, Claiming::Existing, START).await.unwrap();
    let batch: Vec<_> = [&one, &two, &three]
        .map(|author| author.append(author.decide(post("at once")).unwrap().events))
        .into();
    let results = store.append(batch.clone()).await;
    assert_eq!(results, [Ok(()), Err(AppendError::Fenced { current: Epoch(2) }), Ok(())]);
    one.accept(&batch[0]);
    three.accept(&batch[2]);
    for author in [one, two, three] {
        author.assert_read(&*store).await;
    }
}

pub async fn epochs_survive_a_cold_start(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    store.claim(id(1), OTHER, Claiming::Existing, START).await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(author.refused(&*store, post("late")).await, AppendError::Fenced { current: Epoch(2) });
    let again = store.claim(id(1), NODE, Claiming::Existing, START).await.unwrap();
    assert_eq!(again.epoch, Epoch(3));
}

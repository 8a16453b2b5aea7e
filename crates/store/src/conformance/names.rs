//! Keys and ids are used once: what a key was used for is found for ever, and an id never leads to a second session.

use session::{Command, Event, Fingerprint, Message, MessageKey, PostMode, TurnId};

use super::Fresh;
use super::author::{Author, NODE, START, id, post, post_with_key, read_all};
use crate::{AppendError, ClaimError, Claiming, KeyUse, OpenError};

fn key(text: &str) -> MessageKey {
    MessageKey(text.to_owned())
}

pub async fn a_key_is_found_by_what_it_was_used_for(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let turn = author.ask(&*store, post_with_key("hello", "k1")).await.turn.unwrap();
    author.answer(&*store, "hi").await;
    let posted = author.log[1].seq;
    let message = Message::text("hello again");
    let edit = Command::EditMessage { turn, message: message.clone(), key: Some(key("k2")) };
    let edited = author.ask(&*store, edit).await.turn.unwrap();
    let post = Fingerprint::of_post(&Message::text("hello"), &PostMode::Queue);
    let edit = Fingerprint::of_edit(turn, &message);
    for _ in 0..2 {
        let found = store.find_key(id(1), key("k1")).await;
        assert_eq!(found, Ok(Some(KeyUse { seq: posted, fingerprint: post })));
        let found = store.find_key(id(1), key("k2")).await.unwrap().unwrap();
        assert_eq!((TurnId(found.seq.0), found.fingerprint), (edited, edit));
        assert_eq!(store.find_key(id(1), key("k3")).await, Ok(None));
        assert_eq!(store.find_key(id(9), key("k1")).await, Ok(None));
        store.settle().await.unwrap();
        store = fresh.reopen(store);
    }
}

pub async fn a_used_key_refuses_the_whole_append(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.ask(&*store, post_with_key("hello", "k1")).await;
    let used = AppendError::KeyUsed { seq: author.log[1].seq };
    author.answer(&*store, "hi").await;
    let mut events = author.decide(post("innocent")).unwrap().events;
    events.extend(author.decide(post_with_key("hello", "k1")).unwrap().events);
    assert_eq!(store.append(vec![author.append(events.clone())]).await, [Err(used.clone())]);
    author.assert_read(&*store).await;
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(store.append(vec![author.append(events)]).await, [Err(used)]);
    author.assert_read(&*store).await;
}

pub async fn a_key_twice_in_one_append_refuses_it(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    let event = |text| Event::MessagePosted {
        message: Message::text(text),
        mode: PostMode::Queue,
        key: Some(key("k1")),
    };
    let append = author.append(vec![event("one"), event("two")]);
    let first = append.entries[0].seq;
    assert_eq!(store.append(vec![append]).await, [Err(AppendError::KeyUsed { seq: first })]);
    author.assert_read(&*store).await;
    assert_eq!(store.find_key(id(1), key("k1")).await, Ok(None));
}

pub async fn the_same_key_is_free_in_another_session(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    one.ask(&*store, post_with_key("hello", "k1")).await;
    assert_eq!(store.find_key(id(2), key("k1")).await, Ok(None));
    two.ask(&*store, post_with_key("other", "k1")).await;
    one.assert_read(&*store).await;
    two.assert_read(&*store).await;
}

pub async fn several_ids_lead_to_one_log(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.ask(&*store, post_with_key("hello", "k1")).await;
    author.ask(&*store, Command::AddId { id: id(2) }).await;
    let store = fresh.reopen(store);
    assert_eq!(store.open(id(2)).await, store.open(id(1)).await);
    assert_eq!(store.open(id(2)).await.unwrap().session, id(1));
    assert_eq!(read_all(&*store, id(2)).await, author.log);
    assert_eq!(store.find_key(id(2), key("k1")).await, store.find_key(id(1), key("k1")).await);
    author.claim = store.claim(id(2), NODE, Claiming::Existing, START).await.unwrap();
    assert_eq!(author.claim.session, id(1));
    author.post(&*store, "by the other door").await;
    author.assert_read(&*store).await;
}

pub async fn a_removed_id_is_never_free_again(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let two = Author::create(&*store, id(2)).await;
    one.ask(&*store, Command::AddId { id: id(3) }).await;
    one.ask(&*store, Command::RemoveId { id: id(3) }).await;
    let store = fresh.reopen(store);
    assert_eq!(store.open(id(3)).await, Err(OpenError::Deleted(id(3))));
    for claiming in [Claiming::Existing, Claiming::New, Claiming::Branch { from: id(2), at: two.end().seq }] {
        let claimed = store.claim(id(3), NODE, claiming, START).await;
        assert_eq!(claimed, Err(ClaimError::Deleted(id(3))));
    }
    assert_eq!(two.refused(&*store, Command::AddId { id: id(3) }).await, AppendError::IdTaken(id(3)));
    assert_eq!(one.refused(&*store, Command::AddId { id: id(3) }).await, AppendError::IdTaken(id(3)));
}

pub async fn a_log_is_written_on_after_its_first_id_was_removed(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.ask(&*store, Command::AddId { id: id(2) }).await;
    author.ask(&*store, Command::RemoveId { id: id(1) }).await;
    author.turn(&*store, "goes on", "indeed").await;
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(store.open(id(1)).await, Err(OpenError::Deleted(id(1))));
    assert_eq!(store.open(id(2)).await.unwrap().end, author.end());
    let old = author.clone();
    author.claim = store.claim(id(2), NODE, Claiming::Existing, START).await.unwrap();
    let current = author.claim.epoch;
    assert_eq!(old.refused(&*store, post("late")).await, AppendError::Fenced { current });
    author.turn(&*store, "and on", "indeed").await;
    assert_eq!(read_all(&*store, id(2)).await, author.log);
    author.branch(&*store, id(3), author.end().seq).await.assert_read(&*store).await;
}

pub async fn an_id_in_use_refuses_the_whole_append(fresh: &dyn Fresh) {
    let store = fresh.store();
    let one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    let mut events = one.decide(post("innocent")).unwrap().events;
    events.push(Event::IdAdded { id: id(2) });
    assert_eq!(store.append(vec![one.append(events)]).await, [Err(AppendError::IdTaken(id(2)))]);
    one.assert_read(&*store).await;
    // Within a batch, the first wins.
    let batch =
        vec![two.append(vec![Event::IdAdded { id: id(3) }]), one.append(vec![Event::IdAdded { id: id(3) }])];
    assert_eq!(store.append(batch.clone()).await, [Ok(()), Err(AppendError::IdTaken(id(3)))]);
    two.accept(&batch[0]);
    two.assert_read(&*store).await;
    assert_eq!(store.open(id(3)).await.unwrap().session, id(2));
}

pub async fn an_id_added_twice_in_one_append_refuses_it(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let twice = vec![Event::IdAdded { id: id(2) }, Event::IdAdded { id: id(2) }];
    assert_eq!(store.append(vec![author.append(twice)]).await, [Err(AppendError::IdTaken(id(2)))]);
    assert_eq!(store.open(id(2)).await, Err(OpenError::Unknown(id(2))));
    author.ask(&*store, Command::AddId { id: id(2) }).await;
    author.assert_read(&*store).await;
}

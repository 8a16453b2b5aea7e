//! Rows of chats: changed only by who knows what they were, and what the list says of their sessions.

use session::{ChatKey, ChatKind, Command, InterruptReason, Progress, SessionId};

use super::Fresh;
use super::author::{Author, id};
use crate::{Binding, Bound, ChatRow};

fn chat(name: &str) -> ChatKey {
    ChatKey {
        agent: "main".to_owned(),
        platform: "matrix".to_owned(),
        kind: ChatKind::Direct,
        chat: name.to_owned(),
        thread: None,
        sender: None,
    }
}

fn to(session: SessionId, suspended: bool) -> Binding {
    Binding { session, suspended }
}

pub async fn a_row_is_changed_by_who_knows_it(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (one, two) = (to(id(1), false), to(id(2), false));
    assert_eq!(store.binding(chat("a")).await, Ok(None));
    assert_eq!(store.bind(chat("a"), Some(one), two).await, Ok(Bound::Changed(None)));
    assert_eq!(store.bind(chat("a"), None, one).await, Ok(Bound::Yes));
    assert_eq!(store.bind(chat("a"), None, two).await, Ok(Bound::Changed(Some(one))));
    assert_eq!(store.binding(chat("a")).await, Ok(Some(one)));
    let suspended = to(id(1), true);
    assert_eq!(store.bind(chat("a"), Some(one), suspended).await, Ok(Bound::Yes));
    assert_eq!(store.bind(chat("a"), Some(one), two).await, Ok(Bound::Changed(Some(suspended))));
    assert_eq!(store.bind(chat("b"), None, two).await, Ok(Bound::Yes));
    let store = fresh.reopen(store);
    assert_eq!(store.binding(chat("a")).await, Ok(Some(suspended)));
    assert_eq!(store.binding(chat("b")).await, Ok(Some(two)));
}

pub async fn one_of_many_who_bind_at_once_wins(fresh: &dyn Fresh) {
    let store = fresh.store();
    let binds = (1..=8).map(|number| store.bind(chat("a"), None, to(id(number), false)));
    let bound = futures_util::future::join_all(binds).await;
    assert_eq!(bound.iter().filter(|bound| **bound == Ok(Bound::Yes)).count(), 1);
    let winner = bound.iter().position(|bound| *bound == Ok(Bound::Yes)).unwrap();
    let winner = to(id(winner as u128 + 1), false);
    assert_eq!(store.binding(chat("a")).await, Ok(Some(winner)));
    assert!(
        bound
            .iter()
            .all(|bound| matches!(bound, Ok(Bound::Yes)) || *bound == Ok(Bound::Changed(Some(winner))))
    );
}

pub async fn chats_tell_what_the_list_says(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.ask(&*store, Command::AddId { id: id(7) }).await;
    store.bind(chat("a"), None, to(id(7), false)).await.unwrap();
    // Nothing is behind this one yet.
    store.bind(chat("b"), None, to(id(2), true)).await.unwrap();
    let a = vec![(chat("a"), to(id(7), false))];
    assert_eq!(store.chats_of(id(1)).await, Ok(a.clone()), "by another id");
    assert_eq!(store.chats_of(id(7)).await, Ok(a), "by the same");
    assert_eq!(store.chats_of(id(2)).await, Ok(vec![(chat("b"), to(id(2), true))]));
    assert_eq!(store.chats_of(id(3)).await, Ok(Vec::new()));
    for _ in 0..2 {
        author.post(&*store, "question").await;
        author.progress(&*store, Progress::Step { asked_to_continue: false }).await;
        author.ask(&*store, Command::MarkResume { reason: (&InterruptReason::Crash).into() }).await;
        author.ask(&*store, Command::Interrupt { reason: InterruptReason::Crash }).await;
    }
    let expected = |author: &Author, interrupted, resume_pending| ChatRow {
        chat: chat("a"),
        binding: to(id(7), false),
        active_at: super::lists::row(author).active_at,
        interrupted,
        resume_pending,
    };
    let rows = store.chats().await.unwrap();
    assert_eq!((rows.len(), &rows[0]), (2, &expected(&author, 2, true)));
    assert_eq!((rows[1].binding, rows[1].interrupted, rows[1].resume_pending), (to(id(2), true), 0, false));
    author.turn(&*store, "question", "answer").await;
    let store = fresh.reopen(store);
    assert_eq!(store.chats().await.unwrap()[0], expected(&author, 0, false));
}

//! Pages of turns: which are visible, where they stand, and in which order.

use session::{Command, Message, PostMode, Progress, TurnId};

use super::Fresh;
use super::author::{Author, id, post};
use crate::catalog::{TurnIndex, TurnRow};
use crate::{ReadError, Store};

/// The visible turns, newest first, once everything is indexed.
async fn shown(store: &dyn Store, author: &Author) -> Vec<TurnId> {
    store.settle().await.unwrap();
    let rows = store.turns(author.id(), None, usize::MAX).await.unwrap();
    assert_eq!(rows, folded(author));
    let turns: Vec<TurnId> = rows.iter().map(|row| row.turn).collect();
    let state: Vec<TurnId> = author.state.turns.iter().rev().map(|turn| turn.id).collect();
    assert_eq!(turns, state, "the index and the state show the same turns");
    turns
}

/// The rows that a log folds to.
pub(super) fn folded(author: &Author) -> Vec<TurnRow> {
    let mut index = TurnIndex::default();
    author.log.iter().for_each(|entry| index.apply(entry));
    index.page(None, usize::MAX)
}

pub async fn turns_come_newest_first_in_pages(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let mut turns = Vec::new();
    for at in 0..7 {
        turns.insert(0, author.turn(&*store, &format!("question {at}"), "answer").await);
    }
    assert_eq!(shown(&*store, &author).await, turns);
    let rows = folded(&author);
    for count in 1..=8 {
        let mut joined: Vec<TurnRow> = Vec::new();
        loop {
            let before = joined.last().map(|row| row.turn);
            let page = store.turns(id(1), before, count).await.unwrap();
            if page.is_empty() {
                break;
            }
            joined.extend(page);
        }
        assert_eq!(joined, rows, "pages of {count}");
    }
    // A row says where the turn's entries are.
    let TurnRow { message, last, turn, .. } = rows[3];
    let entries = store.read(id(1), session::Seq(message.0 - 1), 100).await.unwrap();
    let page = session::fold_turn(turn, entries.iter().filter(|entry| entry.seq <= last)).unwrap();
    assert_eq!(Some(&page), author.state.turn(turn));
    assert_eq!(store.read(id(2), message, 1).await, Err(ReadError::Unknown(id(2))));
    assert_eq!(store.turns(id(2), None, 10).await, Ok(Vec::new()));
}

pub async fn queued_turns_appear_in_the_order_of_their_runs(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let first = author.post(&*store, "first").await;
    let second = author.post(&*store, "second").await;
    let third = author.post(&*store, "third").await;
    assert_eq!(shown(&*store, &author).await, [first]);
    let urgent = Command::PostMessage { message: Message::text("now"), mode: PostMode::Interrupt, key: None };
    let urgent = author.ask(&*store, urgent).await.turn.unwrap();
    assert_eq!(shown(&*store, &author).await, [urgent, first]);
    author.ask(&*store, Command::EditQueued { turn: third, message: Message::text("third, better") }).await;
    for _ in 0..3 {
        author.answer(&*store, "done").await;
    }
    assert_eq!(shown(&*store, &author).await, [third, second, urgent, first]);
}

pub async fn undone_turns_hide_and_come_back(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push(author.turn(&*store, "question", "answer").await);
    }
    let [one, two, three, four] = turns[..] else { unreachable!("four were posted") };
    author.ask(&*store, Command::Undo { from: None }).await;
    assert_eq!(shown(&*store, &author).await, [three, two, one]);
    author.ask(&*store, Command::Undo { from: Some(two) }).await;
    assert_eq!(shown(&*store, &author).await, [one]);
    store = fresh.reopen(store);
    author.ask(&*store, Command::PutBack).await;
    assert_eq!(shown(&*store, &author).await, [three, two, one]);
    author.ask(&*store, Command::PutBack).await;
    assert_eq!(shown(&*store, &author).await, [four, three, two, one]);
    author.ask(&*store, Command::Undo { from: Some(four) }).await;
    let five = author.turn(&*store, "instead", "answer").await;
    assert_eq!(shown(&*store, &author).await, [five, three, two, one]);
}

pub async fn an_edit_hides_what_it_replaces(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let one = author.turn(&*store, "one", "answer").await;
    let two = author.turn(&*store, "two", "answer").await;
    author.turn(&*store, "three", "answer").await;
    let edit = Command::EditMessage { turn: two, message: Message::text("two, better"), key: None };
    let edited = author.ask(&*store, edit).await.turn.unwrap();
    assert_eq!(shown(&*store, &author).await, [edited, one]);
    author.answer(&*store, "a better answer").await;
    author.ask(&*store, Command::Retry).await;
    author.answer(&*store, "the best answer").await;
    assert_eq!(shown(&*store, &author).await, [edited, one]);
}

pub async fn a_cleared_session_has_no_turns(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "one", "answer").await;
    author.post(&*store, "two").await;
    let waiting = author.post(&*store, "three").await;
    author.ask(&*store, Command::Clear).await;
    assert_eq!(shown(&*store, &author).await, [waiting]);
    author.ask(&*store, Command::Clear).await;
    assert_eq!(shown(&*store, &author).await, []);
}

pub async fn steered_and_withdrawn_messages_are_no_turns(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let one = author.post(&*store, "one").await;
    let steer = Command::PostMessage { message: Message::text("aside"), mode: PostMode::Steer, key: None };
    author.ask(&*store, steer).await;
    let withdrawn = author.post(&*store, "never mind").await;
    author.ask(&*store, Command::RemoveQueued { turn: withdrawn }).await;
    author.answer(&*store, "answer").await;
    assert_eq!(shown(&*store, &author).await, [one]);
}

pub async fn turns_are_the_same_however_often_they_are_settled(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut often = Author::create(&*store, id(1)).await;
    let mut once = Author::create(&*store, id(2)).await;
    let commands = |turn: TurnId| {
        [
            post("queued"),
            Command::EditQueued { turn: TurnId(turn.0 + 2), message: Message::text("edited") },
            Command::Stop { run: None, device: None },
            Command::Undo { from: None },
            Command::PutBack,
            Command::Continue,
            Command::Stop { run: None, device: None },
        ]
    };
    for _ in 0..3 {
        let turn = once.post(&*store, "question").await;
        assert_eq!(often.post(&*store, "question").await, turn);
        for command in commands(turn) {
            once.ask(&*store, command.clone()).await;
            often.ask(&*store, command).await;
            assert_eq!(shown(&*store, &often).await.len(), often.state.turns.len());
        }
        often.ask(&*store, Command::Retry).await;
        once.ask(&*store, Command::Retry).await;
        often.progress(&*store, Progress::Text("answer".to_owned())).await;
        once.progress(&*store, Progress::Text("answer".to_owned())).await;
        often.progress(&*store, Progress::Completed).await;
        once.progress(&*store, Progress::Completed).await;
        store = fresh.reopen(store);
    }
    assert_eq!(shown(&*store, &once).await, shown(&*store, &often).await);
}

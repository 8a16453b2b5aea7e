//! Logs that share a beginning: a branch reads as one log, and neither needs the other to live.

use session::{Command, MessageKey, Seq, UserId};

use super::Fresh;
use super::author::{Author, NODE, START, id, post_with_key};
use super::lists::{list, row};
use super::turns::folded;
use crate::catalog::{SearchQuery, Shelf};
use crate::{ClaimError, Claiming, OpenError, ReadError, Store};

/// An origin with two turns and its branch after the first, which went on with another.
async fn pair(store: &dyn Store) -> (Author, Author) {
    let mut origin = Author::create(store, id(1)).await;
    origin.turn(store, "shared question", "shared answer").await;
    let at = origin.end().seq;
    origin.turn(store, "origin question", "origin answer").await;
    let mut branch = origin.branch(store, id(2), at).await;
    branch.turn(store, "branch question", "branch answer").await;
    (origin, branch)
}

pub async fn a_branch_shares_the_beginning_and_goes_on_by_itself(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let (mut origin, mut branch) = pair(&*store).await;
    for round in 0..3 {
        origin.assert_read(&*store).await;
        branch.assert_read(&*store).await;
        let count = branch.log.len();
        for after in 0..=count {
            let page = store.read(id(2), Seq(after as u64), 3).await.unwrap();
            assert_eq!(page, branch.log[after..count.min(after + 3)], "after {after}");
        }
        store.settle().await.unwrap();
        origin.turn(&*store, "more", &format!("origin {round}")).await;
        branch.turn(&*store, "more", &format!("branch {round}")).await;
        store = fresh.reopen(store);
    }
    assert!(branch.log[0] == origin.log[0] && branch.log.last() != origin.log.last());
}

pub async fn a_branch_lists_and_shows_the_turns_it_shares(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (origin, branch) = pair(&*store).await;
    store.settle().await.unwrap();
    for author in [&origin, &branch] {
        assert_eq!(store.turns(author.id(), None, 100).await.unwrap(), folded(author));
    }
    assert_eq!(folded(&branch).len(), 2);
    let store = fresh.reopen(store);
    assert_eq!(store.turns(id(2), None, 100).await.unwrap(), folded(&branch));
    assert_eq!(store.turns(id(2), None, 1).await.unwrap(), folded(&branch)[..1]);
    // Each text is found in every session that shows it.
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "shared", 10)).await.unwrap().len(), 4);
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "branch", 10)).await.unwrap().len(), 2);
}

pub async fn a_branch_is_named_and_counted_as_of_where_it_began(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut origin = Author::create(&*store, id(1)).await;
    let name = |title: &str| Command::Rename { title: title.to_owned() };
    origin.ask(&*store, name("Herons")).await;
    origin.turn(&*store, "one", "answer").await;
    let at = origin.end().seq;
    let pin = Command::SetFlag { flag: session::Flag::Pinned, on: true };
    for command in [name("Cranes"), pin] {
        origin.ask(&*store, command).await;
    }
    origin.turn(&*store, "two", "answer").await;
    origin.post(&*store, "three").await;
    store.settle().await.unwrap();
    let mut branch = origin.branch(&*store, id(2), at).await;
    assert_eq!(list(&*store, Shelf::Active).await, [row(&branch), row(&origin)]);
    branch.turn(&*store, "two, differently", "answer").await;
    let title = branch.state.title.as_ref().map(|title| title.text().to_owned());
    let shown = &list(&*store, Shelf::Active).await[0];
    assert_eq!((&shown.title, shown.messages, shown.run), (&title, 2, None));
    assert_eq!(title.as_deref(), Some("Herons"));
}

pub async fn a_branch_starts_without_keys_runs_and_waiting_messages(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut origin = Author::create(&*store, id(1)).await;
    origin.ask(&*store, post_with_key("one", "k1")).await;
    origin.post(&*store, "waits").await;
    let mut branch = origin.branch(&*store, id(2), origin.end().seq).await;
    let runs = store.open_runs().await.unwrap();
    assert_eq!(runs.iter().map(|open| open.session).collect::<Vec<_>>(), [id(1)]);
    assert_eq!(store.find_key(id(2), MessageKey("k1".to_owned())).await, Ok(None));
    branch.ask(&*store, post_with_key("one", "k1")).await;
    branch.answer(&*store, "answer").await;
    origin.answer(&*store, "answer").await;
    store.settle().await.unwrap();
    for author in [&origin, &branch] {
        author.assert_read(&*store).await;
        assert_eq!(store.turns(author.id(), None, 100).await.unwrap(), folded(author));
        assert_eq!(folded(author).len(), author.state.turns.len());
    }
}

pub async fn a_branch_of_a_branch_reads_through(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (origin, branch) = pair(&*store).await;
    store.settle().await.unwrap();
    let early = branch.branch(&*store, id(3), Seq(3)).await;
    let mut late = branch.branch(&*store, id(4), branch.end().seq).await;
    late.turn(&*store, "on and on", "indeed").await;
    for _ in 0..2 {
        for author in [&origin, &branch, &early, &late] {
            author.assert_read(&*store).await;
        }
        store.settle().await.unwrap();
    }
    assert_eq!(store.turns(id(4), None, 100).await.unwrap(), folded(&late));
    assert_eq!(folded(&late).len(), 3);
}

pub async fn a_branch_beyond_the_end_or_of_nothing_is_refused(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    let beyond = Claiming::Branch { from: id(1), at: author.end().seq.next() };
    assert_eq!(store.claim(id(2), NODE, beyond, START).await, Err(ClaimError::Unknown(id(1))));
    let nothing = Claiming::Branch { from: id(9), at: Seq(1) };
    assert_eq!(store.claim(id(2), NODE, nothing, START).await, Err(ClaimError::Unknown(id(9))));
    assert_eq!(store.open(id(2)).await, Err(OpenError::Unknown(id(2))));
    author.branch(&*store, id(2), Seq(1)).await.assert_read(&*store).await;
}

pub async fn a_branch_whose_first_entry_never_came_is_no_session(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "goes on").await;
    author.post(&*store, "waits").await;
    let (waiting, open_runs) = (store.waiting().await, store.open_runs().await);
    let claiming = Claiming::Branch { from: id(1), at: author.end().seq };
    store.claim(id(2), NODE, claiming, START).await.unwrap();
    assert_eq!(store.open(id(2)).await, Err(OpenError::Unknown(id(2))));
    assert_eq!((store.waiting().await, store.open_runs().await), (waiting, open_runs));
    // It can still be begun.
    author.branch(&*store, id(2), author.end().seq).await.assert_read(&*store).await;
}

pub async fn a_branch_survives_its_origin(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let (origin, mut branch) = pair(&*store).await;
    store.erase(origin.claim).await.unwrap();
    assert_eq!(store.read(id(1), Seq(0), 10).await, Err(ReadError::Unknown(id(1))));
    for _ in 0..3 {
        branch.turn(&*store, "still here?", "all of it").await;
        branch.assert_read(&*store).await;
        store.settle().await.unwrap();
        assert_eq!(store.turns(id(2), None, 100).await.unwrap(), folded(&branch));
        assert_eq!(list(&*store, Shelf::Active).await, [row(&branch)]);
        store = fresh.reopen(store);
    }
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "origin", 10)).await.unwrap(), []);
    branch.branch(&*store, id(3), Seq(3)).await.assert_read(&*store).await;
}

pub async fn an_origin_survives_its_branch(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let (mut origin, branch) = pair(&*store).await;
    store.erase(branch.claim).await.unwrap();
    for _ in 0..2 {
        origin.turn(&*store, "still here?", "all of it").await;
        origin.assert_read(&*store).await;
        store.settle().await.unwrap();
        assert_eq!(store.turns(id(1), None, 100).await.unwrap(), folded(&origin));
        assert_eq!(list(&*store, Shelf::Active).await, [row(&origin)]);
        store = fresh.reopen(store);
    }
}

pub async fn a_shared_beginning_goes_with_its_last_branch(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (origin, branch) = pair(&*store).await;
    let other = branch.branch(&*store, id(3), branch.end().seq).await;
    store.settle().await.unwrap();
    for author in [&origin, &branch] {
        store.erase(author.claim).await.unwrap();
        other.assert_read(&*store).await;
    }
    let store = fresh.reopen(store);
    other.assert_read(&*store).await;
    store.erase(other.claim).await.unwrap();
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    for number in 1..4 {
        assert_eq!(store.open(id(number)).await, Err(OpenError::Deleted(id(number))));
    }
    let author = Author::create(&*store, id(4)).await;
    author.assert_read(&*store).await;
}

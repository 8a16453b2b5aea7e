//! The list of sessions: order, pages, shelves, and what touches a row.

use session::{CallNo, Command, Flag, Outcome, Progress, Time, Usage, UserId};

use super::Fresh;
use super::author::{Author, NODE, START, id};
use crate::catalog::{ListQuery, ListRow, Shelf};
use crate::{Claiming, Store};

/// A shelf as a whole.
pub(super) async fn list(store: &dyn Store, shelf: Shelf) -> Vec<ListRow> {
    store.list(ListQuery { user: UserId::FIRST, shelf, before: None, count: usize::MAX }).await.unwrap()
}

/// The row that a log folds to.
pub(super) fn row(author: &Author) -> ListRow {
    let mut row = ListRow::new(author.id());
    for entry in &author.log {
        row.apply(entry);
    }
    row
}

fn seconds(count: i64) -> Time {
    START.plus_micros(count * 1_000_000)
}

pub async fn each_user_has_his_own_list_and_finds_his_own_words(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (ann, bob) = (UserId(id(901).0), UserId(id(902).0));
    let mut sessions = Vec::new();
    for (number, user) in [(1, ann), (2, bob), (3, ann), (4, UserId::FIRST)] {
        let mut author = Author::create_for(&*store, id(number), user).await;
        author.turn(&*store, "where do herons nest", "in reeds").await;
        sessions.push((author, user));
    }
    let shared = sessions[0].0.log.len() as u64;
    let branch = sessions[0].0.branch(&*store, id(5), session::Seq(shared)).await;
    sessions.push((branch, ann));
    store.settle().await.unwrap();
    for user in [ann, bob, UserId::FIRST, UserId(id(903).0)] {
        let query = ListQuery { user, shelf: Shelf::Active, before: None, count: 100 };
        let mut listed: Vec<_> = store.list(query).await.unwrap().iter().map(|row| row.session).collect();
        listed.sort();
        let own: Vec<_> =
            sessions.iter().filter(|(_, of)| *of == user).map(|(author, _)| author.id()).collect();
        assert_eq!(listed, own);
        for (author, of) in &sessions {
            assert_eq!(store.belongs(author.id(), user).await, Ok(*of == user));
        }
        let hits = store.search(user, "herons".to_owned(), 100).await.unwrap();
        assert!(hits.iter().all(|hit| own.contains(&hit.session)), "{hits:?}");
        assert_eq!(hits.is_empty(), own.is_empty());
        // Others' words do not use up the page.
        assert_eq!(store.search(user, "herons".to_owned(), 1).await.unwrap().len(), own.len().min(1));
    }
    assert_eq!(store.belongs(id(77), UserId::FIRST).await, Ok(false));
    let claim = store.claim(id(6), NODE, Claiming::New, START).await.unwrap();
    assert_eq!(store.belongs(claim.session, UserId::FIRST).await, Ok(false), "not begun yet");
    store.erase(sessions[1].0.claim).await.unwrap();
    assert_eq!(store.belongs(id(2), bob).await, Ok(false), "erased");
}

pub async fn the_latest_activity_stands_first(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut authors = Vec::new();
    for number in 0..5 {
        authors.push(Author::create(&*store, id(number)).await);
    }
    for (at, author) in [2, 0, 4].into_iter().enumerate() {
        authors[author].now = seconds(10 + at as i64);
        authors[author].turn(&*store, "question", "answer").await;
    }
    // Equal times stand newest first.
    let order = [4, 0, 2, 3, 1].map(|at| row(&authors[at]));
    assert_eq!(list(&*store, Shelf::Active).await, order);
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(list(&*store, Shelf::Active).await, order);
}

pub async fn pages_of_the_list_join(fresh: &dyn Fresh) {
    let store = fresh.store();
    for number in 0..11 {
        let mut author = Author::create(&*store, id(number)).await;
        author.now = seconds(i64::try_from(number / 3).unwrap());
        author.post(&*store, "question").await;
    }
    let whole = list(&*store, Shelf::Active).await;
    assert_eq!(whole.len(), 11);
    for count in 1..=12 {
        let mut joined: Vec<ListRow> = Vec::new();
        loop {
            let before = joined.last().map(|row| (row.active_at, row.session));
            let page = store
                .list(ListQuery { user: UserId::FIRST, shelf: Shelf::Active, before, count })
                .await
                .unwrap();
            if page.is_empty() {
                break;
            }
            joined.extend(page);
        }
        assert_eq!(joined, whole, "pages of {count}");
    }
}

pub async fn each_session_stands_on_one_shelf(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let set = |flag, on| Command::SetFlag { flag, on };
    let steps = [
        (set(Flag::Pinned, true), Shelf::Active),
        (set(Flag::Archived, true), Shelf::Archived),
        (set(Flag::Trashed, true), Shelf::Trash),
        (set(Flag::Archived, false), Shelf::Trash),
        (set(Flag::Trashed, false), Shelf::Active),
    ];
    for (command, shelf) in steps {
        author.ask(&*store, command).await;
        for other in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
            let rows = if other == shelf { vec![row(&author)] } else { Vec::new() };
            assert_eq!(list(&*store, other).await, rows);
        }
    }
    assert!(row(&author).pinned);
}

pub async fn chunks_and_maintenance_leave_the_list_alone(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let turn = author.turn(&*store, "question", "answer").await;
    author.post(&*store, "next").await;
    let before = list(&*store, Shelf::Active).await;
    author.now = seconds(100);
    let usage = Usage { input_tokens: 1, output_tokens: 1, cost_micros: 0 };
    for progress in [
        Progress::Step,
        Progress::Text("chunk".to_owned()),
        Progress::Reasoning("thought".to_owned()),
        Progress::Usage(usage),
    ] {
        author.progress(&*store, progress).await;
    }
    author.ask(&*store, Command::CompactContext { summary: "short".to_owned(), through: turn }).await;
    store.settle().await.unwrap();
    assert_eq!(list(&*store, Shelf::Active).await, before);
    // A run that a crash ended is closed, and nobody did anything.
    author.ask(&*store, Command::Interrupt { reason: session::InterruptReason::Crash }).await;
    let closed = vec![ListRow { run: None, interrupted: 1, ..before[0].clone() }];
    assert_eq!(list(&*store, Shelf::Active).await, closed);
}

pub async fn finished_calls_touch_the_list_at_most_once_a_second(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "question").await;
    let posted = author.now.plus_micros(-1_000);
    let mut seen = Vec::new();
    for at in 0..20_u32 {
        author.now = posted.plus_micros(i64::from(at) * 150_000);
        let outcome = Outcome { status: session::event::CallStatus::Ok, content: "ok".to_owned() };
        author.progress(&*store, Progress::CallFinished { call: CallNo(at), outcome }).await;
        seen.push(list(&*store, Shelf::Active).await[0].active_at.micros_since(posted));
    }
    seen.dedup();
    assert_eq!(seen, [0, 1_050_000, 2_100_000]);
}

pub async fn a_name_by_a_person_beats_a_generated_one(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let mut titles = Vec::new();
    let generated = |title: &str| session::Event::TitleGenerated { title: title.to_owned() };
    let renamed = |title: &str| session::Event::SessionRenamed { title: title.to_owned() };
    for event in [generated("one"), generated("two"), renamed("three"), generated("four"), renamed("five")] {
        author.write(&*store, vec![event]).await;
        titles.push(list(&*store, Shelf::Active).await[0].title.clone().unwrap());
    }
    assert_eq!(titles, ["one", "two", "three", "three", "five"]);
}

pub async fn a_claimed_session_without_entries_is_not_listed(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    store.claim(id(2), NODE, Claiming::New, START).await.unwrap();
    let branch = Claiming::Branch { from: id(1), at: author.end().seq };
    store.claim(id(3), NODE, branch, START).await.unwrap();
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(list(&*store, Shelf::Active).await, [row(&author)]);
    for shelf in [Shelf::Archived, Shelf::Trash] {
        assert_eq!(list(&*store, shelf).await, []);
    }
}

pub async fn sessions_that_owe_are_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let owner = session::Owner("notes/anna/1".to_owned());
    let mut authors = Vec::new();
    for number in 0..3 {
        let mut author = Author::create(&*store, id(number)).await;
        if number > 0 {
            author.ask(&*store, Command::SetMemoryOwner { owner: Some(owner.clone()) }).await;
        }
        author.turn(&*store, "question", "answer").await;
        authors.push(author);
    }
    assert_eq!(store.owing().await.unwrap(), [id(1), id(2)]);
    let author = &mut authors[1];
    let active_at = row(author).active_at;
    author.now = seconds(50);
    author.ask(&*store, Command::CommitMemory { owner: None }).await;
    let commit = author.end().seq;
    let refused = session::CommitOutcome::Failed { error: "no".to_owned() };
    author.ask(&*store, Command::EndCommit { commit, outcome: refused }).await;
    assert_eq!(store.owing().await.unwrap(), [id(1), id(2)]);
    author.ask(&*store, Command::CommitMemory { owner: None }).await;
    let commit = author.end().seq;
    author.ask(&*store, Command::EndCommit { commit, outcome: session::CommitOutcome::Done }).await;
    assert_eq!(row(author).active_at, active_at, "nobody was active");
    // A branch owes nothing of what it shares.
    let branch = authors[2].branch(&*store, id(9), authors[2].end().seq).await;
    let store = fresh.reopen(store);
    assert_eq!(store.owing().await.unwrap(), [id(2)]);
    let rows = list(&*store, Shelf::Active).await;
    assert!([&authors[1], &authors[2], &branch].iter().all(|author| rows.contains(&row(author))));
}

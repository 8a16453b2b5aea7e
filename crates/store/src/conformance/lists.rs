//! The list of sessions: order, pages, shelves, and what touches a row.

use session::{CallNo, Command, Flag, Journal, Outcome, Progress, ProjectId, Time, Usage, UserId};

use super::Fresh;
use super::author::{Author, NODE, START, id};
use crate::catalog::{Counts, Doing, ListQuery, ListRow, SearchQuery, Shelf, TagCount, Trashed};
use crate::{Claiming, Store};

/// A shelf as a whole.
pub(super) async fn list(store: &dyn Store, shelf: Shelf) -> Vec<ListRow> {
    store.list(ListQuery::of(UserId::FIRST, shelf)).await.unwrap()
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
        let query = ListQuery::of(user, Shelf::Active);
        let mut listed: Vec<_> = store.list(query).await.unwrap().iter().map(|row| row.session).collect();
        listed.sort();
        let own: Vec<_> =
            sessions.iter().filter(|(_, of)| *of == user).map(|(author, _)| author.id()).collect();
        assert_eq!(listed, own);
        for (author, of) in &sessions {
            assert_eq!(store.belongs(author.id(), user).await, Ok(*of == user));
        }
        let hits = store.search(SearchQuery::new(user, "herons", 100)).await.unwrap();
        assert!(hits.iter().all(|hit| own.contains(&hit.session)), "{hits:?}");
        assert_eq!(hits.is_empty(), own.is_empty());
        // Others' words do not use up the page.
        assert_eq!(store.search(SearchQuery::new(user, "herons", 1)).await.unwrap().len(), own.len().min(1));
    }
    // Where a page begins tells nothing of sessions that are somebody else's.
    let time =
        store.list(ListQuery { count: 1, ..ListQuery::of(bob, Shelf::Active) }).await.unwrap()[0].active_at;
    let mut pages = Vec::new();
    for foreign in [id(1), id(3), id(4), id(5), id(77)] {
        let query = ListQuery { before: Some((time, foreign)), ..ListQuery::of(bob, Shelf::Active) };
        pages.push(store.list(query).await.unwrap());
    }
    assert!(pages.iter().all(|page| *page == pages[4]), "{pages:?}");
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
                .list(ListQuery { before, count, ..ListQuery::of(UserId::FIRST, Shelf::Active) })
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
    let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
    for progress in [
        Progress::Step { asked_to_continue: false },
        Progress::Text("chunk".to_owned()),
        Progress::Reasoning("thought".to_owned()),
        Progress::Usage(usage),
    ] {
        author.progress(&*store, progress).await;
    }
    author
        .ask(&*store, Command::CompactContext { run: None, summary: "short".to_owned(), through: turn })
        .await;
    store.settle().await.unwrap();
    assert_eq!(list(&*store, Shelf::Active).await, before);
    // A run that a crash ended is closed, and nobody did anything.
    author.ask(&*store, Command::Interrupt { reason: session::InterruptReason::Crash }).await;
    let closed = vec![ListRow {
        run: None,
        interrupted: 1,
        needs: Some(session::Need::Interrupted),
        ..before[0].clone()
    }];
    assert_eq!(list(&*store, Shelf::Active).await, closed);
}

pub async fn interrupted_sessions_are_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut ended = Vec::new();
    for (at, reason) in
        [(1, session::InterruptReason::ShutdownTimeout), (2, session::InterruptReason::Crash)].into_iter()
    {
        let mut author = Author::create(&*store, id(at)).await;
        author.now = seconds(i64::try_from(at).unwrap() * 100);
        author.post(&*store, "question").await;
        author.ask(&*store, Command::Interrupt { reason }).await;
        ended.push(author);
    }
    let mut others = Vec::new();
    for at in 3..7 {
        let mut author = Author::create(&*store, id(at)).await;
        author.now = seconds(300);
        author.post(&*store, "question").await;
        others.push(author);
    }
    others[0].ask(&*store, Command::Stop { run: None, device: None }).await;
    others[1].progress(&*store, Progress::Failed { error: "no credit".to_owned() }).await;
    others[2].ask(&*store, Command::Interrupt { reason: session::InterruptReason::Crash }).await;
    others[2].ask(&*store, Command::SetFlag { flag: session::Flag::Trashed, on: true }).await;
    store.settle().await.unwrap();
    assert_eq!(store.interrupted(seconds(0)).await.unwrap(), [id(2), id(1)], "the latest activity first");
    assert_eq!(store.interrupted(seconds(200)).await.unwrap(), [id(2)]);
    ended[1].ask(&*store, Command::Continue).await;
    assert_eq!(store.interrupted(seconds(0)).await.unwrap(), [id(1)], "what continues is not interrupted");
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

pub async fn sessions_with_undelivered_answers_are_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let from = session::FromChat {
        chat: "chat".to_owned(),
        message: "7".to_owned(),
        peer: "anna".to_owned(),
        sender: None,
    };
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "from elsewhere", "answer").await;
    assert_eq!(store.undelivered().await.unwrap(), []);
    let message = session::Message { from: Some(Box::new(from)), ..session::Message::text("from a chat") };
    let post = Command::PostMessage { message, mode: session::PostMode::Queue, key: None };
    author.ask(&*store, post).await;
    assert_eq!(store.undelivered().await.unwrap(), [id(1)]);
    let run = author.state.open_run.unwrap();
    let completed = session::Progress::Completed;
    author.ask(&*store, Command::Progress { run, progress: completed }).await;
    let branch = author.branch(&*store, id(2), author.end().seq).await;
    let store = fresh.reopen(store);
    assert_eq!(store.undelivered().await.unwrap(), [id(1)], "a branch owes nothing of what it shares");
    let active_at = row(&author).active_at;
    author.now = seconds(50);
    for step in [
        session::DeliveryStep::Attempt { part: 0 },
        session::DeliveryStep::Receipt { part: 0, receipt: "8".to_owned() },
        session::DeliveryStep::End(session::DeliveryOutcome::Delivered),
    ] {
        assert_eq!(store.undelivered().await.unwrap(), [id(1)]);
        author.ask(&*store, Command::Deliver { answer: run, step }).await;
    }
    assert_eq!(store.undelivered().await.unwrap(), []);
    assert_eq!(row(&author).active_at, active_at, "nobody was active");
    let rows = list(&*store, Shelf::Active).await;
    assert!([&author, &branch].iter().all(|author| rows.contains(&row(author))));
}

fn tags(tags: &[&str]) -> Command {
    Command::SetTags { tags: tags.iter().map(|tag| (*tag).to_owned()).collect() }
}

fn counted(counts: &[(&str, u64)]) -> Vec<TagCount> {
    counts.iter().map(|(tag, sessions)| TagCount { tag: (*tag).to_owned(), sessions: *sessions }).collect()
}

pub async fn a_list_is_narrowed_by_tag_and_by_project(fresh: &dyn Fresh) {
    let store = fresh.store();
    let (birds, lakes) = (ProjectId(id(801).0), ProjectId(id(802).0));
    let bob = UserId(id(902).0);
    let mut authors = Vec::new();
    for number in 0..12 {
        let user = if number % 4 == 3 { bob } else { UserId::FIRST };
        let mut author = Author::create_for(&*store, id(number), user).await;
        let own = [&["heron"][..], &["heron", "reed"], &[]][usize::try_from(number % 3).unwrap()];
        author.ask(&*store, tags(own)).await;
        let project = [Some(birds), None, Some(lakes)][usize::try_from(number % 3).unwrap()];
        author.ask(&*store, Command::SetProject { project }).await;
        author.now = seconds(i64::try_from(number / 2).unwrap());
        author.turn(&*store, "question", "answer").await;
        if number == 6 {
            author.ask(&*store, Command::SetFlag { flag: Flag::Trashed, on: true }).await;
        }
        authors.push((author, user));
    }
    store.settle().await.unwrap();
    let store = fresh.reopen(store);
    for user in [UserId::FIRST, bob, UserId(id(903).0)] {
        for shelf in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
            for project in [None, Some(birds), Some(lakes), Some(ProjectId(id(803).0))] {
                for tag in [None, Some("heron"), Some("reed"), Some("her"), Some("%")] {
                    let tag = tag.map(str::to_owned);
                    let whole = store.list(ListQuery::of(user, shelf)).await.unwrap();
                    let fits = |row: &ListRow| {
                        (project.is_none() || row.project == project)
                            && tag.as_ref().is_none_or(|tag| row.tags.contains(tag))
                    };
                    let expected: Vec<ListRow> = whole.into_iter().filter(fits).collect();
                    let mut joined: Vec<ListRow> = Vec::new();
                    loop {
                        let before = joined.last().map(|row| (row.active_at, row.session));
                        let of = ListQuery::of(user, shelf);
                        let query = ListQuery { project, tag: tag.clone(), before, count: 2, ..of };
                        let page = store.list(query).await.unwrap();
                        if page.is_empty() {
                            break;
                        }
                        joined.extend(page);
                    }
                    assert_eq!(joined, expected, "{user}, {shelf:?}, {project:?}, {tag:?}");
                }
            }
        }
    }
    for (author, user) in &authors {
        let shelf = row(author).shelf();
        assert!(store.list(ListQuery::of(*user, shelf)).await.unwrap().contains(&row(author)));
    }
}

pub async fn tags_are_counted_for_their_user_outside_the_trash(fresh: &dyn Fresh) {
    let store = fresh.store();
    let bob = UserId(id(902).0);
    let mut authors = Vec::new();
    for (number, user, own) in [
        (1, UserId::FIRST, &["heron", "reed"][..]),
        (2, UserId::FIRST, &["Reed"]),
        (3, UserId::FIRST, &["stork"]),
        (4, bob, &["heron", "secret"]),
        (5, UserId::FIRST, &["nest"]),
    ] {
        let mut author = Author::create_for(&*store, id(number), user).await;
        author.ask(&*store, tags(own)).await;
        authors.push(author);
    }
    authors[2].ask(&*store, Command::SetFlag { flag: Flag::Trashed, on: true }).await;
    authors[4].ask(&*store, Command::SetFlag { flag: Flag::Archived, on: true }).await;
    assert_eq!(
        store.tags(UserId::FIRST, 100).await.unwrap(),
        counted(&[("reed", 2), ("heron", 1), ("nest", 1)])
    );
    assert_eq!(store.tags(UserId::FIRST, 1).await.unwrap(), counted(&[("reed", 2)]));
    assert_eq!(store.tags(bob, 100).await.unwrap(), counted(&[("heron", 1), ("secret", 1)]));
    // A branch has the tags of its origin, and others go with the session.
    let branch = authors[0].branch(&*store, id(9), authors[0].end().seq).await;
    assert_eq!(row(&branch).tags, ["heron", "reed"]);
    authors[0].ask(&*store, tags(&["reed"])).await;
    store.erase(authors[1].claim).await.unwrap();
    let store = fresh.reopen(store);
    assert_eq!(
        store.tags(UserId::FIRST, 100).await.unwrap(),
        counted(&[("reed", 2), ("heron", 1), ("nest", 1)])
    );
    let query = ListQuery { tag: Some("heron".to_owned()), ..ListQuery::of(UserId::FIRST, Shelf::Active) };
    assert_eq!(store.list(query).await.unwrap(), [row(&branch)]);
}

pub async fn the_trash_is_found_by_how_long_something_is_there(fresh: &dyn Fresh) {
    let store = fresh.store();
    let bob = UserId(id(902).0);
    let mut authors = Vec::new();
    for (number, user, at) in [(1, UserId::FIRST, 30), (2, bob, 10), (3, bob, 20), (4, bob, 20), (5, bob, 5)]
    {
        let mut author = Author::create_for(&*store, id(number), user).await;
        author.now = seconds(at);
        author.ask(&*store, Command::SetFlag { flag: Flag::Trashed, on: true }).await;
        authors.push((author, user));
    }
    // Put there again it is there since the first time; taken out it is not there; put back it is there anew.
    for (author, _) in &mut authors {
        author.now = seconds(40);
    }
    let set = |on| Command::SetFlag { flag: Flag::Trashed, on };
    authors[1].0.ask(&*store, set(true)).await;
    authors[4].0.ask(&*store, set(false)).await;
    let store = fresh.reopen(store);
    let one = |at: usize, since: i64| {
        let (author, user) = &authors[at];
        Trashed {
            session: author.id(),
            user: *user,
            since: row(author).trashed_at.filter(|time| *time >= seconds(since)).unwrap(),
        }
    };
    let (two, three, four) = (one(1, 10), one(2, 20), one(3, 20));
    assert_eq!(store.trashed(seconds(25), None, 100).await.unwrap(), [two, three, four]);
    assert_eq!(store.trashed(seconds(25), None, 2).await.unwrap(), [two, three]);
    assert_eq!(store.trashed(seconds(25), Some((three.since, three.session)), 2).await.unwrap(), [four]);
    assert_eq!(store.trashed(seconds(9), None, 100).await.unwrap(), []);
    store.erase(authors[1].0.claim).await.unwrap();
    assert_eq!(store.trashed(seconds(100), Some((two.since, two.session)), 1).await.unwrap(), [three]);
}

pub async fn what_goes_on_and_what_waits_for_a_person_is_listed_and_counted(fresh: &dyn Fresh) {
    let store = fresh.store();
    let narrowed = async |store: &dyn Store, doing| {
        let query = ListQuery { doing: Some(doing), ..ListQuery::of(UserId::FIRST, Shelf::Active) };
        let rows = store.list(query).await.unwrap();
        rows.into_iter().map(|row| row.session).collect::<Vec<_>>()
    };
    let mut authors = Vec::new();
    for number in 0..6 {
        let mut author = Author::create(&*store, id(number)).await;
        author.now = seconds(i64::try_from(number).unwrap());
        authors.push(author);
    }
    let fail = || Progress::Failed { error: "no heron".to_owned() };
    for author in &mut authors[1..5] {
        author.post(&*store, "question").await;
    }
    authors[2].progress(&*store, fail()).await;
    let interrupted = authors[3].recover(Journal::Unused).events;
    let ended = |event: &session::Event| matches!(event, session::Event::RunEnded { .. });
    let upto = interrupted.iter().position(ended).unwrap();
    authors[3].write(&*store, interrupted[..=upto].to_vec()).await;
    authors[4].progress(&*store, fail()).await;
    authors[4].ask(&*store, Command::SetFlag { flag: Flag::Archived, on: true }).await;
    authors[0].ask(&*store, Command::SetFlag { flag: Flag::Pinned, on: true }).await;
    let other = Author::create_for(&*store, id(9), UserId(id(901).0)).await;
    let mut store = store;
    for _ in 0..2 {
        assert_eq!(narrowed(&*store, Doing::Live).await, [id(1)]);
        assert_eq!(narrowed(&*store, Doing::NeedsPerson).await, [id(3), id(2)]);
        assert_eq!(narrowed(&*store, Doing::Pinned).await, [id(0)]);
        let counts = Counts { active: 5, archived: 1, trash: 0, live: 1, needs_person: 2 };
        assert_eq!(store.counts(UserId::FIRST).await.unwrap(), counts);
        assert_eq!(store.counts(other.state.user).await.unwrap(), Counts { active: 1, ..Counts::default() });
        for author in &authors {
            assert_eq!(store.row(author.id()).await.unwrap(), Some(row(author)));
        }
        assert_eq!(store.row(id(77)).await.unwrap(), None);
        store = fresh.reopen(store);
    }
    // Whatever a person does about it ends it.
    authors[2].ask(&*store, Command::Retry).await;
    assert_eq!(narrowed(&*store, Doing::NeedsPerson).await, [id(3)]);
    assert_eq!(narrowed(&*store, Doing::Live).await, [id(2), id(1)]);
    authors[2].answer(&*store, "a heron").await;
    authors[3].ask(&*store, Command::Undo { from: None }).await;
    assert_eq!(narrowed(&*store, Doing::NeedsPerson).await, []);
    assert_eq!(narrowed(&*store, Doing::Live).await, [id(1)]);
}

//! What is found: messages and answers by their words, as they stand now.

use session::{Command, Flag, Message, Progress, ProjectId, TurnId, UserId};

use super::Fresh;
use super::author::{Author, id};
use crate::Store;
use crate::catalog::{DocumentKind, Hit, SaidBy, SearchQuery, Shelf};

/// What is found once everything is indexed.
async fn found(store: &dyn Store, words: &str) -> Vec<Hit> {
    store.settle().await.unwrap();
    store.search(SearchQuery::new(UserId::FIRST, words, 100)).await.unwrap()
}

fn message(author: &Author, turn: TurnId) -> Hit {
    Hit { session: author.id(), turn, kind: DocumentKind::Message }
}

fn answer(author: &Author, turn: TurnId) -> Hit {
    let run = author.state.turn(turn).unwrap().runs.last().unwrap().id;
    Hit { session: author.id(), turn, kind: DocumentKind::Answer(run) }
}

pub async fn messages_and_answers_are_found_by_all_their_words(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    let first = one.turn(&*store, "Where do herons nest?", "In reeds, beside the lake.").await;
    let second = two.turn(&*store, "Where is the lake", "Beyond the hill: herons know.").await;
    let hits = [
        ("herons", vec![message(&one, first), answer(&two, second)]),
        ("HERONS nest", vec![message(&one, first)]),
        ("lake", vec![answer(&one, first), message(&two, second)]),
        ("lake herons", vec![]),
        ("heron", vec![]),
        ("beside reeds", vec![answer(&one, first)]),
        ("", vec![]),
    ];
    for (words, mut hits) in hits {
        let mut all = found(&*store, words).await;
        all.sort();
        hits.sort();
        assert_eq!(all, hits, "{words}");
    }
    let store = fresh.reopen(store);
    assert_eq!(found(&*store, "reeds").await, [answer(&one, first)]);
}

pub async fn the_newest_hits_come_first(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let mut hits = Vec::new();
    for at in 0..6 {
        let turn = author.turn(&*store, &format!("herons {at}"), "more herons").await;
        hits.insert(0, message(&author, turn));
        hits.insert(0, answer(&author, turn));
        if at % 2 == 0 {
            store.settle().await.unwrap();
        }
    }
    assert_eq!(found(&*store, "herons").await, hits);
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "herons", 5)).await.unwrap(), hits[..5]);
    assert_eq!(store.search(SearchQuery::new(UserId::FIRST, "herons", 0)).await.unwrap(), []);
}

pub async fn an_edited_queued_message_is_found_by_its_new_words_only(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "busy").await;
    let early = author.post(&*store, "about herons").await;
    let late = author.post(&*store, "about herons").await;
    author.ask(&*store, Command::EditQueued { turn: early, message: Message::text("about cranes") }).await;
    assert_eq!(found(&*store, "herons").await, [message(&author, late)]);
    author.ask(&*store, Command::EditQueued { turn: late, message: Message::text("about storks") }).await;
    assert_eq!(found(&*store, "herons").await, []);
    assert_eq!(found(&*store, "about").await, [message(&author, late), message(&author, early)]);
    assert_eq!(found(&*store, "storks").await, [message(&author, late)]);
}

pub async fn reasoning_is_not_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let turn = author.post(&*store, "question").await;
    author.progress(&*store, Progress::Step { asked_to_continue: false }).await;
    for piece in ["<thi", "nk>secretly ponder", "ing</thi", "nk>Openly ", "said"] {
        author.progress(&*store, Progress::Text(piece.to_owned())).await;
        store.settle().await.unwrap();
    }
    author.progress(&*store, Progress::Reasoning("silently".to_owned())).await;
    author.progress(&*store, Progress::Completed).await;
    for words in ["secretly", "pondering", "silently", "think"] {
        assert_eq!(found(&*store, words).await, [], "{words}");
    }
    assert_eq!(found(&*store, "openly said").await, [answer(&author, turn)]);
}

pub async fn an_answer_is_found_once_it_is_complete(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let turn = author.post(&*store, "question").await;
    author.progress(&*store, Progress::Text("herons are ".to_owned())).await;
    assert_eq!(found(&*store, "herons").await, []);
    // What is packed already belongs to the answer all the same.
    let store = fresh.reopen(store);
    author.progress(&*store, Progress::Text("birds".to_owned())).await;
    author.ask(&*store, Command::Stop { run: None, device: None }).await;
    assert_eq!(found(&*store, "herons birds").await, [answer(&author, turn)]);
    author.ask(&*store, Command::Continue).await;
    author.answer(&*store, "of the lakes").await;
    assert_eq!(found(&*store, "lakes").await, [answer(&author, turn)]);
}

pub async fn no_character_of_a_search_is_an_operator(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let turn = author.turn(&*store, "NOT herons OR well-known cranes", "nothing here").await;
    let hit = vec![message(&author, turn)];
    for words in ["NOT herons", "well-known", "\"cranes\"", "(herons)", "* herons", "OR", "herons -", "text:"]
    {
        let expected = if words == "text:" { Vec::new() } else { hit.clone() };
        assert_eq!(found(&*store, words).await, expected, "{words}");
    }
    for words in ["known-well", "\"", "\u{0}", "-", "her*", "herons\u{0}storks"] {
        assert_eq!(found(&*store, words).await, [], "{words:?}");
    }
}

fn title(author: &Author) -> Hit {
    Hit { session: author.id(), turn: TurnId(0), kind: DocumentKind::Title }
}

pub async fn a_session_is_found_by_the_name_that_it_has(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.ask(&*store, Command::SuggestTitle { title: "Herons at dawn".to_owned() }).await;
    author.turn(&*store, "question", "answer").await;
    assert_eq!(found(&*store, "dawn").await, [title(&author)]);
    author.ask(&*store, Command::Rename { title: "Storks at noon".to_owned() }).await;
    assert_eq!(found(&*store, "dawn").await, []);
    assert_eq!(found(&*store, "noon storks").await, [title(&author)]);
    let store = fresh.reopen(store);
    assert_eq!(found(&*store, "storks").await, [title(&author)]);
}

pub async fn a_search_is_narrowed_by_where_and_by_who_said_it(fresh: &dyn Fresh) {
    let store = fresh.store();
    let project = ProjectId(id(801).0);
    let mut authors = Vec::new();
    for number in 1..=4 {
        let mut author = Author::create(&*store, id(number)).await;
        author.now = author.now.plus_micros(i64::try_from(number).unwrap() * 1_000_000);
        author.turn(&*store, "herons nest", "herons nest in reeds").await;
        author.ask(&*store, Command::Rename { title: "herons".to_owned() }).await;
        authors.push(author);
    }
    let archive = Command::SetFlag { flag: Flag::Archived, on: true };
    authors[1].ask(&*store, archive).await;
    authors[2].ask(&*store, Command::SetFlag { flag: Flag::Trashed, on: true }).await;
    authors[0].ask(&*store, Command::SetTags { tags: vec!["birds".to_owned()] }).await;
    authors[3].ask(&*store, Command::SetProject { project: Some(project) }).await;
    store.settle().await.unwrap();
    let all = || SearchQuery::new(UserId::FIRST, "herons", 100);
    let cases = [
        (all(), vec![1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]),
        (SearchQuery { shelves: vec![Shelf::Active], ..all() }, vec![1, 1, 1, 4, 4, 4]),
        (SearchQuery { shelves: vec![Shelf::Archived, Shelf::Trash], ..all() }, vec![2, 2, 2, 3, 3, 3]),
        (SearchQuery { shelves: vec![], ..all() }, vec![]),
        (SearchQuery { tag: Some("birds".to_owned()), ..all() }, vec![1, 1, 1]),
        (SearchQuery { tag: Some("fish".to_owned()), ..all() }, vec![]),
        (SearchQuery { project: Some(project), ..all() }, vec![4, 4, 4]),
        (SearchQuery { said_by: Some(SaidBy::Person), ..all() }, vec![1, 2, 3, 4]),
        (SearchQuery { said_by: Some(SaidBy::Agent), ..all() }, vec![1, 2, 3, 4]),
        (SearchQuery { active_since: Some(authors[2].log[1].time), ..all() }, vec![3, 3, 3, 4, 4, 4]),
        (SearchQuery { said_by: Some(SaidBy::Agent), project: Some(project), ..all() }, vec![4]),
    ];
    for (query, expected) in cases {
        let asked = format!("{query:?}");
        let said_by = query.said_by;
        let mut hits = store.search(query).await.unwrap();
        hits.sort();
        assert_eq!(
            hits.iter().map(|hit| hit.session).collect::<Vec<_>>(),
            expected.iter().map(|n| id(*n)).collect::<Vec<_>>(),
            "{asked}"
        );
        let by_agent = |hit: &Hit| matches!(hit.kind, DocumentKind::Answer(_));
        match said_by {
            Some(SaidBy::Agent) => assert!(hits.iter().all(by_agent), "{hits:?}"),
            Some(SaidBy::Person) => {
                assert!(hits.iter().all(|hit| hit.kind == DocumentKind::Message), "{hits:?}")
            }
            None => {}
        }
    }
}

//! What is found: messages and answers by their words, as they stand now.

use session::{Command, Flag, Message, PostMode, Progress, ProjectId, RunId, SessionId, TurnId, UserId};

use super::Fresh;
use super::author::{Author, id};
use crate::Store;
use crate::catalog::{DocumentKind, Hit, SearchCursor, SearchQuery, SearchScope, Shelf};

/// A text of a session.
pub(super) type FoundText = (SessionId, TurnId, DocumentKind);

fn text(hit: &Hit) -> FoundText {
    (hit.session, hit.turn, hit.kind)
}

/// What is found once everything is indexed.
pub(super) async fn found(store: &dyn Store, words: &str) -> Vec<FoundText> {
    store.settle().await.unwrap();
    let hits = store.search(SearchQuery::new(UserId::FIRST, words, 100)).await.unwrap();
    hits.iter().map(text).collect()
}

fn message(author: &Author, turn: TurnId) -> FoundText {
    (author.id(), turn, DocumentKind::Message)
}

fn answer(author: &Author, turn: TurnId) -> FoundText {
    let run = author.state.turn(turn).unwrap().runs.last().unwrap().id;
    (author.id(), turn, DocumentKind::Answer(run))
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
        ("heron", vec![message(&one, first), answer(&two, second)]),
        ("heron nest", vec![]),
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
    let some = store.search(SearchQuery::new(UserId::FIRST, "herons", 5)).await.unwrap();
    assert_eq!(some.iter().map(text).collect::<Vec<_>>(), hits[..5]);
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
    for words in [
        "NOT herons",
        "well-known",
        "\"cranes\"",
        "(herons)",
        "* herons",
        "OR",
        "herons -",
        "heron*",
        "text:",
    ] {
        let expected = if words == "text:" { Vec::new() } else { hit.clone() };
        assert_eq!(found(&*store, words).await, expected, "{words}");
    }
    for words in ["known-well", "\"", "\u{0}", "-", "her* NOT", "herons\u{0}storks", "'", "herons'|'cranes"] {
        assert_eq!(found(&*store, words).await, [], "{words:?}");
    }
}

fn title(author: &Author) -> FoundText {
    (author.id(), TurnId(0), DocumentKind::Title)
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
        (SearchQuery { scope: SearchScope::Messages, ..all() }, vec![1, 2, 3, 4]),
        (SearchQuery { scope: SearchScope::Answers, ..all() }, vec![1, 2, 3, 4]),
        (SearchQuery { scope: SearchScope::Names, ..all() }, vec![1, 2, 3, 4]),
        (SearchQuery { scope: SearchScope::Texts, ..all() }, vec![1, 1, 2, 2, 3, 3, 4, 4]),
        (SearchQuery { active_since: Some(authors[2].log[1].time), ..all() }, vec![3, 3, 3, 4, 4, 4]),
        (SearchQuery { scope: SearchScope::Answers, project: Some(project), ..all() }, vec![4]),
    ];
    for (query, expected) in cases {
        let asked = format!("{query:?}");
        let wanted = query.clone();
        let mut hits = store.search(query).await.unwrap();
        hits.sort();
        assert_eq!(
            hits.iter().map(|hit| hit.session).collect::<Vec<_>>(),
            expected.iter().map(|n| id(*n)).collect::<Vec<_>>(),
            "{asked}"
        );
        assert!(hits.iter().all(|hit| wanted.wants(hit.kind)), "{hits:?}");
    }
}

/// A text, its words, and whether it is written without spaces.
const SCRIPTS: [(&str, &str, &[&str], Spaces); 12] = [
    (
        "Latin",
        "Le garçon mangeait près du café, naïf",
        &["garcon", "GARÇON", "pres", "cafe\u{301}"],
        Spaces::Yes,
    ),
    ("German", "Die Straße führt über Öhringen", &["STRASSE", "strasse", "uber", "ÖHRINGEN"], Spaces::Yes),
    (
        "Turkish",
        "İstanbul'da ışık ve ILIK çay",
        &["istanbul", "ISTANBUL", "IŞIK", "isik", "ılık"],
        Spaces::Yes,
    ),
    ("Greek", "Ο Οδυσσέας γύρισε στους δρόμους", &["ΟΔΥΣΣΕΑΣ", "δρομουσ", "ΔΡΌΜΟΥΣ"], Spaces::Yes),
    ("Cyrillic", "Зелёный чай и ещё хлеб", &["зеленый", "ЗЕЛЁНЫЙ", "еще"], Spaces::Yes),
    ("Arabic", "ذَهَبَ الوَلَدُ إلى المدرسة", &["ذهب", "الولد", "الى"], Spaces::Yes),
    ("Hebrew", "שָׁלוֹם לְכֻלָּם", &["שלום", "לכלם"], Spaces::Yes),
    ("Hindi", "मैं हिन्दी में किताब पढ़ता हूँ", &["हिन्दी", "किताब"], Spaces::Yes),
    ("Thai", "สวัสดีชาวโลกวันนี้อากาศดี", &["สวัสดี", "โลก", "อากาศ"], Spaces::No),
    ("Chinese", "我们今天讨论数据库的设计", &["数据库", "今天", "设计"], Spaces::No),
    ("Japanese", "今日は日本語のテキストを書きます", &["日本語", "テキスト", "書"], Spaces::No),
    ("Korean", "데이터베이스설계를 논의합니다", &["데이터", "설계", "논의"], Spaces::No),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spaces {
    Yes,
    No,
}

pub async fn words_of_every_script_are_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    for (script, text, words, spaces) in SCRIPTS {
        let turn = author.turn(&*store, text, "answered").await;
        let hit = [message(&author, turn)];
        let own = text.split(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
        let own = own.filter(|word| word.chars().count() > 1);
        for word in own.chain(words.iter().copied()) {
            assert_eq!(found(&*store, word).await, hit, "{script}: {word}");
        }
        let letters: Vec<char> = text.chars().collect();
        let pairs = letters.windows(2).filter(|pair| spaces == Spaces::No && !pair.contains(&' '));
        for pair in pairs {
            let pair: String = pair.iter().collect();
            assert!(found(&*store, &pair).await.contains(&hit[0]), "{script}: {pair}");
        }
    }
    assert_eq!(found(&*store, "設計図").await, []);
}

pub async fn a_long_text_is_found_by_a_phrase_at_its_end(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let filler: String = (0..40_000).map(|at| char::from_u32(0x4e00 + at % 997).unwrap()).collect();
    let turn =
        author.turn(&*store, &format!("{filler}龍龜龘 well-known {}", "reed ".repeat(30_000)), "ok").await;
    for words in ["龍龜龘", "well-known reed", "龍龜龘 reed"] {
        assert_eq!(found(&*store, words).await, [message(&author, turn)], "{words}");
    }
    assert_eq!(found(&*store, "龜龍").await, []);
}

/// All hits, page by page.
async fn pages(store: &dyn Store, query: &SearchQuery) -> Vec<Hit> {
    let (mut all, mut before): (Vec<Hit>, Option<SearchCursor>) = (Vec::new(), None);
    loop {
        let page = store.search(SearchQuery { before, ..query.clone() }).await.unwrap();
        assert!(page.len() <= query.count);
        let Some(last) = page.last() else { return all };
        before = Some(last.cursor());
        all.extend(page);
    }
}

pub async fn pages_of_a_search_give_every_hit_once(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut authors = Vec::new();
    // Their times are alike, so that only the session tells them apart.
    for number in [3, 1, 2] {
        let mut author = Author::create(&*store, id(number)).await;
        author.ask(&*store, Command::Rename { title: "herons".to_owned() }).await;
        for _ in 0..5 {
            author.turn(&*store, "herons", "herons nest").await;
        }
        authors.push(author);
    }
    store.settle().await.unwrap();
    let query = SearchQuery::new(UserId::FIRST, "herons", usize::MAX);
    let all = store.search(query.clone()).await.unwrap();
    assert_eq!(all.len(), 33);
    assert!(all.is_sorted_by(|newer, older| newer.cursor() > older.cursor()), "{all:?}");
    for scope in [
        SearchScope::Everything,
        SearchScope::Names,
        SearchScope::Texts,
        SearchScope::Messages,
        SearchScope::Answers,
    ] {
        let query = SearchQuery { scope, ..query.clone() };
        let expected: Vec<Hit> = all.iter().filter(|hit| query.wants(hit.kind)).copied().collect();
        for count in [1, 2, 7, 100] {
            assert_eq!(pages(&*store, &SearchQuery { count, ..query.clone() }).await, expected);
        }
    }
}

pub async fn a_name_is_found_among_many_texts(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut named = Author::create(&*store, id(1)).await;
    named.ask(&*store, Command::Rename { title: "Quokka planning".to_owned() }).await;
    let mut other = Author::create(&*store, id(2)).await;
    for _ in 0..30 {
        other.turn(&*store, "quokka", "quokka").await;
    }
    store.settle().await.unwrap();
    let query = SearchQuery { scope: SearchScope::Names, ..SearchQuery::new(UserId::FIRST, "quokka", 20) };
    let hits = store.search(query).await.unwrap();
    assert_eq!(hits.iter().map(text).collect::<Vec<_>>(), [title(&named)]);
}

pub async fn removed_and_undone_texts_are_not_found(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let first = author.turn(&*store, "about herons", "herons answered").await;
    let second = author.turn(&*store, "about cranes", "cranes answered").await;
    let both = [answer(&author, second), message(&author, second)];
    assert_eq!(found(&*store, "cranes").await, both);
    author.ask(&*store, Command::Undo { from: None }).await;
    for _ in 0..2 {
        assert_eq!(found(&*store, "cranes").await, []);
        assert_eq!(found(&*store, "herons").await, [answer(&author, first), message(&author, first)]);
        store = fresh.reopen(store);
    }
    author.ask(&*store, Command::PutBack).await;
    assert_eq!(found(&*store, "cranes").await, both);

    author.post(&*store, "busy").await;
    let waiting = author.post(&*store, "about storks").await;
    assert_eq!(found(&*store, "storks").await, [message(&author, waiting)]);
    author.ask(&*store, Command::RemoveQueued { turn: waiting }).await;
    assert_eq!(found(&*store, "storks").await, []);
    let store = fresh.reopen(store);
    assert_eq!(found(&*store, "storks").await, []);
    author.answer(&*store, "done").await;

    author.ask(&*store, Command::Clear).await;
    for words in ["herons", "cranes", "busy"] {
        assert_eq!(found(&*store, words).await, [], "{words}");
    }
}

pub async fn texts_that_an_edit_replaced_are_not_found(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let first = author.turn(&*store, "about herons", "herons answered").await;
    author
        .ask(&*store, Command::EditMessage { turn: first, message: Message::text("about cranes"), key: None })
        .await;
    author.answer(&*store, "cranes answered").await;
    assert_eq!(found(&*store, "herons").await, []);
    assert_eq!(found(&*store, "cranes").await.len(), 2);
}

pub async fn a_steered_message_is_found_as_long_as_its_turn_is_seen(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.post(&*store, "a question").await;
    let run: RunId = author.state.open_run.unwrap();
    store.settle().await.unwrap();
    let steer =
        Command::PostMessage { message: Message::text("about herons"), mode: PostMode::Steer, key: None };
    author.ask(&*store, steer).await;
    let steered = TurnId(author.end().seq.0);
    let events = vec![session::Event::MessageSteered { turn: steered, run }];
    author.write(&*store, events).await;
    author.answer(&*store, "answered").await;
    assert_eq!(found(&*store, "herons").await, [message(&author, steered)]);
    author.ask(&*store, Command::Undo { from: None }).await;
    assert_eq!(found(&*store, "herons").await, []);
}

pub async fn a_branch_is_found_by_shared_texts_even_without_its_origin(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut origin = Author::create(&*store, id(1)).await;
    origin.ask(&*store, Command::Rename { title: "Numbat planning".to_owned() }).await;
    let shared = origin.turn(&*store, "numbat message", "numbat answer").await;
    let undone = origin.turn(&*store, "undone numbat", "undone numbat").await;
    origin.ask(&*store, Command::Undo { from: None }).await;
    let branch = origin.branch(&*store, id(2), origin.end().seq).await;
    origin.turn(&*store, "only of the origin", "numbat").await;
    let own = [title(&branch), message(&branch, shared), answer(&branch, shared)];
    let mut of_branch = found(&*store, "numbat").await;
    of_branch.retain(|(session, _, _)| *session == branch.id());
    of_branch.sort();
    assert_eq!(of_branch, own);
    store.erase(origin.claim).await.unwrap();
    for _ in 0..2 {
        let mut left = found(&*store, "numbat").await;
        left.sort();
        assert_eq!(left, own, "turn {undone:?} stays undone");
        assert_eq!(found(&*store, "only").await, []);
        store = fresh.reopen(store);
    }
}

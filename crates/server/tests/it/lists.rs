//! The list: in pages, live, searched; names and marks; and erasing.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::client::{Event, parse};

use crate::stage::Stage;

#[test]
fn pages_of_the_list_join() {
    let stage = Stage::new();
    let made: Vec<String> = (0..7).map(|_| stage.client.create().unwrap()).collect();
    let (mut seen, mut before) = (Vec::new(), String::new());
    loop {
        let page = stage.must("GET", &format!("/sessions?count=3{before}"), &json!({}));
        let lines = page["sessions"].as_array().unwrap();
        seen.extend(lines.iter().map(|line| line["session"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen, made.into_iter().rev().collect::<Vec<_>>());
}

/// Events of the whole list, over one connection.
struct Feed(BufReader<TcpStream>);

impl Feed {
    fn open(stage: &Stage) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
        let token = &stage.client.token;
        write!(
            socket,
            "GET /api/v1/events HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut feed = Self(BufReader::new(socket));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            feed.0.read_line(&mut line).unwrap();
        }
        feed
    }

    fn next(&mut self) -> (Event, Value) {
        let mut text = String::new();
        while !text.ends_with("\n\n") {
            assert!(self.0.read_line(&mut text).unwrap() > 0, "the feed ended");
        }
        let event = parse(&text);
        let data = serde_json::from_str(&event.data).unwrap();
        (event, data)
    }

    /// The next line of a session for which something holds.
    fn until(&mut self, session: &str, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (_, line) = self.next();
            if line["session"] == session && holds(&line) {
                return line;
            }
        }
    }
}

#[test]
fn the_list_is_live() {
    let stage = Stage::new();
    let known = stage.client.create().unwrap();
    let mut feed = Feed::open(&stage);
    let (event, list) = feed.next();
    assert_eq!((event.name.as_str(), event.id), ("list", None));
    assert_eq!(list["sessions"][0]["session"], known.as_str());
    let new = stage.client.create().unwrap();
    feed.until(&new, |line| line["seq"] == 1);
    stage.must("PATCH", &format!("/sessions/{known}"), &json!({ "title": "herons" }));
    feed.until(&known, |line| line["title"] == "herons");
    stage.client.post(&new, "say 1 of x").unwrap();
    feed.until(&new, |line| !line["run"].is_null());
    feed.until(&new, |line| line["run"].is_null());
    stage.must("DELETE", &format!("/sessions/{known}"), &json!({}));
    loop {
        let (event, gone) = feed.next();
        if event.name == "gone" {
            assert_eq!(gone["session"], known.as_str());
            break;
        }
    }
}

#[test]
fn names_marks_shelves_search_and_erasing() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 1 of bittern");
    let at = format!("/sessions/{session}");
    stage.must("PATCH", &at, &json!({ "pinned": true }));
    stage.must("PATCH", &at, &json!({ "archived": true }));
    let archived = stage.must("GET", "/sessions?shelf=archived", &json!({}));
    assert_eq!(
        (archived["sessions"][0]["session"].as_str(), &archived["sessions"][0]["pinned"]),
        (Some(session.as_str()), &json!(true))
    );
    // Words follow the log by a moment.
    let deadline = testkit::trial::now() + std::time::Duration::from_secs(8);
    while stage.must("GET", "/search?words=bittern", &json!({}))["hits"].as_array().unwrap().len() < 2 {
        assert!(testkit::trial::now() < deadline, "the message and its answer are found");
        std::thread::yield_now();
    }
    let turns = stage.must("GET", &format!("{at}/turns"), &json!({}));
    assert_eq!(turns["turns"].as_array().unwrap().len(), 1);
    assert_eq!(stage.ask("DELETE", &at, &json!({})).status, 204);
    assert_eq!(stage.ask("GET", &at, &json!({})).body["code"], "session_not_found");
    assert_eq!(stage.must("GET", "/search?words=bittern", &json!({}))["hits"], json!([]));
    assert_eq!(stage.must("GET", "/models", &json!({}))["models"][0]["model"], "scripted");
}

#[test]
fn a_session_gets_a_name_of_the_model_until_a_person_gives_one() {
    let stage = Stage::new();
    let made = stage.must("POST", "/sessions", &json!({}));
    let session = made["session"].as_str().unwrap();
    stage.client.post(session, "say 1 of x").unwrap();
    stage.client.follow(session, Some(0)).unwrap().until("title_generated").unwrap();
    assert_eq!(stage.view(session)["title"], "Herons");
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "title": "mine" }));
    stage.answered(session, "say 1 of y");
    assert_eq!(stage.view(session)["title"], "mine");
}

#[test]
fn a_page_before_any_number_is_a_page() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 1 of heron");
    // Pages are made beside the log.
    testkit::trial::until(|| {
        !stage.must("GET", &format!("/sessions/{session}/turns"), &json!({}))["turns"][0].is_null()
    });
    for before in [i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let page = stage.must("GET", &format!("/sessions/{session}/turns?before={before}"), &json!({}));
        assert_eq!(page["turns"].as_array().unwrap().len(), 1, "{before}");
    }
}

#[test]
fn long_turns_come_in_smaller_pages_without_gap_or_double() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let long = "reed ".repeat(300_000);
    let posted: Vec<u64> =
        (0..4).map(|number| stage.answered(&session, &format!("say 1 of w{number} {long}"))).collect();
    let at = format!("/sessions/{session}");
    testkit::trial::until(|| {
        let newest = &stage.must("GET", &format!("{at}/turns?count=1"), &json!({}))["turns"][0];
        newest["turn"].as_u64() == posted.last().copied()
    });
    let bytes_max = 4 * 1024 * 1024 + 2 * long.len();
    let (mut turns, mut before) = (Vec::new(), String::new());
    loop {
        let page = stage.must("GET", &format!("{at}/turns?count=100{before}"), &json!({}));
        let page: Vec<Value> = page["turns"].as_array().unwrap().clone();
        let Some(first) = page.first() else { break };
        assert!(serde_json::to_string(&page).unwrap().len() < bytes_max, "{} turns at once", page.len());
        before = format!("&before={}", first["turn"]);
        turns.splice(0..0, page.iter().map(|turn| turn["turn"].as_u64().unwrap()));
    }
    assert_eq!(turns, posted);
    let (mut seqs, mut next) = (Vec::new(), None::<u64>);
    loop {
        let before = next.map_or(String::new(), |next| format!("&before={next}"));
        let page = stage.must("GET", &format!("{at}/log?count=500{before}"), &json!({}));
        assert!(
            page.to_string().len() < bytes_max,
            "{} lines at once",
            page["entries"].as_array().unwrap().len()
        );
        seqs.extend(page["entries"].as_array().unwrap().iter().map(|line| line["seq"].as_u64().unwrap()));
        match page["next"].as_u64() {
            Some(older) => next = Some(older),
            None => break,
        }
    }
    assert!(seqs.is_sorted_by(|newer, older| newer > older), "{seqs:?}");
    assert_eq!(seqs.last(), Some(&1));
    assert!(posted.iter().all(|turn| seqs.contains(turn)), "{seqs:?}");
}

//! One socket for everything: the same entries as the streams, for the same callers, for as long.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use session::{Entry, Epoch, Event, Link, Session, Time, fold, view};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Error, Message, WebSocket};

use crate::stage::Stage;

/// What a page has: a socket, and what it was told so far.
struct Page(WebSocket<TcpStream>);

impl Page {
    fn open(stage: &Stage, token: &str) -> Self {
        let port = stage.setup.port;
        let mut request = format!("ws://localhost:{port}/api/v1/live").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        let (socket, _) = tungstenite::client(request, stream).unwrap();
        let mut page = Self(socket);
        let hello = page.told("hello");
        assert!(hello["build"].is_string());
        assert_eq!(hello["shape"], session::SHAPE);
        page
    }

    fn say(&mut self, said: &Value) {
        self.0.send(Message::text(said.to_string())).unwrap();
    }

    /// Whatever comes next.
    fn any(&mut self) -> Value {
        serde_json::from_str(self.0.read().unwrap().to_text().unwrap()).unwrap()
    }

    /// The next thing of a kind, whatever comes before it.
    fn told_of(&mut self, kind: &str) -> Value {
        loop {
            let told = self.any();
            if !told[kind].is_null() {
                return told[kind].clone();
            }
        }
    }

    /// The next thing of a kind; heartbeats, drafts and lines of the list are passed over.
    fn told(&mut self, kind: &str) -> Value {
        loop {
            let told = self.any();
            if !told[kind].is_null() {
                return told[kind].clone();
            }
            let passed = ["heartbeat", "draft", "line"].iter().any(|other| told[other].is_object());
            assert!(passed, "{told} came, not {kind}");
        }
    }

    /// Entries until one is of a kind.
    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        while !entries.iter().any(|entry: &Value| !entry["event"][kind].is_null()) {
            entries.extend(self.told("entries")["entries"].as_array().unwrap().clone());
        }
        entries
    }
}

#[test]
fn a_ping_is_answered_at_once() {
    let stage = Stage::new();
    let mut page = Page::open(&stage, &stage.client.token);
    // By themselves, as many heartbeats take minutes.
    for _ in 0..100 {
        page.say(&json!({ "ping": {} }));
        assert_eq!(page.any(), json!({ "heartbeat": {} }));
    }
}

#[test]
fn a_socket_tells_a_state_and_then_the_entries_of_the_stream() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 3 of before call think 2");
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow": { "session": session } }));
    let snapshot = page.told("snapshot");
    let mut state: Session = serde_json::from_value(snapshot["state"].clone()).unwrap();
    let head = state.head().0;
    stage.client.post(&session, "say 5 of live").unwrap();
    let entries = page.until("run_ended");
    let log = stage.log(&session);
    let from = usize::try_from(head).unwrap();
    assert_eq!(entries[..], log[from..from + entries.len()], "the same entries under the same numbers");
    for entry in &entries {
        let event: Event = serde_json::from_value(entry["event"].clone()).unwrap();
        let link = Link { ..state.link };
        let time = Time(entry["time"].as_i64().unwrap());
        fold(&mut state, &Entry::seal(&link, time, Epoch(link.epoch.0.max(1)), event));
    }
    let seq = entries.last().unwrap()["seq"].as_u64().unwrap();
    let mut served = stage.must("GET", &format!("/sessions/{session}?at={seq}"), &json!({}));
    served.as_object_mut().unwrap().remove("session");
    assert_eq!(served, serde_json::to_value(view(&state)).unwrap());
}

#[test]
fn a_socket_goes_on_after_a_cursor_and_can_leave() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 3 of one");
    stage.restart();
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow": { "session": session, "after": 2 } }));
    let entries = page.until("run_ended");
    assert_eq!(entries, stage.log(&session)[2..2 + entries.len()]);
    page.say(&json!({ "leave": { "session": session } }));
    let other = stage.client.create().unwrap();
    page.say(&json!({ "follow": { "session": other, "after": 0 } }));
    while page.told("entries")["session"] != json!(other) {}
    stage.answered(&session, "say 1 of unheard");
    stage.answered(&other, "say 1 of heard");
    let heard = page.until("run_ended");
    assert!(heard.iter().any(|entry| entry.to_string().contains("heard.1")));
    assert!(!heard.iter().any(|entry| entry.to_string().contains("unheard")));
}

#[test]
fn what_cannot_be_followed_is_refused_and_the_socket_stays() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let bob = stage.must("POST", "/users", &json!({ "name": "bob", "role": "member" }));
    assert!(bob.is_object(), "{bob}");
    let made = stage.setup.command().args(["token", "new", "--user", "bob"]).output().unwrap();
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let mut page = Page::open(&stage, &token);
    let unknown = "00000000-0000-0000-0000-000000000009";
    let mut refusal = |asked: Value| {
        page.say(&asked);
        page.told("refused")["problem"].clone()
    };
    let foreign = refusal(json!({ "follow": { "session": session } }));
    let never = refusal(json!({ "follow": { "session": unknown } }));
    assert_eq!(foreign["code"], "session_not_found");
    assert_eq!(foreign.to_string().replace(&session, unknown), never.to_string(), "alike to the letter");
    assert_eq!(refusal(json!({ "dance": {} }))["code"], "bad_request");
    assert_eq!(refusal(json!({ "follow": { "session": 7 } }))["code"], "bad_request");
    let mut own = Page::open(&stage, &stage.client.token);
    own.say(&json!({ "follow": { "session": session, "after": 99 } }));
    assert_eq!(own.told("refused")["problem"]["code"], "beyond_end");
    own.say(&json!({ "follow": { "session": session } }));
    assert_eq!(own.told("snapshot")["session"], json!(session));
}

#[test]
fn a_socket_ends_when_its_token_is_revoked() {
    let stage = Stage::new();
    let made = stage.must("POST", "/tokens", &json!({ "name": "page" }));
    let mut page = Page::open(&stage, made["token"].as_str().unwrap());
    let id = made["id"].as_str().unwrap();
    stage.must("DELETE", &format!("/tokens/{id}"), &json!({}));
    let end = loop {
        match page.0.read() {
            Ok(Message::Close(frame)) => break frame.map(|frame| u16::from(frame.code)),
            Ok(_) => {}
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => break None,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(end, Some(1008));
}

#[test]
fn the_list_comes_over_the_same_socket_and_a_quiet_one_has_a_pulse() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow_list": {} }));
    assert_eq!(page.told("list")["sessions"][0]["session"], json!(session));
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "title": "Herons" }));
    assert_eq!(page.told("line")["title"], "Herons");
    page.told("heartbeat");
    stage.must("DELETE", &format!("/sessions/{session}"), &json!({}));
    assert_eq!(page.told("gone")["session"], json!(session));
}

#[test]
fn the_pages_were_made_for_the_api_that_is_served() {
    let stage = Stage::new();
    let served = stage.must("GET", "/openapi.json", &json!({}));
    let known = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/openapi.json"));
    let known: Value = serde_json::from_str(known).unwrap();
    // `just api` writes it anew, and the types of the pages with it.
    assert!(known == served, "web/openapi.json is of another day");
}

#[test]
fn a_draft_is_kept_and_told_to_the_other_devices_of_who_writes_it() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    let path = format!("/sessions/{session}/draft");
    stage.must("PUT", &path, &json!({ "text": "half a", "device": "laptop" }));
    stage.restart();
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow": { "session": session } }));
    let mut frames = [page.any(), page.any()];
    frames.sort_by_key(|frame| frame["draft"].is_null());
    let kept = json!({ "session": session, "text": "half a", "revision": 1, "device": null });
    assert_eq!(frames[0]["draft"], kept);
    stage.must("PUT", &path, &json!({ "text": "half a thought", "device": "phone" }));
    let told = page.told_of("draft");
    assert_eq!(
        told,
        json!({ "session": session, "text": "half a thought", "revision": 2, "device": "phone" })
    );
    let emptied = stage.must("PUT", &path, &json!({ "text": "", "base": 2, "device": "phone" }));
    assert_eq!(emptied, json!({ "revision": 3 }));
    assert_eq!(page.told_of("draft")["text"], "");
}

#[test]
fn a_late_draft_replaces_no_newer_one() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let path = format!("/sessions/{session}/draft");
    let put = |text: &str, base: u64| {
        let body = json!({ "text": text, "base": base, "device": "laptop" });
        stage.client.ask("PUT", &path, &body).unwrap()
    };
    for base in [7, 1 << 63, u64::MAX] {
        assert_eq!(put("from nowhere", base).status, 409, "there is no revision {base}");
    }
    assert_eq!(put("half a", 0).status, 200);
    assert_eq!(put("", 1).status, 200, "sent");
    // Two requests from before the message was sent arrive after it.
    for base in [0, 1] {
        let late = put("half a", base);
        assert_eq!((late.status, late.body["code"].as_str()), (409, Some("draft_changed")));
    }
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow": { "session": session } }));
    let told = page.told_of("draft");
    assert_eq!((told["text"].as_str(), told["revision"].as_u64()), (Some(""), Some(2)));
}

#[test]
fn a_reader_that_has_another_entry_is_told_so() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 3 of one");
    let mut page = Page::open(&stage, &stage.client.token);
    page.say(&json!({ "follow": { "session": session, "after": 0 } }));
    page.told("entries");
    let told = page.told("entries");
    let (seq, hash) = (&told["entries"].as_array().unwrap().last().unwrap()["seq"], &told["hash"]);
    page.say(&json!({ "follow": { "session": session, "after": seq, "hash": hash } }));
    assert_eq!(page.told("entries")["entries"], json!([]), "it goes on");
    let other = vec![7; 16];
    let mut later = Page::open(&stage, &stage.client.token);
    later.say(&json!({ "follow": { "session": session, "after": seq, "hash": other } }));
    assert_eq!(later.told("refused")["problem"]["code"], "another_log");
    later.say(&json!({ "follow": { "session": session } }));
    assert_eq!(later.told("snapshot")["state"]["link"]["hash"], *hash);
}

//! Reading a session as it happens: snapshot, entries, cursors, and what a cursor may not be.

use serde_json::{Value, json};
use session::{Entry, Epoch, Event, Link, Session, Time, fold, view};

use crate::stage::Stage;

#[test]
fn a_stream_begins_with_a_snapshot_and_goes_on_live() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 2 of before");
    let mut stream = stage.client.follow(&session, None).unwrap();
    let snapshot = stream.event().unwrap().unwrap();
    let body: Value = serde_json::from_str(&snapshot.data).unwrap();
    assert_eq!(snapshot.name, "snapshot");
    assert_eq!(snapshot.id, body["seq"].as_u64());
    assert_eq!(body["turns"].as_array().unwrap().len(), 1);
    let caught_up = stream.event().unwrap().unwrap();
    assert_eq!((caught_up.name.as_str(), caught_up.id), ("caught_up", None));
    stage.client.post(&session, "say 2 of live").unwrap();
    let entry = stream.event().unwrap().unwrap();
    assert_eq!((entry.name.as_str(), entry.id), ("entry", snapshot.id.map(|id| id + 1)));
    stream.until("run_ended").unwrap();
}

/// After a restored backup, the number of an entry may be another entry's.
#[test]
fn a_stream_does_not_go_on_in_another_log() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 2 of one");
    let mut stream = stage.client.follow(&session, Some(0)).unwrap();
    let first = stream.event().unwrap().unwrap();
    let second = stream.event().unwrap().unwrap();
    let (first, second) = (first.cursor.unwrap(), second.cursor.unwrap());
    let mut resumed = stage.client.follow_after(&session, &first).unwrap();
    assert_eq!(resumed.event().unwrap().unwrap().cursor, Some(second.clone()));
    let (_, hash) = second.split_once('.').unwrap();
    let path = format!("/sessions/{session}/events?after=1.{hash}");
    let reply = stage.ask("GET", &path, &json!({}));
    assert_eq!((reply.status, reply.body["code"].as_str()), (409, Some("another_log")));
    let refused = stage.client.follow_after(&session, &format!("1.{hash}")).unwrap_err();
    assert_eq!(refused.to_string(), "no stream: HTTP/1.1 409 Conflict");
}

#[test]
fn a_cursor_that_cannot_be_is_refused() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let path = |rest: &str| format!("/sessions/{session}/events{rest}");
    for (rest, status, code) in [
        ("?after=2", 409, "beyond_end"),
        ("?after=18446744073709551615", 409, "beyond_end"),
        ("?after=-1", 400, "bad_request"),
        ("?after=x", 400, "bad_request"),
        ("?after=1.", 400, "bad_request"),
        ("?after=1.xyz", 400, "bad_request"),
        ("?after=1&more=1", 400, "bad_request"),
    ] {
        let reply = stage.ask("GET", &path(rest), &json!({}));
        assert_eq!((reply.status, reply.body["code"].as_str()), (status, Some(code)), "{rest}");
    }
    let unknown = "/sessions/00000000-0000-0000-0000-000000000009/events";
    assert_eq!(stage.ask("GET", unknown, &json!({})).status, 404);
}

#[test]
fn the_view_at_every_entry_is_the_fold_of_the_log_up_to_it() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 5 of one call think 2");
    stage.answered(&session, "say 5 of two cut 3");
    stage.must("POST", &format!("/sessions/{session}/undo"), &json!({}));
    stage.must("POST", &format!("/sessions/{session}/put-back"), &json!({}));
    stage.restart();
    let log = stage.log(&session);
    assert!(log.len() > 20);
    let mut state = Session::default();
    let mut link = Link::START;
    for entry in &log {
        let event: Event = serde_json::from_value(entry["event"].clone()).unwrap();
        let sealed = Entry::seal(&link, Time(entry["time"].as_i64().unwrap()), Epoch(1), event);
        link = sealed.link();
        fold(&mut state, &sealed);
        let seq = entry["seq"].as_u64().unwrap();
        let mut served = stage.must("GET", &format!("/sessions/{session}?at={seq}"), &json!({}));
        served.as_object_mut().unwrap().remove("session");
        assert_eq!(served, serde_json::to_value(view(&state)).unwrap(), "at {seq}");
    }
    let beyond = stage.ask("GET", &format!("/sessions/{session}?at={}", log.len() + 1), &json!({}));
    assert_eq!(beyond.body["code"], "beyond_end");
}

#[test]
fn no_content_can_forge_an_event() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let text = "a\nid: 99\n\nevent: entry\ndata: {}\r\n\r\u{2028}\u{2029}\u{0}\u{85} say 1 of x";
    stage.client.post(&session, text).unwrap();
    stage.client.follow(&session, Some(0)).unwrap().until("run_ended").unwrap();
    let log = stage.log(&session);
    let seqs: Vec<u64> = log.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(log[1]["event"]["message_posted"]["message"]["text"], text);
}

//! What stands around the conversations: states and counts of the list, search with excerpts, the readable log, how the
//! server is, and breaking on purpose.

#![expect(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};

use crate::people::user;
use crate::stage::Stage;

fn get(stage: &Stage, path: &str) -> Value {
    stage.must("GET", path, &json!({}))
}

fn sessions(page: &Value) -> Vec<&str> {
    page["sessions"].as_array().unwrap().iter().map(|line| line["session"].as_str().unwrap()).collect()
}

/// A session in which an answer is being written.
fn busy(stage: &Stage) -> String {
    let session = stage.client.create().unwrap();
    let kept = stage.client.post(&session, "say 100000 of heron pace 5").unwrap();
    let mut stream = stage.client.follow(&session, kept["turn"].as_u64()).unwrap();
    stream.until("text_added").unwrap();
    session
}

#[test]
fn what_goes_on_and_what_needs_a_person_is_listed_and_counted() {
    let stage = Stage::new();
    let quiet = stage.client.create().unwrap();
    let failed = stage.client.create().unwrap();
    stage.answered(&failed, "say 1 of heron refuse 9 status 400");
    let live = busy(&stage);
    assert_eq!(sessions(&get(&stage, "/sessions?state=live")), [live.as_str()]);
    let needing = get(&stage, "/sessions?state=needs_you");
    assert_eq!(sessions(&needing), [failed.as_str()]);
    assert_eq!(needing["sessions"][0]["needs"], "failed");
    let counts = get(&stage, "/sessions/counts");
    assert_eq!(
        counts,
        json!({ "active": 3, "live": 1, "needs_you": 1, "archived": 0, "trash": 0, "trash_days": 30 })
    );
    stage.must("PATCH", &format!("/sessions/{quiet}"), &json!({ "trashed": true }));
    stage.must("PATCH", &format!("/sessions/{failed}"), &json!({ "archived": true }));
    let counts = get(&stage, "/sessions/counts");
    assert_eq!(
        counts,
        json!({ "active": 1, "live": 1, "needs_you": 0, "archived": 1, "trash": 1, "trash_days": 30 })
    );
    stage.must("PATCH", &format!("/sessions/{live}"), &json!({ "pinned": true }));
    assert_eq!(sessions(&get(&stage, "/sessions?pinned=true")), [live.as_str()]);
    assert_eq!(stage.ask("GET", "/sessions?pinned=true&state=live", &json!({})).status, 400);
    assert!(get(&stage, "/sessions?shelf=trash")["sessions"][0]["trashed_at"].is_i64());
    assert_eq!(stage.ask("GET", "/sessions?state=asleep", &json!({})).status, 400);
}

#[test]
fn a_search_shows_the_words_around_its_hits_and_is_narrowed() {
    let stage = Stage::new();
    let (birds, other) = (stage.client.create().unwrap(), stage.client.create().unwrap());
    stage.answered(&birds, "say 1 of stork tell me where grey herons nest");
    stage.answered(&other, "say 1 of stork herons again");
    stage.must("PATCH", &format!("/sessions/{birds}"), &json!({ "title": "Nests of herons" }));
    stage.must("PATCH", &format!("/sessions/{birds}"), &json!({ "tags": ["birds"] }));
    // Words are found a moment after they are kept.
    let find = |query: &str, count: usize| {
        for _ in 0..400 {
            let hits = get(&stage, &format!("/search?words={query}"))["hits"].as_array().unwrap().clone();
            if hits.len() == count {
                return hits;
            }
            std::thread::yield_now();
        }
        panic!("{query}: {}", get(&stage, &format!("/search?words={query}")));
    };
    let hits = find("herons", 3);
    assert_eq!((&hits[0]["turn"], &hits[0]["title"]), (&Value::Null, &json!("Nests of herons")));
    let marked = json!([{ "text": "Nests of ", "hit": false }, { "text": "herons", "hit": true }]);
    assert_eq!(hits[0]["excerpt"], marked);
    let said = json!([
        { "text": "say 1 of stork tell me where grey ", "hit": false }, { "text": "herons", "hit": true }, { "text": " nest", "hit": false }
    ]);
    assert_eq!((&hits[2]["excerpt"], &hits[2]["run"]), (&said, &Value::Null));
    assert!(hits[2]["at"].is_i64());
    assert_eq!(find("herons&tag=birds", 2)[1]["session"], birds.as_str());
    assert_eq!(find("herons&said_by=person", 2)[0]["session"], other.as_str());
    assert_eq!(find("herons&said_by=agent", 0), Vec::<Value>::new());
    stage.must("PATCH", &format!("/sessions/{other}"), &json!({ "trashed": true }));
    assert_eq!(find("again", 0), Vec::<Value>::new());
    assert_eq!(find("again&shelf=trash", 1)[0]["trashed"], true);
}

#[test]
fn pages_of_a_search_join_and_names_and_texts_share_them() {
    let stage = Stage::new();
    let sessions: Vec<String> = (0..3).map(|_| stage.client.create().unwrap()).collect();
    for session in &sessions {
        stage.answered(session, "say 1 of stork about quokkas");
        stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "title": "Quokka planning" }));
    }
    let page = |before: Option<&str>, count: usize| {
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        get(&stage, &format!("/search?words=quokka&count={count}{before}"))
    };
    // Words are found a moment after they are kept.
    while page(None, 100)["hits"].as_array().unwrap().len() < 6 {
        std::thread::yield_now();
    }
    let all = page(None, 100);
    assert_eq!(all["next"], Value::Null);
    for count in [1, 2, 3, 4] {
        let (mut hits, mut before) = (Vec::new(), None::<String>);
        loop {
            let page = page(before.as_deref(), count);
            hits.extend(page["hits"].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => before = Some(next.to_owned()),
                None => break,
            }
        }
        let place = |hit: &Value| (hit["session"].to_string(), hit["turn"].to_string());
        let mut found: Vec<_> = hits.iter().map(place).collect();
        let mut expected: Vec<_> = all["hits"].as_array().unwrap().iter().map(place).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "pages of {count}");
    }
    let mixed = page(None, 2);
    assert_eq!((&mixed["hits"][0]["turn"], mixed["hits"][1]["turn"].is_u64()), (&Value::Null, true));
    assert_eq!(stage.ask("GET", "/search?words=quokka&before=1", &json!({})).status, 400);
}

#[test]
fn the_log_is_told_newest_first_in_pages_that_join() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    for round in 0..3 {
        stage.answered(&session, &format!("say 40 of heron{round}"));
    }
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "title": "Herons" }));
    let whole = get(&stage, &format!("/sessions/{session}/log?count=500"));
    assert_eq!(whole["next"], Value::Null);
    let whole = whole["entries"].as_array().unwrap();
    assert!(whole[0]["event"].get("session_renamed").is_some());
    assert!(whole.last().unwrap()["event"].get("session_created").is_some());
    let posted = |line: &&Value| line["event"].get("message_posted").is_some();
    let device = &whole.iter().find(posted).unwrap()["event"]["message_posted"]["message"]["device"];
    assert_eq!(device, "command line");
    // No entry is left out or told twice, and what was streamed is one line.
    let mut expected = stage.log(&session).len() as u64;
    for line in whole {
        let last = line["until_seq"].as_u64().unwrap_or_else(|| line["seq"].as_u64().unwrap());
        assert_eq!(last, expected, "{line}");
        expected = line["seq"].as_u64().unwrap() - 1;
    }
    assert_eq!(expected, 0);
    assert_eq!(whole.iter().filter(|line| line["event"].get("streamed").is_some()).count(), 3);
    for count in [1, 2, 5] {
        let (mut joined, mut before) = (Vec::new(), String::new());
        for _ in 0..whole.len() {
            let page = get(&stage, &format!("/sessions/{session}/log?count={count}{before}"));
            joined.extend(page["entries"].as_array().unwrap().clone());
            let Some(next) = page["next"].as_u64() else { break };
            before = format!("&before={next}");
        }
        assert_eq!(&joined, whole, "in pages of {count}");
    }
}

#[test]
fn a_run_of_a_scratch_session_can_be_broken_and_heals() {
    let stage = Stage::new();
    let session = busy(&stage);
    let at = format!("/sessions/{session}/break");
    assert_eq!(stage.ask("POST", &at, &json!({})).body["code"], "not_scratch");
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "tags": ["scratch"] }));
    let (_, bob) = user(&stage, "bob", "write");
    assert_eq!(bob.ask("POST", &at, &json!({})).unwrap().status, 403);
    let before = stage.log(&session);
    assert_eq!(stage.ask("POST", &at, &json!({})).status, 204);
    let mut stream = stage.client.follow(&session, Some(before.len() as u64)).unwrap();
    stream.until("run_started").unwrap();
    stream.until("text_added").unwrap();
    let after = stage.log(&session);
    assert_eq!(after[..before.len()], before[..], "nothing that was there changed");
    let ended = after.iter().filter(|entry| entry["event"].get("run_ended").is_some());
    let ends: Vec<_> = ended.map(|entry| entry["event"]["run_ended"]["end"].clone()).collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["interrupted"]["reason"], "crash");
    // Where nothing goes on, nothing is broken.
    let quiet = stage.client.create().unwrap();
    stage.must("PATCH", &format!("/sessions/{quiet}"), &json!({ "tags": ["scratch"] }));
    let length = stage.log(&quiet).len();
    assert_eq!(stage.ask("POST", &format!("/sessions/{quiet}/break"), &json!({})).status, 204);
    assert_eq!(stage.log(&quiet).len(), length);
}

#[test]
fn owners_are_told_how_the_server_is() {
    let stage = Stage::new();
    let session = busy(&stage);
    let told = get(&stage, "/server");
    assert_eq!((&told["open_runs"], &told["store"]["kind"]), (&json!(1), &json!("sqlite")));
    assert_eq!((&told["store"]["writable"], &told["store"]["problem"]), (&json!(true), &Value::Null));
    assert!(told["storage"]["logs_bytes"].as_u64().unwrap() > 0, "{told}");
    assert!(told["storage"]["people_bytes"].as_u64().unwrap() > 0, "{told}");
    assert!(told["disk"]["free_bytes"].as_u64().unwrap() < told["disk"]["total_bytes"].as_u64().unwrap());
    assert!(!told["samples"].as_array().unwrap().is_empty());
    assert!(!told.to_string().contains(&session), "it names no session");
    let (_, bob) = user(&stage, "bob", "write");
    assert_eq!(bob.ask("GET", "/server", &json!({})).unwrap().status, 403);
}

#[test]
fn a_share_of_what_is_in_the_trash_leads_nowhere() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 2 of heron");
    let share = stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let at = format!("/shared/{}", share["secret"].as_str().unwrap());
    assert_eq!(stage.ask("GET", &at, &json!({})).status, 200);
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "trashed": true }));
    assert_eq!(stage.ask("GET", &at, &json!({})).status, 404);
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "trashed": false }));
    assert_eq!(stage.ask("GET", &at, &json!({})).status, 200);
}

#[test]
fn a_share_does_not_show_the_errors_of_a_provider() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 2 of heron refuse 9 status 401");
    let told = stage.view(&session)["turns"][0]["marker"].clone();
    assert!(told["kind"] == "failed" && told["text"].as_str().unwrap().contains("401"), "{told}");
    let share = stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let shared = stage.must("GET", &format!("/shared/{}", share["secret"].as_str().unwrap()), &json!({}));
    assert_eq!(shared["turns"][0]["marker"]["text"], "The answer failed.");
}

#[test]
fn a_share_does_not_show_why_a_request_is_retried() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.client.post(&session, "say 2 of heron refuse 9 status 429").unwrap();
    stage.client.follow(&session, Some(0)).unwrap().until("retry_scheduled").unwrap();
    // Each wait is longer than the one before; the view is taken within one of them.
    let waiting = (0..100).map(|_| stage.view(&session)["turns"][0]["retry"].clone());
    let retry = waiting.into_iter().find(Value::is_object).unwrap();
    assert!(retry["error"].as_str().unwrap().contains("HTTP 429"), "{retry}");
    let share = stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let shared = stage.must("GET", &format!("/shared/{}", share["secret"].as_str().unwrap()), &json!({}));
    assert!(shared["turns"][0]["retry"].is_null() && !shared.to_string().contains("HTTP 429"), "{shared}");
    stage.must("POST", &format!("/sessions/{session}/stop"), &json!({}));
    assert!(stage.view(&session)["turns"][0]["retry"].is_null());
}

/// Which device said something, and stopped it, stands in the log.
#[test]
fn a_stop_tells_on_which_device_it_was() {
    let stage = Stage::new();
    let session = busy(&stage);
    let phone = stage.must("POST", "/tokens", &json!({ "name": "Phone", "scope": "write" }));
    let phone = testkit::client::Client {
        port: stage.client.port,
        token: phone["token"].as_str().unwrap().to_owned(),
    };
    phone.must("POST", &format!("/sessions/{session}/stop"), &json!({})).unwrap();
    let view = stage.view(&session);
    assert_eq!(view["turns"][0]["marker"]["device"], "Phone");
    assert_eq!(view["turns"][0]["message"]["device"], "command line");
    // Who reads by a link is told nothing of it.
    let share = stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let shared = stage.must("GET", &format!("/shared/{}", share["secret"].as_str().unwrap()), &json!({}));
    assert_eq!((&shared["turns"][0]["turn"], &shared["earlier"]), (&json!(2), &json!(false)));
    assert!(!shared.to_string().contains("device"), "{shared}");
    // The same message from another device is the same message.
    let path = format!("/sessions/{session}/messages");
    let body = json!({ "text": "say 1 of stork" });
    let said = |client: &testkit::client::Client| {
        let (status, reply) = client.exchange("POST", &path, "idempotency-key: key-1\r\n", &body).unwrap();
        assert!((200..300).contains(&status), "{status} {}", String::from_utf8_lossy(&reply));
        serde_json::from_slice::<Value>(&reply).unwrap()["turn"].clone()
    };
    assert_eq!(said(&stage.client), said(&phone));
}

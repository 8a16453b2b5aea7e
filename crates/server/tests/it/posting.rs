//! What a person asks over HTTP: kept once, whatever happens to the connection, and undone, retried and branched.

#![expect(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};

use crate::stage::{Stage, text};

/// Posts with a key.
fn post(stage: &Stage, session: &str, key: &str, body: &Value) -> (u16, Value) {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
    let (token, body) = (&stage.client.token, body.to_string());
    let length = body.len();
    write!(
        socket,
        "POST /api/v1/sessions/{session}/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\nidempotency-key: {key}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split_whitespace().nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_key_is_kept_once_across_restarts_and_never_for_another_body() {
    let mut stage = Stage::new();
    let session = stage.client.create().unwrap();
    let body = json!({ "text": "say 3 of a" });
    let (status, first) = post(&stage, &session, "k1", &body);
    assert_eq!(status, 202);
    let (_, again) = post(&stage, &session, "k1", &body);
    assert_eq!(again["turn"], first["turn"]);
    stage.restart();
    let (status, later) = post(&stage, &session, "k1", &body);
    assert_eq!((status, &later["turn"]), (202, &first["turn"]));
    let (status, other) = post(&stage, &session, "k1", &json!({ "text": "say 4 of a" }));
    assert_eq!((status, other["code"].as_str()), (422, Some("key_reused")));
    let posted =
        stage.log(&session).iter().filter(|entry| entry["event"]["message_posted"].is_object()).count();
    assert_eq!(posted, 1);
    assert_eq!(post(&stage, &session, &"k".repeat(201), &body).0, 400);
}

#[test]
fn a_session_is_made_once_under_its_makers_id() {
    let stage = Stage::new();
    let body = json!({ "id": "00000000-0000-4000-8000-000000000001", "title": "mine" });
    assert_eq!(stage.ask("POST", "/sessions", &body).status, 201);
    let again = stage.ask("POST", "/sessions", &body);
    assert_eq!((again.status, again.body["code"].as_str()), (409, Some("session_exists")));
}

#[test]
fn an_answer_has_text_usage_calls_and_reasoning() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "say 4 of word call think 2");
    let view = stage.view(&session);
    let turn = &view["turns"][0];
    assert_eq!(text(turn), "word.1 word.2 word.3 word.4 ");
    let parts = turn["answer"]["parts"].as_array().unwrap();
    let call = parts.iter().find_map(|part| part.get("call")).unwrap();
    assert_eq!((call["tool"].as_str(), call["state"].as_str()), (Some("clock"), Some("finished")));
    assert!(call["result"].as_str().unwrap().contains("UTC"));
    assert!(parts.iter().any(|part| part["reasoning"] == "thought.1 thought.2 "));
    assert_eq!(turn["usage"], json!({ "input_tokens": 20, "output_tokens": 5 }));
    assert_eq!(turn["answer"]["complete"], true);
}

#[test]
fn a_waiting_message_is_changed_withdrawn_and_taken_in_its_turn() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let running = stage.client.post(&session, "say 1000 of slow pace 20").unwrap();
    let second = stage.client.post(&session, "say 1 of second").unwrap();
    let third = stage.client.post(&session, "say 1 of third").unwrap();
    assert!(second["run"].is_null() && third["run"].is_null());
    let path = |kept: &Value| format!("/sessions/{session}/queue/{}", kept["turn"]);
    stage.must("PUT", &path(&second), &json!({ "text": "say 2 of changed" }));
    stage.must("DELETE", &path(&third), &json!({}));
    assert_eq!(stage.view(&session)["queue"].as_array().unwrap().len(), 1);
    stage.must("POST", &format!("/sessions/{session}/stop"), &json!({ "run": running["run"] }));
    let stopped = stage.view(&session);
    assert_eq!((&stopped["run"], &stopped["queue"][0]["paused"]), (&Value::Null, &json!(true)));
    stage.must("POST", &format!("/sessions/{session}/queue/resume"), &json!({}));
    stage.client.follow(&session, second["turn"].as_u64()).unwrap().until("run_started").unwrap();
    let mut stream = stage.client.follow(&session, second["turn"].as_u64()).unwrap();
    while stream.until("run_ended").unwrap().1["turn"] != second["turn"] {}
    let view = stage.view(&session);
    assert_eq!(view["turns"][0]["marker"]["kind"], "stopped");
    assert_eq!(text(&view["turns"][1]), "changed.1 changed.2 ");
    assert_eq!(view["queue"], json!([]));
    let gone = stage.ask("DELETE", &path(&second), &json!({}));
    assert_eq!((gone.status, gone.body["code"].as_str()), (409, Some("not_queued")));
}

#[test]
fn turns_are_undone_put_back_retried_edited_and_branched() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let first = stage.answered(&session, "say 1 of one");
    let second = stage.answered(&session, "say 1 of two");
    let at = |rest: &str| format!("/sessions/{session}{rest}");
    stage.must("POST", &at("/undo"), &json!({}));
    assert_eq!(stage.view(&session)["turns"].as_array().unwrap().len(), 1);
    stage.must("POST", &at("/put-back"), &json!({}));
    let retried = stage.must("POST", &at("/retry"), &json!({}));
    stage.client.follow(&session, retried["seq"].as_u64()).unwrap().until("run_ended").unwrap();
    let turn = stage.view(&session)["turns"][1].clone();
    let alternatives = turn["alternatives"].as_array().unwrap().clone();
    assert_eq!(alternatives.len(), 2);
    stage.must("PUT", &at(&format!("/turns/{second}/answer")), &json!({ "run": alternatives[0] }));
    assert_eq!(stage.view(&session)["turns"][1]["answer"]["run"], alternatives[0]);

    let branch = stage.must("POST", &at("/branch"), &json!({ "turn": first }));
    let branch = branch["session"].as_str().unwrap();
    let turns = stage.view(branch)["turns"].clone();
    assert_eq!((turns.as_array().unwrap().len(), text(&turns[0]).as_str()), (1, "one.1 "));

    let empty = stage.must("POST", &at("/branch"), &json!({ "turn": 0 }));
    assert!(stage.view(empty["session"].as_str().unwrap())["turns"].as_array().unwrap().is_empty());

    let whole = stage.must("POST", &at("/branch"), &json!({}));
    assert_eq!(stage.view(whole["session"].as_str().unwrap())["turns"].as_array().unwrap().len(), 2);

    let edited = stage.must("PUT", &at(&format!("/turns/{first}")), &json!({ "text": "say 1 of other" }));
    stage.client.follow(&session, edited["turn"].as_u64()).unwrap().until("run_ended").unwrap();
    let view = stage.view(&session);
    assert_eq!((view["turns"].as_array().unwrap().len(), text(&view["turns"][0]).as_str()), (1, "other.1 "));
    assert_eq!(stage.ask("POST", &at("/continue"), &json!({})).body["code"], "nothing_to_continue");
    stage.must("POST", &at("/clear"), &json!({}));
    assert_eq!(stage.view(&session)["turns"], json!([]));
}

#[test]
fn an_attachment_is_kept_read_by_the_agent_and_given_back() {
    use std::io::{Read, Write};
    let stage = Stage::new();
    let file = stage.attach("bird.txt", "text/plain", b"heron\n");
    let session = stage.client.create().unwrap();
    let body = json!({ "text": "say 1 of it", "attachments": [file] });
    let posted = stage.must("POST", &format!("/sessions/{session}/messages"), &body);
    stage.client.follow(&session, posted["turn"].as_u64()).unwrap().until("run_ended").unwrap();
    assert_eq!(stage.view(&session)["turns"][0]["message"]["attachments"], json!([file]));
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
    let (blob, token) = (file["blob"].as_str().unwrap(), &stage.client.token);
    write!(socket, "GET /api/v1/attachments/{blob} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "heron\n");
    assert!(head.contains("content-disposition: attachment") && head.contains("nosniff"), "{head}");
    assert_eq!(stage.ask("GET", "/attachments/00", &json!({})).status, 404);
}

#[test]
fn a_session_is_compacted_by_hand() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let compact = || stage.ask("POST", &format!("/sessions/{session}/compact"), &json!({}));
    let nothing = compact();
    assert_eq!((nothing.status, &nothing.body["code"]), (409, &json!("nothing_to_compact")));
    let turn = stage.answered(&session, "say 3 of heron");
    assert_eq!(compact().status, 409, "the newest turn stays in full");
    stage.answered(&session, "say 2 of stork");
    assert_eq!(compact().status, 200);
    let log = stage.log(&session);
    let compacted = log.iter().find_map(|entry| entry["event"].get("context_compacted")).unwrap();
    assert_eq!(*compacted, json!({ "summary": "Herons", "through": turn }));
    assert_eq!(stage.view(&session)["turns"].as_array().unwrap().len(), 2, "the transcript stays");
    assert_eq!(compact().status, 409, "there is nothing new");
    // The newest turn is answered again with its own message in the prompt.
    stage.must("POST", &format!("/sessions/{session}/retry"), &json!({}));
    stage.client.follow(&session, Some(log.len() as u64)).unwrap().until("run_ended").unwrap();
    let view = stage.view(&session);
    assert_eq!(view["turns"][1]["answer"]["parts"][0]["text"], "stork.1 stork.2 ");
}

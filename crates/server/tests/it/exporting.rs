//! Sessions as files: what is in them, what cannot be forged, and all of them at once.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::people::user;
use crate::stage::Stage;

/// The head and the whole body of what is asked for, as text.
fn fetch(port: u16, token: &str, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(socket, "GET /api/v1{path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A session with a turn of two answers, one that was undone, a file and a hostile title.
fn filled(stage: &Stage) -> String {
    let made = stage.must("POST", "/sessions", &json!({ "title": "a\r\nset-cookie: x=\"<script>\u{202e}" }));
    let session = made["session"].as_str().unwrap().to_owned();
    stage.answered(&session, "say 2 of heron <b>");
    let retried = stage.must("POST", &format!("/sessions/{session}/retry"), &json!({}));
    let after = retried["seq"].as_u64().unwrap();
    stage.client.follow(&session, Some(after)).unwrap().until("run_ended").unwrap();
    stage.answered(&session, "say 1 of mistake");
    stage.must("POST", &format!("/sessions/{session}/undo"), &json!({}));
    session
}

#[test]
fn a_session_is_exported_whole_in_every_format() {
    let stage = Stage::new();
    let session = filled(&stage);
    let get = |format: &str| {
        fetch(stage.client.port, &stage.client.token, &format!("/sessions/{session}/export{format}"))
    };
    let (head, body) = get("");
    let read: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(read["everturn_export"], 1);
    assert_eq!(read["session"], session.as_str());
    let turns = read["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["answers"].as_array().unwrap().len(), 2, "{body}");
    assert_eq!(
        (&turns[0]["answers"][0]["shown"], &turns[0]["answers"][1]["shown"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(turns[0]["hidden"], Value::Null);
    assert_eq!(turns[1]["hidden"]["by"], "undone");
    assert_eq!(turns[1]["answers"][0]["runs"][0]["end"], "completed");
    let parts = turns[0]["answers"][0]["runs"][0]["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["text"].as_str().is_some_and(|text| text.contains("heron.1"))));
    for (format, head, body) in [("", head, body)].into_iter().chain(["markdown", "html"].map(|format| {
        let (head, body) = get(&format!("?format={format}"));
        (format, head, body)
    })) {
        let head = head.to_lowercase();
        assert!(head.starts_with("http/1.0 200") || head.starts_with("http/1.1 200"), "{head}");
        assert!(!head.contains("\nset-cookie"), "{head}");
        let disposition = head.lines().find(|line| line.starts_with("content-disposition: ")).unwrap();
        assert!(
            disposition.starts_with("content-disposition: attachment; filename=\"a-set-cookie-x"),
            "{disposition}"
        );
        assert_eq!(disposition.matches('"').count(), 2, "{disposition}");
        assert!(body.contains("heron.1") && body.contains("mistake"), "{format}: {body}");
        let escaped = body.replace("\\<", "");
        assert!(format.is_empty() || !escaped.contains("<script"), "{format}: {body}");
    }
    let (refused, _) = get("?format=pdf");
    assert!(refused.contains(" 400 "), "{refused}");
}

#[test]
fn all_sessions_of_a_user_are_exported_a_line_each() {
    let stage = Stage::new();
    let (_, bob) = user(&stage, "bob", "read");
    let filled = filled(&stage);
    let mut made = vec![filled.clone()];
    for mark in ["archived", "trashed"] {
        let session = stage.client.create().unwrap();
        stage.must("PATCH", &format!("/sessions/{session}"), &json!({ mark: true }));
        made.push(session);
    }
    let erased = stage.client.create().unwrap();
    stage.must("DELETE", &format!("/sessions/{erased}"), &json!({}));
    let (head, body) = fetch(stage.client.port, &stage.client.token, "/export");
    assert!(head.to_lowercase().contains("application/x-ndjson"), "{head}");
    let lines: Vec<Value> = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut exported: Vec<&str> = lines.iter().map(|line| line["session"].as_str().unwrap()).collect();
    exported.sort_unstable();
    made.sort_unstable();
    assert_eq!(exported, made);
    let (_, one) = fetch(stage.client.port, &stage.client.token, &format!("/sessions/{filled}/export"));
    assert!(body.lines().any(|line| line == one), "a line is what the export of the one session is");
    let (_, none) = fetch(bob.port, &bob.token, "/export");
    assert_eq!(none, "", "what is another's is not there");
}

#[test]
fn the_command_line_writes_one_session_or_all() {
    let stage = Stage::new();
    let session = filled(&stage);
    let other = stage.client.create().unwrap();
    let run = |words: &[&str]| {
        stage.setup.command().env("EVERTURN_TOKEN", &stage.client.token).args(words).output().unwrap()
    };
    let printed = run(&["export", &session]);
    let read: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(read["session"], session.as_str());
    let folder = stage.setup.home.join("files");
    let file = stage.setup.home.join("one.html");
    assert!(run(&["export", &session, "--format", "html", "--out", file.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("</html>\n"));
    let all = run(&["export", "--all", folder.to_str().unwrap(), "--format", "markdown"]);
    assert!(all.status.success(), "{}", String::from_utf8_lossy(&all.stderr));
    assert!(String::from_utf8_lossy(&all.stderr).contains("2/2"));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected = [format!("a-set-cookie-x-script-{session}.md"), format!("trial-{other}.md")];
    expected.sort();
    assert_eq!(names, expected);
    assert!(!run(&["export", "00000000-0000-0000-0000-000000000009"]).status.success());
    assert!(!run(&["export"]).status.success());
}

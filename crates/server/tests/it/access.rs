//! Who is let in: every route that the description lists, with every kind of wrong token.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::stage::Stage;

/// Routes that show nothing of any session.
const OPEN: [&str; 5] =
    ["/api/v1/health", "/api/v1/login/ways", "/api/v1/openapi.json", "/api/v1/ready", "/api/v1/reference"];
/// Routes that are opened by what is sent to them, and by nothing else.
const BY_SECRET: [&str; 6] = [
    "/api/v1/login",
    "/api/v1/login/openid/{name}",
    "/api/v1/login/openid/{name}/return",
    "/api/v1/login/passkey/begin",
    "/api/v1/login/passkey/finish",
    "/api/v1/shared/{secret}",
];

/// A path with an id in every place for one.
pub(crate) fn filled(path: &str, id: &str) -> String {
    let path = path.replace("{turn}", "1").replace("{blob}", &"0".repeat(64)).replace("{secret}", "evs_00");
    ["{session}", "{user}", "{token}", "{login}", "{share}", "{project}", "{upload}", "{passkey}"]
        .into_iter()
        .fold(path, |path, place| path.replace(place, id))
}

/// Sends a request as it is, and answers status and body.
pub(crate) fn raw(stage: &Stage, request: &str) -> (u16, String) {
    let (status, _, body) = whole(stage, request);
    (status, body)
}

/// The same with the head.
pub(crate) fn whole(stage: &Stage, request: &str) -> (u16, String, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let status = reply.split_whitespace().nth(1).unwrap().parse().unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (status, head.to_owned(), body.to_owned())
}

#[test]
fn every_route_but_the_open_ones_wants_a_token() {
    let stage = Stage::new();
    let api = stage.must("GET", "/openapi.json", &json!({}));
    let mut closed = 0;
    for (path, methods) in api["paths"].as_object().unwrap() {
        let id = "00000000-0000-0000-0000-000000000001";
        let filled = filled(path, id);
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let wrong = [
                "",
                "authorization: Bearer evt_wrong\r\n",
                "authorization: Basic ZXZ0Ong=\r\n",
                "authorization: Bearer \r\n",
                "x-api-key: evt_wrong\r\n",
            ];
            for header in wrong {
                let request = format!(
                    "{method} {filled} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n{header}\r\n"
                );
                let (status, body) = raw(&stage, &request);
                if OPEN.contains(&path.as_str()) {
                    assert_eq!(status, 200, "{method} {path}");
                } else if BY_SECRET.contains(&path.as_str()) {
                    assert!((400..500).contains(&status), "{method} {path}: {status}");
                } else {
                    assert_eq!(status, 401, "{method} {path} with {header:?}");
                    assert!(body.contains("not_authorised"), "{body}");
                    closed += 1;
                }
            }
        }
    }
    assert!(closed >= 5 * 20, "the description lists the routes: {closed}");
}

/// A client generator names its methods after the ids.
#[test]
fn every_operation_has_an_id_of_its_own_and_described_responses() {
    let stage = Stage::new();
    let api = stage.must("GET", "/openapi.json", &json!({}));
    let mut ids = BTreeSet::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let is_word = |word: &str| {
                !word.is_empty() && word.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
            };
            assert!(id.split('.').count() == 2 && id.split('.').all(is_word), "{method} {path}: {id}");
            assert!(ids.insert(id), "{id} is used twice");
            assert!(operation["security"].is_array(), "{id}: {operation}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(!response["description"].as_str().unwrap_or_default().is_empty(), "{id} {status}");
                let is_problem = response["content"]["application/problem+json"].is_object();
                assert_eq!(is_problem, status == "default", "{id} {status}: {response}");
            }
        }
    }
    assert!(ids.len() > 90, "the description lists the operations: {}", ids.len());
}

#[test]
fn a_request_that_names_another_host_is_refused() {
    let stage = Stage::new();
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.evil.example"] {
        let request = format!("GET /api/v1/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        assert_eq!(raw(&stage, &request).0, 421, "{host}");
    }
    for host in ["localhost", "127.0.0.1:8440", "[::1]:8440", "localhost:1"] {
        let request = format!("GET /api/v1/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        assert_eq!(raw(&stage, &request).0, 200, "{host}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_a_problem() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    let cases: [(&str, String, Value, u16, &str); 9] = [
        ("POST", "/sessions".to_owned(), json!({ "id": 7 }), 400, "bad_request"),
        ("POST", "/sessions".to_owned(), json!({ "what": 7 }), 400, "bad_request"),
        ("POST", format!("/sessions/{session}/messages"), json!({ "text": "" }), 422, "empty_message"),
        (
            "POST",
            format!("/sessions/{session}/messages"),
            json!({ "text": "x".repeat(4 * 1024 * 1024 + 1) }),
            413,
            "message_too_long",
        ),
        (
            "PATCH",
            format!("/sessions/{session}"),
            json!({ "title": "a", "pinned": true }),
            400,
            "bad_request",
        ),
        ("GET", "/sessions/not-an-id".to_owned(), json!({}), 400, "bad_request"),
        (
            "GET",
            "/sessions/00000000-0000-0000-0000-000000000009".to_owned(),
            json!({}),
            404,
            "session_not_found",
        ),
        ("GET", "/sessions?before=x".to_owned(), json!({}), 400, "bad_request"),
        ("PUT", "/sessions".to_owned(), json!({}), 405, "method_not_allowed"),
    ];
    for (method, path, body, status, code) in cases {
        let reply = stage.ask(method, &path, &body);
        assert_eq!(
            (reply.status, reply.body["code"].as_str()),
            (status, Some(code)),
            "{method} {path}: {}",
            reply.body
        );
        assert!(reply.body["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    }
    let other = raw(&stage, "GET /elsewhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert_eq!(other.0, 404);
}

#[test]
fn a_token_made_beside_a_running_server_is_let_in_and_only_its_hash_is_kept() {
    let stage = Stage::new();
    let made = stage.setup.command().args(["token", "new"]).output().unwrap();
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert!(token.starts_with("evt_") && token.len() == 68, "{token}");
    let client = testkit::client::Client { token: token.clone(), port: stage.client.port };
    client.create().unwrap();
    for entry in std::fs::read_dir(&stage.setup.data).unwrap() {
        let path = entry.unwrap().path();
        let kept = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let found = kept.windows(token.len()).any(|window| window == token.as_bytes());
        assert!(!found, "{} has the token itself", path.display());
    }
}

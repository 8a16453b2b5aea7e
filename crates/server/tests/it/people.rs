//! Several users of one server: what each may see and do, and how quickly that is taken away.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::client::Client;

use crate::access::{filled, raw};
use crate::stage::Stage;

const PASSWORD: &str = "correct horse battery";

/// A way to take somebody's access away.
type Way<'a> = Box<dyn Fn() + 'a>;

/// Adds a user and answers his id and a client with his token.
pub(crate) fn user(stage: &Stage, name: &str, scope: &str) -> (String, Client) {
    let body = json!({ "name": name, "role": "member", "password": PASSWORD });
    let known = stage.must("GET", "/users", &json!({}));
    let found = known["users"].as_array().unwrap().iter().find(|user| user["name"] == name);
    let id = match found {
        Some(user) => user["user"].clone(),
        None => stage.must("POST", "/users", &body)["user"].clone(),
    };
    let made =
        stage.setup.command().args(["token", "new", "--user", name, "--scope", scope]).output().unwrap();
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    (id.as_str().unwrap().to_owned(), Client { token, port: stage.client.port })
}

/// Logs in and answers status, body and cookie.
fn log_in(stage: &Stage, name: &str, password: &str) -> (u16, String, Option<String>) {
    let body = json!({ "name": name, "password": password }).to_string();
    let request = format!(
        "POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, head, body) = crate::access::whole(stage, &request);
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).map(str::to_owned);
    (status, body, cookie)
}

fn with_cookie(stage: &Stage, method: &str, path: &str, cookie: &str, headers: &str) -> u16 {
    let cookie = cookie.split(';').next().unwrap();
    let request = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncookie: {cookie}\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n{headers}\r\n{{}}"
    );
    raw(stage, &request).0
}

#[test]
fn another_users_session_is_as_unknown_as_none_on_every_route() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "a secret of the first user");
    let (_, other) = user(&stage, "bob", "write");
    let own = other.create().unwrap();
    let unknown = "00000000-0000-0000-0000-000000000001";
    let api = stage.must("GET", "/openapi.json", &json!({}));
    let bodies = [
        json!({}),
        json!({ "text": "x" }),
        json!({ "title": "x" }),
        json!({ "turn": 1 }),
        json!({ "run": 1 }),
    ];
    let mut looked = 0;
    for (path, methods) in api["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap();
        if !path.contains("{session}") {
            continue;
        }
        for method in methods.as_object().unwrap().keys() {
            for body in &bodies {
                let method = method.to_uppercase();
                let foreign = other.ask(&method, &filled(path, &session), body).unwrap();
                let none = other.ask(&method, &filled(path, unknown), body).unwrap();
                let told = foreign.body.to_string().replace(&session, unknown);
                assert_eq!(
                    (foreign.status, told),
                    (none.status, none.body.to_string()),
                    "{method} {path} {body}"
                );
                assert!((400..500).contains(&foreign.status), "{method} {path} {body}: {}", foreign.status);
                looked += 1;
            }
        }
    }
    assert!(looked >= 80, "the description lists the routes: {looked}");
    // Nothing of it is listed, found or named.
    let listed = other.must("GET", "/sessions", &json!({})).unwrap();
    let ids: Vec<&Value> =
        listed["sessions"].as_array().unwrap().iter().map(|line| &line["session"]).collect();
    assert_eq!(ids, [&json!(own)]);
    assert_eq!(other.must("GET", "/search?words=secret", &json!({})).unwrap()["hits"], json!([]));
    assert_eq!(other.ask("POST", "/sessions", &json!({ "after": session })).unwrap().status, 404);
    // And the first user still has it.
    assert_eq!(stage.view(&session)["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_is_named_and_read_by_whoever_brought_it() {
    let stage = Stage::new();
    let (_, other) = user(&stage, "bob", "write");
    let kept = stage.must("POST", "/attachments", &json!("bytes"));
    let file = kept["blob"].as_str().unwrap();
    let attachment = json!({ "name": "n", "media_type": "text/plain", "blob": file, "size_bytes": 7 });
    let message = json!({ "text": "x", "attachments": [attachment] });
    let own = stage.client.create().unwrap();
    stage.must("POST", &format!("/sessions/{own}/messages"), &message);
    let foreign = other.create().unwrap();
    let refused = other.ask("POST", &format!("/sessions/{foreign}/messages"), &message).unwrap();
    assert_eq!((refused.status, &refused.body["code"]), (404, &json!("attachment_not_found")));
    let read =
        |client: &Client, file: &str| client.ask("GET", &format!("/attachments/{file}"), &json!({})).unwrap();
    assert_eq!(read(&stage.client, file).status, 200);
    let (foreign, none) = (read(&other, file), read(&other, &"0".repeat(64)));
    assert_eq!((foreign.status, foreign.body), (none.status, none.body));
    assert_eq!(foreign.status, 404);
}

#[test]
fn scopes_and_roles_say_what_may_be_done() {
    let stage = Stage::new();
    let session = |client: &Client| client.ask("POST", "/sessions", &json!({})).unwrap().status;
    let users = |client: &Client| client.ask("GET", "/users", &json!({})).unwrap().status;
    let (_, reader) = user(&stage, "bob", "read");
    let (id, writer) = user(&stage, "bob", "write");
    // A token never allows more than its user's role.
    let (_, wanting) = user(&stage, "bob", "manage");
    assert_eq!((session(&reader), users(&reader)), (403, 403));
    assert_eq!(reader.ask("GET", "/sessions", &json!({})).unwrap().status, 200);
    assert_eq!((session(&writer), users(&writer)), (201, 403));
    assert_eq!((session(&wanting), users(&wanting)), (201, 403));
    let more = writer.ask("POST", "/tokens", &json!({ "name": "more", "scope": "manage" })).unwrap();
    assert_eq!(more.status, 403);
    stage.must("PATCH", &format!("/users/{id}"), &json!({ "role": "owner" }));
    assert_eq!(users(&wanting), 200);
    stage.must("PATCH", &format!("/users/{id}"), &json!({ "role": "member" }));
    assert_eq!(users(&wanting), 403);
    stage.must("PATCH", &format!("/users/{id}"), &json!({ "disabled": true }));
    assert_eq!(reader.ask("GET", "/sessions", &json!({})).unwrap().status, 401);
    // The last owner stays.
    let first = "00000000-0000-0000-0000-000000000000";
    for change in [json!({ "disabled": true }), json!({ "role": "member" })] {
        assert_eq!(stage.ask("PATCH", &format!("/users/{first}"), &change).body["code"], "last_owner");
    }
    let lines = stage.must("GET", "/audit", &json!({}));
    let actions: Vec<&str> =
        lines["lines"].as_array().unwrap().iter().filter_map(|line| line["action"].as_str()).collect();
    assert_eq!(actions.iter().filter(|action| **action == "user_changed").count(), 3);
    assert!(actions.contains(&"user_added") && actions.contains(&"token_made"));
}

#[test]
fn a_browser_logs_in_changes_things_with_its_header_and_logs_out() {
    let stage = Stage::new();
    let (bob, _) = user(&stage, "bob", "read");
    let (status, body, cookie) = log_in(&stage, "bob", PASSWORD);
    assert_eq!(status, 200, "{body}");
    let cookie = cookie.unwrap();
    assert!(cookie.starts_with("__Host-everturn=evl_"), "{cookie}");
    for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(with_cookie(&stage, "GET", "/sessions", &cookie, ""), 200);
    assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, ""), 403);
    assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, "x-everturn: 1\r\n"), 201);
    // A page of another user changes nothing with this login.
    for (user, status) in [(bob.as_str(), 201), ("00000000-0000-0000-0000-000000000009", 409)] {
        let page = format!("x-everturn: {user}\r\n");
        assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, &page), status, "{user}");
    }
    let foreign = "x-everturn: 1\r\norigin: http://evil.example\r\n";
    assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, foreign), 403);
    assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, "x-everturn: 1\r\norigin: null\r\n"), 403);
    let own = "x-everturn: 1\r\norigin: http://localhost\r\n";
    assert_eq!(with_cookie(&stage, "POST", "/sessions", &cookie, own), 201);
    // A login is no token, and a token no login.
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    let as_token = Client { token: secret.to_owned(), port: stage.client.port };
    assert_eq!(as_token.ask("GET", "/sessions", &json!({})).unwrap().status, 401);
    let as_cookie = format!("__Host-everturn={}", stage.client.token);
    assert_eq!(with_cookie(&stage, "GET", "/sessions", &as_cookie, ""), 401);
    assert_eq!(with_cookie(&stage, "POST", "/logout", &cookie, "x-everturn: 1\r\n"), 204);
    assert_eq!(with_cookie(&stage, "GET", "/sessions", &cookie, ""), 401);
}

#[test]
fn wrong_logins_are_told_apart_by_nothing_and_have_to_wait() {
    let stage = Stage::new();
    user(&stage, "bob", "read");
    let (wrong, unknown) =
        (log_in(&stage, "bob", "wrong password"), log_in(&stage, "nobody", "wrong password"));
    assert_eq!((wrong.0, &wrong.1), (401, &unknown.1));
    assert_eq!(log_in(&stage, "bob", "").0, 401);
    // The first user has no password, and so no empty one.
    assert_eq!(log_in(&stage, "owner", "").0, 401);
    let tries: Vec<u16> = (0..6).map(|_| log_in(&stage, "bob", "wrong password").0).collect();
    assert!(tries.contains(&429), "{tries:?}");
    // Also with the right password, so that a wait says nothing.
    assert_eq!(log_in(&stage, "bob", PASSWORD).0, 429);
}

#[test]
fn a_password_that_is_changed_ends_every_login() {
    let stage = Stage::new();
    let (_, client) = user(&stage, "bob", "write");
    let (_, _, cookie) = log_in(&stage, "bob", PASSWORD);
    let cookie = cookie.unwrap();
    let change = |old: &str, new: &str| {
        client.ask("PUT", "/me/password", &json!({ "old": old, "new": new })).unwrap().status
    };
    assert_eq!(change("wrong", "a new password"), 403);
    assert_eq!(change(PASSWORD, "short"), 422);
    assert_eq!(with_cookie(&stage, "GET", "/me", &cookie, ""), 200);
    assert_eq!(change(PASSWORD, "a new password"), 204);
    assert_eq!(with_cookie(&stage, "GET", "/me", &cookie, ""), 401);
    assert_eq!(log_in(&stage, "bob", "a new password").0, 200);
}

#[test]
fn what_is_revoked_reads_no_further() {
    let stage = Stage::new();
    let (id, client) = user(&stage, "bob", "write");
    let session = client.create().unwrap();
    let tokens = client.must("GET", "/tokens", &json!({})).unwrap();
    let token = tokens["tokens"][0]["id"].as_str().unwrap().to_owned();
    let ends: [(&str, Way<'_>); 3] = [
        ("by the API", Box::new(|| drop(stage.must("DELETE", &format!("/tokens/{token}"), &json!({}))))),
        (
            "by the command line",
            Box::new(|| {
                let other = user(&stage, "bob", "write").1;
                let all = other.must("GET", "/tokens", &json!({})).unwrap();
                for token in all["tokens"].as_array().unwrap() {
                    let id = token["id"].as_str().unwrap();
                    let done = stage.setup.command().args(["token", "revoke", id]).status().unwrap();
                    assert!(done.success());
                }
            }),
        ),
        (
            "by shutting the user out",
            Box::new(|| drop(stage.must("PATCH", &format!("/users/{id}"), &json!({ "disabled": true })))),
        ),
    ];
    let mut reading = client;
    for (how, end) in ends {
        let mut stream = reading.follow(&session, None).unwrap();
        while stream.event().unwrap().unwrap().name != "caught_up" {}
        let begun = testkit::crash::child::now();
        end();
        // Nothing but heartbeats comes before the end.
        while let Ok(Some(event)) = stream.event() {
            assert_eq!(event.name, "heartbeat", "{how}");
        }
        assert!(begun.elapsed().as_secs() < 5, "{how}: {:?}", begun.elapsed());
        assert_eq!(reading.ask("GET", "/sessions", &json!({})).unwrap().status, 401, "{how}");
        if how != "by shutting the user out" {
            reading = user(&stage, "bob", "write").1;
        }
    }
}

#[test]
fn a_share_is_read_by_whoever_has_it_until_it_is_withdrawn() {
    let stage = Stage::new();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "hello");
    let made = stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let secret = made["secret"].as_str().unwrap();
    let nobody = Client { token: "none".to_owned(), port: stage.client.port };
    let shown = nobody.must("GET", &format!("/shared/{secret}"), &json!({})).unwrap();
    assert_eq!(shown["turns"].as_array().unwrap().len(), 1);
    assert_eq!(shown["title"], "trial");
    // It opens nothing else.
    let bearer = Client { token: secret.to_owned(), port: stage.client.port };
    assert_eq!(bearer.ask("GET", &format!("/sessions/{session}"), &json!({})).unwrap().status, 401);
    let (_, other) = user(&stage, "bob", "write");
    let share = made["share"].as_str().unwrap();
    assert_eq!(other.ask("DELETE", &format!("/shares/{share}"), &json!({})).unwrap().status, 404);
    stage.must("DELETE", &format!("/shares/{share}"), &json!({}));
    let (gone, never) = (
        nobody.ask("GET", &format!("/shared/{secret}"), &json!({})).unwrap(),
        nobody.ask("GET", "/shared/evs_00", &json!({})).unwrap(),
    );
    assert_eq!((gone.status, gone.body), (never.status, never.body));
}

#[test]
fn users_are_kept_by_the_command_line_too() {
    let stage = Stage::new();
    let run = |words: &[&str]| stage.setup.command().args(words).output().unwrap();
    assert!(run(&["user", "add", "ann"]).status.success());
    assert!(!run(&["user", "add", "Ann"]).status.success(), "names differ by more than case");
    let mut setting = stage.setup.command();
    let mut setting = setting.args(["user", "password", "ann"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut setting.stdin.take().unwrap(), PASSWORD.as_bytes()).unwrap();
    assert!(setting.wait().unwrap().success());
    assert_eq!(log_in(&stage, "ann", PASSWORD).0, 200);
    assert!(run(&["user", "disable", "ann"]).status.success());
    assert_eq!(log_in(&stage, "ann", PASSWORD).0, 401);
    let listed = String::from_utf8(run(&["user", "list"]).stdout).unwrap();
    assert!(listed.contains("owner") && listed.contains("disabled ann"), "{listed}");
}

//! What is changed while the server runs: models, what projects say, what people prefer, what owners set.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::peer::Peer;
use crate::people::user;
use crate::stage::{Stage, text};

const KEY: &str = "sk-canary-of-a-model-0123456789";
const OTHER_KEY: &str = "sk-another-key-0123456789";

/// A model of the peer, as an owner describes it.
fn described(peer: &Peer, model: &str, key: Option<&str>) -> Value {
    let mut body = json!({ "provider": "openai", "url": peer.url, "model": model });
    if let Some(key) = key {
        body["key"] = json!(key);
    }
    body
}

fn post(stage: &Stage, session: &str, body: &Value) -> Value {
    stage.must("POST", &format!("/sessions/{session}/messages"), body)
}

/// Posts and waits for the end; answers the text of the newest answer.
fn answered(stage: &Stage, session: &str, body: &Value) -> String {
    let turn = post(stage, session, body)["turn"].as_u64();
    stage.client.follow(session, turn).unwrap().until("run_ended").unwrap();
    text(stage.view(session)["turns"].as_array().unwrap().last().unwrap())
}

/// Posts and waits for the failure; answers why.
fn failed(stage: &Stage, session: &str, body: &Value) -> String {
    let turn = post(stage, session, body)["turn"].as_u64();
    let (_, ended) = stage.client.follow(session, turn).unwrap().until("run_ended").unwrap();
    ended["end"]["failed"]["error"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
}

fn models(stage: &Stage) -> Vec<Value> {
    stage.must("GET", "/models", &json!({}))["models"].as_array().unwrap().clone()
}

pub(crate) fn refused(stage: &Stage, method: &str, path: &str, body: &Value, status: u16, code: &str) {
    let reply = stage.ask(method, path, body);
    assert_eq!((reply.status, reply.body["code"].as_str()), (status, Some(code)), "{method} {path} {body}");
}

#[test]
fn what_concerns_the_server_is_for_those_who_manage_it() {
    let stage = Stage::new();
    let (_, bob) = user(&stage, "bob", "write");
    for (method, path) in [
        ("PUT", "/models/big"),
        ("DELETE", "/models/big"),
        ("POST", "/models/trial/test"),
        ("PUT", "/models/default"),
        ("GET", "/providers"),
        ("POST", "/providers/models"),
        ("GET", "/settings"),
        ("PATCH", "/settings"),
        ("POST", "/server/backup"),
        ("POST", "/server/verify"),
        ("GET", "/server/tasks"),
    ] {
        let reply = bob.ask(method, path, &json!({ "name": "trial", "place": "/tmp/never" })).unwrap();
        assert_eq!((reply.status, &reply.body["code"]), (403, &json!("forbidden")), "{method} {path}");
    }
    let shown = bob.must("GET", "/models", &json!({})).unwrap();
    assert_eq!((&shown["models"][0]["name"], &shown["models"][0]["url"]), (&json!("trial"), &Value::Null));
    assert_eq!(models(&stage)[0]["url"], json!(stage.setup.model_url));
    assert_eq!((&models(&stage)[0]["from"], &models(&stage)[0]["has_key"]), (&json!("file"), &json!(false)));
}

#[test]
fn a_provider_is_asked_for_its_models() {
    let stage = Stage::new();
    let (peer, other) = (Peer::new(KEY), Peer::new(KEY));
    let listed = |body: Value| stage.must("POST", "/providers/models", &body);
    let query = |url: &str| json!({ "provider": "openai", "url": url });
    let with = |url: &str, field: &str, value: &str| {
        let mut query = query(url);
        query[field] = value.into();
        query
    };
    let offer = listed(with(&peer.url, "key", KEY));
    let names: Vec<&Value> = offer["models"].as_array().unwrap().iter().map(|one| &one["model"]).collect();
    assert_eq!(names, ["big-1", "big-2"], "what can't chat is left out");
    assert_eq!((&offer["models"][0]["window_tokens"], &offer["told"]), (&json!(40_960), &Value::Null));
    let rejected = json!("The provider rejected the key (401).");
    assert_eq!(listed(query(&peer.url))["told"], rejected);
    assert_eq!(listed(query("http://127.0.0.1:1/v1"))["told"], "The provider can't be reached at this URL.");

    stage.must("PUT", "/models/big", &described(&peer, "big-1", Some(KEY)));
    assert_eq!(listed(with(&peer.url, "name", "big"))["models"].as_array().unwrap().len(), 2);
    assert_eq!(
        listed(with(&other.url, "name", "big"))["told"],
        rejected,
        "the key goes to its own address alone"
    );
    for url in ["file:///etc/passwd", "http://a@b/v1", "x"] {
        refused(&stage, "POST", "/providers/models", &query(url), 422, "bad_model");
    }
    let presets = stage.must("GET", "/providers", &json!({}));
    assert!(presets["providers"].as_array().unwrap().len() > 10, "{presets}");
}

#[test]
fn a_known_model_needs_no_window_and_no_prices() {
    let stage = Stage::new();
    let body =
        json!({ "provider": "openai", "url": "https://api.openai.com", "model": "gpt-5.5", "key": KEY });
    stage.must("PUT", "/models/known", &body);
    let known = models(&stage).into_iter().find(|model| model["name"] == "known").unwrap();
    assert_eq!((&known["window_tokens"], &known["output_tokens_max"]), (&json!(1_050_000), &json!(32_768)));
}

#[test]
fn a_model_is_added_tried_asked_changed_and_removed() {
    let mut stage = Stage::new();
    let (peer, other) = (Peer::new(KEY), Peer::new(OTHER_KEY));
    let session = stage.client.create().unwrap();
    let tried = |stage: &Stage| stage.must("POST", "/models/big/test", &json!({}));
    refused(&stage, "POST", "/models/big/test", &json!({}), 404, "no_such_thing");
    stage.must("PUT", "/models/big", &described(&peer, "big-1", Some("sk-a-wrong-one")));
    assert_eq!(tried(&stage), json!({ "ok": false, "told": "The provider rejected the key (401)." }));
    stage.must("PUT", "/models/big", &described(&peer, "big-1", Some(KEY)));
    let found = tried(&stage);
    assert_eq!(found["ok"], true, "{found}");
    assert!(found["told"].as_str().unwrap().starts_with("Answered in "), "{found}");
    assert!(peer.asked().head.contains(KEY));
    let shown = &models(&stage)[1];
    assert_eq!(
        (&shown["name"], &shown["from"], &shown["has_key"], &shown["window_tokens"]),
        (&json!("big"), &json!("settings"), &json!(true), &json!(32_768))
    );
    let to_big = |text: &str| json!({ "text": text, "model": "big" });
    assert_eq!(answered(&stage, &session, &to_big("hello")), "big-1");
    peer.asked();
    // A run of two steps, with the change between them: it keeps the model it began with, and the key with it.
    let running = post(&stage, &session, &to_big("wait call"));
    assert_eq!(peer.asked().body["model"], "big-1");
    stage.must("PUT", "/models/big", &described(&other, "big-2", Some(OTHER_KEY)));
    peer.go();
    let second = peer.asked();
    assert_eq!(second.body["messages"].as_array().unwrap().last().unwrap()["role"], "tool");
    assert_eq!(second.body["model"], "big-1");
    stage.client.follow(&session, running["turn"].as_u64()).unwrap().until("run_ended").unwrap();
    assert_eq!(answered(&stage, &session, &to_big("hello")), "big-2");
    assert!(other.asked().head.contains(OTHER_KEY));
    // The key goes on when it is not sent and goes to the same place.
    stage.must("PUT", "/models/big", &described(&other, "big-3", None));
    // Kept, and asked with its key, after a restart; and asked first once somebody says so.
    stage.must("PUT", "/models/default", &json!({ "name": "big" }));
    stage.restart();
    assert_eq!(models(&stage)[0]["name"], "big");
    assert_eq!(answered(&stage, &session, &json!({ "text": "hello" })), "big-3");
    stage.must("PUT", "/models/default", &json!({ "name": "trial" }));
    assert_eq!(answered(&stage, &session, &json!({ "text": "say 1 of word" })), "word.1 ");
    stage.must("PUT", "/models/default", &json!({ "name": "big" }));
    // Removed, it is told as such, and the others answer again.
    assert_eq!(stage.ask("DELETE", "/models/big", &json!({})).status, 204);
    assert!(failed(&stage, &session, &to_big("hello")).contains("`big` is no longer offered"));
    assert_eq!(answered(&stage, &session, &json!({ "text": "say 1 of word" })), "word.1 ");
    assert_eq!(stage.must("GET", "/secrets", &json!({}))["secrets"], json!([]));
    refused(&stage, "DELETE", "/models/big", &json!({}), 404, "no_such_thing");
    refused(&stage, "PUT", "/models/default", &json!({ "name": "big" }), 404, "no_such_thing");
}

#[test]
fn a_model_that_cannot_be_is_refused_and_a_key_goes_nowhere_else() {
    let stage = Stage::new();
    let (peer, thief) = (Peer::new(KEY), Peer::new(KEY));
    let good = described(&peer, "big-1", Some(KEY));
    for (field, value) in [
        ("url", json!("ftp://models.example")),
        ("url", json!("http://name:password@models.example")),
        ("url", json!("https://models.example/v1#x")),
        ("url", json!("nonsense")),
        ("model", json!(" ")),
        ("key", json!("two words")),
        ("window_tokens", json!(100)),
        ("output_tokens_max", json!(0)),
    ] {
        let mut body = good.clone();
        body["output_tokens_max"] = json!(1_000);
        body[field] = value;
        refused(&stage, "PUT", "/models/big", &body, 422, "bad_model");
    }
    refused(&stage, "PUT", &format!("/models/{}", "x".repeat(61)), &good, 422, "bad_name");
    refused(&stage, "PUT", "/models/trial", &good, 409, "set_in_file");
    refused(&stage, "DELETE", "/models/trial", &json!({}), 409, "set_in_file");
    assert_eq!(models(&stage).len(), 1);
    // Whoever may change the address does not learn the key by it.
    stage.must("PUT", "/models/llama3.1:8b%2Fq4", &good);
    let elsewhere = described(&thief, "big-1", None);
    refused(&stage, "PUT", "/models/llama3.1:8b%2Fq4", &elsewhere, 422, "bad_model");
    assert_eq!(
        (&models(&stage)[1]["name"], &models(&stage)[1]["url"]),
        (&json!("llama3.1:8b/q4"), &json!(peer.url))
    );
    stage.must("PUT", "/models/llama3.1:8b%2Fq4", &described(&thief, "big-1", Some("")));
    assert_eq!(
        (&models(&stage)[1]["has_key"], &models(&stage)[1]["url"]),
        (&json!(false), &json!(thief.url))
    );
    let tried = stage.must("POST", "/models/llama3.1:8b%2Fq4/test", &json!({}));
    assert_eq!(tried["told"], "The provider rejected the key (401).");
    assert_eq!(stage.must("GET", "/secrets", &json!({}))["secrets"], json!([]));
}

/// Every file below a folder that has the key in it.
fn with_key(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            with_key(&path, found);
        } else if fs::read(&path).unwrap().windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn the_key_of_a_model_is_in_no_answer_no_log_and_no_file() {
    let mut stage = Stage::new();
    drop(stage.server.take());
    stage.server = Some(stage.setup.serve_with(&[("EVERTURN_LOG", "trace")]).unwrap());
    // One that takes it, and one that sends it back.
    let (peer, strict) = (Peer::new(KEY), Peer::new(OTHER_KEY));
    let mut answers = String::new();
    let mut told = |method: &str, path: &str, body: &Value| {
        let reply = stage.ask(method, path, body);
        answers.push_str(&format!("{method} {path}: {} {}\n", reply.status, reply.body));
    };
    told("PUT", "/models/big", &described(&peer, "big-1", Some(KEY)));
    told("PUT", "/models/strict", &described(&strict, "strict-1", Some(KEY)));
    told("POST", "/models/big/test", &json!({}));
    told("POST", "/models/strict/test", &json!({}));
    let mut wrong = described(&peer, "big-1", Some(KEY));
    wrong["tools"] = json!("x");
    told("PUT", "/models/big", &wrong);
    let session = stage.client.create().unwrap();
    assert_eq!(answered(&stage, &session, &json!({ "text": "hello", "model": "big" })), "big-1");
    let why = failed(&stage, &session, &json!({ "text": "hello", "model": "strict" }));
    assert!(why.contains("401") && why.contains("[key]"), "{why}");
    for path in ["/models", "/secrets", "/audit", "/settings", "/metrics", "/server/tasks"] {
        told("GET", path, &json!({}));
    }
    told("GET", &format!("/sessions/{session}"), &json!({}));
    assert!(answers.contains("model_set") && answers.contains("model.big."), "{answers}");
    assert!(!answers.contains(KEY), "{answers}");
    drop(stage.server.take());
    let logged = fs::read_to_string(stage.setup.home.join("serve.log")).unwrap();
    assert!(logged.len() > 1_000, "every word is logged");
    let mut found = Vec::new();
    with_key(&stage.setup.home, &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_server_without_a_model_starts_keeps_what_is_said_and_says_what_to_do() {
    let mut stage = Stage::new();
    drop(stage.server.take());
    let config = stage.setup.home.join("config.toml");
    let whole = fs::read_to_string(&config).unwrap();
    fs::write(&config, whole.split("[[models]]").next().unwrap()).unwrap();
    stage.server = Some(stage.setup.serve().unwrap());
    let logged = fs::read_to_string(stage.setup.home.join("serve.log")).unwrap();
    assert!(logged.contains("No model is configured"), "{logged}");
    let doctor = stage.setup.command().arg("doctor").output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("warning models: 0; ") && doctor.contains("under Settings"), "{doctor}");
    let session = stage.client.create().unwrap();
    let why = failed(&stage, &session, &json!({ "text": "hello" }));
    assert!(why.contains("add a model under Settings"), "{why}");
    assert_eq!(stage.view(&session)["turns"][0]["message"]["text"], "hello");
    let peer = Peer::new(KEY);
    stage.must("PUT", "/models/first", &described(&peer, "first-1", Some(KEY)));
    let retried = stage.must("POST", &format!("/sessions/{session}/retry"), &json!({}));
    stage.client.follow(&session, retried["seq"].as_u64()).unwrap().until("run_ended").unwrap();
    assert_eq!(text(&stage.view(&session)["turns"][0]), "first-1");
}

#[test]
fn a_project_says_who_answers_and_what_he_is_told() {
    let mut stage = Stage::new();
    let peer = Peer::new(KEY);
    stage.must("PUT", "/models/big", &described(&peer, "big-1", Some(KEY)));
    stage.must("PATCH", "/settings", &json!({ "instructions": "Everywhere." }));
    let made = stage.must("POST", "/projects", &json!({ "name": "Birds" }));
    let project = made["project"].as_str().unwrap().to_owned();
    assert_eq!((&made["model"], &made["instructions"]), (&Value::Null, &Value::Null));
    let at = format!("/projects/{project}");
    stage.must("PATCH", &at, &json!({ "model": "big", "instructions": "About birds." }));
    refused(&stage, "PATCH", &at, &json!({ "model": "nobody" }), 404, "no_such_thing");
    refused(&stage, "PATCH", &at, &json!({ "instructions": "x".repeat(20_001) }), 422, "bad_setting");
    // Without a title: one is thought of by whoever answers here, and by nobody else.
    let session = stage.must("POST", "/sessions", &json!({}))["session"].as_str().unwrap().to_owned();
    stage.must("PATCH", &format!("/sessions/{session}"), &json!({ "project": project }));
    assert_eq!(answered(&stage, &session, &json!({ "text": "hello" })), "big-1");
    assert_eq!(peer.asked().instructions(), Some("Everywhere.\n\nAbout birds."));
    let title = peer.asked().body["messages"].to_string();
    assert!(title.contains("a title"), "{title}");
    // A message that names a model goes to that one.
    let named = json!({ "text": "say 1 of word", "model": "trial" });
    assert_eq!(answered(&stage, &session, &named), "word.1 ");
    // Another name leaves the rest, also over a restart.
    stage.must("PATCH", &at, &json!({ "name": "Herons" }));
    stage.restart();
    let kept = stage.must("GET", "/projects", &json!({}))["projects"][0].clone();
    assert_eq!(
        (&kept["name"], &kept["model"], &kept["instructions"]),
        (&json!("Herons"), &json!("big"), &json!("About birds."))
    );
    stage.must("PATCH", &at, &json!({ "instructions": null }));
    stage.must("PATCH", "/settings", &json!({ "instructions": null }));
    assert_eq!(answered(&stage, &session, &json!({ "text": "hello" })), "big-1");
    assert_eq!(peer.asked().instructions(), None);
    // A model that is gone is told; who names another is answered.
    stage.must("DELETE", "/models/big", &json!({}));
    let why = failed(&stage, &session, &json!({ "text": "hello" }));
    assert!(why.contains("`big` of this project is no longer offered"), "{why}");
    assert_eq!(answered(&stage, &session, &named), "word.1 ");
    stage.must("PATCH", &at, &json!({ "model": null }));
    assert_eq!(answered(&stage, &session, &json!({ "text": "say 1 of word" })), "word.1 ");
}

#[test]
fn what_each_user_prefers_is_kept_for_him() {
    let mut stage = Stage::new();
    let (_, bob) = user(&stage, "bob", "write");
    let usual = json!({ "busy": "queue", "language": null, "notify": false, "first_run_done": false });
    assert_eq!(stage.must("GET", "/me/preferences", &json!({})), usual);
    let liked = json!({ "busy": "steer", "language": "pt-BR", "notify": true, "first_run_done": true });
    assert_eq!(stage.ask("PUT", "/me/preferences", &liked).status, 204);
    stage.restart();
    assert_eq!(stage.must("GET", "/me/preferences", &json!({})), liked);
    assert_eq!(bob.must("GET", "/me/preferences", &json!({})).unwrap(), usual);
    let mut strange = liked.clone();
    strange["language"] = json!("no language");
    refused(&stage, "PUT", "/me/preferences", &strange, 422, "bad_setting");
    refused(&stage, "PUT", "/me/preferences", &json!({ "busy": "queue" }), 400, "bad_request");
    assert_eq!(stage.must("GET", "/me/preferences", &json!({})), liked);
}

#[test]
fn settings_go_before_the_file_and_the_environment_before_them() {
    let mut stage = Stage::new();
    let usual = json!({ "after_interruption": "continue", "resume_within_seconds": 3600, "trash_days": 30, "instructions": null, "set_in_environment": [] });
    assert_eq!(stage.must("GET", "/settings", &json!({})), usual);
    let changed = stage.must("PATCH", "/settings", &json!({ "after_crash": "wait", "trash_days": 7 }));
    assert_eq!((&changed["after_interruption"], &changed["trash_days"]), (&json!("wait"), &json!(7)));
    refused(&stage, "PATCH", "/settings", &json!({ "trash_days": 36_501 }), 422, "bad_setting");
    refused(&stage, "PATCH", "/settings", &json!({ "after_interruption": "never" }), 400, "bad_request");
    // Kept: what a kill interrupts waits.
    let session = stage.client.create().unwrap();
    let running = stage.client.post(&session, "say 1000 of word pace 20").unwrap();
    stage.client.follow(&session, running["turn"].as_u64()).unwrap().until("text_added").unwrap();
    drop(stage.server.take());
    stage.server = Some(stage.setup.serve_with(&[("EVERTURN_TRASH_DAYS", "3")]).unwrap());
    let view = stage.view(&session);
    assert_eq!(view["turns"][0]["marker"]["kind"], "interrupted", "{view}");
    let now = json!({ "after_interruption": "wait", "resume_within_seconds": 3600, "trash_days": 3, "instructions": null, "set_in_environment": ["trash_days"] });
    assert_eq!(stage.must("GET", "/settings", &json!({})), now);
    let both = json!({ "trash_days": 9, "instructions": "x" });
    refused(&stage, "PATCH", "/settings", &both, 409, "set_in_environment");
    assert_eq!(stage.must("GET", "/settings", &json!({})), now);
    // What does not change it may be said.
    stage.must("PATCH", "/settings", &json!({ "trash_days": 3, "after_crash": "continue" }));
    let audit = stage.must("GET", "/audit", &json!({}));
    assert_eq!(
        (&audit["lines"][0]["action"], &audit["lines"][0]["about"]),
        (&json!("settings_changed"), &json!("after_interruption"))
    );
}

//! Options of a model: what they add to its requests, which route these take, and that header values stay secret.

#![expect(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::strict::Strict;
use testkit::strict::pictures::GIF;
use testkit::strict::serve::Served;

use crate::peer::Peer;
use crate::settings::refused;
use crate::stage::Stage;

const KEY: &str = "sk-canary-of-a-model-0123456789";
const TOKEN: &str = "token-canary-of-a-gateway-42";

fn put(stage: &Stage, peer: &Peer, options: Value) {
    let mut body = json!({ "provider": "openai", "url": peer.url, "model": "big-1" });
    body["options"] = options;
    stage.must("PUT", "/models/big", &body);
}

fn shown(stage: &Stage) -> Value {
    let models = stage.must("GET", "/models", &json!({}))["models"].clone();
    models.as_array().unwrap().iter().find(|model| model["name"] == "big").unwrap().clone()
}

fn tried(stage: &Stage, name: &str) -> Value {
    stage.must("POST", &format!("/models/{name}/test"), &json!({}))
}

#[test]
fn requests_carry_the_options_and_header_values_are_never_shown() {
    let mut stage = Stage::new();
    let peer = Peer::new(KEY);
    stage.must(
        "PUT",
        "/models/big",
        &json!({ "provider": "openai", "url": peer.url, "model": "big-1", "key": KEY }),
    );
    let options = json!({
        "headers": { "X-Gateway-Token": TOKEN },
        "query": { "team": "a&b" },
        "fields": { "temperature": 0.2, "stream_options": null },
        "first_byte_seconds": 20,
        "input_price": 1.5,
    });
    put(&stage, &peer, options);
    assert_eq!(tried(&stage, "big")["ok"], true);
    let asked = peer.asked();
    assert!(asked.head.contains(&format!("x-gateway-token: {TOKEN}")), "{}", asked.head);
    assert!(asked.head.contains("?team=a%26b "), "{}", asked.head);
    assert_eq!((&asked.body["temperature"], &asked.body["stream_options"]), (&json!(0.2), &Value::Null));

    let options = shown(&stage)["options"].clone();
    assert_eq!(options["headers"], json!({ "X-Gateway-Token": null }));
    assert_eq!(options["first_byte_seconds"], 20);
    // Sending the shown options back keeps the saved value. So does a change without options.
    put(&stage, &peer, options.clone());
    stage.must("PUT", "/models/big", &json!({ "provider": "openai", "url": peer.url, "model": "big-1" }));
    stage.restart();
    assert_eq!(tried(&stage, "big")["ok"], true);
    assert!(peer.asked().head.contains(TOKEN));
    assert_eq!(shown(&stage)["options"], options);
    // The value is in no list.
    for path in ["/models", "/secrets", "/audit"] {
        assert!(!stage.must("GET", path, &json!({})).to_string().contains(TOKEN), "{path}");
    }

    put(&stage, &peer, json!({}));
    assert_eq!(shown(&stage)["options"], json!({}));
    assert_eq!(tried(&stage, "big")["ok"], true);
    assert!(!peer.asked().head.contains(TOKEN));
}

#[test]
fn a_saved_key_or_header_is_not_sent_by_another_route() {
    let stage = Stage::new();
    let (peer, other) = (Peer::new(KEY), Peer::new(KEY));
    let body = |url: &str, options: Value| json!({ "provider": "openai", "url": url, "model": "big-1", "options": options });
    let mut first = body(&peer.url, json!({ "headers": { "x-token": TOKEN } }));
    first["key"] = json!(KEY);
    stage.must("PUT", "/models/big", &first);
    let keep = json!({ "headers": { "x-token": null } });
    let proxied = json!({ "proxy": "http://127.0.0.1:9", "headers": { "x-token": null } });
    for other_route in [body(&other.url, keep.clone()), body(&peer.url, proxied)] {
        refused(&stage, "PUT", "/models/big", &other_route, 422, "bad_model");
    }
    // The route is not lost by deleting it among the secrets.
    let secrets = stage.must("GET", "/secrets", &json!({}));
    let saved: Vec<&str> =
        secrets["secrets"].as_array().unwrap().iter().filter_map(|secret| secret["name"].as_str()).collect();
    let options = saved.iter().find(|name| name.starts_with("options:")).unwrap();
    refused(&stage, "DELETE", &format!("/secrets/{options}"), &json!({}), 422, "bad_name");
    let twice = body(&peer.url, json!({ "headers": { "X-Token": "1", "x-token": "2" } }));
    refused(&stage, "PUT", "/models/other", &twice, 422, "bad_model");
    // The saved header may not go elsewhere either, even without the key.
    let mut keyless = body(&other.url, keep.clone());
    keyless["key"] = json!("");
    refused(&stage, "PUT", "/models/big", &keyless, 422, "bad_model");
    let mut nobody = body(&peer.url, keep);
    nobody["options"]["headers"] = json!({ "x-unknown": null });
    refused(&stage, "PUT", "/models/big", &nobody, 422, "bad_model");
    for options in [
        json!({ "headers": { "host": "a.example" } }),
        json!({ "headers": { "x": "a\r\nb: c" } }),
        json!({ "fields": { "messages": [] } }),
        json!({ "proxy": "http://user:password@proxy.example" }),
        json!({ "proxy": "file:///etc/passwd" }),
        json!({ "certificate": "/etc/passwd" }),
        json!({ "certificate": "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----" }),
        json!({ "accepts": { "output_limit": "no_such" } }),
        json!({ "accepts": { "no_such": true } }),
        json!({ "first_byte_seconds": 0 }),
        json!({ "input_price": -1 }),
    ] {
        refused(&stage, "PUT", "/models/other", &body(&peer.url, options), 422, "bad_model");
    }
    let unknown = body(&peer.url, json!({ "no_such": 1 }));
    assert_eq!(stage.ask("PUT", "/models/other", &unknown).status, 400);
}

#[test]
fn a_model_is_reached_through_its_own_proxy_and_authority() {
    let stage = Stage::new();
    let served = Served::start().unwrap();
    let far = Strict::named("openai").unwrap();
    let body = |options: Value| json!({ "provider": "openai", "url": far.url(served.port), "model": far.model, "key": far.key(), "options": options });
    let proxy = format!("http://127.0.0.1:{}", served.port);
    stage.must("PUT", "/models/far", &body(json!({ "proxy": proxy })));
    let found = tried(&stage, "far");
    assert_eq!(found["ok"], false, "the authority is unknown: {found}");
    stage.must("PUT", "/models/far", &body(json!({ "proxy": proxy, "certificate": served.certificate })));
    let found = tried(&stage, "far");
    assert_eq!(found["ok"], true, "{found}: {:?}", served.remembered());
    assert!(served.strangers().is_empty());
    // So does the list of its models.
    let query = json!({ "provider": "openai", "url": far.url(served.port), "name": "far" });
    let listed = stage.must("POST", "/providers/models", &query);
    assert!(!listed["models"].as_array().unwrap().is_empty(), "{listed}");
}

#[test]
fn a_model_that_accepts_pictures_gets_them_and_any_other_gets_their_names() {
    let stage = Stage::new();
    let peer = Peer::new(KEY);
    let session = stage.client.create().unwrap();
    let file = stage.attach("pixel.gif", "image/gif", &GIF);
    for sees in [true, false] {
        let body = json!({
            "provider": "openai", "url": peer.url, "model": "big-1", "key": KEY,
            "options": { "accepts": { "pictures": sees } },
        });
        stage.must("PUT", "/models/big", &body);
        assert_eq!(shown(&stage)["pictures"], sees);
        let message = json!({ "text": "what is it?", "model": "big", "attachments": [file] });
        let posted = stage.must("POST", &format!("/sessions/{session}/messages"), &message);
        stage.client.follow(&session, posted["turn"].as_u64()).unwrap().until("run_ended").unwrap();
        let asked = peer.asked();
        let content = &asked.body["messages"].as_array().unwrap().last().unwrap()["content"];
        let named = "what is it?\n[attached: pixel.gif (image/gif, 35 bytes)]";
        if sees {
            assert_eq!((&content[0]["text"], &content[1]["type"]), (&json!(named), &json!("image_url")));
            let url = content[1]["image_url"]["url"].as_str().unwrap();
            assert!(url.starts_with("data:image/gif;base64,R0lGODlh"), "{url}");
        } else {
            assert_eq!(content, named);
        }
    }
}

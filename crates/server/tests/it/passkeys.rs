//! Passkeys: added by who is logged in, and then a way in of their own.

#![expect(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};

use crate::access::whole;
use crate::device::Device;
use crate::people::user;
use crate::stage::Stage;

const PASSWORD: &str = "correct horse battery";
const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/// A browser that speaks to the server by a name.
struct Browser<'a> {
    stage: &'a Stage,
    host: String,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn at(stage: &'a Stage, name: &str) -> Self {
        Self { stage, host: format!("{name}:{}", stage.client.port), cookie: String::new() }
    }

    fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Asks, and keeps the cookie of a login.
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (body, host, origin, cookie) = (body.to_string(), &self.host, self.origin(), &self.cookie);
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\nconnection: close\r\n\
             user-agent: {CHROME}\r\nx-everturn: 1\r\ncookie: {cookie}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let (status, head, body) = whole(self.stage, &request);
        if let Some(set) = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")) {
            for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
                assert!(set.contains(part), "{set}");
            }
            set.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    fn must(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    fn log_in(&mut self, name: &str) {
        self.must("POST", "/login", &json!({ "name": name, "password": PASSWORD }));
    }

    /// Adds a passkey; answers its device and its id.
    fn add(&mut self, name: &str) -> (Device, String) {
        let begun = self.must("POST", "/passkeys/begin", &json!({}));
        let (device, credential) = Device::create(&begun["options"], &self.origin());
        let finish = json!({ "ceremony": begun["ceremony"], "credential": credential, "name": name });
        let added = self.must("POST", "/passkeys/finish", &finish);
        (device, added["passkey"].as_str().unwrap().to_owned())
    }

    /// What finishes a login with a device.
    fn signed(&mut self, device: &mut Device) -> Value {
        let begun = self.must("POST", "/login/passkey/begin", &json!({}));
        assert_eq!(begun["options"]["publicKey"]["userVerification"], "required");
        let credential = device.sign(&begun["options"], &self.origin());
        json!({ "ceremony": begun["ceremony"], "credential": credential })
    }

    fn enter(&mut self, device: &mut Device) -> (u16, Value) {
        let signed = self.signed(device);
        self.ask("POST", "/login/passkey/finish", &signed)
    }
}

#[test]
fn a_passkey_is_added_and_opens_the_server() {
    let stage = Stage::new();
    let (id, _) = user(&stage, "bob", "read");
    let mut browser = Browser::at(&stage, "localhost");
    browser.log_in("bob");
    let me = browser.must("GET", "/me", &json!({}));
    assert_eq!((&me["has_password"], &me["passkeys"]), (&json!(true), &json!(0)));
    let (mut device, passkey) = browser.add("my phone");
    assert_eq!(browser.must("GET", "/me", &json!({}))["passkeys"], 1);
    let listed = browser.must("GET", "/passkeys", &json!({}));
    assert_eq!(listed["passkeys"][0]["passkey"], json!(passkey));
    assert_eq!(
        (&listed["passkeys"][0]["name"], &listed["passkeys"][0]["used_at"]),
        (&json!("my phone"), &Value::Null)
    );
    // A device is told which passkeys it need not make again.
    let again = browser.must("POST", "/passkeys/begin", &json!({}));
    assert_eq!(again["options"]["publicKey"]["excludeCredentials"].as_array().unwrap().len(), 1);

    let mut other = Browser::at(&stage, "localhost");
    let (status, entered) = other.enter(&mut device);
    assert_eq!((status, &entered["user"]), (200, &json!(id)), "{entered}");
    assert!(other.cookie.starts_with("__Host-everturn=evl_"), "{}", other.cookie);
    let logins = other.must("GET", "/logins", &json!({}));
    let this = logins["logins"].as_array().unwrap().iter().find(|login| login["this"] == true).unwrap();
    assert_eq!(this["name"], "Chrome on Linux");
    assert!(other.must("GET", "/passkeys", &json!({}))["passkeys"][0]["used_at"].is_i64());
    assert_eq!(other.enter(&mut device).0, 200, "it opens the server more than once");
    let lines = stage.must("GET", "/audit", &json!({}));
    let told: Vec<&str> =
        lines["lines"].as_array().unwrap().iter().filter_map(|line| line["action"].as_str()).collect();
    assert_eq!(told[..5], ["logged_in", "passkey_used", "logged_in", "passkey_used", "passkey_added"]);
}

#[test]
fn what_is_not_the_answer_to_this_challenge_is_refused() {
    let stage = Stage::new();
    user(&stage, "bob", "read");
    let mut browser = Browser::at(&stage, "localhost");
    browser.log_in("bob");
    let (mut device, _) = browser.add("key");
    let finish = |browser: &mut Browser<'_>, body: &Value| browser.ask("POST", "/login/passkey/finish", body);
    // The same answer again, and to another challenge.
    let signed = browser.signed(&mut device);
    assert_eq!(finish(&mut browser, &signed).0, 200);
    let (status, told) = finish(&mut browser, &signed);
    assert_eq!((status, &told["code"]), (410, &json!("ceremony_over")));
    let mut moved = browser.signed(&mut device);
    moved["credential"] = signed["credential"].clone();
    assert_eq!(finish(&mut browser, &moved).0, 401);
    // Signed for a page of somebody else.
    let begun = browser.must("POST", "/login/passkey/begin", &json!({}));
    let elsewhere = device.sign(&begun["options"], "http://evil.example");
    let (status, told) =
        finish(&mut browser, &json!({ "ceremony": begun["ceremony"], "credential": elsewhere }));
    assert_eq!((status, &told["code"]), (401, &json!("not_authorised")));
    // A signature that is not the key's.
    let mut forged = browser.signed(&mut device);
    let other = browser.signed(&mut device);
    forged["credential"]["response"]["signature"] = other["credential"]["response"]["signature"].clone();
    assert_eq!(finish(&mut browser, &forged).0, 401);
    // Without the user having proved to the device who he is.
    device.flags = 0x01;
    assert_eq!(browser.enter(&mut device).0, 401);
    device.flags = 0x05;
    // A counter that went back: there is a second one of the key.
    assert_eq!(browser.enter(&mut device).0, 200);
    device.counter -= 1;
    assert_eq!(browser.enter(&mut device).0, 401);
    assert_eq!(browser.enter(&mut device).0, 200);
    let lines = stage.must("GET", "/audit", &json!({}));
    let failed = lines["lines"].as_array().unwrap().iter().filter(|line| line["action"] == "login_failed");
    assert_eq!(failed.count(), 5);
}

#[test]
fn a_passkey_that_was_removed_or_whose_user_is_shut_out_opens_nothing() {
    let stage = Stage::new();
    let (id, _) = user(&stage, "bob", "read");
    user(&stage, "eve", "read");
    let (mut bob, mut eve) = (Browser::at(&stage, "localhost"), Browser::at(&stage, "localhost"));
    bob.log_in("bob");
    eve.log_in("eve");
    let (mut device, passkey) = bob.add("key");
    assert_eq!(eve.must("GET", "/passkeys", &json!({}))["passkeys"], json!([]));
    assert_eq!(eve.ask("DELETE", &format!("/passkeys/{passkey}"), &json!({})).0, 404);
    // What one began the other does not finish.
    let begun = bob.must("POST", "/passkeys/begin", &json!({}));
    let (_, credential) = Device::create(&begun["options"], &bob.origin());
    let finish = json!({ "ceremony": begun["ceremony"], "credential": credential, "name": "x" });
    assert_eq!(eve.ask("POST", "/passkeys/finish", &finish).1["code"], "ceremony_over");
    // A passkey of bob's that says it is eve's.
    let mut stranger = Browser::at(&stage, "localhost");
    let mut claimed = stranger.signed(&mut device);
    let of_eve =
        eve.must("POST", "/passkeys/begin", &json!({}))["options"]["publicKey"]["user"]["id"].clone();
    claimed["credential"]["response"]["userHandle"] = of_eve;
    assert_eq!(stranger.ask("POST", "/login/passkey/finish", &claimed).0, 401);

    let signed = stranger.signed(&mut device);
    stage.must("PATCH", &format!("/users/{id}"), &json!({ "disabled": true }));
    assert_eq!(stranger.ask("POST", "/login/passkey/finish", &signed).0, 401);
    assert_eq!(stranger.enter(&mut device).0, 401);
    stage.must("PATCH", &format!("/users/{id}"), &json!({ "disabled": false }));
    assert_eq!(stranger.enter(&mut device).0, 200);
    stranger.must("DELETE", &format!("/passkeys/{passkey}"), &json!({}));
    assert_eq!(stranger.enter(&mut device).0, 401);
}

#[test]
fn passkeys_want_a_login_and_a_name() {
    let stage = Stage::new();
    user(&stage, "bob", "write");
    // A token is given to programs, and must not become a way in that outlives it.
    for (method, path) in [("GET", "/passkeys"), ("POST", "/passkeys/begin")] {
        assert_eq!(stage.ask(method, path, &json!({})).body["code"], "forbidden", "{method} {path}");
    }
    for (name, works) in [("localhost", true), ("127.0.0.1", false), ("[::1]", false)] {
        let mut browser = Browser::at(&stage, name);
        let ways = browser.must("GET", "/login/ways", &json!({}));
        assert_eq!(ways, json!({ "password": true, "passkey": works, "providers": [] }), "{name}");
        browser.log_in("bob");
        for path in ["/login/passkey/begin", "/passkeys/begin"] {
            let (status, told) = browser.ask("POST", path, &json!({}));
            assert_eq!(status == 200, works, "{name} {path}: {told}");
            assert!(works || told["code"] == "no_passkeys_here", "{name} {path}: {told}");
        }
    }
}

#[test]
fn who_is_wrong_too_often_waits() {
    let stage = Stage::new();
    user(&stage, "bob", "read");
    let mut browser = Browser::at(&stage, "localhost");
    browser.log_in("bob");
    let (mut device, passkey) = browser.add("key");
    browser.must("DELETE", &format!("/passkeys/{passkey}"), &json!({}));
    let tries: Vec<u16> = (0..25).map(|_| browser.enter(&mut device).0).collect();
    assert!(tries.starts_with(&[401; 20]) && tries.contains(&429), "{tries:?}");
}

//! Logging in through a provider of identities, as far as none has to be asked: who is refused, and what he is told.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::Write;

use serde_json::json;
use testkit::trial::free_port;

use crate::access::whole;
use crate::stage::Stage;

/// A server with a provider that nobody answers for.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let path = stage.setup.home.join("config.toml");
    let mut config = std::fs::File::options().append(true).open(path).unwrap();
    let port = free_port().unwrap();
    let text = format!(
        "[[openid]]\nname = 'house'\ntitle = 'Our house'\nissuer = 'http://127.0.0.1:{port}'\nclient_id = 'everturn'\n\
         allow = ['*@example.org']\n"
    );
    config.write_all(text.as_bytes()).unwrap();
    stage.restart();
    stage
}

/// Opens a page; answers status and the head.
fn open(stage: &Stage, path: &str, headers: &str) -> (u16, String) {
    let request =
        format!("GET /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
    let (status, head, _) = whole(stage, &request);
    (status, head)
}

#[test]
fn who_comes_back_with_nothing_that_was_begun_is_led_to_a_page_that_says_so() {
    let stage = stage();
    let ways = stage.must("GET", "/login/ways", &json!({}));
    assert_eq!(ways["providers"], json!([{ "name": "house", "title": "Our house" }]));
    let unknown = "00000000-0000-7000-8000-000000000001";
    let secret = format!("cookie: __Host-everturn-openid=evb_{}\r\n", "0".repeat(64));
    for (query, cookie) in [
        (String::new(), ""),
        (format!("?state={unknown}&code=x"), ""),
        (format!("?state={unknown}&code=x"), secret.as_str()),
        ("?state=x&code=x".to_owned(), secret.as_str()),
        (format!("?state={unknown}&error=access_denied&more=x"), secret.as_str()),
    ] {
        let (status, head) = open(&stage, &format!("/login/openid/house/return{query}"), cookie);
        assert_eq!(status, 302, "{query}: {head}");
        assert!(head.contains("location: /?login=refused&why=expired\r\n"), "{query}: {head}");
        assert!(!head.contains("__Host-everturn=") && head.contains("__Host-everturn-openid=; "), "{head}");
    }
    let tries = (0..25).map(|_| open(&stage, "/login/openid/house/return", "").1);
    assert!(tries.last().unwrap().contains("why=too_many"));
}

#[test]
fn nobody_is_sent_to_a_provider_that_does_not_answer_or_back_to_another_site() {
    let stage = stage();
    let (status, head) = open(&stage, "/login/openid/house?to=/s/1", "");
    assert!(status == 302 && head.contains("location: /?login=refused&why=provider\r\n"), "{head}");
    for to in ["//evil.example", "https://evil.example", "/%5Cevil.example", "/%09/evil.example", "s"] {
        assert_eq!(open(&stage, &format!("/login/openid/house?to={to}"), "").0, 400, "{to}");
    }
    for path in ["/login/openid/club", "/login/openid/club/return?state=x&code=x"] {
        assert_eq!(open(&stage, path, "").0, 404, "{path}");
    }
}

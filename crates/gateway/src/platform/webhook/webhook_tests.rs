//! A webhook, posted to and posting.

use futures_util::future::join;
use reqwest::header::HeaderValue;
use session::{ChatKind, NodeId, SessionId, Time};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::platform::{OutboundFile, Sender, What};

const NOW: i64 = 1_790_000_000;

/// A clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Time {
        Time(NOW * 1_000_000)
    }

    fn session_id(&self) -> SessionId {
        SystemClock.session_id()
    }

    fn node_id(&self) -> NodeId {
        SystemClock.node_id()
    }
}

fn webhook_with(change: impl FnOnce(&mut WebhookSettings)) -> Webhook {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut settings = WebhookSettings::new("shop", "http://127.0.0.1:9/hook?secret=address", "one".into());
    change(&mut settings);
    Webhook::new(settings, Arc::new(Stopped)).unwrap()
}

fn webhook() -> Webhook {
    webhook_with(|_| {})
}

fn body(event: &str) -> Vec<u8> {
    let posted = serde_json::json!({
        "event": event,
        "chat": { "id": "till 4" },
        "sender": { "id": "7", "name": "Anna" },
        "text": "hello",
    });
    posted.to_string().into_bytes()
}

fn signed_by(secret: &str, body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(SIGNATURE, HeaderValue::from_str(&sign(&secret.into(), NOW, body)).unwrap());
    headers
}

fn post(webhook: &Webhook, event: &str) -> Result<Durable, Rejection> {
    let body = body(event);
    webhook.take(&signed_by("one", &body), &body, NOW)
}

async fn receive(webhook: &Webhook, cursor: Option<String>) -> Batch {
    webhook.receive(cursor).await.unwrap()
}

fn names(batch: &Batch) -> Vec<&str> {
    batch.events.iter().map(|event| event.event.as_str()).collect()
}

#[tokio::test]
async fn a_post_is_told_as_an_event() {
    let webhook = webhook();
    post(&webhook, "a").unwrap();
    let told = receive(&webhook, None).await.events.remove(0);
    let expected = crate::platform::Inbound {
        event: "a".to_owned(),
        place: Place { kind: ChatKind::Direct, chat: "till 4".to_owned(), thread: None },
        sender: Sender { id: "7".to_owned(), name: "Anna".to_owned() },
        what: What::Said { message: MessageId("a".to_owned()), text: "hello".to_owned(), files: Vec::new() },
        addressed: true,
    };
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn who_posts_is_told_only_once_a_later_cursor_is_named() {
    let webhook = webhook();
    let (one, two) = (post(&webhook, "a").unwrap().wait(), post(&webhook, "b").unwrap().wait());
    tokio::pin!(one, two);
    let first = receive(&webhook, None).await;
    assert_eq!(names(&first), ["a", "b"]);
    // Told, but not durable; so it is told again.
    assert!(one.as_mut().now_or_never().is_none());
    assert_eq!(receive(&webhook, None).await, first);
    let three = post(&webhook, "c").unwrap().wait();
    tokio::pin!(three);
    assert!(one.as_mut().now_or_never().is_none());
    let next = receive(&webhook, first.cursor).await;
    assert_eq!(names(&next), ["c"]);
    assert!(join(one, two).await == (true, true));
    assert!(three.as_mut().now_or_never().is_none());
    // Nothing more comes: the poll ends by itself, and the cursor counted.
    assert_eq!(receive(&webhook, next.cursor).await, Batch::default());
    assert!(three.await);
}

#[tokio::test]
async fn a_cursor_of_an_earlier_process_confirms_nothing() {
    let cursor = {
        let earlier = webhook();
        post(&earlier, "a").unwrap();
        post(&earlier, "b").unwrap();
        receive(&earlier, None).await.cursor
    };
    let webhook = webhook();
    let waiting = post(&webhook, "c").unwrap().wait();
    tokio::pin!(waiting);
    for cursor in [cursor, Some("2".to_owned()), Some("x-2".to_owned()), Some(String::new())] {
        assert_eq!(names(&receive(&webhook, cursor).await), ["c"]);
        assert!(waiting.as_mut().now_or_never().is_none());
    }
}

#[tokio::test]
async fn who_waits_when_the_process_ends_is_told_to_post_again() {
    let webhook = webhook();
    let waiting = post(&webhook, "a").unwrap();
    drop(webhook);
    assert!(!waiting.wait().await);
}

#[tokio::test]
async fn the_same_event_twice_is_one_and_both_are_answered() {
    let webhook = webhook();
    let (one, two) = (post(&webhook, "a").unwrap(), post(&webhook, "a").unwrap());
    post(&webhook, "b").unwrap();
    let first = receive(&webhook, None).await;
    assert_eq!(names(&first), ["a", "b"]);
    webhook.inbox.confirm(&first.cursor.unwrap());
    assert!(join(one.wait(), two.wait()).await == (true, true));
    // After it was durable: answered as before, and not told again.
    assert!(post(&webhook, "a").unwrap().wait().await);
    post(&webhook, "c").unwrap();
    assert_eq!(names(&receive(&webhook, None).await), ["c"]);
}

#[tokio::test]
async fn who_does_not_know_the_secret_is_not_heard() {
    let webhook = webhook();
    let body = body("a");
    let taken = |headers: &HeaderMap, body: &[u8], now| webhook.take(headers, body, now).map(drop);
    assert_eq!(taken(&HeaderMap::new(), &body, NOW), Err(Rejection::Signature));
    assert_eq!(taken(&signed_by("two", &body), &body, NOW), Err(Rejection::Signature));
    let mut changed = body.clone();
    changed[12] ^= 1;
    assert_eq!(taken(&signed_by("one", &body), &changed, NOW), Err(Rejection::Signature));
    assert_eq!(taken(&signed_by("one", &body), &body, NOW + 301), Err(Rejection::Stale));
    assert_eq!(taken(&signed_by("one", &body), &body, NOW + 300), Ok(()));
}

#[tokio::test]
async fn while_a_secret_is_replaced_both_are_taken_and_the_first_signs() {
    let both = webhook_with(|settings| settings.secrets = vec!["new".into(), "one".into()]);
    for (event, secret) in [("a", "one"), ("b", "new")] {
        let body = body(event);
        assert!(both.take(&signed_by(secret, &body), &body, NOW).is_ok());
    }
    for secrets in [vec![], vec!["a".into(), "b".into(), "c".into()]] {
        let settings = WebhookSettings { secrets, ..both.settings.clone() };
        assert!(Webhook::new(settings, Arc::new(Stopped)).is_err());
    }
}

#[tokio::test]
async fn what_is_too_large_unreadable_or_too_much_is_not_taken() {
    let webhook = webhook_with(|settings| {
        settings.body_bytes_max = 200;
        settings.waiting_max = 2;
    });
    let take = |body: &[u8]| webhook.take(&signed_by("one", body), body, NOW).map(drop);
    assert_eq!(take(&body(&"x".repeat(200))), Err(Rejection::TooLarge));
    let unreadable = ["{}", "[]", "", r#"{"event":"","chat":{"id":"1"},"sender":{"id":"1"}}"#];
    for text in unreadable {
        assert!(matches!(take(text.as_bytes()), Err(Rejection::Unreadable { .. })), "{text}");
    }
    for event in ["a", "b", "a"] {
        assert_eq!(take(&body(event)), Ok(()));
    }
    assert_eq!(take(&body("c")), Err(Rejection::Busy));
    let first = receive(&webhook, None).await;
    webhook.inbox.confirm(&first.cursor.unwrap());
    assert_eq!(take(&body("c")), Ok(()));
}

/// Answers one request so, and gives what was asked.
async fn answer_one(listener: &TcpListener, answer: &str) -> String {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut asked = Vec::new();
    while !asked.ends_with(b"}") {
        assert!(socket.read_buf(&mut asked).await.unwrap() > 0);
    }
    socket.write_all(answer.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    String::from_utf8(asked).unwrap()
}

async fn listening() -> (TcpListener, Webhook) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    (listener, webhook_with(|settings| settings.url = url))
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn what_is_posted_is_signed_and_named_by_its_key() {
    let (listener, webhook) = listening().await;
    let to = Place { kind: ChatKind::Group, chat: "till 4".to_owned(), thread: Some("2".to_owned()) };
    let file = OutboundFile {
        name: "a.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: Bytes::from_static(b"abc"),
    };
    let message =
        Outbound { answers: Some(MessageId("m1".to_owned())), files: vec![file], ..Outbound::text("hi") };
    let answered = reply("200 OK", r#"{"message":"m2"}"#);
    let (sent, asked) =
        join(webhook.send(&to, message, "key-1".to_owned()), answer_one(&listener, &answered)).await;
    assert_eq!(sent.unwrap(), MessageId("m2".to_owned()));
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("idempotency-key: key-1\r\n"), "{head}");
    let signature = sign(&"one".into(), NOW, body.as_bytes());
    assert!(head.contains(&format!("{SIGNATURE}: {signature}\r\n")), "{head}");
    let posted: serde_json::Value = serde_json::from_str(body).unwrap();
    let expected = serde_json::json!({
        "key": "key-1", "platform": "shop", "text": "hi", "answers": "m1",
        "chat": { "kind": "group", "id": "till 4", "thread": "2" },
        "files": [{ "name": "a.txt", "media_type": "text/plain", "base64": "YWJj" }],
    });
    assert_eq!(posted, expected);
}

#[tokio::test]
async fn what_is_answered_says_what_is_known_of_the_post() {
    let (listener, webhook) = listening().await;
    let to = Place { kind: ChatKind::Direct, chat: "1".to_owned(), thread: None };
    let not_sent = |seconds: Option<u64>| SendError::NotSent {
        reason: String::new(),
        retry_after: seconds.map(Duration::from_secs),
    };
    let doubtful = SendError::Doubtful { reason: String::new() };
    let refused = SendError::Refused { reason: String::new() };
    let cases = [
        ("204 No Content", Ok(MessageId("key".to_owned()))),
        ("200 OK", Ok(MessageId("key".to_owned()))),
        ("302 Found", Err(not_sent(None))),
        ("400 Bad", Err(refused.clone())),
        ("401 Unauthorized", Err(not_sent(None))),
        ("404 Not Found", Err(not_sent(None))),
        ("410 Gone", Err(refused)),
        ("413 Too Large", Err(SendError::TooLong)),
        ("429 Slow\r\nretry-after: 7", Err(not_sent(Some(7)))),
        ("503 Later\r\nretry-after: 8", Err(not_sent(Some(8)))),
        ("500 Broken", Err(doubtful.clone())),
        ("503 Broken", Err(doubtful.clone())),
    ];
    for (status, expected) in cases {
        let answered = reply(status, "");
        let sending = webhook.send(&to, Outbound::text("hi"), "key".to_owned());
        let (sent, _) = join(sending, answer_one(&listener, &answered)).await;
        assert_eq!(sent.map_err(without_reason), expected, "{status}");
    }
    // The connection is cut instead of an answer.
    let sending = webhook.send(&to, Outbound::text("hi"), "key".to_owned());
    let (sent, _) = join(sending, answer_one(&listener, "")).await;
    assert_eq!(sent.map_err(without_reason), Err(doubtful));
    drop(listener);
    let sent = webhook.send(&to, Outbound::text("hi"), "key".to_owned()).await;
    assert_eq!(sent.map_err(without_reason), Err(not_sent(None)));
}

fn without_reason(error: SendError) -> SendError {
    let words = error.to_string();
    assert!(!words.contains("127.0.0.1") || !words.contains("/hook"), "{words}");
    match error {
        SendError::NotSent { retry_after, .. } => SendError::NotSent { reason: String::new(), retry_after },
        SendError::Doubtful { .. } => SendError::Doubtful { reason: String::new() },
        SendError::Refused { .. } => SendError::Refused { reason: String::new() },
        SendError::TooLong => SendError::TooLong,
    }
}

#[tokio::test]
async fn files_of_inner_places_are_not_fetched() {
    let webhook = webhook();
    let file = InboundFile {
        reference: "http://127.0.0.1:8080/secret".to_owned(),
        name: "x".to_owned(),
        media_type: "text/plain".to_owned(),
        size_bytes: None,
    };
    let fetched = webhook.fetch(&file, 100).await;
    assert!(matches!(fetched, Err(SendError::Refused { .. })), "{fetched:?}");
}

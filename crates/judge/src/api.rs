//! How the server is asked: over its public API, as any client would.

use std::time::Duration;

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::history::Outcome;
use crate::shown::ShownAnswer;

/// Turns of one page.
const PAGE: usize = 50;
const PAGES_MAX: usize = 10_000;

/// A client of the server.
#[derive(Debug, Clone)]
pub struct Api {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// An entry as it was shown: its number, and the very bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub seq: u64,
    pub data: String,
}

impl Shown {
    /// The digest of what was shown.
    pub fn hash(&self) -> String {
        Sha256::digest(self.data.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a stream brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    Entry(Shown),
    CaughtUp,
    Other,
}

impl Api {
    /// A client.
    ///
    /// # Errors
    /// When none can be made.
    #[expect(clippy::disallowed_methods, reason = "it speaks to our own server, which its caller named")]
    pub fn new(url: &str, token: &str) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(2))
            .read_timeout(Duration::from_secs(30))
            .no_proxy()
            .build()
            .context("make a client")?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token: token.to_owned() })
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token)
    }

    /// Asks, and says what is known of it then.
    pub async fn ask(&self, method: Method, path: &str, body: &Value, key: Option<&str>) -> Outcome {
        let mut request = self.request(method, path).json(body);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let Ok(reply) = request.send().await else { return Outcome::Unknown };
        let status = reply.status();
        let Ok(text) = reply.text().await else { return Outcome::Unknown };
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if status.is_success() {
            return Outcome::Kept { turn: value["turn"].as_u64().unwrap_or(0) };
        }
        if status.is_server_error() {
            // Some of these say that nothing was kept; a verifier takes none of them at its word.
            return Outcome::Unknown;
        }
        Outcome::Refused { code: value["code"].as_str().unwrap_or_default().to_owned() }
    }

    /// Makes a session under an id; whether it is there afterwards.
    pub async fn create(&self, session: Uuid) -> bool {
        match self.ask(Method::POST, "/sessions", &json!({ "id": session }), None).await {
            Outcome::Kept { .. } => true,
            Outcome::Refused { code } => code == "session_exists",
            Outcome::Unknown => false,
        }
    }

    /// A session as it is; nothing when it cannot be had at the moment.
    pub async fn view(&self, session: Uuid) -> Option<Value> {
        let reply = self.request(Method::GET, &format!("/sessions/{session}")).send().await.ok()?;
        if !reply.status().is_success() {
            return None;
        }
        reply.json().await.ok()
    }

    /// The visible answers of a session, oldest first; nothing when they cannot be had at the moment.
    pub async fn answers(&self, session: Uuid) -> Option<Vec<ShownAnswer>> {
        let mut answers = Vec::new();
        let mut before = String::new();
        for _ in 0..PAGES_MAX {
            let path = format!("/sessions/{session}/turns?count={PAGE}{before}");
            let reply = self.request(Method::GET, &path).send().await.ok()?;
            if !reply.status().is_success() {
                return None;
            }
            let page: Value = reply.json().await.ok()?;
            let turns = page["turns"].as_array()?;
            answers.splice(0..0, turns.iter().map(ShownAnswer::read));
            match turns.first() {
                Some(first) if turns.len() == PAGE => before = format!("&before={}", first["turn"]),
                _ => break,
            }
        }
        Some(answers)
    }

    /// Whether the server says that there is no such session.
    pub async fn is_missing(&self, session: Uuid) -> bool {
        let asked = self.request(Method::GET, &format!("/sessions/{session}")).send().await;
        asked.is_ok_and(|reply| reply.status() == reqwest::StatusCode::NOT_FOUND)
    }

    /// Follows a session.
    pub async fn follow(&self, session: Uuid, after: u64) -> Option<Follower> {
        let path = format!("/sessions/{session}/events");
        let request = self.request(Method::GET, &path).header("last-event-id", after);
        let reply = request.send().await.ok()?;
        reply.status().is_success().then(|| Follower { reply, waiting: Vec::new() })
    }
}

/// One connection of a reader.
#[derive(Debug)]
pub struct Follower {
    reply: reqwest::Response,
    waiting: Vec<u8>,
}

impl Follower {
    /// Whole events that came; nothing when the connection ended. Half an event was not seen.
    pub async fn next(&mut self) -> Option<Vec<Brought>> {
        let chunk = self.reply.chunk().await.ok()??;
        self.waiting.extend_from_slice(&chunk);
        let mut brought = Vec::new();
        while let Some(end) = self.waiting.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = self.waiting.drain(..end + 2).collect();
            brought.push(parse(&String::from_utf8_lossy(&event)));
        }
        Some(brought)
    }
}

fn parse(text: &str) -> Brought {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    match (field("event"), field("id").and_then(|id| id.split('.').next()?.parse().ok()), field("data")) {
        (Some("entry"), Some(seq), Some(data)) => Brought::Entry(Shown { seq, data: data.to_owned() }),
        (Some("caught_up"), ..) => Brought::CaughtUp,
        _ => Brought::Other,
    }
}

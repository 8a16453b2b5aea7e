//! A client of the API, as any other program could be one: keys on what it posts, a cursor on what it reads.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::BytesMut;
use hub::{Clock, SystemClock};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::config::{Config, config_directory, environment};
use crate::cursor::Cursor;

/// Pause before the server is asked again.
const PAUSE: Duration = Duration::from_millis(300);
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// Longest silence of a stream; the server's heartbeat comes well within it.
const SILENCE_MAX: Duration = Duration::from_secs(45);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Bytes of one event.
const EVENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Talks to a server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// Why a request has no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// It may or may not have arrived.
    #[error("the server cannot be reached; `everturn serve` starts it ({0})")]
    Away(String),
    /// The server said no.
    #[error("{detail}")]
    Problem { status: StatusCode, code: String, detail: String },
}

impl ApiError {
    /// Whether asking again may help.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Away(_) => true,
            Self::Problem { status, .. } => *status == StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// One event of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<Cursor>,
    pub(crate) data: String,
}

impl Client {
    /// A client with the token of the environment, or the one that was saved.
    ///
    /// # Errors
    /// When there is none.
    #[expect(clippy::disallowed_methods, reason = "it speaks to our own server, which its caller named")]
    pub(crate) fn new(url: Option<String>, config: &Config) -> anyhow::Result<Self> {
        let saved = || std::fs::read_to_string(config_directory().join("token")).ok();
        let token = environment("EVERTURN_TOKEN").or_else(saved);
        let Some(token) = token else {
            bail!("no token: set EVERTURN_TOKEN to one, or save a new one with `everturn token new --save`");
        };
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENCE_MAX)
            .no_proxy()
            .build()
            .context("make an HTTP client")?;
        let url = url.unwrap_or_else(|| config.url());
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token: token.trim().to_owned() })
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token)
    }

    /// Asks once.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        self.ask_with_key(method, path, body, None).await
    }

    async fn ask_with_key(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Value, ApiError> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let away = |error: reqwest::Error| ApiError::Away(error.without_url().to_string());
        let reply = request.send().await.map_err(away)?;
        let status = reply.status();
        let text = reply.text().await.map_err(away)?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if status.is_success() {
            return Ok(value);
        }
        Err(problem(status, &value))
    }

    /// Asks for something long, which is read as it comes.
    ///
    /// # Errors
    /// When the server says no.
    pub(crate) async fn read(&self, path: &str) -> Result<reqwest::Response, ApiError> {
        let away = |error: reqwest::Error| ApiError::Away(error.without_url().to_string());
        let reply = self.request(Method::GET, path).send().await.map_err(away)?;
        let status = reply.status();
        if status.is_success() {
            return Ok(reply);
        }
        let text = reply.text().await.unwrap_or_default();
        Err(problem(status, &serde_json::from_str(&text).unwrap_or_default()))
    }

    /// Makes a session under an id of our own, so that asking again makes no second one.
    ///
    /// # Errors
    /// When the server says no.
    pub(crate) async fn create(&self) -> anyhow::Result<Uuid> {
        let session = SystemClock.session_id().0;
        let body = json!({ "id": session });
        let mut pause = Pause::default();
        loop {
            match self.ask(Method::POST, "/sessions", Some(&body)).await {
                Ok(_) => return Ok(session),
                // An earlier try arrived after all.
                Err(ApiError::Problem { code, .. }) if code == "session_exists" && pause.tries > 0 => {
                    return Ok(session);
                }
                Err(error) if error.is_passing() && pause.tries < 10 => pause.wait().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Posts a message and asks until it is known to be kept.
    ///
    /// # Errors
    /// When the server says no.
    pub(crate) async fn post(&self, session: Uuid, text: &str, mode: &str) -> Result<Value, ApiError> {
        let key = SystemClock.session_id().0.to_string();
        let body = json!({ "text": text, "mode": mode });
        let path = format!("/sessions/{session}/messages");
        let mut pause = Pause::default();
        loop {
            match self.ask_with_key(Method::POST, &path, Some(&body), Some(&key)).await {
                Err(error) if error.is_passing() => pause.wait().await,
                answered => return answered,
            }
        }
    }

    /// Follows a session from a cursor on, once; the reader is given back what to do when it ends.
    ///
    /// # Errors
    /// When the stream cannot be had.
    pub(crate) async fn follow(&self, session: Uuid, after: Cursor) -> Result<Events, ApiError> {
        let request = self.request(Method::GET, &format!("/sessions/{session}/events?after={after}"));
        let reply = request.send().await.map_err(|error| ApiError::Away(error.without_url().to_string()))?;
        let status = reply.status();
        if status.is_success() {
            return Ok(Events { reply, waiting: BytesMut::new() });
        }
        let text = reply.text().await.unwrap_or_default();
        Err(problem(status, &serde_json::from_str(&text).unwrap_or_default()))
    }
}

fn problem(status: StatusCode, value: &Value) -> ApiError {
    let detail = value["detail"].as_str().or(value["title"].as_str());
    ApiError::Problem {
        status,
        code: value["code"].as_str().unwrap_or_default().to_owned(),
        detail: detail.map_or_else(|| format!("the server answered {status}"), str::to_owned),
    }
}

/// Pauses that grow.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    pub(crate) tries: u32,
}

impl Pause {
    pub(crate) async fn wait(&mut self) {
        let pause = PAUSE.saturating_mul(1 << self.tries.min(8)).min(PAUSE_MAX);
        self.tries += 1;
        tokio::time::sleep(pause).await;
    }
}

/// The events of one connection.
#[derive(Debug)]
pub(crate) struct Events {
    reply: reqwest::Response,
    waiting: BytesMut,
}

impl Events {
    /// The next event; nothing when the connection ended, for whatever reason. Half an event is none.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.waiting.windows(2).position(|bytes| bytes == b"\n\n") {
                let event = self.waiting.split_to(end + 2);
                return Some(parse(&String::from_utf8_lossy(&event)));
            }
            if self.waiting.len() > EVENT_BYTES_MAX {
                return None;
            }
            self.waiting.extend_from_slice(&self.reply.chunk().await.ok()??);
        }
    }
}

/// Our server writes one field a line.
fn parse(text: &str) -> Event {
    let mut event = Event::default();
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("event", name)) => name.clone_into(&mut event.name),
            Some(("id", id)) => event.id = id.parse().ok(),
            Some(("data", data)) => data.clone_into(&mut event.data),
            _ => {}
        }
    }
    event
}

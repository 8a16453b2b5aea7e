//! A client of the public API: posts with idempotency keys, and reads streams with a cursor.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::BytesMut;
use hub::{Clock, SystemClock};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::config::{Config, config_directory, environment};
use crate::cursor::Cursor;

/// The first pause before a retry.
const PAUSE: Duration = Duration::from_millis(300);
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// Read timeout of a stream. The server sends heartbeats more often.
const SILENCE_MAX: Duration = Duration::from_secs(45);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Maximum size of one event in bytes.
const EVENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to a server's API.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The server could not be reached, or the connection broke. The request may have been processed.
    #[error("can't reach the server; start it with `everturn serve` ({0})")]
    Away(String),
    /// The server rejected the request.
    #[error("{detail}")]
    Problem { status: StatusCode, code: String, detail: String },
}

impl ApiError {
    /// Whether a retry may succeed.
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
    /// Creates a client with the token from the environment, or with the saved one.
    ///
    /// # Errors
    /// Returns an error if there is no token.
    #[expect(clippy::disallowed_methods, reason = "it connects to the server that the user named")]
    pub(crate) fn new(url: Option<String>, config: &Config) -> anyhow::Result<Self> {
        let saved = || std::fs::read_to_string(config_directory().join("token")).ok();
        let token = environment("EVERTURN_TOKEN").or_else(saved);
        let Some(token) = token else {
            bail!(
                "no API token; set EVERTURN_TOKEN, or create and save a token with `everturn token new --save`"
            );
        };
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENCE_MAX)
            .no_proxy()
            .build()
            .context("failed to create an HTTP client")?;
        let url = url.unwrap_or_else(|| config.url());
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token: token.trim().to_owned() })
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token)
    }

    /// Sends a request, without retries.
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

    /// Sends a request and returns the response, whose body is streamed.
    ///
    /// # Errors
    /// Returns an error if the server can't be reached or rejects the request.
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

    /// Creates a session. The client chooses its ID, so that a retry creates no second session.
    ///
    /// # Errors
    /// Returns an error if the server can't be reached or rejects the request.
    pub(crate) async fn create(&self) -> anyhow::Result<Uuid> {
        let session = SystemClock.session_id().0;
        let body = json!({ "id": session });
        let mut pause = Pause::default();
        loop {
            match self.ask(Method::POST, "/sessions", Some(&body)).await {
                Ok(_) => return Ok(session),
                // An earlier attempt succeeded.
                Err(ApiError::Problem { code, .. }) if code == "session_exists" && pause.tries > 0 => {
                    return Ok(session);
                }
                Err(error) if error.is_passing() && pause.tries < 10 => pause.wait().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Posts a message. Retries until the server confirms that the message is saved.
    ///
    /// # Errors
    /// Returns an error if the server rejects the message.
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

    /// Streams the events of a session after a cursor. Does not reconnect when the stream ends.
    ///
    /// # Errors
    /// Returns an error if the server can't be reached or rejects the request.
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
        detail: detail.map_or_else(|| format!("the server responded with {status}"), str::to_owned),
    }
}

/// Exponential backoff.
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
    /// Returns the next complete event, or `None` once the connection has ended.
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

/// Parses an event. The server writes each field on one line.
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

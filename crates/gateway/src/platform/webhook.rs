//! Everything else, by webhook: what is said is posted here with a signature, what is answered is posted there with one. Who
//! posts is answered well only once the event is durable, and posts it again otherwise; who receives is given a key by which
//! to show a message once.

mod inbox;
mod signature;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{Clock, Outgoing, SystemClock};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use secrecy::SecretString;
use serde::Deserialize;
use tokio::sync::oneshot;

use self::inbox::{Full, Inbox};
use super::reply;
use super::{
    Abilities, Batch, Counting, InboundFile, MessageId, Outbound, Place, Platform, ReceiveError, SendError,
};

pub use self::signature::{SIGNATURE, sign};

/// The header with the key of a message.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Bytes of a text that is posted: more than any model says at once.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of the answer to a post.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long `receive` waits for something.
const POLL: Duration = Duration::from_secs(25);
/// Longest wait for the answer to a post.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for a file.
const FILE_PATIENCE: Duration = Duration::from_secs(300);

/// A webhook, as the operator describes it.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    pub name: String,
    /// Where messages are posted to.
    pub url: String,
    /// The first signs what is posted. All of them are taken from who posts here: two while one replaces the other.
    pub secrets: Vec<SecretString>,
    /// Bytes of what is posted here.
    pub body_bytes_max: usize,
    /// Events that wait to become durable.
    pub waiting_max: usize,
}

impl WebhookSettings {
    /// A webhook with the usual limits.
    pub fn new(name: impl Into<String>, url: impl Into<String>, secret: SecretString) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            secrets: vec![secret],
            body_bytes_max: 1024 * 1024,
            waiting_max: 1_024,
        }
    }
}

/// The settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to set up the webhook: {0}")]
pub struct Unusable(String);

/// Why a post is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("the body is too large")]
    TooLarge,
    /// It is missing, cannot be read, or is not of somebody who knows the secret.
    #[error("the signature doesn't match")]
    Signature,
    #[error("the signature's timestamp is more than five minutes off")]
    Stale,
    #[error("the body can't be parsed: {reason}")]
    Unreadable { reason: String },
    /// It may be taken later.
    #[error("too many events are queued; try again later")]
    Busy,
}

/// Tells when an event is durable: only then may the post be answered well.
#[derive(Debug)]
pub struct Durable(oneshot::Receiver<()>);

impl Durable {
    /// Waits for it. `false` when it will not be known any more, as the webhook is gone: then it is to be posted again.
    pub async fn wait(self) -> bool {
        self.0.await.is_ok()
    }
}

/// One webhook.
pub struct Webhook {
    settings: WebhookSettings,
    outgoing: Outgoing,
    clock: Arc<dyn Clock>,
    inbox: Inbox,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may carry a secret of its own.
        f.debug_struct("Webhook").field("name", &self.settings.name).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Answer {
    message: Option<String>,
}

impl Webhook {
    /// Makes the webhook. Nothing is posted yet.
    ///
    /// # Errors
    /// When address or secrets cannot be used.
    pub fn new(settings: WebhookSettings, clock: Arc<dyn Clock>) -> Result<Self, Unusable> {
        if !(1..=2).contains(&settings.secrets.len()) {
            return Err(Unusable("it needs one secret, or two during a key rotation".to_owned()));
        }
        let outgoing =
            Outgoing::new([settings.url.as_str()]).map_err(|broken| Unusable(broken.to_string()))?;
        if let Err(refused) = outgoing.request(Method::POST, &settings.url) {
            return Err(Unusable(refused.to_string()));
        }
        let inbox = Inbox::new(SystemClock.id().to_string(), settings.waiting_max);
        Ok(Self { settings, outgoing, clock, inbox })
    }

    /// Takes what was posted. The same event twice is one, and both are answered alike.
    ///
    /// # Errors
    /// When it is not to be taken.
    pub fn take(&self, headers: &HeaderMap, body: &[u8], now_unix: i64) -> Result<Durable, Rejection> {
        if body.len() > self.settings.body_bytes_max {
            return Err(Rejection::TooLarge);
        }
        let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        signature::verify(header, body, &self.settings.secrets, now_unix)?;
        let event = wire::read(body)?;
        self.inbox.put(event).map(Durable).map_err(|Full| Rejection::Busy)
    }

    async fn post(&self, to: &Place, message: Outbound, key: String) -> Result<MessageId, SendError> {
        if message.text.len() > TEXT_BYTES_MAX {
            return Err(SendError::TooLong);
        }
        let refused = |reason: String| SendError::Refused { reason };
        let body = wire::write(&self.settings.name, to, &message, &key)
            .map_err(|error| refused(error.to_string()))?;
        let secret =
            self.settings.secrets.first().ok_or_else(|| refused("no secret is configured".to_owned()))?;
        let now_unix = self.clock.now().0 / 1_000_000;
        let request = self
            .outgoing
            .request(Method::POST, &self.settings.url)
            .map_err(|error| SendError::NotSent { reason: error.to_string(), retry_after: None })?
            .header("content-type", "application/json")
            .header(SIGNATURE, sign(secret, now_unix, &body))
            .header(IDEMPOTENCY_KEY, key.as_str())
            .timeout(PATIENCE)
            .body(body);
        let mut response = request.send().await.map_err(failed)?;
        judge(&response)?;
        // It was taken, whatever else is said.
        let said = reply::body(&mut response, ANSWER_BYTES_MAX).await.ok().flatten().unwrap_or_default();
        let answer = serde_json::from_slice::<Answer>(&said).ok();
        Ok(MessageId(answer.and_then(|answer| answer.message).unwrap_or(key)))
    }

    async fn download(&self, file: &InboundFile, most: usize) -> Result<Bytes, SendError> {
        if file.size_bytes.is_some_and(|size| size > most as u64) {
            return Err(SendError::TooLong);
        }
        // Nothing is sent here, so that nothing can have arrived.
        let later = |reason: String| SendError::NotSent { reason, retry_after: None };
        let request = self
            .outgoing
            .request(Method::GET, &file.reference)
            .map_err(|refused| SendError::Refused { reason: refused.to_string() })?
            .timeout(FILE_PATIENCE);
        let mut response = request.send().await.map_err(|error| later(reply::describe(error)))?;
        let status = response.status();
        if status.is_client_error() {
            return Err(SendError::Refused {
                reason: format!("the file request failed with status {status}"),
            });
        }
        if !status.is_success() {
            return Err(later(format!("the file request failed with status {status}")));
        }
        let read = reply::body(&mut response, most).await.map_err(|error| later(reply::describe(error)))?;
        read.ok_or(SendError::TooLong)
    }
}

impl Platform for Webhook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn kind(&self) -> &'static str {
        "webhook"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            text_max: TEXT_BYTES_MAX,
            counting: Counting::Bytes,
            edits: false,
            idempotent: true,
            edit_every: Duration::ZERO,
        }
    }

    fn receive(&self, cursor: Option<String>) -> BoxFuture<'_, Result<Batch, ReceiveError>> {
        async move {
            if let Some(cursor) = &cursor {
                self.inbox.confirm(cursor);
            }
            Ok(tokio::time::timeout(POLL, self.inbox.batch()).await.unwrap_or_default())
        }
        .boxed()
    }

    fn send(
        &self,
        to: &Place,
        message: Outbound,
        key: String,
    ) -> BoxFuture<'_, Result<MessageId, SendError>> {
        let to = to.clone();
        async move { self.post(&to, message, key).await }.boxed()
    }

    fn edit(
        &self,
        _to: &Place,
        _message: MessageId,
        _text: String,
        _key: String,
    ) -> BoxFuture<'_, Result<(), SendError>> {
        let reason = "posted messages can't be edited".to_owned();
        std::future::ready(Err(SendError::Refused { reason })).boxed()
    }

    fn typing(&self, _to: &Place) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn fetch(&self, file: &InboundFile, most: usize) -> BoxFuture<'_, Result<Bytes, SendError>> {
        let file = file.clone();
        async move { self.download(&file, most).await }.boxed()
    }

    /// Nobody can be asked without being posted to.
    fn who_am_i(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        std::future::ready(Ok(self.settings.name.clone())).boxed()
    }
}

/// What the status of an answer says of the post.
fn judge(response: &Response) -> Result<(), SendError> {
    let status = response.status();
    let reason = format!("the receiver responded with status {status}");
    let retry_after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    match status.as_u16() {
        200..300 => Ok(()),
        413 => Err(SendError::TooLong),
        400 | 410 | 422 => Err(SendError::Refused { reason }),
        503 if retry_after.is_some() => Err(SendError::NotSent { reason, retry_after }),
        500.. => Err(SendError::Doubtful { reason }),
        // A wrong address, secret or route can be mended, and then it arrives.
        _ => Err(SendError::NotSent { reason, retry_after }),
    }
}

fn failed(error: reqwest::Error) -> SendError {
    if reply::never_left(&error) {
        return SendError::NotSent { reason: reply::describe(error), retry_after: None };
    }
    SendError::Doubtful { reason: reply::describe(error) }
}

#[cfg(test)]
#[path = "webhook/webhook_tests.rs"]
mod tests;

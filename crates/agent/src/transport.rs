//! How a question travels to a provider and its answer back: over HTTP, or as a test says.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};

use crate::answer::describe;
use crate::outgoing::Outgoing;
use crate::provider::{BusyKind, ProviderError, RefusalKind, refusal};

/// Longest wait for the head of a reply: long prompts are read for minutes before the first token.
const HEAD_MAX: Duration = Duration::from_secs(600);

/// Returns how long the headers of a reply ask to wait. `header` looks one up by its lower-case name.
pub fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    refusal::wait_of(header)
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// What came back: a status, and bytes as they arrive.
pub struct Reply {
    pub status: u16,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    pub body: BoxStream<'static, Result<Bytes, Broken>>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A transport that failed, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// Carries questions to providers.
pub trait Transport: Send + Sync + 'static {
    /// Sends a request and answers with the reply's beginning. Nothing is sent twice.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>>;
}

/// HTTP, by the one client for everything that is fetched.
#[derive(Debug, Clone)]
pub struct HttpTransport(pub Outgoing);

impl Transport for HttpTransport {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let mut sending = match self.0.request(reqwest::Method::POST, &request.url) {
            Ok(sending) => sending.header("content-type", "application/json"),
            Err(refused) => {
                let reason = refused.to_string();
                let kind = RefusalKind::Other;
                return std::future::ready(Err(ProviderError::Refused { kind, reason })).boxed();
            }
        };
        for (name, value) in request.headers {
            sending = sending.header(name, value);
        }
        let sending = sending.body(request.body).send();
        async move {
            // Nothing of an answer has come, so that asking again doubles nothing.
            let busy = |error: reqwest::Error| ProviderError::Busy {
                kind: BusyKind::Network,
                reason: describe(&error.without_url()),
                retry_after: None,
            };
            let silent = |_| ProviderError::Silent { seconds: HEAD_MAX.as_secs() };
            let reply = tokio::time::timeout(HEAD_MAX, sending).await.map_err(silent)?.map_err(busy)?;
            let retry_after = retry_after(|name| reply.headers().get(name)?.to_str().ok());
            Ok(Reply {
                status: reply.status().as_u16(),
                retry_after,
                body: reply.bytes_stream().map_err(|error| Broken(describe(&error.without_url()))).boxed(),
            })
        }
        .boxed()
    }
}

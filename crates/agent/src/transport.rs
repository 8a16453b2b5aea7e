//! How a question travels to a provider and its answer back: over HTTP, or as a test says.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};

use crate::answer::describe;
use crate::outgoing::Outgoing;
use crate::provider::{BusyKind, ProviderError, RefusalKind, refusal};

/// Returns how long the headers of a reply ask to wait. `header` looks one up by its lower-case name.
pub fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    refusal::wait_of(header)
}

/// Most characters of a provider's request id.
const REQUEST_ID_MAX: usize = 128;
/// Headers that hold it: at OpenAI and most others, Anthropic, Azure, Mistral and Amazon.
const REQUEST_ID_HEADERS: [&str; 5] =
    ["x-request-id", "request-id", "apim-request-id", "mistral-correlation-id", "x-amzn-requestid"];

/// Returns the provider's request id. `header` looks one up by its lower-case name.
pub fn request_id<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let id = REQUEST_ID_HEADERS.iter().find_map(|name| header(name))?.trim();
    let is_id = !id.is_empty() && id.len() <= REQUEST_ID_MAX && id.chars().all(|c| c.is_ascii_graphic());
    is_id.then(|| id.to_owned())
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub url: String,
    pub headers: Vec<(Cow<'static, str>, String)>,
    pub body: String,
}

/// What came back: a status, and bytes as they arrive.
pub struct Reply {
    pub status: u16,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's request id.
    pub request: Option<String>,
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
    /// Sends a request and answers with the reply's beginning. Nothing is sent twice. The caller limits the wait.
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
            sending = sending.header(name.as_ref(), value);
        }
        let sending = sending.body(request.body).send();
        async move {
            // Nothing of an answer has come, so that asking again doubles nothing.
            let busy = |error: reqwest::Error| ProviderError::Busy {
                kind: BusyKind::Network,
                reason: describe(&error.without_url()),
                retry_after: None,
            };
            let reply = sending.await.map_err(busy)?;
            let header = |name: &str| reply.headers().get(name)?.to_str().ok();
            Ok(Reply {
                status: reply.status().as_u16(),
                retry_after: retry_after(header),
                request: request_id(header),
                body: reply.bytes_stream().map_err(|error| Broken(describe(&error.without_url()))).boxed(),
            })
        }
        .boxed()
    }
}

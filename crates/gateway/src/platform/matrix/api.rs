//! One request to a homeserver, and what is known when it did not answer as hoped.

use std::time::Duration;

use bytes::Bytes;
use hub::Outgoing;
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::SetUpError;
use super::wire::Complaint;
use crate::platform::{ReceiveError, SendError, reply};

/// Longest wait for an answer that is made at once. A homeserver under load takes its time to send a message.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer. A sync of very many rooms is large; nothing else comes near.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Letters that are kept of what a homeserver says in its own words.
const REASON_CHARS_MAX: usize = 200;

/// A homeserver, and the account that asks.
#[derive(Debug)]
pub(super) struct Api {
    outgoing: Outgoing,
    homeserver: Url,
    token: Option<SecretString>,
}

/// What is asked.
#[derive(Debug)]
pub(super) struct Ask {
    method: Method,
    /// Behind `/_matrix/client`, or behind `/_matrix` for what is not the client's.
    path: Vec<String>,
    root: &'static [&'static str],
    query: Vec<(&'static str, String)>,
    body: Option<Body>,
    patience: Duration,
    answer_bytes_max: usize,
}

#[derive(Debug)]
enum Body {
    Json(Value),
    File { media_type: String, bytes: Bytes },
}

impl Ask {
    fn new(method: Method, path: &[&str], body: Option<Body>) -> Self {
        let path = path.iter().map(|&part| part.to_owned()).collect();
        let root = &["_matrix", "client"];
        let query = Vec::new();
        Self { method, path, root, query, body, patience: PATIENCE, answer_bytes_max: ANSWER_BYTES_MAX }
    }

    pub(super) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path, None)
    }

    pub(super) fn put(path: &[&str], body: Value) -> Self {
        Self::new(Method::PUT, path, Some(Body::Json(body)))
    }

    pub(super) fn post(path: &[&str], body: Value) -> Self {
        Self::new(Method::POST, path, Some(Body::Json(body)))
    }

    /// A path of the media repository as it was before it belonged to the client's API.
    pub(super) fn old_media(self) -> Self {
        Self { root: &["_matrix", "media"], ..self }
    }

    pub(super) fn file(path: &[&str], media_type: String, bytes: Bytes) -> Self {
        Self::new(Method::POST, path, Some(Body::File { media_type, bytes }))
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    pub(super) fn at_most(self, answer_bytes_max: usize) -> Self {
        Self { answer_bytes_max, ..self }
    }
}

/// What is known when there is no good answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failed {
    /// There was no connection: nothing was done.
    #[error("{0}")]
    NotConnected(String),
    /// It may have been done.
    #[error("{0}")]
    Lost(String),
    /// The answer is larger than was asked for.
    #[error("the response is too large")]
    AnswerTooLarge,
    /// It was not done, as somebody said. Without a code it was not the homeserver: something before it.
    #[error("{status} {code} {reason}")]
    Refused { status: u16, code: String, reason: String, retry_after: Option<Duration> },
}

impl Failed {
    /// Whether the homeserver itself said no, and will say so again.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Refused { status, code, .. } => {
                !code.is_empty() && !matches!(status, 401 | 429) && !is_for_all(code)
            }
            Self::AnswerTooLarge => true,
            Self::NotConnected(_) | Self::Lost(_) => false,
        }
    }

    /// Whether the homeserver does not know the path at all.
    pub(super) fn is_unknown_path(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "M_UNRECOGNIZED")
    }
}

/// Refusals that are about the account or the server, not about what was asked.
fn is_for_all(code: &str) -> bool {
    matches!(code, "M_LIMIT_EXCEEDED" | "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_RESOURCE_LIMIT_EXCEEDED")
}

impl From<Failed> for ReceiveError {
    fn from(failed: Failed) -> Self {
        let reason = failed.to_string();
        match failed {
            Failed::Refused { status, code, .. }
                if status == 401 || matches!(&*code, "M_UNKNOWN_TOKEN" | "M_USER_DEACTIVATED") =>
            {
                Self::Unauthorized { reason }
            }
            Failed::Refused { retry_after, .. } => Self::Away { reason, retry_after },
            Failed::NotConnected(_) | Failed::Lost(_) | Failed::AnswerTooLarge => {
                Self::Away { reason, retry_after: None }
            }
        }
    }
}

impl From<Failed> for SendError {
    fn from(failed: Failed) -> Self {
        let reason = failed.to_string();
        match failed {
            Failed::NotConnected(_) => Self::NotSent { reason, retry_after: None },
            Failed::Lost(_) => Self::Doubtful { reason },
            Failed::AnswerTooLarge => Self::TooLong,
            Failed::Refused { status, ref code, .. } if status == 413 || code == "M_TOO_LARGE" => {
                Self::TooLong
            }
            Failed::Refused { .. } if failed.is_final() => Self::Refused { reason },
            Failed::Refused { retry_after, .. } => Self::NotSent { reason, retry_after },
        }
    }
}

impl Api {
    pub(super) fn new(homeserver: &str, token: Option<SecretString>) -> Result<Self, SetUpError> {
        let address = |reason: String| SetUpError::Address { reason };
        let url = Url::parse(homeserver).map_err(|error| address(error.to_string()))?;
        if url.cannot_be_a_base() {
            return Err(address("not a server URL".to_owned()));
        }
        let outgoing =
            Outgoing::new([homeserver]).map_err(|error| SetUpError::Client { reason: error.to_string() })?;
        outgoing
            .request(Method::GET, homeserver)
            .map_err(|refused| address(refused.to_string()))
            .map(drop)?;
        Ok(Self { outgoing, homeserver: url, token })
    }

    /// Asks, and reads the answer.
    pub(super) async fn read<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Failed> {
        let bytes = self.bytes(ask).await?;
        serde_json::from_slice(&bytes).map_err(|error| Failed::Lost(format!("unreadable response: {error}")))
    }

    /// Asks, and gives the answer as it came.
    pub(super) async fn bytes(&self, ask: Ask) -> Result<Bytes, Failed> {
        let patience = ask.patience;
        match tokio::time::timeout(patience, self.exchange(ask)).await {
            Ok(done) => done,
            Err(_) => Err(Failed::Lost(format!("no response for {} s", patience.as_secs()))),
        }
    }

    async fn exchange(&self, ask: Ask) -> Result<Bytes, Failed> {
        let refused = |reason: String| Failed::Refused {
            status: 0,
            code: "M_INVALID_PARAM".to_owned(),
            reason,
            retry_after: None,
        };
        let url = self.url(&ask).ok_or_else(|| refused("a part of the address is no name".to_owned()))?;
        let request = self.outgoing.request(ask.method, url.as_str());
        let mut request = request.map_err(|error| refused(error.to_string()))?;
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        request = match ask.body {
            Some(Body::Json(body)) => request.json(&body),
            Some(Body::File { media_type, bytes }) => request.header("content-type", media_type).body(bytes),
            None => request,
        };
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
        let body = reply::body(&mut response, ask.answer_bytes_max).await;
        let body = body.map_err(broken).and_then(|body| body.ok_or(Failed::AnswerTooLarge));
        if status.is_success() {
            return body;
        }
        Err(complaint(status.as_u16(), &body.unwrap_or_default(), retry_after))
    }

    /// The address; nothing when a part of the path would lead elsewhere.
    fn url(&self, ask: &Ask) -> Option<Url> {
        let parts = || ask.root.iter().copied().chain(ask.path.iter().map(String::as_str));
        if parts().any(|part| matches!(part, "" | "." | "..")) {
            return None;
        }
        let mut url = self.homeserver.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(parts());
        url.set_query(None);
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        Some(url)
    }
}

fn broken(error: reqwest::Error) -> Failed {
    let never_left = reply::never_left(&error);
    let reason = reply::describe(error);
    if never_left { Failed::NotConnected(reason) } else { Failed::Lost(reason) }
}

fn complaint(status: u16, body: &[u8], retry_after: Option<Duration>) -> Failed {
    let complaint: Complaint = serde_json::from_slice(body).unwrap_or_default();
    let reason: String = complaint.error.chars().take(REASON_CHARS_MAX).collect();
    if status >= 500 {
        return Failed::Lost(format!("{status} {} {reason}", complaint.errcode));
    }
    let retry_after = complaint.retry_after_ms.map(Duration::from_millis).or(retry_after);
    Failed::Refused { status, code: complaint.errcode, reason, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_error(status: u16, body: &str) -> SendError {
        complaint(status, body.as_bytes(), None).into()
    }

    #[test]
    fn what_a_refusal_means_for_a_message() {
        let waiting =
            send_error(429, r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow","retry_after_ms":1500}"#);
        let retry_after = Some(Duration::from_millis(1_500));
        assert_eq!(
            waiting,
            SendError::NotSent { reason: "429 M_LIMIT_EXCEEDED slow".to_owned(), retry_after }
        );
        let not_sent = [(401, r#"{"errcode":"M_UNKNOWN_TOKEN"}"#), (404, "<html>a proxy</html>"), (302, "")];
        for (status, body) in not_sent {
            assert!(matches!(send_error(status, body), SendError::NotSent { .. }), "{status} {body}");
        }
        for (status, code) in [(403, "M_FORBIDDEN"), (404, "M_NOT_FOUND"), (400, "M_BAD_JSON")] {
            let refused = send_error(status, &format!(r#"{{"errcode":"{code}"}}"#));
            assert!(matches!(refused, SendError::Refused { .. }), "{refused}");
        }
        assert_eq!(send_error(413, r#"{"errcode":"M_TOO_LARGE"}"#), SendError::TooLong);
        assert_eq!(send_error(413, "nginx"), SendError::TooLong);
        assert!(matches!(send_error(502, "bad gateway"), SendError::Doubtful { .. }));
    }

    #[test]
    fn what_a_refusal_means_for_receiving() {
        let receive_error = |status, body: &str| ReceiveError::from(complaint(status, body.as_bytes(), None));
        let unauthorized = receive_error(401, r#"{"errcode":"M_UNKNOWN_TOKEN","error":"gone"}"#);
        assert_eq!(
            unauthorized,
            ReceiveError::Unauthorized { reason: "401 M_UNKNOWN_TOKEN gone".to_owned() }
        );
        for (status, body) in [(500, ""), (404, ""), (429, r#"{"errcode":"M_LIMIT_EXCEEDED"}"#)] {
            assert!(matches!(receive_error(status, body), ReceiveError::Away { .. }), "{status}");
        }
    }

    #[test]
    fn a_name_in_an_address_stays_one_part_of_it() {
        drop(rustls::crypto::ring::default_provider().install_default());
        let api = Api::new("https://matrix.example/base/", None).unwrap();
        let url = |part: &str| api.url(&Ask::get(&["v3", "rooms", part, "send"]).with("a", "b&c"));
        let rooms = "https://matrix.example/base/_matrix/client/v3/rooms";
        assert_eq!(
            url("!a:b/c?d#e%2F").unwrap().as_str(),
            format!("{rooms}/!a:b%2Fc%3Fd%23e%252F/send?a=b%26c")
        );
        for part in ["", ".", ".."] {
            assert_eq!(url(part), None, "{part:?}");
        }
        for address in
            ["", "matrix.example", "mailto:x", "ftp://matrix.example", "https://a:b@matrix.example"]
        {
            assert!(matches!(Api::new(address, None), Err(SetUpError::Address { .. })), "{address}");
        }
    }
}

//! One call of the Bot API, and what is known when it was not answered well. The token stands in every address, so that no
//! address ever gets into a text.

use std::time::Duration;

use bytes::Bytes;
use hub::Outgoing;
use reqwest::multipart::Form;
use reqwest::{Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::platform::{ReceiveError, SendError, reply};

/// Bytes of an answer: a hundred updates with everything that they quote are far from it.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 300;

/// The Bot API with one account's token.
#[derive(Debug)]
pub(super) struct Api {
    outgoing: Outgoing,
    base: String,
    token: SecretString,
}

/// What a call carries.
#[derive(Debug)]
pub(super) enum Body {
    Json(Value),
    Form(Form),
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// It never got there.
    Unreached { reason: String },
    /// It may have been carried out: the answer did not come, or says nothing.
    Lost { reason: String },
    /// It was answered with no.
    Answered(No),
}

/// What the platform says when it does not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct No {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) retry_after: Option<Duration>,
    /// Where a group has gone.
    pub(super) moved_to: Option<i64>,
}

impl No {
    fn bad(description: String) -> Self {
        Self { code: 400, description, retry_after: None, moved_to: None }
    }

    /// Whether the platform's words have these in them.
    pub(super) fn says(&self, words: &str) -> bool {
        self.description.to_ascii_lowercase().contains(words)
    }
}

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    result: Option<Value>,
    error_code: Option<u16>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Deserialize, Default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    pub(super) fn new(outgoing: Outgoing, address: &str, token: SecretString) -> Self {
        Self { outgoing, base: address.trim_end_matches('/').to_owned(), token }
    }

    /// Calls a method; waits at most so long.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        body: Body,
        patience: Duration,
    ) -> Result<T, Failed> {
        let address = format!("{}/bot{}/{method}", self.base, self.token.expose_secret());
        let request = self.request(Method::POST, &address)?.timeout(patience);
        let request = match body {
            Body::Json(body) => request.json(&body),
            Body::Form(form) => request.multipart(form),
        };
        let mut response = request.send().await.map_err(|error| self.failed(error))?;
        let bytes = self.read(&mut response, ANSWER_BYTES_MAX).await?.ok_or_else(|| Failed::Lost {
            reason: format!("a response of more than {ANSWER_BYTES_MAX} bytes"),
        })?;
        self.understand(response.status().as_u16(), &bytes)
    }

    /// Downloads a file by the path that the platform gave; nothing when it is longer than `most` bytes.
    pub(super) async fn download(
        &self,
        path: &str,
        most: usize,
        patience: Duration,
    ) -> Result<Option<Bytes>, Failed> {
        let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.' | '-');
        if !path.chars().all(harmless) || path.contains("..") {
            return Err(Failed::Answered(No::bad("the file has an invalid path".to_owned())));
        }
        let address = format!("{}/file/bot{}/{path}", self.base, self.token.expose_secret());
        let request = self.request(Method::GET, &address)?.timeout(patience);
        let mut response = request.send().await.map_err(|error| self.failed(error))?;
        let status = response.status();
        let reason = format!("the file request failed with status {status}");
        if status.is_client_error() {
            return Err(Failed::Answered(No::bad(reason)));
        }
        if !status.is_success() {
            return Err(Failed::Lost { reason });
        }
        self.read(&mut response, most).await
    }

    fn request(&self, method: Method, address: &str) -> Result<RequestBuilder, Failed> {
        let refused = |refused: hub::Refused| Failed::Unreached { reason: refused.to_string() };
        self.outgoing.request(method, address).map_err(refused)
    }

    async fn read(&self, response: &mut Response, most: usize) -> Result<Option<Bytes>, Failed> {
        reply::body(response, most).await.map_err(|error| self.lost(error))
    }

    fn understand<T: DeserializeOwned>(&self, status: u16, bytes: &[u8]) -> Result<T, Failed> {
        let unreadable = || Failed::Lost { reason: format!("unreadable response with status {status}") };
        let answer: Answer = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
        if answer.ok {
            return serde_json::from_value(answer.result.unwrap_or_default()).map_err(|_| unreadable());
        }
        let code = answer.error_code.unwrap_or(status);
        let description = self.harmless(&answer.description);
        // Who answers so has broken somewhere on the way, perhaps behind the place where it was carried out.
        if !(400..500).contains(&code) {
            return Err(Failed::Lost { reason: format!("{code} {description}") });
        }
        Err(Failed::Answered(No {
            code,
            description,
            retry_after: answer.parameters.retry_after.map(Duration::from_secs),
            moved_to: answer.parameters.migrate_to_chat_id,
        }))
    }

    fn failed(&self, error: reqwest::Error) -> Failed {
        if reply::never_left(&error) {
            return Failed::Unreached { reason: self.describe(error) };
        }
        self.lost(error)
    }

    fn lost(&self, error: reqwest::Error) -> Failed {
        Failed::Lost { reason: self.describe(error) }
    }

    fn describe(&self, error: reqwest::Error) -> String {
        self.harmless(&reply::describe(error))
    }

    /// A text without the token, should somebody on the way have quoted the address.
    fn harmless(&self, text: &str) -> String {
        let text = text.replace(self.token.expose_secret(), "…");
        text.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
    }
}

impl From<Failed> for ReceiveError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreached { reason } | Failed::Lost { reason } => {
                Self::Away { reason, retry_after: None }
            }
            // A token that is not even shaped like one is answered with 404.
            Failed::Answered(No { code: 401 | 404, description, .. }) => {
                Self::Unauthorized { reason: description }
            }
            Failed::Answered(No { code: 409, description, .. }) => Self::Elsewhere { reason: description },
            Failed::Answered(No { description, retry_after, .. }) => {
                Self::Away { reason: description, retry_after }
            }
        }
    }
}

impl From<Failed> for SendError {
    fn from(failed: Failed) -> Self {
        let no = match failed {
            Failed::Unreached { reason } => return Self::NotSent { reason, retry_after: None },
            Failed::Lost { reason } => return Self::Doubtful { reason },
            Failed::Answered(no) => no,
        };
        match no.code {
            429 => Self::NotSent { reason: no.description, retry_after: no.retry_after },
            // The operator can mend a token, and then it arrives.
            401 | 404 => Self::NotSent { reason: no.description, retry_after: None },
            400 if no.says("message is too long") || no.says("caption is too long") => Self::TooLong,
            _ => Self::Refused { reason: no.description },
        }
    }
}

//! A provider that answers as a case says, and records its requests and their times.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Broken, ProviderError, Reply, Request, Transport, Wire};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, future, stream};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// The answer to one request.
#[derive(Clone)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    /// Pieces of the body, each after a wait.
    body: Vec<(Duration, String)>,
    fate: Fate,
}

/// The fate of a connection after the last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Ends,
    Breaks,
    /// It stays open and silent.
    Stalls,
    /// It sends nothing, not even the head of the reply.
    NeverBegins,
}

impl Answer {
    /// A stream in one piece.
    pub(super) fn streams(body: impl Into<String>) -> Self {
        Self::timed([(Duration::ZERO, body.into())])
    }

    /// A stream in pieces.
    pub(super) fn timed(body: impl Into<Vec<(Duration, String)>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into(), fate: Fate::Ends }
    }

    pub(super) fn refuses(status: u16, body: impl Into<String>) -> Self {
        Self { status, ..Self::streams(body) }
    }

    pub(super) fn with(self, headers: &[(&'static str, &'static str)]) -> Self {
        Self { headers: headers.to_vec(), ..self }
    }

    pub(super) fn then(self, fate: Fate) -> Self {
        Self { fate, ..self }
    }
}

/// One request.
#[derive(Clone)]
pub(super) struct Asked {
    /// The time since the provider was made.
    pub(super) at: Duration,
    pub(super) body: Value,
}

/// Gives one answer to each request, and repeats the last.
#[derive(Clone)]
pub(super) struct Scripted {
    begun: Instant,
    /// The header with the id of a request: `req_1` for the first.
    id_header: &'static str,
    answers: Arc<Vec<Answer>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Scripted {
    pub(super) fn new(wire: Wire, answers: Vec<Answer>) -> Self {
        let id_header = match wire {
            Wire::OpenAi | Wire::Responses => "x-request-id",
            Wire::Anthropic => "request-id",
        };
        Self { begun: Instant::now(), id_header, answers: Arc::new(answers), asked: Arc::default() }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Records a request and returns its number, from 1.
    fn note(&self, request: &Request) -> usize {
        let mut asked = self.asked.lock().unwrap();
        asked.push(Asked { at: self.begun.elapsed(), body: serde_json::from_str(&request.body).unwrap() });
        asked.len()
    }
}

impl Transport for Scripted {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let number = self.note(&request);
        let Answer { status, headers, body, fate } = self.answers[number.min(self.answers.len()) - 1].clone();
        let id = format!("req_{number}");
        let header = |name: &str| {
            let given = headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            given.or_else(|| (name == self.id_header).then_some(id.as_str()))
        };
        let pieces = stream::iter(body).then(|(wait, piece)| async move {
            sleep(wait).await;
            Ok(Bytes::from(piece))
        });
        let body = match fate {
            Fate::NeverBegins => return future::pending().boxed(),
            Fate::Ends => pieces.boxed(),
            Fate::Breaks => pieces.chain(stream::iter([Err(Broken("connection reset".to_owned()))])).boxed(),
            Fate::Stalls => pieces.chain(stream::pending()).boxed(),
        };
        let retry_after = agent::transport::retry_after(header);
        let request = agent::transport::request_id(header);
        future::ready(Ok(Reply { status, retry_after, request, body })).boxed()
    }
}

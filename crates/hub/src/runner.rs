//! The seam to the agent: what a run is given, and how it reports. A run cannot append; it only reports.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use session::{Message, Progress, Prompt, RunCause, RunId, SessionId, TurnId};

use crate::gather::Gather;

/// Works on turns.
pub trait Runner: Send + Sync + 'static {
    /// Works on one turn and reports what it brings. When the future ends, the run is complete unless it reported a
    /// failure; when it panics, the run has failed. It is dropped when the run is stopped.
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()>;
}

/// What a run works on.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub session: SessionId,
    pub turn: TurnId,
    pub run: RunId,
    pub cause: RunCause,
    pub prompt: Prompt,
}

/// The run ended in the log; its worker should end too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run is over")]
pub struct RunOver;

/// How a run reports.
#[derive(Debug, Clone)]
pub struct RunProgress {
    pub(crate) gather: Arc<Gather>,
}

impl RunProgress {
    /// Answer text. It is gathered with what follows and durable within the flush interval.
    ///
    /// # Errors
    /// When the run is over.
    pub async fn text(&self, text: &str) -> Result<(), RunOver> {
        self.gather.add(crate::gather::Kind::Text, text).await
    }

    /// Reasoning, gathered like text.
    ///
    /// # Errors
    /// When the run is over.
    pub async fn reasoning(&self, text: &str) -> Result<(), RunOver> {
        self.gather.add(crate::gather::Kind::Reasoning, text).await
    }

    /// Anything else, and what was gathered before it. Answers once it is durable in the log; for a step, with the
    /// messages that go into it.
    ///
    /// # Errors
    /// When the run is over.
    pub async fn report(&self, progress: Progress) -> Result<Vec<Message>, RunOver> {
        self.gather.report(progress).await
    }
}

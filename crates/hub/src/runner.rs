//! The seam to the agent: what a run is given, and how it reports. A run cannot append; it only reports.

use std::sync::Arc;

use agent::{Agent, Billed, Over, Sink, Work};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{CallNo, Message, Progress, ProjectId, Prompt, RunCause, RunId, SessionId, TurnId, UserId};
use tokio::time::Instant;

use crate::earlier::EarlierTurns;
use crate::gather::{Gather, Kind};

/// Works on turns.
pub trait Runner: Send + Sync + 'static {
    /// Works on one turn and reports what it brings. When the future ends, the run is complete unless it reported a
    /// failure; when it panics, the run has failed. It is dropped when the run is stopped.
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()>;

    /// Requests a title for a session that has none. Returns `None` if there is no model to ask.
    fn title(&self, _request: PromptRequest) -> BoxFuture<'static, Option<Billed<String>>> {
        std::future::ready(None).boxed()
    }

    /// Summarizes a session for the model: the summary, and the last turn that it covers.
    fn summary(&self, _request: PromptRequest) -> BoxFuture<'static, Billed<(String, TurnId)>> {
        std::future::ready(Billed::nothing()).boxed()
    }
}

impl Runner for Agent {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let agent = self.clone();
        async move {
            let RunRequest { session, run, prompt, earlier, .. } = request;
            // A run that is over was ended by someone else, who knows.
            if Self::run(&agent, Work { prompt, history: &earlier }, &progress).await.is_err() {
                tracing::debug!(%session, %run, "run aborted");
            }
        }
        .boxed()
    }

    fn title(&self, request: PromptRequest) -> BoxFuture<'static, Option<Billed<String>>> {
        let agent = self.clone();
        async move { Self::title(&agent, request.prompt).await }.boxed()
    }

    fn summary(&self, request: PromptRequest) -> BoxFuture<'static, Billed<(String, TurnId)>> {
        let agent = self.clone();
        async move { Self::summary(&agent, request.prompt, &request.earlier).await }.boxed()
    }
}

/// What a run works on.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub session: SessionId,
    /// Whose session it is.
    pub user: UserId,
    /// The project that it stands in, if its user still has it.
    pub project: Option<ProjectId>,
    pub turn: TurnId,
    pub run: RunId,
    pub cause: RunCause,
    pub prompt: Prompt,
    /// The turns that the prompt leaves out.
    pub earlier: EarlierTurns,
}

/// A prompt that the model answers outside a run, for a title or a summary.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// Whose session it is.
    pub user: UserId,
    /// The project that it stands in, if its user still has it.
    pub project: Option<ProjectId>,
    pub prompt: Prompt,
    /// The turns that the prompt leaves out.
    pub earlier: EarlierTurns,
}

/// The run ended in the log; its worker should end too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run has ended")]
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
        self.gather.add(&Kind::Text, text).await
    }

    /// Reasoning, gathered like text.
    ///
    /// # Errors
    /// When the run is over.
    pub async fn reasoning(&self, text: &str) -> Result<(), RunOver> {
        self.gather.add(&Kind::Reasoning, text).await
    }

    /// A piece of a call's arguments, gathered like text.
    ///
    /// # Errors
    /// When the run is over.
    pub async fn draft(&self, call: CallNo, tool: &str, arguments: &str) -> Result<(), RunOver> {
        self.gather.add(&Kind::Draft { call, tool: tool.to_owned() }, arguments).await
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

impl From<RunOver> for Over {
    fn from(_: RunOver) -> Self {
        Self
    }
}

impl Sink for RunProgress {
    async fn text(&self, text: &str) -> Result<(), Over> {
        Ok(Self::text(self, text).await?)
    }

    async fn reasoning(&self, text: &str) -> Result<(), Over> {
        Ok(Self::reasoning(self, text).await?)
    }

    async fn draft(&self, call: CallNo, tool: &str, arguments: &str) -> Result<(), Over> {
        Ok(Self::draft(self, call, tool, arguments).await?)
    }

    async fn report(&self, progress: Progress) -> Result<Vec<Message>, Over> {
        Ok(Self::report(self, progress).await?)
    }

    async fn compact(&self, summary: String, through: TurnId) -> Result<(), Over> {
        Ok(self.gather.compact(summary, through).await?)
    }

    fn rests_until(&self) -> Option<Instant> {
        self.gather.rests_until()
    }
}

//! What an agent may do: the seam, and the list of built-in tools.

mod attachment;
mod clock;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use session::event::CallStatus;
use session::{Attachment, BlobHash, Outcome, Time};

use crate::provider::ToolOffer;

pub use attachment::ReadAttachment;
pub use clock::ReadClock;

/// Something the agent may do.
pub trait Tool: Send + Sync + 'static {
    /// What the model is told of it.
    fn offer(&self) -> ToolOffer;

    /// Does it. The call is durable in the log by then; the future is dropped at its deadline or when the run is stopped.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Outcome>;
}

/// What a tool is given.
#[derive(Clone)]
pub struct ToolCall {
    pub arguments: serde_json::Value,
    /// The attachments of the session, oldest first.
    pub attachments: Vec<Attachment>,
    pub world: Arc<dyn World>,
}

impl std::fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolCall").finish_non_exhaustive()
    }
}

/// What tools may look at outside of the run.
pub trait World: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Time;

    /// The bytes of an attachment; `None` when there are none.
    fn blob(&self, blob: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>>;
}

/// The tools that every agent has; they read and change nothing.
pub fn built_in() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(ReadClock), Arc::new(ReadAttachment)]
}

/// A call that did what it was asked.
fn done(content: impl Into<String>) -> Outcome {
    Outcome { status: CallStatus::Ok, content: content.into() }
}

/// A call that could not.
pub(crate) fn failed(content: impl Into<String>) -> Outcome {
    Outcome { status: CallStatus::Error, content: content.into() }
}

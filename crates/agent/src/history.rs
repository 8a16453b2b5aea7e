//! The turns of a session that its prompt leaves out, for a model whose window has room for them.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::Prompt;

/// Earlier turns could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read earlier turns: {0}")]
pub struct Unreadable(pub String);

/// Reads the turns that a prompt leaves out: those of its [`earlier`](Prompt::earlier) range.
pub trait History: std::fmt::Debug + Send + Sync {
    /// Prepends turns of the range to the prompt, newest first, until it holds more than `room_bytes` or no turn is left.
    /// Shrinks the range to the turns that are still left out.
    ///
    /// # Errors
    /// Returns [`Unreadable`] if the log cannot be read; the prompt may then hold some of them.
    fn extend<'a>(
        &'a self,
        prompt: &'a mut Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<(), Unreadable>>;

    /// Returns the oldest of them as a prompt of their own: as many as `room_bytes` holds, and at least one.
    ///
    /// # Errors
    /// Returns [`Unreadable`] if the log cannot be read.
    fn oldest<'a>(
        &'a self,
        prompt: &'a Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<Prompt, Unreadable>>;
}

/// The history of a prompt that leaves nothing out.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHistory;

impl History for NoHistory {
    fn extend<'a>(&'a self, _: &'a mut Prompt, _: usize) -> BoxFuture<'a, Result<(), Unreadable>> {
        std::future::ready(Ok(())).boxed()
    }

    fn oldest<'a>(&'a self, _: &'a Prompt, _: usize) -> BoxFuture<'a, Result<Prompt, Unreadable>> {
        std::future::ready(Ok(Prompt::default())).boxed()
    }
}

//! Which chat speaks in which session: a row a chat, changed only by who knows what it was.

use futures_util::future::BoxFuture;
use session::{ChatKey, SessionId, Time};

use crate::error::StoreError;

/// Rows of chats.
pub trait Bindings: Send + Sync + 'static {
    /// The row of a chat.
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>>;

    /// Changes the row of a chat, if it still is what the caller knows.
    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>>;

    /// The chats that speak in a session, whichever of its ids they name, in the order of their stored keys.
    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>>;

    /// Every chat, in the order of their stored keys.
    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>>;
}

/// The row of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    pub session: SessionId,
    /// The next message begins a new session.
    pub suspended: bool,
}

/// Whether a row was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Yes,
    /// It is this by now.
    Changed(Option<Binding>),
}

/// A chat and what the list says of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRow {
    pub chat: ChatKey,
    pub binding: Binding,
    pub active_at: Time,
    /// Runs that ended interrupted since one was completed.
    pub interrupted: u32,
    pub resume_pending: bool,
}

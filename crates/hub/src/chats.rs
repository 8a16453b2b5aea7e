//! Chats: finds or begins the session behind one, says what an interruption left on it, and suspends one that does not
//! come to an end. The row of a chat and the log of its session are two places; each step can be done again, and a
//! message is acknowledged only by the log.

use std::time::Duration;

use session::limits::INTERRUPTED_IN_A_ROW_MAX;
use session::{
    ChatKey, Command, InterruptReason, Message, MessageKey, PostMode, Rejected, ResumeMark, ResumeReason,
    SessionId, UserId,
};
use store::{Binding, Bound, ChatRow, OpenError, StoreError};
use tokio::sync::oneshot;

use crate::error::CommandError;
use crate::handle::{Acknowledged, SessionHandle};
use crate::hub::{Create, Hub};
use crate::input::Input;

/// Tries to change a row that others change at the same time.
const TRIES_MAX: usize = 16;

/// A chat, by its key.
#[derive(Debug, Clone)]
pub struct ChatHandle {
    hub: Hub,
    chat: ChatKey,
    /// Whose sessions it begins.
    user: UserId,
}

/// What is known of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatStatus {
    pub session: SessionId,
    /// The next message begins a new session; it beats the mark.
    pub suspended: bool,
    pub resume: Option<ResumeMark>,
}

/// A chat that speaks in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundChat {
    pub chat: ChatKey,
    /// Its next message begins a new session.
    pub suspended: bool,
}

/// Where a message of a chat went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub session: SessionId,
    /// Why the chat goes on in a new session, if it does.
    pub reset: Option<Reset>,
    pub acknowledged: Acknowledged,
}

/// Where the next message of a chat stands.
#[derive(Debug, Clone)]
pub struct Settled {
    pub session: SessionHandle,
    /// Why the chat goes on in a new session, if it does.
    pub reset: Option<Reset>,
}

/// Why a chat goes on in a new session by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// It was suspended.
    Suspended,
}

impl Reset {
    /// The reason in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Suspended => "suspended",
        }
    }
}

impl Hub {
    /// A chat by its key. Nothing is looked up yet.
    pub fn chat(&self, chat: ChatKey) -> ChatHandle {
        ChatHandle { hub: self.clone(), chat, user: UserId::FIRST }
    }

    /// The chats that speak in a session.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn chats_of(&self, session: SessionId) -> Result<Vec<BoundChat>, StoreError> {
        let chats = self.store().chats_of(session).await?;
        let bound = |(chat, Binding { suspended, .. })| BoundChat { chat, suspended };
        Ok(chats.into_iter().map(bound).collect())
    }

    /// Every chat, with what the list says of its session.
    ///
    /// # Errors
    /// Returns an error if the store cannot be asked.
    pub async fn chats(&self) -> Result<Vec<ChatRow>, StoreError> {
        self.store().chats().await
    }

    /// Suspends the chats that were interrupted too often in a row, and says how many.
    pub(crate) async fn suspend_stuck(&self) -> Result<usize, StoreError> {
        self.suspend_where(|row| {
            row.interrupted >= INTERRUPTED_IN_A_ROW_MAX && !fault::planted("stuck_loop_goes_on")
        })
        .await
    }

    /// Suspends the chats that were active within so long before now and do not wait to be resumed, and says how many.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn suspend_recent(&self, within: Duration) -> Result<usize, StoreError> {
        let now = self.now();
        let within = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
        self.suspend_where(|row| {
            let waits = row.resume_pending && !fault::planted("recent_suspends_marked");
            !waits && now.micros_since(row.active_at) <= within
        })
        .await
    }

    /// A bug that can be planted: whatever is alive when a drain begins is marked.
    pub(crate) async fn mark_every_writer(&self, reason: &InterruptReason) {
        for mailbox in self.mailboxes() {
            let (answer, _) = oneshot::channel();
            let command = Command::MarkResume { reason: reason.into() };
            drop(mailbox.send(Input::Command { command, answer }).await);
        }
    }

    async fn suspend_where(&self, wanted: impl Fn(&ChatRow) -> bool) -> Result<usize, StoreError> {
        let rows = self.store().chats().await?;
        let mut count = 0;
        for row in rows.into_iter().filter(|row| !row.binding.suspended && wanted(row)) {
            let suspended = Binding { suspended: true, ..row.binding };
            // Whoever changed the row meanwhile knew better.
            if self.store().bind(row.chat, Some(row.binding), suspended).await? == Bound::Yes {
                count += 1;
            }
        }
        Ok(if fault::planted("suspends_in_silence") { 0 } else { count })
    }
}

impl ChatHandle {
    /// The same chat, as one whose sessions are that user's.
    #[must_use]
    pub fn of(self, user: UserId) -> Self {
        Self { user, ..self }
    }

    /// Lets the chat go on in a session that need not exist yet: the next message begins it. Saying so twice is harmless.
    ///
    /// # Errors
    /// When it was not kept.
    pub async fn begin_anew(&self, session: SessionId) -> Result<(), CommandError> {
        let anew = Binding { session, suspended: false };
        self.change(|known| (known != Some(anew)).then_some(anew)).await?;
        Ok(())
    }

    /// What is known of the chat; nothing when nobody wrote in it yet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn status(&self) -> Result<Option<ChatStatus>, CommandError> {
        let Some(Binding { session, suspended }) = self.binding().await? else { return Ok(None) };
        let resume = match self.hub.open(session).view().await {
            Ok(view) => view.resume,
            Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => None,
            Err(error) => return Err(error),
        };
        Ok(Some(ChatStatus { session, suspended, resume }))
    }

    /// A message arrived: it goes to the chat's session, or to a new one when the chat has none or is suspended.
    ///
    /// # Errors
    /// When the message was not kept; asking again with the same key is harmless.
    pub async fn arrive(
        &self,
        message: Message,
        mode: PostMode,
        key: Option<MessageKey>,
    ) -> Result<Arrived, CommandError> {
        let Settled { session, reset } = self.settle().await?;
        if fault::planted("message_clears_mark") {
            drop(session.submit(Command::ClearResume).await);
        }
        let acknowledged = session.submit(Command::PostMessage { message, mode, key }).await?;
        Ok(Arrived { session: session.session(), reset, acknowledged })
    }

    /// The session in which the next message of the chat stands: its own, or a new one when it has none or is suspended.
    ///
    /// # Errors
    /// When it cannot be told, or not be begun.
    pub async fn settle(&self) -> Result<Settled, CommandError> {
        let mut reset = None;
        for _ in 0..TRIES_MAX {
            let known = self.binding().await?;
            let (binding, after) = match known {
                Some(binding) if binding.suspended && !fault::planted("suspended_chat_goes_on") => {
                    reset = Some(Reset::Suspended);
                    (self.fresh(), Some(binding.session))
                }
                Some(binding) if self.is_gone(binding.session).await? => (self.fresh(), None),
                Some(binding) => (binding, None),
                None => (self.fresh(), None),
            };
            if known != Some(binding) {
                let bound = self.hub.store().bind(self.chat.clone(), known, binding).await?;
                if bound != Bound::Yes {
                    reset = None;
                    continue;
                }
            }
            let session = self.session(binding.session, after).await?;
            return Ok(Settled { session, reset });
        }
        Err(restless())
    }

    fn fresh(&self) -> Binding {
        Binding { session: self.hub.new_session_id(), suspended: false }
    }

    /// Whether the session behind the row was erased.
    async fn is_gone(&self, session: SessionId) -> Result<bool, CommandError> {
        match self.hub.store().open(session).await {
            Ok(_) | Err(OpenError::Unknown(_)) => Ok(false),
            Err(OpenError::Deleted(_)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// The session that the row names. The row comes first, so that whoever comes next makes the same one.
    async fn session(&self, id: SessionId, after: Option<SessionId>) -> Result<SessionHandle, CommandError> {
        match self.hub.store().open(id).await {
            Ok(_) => return Ok(self.hub.open(id)),
            Err(OpenError::Unknown(_)) => {}
            Err(error) => return Err(error.into()),
        }
        match self.hub.create(Create { session: Some(id), after, title: None, user: self.user }).await {
            Ok(session) => Ok(session),
            Err(CommandError::Exists(_) | CommandError::Rejected(Rejected::Exists)) => Ok(self.hub.open(id)),
            Err(error) => Err(error),
        }
    }

    /// Marks the chat's session to be resumed. Says no for a chat that is unknown or suspended.
    ///
    /// # Errors
    /// When the mark was not kept.
    pub async fn mark_resume(&self, reason: Option<ResumeReason>) -> Result<bool, CommandError> {
        let binding = self.binding().await?;
        let blind = fault::planted("suspended_chat_is_marked");
        let Some(binding) = binding.filter(|binding| !binding.suspended || blind) else {
            return Ok(binding.is_none() && fault::planted("unknown_chat_says_yes"));
        };
        let reason = reason.unwrap_or_default();
        self.hub.open(binding.session).submit(Command::MarkResume { reason }).await?;
        Ok(true)
    }

    /// Takes the mark away. Says no for a chat that is unknown or not marked.
    ///
    /// # Errors
    /// When it was not kept that the mark is gone.
    pub async fn clear_resume(&self) -> Result<bool, CommandError> {
        let Some(binding) = self.binding().await? else { return Ok(fault::planted("unknown_chat_says_yes")) };
        match self.hub.open(binding.session).submit(Command::ClearResume).await {
            Ok(_) => Ok(true),
            Err(CommandError::Rejected(Rejected::NotMarked)) => Ok(fault::planted("clearing_says_yes")),
            Err(error) => Err(error),
        }
    }

    /// Lets the next message begin a new session. Says no for a chat that is unknown or suspended already.
    ///
    /// # Errors
    /// When it was not kept.
    pub async fn suspend(&self) -> Result<bool, CommandError> {
        self.change(|known| Some(Binding { suspended: true, ..known.filter(|known| !known.suspended)? }))
            .await
    }

    /// Lets the chat go on in a session that exists.
    ///
    /// # Errors
    /// When there is no such session, or it was not kept.
    pub async fn bind(&self, session: SessionId) -> Result<(), CommandError> {
        self.hub.store().open(session).await?;
        self.change(|_| Some(Binding { session, suspended: false })).await?;
        Ok(())
    }

    /// Changes the row from what it is to what `to` makes of it, however often others change it meanwhile. Says no when
    /// there is nothing to change.
    async fn change(&self, to: impl Fn(Option<Binding>) -> Option<Binding>) -> Result<bool, CommandError> {
        for _ in 0..TRIES_MAX {
            let known = self.binding().await?;
            let Some(binding) = to(known) else { return Ok(false) };
            if self.hub.store().bind(self.chat.clone(), known, binding).await? == Bound::Yes {
                return Ok(true);
            }
        }
        Err(restless())
    }

    async fn binding(&self) -> Result<Option<Binding>, CommandError> {
        Ok(self.hub.store().binding(self.chat.clone()).await?)
    }
}

/// A row that never stands still.
fn restless() -> CommandError {
    CommandError::Unavailable { reason: "the chat keeps changing; try again".to_owned() }
}

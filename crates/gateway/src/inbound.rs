//! From a platform into the log: what a platform tells is durable before it hears that it was taken, and is taken once however
//! often it tells it. Where an event belongs is kept first; the session's own key does the rest.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use hub::{ChatHandle, CommandError};
use session::{
    Attachment, ChatKey, ChatKind, Command, FromChat, Message, MessageKey, PostMode, SessionId, UserId,
};
use tokio_util::sync::CancellationToken;

use crate::commands::{Asked, Held, Slash};
use crate::gateway::{PAIRING_LASTS, Shared};
use crate::health::State;
use crate::platform::{
    Inbound, InboundFile, MessageId, Outbound, Place, Platform, ReceiveError, SendError, What,
};
use crate::register::{Pairing, Taken};
use crate::{spawn, words};

/// Chats whose events are taken at the same time.
const CHATS_AT_ONCE: usize = 32;
/// The longest wait before a platform that is away is asked again.
const AWAY_MAX: Duration = Duration::from_secs(60);
/// Bytes of one file that is taken in.
const FILE_BYTES_MAX: usize = 20 * 1024 * 1024;
/// How often something is asked of a platform that others wait behind, and what lies between.
const TRIES_MAX: usize = 4;
const TRY_AGAIN: Duration = Duration::from_secs(2);
/// Characters of what somebody calls themselves.
const NAME_MAX: usize = 80;
/// The agent that answers in chats.
const AGENT: &str = "main";

/// Receives from one platform until it is told to stop.
pub(crate) async fn receive(shared: Shared, platform: usize, stop: CancellationToken) {
    let mut away = Duration::ZERO;
    while !stop.is_cancelled() {
        let wait = tokio::select! {
            () = stop.cancelled() => return,
            // Dropped in the middle of a batch, it is told again.
            wait = receive_once(&shared, platform) => wait,
        };
        away = match wait {
            None => Duration::ZERO,
            Some(wait) => wait.unwrap_or((away * 2).clamp(Duration::from_millis(200), AWAY_MAX)),
        };
        if !away.is_zero() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(away) => {}
            }
        }
    }
}

/// Takes one batch. Says whether to wait before the next one, and how long if that is known.
async fn receive_once(shared: &Shared, at: usize) -> Option<Option<Duration>> {
    let (platform, health) = shared.platform(at);
    let name = platform.name();
    let cursor = match shared.register.cursor(name) {
        Ok(cursor) => cursor,
        Err(error) => {
            health.is(State::Away { reason: error.to_string() });
            return Some(None);
        }
    };
    let received = async {
        // Waiting for something new takes a while; whether there is anybody to wait for is told at once.
        if health.is_silent() {
            platform.who_am_i().await?;
            health.is(State::Receiving);
        }
        platform.receive(cursor).await
    };
    let batch = match received.await {
        Ok(batch) => batch,
        Err(error) => {
            tracing::warn!(platform = name, reason = %error, "failed to receive from platform");
            let (state, wait) = match error {
                ReceiveError::Away { reason, retry_after } => (State::Away { reason }, retry_after),
                ReceiveError::Elsewhere { reason } => (State::Elsewhere { reason }, Some(AWAY_MAX / 6)),
                ReceiveError::Unauthorized { reason } => (State::Unauthorized { reason }, Some(AWAY_MAX)),
            };
            health.is(state);
            return Some(wait);
        }
    };
    health.is(State::Receiving);
    if let Err(error) = take_all(shared, at, batch.events).await {
        // Nothing is lost: it is told again.
        tracing::warn!(platform = name, reason = %error, "failed to save received events");
        return Some(None);
    }
    if let Some(cursor) = batch.cursor
        && let Err(error) = shared.register.keep_cursor(name, &cursor)
    {
        tracing::warn!(platform = name, reason = %error, "failed to save read position");
        return Some(None);
    }
    None
}

/// Takes a batch: chat by chat in order, several chats at once. When it says so, all is durable.
async fn take_all(shared: &Shared, at: usize, events: Vec<Inbound>) -> Result<(), Held> {
    let mut chats: HashMap<Place, Vec<Inbound>> = HashMap::new();
    for event in events {
        chats.entry(event.place.clone()).or_default().push(event);
    }
    let taken = stream::iter(chats.into_values()).map(|events| async move {
        for event in events {
            take(shared, at, event).await?;
        }
        Ok(())
    });
    let taken: Vec<Result<(), Held>> = taken.buffer_unordered(CHATS_AT_ONCE).collect().await;
    taken.into_iter().collect()
}

/// The key of the chat in which something was said: in a group everybody has their own, in a thread all share one.
fn key_of(platform: &str, event: &Inbound) -> ChatKey {
    let Place { kind, chat, thread } = event.place.clone();
    let own = kind == ChatKind::Group && thread.is_none();
    let sender = own.then(|| event.sender.id.clone());
    ChatKey { agent: AGENT.to_owned(), platform: platform.to_owned(), kind, chat, thread, sender }
}

async fn take(shared: &Shared, at: usize, event: Inbound) -> Result<(), Held> {
    let (platform, health) = shared.platform(at);
    if !event.addressed && event.what != What::Invited {
        return Ok(());
    }
    let Some(user) = shared.register.user_of(platform.name(), &event.sender.id)? else {
        return greet_stranger(shared, platform.as_ref(), &event).await;
    };
    health.received();
    let chat = key_of(platform.name(), &event);
    let arriving = Arriving { shared, platform: platform.as_ref(), chat, user, event: &event };
    let taken = match &event.what {
        What::Invited => {
            arriving.accept().await;
            Ok(())
        }
        What::Changed { message, text } => arriving.change(message, text).await,
        What::Said { message, text, files } => match Slash::read(text) {
            Some(Slash::Say(mode, text)) => arriving.say(message, &text, files, mode).await,
            Some(slash) => arriving.command(&slash, message).await,
            None => arriving.say(message, text, files, shared.busy.clone()).await,
        },
    };
    match taken {
        // It would be the same for ever, and everything behind it would wait.
        Err(Held::Command(error)) if !error.may_pass() => {
            arriving.refuse(&error);
            Ok(())
        }
        taken => taken,
    }
}

/// A stranger who speaks to the account alone may be told how to be let in; elsewhere it says nothing.
async fn greet_stranger(shared: &Shared, platform: &dyn Platform, event: &Inbound) -> Result<(), Held> {
    if event.place.kind != ChatKind::Direct {
        return Ok(());
    }
    let sender = &event.sender;
    let name = visible_name(&sender.name);
    let Pairing::Code(code) = shared.register.ask_to_pair(platform.name(), &sender.id, &name)? else {
        return Ok(());
    };
    if event.what == What::Invited {
        drop(platform.accept(&event.place).await);
    }
    let text = words::pairing(&code, PAIRING_LASTS);
    let key = format!("pair {}", event.event);
    // Whoever is not told can ask again.
    drop(platform.send(&event.place, Outbound::text(text), key).await);
    Ok(())
}

/// What somebody calls themselves, in one line: nobody speaks in another's name behind a line break.
fn visible_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect()
}

/// Asks a platform for something that may be asked for twice; a failure that may pass is waited out for a moment.
async fn patiently<'a, T>(ask: impl Fn() -> BoxFuture<'a, Result<T, SendError>>) -> Result<T, SendError> {
    for _ in 1..TRIES_MAX {
        match ask().await {
            Err(SendError::NotSent { .. } | SendError::Doubtful { .. }) => {
                tokio::time::sleep(TRY_AGAIN).await;
            }
            done => return done,
        }
    }
    ask().await
}

/// Something that somebody who is let in did.
struct Arriving<'a> {
    shared: &'a Shared,
    platform: &'a dyn Platform,
    chat: ChatKey,
    user: UserId,
    event: &'a Inbound,
}

impl Arriving<'_> {
    fn handle(&self) -> ChatHandle {
        self.shared.hub.chat(self.chat.clone()).of(self.user)
    }

    /// Enters a chat. Who is not joined asks again; nothing behind the invitation waits for a chat that cannot be entered.
    async fn accept(&self) {
        if let Err(error) = patiently(|| self.platform.accept(&self.event.place)).await {
            tracing::warn!(platform = self.platform.name(), reason = %error, "failed to accept invitation");
        }
    }

    /// Says that something was not taken. What was changed is as it was, which needs no word.
    fn refuse(&self, error: &CommandError) {
        tracing::warn!(platform = self.platform.name(), reason = %error, "event rejected");
        if let What::Said { message, .. } = &self.event.what {
            self.tell("refusal", words::not_taken(&error.to_string()), Some(message));
        }
    }

    /// Says something to the chat that no log holds. It is said once where the platform can tell; nothing depends on it.
    fn tell(&self, what: &str, text: String, answers: Option<&MessageId>) {
        let (shared, name) = (self.shared.clone(), self.platform.name().to_owned());
        let message = Outbound { text, answers: answers.cloned(), files: Vec::new() };
        let (to, key) = (self.event.place.clone(), format!("{what} {}", self.event.event));
        spawn::spawn(async move {
            let Some((platform, _)) = shared.named(&name) else { return };
            if let Err(error) = platform.send(&to, message, key).await {
                tracing::debug!(platform = name, reason = %error, "failed to send notice");
            }
        });
    }

    async fn command(&self, slash: &Slash, message: &MessageId) -> Result<(), Held> {
        let chat = self.handle();
        let chat_key = self.chat.to_text();
        let asked = Asked {
            register: self.shared.register.as_ref(),
            platform: self.platform.name(),
            event: &self.event.event,
            chat_key: &chat_key,
            hub: &self.shared.hub,
            chat: &chat,
        };
        if let Some(answer) = asked.perform(slash).await? {
            asked.done()?;
            self.tell("command", answer, Some(message));
        }
        Ok(())
    }

    /// Puts a message into the session that it belongs to.
    async fn say(
        &self,
        message: &MessageId,
        text: &str,
        files: &[InboundFile],
        mode: PostMode,
    ) -> Result<(), Held> {
        let (platform, event) = (self.platform.name(), &self.event.event);
        let taken = self.shared.register.taken(platform, event)?;
        let session = match taken.and_then(|taken| taken.session) {
            Some(session) => session,
            None => self.settle().await?,
        };
        let said = self.message(message, text, files).await?;
        let key = Some(MessageKey(format!("{platform} {event}")));
        let post = Command::PostMessage { message: said, mode, key };
        let posted = match self.shared.hub.open(session).submit(post.clone()).await {
            // It was erased while the message was on its way; the chat goes on elsewhere.
            Err(CommandError::Deleted(_)) => {
                let session = self.settle().await?;
                self.shared.hub.open(session).submit(post).await
            }
            posted => posted,
        };
        match posted {
            // Another body under the same key: it was taken before, when a file was still there.
            Ok(_) | Err(CommandError::KeyReused) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the message stands from now on, however often it is told.
    async fn settle(&self) -> Result<SessionId, Held> {
        let settled = self.handle().settle().await?;
        let session = settled.session.session();
        let taken = Taken { session: Some(session), ..Taken::default() };
        self.shared.register.keep_taken(self.platform.name(), &self.event.event, &taken)?;
        if let Some(reset) = settled.reset {
            self.tell("reset", words::reset(reset), None);
        }
        Ok(session)
    }

    async fn message(&self, id: &MessageId, text: &str, files: &[InboundFile]) -> Result<Message, Held> {
        let (sender, name) = (&self.event.sender, visible_name(&self.event.sender.name));
        // Where several speak, the model is told who.
        let shared_by_many = self.chat.kind != ChatKind::Direct && self.chat.sender.is_none();
        let mut text = if shared_by_many { format!("{name}: {text}") } else { text.to_owned() };
        let mut attachments = Vec::new();
        for file in files {
            match patiently(|| self.platform.fetch(file, FILE_BYTES_MAX)).await {
                Ok(bytes) => {
                    let size_bytes = bytes.len() as u64;
                    let kept = self.shared.hub.keep_blob(bytes.to_vec()).await;
                    let blob = kept.map_err(|error| {
                        Held::Command(CommandError::Unavailable { reason: error.to_string() })
                    })?;
                    self.shared.register.note_file(self.user, &blob)?;
                    let (name, media_type) = (file.name.clone(), file.media_type.clone());
                    attachments.push(Attachment { name, media_type, blob, size_bytes });
                }
                Err(error) => {
                    let note = words::file_missing(&file.name, &error.to_string());
                    text = format!("{text}\n{note}").trim().to_owned();
                }
            }
        }
        let from = Box::new(FromChat {
            chat: self.chat.to_text(),
            message: id.0.clone(),
            peer: sender.id.clone(),
            sender: Some(name),
        });
        let model = self.shared.register.model_of(&from.chat)?;
        let device = Some(self.platform.name().to_owned());
        Ok(Message { text, attachments, model, device, from: Some(from) })
    }

    /// A message that still waits is changed; one that was taken stays as it was said.
    async fn change(&self, id: &MessageId, text: &str) -> Result<(), Held> {
        let Some(status) = self.handle().status().await? else { return Ok(()) };
        let session = self.shared.hub.open(status.session);
        let state = session.state().await?;
        let same = |message: &Message| message.from.as_ref().is_some_and(|from| from.message == id.0);
        let Some(queued) = state.queue.iter().find(|queued| same(&queued.message)) else { return Ok(()) };
        let message = Message { text: text.to_owned(), ..queued.message.clone() };
        match session.submit(Command::EditQueued { turn: queued.turn, message }).await {
            Ok(_) | Err(CommandError::Rejected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

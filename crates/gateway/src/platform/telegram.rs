//! Telegram, by the Bot API: long polls for what people say, and a handful of methods to answer. The platform shows a message
//! again when it is sent again, so that everything of which it is not known whether it arrived is told as doubtful.

mod api;
mod rates;
mod wire;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::Outgoing;
use reqwest::multipart::{Form, Part};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use self::api::{Api, Body, Failed, No};
use self::rates::{Limiter, Work};
use self::wire::{Me, Update};
use super::{
    Abilities, Batch, Counting, InboundFile, MessageId, Outbound, OutboundFile, Place, Platform,
    ReceiveError, SendError,
};
use crate::format::{Flavour, to_html};

pub use self::rates::{Rate, Rates};

/// Where the Bot API is.
pub const API: &str = "https://api.telegram.org";

/// UTF-16 units of a message, as it is shown.
const TEXT_MAX: usize = 4_096;
/// UTF-16 units of the text under a file.
const CAPTION_MAX: usize = 1_024;
/// Bytes of a picture that is shown as one; a larger one goes as a file.
const PHOTO_BYTES_MAX: usize = 10 * 1024 * 1024;

/// How long the platform is asked to wait for something new.
const POLL: Duration = Duration::from_secs(25);
/// How much longer its answer may take.
const POLL_PATIENCE: Duration = Duration::from_secs(15);
/// Longest wait for the answer to a small request.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same when it carries a file: 50 MB over a slow line.
const FILE_PATIENCE: Duration = Duration::from_secs(300);
/// Typing is shown for five seconds; an answer after that is worth nothing.
const TYPING_PATIENCE: Duration = Duration::from_secs(5);

/// One account on Telegram, as the operator describes it.
#[derive(Debug, Clone)]
pub struct TelegramSettings {
    pub name: String,
    /// The address of the Bot API; `API` if it is not a server of one's own.
    pub api: String,
    pub token: SecretString,
    pub rates: Rates,
}

/// The settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to set up Telegram: {0}")]
pub struct Unusable(String);

/// One account on Telegram.
#[derive(Debug)]
pub struct Telegram {
    name: String,
    api: Api,
    limiter: Limiter,
    /// Chats whose turn came and is not used yet.
    kept_turns: Mutex<HashMap<String, usize>>,
    edit_every: Duration,
    /// Who we are there; asked once.
    me: OnceCell<Me>,
}

/// How a text is sent: with its marks, or bare when the platform could not read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Marked,
    Bare,
}

/// What the platform tells of a message that it took.
#[derive(Debug, Deserialize)]
struct Taken {
    message_id: i64,
}

#[derive(Debug, Deserialize)]
struct FilePath {
    file_path: Option<String>,
}

impl Telegram {
    /// Makes the account. Nothing is asked yet.
    ///
    /// # Errors
    /// When address or token cannot be what they should be.
    pub fn new(settings: TelegramSettings) -> Result<Self, Unusable> {
        let token = settings.token.expose_secret();
        let shaped = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if token.is_empty() || !token.chars().all(shaped) {
            return Err(Unusable("the token contains invalid characters".to_owned()));
        }
        let outgoing =
            Outgoing::new([settings.api.as_str()]).map_err(|broken| Unusable(broken.to_string()))?;
        if let Err(refused) = outgoing.request(reqwest::Method::GET, &settings.api) {
            return Err(Unusable(refused.to_string()));
        }
        Ok(Self {
            name: settings.name,
            api: Api::new(outgoing, &settings.api, settings.token),
            limiter: Limiter::new(settings.rates),
            kept_turns: Mutex::default(),
            edit_every: settings.rates.edit_every,
            me: OnceCell::new(),
        })
    }

    async fn me(&self) -> Result<&Me, Failed> {
        self.me.get_or_try_init(|| self.api.call("getMe", Body::Json(json!({})), PATIENCE)).await
    }

    async fn updates(&self, cursor: Option<String>) -> Result<Batch, ReceiveError> {
        let me = self.me().await?;
        let mut asked = json!({
            "timeout": POLL.as_secs(),
            "allowed_updates": ["message", "edited_message"],
        });
        if let Some(offset) = cursor.as_deref().and_then(|cursor| cursor.parse::<i64>().ok()) {
            asked["offset"] = offset.into();
        }
        let told: Vec<Value> = self.api.call("getUpdates", Body::Json(asked), POLL + POLL_PATIENCE).await?;
        Ok(self.batch(told, me))
    }

    /// One update that cannot be read must not keep the others from coming.
    fn batch(&self, told: Vec<Value>, me: &Me) -> Batch {
        let number = |update: &Value| update["update_id"].as_i64();
        let mut told: Vec<(i64, Value)> =
            told.into_iter().filter_map(|update| Some((number(&update)?, update))).collect();
        told.sort_by_key(|(number, _)| *number);
        told.dedup_by_key(|(number, _)| *number);
        let cursor = told.last().map(|(number, _)| (number + 1).to_string());
        let mut events = Vec::new();
        for (number, update) in told {
            match serde_json::from_value::<Update>(update) {
                Ok(update) => events.extend(wire::inbound(update, me)),
                Err(error) => {
                    tracing::warn!(platform = %self.name, update = number, %error, "failed to parse update");
                }
            }
        }
        Batch { events, cursor }
    }

    async fn deliver(&self, to: &Place, message: Outbound) -> Result<MessageId, SendError> {
        let Outbound { text, answers, mut files } = message;
        if files.len() == 1 && Counting::Utf16.length(&text) <= CAPTION_MAX {
            let file = files.remove(0);
            return self.send_file(to, &text, answers.as_ref(), file).await;
        }
        let mut first = None;
        if !text.is_empty() || files.is_empty() {
            first = Some(self.send_text(to, &text, answers.as_ref()).await?);
        }
        for file in files {
            let answers = answers.as_ref().filter(|_| first.is_none());
            match (self.send_file(to, "", answers, file).await, &first) {
                (Ok(id), None) => first = Some(id),
                (Ok(_), Some(_)) => {}
                (Err(error), None) => return Err(error),
                // What was sent before has arrived, so that all of it again would show that twice.
                (Err(error), Some(_)) => {
                    return Err(SendError::Doubtful { reason: format!("only a part arrived: {error}") });
                }
            }
        }
        first.ok_or_else(|| SendError::Refused { reason: "there is nothing in it".to_owned() })
    }

    async fn send_text(
        &self,
        to: &Place,
        text: &str,
        answers: Option<&MessageId>,
    ) -> Result<MessageId, SendError> {
        let body = |room: &Value, style: Style| {
            let mut body = addressed_to(room, to, answers);
            put_text(&mut body, "text", text, style);
            body["link_preview_options"] = json!({ "is_disabled": true });
            Body::Json(body)
        };
        let taken: Taken = self.ask(to, Work::Send, "sendMessage", PATIENCE, body).await?;
        Ok(MessageId(taken.message_id.to_string()))
    }

    async fn send_file(
        &self,
        to: &Place,
        caption: &str,
        answers: Option<&MessageId>,
        file: OutboundFile,
    ) -> Result<MessageId, SendError> {
        let send = async |method: &str, field: &'static str| {
            let body = |room: &Value, style: Style| {
                let mut body = addressed_to(room, to, answers);
                if !caption.is_empty() {
                    put_text(&mut body, "caption", caption, style);
                }
                Body::Form(form(&body, field, &file))
            };
            self.ask::<Taken>(to, Work::Send, method, FILE_PATIENCE, body).await
        };
        let is_picture = matches!(file.media_type.as_str(), "image/jpeg" | "image/png" | "image/webp")
            && file.bytes.len() <= PHOTO_BYTES_MAX;
        let taken = if is_picture {
            match send("sendPhoto", "photo").await {
                // Too wide, too high, or not what it says it is: as a file it is taken.
                Err(Failed::Answered(no))
                    if no.code == 400 && (no.says("photo_") || no.says("image_process")) =>
                {
                    send("sendDocument", "document").await
                }
                other => other,
            }
        } else {
            send("sendDocument", "document").await
        }?;
        Ok(MessageId(taken.message_id.to_string()))
    }

    async fn change(&self, to: &Place, message: &MessageId, text: &str) -> Result<(), SendError> {
        let id = number(message)
            .ok_or_else(|| SendError::Refused { reason: "that is no message of this platform".to_owned() })?;
        let body = |room: &Value, style: Style| {
            let mut body = json!({ "chat_id": room, "message_id": id });
            put_text(&mut body, "text", text, style);
            body["link_preview_options"] = json!({ "is_disabled": true });
            Body::Json(body)
        };
        match self.ask::<Value>(to, Work::Edit, "editMessageText", PATIENCE, body).await {
            Ok(_) => Ok(()),
            Err(Failed::Answered(no)) if no.code == 400 && no.says("message is not modified") => Ok(()),
            Err(failed) => Err(failed.into()),
        }
    }

    fn kept_turns(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.kept_turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a turn was kept for a chat; it is used by this.
    fn use_kept_turn(&self, chat: &str) -> bool {
        let mut kept = self.kept_turns();
        let Some(count) = kept.get_mut(chat) else { return false };
        *count -= 1;
        if *count == 0 {
            kept.remove(chat);
        }
        true
    }

    async fn take_turn(&self, to: &Place, work: Work) -> Result<(), Failed> {
        self.limiter.turn(to, work).await.map_err(|paused| {
            Failed::Answered(No {
                code: 429,
                description: "the platform's rate limit was reached".to_owned(),
                retry_after: Some(paused.0),
                moved_to: None,
            })
        })
    }

    /// Asks for something in a place, in its turn. A text whose marks cannot be read goes again without them, and a group that
    /// moved is followed.
    async fn ask<T: DeserializeOwned>(
        &self,
        to: &Place,
        work: Work,
        method: &str,
        patience: Duration,
        body: impl Fn(&Value, Style) -> Body,
    ) -> Result<T, Failed> {
        let (mut style, mut room) = (Style::Marked, room_id(to));
        loop {
            let kept = work == Work::Send && self.use_kept_turn(&to.chat);
            if !kept {
                self.take_turn(to, work).await?;
            }
            let no = match self.api.call(method, body(&room, style), patience).await {
                Err(Failed::Answered(no)) => no,
                other => return other,
            };
            if let Some(wait) = no.retry_after {
                self.limiter.told_to_wait(to, wait);
            }
            let moved = no.moved_to.map(Value::from).filter(|moved| *moved != room);
            if let Some(moved) = moved {
                tracing::info!(platform = %self.name, from = %room, to = %moved, "group migrated to a new ID");
                room = moved;
            } else if no.code == 400 && is_about_marks(&no) && style == Style::Marked {
                tracing::warn!(platform = %self.name, reason = no.description, "formatting rejected, sending \
                                                                                plain text");
                style = Style::Bare;
            } else {
                return Err(Failed::Answered(no));
            }
        }
    }

    async fn download(&self, file: &InboundFile, most: usize) -> Result<Bytes, SendError> {
        // Nothing is sent here, so that nothing can have arrived.
        let again = |failed: Failed| match SendError::from(failed) {
            SendError::Doubtful { reason } => SendError::NotSent { reason, retry_after: None },
            SendError::Refused { reason } if reason.contains("file is too big") => SendError::TooLong,
            other => other,
        };
        if file.size_bytes.is_some_and(|size| size > most as u64) {
            return Err(SendError::TooLong);
        }
        let asked = Body::Json(json!({ "file_id": file.reference }));
        let found: FilePath = self.api.call("getFile", asked, PATIENCE).await.map_err(again)?;
        let gone = || SendError::Refused { reason: "the platform no longer has the file".to_owned() };
        let path = found.file_path.ok_or_else(gone)?;
        self.api.download(&path, most, FILE_PATIENCE).await.map_err(again)?.ok_or(SendError::TooLong)
    }
}

/// Whether a text was not taken for what its marks made of it: the bare one is what was counted.
fn is_about_marks(no: &No) -> bool {
    ["can't parse entities", "is too long", "message_too_long", "is empty"].iter().any(|told| no.says(told))
}

impl Platform for Telegram {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "telegram"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            text_max: TEXT_MAX,
            counting: Counting::Utf16,
            edits: true,
            idempotent: false,
            edit_every: self.edit_every,
        }
    }

    fn receive(&self, cursor: Option<String>) -> BoxFuture<'_, Result<Batch, ReceiveError>> {
        self.updates(cursor).boxed()
    }

    fn turn(&self, to: &Place) -> BoxFuture<'_, Result<(), SendError>> {
        let to = to.clone();
        async move {
            self.take_turn(&to, Work::Send).await?;
            *self.kept_turns().entry(to.chat).or_default() += 1;
            Ok(())
        }
        .boxed()
    }

    fn send(
        &self,
        to: &Place,
        message: Outbound,
        _key: String,
    ) -> BoxFuture<'_, Result<MessageId, SendError>> {
        let to = to.clone();
        async move { self.deliver(&to, message).await }.boxed()
    }

    fn edit(
        &self,
        to: &Place,
        message: MessageId,
        text: String,
        _key: String,
    ) -> BoxFuture<'_, Result<(), SendError>> {
        let to = to.clone();
        async move { self.change(&to, &message, &text).await }.boxed()
    }

    fn slack(&self, to: &Place) -> bool {
        self.limiter.slack(to)
    }

    fn typing(&self, to: &Place) -> BoxFuture<'_, ()> {
        let mut body = addressed_to(&room_id(to), to, None);
        body["action"] = "typing".into();
        async move {
            let shown = self.api.call::<Value>("sendChatAction", Body::Json(body), TYPING_PATIENCE).await;
            if let Err(failed) = shown {
                tracing::debug!(platform = %self.name, ?failed, "failed to send typing notice");
            }
        }
        .boxed()
    }

    fn fetch(&self, file: &InboundFile, most: usize) -> BoxFuture<'_, Result<Bytes, SendError>> {
        let file = file.clone();
        async move { self.download(&file, most).await }.boxed()
    }

    fn who_am_i(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        async move {
            // Asked anew: a token may have been taken back since.
            let me: Me = self.api.call("getMe", Body::Json(json!({})), PATIENCE).await?;
            Ok(format!("@{}", me.username))
        }
        .boxed()
    }
}

/// The number of a person or group, or the name of a channel.
fn room_id(to: &Place) -> Value {
    to.chat.parse::<i64>().map_or_else(|_| Value::from(to.chat.as_str()), Value::from)
}

fn number(message: &MessageId) -> Option<i64> {
    message.0.parse().ok()
}

fn addressed_to(room: &Value, to: &Place, answers: Option<&MessageId>) -> Value {
    let mut body = json!({ "chat_id": room });
    if let Some(topic) = to.thread.as_ref().and_then(|topic| topic.parse::<i64>().ok()) {
        body["message_thread_id"] = topic.into();
    }
    if let Some(answered) = answers.and_then(number) {
        body["reply_parameters"] = json!({ "message_id": answered, "allow_sending_without_reply": true });
    }
    body
}

fn put_text(body: &mut Value, field: &str, text: &str, style: Style) {
    match style {
        Style::Marked => {
            body[field] = to_html(text, Flavour::Telegram).into();
            body["parse_mode"] = "HTML".into();
        }
        Style::Bare => body[field] = text.into(),
    }
}

/// The same fields as a form, with a file.
fn form(fields: &Value, field: &'static str, file: &OutboundFile) -> Form {
    let mut form = Form::new().percent_encode_noop();
    for (name, value) in fields.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name.clone(), text);
    }
    let part = || {
        let length = file.bytes.len() as u64;
        Part::stream_with_length(file.bytes.clone(), length).file_name(file.name.clone())
    };
    // A media type that is none is left out; the platform looks at the file itself.
    form.part(field, part().mime_str(&file.media_type).unwrap_or_else(|_| part()))
}

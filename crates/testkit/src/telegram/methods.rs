//! The methods of the Bot API that a bot like ours calls, with the answers of the real one.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::html;
use super::state::{Edited, Kind, Sent, SentFile, State};

/// UTF-16 units of a message, and of the text under a file.
const TEXT_MAX: usize = 4_096;
const CAPTION_MAX: usize = 1_024;
/// Bytes of a file that a bot may download.
const DOWNLOAD_BYTES_MAX: usize = 20 * 1024 * 1024;

/// What a call carries.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) fields: Value,
    /// The field, name, media type and bytes of a file.
    pub(super) file: Option<(String, String, String, Bytes)>,
}

impl Asked {
    /// A number, however it is written: a form has texts alone.
    fn number(&self, name: &str) -> Option<i64> {
        let value = &self.fields[name];
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    fn text(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    fn object(&self, name: &str) -> Value {
        match &self.fields[name] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            other => other.clone(),
        }
    }
}

/// What was done, besides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Nothing,
    Sent { index: usize },
    Edited { index: usize },
}

/// An answer of no.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    fn bad(description: &str) -> Self {
        Self::new(400, format!("Bad Request: {description}"))
    }

    pub(super) fn flood(seconds: u64) -> Self {
        Self {
            code: 429,
            description: format!("Too Many Requests: retry after {seconds}"),
            parameters: Some(json!({ "retry_after": seconds })),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut answer = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(parameters) = &self.parameters {
            answer["parameters"] = parameters.clone();
        }
        answer
    }
}

/// Carries out a call.
pub(super) fn perform(
    state: &mut State,
    method: &str,
    asked: &Asked,
    now: Duration,
) -> Result<(Value, Done), Refusal> {
    let nothing = |value: Value| Ok((value, Done::Nothing));
    match method {
        "getMe" => nothing(state.me()),
        "sendMessage" | "sendPhoto" | "sendDocument" => send(state, method, asked, now),
        "editMessageText" => edit(state, asked, now),
        "deleteMessage" => delete(state, asked),
        "sendChatAction" => {
            writable(state, asked)?;
            nothing(true.into())
        }
        "setMyCommands" => {
            state.commands = asked.object("commands");
            nothing(true.into())
        }
        "getMyCommands" => nothing(state.commands.clone()),
        "deleteWebhook" => nothing(true.into()),
        "getFile" => nothing(find_file(state, asked)?),
        _ => Err(Refusal::new(404, "Not Found: method not found")),
    }
}

fn send(state: &mut State, method: &str, asked: &Asked, now: Duration) -> Result<(Value, Done), Refusal> {
    let chat = writable(state, asked)?;
    let topic = asked.number("message_thread_id");
    let topics = state.chats.get(&chat).map(|chat| chat.topics.clone()).unwrap_or_default();
    if topic.is_some_and(|topic| !topics.contains(&topic)) {
        return Err(Refusal::bad("message thread not found"));
    }
    let answers = answered(state, chat, asked)?;
    let (field, most) = if method == "sendMessage" { ("text", TEXT_MAX) } else { ("caption", CAPTION_MAX) };
    let text = shown(asked, field, most)?;
    let file = file(method, asked)?;
    count(state, chat, now)?;
    let id = state.chats.get_mut(&chat).map_or(0, super::state::Chat::message_id);
    let index = state.sent.len();
    let sent = Sent {
        chat,
        id,
        topic,
        answers,
        text,
        written: asked.text(field).to_owned(),
        parse_mode: asked.fields["parse_mode"].as_str().map(str::to_owned),
        file,
        at: now,
        edits: Vec::new(),
        answer_lost: false,
        deleted: false,
    };
    let told = state.sent_json(&sent);
    state.sent.push(sent);
    state.sent_at.insert((chat, id), index);
    Ok((told, Done::Sent { index }))
}

fn edit(state: &mut State, asked: &Asked, now: Duration) -> Result<(Value, Done), Refusal> {
    let chat = writable(state, asked)?;
    let message = asked.number("message_id").unwrap_or_default();
    let index = state.sent_at.get(&(chat, message)).copied();
    let Some(index) = index.filter(|index| !state.sent[*index].deleted) else {
        return Err(Refusal::bad("message to edit not found"));
    };
    let text = shown(asked, "text", TEXT_MAX)?;
    if state.sent[index].file.is_some() {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    count(state, chat, now)?;
    if state.sent[index].shown() == text {
        let why = "message is not modified: specified new message content and reply markup are exactly the same as a \
                   current content and reply markup of the message";
        return Err(Refusal::bad(why));
    }
    state.sent[index].edits.push(Edited { text, at: now, answer_lost: false });
    Ok((state.sent_json(&state.sent[index]), Done::Edited { index }))
}

fn delete(state: &mut State, asked: &Asked) -> Result<(Value, Done), Refusal> {
    let chat = writable(state, asked)?;
    let message = asked.number("message_id").unwrap_or_default();
    match state.sent_at.get(&(chat, message)).copied() {
        Some(index) if !state.sent[index].deleted => {
            state.sent[index].deleted = true;
            Ok((true.into(), Done::Nothing))
        }
        _ => Err(Refusal::bad("message to delete not found")),
    }
}

fn find_file(state: &State, asked: &Asked) -> Result<Value, Refusal> {
    let id = asked.text("file_id");
    let (path, bytes) = state.files.get(id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
    if bytes.len() > DOWNLOAD_BYTES_MAX {
        return Err(Refusal::bad("file is too big"));
    }
    Ok(json!({ "file_id": id, "file_unique_id": id, "file_size": bytes.len(), "file_path": path }))
}

/// The chat that is written to, if the bot may.
fn writable(state: &State, asked: &Asked) -> Result<i64, Refusal> {
    let unknown = || Refusal::bad("chat not found");
    let id = asked.number("chat_id").ok_or_else(unknown)?;
    let chat = state.chats.get(&id).ok_or_else(unknown)?;
    if let Some(moved_to) = chat.moved_to {
        return Err(Refusal {
            parameters: Some(json!({ "migrate_to_chat_id": moved_to })),
            ..Refusal::bad("group chat was upgraded to a supergroup chat")
        });
    }
    match chat.barred {
        Some(why) => Err(Refusal::new(403, format!("Forbidden: {why}"))),
        None => Ok(id),
    }
}

fn answered(state: &State, chat: i64, asked: &Asked) -> Result<Option<i64>, Refusal> {
    let reply = asked.object("reply_parameters");
    let Some(message) = reply["message_id"].as_i64() else { return Ok(None) };
    if state.quoted(chat, message).is_some() {
        return Ok(Some(message));
    }
    match reply["allow_sending_without_reply"].as_bool() {
        Some(true) => Ok(None),
        _ => Err(Refusal::bad("message to be replied not found")),
    }
}

fn shown(asked: &Asked, field: &str, most: usize) -> Result<String, Refusal> {
    let written = asked.text(field);
    let shown = match asked.text("parse_mode") {
        "" => written.to_owned(),
        "HTML" => {
            html::shown(written).map_err(|why| Refusal::bad(&format!("can't parse entities: {why}")))?
        }
        _ => return Err(Refusal::bad("unsupported parse_mode")),
    };
    let shown = shown.trim();
    if shown.is_empty() && field == "text" {
        return Err(Refusal::bad("message text is empty"));
    }
    if shown.encode_utf16().count() > most {
        let what = if field == "text" { "message" } else { "message caption" };
        return Err(Refusal::bad(&format!("{what} is too long")));
    }
    Ok(shown.to_owned())
}

fn file(method: &str, asked: &Asked) -> Result<Option<SentFile>, Refusal> {
    let wanted = match method {
        "sendPhoto" => "photo",
        "sendDocument" => "document",
        _ => return Ok(None),
    };
    let (field, name, media_type, bytes) =
        asked.file.clone().ok_or_else(|| Refusal::bad(&format!("there is no {wanted} in the request")))?;
    if field != wanted || bytes.is_empty() {
        return Err(Refusal::bad("file must be non-empty"));
    }
    // Pictures are looked at: what begins like none is refused.
    let is_picture = [&b"\x89PNG"[..], b"\xff\xd8\xff", b"RIFF"].iter().any(|begin| bytes.starts_with(begin));
    if wanted == "photo" && !is_picture {
        return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
    }
    Ok(Some(SentFile { kind: wanted.to_owned(), name, media_type, bytes }))
}

fn count(state: &mut State, chat: i64, now: Duration) -> Result<(), Refusal> {
    let Some(limits) = state.limits else { return Ok(()) };
    state.flood.count(&limits, chat, now).map_err(|seconds| {
        state.refused_count += 1;
        Refusal::flood(seconds)
    })
}

/// What a platform finds in a text that somebody wrote: names and commands, in UTF-16 units.
pub(super) fn entities(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let trimmed = word.trim_end_matches(|c: char| c.is_whitespace() || ".,!?:;".contains(c));
        let length = trimmed.encode_utf16().count();
        let named =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let kind = match trimmed.chars().next() {
            Some('@') if named(&trimmed[1..]) => Some("mention"),
            Some('/') if trimmed[1..].split('@').all(named) => Some("bot_command"),
            _ => None,
        };
        if let Some(kind) = kind {
            found.push(json!({ "type": kind, "offset": offset, "length": length }));
        }
        offset += word.encode_utf16().count();
    }
    found
}

/// The number of the chat that a basic group becomes.
pub(super) fn upgrade(state: &mut State, chat: i64) -> i64 {
    let moved_to = -1_000_000_000_000 + chat;
    let title = state.chats.get(&chat).map(|chat| chat.title.clone()).unwrap_or_default();
    state.chats.insert(moved_to, super::state::Chat::new(Kind::Supergroup, &title));
    if let Some(chat) = state.chats.get_mut(&chat) {
        chat.moved_to = Some(moved_to);
    }
    moved_to
}

//! What the Bot API tells of a message, as far as it is used, and what that means for the gateway.

use serde::Deserialize;
use serde::de::IgnoredAny;
use session::ChatKind;

use crate::platform::{Inbound, InboundFile, MessageId, Place, Sender, What};

/// This account on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) username: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub(super) update_id: i64,
    message: Option<Message>,
    edited_message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    from: Option<User>,
    /// For whom somebody speaks who shows no name of their own: a channel, or a group's administrators.
    sender_chat: Option<Room>,
    chat: Room,
    text: Option<String>,
    caption: Option<String>,
    #[serde(default)]
    entities: Vec<Entity>,
    #[serde(default)]
    caption_entities: Vec<Entity>,
    reply_to_message: Option<Box<Self>>,
    forum_topic_created: Option<IgnoredAny>,
    #[serde(default)]
    photo: Vec<Photo>,
    document: Option<Document>,
    voice: Option<Document>,
    audio: Option<Document>,
    video: Option<Document>,
    video_note: Option<Document>,
    sticker: Option<Sticker>,
}

#[derive(Debug, Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Room {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    title: String,
}

/// A stretch of a text with a meaning, in UTF-16 units.
#[derive(Debug, Deserialize)]
struct Entity {
    #[serde(rename = "type")]
    kind: String,
    offset: usize,
    length: usize,
    user: Option<User>,
}

#[derive(Debug, Deserialize)]
struct Photo {
    file_id: String,
    file_size: Option<u64>,
    #[serde(default)]
    width: u64,
    #[serde(default)]
    height: u64,
}

#[derive(Debug, Deserialize)]
struct Document {
    file_id: String,
    file_name: Option<String>,
    mime_type: Option<String>,
    file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Sticker {
    emoji: Option<String>,
}

/// What an update tells; nothing when nobody said anything with it.
pub(super) fn inbound(update: Update, me: &Me) -> Option<Inbound> {
    let (message, changed) = match (update.message, update.edited_message) {
        (Some(message), _) => (message, false),
        (None, Some(message)) => (message, true),
        (None, None) => return None,
    };
    let place = place(&message)?;
    let sender = sender(&message)?;
    let addressed = is_addressed(&message, place.kind, me);
    let files = files(&message);
    let text = text(&message, me).or_else(|| message.sticker?.emoji);
    if text.is_none() && files.is_empty() {
        return None;
    }
    let (text, id) = (text.unwrap_or_default(), MessageId(message.message_id.to_string()));
    let what =
        if changed { What::Changed { message: id, text } } else { What::Said { message: id, text, files } };
    Some(Inbound { event: update.update_id.to_string(), place, sender, what, addressed })
}

fn place(message: &Message) -> Option<Place> {
    let kind = match message.chat.kind.as_str() {
        "private" => ChatKind::Direct,
        "group" | "supergroup" => ChatKind::Group,
        "channel" => ChatKind::Channel,
        _ => return None,
    };
    // Answers in a group without topics have a number there too, which is no place of its own.
    let topic = message.message_thread_id.filter(|_| message.is_topic_message);
    Some(Place { kind, chat: message.chat.id.to_string(), thread: topic.map(|topic| topic.to_string()) })
}

fn sender(message: &Message) -> Option<Sender> {
    if let Some(room) = &message.sender_chat {
        return Some(Sender { id: room.id.to_string(), name: room.title.clone() });
    }
    let user = message.from.as_ref()?;
    let name = match &user.last_name {
        Some(last) => format!("{} {last}", user.first_name),
        None => user.first_name.clone(),
    };
    Some(Sender { id: user.id.to_string(), name })
}

fn is_addressed(message: &Message, kind: ChatKind, me: &Me) -> bool {
    if kind == ChatKind::Direct {
        return true;
    }
    // Two machines that answer each other never end. An administrator without a name looks like one, but speaks for the group.
    if message.from.as_ref().is_some_and(|user| user.is_bot) && message.sender_chat.is_none() {
        return false;
    }
    let (words, entities) = spoken(message);
    let names_me = entities.iter().any(|entity| match entity.kind.as_str() {
        "mention" => part(words, entity).is_some_and(|name| is_my_name(name, me)),
        "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == me.id),
        "bot_command" if entity.offset == 0 => part(words, entity).is_some_and(|command| {
            command.split_once('@').is_none_or(|(_, name)| name.eq_ignore_ascii_case(&me.username))
        }),
        _ => false,
    });
    names_me || answers_me(message, me)
}

fn answers_me(message: &Message, me: &Me) -> bool {
    // In a topic everything is an answer to its beginning, which may be ours.
    message.reply_to_message.as_ref().is_some_and(|answered| {
        answered.forum_topic_created.is_none() && answered.from.as_ref().is_some_and(|user| user.id == me.id)
    })
}

fn is_my_name(name: &str, me: &Me) -> bool {
    !me.username.is_empty()
        && name.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(&me.username))
}

fn spoken(message: &Message) -> (&str, &[Entity]) {
    match (&message.text, &message.caption) {
        (Some(text), _) => (text, &message.entities),
        (None, Some(caption)) => (caption, &message.caption_entities),
        (None, None) => ("", &[]),
    }
}

/// The words of a message. A command loses the name of who is to carry it out, if that is us.
fn text(message: &Message, me: &Me) -> Option<String> {
    if message.text.is_none() && message.caption.is_none() {
        return None;
    }
    let (words, entities) = spoken(message);
    let command = entities.iter().find(|entity| entity.kind == "bot_command" && entity.offset == 0);
    let own = command.and_then(|entity| part(words, entity)).and_then(|command| {
        let (command_alone, name) = command.split_once('@')?;
        name.eq_ignore_ascii_case(&me.username).then_some((command_alone, command.len()))
    });
    Some(match own {
        Some((command_alone, length)) => format!("{command_alone}{}", &words[length..]),
        None => words.to_owned(),
    })
}

/// The text of an entity; nothing when it lies outside, or cuts a character in two.
fn part<'a>(text: &'a str, entity: &Entity) -> Option<&'a str> {
    let begin = byte_at(text, entity.offset)?;
    let end = byte_at(text, entity.offset.checked_add(entity.length)?)?;
    text.get(begin..end)
}

/// The byte at which a UTF-16 unit begins.
fn byte_at(text: &str, unit: usize) -> Option<usize> {
    let mut units = 0;
    for (byte, character) in text.char_indices() {
        if units >= unit {
            return (units == unit).then_some(byte);
        }
        units += character.len_utf16();
    }
    (units == unit).then_some(text.len())
}

fn files(message: &Message) -> Vec<InboundFile> {
    let largest = message.photo.iter().max_by_key(|photo| photo.width * photo.height);
    let photo = largest.map(|photo| InboundFile {
        reference: photo.file_id.clone(),
        name: "photo.jpg".to_owned(),
        media_type: "image/jpeg".to_owned(),
        size_bytes: photo.file_size,
    });
    let others = [
        (&message.document, "file", "application/octet-stream"),
        (&message.voice, "voice.ogg", "audio/ogg"),
        (&message.audio, "audio.mp3", "audio/mpeg"),
        (&message.video, "video.mp4", "video/mp4"),
        (&message.video_note, "video.mp4", "video/mp4"),
    ];
    let others = others.into_iter().filter_map(|(document, name, media_type)| {
        let document = document.as_ref()?;
        Some(InboundFile {
            reference: document.file_id.clone(),
            name: document.file_name.clone().unwrap_or_else(|| name.to_owned()),
            media_type: document.mime_type.clone().unwrap_or_else(|| media_type.to_owned()),
            size_bytes: document.file_size,
        })
    });
    photo.into_iter().chain(others).collect()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;

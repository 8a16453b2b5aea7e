//! What is posted in and out, as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use session::ChatKind;

use super::Rejection;
use crate::platform::{Inbound, InboundFile, MessageId, Outbound, Place, Sender, What};

/// Characters of a name that somebody else chose.
const NAME_MAX: usize = 256;
/// Files of one event.
const FILES_MAX: usize = 32;

/// What is posted in.
#[derive(Debug, Deserialize)]
struct Posted {
    /// The same however often it is posted.
    event: String,
    chat: PlaceWire,
    sender: SenderWire,
    /// The poster's own name of the message; the event's if there is none.
    message: Option<String>,
    #[serde(default)]
    text: String,
    /// Whether the text takes the place of what was posted under the same message before.
    #[serde(default)]
    changed: bool,
    #[serde(default = "yes")]
    addressed: bool,
    #[serde(default)]
    files: Vec<PostedFile>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, Deserialize)]
struct PlaceWire {
    #[serde(default)]
    kind: KindWire,
    id: String,
    thread: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindWire {
    #[default]
    Direct,
    Group,
    Channel,
}

#[derive(Debug, Deserialize)]
struct SenderWire {
    id: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct PostedFile {
    url: String,
    name: String,
    media_type: String,
    size_bytes: Option<u64>,
}

/// What is posted out.
#[derive(Debug, Serialize)]
struct Post<'a> {
    /// The same whenever the same message is posted again; whoever receives it shows it once.
    key: &'a str,
    platform: &'a str,
    chat: PlaceWire,
    text: &'a str,
    answers: Option<&'a str>,
    files: Vec<PostFile<'a>>,
}

#[derive(Debug, Serialize)]
struct PostFile<'a> {
    name: &'a str,
    media_type: &'a str,
    base64: String,
}

/// Reads what was posted.
pub(super) fn read(body: &[u8]) -> Result<Inbound, Rejection> {
    let unreadable = |reason: String| Rejection::Unreadable { reason };
    let posted: Posted = serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))?;
    let names = [
        ("event", Some(&posted.event)),
        ("chat.id", Some(&posted.chat.id)),
        ("chat.thread", posted.chat.thread.as_ref()),
        ("sender.id", Some(&posted.sender.id)),
        ("message", posted.message.as_ref()),
    ];
    for (field, name) in names {
        if name.is_some_and(|name| name.is_empty() || name.chars().count() > NAME_MAX) {
            return Err(unreadable(format!("{field} must have 1 to {NAME_MAX} characters")));
        }
    }
    if posted.files.len() > FILES_MAX {
        return Err(unreadable(format!("more than {FILES_MAX} files")));
    }
    let message = MessageId(posted.message.unwrap_or_else(|| posted.event.clone()));
    let files = posted.files.into_iter().map(|file| InboundFile {
        reference: file.url,
        name: file.name,
        media_type: file.media_type,
        size_bytes: file.size_bytes,
    });
    let what = if posted.changed {
        What::Changed { message, text: posted.text }
    } else {
        What::Said { message, text: posted.text, files: files.collect() }
    };
    Ok(Inbound {
        event: posted.event,
        place: Place {
            kind: match posted.chat.kind {
                KindWire::Direct => ChatKind::Direct,
                KindWire::Group => ChatKind::Group,
                KindWire::Channel => ChatKind::Channel,
            },
            chat: posted.chat.id,
            thread: posted.chat.thread,
        },
        sender: Sender { id: posted.sender.id, name: posted.sender.name },
        what,
        addressed: posted.addressed,
    })
}

/// Writes what is posted out.
pub(super) fn write(
    platform: &str,
    to: &Place,
    message: &Outbound,
    key: &str,
) -> serde_json::Result<Vec<u8>> {
    let kind = match to.kind {
        ChatKind::Direct => KindWire::Direct,
        ChatKind::Group => KindWire::Group,
        ChatKind::Channel => KindWire::Channel,
    };
    let files = message.files.iter().map(|file| PostFile {
        name: &file.name,
        media_type: &file.media_type,
        base64: STANDARD.encode(&file.bytes),
    });
    serde_json::to_vec(&Post {
        key,
        platform,
        chat: PlaceWire { kind, id: to.chat.clone(), thread: to.thread.clone() },
        text: &message.text,
        answers: message.answers.as_ref().map(|id| id.0.as_str()),
        files: files.collect(),
    })
}

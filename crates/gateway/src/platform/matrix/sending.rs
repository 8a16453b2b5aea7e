//! Messages on their way out. Every event is sent under a transaction id made of the caller's key, so that sending it again is
//! safe whatever became of the first.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Matrix;
use super::api::Ask;
use super::wire::{Sent, Uploaded};
use crate::format::{Flavour, to_html};
use crate::platform::{MessageId, Outbound, OutboundFile, Place, SendError};

/// Bytes of a content with its formatting. An event has 65,536, with signatures and all; a text whose HTML does not fit goes
/// without.
const FORMATTED_BYTES_MAX: usize = 48 * 1024;
/// Letters of a changed text that clients see which know no changes.
const FALLBACK_CHARS_MAX: usize = 200;

impl Matrix {
    /// Sends the text, and each file behind it as a message of its own. The first message stands for all.
    pub(super) async fn send_message(
        &self,
        to: &Place,
        message: Outbound,
        key: &str,
    ) -> Result<MessageId, SendError> {
        let mut contents = Vec::new();
        if !message.text.is_empty() || message.files.is_empty() {
            contents.push(text_content(&message.text));
        }
        for file in message.files {
            contents.push(self.file_content(file).await?);
        }
        let relation = relation(to, message.answers.as_ref());
        let mut first = None;
        for (number, mut content) in contents.into_iter().enumerate() {
            if let Some(relation) = &relation {
                content["m.relates_to"] = relation.clone();
            }
            let sent = self.put_event(&to.chat, content, &transaction("send", number, key)).await?;
            first.get_or_insert(sent);
        }
        first.ok_or(SendError::Refused { reason: "there is nothing to send".to_owned() })
    }

    pub(super) async fn edit_message(
        &self,
        room: &str,
        message: &MessageId,
        text: &str,
        key: &str,
    ) -> Result<(), SendError> {
        let start: String = text.chars().take(FALLBACK_CHARS_MAX).collect();
        let content = json!({
            "msgtype": "m.text",
            "body": format!("* {start}"),
            "m.mentions": {},
            "m.new_content": text_content(text),
            "m.relates_to": { "rel_type": "m.replace", "event_id": message.0 },
        });
        self.put_event(room, content, &transaction("edit", 0, key)).await.map(drop)
    }

    async fn put_event(&self, room: &str, content: Value, transaction: &str) -> Result<MessageId, SendError> {
        let path = ["v3", "rooms", room, "send", "m.room.message", transaction];
        let sent: Sent = self.api.read(Ask::put(&path, content)).await?;
        Ok(MessageId(sent.event_id))
    }

    async fn file_content(&self, file: OutboundFile) -> Result<Value, SendError> {
        let size = file.bytes.len();
        let upload = Ask::file(&["v3", "upload"], file.media_type.clone(), file.bytes);
        let uploaded: Uploaded =
            self.api.read(upload.old_media().with("filename", file.name.as_str())).await?;
        Ok(json!({
            "msgtype": file_kind(&file.media_type),
            "body": file.name,
            "filename": file.name,
            "url": uploaded.content_uri,
            "info": { "mimetype": file.media_type, "size": size },
            "m.mentions": {},
        }))
    }

    pub(super) async fn fetch_media(&self, reference: &str, most: usize) -> Result<Bytes, SendError> {
        let named = reference.strip_prefix("mxc://").and_then(|rest| rest.split_once('/'));
        let Some((server, media)) = named else {
            return Err(SendError::Refused { reason: "not a file URL".to_owned() });
        };
        let fetched =
            self.api.bytes(Ask::get(&["v1", "media", "download", server, media]).at_most(most)).await;
        match fetched {
            // Homeservers before Matrix 1.11 have it elsewhere.
            Err(failed) if failed.is_unknown_path() => {
                let ask = Ask::get(&["v3", "download", server, media]).old_media().at_most(most);
                Ok(self.api.bytes(ask).await?)
            }
            fetched => Ok(fetched?),
        }
    }
}

/// A text as an event's content; formatted where that says more than the text itself.
fn text_content(text: &str) -> Value {
    // Nobody is pinged because an answer has their name in it.
    let mut content = json!({ "msgtype": "m.text", "body": text, "m.mentions": {} });
    let html = to_html(text, Flavour::Matrix);
    let plain = html.strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>")) == Some(text);
    if !plain && json!([text, html]).to_string().len() <= FORMATTED_BYTES_MAX {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(html);
    }
    content
}

/// What a message answers, and in which thread.
fn relation(to: &Place, answers: Option<&MessageId>) -> Option<Value> {
    match (&to.thread, answers) {
        (None, None) => None,
        (None, Some(answered)) => Some(json!({ "m.in_reply_to": { "event_id": answered.0 } })),
        (Some(root), answered) => Some(json!({
            "rel_type": "m.thread",
            "event_id": root,
            // Clients that know no threads see an answer to the thread's first message.
            "is_falling_back": answered.is_none(),
            "m.in_reply_to": { "event_id": answered.map_or(root, |answered| &answered.0) },
        })),
    }
}

fn file_kind(media_type: &str) -> &'static str {
    match media_type.split('/').next() {
        Some("image") => "m.image",
        Some("audio") => "m.audio",
        Some("video") => "m.video",
        _ => "m.file",
    }
}

/// The transaction id of an event: different keys, uses and numbers are different ids, of letters that every proxy passes on.
fn transaction(purpose: &str, number: usize, key: &str) -> String {
    let mut id = format!("{purpose}.{number}.");
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => id.push(char::from(byte)),
            other => id.push_str(&format!("_{other:02x}")),
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use session::ChatKind;

    use super::*;

    #[test]
    fn different_keys_are_different_transactions() {
        let keys = ["a b", "a_20b", "a/b", "a%2Fb", "é", "", ".", "a\nb"];
        let ids: std::collections::BTreeSet<String> =
            keys.iter().flat_map(|key| [transaction("send", 0, key), transaction("edit", 0, key)]).collect();
        assert_eq!(ids.len(), keys.len() * 2);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        assert!(ids.iter().all(|id| id.chars().all(plain)), "{ids:?}");
        assert_eq!(transaction("send", 1, "a:b"), "send.1.a_3ab");
    }

    #[test]
    fn a_plain_text_is_not_formatted_and_a_huge_one_neither() {
        assert_eq!(text_content("hi"), json!({ "msgtype": "m.text", "body": "hi", "m.mentions": {} }));
        assert_eq!(text_content("**hi**")["formatted_body"], "<p><strong>hi</strong></p>");
        let huge = text_content(&"<".repeat(super::super::TEXT_BYTES_MAX));
        assert_eq!(huge.get("formatted_body"), None);
    }

    #[test]
    fn the_longest_text_fits_into_an_event_whatever_its_letters() {
        for letter in ["x", "\"", "<", "&", "\n", "*", "é", "🦀", "\u{1}", "- "] {
            let text = letter.repeat(super::super::TEXT_BYTES_MAX / letter.len());
            let size = text_content(&text).to_string().len();
            assert!(size < 64_000 || letter == "\u{1}", "{letter:?}: {size}");
        }
    }

    #[test]
    fn an_answer_stands_in_its_place() {
        let place = |thread: Option<&str>| Place {
            kind: ChatKind::Group,
            chat: "!r:x".to_owned(),
            thread: thread.map(str::to_owned),
        };
        let answered = MessageId("$a".to_owned());
        assert_eq!(relation(&place(None), None), None);
        let answer = json!({ "m.in_reply_to": { "event_id": "$a" } });
        assert_eq!(relation(&place(None), Some(&answered)), Some(answer));
        let in_thread = |to: &str, falling_back: bool| {
            json!({
                "rel_type": "m.thread", "event_id": "$root", "is_falling_back": falling_back,
                "m.in_reply_to": { "event_id": to },
            })
        };
        assert_eq!(relation(&place(Some("$root")), None), Some(in_thread("$root", true)));
        assert_eq!(relation(&place(Some("$root")), Some(&answered)), Some(in_thread("$a", false)));
    }
}

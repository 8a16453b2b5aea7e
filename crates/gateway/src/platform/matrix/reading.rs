//! What an event of a room means: who said what where, and whether it is meant for this account.

use serde_json::Value;
use session::ChatKind;

use super::api::Ask;
use super::rooms::local_part;
use super::wire::Event;
use super::{Matrix, Me};
use crate::platform::{Inbound, InboundFile, MessageId, Place, ReceiveError, Sender, What};

impl Matrix {
    /// What a message means; nothing when it is nothing to this account.
    pub(super) async fn message(&self, room: &str, event: &Event) -> Result<Option<Inbound>, ReceiveError> {
        let me = self.me().await?;
        // A notice is what another machine says, and is not answered: two of them would never end.
        if event.sender == me.id || event.text("/msgtype") == Some("m.notice") {
            return Ok(None);
        }
        if event.text("/m.relates_to/rel_type") == Some("m.replace") {
            return self.change(room, event).await;
        }
        let Some(body) = event.text("/body") else { return Ok(None) };
        let files: Vec<InboundFile> = file(&event.content).into_iter().collect();
        let text = if files.is_empty() { body.to_owned() } else { caption(&event.content) };
        let text = if answered(&event.content).is_some() { without_quote(&text) } else { text };
        let place = self.place(room, &event.content).await?;
        let addressed = self.is_addressed(&place, &event.content).await?;
        let what = What::Said { message: MessageId(event.event_id.clone()), text, files };
        Ok(Some(self.inbound(event, place, what, addressed)))
    }

    /// What a change of a message means. Anybody can send one for any message; only the sender's own counts.
    async fn change(&self, room: &str, event: &Event) -> Result<Option<Inbound>, ReceiveError> {
        let changed = event.text("/m.relates_to/event_id").unwrap_or_default();
        let Some(original) = self.look_up(room, changed).await? else { return Ok(None) };
        let Some(text) = event.text("/m.new_content/body").filter(|_| original.sender == event.sender) else {
            return Ok(None);
        };
        let place = self.place(room, &original.content).await?;
        let mut content = event.content["m.new_content"].clone();
        content["m.relates_to"] = original.content["m.relates_to"].clone();
        let addressed = self.is_addressed(&place, &content).await?;
        let what = What::Changed { message: MessageId(changed.to_owned()), text: text.to_owned() };
        Ok(Some(self.inbound(event, place, what, addressed)))
    }

    /// An invitation into a room, told by a sync since somewhere.
    pub(super) async fn invitation(
        &self,
        room: &str,
        state: &[Event],
        since: &str,
    ) -> Result<Option<Inbound>, ReceiveError> {
        let me = self.me().await?;
        let Some(invitation) = state.iter().find(|event| event.member() == Some(&*me.id)) else {
            return Ok(None);
        };
        let sender = &invitation.sender;
        let shown = state.iter().find(|event| event.member() == Some(sender)).and_then(|event| {
            let name = event.text("/displayname")?;
            Some(name.to_owned())
        });
        let direct = invitation.content["is_direct"] == Value::Bool(true);
        let kind = if direct { ChatKind::Direct } else { ChatKind::Group };
        // Few homeservers tell the id of an invitation. Without one it is named after where it was told, so that a second
        // invitation by the same person is another one.
        let event = match invitation.event_id.as_str() {
            "" => format!("{room} invite {sender} {since}"),
            id => id.to_owned(),
        };
        Ok(Some(Inbound {
            event,
            place: Place { kind, chat: room.to_owned(), thread: None },
            sender: Sender { id: sender.clone(), name: shown.unwrap_or_else(|| local_part(sender)) },
            what: What::Invited,
            addressed: true,
        }))
    }

    fn inbound(&self, event: &Event, place: Place, what: What, addressed: bool) -> Inbound {
        let name = self.rooms.name(&place.chat, &event.sender);
        let sender = Sender { id: event.sender.clone(), name };
        Inbound { event: event.event_id.clone(), place, sender, what, addressed }
    }

    async fn place(&self, room: &str, content: &Value) -> Result<Place, ReceiveError> {
        let relation = &content["m.relates_to"];
        let thread = relation["event_id"].as_str().filter(|_| relation["rel_type"] == "m.thread");
        let kind = self.room_kind(room).await?;
        Ok(Place { kind, chat: room.to_owned(), thread: thread.map(str::to_owned) })
    }

    /// Whether a message is meant for this account: said to it alone, naming it, or answering it.
    async fn is_addressed(&self, place: &Place, content: &Value) -> Result<bool, ReceiveError> {
        let me = self.me().await?;
        if place.kind == ChatKind::Direct || is_named(me, content) {
            return Ok(true);
        }
        let Some(answered) = answered(content) else { return Ok(false) };
        let original = self.look_up(&place.chat, answered).await?;
        Ok(original.is_some_and(|original| original.sender == me.id))
    }

    /// An event of a room; nothing when there is none that may be seen.
    async fn look_up(&self, room: &str, event: &str) -> Result<Option<Event>, ReceiveError> {
        match self.api.read(Ask::get(&["v3", "rooms", room, "event", event])).await {
            Ok(event) => Ok(Some(event)),
            Err(failed) if failed.is_final() => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }
}

/// The message that another one answers. In a thread, clients that know none are told of an answer that was not meant.
fn answered(content: &Value) -> Option<&str> {
    let relation = &content["m.relates_to"];
    let meant = relation["is_falling_back"] != Value::Bool(true);
    relation["m.in_reply_to"]["event_id"].as_str().filter(|_| meant)
}

/// Whether a message names this account, as clients mark it or in its words.
fn is_named(me: &Me, content: &Value) -> bool {
    let marked = content["m.mentions"]["user_ids"].as_array();
    if marked.is_some_and(|users| users.iter().any(|user| user.as_str() == Some(&me.id))) {
        return true;
    }
    let Some(body) = content["body"].as_str() else { return false };
    let body = without_quote(body).to_lowercase();
    let local = local_part(&me.id);
    let names = [Some(me.id.as_str()), Some(local.as_str()), me.display_name.as_deref()];
    names.into_iter().flatten().any(|name| has_word(&body, &name.to_lowercase()))
}

/// Whether a word stands in a text by itself.
fn has_word(text: &str, word: &str) -> bool {
    let inner = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    !word.trim().is_empty()
        && text.match_indices(word).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + found.len()..].chars().next();
            !inner(before) && !inner(behind)
        })
}

/// A text without the quote of what it answers, which older clients put before it.
fn without_quote(text: &str) -> String {
    if !text.starts_with("> <@") && !text.starts_with("> * <@") {
        return text.to_owned();
    }
    let own: Vec<&str> = text.lines().skip_while(|line| line.starts_with('>')).collect();
    own.join("\n").trim_start_matches('\n').to_owned()
}

/// The file of a message, if it has one that can be fetched: encrypted ones have no plain address.
fn file(content: &Value) -> Option<InboundFile> {
    let with_file = ["m.image", "m.file", "m.audio", "m.video"];
    with_file.contains(&content["msgtype"].as_str()?).then_some(())?;
    let reference = content["url"].as_str().filter(|url| url.starts_with("mxc://"))?;
    let name = content["filename"].as_str().or(content["body"].as_str()).unwrap_or_default();
    let media_type = content["info"]["mimetype"].as_str().unwrap_or("application/octet-stream");
    Some(InboundFile {
        reference: reference.to_owned(),
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        size_bytes: content["info"]["size"].as_u64(),
    })
}

/// What was said with a file: its body, unless that is only its name.
fn caption(content: &Value) -> String {
    let body = content["body"].as_str().unwrap_or_default();
    let name = content["filename"].as_str().unwrap_or(body);
    if body == name { String::new() } else { body.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me { id: "@everturn:example.org".to_owned(), display_name: Some("The Clerk".to_owned()) }
    }

    #[test]
    fn a_message_names_the_account_as_clients_mark_it_or_in_words() {
        let named = [
            json!({ "body": "hi", "m.mentions": { "user_ids": ["@a:b", "@everturn:example.org"] } }),
            json!({ "body": "Everturn: hi" }),
            json!({ "body": "hi @everturn:example.org!" }),
            json!({ "body": "ask the CLERK" }),
        ];
        for content in named {
            assert!(is_named(&me(), &content), "{content}");
        }
        let not_named = [
            json!({ "body": "hi" }),
            json!({ "body": "everturns neverturn" }),
            json!({ "body": "hi", "m.mentions": { "user_ids": ["@a:b"], "room": true } }),
            json!({ "body": "> <@everturn:example.org> said\n> more\n\nhi" }),
            json!({ "m.mentions": 7, "body": 8 }),
            json!(null),
        ];
        for content in not_named {
            assert!(!is_named(&me(), &content), "{content}");
        }
        let nameless = Me { id: "@:x".to_owned(), display_name: Some(" ".to_owned()) };
        assert!(!is_named(&nameless, &json!({ "body": "hi there" })));
    }

    #[test]
    fn a_quote_of_older_clients_is_taken_away_and_no_other() {
        assert_eq!(without_quote("> <@a:b> one\n> two\n\nyes\n> really"), "yes\n> really");
        assert_eq!(without_quote("> * <@a:b> waves\n\nhi"), "hi");
        assert_eq!(without_quote("> somebody said\n\nI think"), "> somebody said\n\nI think");
    }

    #[test]
    fn a_file_is_read_with_its_caption() {
        let content = json!({
            "msgtype": "m.image", "url": "mxc://a/b", "body": "look", "filename": "x.png",
            "info": { "mimetype": "image/png", "size": 3 },
        });
        let expected = InboundFile {
            reference: "mxc://a/b".to_owned(),
            name: "x.png".to_owned(),
            media_type: "image/png".to_owned(),
            size_bytes: Some(3),
        };
        assert_eq!((file(&content), caption(&content)), (Some(expected), "look".to_owned()));
        let bare = json!({ "msgtype": "m.file", "url": "mxc://a/b", "body": "x.txt" });
        assert_eq!(
            (file(&bare).map(|file| file.name), caption(&bare)),
            (Some("x.txt".to_owned()), String::new())
        );
        let none = [
            json!({ "msgtype": "m.image", "url": "https://a/b", "body": "x" }),
            json!({ "msgtype": "m.image", "file": { "url": "mxc://a/b" }, "body": "x" }),
            json!({ "msgtype": "m.text", "url": "mxc://a/b", "body": "x" }),
        ];
        for content in none {
            assert_eq!(file(&content), None, "{content}");
        }
    }

    #[test]
    fn an_answer_that_only_old_clients_see_is_none() {
        let relation = |falling_back: bool| {
            json!({ "m.relates_to": {
                "rel_type": "m.thread", "event_id": "$root", "is_falling_back": falling_back,
                "m.in_reply_to": { "event_id": "$last" },
            } })
        };
        assert_eq!(answered(&relation(true)), None);
        assert_eq!(answered(&relation(false)), Some("$last"));
        assert_eq!(
            answered(&json!({ "m.relates_to": { "m.in_reply_to": { "event_id": "$x" } } })),
            Some("$x")
        );
    }
}

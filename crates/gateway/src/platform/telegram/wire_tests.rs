//! Updates as the platform writes them, and what they mean.

use serde_json::{Value, json};

use super::*;

fn me() -> Me {
    Me { id: 99, username: "Ever_bot".to_owned() }
}

fn told(message: Value) -> Option<Inbound> {
    let update = json!({ "update_id": 7, "message": message });
    inbound(serde_json::from_value(update).unwrap(), &me())
}

fn group_message(text: &str, more: Value) -> Value {
    let mut message = json!({
        "message_id": 5, "date": 1, "text": text,
        "chat": { "id": -100, "type": "supergroup", "title": "Kitchen" },
        "from": { "id": 3, "is_bot": false, "first_name": "Anna", "last_name": "Berg" },
    });
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn is_addressed_with(text: &str, more: Value) -> bool {
    told(group_message(text, more)).unwrap().addressed
}

#[test]
fn in_a_group_it_is_meant_for_us_when_it_names_commands_or_answers_us() {
    let entity = |kind: &str, offset: usize, length: usize| json!({ "entities": [{ "type": kind, "offset": offset, "length": length }] });
    assert!(!is_addressed_with("hello all", json!({})));
    assert!(is_addressed_with("hi @ever_bot", entity("mention", 3, 9)));
    assert!(!is_addressed_with("hi @evert_bot", entity("mention", 3, 10)));
    // The word alone is no mention: a mail address has it too.
    assert!(!is_addressed_with("hi @ever_bot", json!({})));
    assert!(is_addressed_with("/new", entity("bot_command", 0, 4)));
    assert!(is_addressed_with("/new@ever_bot", entity("bot_command", 0, 13)));
    assert!(!is_addressed_with("/new@other_bot", entity("bot_command", 0, 14)));
    assert!(!is_addressed_with("not /new", entity("bot_command", 4, 4)));
    let by = |id: i64| group_message("before", json!({ "from": { "id": id, "first_name": "x" } }));
    assert!(is_addressed_with("yes", json!({ "reply_to_message": by(99) })));
    assert!(!is_addressed_with("yes", json!({ "reply_to_message": by(98) })));
    let mut beginning = by(99);
    beginning["forum_topic_created"] = json!({ "name": "Soup" });
    assert!(!is_addressed_with("yes", json!({ "reply_to_message": beginning })));
    let named = json!([{ "type": "text_mention", "offset": 0, "length": 2, "user": { "id": 99, "first_name": "E" } }]);
    assert!(is_addressed_with("hi", json!({ "entities": named })));
}

#[test]
fn places_in_a_text_are_counted_in_utf16() {
    // The family is 11 units and 25 bytes; the flag 4 and 8.
    let text = "👩‍👩‍👧‍👦🇩🇪 @ever_bot é";
    let offset = "👩‍👩‍👧‍👦🇩🇪 ".encode_utf16().count();
    let at = |offset: usize| json!({ "entities": [{ "type": "mention", "offset": offset, "length": 9 }] });
    assert!(is_addressed_with(text, at(offset)));
    for wrong in [offset - 1, offset + 1, 0, 1, 400, usize::MAX] {
        assert!(!is_addressed_with(text, at(wrong)), "{wrong}");
    }
}

#[test]
fn machines_do_not_answer_each_other_and_nameless_administrators_are_heard() {
    let machine = json!({ "id": 4, "is_bot": true, "first_name": "Other" });
    assert!(!is_addressed_with(
        "/new",
        json!({
            "from": machine, "entities": [{ "type": "bot_command", "offset": 0, "length": 4 }],
        })
    ));
    let nameless = group_message(
        "/new",
        json!({
            "from": machine, "entities": [{ "type": "bot_command", "offset": 0, "length": 4 }],
            "sender_chat": { "id": -100, "type": "supergroup", "title": "Kitchen" },
        }),
    );
    let heard = told(nameless).unwrap();
    assert!(heard.addressed);
    assert_eq!(heard.sender, Sender { id: "-100".to_owned(), name: "Kitchen".to_owned() });
}

#[test]
fn a_command_loses_our_name_and_keeps_anothers() {
    let text_of = |text: &str, length: usize| {
        let entities = json!([{ "type": "bot_command", "offset": 0, "length": length }]);
        match told(group_message(text, json!({ "entities": entities }))).unwrap().what {
            What::Said { text, .. } => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(text_of("/new@EVER_bot and äöü", 13), "/new and äöü");
    assert_eq!(text_of("/new@other_bot x", 14), "/new@other_bot x");
    assert_eq!(text_of("/new x", 4), "/new x");
}

#[test]
fn a_topic_is_a_place_of_its_own_and_an_answer_is_not() {
    let place = |more: Value| told(group_message("x", more)).unwrap().place;
    let topic = place(json!({ "message_thread_id": 12, "is_topic_message": true }));
    assert_eq!(
        topic,
        Place { kind: ChatKind::Group, chat: "-100".to_owned(), thread: Some("12".to_owned()) }
    );
    assert_eq!(place(json!({ "message_thread_id": 12 })).thread, None);
}

#[test]
fn of_a_photo_the_largest_is_taken_and_its_caption_is_the_text() {
    let photo = json!([
        { "file_id": "small", "width": 90, "height": 60, "file_size": 900 },
        { "file_id": "large", "width": 1280, "height": 960, "file_size": 90_000 },
        { "file_id": "middle", "width": 320, "height": 240 },
    ]);
    let mut message = group_message("", json!({ "photo": photo, "caption": "look" }));
    message.as_object_mut().unwrap().remove("text");
    let What::Said { text, files, .. } = told(message).unwrap().what else { panic!("nothing was said") };
    assert_eq!(text, "look");
    let large = InboundFile {
        reference: "large".to_owned(),
        name: "photo.jpg".to_owned(),
        media_type: "image/jpeg".to_owned(),
        size_bytes: Some(90_000),
    };
    assert_eq!(files, [large]);
}

#[test]
fn what_nobody_said_is_nothing() {
    let mut joined = group_message("", json!({ "new_chat_members": [{ "id": 3, "first_name": "Anna" }] }));
    joined.as_object_mut().unwrap().remove("text");
    assert_eq!(told(joined), None);
    let update = serde_json::from_value(json!({ "update_id": 8, "poll": {} })).unwrap();
    assert_eq!(inbound(update, &me()), None);
}

//! Rooms: how one gets in, who is meant, and what belongs to which thread.

use gateway::platform::{Inbound, MessageId, Outbound, Place, Platform, What};
use serde_json::json;
use session::ChatKind;
use testkit::platform_suite::{messages, until};
use testkit::synapse::{MatrixPerson, Rates};

use super::{MatrixWorld, direct};

fn group(room: &str) -> Place {
    Place { kind: ChatKind::Group, chat: room.to_owned(), thread: None }
}

fn texts(told: &[Inbound]) -> Vec<String> {
    messages(told).into_iter().map(|(_, text)| text).collect()
}

/// What is told until an invitation comes.
async fn invited(platform: &dyn Platform, cursor: Option<String>) -> anyhow::Result<(Inbound, String)> {
    let mut cursor = cursor;
    loop {
        let batch = platform.receive(cursor.clone()).await?;
        cursor = batch.cursor.or(cursor);
        if let Some(event) = batch.events.into_iter().find(|event| event.what == What::Invited) {
            return Ok((event, cursor.unwrap()));
        }
    }
}

#[tokio::test]
async fn who_invites_is_heard_from_the_invitation_on() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Raised);
    let platform = world.platform();
    let cursor = platform.receive(None).await?.cursor;
    world.person.call_myself("Alice L.")?;
    let room = world.person.group_with(&[])?;
    world.person.say(&room, "before anybody was invited")?;
    world.person.invite(&room, &world.account)?;
    world.person.say(&room, "already here?")?;
    let (invitation, cursor) = invited(&platform, cursor).await?;
    assert_eq!((&invitation.place, &invitation.sender.id), (&group(&room), &world.person.id));
    assert_eq!(invitation.sender.name, "Alice L.");
    for number in 1..=25 {
        world.person.say(&room, &format!("waiting {number}"))?;
    }
    platform.accept(&invitation.place).await?;
    platform.accept(&invitation.place).await?;
    world.person.say(&room, "at last")?;
    let (told, cursor) = until(&platform, Some(cursor), &direct(&room), "at last").await?;
    let waiting = (1..=25).map(|number| format!("waiting {number}"));
    let expected: Vec<String> =
        ["already here?".to_owned()].into_iter().chain(waiting).chain(["at last".to_owned()]).collect();
    assert_eq!(texts(&told), expected);
    assert_eq!(told[0].sender.name, "Alice L.");
    // Sent out and asked in again by the same person: another invitation.
    world.person.send_out(&room, &world.account)?;
    world.person.invite(&room, &world.account)?;
    let (second, cursor) = invited(&platform, Some(cursor)).await?;
    assert_ne!(second.event, invitation.event);
    platform.accept(&second.place).await?;
    world.person.say(&room, "again")?;
    let (told, cursor) = until(&platform, Some(cursor), &direct(&room), "again").await?;
    assert_eq!(texts(&told), ["again"]);
    let room = world.person.room_with(&world.account)?;
    let (third, _) = invited(&platform, Some(cursor)).await?;
    assert_eq!(third.place, direct(&room));
    Ok(())
}

#[tokio::test]
async fn in_a_group_only_some_is_meant_for_the_account() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Raised);
    let platform = world.platform();
    let mut other = world.synapse.person("bob")?;
    let room = world.person.group_with(&[&world.account, &other])?;
    world.account.join(&room)?;
    other.join(&room)?;
    let cursor = platform.receive(None).await?.cursor;
    let place = group(&room);
    let own = platform.send(&place, Outbound::text("I am here"), "own".to_owned()).await?;
    let person = &mut world.person;
    let root = person.say(&room, "among ourselves")?;
    person.say(&room, "Everturn, what do you think?")?;
    person.say_about(&room, "an answer", &json!({ "m.in_reply_to": { "event_id": own.0 } }))?;
    other.say_about(&room, "an answer to Alice", &json!({ "m.in_reply_to": { "event_id": root } }))?;
    let mention =
        json!({ "msgtype": "m.text", "body": "hm", "m.mentions": { "user_ids": [world.account.id] } });
    let hm = person.send(&room, "m.room.message", &mention)?;
    other.change(&room, &hm, "what Alice never said")?;
    person.change(&room, &hm, "Everturn: hm?")?;
    person.send(&room, "m.room.message", &json!({ "msgtype": "m.notice", "body": "beep" }))?;
    person.send(&room, "m.room.encrypted", &json!({ "algorithm": "m.megolm.v1.aes-sha2" }))?;
    person.send(&room, "m.room.message", &json!({ "msgtype": "odd", "body": "odd", "m.relates_to": 7 }))?;
    let in_root = json!({ "rel_type": "m.thread", "event_id": root, "is_falling_back": true,
        "m.in_reply_to": { "event_id": own.0 } });
    person.say_about(&room, "in the thread", &in_root)?;
    person.say(&room, "end")?;
    let (told, _) = until(&platform, cursor, &place, "end").await?;
    assert!(told.iter().all(|event| event.place.chat == room && event.place.kind == ChatKind::Group));
    let seen: Vec<(String, bool)> = told
        .iter()
        .map(|event| match &event.what {
            What::Said { text, .. } => (text.clone(), event.addressed),
            What::Changed { message, text } => (format!("{text} for {}", message.0 == hm), event.addressed),
            What::Invited => panic!("nobody was invited"),
        })
        .collect();
    let expected = [
        ("among ourselves", false),
        ("Everturn, what do you think?", true),
        ("an answer", true),
        ("an answer to Alice", false),
        ("hm", true),
        ("Everturn: hm? for true", true),
        ("odd", false),
        ("in the thread", false),
        ("end", false),
    ];
    assert_eq!(seen, expected.map(|(text, addressed)| (text.to_owned(), addressed)));
    assert_eq!(told[7].place.thread.as_deref(), Some(root.as_str()));
    answers_go_into_the_thread(&platform, &told[7].place, &world.account, &other).await
}

async fn answers_go_into_the_thread(
    platform: &dyn Platform,
    place: &Place,
    account: &MatrixPerson,
    reader: &MatrixPerson,
) -> anyhow::Result<()> {
    let root = place.thread.clone();
    platform.send(place, Outbound::text("a **bold** word"), "thread".to_owned()).await?;
    let answers = Some(MessageId(root.clone().unwrap()));
    platform
        .send(place, Outbound { answers, ..Outbound::text("to the first") }, "thread 2".to_owned())
        .await?;
    let arrived = reader.arrived(&place.chat, &account.id)?;
    let in_thread: Vec<&str> =
        arrived.iter().filter(|shown| shown.thread == root).map(|shown| shown.text.as_str()).collect();
    assert_eq!(in_thread, ["a **bold** word", "to the first"]);
    assert_eq!(arrived[1].html.as_deref(), Some("<p>a <strong>bold</strong> word</p>"));
    Ok(())
}

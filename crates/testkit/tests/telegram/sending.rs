//! What the bot sends, and what the platform says to it.

use std::time::Duration;

use gateway::platform::telegram::Rates;
use gateway::platform::{Abilities, Counting, MessageId, Outbound, Platform, SendError};
use testkit::telegram::{Fault, Limits, Saying};
use tokio::time::Instant;

use crate::kit::*;

#[tokio::test]
async fn a_text_arrives_as_an_answer_in_its_topic() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let forum = simulator.make_supergroup("House");
    let topic = simulator.open_topic(forum);
    let asked =
        simulator.say_in(forum, &anna(), Saying { topic: Some(topic), ..Saying::from("what is 1 < 2 & 3?") });
    let mut to = in_group(forum);
    to.thread = Some(topic.to_string());
    let answer =
        Outbound { answers: Some(MessageId(asked.to_string())), ..Outbound::text("1 < 2 & 3: true") };
    let id = bot.send(&to, answer, "key".to_owned()).await.unwrap();
    let sent = simulator.sent().remove(0);
    assert_eq!(sent.id.to_string(), id.0);
    assert_eq!((sent.chat, sent.topic, sent.answers), (forum, Some(topic), Some(asked)));
    assert_eq!(sent.text, "1 < 2 & 3: true");
    assert_eq!(sent.parse_mode.as_deref(), Some("HTML"));
}

#[tokio::test]
async fn an_answer_to_what_is_gone_arrives_without_it() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let answer = Outbound { answers: Some(MessageId("4711".to_owned())), ..Outbound::text("hi") };
    bot.send(&direct(&anna()), answer, "key".to_owned()).await.unwrap();
    assert_eq!(simulator.sent()[0].answers, None);
}

#[tokio::test]
async fn lengths_are_counted_in_utf16() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let abilities = Abilities {
        text_max: 4_096,
        counting: Counting::Utf16,
        edits: true,
        idempotent: false,
        edit_every: Duration::ZERO,
    };
    assert_eq!(bot.abilities(), abilities);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    // Each is two units and four bytes.
    let full = "😀".repeat(2_048);
    assert_eq!(abilities.counting.length(&full), abilities.text_max);
    send(&bot, &to, &full).await;
    let error = bot.send(&to, Outbound::text(format!("{full}x")), "key".to_owned()).await.unwrap_err();
    assert_eq!(error, SendError::TooLong);
    // What is written longer than it is shown is as long as it is shown.
    send(&bot, &to, &"<".repeat(4_096)).await;
    assert_eq!(simulator.sent().len(), 2);
}

#[tokio::test]
async fn a_text_whose_marks_cannot_be_read_arrives_without_them() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    let unreadable = Fault::Refused(400, "Bad Request: can't parse entities: Unsupported start tag \"x\"");
    simulator.fail_next("sendMessage", unreadable);
    let id = MessageId(send(&bot, &to, "1 < 2 & **3**").await.to_string());
    simulator.fail_next("editMessageText", unreadable);
    bot.edit(&to, id, "<b>".to_owned(), "key".to_owned()).await.unwrap();
    let sent = simulator.sent().remove(0);
    assert_eq!(
        (sent.text.as_str(), sent.parse_mode.as_deref(), sent.shown()),
        ("1 < 2 & **3**", None, "<b>")
    );
    // Once, and not for ever.
    for _ in 0..2 {
        simulator.fail_next("sendMessage", unreadable);
    }
    let error = bot.send(&to, Outbound::text("x"), "key".to_owned()).await.unwrap_err();
    assert!(matches!(error, SendError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn a_token_that_somebody_quotes_is_not_passed_on() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let quoting = Fault::Refused(400, "no route /bot424242:Simulated-Token_of_35_characters/sendMessage");
    simulator.fail_next("sendMessage", quoting);
    let error = bot.send(&direct(&anna()), Outbound::text("x"), "key".to_owned()).await.unwrap_err();
    assert_eq!(error, SendError::Refused { reason: "no route /bot…/sendMessage".to_owned() });
}

#[tokio::test]
async fn an_edit_twice_is_as_good_as_once() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    let id = MessageId(send(&bot, &to, "one").await.to_string());
    for _ in 0..2 {
        bot.edit(&to, id.clone(), "two".to_owned(), "key".to_owned()).await.unwrap();
    }
    let sent = simulator.sent().remove(0);
    assert_eq!((sent.text.as_str(), sent.shown(), sent.edits.len()), ("one", "two", 1));
    let gone = bot.edit(&to, MessageId("4711".to_owned()), "x".to_owned(), "key".to_owned()).await;
    assert!(matches!(&gone, Err(SendError::Refused { reason }) if reason.contains("not found")), "{gone:?}");
}

#[tokio::test]
async fn chats_that_cannot_be_written_to_are_refused_for_good() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    simulator.bar(anna().id);
    let group = simulator.make_group("Kitchen");
    simulator.bar(group);
    let cases =
        [(direct(&anna()), "blocked"), (in_group(group), "kicked"), (direct(&ben()), "chat not found")];
    for (to, why) in cases {
        let error = bot.send(&to, Outbound::text("hi"), "key".to_owned()).await.unwrap_err();
        assert!(matches!(&error, SendError::Refused { reason } if reason.contains(why)), "{error:?}");
    }
    bot.typing(&direct(&anna())).await;
    assert_eq!(simulator.sent(), []);
}

#[tokio::test]
async fn a_group_that_moved_is_followed() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let group = simulator.make_group("Kitchen");
    let moved = simulator.upgrade(group);
    let id = send(&bot, &in_group(group), "hi").await;
    bot.edit(&in_group(group), MessageId(id.to_string()), "hello".to_owned(), "key".to_owned())
        .await
        .unwrap();
    let sent = simulator.sent().remove(0);
    assert_eq!((sent.chat, sent.shown()), (moved, "hello"));
}

#[tokio::test]
async fn a_taken_back_token_keeps_messages_for_later() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    simulator.set_token("424242:another-one");
    let error = bot.send(&direct(&anna()), Outbound::text("hi"), "key".to_owned()).await.unwrap_err();
    assert!(matches!(error, SendError::NotSent { .. }), "{error:?}");
}

#[tokio::test]
async fn too_many_are_told_with_the_time_to_wait_and_the_time_is_kept() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    simulator.fail_next("sendMessage", Fault::Flood(1));
    let begun = Instant::now();
    let error = bot.send(&to, Outbound::text("one"), "key".to_owned()).await.unwrap_err();
    let wait = Some(Duration::from_secs(1));
    assert!(matches!(&error, SendError::NotSent { retry_after, .. } if *retry_after == wait), "{error:?}");
    assert!(!bot.slack(&to));
    send(&bot, &to, "one").await;
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    // A long wait is told without asking again.
    simulator.fail_next("sendMessage", Fault::Flood(200));
    for _ in 0..2 {
        let error = bot.send(&to, Outbound::text("two"), "key".to_owned()).await.unwrap_err();
        let SendError::NotSent { retry_after: Some(wait), .. } = error else { panic!("{error:?}") };
        assert!(wait > Duration::from_secs(190), "{wait:?}");
    }
    assert_eq!(simulator.calls("sendMessage"), 3);
}

#[tokio::test]
async fn a_bot_that_keeps_to_the_documented_rates_is_never_refused() {
    let simulator = simulator();
    // Both clocks run twenty times as fast.
    simulator.set_limits(Some(Limits::documented().faster(20)));
    let documented = Rates::default();
    let faster = |mut rate: gateway::platform::telegram::Rate| {
        rate.per /= 20;
        rate
    };
    let rates = Rates {
        overall: faster(documented.overall),
        one_place: faster(documented.one_place),
        one_group: faster(documented.one_group),
        edit_every: documented.edit_every / 20,
        edit_every_in_groups: documented.edit_every_in_groups / 20,
    };
    let bot = bot_at(&simulator.api(), &simulator.token(), rates);
    simulator.say(&anna(), "hello");
    let group = simulator.make_group("Kitchen");
    let sends = (0..12).flat_map(|number| [(direct(&anna()), number), (in_group(group), number)]);
    let all = sends.map(|(to, number)| {
        let bot = &bot;
        async move { send(bot, &to, &format!("number {number}")).await }
    });
    futures_util::future::join_all(all).await;
    assert_eq!(simulator.refused_count(), 0);
    // In each of the two, in the order in which they were given.
    for chat in [anna().id, group] {
        let sent = simulator.sent();
        let texts: Vec<&str> =
            sent.iter().filter(|sent| sent.chat == chat).map(|sent| sent.text.as_str()).collect();
        let expected: Vec<String> = (0..12).map(|number| format!("number {number}")).collect();
        assert_eq!(texts, expected);
    }
}

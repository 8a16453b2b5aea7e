//! What people say: told until it is confirmed, once for each, and whether it is meant for the bot.

use std::time::Duration;

use gateway::platform::{Platform, ReceiveError, Sender, What};
use session::ChatKind;
use testkit::telegram::{Fault, FaultPlan, Saying, SimulatorSettings};

use crate::kit::*;

#[tokio::test]
async fn what_was_said_is_told_again_until_a_later_cursor_is_named() {
    let simulator = simulator();
    simulator.say(&anna(), "one");
    simulator.say(&anna(), "two");
    let first = receive(&bot(&simulator), None).await;
    assert_eq!(texts(&first), ["one", "two"]);
    // As after a restart that lost the first answer: the same events under the same names.
    let again = receive(&bot(&simulator), None).await;
    assert_eq!(again, first);
    assert_eq!(simulator.pending(), 2);
    simulator.say(&anna(), "three");
    let next = receive(&bot(&simulator), first.cursor.as_deref()).await;
    assert_eq!(texts(&next), ["three"]);
    assert_eq!(simulator.pending(), 1);
}

#[tokio::test]
async fn a_poll_waits_for_what_is_said_later() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let waiting = receive(&bot, None);
    tokio::pin!(waiting);
    while simulator.calls("getUpdates") == 0 {
        tokio::select! {
            batch = &mut waiting => panic!("told before anything was said: {batch:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    simulator.say(&anna(), "hello");
    assert_eq!(texts(&waiting.await), ["hello"]);
}

#[tokio::test]
async fn of_two_pollers_the_older_is_told_of_the_other() {
    let simulator = simulator();
    let (older, newer) = (bot(&simulator), bot(&simulator));
    let waiting = older.receive(None);
    tokio::pin!(waiting);
    while simulator.calls("getUpdates") == 0 {
        tokio::select! {
            batch = &mut waiting => panic!("{batch:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    let (ended, ()) = tokio::join!(waiting, async {
        let polling = newer.receive(None);
        tokio::pin!(polling);
        while simulator.calls("getUpdates") < 2 {
            tokio::select! {
                batch = &mut polling => panic!("{batch:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
        simulator.say(&anna(), "hello");
        assert_eq!(texts(&polling.await.unwrap()), ["hello"]);
    });
    assert!(
        matches!(&ended, Err(ReceiveError::Elsewhere { reason }) if reason.contains("Conflict")),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_poll_that_was_given_up_does_not_disturb_the_next() {
    let simulator = simulator();
    let bot = bot(&simulator);
    for _ in 0..3 {
        let calls = simulator.calls("getUpdates");
        let waiting = bot.receive(None);
        tokio::pin!(waiting);
        while simulator.calls("getUpdates") == calls {
            tokio::select! {
                batch = &mut waiting => panic!("{batch:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    simulator.say(&anna(), "hello");
    assert_eq!(texts(&receive(&bot, None).await), ["hello"]);
}

#[tokio::test]
async fn a_wrong_token_is_told_as_such() {
    let simulator = simulator();
    for token in ["424242:other", "no-token"] {
        let bot = bot_at(&simulator.api(), token, hurried());
        let error = bot.receive(None).await.unwrap_err();
        assert!(matches!(error, ReceiveError::Unauthorized { .. }), "{error:?}");
        assert!(bot.who_am_i().await.is_err());
    }
    assert_eq!(bot(&simulator).who_am_i().await.unwrap(), "@ever_bot");
}

#[tokio::test]
async fn what_goes_wrong_with_a_poll_loses_nothing() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "one");
    let faults = [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::CutInAnswer,
        Fault::BrokenBefore(502),
        Fault::BrokenAfter(500),
        Fault::Garbled,
        Fault::Flood(3),
    ];
    for fault in faults {
        simulator.fail_next("getUpdates", fault);
        let error = bot.receive(None).await.unwrap_err();
        let told = match error {
            ReceiveError::Away { retry_after, .. } => retry_after,
            other => panic!("{fault:?}: {other:?}"),
        };
        let expected = matches!(fault, Fault::Flood(_)).then_some(Duration::from_secs(3));
        assert_eq!(told, expected, "{fault:?}");
    }
    assert_eq!(texts(&receive(&bot, None).await), ["one"]);
}

#[tokio::test]
async fn updates_that_come_twice_or_out_of_order_are_told_once_and_in_order() {
    let faults = FaultPlan { seed: 3, repeated_updates: 100, shuffled_batches: 100, ..FaultPlan::default() };
    let simulator =
        testkit::telegram::Simulator::start(SimulatorSettings { faults, ..SimulatorSettings::default() })
            .unwrap();
    let bot = bot(&simulator);
    let expected: Vec<String> = (0..30).map(|number| format!("number {number}")).collect();
    let mut cursor = None;
    let mut told = Vec::new();
    for round in expected.chunks(10) {
        for text in round {
            simulator.say(&anna(), text.as_str());
        }
        let batch = receive(&bot, cursor.as_deref()).await;
        let numbers: Vec<u64> = batch.events.iter().map(|event| event.event.parse().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        told.extend(batch.events.iter().map(|event| (event.event.clone(), said(event).to_owned())));
        cursor = batch.cursor;
    }
    // One that was confirmed may come once more; its name is the same.
    told.sort();
    told.dedup();
    let told: Vec<String> = told.into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, expected);
    assert_eq!(simulator.fault_counts()["shuffled batch"], 3);
}

#[tokio::test]
async fn places_people_and_whom_it_is_meant_for() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let group = simulator.make_group("Kitchen");
    let forum = simulator.make_supergroup("House");
    let topic = simulator.open_topic(forum);
    simulator.say(&anna(), "just to you");
    simulator.say_in(group, &ben(), "just to all");
    simulator.say_in(group, &ben(), "😀😀 und @Ever_Bot, bitte");
    simulator.say_in(group, &ben(), "/new@ever_bot now");
    simulator.say_in(group, &ben(), "/new@other_bot now");
    simulator.say_in(
        forum,
        &anna(),
        Saying { text: "in a topic".to_owned(), topic: Some(topic), ..Saying::default() },
    );
    let told = receive(&bot, None).await;
    let seen: Vec<_> = told
        .events
        .iter()
        .map(|event| (event.place.kind, event.place.thread.as_deref(), said(event), event.addressed))
        .collect();
    let topic = topic.to_string();
    let expected = [
        (ChatKind::Direct, None, "just to you", true),
        (ChatKind::Group, None, "just to all", false),
        (ChatKind::Group, None, "😀😀 und @Ever_Bot, bitte", true),
        (ChatKind::Group, None, "/new now", true),
        (ChatKind::Group, None, "/new@other_bot now", false),
        (ChatKind::Group, Some(topic.as_str()), "in a topic", false),
    ];
    assert_eq!(seen, expected);
    assert_eq!(told.events[1].sender, Sender { id: "12".to_owned(), name: "Ben".to_owned() });
    assert_eq!(told.events[1].place, in_group(group));
}

#[tokio::test]
async fn an_answer_to_the_bot_is_meant_for_it_and_one_to_somebody_else_is_not() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let group = simulator.make_group("Kitchen");
    let ours = send(&bot, &in_group(group), "soup is ready").await;
    let theirs = simulator.say_in(group, &ben(), "what kind?");
    for answers in [ours, theirs] {
        let text = format!("to {answers}");
        simulator.say_in(group, &anna(), Saying { text, answers: Some(answers), ..Saying::default() });
    }
    let told = receive(&bot, None).await;
    let addressed: Vec<bool> = told.events.iter().map(|event| event.addressed).collect();
    assert_eq!(addressed, [false, true, false]);
}

#[tokio::test]
async fn a_change_names_the_message_that_was_changed() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let message = simulator.say(&anna(), "one");
    simulator.change(anna().id, message, "two");
    let told = receive(&bot, None).await;
    let What::Said { message: first, .. } = &told.events[0].what else { panic!("{told:?}") };
    assert_eq!(told.events[1].what, What::Changed { message: first.clone(), text: "two".to_owned() });
    assert_ne!(told.events[0].event, told.events[1].event);
}

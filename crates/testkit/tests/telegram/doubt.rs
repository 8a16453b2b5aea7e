//! What is known of a message after everything that can go wrong; and that the token is in no word about it.

use std::time::Duration;

use gateway::platform::{MessageId, Outbound, OutboundFile, Platform, SendError};
use testkit::telegram::Fault;

use crate::kit::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    NotSent,
    Doubtful,
}

fn known(error: &SendError) -> Option<Known> {
    match error {
        SendError::NotSent { .. } => Some(Known::NotSent),
        SendError::Doubtful { .. } => Some(Known::Doubtful),
        SendError::TooLong | SendError::Refused { .. } => None,
    }
}

/// Faults, whether the message is there afterwards, and what the bot may know of it.
const CASES: [(Fault, bool, Known); 8] = [
    (Fault::CutBefore, false, Known::Doubtful),
    (Fault::CutAfter, true, Known::Doubtful),
    (Fault::CutInAnswer, true, Known::Doubtful),
    (Fault::BrokenBefore(500), false, Known::Doubtful),
    (Fault::BrokenBefore(502), false, Known::Doubtful),
    (Fault::BrokenAfter(502), true, Known::Doubtful),
    (Fault::Garbled, true, Known::Doubtful),
    (Fault::Flood(0), false, Known::NotSent),
];

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_doubtful_whether_it_arrived_or_not() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    let file = OutboundFile {
        name: "a.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: bytes::Bytes::from_static(b"a"),
    };
    for (fault, arrives, expected) in CASES {
        let with_file = Outbound { files: vec![file.clone()], ..Outbound::text("x") };
        for (method, message) in [("sendMessage", Outbound::text("x")), ("sendDocument", with_file)] {
            let before = simulator.sent().len();
            simulator.fail_next(method, fault);
            let error = bot.send(&to, message, "key".to_owned()).await.unwrap_err();
            assert_eq!(known(&error), Some(expected), "{method} {fault:?}: {error:?}");
            let words = error.to_string();
            assert!(!words.contains(&simulator.token()) && !words.contains("/bot"), "{words}");
            let sent = simulator.sent();
            assert_eq!(sent.len() > before, arrives, "{method} {fault:?}");
            assert!(sent[before..].iter().all(|sent| sent.answer_lost), "{method} {fault:?}");
        }
    }
    // Nothing was sent by itself a second time.
    let with_answers = simulator.sent().iter().filter(|sent| !sent.answer_lost).count();
    assert_eq!(with_answers, 0);
}

#[tokio::test]
async fn an_edit_whose_answer_was_lost_is_doubtful_and_may_be_done_again() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    let id = MessageId(send(&bot, &to, "one").await.to_string());
    for (index, (fault, _, expected)) in CASES.into_iter().enumerate() {
        simulator.fail_next("editMessageText", fault);
        let text = format!("text {index}");
        let edit = || bot.edit(&to, id.clone(), text.clone(), "key".to_owned());
        let error = edit().await.unwrap_err();
        assert_eq!(known(&error), Some(expected), "{fault:?}");
        edit().await.unwrap();
        assert_eq!(simulator.sent()[0].shown(), text);
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let simulator = simulator();
    let (api, token) = (simulator.api(), simulator.token());
    drop(simulator);
    let bot = bot_at(&api, &token, hurried());
    let error = bot.send(&direct(&anna()), Outbound::text("x"), "key".to_owned()).await.unwrap_err();
    assert_eq!(known(&error), Some(Known::NotSent), "{error:?}");
    let received = bot.receive(None).await.unwrap_err();
    let words = format!("{error} {error:?} {received} {received:?} {bot:?}");
    assert!(!words.contains(&token) && !words.contains("/bot"), "{words}");
}

#[tokio::test]
async fn a_slow_answer_is_waited_for() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    simulator.fail_next("sendMessage", Fault::Slow(Duration::from_millis(300)));
    send(&bot, &direct(&anna()), "x").await;
    assert!(!simulator.sent()[0].answer_lost);
    assert_eq!(simulator.fault_counts()["slow"], 1);
}

#[tokio::test]
async fn who_leaves_before_a_slow_answer_has_lost_it() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    simulator.fail_next("sendMessage", Fault::Slow(Duration::from_secs(600)));
    let to = direct(&anna());
    {
        let sending = bot.send(&to, Outbound::text("x"), "key".to_owned());
        tokio::select! {
            answered = sending => panic!("{answered:?}"),
            _ = simulator.sent_when(|sent| !sent.is_empty()) => {}
        }
    }
    simulator.sent_when(|sent| sent[0].answer_lost).await;
}

//! Very many chats at once: every message arrives, each doubled one has an excuse.

use std::collections::HashMap;

use gateway::platform::{Outbound, Platform, SendError};
use testkit::telegram::{Fault, FaultPlan, Person};

use crate::kit::*;

const CHATS: i64 = 1_000;
const MESSAGES: usize = 10;

#[tokio::test]
async fn a_thousand_chats_with_ten_messages_each_and_faults_by_the_dice() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let of_messages = vec![
        (Fault::CutAfter, 2),
        (Fault::CutBefore, 2),
        (Fault::BrokenAfter(502), 2),
        (Fault::BrokenBefore(500), 2),
        (Fault::Flood(0), 2),
    ];
    simulator.set_faults(FaultPlan { seed: 7, of_messages, ..FaultPlan::default() });
    let people: Vec<Person> = (1..=CHATS).map(|id| Person::new(id, "Anna")).collect();
    for person in &people {
        simulator.say(person, "hello");
    }
    // As a gateway would that rather says it twice than not at all.
    let talk = people.iter().map(|person| async {
        for number in 0..MESSAGES {
            let text = format!("number {number}");
            loop {
                match bot.send(&direct(person), Outbound::text(text.clone()), text.clone()).await {
                    Ok(_) => break,
                    Err(SendError::NotSent { .. } | SendError::Doubtful { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    });
    futures_util::stream::StreamExt::collect::<Vec<()>>(futures_util::stream::StreamExt::buffer_unordered(
        futures_util::stream::iter(talk),
        64,
    ))
    .await;
    let mut seen: HashMap<(i64, String), (usize, usize)> = HashMap::new();
    for sent in simulator.sent() {
        let (count, lost) = seen.entry((sent.chat, sent.text)).or_default();
        *count += 1;
        *lost += usize::from(sent.answer_lost);
    }
    assert_eq!(seen.len(), people.len() * MESSAGES);
    for (which, (count, lost)) in seen {
        assert_eq!(count, lost + 1, "{which:?}");
    }
    let counts = simulator.fault_counts();
    assert!(counts["cut after"] > 100 && counts["flood"] > 100, "{counts:?}");
}

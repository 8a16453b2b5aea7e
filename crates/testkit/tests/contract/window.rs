//! C21 and C22: the model reads every visible turn, however long the session is.

use agent::History;
use hub::SessionHandle;
use session::limits::{STATE_BYTES_MAX, TURNS_IN_STATE_MAX};
use session::{Command, PostMode, Prompt, PromptMessage, Rejected};
use testkit::World;

use crate::kit::{cold, post};

/// Posts a message that is echoed, and waits for the answer.
fn say(world: &World, session: &SessionHandle, text: &str) {
    world.submit(session, post(text, PostMode::Queue));
    world.until_quiet(session);
}

/// The prompt of the newest run, for a model with room for everything.
fn prompt(world: &World) -> Prompt {
    let request = world.agent.requests().pop().unwrap();
    let mut prompt = request.prompt;
    world.run(request.earlier.extend(&mut prompt, usize::MAX)).unwrap();
    prompt
}

/// What users said in it.
fn said(prompt: &Prompt) -> Vec<String> {
    let text = |message: &PromptMessage| match message {
        PromptMessage::User(message) => Some(message.text.clone()),
        _ => None,
    };
    prompt.messages.iter().filter_map(text).collect()
}

#[test]
fn c21_every_visible_turn_is_in_the_prompt() {
    let mut world = World::new();
    let session = world.create();
    let texts: Vec<String> = (0..TURNS_IN_STATE_MAX + 6).map(|at| format!("turn {at}")).collect();
    texts.iter().for_each(|text| say(&world, &session, text));
    assert_eq!(said(&prompt(&world)), texts);
    let session = cold(&mut world, &session);
    say(&world, &session, "after a restart");
    let prompt = prompt(&world);
    assert_eq!(said(&prompt).len(), texts.len() + 1);
    assert_eq!((said(&prompt)[0].as_str(), prompt.earlier), ("turn 0", None));
}

#[test]
fn c21_a_long_message_takes_nothing_out_of_the_prompt() {
    let world = World::new();
    let session = world.create();
    let long = "long ".repeat(STATE_BYTES_MAX / 4);
    for text in ["one", "two", long.as_str(), "three"] {
        say(&world, &session, text);
    }
    assert!(said(&prompt(&world)) == ["one", "two", &long, "three"]);
}

#[test]
fn c21_a_summary_covers_what_is_not_in_the_prompt() {
    let world = World::new();
    let session = world.create();
    for at in 0..10 {
        say(&world, &session, &format!("before {at}"));
    }
    let through = world.view(&session).turns[4].turn;
    let summary = "They counted.".to_owned();
    world.submit(&session, Command::CompactContext { run: None, summary: summary.clone(), through });
    for at in 0..TURNS_IN_STATE_MAX + 6 {
        say(&world, &session, &format!("after {at}"));
    }
    let prompt = prompt(&world);
    assert_eq!(prompt.messages[0], PromptMessage::Summary(summary));
    assert_eq!(said(&prompt)[..6], ["before 5", "before 6", "before 7", "before 8", "before 9", "after 0"]);
}

#[test]
fn c22_undo_restores_the_earlier_prompt() {
    let mut world = World::new();
    let session = world.create();
    for text in ["one", "two", "three"] {
        say(&world, &session, text);
    }
    say(&world, &session, "which?");
    let before = prompt(&world);
    world.submit(&session, Command::Undo { from: None });
    say(&world, &session, &"long ".repeat(STATE_BYTES_MAX / 4));
    world.submit(&session, Command::Undo { from: None });
    say(&world, &session, "which?");
    assert_eq!(prompt(&world).messages, before.messages);
    let session = cold(&mut world, &session);
    world.submit(&session, Command::Undo { from: None });
    say(&world, &session, "which?");
    assert_eq!(prompt(&world).messages, before.messages);
}

#[test]
fn c22_undo_reaches_every_visible_turn() {
    let mut world = World::new();
    let session = world.create();
    let long = "long ".repeat(STATE_BYTES_MAX / 4);
    for text in ["one", "two", "three", long.as_str()] {
        say(&world, &session, text);
    }
    for left in (0..4).rev() {
        world.submit(&session, Command::Undo { from: None });
        let view = world.view(&session);
        assert_eq!((view.turns.len() as u64 + view.turns_before, view.turns.is_empty()), (left, left == 0));
    }
    let refused = world.run(session.submit(Command::Undo { from: None })).unwrap_err();
    assert_eq!(refused, hub::CommandError::Rejected(Rejected::NothingToUndo));
    world.submit(&session, Command::PutBack);
    let session = cold(&mut world, &session);
    let view = world.view(&session);
    assert_eq!(view.turns.len(), 1);
    assert!(view.turns[0].message.text == "one", "redo restores the first turn first");
    for turns in 2..=4 {
        world.submit(&session, Command::PutBack);
        let view = world.view(&session);
        assert_eq!(view.turns.len() as u64 + view.turns_before, turns);
    }
}

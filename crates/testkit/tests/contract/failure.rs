//! C9 to C11: a run that fails, or whose worker is gone, leaves the user's message as it was posted, once.

use std::sync::Arc;

use hub::{Acknowledged, CommandError, FollowError, Followed, Hub, SessionHandle, Settings};
use session::{Command, Event, Message, PostMode, Time};
use store::claim::HEARTBEAT_MICROS_MAX;
use testkit::{Gate, Script, World, script};

use crate::kit::{cold, count, lines, message, post, post_once};

/// The message and time with which a turn was accepted, as the log has it.
fn accepted(world: &World, session: &SessionHandle) -> (Message, Time) {
    let posted = world.log(session).into_iter().find_map(|entry| match entry.event {
        Event::MessagePosted { message, .. } => Some((message, entry.time)),
        _ => None,
    });
    posted.expect("a message was accepted")
}

#[test]
fn c9_a_run_that_fails_anywhere_leaves_the_message_with_time_and_attachments() {
    let call = || script().call(1, "read", "{}");
    let failures: [(Script, &[&str]); 7] = [
        (script().fail("broke"), &[]),
        (script().panic(), &[]),
        (script().step().fail("broke"), &[]),
        (script().reasoning("hm").fail("broke"), &["reasoning hm"]),
        (script().text("half").fail("broke"), &["text half"]),
        (call().fail("broke"), &["call 1 read {} may have run"]),
        (call().result_error(1, "no").text("so").panic(), &["call 1 read {} failed no", "text so"]),
    ];
    let mut world = World::new();
    let mut seen = Vec::new();
    for (script, brought) in failures {
        world.agent.add(script);
        let session = world.create();
        world.submit(&session, post("go", PostMode::Queue));
        let view = world.until_quiet(&session);
        assert_eq!(lines(&view), [&["user go +go.txt"], brought, &["marker failed"]].concat());
        let turn = &view.turns[0];
        assert_eq!((turn.message.clone(), turn.posted_at), accepted(&world, &session));
        assert_eq!(turn.message, message("go"));
        seen.push((session, view));
    }
    world.restart();
    for (session, view) in seen {
        assert_eq!(world.view(&world.hub().open(session.session())), view);
    }
}

#[test]
fn c10_a_message_sent_again_while_its_run_fails_is_there_once() {
    let mut world = World::new();
    (0..40).for_each(|_| world.agent.add(script().fail("broke")));
    let session = world.create();
    for _ in 0..4 {
        let again = (0..6).map(|_| session.submit(post_once("go", "key")));
        let answers = world.run(futures_util::future::join_all(again));
        let turns: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().turn).collect();
        assert!(turns.iter().all(|turn| *turn == turns[0]), "every answer names the same turn: {turns:?}");
    }
    let view = world.until_quiet(&session);
    assert_eq!(lines(&view), ["user go +go.txt", "marker failed"]);
    let session = cold(&mut world, &session);
    world.submit(&session, post_once("go", "key"));
    assert_eq!(world.view(&session), view);
    assert_eq!(count(&world.log(&session), |event| matches!(event, Event::MessagePosted { .. })), 1);
}

#[test]
fn c10_a_message_whose_write_met_an_outage_is_there_once_when_sent_again() {
    let world = World::new();
    let session = world.create();
    world.store().refuse();
    world.run(async {
        let mut first = Box::pin(session.submit(post_once("go", "key")));
        // Its write is under way; the next one is told that nothing more is kept for now.
        let told = futures_util::future::select(&mut first, Box::pin(refused(&session))).await;
        assert!(
            matches!(told, futures_util::future::Either::Right(_)),
            "nothing is acknowledged in an outage"
        );
        world.store().take_again();
        let turn = first.await.unwrap().turn;
        assert_eq!(session.submit(post_once("go", "key")).await.unwrap().turn, turn);
    });
    let view = world.until_quiet(&session);
    assert_eq!(lines(&view), ["user go +go.txt", "text You said: go"]);
}

/// Sends the same message again until the writer says that the store is away.
async fn refused(session: &SessionHandle) {
    while !matches!(session.submit(post_once("go", "key")).await, Err(CommandError::Unavailable { .. })) {}
}

#[test]
fn c10_a_key_with_another_message_is_refused() {
    let world = World::new();
    let session = world.create();
    world.submit(&session, post_once("go", "key"));
    let other = world.run(session.submit(post_once("something else", "key")));
    assert_eq!(other, Err(CommandError::KeyReused));
    assert_eq!(lines(&world.until_quiet(&session)), ["user go +go.txt", "text You said: go"]);
}

#[test]
fn c11_a_run_whose_worker_is_gone_is_repaired() {
    let mut world = World::new();
    let played = Gate::default();
    world.agent.add(script().text("half").call(1, "read", "{}").gate(&played));
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(played.reached(1));
    let accepted = accepted(&world, &session);
    let session = cold(&mut world, &session);
    let view = world.view(&session);
    let expected = ["user go +go.txt", "text half", "call 1 read {} may have run", "marker interrupted"];
    assert_eq!(lines(&view), expected);
    assert_eq!((view.turns[0].message.clone(), view.turns[0].posted_at), accepted);
    assert_eq!((view.run, world.hub().open_runs()), (None, 0));
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), view);
    world.submit(&session, Command::Continue);
    world.until_quiet(&session);
}

/// Another node on the same store.
fn another_node(world: &World) -> Hub {
    let settings = Settings {
        after_interruption: hub::AfterInterruption::Wait.into(),
        ..Settings::new(world.path().join("other"))
    };
    let (store, agent, clock) = (world.store(), world.agent.clone(), world.clock.clone());
    world.run(Hub::start(store, agent, clock as Arc<dyn hub::Clock>, settings)).unwrap()
}

/// Asks, and asks again when told to.
fn ask(world: &World, session: &SessionHandle, command: Command) -> Result<Acknowledged, CommandError> {
    loop {
        match world.run(session.submit(command.clone())) {
            Err(CommandError::Unavailable { .. }) => {}
            answer => return answer,
        }
    }
}

/// Takes a session over once its node was not heard of for too long; should it say a word in between, again.
fn take_over(world: &World, session: &SessionHandle) {
    loop {
        world.clock.advance(HEARTBEAT_MICROS_MAX + 1);
        let follow = async {
            let mut follower = session.follow(session::Seq(0)).await?;
            while follower.next().await? != Followed::CaughtUp {}
            Ok::<(), FollowError>(())
        };
        match world.run(follow) {
            Ok(()) => return,
            Err(FollowError::Command(CommandError::Moved | CommandError::Unavailable { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn c11_a_node_that_lost_a_session_writes_no_more() {
    let world = World::new();
    let session = world.create();
    world.post(&session, "go");
    let before = world.until_quiet(&session);
    let other = another_node(&world);
    take_over(&world, &other.open(session.session()));
    // The log is as the lost node knows it; only the claim tells that it is not its own any more.
    let late = ask(&world, &session, Command::Rename { title: "late".to_owned() });
    assert_eq!(late, Err(CommandError::Moved));
    assert_eq!(world.run(other.open(session.session()).view()), Ok(before));
}

#[test]
fn c11_a_run_of_a_lost_node_is_repaired_by_the_node_that_takes_over() {
    let world = World::new();
    let played = Gate::default();
    world.agent.add(script().call(1, "read", "{}").gate(&played).text("too late"));
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(played.reached(1));
    let other = another_node(&world);
    let taken = other.open(session.session());
    assert_eq!(ask(&world, &taken, Command::Continue), Err(CommandError::Moved), "the first node lives");
    take_over(&world, &taken);
    let view = world.run(taken.view()).unwrap();
    // The lost node's spool is out of reach: what it may hold is awaited.
    let recovering = "marker recovering attempts Some(0) seen true";
    assert_eq!(lines(&view), ["user go +go.txt", "call 1 read {} may have run", recovering]);
    // Asked while the run is held: a lost writer that had learned of it already would be gone, and a new one may claim.
    let late = ask(&world, &session, Command::Rename { title: "late".to_owned() });
    assert_eq!(late, Err(CommandError::Moved), "the lost node writes no more");
    played.open();
    let again = world.run(taken.view()).unwrap();
    assert_eq!(again, view);
    assert_eq!(again.run, None);
}

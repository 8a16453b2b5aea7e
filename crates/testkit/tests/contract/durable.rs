//! P1, P8, P11, P12 and P13: what was accepted is kept, and a run's end comes last, however it failed.

use std::sync::Arc;
use std::time::Duration;

use hub::{CommandError, Create, Hub};
use session::{Command, Event, Flag, FromChat, Message, PostMode, Session, SessionId};
use store::memory::MemoryStore;
use testkit::agent::ScriptedAgent;
use testkit::clock::HandClock;
use testkit::{Gate, World, script};
use uuid::Uuid;

use crate::kit::{Outside, Sql, cold, count, lines, list, message, newest_run, post, post_once, states};

fn rename(title: &str) -> Command {
    Command::Rename { title: title.to_owned() }
}

#[test]
fn p1_every_accepted_write_is_there_after_a_cold_start() {
    let mut world = World::new();
    let played = Gate::default();
    world.agent.add(script().reasoning("hm").text("one").call(1, "read", "{}").result(1, "42").text("two"));
    world.agent.add(script().text("half").gate(&played).hold());
    let first = world.create();
    let create =
        Create { title: Some("second".to_owned()), after: Some(first.session()), ..Create::default() };
    let session = world.run(world.hub().create(create)).unwrap();
    world.submit(&session, post_once("a", "key"));
    let turn = world.until_quiet(&session).turns[0].turn;
    world.submit(&session, Command::SuggestTitle { title: "ignored".to_owned() });
    world.submit(&session, rename("named"));
    world.submit(&session, Command::SetFlag { flag: Flag::Pinned, on: true });
    world.submit(&session, Command::AddId { id: SessionId(Uuid::from_u128(7)) });
    world.submit(&session, Command::CompactContext { run: None, summary: "short".to_owned(), through: turn });
    world.submit(&session, post("b", PostMode::Queue));
    world.run(played.reached(1));
    let queued = world.submit(&session, post("c", PostMode::Queue)).turn.unwrap();
    world.submit(&session, Command::EditQueued { turn: queued, message: message("d") });
    let removed = world.submit(&session, post("e", PostMode::Queue)).turn.unwrap();
    world.submit(&session, Command::RemoveQueued { turn: removed });
    world.submit(&session, post("f", PostMode::Interrupt));
    world.until_quiet(&session);
    world.submit(&session, Command::Retry);
    let retried = world.until_quiet(&session).turns.last().unwrap().clone();
    world.submit(&session, Command::ChooseAnswer { turn: retried.turn, run: retried.alternatives[0] });
    world.submit(&session, Command::Undo { from: None });
    let view = world.until_quiet(&session);
    let edited = Command::EditMessage { turn: view.turns[1].turn, message: Message::text("g"), key: None };
    world.submit(&session, edited);
    let view = world.until_quiet(&session);
    let branch = world.run(world.hub().branch(session.session(), turn)).unwrap();
    let before = (world.log(&session), view, world.view(&branch), list(&world));
    let session = cold(&mut world, &session);
    let branch = world.hub().open(branch.session());
    assert_eq!((world.log(&session), world.view(&session), world.view(&branch), list(&world)), before);
    assert_eq!(session::view(states(&before.0).last().unwrap_or(&Session::default())), before.1);
}

#[test]
fn p1_writes_of_many_sessions_at_once_are_all_there_after_a_cold_start() {
    let mut world = World::new();
    let hub = world.hub();
    let sessions = world.run(futures_util::future::join_all((0..24).map(|_| async {
        let session = hub.create(Create::default()).await.unwrap();
        session.submit(post("a", PostMode::Queue)).await.unwrap();
        session.submit(rename("named")).await.unwrap();
        session
    })));
    let before: Vec<_> = sessions.iter().map(|session| world.until_quiet(session)).collect();
    drop(hub);
    world.restart();
    let after: Vec<_> =
        sessions.iter().map(|session| world.view(&world.hub().open(session.session()))).collect();
    assert_eq!(after, before);
}

#[test]
fn p8_a_message_is_on_disk_before_it_is_acknowledged() {
    let world = World::new();
    world.agent.add(script().hold());
    let session = world.create();
    for text in ["first", "second", "third"] {
        let seq = world.submit(&session, post(text, PostMode::Queue)).turn.unwrap();
        let sql = |table: &str| format!("SELECT body FROM {table} WHERE seq = {}", seq.0);
        let body = Outside::of(&world).ask(Sql { sqlite: &sql("tail"), postgres: &sql("entries") }).concat();
        assert!(body.contains(text), "{body}");
    }
}

#[test]
fn p8_nothing_is_acknowledged_while_the_store_refuses() {
    let world = World::new();
    let session = world.create();
    world.store().refuse();
    world.run(async {
        let mut posted = Box::pin(session.submit(post("go", PostMode::Queue)));
        let waits = tokio::time::timeout(Duration::from_millis(200), &mut posted).await;
        assert!(waits.is_err(), "answered without being kept: {waits:?}");
        world.store().take_again();
        posted.await.unwrap();
    });
    assert_eq!(lines(&world.until_quiet(&session)), ["user go +go.txt", "text You said: go"]);
}

#[test]
fn p8_a_message_survives_a_crash_before_the_first_token() {
    let mut world = World::that_waits();
    world.agent.add(script().hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    let session = cold(&mut world, &session);
    assert_eq!(lines(&world.view(&session)), ["user go +go.txt", "marker interrupted"]);
}

#[test]
fn p11_the_end_of_a_run_comes_after_the_last_of_its_output() {
    let world = World::new();
    let session = world.create();
    for end in 0..30 {
        let chunks = (0..20).fold(script(), |script, chunk| script.text(&format!("{chunk} ")).reasoning("."));
        let script = match end % 3 {
            0 => chunks,
            1 => chunks.fail("broke"),
            _ => chunks.panic(),
        };
        world.agent.add(script);
        world.submit(&session, post("go", PostMode::Queue));
        world.until_quiet(&session);
        let log = world.log(&session);
        let (run, _) = newest_run(&log);
        let brought = log.iter().filter_map(|entry| match &entry.event {
            Event::TextAdded { run: of, text } if *of == run => Some(text.as_str()),
            _ => None,
        });
        let whole: String = (0..20).map(|chunk| format!("{chunk} ")).collect();
        assert_eq!(brought.collect::<String>(), whole, "all of it is there");
        let last = log.iter().rposition(|entry| entry.event.output_of() == Some(run)).unwrap();
        let ended =
            log.iter().position(|entry| matches!(entry.event, Event::RunEnded { run: of, .. } if of == run));
        assert_eq!(ended, Some(last + 1), "the end follows the last output");
    }
}

#[test]
fn p12_a_silent_run_ends_with_an_error_and_blocks_nothing() {
    let mut world = World::new();
    let session = world.create();
    for script in [script(), script().step(), script().text("").reasoning("")] {
        world.agent.add(script);
        world.submit(&session, post("go", PostMode::Queue));
    }
    world.submit(&session, post("last", PostMode::Queue));
    let view = world.until_quiet(&session);
    let silent = ["user go +go.txt", "marker failed"];
    let answered = ["user last +last.txt", "text You said: last"];
    assert_eq!(lines(&view), [&silent[..], &silent, &silent, &answered].concat());
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), view);
}

#[test]
fn p13_a_run_that_cannot_be_set_up_is_reported_and_releases_everything() {
    let world = World::new();
    let session = world.create();
    world.warm_up();
    let tasks = world.tasks();
    world.agent.add(script().fail("no provider is configured"));
    world.agent.add(script().panic());
    world.submit(&session, post("a", PostMode::Queue));
    world.submit(&session, post("b", PostMode::Queue));
    let view = world.until_quiet(&session);
    assert_eq!(lines(&view), ["user a +a.txt", "marker failed", "user b +b.txt", "marker failed"]);
    assert_eq!(view.turns[0].marker.as_ref().unwrap().text, "no provider is configured");
    assert_eq!(world.hub().open_runs(), 0);
    world.run(async {
        while world.tasks() > tasks {
            tokio::task::yield_now().await;
        }
    });
    world.post(&session, "goes on");
    assert_eq!(lines(&world.until_quiet(&session)).last().unwrap(), "text You said: goes on");
}

#[test]
fn p13_an_unknown_session_is_reported_and_nothing_is_made() {
    let world = World::new();
    let unknown = world.hub().open(SessionId(Uuid::from_u128(1)));
    let error = Err(CommandError::Unknown(unknown.session()));
    assert_eq!(world.run(unknown.submit(post("go", PostMode::Queue))), error);
    assert_eq!(world.run(unknown.view()).map(drop), error.map(drop));
    assert!(world.run(unknown.follow(session::Seq(0))).is_err());
    assert!(world.run(world.hub().branch(unknown.session(), session::TurnId(1))).is_err());
    assert_eq!((list(&world), world.hub().writers()), (Vec::new(), 0));
    assert_eq!(Outside::of(&world).ask(Sql::both("SELECT count(*) FROM logs")), ["0"]);
}

#[test]
fn p13_a_command_that_is_refused_leaves_the_run_alone() {
    let world = World::new();
    let go_on = Gate::default();
    let session = world.create();
    world.agent.add(script().text("one ").gate(&go_on).text("two ").text("three"));
    world.submit(&session, post("go", PostMode::Queue));
    world.run(go_on.reached(1));
    let refused = [
        Command::Undo { from: Some(session::TurnId(99)) },
        Command::EditMessage { turn: session::TurnId(99), message: message("x"), key: None },
        Command::EditMessage { turn: session::TurnId(2), message: Message::text(" "), key: None },
        Command::PostMessage { message: Message::text(""), mode: PostMode::Interrupt, key: None },
    ];
    for command in refused {
        assert!(matches!(world.run(session.submit(command)), Err(CommandError::Rejected(_))));
    }
    // A stop meant for a run that is over.
    world.submit(&session, Command::Stop { run: Some(session::RunId(1)), device: None });
    go_on.open();
    assert_eq!(lines(&world.until_quiet(&session)), ["user go +go.txt", "text one two three"]);
    assert_eq!(count(&world.log(&session), |event| matches!(event, Event::RunEnded { .. })), 1);
}

#[tokio::test]
async fn p1_an_answer_is_owed_to_its_chat_after_an_append_of_unknown_outcome() {
    let place = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new());
    let settings = hub::Settings::new(place.path().join("spool"));
    let (agent, clock) = (Arc::new(ScriptedAgent::default()), Arc::new(HandClock::default()));
    let hub = Hub::start(store.clone(), agent, clock, settings).await.unwrap();
    let session = hub.create(Create::default()).await.unwrap();
    let mut owing = hub.follow_owing();
    // The append is durable, but its answer is lost.
    store.faults().lose_next_answer();
    let chat = "main:telegram:direct:7".to_owned();
    let from = FromChat { chat, message: "1".to_owned(), peer: "7".to_owned(), sender: None };
    let message = Message { from: Some(Box::new(from)), ..Message::text("hello") };
    session.submit(Command::PostMessage { message, mode: PostMode::Queue, key: None }).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(10), owing.next()).await;
    assert_eq!(told.unwrap().unwrap(), session.session());
}

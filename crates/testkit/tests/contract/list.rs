//! P2, P3, P4, P9 and P14: what touches the list of sessions, and what it shows.

use std::fs;
use std::sync::Arc;

use futures_util::future::join;
use hub::{Create, SessionHandle};
use session::{Command, Flag, PostMode, Usage, UserId, View};
use testkit::{Gate, World, script};

use crate::kit::{
    Hidden, Outside, Sql, cold, count, lines, list, newest_run, post, reopened, row, until_settled,
};

const SECOND_MICROS: i64 = 1_000_000;

/// A world whose database counts each write to a row of the list, whatever it changes.
fn counting() -> World {
    let mut world = World::new();
    world.crash();
    Outside::of(&world).change(Sql {
        sqlite: "CREATE TABLE touches (n INTEGER);
             CREATE TRIGGER inserted AFTER INSERT ON list BEGIN INSERT INTO touches VALUES (1); END;
             CREATE TRIGGER updated AFTER UPDATE ON list BEGIN INSERT INTO touches VALUES (1); END;
             CREATE TRIGGER deleted AFTER DELETE ON list BEGIN INSERT INTO touches VALUES (1); END;",
        postgres: "CREATE TABLE touches (n INT);
             CREATE FUNCTION touched () RETURNS TRIGGER LANGUAGE plpgsql AS
                 $$ BEGIN INSERT INTO touches VALUES (1); RETURN NULL; END $$;
             CREATE TRIGGER touched AFTER INSERT OR UPDATE OR DELETE ON list
                 FOR EACH ROW EXECUTE FUNCTION touched ()",
    });
    world.start();
    world
}

fn touches(world: &World) -> i64 {
    let told = Outside::of(world).ask(Sql::both("SELECT count(*) FROM touches"));
    told.concat().parse().unwrap()
}

#[test]
fn p2_chunks_touch_no_row_of_the_list() {
    let world = counting();
    let (begun, streamed) = (Gate::default(), Gate::default());
    let chunk = Gate::default();
    let mut stream = script().gate(&begun);
    for _ in 0..6 {
        // Each report makes what was streamed before it durable, as a chunk of its own.
        stream = stream.text("some text ").reasoning("some thought ").draft(1, "read", "{").gate(&chunk);
    }
    world.agent.add(stream.gate(&streamed).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(begun.reached(1));
    let (before, row_before, log) = (touches(&world), row(&world), world.log(&session).len());
    begun.open();
    for count in 1..=6 {
        world.run(chunk.reached(count));
        world.clock.advance(2 * SECOND_MICROS);
        chunk.open();
    }
    world.run(streamed.reached(1));
    assert_eq!((touches(&world), row(&world)), (before, row_before));
    assert!(world.log(&session).len() >= log + 18, "the chunks are in the log");
}

#[test]
fn p2_what_changes_a_row_touches_it_once() {
    let world = counting();
    let session = world.create();
    let touch = |name: &str, expected: i64, act: &dyn Fn()| {
        let before = touches(&world);
        act();
        // PostgreSQL writes a row once for all that one append changes in it.
        let expected = if world.postgres().is_some() { expected.min(1) } else { expected };
        assert_eq!(touches(&world) - before, expected, "{name}");
    };
    world.agent.add(script().hold());
    let submit = |command: Command| {
        world.submit(&session, command);
    };
    touch("message and start of its run", 2, &|| submit(post("go", PostMode::Queue)));
    touch("message that waits", 1, &|| submit(post("wait", PostMode::Queue)));
    let queued = world.view(&session).queue[0].turn;
    touch("withdrawn", 0, &|| submit(Command::RemoveQueued { turn: queued }));
    touch("end", 1, &|| submit(Command::Stop { run: None, device: None }));
    touch("rename", 1, &|| submit(Command::Rename { title: "named".to_owned() }));
    for flag in [Flag::Pinned, Flag::Archived, Flag::Trashed] {
        touch("flag", 1, &|| submit(Command::SetFlag { flag: flag.clone(), on: true }));
        touch("flag", 1, &|| submit(Command::SetFlag { flag: flag.clone(), on: false }));
    }
    let through = world.view(&session).turns[0].turn;
    touch("compaction", 0, &|| {
        submit(Command::CompactContext { run: None, summary: "short".to_owned(), through })
    });
    touch("undo", 0, &|| submit(Command::Undo { from: None }));
    touch("put back", 0, &|| submit(Command::PutBack));
    touch("created", 1, &|| drop(world.create()));
}

#[test]
fn p2_calls_touch_a_row_at_most_once_a_second() {
    let world = counting();
    let session = world.create();
    let finished = Gate::default();
    let calls = (1..=30).fold(script(), |script, call| script.call(call, "read", "{}").result(call, "42"));
    world.agent.add(calls.gate(&finished).call(31, "read", "{}").result(31, "42").gate(&finished).hold());
    let before = touches(&world);
    world.submit(&session, post("go", PostMode::Queue));
    world.run(finished.reached(1));
    let in_a_burst = touches(&world) - before - 2;
    assert!(in_a_burst <= 1, "{in_a_burst} touches by calls within a second");
    world.clock.advance(2 * SECOND_MICROS);
    finished.open();
    world.run(finished.reached(2));
    assert_eq!(touches(&world) - before - 2, in_a_burst + 1);
}

#[test]
fn p3_the_list_shows_a_session_at_once_and_its_newest_state_after_a_run() {
    let mut world = World::new();
    let played = Gate::default();
    world.agent.add(script().text("half").gate(&played));
    let title = Some("named".to_owned());
    let session =
        world.run(world.hub().create(Create { title: title.clone(), ..Create::default() })).unwrap();
    let created = row(&world);
    assert_eq!((created.session, created.title, created.messages), (session.session(), title, 0));
    let accepted = world.submit(&session, post("go", PostMode::Queue));
    let running = row(&world);
    assert_eq!((running.run, running.messages), (accepted.run, 1));
    world.run(played.reached(1));
    played.open();
    let view = world.until_quiet(&session);
    let ended = row(&world);
    assert_eq!((ended.run, ended.active_at), (None, view.active_at));
    assert!(ended.active_at > running.active_at);
    let listed = list(&world);
    world.restart();
    assert_eq!(list(&world), listed);
}

#[test]
fn p3_a_session_made_in_an_outage_is_listed_once_it_is_kept() {
    let world = World::new();
    world.store().refuse();
    let hub = world.hub();
    let session = world.run(async {
        let (back, store) = (async { world.store().take_again() }, Arc::clone(&world.store()));
        let mut create = Box::pin(hub.create(Create::default()));
        let waits = tokio::time::timeout(std::time::Duration::from_millis(100), &mut create).await;
        assert!(waits.is_err(), "nothing is kept yet");
        let query =
            store::ListQuery { count: 10, ..store::ListQuery::of(UserId::FIRST, store::Shelf::Active) };
        assert_eq!(store::Catalog::list(&*store, query).await, Ok(Vec::new()));
        join(create, back).await.0.unwrap()
    });
    assert_eq!(row(&world).session, session.session());
    world.post(&session, "go");
    assert_eq!(lines(&world.until_quiet(&session)), ["user go", "text You said: go"]);
}

/// Last activity as the list and as the session itself tell it.
fn activity(world: &World, session: &SessionHandle) -> (session::Time, session::Time) {
    (row(world).active_at, world.view(session).active_at)
}

#[test]
fn p4_compaction_and_a_generated_title_leave_the_last_activity_alone() {
    let mut world = World::new();
    let session = world.create();
    world.post(&session, "go");
    let through = world.until_quiet(&session).turns[0].turn;
    let before = activity(&world, &session);
    assert_eq!(before.0, before.1);
    world.clock.advance(60 * SECOND_MICROS);
    world.submit(&session, Command::CompactContext { run: None, summary: "short".to_owned(), through });
    world.submit(&session, Command::SuggestTitle { title: "made up".to_owned() });
    assert_eq!(activity(&world, &session), before);
    let session = cold(&mut world, &session);
    assert_eq!(activity(&world, &session), before);
}

/// Crashes a run whose call finished in an outage; gives the session and its activity before.
fn die_with_a_finished_call(world: &mut World) -> (SessionHandle, Hidden, (session::Time, session::Time)) {
    let (asked, spooled) = (Gate::default(), Gate::default());
    world.agent.add(script().call(1, "read", "{}").gate(&asked).text("found").result(1, "42").gate(&spooled));
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(asked.reached(1));
    let before = activity(world, &session);
    let (_, slot) = newest_run(&world.log(&session));
    world.store().refuse();
    asked.open();
    world.run(spooled.reached(1));
    world.crash();
    world.clock.advance(60 * SECOND_MICROS);
    (session, Hidden::hide(world, slot), before)
}

const HEALED: [&str; 4] = ["user go +go.txt", "call 1 read {} finished 42", "text found", "marker recovered"];

#[test]
fn p4_healing_leaves_the_last_activity_alone() {
    let mut world = World::that_waits();
    let (session, hidden, before) = die_with_a_finished_call(&mut world);
    world.start();
    let session = reopened(&world, &session);
    assert_eq!(activity(&world, &session), before, "the repair is maintenance");
    hidden.put_back();
    world.clock.advance(60 * SECOND_MICROS);
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), HEALED);
    assert_eq!(activity(&world, &session), before, "so is what comes back");
    let session = cold(&mut world, &session);
    assert_eq!(activity(&world, &session), before);
}

#[test]
fn p4_healing_at_the_first_repair_leaves_the_last_activity_alone() {
    let mut world = World::that_waits();
    let (session, hidden, before) = die_with_a_finished_call(&mut world);
    hidden.put_back();
    world.start();
    let session = reopened(&world, &session);
    assert_eq!(lines(&world.view(&session)), HEALED);
    assert_eq!(activity(&world, &session), before);
}

#[test]
fn p4_opening_a_store_again_changes_no_row() {
    let mut world = World::new();
    let session = world.create();
    world.post(&session, "go");
    world.until_quiet(&session);
    let before = list(&world);
    world.clock.advance(60 * SECOND_MICROS);
    world.restart();
    world.restart();
    assert_eq!(list(&world), before);
    assert!(world.postgres().is_some() || fs::exists(world.path().join("everturn.db")).unwrap());
}

#[test]
fn p9_a_finished_call_moves_the_last_activity_forward() {
    let world = World::new();
    let finished = Gate::default();
    let calls = (1..=3).fold(script(), |script, call| {
        script.call(call, "read", "{}").gate(&finished).result(call, "42").gate(&finished)
    });
    world.agent.add(calls.hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    for call in 0..3 {
        world.run(finished.reached(call * 2 + 1));
        let before = activity(&world, &session);
        world.clock.advance(600 * SECOND_MICROS);
        finished.open();
        world.run(finished.reached(call * 2 + 2));
        let after = activity(&world, &session);
        finished.open();
        assert_eq!(after.0, after.1, "list and session agree");
        assert!(after.0.micros_since(before.0) >= 600 * SECOND_MICROS, "{before:?} to {after:?}");
    }
    let log = world.log(&session);
    assert_eq!(count(&log, |event| matches!(event, session::Event::CallFinished { .. })), 3);
}

fn title(world: &World) -> (Option<String>, bool) {
    let row = row(world);
    (row.title, row.named_by_person)
}

#[test]
fn p14_a_generated_title_never_replaces_a_name() {
    let mut world = World::new();
    let session = world.create();
    let suggest = || Command::SuggestTitle { title: "generated".to_owned() };
    let rename = || Command::Rename { title: "given".to_owned() };
    world.submit(&session, suggest());
    assert_eq!(title(&world), (Some("generated".to_owned()), false));
    world.submit(&session, rename());
    assert_eq!(title(&world), (Some("given".to_owned()), true));
    world.submit(&session, suggest());
    assert_eq!(title(&world), (Some("given".to_owned()), true));
    assert_eq!(world.view(&session).title.as_deref(), Some("given"));
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session).title.as_deref(), Some("given"));
}

#[test]
fn c29_a_request_for_a_title_is_billed_even_if_it_yields_none() {
    let mut world = World::new();
    let used = Usage { input_tokens: 40, output_tokens: 2, ..Usage::default() };
    *world.agent.title_usage.lock().unwrap() = Some(used);
    let session = world.create();
    world.post(&session, "one");
    let billed = |view: &View| view.turns[0].usage == used;
    world.until(&session, |view| !view.turns.is_empty() && billed(view));
    assert_eq!(world.agent.titles(), 1);
    let session = cold(&mut world, &session);
    assert!(billed(&world.view(&session)));
}

#[test]
fn p14_a_rename_wins_against_the_suggestion_it_races_with() {
    let world = World::new();
    let session = world.create();
    for round in 0..20 {
        let name = format!("given {round}");
        let suggest = session.submit(Command::SuggestTitle { title: "generated".to_owned() });
        let rename = session.submit(Command::Rename { title: name.clone() });
        let (one, two) = if round % 2 == 0 {
            world.run(join(suggest, rename))
        } else {
            let (two, one) = world.run(join(rename, suggest));
            (one, two)
        };
        one.unwrap();
        two.unwrap();
        assert_eq!(world.view(&session).title, Some(name.clone()));
        assert_eq!(title(&world), (Some(name), true));
    }
}

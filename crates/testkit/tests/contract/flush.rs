//! P5, P6 and P7: what a run does is durable within the flush interval; a quiet run writes nothing; no timer outlives
//! its run.

use std::time::Duration;

use hub::{Followed, Follower, SessionHandle};
use session::{Command, Event, PostMode, Seq};
use testkit::{Gate, World, script};
use tokio::time::Instant;

use crate::kit::{Outside, Sql, post, row};

/// The shortest flush interval, as the hub has it.
const FLUSH_MIN: Duration = Duration::from_millis(33);

/// The longest flush interval, as the hub has it under load.
const FLUSH_MAX: Duration = Duration::from_millis(250);

/// Time for one flush of a busy machine: its interval, its commit, and being scheduled.
const SOON: Duration = Duration::from_millis(1_000);

async fn caught_up(session: &SessionHandle) -> Follower {
    let mut follower = session.follow(Seq(0)).await.unwrap();
    while follower.next().await.unwrap() != Followed::CaughtUp {}
    follower
}

/// The next entry, if it comes within a time.
async fn within(follower: &mut Follower, time: Duration) -> Option<Event> {
    match tokio::time::timeout(time, follower.next()).await.ok()?.unwrap() {
        Followed::Entry(entry) => Some(entry.event.clone()),
        Followed::CaughtUp => None,
    }
}

#[test]
fn p5_text_and_reasoning_are_durable_within_the_flush_interval() {
    let world = World::new();
    let chunk = Gate::default();
    let stream = (0..4)
        .fold(script().gate(&chunk), |script, _| script.text("a").gate(&chunk).reasoning("b").gate(&chunk));
    world.agent.add(stream.hold());
    let session = world.create();
    let run = world.submit(&session, post("go", PostMode::Queue)).run.unwrap();
    world.run(async {
        chunk.reached(1).await;
        let mut follower = caught_up(&session).await;
        for _ in 0..4 {
            for expected in [
                Event::TextAdded { run, text: "a".to_owned() },
                Event::ReasoningAdded { run, text: "b".to_owned() },
            ] {
                chunk.open();
                assert_eq!(within(&mut follower, SOON).await, Some(expected));
            }
        }
    });
    let sql = |table: &str| format!("SELECT count(*) FROM {table} WHERE body LIKE '%_added%'");
    let stored = Outside::of(&world).ask(Sql { sqlite: &sql("tail"), postgres: &sql("entries") });
    assert_eq!(stored, ["8"], "what was shown is on disk");
}

#[test]
fn p5_a_finished_call_is_durable_within_the_flush_interval() {
    let world = World::new();
    let finish = Gate::default();
    world.agent.add(script().call(1, "read", "{}").gate(&finish).text("so").result(1, "42").hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(async {
        finish.reached(1).await;
        let mut follower = caught_up(&session).await;
        finish.open();
        assert!(matches!(within(&mut follower, SOON).await, Some(Event::TextAdded { .. })));
        assert!(matches!(within(&mut follower, SOON).await, Some(Event::CallFinished { .. })));
    });
}

#[test]
fn p5_chunks_of_a_run_are_a_flush_interval_apart() {
    let world = World::new();
    let chunk = Gate::default();
    let stream = (0..6).fold(script(), |script, _| script.gate(&chunk).text("a"));
    world.agent.add(stream.hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(async {
        chunk.reached(1).await;
        let mut follower = caught_up(&session).await;
        let begun = Instant::now();
        for _ in 0..6 {
            chunk.open();
            assert!(matches!(within(&mut follower, SOON).await, Some(Event::TextAdded { .. })));
        }
        // The first goes at once.
        assert!(begun.elapsed() > 5 * FLUSH_MIN - FLUSH_MIN / 2, "{:?}", begun.elapsed());
    });
}

#[test]
fn p5_a_flood_of_text_becomes_few_entries() {
    let world = World::new();
    let stream = (0..2_000).fold(script(), |script, _| script.text("word "));
    world.agent.add(stream);
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.until_quiet(&session);
    let log = world.log(&session);
    let texts: Vec<&str> = log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::TextAdded { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts.concat(), "word ".repeat(2_000));
    assert!(texts.len() < 100, "{} entries", texts.len());
}

/// The end of the log and the list as the file has them.
fn writes(world: &World) -> Vec<String> {
    Outside::of(world).ask(Sql {
        sqlite: "SELECT (SELECT max(id) FROM tail), (SELECT max(active_at) FROM list)",
        postgres: "SELECT (SELECT count(*) FROM entries), (SELECT max(active_at) FROM list)",
    })
}

#[test]
fn p6_a_quiet_run_writes_nothing() {
    let world = World::new();
    let (quiet, over) = (Gate::default(), Gate::default());
    world.agent.add(script().text("a").call(1, "wait", "{}").gate(&quiet).result(1, "42").gate(&over).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(async {
        quiet.reached(1).await;
        let mut follower = caught_up(&session).await;
        let before = writes(&world);
        assert_eq!(within(&mut follower, 3 * FLUSH_MAX).await, None, "a quiet run wrote");
        assert_eq!(writes(&world), before);
        quiet.open();
        assert!(matches!(within(&mut follower, SOON).await, Some(Event::CallFinished { .. })), "it goes on");
    });
    assert!(row(&world).run.is_some());
}

#[test]
fn p7_flushing_ends_with_the_run() {
    let world = World::new();
    let session = world.create();
    world.warm_up();
    let tasks = world.tasks();
    let held = Gate::default();
    for stops in [true, false] {
        world.agent.add(script().text("a").reasoning("b").gate(&held));
        world.submit(&session, post("go", PostMode::Queue));
        world.run(held.reached(if stops { 1 } else { 2 }));
        assert!(world.tasks() > tasks, "the run has a task");
        if stops {
            world.submit(&session, Command::Stop { run: None, device: None });
        } else {
            held.open();
        }
        world.until_quiet(&session);
        world.run(async {
            while world.tasks() > tasks {
                tokio::task::yield_now().await;
            }
        });
    }
}

#[test]
fn p7_nothing_is_written_after_the_end_of_a_run() {
    let world = World::new();
    let played = Gate::default();
    world.agent.add(script().text("a").gate(&played).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(async {
        played.reached(1).await;
        session.submit(Command::Stop { run: None, device: None }).await.unwrap();
        let mut follower = caught_up(&session).await;
        assert_eq!(within(&mut follower, 2 * FLUSH_MAX).await, None, "something outlived the run");
    });
}

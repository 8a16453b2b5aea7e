//! C12: there is no path on which an accepted user message is missing afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use hub::SessionHandle;
use session::{Command, InterruptReason, Message, Part, PostMode, View};
use testkit::{Gate, Script, World, script};

use crate::kit::{message, post, reopened};

/// What happens after two messages were accepted, the second behind the first one's run.
type Path = (&'static str, fn() -> Script, fn(&World, &SessionHandle));

const PATHS: &[Path] = &[
    ("success", || script().text("yes"), |_, _| {}),
    ("silent end", script, |_, _| {}),
    ("provider error", || script().fail("429"), |_, _| {}),
    ("provider error in mid-stream", || script().text("half").fail("cut"), |_, _| {}),
    ("tool error", || script().call(1, "read", "{}").result_error(1, "no").text("so"), |_, _| {}),
    ("panic", || script().panic(), |_, _| {}),
    ("panic in mid-stream", || script().text("half").panic(), |_, _| {}),
    ("stop", hold, |world, session| submit(world, session, Command::Stop { run: None, device: None })),
    ("interrupting message", hold, |world, session| {
        submit(world, session, post("third", PostMode::Interrupt))
    }),
    ("steering message", hold, |world, session| {
        submit(world, session, post("third", PostMode::Steer));
        submit(world, session, Command::Stop { run: None, device: None });
    }),
    ("undo and put back", hold, |world, session| {
        submit(world, session, Command::Stop { run: None, device: None });
        world.until_quiet(session);
        submit(world, session, Command::Undo { from: None });
        submit(world, session, Command::PutBack);
    }),
    ("undo in a run", hold, |world, session| {
        submit(world, session, Command::RemoveQueued { turn: world.view(session).queue[0].turn });
        submit(world, session, Command::Undo { from: None });
        submit(world, session, Command::PutBack);
        submit(world, session, post("second", PostMode::Queue));
    }),
    ("retry in a run", hold, |world, session| submit(world, session, Command::Retry)),
    ("going on", hold, |world, session| {
        submit(world, session, Command::Stop { run: None, device: None });
        world.until_quiet(session);
        world.agent.add(script().fail("broke"));
        submit(world, session, Command::Retry);
        world.until_quiet(session);
        submit(world, session, Command::Continue);
    }),
    ("an outage", hold, |world, session| {
        world.store().refuse();
        let stop = async {
            let back = async { world.store().take_again() };
            tokio::join!(session.submit(Command::Stop { run: None, device: None }), back).0
        };
        world.run(stop).unwrap();
    }),
    (
        "compaction",
        || script().text("yes"),
        |world, session| {
            let through = world.until_quiet(session).turns[0].turn;
            submit(
                world,
                session,
                Command::CompactContext { run: None, summary: "short".to_owned(), through },
            );
        },
    ),
];

fn hold() -> Script {
    script().text("half").hold()
}

fn submit(world: &World, session: &SessionHandle, command: Command) {
    world.submit(session, command);
}

/// How often each message stands in the transcript or in the queue.
fn messages(view: &View) -> BTreeMap<String, usize> {
    let steered = view.turns.iter().filter_map(|turn| turn.answer.as_ref()).flat_map(|answer| &answer.parts);
    let steered = steered.filter_map(|part| match part {
        Part::Steered { message, .. } => Some(message),
        _ => None,
    });
    let all =
        view.turns.iter().map(|turn| &turn.message).chain(view.queue.iter().map(|queued| &queued.message));
    let mut counts = BTreeMap::new();
    for Message { text, attachments, .. } in all.chain(steered) {
        assert_eq!(attachments, &message(text).attachments);
        *counts.entry(text.clone()).or_default() += 1;
    }
    counts
}

fn expected(view: &View, name: &str) -> BTreeMap<String, usize> {
    let third = matches!(name, "interrupting message" | "steering message");
    let said = ["first", "second", "third"].into_iter().take(if third { 3 } else { 2 });
    assert_eq!(view.run, None, "{name}");
    said.map(|text| (text.to_owned(), 1)).collect()
}

/// Posts two messages; the second comes while the run of the first is going on.
fn begin(world: &World, script: Script) -> (SessionHandle, Gate) {
    let gate = Gate::default();
    let session = world.create();
    world.agent.add(testkit::script().gate(&gate).then(script));
    world.submit(&session, post("first", PostMode::Queue));
    world.run(gate.reached(1));
    world.submit(&session, post("second", PostMode::Queue));
    (session, gate)
}

#[test]
fn c12_no_path_loses_an_accepted_message() {
    let mut world = World::new();
    let mut seen = Vec::new();
    for (name, script, act) in PATHS {
        let (session, gate) = begin(&world, script());
        gate.open();
        act(&world, &session);
        let view = world.until_quiet(&session);
        assert_eq!(messages(&view), expected(&view, name), "{name}");
        seen.push((name, session, view));
    }
    world.restart();
    for (name, session, view) in seen {
        assert_eq!(world.view(&reopened(&world, &session)), view, "{name}, after a cold start");
    }
}

#[test]
fn c12_a_crash_loses_no_accepted_message_wherever_it_comes() {
    let mut world = World::new();
    let sessions: Vec<_> = [script(), script().text("half"), script().call(1, "read", "{}"), script().step()]
        .map(|script| {
            let (session, gate) = begin(&world, script.hold());
            gate.open();
            session
        })
        .into();
    // Accepted in the very last moment: nothing of its run has begun.
    let last = world.create();
    world.agent.add(script().hold());
    world.submit(&last, post("first", PostMode::Queue));
    world.submit(&last, post("second", PostMode::Queue));
    world.restart();
    for session in sessions.iter().chain([&last]) {
        let session = reopened(&world, session);
        let view = world.until_quiet(&session);
        assert_eq!(messages(&view), expected(&view, "crash"));
    }
}

#[test]
fn c12_a_crash_in_an_outage_loses_no_accepted_message() {
    let mut world = World::new();
    let (asked, spooled) = (Gate::default(), Gate::default());
    let spools =
        script().call(1, "read", "{}").gate(&asked).text("half").result(1, "42").gate(&spooled).hold();
    let (session, gate) = begin(&world, spools);
    gate.open();
    world.run(asked.reached(1));
    world.store().refuse();
    asked.open();
    world.run(spooled.reached(1));
    let refused = world.run(session.submit(post("not now", PostMode::Queue)));
    assert!(matches!(refused, Err(hub::CommandError::Unavailable { .. })), "{refused:?}");
    world.restart();
    let session = reopened(&world, &session);
    let view = world.until_quiet(&session);
    assert_eq!(messages(&view), expected(&view, "crash in an outage"));
}

#[test]
fn c12_a_drain_loses_no_accepted_message() {
    let mut world = World::new();
    let (session, gate) = begin(&world, script().text("half").hold());
    gate.open();
    let idle = world.create();
    let hub = world.hub();
    world.run(hub.drain(InterruptReason::ShutdownTimeout, Duration::ZERO));
    // Still accepted while the server stops, and kept until it is back.
    world.submit(&idle, post("first", PostMode::Queue));
    world.submit(&idle, post("second", PostMode::Queue));
    assert_eq!(world.hub().open_runs(), 0);
    world.restart();
    for session in [session, idle] {
        let session = reopened(&world, &session);
        let view = world.until_quiet(&session);
        assert_eq!(messages(&view), expected(&view, "drain"));
    }
}

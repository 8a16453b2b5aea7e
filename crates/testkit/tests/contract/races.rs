//! P10, P15 and P16: whatever races on one session, every write is applied whole, and every state that anyone sees is
//! the state after some whole operation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hub::{CommandError, Followed, SessionHandle};
use session::{Command, Entry, Event, Flag, PostMode, Seq, Session, View};
use store::Store;
use testkit::{Gate, Script, World, script};
use tokio::task::JoinSet;

use crate::kit::{Hidden, Outside, Sql, cold, message, newest_run, post, reopened, states};

#[test]
fn p10_writers_that_race_all_succeed_and_are_applied_whole() {
    let mut world = World::new();
    let session = world.create();
    world.restart();
    // Nobody has opened it yet: they race for its writer too.
    let session = reopened(&world, &session);
    let asked: Vec<Command> = (0..60)
        .map(|number| match number % 4 {
            0 | 1 => post(&format!("message {number}"), PostMode::Queue),
            2 => Command::Rename { title: format!("title {number}") },
            _ => Command::SetFlag { flag: Flag::Pinned, on: number % 8 == 3 },
        })
        .collect();
    let seqs = world.run(async {
        let mut writers = JoinSet::new();
        for command in asked.clone() {
            let session = session.clone();
            writers.spawn(async move { session.submit(command).await });
        }
        let mut seqs = Vec::new();
        while let Some(written) = writers.join_next().await {
            seqs.push(written.unwrap().expect("none fails for the race").seq);
        }
        seqs
    });
    let view = world.until_quiet(&session);
    let log = world.log(&session);
    assert!(seqs.iter().all(|seq| *seq <= log.last().unwrap().seq));
    let written: BTreeSet<String> = log.iter().filter_map(|entry| written(&entry.event)).collect();
    let expected: BTreeSet<String> = asked.iter().filter_map(asked_for).collect();
    assert_eq!(written, expected);
    assert_eq!(log.iter().filter(|entry| asked_by_someone(&entry.event)).count(), asked.len(), "each once");
    assert_eq!(session::view(states(&log).last().unwrap()), view);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), view);
}

fn written(event: &Event) -> Option<String> {
    match event {
        Event::MessagePosted { message, .. } => Some(message.text.clone()),
        Event::SessionRenamed { title } => Some(title.clone()),
        _ => None,
    }
}

fn asked_for(command: &Command) -> Option<String> {
    match command {
        Command::PostMessage { message, .. } => Some(message.text.clone()),
        Command::Rename { title } => Some(title.clone()),
        _ => None,
    }
}

fn asked_by_someone(event: &Event) -> bool {
    matches!(event, Event::MessagePosted { .. } | Event::SessionRenamed { .. } | Event::FlagSet { .. })
}

/// A state that someone saw, with how they saw it.
struct Seen {
    by: &'static str,
    view: View,
}

/// Reads a session in every way there is until told to stop.
fn watch(world: &World, session: &SessionHandle, stop: &Arc<AtomicBool>) -> JoinSet<Vec<Seen>> {
    let mut readers = JoinSet::new();
    let runtime = world.handle();
    let (reader, over) = (session.clone(), stop.clone());
    readers.spawn_on(
        async move {
            let mut seen = Vec::new();
            while !over.load(Ordering::Acquire) {
                seen.push(Seen { by: "reader", view: reader.view().await.unwrap() });
            }
            seen
        },
        &runtime,
    );
    let (store, id, over): (Arc<dyn Store>, _, _) = (world.store(), session.session(), stop.clone());
    readers.spawn_on(
        async move {
            let mut seen = Vec::new();
            while !over.load(Ordering::Acquire) {
                // What a process that starts at this moment would fold.
                let entries = store::read_all(store.as_ref(), id, Seq(0)).await.unwrap();
                let mut state = Session::default();
                entries.iter().for_each(|entry| session::fold(&mut state, entry));
                seen.push(Seen { by: "cold start", view: session::view(&state) });
            }
            seen
        },
        &runtime,
    );
    readers
}

/// Every state that was seen is that of a whole operation: the fold of a beginning of the log that does not end
/// between two entries of one decision. A test's clock gives each decision a time of its own.
fn assert_whole(log: &[Entry], seen: &[Seen]) {
    let states = states(log);
    for Seen { by, view } in seen {
        let at = usize::try_from(view.seq.0).unwrap();
        assert_eq!(*view, session::view(&states[at]), "the {by} saw no state of the log");
        let inside = at > 0 && log.get(at).is_some_and(|next| next.time == log[at - 1].time);
        assert!(!inside, "the {by} saw the middle of {:?}, {:?}", log[at - 1].event, log[at].event);
    }
}

fn chatter(number: usize) -> Script {
    let talk =
        script().text("some ").reasoning("thought ").call(1, "read", "{}").result(1, "42").text("text");
    if number.is_multiple_of(3) { talk.hold() } else { talk }
}

/// Submits commands one after another; that some come too late is part of the race.
async fn submit_all(session: SessionHandle, commands: Vec<Command>) {
    for command in commands {
        match session.submit(command).await {
            Ok(_) | Err(CommandError::Rejected(_)) => {}
            Err(error) => panic!("failed for the race: {error}"),
        }
    }
}

#[test]
fn p15_every_state_seen_in_a_race_is_that_of_a_whole_operation() {
    let mut world = World::new();
    // A run to be healed in the middle of it all.
    let (asked, spooled) = (Gate::default(), Gate::default());
    world.agent.add(script().call(1, "read", "{}").gate(&asked).text("late").result(1, "42").gate(&spooled));
    let session = world.create();
    world.submit(&session, post("first", PostMode::Queue));
    world.run(asked.reached(1));
    let (_, slot) = newest_run(&world.log(&session));
    world.store().refuse();
    asked.open();
    world.run(spooled.reached(1));
    world.crash();
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    (0..200).for_each(|number| world.agent.add(chatter(number)));

    let stop = Arc::new(AtomicBool::new(false));
    let mut readers = watch(&world, &session, &stop);
    let through = world.view(&session).turns[0].turn;
    let seen = world.run(async {
        let mut follower = session.follow(Seq(0)).await.unwrap();
        let mut racers = JoinSet::new();
        let again = |command: Command, count: usize| vec![command; count];
        let compact = Command::CompactContext { run: None, summary: "short".to_owned(), through };
        for commands in [
            (0..12).map(|number| post(&format!("message {number}"), PostMode::Queue)).collect(),
            (0..6).map(|number| post(&format!("now {number}"), PostMode::Interrupt)).collect(),
            again(Command::Stop { run: None, device: None }, 12),
            again(Command::Undo { from: None }, 6),
            again(Command::PutBack, 6),
            again(Command::Retry, 12),
            again(Command::Rename { title: "named".to_owned() }, 12),
            [again(compact, 6), again(Command::Clear, 1)].concat(),
        ] {
            racers.spawn(submit_all(session.clone(), commands));
        }
        hidden.put_back();
        while let Some(raced) = racers.join_next().await {
            raced.unwrap();
        }
        // A run that is held would go on for ever, and what waits behind it too.
        loop {
            let view = session.view().await.unwrap();
            if view.run.is_none() && view.queue.iter().all(|queued| queued.paused) {
                break;
            }
            submit_all(session.clone(), vec![Command::Stop { run: None, device: None }]).await;
        }
        stop.store(true, Ordering::Release);
        let mut seen = Vec::new();
        while let Some(read) = readers.join_next().await {
            seen.extend(read.unwrap());
        }
        let mut followed = Vec::new();
        while let Followed::Entry(entry) = follower.next().await.unwrap() {
            followed.push((*entry).clone());
        }
        (seen, followed)
    });
    let (seen, followed) = seen;
    let log = world.log(&session);
    assert_eq!(followed, log, "a follower gets every entry once, in order");
    assert_whole(&log, &seen);
    assert!(seen.iter().any(|seen| seen.by == "cold start") && seen.iter().any(|seen| seen.by == "reader"));
    let view = world.view(&session);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session).turns, view.turns);
}

#[test]
fn p15_an_undo_that_ends_a_run_is_seen_whole() {
    let mut world = World::new();
    let session = world.create();
    let stop = Arc::new(AtomicBool::new(false));
    let mut readers = watch(&world, &session, &stop);
    let held = Gate::default();
    for round in 1..=8 {
        world.agent.add(script().text("half").gate(&held));
        world.submit(&session, post("go", PostMode::Queue));
        world.run(held.reached(round));
        world.submit(&session, if round % 2 == 0 { Command::Clear } else { Command::Undo { from: None } });
    }
    stop.store(true, Ordering::Release);
    let seen = world.run(async {
        let mut seen = Vec::new();
        while let Some(read) = readers.join_next().await {
            seen.extend(read.unwrap());
        }
        seen
    });
    assert_whole(&world.log(&session), &seen);
    assert!(
        seen.iter().all(|seen| seen.view.turns.iter().all(|turn| turn.marker.is_none())),
        "no stop by itself"
    );
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session).turns, []);
}

/// A run is open in all of its traces or in none: the view's run, its turn, and who waits.
fn assert_one_piece(view: &View) {
    let open = |turn: &&session::TurnView| {
        turn.marker.is_none() && !turn.answer.as_ref().is_some_and(|answer| answer.complete)
    };
    assert_eq!(view.turns.iter().filter(open).count(), usize::from(view.run.is_some()), "{view:?}");
    let mut texts: Vec<&str> = view.turns.iter().map(|turn| turn.message.text.as_str()).collect();
    texts.extend(view.queue.iter().map(|queued| queued.message.text.as_str()));
    let unique: BTreeSet<&str> = texts.iter().copied().collect();
    assert_eq!(unique.len(), texts.len(), "a message stands in one place: {texts:?}");
    let messages =
        view.turns.iter().map(|turn| &turn.message).chain(view.queue.iter().map(|queued| &queued.message));
    for said in messages {
        assert_eq!(*said, message(&said.text), "with its attachments");
    }
}

#[test]
fn p16_a_stop_clears_all_of_a_run_in_one_state() {
    let world = World::new();
    let session = world.create();
    let stop = Arc::new(AtomicBool::new(false));
    let mut readers = watch(&world, &session, &stop);
    let (eyes, over) = (Outside::of(&world), stop.clone());
    let rows = std::thread::spawn(move || {
        let read = Sql {
            sqlite: "SELECT list.run, (SELECT run FROM open_runs WHERE open_runs.no = list.no) FROM list",
            postgres: "SELECT row::JSON->>'run', (SELECT run FROM open_runs WHERE open_runs.no = list.no) FROM list",
        };
        let mut seen = Vec::new();
        while !over.load(Ordering::Acquire) {
            seen.push(eyes.ask(read));
        }
        seen
    });
    let held = Gate::default();
    for round in 1..=12 {
        world.agent.add(script().text("half").gate(&held));
        let run = world.submit(&session, post(&format!("go {round}"), PostMode::Queue)).run;
        world.run(held.reached(round));
        world.submit(&session, Command::Stop { run, device: None });
    }
    stop.store(true, Ordering::Release);
    let seen = world.run(async {
        let mut seen = Vec::new();
        while let Some(read) = readers.join_next().await {
            seen.extend(read.unwrap());
        }
        seen
    });
    assert_whole(&world.log(&session), &seen);
    seen.iter().for_each(|seen| assert_one_piece(&seen.view));
    for row in rows.join().unwrap() {
        assert_eq!(row[0], row[1], "the list and the open runs change together");
    }
    let last = world.view(&session);
    assert_eq!((last.run, last.queue.len(), last.turns.len()), (None, 0, 12));
}

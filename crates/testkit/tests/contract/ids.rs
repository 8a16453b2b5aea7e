//! P17 and P18: a session's ids lead to one writer and one log; a deleted id answers that it is gone and makes
//! nothing.

use std::collections::BTreeSet;

use hub::{CommandError, Create, SessionHandle};
use session::{Command, Event, PostMode, SessionId};
use testkit::{Gate, World, script};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::kit::{count, lines, list, newest_run, post, states};

fn id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

/// A session with a second id, opened by both.
fn twins(world: &World) -> [SessionHandle; 2] {
    let session = world.create();
    world.submit(&session, Command::AddId { id: id(2) });
    [world.hub().open(session.session()), world.hub().open(id(2))]
}

/// Posts through every handle at once, while something else goes on; says which texts were accepted, and how the
/// others were refused.
fn race_with(
    world: &World,
    handles: &[SessionHandle],
    name: &str,
    other: impl Future<Output = ()>,
) -> (BTreeSet<String>, Vec<CommandError>) {
    world.run(async {
        let mut posts = JoinSet::new();
        for number in 0..30 {
            let (session, text) = (handles[number % handles.len()].clone(), format!("{name} {number}"));
            posts.spawn(async move { (session.submit(post(&text, PostMode::Queue)).await, text) });
        }
        other.await;
        let (mut accepted, mut refused) = (BTreeSet::new(), Vec::new());
        while let Some(posted) = posts.join_next().await {
            match posted.unwrap() {
                (Ok(_), text) => assert!(accepted.insert(text)),
                (Err(error), _) => refused.push(error),
            }
        }
        (accepted, refused)
    })
}

/// Posts through every handle at once; none may fail.
fn race(world: &World, handles: &[SessionHandle], name: &str) -> BTreeSet<String> {
    let (accepted, refused) = race_with(world, handles, name, async {});
    assert_eq!(refused, []);
    accepted
}

/// The messages of a log, each once.
fn posted(world: &World, session: &SessionHandle) -> BTreeSet<String> {
    let log = world.log(session);
    let texts: Vec<String> = log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::MessagePosted { message, .. } => Some(message.text.clone()),
            _ => None,
        })
        .collect();
    let set: BTreeSet<String> = texts.iter().cloned().collect();
    assert_eq!(set.len(), texts.len(), "none is doubled");
    set
}

#[test]
fn p17_every_id_leads_to_the_same_writer_and_log() {
    let world = World::new();
    let [first, second] = twins(&world);
    world.submit(&first, post("by the first", PostMode::Queue));
    world.until_quiet(&first);
    world.submit(&second, post("by the second", PostMode::Queue));
    let view = world.until_quiet(&second);
    assert_eq!(world.view(&first), view);
    assert_eq!(world.log(&first), world.log(&second));
    assert_eq!((world.hub().writers(), list(&world).len()), (1, 1));
}

#[test]
fn p17_writes_that_race_through_two_ids_form_one_log() {
    let mut world = World::new();
    let twins = twins(&world);
    let mut all = race(&world, &twins, "warm");
    world.until_quiet(&twins[0]);
    world.restart();
    // Nobody has opened it yet: both ids race for the first writer too.
    let twins = twins.map(|session| world.hub().open(session.session()));
    all.extend(race(&world, &twins, "cold"));
    let view = world.until_quiet(&twins[1]);
    assert_eq!(posted(&world, &twins[0]), all);
    assert_eq!(world.hub().writers(), 1);
    assert_eq!(session::view(states(&world.log(&twins[0])).last().unwrap()), view);
}

#[test]
fn p17_an_id_in_use_is_not_given_twice() {
    let world = World::new();
    let [first, second] = twins(&world);
    let other = world.create();
    let taken = world.run(other.submit(Command::AddId { id: first.session() }));
    assert_eq!(taken, Err(CommandError::Exists(first.session())));
    world.submit(&other, post("goes on", PostMode::Queue));
    world.until_quiet(&other);
    let create = Create { session: Some(second.session()), ..Create::default() };
    let exists = world.run(world.hub().create(create)).map(drop);
    assert_eq!(exists, Err(CommandError::Exists(second.session())));
    assert_eq!(list(&world).len(), 2);
}

/// Checks that an id is gone for every door, and that asking made nothing.
fn assert_gone(world: &World, gone: SessionId) {
    let (rows, handle) = (list(world), world.hub().open(gone));
    let deleted = || CommandError::Deleted(gone);
    assert_eq!(world.run(handle.submit(post("late", PostMode::Queue))), Err(deleted()));
    assert_eq!(world.run(handle.submit(Command::Stop { run: None, device: None })), Err(deleted()));
    assert_eq!(world.run(handle.view()), Err(deleted()));
    assert_eq!(world.run(handle.follow(session::Seq(0))).map(drop), Err(deleted().into()));
    let create = Create { session: Some(gone), ..Create::default() };
    assert_eq!(world.run(world.hub().create(create)).map(drop), Err(deleted()));
    assert_eq!(list(world), rows);
}

#[test]
fn p18_a_deleted_id_is_gone_and_the_others_lead_on() {
    for gone in [0, 1] {
        let mut world = World::new();
        let twins = twins(&world);
        let (gone, kept) = (&twins[gone], &twins[1 - gone]);
        let all = race(&world, &twins, "both");
        world.until_quiet(kept);
        world.submit(kept, Command::RemoveId { id: gone.session() });
        assert_gone(&world, gone.session());
        world.restart();
        assert_gone(&world, gone.session());
        let kept = world.hub().open(kept.session());
        world.post(&kept, "goes on");
        let view = world.until_quiet(&kept);
        assert_gone(&world, gone.session());
        assert_eq!(lines(&view).last().unwrap(), "text You said: goes on");
        let last = BTreeSet::from(["goes on".to_owned()]);
        assert_eq!(posted(&world, &kept), &all | &last);
    }
}

#[test]
fn p18_writes_that_race_with_the_deletion_are_kept_or_refused() {
    let world = World::new();
    let twins = twins(&world);
    let remove = async {
        twins[0].submit(Command::RemoveId { id: twins[1].session() }).await.unwrap();
    };
    let (accepted, refused) = race_with(&world, &twins, "race", remove);
    assert!(refused.iter().all(|error| *error == CommandError::Deleted(twins[1].session())), "{refused:?}");
    world.until_quiet(&twins[0]);
    assert_eq!(posted(&world, &twins[0]), accepted);
    assert_gone(&world, twins[1].session());
}

#[test]
fn p18_a_run_cut_off_by_a_crash_is_repaired_though_the_first_id_was_deleted() {
    let mut world = World::new();
    let [first, second] = twins(&world);
    let played = Gate::default();
    world.agent.add(script().call(1, "read", "{}").gate(&played));
    world.submit(&first, post("go", PostMode::Queue));
    world.run(played.reached(1));
    world.submit(&second, Command::RemoveId { id: first.session() });
    world.restart();
    assert_gone(&world, first.session());
    let second = world.hub().open(second.session());
    let expected = ["user go +go.txt", "call 1 read {} may have run", "marker interrupted"];
    assert_eq!(lines(&world.view(&second)), expected);
    let log = world.log(&second);
    assert_eq!(count(&log, |event| matches!(event, Event::RunEnded { .. })), 1, "run {:?}", newest_run(&log));
    assert_gone(&world, first.session());
}

#[test]
fn p18_an_erased_session_is_gone_under_all_its_ids() {
    let mut world = World::new();
    let twins = twins(&world);
    world.post(&twins[0], "go");
    world.until_quiet(&twins[0]);
    world.run(world.hub().erase(twins[1].session())).unwrap();
    for session in &twins {
        assert_gone(&world, session.session());
    }
    world.restart();
    for session in &twins {
        assert_gone(&world, session.session());
    }
    assert_eq!(list(&world), []);
}

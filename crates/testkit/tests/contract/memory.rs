//! M1 to M8 and M10 to M18: what was completed is handed to whom it is owed, once, and nothing is forgotten.

use std::time::Duration;

use hub::{Create, Followed, Hub, SessionHandle};
use session::{Command, Event, InterruptReason, Owner, Seq, SessionId};
use testkit::memory::Answer;
use testkit::{Gate, World, WorldSettings, script};

use crate::kit::{cold, count, reopened};

fn owner(name: &str) -> Owner {
    Owner(format!("notes/anna/{name}"))
}

/// A session whose turns are owed to `a`.
fn owned(world: &World) -> SessionHandle {
    let session = world.create();
    set(world, &session, Some("a"));
    session
}

fn set(world: &World, session: &SessionHandle, name: Option<&str>) {
    world.run(session.set_memory_owner(name.map(owner))).expect("set the owner");
}

/// Completes a turn.
fn complete(world: &World, session: &SessionHandle) {
    world.post(session, "remember this");
    world.until_quiet(session);
}

/// A boundary.
fn commit(world: &World, session: &SessionHandle, name: Option<&str>) {
    world.run(session.commit_memory(name.map(owner))).expect("commit");
}

/// A boundary, and its commit's end.
fn committed(world: &World, session: &SessionHandle, name: Option<&str>) {
    let before = world.view(session).seq;
    commit(world, session, name);
    until_ended(world, session, before);
}

/// Waits for the end of a commit after entry `after`.
fn until_ended(world: &World, session: &SessionHandle, after: Seq) {
    world.run(async {
        let mut follower = session.follow(after).await.expect("follow");
        loop {
            if let Followed::Entry(entry) = follower.next().await.expect("follow")
                && matches!(entry.event, Event::MemoryCommitEnded { .. })
            {
                return;
            }
        }
    });
}

/// What was tried: owner and generations of each handover.
fn calls(world: &World) -> Vec<(Owner, Vec<u64>)> {
    let generations =
        |handover: &agent::Handover| handover.turns.iter().map(|turn| turn.generation).collect();
    world.memory.calls().iter().map(|handover| (handover.owner.clone(), generations(handover))).collect()
}

/// What is owed: owner, turns, whether it was refused.
fn owed(world: &World, session: &SessionHandle) -> Vec<(Owner, u64, bool)> {
    let view = world.view(session);
    view.owed.into_iter().map(|owed| (owed.owner, owed.turns, owed.error.is_some())).collect()
}

#[test]
fn m1_a_turn_that_completes_during_a_commit_is_taken_by_the_next() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    let before = world.view(&session).seq;
    commit(&world, &session, None);
    world.run(gate.reached(1));
    complete(&world, &session);
    gate.open();
    until_ended(&world, &session, before);
    assert_eq!(owed(&world, &session), [(owner("a"), 1, false)]);
    committed(&world, &session, None);
    assert_eq!(calls(&world), [(owner("a"), vec![1]), (owner("a"), vec![2])]);
    assert_eq!(owed(&world, &session), []);
}

#[test]
fn m2_a_failed_commit_is_retried_with_the_same_owner() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::Fail);
    committed(&world, &session, None);
    assert_eq!(owed(&world, &session), [(owner("a"), 1, true)]);
    committed(&world, &session, None);
    assert_eq!(calls(&world), [(owner("a"), vec![1]), (owner("a"), vec![1])]);
    assert_eq!((owed(&world, &session), world.memory.record()), (vec![], vec![(owner("a"), 1)]));
}

#[test]
fn m3_an_owner_that_only_the_commit_named_is_known_to_the_next() {
    let world = World::new();
    let session = world.create();
    complete(&world, &session);
    world.memory.add(Answer::Fail);
    committed(&world, &session, Some("a"));
    committed(&world, &session, None);
    assert_eq!(calls(&world), [(owner("a"), vec![1]), (owner("a"), vec![1])]);
    assert_eq!(world.memory.record(), [(owner("a"), 1)]);
}

#[test]
fn m4_a_replacement_does_not_take_over_the_old_segment() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::Fail);
    committed(&world, &session, None);
    set(&world, &session, Some("b"));
    complete(&world, &session);
    committed(&world, &session, None);
    committed(&world, &session, None);
    assert_eq!(calls(&world)[1..], [(owner("a"), vec![1]), (owner("b"), vec![2])]);
}

#[test]
fn m5_a_commit_that_names_the_new_owner_flushes_the_oldest_first() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    set(&world, &session, Some("b"));
    complete(&world, &session);
    committed(&world, &session, Some("b"));
    assert_eq!(calls(&world), [(owner("a"), vec![1])]);
    assert_eq!(owed(&world, &session), [(owner("b"), 1, false)]);
    committed(&world, &session, None);
    assert_eq!(world.memory.record(), [(owner("a"), 1), (owner("b"), 2)]);
}

#[test]
fn m6_an_owner_without_a_completed_turn_is_not_called() {
    let world = World::new();
    let session = owned(&world);
    let before = world.view(&session).seq;
    commit(&world, &session, None);
    commit(&world, &session, Some("b"));
    world.run(world.hub().evict(session.session()));
    let begun = |event: &Event| matches!(event, Event::MemoryCommitStarted { .. });
    assert_eq!(count(&world.log(&session), begun), 0, "after entry {before}");
    assert_eq!(calls(&world), []);
}

#[test]
fn m7_unregistering_keeps_what_is_owed() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    set(&world, &session, None);
    complete(&world, &session);
    committed(&world, &session, None);
    assert_eq!(calls(&world), [(owner("a"), vec![1])], "by its own owner");
    // The second has none, until a commit names one.
    commit(&world, &session, None);
    assert_eq!(calls(&world).len(), 1);
    committed(&world, &session, Some("b"));
    assert_eq!(calls(&world)[1..], [(owner("b"), vec![2])]);
}

#[test]
fn m7_an_operator_may_owe_it_to_another() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::Fail);
    committed(&world, &session, None);
    world.submit(&session, Command::ReassignMemory { from: owner("a"), to: owner("b") });
    committed(&world, &session, None);
    assert_eq!(world.memory.record(), [(owner("b"), 1)]);
}

/// A session whose first turn is being taken, late, while its second was completed; that one is taken late as well.
fn committing(world: &World) -> (SessionHandle, Gate, Gate) {
    let session = owned(world);
    complete(world, &session);
    let (first, second) = (Gate::default(), Gate::default());
    world.memory.add(Answer::TakeLate(first.clone()));
    world.memory.add(Answer::TakeLate(second.clone()));
    commit(world, &session, None);
    world.run(first.reached(1));
    complete(world, &session);
    (session, first, second)
}

#[test]
fn m8_shutdown_waits_for_the_commit_then_takes_what_completed_meanwhile() {
    let world = World::new();
    let (session, first, second) = committing(&world);
    let drained = drain(&world);
    first.open();
    world.run(second.reached(1));
    assert!(!drained.is_finished(), "what completed meanwhile is not taken yet");
    second.open();
    world.run(drained).expect("drain");
    assert_eq!(world.memory.record(), [(owner("a"), 1), (owner("a"), 2)]);
    assert_eq!(world.memory.released(), [(session.session(), owner("a"))]);
}

fn drain(world: &World) -> tokio::task::JoinHandle<bool> {
    let hub = world.hub();
    world.handle().spawn(async move { hub.drain(InterruptReason::ShutdownTimeout, Duration::ZERO).await })
}

#[test]
fn m10_eviction_commits_first_and_forgets_the_owner() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.run(world.hub().evict(session.session()));
    assert_eq!(world.memory.record(), [(owner("a"), 1)]);
    complete(&world, &session);
    commit(&world, &session, None);
    world.run(world.hub().evict(session.session()));
    assert_eq!(calls(&world).len(), 1, "nobody is owed the later turn");
}

#[test]
fn m10_a_session_that_nobody_asks_for_goes_the_same_way() {
    let world =
        World::with(WorldSettings { idle_after: Duration::from_millis(20), ..WorldSettings::default() });
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    let session = owned(&world);
    complete(&world, &session);
    world.run(gate.reached(1));
    gate.open();
    assert_eq!(calls(&world), [(owner("a"), vec![1])]);
}

#[test]
fn m11_eviction_waits_for_the_commit_in_flight_and_releases_once() {
    let world = World::new();
    let (session, first, second) = committing(&world);
    let evicted = evict(&world, &session);
    first.open();
    world.run(second.reached(1));
    assert_eq!(world.memory.released(), [], "the newer turn is not taken yet");
    second.open();
    world.run(evicted).expect("evict");
    assert_eq!(calls(&world), [(owner("a"), vec![1]), (owner("a"), vec![2])]);
    assert_eq!(world.memory.released(), [(session.session(), owner("a"))]);
}

fn evict(world: &World, session: &SessionHandle) -> tokio::task::JoinHandle<()> {
    let (hub, session): (Hub, SessionId) = (world.hub(), session.session());
    world.handle().spawn(async move { hub.evict(session).await })
}

#[test]
fn m12_a_slow_provider_blocks_only_its_own_session() {
    let world = World::new();
    let slow = owned(&world);
    complete(&world, &slow);
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    commit(&world, &slow, None);
    world.run(gate.reached(1));
    for _ in 0..100 {
        let session = owned(&world);
        complete(&world, &session);
        world.run(world.hub().evict(session.session()));
        assert_eq!(owed(&world, &session), []);
    }
    assert_eq!(owed(&world, &slow), [(owner("a"), 1, false)]);
    gate.open();
}

#[test]
fn m13_clearing_answers_while_its_commit_runs() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    let before = world.view(&session).seq;
    world.submit(&session, Command::Clear);
    world.run(gate.reached(1));
    complete(&world, &session);
    assert_eq!(world.view(&session).turns.len(), 1, "reads and writes go on");
    gate.open();
    until_ended(&world, &session, before);
    assert_eq!(world.memory.record(), [(owner("a"), 1)]);
    assert_eq!(world.memory.calls()[0].turns[0].answer, "You said: remember this");
}

#[test]
fn m14_only_completed_turns_are_owed_and_completing_commits_nothing() {
    let world = World::new();
    let session = owned(&world);
    let played = Gate::default();
    world.agent.add(script().text("half").gate(&played).hold());
    world.post(&session, "stopped");
    world.run(played.reached(1));
    world.submit(&session, Command::Stop { run: None, device: None });
    world.agent.add(script().fail("no"));
    world.post(&session, "failed");
    world.until_quiet(&session);
    world.agent.add(script().text("half").gate(&played).hold());
    world.post(&session, "interrupted");
    world.run(played.reached(2));
    world.submit(&session, Command::Interrupt { reason: InterruptReason::RestartTimeout });
    assert_eq!(owed(&world, &session), []);
    complete(&world, &session);
    // The mark is the turn's own durable end, so it can never come before it.
    assert_eq!(owed(&world, &session), [(owner("a"), 1, false)]);
    assert_eq!(calls(&world), []);
}

#[test]
fn m15_three_turns_and_one_boundary_make_one_commit() {
    let world = World::new();
    let session = owned(&world);
    for _ in 0..3 {
        complete(&world, &session);
    }
    committed(&world, &session, None);
    commit(&world, &session, None);
    world.run(world.hub().evict(session.session()));
    assert_eq!(calls(&world), [(owner("a"), vec![1, 2, 3])]);
}

#[test]
fn m15_a_new_session_is_a_boundary_of_the_one_left_behind() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    let create = Create { after: Some(session.session()), ..Create::default() };
    world.run(world.hub().create(create)).expect("create");
    world.run(gate.reached(1));
    gate.open();
    assert_eq!(calls(&world), [(owner("a"), vec![1])]);
}

#[test]
fn m16_nothing_happens_for_an_unknown_or_empty_session() {
    let world = World::new();
    let nobody = world.hub().open(SessionId(uuid::Uuid::from_u128(7)));
    let empty = world.create();
    for session in [&nobody, &empty] {
        commit(&world, session, None);
        commit(&world, session, Some("a"));
        world.run(world.hub().evict(session.session()));
        let create = Create { after: Some(session.session()), ..Create::default() };
        world.run(world.hub().create(create)).expect("create");
    }
    set(&world, &nobody, Some("a"));
    set(&world, &nobody, None);
    world.run(drain(&world)).expect("drain");
    assert_eq!(calls(&world), []);
    assert_eq!(world.memory.released(), []);
    assert_eq!(world.log(&empty).len(), 1);
}

#[test]
fn m17_what_is_owed_survives_a_crash() {
    let mut world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::Fail);
    committed(&world, &session, None);
    set(&world, &session, Some("b"));
    complete(&world, &session);
    // The start is a boundary for those that nobody holds; the provider is away for it.
    world.crash();
    let gate = Gate::default();
    world.memory.add(Answer::FailLate(gate.clone()));
    world.start();
    let session = reopened(&world, &session);
    world.run(gate.reached(1));
    assert_eq!(owed(&world, &session), [(owner("a"), 1, true), (owner("b"), 1, false)]);
    let before = world.view(&session).seq;
    gate.open();
    until_ended(&world, &session, before);
    committed(&world, &session, None);
    committed(&world, &session, None);
    assert_eq!(world.memory.record(), [(owner("a"), 1), (owner("b"), 2)]);
}

#[test]
fn m18_a_commit_whose_answer_was_lost_is_not_taken_twice() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::TakeUnheard);
    committed(&world, &session, None);
    // What completes meanwhile must not change what the key stands for.
    complete(&world, &session);
    committed(&world, &session, None);
    committed(&world, &session, None);
    let keys: Vec<String> = world.memory.calls().into_iter().map(|handover| handover.key).collect();
    let id = session.session();
    assert_eq!(keys, [format!("{id}/1-1"), format!("{id}/1-1"), format!("{id}/2-2")]);
    assert_eq!(world.memory.record(), [(owner("a"), 1), (owner("a"), 2)]);
}

#[test]
fn m18_a_commit_that_a_crash_cut_off_is_not_taken_twice() {
    let mut world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    let gate = Gate::default();
    world.memory.add(Answer::TakeLate(gate.clone()));
    commit(&world, &session, None);
    world.run(gate.reached(1));
    let late = Gate::default();
    world.memory.add(Answer::TakeLate(late.clone()));
    let session = cold(&mut world, &session);
    world.run(late.reached(1));
    let before = world.view(&session).seq;
    late.open();
    until_ended(&world, &session, before);
    assert_eq!(world.memory.record(), [(owner("a"), 1)]);
    assert_eq!(world.memory.calls()[0].key, world.memory.calls()[1].key);
}

#[test]
fn m18_accepted_is_not_done() {
    let world = World::new();
    let session = owned(&world);
    complete(&world, &session);
    world.memory.add(Answer::AcceptAndForget);
    committed(&world, &session, None);
    assert_eq!(owed(&world, &session), [(owner("a"), 1, true)]);
    world.memory.add(Answer::Accept);
    committed(&world, &session, None);
    assert_eq!((owed(&world, &session), world.memory.record()), (vec![], vec![(owner("a"), 1)]));
}

#[test]
fn m4_a_run_registers_its_own_owner() {
    let world = World::new();
    world.memory.register(Some(owner("a")));
    let session = world.create();
    complete(&world, &session);
    world.memory.register(Some(owner("b")));
    complete(&world, &session);
    assert_eq!(owed(&world, &session), [(owner("a"), 1, false), (owner("b"), 1, false)]);
}

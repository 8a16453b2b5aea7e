//! R: what a dead run left outside the log comes back, and no loss is claimed that was not proven.

use std::fs;

use hub::{Catcher, Followed, Look, SessionHandle, SpoolError};
use nix::sys::stat::Mode;
use session::{Command, Entry, Event, InterruptReason, Link, PostMode, RunEnd, RunId, Seq, SlotNo};
use testkit::{Gate, World, script};

use crate::kit::{Hidden, cold, lines, marker, newest_run, post, reopened, slot_file, spool, until_settled};

const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// What the log has of the run that [`die_in_an_outage`] leaves behind.
const IN_LOG: [&str; 3] = ["user go +go.txt", "text Looking. ", "call 1 read {\"f\":1} may have run"];

/// What it has once the journal was healed.
const WHOLE: [&str; 6] = [
    "user go +go.txt",
    "text Looking. ",
    "call 1 read {\"f\":1} finished 42",
    "text Found it. ",
    "reasoning Now write.",
    "call 2 write {\"f\":2} may have run",
];

/// Lets a run stream while the store refuses, so that its output is in its spool, and crashes.
fn die_in_an_outage(world: &mut World) -> (SessionHandle, RunId, SlotNo) {
    let (asked, spooled) = (Gate::default(), Gate::default());
    let begins = script().text("Looking. ").call(1, "read", "{\"f\":1}").gate(&asked);
    let spools = begins.text("Found it. ").result(1, "42").gate(&spooled);
    world.agent.add(spools.reasoning("Now write.").call(2, "write", "{\"f\":2}").hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(asked.reached(1));
    let (run, slot) = newest_run(&world.log(&session));
    world.store().refuse();
    asked.open();
    world.run(spooled.reached(1));
    spooled.open();
    let spool = spool(world);
    world.run(async {
        loop {
            match spool.look(Some(slot), session.session(), run) {
                Look::Frames { frames, .. } if frames.len() == 4 => break,
                _ => tokio::task::yield_now().await,
            }
        }
    });
    world.crash();
    (session, run, slot)
}

/// Lets a run stream into the log alone, and crashes.
fn die_streaming(world: &mut World) -> (SessionHandle, RunId, SlotNo, Link) {
    let asked = Gate::default();
    world.agent.add(script().text("Looking. ").call(1, "read", "{\"f\":1}").gate(&asked));
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(asked.reached(1));
    let log = world.log(&session);
    let (run, slot) = newest_run(&log);
    world.crash();
    (session, run, slot, log.last().unwrap().link())
}

/// Writes output into a slot as the dead run would have.
fn journal(world: &World, session: &SessionHandle, run: RunId, slot: SlotNo, last: &Link) -> Catcher {
    let mut catcher = spool(world).begin(slot, session.session(), run).unwrap();
    let text = Event::TextAdded { run, text: "Found it.".to_owned() };
    let entry = Entry::seal(last, session::Time(1), last.epoch, text);
    catcher.add(last, &[&entry]).unwrap();
    catcher
}

/// Makes the slot a sealed journal without output.
fn seal_empty(world: &World, session: &SessionHandle, run: RunId, slot: SlotNo) {
    let spool = spool(world);
    spool.begin(slot, session.session(), run).unwrap();
    spool.seal(slot).unwrap();
}

fn with_marker(parts: &[&str], marker: &str) -> Vec<String> {
    parts.iter().copied().chain([marker]).map(str::to_owned).collect()
}

const RECOVERING: &str = "marker recovering attempts Some(0) seen true";

#[test]
fn r1_an_unreadable_journal_is_recovering_and_heals_once_it_can_be_read() {
    let mut world = World::new();
    let (session, run, slot) = die_in_an_outage(&mut world);
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    let before = world.view(&session);
    assert_eq!(lines(&before), with_marker(&IN_LOG, RECOVERING));
    assert_eq!((marker(&before).run, before.run), (run, None));
    assert_eq!(marker(&before).first_seen, Some(marker(&before).at));
    let claims_loss = ["lost", "nothing", "no output", "not recovered"];
    let text = marker(&before).text.to_lowercase();
    assert!(!claims_loss.iter().any(|claim| text.contains(claim)), "{text}");

    hidden.put_back();
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
    assert!(marker(&healed).text.contains("The output was recovered"));
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), healed);
    assert_eq!(world.hub().heal_looks(), 0, "nothing is left to heal");
}

#[test]
fn r1_a_journal_that_can_be_read_at_once_is_recovered_at_the_first_repair() {
    let mut world = World::new();
    let (session, _, slot) = die_in_an_outage(&mut world);
    world.start();
    let session = reopened(&world, &session);
    let healed = world.view(&session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
    let look = spool(&world).look(Some(slot), session.session(), newest_run(&world.log(&session)).0);
    assert_eq!(look, Look::Unused, "the slot is free again");
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), healed);
}

#[test]
fn r1_a_spool_that_is_away_as_a_whole_is_not_taken_for_an_empty_one() {
    let mut world = World::new();
    let (session, _, slot) = die_in_an_outage(&mut world);
    let away = world.path().join("unmounted");
    fs::rename(world.spool(), &away).unwrap();
    world.start();
    let session = reopened(&world, &session);
    assert_eq!(lines(&world.view(&session)), with_marker(&IN_LOG, RECOVERING));
    for name in ["identity".as_ref(), slot_file(&world, slot).file_name().unwrap()] {
        fs::rename(away.join(name), world.spool().join(name)).unwrap();
    }
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
}

#[test]
fn r1_what_the_log_has_already_is_not_healed_again() {
    let mut world = World::that_waits();
    let (asked, spooled) = (Gate::default(), Gate::default());
    world
        .agent
        .add(script().call(1, "read", "{}").gate(&asked).text("Once.").result(1, "42").gate(&spooled).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(asked.reached(1));
    let (run, slot) = newest_run(&world.log(&session));
    world.store().refuse();
    asked.open();
    world.run(spooled.reached(1));
    let journal = fs::read(slot_file(&world, slot)).unwrap();
    world.store().take_again();
    world.until(&session, |view| lines(view).contains(&"text Once.".to_owned()));
    world.crash();
    // The power went before the slot was marked as unused.
    fs::write(slot_file(&world, slot), journal).unwrap();
    world.start();
    let session = reopened(&world, &session);
    assert_eq!(spool(&world).look(Some(slot), session.session(), run), Look::Unused);
    let expected = ["user go +go.txt", "call 1 read {} finished 42", "text Once."];
    assert_eq!(lines(&world.view(&session)), with_marker(&expected, "marker interrupted"));
}

#[test]
fn r2_reads_at_once_start_one_look_and_do_not_wait_for_it() {
    let mut world = World::new();
    let (session, _, slot) = die_in_an_outage(&mut world);
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    // Opening a pipe waits until someone writes to it: the look takes as long as the test wants.
    nix::unistd::mkfifo(hidden.file(), Mode::S_IRWXU).unwrap();
    let reads = (0..8).map(|_| session.view());
    for read in world.run(futures_util::future::join_all(reads)) {
        assert_eq!(lines(&read.unwrap()), with_marker(&IN_LOG, RECOVERING));
    }
    world.submit(&session, Command::Rename { title: "meanwhile".to_owned() });
    world.run(async {
        while world.hub().heal_looks() == 0 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(world.hub().heal_looks(), 1);
    // Lets the look go on; open until the slot is back, so that none can wait for ever.
    let pipe = fs::OpenOptions::new().read(true).write(true).open(hidden.file()).unwrap();
    hidden.put_back();
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
    drop(pipe);
}

/// Puts something in the place of a slot that is away.
type StandIn = fn(&Hidden);

#[test]
fn r3_a_journal_that_may_still_arrive_costs_no_attempt() {
    let stand_ins: [(&str, StandIn); 3] = [
        ("missing", |_| {}),
        ("empty", |hidden| fs::write(hidden.file(), []).unwrap()),
        ("out of reach", |hidden| fs::create_dir(hidden.file()).unwrap()),
    ];
    for (name, stand_in) in stand_ins {
        let mut world = World::new();
        let (session, _, slot) = die_in_an_outage(&mut world);
        let hidden = Hidden::hide(&world, slot);
        stand_in(&hidden);
        world.start();
        let session = reopened(&world, &session);
        while world.hub().heal_looks() < 20 {
            assert_eq!(lines(&world.view(&session)), with_marker(&IN_LOG, RECOVERING), "{name}");
        }
        let session = cold(&mut world, &session);
        assert_eq!(lines(&world.view(&session)), with_marker(&IN_LOG, RECOVERING), "{name}");
        hidden.put_back();
        let healed = until_settled(&world, &session);
        assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"), "{name}");
    }
}

#[test]
fn r4_a_sealed_empty_journal_costs_one_attempt_a_read_and_settles_at_the_limit() {
    let mut world = World::that_waits();
    let (session, run, slot, _) = die_streaming(&mut world);
    seal_empty(&world, &session, run, slot);
    world.start();
    let session = reopened(&world, &session);
    for attempts in 0..12 {
        let view = world.read_until(&session, |view| marker(view).attempts == Some(attempts));
        let marker = format!("marker recovering attempts Some({attempts}) seen true");
        assert_eq!(lines(&view), with_marker(&IN_LOG, &marker));
    }
    let settled = until_settled(&world, &session);
    assert_eq!(lines(&settled), with_marker(&IN_LOG, "marker interrupted"));
    assert_eq!(world.hub().heal_looks(), 12);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), settled);
}

#[test]
fn r5_output_of_a_dead_run_heals_at_once_and_is_sealed() {
    let mut world = World::new();
    let (session, run, slot, last) = die_streaming(&mut world);
    let mut dead = journal(&world, &session, run, slot, &last);
    world.start();
    let session = reopened(&world, &session);
    let healed = ["user go +go.txt", IN_LOG[1], IN_LOG[2], "text Found it."];
    assert_eq!(lines(&world.view(&session)), with_marker(&healed, "marker recovered"));
    let late =
        Entry::seal(&last, session::Time(2), last.epoch, Event::TextAdded { run, text: "late".to_owned() });
    assert!(matches!(dead.add(&last, &[&late]), Err(SpoolError::Sealed)));
    let session = cold(&mut world, &session);
    assert_eq!(lines(&world.view(&session)), with_marker(&healed, "marker recovered"));
}

#[test]
fn r5_output_heals_whatever_the_attempt_count() {
    let mut world = World::new();
    let (session, run, slot, last) = die_streaming(&mut world);
    seal_empty(&world, &session, run, slot);
    world.start();
    let session = reopened(&world, &session);
    world.read_until(&session, |view| marker(view).attempts == Some(7));
    let mut dead = journal(&world, &session, run, slot, &last);
    let view = until_settled(&world, &session);
    let healed = ["user go +go.txt", IN_LOG[1], IN_LOG[2], "text Found it."];
    assert_eq!(lines(&view), with_marker(&healed, "marker recovered"));
    let late =
        Entry::seal(&last, session::Time(2), last.epoch, Event::TextAdded { run, text: "late".to_owned() });
    assert!(matches!(dead.add(&last, &[&late]), Err(SpoolError::Sealed)));
}

/// Whether the entry ends a run of a crash whose journal was away.
fn is_recovering(entry: &Entry) -> bool {
    let recovering = RunEnd::Interrupted { reason: InterruptReason::Crash, recovering: true, progress: true };
    matches!(&entry.event, Event::RunEnded { end, .. } if *end == recovering)
}

#[test]
fn r6_a_marker_of_a_day_settles_without_a_look_at_the_journal() {
    let mut world = World::new();
    let (session, run, slot) = die_in_an_outage(&mut world);
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    assert!(world.log(&session).iter().any(is_recovering), "the journal was away at the first repair");
    hidden.put_back();
    world.clock.advance(DAY_MICROS);
    let settled = until_settled(&world, &session);
    assert_eq!(lines(&settled), with_marker(&IN_LOG, "marker interrupted"));
    assert_eq!(world.hub().heal_looks(), 0);
    assert_eq!(marker(&settled).run, run);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), settled);
}

/// A session whose run was interrupted while its journal was away and the clock two days ahead. The clock is right again.
fn interrupted_by_a_clock_ahead(world: &mut World) -> (SessionHandle, Hidden) {
    let (session, _, slot) = die_in_an_outage(world);
    let hidden = Hidden::hide(world, slot);
    world.clock.advance(2 * DAY_MICROS);
    world.start();
    let session = reopened(world, &session);
    assert!(world.log(&session).iter().any(is_recovering), "the journal was away at the first repair");
    world.clock.turn_back(2 * DAY_MICROS);
    (session, hidden)
}

#[test]
fn r6_a_clock_that_was_ahead_costs_no_output() {
    let mut world = World::new();
    let (session, hidden) = interrupted_by_a_clock_ahead(&mut world);
    hidden.put_back();
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
}

#[test]
fn r6_a_marker_of_a_clock_that_was_ahead_settles_when_its_journal_is_gone() {
    let mut world = World::new();
    let (session, _hidden) = interrupted_by_a_clock_ahead(&mut world);
    let settled = until_settled(&world, &session);
    assert_eq!(lines(&settled), with_marker(&IN_LOG, "marker interrupted"));
}

#[test]
fn r6_a_marker_just_short_of_a_day_still_heals() {
    let mut world = World::new();
    let (session, _, slot) = die_in_an_outage(&mut world);
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    hidden.put_back();
    world.clock.advance(DAY_MICROS - 60_000_000);
    let healed = until_settled(&world, &session);
    assert_eq!(lines(&healed), with_marker(&WHOLE, "marker recovered"));
}

#[test]
fn r8_followers_see_the_marker_settle_without_a_read() {
    let mut world = World::new();
    let (session, run, slot) = die_in_an_outage(&mut world);
    let hidden = Hidden::hide(&world, slot);
    world.start();
    let session = reopened(&world, &session);
    // Nobody reads it before: a read asks for healing too.
    hidden.put_back();
    let settled = world.run(async {
        let mut follower = session.follow(Seq(0)).await.unwrap();
        loop {
            if let Followed::Entry(entry) = follower.next().await.unwrap()
                && let Event::RecoverySettled { run, .. } = entry.event
            {
                return run;
            }
        }
    });
    assert_eq!(settled, run);
}

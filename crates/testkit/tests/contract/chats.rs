//! G1 to G28, G30, G31 and G33: what an interruption leaves on a chat, what its next turn is told, and when a chat
//! begins anew.

use std::time::Duration;

use hub::{Arrived, ChatHandle, ChatStatus, Reset, SessionHandle};
use session::{
    ChatKey, ChatKind, Entry, Event, InterruptReason, Message, PostMode, PromptMessage, ResumeReason, Time,
};
use testkit::{Gate, Script, World, WorldSettings, script};

use crate::kit::{Outside, Sql, count};

/// The time that the hand clock shows.
const HOUR: Duration = Duration::from_secs(3_600);

fn key(name: &str) -> ChatKey {
    ChatKey {
        agent: "main".to_owned(),
        platform: "matrix".to_owned(),
        kind: ChatKind::Group,
        chat: format!("!{name}:example.org"),
        thread: Some("$1".to_owned()),
        sender: None,
    }
}

fn chat(world: &World, name: &str) -> ChatHandle {
    world.hub().chat(key(name))
}

/// A message arrives in a chat.
fn arrive(world: &World, name: &str, text: &str) -> Arrived {
    let chat = chat(world, name);
    world.run(chat.arrive(Message::text(text), PostMode::Queue, None)).expect("take a message")
}

/// A message arrives, and its turn is over.
fn turn(world: &World, name: &str, text: &str) -> Arrived {
    let arrived = arrive(world, name, text);
    world.until_quiet(&session(world, &arrived));
    arrived
}

fn session(world: &World, arrived: &Arrived) -> SessionHandle {
    world.hub().open(arrived.session)
}

fn status(world: &World, name: &str) -> Option<ChatStatus> {
    world.run(chat(world, name).status()).expect("look at a chat")
}

/// What is marked: the reason.
fn reason(world: &World, name: &str) -> Option<String> {
    status(world, name).expect("the chat is known").resume.map(|mark| mark.reason.0)
}

fn mark(world: &World, name: &str, reason: Option<&str>) -> bool {
    let reason = reason.map(|reason| ResumeReason(reason.to_owned()));
    world.run(chat(world, name).mark_resume(reason)).expect("mark a chat")
}

fn clear(world: &World, name: &str) -> bool {
    world.run(chat(world, name).clear_resume()).expect("clear a chat")
}

fn suspend(world: &World, name: &str) -> bool {
    world.run(chat(world, name).suspend()).expect("suspend a chat")
}

/// A run that goes on in a chat after it played a script.
fn busy(world: &World, name: &str, script: Script) -> Arrived {
    let played = Gate::default();
    world.agent.add(script.gate(&played).hold());
    let arrived = arrive(world, name, "go on for long");
    world.run(played.reached(1));
    arrived
}

fn drain(world: &World, reason: InterruptReason, timeout: Duration) {
    world.run(world.hub().drain(reason, timeout));
}

/// What the newest run was given after the history: notes, then the message.
fn told(world: &World) -> Vec<String> {
    let prompt = world.agent.requests().pop().expect("a run was asked for").prompt;
    let newest = prompt.turns.last().map_or(0, |turn| turn.at);
    let line = |message: &PromptMessage| match message {
        PromptMessage::Note(note) => format!("note {note}"),
        PromptMessage::User(message) => message.text.clone(),
        other => format!("{other:?}"),
    };
    prompt.messages[newest..].iter().map(line).collect()
}

fn notes(world: &World) -> usize {
    told(world).iter().filter(|line| line.starts_with("note ")).count()
}

#[test]
fn g1_a_new_chat_is_neither_marked_nor_suspended() {
    let world = World::that_waits();
    assert_eq!(status(&world, "a"), None);
    let arrived = turn(&world, "a", "hello");
    assert_eq!(arrived.reset, None);
    let expected = ChatStatus { session: arrived.session, suspended: false, resume: None };
    assert_eq!(status(&world, "a"), Some(expected));
}

#[test]
fn g1_every_chat_has_a_session_of_its_own() {
    let world = World::that_waits();
    let arrived = turn(&world, "a", "hello");
    let again = turn(&world, "a", "hello again");
    assert_eq!((again.session, again.reset), (arrived.session, None));
    let thread = ChatKey { thread: Some("$2".to_owned()), ..key("a") };
    let sender = ChatKey { thread: None, sender: Some("t=$1".to_owned()), ..key("a") };
    let other = ChatKey { agent: "main:matrix".to_owned(), platform: "group".to_owned(), ..key("a") };
    for key in [thread, sender, other] {
        assert_eq!(ChatKey::from_text(&key.to_text()), Some(key.clone()));
        assert_eq!(world.run(world.hub().chat(key).status()).expect("look at a chat"), None);
    }
}

#[test]
fn g1_messages_that_arrive_at_once_share_one_session() {
    let world = World::that_waits();
    let chat = chat(&world, "a");
    let arrive = |text: &str| chat.arrive(Message::text(text), PostMode::Queue, None);
    let (one, two, three) = world.run(async { tokio::join!(arrive("one"), arrive("two"), arrive("three")) });
    let sessions = [one, two, three].map(|arrived| arrived.expect("take a message").session);
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
    assert_eq!(crate::kit::list(&world).len(), 1);
}

#[test]
fn g2_the_mark_survives_being_stored() {
    let mut world = World::that_waits();
    turn(&world, "a", "hello");
    assert!(mark(&world, "a", Some("a visit")));
    let before = status(&world, "a");
    assert!(
        before.as_ref().is_some_and(|status| status.resume.as_ref().is_some_and(|mark| mark.at.is_some()))
    );
    world.restart();
    assert_eq!(status(&world, "a"), before);
}

#[test]
fn g3_a_log_of_an_older_version_is_neither() {
    let mut world = World::that_waits();
    let arrived = turn(&world, "a", "hello");
    let kinds = |event: &Event| matches!(event, Event::ResumeMarked { .. } | Event::ResumeCleared {});
    assert_eq!(count(&world.log(&session(&world, &arrived)), kinds), 0, "nothing of it is in the log");
    world.crash();
    // The row as it was before anything could be suspended.
    let row = "INSERT INTO chats (chat, session) SELECT 'main:matrix:group:b', session FROM chats";
    Outside::of(&world).change(Sql::both(row));
    world.start();
    let old = ChatKey { chat: "b".to_owned(), thread: None, ..key("b") };
    let status = world.run(world.hub().chat(old).status()).expect("look").expect("the old row is known");
    assert_eq!((status.session, status.suspended, status.resume), (arrived.session, false, None));
}

#[test]
fn g4_a_malformed_time_costs_only_itself() {
    let mut state = session::Session::default();
    let bodies = [
        r#"{"session_created":{"id":"00000000-0000-0000-0000-000000000001"}}"#,
        r#"{"resume_marked":{"reason":"restart_timeout","at":"yesterday"}}"#,
    ];
    for body in bodies {
        let next = state.link.seq.next();
        let entry = Entry::open(&state.link, next, Time(0), session::Epoch(1), body.to_owned(), None);
        session::fold(&mut state, &entry.expect("the entry is sound"));
    }
    let mark = state.resume.expect("the mark counts");
    assert_eq!((mark.reason.0.as_str(), mark.at), ("restart_timeout", None));
}

#[test]
fn g5_marking_sets_reason_and_time() {
    let world = World::that_waits();
    turn(&world, "a", "hello");
    assert!(mark(&world, "a", None));
    let mark = status(&world, "a").and_then(|status| status.resume).expect("it is marked");
    assert_eq!(mark.reason.0, "restart_timeout");
    assert!(mark.at.is_some());
}

#[test]
fn g6_another_reason_is_kept_as_given() {
    let world = World::that_waits();
    turn(&world, "a", "hello");
    assert!(mark(&world, "a", Some("the cat walked over it")));
    assert_eq!(reason(&world, "a").as_deref(), Some("the cat walked over it"));
}

#[test]
fn g7_marking_an_unknown_chat_says_no() {
    let world = World::that_waits();
    assert!(!mark(&world, "a", None));
    assert_eq!((status(&world, "a"), crate::kit::list(&world).len()), (None, 0));
}

#[test]
fn g8_marking_a_suspended_chat_says_no_and_changes_nothing() {
    let world = World::that_waits();
    let arrived = turn(&world, "a", "hello");
    assert!(suspend(&world, "a"));
    let before = world.log(&session(&world, &arrived)).len();
    assert!(!mark(&world, "a", None));
    assert_eq!(world.log(&session(&world, &arrived)).len(), before);
    assert_eq!(reason(&world, "a"), None);
}

#[test]
fn g9_the_mark_survives_a_restart() {
    let mut world = World::that_waits();
    turn(&world, "a", "hello");
    assert!(mark(&world, "a", None));
    world.restart();
    assert_eq!(reason(&world, "a").as_deref(), Some("restart_timeout"));
}

#[test]
fn g10_clearing_removes_mark_reason_and_time() {
    let mut world = World::that_waits();
    turn(&world, "a", "hello");
    mark(&world, "a", None);
    assert!(clear(&world, "a"));
    assert_eq!(status(&world, "a").expect("known").resume, None);
    world.restart();
    assert_eq!(status(&world, "a").expect("known").resume, None);
}

#[test]
fn g11_clearing_what_is_not_marked_says_no() {
    let world = World::that_waits();
    turn(&world, "a", "hello");
    assert!(!clear(&world, "a"));
}

#[test]
fn g12_clearing_an_unknown_chat_says_no() {
    let world = World::that_waits();
    assert!(!clear(&world, "a"));
}

#[test]
fn g13_the_next_message_goes_to_the_same_session_and_only_a_completed_turn_clears() {
    let world = World::that_waits();
    let first = turn(&world, "a", "hello");
    mark(&world, "a", None);
    let second = busy(&world, "a", script().text("half"));
    assert_eq!((second.session, second.reset), (first.session, None));
    assert_eq!(reason(&world, "a").as_deref(), Some("restart_timeout"), "a message does not clear it");
    world.submit(&session(&world, &second), session::Command::Stop { run: None, device: None });
    assert_eq!(reason(&world, "a").as_deref(), Some("restart_timeout"), "nor does a stopped turn");
    world.agent.add(script().fail("no"));
    turn(&world, "a", "fails");
    assert_eq!(reason(&world, "a").as_deref(), Some("restart_timeout"), "nor a failed one");
    turn(&world, "a", "completes");
    assert_eq!(reason(&world, "a"), None);
}

#[test]
fn g14_a_suspended_chat_gets_a_new_session() {
    let mut world = World::that_waits();
    let first = turn(&world, "a", "hello");
    assert!(suspend(&world, "a"));
    world.restart();
    let second = turn(&world, "a", "anyone?");
    assert_ne!(second.session, first.session);
    assert_eq!(second.reset, Some(Reset::Suspended));
    assert_eq!(second.reset.map(Reset::word), Some("suspended"));
    let third = turn(&world, "a", "good");
    assert_eq!((third.session, third.reset), (second.session, None));
    assert_eq!(world.view(&session(&world, &first)).turns.len(), 1, "the old one stays as it was");
}

#[test]
fn g15_both_at_once_behaves_as_suspended() {
    let world = World::that_waits();
    let first = turn(&world, "a", "hello");
    mark(&world, "a", None);
    assert!(suspend(&world, "a"));
    assert!(status(&world, "a").is_some_and(|status| status.suspended && status.resume.is_some()));
    let second = turn(&world, "a", "anyone?");
    assert_ne!(second.session, first.session);
    assert_eq!((second.reset, notes(&world)), (Some(Reset::Suspended), 0));
}

/// Two chats that were active lately, of which one waits to be resumed, and one that was active long ago.
fn recently_active() -> World {
    let mut world = World::that_waits();
    turn(&world, "long ago", "hello");
    world.clock.advance(5 * 3_600_000_000);
    turn(&world, "marked", "hello");
    turn(&world, "recent", "hello");
    mark(&world, "marked", None);
    world.crash();
    world.settings = WorldSettings { suspend_active_within: Some(HOUR), ..world.settings.clone() };
    world.start();
    world
}

#[test]
fn g16_suspending_the_recently_active_skips_the_marked() {
    let world = recently_active();
    assert!(status(&world, "marked").is_some_and(|status| !status.suspended));
    assert!(status(&world, "long ago").is_some_and(|status| !status.suspended));
}

#[test]
fn g17_it_suspends_the_others_and_says_how_many() {
    let world = recently_active();
    assert!(status(&world, "recent").is_some_and(|status| status.suspended));
    turn(&world, "one", "hello");
    turn(&world, "two", "hello");
    assert_eq!(world.run(world.hub().suspend_recent(HOUR)), Ok(2));
    assert_eq!(world.run(world.hub().suspend_recent(HOUR)), Ok(0));
}

/// A chat that was cut off with its history ending as the script left it, and its next message.
fn told_after(script: Script, reason: InterruptReason) -> Vec<String> {
    let mut world = World::that_waits();
    busy(&world, "a", script);
    drain(&world, reason, Duration::ZERO);
    world.restart();
    turn(&world, "a", "what now?");
    told(&world)
}

fn with_results() -> Script {
    script().step().call(1, "clock", "{}").result(1, "noon")
}

#[test]
fn g18_the_next_turn_opens_with_one_note() {
    let told = told_after(with_results(), InterruptReason::RestartTimeout);
    let [note, message] = told.as_slice() else { panic!("one note and the message: {told:?}") };
    for word in ["restart", "history is intact", "tool results", "first", "then"] {
        assert!(note.contains(word), "{word} in {note}");
    }
    assert_eq!(message, "what now?");
}

#[test]
fn g18_an_unknown_reason_is_an_interruption() {
    let world = World::that_waits();
    turn(&world, "a", "hello");
    mark(&world, "a", Some("crash"));
    turn(&world, "a", "what now?");
    assert!(told(&world)[0].contains("an interruption"), "{:?}", told(&world));
}

#[test]
fn g19_the_note_says_shutdown() {
    let told = told_after(script().text("half"), InterruptReason::ShutdownTimeout);
    assert!(told[0].contains("shutdown") && !told[0].contains("restart"), "{told:?}");
}

#[test]
fn g20_the_note_appears_whatever_came_last() {
    for last in [script().text("half"), script().reasoning("hm"), script().step(), with_results()] {
        let told = told_after(last, InterruptReason::RestartTimeout);
        assert_eq!((told.len(), told[0].starts_with("note ")), (2, true), "{told:?}");
    }
}

#[test]
fn g21_there_are_never_two_notes() {
    let told = told_after(with_results(), InterruptReason::RestartTimeout);
    assert_eq!(told.concat().matches("System note").count(), 1, "{told:?}");
}

#[test]
fn g22_a_history_that_ends_in_tool_results_is_told() {
    let world = World::that_waits();
    let arrived = busy(&world, "a", with_results());
    world.submit(&session(&world, &arrived), session::Command::Stop { run: None, device: None });
    turn(&world, "a", "what now?");
    let told = told(&world);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("tool results") && !told[0].contains("cut off"), "{told:?}");
    assert_eq!(told[1], "what now?");
}

#[test]
fn g23_otherwise_the_message_is_passed_on_unchanged() {
    let world = World::that_waits();
    turn(&world, "a", "hello");
    turn(&world, "a", "what now?");
    assert_eq!(told(&world), ["what now?"]);
}

#[test]
fn g24_a_drain_that_times_out_marks_before_it_interrupts() {
    let mut world = World::that_waits();
    let arrived = busy(&world, "a", script().text("half"));
    drain(&world, InterruptReason::ShutdownTimeout, Duration::from_millis(5));
    world.restart();
    assert_eq!(reason(&world, "a").as_deref(), Some("shutdown_timeout"));
    let log = world.log(&session(&world, &arrived));
    let at = |wanted: fn(&Event) -> bool| log.iter().position(|entry| wanted(&entry.event));
    let marked = at(|event| matches!(event, Event::ResumeMarked { .. }));
    let ended = at(|event| matches!(event, Event::RunEnded { .. }));
    assert!(marked.is_some() && marked < ended, "marked at {marked:?}, ended at {ended:?}");
}

#[test]
fn g25_a_restart_says_so() {
    let mut world = World::that_waits();
    busy(&world, "a", script().text("half"));
    drain(&world, InterruptReason::RestartTimeout, Duration::ZERO);
    world.restart();
    assert_eq!(reason(&world, "a").as_deref(), Some("restart_timeout"));
}

/// Begins a drain and waits until no run may start any more.
fn begin_drain(world: &World, timeout: Duration) -> tokio::task::JoinHandle<bool> {
    let hub = world.hub();
    let idle = world.create();
    let drained =
        world.handle().spawn(async move { hub.drain(InterruptReason::RestartTimeout, timeout).await });
    // From then on a message is kept and waits.
    while world.post(&idle, "may it start?").run.is_some() {
        world.until_quiet(&idle);
    }
    drained
}

/// Three chats: one whose run completes when its gate opens, one whose run fails then, one that is idle.
fn ending_soon(world: &World) -> Gate {
    let gate = Gate::default();
    world.agent.add(script().text("half").gate(&gate).text(" and whole"));
    arrive(world, "completes", "go");
    world.run(gate.reached(1));
    world.agent.add(script().text("half").gate(&gate).fail("no"));
    arrive(world, "fails", "go");
    world.run(gate.reached(2));
    turn(world, "idle", "hello");
    gate
}

#[test]
fn g26_a_drain_that_ends_in_time_marks_and_interrupts_nothing() {
    let mut world = World::that_waits();
    let gate = ending_soon(&world);
    let drained = begin_drain(&world, HOUR);
    gate.open();
    gate.open();
    world.run(drained).expect("drain");
    world.restart();
    for name in ["completes", "fails", "idle"] {
        assert_eq!(reason(&world, name), None, "{name}");
        let session = status(&world, name).expect("known").session;
        let interrupts =
            |event: &Event| matches!(event, Event::RunEnded { end: session::RunEnd::Interrupted { .. }, .. });
        assert_eq!(count(&world.log(&world.hub().open(session)), interrupts), 0, "{name}");
    }
}

#[test]
fn g27_what_ended_during_the_drain_is_not_marked() {
    let mut world = World::that_waits();
    let gate = ending_soon(&world);
    busy(&world, "late", script().text("half"));
    let drained = begin_drain(&world, Duration::from_millis(400));
    gate.open();
    gate.open();
    world.run(drained).expect("drain");
    world.restart();
    assert_eq!((reason(&world, "completes"), reason(&world, "fails")), (None, None));
    assert_eq!(reason(&world, "late").as_deref(), Some("restart_timeout"));
}

#[test]
fn g28_a_run_whose_agent_was_being_set_up_is_not_marked() {
    let mut world = World::that_waits();
    let arrived = busy(&world, "a", script());
    drain(&world, InterruptReason::RestartTimeout, Duration::ZERO);
    world.restart();
    assert_eq!(reason(&world, "a"), None);
    assert_eq!(world.view(&session(&world, &arrived)).run, None, "it is interrupted all the same");
}

#[test]
fn g30_three_interruptions_in_a_row_suspend() {
    let mut world = World::that_waits();
    let first = turn(&world, "a", "hello");
    for restart in 1..=3 {
        let arrived = busy(&world, "a", script().step());
        assert_eq!(arrived.session, first.session, "before restart {restart}");
        drain(&world, InterruptReason::RestartTimeout, Duration::ZERO);
        world.restart();
    }
    let status = status(&world, "a").expect("known");
    assert!(status.suspended && status.resume.is_some(), "{status:?}");
    let next = turn(&world, "a", "anyone?");
    assert_eq!(next.reset, Some(Reset::Suspended), "it beats the mark");
}

#[test]
fn g31_a_completed_turn_clears_count_and_mark() {
    let mut world = World::that_waits();
    for _ in 0..2 {
        busy(&world, "a", script().text("half"));
        drain(&world, InterruptReason::RestartTimeout, Duration::ZERO);
        world.restart();
    }
    turn(&world, "a", "done this time");
    assert_eq!(reason(&world, "a"), None);
    busy(&world, "a", script().text("half"));
    drain(&world, InterruptReason::RestartTimeout, Duration::ZERO);
    world.restart();
    assert!(status(&world, "a").is_some_and(|status| !status.suspended && status.resume.is_some()));
}

#[test]
fn g33_after_a_crash_the_chats_that_were_cut_off_are_known_exactly() {
    let mut world = World::that_waits();
    turn(&world, "idle", "hello");
    busy(&world, "busy", script().text("half"));
    // A session of nobody's chat is left alone as well.
    let played = Gate::default();
    world.agent.add(script().text("half").gate(&played).hold());
    let other = world.create();
    world.post(&other, "go");
    world.run(played.reached(1));
    world.restart();
    assert_eq!(reason(&world, "busy").as_deref(), Some("crash"));
    assert_eq!(reason(&world, "idle"), None);
    assert_eq!(world.view(&world.hub().open(other.session())).resume, None);
    assert!(
        [status(&world, "busy"), status(&world, "idle")].iter().flatten().all(|status| !status.suspended)
    );
}

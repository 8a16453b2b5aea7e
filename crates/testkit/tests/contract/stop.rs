//! C1 to C8 and C13: a stop keeps what was paid for, and says that it was a stop.

use hub::SessionHandle;
use session::{Command, Event, MarkerKind, PostMode, RunEnd, View};
use testkit::{Gate, Script, World, script};

use crate::kit::{cold, count, is_marked, lines, post};

const STOP: Command = Command::Stop { run: None, device: None };

/// Plays a script up to its end, stops the run there, and checks that a cold start reads the same.
fn stopped(script: Script) -> (View, Vec<String>) {
    let mut world = World::new();
    let (session, _) = started(&world, script);
    world.submit(&session, STOP);
    let view = world.view(&session);
    let stops = |event: &Event| matches!(event, Event::RunEnded { end: RunEnd::Stopped { .. }, .. });
    assert_eq!(count(&world.log(&session), stops), 1, "one end");
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), view);
    let mut lines = lines(&view);
    assert_eq!(lines.remove(0), "user go +go.txt");
    (view, lines)
}

/// Starts a run and waits until its script was played; what it streamed last may not be handed over yet.
fn started(world: &World, script: Script) -> (SessionHandle, Gate) {
    let played = Gate::default();
    world.agent.add(script.gate(&played).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(played.reached(1));
    (session, played)
}

/// Plays a script while the chunk before it is still committing, so that nothing of it is handed over, and stops the
/// run there.
fn stopped_before_handing_over(shown: Script, gathered: Script) -> Vec<String> {
    stopped_before_handing_over_after(script(), shown, gathered)
}

fn stopped_before_handing_over_after(before: Script, shown: Script, gathered: Script) -> Vec<String> {
    let world = World::new();
    let store = world.store();
    let (begin, committing) = (Gate::default(), Gate::default());
    let script = before.gate(&begin).then(shown).gate(&committing).then(gathered);
    let played = Gate::default();
    world.agent.add(script.gate(&played).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(begin.reached(1));
    store.hold();
    begin.open();
    world.run(async {
        committing.reached(1).await;
        store.holds().await;
        committing.open();
        played.reached(1).await;
        let stop = session.submit(STOP);
        let let_go = async { store.let_go() };
        // In this order: the stop waits in the mailbox when the commit ends.
        futures_util::future::join(stop, let_go).await.0.unwrap();
    });
    let mut lines = lines(&world.view(&session));
    assert_eq!(lines.remove(0), "user go +go.txt");
    lines
}

#[test]
fn c1_reasoning_alone_is_kept() {
    let (_, lines) = stopped(script().reasoning("Let me ").reasoning("think."));
    assert_eq!(lines, ["reasoning Let me think.", "marker stopped"]);
}

#[test]
fn c1_reasoning_that_was_not_handed_over_is_kept() {
    let lines = stopped_before_handing_over(script().reasoning("Let me "), script().reasoning("think."));
    assert_eq!(lines, ["reasoning Let me think.", "marker stopped"]);
}

#[test]
fn c2_text_that_was_not_handed_over_is_kept() {
    let lines = stopped_before_handing_over(script().reasoning("Hm. "), script().text("The answer is"));
    assert_eq!(lines, ["reasoning Hm. ", "text The answer is", "marker stopped"]);
}

#[test]
fn c5_text_after_a_call_that_was_not_handed_over_is_kept_behind_it() {
    let call = script().call(1, "read", "{}").result(1, "one");
    let lines = stopped_before_handing_over_after(call, script().text("First. "), script().text("Then"));
    assert_eq!(lines, ["call 1 read {} finished one", "text First. Then", "marker stopped"]);
}

#[test]
fn c6_reasoning_that_was_not_handed_over_makes_a_partial_message() {
    let lines = stopped_before_handing_over(script().reasoning("on"), script().reasoning("ly this"));
    assert_eq!(lines, ["reasoning only this", "marker stopped"]);
}

#[test]
fn c2_reasoning_and_text_are_kept_on_one_partial_message() {
    let (view, lines) = stopped(script().reasoning("Hm. ").text("The ans").text("wer is"));
    assert_eq!(lines, ["reasoning Hm. ", "text The answer is", "marker stopped"]);
    let answer = view.turns[0].answer.as_ref().unwrap();
    assert!(!answer.complete);
    assert_eq!(view.turns[0].alternatives, [answer.run], "one message");
}

#[test]
fn c3_stops_at_once_leave_one_marker() {
    let world = World::new();
    let (session, _) = started(&world, script().text("half"));
    let stops = (0..6).map(|_| session.submit(STOP));
    for stop in world.run(futures_util::future::join_all(stops)) {
        stop.unwrap();
    }
    assert_eq!(lines(&world.view(&session)), ["user go +go.txt", "text half", "marker stopped"]);
    assert_eq!(count(&world.log(&session), |event| matches!(event, Event::RunEnded { .. })), 1);
}

#[test]
fn c3_a_stop_that_races_with_the_end_leaves_one_end() {
    let world = World::new();
    for _ in 0..20 {
        let done = Gate::default();
        world.agent.add(script().text("all").gate(&done));
        let session = world.create();
        world.submit(&session, post("go", PostMode::Queue));
        world.run(done.reached(1));
        done.open();
        world.submit(&session, STOP);
        let view = world.until_quiet(&session);
        let said = lines(&view);
        let stopped = ["user go +go.txt", "text all", "marker stopped"];
        assert!(said == stopped || said == stopped[..2], "{said:?}");
        assert_eq!(count(&world.log(&session), |event| matches!(event, Event::RunEnded { .. })), 1);
    }
}

#[test]
fn c3_a_stop_by_the_next_message_leaves_one_marker() {
    let world = World::new();
    let (session, _) = started(&world, script().text("half"));
    world.submit(&session, post("rather this", PostMode::Interrupt));
    let view = world.until_quiet(&session);
    let stopped = ["user go +go.txt", "text half", "marker stopped"];
    let then = ["user rather this +rather this.txt", "text You said: rather this"];
    assert_eq!(lines(&view), [&stopped[..], &then[..]].concat());
}

#[test]
fn c4_calls_are_kept_with_name_arguments_and_whether_they_finished() {
    let calls = script().call(1, "read", "{\"f\":1}").result(1, "one").call(2, "write", "{\"f\":2}");
    let (_, lines) = stopped(calls.call(3, "list", "{}").result_error(3, "no such place"));
    let expected = [
        "call 1 read {\"f\":1} finished one",
        "call 2 write {\"f\":2} may have run",
        "call 3 list {} failed no such place",
        "marker stopped",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn c5_calls_and_text_are_kept_in_order() {
    let (_, lines) = stopped(script().text("First. ").call(1, "read", "{}").result(1, "one").text("Then"));
    assert_eq!(lines, ["text First. ", "call 1 read {} finished one", "text Then", "marker stopped"]);
}

#[test]
fn c6_reasoning_alone_makes_a_partial_message() {
    let (view, _) = stopped(script().reasoning("only this"));
    assert!(!view.turns[0].answer.as_ref().expect("a partial message").complete);
}

#[test]
fn c7_calls_alone_make_a_partial_message() {
    let (view, lines) = stopped(script().call(1, "read", "{}"));
    assert_eq!(lines, ["call 1 read {} may have run", "marker stopped"]);
    assert!(!view.turns[0].answer.as_ref().expect("a partial message").complete);
}

#[test]
fn c8_nothing_streamed_makes_no_partial_message_and_one_marker() {
    let (view, lines) = stopped(script());
    assert_eq!(lines, ["marker stopped"]);
    assert_eq!(view.turns[0].answer, None);
}

#[test]
fn c8_a_step_without_output_makes_no_partial_message() {
    let (view, lines) = stopped(script().step());
    assert_eq!(lines, ["marker stopped"]);
    assert_eq!(view.turns[0].answer, None);
}

#[test]
fn c13_text_in_an_unclosed_reasoning_tag_stays_reasoning() {
    let (_, lines) = stopped(script().text("<thi").text("nk>half a thou"));
    assert_eq!(lines, ["reasoning half a thou", "marker stopped"]);
}

#[test]
fn c13_half_a_tag_is_kept() {
    let (_, lines) = stopped(script().text("<think>why</thi"));
    assert_eq!(lines, ["reasoning why</thi", "marker stopped"]);
    let (_, lines) = stopped(script().text("<thi"));
    assert_eq!(lines, ["text <thi", "marker stopped"]);
}

#[test]
fn c13_half_a_call_is_kept_as_an_incomplete_call() {
    let half = script().text("I will ").draft(1, "write", "{\"file\": ").draft(1, "write", "\"a.t");
    let (_, lines) = stopped(half);
    assert_eq!(lines, ["text I will ", "call 1 write {\"file\": \"a.t incomplete", "marker stopped"]);
}

#[test]
fn c13_a_crash_keeps_half_a_thought_and_half_a_call_too() {
    let mut world = World::that_waits();
    let (session, _) = started(&world, script().text("<think>half").draft(1, "write", "{\"file\""));
    let session = cold(&mut world, &session);
    let view = world.until(&session, |view| is_marked(view, MarkerKind::Interrupted));
    let expected =
        ["user go +go.txt", "reasoning half", "call 1 write {\"file\" incomplete", "marker interrupted"];
    assert_eq!(lines(&view), expected);
}

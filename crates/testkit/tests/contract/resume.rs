//! C14 to C20 and P19: interrupted answers resume and read as one text, Stop pauses the queue, and sessions have
//! provisional names.

use std::time::Duration;

use hub::SessionHandle;
use session::{Command, Event, InterruptReason, MarkerKind, PostMode, PromptMessage, RunCause, View};
use testkit::{Gate, Script, World, script};

use crate::kit::{cold, count, is_marked, lines, post, reopened};

const STOP: Command = Command::Stop { run: None, device: None };
const HOUR_MICROS: i64 = 3_600 * 1_000_000;

/// Starts a run and waits until its script was played.
fn started(world: &World, script: Script) -> SessionHandle {
    let played = Gate::default();
    world.agent.add(script.gate(&played).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(played.reached(1));
    session
}

/// A planned restart in which the run does not end in time.
fn drained(world: &mut World, session: &SessionHandle, reason: InterruptReason) -> SessionHandle {
    world.run(world.hub().drain(reason, Duration::ZERO));
    cold(world, session)
}

/// How often a run was resumed, counted once the session's writer has decided on the last one.
fn resumed(world: &World, session: &SessionHandle) -> usize {
    world.submit(session, Command::Rename { title: "named".to_owned() });
    let resumes = |event: &Event| matches!(event, Event::RunStarted { cause: RunCause::Resume, .. });
    count(&world.log(session), resumes)
}

fn texts(view: &View) -> Vec<String> {
    let parts = view.turns.iter().filter_map(|turn| turn.answer.as_ref()).flat_map(|answer| &answer.parts);
    let text = |part: &session::Part| match part {
        session::Part::Text(text) => Some(text.clone()),
        _ => None,
    };
    parts.filter_map(text).collect()
}

#[test]
fn c14_a_stopped_and_continued_answer_is_one_text() {
    let mut world = World::new();
    let session = started(&world, script().step().text("```python\nreturn value"));
    world.submit(&session, STOP);
    world.agent.add(script().step().text(" * 25\n```\n"));
    world.submit(&session, Command::Continue);
    let view = world.until_quiet(&session);
    assert_eq!(texts(&view), ["```python\nreturn value * 25\n```\n"]);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session), view);
    let cuts = &view.turns[0].answer.as_ref().unwrap().interruptions;
    assert_eq!(
        (cuts.len(), cuts[0].part, cuts[0].offset, cuts[0].marker.kind),
        (1, 0, 22, MarkerKind::Stopped)
    );
}

#[test]
fn c14_an_answer_of_forty_runs_is_one_text_for_every_reader() {
    let mut world = World::new();
    let session = started(&world, script().step().text("0 "));
    world.submit(&session, STOP);
    for at in 1..40 {
        let played = Gate::default();
        world.agent.add(script().step().text(&format!("{at} ")).gate(&played).hold());
        world.submit(&session, Command::Continue);
        world.run(played.reached(1));
        world.submit(&session, STOP);
    }
    let whole: String = (0..40).map(|at| format!("{at} ")).collect();
    assert_eq!(texts(&world.view(&session)), [whole.as_str()]);
    let session = cold(&mut world, &session);
    assert_eq!(texts(&world.view(&session)), [whole.as_str()]);
    assert_eq!(answers(&world, &session), [whole.as_str()]);
    world.agent.add(script().step().text("done"));
    world.submit(&session, Command::Continue);
    world.until_quiet(&session);
    let prompt = world.agent.requests().last().unwrap().prompt.clone();
    let begun = PromptMessage::said(whole);
    assert_eq!(prompt.messages.last(), Some(&begun));
}

#[test]
fn c14_a_transcript_has_every_answer_of_a_turn() {
    let world = World::new();
    let session = started(&world, script().step().text("0"));
    world.submit(&session, STOP);
    for at in 1..40 {
        world.agent.add(script().step().text(&at.to_string()));
        world.submit(&session, Command::Retry);
        world.until_quiet(&session);
    }
    let expected: Vec<String> = (0..40).map(|at| at.to_string()).collect();
    assert_eq!(answers(&world, &session), expected);
}

/// Every answer of the only turn, as the transcript tells it.
fn answers(world: &World, session: &SessionHandle) -> Vec<String> {
    world.run(async {
        let mut transcript = session.transcript().await.unwrap();
        let told = transcript.next().await.unwrap().unwrap();
        told.turn.answers().map(|runs| session::joined(runs).texts().collect()).collect()
    })
}

#[test]
fn c14_a_model_that_was_asked_to_continue_says_nothing_twice() {
    let mut world = World::that_continues();
    let session = started(&world, script().step().text("```python\nfirst = 1\nsecond"));
    world.agent.add(script().asked_step().text("```python\nfirst = 1\nsecond = 2\n```\n"));
    let session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    let view = world.until_quiet(&session);
    assert_eq!(texts(&view), ["```python\nfirst = 1\nsecond = 2\n```\n"]);
    let prompt = world.agent.requests().last().unwrap().prompt.clone();
    assert_eq!(prompt.messages.len(), 2, "the model reads its own text once, unfinished");
}

#[test]
fn c15_a_stop_pauses_the_queue() {
    let mut world = World::new();
    let session = started(&world, script().step().text("Deploying"));
    for text in ["then tag it", "then publish it"] {
        world.submit(&session, post(text, PostMode::Queue));
    }
    world.submit(&session, STOP);
    let view = world.view(&session);
    assert!(view.run.is_none() && view.queue.len() == 2 && view.queue.iter().all(|queued| queued.paused));
    let session = cold(&mut world, &session);
    let after = world.view(&session);
    assert_eq!((after.run, &after.queue), (None, &view.queue), "also after a cold start");
    world.agent.add(script().step().text("1.2"));
    world.submit(&session, post("which version?", PostMode::Queue));
    let asked = world.until(&session, |view| view.run.is_none());
    assert_eq!(texts(&asked), ["Deploying", "1.2"]);
    assert_eq!(asked.queue, view.queue, "the paused ones stay paused");
    world.agent.add(script().step().text("Tagged."));
    world.agent.add(script().step().text("Published."));
    world.submit(&session, Command::ResumeQueue);
    assert_eq!(texts(&world.until_quiet(&session)), ["Deploying", "1.2", "Tagged.", "Published."]);
}

#[test]
fn c15_a_paused_queue_can_be_cleared() {
    let world = World::new();
    let session = started(&world, script().step().text("Deploying"));
    world.submit(&session, post("then tag it", PostMode::Queue));
    world.submit(&session, STOP);
    world.submit(&session, Command::ClearQueue);
    world.submit(&session, Command::ResumeQueue);
    let view = world.view(&session);
    assert_eq!((view.run, view.queue.len()), (None, 0));
}

#[test]
fn c15_a_stop_after_an_interruption_keeps_it_from_resuming() {
    let mut world = World::that_waits();
    let session = started(&world, script().step().text("Once upon"));
    world.run(world.hub().drain(InterruptReason::RestartTimeout, Duration::ZERO));
    let session = cold(&mut world, &session);
    // The next writer is the one that the stop asks for, and every later one finds the stop in the log.
    world.run(world.hub().evict(session.session()));
    world.resume_from_now_on();
    world.submit(&session, STOP);
    let session = cold(&mut world, &session);
    assert_eq!(resumed(&world, &session), 0);
    let view = world.view(&session);
    assert_eq!(view.run, None);
    assert!(is_marked(&view, MarkerKind::Interrupted));
}

#[test]
fn c16_a_run_resumes_whatever_interrupted_it() {
    for reason in [Some(InterruptReason::ShutdownTimeout), Some(InterruptReason::RestartTimeout), None] {
        let mut world = World::that_continues();
        let session = started(&world, script().step().text("Once upon"));
        world.agent.add(script().step().text(" a time."));
        let session = match reason.clone() {
            Some(reason) => drained(&mut world, &session, reason),
            None => {
                world.until(&session, |view| !texts(view).is_empty());
                cold(&mut world, &session)
            }
        };
        let view = world.until_quiet(&session);
        assert_eq!(texts(&view), ["Once upon a time."], "{reason:?}");
        assert!(view.turns[0].answer.as_ref().unwrap().complete);
        let told = view.turns[0].answer.as_ref().unwrap().interruptions[0].marker.reason.clone();
        assert_eq!(told, Some(reason.unwrap_or(InterruptReason::Crash)));
    }
}

#[test]
fn c16_a_run_waits_where_the_policy_says_so() {
    let mut world = World::that_waits();
    let session = started(&world, script().step().text("Once upon"));
    let session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    assert_eq!(resumed(&world, &session), 0);
    assert!(is_marked(&world.view(&session), MarkerKind::Interrupted));
}

#[test]
fn c16_a_run_whose_call_may_have_run_waits() {
    let mut world = World::that_continues();
    let session = started(&world, script().step().call(1, "deploy", "{}"));
    let session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    assert_eq!(resumed(&world, &session), 0);
}

#[test]
fn c16_a_branch_does_not_resume_what_its_origin_left() {
    let mut world = World::that_waits();
    let session = started(&world, script().step().text("Once upon"));
    let session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    let turn = world.view(&session).turns[0].turn;
    let branch = world.run(world.hub().branch(session.session(), turn)).unwrap();
    world.run(world.hub().evict(branch.session()));
    world.resume_from_now_on();
    assert_eq!(resumed(&world, &branch), 0);
    assert_eq!(world.view(&branch).run, None);
}

#[test]
fn c16_freshness_counts_from_the_last_output() {
    let mut world = World::that_continues();
    let (before, after) = (Gate::default(), Gate::default());
    world.agent.add(script().step().text("Once ").gate(&before).step().text("upon").gate(&after).hold());
    let session = world.create();
    world.submit(&session, post("go", PostMode::Queue));
    world.run(before.reached(1));
    world.clock.advance(HOUR_MICROS + 60_000_000);
    before.open();
    world.run(after.reached(1));
    world.agent.add(script().step().text(" a time."));
    let session = drained(&mut world, &session, InterruptReason::ShutdownTimeout);
    assert_eq!(texts(&world.until_quiet(&session)), ["Once upon a time."], "it wrote a moment ago");
    let session = started(&world, script().step().text("There was"));
    world.run(world.hub().drain(InterruptReason::ShutdownTimeout, Duration::ZERO));
    world.clock.advance(HOUR_MICROS + 60_000_000);
    let session = cold(&mut world, &session);
    assert_eq!(resumed(&world, &session), 0, "its last output is too old");
}

#[test]
fn c16_a_message_goes_before_a_run_that_would_resume() {
    let mut world = World::that_waits();
    let session = started(&world, script().step().text("Once upon"));
    world.run(world.hub().drain(InterruptReason::RestartTimeout, Duration::ZERO));
    let session = cold(&mut world, &session);
    // The policy changes while nobody holds the session: its next writer is the one that a message asks for.
    world.run(world.hub().evict(session.session()));
    world.resume_from_now_on();
    world.agent.add(script().step().text("Something else."));
    world.submit(&session, post("never mind", PostMode::Queue));
    let view = world.until_quiet(&session);
    assert_eq!(resumed(&world, &session), 0);
    assert_eq!(texts(&view), ["Once upon", "Something else."]);
}

#[test]
fn c17_any_number_of_interruptions_with_output_resumes() {
    let mut world = World::that_continues();
    let mut session = started(&world, script().step().text("0 "));
    for round in 1..=10 {
        let played = Gate::default();
        let more = script().step().text(&format!("{round} ")).gate(&played);
        world.agent.add(if round == 10 { more } else { more.hold() });
        session = drained(&mut world, &session, InterruptReason::RestartTimeout);
        world.run(played.reached(1));
        played.open();
    }
    let view = world.until_quiet(&session);
    assert_eq!(texts(&view), ["0 1 2 3 4 5 6 7 8 9 10 "]);
    assert!(!view.stuck);
}

#[test]
fn c17_three_interruptions_without_output_between_them_end_the_resume() {
    let mut world = World::that_continues();
    let mut session = started(&world, script().step().text("so far"));
    for round in 0..3 {
        // The third one does not resume.
        if round < 2 {
            world.agent.add(script().hold());
        }
        session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    }
    let view = world.view(&session);
    assert!(view.stuck && view.run.is_none(), "{:?}", lines(&view));
    assert_eq!(resumed(&world, &session), 2);
    world.agent.add(script().step().text(" and on"));
    world.submit(&session, Command::Continue);
    let view = world.until_quiet(&session);
    assert_eq!((texts(&view), view.stuck), (vec!["so far and on".to_owned()], false));
}

#[test]
fn c18_a_steer_takes_another_step_where_there_was_no_call() {
    let world = World::new();
    let (first, second) = (Gate::default(), Gate::default());
    let begins = script().step().text("Roses are red").gate(&first).step_ended();
    world.agent.add(begins.text("Les roses sont rouges").gate(&second).step_ended());
    let session = world.create();
    world.submit(&session, post("a poem", PostMode::Queue));
    world.run(first.reached(1));
    world.submit(&session, post("in French", PostMode::Steer));
    first.open();
    world.run(second.reached(1));
    second.open();
    let view = world.until_quiet(&session);
    let expected = [
        "user a poem +a poem.txt",
        "text Roses are red",
        "steered in French +in French.txt",
        "text Les roses sont rouges",
    ];
    assert_eq!(lines(&view), expected);
}

#[test]
fn c18_a_steer_waits_until_a_resumed_text_is_finished() {
    let mut world = World::that_continues();
    let session = started(&world, script().step().text("Roses are"));
    world.submit(&session, post("in French", PostMode::Steer));
    world.agent.add(script().step().text(" red").step_ended().text("Les roses sont rouges").step_ended());
    let session = drained(&mut world, &session, InterruptReason::RestartTimeout);
    let view = world.until_quiet(&session);
    let expected = [
        "user go +go.txt",
        "text Roses are red",
        "steered in French +in French.txt",
        "text Les roses sont rouges",
        "at 0.9 marker interrupted",
    ];
    assert_eq!(lines(&view), expected);
}

#[test]
fn c20_the_turn_that_is_answered_is_in_the_prompt_though_a_summary_covers_it() {
    let world = World::new();
    let session = started(&world, script().step().text("Roses are"));
    world.submit(&session, STOP);
    let turn = world.view(&session).turns[0].turn;
    world.submit(
        &session,
        Command::CompactContext { run: None, summary: "Flowers.".to_owned(), through: turn },
    );
    world.agent.add(script().step().text(" red"));
    world.submit(&session, Command::Continue);
    assert_eq!(texts(&world.until_quiet(&session)), ["Roses are red"]);
    world.agent.add(script().step().text("Violets are blue"));
    world.submit(&session, Command::Retry);
    world.until_quiet(&session);
    let prompts: Vec<_> =
        world.agent.requests().iter().map(|request| request.prompt.messages.clone()).collect();
    let said = |messages: &[PromptMessage]| {
        let user = messages.iter().any(|message| matches!(message, PromptMessage::User(_)));
        let begun = messages.iter().any(|message| matches!(message, PromptMessage::Assistant { .. }));
        (user, begun)
    };
    let said: Vec<_> = prompts.iter().map(|messages| said(messages)).collect();
    assert_eq!(said, [(true, false), (true, true), (true, false)]);
}

#[test]
fn c19_reaching_the_output_limit_needs_no_attention() {
    let mut world = World::new();
    world.agent.add(script().step().text("one two").output_limit(1_024));
    let session = world.create();
    world.submit(&session, post("all of it", PostMode::Queue));
    let view = world.until_quiet(&session);
    assert!(is_marked(&view, MarkerKind::OutputLimit));
    let session = cold(&mut world, &session);
    let row = crate::kit::list(&world).into_iter().find(|row| row.session == session.session()).unwrap();
    assert_eq!(row.needs, None);
    world.agent.add(script().step().text(" three"));
    world.submit(&session, Command::Continue);
    assert_eq!(texts(&world.until_quiet(&session)), ["one two three"]);
}

#[test]
fn p19_a_session_is_called_by_its_first_line_at_once() {
    let mut world = World::new();
    let session = started(&world, script().step().text("so"));
    let name = |world: &World, session: &SessionHandle| {
        let rows = crate::kit::list(world);
        rows.into_iter().find(|row| row.session == session.session()).unwrap().title
    };
    assert_eq!((name(&world, &session), world.view(&session).title), (Some("go".into()), Some("go".into())));
    world.submit(&session, STOP);
    let session = cold(&mut world, &session);
    assert_eq!(world.view(&session).title.as_deref(), Some("go"));
    world.submit(&session, Command::SuggestTitle { title: "Going".to_owned() });
    assert_eq!(name(&world, &reopened(&world, &session)).as_deref(), Some("Going"));
}

//! Requests for titles, and their usage.

use session::{
    Command, Context, Effect, Message, PostMode, Progress, RequestPurpose, RunId, Runs, Time, TurnId, Usage,
    decide,
};

use crate::asked::Asked;

/// Completes the open run and returns the effects.
fn complete(asked: &mut Asked) -> Vec<Effect> {
    asked.bring(Progress::Text("an answer".to_owned()));
    let run = asked.0.open_run.unwrap();
    let context =
        Context { now: Time(0), spool: None, runs: Runs::Allowed, chat: false, resume_within_micros: 0 };
    let command = Command::Progress { run, progress: Progress::Completed };
    let effects = decide(&asked.0, command.clone(), &context).unwrap().effects;
    asked.ask(command);
    effects
}

fn bill(asked: &mut Asked, run: RunId, purpose: RequestPurpose) {
    let usage = Usage { input_tokens: 40, output_tokens: 2, ..Usage::default() };
    asked.ask(Command::BillRequest { turn: TurnId(2), run, purpose, usage });
}

#[test]
fn c29_a_title_is_requested_at_most_twice() {
    let mut asked = Asked::new();
    asked.ask(Command::PostMessage { message: Message::text("one"), mode: PostMode::Queue, key: None });
    for requests in 0..4 {
        let run = asked.0.open_run.unwrap();
        let asks = complete(&mut asked).contains(&Effect::SuggestTitle { turn: TurnId(2), run });
        assert_eq!(asks, requests < 2, "after {requests} requests");
        bill(&mut asked, run, RequestPurpose::Title);
        let usage = asked.0.turns[0].run(run).unwrap().usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (40, 2));
        asked.ask(Command::Retry);
    }
}

#[test]
fn a_summary_is_billed_but_does_not_count_as_a_title_request() {
    let mut asked = Asked::new();
    asked.ask(Command::PostMessage { message: Message::text("one"), mode: PostMode::Queue, key: None });
    let run = asked.0.open_run.unwrap();
    complete(&mut asked);
    (0..3).for_each(|_| bill(&mut asked, run, RequestPurpose::Summary));
    assert_eq!(asked.0.titles_requested, 0);
    assert_eq!(asked.0.turns[0].run(run).unwrap().usage.input_tokens, 120);
}

//! What a model is shown: caps, the summary, steered messages, and calls whose outcome is unknown.

use session::event::CallStatus;
use session::limits::{PROMPT_BYTES_MAX, PROMPT_RESULT_BYTES_MAX};
use session::{
    CallNo, Command, EarlierRange, Message, Outcome, PostMode, Progress, Prompt, PromptMessage, PromptTurn,
    Seq, TurnId, prompt,
};

use crate::asked::Asked;

impl Asked {
    fn say(&mut self, text: &str, mode: PostMode) -> TurnId {
        self.ask(Command::PostMessage { message: Message::text(text), mode, key: None })
    }

    fn call(&mut self, call: u32, tool: &str) {
        let provider_call = Some(format!("toolu_{call}"));
        let (tool, arguments) = (tool.to_owned(), "{}".to_owned());
        self.bring(Progress::CallAsked { call: CallNo(call), tool, arguments, provider_call });
    }

    fn finish(&mut self, call: u32, content: &str) {
        let outcome = Outcome { status: CallStatus::Ok, content: content.to_owned() };
        self.bring(Progress::CallFinished { call: CallNo(call), outcome });
    }

    fn turn(&mut self, message: &str, answer: &str) -> TurnId {
        let turn = self.say(message, PostMode::Queue);
        self.bring(Progress::Text(answer.to_owned()));
        self.bring(Progress::Completed);
        turn
    }

    /// The range before the oldest turn in the state, which a prompt that holds all of the state leaves out.
    fn earlier(&self) -> EarlierRange {
        let oldest = prompt(&self.0).turns[0].turn;
        let before = self.0.turn(oldest).unwrap().started().unwrap();
        let indexed = self.0.open_run.map_or(self.0.head(), |run| Seq(run.0 - 1));
        EarlierRange { before, after: None, indexed }
    }

    fn messages(&self) -> Vec<PromptMessage> {
        prompt(&self.0).messages
    }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User(Message::text(text))
}

fn assistant(text: &str, reasoning: &str, calls: &[(u32, &str)]) -> PromptMessage {
    let calls = calls.iter().map(|(call, tool)| session::PromptCall {
        call: CallNo(*call),
        provider_call: Some(format!("toolu_{call}")),
        tool: (*tool).to_owned(),
        arguments: "{}".to_owned(),
    });
    PromptMessage::Assistant {
        text: text.to_owned(),
        reasoning: reasoning.to_owned(),
        calls: calls.collect(),
        parts: Vec::new(),
    }
}

fn result(call: u32, content: &str) -> PromptMessage {
    let (provider_call, content) = (Some(format!("toolu_{call}")), content.to_owned());
    PromptMessage::Result { call: CallNo(call), provider_call, content }
}

#[test]
fn calls_stand_with_what_was_said_before_them_and_results_follow() {
    let mut asked = Asked::new();
    asked.say("list files", PostMode::Queue);
    asked.bring(Progress::Step { asked_to_continue: false });
    asked.bring(Progress::Reasoning("I look.".to_owned()));
    asked.bring(Progress::Text("Looking.".to_owned()));
    asked.call(1, "ls");
    asked.call(2, "df");
    asked.finish(2, "90 %");
    asked.finish(1, "a.txt");
    asked.bring(Progress::Step { asked_to_continue: false });
    asked.bring(Progress::Text("One file.".to_owned()));
    let expected = [
        user("list files"),
        assistant("Looking.", "I look.", &[(1, "ls"), (2, "df")]),
        result(1, "a.txt"),
        result(2, "90 %"),
        assistant("One file.", "", &[]),
    ];
    assert_eq!(asked.messages(), expected);
}

#[test]
fn an_open_call_says_that_it_may_have_run_and_a_half_drafted_one_is_left_out() {
    let mut asked = Asked::new();
    asked.say("tidy up", PostMode::Queue);
    asked.call(1, "rm");
    let (tool, arguments) = ("rm".to_owned(), "{\"pa".to_owned());
    asked.bring(Progress::CallDrafted { call: CallNo(2), tool, arguments });
    asked.ask(Command::Stop { run: None, device: None });
    let unknown = "The call was interrupted. It may have run; its outcome is unknown.";
    assert_eq!(asked.messages(), [user("tidy up"), assistant("", "", &[(1, "rm")]), result(1, unknown)]);
}

#[test]
fn a_steered_message_stands_where_it_went_in() {
    let mut asked = Asked::new();
    asked.say("a poem", PostMode::Queue);
    asked.bring(Progress::Step { asked_to_continue: false });
    asked.call(1, "muse");
    asked.finish(1, "inspired");
    asked.say("about violets", PostMode::Steer);
    asked.say("next time", PostMode::Queue);
    asked.bring(Progress::Step { asked_to_continue: false });
    asked.bring(Progress::Text("Violets.".to_owned()));
    let expected = [
        user("a poem"),
        assistant("", "", &[(1, "muse")]),
        result(1, "inspired"),
        user("about violets"),
        assistant("Violets.", "", &[]),
    ];
    assert_eq!(asked.messages(), expected);
}

#[test]
fn a_summary_stands_for_everything_up_to_its_turn() {
    let mut asked = Asked::new();
    asked.turn("one", "1");
    let through = asked.turn("two", "2");
    let three = asked.turn("three", "3");
    asked.ask(Command::CompactContext { run: None, summary: "They counted.".to_owned(), through });
    let expected =
        [PromptMessage::Summary("They counted.".to_owned()), user("three"), assistant("3", "", &[])];
    assert_eq!(
        prompt(&asked.0),
        Prompt { messages: expected.to_vec(), turns: vec![PromptTurn { turn: three, at: 1 }], earlier: None }
    );
}

#[test]
fn a_summary_of_a_turn_that_was_taken_back_is_not_read() {
    let mut asked = Asked::new();
    asked.turn("one", "1");
    let through = asked.turn("a secret", "2");
    asked.ask(Command::CompactContext { run: None, summary: "They told a secret.".to_owned(), through });
    asked.ask(Command::Undo { from: None });
    assert_eq!(asked.messages(), [user("one"), assistant("1", "", &[])]);
}

#[test]
fn only_the_answer_that_is_shown_is_read() {
    let mut asked = Asked::new();
    let turn = asked.turn("a number?", "1");
    asked.ask(Command::Retry);
    asked.bring(Progress::Text("2".to_owned()));
    asked.bring(Progress::Completed);
    assert_eq!(asked.messages(), [user("a number?"), assistant("2", "", &[])]);
    let run = asked.0.turn(turn).unwrap().runs[0].id;
    asked.ask(Command::ChooseAnswer { turn, run });
    assert_eq!(asked.messages(), [user("a number?"), assistant("1", "", &[])]);
}

#[test]
fn a_run_reads_its_own_answer_whichever_one_is_shown() {
    let mut asked = Asked::new();
    let turn = asked.turn("a number?", "1");
    asked.ask(Command::Retry);
    asked.bring(Progress::Text("2".to_owned()));
    let run = asked.0.turn(turn).unwrap().runs[0].id;
    asked.ask(Command::ChooseAnswer { turn, run });
    assert_eq!(asked.messages(), [user("a number?"), assistant("2", "", &[])]);
    asked.bring(Progress::Completed);
    assert_eq!(asked.messages(), [user("a number?"), assistant("1", "", &[])]);
}

#[test]
fn a_long_result_is_cut_between_two_letters_and_says_so() {
    // Each letter has three bytes, and the cap is no multiple of three.
    let content = "語".repeat(PROMPT_RESULT_BYTES_MAX);
    let mut asked = Asked::new();
    asked.say("read it", PostMode::Queue);
    asked.call(1, "cat");
    asked.finish(1, &content);
    let shown = PROMPT_RESULT_BYTES_MAX / 3 * 3;
    assert_ne!(shown, PROMPT_RESULT_BYTES_MAX);
    let cut = format!("{}\n[cut: {shown} of {} bytes shown]", "語".repeat(shown / 3), content.len());
    assert_eq!(asked.messages(), [user("read it"), assistant("", "", &[(1, "cat")]), result(1, &cut)]);
}

#[test]
fn a_result_at_the_cap_is_whole() {
    let content = "x".repeat(PROMPT_RESULT_BYTES_MAX);
    let mut asked = Asked::new();
    asked.say("read it", PostMode::Queue);
    asked.call(1, "cat");
    asked.finish(1, &content);
    assert_eq!(asked.messages().pop(), Some(result(1, &content)));
}

#[test]
fn turns_beyond_the_cap_are_left_out_oldest_first_and_it_says_so() {
    // The state keeps less than a prompt may hold; only the newest turn can pass its bound.
    let mut asked = Asked::new();
    asked.turn("one", "1");
    asked.say("two", PostMode::Queue);
    let long = "x".repeat(PROMPT_BYTES_MAX);
    asked.bring(Progress::Text(long.clone()));
    let shown = prompt(&asked.0);
    assert_eq!(shown.messages, [user("two"), assistant(&long, "", &[])]);
    assert_eq!(shown.earlier, Some(asked.earlier()));
}

#[test]
fn turns_that_left_the_state_are_read_from_the_log() {
    let mut asked = Asked::new();
    for _ in 0..65 {
        asked.turn("hello", "hi");
    }
    let expected: Vec<_> = (0..64).flat_map(|_| [user("hello"), assistant("hi", "", &[])]).collect();
    let shown = prompt(&asked.0);
    assert_eq!(shown.messages, expected);
    assert_eq!(shown.earlier, Some(asked.earlier()));
    // Every turn is found where its message stands.
    assert_eq!(
        shown.turns.iter().map(|turn| turn.at).collect::<Vec<_>>(),
        (0..128).step_by(2).collect::<Vec<_>>()
    );
}

#[test]
fn a_session_without_turns_has_an_empty_prompt() {
    assert_eq!(prompt(&Asked::new().0), Prompt::default());
}

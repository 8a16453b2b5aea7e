//! Whole runs against a provider that answers as a test says: retries, tools, limits, going on, and a window that fills.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{
    Agent, AnswerLimits, Broken, Density, Dialect, History, LearnedDialect, Model, NoHistory, Over, Prices,
    Provider, ProviderError, Reply, Request, RequestOptions, RunLimits, Sink, Tool, ToolCall, ToolOffer,
    Transport, Unreadable, Wire, Work, World,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use session::{
    Attachment, BlobHash, CallNo, EarlierRange, Message, Outcome, Progress, Prompt, PromptCall,
    PromptMessage, PromptTurn, ProviderPart, RetryReason, Seq, Time, TurnId, Usage,
};
use tokio::time::Instant;

/// What a provider answers to one request.
#[derive(Clone)]
enum Answer {
    Says(&'static str),
    Calls(&'static str, &'static str),
    /// A call with a signature.
    Signed,
    /// Text, and this reason for its end.
    Ends(&'static str, &'static str),
    /// Text, and then the connection is cut.
    Cut(&'static str),
    /// A signature, and then the connection is cut.
    SignedAndCut,
    Status(u16, Option<u64>),
    /// Text for messages up to this size in bytes; otherwise a refusal without the size that fits.
    UpTo(usize),
}

/// Answers request by request, and keeps what it was asked. The last answer is given for ever.
#[derive(Clone, Default)]
struct Scripted {
    answers: Arc<Mutex<Vec<Answer>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    fn new(answers: &[Answer]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.to_vec())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let asked: Value = serde_json::from_str(&request.body).unwrap();
        let size_bytes = asked["messages"].to_string().len();
        self.asked.lock().unwrap().push(asked);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        let chunk = |delta: Value, finish: Value| {
            format!("data: {}\n\n", json!({ "choices": [{ "delta": delta, "finish_reason": finish }] }))
        };
        let bill = json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } });
        let (status, wait, body) = match answer {
            Answer::Says(text) => (200, None, chunk(json!({ "content": text }), json!("stop"))),
            Answer::Calls(tool, arguments) => {
                let call =
                    json!({ "index": 0, "id": "c", "function": { "name": tool, "arguments": arguments } });
                (200, None, chunk(json!({ "tool_calls": [call] }), json!("tool_calls")))
            }
            Answer::Signed => {
                let call = json!({ "index": 0, "id": "c", "function": { "name": "clock", "arguments": "{}" },
                    "extra_content": { "signature": 1 } });
                let details = |text| json!({ "reasoning_details": [{ "type": "t", "text": text }] });
                let pieces = chunk(details("one "), Value::Null) + &chunk(details("two"), Value::Null);
                (200, None, pieces + &chunk(json!({ "tool_calls": [call] }), json!("tool_calls")))
            }
            Answer::Ends(text, reason) => (200, None, chunk(json!({ "content": text }), json!(reason))),
            Answer::Cut(text) => (200, None, chunk(json!({ "content": text }), Value::Null)),
            Answer::SignedAndCut => {
                let details =
                    json!({ "reasoning": "hm", "reasoning_details": [{ "type": "t", "text": "lost" }] });
                (200, None, chunk(details, Value::Null))
            }
            Answer::UpTo(most) if size_bytes <= most => {
                (200, None, chunk(json!({ "content": "fine" }), json!("stop")))
            }
            Answer::UpTo(_) => {
                (400, None, json!({ "error": { "message": "Prompt exceeds max length" } }).to_string())
            }
            Answer::Status(status, wait) => {
                (status, wait, json!({ "error": { "message": "no" } }).to_string())
            }
        };
        let is_cut = status != 200 || matches!(answer, Answer::Cut(_) | Answer::SignedAndCut);
        let body = if is_cut { body } else { format!("{body}data: {bill}\n\ndata: [DONE]\n\n") };
        let body = stream::iter([Ok::<_, Broken>(Bytes::from(body))]).boxed();
        let retry_after = wait.map(Duration::from_secs);
        std::future::ready(Ok(Reply { status, retry_after, request: Some("req_7".to_owned()), body })).boxed()
    }
}

/// Collects the progress of a run.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) reported: Mutex<Vec<Progress>>,
    compacted: Mutex<Vec<(String, TurnId)>>,
    text: Mutex<String>,
}

impl Recorder {
    pub(crate) fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    pub(crate) fn failure(&self) -> Option<String> {
        let reported = self.reported.lock().unwrap();
        reported.iter().find_map(|progress| match progress {
            Progress::Failed { error } => Some(error.clone()),
            _ => None,
        })
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let reported = self.reported.lock().unwrap();
        let outcomes = reported.iter().filter_map(|progress| match progress {
            Progress::CallFinished { outcome, .. } => Some(outcome.clone()),
            _ => None,
        });
        outcomes.collect()
    }
}

impl Sink for Recorder {
    fn rests_until(&self) -> Option<Instant> {
        None
    }

    async fn text(&self, text: &str) -> Result<(), Over> {
        self.text.lock().unwrap().push_str(text);
        Ok(())
    }

    async fn reasoning(&self, _: &str) -> Result<(), Over> {
        Ok(())
    }

    async fn draft(&self, _: CallNo, _: &str, _: &str) -> Result<(), Over> {
        Ok(())
    }

    async fn report(&self, progress: Progress) -> Result<Vec<Message>, Over> {
        self.reported.lock().unwrap().push(progress);
        Ok(Vec::new())
    }

    async fn compact(&self, summary: String, through: TurnId) -> Result<(), Over> {
        self.compacted.lock().unwrap().push((summary, through));
        Ok(())
    }
}

/// One file, and a clock that stands still.
struct OneFile;

impl World for OneFile {
    fn now(&self) -> Time {
        Time(1_700_000_000_000_000)
    }

    fn blob(&self, blob: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
        std::future::ready(Ok((blob.0 == "known").then(|| "herons ".repeat(10_000).into_bytes()))).boxed()
    }
}

fn agent(provider: &Scripted) -> Agent {
    model_with(Provider {
        wire: Wire::OpenAi,
        url: "http://model/v1".to_owned(),
        key: None,
        takes_prefix: false,
        transport: Arc::new(provider.clone()),
        limits: AnswerLimits::default(),
        dialect: LearnedDialect::default(),
        options: RequestOptions::default(),
    })
}

/// An agent with one model, and the tools that everybody has.
pub(crate) fn model_with(provider: Provider) -> Agent {
    let model = Model {
        name: "m".to_owned(),
        id: "m".to_owned(),
        provider,
        window_tokens: 1_000,
        output_tokens_max: 100,
        prices: Prices { input_micros: 1_000_000, output_micros: 2_000_000, ..Prices::default() },
        uses_tools: true,
        density: Density::default(),
    };
    Agent {
        models: vec![model],
        background: None,
        tools: agent::tool::built_in(),
        world: Arc::new(OneFile),
        media: Arc::default(),
        limits: RunLimits::default(),
        instructions: None,
    }
}

pub(crate) fn asks(text: &str) -> Prompt {
    let messages = vec![PromptMessage::User(Message::text(text))];
    Prompt { messages, turns: vec![PromptTurn { turn: TurnId(2), at: 0 }], earlier: None }
}

fn says(text: &str) -> PromptMessage {
    PromptMessage::said(text)
}

pub(crate) async fn run(agent: &Agent, prompt: Prompt) -> Recorder {
    let recorder = Recorder::default();
    agent.run(Work { prompt, history: &NoHistory }, &recorder).await.unwrap();
    recorder
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_asked_again_when_it_wishes_and_a_refusal_ends_the_run() {
    let provider =
        Scripted::new(&[Answer::Status(429, Some(7)), Answer::Status(500, None), Answer::Says("hi")]);
    let begun = tokio::time::Instant::now();
    let recorder = run(&agent(&provider), asks("hello")).await;
    assert_eq!((recorder.failure(), recorder.text.lock().unwrap().as_str()), (None, "hi"));
    let pauses = Duration::from_secs(7) + Duration::from_secs(1);
    assert!(
        begun.elapsed() >= pauses && begun.elapsed() < pauses + Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    let usage = Usage { input_tokens: 100, output_tokens: 10, cost_micros: 120, ..Usage::default() };
    assert!(recorder.reported.lock().unwrap().contains(&Progress::Usage(usage)));

    let provider = Scripted::new(&[Answer::Status(401, None)]);
    let recorder = run(&agent(&provider), asks("hello")).await;
    assert_eq!(provider.asked().len(), 1);
    assert!(recorder.failure().unwrap().contains("HTTP 401: no"));

    let provider = Scripted::new(&[Answer::Status(429, Some(3_600))]);
    let recorder = run(&agent(&provider), asks("hello")).await;
    assert_eq!(provider.asked().len(), 1, "a person is told instead of kept waiting for an hour");
    assert!(recorder.failure().unwrap().contains("rate limit was reached"));
}

#[tokio::test(start_paused = true)]
async fn tools_are_done_and_their_outcome_shown_to_the_model() {
    let provider = Scripted::new(&[Answer::Calls("clock", "{}"), Answer::Says("noon")]);
    let recorder = run(&agent(&provider), asks("time?")).await;
    assert_eq!(recorder.outcomes()[0].content, "Tuesday, 2023-11-14 22:13:20 UTC");
    assert_eq!(provider.asked()[1]["messages"][2]["content"], "Tuesday, 2023-11-14 22:13:20 UTC");

    for (tool, arguments, told) in
        [("shell", "{}", "no tool"), ("clock", "{", "not JSON"), ("read_attachment", "{}", "its name")]
    {
        let provider = Scripted::new(&[Answer::Calls(tool, arguments), Answer::Says("so be it")]);
        let recorder = run(&agent(&provider), asks("go")).await;
        assert!(recorder.outcomes()[0].content.contains(told), "{:?}", recorder.outcomes());
        assert_eq!(recorder.failure(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn c25_provider_parts_are_kept_and_go_back_to_their_family_alone() {
    let provider = Scripted::new(&[Answer::SignedAndCut, Answer::Signed, Answer::Says("noon")]);
    let mut agent = agent(&provider);
    agent.models[0].provider.dialect = LearnedDialect::new(Dialect::of("http://a.example/v1", "m"));
    let recorder = run(&agent, asks("time?")).await;
    let kept: Vec<ProviderPart> = {
        let reported = recorder.reported.lock().unwrap();
        let asked = reported.iter().position(|one| matches!(one, Progress::CallAsked { .. })).unwrap();
        let before = reported[..asked].iter().filter_map(|progress| match progress {
            Progress::Part(part) => Some(part.clone()),
            _ => None,
        });
        before.collect()
    };
    let told = |part: &ProviderPart| (part.kind.clone(), part.call, part.data.clone(), part.family.clone());
    let family = "a.example/m".to_owned();
    let expected = [
        ("extra_content".to_owned(), Some(CallNo(1)), r#"{"signature":1}"#.to_owned(), family.clone()),
        ("reasoning_details".to_owned(), None, r#"[{"text":"one two","type":"t"}]"#.to_owned(), family),
    ];
    assert_eq!(kept.iter().map(told).collect::<Vec<_>>(), expected, "and nothing of the try that was cut");
    let back = provider.asked()[2]["messages"][1].clone();
    assert_eq!(back["tool_calls"][0]["extra_content"], json!({ "signature": 1 }));
    assert_eq!(back["reasoning_details"][0]["text"], "one two");

    let mut prompt = asks("time?");
    let calls = vec![PromptCall {
        call: CallNo(1),
        provider_call: None,
        tool: "clock".to_owned(),
        arguments: "{}".to_owned(),
    }];
    let (text, reasoning) = (String::new(), String::new());
    prompt.messages.push(PromptMessage::Assistant { text, reasoning, calls, parts: kept });
    prompt.messages.push(PromptMessage::User(Message::text("again?")));
    for (model, sent) in [("m2", true), ("other", false)] {
        let provider = Scripted::new(&[Answer::Says("noon")]);
        let mut agent = self::agent(&provider);
        agent.models[0].provider.dialect = LearnedDialect::new(Dialect::of("http://a.example/v1", model));
        run(&agent, prompt.clone()).await;
        let back = provider.asked()[0]["messages"][1].clone();
        assert_eq!(!back["reasoning_details"].is_null(), sent, "{model}: {back}");
        assert_eq!(!back["tool_calls"][0]["extra_content"].is_null(), sent, "{model}: {back}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_before_a_retry_is_in_the_log() {
    let provider = Scripted::new(&[Answer::Status(429, Some(7)), Answer::Says("hi")]);
    let recorder = run(&agent(&provider), asks("hello")).await;
    let reported = recorder.reported.lock().unwrap();
    let waits: Vec<_> = reported
        .iter()
        .filter_map(|progress| match progress {
            Progress::Retry { reason, error, wait_ms, request } => {
                Some((reason.clone(), error.clone(), *wait_ms, request.clone()))
            }
            _ => None,
        })
        .collect();
    let [(reason, error, wait_ms, request)] = waits.as_slice() else { panic!("{waits:?}") };
    assert_eq!(*reason, RetryReason::RateLimit);
    assert!(error.contains("HTTP 429: no") && (7_000..8_000).contains(wait_ms), "{error} {wait_ms}");
    assert_eq!(request.as_deref(), Some("req_7"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_answer_names_the_providers_request() {
    for answer in [Answer::Status(401, None), Answer::Ends("no", "content_filter")] {
        let recorder = run(&agent(&Scripted::new(&[answer])), asks("hello")).await;
        let failure = recorder.failure().unwrap();
        assert!(failure.ends_with("Request ID: req_7"), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_providers_last_count_says_how_much_fits() {
    let turns = || {
        let messages = vec![
            PromptMessage::User(Message::text("x".repeat(100))),
            says("hi"),
            PromptMessage::User(Message::text("so?")),
        ];
        let turns = vec![PromptTurn { turn: TurnId(2), at: 0 }, PromptTurn { turn: TurnId(8), at: 2 }];
        Prompt { messages, turns, earlier: None }
    };
    let small = |provider: &Scripted| {
        let mut agent = agent(provider);
        agent.tools.clear();
        agent.models[0].window_tokens = 200;
        agent
    };
    let provider = Scripted::new(&[Answer::Says("hi")]);
    let recorder = run(&small(&provider), turns()).await;
    assert_eq!(recorder.compacted.lock().unwrap().as_slice(), [], "it fits by the assumed count");
    let provider = Scripted::new(&[Answer::Says("hi"), Answer::Says("in short"), Answer::Says("so")]);
    let agent = small(&provider);
    // The provider counts 100 tokens in 150 bytes: 1.5 bytes per token, half of the assumed 3.
    run(&agent, asks(&"x".repeat(150))).await;
    let recorder = run(&agent, turns()).await;
    assert_eq!(recorder.compacted.lock().unwrap().as_slice(), [("in short".to_owned(), TurnId(2))]);
    let reported = recorder.reported.lock().unwrap();
    let bills = reported.iter().filter(|progress| matches!(progress, Progress::Usage(_)));
    assert_eq!(bills.count(), 2, "the summary is on the bill");
}

#[tokio::test(start_paused = true)]
async fn an_attachment_of_the_session_is_read_in_pieces_and_no_other() {
    let file = Attachment {
        name: "birds.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        blob: BlobHash("known".to_owned()),
        size_bytes: 70_000,
    };
    let message = Message { attachments: vec![file], ..Message::text("read it") };
    let prompt = Prompt { messages: vec![PromptMessage::User(message)], ..asks("") };
    let provider = Scripted::new(&[
        Answer::Calls("read_attachment", r#"{"name":"birds.txt"}"#),
        Answer::Calls("read_attachment", r#"{"name":"birds.txt","offset":69999}"#),
        Answer::Calls("read_attachment", r#"{"name":"other.txt"}"#),
        Answer::Says("done"),
    ]);
    let mut agent = agent(&provider);
    agent.models[0].window_tokens = 1_000_000;
    let recorder = run(&agent, prompt).await;
    let asked = provider.asked();
    assert!(
        asked[0]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("[attached: birds.txt (text/plain, 70000 bytes)]")
    );
    let outcomes = recorder.outcomes();
    assert!(
        outcomes[0].content.starts_with("herons herons")
            && outcomes[0].content.contains("read on with offset 32768")
    );
    assert_eq!(outcomes[1].content, " ");
    assert!(outcomes[2].content.contains("There are: birds.txt"));
}

/// A tool that does not end.
struct Endless;

impl Tool for Endless {
    fn offer(&self) -> ToolOffer {
        ToolOffer { name: "endless".to_owned(), about: String::new(), arguments: json!({}) }
    }

    fn call(&self, _: ToolCall) -> BoxFuture<'static, Outcome> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn every_limit_ends_a_run_and_says_which() {
    let forever = || Scripted::new(&[Answer::Calls("clock", "{}")]);
    let limits: [(&str, RunLimits); 4] = [
        ("3 steps", RunLimits { steps_max: 3, ..RunLimits::default() }),
        ("500 tokens", RunLimits { tokens_max: 500, ..RunLimits::default() }),
        ("a cost of 0.00", RunLimits { cost_micros_max: 300, ..RunLimits::default() }),
        ("4 bytes of output", RunLimits { output_bytes_max: 4, ..RunLimits::default() }),
    ];
    for (name, limits) in limits {
        let provider = forever();
        let mut agent = agent(&provider);
        agent.limits = limits;
        let recorder = run(&agent, asks("go")).await;
        let failure = recorder.failure().unwrap();
        assert!(failure.contains(name) && failure.contains("Everything above is saved"), "{failure}");
        assert!(provider.asked().len() <= 5);
    }
    let provider = Scripted::new(&[Answer::Calls("endless", "{}")]);
    let mut agent = agent(&provider);
    agent.tools.push(Arc::new(Endless));
    agent.limits.time_max = Duration::from_secs(90);
    let recorder = run(&agent, asks("go")).await;
    assert!(recorder.outcomes()[0].content.contains("longer than 60 s"));
    assert!(recorder.failure().unwrap().contains("1 minutes"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_goes_on_from_its_beginning_or_is_asked_to() {
    for takes_prefix in [true, false] {
        let provider = Scripted::new(&[Answer::Says(" and wait.")]);
        let mut agent = agent(&provider);
        agent.models[0].provider.takes_prefix = takes_prefix;
        let mut prompt = asks("herons?");
        prompt.messages.push(says("They wade"));
        run(&agent, prompt).await;
        let messages = provider.asked()[0]["messages"].as_array().unwrap().clone();
        assert_eq!(messages[1], json!({ "role": "assistant", "content": "They wade" }));
        if takes_prefix {
            assert_eq!(messages.len(), 2);
        } else {
            assert_eq!((messages.len(), &messages[2]["role"]), (3, &json!("user")));
        }
    }
}

/// Ten turns of 240 bytes a side: more than the window of 1,000 tokens.
fn long() -> Prompt {
    let mut prompt = Prompt::default();
    for turn in 1..=10 {
        prompt.turns.push(PromptTurn { turn: TurnId(turn), at: prompt.messages.len() });
        prompt.messages.push(PromptMessage::User(Message::text(format!("q{turn} {}", "x".repeat(236)))));
        if turn < 10 {
            prompt.messages.push(says(&format!("a{turn} {}", "y".repeat(236))));
        }
    }
    prompt
}

#[tokio::test(start_paused = true)]
async fn a_window_that_fills_is_summarised_and_what_is_sent_fits() {
    let provider = Scripted::new(&[Answer::Says("They spoke of q1."), Answer::Says("They spoke of more.")]);
    let recorder = run(&agent(&provider), long()).await;
    let asked = provider.asked();
    let compacted = recorder.compacted.lock().unwrap().clone();
    // More than a window: the oldest turns are summarised first, then that summary with those after them.
    assert_eq!(compacted.len(), asked.len() - 1);
    assert!(asked[1].to_string().contains("They spoke of q1."));
    let (summary, through) = compacted.last().unwrap();
    assert_eq!(summary, "They spoke of more.");
    let messages = asked.last().unwrap()["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().contains("They spoke of more."));
    assert!(
        messages[1]["content"].as_str().unwrap().starts_with(&format!("q{} ", through.0 + 1)),
        "the rest follows"
    );
    assert!(messages.last().unwrap()["content"].as_str().unwrap().starts_with("q10 "));
    let size = |body: &Value| body["messages"].to_string().len();
    assert!(
        asked.iter().all(|body| size(body) < 900 * 3 + 1_000),
        "{:?}",
        asked.iter().map(size).collect::<Vec<_>>()
    );
    assert_eq!(recorder.failure(), None);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_far_too_long_is_compacted_until_it_fits() {
    let provider = Scripted::new(&[Answer::UpTo(6_000)]);
    let mut agent = agent(&provider);
    agent.models[0].window_tokens = 100_000;
    let messages = vec![
        PromptMessage::User(Message::text("x".repeat(40_000))),
        says(&"y".repeat(30_000)),
        PromptMessage::User(Message::text("so?")),
    ];
    let turns = vec![PromptTurn { turn: TurnId(2), at: 0 }, PromptTurn { turn: TurnId(8), at: 2 }];
    let recorder = run(&agent, Prompt { messages, turns, earlier: None }).await;
    assert_eq!((recorder.failure(), recorder.text()), (None, "fine".to_owned()));

    let before = provider.asked().len();
    let told = run(&agent, asks(&"x".repeat(8_000))).await.failure().unwrap();
    assert!(told.contains("too long for this model"), "{told}");
    assert!(provider.asked().len() <= before + 1, "what can't get shorter is not sent again");
    assert_eq!(run(&agent, asks("so?")).await.failure(), None, "a shorter message is answered");
}

#[tokio::test(start_paused = true)]
async fn white_space_that_was_cut_off_is_no_answer() {
    let provider = Scripted::new(&[Answer::Says("fine")]);
    let mut prompt = asks("hello");
    prompt.messages.push(says("\n\n"));
    run(&agent(&provider), prompt.clone()).await;
    prompt.messages.push(PromptMessage::User(Message::text("still there?")));
    run(&agent(&provider), prompt).await;
    let sent: Vec<Value> = provider.asked().iter().map(|body| body["messages"].clone()).collect();
    assert_eq!(sent[0], json!([{ "role": "user", "content": "hello" }]));
    assert_eq!(sent[1], json!([{ "role": "user", "content": "hello\n\nstill there?" }]));
}

/// Turns of 240 bytes, numbered from 1, that left the state.
#[derive(Debug)]
struct Turns;

fn earlier_turn(turn: u64) -> Vec<PromptMessage> {
    vec![PromptMessage::User(Message::text(format!("q{turn} {}", "x".repeat(237))))]
}

impl Turns {
    /// The first and the last turn that a prompt leaves out.
    fn left(prompt: &Prompt) -> Option<(u64, u64)> {
        let range = prompt.earlier?;
        let (first, last) = (range.after.map_or(1, |after| after.0 + 1), range.before.0 - 1);
        (first <= last).then_some((first, last))
    }
}

impl History for Turns {
    fn extend<'a>(
        &'a self,
        prompt: &'a mut Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<(), Unreadable>> {
        while let Some((_, last)) = Self::left(prompt).filter(|_| prompt.size_bytes() <= room_bytes) {
            prompt.prepend(TurnId(last), earlier_turn(last));
            prompt.earlier.as_mut().unwrap().before = Seq(last);
        }
        if Self::left(prompt).is_none() {
            prompt.earlier = None;
        }
        ready(Ok(())).boxed()
    }

    fn oldest<'a>(
        &'a self,
        prompt: &'a Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<Prompt, Unreadable>> {
        let mut oldest = Prompt::default();
        let (first, last) = Self::left(prompt).unwrap();
        for turn in (first..=last).take((room_bytes / 240).max(1)) {
            oldest.append(TurnId(turn), earlier_turn(turn));
        }
        ready(Ok(oldest)).boxed()
    }
}

/// A prompt that holds turn 41 and leaves 40 turns to be read: several windows of 1,000 tokens.
fn leaves_out_forty() -> Prompt {
    let mut prompt = Prompt::default();
    prompt.append(TurnId(41), vec![PromptMessage::User(Message::text("q41"))]);
    prompt.earlier = Some(EarlierRange { before: Seq(41), after: None, indexed: Seq(41) });
    prompt
}

/// The turns whose beginning a question holds.
fn turns_in(body: &Value) -> Vec<u64> {
    let text = body["messages"].to_string();
    // Messages of one side in a row are sent as one.
    let holds = |turn: &u64| ["\"", "\\n"].iter().any(|before| text.contains(&format!("{before}q{turn} ")));
    (1..=40).filter(holds).collect()
}

#[tokio::test(start_paused = true)]
async fn a_wide_window_is_filled_with_turns_from_the_log() {
    let provider = Scripted::new(&[Answer::Says("fine")]);
    let mut agent = agent(&provider);
    agent.models[0].window_tokens = 1_000_000;
    let recorder = Recorder::default();
    agent.run(Work { prompt: leaves_out_forty(), history: &Turns }, &recorder).await.unwrap();
    assert_eq!(turns_in(&provider.asked()[0]), (1..=40).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn turns_that_do_not_fit_are_summarized_oldest_first() {
    // Long enough that it would be the first to go if a question did not leave room for it.
    let summary = |at: u32| format!("Summary {at}. {}", "and so on ".repeat(50));
    let answers: Vec<Answer> = (1..=40).map(|at| Answer::Says(summary(at).leak())).collect();
    let provider = Scripted::new(&answers);
    let recorder = Recorder::default();
    agent(&provider).run(Work { prompt: leaves_out_forty(), history: &Turns }, &recorder).await.unwrap();
    let compacted = recorder.compacted.lock().unwrap().clone();
    let asked = provider.asked();
    // Each question for a summary begins where the one before ended, and the answer's begins behind the last.
    let mut covered = 0;
    for (at, ((_, through), body)) in compacted.iter().zip(&asked).enumerate() {
        assert_eq!(turns_in(body), (covered + 1..=through.0).collect::<Vec<_>>());
        assert_eq!(body["messages"][0].to_string().contains(&format!("Summary {at}.")), at > 0);
        covered = through.0;
    }
    assert!(compacted.len() >= 4, "{compacted:?}");
    let last = asked.last().unwrap();
    assert_eq!(turns_in(last), (covered + 1..=40).collect::<Vec<_>>());
    assert!(last["messages"][0].to_string().contains(&format!("Summary {}.", compacted.len())));
}

#[tokio::test(start_paused = true)]
async fn turns_before_a_long_message_are_summarized_before_it_is() {
    let provider = Scripted::new(&[
        Answer::Says("They spoke of q1 to q5."),
        Answer::Says("And of q6."),
        Answer::Says("fine"),
    ]);
    let mut prompt = Prompt::default();
    for turn in 1..=7 {
        let bytes = match turn {
            6 => 1_500,
            7 => 600,
            _ => 150,
        };
        let text = format!("q{turn} {}", "z".repeat(bytes));
        prompt.append(TurnId(turn), vec![PromptMessage::User(Message::text(text))]);
    }
    let recorder = run(&agent(&provider), prompt).await;
    let covered: Vec<u64> = recorder.compacted.lock().unwrap().iter().map(|(_, through)| through.0).collect();
    assert_eq!(covered, [5, 6]);
    let asked = provider.asked();
    assert_eq!(turns_in(&asked[0]), [1, 2, 3, 4, 5]);
    assert!(asked[1].to_string().contains("They spoke of q1 to q5."), "{}", asked[1]);
    assert_eq!(turns_in(&asked[1]), [6]);
    assert!(asked[2].to_string().contains("And of q6."));
}

#[derive(Debug)]
struct Lost;

impl History for Lost {
    fn extend<'a>(&'a self, _: &'a mut Prompt, _: usize) -> BoxFuture<'a, Result<(), Unreadable>> {
        ready(Err(Unreadable("the disk is gone".to_owned()))).boxed()
    }

    fn oldest<'a>(&'a self, _: &'a Prompt, _: usize) -> BoxFuture<'a, Result<Prompt, Unreadable>> {
        ready(Err(Unreadable("the disk is gone".to_owned()))).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_read_the_session_fails_instead_of_forgetting() {
    let provider = Scripted::new(&[Answer::Says("fine")]);
    let recorder = Recorder::default();
    agent(&provider).run(Work { prompt: leaves_out_forty(), history: &Lost }, &recorder).await.unwrap();
    assert!(provider.asked().is_empty());
    let failure = recorder.failure().unwrap();
    assert!(failure.contains("the disk is gone") && failure.contains("retry"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_the_oldest_turns_are_left_out() {
    let provider = Scripted::new(&[Answer::Status(400, None), Answer::Says("fine")]);
    let recorder = run(&agent(&provider), long()).await;
    assert!(recorder.compacted.lock().unwrap().is_empty());
    let messages = provider.asked()[1]["messages"].as_array().unwrap().clone();
    assert_eq!(messages[0]["role"], "user");
    assert!(messages.last().unwrap()["content"].as_str().unwrap().starts_with("q10 "));
    assert!(
        messages.iter().map(|message| message["content"].as_str().unwrap().len()).sum::<usize>() <= 2_700
    );
    assert_eq!(recorder.text.lock().unwrap().as_str(), "fine");
}

#[tokio::test(start_paused = true)]
async fn a_message_larger_than_the_window_is_refused_instead_of_cut() {
    let provider = Scripted::new(&[Answer::Says("fine")]);
    let recorder = run(&agent(&provider), asks(&format!("{} the end", "ü".repeat(10_000)))).await;
    assert!(provider.asked().is_empty());
    let failure = recorder.failure().unwrap();
    assert!(failure.contains("larger than the model's window") && failure.contains("saved"), "{failure}");
    // The estimate is cautious: what may fit goes whole.
    let message = format!("{} the end", "word ".repeat(600));
    let provider = Scripted::new(&[Answer::Says("fine")]);
    run(&agent(&provider), asks(&message)).await;
    assert_eq!(provider.asked()[0]["messages"][0]["content"], message);
}

#[tokio::test(start_paused = true)]
async fn an_answer_larger_than_the_window_is_cut_for_its_summary() {
    let provider = Scripted::new(&[Answer::Says("in short"), Answer::Says("fine")]);
    let messages = vec![
        PromptMessage::User(Message::text("long?")),
        says(&"heron ".repeat(2_000)),
        PromptMessage::User(Message::text("so?")),
    ];
    let turns = vec![PromptTurn { turn: TurnId(2), at: 0 }, PromptTurn { turn: TurnId(8), at: 2 }];
    let recorder = run(&agent(&provider), Prompt { messages, turns, earlier: None }).await;
    assert_eq!(recorder.compacted.lock().unwrap().as_slice(), [("in short".to_owned(), TurnId(2))]);
    assert!(provider.asked()[0].to_string().len() < 3_000, "the summary's own prompt fits");
}

#[tokio::test(start_paused = true)]
async fn the_model_that_a_message_names_is_asked_and_one_that_is_gone_is_told() {
    let (first, second) = (Scripted::new(&[Answer::Says("one")]), Scripted::new(&[Answer::Says("two")]));
    let mut agent = agent(&first);
    let mut other = self::agent(&second).models.remove(0);
    other.name = "careful".to_owned();
    agent.models.push(other);
    let naming = |name: &str| {
        let message = Message { model: Some(name.to_owned()), ..Message::text("go") };
        Prompt { messages: vec![PromptMessage::User(message)], ..asks("") }
    };
    assert_eq!(*run(&agent, asks("go")).await.text.lock().unwrap(), "one");
    assert_eq!(*run(&agent, naming("careful")).await.text.lock().unwrap(), "two");
    let gone = run(&agent, naming("retired")).await;
    assert!(gone.failure().unwrap().contains("`retired` is no longer offered"));
    assert_eq!((first.asked().len(), second.asked().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn c24_only_a_known_end_completes_an_answer() {
    for reason in ["insufficient_system_resource", "error", "model_length", "abort", "eclipse"] {
        let provider = Scripted::new(&[Answer::Ends("Half of the ans", reason)]);
        let recorder = run(&agent(&provider), asks("hello")).await;
        let told = recorder.failure().unwrap_or_else(|| panic!("{reason} is taken for a whole answer"));
        assert!(told.contains("incomplete") && told.contains("Continue"), "{reason}: {told}");
        assert!(told.contains(reason) || reason == "model_length", "{reason}: {told}");
        assert_eq!(recorder.text.lock().unwrap().as_str(), "Half of the ans");
    }
    let provider = Scripted::new(&[Answer::Ends("All of it.", "stop")]);
    assert_eq!(run(&agent(&provider), asks("hello")).await.failure(), None);
}

#[tokio::test(start_paused = true)]
async fn c27_text_that_arrived_is_not_asked_for_again() {
    let provider = Scripted::new(&[Answer::Cut("Half of the ans"), Answer::Says("Half of the answer.")]);
    let recorder = run(&agent(&provider), asks("hello")).await;
    assert_eq!(recorder.text.lock().unwrap().as_str(), "Half of the ans");
    assert!(recorder.failure().unwrap().contains("cut off"));
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c28_a_title_comes_from_the_model_that_answered() {
    let (cloud, local) = (Scripted::new(&[Answer::Says("Cloud")]), Scripted::new(&[Answer::Says("Local")]));
    let mut both = agent(&cloud);
    let mut second = agent(&local).models.remove(0);
    second.name = "local".to_owned();
    both.models.push(second);
    let mut prompt = asks("something private");
    if let PromptMessage::User(message) = &mut prompt.messages[0] {
        message.model = Some("local".to_owned());
    }
    assert_eq!(both.title(prompt).await.and_then(|billed| billed.value).as_deref(), Some("Local"));
    assert_eq!((cloud.asked().len(), local.asked().len()), (0, 1));
}

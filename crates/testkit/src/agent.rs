//! An agent that does what a script says: the stand-in for a model in tests of everything but models.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent::Billed;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{RunOver, RunProgress, RunRequest, Runner};
use session::event::CallStatus;
use session::{CallNo, Outcome, Progress, Usage};
use tokio::sync::{Semaphore, watch};

/// A place where a script waits until the test lets it go on.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<watch::Sender<u64>>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(watch::Sender::new(0)), open: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Waits until `count` scripts have reached the gate.
    pub async fn reached(&self, count: u64) {
        let mut reached = self.reached.subscribe();
        // The sender lives in this gate, so waiting cannot fail.
        drop(reached.wait_for(|seen| *seen >= count).await);
    }

    /// Lets one script through.
    pub fn open(&self) {
        self.open.add_permits(1);
    }

    pub(crate) async fn pass(&self) {
        self.reached.send_modify(|count| *count += 1);
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
    }
}

/// One act of a script.
#[derive(Debug, Clone)]
enum Act {
    Text(String),
    Reasoning(String),
    Report(Progress),
    Gate(Gate),
    Hold,
    Panic,
}

/// What an agent does in one run, built act by act.
#[derive(Debug, Clone, Default)]
pub struct Script(Vec<Act>);

/// An empty script: the run ends at once, without an answer.
pub fn script() -> Script {
    Script::default()
}

impl Script {
    fn act(mut self, act: Act) -> Self {
        self.0.push(act);
        self
    }

    /// Streams text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.act(Act::Text(text.to_owned()))
    }

    /// Streams reasoning.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.act(Act::Reasoning(text.to_owned()))
    }

    /// Begins a step.
    #[must_use]
    pub fn step(self) -> Self {
        self.act(Act::Report(Progress::Step { asked_to_continue: false }))
    }

    /// Begins a step in which the model is asked to continue its own text.
    #[must_use]
    pub fn asked_step(self) -> Self {
        self.act(Act::Report(Progress::Step { asked_to_continue: true }))
    }

    /// Ends a step without a call.
    #[must_use]
    pub fn step_ended(self) -> Self {
        self.act(Act::Report(Progress::StepEnded))
    }

    /// Reaches the output limit.
    #[must_use]
    pub fn output_limit(self, tokens: u64) -> Self {
        self.act(Act::Report(Progress::OutputLimit { tokens }))
    }

    /// Streams a piece of a call's arguments.
    #[must_use]
    pub fn draft(self, call: u32, tool: &str, arguments: &str) -> Self {
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        self.act(Act::Report(Progress::CallDrafted { call: CallNo(call), tool, arguments }))
    }

    /// Asks for a call.
    #[must_use]
    pub fn call(self, call: u32, tool: &str, arguments: &str) -> Self {
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let provider_call = Some(format!("call_{call}"));
        self.act(Act::Report(Progress::CallAsked { call: CallNo(call), tool, arguments, provider_call }))
    }

    /// Finishes a call.
    #[must_use]
    pub fn result(self, call: u32, content: &str) -> Self {
        let outcome = Outcome { status: CallStatus::Ok, content: content.to_owned() };
        self.act(Act::Report(Progress::CallFinished { call: CallNo(call), outcome }))
    }

    /// Finishes a call with an error.
    #[must_use]
    pub fn result_error(self, call: u32, content: &str) -> Self {
        let outcome = Outcome { status: CallStatus::Error, content: content.to_owned() };
        self.act(Act::Report(Progress::CallFinished { call: CallNo(call), outcome }))
    }

    /// Fails.
    #[must_use]
    pub fn fail(self, error: &str) -> Self {
        self.act(Act::Report(Progress::Failed { error: error.to_owned() }))
    }

    /// Panics.
    #[must_use]
    pub fn panic(self) -> Self {
        self.act(Act::Panic)
    }

    /// Goes on with another script.
    #[must_use]
    pub fn then(mut self, script: Self) -> Self {
        self.0.extend(script.0);
        self
    }

    /// Waits at a gate.
    #[must_use]
    pub fn gate(self, gate: &Gate) -> Self {
        self.act(Act::Gate(gate.clone()))
    }

    /// Does nothing more until the run is stopped.
    #[must_use]
    pub fn hold(self) -> Self {
        self.act(Act::Hold)
    }
}

/// An agent that plays one script a run, in the order in which they were given. Without one it echoes the message.
#[derive(Debug, Default)]
pub struct ScriptedAgent {
    scripts: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<RunRequest>>,
    /// The usage of each request for a title. If `None`, there is no model to ask for one.
    pub title_usage: Mutex<Option<Usage>>,
    titles: AtomicU32,
}

impl ScriptedAgent {
    /// Adds a script for the next run that has none.
    pub fn add(&self, script: Script) {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner).push_back(script);
    }

    /// The number of requests for a title.
    pub fn titles(&self) -> u32 {
        self.titles.load(Ordering::Relaxed)
    }

    /// What the runs so far were given.
    pub fn requests(&self) -> Vec<RunRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Runner for ScriptedAgent {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let script = self.scripts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let script = script.unwrap_or_else(|| echo(&request));
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        async move {
            // A run that is over has nothing more to play.
            play(script, &progress).await.unwrap_or(());
        }
        .boxed()
    }

    fn title(&self, _: hub::PromptRequest) -> BoxFuture<'static, Option<Billed<String>>> {
        let usage = *self.title_usage.lock().unwrap_or_else(PoisonError::into_inner);
        self.titles.fetch_add(u32::from(usage.is_some()), Ordering::Relaxed);
        std::future::ready(usage.map(|usage| Billed { value: None, usage })).boxed()
    }
}

fn echo(request: &RunRequest) -> Script {
    let said = request.prompt.messages.iter().rev().find_map(|message| match message {
        session::PromptMessage::User(message) => Some(message.text.as_str()),
        _ => None,
    });
    script().text(&format!("You said: {}", said.unwrap_or_default()))
}

#[expect(clippy::panic, reason = "a script may say so")]
async fn play(script: Script, progress: &RunProgress) -> Result<(), RunOver> {
    for act in script.0 {
        match act {
            Act::Text(text) => progress.text(&text).await?,
            Act::Reasoning(text) => progress.reasoning(&text).await?,
            Act::Report(report) => drop(progress.report(report).await?),
            Act::Gate(gate) => gate.pass().await,
            Act::Hold => std::future::pending().await,
            Act::Panic => panic!("the script says panic"),
        }
    }
    Ok(())
}

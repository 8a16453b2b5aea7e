//! The agent's side: numbered words, so that each that is missing or doubled shows; calls; failures; long silences.

use std::sync::Arc;
use std::time::Duration;

use agent::Billed;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{RunOver, RunProgress, RunRequest, Runner};
use session::event::CallStatus;
use session::{CallNo, Event, Outcome, Progress, RunCause, RunId, Seq, SessionId, Usage};
use tokio::time::Instant;

use super::world::World;

/// How long the slowest store of a calm world takes to keep what was said.
const FLUSHED_WITHIN: Duration = Duration::from_secs(5);

/// Works on turns as the dice say.
pub(crate) struct Provider {
    pub(crate) world: Arc<World>,
    /// The process that it works in.
    pub(crate) process: u64,
}

impl Runner for Provider {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let run = Run {
            world: self.world.clone(),
            process: self.process,
            session: request.session,
            run: request.run,
        };
        async move {
            super::chat::told(&run.world, &request);
            match request.cause {
                RunCause::Resume => run.world.met("a run went on by itself"),
                RunCause::Continue => run.world.met("a person let a run go on"),
                RunCause::Retry => run.world.met("a turn was answered again"),
                RunCause::Message | RunCause::Other(_) => {}
            }
            // A run that is over was ended by someone else, who knows.
            run.work(&progress).await.unwrap_or(());
        }
        .boxed()
    }

    fn title(&self, _: hub::PromptRequest) -> BoxFuture<'static, Option<Billed<String>>> {
        let world = self.world.clone();
        async move {
            world.pause(500).await;
            let value = world.chance(50).then(|| "a generated title".to_owned());
            Some(Billed { value, usage: Usage { input_tokens: 1, ..Usage::default() } })
        }
        .boxed()
    }
}

struct Run {
    world: Arc<World>,
    process: u64,
    session: SessionId,
    run: RunId,
}

/// A panic of the agent that the world asked for.
pub(crate) struct Planned;

impl Run {
    async fn work(&self, progress: &RunProgress) -> Result<(), RunOver> {
        self.must_be_durable(
            |event| matches!(event, Event::RunStarted { .. }),
            Some(Seq(self.run.0)),
            "a run began",
        );
        let (mut words, mut calls) = (0, 0);
        for _ in 0..=self.world.below(3) {
            let steered = progress.report(Progress::Step { asked_to_continue: false }).await?;
            self.durable(words);
            if !steered.is_empty() {
                self.world.met("a message went into a run");
            }
            if self.world.chance(10) {
                self.think(words).await;
            }
            for _ in 0..self.world.below(12) {
                let pace = if self.world.chance(10) { 2_000 } else { 60 };
                self.world.pause(pace).await;
                words += 1;
                if self.world.chance(20) {
                    progress.reasoning(&format!("r{words} ")).await?;
                } else {
                    progress.text(&format!("w{words} ")).await?;
                }
                self.world.record().said.insert((self.session, self.run), (self.process, words));
                if self.world.chance(2) {
                    self.think(words).await;
                }
                if self.world.chance(15) {
                    let usage = Usage { input_tokens: 1, output_tokens: words, ..Usage::default() };
                    progress.report(Progress::Usage(usage)).await?;
                    self.durable(words);
                }
            }
            if self.world.chance(30) {
                calls += 1;
                self.call(progress, calls, words).await?;
            }
        }
        if self.world.chance(3) {
            self.world.met("the agent panicked");
            std::panic::panic_any(Planned);
        }
        if self.world.chance(10) {
            self.world.met("a run failed");
            progress.report(Progress::Failed { error: "the provider failed".to_owned() }).await?;
        } else if words == 0 {
            self.world.met("a run ended in silence");
        }
        self.world.record().finished.insert((self.session, self.run));
        Ok(())
    }

    async fn call(&self, progress: &RunProgress, no: u32, words: u64) -> Result<(), RunOver> {
        let (call, tool, arguments) = (CallNo(no), "heron".to_owned(), "{}".to_owned());
        progress.draft(call, &tool, "{").await?;
        let pace = if self.world.chance(20) { 2_000 } else { 20 };
        self.world.pause(pace).await;
        progress.report(Progress::CallAsked { call, tool, arguments, provider_call: None }).await?;
        self.durable(words);
        let asked = |event: &Event| matches!(event, Event::CallAsked { run, call: of, .. } if *run == self.run && *of == call);
        self.must_be_durable(asked, None, "a call began");
        self.world.pause(1_000).await;
        let outcome = Outcome { status: CallStatus::Ok, content: "done".to_owned() };
        progress.report(Progress::CallFinished { call, outcome }).await?;
        self.durable(words);
        Ok(())
    }

    /// A provider that says nothing for long.
    async fn think(&self, words: u64) {
        let since = Instant::now();
        self.world.pause(20_000).await;
        self.must_have_been_flushed(words, since);
    }

    /// A report was answered: what was said before it is durable, in the log or in the journal.
    fn durable(&self, words: u64) {
        self.world.record().durable.insert((self.session, self.run), words);
    }

    /// I17: what is done follows from what is durable.
    fn must_be_durable(&self, wanted: impl Fn(&Event) -> bool, at: Option<Seq>, what: &str) {
        let found = match at {
            Some(seq) => self.world.entry(self.session, seq).is_some_and(|entry| wanted(&entry.event)),
            None => self.world.log(self.session).iter().any(|entry| wanted(&entry.event)),
        };
        if !found && !self.world.record().erased.contains(&self.session) {
            self.world.broken(|| {
                format!("I17 {what} that is not in the log: run {} of {}", self.run, self.session)
            });
        }
    }

    /// P5: what was said is durable soon, also when nothing follows it, unless something is wrong.
    fn must_have_been_flushed(&self, words: u64, since: Instant) {
        if since.elapsed() < FLUSHED_WITHIN
            || !self.world.was_calm(since)
            || self.world.record().erased.contains(&self.session)
        {
            return;
        }
        let kept =
            super::check::words_of(&self.world.log(self.session), self.run).last().copied().unwrap_or(0);
        if kept < words {
            self.world.broken(|| {
                format!(
                    "P5 run {} of {} said {words} words long ago; {kept} are durable",
                    self.run, self.session
                )
            });
        }
    }
}

//! The agent's side: numbered words, so that each that is missing or doubled shows; calls; failures; long silences.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{RunOver, RunProgress, RunRequest, Runner};
use session::event::CallStatus;
use session::{CallNo, Event, Outcome, Progress, Prompt, RunCause, RunId, Seq, SessionId};

use super::world::World;

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
            match request.cause {
                RunCause::Resume => run.world.met("a run went on by itself"),
                RunCause::Continue => run.world.met("a person let a run go on"),
                RunCause::Retry => run.world.met("a turn was answered again"),
                RunCause::Message => {}
            }
            // A run that is over was ended by someone else, who knows.
            run.work(&progress).await.unwrap_or(());
        }
        .boxed()
    }

    fn title(&self, _: Prompt) -> BoxFuture<'static, Option<String>> {
        let world = self.world.clone();
        async move {
            world.pause(500).await;
            world.chance(50).then(|| "a generated title".to_owned())
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

impl Run {
    async fn work(&self, progress: &RunProgress) -> Result<(), RunOver> {
        self.must_be_durable(
            |event| matches!(event, Event::RunStarted { .. }),
            Some(Seq(self.run.0)),
            "a run began",
        );
        let (mut words, mut calls) = (0, 0);
        for _ in 0..=self.world.below(3) {
            let steered = progress.report(Progress::Step).await?;
            if !steered.is_empty() {
                self.world.met("a message went into a run");
            }
            if self.world.chance(10) {
                // A provider that thinks for long.
                self.world.pause(20_000).await;
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
            }
            if self.world.chance(30) {
                calls += 1;
                self.call(progress, calls).await?;
            }
        }
        if self.world.chance(10) {
            self.world.met("a run failed");
            progress.report(Progress::Failed { error: "the provider failed".to_owned() }).await?;
        }
        Ok(())
    }

    async fn call(&self, progress: &RunProgress, no: u32) -> Result<(), RunOver> {
        let (call, tool, arguments) = (CallNo(no), "heron".to_owned(), "{}".to_owned());
        progress.draft(call, &tool, "{").await?;
        self.world.pause(20).await;
        progress.report(Progress::CallAsked { call, tool, arguments, provider_call: None }).await?;
        let asked = |event: &Event| matches!(event, Event::CallAsked { run, call: of, .. } if *run == self.run && *of == call);
        self.must_be_durable(asked, None, "a call began");
        self.world.pause(1_000).await;
        let outcome = Outcome { status: CallStatus::Ok, content: "done".to_owned() };
        progress.report(Progress::CallFinished { call, outcome }).await?;
        Ok(())
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
}

//! Plays cases on the product's own agent and hub, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use agent::{
    Agent, AnswerLimits, Density, LearnedDialect, Model, Prices, Provider, RequestOptions, RunLimits,
    Transport, World,
};
use anyhow::Context;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{Create, Followed, Hub, RunProgress, RunRequest, Runner, SessionHandle, Settings};
use session::{BlobHash, Command, Entry, Event, Message, PostMode, Seq, Time};
use store::memory::MemoryStore;
use tempfile::TempDir;

use super::expect::{self, Said, Then};
use super::laws;
use super::wire::{OnWire, ScriptedWire, Sent};
use super::{Case, Fault};
use crate::clock::HandClock;

/// Cases after which everything is made anew, so that memory stays small.
const CASES_PER_HUB: usize = 1_000;

/// What tools see: a clock that stands still.
struct Nowhere;

impl World for Nowhere {
    fn now(&self) -> Time {
        Time(0)
    }

    fn blob(&self, _: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
        std::future::ready(Ok(None)).boxed()
    }
}

/// The product's agent, with the model of the case that is played.
struct AgentOfCase(std::sync::Mutex<Agent>);

impl AgentOfCase {
    fn agent(&self) -> Agent {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Runner for AgentOfCase {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        Runner::run(&self.agent(), request, progress)
    }
}

/// A stage for cases: a hub on a store in memory.
struct Stage {
    wire: Arc<ScriptedWire>,
    agent: Arc<AgentOfCase>,
    hub: Hub,
    _spool: TempDir,
}

impl Stage {
    async fn new() -> anyhow::Result<Self> {
        let wire = Arc::new(ScriptedWire::default());
        let transport: Arc<dyn Transport> = Arc::new(OnWire(wire.clone()));
        let provider = Provider {
            wire: agent::Wire::OpenAi,
            url: "http://model".to_owned(),
            key: None,
            takes_prefix: false,
            transport,
            limits: AnswerLimits::default(),
            dialect: LearnedDialect::default(),
            options: RequestOptions::default(),
        };
        let model = Model {
            name: "scripted".to_owned(),
            id: "scripted".to_owned(),
            provider,
            window_tokens: 100_000,
            output_tokens_max: 1_000,
            prices: Prices::default(),
            uses_tools: true,
            density: Density::default(),
        };
        let agent = Arc::new(AgentOfCase(std::sync::Mutex::new(Agent {
            models: vec![model],
            background: None,
            tools: agent::tool::built_in(),
            world: Arc::new(Nowhere),
            media: Arc::default(),
            limits: RunLimits::default(),
            instructions: None,
        })));
        let spool = crate::crash::disk::scratch()?;
        let mut settings = Settings::new(spool.path());
        settings.slots = 0;
        settings.slots_max = 0;
        settings.idle_after = Duration::from_secs(1);
        let clock = Arc::new(HandClock::default());
        let hub = Hub::start(Arc::new(MemoryStore::default()), agent.clone(), clock, settings).await?;
        Ok(Self { wire, agent, hub, _spool: spool })
    }

    /// Plays a case; answers what is wrong.
    async fn play(&self, case: &Case<'_>, clean: &Said) -> anyhow::Result<Vec<String>> {
        {
            let mut agent = self.agent.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let provider = &mut agent.models[0].provider;
            provider.wire = case.stream.wire;
            provider.takes_prefix = case.fault == Fault::CutWithPrefix;
        }
        self.wire.play(Sent {
            fault: case.fault,
            wire: case.stream.wire,
            faulty: case.bytes(),
            clean: case.stream.bytes.clone(),
            text: clean.text.clone(),
        });
        let session = self.hub.create(Create { title: Some("case".to_owned()), ..Create::default() }).await?;
        post(&session, "What time is it?").await?;
        if case.fault == Fault::Stop {
            // Everything before the silence was taken by then, or the run is over already.
            let log = until_end(&session);
            tokio::select! {
                () = self.wire.silent.notified() => drop(session.submit(Command::Stop { run: None, device: None }).await?),
                ended = log => drop(ended?),
            }
        }
        let log = until_end(&session).await?;
        let expected = expect::expected(case, clean);
        let mut broken = laws::broken(&log, &expected);
        if !broken.is_empty() {
            broken.push(format!("expected {expected:?}; log {log:?}"));
        }
        Ok(broken)
    }
}

async fn post(session: &SessionHandle, text: &str) -> anyhow::Result<()> {
    let message = Message::text(text);
    session.submit(Command::PostMessage { message, mode: PostMode::Queue, key: None }).await?;
    Ok(())
}

/// The log up to the end of its run.
async fn until_end(session: &SessionHandle) -> anyhow::Result<Vec<Entry>> {
    let mut follower = session.follow(Seq(0)).await?;
    let mut log: Vec<Entry> = Vec::new();
    loop {
        match follower.next().await? {
            Followed::Entry(entry) => log.push((*entry).clone()),
            Followed::CaughtUp => {}
        }
        if log.last().is_some_and(|last| matches!(last.event, Event::RunEnded { .. })) {
            return Ok(log);
        }
    }
}

/// Plays cases one after another; answers each that broke something.
///
/// # Errors
/// When a case cannot be played.
pub fn play(cases: &[Case<'_>]) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let mut all = Vec::new();
    for cases in cases.chunks(CASES_PER_HUB) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(async {
            let stage = Stage::new().await?;
            for case in cases {
                let clean = expect::read(case.stream.wire, &case.stream.bytes, Then::TheEnd);
                let played = stage.play(case, &clean).await.with_context(|| case.name())?;
                if !played.is_empty() {
                    all.push((case.name(), played));
                }
            }
            anyhow::Ok(())
        })?;
    }
    Ok(all)
}

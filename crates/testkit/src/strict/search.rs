//! Random sessions with several models, in virtual time: long and short messages, tools, changes of the model, failures of
//! every kind, crashes. Whatever happened, a short message at the end must be answered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::{
    Agent, AnswerLimits, ApiKey, Broken, BusyKind, Density, Dialect, KeySource, LearnedDialect, Model,
    Prices, Provider, ProviderError, Reply, Request, RequestOptions, RunLimits, Transport, World,
};
use anyhow::Context;
use bytes::Bytes;
use fault::Process;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use hub::{AfterInterruption, Clock, Create, Hub, SessionHandle, Settings};
use session::{BlobHash, Command, Message, NodeId, Part, PostMode, SessionId, Time, View};
use store::memory::MemoryStore;
use tokio::time::Instant;
use uuid::Uuid;

use super::rules::Check;
use super::speech::answers;
use super::{PROVIDERS, Reaction, Strict};
use crate::Report;
use crate::crash::cases::in_parallel;
use crate::dice::Dice;
use crate::sim::slots::SimSlots;

/// The moment at which every session begins.
const BEGIN_MICROS: i64 = 1_700_000_000_000_000;
/// One in so many polls of a task lets others go first.
const GIVE_WAY: u64 = 8;
/// Models of a session.
const MODELS: usize = 3;
/// A session has two events and fewer than this many more.
const EVENTS_MAX: u64 = 12;
/// Short messages at the end. If none is answered, the session is a dead end.
const TRIES: usize = 3;
/// Longest virtual wait for a run to end.
const PATIENCE: Duration = Duration::from_secs(12 * 3_600);
/// Time between two frames of an answer.
const FRAME: Duration = Duration::from_millis(20);
/// Sessions that one thread runs in a row.
const ROUND: usize = 50;
/// Most dead ends, late answers and refusals that are reported.
const TOLD: usize = 5;
const REFUSALS_TOLD: usize = 30;
/// From this many sessions on, every situation must occur.
const SESSIONS_FOR_ALL: u64 = 1_000;
/// Situations that must occur.
const SITUATIONS: [&str; 17] = [
    "request corrected",
    "model changed",
    "prompt refused as too long",
    "message larger than a model reads",
    "session compacted",
    "tools called",
    "rate limited",
    "server failed",
    "answer cut",
    "provider silent",
    "provider unreachable",
    "stopped",
    "undone",
    "continued",
    "answered again",
    "crashed",
    "compacted by hand",
];

/// The result of one session.
#[derive(Debug, Default)]
pub struct Lived {
    /// The failure of the first short message at the end, if it was not answered.
    pub stumbled: Option<String>,
    /// Whether none of the short messages was answered.
    pub is_dead_end: bool,
    met: BTreeMap<&'static str, u64>,
    /// Refusals of the history, without those for length and those that a client may learn from.
    refusals: BTreeMap<String, u64>,
}

/// Runs `count` random sessions, with seeds from `first` on, and reports dead ends.
///
/// # Errors
/// Returns an error if a session can't run.
pub fn run(report: &mut Report, first: u64, count: u64) -> anyhow::Result<()> {
    let seeds: Vec<u64> = (first..first + count).collect();
    let rounds: Vec<&[u64]> = seeds.chunks(ROUND).collect();
    let all = Mutex::new(Vec::new());
    in_parallel(vec![(), ()], rounds, |(), seeds| {
        for seed in seeds {
            let lived = live(*seed).with_context(|| format!("session {seed}"))?;
            all.lock().unwrap_or_else(PoisonError::into_inner).push((*seed, lived));
        }
        Ok(())
    })?;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut met: BTreeMap<&str, u64> = BTreeMap::new();
    let mut refusals: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (seed, lived) in &all {
        lived.met.iter().for_each(|(what, times)| *met.entry(*what).or_default() += times);
        for (words, times) in &lived.refusals {
            refusals.entry(words).or_insert((0, *seed)).0 += times;
        }
    }
    for (words, (times, seed)) in refusals.iter().take(REFUSALS_TOLD) {
        report.note(&format!("{times} times, as in session {seed}: {words}"));
    }
    let refused: u64 = refusals.values().map(|(times, _)| times).sum();
    let dead: Vec<_> = all.iter().filter(|(_, lived)| lived.is_dead_end).collect();
    let stumbled: Vec<_> =
        all.iter().filter(|(_, lived)| lived.stumbled.is_some() && !lived.is_dead_end).collect();
    for (seed, lived) in dead.iter().take(TOLD).chain(stumbled.iter().take(TOLD)) {
        let kind = if lived.is_dead_end { "dead end" } else { "stumbled" };
        report.note(&format!("session {seed}, {kind}: {}", lived.stumbled.as_deref().unwrap_or_default()));
    }
    // A few sessions need not meet all of them.
    let is_missing = |what: &&str| count >= SESSIONS_FOR_ALL && !met.contains_key(what);
    let missing: Vec<&str> = SITUATIONS.into_iter().filter(is_missing).collect();
    missing.iter().for_each(|what| report.note(&format!("never: {what}")));
    report.line("search.sessions", all.len(), count, all.len() as u64 == count);
    report.line("search.situations_missing", missing.len(), 0, missing.is_empty());
    report.line("search.histories_refused", refused, 0, refused == 0);
    report.line("search.dead_ends", dead.len(), 0, dead.is_empty());
    report.line("search.first_short_message_failed", stumbled.len(), 0, stumbled.is_empty());
    Ok(())
}

/// Runs one session.
///
/// # Errors
/// Returns an error if the runtime or the hub can't be started.
pub fn live(seed: u64) -> anyhow::Result<Lived> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let mut life = Life::begin(seed).await?;
        let events = 2 + life.dice.below(EVENTS_MAX);
        for _ in 0..events {
            life.one_thing().await?;
        }
        life.end().await?;
        life.up.process.kill();
        Ok(std::mem::take(&mut *life.wires.lived()))
    })
}

/// What happens to a request.
#[derive(Debug, Clone, Copy)]
enum Fault {
    RateLimit(Option<Duration>),
    ServerError,
    /// The connection breaks after so many frames.
    Cut(usize),
    /// Nothing more comes after so many frames.
    Silent(usize),
    Unreachable,
}

/// The way to all providers.
#[derive(Debug, Default)]
struct Wires {
    faults: Mutex<VecDeque<Fault>>,
    lived: Mutex<Lived>,
    /// The last refusal.
    refused: Mutex<String>,
}

impl Wires {
    fn faults(&self) -> MutexGuard<'_, VecDeque<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lived(&self) -> MutexGuard<'_, Lived> {
        self.lived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn met(&self, what: &'static str) {
        *self.lived().met.entry(what).or_default() += 1;
    }

    fn answer(&self, provider: &Strict, body: &str) -> Result<Reply, ProviderError> {
        let fault = self.faults().pop_front();
        let reply = |status, retry_after, body| Ok(Reply { status, retry_after, request: None, body });
        let whole = |text: String| futures_util::stream::iter([Ok(Bytes::from(text))]).boxed();
        match fault {
            Some(Fault::RateLimit(wait)) => {
                self.met("rate limited");
                return reply(
                    429,
                    wait,
                    whole("{\"error\":{\"message\":\"Rate limit reached.\"}}".to_owned()),
                );
            }
            Some(Fault::ServerError) => {
                self.met("server failed");
                return reply(500, None, whole("{\"error\":{\"message\":\"Internal error\"}}".to_owned()));
            }
            Some(Fault::Unreachable) => {
                self.met("provider unreachable");
                let reason = "connection refused".to_owned();
                return Err(ProviderError::Busy { kind: BusyKind::Network, reason, retry_after: None });
            }
            Some(Fault::Cut(_) | Fault::Silent(_)) | None => {}
        }
        match provider.react(body) {
            Reaction::Refuses { status, body, check } => {
                self.note_refusal(provider, &body, check);
                reply(status, None, whole(body))
            }
            Reaction::Answers(frames) => {
                if let [only] = frames.as_slice() {
                    self.note_refusal(provider, only, None);
                }
                if frames.iter().any(|frame| frame.contains("\"clock\"")) {
                    self.met("tools called");
                }
                reply(200, None, self.stream(frames, fault))
            }
        }
    }

    fn note_refusal(&self, provider: &Strict, body: &str, check: Option<Check>) {
        match check {
            None => self.met("prompt refused as too long"),
            Some(check) if check.may_be_learned() => self.met("request corrected"),
            Some(check) => {
                let name = format!("{check:?}");
                let name = name.split(['(', ' ']).next().unwrap_or_default();
                *self.lived().refusals.entry(format!("{}, {name}", provider.name)).or_default() += 1;
            }
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = format!("{}: {body}", provider.name);
    }

    fn stream(
        &self,
        frames: Vec<String>,
        fault: Option<Fault>,
    ) -> futures_util::stream::BoxStream<'static, Result<Bytes, Broken>> {
        let until = match fault {
            Some(Fault::Cut(at) | Fault::Silent(at)) => at.min(frames.len()),
            _ => frames.len(),
        };
        let sent = futures_util::stream::iter(frames.into_iter().take(until)).then(|frame| async {
            tokio::time::sleep(FRAME).await;
            Ok(Bytes::from(frame))
        });
        match fault {
            Some(Fault::Cut(_)) => {
                self.met("answer cut");
                let broken = futures_util::stream::iter([Err(Broken("connection reset".to_owned()))]);
                sent.chain(broken).boxed()
            }
            Some(Fault::Silent(_)) => {
                self.met("provider silent");
                sent.chain(futures_util::stream::pending()).boxed()
            }
            _ => sent.boxed(),
        }
    }
}

/// The transport of an agent.
struct OnWires(Arc<Wires>);

impl Transport for OnWires {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let wires = self.0.clone();
        async move {
            let model: serde_json::Value = serde_json::from_str(&request.body).unwrap_or_default();
            let is_asked = |provider: &&Strict| {
                request.url == provider.endpoint_at(0) && model["model"] == provider.model
            };
            let Some(provider) = PROVIDERS.iter().find(is_asked) else {
                let reason = format!("nothing is at {}", request.url);
                return Err(ProviderError::Busy { kind: BusyKind::Network, reason, retry_after: None });
            };
            wires.answer(provider, &request.body)
        }
        .boxed()
    }
}

/// The model of a provider, with everything but its address, key and name left as it is.
fn model(provider: &Strict, wires: &Arc<Wires>) -> Model {
    let url = provider.url(0);
    let key: Arc<dyn KeySource> = Arc::new(ApiKey::new(provider.key()));
    Model {
        name: provider.name.to_owned(),
        id: provider.model.to_owned(),
        provider: Provider {
            wire: provider.wire,
            dialect: LearnedDialect::new(Dialect::of(&url, provider.model)),
            options: RequestOptions::default(),
            url,
            key: Some(key),
            takes_prefix: false,
            transport: Arc::new(OnWires(wires.clone())),
            limits: AnswerLimits::default(),
        },
        window_tokens: 32_768,
        output_tokens_max: 4_096,
        prices: Prices::default(),
        uses_tools: true,
        density: Density::default(),
    }
}

/// What tools see, and the clock of the hub.
#[derive(Debug)]
struct Outside {
    begun: Instant,
    ids: AtomicU64,
}

impl Outside {
    fn id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.ids.fetch_add(1, Ordering::Relaxed)) << 64 | 1)
    }
}

impl Clock for Outside {
    fn now(&self) -> Time {
        let micros = i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX);
        Time(BEGIN_MICROS + micros)
    }

    fn session_id(&self) -> SessionId {
        SessionId(self.id())
    }

    fn node_id(&self) -> NodeId {
        NodeId(self.id())
    }
}

/// The same for tools.
struct Seen(Arc<Outside>);

impl World for Seen {
    fn now(&self) -> Time {
        Clock::now(self.0.as_ref())
    }

    fn blob(&self, _: BlobHash) -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
        std::future::ready(Ok(None)).boxed()
    }
}

/// A process and the hub in it.
struct Up {
    process: Process,
    hub: Hub,
}

/// One session, and the state that survives its process.
struct Life {
    dice: Dice,
    wires: Arc<Wires>,
    store: Arc<MemoryStore>,
    slots: Arc<SimSlots>,
    outside: Arc<Outside>,
    models: Vec<&'static Strict>,
    /// The place of the model that is asked now.
    current: usize,
    up: Up,
    session: SessionId,
    /// Events of the session, printed with a dead end.
    told: Vec<String>,
}

impl Life {
    async fn begin(seed: u64) -> anyhow::Result<Self> {
        let mut dice = Dice::new(seed);
        let mut models: Vec<&'static Strict> = Vec::new();
        while models.len() < MODELS {
            let chosen =
                dice.pick(&PROVIDERS.iter().collect::<Vec<_>>()).copied().context("there are providers")?;
            if !models.iter().any(|model| model.name == chosen.name) {
                models.push(chosen);
            }
        }
        let wires = Arc::new(Wires::default());
        let store = Arc::new(MemoryStore::new());
        let slots = Arc::new(SimSlots::default());
        let outside = Arc::new(Outside { begun: Instant::now(), ids: AtomicU64::new(1) });
        let up = start(&models, &wires, &store, &slots, &outside, dice.roll()).await?;
        let handle = up.process.run(up.hub.create(Create::default())).await;
        let session = handle.ok().context("it lives")??.session();
        Ok(Self { dice, wires, store, slots, outside, models, current: 0, up, session, told: Vec::new() })
    }

    fn session(&self) -> SessionHandle {
        self.up.hub.open(self.session)
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.told.push(what.into());
    }

    /// Lets something happen.
    async fn one_thing(&mut self) -> anyhow::Result<()> {
        match self.dice.below(20) {
            0..=11 => self.message().await,
            12 => self.ask_for(Command::Undo { from: None }, "undone").await,
            13 | 14 => self.ask_for(Command::Continue, "continued").await,
            15 => self.ask_for(Command::Retry, "answered again").await,
            16 => {
                self.inject();
                let compacting = self.session();
                let compacted = self.up.process.run(async move { compacting.compact().await }).await;
                if matches!(compacted, Ok(Ok(Some(_)))) {
                    self.wires.met("compacted by hand");
                }
                self.tell("compacted by hand");
                self.quiet().await.map(drop)
            }
            17 => {
                self.change_model();
                Ok(())
            }
            18 => self.crash().await,
            _ => self.ask_for(Command::PutBack, "put back").await,
        }
    }

    fn change_model(&mut self) {
        let before = self.current;
        self.current = usize::try_from(self.dice.below(self.models.len() as u64)).unwrap_or(0);
        if self.current != before {
            self.wires.met("model changed");
            self.tell(format!("model {}", self.models[self.current].name));
        }
    }

    /// Prepares failures of the next requests.
    fn inject(&mut self) {
        self.wires.faults().clear();
        if !self.dice.chance(35) {
            return;
        }
        for _ in 0..1 + self.dice.below(3) {
            let frames = usize::try_from(self.dice.below(25)).unwrap_or(0);
            let fault = match self.dice.below(8) {
                0 => Fault::RateLimit(None),
                1 => Fault::RateLimit(Some(Duration::from_secs(self.dice.below(400)))),
                2 => Fault::ServerError,
                3 => Fault::Unreachable,
                4 => Fault::Silent(frames),
                _ => Fault::Cut(frames),
            };
            self.tell(format!("{fault:?}"));
            self.wires.faults().push_back(fault);
        }
    }

    /// Posts a message and mostly waits for its answer.
    async fn message(&mut self) -> anyhow::Result<()> {
        if self.dice.chance(25) {
            self.change_model();
        }
        self.inject();
        let text = self.text();
        self.tell(format!("posts {} bytes: …{}", text.len(), &text[text.len().saturating_sub(40)..]));
        self.submit(self.post(&text)).await;
        match self.dice.below(10) {
            0 => {
                self.wait_a_moment().await;
                self.ask_for(Command::Stop { run: None, device: None }, "stopped").await
            }
            1 => {
                self.wait_a_moment().await;
                self.crash().await
            }
            2 => {
                // Another one while the first is being answered.
                self.wait_a_moment().await;
                let mode = if self.dice.chance(50) { PostMode::Steer } else { PostMode::Interrupt };
                let text = self.text();
                self.tell(format!("posts {} bytes, {mode:?}", text.len()));
                let message =
                    Message { model: Some(self.models[self.current].name.to_owned()), ..Message::text(text) };
                self.submit(Command::PostMessage { message, mode, key: None }).await;
                self.quiet().await.map(drop)
            }
            _ => self.quiet().await.map(drop),
        }
    }

    async fn wait_a_moment(&mut self) {
        let millis = self.dice.below(1_500);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    fn text(&mut self) -> String {
        let kind = self.dice.below(20);
        let filled = |bytes: u64| {
            let line = "All of this was said before, and it is said again. ";
            line.repeat(usize::try_from(bytes).unwrap_or(0) / line.len())
        };
        match kind {
            0..=4 => format!("Short message {}.", self.dice.below(1_000)),
            5..=8 => {
                let rounds = if self.dice.chance(50) { " twice" } else { "" };
                format!("Look at both clocks{rounds}, please.")
            }
            9 => "Look at the clock, please.".to_owned(),
            10..=12 => "Count, please.".to_owned(),
            13..=17 => format!("{}Well?", filled(3_000 + self.dice.below(9_000))),
            _ => {
                self.wires.met("message larger than a model reads");
                format!("{}Well?", filled(31_000 + self.dice.below(40_000)))
            }
        }
    }

    fn post(&self, text: &str) -> Command {
        let message =
            Message { model: Some(self.models[self.current].name.to_owned()), ..Message::text(text) };
        Command::PostMessage { message, mode: PostMode::Queue, key: None }
    }

    /// Submits a command. One that is rejected changes nothing.
    async fn submit(&mut self, command: Command) -> bool {
        let session = self.session();
        let done = self.up.process.run(async move { session.submit(command).await }).await;
        matches!(done, Ok(Ok(_)))
    }

    async fn ask_for(&mut self, command: Command, what: &'static str) -> anyhow::Result<()> {
        self.inject();
        if self.submit(command).await {
            self.wires.met(what);
            self.tell(what);
        }
        self.quiet().await.map(drop)
    }

    /// Kills the process and starts another with the same store.
    async fn crash(&mut self) -> anyhow::Result<()> {
        self.tell("crashed");
        self.wires.met("crashed");
        self.up.process.kill();
        self.slots.lose_power();
        self.store.forget_nodes();
        let seed = self.dice.roll();
        self.up = start(&self.models, &self.wires, &self.store, &self.slots, &self.outside, seed).await?;
        self.quiet().await.map(drop)
    }

    /// Waits until the session is idle.
    async fn quiet(&mut self) -> anyhow::Result<View> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(100);
        loop {
            let session = self.session();
            let view = self.up.process.run(async move { session.view().await }).await;
            let view = view.ok().context("it lives")??;
            if view.run.is_none() && view.queue.iter().all(|queued| queued.paused) {
                return Ok(view);
            }
            anyhow::ensure!(
                Instant::now() < deadline,
                "the session never came to rest: {}",
                self.told.join("; ")
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(60));
        }
    }

    /// Posts short messages until one is answered.
    async fn end(&mut self) -> anyhow::Result<()> {
        let view = self.quiet().await?;
        if view.summarized_through.is_some() {
            self.wires.met("session compacted");
        }
        if !view.queue.is_empty() {
            self.submit(Command::ClearQueue).await;
        }
        self.wires.faults().clear();
        let provider = self.models[self.current];
        for attempt in 0..TRIES {
            self.submit(self.post("Are you there?")).await;
            let view = self.quiet().await?;
            if is_answered(&view, provider) {
                return Ok(());
            }
            if attempt == 0 {
                let turn = view.turns.last();
                let marker = turn.and_then(|turn| turn.marker.as_ref()).map(|marker| marker.text.clone());
                let said = turn.and_then(|turn| turn.answer.as_ref()).map(|answer| answer.parts.clone());
                let refused = self.wires.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let told = self.told.join("; ");
                self.wires.lived().stumbled = Some(format!(
                    "{}: {marker:?}, {said:?}\n#     last refusal: {refused}\n#     {told}",
                    provider.name
                ));
            }
        }
        self.wires.lived().is_dead_end = true;
        Ok(())
    }
}

/// Whether the newest message was answered by this provider, to its end.
fn is_answered(view: &View, provider: &Strict) -> bool {
    let Some(turn) = view.turns.last() else { return false };
    let Some(answer) = &turn.answer else { return false };
    let texts = answer
        .parts
        .iter()
        .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
    let text: String = texts.collect();
    turn.message.text == "Are you there?" && answer.complete && text.trim() == answers(provider)
}

async fn start(
    models: &[&'static Strict],
    wires: &Arc<Wires>,
    store: &Arc<MemoryStore>,
    slots: &Arc<SimSlots>,
    outside: &Arc<Outside>,
    seed: u64,
) -> anyhow::Result<Up> {
    let process = Process::new(seed, GIVE_WAY);
    let agent = Agent {
        models: models.iter().map(|provider| model(provider, wires)).collect(),
        background: None,
        tools: agent::tool::built_in(),
        world: Arc::new(Seen(outside.clone())),
        media: Arc::default(),
        limits: RunLimits::default(),
        instructions: None,
    };
    let mut settings = Settings::new("");
    settings.spool = slots.clone();
    settings.slots = 4;
    settings.slots_max = 16;
    settings.idle_after = Duration::from_secs(20);
    settings.after_interruption = AfterInterruption::Continue.into();
    let hub = process.run(Hub::start(store.clone(), Arc::new(agent), outside.clone(), settings)).await;
    Ok(Up { process, hub: hub.ok().context("it lives")?? })
}

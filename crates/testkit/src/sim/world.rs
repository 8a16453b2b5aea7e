//! What is there: nodes, the one truth, and the record of everything that was promised to anyone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fault::Process;
use futures_util::FutureExt;
use hub::{Change, Clock, Hub, Settings};
use session::{
    Entry, Epoch, Event, Hash, Message, MessageKey, NodeId, RunId, Seq, SessionId, SlotNo, Time, TurnId,
    UserId,
};
use store::LogStore;
use store::memory::MemoryStore;
use tokio::time::Instant;
use uuid::Uuid;

use super::Outcome;
use super::line::{Line, SimStore};
use super::memory::{self, SimMemory};
use super::provider::Provider;
use super::slots::SimSlots;
use crate::dice::Dice;

/// The moment at which every world begins.
const BEGIN_MICROS: i64 = 1_700_000_000_000_000;
/// One in so many polls of a task lets others go first.
const GIVE_WAY: u64 = 8;
/// How long after a trouble nothing of it is left.
const CALM: Duration = Duration::from_secs(30);

/// One world.
pub(crate) struct World {
    pub(crate) truth: Arc<MemoryStore>,
    pub(crate) nodes: Vec<Node>,
    dice: Mutex<Dice>,
    begun: Instant,
    ids: AtomicU64,
    record: Mutex<Record>,
    memory: Mutex<memory::Record>,
}

/// What was promised so far.
#[derive(Default)]
pub(crate) struct Record {
    /// Every session that was made, by the id it was made with.
    pub(crate) sessions: Vec<SessionId>,
    pub(crate) erased: Vec<SessionId>,
    /// What readers were shown: the hash of each entry.
    pub(crate) shown: BTreeMap<(SessionId, Seq), Hash>,
    /// Messages that were acknowledged, by their key.
    pub(crate) kept: BTreeMap<(SessionId, MessageKey), (TurnId, Message)>,
    /// Words that each run gave to be kept, and the process that it worked in.
    pub(crate) said: BTreeMap<(SessionId, RunId), (u64, u64)>,
    /// Words of each run that were durable somewhere when it was told so.
    pub(crate) durable: BTreeMap<(SessionId, RunId), u64>,
    met: BTreeMap<&'static str, u64>,
    trace: u64,
    broken: Option<String>,
    pub(crate) in_peace: bool,
    /// Runs whose agent came to its own end.
    pub(crate) finished: BTreeSet<(SessionId, RunId)>,
    /// The newest claim of each session.
    pub(crate) claimed: BTreeMap<SessionId, Epoch>,
    /// Troubles that are going on, and when the last one ended.
    troubles: u32,
    troubled_at: Option<Instant>,
    /// Whether slots are gone for good.
    pub(crate) slots_lost: bool,
    /// Whether slots could not be seen for a while.
    pub(crate) slots_hidden: bool,
    /// Whether a clock jumped by more than a minute.
    pub(crate) jumped_far: bool,
    /// The open run of each session in the list of each process.
    pub(crate) listed: BTreeMap<(u64, SessionId), Option<RunId>>,
}

/// One machine.
pub(crate) struct Node {
    pub(crate) no: usize,
    pub(crate) line: Arc<Line>,
    pub(crate) slots: Arc<SimSlots>,
    /// What its clock is off by.
    pub(crate) skew_micros: Arc<AtomicI64>,
    up: Mutex<Option<Up>>,
    /// Whether a process is starting. A data directory allows one process at a time.
    starts: AtomicBool,
}

/// A process on a node and the hub in it.
#[derive(Clone)]
pub(crate) struct Up {
    pub(crate) process: Process,
    pub(crate) hub: Hub,
    /// Tells it from those before and after it.
    pub(crate) number: u64,
    pub(crate) node: usize,
}

impl World {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(3);
        let truth = Arc::new(MemoryStore::new());
        let nodes = (0..usize::try_from(count).unwrap_or(1)).map(|no| Node {
            no,
            line: Arc::default(),
            slots: Arc::default(),
            skew_micros: Arc::default(),
            up: Mutex::default(),
            starts: AtomicBool::new(false),
        });
        Arc::new(Self {
            truth,
            nodes: nodes.collect(),
            dice: Mutex::new(dice),
            begun: Instant::now(),
            ids: AtomicU64::new(seed << 20),
            record: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    /// The time of a clock that is right.
    pub(crate) fn now_micros(&self) -> i64 {
        BEGIN_MICROS + i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    pub(crate) fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, memory::Record> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn chance(&self, percent: u64) -> bool {
        self.dice().chance(percent)
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        self.dice().below(end)
    }

    /// Waits for a part of so many milliseconds.
    pub(crate) async fn pause(&self, millis: u64) {
        let micros = self.below(millis * 1_000 + 1);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }

    /// One of the nodes that run.
    pub(crate) fn any_node(&self) -> Option<Up> {
        let running: Vec<Up> = self.nodes.iter().filter_map(Node::running).collect();
        self.dice().pick(&running).cloned()
    }

    /// An id that nobody had before.
    pub(crate) fn id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.ids.fetch_add(1, Ordering::Relaxed)) << 64 | 1)
    }

    /// Notes that a rare situation occurred.
    pub(crate) fn met(&self, situation: &'static str) {
        let mut record = self.record();
        *record.met.entry(situation).or_default() += 1;
        record.note(situation.as_bytes());
    }

    /// Notes that something is wrong from now on.
    pub(crate) fn trouble_begins(&self) {
        self.record().troubles += 1;
    }

    /// Notes that it is over.
    pub(crate) fn trouble_ends(&self) {
        let mut record = self.record();
        record.troubles -= 1;
        record.troubled_at = Some(Instant::now());
    }

    /// Whether nothing was wrong since some time before a moment.
    pub(crate) fn was_calm(&self, since: Instant) -> bool {
        let record = self.record();
        record.troubles == 0 && record.troubled_at.is_none_or(|at| at + CALM < since)
    }

    /// Notes a broken promise; the first one counts.
    pub(crate) fn broken(&self, what: impl FnOnce() -> String) {
        let mut record = self.record();
        if record.broken.is_none() {
            record.broken = Some(what());
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.record().broken.is_some()
    }

    /// The log of a session as it truly is.
    pub(crate) fn log(&self, session: SessionId) -> Vec<Entry> {
        store::read_all(self.truth.as_ref(), session, Seq(0))
            .now_or_never()
            .and_then(Result::ok)
            .unwrap_or_default()
    }

    /// One entry as it truly is.
    pub(crate) fn entry(&self, session: SessionId, seq: Seq) -> Option<Entry> {
        let before = Seq(seq.0.checked_sub(1)?);
        self.truth.read(session, before, 1).now_or_never()?.ok()?.pop()
    }

    /// The slot that a run names.
    pub(crate) fn slot_of(&self, session: SessionId, run: RunId) -> Option<SlotNo> {
        match self.entry(session, Seq(run.0))?.event {
            Event::RunStarted { spool, .. } => spool,
            _ => None,
        }
    }

    /// Lets go of everything that runs.
    pub(crate) fn end(&self) {
        self.nodes.iter().for_each(Node::kill);
    }

    pub(crate) fn outcome(&self, simulated: Duration) -> Outcome {
        let record = self.record();
        Outcome { trace: record.trace, simulated, met: record.met.clone(), broken: record.broken.clone() }
    }
}

impl Record {
    /// Adds to the trace.
    pub(crate) fn note(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.trace = (self.trace ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Node {
    fn up(&self) -> MutexGuard<'_, Option<Up>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs on it now.
    pub(crate) fn running(&self) -> Option<Up> {
        self.up().clone().filter(|up| !up.process.is_dead())
    }

    /// Starts a process on it, unless one runs. It serves when this answers, or it failed.
    pub(crate) async fn start(&self, world: &Arc<World>) {
        if self.running().is_some() || self.starts.swap(true, Ordering::Relaxed) {
            return;
        }
        self.start_process(world).await;
        self.starts.store(false, Ordering::Relaxed);
    }

    #[expect(clippy::disallowed_methods, reason = "the list is watched for as long as the process lives")]
    async fn start_process(&self, world: &Arc<World>) {
        let process = Process::new(world.below(u64::MAX), GIVE_WAY);
        let number = world.ids.fetch_add(1, Ordering::Relaxed);
        let clock = SimClock { world: world.clone(), skew_micros: self.skew_micros.clone() };
        self.line.open_anew();
        if world.nodes.len() == 1 {
            world.truth.forget_nodes();
        }
        let store = SimStore { world: world.clone(), line: self.line.clone(), slots: self.slots.clone() };
        let settings = Settings {
            spool: self.slots.clone(),
            slots: 4,
            slots_max: 16,
            idle_after: Duration::from_secs(20),
            after_interruption: hub::AfterInterruption::Continue.into(),
            memory: hub::Remembers(Some(Arc::new(SimMemory(world.clone())))),
            suspend_active_within: None,
        };
        let provider = Provider { world: world.clone(), process: number };
        if world.chance(20) {
            process.kill_after(world.below(300));
        }
        let start = Hub::start(Arc::new(store), Arc::new(provider), Arc::new(clock), settings);
        match process.run(start).await {
            Ok(Ok(hub)) => {
                let watched = watch_list(world.clone(), hub.follow_list(UserId::FIRST), number);
                let watching = process.clone();
                tokio::spawn(async move { watching.run(watched).await });
                *self.up() = Some(Up { process, hub, number, node: self.no });
                if world.record().in_peace && world.nodes.len() == 1 {
                    super::chat::started(world);
                }
            }
            Ok(Err(_)) => {
                process.kill();
                world.met("a start failed");
            }
            Err(_) => world.met("a start was killed"),
        }
    }

    /// Kills what runs on it.
    pub(crate) fn kill(&self) {
        if let Some(up) = self.up().take() {
            up.process.kill();
        }
    }
}

/// Records the list of a process, like a page that stays open.
async fn watch_list(world: Arc<World>, mut list: hub::ListFollower, process: u64) {
    loop {
        match list.next().await.as_deref() {
            Ok(Change::Line(line)) => {
                world.record().listed.insert((process, line.session), line.run);
            }
            Ok(Change::Gone { session, .. }) => {
                world.record().listed.remove(&(process, *session));
            }
            // After a gap the page would reload; after the hub ends there is nothing to show.
            Err(_) => return world.record().listed.retain(|(of, _), _| *of != process),
        }
    }
}

/// The clock of one node.
struct SimClock {
    world: Arc<World>,
    skew_micros: Arc<AtomicI64>,
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        Time(self.world.now_micros() + self.skew_micros.load(Ordering::Relaxed))
    }

    fn session_id(&self) -> SessionId {
        SessionId(self.world.id())
    }

    fn node_id(&self) -> NodeId {
        NodeId(self.world.id())
    }
}

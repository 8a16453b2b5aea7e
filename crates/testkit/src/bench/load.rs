//! Many runs at once through the real hub: each streams chunks, the next when the last is durable, with one reader a
//! session; ends are spread evenly, and each is followed by the next message.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use hub::{Create, Followed, Hub, RunProgress, RunRequest, Runner, SessionHandle, Settings, SystemClock};
use session::{Command, Entry, Event, Message, MessageKey, PostMode, Progress, Seq, SessionId};
use store::Store;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::place;
use super::prose::Author;

/// Chunks of a run.
pub(crate) const CHUNKS: u64 = 200;
/// Bytes of a chunk's text: an entry of about 220.
const CHUNK_BYTES: usize = 180;
/// Sessions begun at once.
const BEGIN_AT_ONCE: usize = 256;
const LAG_SAMPLE: Duration = Duration::from_millis(100);

/// How the ends of the first runs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Spread evenly over the length of a run.
    Spread,
    /// All after a whole run.
    Whole,
}

/// Runs that are going on.
pub(crate) struct Load {
    pub(crate) runtime: Runtime,
    pub(crate) hub: Hub,
    store: Arc<dyn Store>,
    stream: Arc<Stream>,
    readers: Vec<JoinHandle<Result<()>>>,
}

/// What was seen in a stretch of time.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Durable entries that readers got.
    pub(crate) entries: u64,
    pub(crate) seconds: f64,
    /// From just before the writer is handed a chunk until its reader has it.
    pub(crate) micros: Vec<f64>,
    pub(crate) lag_micros_max: i64,
}

impl Load {
    /// Starts a hub on a store, with so many spool slots made ahead of need.
    pub(crate) fn start(store: Arc<dyn Store>, directory: &Path, slots: u16) -> Result<Self> {
        let runtime = place::runtime()?;
        let stream = Arc::new(Stream::new());
        let mut settings = Settings::new(place::spool(directory));
        (settings.slots, settings.slots_max) = (slots, slots);
        settings.after_interruption = hub::AfterInterruption::Wait.into();
        let started = Hub::start(store.clone(), stream.clone(), Arc::new(SystemClock), settings);
        let hub = runtime.block_on(started)?;
        Ok(Self { runtime, hub, store, stream, readers: Vec::new() })
    }

    /// Opens so many more runs, each in its own session with a reader. They wait until a window lets them stream.
    pub(crate) fn open_runs(&mut self, count: usize, ends: Ends) -> Result<()> {
        let (hub, stream) = (self.hub.clone(), self.stream.clone());
        let readers = self.runtime.block_on(async {
            let mut readers = Vec::with_capacity(count);
            let places: Vec<usize> = (0..count).collect();
            for places in places.chunks(BEGIN_AT_ONCE) {
                let begun = places.iter().map(|at| {
                    let first = match ends {
                        Ends::Spread => CHUNKS * (*at as u64 + 1) / count as u64,
                        Ends::Whole => CHUNKS,
                    };
                    begin(&hub, &stream, first.max(1))
                });
                for reader in join_all(begun).await {
                    readers.push(reader?);
                }
            }
            Ok::<_, anyhow::Error>(readers)
        })?;
        self.readers.extend(readers);
        self.until("every run is open", |load| load.hub.open_runs() >= load.readers.len() as u64)
    }

    fn until(&self, what: &str, reached: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !reached(self) {
            if Instant::now() > deadline {
                bail!("waited in vain until {what}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Lets the runs stream for a while.
    pub(crate) fn window(&mut self, duration: Duration) -> Result<Window> {
        let seats = self.stream.seats();
        seats.iter().for_each(|seat| seat.seen().clear());
        let before: u64 = seats.iter().map(|seat| seat.entries()).sum();
        let begun = Instant::now();
        self.stream.flows.send_replace(true);
        let mut window = Window::default();
        while begun.elapsed() < duration {
            std::thread::sleep(LAG_SAMPLE.min(duration.saturating_sub(begun.elapsed())));
            window.lag_micros_max = window.lag_micros_max.max(self.store.lag_micros());
        }
        window.entries = seats.iter().map(|seat| seat.entries()).sum::<u64>() - before;
        window.seconds = begun.elapsed().as_secs_f64();
        self.stream.flows.send_replace(false);
        let quiet = |load: &Self| {
            load.readers.iter().any(JoinHandle::is_finished)
                || seats.iter().all(|seat| seat.handed().is_empty())
        };
        self.until("nothing is on its way", quiet)?;
        self.check_readers()?;
        for seat in &seats {
            window.micros.append(&mut seat.seen());
        }
        Ok(window)
    }

    /// Readers go on for ever; one that stopped says why.
    fn check_readers(&mut self) -> Result<()> {
        while let Some(at) = self.readers.iter().position(JoinHandle::is_finished) {
            let reader = self.readers.swap_remove(at);
            self.runtime.block_on(reader)?.context("a reader stopped")?;
        }
        Ok(())
    }

    /// Bytes of text in the answers so far, which the sessions hold: few turns fit into their state easily.
    pub(crate) fn said_bytes(&self) -> u64 {
        self.stream.seats().iter().map(|seat| seat.said_bytes.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn texts(&self) -> &'static [String] {
        self.stream.texts
    }

    /// Ends everything at once, as a crash does.
    pub(crate) fn crash(self) {
        let Self { runtime, hub, store, stream, readers } = self;
        drop((hub, store, stream, readers));
        runtime.shutdown_timeout(Duration::from_secs(20));
    }
}

/// Begins a session, its reader and its first run.
async fn begin(hub: &Hub, stream: &Arc<Stream>, first: u64) -> Result<JoinHandle<Result<()>>> {
    let handle = hub.create(Create { title: Some("A load".to_owned()), ..Create::default() }).await?;
    let seat = Arc::new(Seat { next_length: AtomicU64::new(first), ..Seat::default() });
    stream.taken().insert(handle.session(), seat.clone());
    let follower = handle.follow(Seq(0)).await?;
    let reader = tokio::spawn(read(handle.clone(), follower, seat, stream.texts));
    post(&handle, 0, stream.texts).await?;
    Ok(reader)
}

/// Posts the next message.
async fn post(handle: &SessionHandle, seq: u64, texts: &'static [String]) -> Result<()> {
    let message = Message::text(texts[seq as usize % texts.len()].clone());
    let key = Some(MessageKey(format!("message after {seq}")));
    handle.submit(Command::PostMessage { message, mode: PostMode::Queue, key }).await?;
    Ok(())
}

/// Reads what becomes durable, for ever; a run's end is followed by the next message.
async fn read(
    handle: SessionHandle,
    mut follower: hub::Follower,
    seat: Arc<Seat>,
    texts: &'static [String],
) -> Result<()> {
    loop {
        match follower.next().await {
            Ok(Followed::Entry(entry)) => {
                seat.saw(&entry);
                if matches!(entry.event, Event::RunEnded { .. }) {
                    let (handle, seq) = (handle.clone(), entry.seq.0);
                    // A message that is not taken leaves its session without a run, which the figures show.
                    drop(tokio::spawn(async move { post(&handle, seq, texts).await }));
                }
            }
            Ok(Followed::CaughtUp) => {}
            Err(hub::FollowError::CutOff { after }) => follower = handle.follow(after).await?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// One session's place: what its run handed over and its reader has not seen yet, and what it saw.
#[derive(Debug, Default)]
struct Seat {
    next_length: AtomicU64,
    handed: Mutex<VecDeque<Instant>>,
    entries: AtomicU64,
    said_bytes: AtomicU64,
    seen: Mutex<Vec<f64>>,
}

impl Seat {
    fn handed(&self) -> MutexGuard<'_, VecDeque<Instant>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Vec<f64>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    fn saw(&self, entry: &Entry) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        if matches!(entry.event, Event::TextAdded { .. })
            && let Some(handed) = self.handed().pop_front()
        {
            self.seen().push(handed.elapsed().as_secs_f64() * 1e6);
        }
    }
}

/// The agent of every run: it streams while it may.
struct Stream {
    texts: &'static [String],
    flows: watch::Sender<bool>,
    seats: Mutex<HashMap<SessionId, Arc<Seat>>>,
}

impl Stream {
    fn new() -> Self {
        // Kept until the process ends, so that no task needs a copy.
        let texts = Author::new(5).texts(4_096, CHUNK_BYTES).leak();
        Self { texts, flows: watch::Sender::new(false), seats: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seats(&self) -> Vec<Arc<Seat>> {
        self.taken().values().cloned().collect()
    }
}

impl Runner for Stream {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let seat = self.taken().get(&request.session).cloned();
        let (texts, mut flows) = (self.texts, self.flows.subscribe());
        async move {
            let Some(seat) = seat else { return };
            for at in 0..seat.next_length.swap(CHUNKS, Ordering::Relaxed) {
                if flows.wait_for(|flows| *flows).await.is_err() {
                    return;
                }
                let text = texts[(request.run.0 + at * 13) as usize % texts.len()].clone();
                seat.said_bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                seat.handed().push_back(Instant::now());
                if progress.report(Progress::Text(text)).await.is_err() {
                    return;
                }
            }
        }
        .boxed()
    }
}

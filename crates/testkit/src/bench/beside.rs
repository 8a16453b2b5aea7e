//! (j) how long an append takes while a backup and erasures run, and while an attachment is stored.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use hub::{Clock, SystemClock};
use store::blob::Blobs;
use store::directory::{DataDirectory, LogsAt};
use store::sqlite::SqliteStore;
use store::{Catalog, LogStore};

use super::corpus::{self, Log};
use super::figures::{median, millis, quantile};
use super::prose::{Author, Random};
use super::{Bench, Size, place};

/// Bytes of one entry while the store is filled. Reasoning is not indexed for search.
const ENTRY_BYTES: usize = 64 * 1024;
const ENTRIES_OF_A_SESSION: usize = 64;
/// Sessions that are written at once while times are measured, and the pause between two chunks of each.
const RUNS: usize = 8;
const CHUNK_EVERY: Duration = Duration::from_millis(40);
const ERASE_EVERY: Duration = Duration::from_secs(1);
/// Sessions that are erased, the turns of each and the bytes that are said in one, by each.
const DOOMED: usize = 120;
const DOOMED_TURNS: usize = 20;
const SAID_BYTES: usize = 2_000;
/// How long backups are made, at least.
const BACKUPS_FOR: Duration = Duration::from_secs(8);
/// Bytes between two syncs of a plain copy.
const PLAIN_STEP: usize = 1024 * 1024;
const UPLOAD_BYTES: usize = 24 * 1024 * 1024;
const UPLOADS: usize = 9;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let bytes = match bench.size {
        Size::Brief => 100_000_000,
        Size::Ci => 1_000_000_000,
        Size::Full => 10_000_000_000,
    };
    let directory = place::directory()?;
    let runtime = place::runtime()?;
    let store = place::open_store(directory.path())?;
    let begun = Instant::now();
    let mut doomed = runtime.block_on(fill(&store, bytes))?;
    let size = std::fs::metadata(directory.path().join("everturn.db"))?.len() as f64;
    let filled = begun.elapsed().as_secs_f64();
    bench.note("j.made_seconds", filled, &format!("a file of {:.0} MB", size / 1e6));
    runtime.block_on(async {
        let mut runs = Runs::start(&store).await?;
        beside_backup(bench, directory.path(), &store, &mut runs, &mut doomed).await?;
        beside_uploads(bench, directory.path(), &mut runs).await
    })?;
    drop(store);
    runtime.shutdown_timeout(Duration::from_secs(20));
    Ok(())
}

/// Fills a store with sessions of incompressible text. Returns usual ones, which are to be erased.
async fn fill(store: &SqliteStore, bytes: u64) -> Result<Vec<Log>> {
    let sessions = usize::try_from(bytes)? / (ENTRY_BYTES * ENTRIES_OF_A_SESSION);
    let mut random = Random::new(3);
    let mut logs = corpus::logs(store, sessions.max(2)).await?;
    for log in &mut logs {
        let (turn, run) = log.begin_turn("fill the store");
        for _ in 0..ENTRIES_OF_A_SESSION {
            let text: String = (0..ENTRY_BYTES).map(|_| char::from(b'!' + random.below(90) as u8)).collect();
            log.reasoning(run, &text);
        }
        log.end_turn(turn, run);
        corpus::append(store, [log]).await?;
    }
    let doomed = corpus::prose(store, &mut Author::new(4), DOOMED, DOOMED_TURNS, SAID_BYTES).await?;
    store.settle().await?;
    Ok(doomed)
}

/// Runs that bring a chunk each, again and again.
struct Runs {
    store: Arc<SqliteStore>,
    logs: Vec<(Log, session::RunId)>,
}

impl Runs {
    async fn start(store: &Arc<SqliteStore>) -> Result<Self> {
        let mut logs = Vec::new();
        for mut log in corpus::logs(store.as_ref(), RUNS).await? {
            let (_, run) = log.begin_turn("measure");
            corpus::append(store.as_ref(), [&mut log]).await?;
            logs.push((log, run));
        }
        Ok(Self { store: store.clone(), logs })
    }

    /// Brings chunks until `over` is so. Returns how long each append took, in milliseconds.
    async fn go_on(&mut self, over: impl Fn() -> bool) -> Result<Vec<f64>> {
        let mut took = Vec::new();
        while !over() {
            for (log, run) in &mut self.logs {
                log.text(*run, "a heron waits by the river ");
                let begun = Instant::now();
                corpus::append(self.store.as_ref(), [log]).await?;
                took.push(millis(begun.elapsed()));
            }
            tokio::time::sleep(CHUNK_EVERY).await;
        }
        Ok(took)
    }

    /// Appends chunks while `work` runs. Returns the duration of `work` in seconds, and the append latencies.
    async fn go_on_beside(
        &mut self,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<(f64, Vec<f64>)> {
        let begun = Instant::now();
        let working = tokio::task::spawn_blocking(work);
        let took = self.go_on(|| working.is_finished()).await?;
        working.await??;
        Ok((begun.elapsed().as_secs_f64(), took))
    }

    async fn go_on_for(&mut self, time: Duration) -> Result<Vec<f64>> {
        let begun = Instant::now();
        self.go_on(|| begun.elapsed() >= time).await
    }
}

/// Measures append latency during backups, against a quiet store (bar at 1 GB and more) and against plain writes of the same
/// size, because a disk with little bandwidth slows both.
async fn beside_backup(
    bench: &mut Bench,
    directory: &Path,
    store: &Arc<SqliteStore>,
    runs: &mut Runs,
    doomed: &mut Vec<Log>,
) -> Result<()> {
    let bytes = std::fs::metadata(directory.join("everturn.db"))?.len();
    let copies = directory.join("copies");
    std::fs::create_dir_all(&copies)?;
    let mut quiet = runs.go_on_for(Duration::from_secs(bench.size.pick(5, 30))).await?;
    let (mut plain, mut busy, mut took) = (Vec::new(), Vec::new(), Vec::new());
    let erasures = Erasures::start(store, std::mem::take(doomed));
    let begun = Instant::now();
    while took.is_empty() || begun.elapsed() < bench.size.pick(BACKUPS_FOR, BACKUPS_FOR * 6) {
        let (data, copy) = (directory.to_owned(), copies.join(took.len().to_string()));
        let beside = copy.with_extension("plain");
        let (_, times) = runs.go_on_beside(move || write_plainly(&beside, bytes)).await?;
        plain.extend(times);
        erasures.wanted.store(true, Ordering::Release);
        let (seconds, times) = runs.go_on_beside(move || back_up(&data, &copy)).await?;
        erasures.wanted.store(false, Ordering::Release);
        took.push(seconds);
        busy.extend(times);
    }
    let erased = erasures.end().await?;
    let about =
        format!("each of {}, with {erased} erasures and {} appends beside them", took.len(), busy.len());
    bench.note("j.backup_seconds", median(&took), &about);
    let [quiet, plain, busy] = [&mut quiet, &mut plain, &mut busy].map(|times| quantile(times, 0.99));
    bench.note("j.quiet_p99_ms", quiet, "an append when nothing else happens");
    bench.note("j.plain_p99_ms", plain, "beside a plain copy of as many bytes");
    bench.note("j.busy_p99_ms", busy, "beside a backup and an erasure a second");
    if bench.size == Size::Brief {
        bench.note("j.p99_beside_backup", busy / quiet, "times the quiet one");
    } else {
        bench.at_most("j.p99_beside_backup", busy / quiet, 3.0);
    }
    bench.at_most("j.p99_beside_backup_of_plain", busy / plain.max(quiet), 2.0);
    Ok(())
}

/// Erases one session per second while `wanted` is set.
struct Erasures {
    wanted: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<u32>>,
}

impl Erasures {
    fn start(store: &Arc<SqliteStore>, mut doomed: Vec<Log>) -> Self {
        let (wanted, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (store, is_wanted, is_over) = (store.clone(), wanted.clone(), over.clone());
        let task = tokio::spawn(async move {
            let (mut erased, mut last) = (0, None::<Instant>);
            while !is_over.load(Ordering::Acquire) {
                let is_due = last.is_none_or(|last| last.elapsed() >= ERASE_EVERY);
                if is_due && is_wanted.load(Ordering::Acquire) {
                    let Some(log) = doomed.pop() else { break };
                    last = Some(Instant::now());
                    store.erase(log.claim()).await.map_err(|error| anyhow!(error.to_string()))?;
                    erased += 1;
                }
                tokio::time::sleep(CHUNK_EVERY).await;
            }
            Ok(erased)
        });
        Self { wanted, over, task }
    }

    /// Stops the task and returns the number of erased sessions.
    async fn end(self) -> Result<u32> {
        self.over.store(true, Ordering::Release);
        self.task.await?
    }
}

fn back_up(data: &Path, copy: &Path) -> Result<()> {
    let data = DataDirectory::enter_shared(data, LogsAt::Here).map_err(|error| anyhow!(error.to_string()))?;
    store::backup::make(&data, copy, SystemClock.now(), &mut |_, _, _| {})?;
    Ok(())
}

/// Writes a file in synced steps with pauses, like a backup, and removes it.
fn write_plainly(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
    let step = vec![1; PLAIN_STEP];
    for _ in 0..bytes.div_ceil(PLAIN_STEP as u64) {
        file.write_all(&step)?;
        let begun = Instant::now();
        file.sync_data()?;
        std::thread::sleep(begun.elapsed());
    }
    fs::remove_file(path)?;
    Ok(())
}

/// Measures the longest gap in a stream during an upload, against no load and against plain writes.
async fn beside_uploads(bench: &mut Bench, directory: &Path, runs: &mut Runs) -> Result<()> {
    let longest = |took: Vec<f64>| took.into_iter().fold(0.0, f64::max) + millis(CHUNK_EVERY);
    let (mut usual, mut plain, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..UPLOADS {
        let bytes = vec![u8::try_from(number)?; UPLOAD_BYTES];
        let (uploading, runtime) = (runs.store.clone(), tokio::runtime::Handle::current());
        let upload = move || {
            runtime.block_on(uploading.put_blob(bytes, SystemClock.now()))?;
            Ok(())
        };
        let (seconds, times) = runs.go_on_beside(upload).await?;
        beside.push(longest(times));
        usual.push(longest(runs.go_on_for(Duration::from_secs_f64(seconds)).await?));
        let path = directory.join(format!("{number}.plain"));
        let (_, times) = runs.go_on_beside(move || write_plainly(&path, UPLOAD_BYTES as u64)).await?;
        plain.push(longest(times));
    }
    let [usual, plain, beside] = [usual, plain, beside].map(|gaps| median(&gaps));
    bench.note("j.gap_ms", usual, "the longest in a stream");
    bench.note("j.gap_beside_plain_ms", plain, "while 24 MiB are copied plainly");
    bench.note("j.gap_beside_upload_ms", beside, "while 24 MiB are stored");
    if bench.size == Size::Brief {
        bench.note("j.gap_beside_upload", beside / usual, "times the usual one");
    } else {
        bench.at_most("j.gap_beside_upload", beside / usual, 1.5);
    }
    bench.at_most("j.gap_beside_upload_of_plain", beside / plain.max(usual), 1.5);
    Ok(())
}

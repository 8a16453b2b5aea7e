//! (j) how long an append takes while a backup and erasures run, and while an attachment is stored, beside the same store
//! when nothing else happens.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use hub::{Clock, SystemClock};
use store::blob::Blobs;
use store::directory::{DataDirectory, LogsAt};
use store::sqlite::SqliteStore;
use store::{Catalog, LogStore};

use super::corpus::{self, Log};
use super::figures::{median, millis, quantile};
use super::prose::{Author, Random};
use super::{Bench, place};

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
const UPLOAD_BYTES: usize = 24 * 1024 * 1024;
const UPLOADS: usize = 5;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let bytes = bench.size.pick(bench.beside_bytes, 10_000_000_000);
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
        beside_uploads(bench, &store, &mut runs).await
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
    let mut author = Author::new(4);
    let mut doomed = corpus::logs(store, DOOMED).await?;
    for log in &mut doomed {
        for _ in 0..DOOMED_TURNS {
            let (message, answer) = (author.text(SAID_BYTES), author.text(SAID_BYTES));
            log.turn(&message, [answer.as_str()]);
        }
        corpus::append(store, [log]).await?;
    }
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

    async fn go_on_for(&mut self, time: Duration) -> Result<Vec<f64>> {
        let begun = Instant::now();
        self.go_on(|| begun.elapsed() >= time).await
    }
}

async fn beside_backup(
    bench: &mut Bench,
    directory: &Path,
    store: &Arc<SqliteStore>,
    runs: &mut Runs,
    doomed: &mut Vec<Log>,
) -> Result<()> {
    let mut quiet = runs.go_on_for(Duration::from_secs(bench.size.pick(5, 30))).await?;
    let (data, copy) = (directory.to_owned(), directory.join("copy"));
    let done = Arc::new(AtomicBool::new(false));
    let ended = done.clone();
    let begun = Instant::now();
    let least = bench.size.pick(BACKUPS_FOR, BACKUPS_FOR * 6);
    let backup = tokio::task::spawn_blocking(move || {
        let backups = back_up(&data, &copy, least);
        ended.store(true, Ordering::Release);
        backups
    });
    let (erasing, gone, mut victims) = (store.clone(), done.clone(), std::mem::take(doomed));
    let erases = tokio::spawn(async move {
        let mut erased = 0;
        while !gone.load(Ordering::Acquire)
            && let Some(log) = victims.pop()
        {
            erasing.erase(log.claim()).await.map_err(|error| anyhow!(error.to_string()))?;
            erased += 1;
            tokio::time::sleep(ERASE_EVERY).await;
        }
        anyhow::Ok(erased)
    });
    let mut busy = runs.go_on(|| done.load(Ordering::Acquire)).await?;
    let backups = backup.await?.context("the backup")?;
    let took = begun.elapsed().as_secs_f64() / f64::from(backups);
    let erased: u32 = erases.await??;
    let about = format!("each of {backups}, with {erased} erasures and {} appends beside them", busy.len());
    bench.note("j.backup_seconds", took, &about);
    let (quiet, busy) = (quantile(&mut quiet, 0.99), quantile(&mut busy, 0.99));
    bench.note("j.quiet_p99_ms", quiet, "an append when nothing else happens");
    bench.note("j.busy_p99_ms", busy, "beside a backup and an erasure a second");
    bench.at_most("j.p99_beside_backup", busy / quiet, 3.0);
    Ok(())
}

/// Makes backups, one after another, for at least this long. Returns how many.
fn back_up(data: &Path, copy: &Path, least: Duration) -> Result<u32> {
    let (begun, mut backups) = (Instant::now(), 0);
    std::fs::create_dir_all(copy)?;
    while begun.elapsed() < least {
        let data =
            DataDirectory::enter_shared(data, LogsAt::Here).map_err(|error| anyhow!(error.to_string()))?;
        store::backup::make(&data, &copy.join(backups.to_string()), SystemClock.now(), &mut |_, _, _| {})?;
        backups += 1;
    }
    Ok(backups)
}

/// The longest gap in a stream, each time in as long a window with an upload and without one.
async fn beside_uploads(bench: &mut Bench, store: &Arc<SqliteStore>, runs: &mut Runs) -> Result<()> {
    let longest = |took: Vec<f64>| took.into_iter().fold(0.0, f64::max) + millis(CHUNK_EVERY);
    let (mut usual, mut beside) = (Vec::new(), Vec::new());
    for number in 0..UPLOADS {
        let bytes = vec![u8::try_from(number)?; UPLOAD_BYTES];
        let (uploading, done) = (store.clone(), Arc::new(AtomicBool::new(false)));
        let ended = done.clone();
        let begun = Instant::now();
        let upload = tokio::spawn(async move {
            let stored = uploading.put_blob(bytes, SystemClock.now()).await;
            ended.store(true, Ordering::Release);
            stored
        });
        beside.push(longest(runs.go_on(|| done.load(Ordering::Acquire)).await?));
        upload.await??;
        usual.push(longest(runs.go_on_for(begun.elapsed()).await?));
    }
    let (usual, beside) = (median(&usual), median(&beside));
    bench.note("j.gap_ms", usual, "the longest in a stream");
    bench.note("j.gap_beside_upload_ms", beside, "while 24 MiB are stored");
    bench.at_most("j.gap_beside_upload", beside / usual, 1.5);
    Ok(())
}

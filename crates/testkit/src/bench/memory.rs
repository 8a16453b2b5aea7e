//! (g) memory: nothing for a session that is idle, little for a run that goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::join_all;
use hub::{Followed, Hub, SessionHandle, Settings, SystemClock};
use session::{Seq, SessionId};
use store::{Catalog, LogStore};

use super::corpus;
use super::load::{Ends, Load};
use super::prose::Author;
use super::{Bench, place};
use crate::agent::ScriptedAgent;

const RUNS: usize = 2_000;
/// Sessions that a hub has open at the same time in the first part.
const OPEN_AT_ONCE: usize = 250;
const IDLE_AFTER: Duration = Duration::from_millis(50);

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    measure_runs(bench)?;
    measure_idle(bench)
}

/// What a session leaves behind in memory when it was opened and given up.
fn measure_idle(bench: &mut Bench) -> Result<()> {
    let count = bench.size.pick(4_000, 10_000);
    let directory = place::directory()?;
    let runtime = place::runtime()?;
    let store = place::open_store(directory.path())?;
    let mut settings = Settings::new(place::spool(directory.path()));
    (settings.slots, settings.slots_max, settings.idle_after) = (1, 1, IDLE_AFTER);
    let (before, after, left) = runtime.block_on(async {
        let sessions = make(store.as_ref(), count * 2).await?;
        store.settle().await?;
        let agent = Arc::new(ScriptedAgent::default());
        let hub = Hub::start(store.clone(), agent, Arc::new(SystemClock), settings).await?;
        // The first half warms what is shared: caches, threads, the allocator.
        let (first, second) = sessions.split_at(count);
        open_and_retire(&hub, first).await?;
        store.settle().await?;
        let before = place::resident_bytes()?;
        let left = open_and_retire(&hub, second).await?;
        store.settle().await?;
        Ok::<_, anyhow::Error>((before, place::resident_bytes()?, left))
    })?;
    drop(store);
    runtime.shutdown_timeout(Duration::from_secs(20));
    bench.note("g.idle_before_megabytes", before / 1e6, "resident");
    bench.note("g.idle_after_megabytes", after / 1e6, &format!("resident, {count} sessions later"));
    bench.within("g.idle_writers_left", left as f64, 0.0);
    bench.within("g.idle_session_bytes", (after - before) / count as f64, 1024.0);
    Ok(())
}

/// Makes sessions of one turn.
async fn make(store: &impl LogStore, count: usize) -> Result<Vec<SessionId>> {
    let mut author = Author::new(9);
    let mut logs = corpus::logs(store, count).await?;
    for logs in logs.chunks_mut(500) {
        for log in &mut *logs {
            let (message, answer) = (author.text(200), author.text(200));
            log.turn(&message, [answer.as_str()]);
        }
        corpus::append(store, &mut *logs).await?;
        // A snapshot that a writer leaves behind would only fill SQLite's cache, which is bounded.
        for log in logs {
            log.keep_snapshot(store).await?;
        }
    }
    Ok(logs.iter().map(corpus::Log::session).collect())
}

/// Opens sessions and waits until none of them has a writer. Answers how many kept theirs after their reader left,
/// and looks at those once more, so that they go too.
async fn open_and_retire(hub: &Hub, sessions: &[SessionId]) -> Result<usize> {
    for sessions in sessions.chunks(OPEN_AT_ONCE) {
        for opened in join_all(sessions.iter().map(|session| open(hub, *session))).await {
            opened?;
        }
    }
    let left = retired(hub, IDLE_AFTER * 20).await;
    if left > 0 {
        for sessions in sessions.chunks(OPEN_AT_ONCE) {
            let handles: Vec<_> = sessions.iter().map(|session| hub.open(*session)).collect();
            for viewed in join_all(handles.iter().map(SessionHandle::view)).await {
                viewed?;
            }
        }
        let left = retired(hub, Duration::from_secs(20)).await;
        ensure!(left == 0, "{left} idle writers did not retire");
    }
    Ok(left)
}

/// Waits until every writer has retired, and answers how many have not.
async fn retired(hub: &Hub, patience: Duration) -> usize {
    let deadline = Instant::now() + patience;
    while hub.writers() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    hub.writers()
}

/// Follows a session to its end, as an open page does, and leaves.
async fn open(hub: &Hub, session: SessionId) -> Result<()> {
    let handle = hub.open(session);
    let mut follower = handle.follow(Seq(0)).await?;
    while follower.next().await? != Followed::CaughtUp {}
    drop(follower);
    Ok(())
}

/// What a run that goes on takes, beyond the bytes of its answer.
fn measure_runs(bench: &mut Bench) -> Result<()> {
    let directory = place::directory()?;
    let store = place::open_store(directory.path())?;
    warm(store.as_ref())?;
    // Slots are files and take no memory; without them there is less to wait for.
    let mut load = Load::start(store, directory.path(), 16)?;
    load.open_runs(64, Ends::Whole)?;
    load.window(bench.size.pick(Duration::from_millis(500), Duration::from_secs(1)))?;
    let (before, said_before) = (place::resident_bytes()?, load.said_bytes());
    load.open_runs(RUNS, Ends::Whole)?;
    load.window(bench.size.pick(Duration::from_secs(4), Duration::from_secs(6)))?;
    let (after, said) = (place::resident_bytes()?, load.said_bytes().saturating_sub(said_before));
    load.crash();
    bench.note("g.runs_before_megabytes", before / 1e6, "resident, caches warm");
    bench.note("g.runs_after_megabytes", after / 1e6, &format!("resident, {RUNS} runs more"));
    bench.note("g.answers_megabytes", said as f64 / 1e6, "answers of these runs");
    bench.within("g.run_kib", (after - before - said as f64) / RUNS as f64 / 1024.0, 64.0);
    Ok(())
}

/// Fills SQLite's page cache, which is bounded and the same for any number of runs.
fn warm(store: &impl LogStore) -> Result<()> {
    let texts = Author::new(2).texts(512, 180);
    place::runtime()?.block_on(async {
        let mut logs = corpus::logs(store, 64).await?;
        for _ in 0..20 {
            for log in &mut logs {
                log.turn(&texts[0], texts.iter().take(200).map(String::as_str));
            }
            corpus::append(store, &mut logs).await?;
        }
        Ok(())
    })
}

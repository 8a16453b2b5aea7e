//! (k) how long a run takes to start while sessions are erased from a large search index.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use hub::{Create, Hub, Settings, SystemClock};
use session::SessionId;
use store::Catalog;
use store::sqlite::SqliteStore;

use super::corpus;
use super::figures::{median, millis, quantile};
use super::prose::Author;
use super::{Bench, Size, place};
use crate::agent::{Gate, ScriptedAgent, script};
use crate::world::post;

/// Turns of a session, and the bytes of each message and each answer.
const TURNS: usize = 25;
const SAID_BYTES: usize = 2_000;
const ERASE_EVERY: Duration = Duration::from_secs(1);
const START_EVERY: Duration = Duration::from_millis(20);

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let bytes = match bench.size {
        Size::Brief => 20_000_000,
        Size::Ci => 100_000_000,
        Size::Full => 1_000_000_000,
    };
    let seconds = Duration::from_secs(bench.size.pick(8, 60));
    let directory = place::directory()?;
    let runtime = place::runtime()?;
    let store = place::open_store(directory.path())?;
    let begun = Instant::now();
    let doomed = runtime.block_on(fill(&store, bytes))?;
    let megabytes = |name| std::fs::metadata(directory.path().join(name)).map(|file| file.len() as f64 / 1e6);
    let about = format!(
        "a log of {:.0} MB, an index of {:.0} MB",
        megabytes("everturn.db")?,
        megabytes("search.db")?
    );
    bench.note("k.made_seconds", begun.elapsed().as_secs_f64(), &about);
    let (mut quiet, mut beside, erased) =
        runtime.block_on(compare(directory.path(), store.clone(), doomed, seconds))?;
    drop(store);
    runtime.shutdown_timeout(Duration::from_secs(20));
    bench.note("k.quiet_ms", median(&quiet), &format!("from a message to its run, of {}", quiet.len()));
    bench.note("k.beside_ms", median(&beside), &format!("of {}, beside {erased} erasures", beside.len()));
    bench.at_most("k.start_beside_erasure", median(&beside) / median(&quiet), 2.0);
    let [quiet, beside] = [&mut quiet, &mut beside].map(|times| quantile(times, 0.95));
    bench.note("k.start_beside_erasure_p95", beside / quiet, &format!("times the quiet {quiet:.2} ms"));
    bench.within("k.erasures_missing", f64::from(erased == 0), 0.0);
    Ok(())
}

/// Fills a store with sessions of prose, and waits until they are indexed.
async fn fill(store: &SqliteStore, bytes: usize) -> Result<Vec<SessionId>> {
    let sessions = bytes / (TURNS * SAID_BYTES * 2);
    let logs = corpus::prose(store, &mut Author::new(5), sessions, TURNS, SAID_BYTES).await?;
    store.settle().await?;
    Ok(logs.iter().map(corpus::Log::session).collect())
}

/// Starts runs for a while, then starts runs while sessions are erased. Returns how long each start took, in
/// milliseconds, and the number of erased sessions.
async fn compare(
    directory: &Path,
    store: Arc<SqliteStore>,
    doomed: Vec<SessionId>,
    time: Duration,
) -> Result<(Vec<f64>, Vec<f64>, usize)> {
    let agent = Arc::new(ScriptedAgent::default());
    let settings = Settings::new(place::spool(directory));
    let hub = Hub::start(store, agent.clone(), Arc::new(SystemClock), settings).await?;
    let mut starts = Starts { hub: hub.clone(), agent, gate: Gate::default(), count: 0 };
    // The first starts warm caches and threads.
    starts.go_on(|| false, Duration::from_secs(1)).await?;
    let quiet = starts.go_on(|| false, time).await?;
    let erasing = tokio::spawn(async move {
        let (begun, mut erased) = (Instant::now(), 0);
        for session in doomed {
            if begun.elapsed() >= time {
                break;
            }
            hub.erase(session).await?;
            erased += 1;
            tokio::time::sleep(ERASE_EVERY).await;
        }
        anyhow::Ok(erased)
    });
    let beside = starts.go_on(|| erasing.is_finished(), time * 2).await?;
    Ok((quiet, beside, erasing.await??))
}

/// Runs that are started one after the other, each in a session of its own.
struct Starts {
    hub: Hub,
    agent: Arc<ScriptedAgent>,
    gate: Gate,
    count: u64,
}

impl Starts {
    /// Starts runs until `over` is so or the time is up. Returns the milliseconds from each message to its run.
    async fn go_on(&mut self, over: impl Fn() -> bool, time: Duration) -> Result<Vec<f64>> {
        let (begun, mut took) = (Instant::now(), Vec::new());
        while !over() && begun.elapsed() < time {
            let session = self.hub.create(Create::default()).await?;
            self.agent.add(script().gate(&self.gate).text("A heron waits by the river."));
            self.count += 1;
            let posted = Instant::now();
            session.submit(post("What waits by the river?")).await?;
            self.gate.reached(self.count).await;
            took.push(millis(posted.elapsed()));
            self.gate.open();
            tokio::time::sleep(START_EVERY).await;
        }
        Ok(took)
    }
}

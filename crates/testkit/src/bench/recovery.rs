//! (c) a run with very many chunks is cut off; how soon can its session be read again?

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use hub::{Create, Hub, RunProgress, RunRequest, Runner, Settings, SystemClock};
use session::{Command, Message, PostMode, Progress, Seq, SessionId};
use tokio::sync::watch;

use super::bare::Bare;
use super::figures::{median, millis, quantile};
use super::prose::Author;
use super::recording::Batch;
use super::{Bench, place};

/// Chunks handed to the writer at once while the log is made.
const AT_ONCE: usize = 64;
/// Entries that bare SQLite commits at once while its copy is made.
const BARE_BATCH: usize = 1_024;

/// An agent that says very much and then hangs.
struct Flood {
    texts: Vec<String>,
    chunks: usize,
    said: watch::Sender<bool>,
}

impl Runner for Flood {
    fn run(&self, _: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let (texts, chunks, said) = (self.texts.clone(), self.chunks, self.said.clone());
        async move {
            for at in (0..chunks).step_by(AT_ONCE) {
                let reports = (at..chunks.min(at + AT_ONCE))
                    .map(|chunk| progress.report(Progress::Text(texts[chunk % texts.len()].clone())));
                if join_all(reports).await.iter().any(Result::is_err) {
                    return;
                }
            }
            said.send_replace(true);
            std::future::pending().await
        }
        .boxed()
    }
}

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let chunks = bench.size.pick(50_000, 100_000);
    let origin = place::directory()?;
    let begun = Instant::now();
    let session = make(origin.path(), chunks)?;
    let aside = place::directory()?;
    let bare = copy_to_bare(origin.path(), aside.path(), session)?;
    bench.note("c.made_seconds", begun.elapsed().as_secs_f64(), "the log and its bare copy");
    let (mut ours, mut bares, mut parts) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for trial in 0..bench.size.pick(5, 7) {
        let copy = aside.path().join(format!("trial-{trial}"));
        place::copy(origin.path(), &copy)?;
        // What was written to make all this is not recovery's burden.
        nix::unistd::sync();
        let times = recover(&copy, session, chunks)?;
        ours.push(millis(times.iter().sum()));
        parts.iter_mut().zip(times).for_each(|(part, time)| part.push(millis(time)));
        std::fs::remove_dir_all(copy)?;
        bares.push(millis(bare.read(session)?.0));
    }
    for (name, part) in ["open_store", "start_hub", "view"].into_iter().zip(&parts) {
        bench.note(&format!("c.{name}_ms"), median(part), "");
    }
    // The fastest of both: recovery syncs and reading does not, so a stall of the disk would hit ours alone.
    let (ours, bare) = (quantile(&mut ours, 0.0), quantile(&mut bares, 0.0));
    bench.note("c.recovery_ms", ours, &format!("{chunks} chunks; 100 on a quiet machine"));
    bench.note("c.bare_ms", bare, "bare SQLite reads the same rows");
    bench.at_most("c.of_bare", ours / bare, 3.0);
    Ok(())
}

fn settings(directory: &Path) -> Settings {
    let mut settings = Settings::new(place::spool(directory));
    (settings.slots, settings.slots_max) = (2, 2);
    settings.after_interruption = hub::AfterInterruption::Wait.into();
    settings
}

/// Makes a session with an open run through a real hub, and takes the hub away.
fn make(directory: &Path, chunks: usize) -> Result<SessionId> {
    let runtime = place::runtime()?;
    let store = place::open_store(directory)?;
    let said = watch::Sender::new(false);
    let flood = Flood { texts: Author::new(3).texts(1_024, 180), chunks, said: said.clone() };
    let session = runtime.block_on(async {
        let hub =
            Hub::start(store.clone(), Arc::new(flood), Arc::new(SystemClock), settings(directory)).await?;
        let handle = hub.create(Create::default()).await?;
        let message = Message::text("Tell me everything.");
        handle.submit(Command::PostMessage { message, mode: PostMode::Queue, key: None }).await?;
        tokio::time::timeout(Duration::from_secs(300), said.subscribe().wait_for(|said| *said)).await??;
        Ok::<_, anyhow::Error>(handle.session())
    })?;
    runtime.shutdown_timeout(Duration::from_secs(20));
    Ok(session)
}

fn copy_to_bare(origin: &Path, aside: &Path, session: SessionId) -> Result<Bare> {
    let store = place::open_store(origin)?;
    let entries = place::runtime()?.block_on(store::read_all(store.as_ref(), session, Seq(0)))?;
    let rows: Batch = entries.into_iter().map(|entry| (session, Arc::new(entry))).collect();
    let batches: Vec<Batch> = rows.chunks(BARE_BATCH).map(<[_]>::to_vec).collect();
    let mut bare = Bare::create(aside.join("bare.db"))?;
    bare.replay(&batches)?;
    bare.checkpoint()?;
    Ok(bare)
}

/// Opens the store, starts a hub, which repairs what was cut off, and looks at the session.
fn recover(directory: &Path, session: SessionId, chunks: usize) -> Result<[Duration; 3]> {
    let runtime = place::runtime()?;
    let begun = Instant::now();
    let store = place::open_store(directory)?;
    let opened = begun.elapsed();
    let idle = Flood { texts: Vec::new(), chunks: 0, said: watch::Sender::new(false) };
    let (started, viewed, view) = runtime.block_on(async {
        let hub =
            Hub::start(store.clone(), Arc::new(idle), Arc::new(SystemClock), settings(directory)).await?;
        let started = begun.elapsed();
        let view = hub.open(session).view().await?;
        Ok::<_, anyhow::Error>((started, begun.elapsed(), view))
    })?;
    runtime.shutdown_timeout(Duration::from_secs(20));
    let turn = view.turns.last().context("the turn is gone")?;
    ensure!(turn.marker.is_some() && view.run.is_none(), "the run was not closed");
    ensure!(view.seq.0 as usize > chunks, "chunks are missing");
    Ok([opened, started - opened, viewed - started])
}

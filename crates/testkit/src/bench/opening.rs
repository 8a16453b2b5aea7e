//! (d) does opening a session and reading its last page take longer when its log is longer?

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hub::{Hub, Settings, SystemClock};
use session::SessionId;
use store::Catalog;

use super::corpus::{self, Log};
use super::figures::{median, millis};
use super::prose::Author;
use super::{Bench, place};
use crate::agent::ScriptedAgent;

/// Chunks of a turn.
const CHUNKS: usize = 200;
/// Turns appended at once while a log is made.
const TURNS_AT_ONCE: u64 = 20;
/// Turns of the page.
const PAGE: usize = 20;
const SHORT: u64 = 10_000;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let long = bench.size.pick(100_000, 1_000_000);
    let directory = place::directory()?;
    let begun = Instant::now();
    let sessions = make(directory.path(), [SHORT, long])?;
    bench.note(
        "d.made_seconds",
        begun.elapsed().as_secs_f64(),
        &format!("logs of {SHORT} and {long} entries"),
    );
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for _ in 0..bench.size.pick(5, 9) {
        for (times, session) in times.iter_mut().zip(sessions) {
            let (view, page) = open(directory.path(), session)?;
            times[0].push(millis(view));
            times[1].push(millis(page));
        }
    }
    let sums = times.each_ref().map(|[views, pages]| {
        median(&views.iter().zip(pages).map(|(view, page)| view + page).collect::<Vec<_>>())
    });
    for (name, times) in ["short", "long"].into_iter().zip(&times) {
        bench.note(&format!("d.{name}.view_ms"), median(&times[0]), "");
        bench.note(&format!("d.{name}.page_ms"), median(&times[1]), "");
    }
    bench.note("d.short_ms", sums[0], &format!("{SHORT} entries"));
    bench.note("d.long_ms", sums[1], &format!("{long} entries; 50 on a quiet machine"));
    bench.at_most("d.long_of_short", sums[1] / sums[0], 2.0);
    Ok(())
}

fn make(directory: &Path, lengths: [u64; 2]) -> Result<[SessionId; 2]> {
    let store = place::open_store(directory)?;
    let mut author = Author::new(4);
    let texts = author.texts(4_096, 180);
    place::runtime()?.block_on(async {
        let mut logs = corpus::logs(store.as_ref(), 2).await?;
        for (log, length) in logs.iter_mut().zip(lengths) {
            while log.length() < length {
                (0..TURNS_AT_ONCE).for_each(|_| turn(log, &texts));
                corpus::append(store.as_ref(), [&mut *log]).await?;
            }
            log.keep_snapshot(store.as_ref()).await?;
        }
        store.settle().await?;
        Ok([logs[0].session(), logs[1].session()])
    })
}

fn turn(log: &mut Log, texts: &[String]) {
    let at = log.length() as usize;
    let chunks = (0..CHUNKS).map(|chunk| texts[(at + chunk * 31) % texts.len()].as_str());
    log.turn(&texts[at % texts.len()], chunks);
}

/// Looks at a session and its last page on a freshly opened store.
fn open(directory: &Path, session: SessionId) -> Result<(Duration, Duration)> {
    let runtime = place::runtime()?;
    let store = place::open_store(directory)?;
    let mut settings = Settings::new(place::spool(directory));
    (settings.slots, settings.slots_max) = (1, 1);
    let times = runtime.block_on(async {
        let agent = Arc::new(ScriptedAgent::default());
        let hub = Hub::start(store.clone(), agent, Arc::new(SystemClock), settings).await?;
        let handle = hub.open(session);
        let begun = Instant::now();
        let view = handle.view().await?;
        let viewed = begun.elapsed();
        let page = handle.page(None, PAGE).await?;
        let both = begun.elapsed();
        ensure!(page.len() == PAGE && !view.turns.is_empty(), "the session is not all there");
        ensure!(page.last() == view.turns.last(), "the page does not end where the view does");
        Ok((viewed, both - viewed))
    })?;
    runtime.shutdown_timeout(Duration::from_secs(20));
    Ok(times)
}

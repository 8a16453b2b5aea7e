//! How many answers can be streamed at once, at 50 tokens a second each, until readers wait too long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use super::super::Bench;
use super::super::figures::quantile;
use super::wire::{Stamps, ask, follow};
use super::{Stage, bare_commits};

/// Milliseconds between the tokens of a stream.
const PACE: u64 = 20;
/// Longest time between two chunks of a run: what a loaded server gathers.
const CHUNK_INTERVAL_MS: f64 = 250.0;
/// Bare commits measured for the bar, and the time between them.
const COMMITS: usize = 300;
const COMMITS_PACE: Duration = Duration::from_millis(2);
/// Streams tried, one after another.
const FULL: [usize; 6] = [250, 500, 1_000, 1_500, 2_000, 2_500];
const CI: [usize; 2] = [100, 400];
const AIM: f64 = 2_000.0;
/// What the reference was measured to carry.
const REFERENCE: &str = "the reference carries 50 streams, 800 to 1,070 tokens/s in all";

pub(crate) fn measure(bench: &mut Bench, wanted: &[usize]) -> Result<()> {
    let seconds = bench.size.pick(4, 20);
    let counts: &[usize] = if wanted.is_empty() { bench.size.pick(&CI, &FULL) } else { wanted };
    let (mut most, mut tokens_most) = (0, 0.0_f64);
    for count in counts {
        let stage = Stage::new()?;
        let bare_p99 = quantile(&mut bare_commits(stage.path(), COMMITS, COMMITS_PACE)?, 0.99);
        let _server = stage.setup.serve()?;
        let bar = bare_p99 * 3.0 + CHUNK_INTERVAL_MS;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (mut ages, per_second) = runtime.block_on(load(&stage, *count, Duration::from_secs(seconds)))?;
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(&mut ages, q));
        bench.note(
            &format!("server.streams_{count}"),
            per_second,
            &format!("tokens/s, p50 {p50:.1} ms, p99 {p99:.1} ms (bar {bar:.1})"),
        );
        let wanted = *count as f64 * 1e3 / PACE as f64;
        if p99 > bar || per_second < wanted * 0.95 {
            break;
        }
        (most, tokens_most) = (*count, per_second);
    }
    bench.report.note(REFERENCE);
    let aim = bench.size.pick(400.0, AIM);
    bench.at_least("server.streams_at_once", most as f64, aim);
    bench.at_least("server.tokens_per_second", tokens_most, aim * 1e3 / PACE as f64 * 0.95);
    Ok(())
}

/// Streams `count` answers for a while; answers the ages of tokens at their readers, and how many came a second.
async fn load(stage: &Stage, count: usize, time: Duration) -> Result<(Vec<f64>, f64)> {
    let ages = Arc::new(Mutex::new(Vec::new()));
    let (measuring, tokens) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut readers = JoinSet::new();
    // Long enough to outlast the measurement.
    let text = format!("say 1000000 of t stamp pace {PACE}");
    for _ in 0..count {
        let made = ask(&stage.client, "POST", "/sessions", &json!({ "title": "load" })).await?;
        let session = made["session"].as_str().unwrap_or_default().to_owned();
        let mut socket = follow(&stage.client, &session).await?;
        ask(&stage.client, "POST", &format!("/sessions/{session}/messages"), &json!({ "text": text }))
            .await?;
        let (ages, measuring, tokens) = (ages.clone(), measuring.clone(), tokens.clone());
        readers.spawn(async move {
            let mut stamps = Stamps::default();
            let mut piece = vec![0; 16 * 1024];
            let mut some = Vec::new();
            while let Ok(count @ 1..) = socket.read(&mut piece).await {
                stamps.take(&piece[..count], &mut some);
                if measuring.load(Ordering::Relaxed) {
                    tokens.fetch_add(some.len() as u64, Ordering::Relaxed);
                    ages.lock().unwrap_or_else(PoisonError::into_inner).append(&mut some);
                }
                some.clear();
            }
        });
    }
    // What the start of so many left behind is not part of it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    measuring.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    measuring.store(false, Ordering::Relaxed);
    let per_second = tokens.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    readers.shutdown().await;
    let ages = std::mem::take(&mut *ages.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((ages, per_second))
}

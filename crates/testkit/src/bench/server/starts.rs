//! How long a start takes with very many sessions: after a clean stop, and after kill -9 with very many open runs.

use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::json;
use store::Catalog;

use super::super::figures::{median, millis};
use super::super::{Bench, corpus, place};
use super::Stage;
use super::wire::ask;
use crate::crash::child::signal;

const TRIALS: usize = 3;
/// Sessions appended at once while the corpus is made.
const AT_ONCE: usize = 500;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let (sessions, runs) = bench.size.pick((10_000, 200), (100_000, 2_000));
    let stage = Stage::new()?;
    let runtime = place::runtime()?;
    {
        let store = place::open_store(&stage.setup.data)?;
        runtime.block_on(async {
            let mut logs = corpus::logs(store.as_ref(), sessions).await?;
            for logs in logs.chunks_mut(AT_ONCE) {
                for log in &mut *logs {
                    log.turn("What is a heron?", ["A bird."]);
                }
                corpus::append(store.as_ref(), logs).await?;
            }
            anyhow::Ok(store.settle().await?)
        })?;
    }
    drop(stage.setup.serve().map(stop)?);
    let mut clean = Vec::new();
    for _ in 0..TRIALS {
        let begun = Instant::now();
        let server = stage.setup.serve()?;
        clean.push(millis(begun.elapsed()));
        stop(server)?;
    }
    bench.at_most(&format!("server.start_clean_{sessions}_sessions_ms"), median(&clean), 200.0);

    let mut killed = Vec::new();
    let mut server = stage.setup.serve()?;
    let client = &stage.client;
    let loading = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loading.block_on(async {
        for _ in 0..runs {
            let made = ask(client, "POST", "/sessions", &json!({ "title": "run" })).await?;
            let session = made["session"].as_str().unwrap_or_default();
            let path = format!("/sessions/{session}/messages");
            ask(client, "POST", &path, &json!({ "text": "say 100000 of t pace 200" })).await?;
        }
        // A few tokens each, so that every run has something to lose.
        tokio::time::sleep(Duration::from_millis(600)).await;
        anyhow::Ok(())
    })?;
    for _ in 0..2 {
        server.kill();
        let begun = Instant::now();
        server = stage.setup.serve()?;
        killed.push(millis(begun.elapsed()));
        std::thread::sleep(Duration::from_millis(600));
    }
    server.kill();
    bench.at_most(&format!("server.start_killed_{runs}_runs_ms"), median(&killed), 2_000.0);
    Ok(())
}

/// Stops a server as an operator does, and waits for its end.
fn stop(mut server: crate::trial::Process) -> Result<()> {
    signal(&server.0, Signal::SIGTERM)?;
    server.0.wait()?;
    Ok(())
}

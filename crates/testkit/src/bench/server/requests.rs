//! How many requests a second: the list and a page of turns, beside `/health` in the same run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::super::Bench;
use super::Stage;
use super::wire::ask;

const CONNECTIONS: usize = 16;
const SESSIONS: usize = 300;

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let time = Duration::from_secs(bench.size.pick(2, 8));
    let stage = Stage::new()?;
    let _server = stage.setup.serve()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let session = runtime.block_on(async {
        let mut last = String::new();
        for _ in 0..SESSIONS {
            let made = ask(&stage.client, "POST", "/sessions", &json!({ "title": "a session" })).await?;
            made["session"].as_str().unwrap_or_default().clone_into(&mut last);
        }
        for _ in 0..20 {
            let body = json!({ "text": "say 50 of t" });
            ask(&stage.client, "POST", &format!("/sessions/{last}/messages"), &body).await?;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        anyhow::Ok(last)
    })?;
    let health = runtime.block_on(count(&stage, "/health", time))?;
    let list = runtime.block_on(count(&stage, "/sessions?count=50", time))?;
    let page = runtime.block_on(count(&stage, &format!("/sessions/{session}/turns?count=20"), time))?;
    bench.note("server.health_per_second", health, "");
    bench.note("server.list_per_second", list, &format!("of 50 lines, {:.2} of /health", list / health));
    bench.note("server.page_per_second", page, &format!("of 20 turns, {:.2} of /health", page / health));
    Ok(())
}

/// Requests a second over connections that stay open.
async fn count(stage: &Stage, path: &str, time: Duration) -> Result<f64> {
    let (done, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let request = format!(
        "GET /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        stage.client.token
    );
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut socket = TcpStream::connect(("127.0.0.1", stage.client.port)).await?;
        socket.set_nodelay(true)?;
        let (done, over, request) = (done.clone(), over.clone(), request.clone());
        clients.spawn(async move {
            let mut bytes = Vec::new();
            let mut piece = vec![0; 64 * 1024];
            while !over.load(Ordering::Relaxed) {
                socket.write_all(request.as_bytes()).await?;
                bytes.clear();
                while !is_whole(&bytes)? {
                    match socket.read(&mut piece).await? {
                        0 => anyhow::bail!("the server closed the connection"),
                        count => bytes.extend_from_slice(&piece[..count]),
                    }
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let per_second = done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(per_second)
}

/// Whether a reply with a length is all there.
fn is_whole(bytes: &[u8]) -> Result<bool> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = std::str::from_utf8(&bytes[..end])?.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .context("a reply has a length")?;
    anyhow::ensure!(head.starts_with("http/1.1 200"), "a reply is a good one: {head}");
    Ok(bytes.len() >= end + 4 + length.trim().parse::<usize>()?)
}

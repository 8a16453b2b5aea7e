//! What durability costs: from the provider's byte to the reader's, through the server and through a proxy that keeps
//! nothing, in milliseconds and in bare commits.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

use super::super::Bench;
use super::super::figures::quantile;
use super::wire::{Stamps, ask, follow, send};
use super::{Stage, bare_commits, resident_bytes};

/// Milliseconds between tokens: more than the least time between two chunks, so that each token is a chunk.
const PACE: Duration = Duration::from_millis(40);

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let (rounds, tokens) = bench.size.pick((3, 60), (10, 150));
    let stage = Stage::new()?;
    let server = stage.setup.serve()?;
    let idle = resident_bytes(&server)? / 1024.0 / 1024.0;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let proxy_port = proxy(stage.model_port)?;
    let (mut through, mut proxied, mut bare, mut busy) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.extend(bare_commits(stage.path(), tokens, PACE)?);
        busy.extend(bare_commits(stage.path(), tokens, Duration::ZERO)?);
        runtime.block_on(async {
            proxied.extend(by_proxy(proxy_port, tokens).await?);
            through.extend(by_server(&stage, tokens).await?);
            anyhow::Ok(())
        })?;
    }
    let [bare_p50, bare_p99] = [0.5, 0.99].map(|q| quantile(&mut bare, q));
    let [through_p50, through_p99] = [0.5, 0.99].map(|q| quantile(&mut through, q));
    let [proxied_p50, proxied_p99] = [0.5, 0.99].map(|q| quantile(&mut proxied, q));
    bench.note(
        "server.bare_commit_ms",
        bare_p50,
        &format!("p50, {bare_p99:.2} p99, at the pace of the stream"),
    );
    bench.note("server.busy_commit_ms", quantile(&mut busy, 0.5), "p50, one right after another");
    bench.note("server.through_proxy_ms", proxied_p50, &format!("p50, {proxied_p99:.2} p99"));
    bench.note("server.through_server_ms", through_p50, &format!("p50, {through_p99:.2} p99"));
    bench.note(
        "server.price_ms",
        through_p50 - proxied_p50,
        &format!("p50, {:.2} p99", through_p99 - proxied_p99),
    );
    bench.at_most("server.price_in_commits_p50", (through_p50 - proxied_p50) / bare_p50, 2.0);
    bench.note("server.price_in_commits_p99", (through_p99 - proxied_p99) / bare_p99, "");
    bench.within("server.idle_mib", idle, 25.0);
    Ok(())
}

/// The ages of tokens at a reader of the server.
async fn by_server(stage: &Stage, tokens: usize) -> Result<Vec<f64>> {
    let made = ask(&stage.client, "POST", "/sessions", &json!({ "title": "price" })).await?;
    let session = made["session"].as_str().unwrap_or_default().to_owned();
    let socket = follow(&stage.client, &session).await?;
    let text = format!("say {tokens} of t stamp pace {}", PACE.as_millis());
    ask(&stage.client, "POST", &format!("/sessions/{session}/messages"), &json!({ "text": text })).await?;
    read(socket, tokens).await
}

/// A proxy that passes bytes on and keeps nothing, with threads of its own as the server has. Answers its port.
fn proxy(model_port: u16) -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    std::thread::spawn(move || runtime.block_on(accept(listener, model_port)));
    Ok(port)
}

async fn accept(listener: std::net::TcpListener, model_port: u16) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (reader, _) = listener.accept().await?;
        tokio::spawn(pass_on(reader, model_port));
    }
}

async fn pass_on(mut reader: TcpStream, model_port: u16) -> Result<()> {
    reader.set_nodelay(true)?;
    let mut request = vec![0; 64 * 1024];
    let count = reader.read(&mut request).await?;
    let mut provider = TcpStream::connect(("127.0.0.1", model_port)).await?;
    provider.set_nodelay(true)?;
    provider.write_all(&request[..count]).await?;
    copy(&mut provider, &mut reader).await?;
    Ok(())
}

/// The ages of tokens at a reader of the proxy.
async fn by_proxy(proxy_port: u16, tokens: usize) -> Result<Vec<f64>> {
    let text = format!("say {tokens} of t stamp pace {}", PACE.as_millis());
    let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": text }] });
    let socket = send(proxy_port, "POST /v1/chat/completions HTTP/1.1", &body.to_string()).await?;
    read(socket, tokens).await
}

async fn read(mut socket: TcpStream, tokens: usize) -> Result<Vec<f64>> {
    let (mut stamps, mut ages) = (Stamps::default(), Vec::new());
    let mut piece = vec![0; 64 * 1024];
    while ages.len() < tokens {
        let count = socket.read(&mut piece).await?;
        anyhow::ensure!(count > 0, "the stream ended after {} tokens", ages.len());
        stamps.take(&piece[..count], &mut ages);
    }
    Ok(ages)
}

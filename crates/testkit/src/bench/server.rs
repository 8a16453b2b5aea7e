//! What the released binary is measured by: beside a proxy without storage, beside a bare commit, beside its own
//! `/health`, all in the same run.

mod price;
mod requests;
mod starts;
mod streams;
mod wire;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::{Bench, bare, place};
use crate::client::Client;
use crate::trial::{Process, Setup, scripted_model};

pub(crate) fn measure(bench: &mut Bench, wanted: &[String]) -> Result<()> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    if is_wanted("price") {
        price::measure(bench)?;
    }
    // `streams1000` measures a thousand streams only.
    let counts: Vec<usize> =
        wanted.iter().filter_map(|one| one.strip_prefix("streams")?.parse().ok()).collect();
    if is_wanted("streams") || !counts.is_empty() {
        streams::measure(bench, &counts)?;
    }
    if is_wanted("starts") {
        starts::measure(bench)?;
    }
    if is_wanted("requests") {
        requests::measure(bench)?;
    }
    Ok(())
}

/// A server on a directory, with the scripted model.
struct Stage {
    setup: Setup,
    client: Client,
    model_port: u16,
    _model: Process,
    directory: tempfile::TempDir,
}

impl Stage {
    fn new() -> Result<Self> {
        let directory = place::directory()?;
        let (model, model_port) = scripted_model()?;
        let setup = Setup { tools: false, ..Setup::at(directory.path(), model_port)? };
        let client = Client { port: setup.port, token: setup.prepare()? };
        Ok(Self { setup, client, model_port, _model: model, directory })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// How long bare commits take on the same disk, in milliseconds, `pace` apart: a disk and a processor that are kept
/// busy are faster ones.
fn bare_commits(directory: &Path, count: usize, pace: Duration) -> Result<Vec<f64>> {
    let path = directory.join("bare.db");
    let connection: Connection = bare::connect(&path)?;
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS entries (seq INTEGER PRIMARY KEY, body TEXT) STRICT")?;
    let body = "x".repeat(200);
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        connection.prepare_cached("INSERT INTO entries (body) VALUES (?)")?.execute([&body])?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(pace);
    }
    Ok(times)
}

/// Bytes that a process has resident.
fn resident_bytes(process: &Process) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id()))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("a process has a size")?;
    let kib: f64 = line.split_whitespace().nth(1).context("a size")?.parse()?;
    Ok(kib * 1024.0)
}

//! Runs the server until it is asked to stop.

use std::process::ExitCode;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::terminal::{remark, say};
use crate::app::{Server, Stopping};
use crate::config::{Config, environment};
use crate::redact::CleanStderr;
use crate::telemetry::Telemetry;

/// Tells the supervisor to start it again.
const RESTART: u8 = 75;

pub(crate) async fn run(config: &Config, parent: Option<i32>) -> anyhow::Result<ExitCode> {
    if let Some(parent) = parent {
        end_with(parent)?;
    }
    // Before anything else, so that no signal finds nobody.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    // What is in memory, secrets too, is not written to disk when the process dies.
    if let Err(error) = setrlimit(Resource::RLIMIT_CORE, 0, 0) {
        remark(&format!("everturn: a core dump could be written: {error}"));
    }
    let filter = environment("EVERTURN_LOG").unwrap_or_else(|| "info".to_owned());
    let telemetry = config.telemetry.as_ref().map(Telemetry::start).transpose()?;
    let spans = telemetry.as_ref().map(Telemetry::layer);
    let lines = tracing_subscriber::fmt::layer().with_writer(CleanStderr);
    tracing_subscriber::registry().with(lines.with_filter(EnvFilter::try_new(filter)?)).with(spans).init();
    raise_open_files();
    let server = Server::start(config).await?;
    if let Some(token) = &server.first_token {
        say(&format!(
            "token {token}\nIt is shown this once. Use it as EVERTURN_TOKEN; `everturn token new` makes another.\n"
        ))?;
    }
    if !server.has_model() {
        remark(
            "No model is configured: add one under Settings in the browser, or as `[[models]]` in the configuration.",
        );
    }
    say(&format!("ready on {}\n", config.url()))?;
    let how = server
        .run(async move {
            tokio::select! {
                _ = terminate.recv() => Stopping::Stop,
                _ = interrupt.recv() => Stopping::Stop,
                _ = hang_up.recv() => Stopping::Restart,
            }
        })
        .await;
    if let Some(telemetry) = telemetry {
        // It waits for the collector, and the collector is reached from these threads.
        tokio::task::spawn_blocking(move || telemetry.end()).await?;
    }
    Ok(match how {
        Stopping::Stop => ExitCode::SUCCESS,
        Stopping::Restart => ExitCode::from(RESTART),
    })
}

/// Raises the limit of open files as far as the system allows: each connection of a client takes one.
fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
            tracing::debug!(before = soft, after = hard, "raised the limit of open files");
        }
        Ok(())
    });
    if let Err(error) = raised {
        tracing::warn!(%error, "failed to raise the limit of open files");
    }
}

/// Has the system kill this process when the one that started it is gone.
#[cfg(target_os = "linux")]
fn end_with(parent: i32) -> anyhow::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // It may have ended before that was said.
    anyhow::ensure!(nix::unistd::getppid().as_raw() == parent, "process {parent} is gone");
    Ok(())
}

/// Other systems cannot be told; whoever starts this ends it.
#[cfg(not(target_os = "linux"))]
fn end_with(_parent: i32) -> anyhow::Result<()> {
    Ok(())
}

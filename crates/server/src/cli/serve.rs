//! Runs the server until a signal stops it.

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

/// Exit code that asks the supervisor for a restart.
const RESTART: u8 = 75;

pub(crate) async fn run(config: &Config, parent: Option<i32>) -> anyhow::Result<ExitCode> {
    if let Some(parent) = parent {
        end_with(parent)?;
    }
    // Handle signals first, so that none of them kills the process during startup.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    // A core dump would write secrets from memory to disk.
    if let Err(error) = setrlimit(Resource::RLIMIT_CORE, 0, 0) {
        remark(&format!("everturn: failed to disable core dumps: {error}"));
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
            "token {token}\nSave this token as EVERTURN_TOKEN: it won't be shown again. `everturn token new` creates \
             another.\n"
        ))?;
    }
    if !server.has_model() {
        remark(
            "No model is configured. Add one under Settings in the browser, or as `[[models]]` in the configuration.",
        );
    }
    if let Some(name) = config.background_model.as_deref().filter(|name| !server.has_model_named(name)) {
        tracing::warn!(
            background_model = name,
            "background_model names no configured model, the session's model writes titles and summaries"
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
        // Blocks until the collector answers, which needs the threads of this runtime.
        tokio::task::spawn_blocking(move || telemetry.end()).await?;
    }
    Ok(match how {
        Stopping::Stop => ExitCode::SUCCESS,
        Stopping::Restart => ExitCode::from(RESTART),
    })
}

/// Raises the open-file limit as far as the system allows. Each client connection needs one.
fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
            tracing::debug!(before = soft, after = hard, "raised the open-file limit");
        }
        Ok(())
    });
    if let Err(error) = raised {
        tracing::warn!(%error, "failed to raise the open-file limit");
    }
}

/// Asks the system to kill this process when its parent exits.
#[cfg(target_os = "linux")]
fn end_with(parent: i32) -> anyhow::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // The parent may have exited before the call above.
    anyhow::ensure!(nix::unistd::getppid().as_raw() == parent, "parent process {parent} has exited");
    Ok(())
}

/// Does nothing: other systems have no such request, so the parent must stop this process.
#[cfg(not(target_os = "linux"))]
fn end_with(_parent: i32) -> anyhow::Result<()> {
    Ok(())
}

//! Runs the server until it is asked to stop.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::terminal::say;
use crate::app::Server;
use crate::config::{Config, environment};

pub(crate) async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    // Before anything else, so that no signal finds nobody.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let filter = environment("EVERTURN_LOG").unwrap_or_else(|| "info".to_owned());
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(EnvFilter::try_new(filter)?)
        .init();
    let server = Server::start(config).await?;
    if let Some(token) = &server.first_token {
        say(&format!(
            "token {token}\nIt is shown this once. Use it as EVERTURN_TOKEN; `everturn token new` makes another.\n"
        ))?;
    }
    say(&format!("ready on {}\n", config.url()))?;
    server
        .run(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
        .await;
    Ok(ExitCode::SUCCESS)
}

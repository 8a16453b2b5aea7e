//! The server under test: this binary with a configuration of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use judge::dice::Dice;
use judge::play::ASKED_MODEL;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::config::{Config, ModelConfig, ProviderConfig, arms_test_build};
use crate::file::write_private;

/// Maximum time until a server is ready.
const READY_MAX: Duration = Duration::from_secs(60);
/// Maximum time until a server exits after a request to stop, including the drain.
const STOP_MAX: Duration = Duration::from_secs(20);
/// Seconds that runs have to finish when the server stops.
pub(super) const DRAIN_SECONDS: u64 = 2;
/// Exit code that asks the supervisor for a restart.
const RESTART: i32 = 75;
/// Ports below the ephemeral range, so that no outgoing connection takes the port while the server is down.
const PORTS: (u16, u16) = (10_000, 20_000);

/// The setup of the server.
#[derive(Debug)]
pub(super) struct Setup {
    binary: PathBuf,
    config: PathBuf,
    log: PathBuf,
    /// The data directory.
    pub(super) data: PathBuf,
    /// The URL of the API.
    pub(super) url: String,
}

impl Setup {
    /// Writes the configuration of a server that uses this model.
    ///
    /// # Errors
    /// Returns an error if the file can't be written or no port is free.
    pub(super) fn make(scratch: &Path, model_url: String, seed: u64) -> anyhow::Result<Self> {
        let model = ModelConfig {
            name: "selftest".to_owned(),
            model: "scripted".to_owned(),
            window_tokens: 1_000_000,
            output_tokens_max: 250_000,
            takes_prefix: true,
            ..ModelConfig::at(ProviderConfig::Openai, model_url)
        };
        // A model that continues only on request, like those of most providers.
        let asked = ModelConfig { name: ASKED_MODEL.to_owned(), takes_prefix: false, ..model.clone() };
        let config = Config {
            data: scratch.join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], free_port(seed)?)),
            drain_seconds: DRAIN_SECONDS,
            models: vec![model, asked],
            ..Config::default()
        };
        let path = scratch.join("config.toml");
        write_private(&path, toml::to_string(&config)?.as_bytes())?;
        let binary = std::env::current_exe().context("failed to find the path of this program")?;
        Ok(Self {
            binary,
            config: path,
            log: scratch.join("serve.log"),
            data: config.data.clone(),
            url: config.url(),
        })
    }

    /// Starts the server, without waiting until it is ready.
    ///
    /// # Errors
    /// Returns an error if the process can't be started.
    pub(super) fn start(&self) -> anyhow::Result<Subject> {
        let log = fs::File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.binary);
        // Variables for the machine's real server must not apply here, above all its data directory.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("EVERTURN_") && !arms_test_build(&name) {
                command.env_remove(name.as_ref());
            }
        }
        command
            .arg("--config")
            .arg(&self.config)
            .args(["serve", "--parent"])
            .arg(std::process::id().to_string());
        command.env("EVERTURN_LOG", "warn").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        // Ctrl-C in a terminal must reach the test only, which then stops the server.
        command.process_group(0).kill_on_drop(true);
        let mut child =
            command.spawn().with_context(|| format!("failed to start {}", self.binary.display()))?;
        let told = child.stdout.take().map(|out| BufReader::new(out).lines());
        Ok(Subject { child, told })
    }

    /// Returns the last line of the server's log.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).lines().last().unwrap_or_default().to_owned()
    }
}

/// A running server. Killed on drop.
#[derive(Debug)]
pub(super) struct Subject {
    child: Child,
    told: Option<Lines<BufReader<ChildStdout>>>,
}

impl Subject {
    /// Waits until the server is ready.
    ///
    /// # Errors
    /// Returns an error if it exits first or takes too long.
    pub(super) async fn ready(&mut self) -> anyhow::Result<()> {
        let told = self.told.as_mut().context("the server has no standard output")?;
        let ready = async {
            while let Some(line) = told.next_line().await? {
                if line.starts_with("ready on") {
                    return Ok(());
                }
            }
            bail!("the server exited before it was ready")
        };
        let waited = tokio::time::timeout(READY_MAX, ready).await;
        waited.with_context(|| format!("the server was not ready after {} s", READY_MAX.as_secs()))?
    }

    /// Kills the server. Returns its exit status if it had already exited.
    ///
    /// # Errors
    /// Returns an error if the process can't be killed or waited for.
    pub(super) async fn kill(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let before = self.child.try_wait()?;
        self.child.kill().await.context("failed to kill the server")?;
        Ok(before)
    }

    /// Asks the server to stop or restart. Returns whether it exited successfully and in time; if not in time, kills it.
    ///
    /// # Errors
    /// Returns an error if the process can't be signaled or waited for.
    pub(super) async fn stop(&mut self, signal: Signal) -> anyhow::Result<bool> {
        self.signal(signal)?;
        if let Ok(ended) = tokio::time::timeout(STOP_MAX, self.child.wait()).await {
            let code = if signal == Signal::SIGHUP { RESTART } else { 0 };
            return Ok(ended?.code() == Some(code));
        }
        self.child.kill().await.context("failed to kill the server")?;
        Ok(false)
    }

    /// Sends a signal, unless the server has exited.
    ///
    /// # Errors
    /// Returns an error if the system rejects the signal.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let Some(id) = self.child.id() else { return Ok(()) };
        Ok(kill(Pid::from_raw(i32::try_from(id)?), signal)?)
    }
}

fn free_port(seed: u64) -> anyhow::Result<u16> {
    let mut dice = Dice::new(seed ^ u64::from(std::process::id()));
    for _ in 0..1_000 {
        let port = PORTS.0 + u16::try_from(dice.below(u64::from(PORTS.1)))?;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free")
}

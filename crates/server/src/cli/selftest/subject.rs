//! The server under test: this very program, with a configuration of its own.

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

/// How long a server may take until it is ready.
const READY_MAX: Duration = Duration::from_secs(60);
/// How long a server may take to end once it was asked to. It drains first.
const STOP_MAX: Duration = Duration::from_secs(20);
/// Seconds that its runs have when it drains.
pub(super) const DRAIN_SECONDS: u64 = 2;
/// The exit code that asks a supervisor to start it again.
const RESTART: i32 = 75;
/// Ports below those that systems lend to outgoing connections, so that nobody takes it while the server is down.
const PORTS: (u16, u16) = (10_000, 20_000);

/// How the server is started.
#[derive(Debug)]
pub(super) struct Setup {
    binary: PathBuf,
    config: PathBuf,
    log: PathBuf,
    /// Where it keeps its sessions.
    pub(super) data: PathBuf,
    /// Where its API is.
    pub(super) url: String,
}

impl Setup {
    /// Writes the configuration of a server that asks this model.
    ///
    /// # Errors
    /// When it cannot be written, or no port is free.
    pub(super) fn make(scratch: &Path, model_url: String, seed: u64) -> anyhow::Result<Self> {
        let model = ModelConfig {
            name: "selftest".to_owned(),
            model: "scripted".to_owned(),
            window_tokens: 1_000_000,
            output_tokens_max: 250_000,
            takes_prefix: true,
            ..ModelConfig::at(ProviderConfig::Openai, model_url)
        };
        // One that is asked to continue, as most providers must be.
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
        let binary = std::env::current_exe().context("find this program")?;
        Ok(Self {
            binary,
            config: path,
            log: scratch.join("serve.log"),
            data: config.data.clone(),
            url: config.url(),
        })
    }

    /// Starts the server, without waiting for it.
    ///
    /// # Errors
    /// When there can be no process.
    pub(super) fn start(&self) -> anyhow::Result<Subject> {
        let log = fs::File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.binary);
        // What is set for the server of this machine is not for this one, least of all where it keeps its data.
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
        // Ctrl-C in a terminal is for the test, which then ends the server.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("start {}", self.binary.display()))?;
        let told = child.stdout.take().map(|out| BufReader::new(out).lines());
        Ok(Subject { child, told })
    }

    /// What the server said last.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).lines().last().unwrap_or_default().to_owned()
    }
}

/// A server that was started. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Subject {
    child: Child,
    told: Option<Lines<BufReader<ChildStdout>>>,
}

impl Subject {
    /// Waits until it is ready.
    ///
    /// # Errors
    /// When it ends before, or takes too long.
    pub(super) async fn ready(&mut self) -> anyhow::Result<()> {
        let told = self.told.as_mut().context("its output")?;
        let ready = async {
            while let Some(line) = told.next_line().await? {
                if line.starts_with("ready on") {
                    return Ok(());
                }
            }
            bail!("it ended before it was ready")
        };
        let waited = tokio::time::timeout(READY_MAX, ready).await;
        waited.with_context(|| format!("it is not ready after {} s", READY_MAX.as_secs()))?
    }

    /// Kills it at once. Answers how it ended, when it had ended before.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub(super) async fn kill(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let before = self.child.try_wait()?;
        self.child.kill().await.context("kill the server")?;
        Ok(before)
    }

    /// Asks it to stop or restart. Returns whether it ended in time, and well; if not, it is killed.
    ///
    /// # Errors
    /// Returns an error if it cannot be asked or waited for.
    pub(super) async fn stop(&mut self, signal: Signal) -> anyhow::Result<bool> {
        self.signal(signal)?;
        if let Ok(ended) = tokio::time::timeout(STOP_MAX, self.child.wait()).await {
            let code = if signal == Signal::SIGHUP { RESTART } else { 0 };
            return Ok(ended?.code() == Some(code));
        }
        self.child.kill().await.context("kill the server")?;
        Ok(false)
    }

    /// Sends it a signal; one that has ended gets none.
    ///
    /// # Errors
    /// When the system refuses.
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

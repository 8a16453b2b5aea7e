//! A real Matrix homeserver of one's own: Synapse from PyPI on a port of this machine, with its data in a directory of its own;
//! stopped, killed and started again at will, gone in the end.

mod person;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;

use crate::crash::child::now;

pub use person::{Arrived, MatrixPerson};

/// How long a start may take. Alone on a machine it is about eight seconds; CI is never alone.
const START_MAX: Duration = Duration::from_secs(120);
/// How long an ordered stop may take.
const STOP_MAX: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// A secret key that is none: the homeserver speaks to no other.
const SIGNING_KEY: &str = "ed25519 a_test AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// How many messages a user may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// As many as a test likes.
    Raised,
    /// One, and the next after several seconds: what an account meets that nobody raised.
    Few,
}

/// A running homeserver.
#[derive(Debug)]
pub struct Synapse {
    directory: TempDir,
    python: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl Synapse {
    /// Makes a homeserver and starts it. The first call on a machine installs Synapse, which takes minutes.
    ///
    /// # Errors
    /// When it cannot be installed or does not start.
    pub fn start(rates: Rates) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("everturn-synapse").tempdir()?;
        // Free now; whoever takes it first makes the start fail, not the test pass.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        std::fs::write(directory.path().join("homeserver.yaml"), settings(directory.path(), port, rates))?;
        let mut server = Self { directory, python: python()?, port, process: None };
        server.restart()?;
        Ok(server)
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port that it keeps.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it on its data and waits until it answers.
    ///
    /// # Errors
    /// When it does not.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.stop()?;
        let path = self.directory.path();
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path.join("log"))?;
        // It stays in the group of the test's processes: whoever ends a test that hangs ends it too.
        let process = Command::new(&self.python)
            .args(["-m", "synapse.app.homeserver", "-c"])
            .arg(path.join("homeserver.yaml"))
            .current_dir(path)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start Synapse")?;
        let process = self.process.insert(process);
        let begun = now();
        while person::ask(self.port, "GET", "/_matrix/client/versions", None, b"").is_err() {
            let over = process.try_wait()?;
            if over.is_some() || begun.elapsed() > START_MAX {
                bail!("Synapse does not start: {over:?} {}", last_lines(path));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        kill(Pid::from_raw(i32::try_from(process.id())?), Signal::SIGTERM)?;
        let begun = now();
        while process.try_wait()?.is_none() {
            if begun.elapsed() > STOP_MAX {
                process.kill()?;
                process.wait()?;
                bail!("Synapse did not end: {}", last_lines(self.directory.path()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Kills it, as a crash does.
    ///
    /// # Errors
    /// When it cannot be told to.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.kill()?;
        process.wait()?;
        Ok(())
    }

    /// Makes an account and logs it in.
    ///
    /// # Errors
    /// When the name is taken.
    pub fn person(&self, name: &str) -> anyhow::Result<MatrixPerson> {
        MatrixPerson::register(self.port, name)
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        // The directory goes with it, so there is nothing to end in order.
        drop(self.kill());
    }
}

/// The Python that has Synapse; installed by the script when it is missing, as CI does before.
fn python() -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/synapse-python");
    let told = Command::new(&script).stderr(Stdio::inherit()).output().context("scripts/synapse-python")?;
    ensure!(told.status.success(), "scripts/synapse-python: {}", told.status);
    Ok(PathBuf::from(String::from_utf8(told.stdout)?.trim()))
}

/// The configuration. JSON is YAML too.
fn settings(directory: &Path, port: u16, rates: Rates) -> String {
    let free = json!({ "per_second": 10_000, "burst_count": 10_000 });
    let messages = match rates {
        Rates::Raised => free.clone(),
        Rates::Few => json!({ "per_second": 0.2, "burst_count": 1 }),
    };
    json!({
        "server_name": "localhost",
        "report_stats": false,
        "listeners": [{
            "port": port,
            "type": "http",
            "bind_addresses": ["127.0.0.1"],
            "resources": [{ "names": ["client"], "compress": false }],
        }],
        "database": { "name": "sqlite3", "args": { "database": directory.join("homeserver.db") } },
        "media_store_path": directory.join("media"),
        "signing_key": SIGNING_KEY,
        "macaroon_secret_key": "none",
        "form_secret": "none",
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "enable_registration": true,
        "enable_registration_without_verification": true,
        // Passwords of tests need not cost anything.
        "bcrypt_rounds": 4,
        "presence": { "enabled": false },
        "rc_message": messages,
        "rc_registration": free,
        "rc_login": { "address": free, "account": free, "failed_attempts": free },
        "rc_joins": { "local": free, "remote": free },
        "rc_joins_per_room": free,
        "rc_invites": { "per_room": free, "per_user": free, "per_issuer": free },
    })
    .to_string()
}

fn last_lines(directory: &Path) -> String {
    let log = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

//! A PostgreSQL server of one's own: made anew on a socket in its own directory, killed and started again at will, gone
//! in the end.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::crash::child::now;

/// How a command finds the server that was started for it.
pub const VARIABLE: &str = "TEST_POSTGRES";
/// How long a start may take, with the recovery after a kill.
const START_MAX: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    directory: TempDir,
    programs: PathBuf,
    process: Option<Child>,
}

impl Postgres {
    /// Makes a cluster and starts it.
    ///
    /// # Errors
    /// When PostgreSQL is not there or does not start.
    pub fn start() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("everturn-pg").tempdir_in("/tmp")?;
        let mut server = Self { directory, programs: programs()?, process: None };
        if let Some((user, group)) = other_user()? {
            std::os::unix::fs::chown(server.path(), Some(user), Some(group))?;
        }
        let data = server.path().join("data");
        let made = server
            .command("initdb")?
            .arg("-D")
            .arg(&data)
            .args(["-A", "trust", "-U", "everturn"])
            .output()?;
        ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.restart()?;
        Ok(server)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// Returns the connection string of one of its databases.
    pub fn url_of(&self, database: &str) -> String {
        format!("host={} user=everturn dbname={database}", self.path().display())
    }

    /// Runs SQL in a database with `psql` and returns what it prints, without headers. Stops at the first error.
    ///
    /// # Errors
    /// Returns an error if `psql` cannot be run or a statement fails.
    pub fn execute(&self, database: &str, sql: &[u8]) -> anyhow::Result<String> {
        let mut command = self.command("psql")?;
        command.args(["-X", "-q", "-tA", "-v", "ON_ERROR_STOP=1", "-d", &self.url_of(database)]);
        let mut psql = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // If it stops early, its own message says more than this error.
        let written = psql.stdin.take().context("its input")?.write_all(sql);
        let output = psql.wait_with_output()?;
        ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        written?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    fn command(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It refuses to run as root.
        if let Some((user, group)) = other_user()? {
            command.uid(user).gid(group);
        }
        Ok(command)
    }

    /// Starts the server and waits until it takes connections.
    ///
    /// # Errors
    /// When it does not.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.path().join("log"))?;
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.path().join("data")).arg("-k").arg(self.path()).stderr(log);
        for setting in ["listen_addresses=", "max_connections=200", "shared_buffers=64MB"] {
            command.args(["-c", setting]);
        }
        self.process = Some(command.spawn().context("start PostgreSQL")?);
        let begun = now();
        loop {
            let ready =
                self.command("pg_isready")?.arg("-h").arg(self.path()).args(["-U", "everturn"]).status()?;
            if ready.success() {
                return Ok(());
            }
            ensure!(begun.elapsed() < START_MAX, "PostgreSQL does not start: {}", self.log());
            std::thread::sleep(LOOK);
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    /// Kills every process of the server at once, as a crash does.
    ///
    /// # Errors
    /// When it cannot be told to.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let parent = process.id();
        let children =
            std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        process.kill()?;
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            // One that saw its parent die is gone already.
            let pid = nix::unistd::Pid::from_raw(child);
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap_or(());
        }
        process.wait()?;
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The directory goes with it, so there is nothing to end in order.
        drop(self.kill());
    }
}

/// Where the programs of PostgreSQL are.
fn programs() -> anyhow::Result<PathBuf> {
    let found = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&found).map(|folder| folder.join("initdb")).find(|path| path.exists());
    if let Some(path) = named {
        return Ok(path.canonicalize()?.parent().context("a folder")?.to_owned());
    }
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .context("PostgreSQL is not installed; its package is `postgresql`")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| path.join("initdb").exists())
        .collect();
    versions.sort();
    versions.pop().context("PostgreSQL is not installed; its package is `postgresql`")
}

/// The user that the server runs as, when this is root.
fn other_user() -> anyhow::Result<Option<(u32, u32)>> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let id = |what: &str| -> anyhow::Result<u32> {
        let told = Command::new("id").args([what, "postgres"]).output()?;
        Ok(String::from_utf8_lossy(&told.stdout).trim().parse()?)
    };
    Ok(Some((id("-u").context("there is no user postgres")?, id("-g")?)))
}

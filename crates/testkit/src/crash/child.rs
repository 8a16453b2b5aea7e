//! Starts a child of this program, hears what it says, and ends it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::witness::{Line, read};

/// How long a child may take before it counts as wedged.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// The present, for budgets of the campaign.
#[expect(clippy::disallowed_methods, reason = "budgets of a campaign; nothing is stored")]
pub fn now() -> Instant {
    Instant::now()
}

/// A running child.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    heard: Option<JoinHandle<std::io::Result<String>>>,
    errors: File,
    wedged: bool,
}

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    pub lines: Vec<Line>,
    pub status: ExitStatus,
    pub errors: String,
    pub wedged: bool,
}

/// What the parent does while the child works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    ForEnd,
    /// Until the child stopped itself, or ended.
    ForFreeze,
    /// This long, and then it is frozen.
    For(Duration),
}

impl Child {
    /// Starts this program with hidden arguments.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(words: &[&OsStr], environment: &[(&str, String)]) -> anyhow::Result<Self> {
        Self::start_through(&[], words, environment)
    }

    /// Starts this program through other ones that limit it.
    fn start_through(
        through: &[&str],
        words: &[&OsStr],
        environment: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let mut command = match through.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.args(words).env_remove("EVERTURN_POINT").stdin(Stdio::null()).stdout(Stdio::piped());
        let errors = tempfile::tempfile()?;
        command.stderr(errors.try_clone()?);
        for (name, value) in environment {
            command.env(name, value);
        }
        let mut process = command.spawn().context("start a child")?;
        let mut out = process.stdout.take().context("hear a child")?;
        let heard = std::thread::spawn(move || {
            let mut text = Vec::new();
            out.read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        });
        Ok(Self { process, heard: Some(heard), errors, wedged: false })
    }

    /// Waits as told. Says whether the child stands still now, and so can be cut off.
    ///
    /// # Errors
    /// When the child cannot be looked at.
    pub fn wait(&mut self, wait: Wait) -> anyhow::Result<bool> {
        let begun = now();
        loop {
            if self.process.try_wait()?.is_some() {
                return Ok(false);
            }
            let spent = begun.elapsed();
            match wait {
                Wait::ForFreeze if is_still(&self.process) => return Ok(true),
                Wait::For(span) if spent >= span => return freeze(&mut self.process),
                _ if spent >= PATIENCE => {
                    self.wedged = true;
                    return Ok(false);
                }
                _ => {}
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills the child if it is alive, and gives all it said.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn end(mut self) -> anyhow::Result<Ended> {
        if self.process.try_wait()?.is_none() {
            self.process.kill()?;
        }
        let status = self.process.wait()?;
        let heard = self.heard.take().context("hear a child")?;
        let text = heard.join().map_err(|_| anyhow::anyhow!("hear a child"))??;
        let mut errors = String::new();
        self.errors.rewind()?;
        self.errors.read_to_string(&mut errors)?;
        Ok(Ended { lines: read(&text), status, errors, wedged: self.wedged })
    }
}

impl Ended {
    /// Whether it died of a kill.
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }

    /// Whether it said that it came to its end.
    pub fn reached_end(&self) -> bool {
        self.lines.contains(&Line::End)
    }

    /// What a child must never do, whatever is done to it.
    pub fn misbehaved(&self) -> Option<String> {
        let panic = self.errors.lines().position(|line| line.contains("panicked at"));
        panic.map(|at| self.errors.lines().skip(at).take(3).collect::<Vec<_>>().join(" "))
    }
}

/// Runs a child to its end.
///
/// # Errors
/// When it cannot be started.
pub fn run(words: &[&OsStr], environment: &[(&str, String)]) -> anyhow::Result<Ended> {
    let mut child = Child::start(words, environment)?;
    child.wait(Wait::ForEnd)?;
    child.end()
}

/// Runs a child that can make no file larger than so many bytes, and is told so by an error.
///
/// # Errors
/// When it cannot be started.
pub fn run_limited(words: &[&OsStr], file_bytes_max: u64) -> anyhow::Result<Ended> {
    let limit = format!("--fsize={file_bytes_max}");
    let mut child = Child::start_through(&["env", "--ignore-signal=XFSZ", "prlimit", &limit], words, &[])?;
    child.wait(Wait::ForEnd)?;
    child.end()
}

/// Lets a process stand still, all its threads; says whether it still lives. Without that, a sync in flight can report a
/// success that a power cut belies.
///
/// # Errors
/// When it cannot be told to.
pub fn freeze(process: &mut std::process::Child) -> anyhow::Result<bool> {
    signal(process, nix::sys::signal::Signal::SIGSTOP)?;
    while !is_still(process) {
        if process.try_wait()?.is_some() {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

fn is_still(process: &std::process::Child) -> bool {
    // Every thread must have stopped, not only the one that is named first.
    let tasks = format!("/proc/{}/task", process.id());
    let Ok(tasks) = std::fs::read_dir(tasks) else { return false };
    let mut states = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("stat")));
    states.all(|stat| {
        let stat = stat.unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        state == Some("T")
    })
}

/// Sends a signal; a process that ended by itself meanwhile needs none.
///
/// # Errors
/// When it may not be sent.
pub fn signal(process: &std::process::Child, signal: nix::sys::signal::Signal) -> anyhow::Result<()> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(process.id())?);
    match nix::sys::signal::kill(pid, signal) {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

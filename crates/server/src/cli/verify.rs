//! Looks whether everything is as it was written, and lets sessions go on after damage.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::bail;
use hub::{Clock, SystemClock};
use store::sqlite::{self, Trouble, TroubleKind};

use super::terminal::{Meter, remark, say};
use crate::config::Config;
use crate::people::{self, by_hand};

/// Troubles that are told one by one.
const TOLD: usize = 50;

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

pub(crate) fn run(config: &Config) -> anyhow::Result<ExitCode> {
    if config.postgres.is_some() {
        bail!(
            "sessions are on PostgreSQL; every read checks the chain there, and `verify` reads SQLite only"
        );
    }
    let meter = Mutex::new(Meter::default());
    let progress = |done: u64, all: u64| {
        meter.lock().unwrap_or_else(PoisonError::into_inner).show("sessions", done, all);
    };
    let found = sqlite::verify(&config.data, workers(), &progress)?;
    say(&format!(
        "verified sessions {} entries {} attachments {} bytes {}\n",
        found.sessions, found.entries, found.attachments, found.file_bytes
    ))?;
    tell(&found.troubles)?;
    let about = format!("{} sessions, {} troubles", found.sessions, found.troubles.len());
    people::open(&config.data)?.note(by_hand(), "verified", &about)?;
    if found.troubles.is_empty() {
        say("verify ok\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    remark("Stop the server and run `everturn repair`, or restore a backup.");
    say(&format!("verify found {} troubles\n", found.troubles.len()))?;
    Ok(ExitCode::FAILURE)
}

fn tell(troubles: &[Trouble]) -> anyhow::Result<()> {
    for Trouble { session, kind, what } in troubles.iter().take(TOLD) {
        let whose = session.map_or_else(|| "-".to_owned(), |session| session.to_string());
        let intact = match kind {
            TroubleKind::Damaged { intact } => format!(" (whole up to entry {intact})"),
            _ => String::new(),
        };
        say(&format!("{} {whose} {what}{intact}\n", kind.as_str()))?;
    }
    if troubles.len() > TOLD {
        say(&format!("and {} more\n", troubles.len() - TOLD))?;
    }
    Ok(())
}

pub(crate) fn repair(config: &Config) -> anyhow::Result<ExitCode> {
    if config.postgres.is_some() {
        bail!("sessions are on PostgreSQL; `repair` mends SQLite only");
    }
    let repaired = sqlite::repair(&config.data, workers(), SystemClock.now())?;
    tell(&repaired.before.troubles)?;
    if let Some(aside) = &repaired.write_ahead_log {
        say(&format!("set aside the write-ahead log as it was: {}\n", aside.display()))?;
    }
    let people = people::open(&config.data)?;
    for session in &repaired.sessions {
        let (id, kept) = (session.session, session.kept);
        match &session.aside {
            Some(aside) => {
                say(&format!("{id} goes on after entry {kept}; the rest is in {}\n", aside.display()))?
            }
            None => say(&format!("{id} is whole; what is derived from it was made anew\n"))?,
        }
        people.note(by_hand(), "repaired", &format!("{id} after entry {kept}"))?;
    }
    run(config)
}

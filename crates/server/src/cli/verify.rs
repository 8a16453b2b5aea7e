//! Verifies the integrity of sessions and attachments, and repairs damaged sessions.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;

use hub::{Clock, SystemClock};
use store::directory::{DataDirectory, LogsAt};
use store::sqlite::{self, Trouble};

use super::terminal::{Meter, remark, say};
use crate::config::Config;
use crate::people::{self, by_hand};
use crate::upkeep::{self, workers};

/// Maximum number of problems to print.
const TOLD: usize = 50;

pub(crate) fn run(config: &Config) -> anyhow::Result<ExitCode> {
    upkeep::can_be_verified(config).map_err(anyhow::Error::msg)?;
    let meter = Mutex::new(Meter::default());
    let progress = |done: u64, all: u64| {
        meter.lock().unwrap_or_else(PoisonError::into_inner).show("sessions", done, all);
    };
    let directory = config.enter_shared()?;
    let found = sqlite::verify(&directory, workers(), &progress)?;
    say(&format!(
        "verified sessions {} entries {} attachments {} bytes {}\n",
        found.sessions, found.entries, found.attachments, found.file_bytes
    ))?;
    tell(&found.troubles)?;
    if let Some(damage) = directory.damage_of_people()? {
        return told_of_people(&damage);
    }
    upkeep::note_verify(&people::open(&directory)?, by_hand(), &found)?;
    if found.troubles.is_empty() {
        say("verify ok\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    remark("Stop the server and run `everturn repair`, or restore a backup.");
    say(&format!("verify found problems: {}\n", found.troubles.len()))?;
    Ok(ExitCode::FAILURE)
}

/// Reports damage that `repair` can't fix.
fn told_of_people(damage: &str) -> anyhow::Result<ExitCode> {
    say(&format!("people.db: damaged: {damage}\n"))?;
    remark("This file has the users, tokens and secrets. `everturn repair` can't fix it: restore a backup.");
    Ok(ExitCode::FAILURE)
}

fn tell(troubles: &[Trouble]) -> anyhow::Result<()> {
    for trouble in troubles.iter().take(TOLD) {
        say(&format!("{}\n", upkeep::line(trouble)))?;
    }
    if troubles.len() > TOLD {
        say(&format!("and {} more\n", troubles.len() - TOLD))?;
    }
    Ok(())
}

fn tell_lost(directory: &DataDirectory) -> anyhow::Result<()> {
    for log in directory.lost_logs() {
        say(&format!(
            "write-ahead log {} is missing or incomplete; continued without the missing writes\n",
            log.display()
        ))?;
    }
    Ok(())
}

pub(crate) fn repair(config: &Config) -> anyhow::Result<ExitCode> {
    let directory = config.enter_to_repair()?;
    if let Some(damage) = directory.damage_of_people()? {
        return told_of_people(&damage);
    }
    if directory.logs_at() == LogsAt::Elsewhere {
        tell_lost(&directory)?;
        drop(people::open(&directory)?);
        remark("Sessions are in PostgreSQL, which `everturn repair` does not change.");
        return Ok(ExitCode::SUCCESS);
    }
    let repaired = sqlite::repair(&directory, workers(), SystemClock.now())?;
    tell(&repaired.before.troubles)?;
    tell_lost(&directory)?;
    for aside in &repaired.write_ahead_logs {
        say(&format!("copied the damaged write-ahead log to {}\n", aside.display()))?;
    }
    let people = people::open(&directory)?;
    for session in &repaired.sessions {
        let (id, kept, set_aside) = (session.session, session.kept, session.set_aside);
        match &session.aside {
            Some(aside) => say(&format!(
                "{id}: set aside {set_aside} damaged entries in {}; the log is now valid up to entry {kept}\n",
                aside.display()
            ))?,
            None if set_aside > 0 => say(&format!(
                "{id}: set aside {set_aside} entries in the file of a session that shares them; the log is now valid up to entry \
                 {kept}\n"
            ))?,
            None => say(&format!("{id}: no entries were damaged; rebuilt list, turns and search\n"))?,
        }
        people.note(by_hand(), "repaired", &format!("{id}: {set_aside} entries set aside"))?;
    }
    drop((people, directory));
    run(config)
}

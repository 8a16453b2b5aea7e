//! Backs up and restores the data directory.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use hub::{Clock, SystemClock};
use store::backup::{self, Manifest};

use super::terminal::{Meter, remark, say};
use super::verify;
use crate::config::Config;
use crate::people::{self, by_hand};
use crate::upkeep;

pub(crate) fn make(config: &Config, to: &Path) -> anyhow::Result<ExitCode> {
    let mut meter = Meter::default();
    let mut progress = |what: &str, done: u64, all: u64| meter.show(what, done, all);
    let directory = config.enter_shared()?;
    let made = backup::make(&directory, to, SystemClock.now(), &mut progress)?;
    upkeep::note_backup(&people::open(&directory)?, by_hand(), to)?;
    say(&format!("backup {} {}\n", to.display(), summary(&made)))?;
    if made.attachments_gone > 0 {
        remark(&format!(
            "Attachments deleted during the backup, and not included: {}.",
            made.attachments_gone
        ));
    }
    if made.attachments_damaged > 0 {
        remark(&format!(
            "Missing or damaged attachments, not included: {}. Run `everturn verify` to list them.",
            made.attachments_damaged
        ));
    }
    if config.postgres.is_some() {
        remark(upkeep::SESSIONS_ON_POSTGRES);
    }
    remark(upkeep::KEY_NOT_INCLUDED);
    Ok(ExitCode::SUCCESS)
}

fn summary(manifest: &Manifest) -> String {
    format!("sessions {} attachments {}", manifest.sessions, manifest.attachments)
}

pub(crate) fn restore(config: &Config, from: &Path) -> anyhow::Result<ExitCode> {
    let has_sessions = backup::look(from)?.has_sessions();
    let on_postgres = config.postgres.is_some();
    ensure!(
        !(has_sessions && on_postgres),
        "the backup contains sessions, but `postgres` is set; nothing was restored"
    );
    ensure!(
        has_sessions || on_postgres,
        "the backup contains no sessions, but `postgres` is not set; nothing was restored"
    );
    let mut random = [0; 2];
    getrandom::fill(&mut random)?;
    let mut meter = Meter::default();
    let mut progress = |what: &str, done: u64, all: u64| meter.show(what, done, all);
    let manifest = backup::restore(from, &config.data, u16::from_le_bytes(random), &mut progress)
        .context("failed to restore")?;
    people::open(&config.enter()?)?.note(by_hand(), "restored", &from.display().to_string())?;
    say(&format!("restored {} {}\n", config.data.display(), summary(&manifest)))?;
    if config.postgres.is_some() {
        remark("Sessions and attachments are in PostgreSQL; restore them with `pg_restore`.");
        return Ok(ExitCode::SUCCESS);
    }
    verify::run(config)
}

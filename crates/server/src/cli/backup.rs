//! Copies the data directory while the server runs, and makes one of a copy.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use hub::{Clock, SystemClock};
use store::backup::{self, Manifest};

use super::terminal::{Meter, remark, say};
use super::verify;
use crate::config::Config;
use crate::people::{self, by_hand};
use crate::upkeep;

pub(crate) fn make(config: &Config, to: &Path) -> anyhow::Result<ExitCode> {
    upkeep::can_be_backed_up(config).map_err(anyhow::Error::msg)?;
    let mut meter = Meter::default();
    let mut progress = |what: &str, done: u64, all: u64| meter.show(what, done, all);
    let made = backup::make(&config.data, to, SystemClock.now(), &mut progress)?;
    upkeep::note_backup(&people::open(&config.data)?, by_hand(), to)?;
    say(&format!("backup {} {}\n", to.display(), summary(&made)))?;
    if made.attachments_gone > 0 {
        remark(&format!("{} attachments were erased while it was made.", made.attachments_gone));
    }
    remark("The key of the secrets is not in it; keep a copy of `secrets.key` elsewhere.");
    Ok(ExitCode::SUCCESS)
}

fn summary(manifest: &Manifest) -> String {
    format!("sessions {} attachments {}", manifest.sessions, manifest.attachments)
}

pub(crate) fn restore(config: &Config, from: &Path) -> anyhow::Result<ExitCode> {
    if config.postgres.is_some() {
        bail!("sessions are on PostgreSQL: restore them with its own tools");
    }
    let mut random = [0; 2];
    getrandom::fill(&mut random)?;
    let mut meter = Meter::default();
    let mut progress = |what: &str, done: u64, all: u64| meter.show(what, done, all);
    let manifest =
        backup::restore(from, &config.data, u16::from_le_bytes(random), &mut progress).context("restore")?;
    people::open(&config.data)?.note(by_hand(), "restored", &from.display().to_string())?;
    say(&format!("restored {} {}\n", config.data.display(), summary(&manifest)))?;
    verify::run(config)
}

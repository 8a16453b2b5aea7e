//! Backups of a server under load: each is restored, and must be a verified beginning of every log, with all that was
//! acknowledged before it began, under epochs that the original never reaches.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use rusqlite::{Connection, OpenFlags};
use session::{Link, Seq, SessionId};
use store::LogStore;
use store::sqlite::{Settings, SqliteStore};
use uuid::Uuid;

use crate::Report;
use crate::client::Client;
use crate::dice::Dice;
use crate::trial::{Judge, Setup, progress, scripted_model, violations};

/// Backups in CI and in full.
const ROUNDS: (usize, usize) = (10, 100);
/// Every so often a server goes on from what was restored.
const SERVED_EVERY: usize = 5;
/// Sessions that the judge plays with meanwhile.
const SESSIONS: usize = 8;

/// What one backup gave.
struct Restored {
    ends: Vec<(SessionId, Link)>,
    epochs: Vec<(SessionId, u64)>,
    /// Where the last message stands that was acknowledged before the backup began.
    acknowledged: (SessionId, Seq),
}

/// Makes and restores backups while a judge plays.
///
/// # Errors
/// When the server cannot be started or asked.
pub fn run(report: &mut Report, full: bool) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_model, model_port) = scripted_model()?;
    let setup = Setup::at(&home.path().join("origin"), model_port)?.judged();
    let client = Client { port: setup.port, token: setup.prepare()? };
    let server = setup.serve()?;
    let judge = Judge::start(&setup, &client.token, &home.path().join("history"), SESSIONS, 7)?;
    let witness = client.create()?;
    let rounds = if full { ROUNDS.1 } else { ROUNDS.0 };
    let mut dice = Dice::new(11);
    let (mut restored, mut served) = (Vec::new(), 0);
    for round in 0..rounds {
        progress(&format!("backup {round} of {rounds}"));
        let kept = client.post(&witness, &format!("say 3 of backup {round}"))?;
        let seq = kept["turn"].as_u64().context("where the message stands")?;
        if dice.below(2) == 0 {
            // Some are made in the middle of an answer.
            client.follow(&witness, Some(seq))?.until("run_ended")?;
        }
        let copy = home.path().join(format!("copy-{round}"));
        command(&setup, &["backup", &copy.to_string_lossy()])?;
        let other =
            Setup { home: home.path().join(format!("other-{round}")), ..Setup::at(home.path(), model_port)? };
        let other = Setup { data: other.home.join("data"), ..other };
        let acknowledged = (SessionId(Uuid::parse_str(&witness)?), Seq(seq));
        restored.push(restore(&setup, &other, &copy, acknowledged)?);
        if round % SERVED_EVERY == 0 {
            served += usize::from(goes_on(&other, &client.token, &witness)?);
        }
        std::fs::remove_dir_all(&copy)?;
        std::fs::remove_dir_all(&other.home)?;
    }
    let (lines, _) = judge.verdict()?;
    violations(report, "backups", &lines);
    drop(server);
    report.line("backups.made_and_restored", restored.len(), rounds, restored.len() == rounds);
    let expected = rounds.div_ceil(SERVED_EVERY);
    report.line("backups.gone_on_from", served, expected, served == expected);
    compare(report, &setup.data, &restored)
}

fn command(setup: &Setup, words: &[&str]) -> anyhow::Result<String> {
    let output = setup.command().args(words).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let told = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{words:?}: {} {}", told.0, told.1);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Restores a copy and reads where its logs end. `restore` verifies it, and fails when anything is wrong.
fn restore(
    origin: &Setup,
    other: &Setup,
    copy: &Path,
    acknowledged: (SessionId, Seq),
) -> anyhow::Result<Restored> {
    std::fs::create_dir_all(&other.home)?;
    let config = std::fs::read_to_string(origin.home.join("config.toml"))?;
    let here = (format!("{:?}", origin.data), format!("{:?}", other.data));
    let ports = (format!(":{}\"", origin.port), format!(":{}\"", other.port));
    let config = config.replace(&here.0, &here.1).replace(&ports.0, &ports.1);
    std::fs::write(other.home.join("config.toml"), config)?;
    let told = command(other, &["restore", &copy.to_string_lossy()])?;
    if !told.ends_with("verify ok\n") {
        bail!("what was restored is not whole: {told}");
    }
    Ok(Restored { ends: ends(&other.data)?, epochs: epochs(&other.data)?, acknowledged })
}

fn settings(data: &Path) -> Settings {
    Settings { reserve_bytes: 0, ..Settings::new(data) }
}

/// Where every log of a store ends.
fn ends(data: &Path) -> anyhow::Result<Vec<(SessionId, Link)>> {
    let sessions = epochs(data)?;
    let store = SqliteStore::open(settings(data))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut ends = Vec::new();
        for (session, _) in sessions {
            match store.open(session).await {
                Ok(opened) => ends.push((session, opened.end)),
                // Claimed, but its first entry had not come.
                Err(store::OpenError::Unknown(_) | store::OpenError::Deleted(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ends)
    })
}

/// The epoch of every log.
fn epochs(data: &Path) -> anyhow::Result<Vec<(SessionId, u64)>> {
    // To read only: closing must not fold the write-ahead log of a server that was killed.
    let path = data.join("everturn.db");
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select = database.prepare("SELECT key, epoch FROM logs WHERE trunk = 0")?;
    let rows = select.query_map([], |row| Ok((SessionId(Uuid::from_bytes(row.get(0)?)), row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Starts a server on what was restored and lets it answer.
fn goes_on(other: &Setup, token: &str, session: &str) -> anyhow::Result<bool> {
    let _server = other.serve()?;
    let client = Client { port: other.port, token: token.to_owned() };
    let kept = client.post(session, "say 3 of afterwards")?;
    let turn = kept["turn"].as_u64();
    client.follow(session, turn)?.until("run_ended")?;
    Ok(turn.is_some())
}

/// Holds everything that was restored against what the original has become.
fn compare(report: &mut Report, data: &Path, restored: &[Restored]) -> anyhow::Result<()> {
    let origin = epochs(data)?;
    let store = SqliteStore::open(settings(data))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut logs, mut different, mut missing, mut low) = (0, 0, 0, 0);
    for backup in restored {
        for (session, end) in &backup.ends {
            logs += 1;
            // The link holds everything before it.
            let read = runtime.block_on(store.read(*session, Seq(end.seq.0 - 1), 1));
            let same = read.is_ok_and(|entries| entries.first().is_some_and(|entry| entry.link() == *end));
            different += usize::from(!same);
        }
        let (session, seq) = backup.acknowledged;
        let kept = backup.ends.iter().any(|(of, end)| *of == session && end.seq >= seq);
        missing += usize::from(!kept);
        for (session, epoch) in &backup.epochs {
            let there = origin.iter().find(|(of, _)| of == session).map_or(0, |(_, epoch)| *epoch);
            low += usize::from(*epoch <= there);
        }
    }
    report.line("backups.logs_compared", logs, ">0", logs > 0);
    report.line("backups.not_a_beginning", different, 0, different == 0);
    report.line("backups.acknowledged_missing", missing, 0, missing == 0);
    report.line("backups.epochs_not_raised", low, 0, low == 0);
    Ok(())
}

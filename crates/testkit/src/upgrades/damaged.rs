//! Damages a data directory and runs `doctor`, `verify`, `backup` and `serve` on it. A server that starts serves every
//! acknowledged entry, or the server or `verify` reports the damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::Report;
use crate::client::Client;
use crate::crash::disk::{copy, scratch};
use crate::dice::Dice;
use crate::trial::Setup;

/// Sessions of the store, and the turns of each.
const SESSIONS: usize = 4;
const TURNS: usize = 3;
const FILES: [&str; 3] = ["everturn.db", "people.db", "search.db"];

/// A way to damage a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Removed,
    Emptied,
    Halved,
    /// The last page is missing.
    PageCut,
    /// A write-ahead log loses its last transactions, as if they had never been written.
    LastCommitsCut(usize),
    Letter,
    Foreign,
    /// A bit flips at this place, in millionths of the file.
    Flipped(u64),
    /// A page is zeroed at this place.
    Zeroed(u64),
}

/// A file, or its write-ahead log, and its damage.
#[derive(Debug, Clone)]
struct Case {
    file: String,
    damage: Damage,
}

/// An undamaged store and its logs.
struct Sound {
    setup: Setup,
    token: String,
    /// The entries of every session.
    logs: BTreeMap<String, Vec<Value>>,
}

#[derive(Default)]
struct Found {
    cases: usize,
    refused: usize,
    told: usize,
    as_before: usize,
    broken: Vec<String>,
}

/// Damages a store in every way and checks each command on it.
///
/// # Errors
/// When the binary cannot be run.
pub(super) fn all(report: &mut Report, model_port: u16, flips: u64) -> anyhow::Result<()> {
    let mut found = Found::default();
    for killed in [true, false] {
        let home = scratch()?;
        let sound = Sound::make(home.path(), model_port, killed)?;
        for case in cases(&sound, killed, flips) {
            found.cases += 1;
            if let Err(error) = one(&mut found, &sound, &case) {
                let left = if killed { "a kill" } else { "a clean stop" };
                found.broken.push(format!("{case:?} after {left}: {error:#}"));
            }
        }
    }
    let Found { cases, refused, told, as_before, broken } = found;
    report.note(&format!("damaged: {refused} refused, {told} reported, {as_before} as before"));
    report.line("damaged.cases", cases, ">=40", cases >= 40);
    report.line("damaged.refused", refused, ">=10", refused >= 10);
    super::broken(report, "damaged", &broken);
    Ok(())
}

fn cases(sound: &Sound, killed: bool, flips: u64) -> Vec<Case> {
    let mut dice = Dice::new(17 + u64::from(killed));
    let mut cases = Vec::new();
    for file in FILES {
        for name in [file.to_owned(), format!("{file}-wal")] {
            let path = sound.setup.data.join(&name);
            if fs::metadata(&path).map_or(0, |file| file.len()) == 0 {
                continue;
            }
            let mut damages = vec![Damage::Removed, Damage::Emptied, Damage::Halved, Damage::Letter];
            if name == file {
                damages.extend([Damage::Foreign, Damage::PageCut]);
            } else {
                damages.extend([Damage::LastCommitsCut(1), Damage::LastCommitsCut(3)]);
            }
            // `people.db` has no checksums, so a flipped bit may go unnoticed.
            if name == file && file != "people.db" {
                for _ in 0..flips {
                    damages.push(Damage::Flipped(dice.below(1_000_000)));
                    damages.push(Damage::Zeroed(dice.below(1_000_000)));
                }
            }
            cases.extend(damages.into_iter().map(|damage| Case { file: name.clone(), damage }));
        }
    }
    cases
}

impl Sound {
    fn make(home: &Path, model_port: u16, killed: bool) -> anyhow::Result<Self> {
        let setup = Setup::at(home, model_port)?;
        let token = setup.prepare()?;
        let mut server = setup.serve()?;
        let client = Client { port: setup.port, token: token.clone() };
        let mut logs = BTreeMap::new();
        for number in 0..SESSIONS {
            let session = client.create()?;
            for turn in 0..TURNS {
                let posted = client.post(&session, &format!("say 12 of heron{number}x{turn}"))?;
                client.follow(&session, posted["turn"].as_u64())?.until("run_ended")?;
            }
            logs.insert(session.clone(), entries(&client, &session)?);
        }
        if killed {
            server.kill();
        } else {
            stop(&mut server)?;
        }
        Ok(Self { setup, token, logs })
    }
}

fn stop(server: &mut crate::trial::Process) -> anyhow::Result<()> {
    let id = nix::unistd::Pid::from_raw(i32::try_from(server.0.id())?);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM)?;
    ensure!(server.0.wait()?.success(), "the server exited with a failure");
    Ok(())
}

/// Every entry of a session, until it is caught up.
fn entries(client: &Client, session: &str) -> anyhow::Result<Vec<Value>> {
    let mut stream = client.follow(session, Some(0))?;
    let mut entries = Vec::new();
    while let Some(event) = stream.event()? {
        match event.name.as_str() {
            "entry" => entries.push(serde_json::from_str(&event.data)?),
            "caught_up" => return Ok(entries),
            _ => {}
        }
    }
    anyhow::bail!("the stream ended before it was caught up")
}

fn one(found: &mut Found, sound: &Sound, case: &Case) -> anyhow::Result<()> {
    let home = scratch()?;
    let setup = Setup { home: home.path().to_owned(), data: home.path().join("data"), ..sound.setup.clone() };
    copy(&sound.setup.data, &setup.data)?;
    setup.configure()?;
    apply(&setup.data.join(&case.file), case.damage)?;
    let run = |words: &[&str]| -> anyhow::Result<Output> {
        let output = setup.command().args(words).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(!told.contains("panicked"), "{words:?} panics: {told}");
        Ok(output)
    };
    run(&["doctor"])?;
    let verified = run(&["verify"])?.status.success();
    let backed_up = run(&["backup", &home.path().join("copy").to_string_lossy()])?.status.success();
    let check_log = || -> anyhow::Result<()> {
        let log = fs::read_to_string(setup.home.join("serve.log"))?;
        ensure!(!log.contains("panicked"), "serve panics: {log}");
        Ok(())
    };
    let Ok(server) = setup.serve() else {
        found.refused += 1;
        check_log()?;
        ensure!(!backed_up || case.file.starts_with("search"), "serve refuses what backup copied");
        return Ok(());
    };
    let client = Client { port: setup.port, token: sound.token.clone() };
    let health = client.must("GET", "/server", &json!({})).context("the owner's token is gone")?;
    let damaged = health["store"]["damaged"].as_u64().unwrap_or(0);
    let mut different = Vec::new();
    for (session, log) in &sound.logs {
        // The server may have added entries, such as a title, after the acknowledged ones.
        let same = entries(&client, session).is_ok_and(|now| now.starts_with(log));
        if !same {
            different.push(session.clone());
        }
    }
    drop(server);
    check_log()?;
    let verified_after = run(&["verify"])?.status.success();
    if different.is_empty() {
        found.as_before += 1;
    } else {
        ensure!(damaged > 0 || !verified_after, "serves without {different:?} and says nothing");
        found.told += 1;
    }
    ensure!(verified || !verified_after || different.is_empty(), "verify finds nothing wrong after a start");
    Ok(())
}

fn apply(path: &Path, damage: Damage) -> anyhow::Result<()> {
    let change = |change: &dyn Fn(&mut Vec<u8>)| -> anyhow::Result<()> {
        let mut bytes = fs::read(path)?;
        change(&mut bytes);
        Ok(fs::write(path, bytes)?)
    };
    let place = |bytes: &[u8], millionths: u64| {
        usize::try_from(bytes.len() as u64 * millionths / 1_000_000).unwrap_or(0)
    };
    match damage {
        Damage::Removed => fs::remove_file(path)?,
        Damage::Emptied => fs::write(path, b"")?,
        Damage::Halved => change(&|bytes| bytes.truncate(bytes.len() / 2))?,
        Damage::LastCommitsCut(count) => change(&|bytes| {
            let ends = commit_ends(bytes);
            bytes.truncate(ends.len().checked_sub(count + 1).map_or(WAL_HEADER_BYTES, |last| ends[last]));
        })?,
        Damage::PageCut => change(&|bytes| bytes.truncate(bytes.len() - 4_096))?,
        Damage::Letter => fs::write(path, "a letter, not a database\n".repeat(100))?,
        Damage::Foreign => {
            fs::remove_file(path)?;
            Connection::open(path)?.execute_batch("CREATE TABLE birds (name TEXT)")?;
        }
        Damage::Flipped(at) => change(&|bytes| {
            let at = place(bytes, at);
            bytes[at] ^= 4;
        })?,
        Damage::Zeroed(at) => change(&|bytes| {
            let first = place(bytes, at) / 4_096 * 4_096;
            let end = (first + 4_096).min(bytes.len());
            bytes[first..end].fill(0);
        })?,
    }
    Ok(())
}

const WAL_HEADER_BYTES: usize = 32;
const FRAME_BYTES: usize = 24 + 4_096;

/// Where each transaction of a write-ahead log ends.
fn commit_ends(log: &[u8]) -> Vec<usize> {
    let frames = log[WAL_HEADER_BYTES..].chunks_exact(FRAME_BYTES).enumerate();
    frames
        .take_while(|(_, frame)| frame[8..16] == log[16..24])
        .filter(|(_, frame)| frame[4..8] != [0; 4])
        .map(|(at, _)| WAL_HEADER_BYTES + (at + 1) * FRAME_BYTES)
        .collect()
}

//! A write-ahead log cut at any byte after the part that was checkpointed. Without a commit record, the store opens with
//! exactly the last complete commit before the cut. With one, a log that lacks recorded commits is refused.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use session::{Hash, SessionId};
use tempfile::TempDir;

use crate::dice::Dice;

use super::cases::{Tally, in_parallel, spread, verify};
use super::child::{Child, Wait};
use super::disk;
use super::images::{self, End, Given};
use super::stage::session_no;
use super::witness::{Line, Witness};

const WAL_HEADER_BYTES: usize = 32;
/// Bytes before the page in a frame.
pub const FRAME_HEADER_BYTES: usize = 24;
const DATABASE: &str = "everturn.db";
const WAL: &str = "everturn.db-wal";
const LOCK: &str = "lock";
/// Bytes of the lock file that say how each database was left; the commit records come after them.
const LOCK_FLAGS_BYTES: u64 = 2;
/// One image in so many is also started, checked and used.
const USED_ONE_IN: usize = 40;

type Heads = BTreeMap<SessionId, Vec<Hash>>;

/// A store that was killed while it wrote.
#[derive(Debug)]
pub struct Base {
    directory: TempDir,
    wal: Vec<u8>,
    /// Up to where the log may have been folded into the database, which it is only once that is synced.
    folded: usize,
    sessions: Vec<SessionId>,
}

/// Kills a streaming workload and keeps what it left.
///
/// # Errors
/// When it left no log to tear.
pub fn base(seed: u64) -> anyhow::Result<Base> {
    let directory = disk::scratch()?;
    let data = directory.path().join("data");
    let seed = seed.to_string();
    let words = [OsStr::new("stream"), data.as_os_str(), "0".as_ref(), seed.as_ref()];
    for attempt in 0..20 {
        let mut child = Child::start(&words, &[])?;
        // A loaded machine needs longer to leave as much.
        child.wait(Wait::For(Duration::from_millis(350 + 200 * attempt)))?;
        let ended = child.end()?;
        let wal = fs::read(data.join(WAL)).unwrap_or_default();
        let folded = folded(&wal, &fs::read(data.join("everturn.db-shm")).unwrap_or_default()).unwrap_or(0);
        let left = |commits: Vec<usize>| commits.into_iter().filter(|end| *end >= folded).count();
        if commits(&wal).is_some_and(|commits| left(commits) >= 40) {
            let sessions: Vec<SessionId> = [11, 12, 13, 14].map(session_no).to_vec();
            ensure!(Witness::of(&ended.lines).acked() > 0, "nothing was acknowledged");
            return Ok(Base { directory, wal, folded, sessions });
        }
        fs::remove_dir_all(&data)?;
    }
    anyhow::bail!("no workload left a log of SQLite to tear")
}

/// The byte up to which frames may have been folded, by the index beside the log: its header stands there twice, then
/// how many frames were folded, five marks of readers, eight locks, and how many it was begun with.
fn folded(wal: &[u8], index: &[u8]) -> Option<usize> {
    const BEGUN_AT: usize = 2 * 48 + 4 + 5 * 4 + 8;
    let begun = u32::from_ne_bytes(index.get(BEGUN_AT..BEGUN_AT + 4)?.try_into().ok()?);
    let page = u32::from_be_bytes(wal.get(8..12)?.try_into().ok()?);
    let frame = FRAME_HEADER_BYTES + usize::try_from(page).ok()?;
    Some(WAL_HEADER_BYTES + frame * usize::try_from(begun).ok()?)
}

/// The bytes at which each committed transaction ends.
pub fn commits(wal: &[u8]) -> Option<Vec<usize>> {
    let page = u32::from_be_bytes(wal.get(8..12)?.try_into().ok()?);
    let frame = FRAME_HEADER_BYTES + usize::try_from(page).ok()?;
    let salts = wal.get(16..24)?;
    let mut ends = vec![WAL_HEADER_BYTES];
    let mut at = WAL_HEADER_BYTES;
    while let Some(header) = wal.get(at..at + FRAME_HEADER_BYTES).filter(|_| at + frame <= wal.len()) {
        if &header[8..16] != salts {
            break;
        }
        at += frame;
        if header[4..8] != [0; 4] {
            ends.push(at);
        }
    }
    Some(ends)
}

/// The commit record in an image. The server writes it without a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    /// None, as a power cut may leave it.
    None,
    /// The record of the last acknowledged commit.
    Newest,
}

fn image(base: &Base, cut: usize, record: Record, directory: &Path) -> anyhow::Result<()> {
    let from = base.directory.path().join("data");
    for entry in fs::read_dir(&from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != WAL && entry.file_name() != "everturn.db-shm"
        {
            fs::copy(entry.path(), directory.join(entry.file_name()))?;
        }
    }
    ensure!(directory.join(DATABASE).exists(), "there is no database");
    if record == Record::None {
        fs::File::options().write(true).open(directory.join(LOCK))?.set_len(LOCK_FLAGS_BYTES)?;
    }
    Ok(fs::write(directory.join(WAL), &base.wal[..cut])?)
}

/// Cuts the log `count` times.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, base: &Base, count: usize, seed: u64) -> anyhow::Result<()> {
    let mut commits = commits(&base.wal).context("a log of SQLite")?;
    commits.retain(|end| *end >= base.folded);
    let mut cuts: Vec<usize> = Vec::new();
    let mut dice = Dice::new(seed);
    // Every commit's own end comes first: it says what the others must hold.
    cuts.extend(commits.iter().copied());
    let near = [1_usize, 8, 23, 24, 25, 4_095];
    cuts.extend(commits.iter().flat_map(|end| near.map(|bytes| (end + bytes).min(base.wal.len()))));
    cuts.extend(commits.iter().flat_map(|end| near.map(|bytes| end.saturating_sub(bytes))));
    let room = (base.wal.len() - base.folded) as u64;
    while cuts.len() < count {
        cuts.push(base.folded + usize::try_from(dice.below(room)).unwrap_or(0));
    }
    cuts.iter_mut().for_each(|cut| *cut = (*cut).max(base.folded));
    let (first, rest) = cuts.split_at(commits.len().min(count));
    let cuts: Vec<usize> = [first, &spread(rest, count - first.len())].concat();
    let held: Mutex<BTreeMap<usize, Vec<(usize, Heads)>>> = Mutex::default();
    let items: Vec<(usize, usize)> = cuts.into_iter().enumerate().collect();
    in_parallel(vec![disk::scratch()?, disk::scratch()?, disk::scratch()?], items, |place, (at, cut)| {
        let directory = place.path().join("image");
        fs::create_dir(&directory)?;
        image(base, cut, Record::None, &directory)?;
        let mut broken = Vec::new();
        match images::read(&directory, &base.sessions)? {
            Given::Refused(why) => broken.push(format!("not opened: {why}")),
            Given::Panicked => broken.push("panicked".to_owned()),
            Given::Logs(logs) => {
                let mut heads = Heads::new();
                for (session, log) in logs {
                    if let End::Told(why) = &log.end {
                        broken.push(format!("{session}: {why}"));
                    }
                    if log.wrong_state {
                        broken.push(format!("{session}: its stored state is wrong"));
                    }
                    heads.insert(session, log.hashes);
                }
                let floor = commits.iter().rev().find(|end| **end <= cut).copied().unwrap_or(0);
                held.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(floor)
                    .or_default()
                    .push((cut, heads));
            }
        }
        if at % USED_ONE_IN == 0 {
            broken.extend(verify(&directory, &Vec::<Line>::new(), 1)?);
        }
        fs::remove_dir_all(&directory)?;
        fs::create_dir(&directory)?;
        image(base, cut, Record::Newest, &directory)?;
        let refused = matches!(images::read(&directory, &base.sessions)?, Given::Refused(_));
        // The process may have been killed between its last commit and the record of it.
        let (recorded, whole) = (commits[commits.len() - 2], commits[commits.len() - 1]);
        if refused && cut >= whole || !refused && cut < recorded {
            broken.push(format!("with the record of its commits, refused: {refused}"));
        }
        tally.add(&format!("cut at {cut}"), 0, &broken);
        Ok(fs::remove_dir_all(&directory)?)
    })?;
    prefixes(tally, &held.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

/// Cuts behind the same commit hold the same, and each commit holds what the one before it held, and more.
fn prefixes(tally: &Tally, held: &BTreeMap<usize, Vec<(usize, Heads)>>) {
    let mut before: Option<&Heads> = None;
    for (commit, images) in held {
        let Some((_, first)) = images.first() else { continue };
        for (cut, heads) in images {
            if heads != first {
                tally.add(
                    &format!("cut at {cut}"),
                    0,
                    &[format!("it does not hold what the commit at {commit} holds")],
                );
            }
        }
        for (session, log) in before.into_iter().flatten() {
            let now = first.get(session).map_or(&[][..], Vec::as_slice);
            if !now.starts_with(log) {
                tally.add(
                    &format!("commit at {commit}"),
                    0,
                    &[format!("{session} is not what it was, and more")],
                );
            }
        }
        before = Some(first);
    }
}

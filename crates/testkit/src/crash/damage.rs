//! Stores that were damaged: truncated, bits flipped, pages emptied, files missing or another's. Opening refuses, or
//! every log is given as it was, or as far as it is intact and with a word that it is damaged. Never another entry,
//! never a panic, never a shorter log without a word.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Context, bail};
use session::SessionId;

use crate::dice::Dice;

use super::cases::{Tally, in_parallel, spread};
use super::disk;
use super::images::{self, End, Given, Log};
use super::torn::{FRAME_HEADER_BYTES, commits};

const DATABASE: &str = "everturn.db";
const WAL: &str = "everturn.db-wal";

/// One kind of damage.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Truncated {
        pages: u64,
    },
    Flipped {
        byte: usize,
        bit: u8,
    },
    Emptied {
        page: usize,
    },
    /// Another page's bytes stand where this one's should: a write went astray.
    Misplaced {
        page: usize,
        from: usize,
    },
    WalFlipped {
        byte: usize,
        bit: u8,
    },
    WalRemoved,
    DatabaseRemoved,
    DatabaseEmpty,
    AnothersDatabase,
    NotADatabase,
}

/// What was found in all images.
#[derive(Debug, Default)]
pub struct Found {
    pub silent: Vec<String>,
    pub wrong: Vec<String>,
    pub panics: Vec<String>,
    pub refused: usize,
    pub told: usize,
    pub equal: usize,
}

/// A sound store, the sessions in it, and what it gives of them.
struct Sound<'a> {
    directory: &'a Path,
    logs: BTreeMap<SessionId, Log>,
    sessions: Vec<SessionId>,
}

impl<'a> Sound<'a> {
    fn of(directory: &'a Path, sessions: &[SessionId]) -> anyhow::Result<Self> {
        let copy = disk::scratch()?;
        copy_store(directory, copy.path())?;
        let Given::Logs(mut logs) = images::read(copy.path(), sessions)? else {
            bail!("the sound store is not sound")
        };
        logs.retain(|_, log| log.end != End::Unknown);
        if let Some((session, log)) = logs.iter().find(|(_, log)| log.end != End::Whole || log.wrong_state) {
            bail!("the sound store is not sound: {session} {:?}", log.end);
        }
        Ok(Self { directory, sessions: logs.keys().copied().collect(), logs })
    }
}

/// Copies all but attachments and spool, which no log needs to be read.
fn copy_store(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != "everturn.db-shm" {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn damages(sound: &Sound<'_>, count: usize, seed: u64) -> anyhow::Result<Vec<Damage>> {
    let database = fs::read(sound.directory.join(DATABASE))?;
    let wal = fs::read(sound.directory.join(WAL)).unwrap_or_default();
    let page_bytes = u16::from_be_bytes([database[16], database[17]]);
    let pages = database.len() / usize::from(page_bytes).max(512);
    // The last transaction cannot be told from one that was torn before anyone was told that it is durable, and the
    // one before it only by the frame that ends it.
    let ends = commits(&wal).unwrap_or_default();
    let last_but_one = ends.len().checked_sub(2).map_or(0, |at| ends[at]);
    let proven = last_but_one.saturating_sub(FRAME_HEADER_BYTES + usize::from(page_bytes));
    let mut dice = Dice::new(seed);
    let mut all =
        vec![Damage::DatabaseRemoved, Damage::DatabaseEmpty, Damage::AnothersDatabase, Damage::NotADatabase];
    if !wal.is_empty() {
        all.push(Damage::WalRemoved);
    }
    all.extend((0..pages as u64).map(|pages| Damage::Truncated { pages }));
    all.extend((0..pages).map(|page| Damage::Emptied { page }));
    let mut pick = |end: usize| usize::try_from(dice.below(end as u64)).unwrap_or(0);
    for page in 1..pages {
        all.push(Damage::Misplaced { page, from: 1 + pick(pages - 1) });
        // The head of a page says what stands in it.
        all.push(Damage::Flipped {
            byte: page * usize::from(page_bytes) + pick(12),
            bit: u8::try_from(pick(8))?,
        });
    }
    while all.len() < count {
        let bit = u8::try_from(pick(8))?;
        if proven > 0 && all.len() % 3 == 0 {
            all.push(Damage::WalFlipped { byte: pick(proven), bit });
        } else {
            all.push(Damage::Flipped { byte: pick(database.len()), bit });
        }
    }
    let (kinds, rest) = all.split_at(5);
    Ok([kinds, &spread(rest, count.saturating_sub(kinds.len()))].concat())
}

fn apply(damage: Damage, directory: &Path) -> anyhow::Result<()> {
    let (database, wal) = (directory.join(DATABASE), directory.join(WAL));
    let change = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| -> anyhow::Result<()> {
        let mut bytes = fs::read(path)?;
        change(&mut bytes);
        Ok(fs::write(path, bytes)?)
    };
    const PAGE: usize = 4_096;
    match damage {
        Damage::Truncated { pages } => {
            fs::File::options().write(true).open(&database)?.set_len(pages * PAGE as u64)?;
        }
        Damage::Flipped { byte, bit } => change(&database, &|bytes| bytes[byte] ^= 1 << bit)?,
        Damage::WalFlipped { byte, bit } => change(&wal, &|bytes| bytes[byte] ^= 1 << bit)?,
        Damage::Emptied { page } => {
            change(&database, &|bytes| bytes[page * PAGE..(page + 1) * PAGE].fill(0))?
        }
        Damage::Misplaced { page, from } => {
            change(&database, &|bytes| bytes.copy_within(from * PAGE..(from + 1) * PAGE, page * PAGE))?;
        }
        Damage::WalRemoved => fs::remove_file(&wal)?,
        Damage::DatabaseRemoved => fs::remove_file(&database)?,
        Damage::DatabaseEmpty => fs::write(&database, b"")?,
        Damage::NotADatabase => {
            fs::write(&database, b"once upon a time there was a text that was not a database")?
        }
        Damage::AnothersDatabase => {
            fs::remove_file(&database)?;
            rusqlite::Connection::open(&database)?.execute_batch("CREATE TABLE theirs (it TEXT)")?;
        }
    }
    Ok(())
}

/// Damages copies of a store and reads them.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(
    tally: &Tally,
    directory: &Path,
    sessions: &[SessionId],
    count: usize,
    seed: u64,
) -> anyhow::Result<Found> {
    let sound = Sound::of(directory, sessions).context("read the sound store")?;
    let found = Mutex::new(Found::default());
    let damages = damages(&sound, count, seed)?;
    in_parallel(vec![disk::scratch()?, disk::scratch()?, disk::scratch()?], damages, |place, damage| {
        let image = place.path().join("image");
        fs::create_dir(&image)?;
        copy_store(sound.directory, &image)?;
        apply(damage, &image)?;
        let given = images::read(&image, &sound.sessions)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let before = found.silent.len() + found.wrong.len() + found.panics.len();
        judge(&mut found, &sound, damage, given);
        let broken = found.silent.len() + found.wrong.len() + found.panics.len() - before;
        drop(found);
        tally.add(&format!("{damage:?}"), 0, &vec!["not noticed".to_owned(); broken]);
        Ok(fs::remove_dir_all(&image)?)
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn judge(found: &mut Found, sound: &Sound<'_>, damage: Damage, given: Given) {
    let logs = match given {
        Given::Refused(_) => return found.refused += 1,
        Given::Panicked => return found.panics.push(format!("{damage:?}")),
        Given::Logs(logs) => logs,
    };
    let mut told = false;
    for (session, log) in &logs {
        let Some(sound) = sound.logs.get(session) else { continue };
        let place = || format!("{damage:?} {session} has {} of {}", log.hashes.len(), sound.hashes.len());
        if !sound.hashes.starts_with(&log.hashes) || log.wrong_state {
            found.wrong.push(place());
        } else if matches!(log.end, End::Told(_)) {
            told = true;
        } else if log.hashes.len() < sound.hashes.len() || log.end == End::Unknown {
            found.silent.push(place());
        }
    }
    if told {
        found.told += 1;
    } else {
        found.equal += 1;
    }
}

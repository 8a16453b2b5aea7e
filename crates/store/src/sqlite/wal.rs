//! The write-ahead log of SQLite, looked at before SQLite does: it drops everything from the first bad frame on,
//! without a word. A torn end is only what nobody was told is durable; anything else is damage.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::Fault;

const HEADER_BYTES: usize = 32;
const DATABASE_HEADER_BYTES: usize = 100;
/// Where SQLite takes its locks in a database.
const LOCK_BYTE: u64 = 0x4000_0000;
const DATABASE_MAGIC: &[u8] = b"SQLite format 3\0";
const FRAME_HEADER_BYTES: usize = 24;
/// The magic number, but for its last bit, which says in which order the checksums read bytes.
const MAGIC: u32 = 0x377f_0682;

/// The write-ahead log of a database.
pub(crate) fn path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// How far a write-ahead log was committed: the number of frames since SQLite last restarted the log, and the salts of its
/// header. Each restart increments the first salt; a new log starts with random salts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Committed {
    salts: [u8; 8],
    frames: u64,
}

impl Committed {
    pub(crate) const BYTES: usize = 24;

    /// Returns how far the log is committed, as `connection` sees it after its commit. Returns `None` if the log is empty or
    /// missing, or if another process restarts it meanwhile.
    pub(crate) fn of(connection: &Connection, path: &Path) -> Result<Option<Self>, Fault> {
        let before = salts(path)?;
        let mut noop = connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
        let frames: i64 = noop.query_row([], |row| row.get(1))?;
        let Some(salts) = before.filter(|_| frames > 0) else { return Ok(None) };
        Ok((self::salts(path)? == Some(salts)).then_some(Self { salts, frames: frames.unsigned_abs() }))
    }

    /// Reads a log that no process writes to. Returns `None` if it has no valid header.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Fault> {
        let bytes = std::fs::read(path)?;
        let Some(header) = Header::read(&bytes) else { return Ok(None) };
        let frames = (end(&bytes) - HEADER_BYTES) / header.frame_bytes();
        Ok(Some(Self { salts: header.salts, frames: frames as u64 }))
    }

    /// Returns whether this log lacks commits that `recorded` says it had.
    pub(crate) fn lacks(self, recorded: Self) -> bool {
        let restarts = |committed: Self| number(&committed.salts[..4]);
        if self.salts == recorded.salts {
            return self.frames < recorded.frames;
        }
        // SQLite restarts the log only after the database has all of it, so a later log lacks nothing.
        restarts(self).wrapping_sub(restarts(recorded)) > u32::MAX / 2
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.salts);
        bytes[8..16].copy_from_slice(&self.frames.to_be_bytes());
        bytes[16..].copy_from_slice(&self.check().to_be_bytes());
        bytes
    }

    /// Returns `None` if the bytes were never written, or only in part.
    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (salts, rest) = bytes.split_first_chunk()?;
        let (frames, check) = rest.split_first_chunk()?;
        let read = Self { salts: *salts, frames: u64::from_be_bytes(*frames) };
        (check == read.check().to_be_bytes()).then_some(read)
    }

    fn check(self) -> u64 {
        u64::from_be_bytes(self.salts).rotate_left(17) ^ !self.frames
    }
}

/// Returns whether a database lacks pages that its write-ahead log does not have either. SQLite takes the size from the
/// log, and reads pages behind the end of the file as damage, or not at all.
pub(crate) fn is_cut(database: &Path, log: &Path) -> Result<bool, Fault> {
    let mut header = [0; DATABASE_HEADER_BYTES];
    let file = File::open(database)?;
    if let Err(error) = file.read_exact_at(&mut header, 0) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(true) } else { Err(error.into()) };
    }
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    if !header.starts_with(DATABASE_MAGIC) || page_bytes == 0 {
        // Opening the file reports that it is not a database.
        return Ok(false);
    }
    let whole = u32::try_from(file.metadata()?.len() / page_bytes).unwrap_or(u32::MAX);
    let log = match std::fs::read(log) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut pages = number(&header[28..32]);
    // SQLite never writes the page that holds its locks.
    let mut logged = BTreeSet::from([u32::try_from(LOCK_BYTE / page_bytes + 1).unwrap_or(u32::MAX)]);
    if let Some(wal) = Header::read(&log) {
        for frame in log[HEADER_BYTES..end(&log)].chunks_exact(wal.frame_bytes()) {
            logged.insert(number(&frame[..4]));
            if number(&frame[4..8]) != 0 {
                pages = number(&frame[4..8]);
            }
        }
    }
    Ok((whole.saturating_add(1)..=pages).any(|page| !logged.contains(&page)))
}

/// The salts of a log; `None` if it has no header.
fn salts(path: &Path) -> Result<Option<[u8; 8]>, Fault> {
    let mut bytes = [0; HEADER_BYTES];
    match File::open(path).and_then(|file| file.read_exact_at(&mut bytes, 0)) {
        Ok(()) => Ok(Header::read(&bytes).map(|header| header.salts)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses a log in which something that was synced is damaged.
pub(crate) fn check(path: &Path) -> Result<(), Fault> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match damage(&bytes) {
        None => Ok(()),
        Some(at) => Err(Fault::Refused(format!(
            "the write-ahead log {} is damaged at byte {at}, before acknowledged writes; restore the log, or run \
             `everturn repair` to continue without the writes after the damage",
            path.display()
        ))),
    }
}

/// The end of the last whole transaction; what stands behind it was never acknowledged.
fn end(bytes: &[u8]) -> usize {
    let Some(header) = Header::read(bytes) else { return bytes.len() };
    let frame_bytes = header.frame_bytes();
    let (mut sum, mut end) = (header.sum, HEADER_BYTES);
    for (at, frame) in bytes[HEADER_BYTES..].chunks_exact(frame_bytes).enumerate() {
        sum = header.add(sum, &frame[..8]);
        sum = header.add(sum, &frame[FRAME_HEADER_BYTES..]);
        if frame[8..16] != header.salts || sum != (number(&frame[16..20]), number(&frame[20..24])) {
            break;
        }
        if number(&frame[4..8]) != 0 {
            end = HEADER_BYTES + (at + 1) * frame_bytes;
        }
    }
    end
}

/// Where a log is damaged in the middle, if it is.
fn damage(bytes: &[u8]) -> Option<usize> {
    let Some(header) = Header::read(bytes) else {
        // The header is synced before the first frame is written.
        return (bytes.len() > HEADER_BYTES).then_some(0);
    };
    let frame_bytes = header.frame_bytes();
    let mut sum = header.sum;
    let mut bad = None;
    let mut commit_behind = false;
    let mut frames = bytes[HEADER_BYTES..].chunks_exact(frame_bytes).enumerate();
    frames.find_map(|(at, frame)| {
        if frame[8..16] != header.salts {
            // A frame of an earlier round of the log; one that was damaged here shows by those behind it.
            bad = bad.or(Some(at));
            return None;
        }
        if bad.is_none() {
            sum = header.add(sum, &frame[..8]);
            sum = header.add(sum, &frame[FRAME_HEADER_BYTES..]);
            if sum != (number(&frame[16..20]), number(&frame[20..24])) {
                bad = Some(at);
            }
        }
        // Each commit is synced before the next transaction begins, so a frame behind a commit proves the commit.
        let proven = bad.filter(|_| commit_behind);
        commit_behind |= bad.is_some() && number(&frame[4..8]) != 0;
        proven.map(|at| HEADER_BYTES + at * frame_bytes)
    })
}

struct Header {
    page_bytes: u32,
    salts: [u8; 8],
    big_endian: bool,
    sum: (u32, u32),
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let magic = number(&bytes[..4]);
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[16..24]);
        let mut header =
            Self { page_bytes: number(&bytes[8..12]), salts, big_endian: magic & 1 == 1, sum: (0, 0) };
        header.sum = header.add((0, 0), &bytes[..24]);
        let sound = magic & !1 == MAGIC
            && header.page_bytes.is_power_of_two()
            && (512..=65_536).contains(&header.page_bytes)
            && header.sum == (number(&bytes[24..28]), number(&bytes[28..32]));
        sound.then_some(header)
    }

    fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + usize::try_from(self.page_bytes).unwrap_or(0)
    }

    fn add(&self, (mut first, mut second): (u32, u32), bytes: &[u8]) -> (u32, u32) {
        for pair in bytes.chunks_exact(8) {
            let (one, two) = (self.word(&pair[..4]), self.word(&pair[4..]));
            first = first.wrapping_add(one).wrapping_add(second);
            second = second.wrapping_add(two).wrapping_add(first);
        }
        (first, second)
    }

    fn word(&self, bytes: &[u8]) -> u32 {
        let word = number(bytes);
        if self.big_endian { word } else { word.swap_bytes() }
    }
}

fn number(bytes: &[u8]) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(bytes);
    u32::from_be_bytes(number)
}

/// Writes the log once more, in place, and syncs it. After a failed sync the system may show bytes that the disk
/// does not have and will not be given again; what is read after this, the disk has. Frames behind the last whole
/// transaction are cut off: a reader may keep the log from being emptied, and behind later commits they would look like
/// damage.
pub(super) fn write_again(path: &Path) -> Result<(), Fault> {
    let file = match File::options().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let bytes = std::fs::read(path)?;
    let whole = &bytes[..end(&bytes)];
    fault::hit("wal.before_rewrite")?;
    file.write_all_at(whole, 0)?;
    file.set_len(whole.len() as u64)?;
    fault::hit("wal.before_sync")?;
    file.sync_all()?;
    fault::hit("wal.after_sync")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Vec<u8>, usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE words (word TEXT)").unwrap();
        for word in 0..20 {
            connection.execute("INSERT INTO words VALUES (?)", [word.to_string().repeat(500)]).unwrap();
        }
        let bytes = std::fs::read(directory.path().join("some.db-wal")).unwrap();
        let frame_bytes = FRAME_HEADER_BYTES + 4_096;
        assert_eq!((bytes.len() - HEADER_BYTES) % frame_bytes, 0);
        (bytes, frame_bytes)
    }

    #[test]
    fn a_sound_log_and_every_torn_one_pass() {
        let (bytes, _) = written();
        for end in (0..bytes.len()).step_by(97) {
            assert_eq!(damage(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(damage(&bytes), None);
    }

    #[test]
    fn frames_behind_the_last_transaction_are_cut_off() {
        let (bytes, frame_bytes) = written();
        assert_eq!(end(&bytes), bytes.len());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db-wal");
        // Two commits that failed stand behind one that did not.
        let failed = &bytes[bytes.len() - 3 * frame_bytes..];
        let stale = [&bytes[..], failed, failed].concat();
        assert!(damage(&stale).is_some());
        for torn in [stale.len(), bytes.len() + 1, bytes.len() + frame_bytes] {
            std::fs::write(&path, &stale[..torn]).unwrap();
            write_again(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_bit_that_flips_before_the_last_transactions_is_noticed() {
        let (bytes, frame_bytes) = written();
        let frames = bytes[HEADER_BYTES..].chunks_exact(frame_bytes);
        let commits: Vec<usize> = frames
            .enumerate()
            .filter(|(_, frame)| number(&frame[4..8]) != 0)
            .map(|(at, _)| HEADER_BYTES + at * frame_bytes)
            .collect();
        let safe = commits[commits.len() - 2];
        for byte in (0..safe).step_by(131) {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 4;
            assert!(damage(&flipped).is_some(), "byte {byte} of {safe}");
        }
    }
}

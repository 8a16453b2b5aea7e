//! Whose directory it is, and whether there is room.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Fault;

/// Takes the directory for this process; it is free again when the file is closed or the process ends.
pub(super) fn lock(directory: &Path) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    fault::hit("store.lock")?;
    let file =
        File::options().create(true).truncate(false).read(true).write(true).open(directory.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// What the lock says of the store beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// There was none yet.
    Nothing,
    /// In use, also by a process that died: what was written last stands in the write-ahead log alone.
    InUse,
    /// Closed: the database has everything.
    Closed,
}

/// How the last process that had the store left it.
pub(super) fn left(lock: &File) -> io::Result<Left> {
    let mut byte = [0];
    let count = lock.read_at(&mut byte, 0)?;
    Ok(match (count, byte[0]) {
        (1, b'u') => Left::InUse,
        (1, b'c') => Left::Closed,
        _ => Left::Nothing,
    })
}

/// Notes how the store is left from now on, durably: one byte, so it is there whole or not at all.
pub(super) fn note(lock: &File, left: Left) -> io::Result<()> {
    let byte: &[u8] = match left {
        Left::Nothing => return lock.set_len(0),
        Left::InUse => b"u",
        Left::Closed => b"c",
    };
    lock.write_all_at(byte, 0)?;
    lock.sync_all()
}

/// Refuses to begin anew where a store was, and to go on without its write-ahead log.
pub(super) fn check_files(lock: &File, database: &Path, wal: &Path) -> Result<(), Fault> {
    let size_bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let left = left(lock)?;
    if left != Left::Nothing && size_bytes(database) == 0 {
        return Err(Fault::Refused(format!(
            "there was a store here, and {} is missing or empty; restore it, or remove the file `lock` to begin anew",
            database.display()
        )));
    }
    if left == Left::InUse && !wal.exists() {
        return Err(Fault::Refused(format!(
            "the server did not close the store, and {} is missing, with the latest writes in it; restore it, or \
             remove the file `lock` to go on without it",
            wal.display()
        )));
    }
    Ok(())
}

/// Makes the names in a directory durable.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The current moment on the clock that never goes back. Used for budgets and lag, never for what is stored.
#[expect(
    clippy::disallowed_methods,
    reason = "budgets of the writing thread; no stored time comes from here"
)]
pub(super) fn moment() -> Instant {
    Instant::now()
}

/// Whether the disk is at its reserve, looked up at most ten times a second.
#[derive(Debug)]
pub(super) struct Reserve {
    bytes: u64,
    looked_at: Option<Instant>,
    reached: bool,
}

impl Reserve {
    pub(super) fn new(bytes: u64) -> Self {
        Self { bytes, looked_at: None, reached: false }
    }

    pub(super) fn is_reached(&mut self, directory: &Path) -> bool {
        let now = moment();
        let fresh = self.looked_at.is_some_and(|at| now.duration_since(at) < Duration::from_millis(100));
        if !fresh {
            self.looked_at = Some(now);
            // A disk that does not answer is left to the write itself.
            self.reached = nix::sys::statvfs::statvfs(directory)
                .is_ok_and(|disk| disk.blocks_available() * disk.fragment_size() < self.bytes);
        }
        self.reached
    }
}

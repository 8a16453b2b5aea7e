//! Whose directory it is, and whether there is room.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Takes the directory for this process; it is free again when the file is closed or the process ends.
pub(super) fn lock(directory: &Path) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    fault::hit("store.lock")?;
    let file = File::options().create(true).truncate(false).write(true).open(directory.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The current moment on the clock that never goes back. Used for budgets and lag, never for what is stored.
#[expect(clippy::disallowed_methods, reason = "budgets of the writing thread; no stored time comes from here")]
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

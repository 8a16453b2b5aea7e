//! Free space on the disk, and the clock of the writing thread.

use std::path::Path;
use std::time::{Duration, Instant};

/// The current moment on the clock that never goes back. Used for budgets and lag, never for what is stored.
#[expect(
    clippy::disallowed_methods,
    reason = "budgets of the writing thread; no stored time comes from here"
)]
pub(crate) fn moment() -> Instant {
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

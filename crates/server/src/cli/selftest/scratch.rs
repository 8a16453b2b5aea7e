//! The scratch directory of a test, on the disk to be tested.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;

use crate::cli::terminal::remark;
use crate::file::make_private;

/// Number of writes to measure.
const SYNCS: usize = 40;
/// Size of each write.
const SYNC_BYTES: usize = 4096;

/// The directory. Removed on drop, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    keep: bool,
}

/// Latency of a small synced write.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncTime {
    pub(super) median: Duration,
    pub(super) slowest: Duration,
}

impl Scratch {
    /// Creates the directory in `named`, or on the disk of the data directory.
    ///
    /// # Errors
    /// Returns an error if it can't be created.
    pub(super) fn make(named: Option<&Path>, data: &Path) -> anyhow::Result<Self> {
        let place = named.map_or_else(|| place_for(data), Path::to_owned);
        // The server gets this path and may run in another directory.
        let place = std::path::absolute(place)?;
        let path = place.join(format!("everturn-selftest-{}", std::process::id()));
        if path.exists() {
            anyhow::bail!("{} already exists; delete it", path.display());
        }
        make_private(&path).with_context(|| format!("failed to create {}", path.display()))?;
        Ok(Self { path, keep: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Measures the latency of a small synced write.
    ///
    /// # Errors
    /// Returns an error if a write fails.
    pub(super) fn sync_time(&self) -> std::io::Result<SyncTime> {
        let path = self.path.join("sync");
        let mut file = fs::File::create(&path)?;
        let mut times = Vec::with_capacity(SYNCS);
        for _ in 0..SYNCS {
            let begun = Instant::now();
            file.write_all(&[1; SYNC_BYTES])?;
            file.sync_data()?;
            times.push(begun.elapsed());
        }
        fs::remove_file(path)?;
        times.sort_unstable();
        let at = |at: usize| times.get(at).copied().unwrap_or_default();
        Ok(SyncTime { median: at(SYNCS / 2), slowest: at(SYNCS - 1) })
    }

    /// Removes the directory, or returns its path if it is to be kept.
    pub(super) fn leave(mut self, keep: bool) -> Option<PathBuf> {
        self.keep = keep;
        keep.then(|| self.path.clone())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            remark(&format!("selftest: failed to remove {}: {error}", self.path.display()));
        }
    }
}

/// Returns the parent of the data directory, or the data directory itself if that is a mount point.
fn place_for(data: &Path) -> PathBuf {
    let beside = data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let disk = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    match (disk(data), disk(beside)) {
        (Some(own), other) if other != Some(own) => data.to_owned(),
        _ => beside.to_owned(),
    }
}

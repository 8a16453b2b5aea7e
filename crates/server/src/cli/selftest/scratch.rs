//! Where the test happens: a directory of its own on the disk that is to be trusted.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;

use crate::cli::terminal::remark;
use crate::file::make_private;

/// Writes that are measured.
const SYNCS: usize = 40;
/// Bytes of each.
const SYNC_BYTES: usize = 4096;

/// The directory. It is removed unless it is left on purpose.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    keep: bool,
}

/// How long it takes until a small write is on the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncTime {
    pub(super) median: Duration,
    pub(super) slowest: Duration,
}

impl Scratch {
    /// Makes it in a directory that was named, or on the disk of the data directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn make(named: Option<&Path>, data: &Path) -> anyhow::Result<Self> {
        let place = named.map_or_else(|| place_for(data), Path::to_owned);
        // The server is started with this path, wherever that happens.
        let place = std::path::absolute(place)?;
        let path = place.join(format!("everturn-selftest-{}", std::process::id()));
        if path.exists() {
            anyhow::bail!("{} is there already; remove it", path.display());
        }
        make_private(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(Self { path, keep: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Measures how long a small write takes until it is on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
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

    /// Removes it, or answers where it was kept.
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
            remark(&format!("selftest: {} could not be removed: {error}", self.path.display()));
        }
    }
}

/// Beside the data directory; in it when it is a disk of its own, so that this is the disk that is tested.
fn place_for(data: &Path) -> PathBuf {
    let beside = data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let disk = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    match (disk(data), disk(beside)) {
        (Some(own), other) if other != Some(own) => data.to_owned(),
        _ => beside.to_owned(),
    }
}

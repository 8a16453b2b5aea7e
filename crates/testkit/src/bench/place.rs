//! Where a bench runs: a directory on a real disk, a runtime, the machine's load and this process's memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use store::sqlite::{Settings, SqliteStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A directory of its own on the disk that temporary files go to. One in memory would measure no sync.
pub(crate) fn directory() -> Result<TempDir> {
    let directory = tempfile::Builder::new().prefix("bench-store-").tempdir()?;
    if statfs(directory.path())?.filesystem_type() == TMPFS_MAGIC {
        bail!("{} is in memory; set TMPDIR to a directory on a disk", directory.path().display());
    }
    Ok(directory)
}

/// As many async threads as a server has on two cores.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?)
}

pub(crate) fn open_store(directory: &Path) -> Result<Arc<SqliteStore>> {
    Ok(Arc::new(SqliteStore::open(Settings::new(directory))?))
}

pub(crate) fn spool(directory: &Path) -> PathBuf {
    directory.join("spool")
}

pub(crate) fn load_average() -> Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
}

/// Bytes of memory that this process has resident.
pub(crate) fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS")?.parse()?;
    Ok(kib * 1024.0)
}

/// Copies a directory and what is in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Bytes of the files in a directory, those below `without` left out.
pub(crate) fn size_bytes(directory: &Path, without: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if path == without {
            continue;
        }
        sum +=
            if entry.file_type()?.is_dir() { size_bytes(&path, without)? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}

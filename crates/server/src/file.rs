//! Files and directories with access for their owner only.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Atomically writes a file that only its owner can read.
///
/// # Errors
/// Returns an error if it can't be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("new");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        make_private(folder)?;
    }
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Returns the relative path and the size of every file below a folder. Skips files that can't be read.
pub(crate) fn sizes(folder: &Path) -> Vec<(PathBuf, u64)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => folders.push(entry.path()),
                Ok(data) => {
                    let path = entry.path();
                    found.push((path.strip_prefix(folder).unwrap_or(&path).to_owned(), data.len()));
                }
                Err(_) => {}
            }
        }
    }
    found
}

/// Creates a directory that only its owner can enter. Does not change an existing one.
///
/// # Errors
/// Returns an error if it can't be created.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

//! Files and directories that only their owner may read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Writes a file that only its owner may read, whole or not at all.
///
/// # Errors
/// When it could not be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("new");
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

/// Makes a directory that only its owner may enter. One that is there stays as it is.
///
/// # Errors
/// When it could not be made.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

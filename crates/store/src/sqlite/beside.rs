//! What can be asked of a store, and done to it, without opening it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::params;

use super::{
    Fault, LOGS_FILE, OpenStoreError, checkpoint, connect_to_read, connect_to_write, disk, load, migrate, wal,
};

/// Refuses a directory whose store is of a newer version or not ours, and makes nothing there.
///
/// # Errors
/// When [`super::SqliteStore::open`] would refuse it for that.
pub fn check(directory: &Path) -> Result<(), OpenStoreError> {
    let database = directory.join(LOGS_FILE);
    // An empty file is one that was not made yet.
    if fs::metadata(&database).map_or(0, |file| file.len()) == 0 {
        return Ok(());
    }
    let check = || -> Result<(), Fault> {
        let connection = connect_to_read(&database)?;
        // The write-ahead log of a store that was not closed must be there when it is opened.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        migrate::check(&connection)?;
        Ok(())
    };
    Ok(check()?)
}

/// Takes the lock of a directory; told by its name when another process has it.
pub(super) fn lock(directory: &Path) -> Result<File, OpenStoreError> {
    disk::lock(directory).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenStoreError::InUse(directory.to_owned()),
        _ => Fault::from(error).into(),
    })
}

/// Holds a directory that nobody uses, whose files are whole. `None` when somebody uses it, and so has looked himself.
pub(crate) fn hold(directory: &Path) -> Result<Option<File>, OpenStoreError> {
    let lock = match lock(directory) {
        Err(OpenStoreError::InUse(_)) => return Ok(None),
        lock => lock?,
    };
    let wal = wal::path(directory);
    disk::check_files(&lock, &directory.join(LOGS_FILE), &wal)?;
    wal::check(&wal)?;
    Ok(Some(lock))
}

/// Looks at a store without opening it. `None` when somebody uses it.
///
/// # Errors
/// When it is not whole, or of a newer version.
pub fn look(directory: &Path) -> Result<Option<String>, OpenStoreError> {
    let Some(_lock) = hold(directory)? else { return Ok(None) };
    let path = directory.join(LOGS_FILE);
    if !path.exists() {
        return Ok(Some("none yet".to_owned()));
    }
    let look = || -> Result<String, Fault> {
        let connection = connect_to_read(&path)?;
        let version = migrate::check(&connection)?;
        load::shape(&connection)?;
        let sessions: u64 =
            connection.query_row("SELECT count(*) FROM logs WHERE trunk = 0", [], |row| row.get(0))?;
        Ok(format!("schema {version}, {sessions} sessions"))
    };
    Ok(Some(look()?))
}

/// Holds a directory for a store that is not there yet. Until it is, no server begins anew there.
pub(crate) fn announce(directory: &Path) -> io::Result<File> {
    let lock = disk::lock(directory)?;
    disk::note(&lock, disk::Left::Closed)?;
    disk::sync(directory)?;
    Ok(lock)
}

/// The store that was announced will not come.
pub(crate) fn forget(directory: &Path) -> io::Result<()> {
    fs::remove_file(directory.join("lock"))
}

/// Raises all epochs beyond any that the original of a copy may have given out since: by `lift` and one, above so many
/// bits. The words for search are made anew when the store is opened.
pub(crate) fn raise_epochs(database: &Path, bits: u32, lift: u16) -> Result<(), OpenStoreError> {
    let raise = || -> Result<(), Fault> {
        let connection = connect_to_write(database)?;
        let by = i64::from(lift) + 1;
        connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM nodes; DELETE FROM search")?;
        connection.execute("UPDATE logs SET epoch = ((epoch >> ?1) + ?2) << ?1", params![bits, by])?;
        connection.execute_batch("COMMIT")?;
        checkpoint::empty(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(())
    };
    Ok(raise()?)
}

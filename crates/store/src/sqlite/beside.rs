//! What can be asked of a store, and done to it, without opening it.

use std::path::Path;

use rusqlite::params;

use crate::directory::DataDirectory;

use super::{
    Fault, LOGS_FILE, OpenStoreError, checkpoint, connect_to_read, connect_to_write, damage, load, migrate,
};

/// Describes a store without opening it. `None` if another process uses it.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn look(directory: &DataDirectory) -> Result<Option<String>, OpenStoreError> {
    if directory.is_shared() {
        return Ok(None);
    }
    let path = directory.path().join(LOGS_FILE);
    if !path.exists() {
        return Ok(Some("not created yet".to_owned()));
    }
    let look = || -> Result<String, Fault> {
        let connection = connect_to_read(&path)?;
        let version = migrate::check(&connection)?;
        load::shape(&connection)?;
        if let Some(damage) = damage::find(&connection)? {
            return Err(Fault::Damaged(damage));
        }
        let sessions: u64 =
            connection.query_row("SELECT count(*) FROM logs WHERE trunk = 0", [], |row| row.get(0))?;
        Ok(format!("schema {version}, {sessions} sessions"))
    };
    Ok(Some(look()?))
}

/// Raises all epochs beyond any that the original of a copy may have given out since: by `lift` and one, above so many
/// bits. The search index is rebuilt when the store is opened.
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

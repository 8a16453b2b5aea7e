//! What owners set while the server runs. What each value means is not known here.

use rusqlite::params;

use super::{By, People, PeopleError};

impl People {
    /// Everything that is set, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn settings(&self) -> Result<Vec<(String, String)>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT name, value FROM settings ORDER BY name")?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Sets values in place of those that were set by these names, all or none. The audit trail tells the names.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn set(&self, by: By, values: &[(&str, String)]) -> Result<(), PeopleError> {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        self.change(by, "settings_changed", &names.join(", "), |transaction| {
            for (name, value) in values {
                let sql = "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)";
                transaction.execute(sql, params![name, value])?;
            }
            Ok(())
        })
    }
}

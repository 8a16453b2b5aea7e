//! Secrets that the server uses, such as keys of providers. What is kept is sealed; whoever has this file alone has none.

use rusqlite::{OptionalExtension, params};
use session::Time;

use super::{By, People, PeopleError};

/// A secret, without what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLine {
    pub name: String,
    pub changed_at: Time,
}

impl People {
    /// The names of all secrets.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn secrets(&self) -> Result<Vec<SecretLine>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT name, changed_at FROM secrets ORDER BY name")?;
        let rows = select
            .query_map([], |row| Ok(SecretLine { name: row.get(0)?, changed_at: Time(row.get(1)?) }))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A secret, sealed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn sealed(&self, name: &str) -> Result<Option<Vec<u8>>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT sealed FROM secrets WHERE name = ?")?;
        Ok(select.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Keeps a secret, sealed, in place of what was kept by that name.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn keep_sealed(&self, by: By, name: &str, sealed: &[u8]) -> Result<(), PeopleError> {
        self.change(by, "secret_set", name, |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO secrets (name, sealed, changed_at) VALUES (?, ?, ?)",
                params![name, sealed, by.now.0],
            )?;
            Ok(())
        })
    }

    /// Removes a secret. Answers no when there is none.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn remove_secret(&self, by: By, name: &str) -> Result<bool, PeopleError> {
        self.change(by, "secret_removed", name, |transaction| {
            Ok(transaction.execute("DELETE FROM secrets WHERE name = ?", [name])? == 1)
        })
    }
}

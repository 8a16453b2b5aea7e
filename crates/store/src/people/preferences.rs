//! How users like the pages: the same on every device.

use rusqlite::{OptionalExtension, params};
use session::UserId;

use super::{Busy, People, PeopleError, blob};

/// How a user likes the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferences {
    /// What a message does that is sent while a run is going on.
    pub busy: Busy,
    /// None: the one of the browser.
    pub language: Option<String>,
    /// Whether to be told of answers while looking elsewhere.
    pub notify: bool,
    /// Whether the first steps were shown.
    pub first_run_done: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self { busy: Busy::Queue, language: None, notify: false, first_run_done: false }
    }
}

impl People {
    /// What a user prefers; the usual when he has said nothing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn preferences(&self, user: UserId) -> Result<Preferences, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT busy, language, notify, first_run_done FROM preferences WHERE user = ?",
        )?;
        let kept = select.query_row([blob(user)], |row| {
            Ok(Preferences {
                busy: row.get(0)?,
                language: row.get(1)?,
                notify: row.get(2)?,
                first_run_done: row.get(3)?,
            })
        });
        Ok(kept.optional()?.unwrap_or_default())
    }

    /// Keeps what a user prefers, in place of what he preferred before.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn put_preferences(&self, user: UserId, preferences: &Preferences) -> Result<(), PeopleError> {
        let Preferences { busy, language, notify, first_run_done } = preferences;
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO preferences (user, busy, language, notify, first_run_done) VALUES (?, ?, ?, ?, ?)",
                params![blob(user), busy, language, notify, first_run_done],
            )?;
            Ok(())
        })
    }
}

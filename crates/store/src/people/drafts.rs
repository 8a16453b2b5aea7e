//! What users are writing and have not sent.

use rusqlite::{OptionalExtension, params};
use session::{SessionId, UserId};

use super::{By, People, PeopleError, blob};

impl People {
    /// What a user is writing in a session.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn draft(&self, user: UserId, session: SessionId) -> Result<Option<String>, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached("SELECT text FROM drafts WHERE user = ? AND session = ?")?;
        Ok(select.query_row(params![blob(user), session.0.as_bytes()], |row| row.get(0)).optional()?)
    }

    /// Keeps what a user is writing in a session, in place of what he wrote before; nothing when it is empty.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn put_draft(&self, user: UserId, session: SessionId, text: &str) -> Result<(), PeopleError> {
        self.write(|connection| {
            if text.is_empty() {
                let sql = "DELETE FROM drafts WHERE user = ? AND session = ?";
                connection.prepare_cached(sql)?.execute(params![blob(user), session.0.as_bytes()])?;
            } else {
                let sql = "INSERT INTO drafts (user, session, text) VALUES (?, ?, ?)
                           ON CONFLICT (user, session) DO UPDATE SET text = excluded.text";
                connection.prepare_cached(sql)?.execute(params![blob(user), session.0.as_bytes(), text])?;
            }
            Ok(())
        })
    }

    /// Notes that a session was erased, and lets go of what was being written in it.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note_erased(&self, by: By, session: SessionId, how: &str) -> Result<(), PeopleError> {
        self.change(by, "session_erased", &format!("{session}{how}"), |transaction| {
            transaction.execute("DELETE FROM drafts WHERE session = ?", [session.0.as_bytes()])?;
            Ok(())
        })?;
        self.scrub()
    }
}

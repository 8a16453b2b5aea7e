//! What users are writing and have not sent.

use rusqlite::{OptionalExtension, params};
use session::{SessionId, UserId};

use super::{By, People, PeopleError, blob};

/// The unsent text of a user in a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub text: String,
    /// How often it was replaced.
    pub revision: u64,
}

impl People {
    /// Returns the draft of a user in a session. Before the first one is saved, it is empty and has revision 0.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn draft(&self, user: UserId, session: SessionId) -> Result<Draft, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached("SELECT text, revision FROM drafts WHERE user = ? AND session = ?")?;
        let draft = |row: &rusqlite::Row<'_>| Ok(Draft { text: row.get(0)?, revision: row.get(1)? });
        let found = select.query_row(params![blob(user), session.0.as_bytes()], draft).optional()?;
        Ok(found.unwrap_or_default())
    }

    /// Replaces the draft of a user in a session and returns its new revision. If `base` is given and is not the
    /// revision at hand, nothing is replaced.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn put_draft(
        &self,
        user: UserId,
        session: SessionId,
        text: &str,
        base: Option<u64>,
    ) -> Result<Option<u64>, PeopleError> {
        // No draft has a revision that a database cannot hold.
        let Ok(base) = base.map(i64::try_from).transpose() else { return Ok(None) };
        // An empty draft keeps its row: its revision must not start again.
        let sql = "INSERT INTO drafts (user, session, text, revision)
                   SELECT ?1, ?2, ?3, 1
                   WHERE coalesce(?4, 0) = 0 OR EXISTS (SELECT 1 FROM drafts WHERE user = ?1 AND session = ?2)
                   ON CONFLICT (user, session) DO UPDATE
                   SET text = excluded.text, revision = drafts.revision + 1
                   WHERE ?4 IS NULL OR drafts.revision = ?4
                   RETURNING revision";
        self.write(|connection| {
            let put = params![blob(user), session.0.as_bytes(), text, base];
            Ok(connection.prepare_cached(sql)?.query_row(put, |row| row.get(0)).optional()?)
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

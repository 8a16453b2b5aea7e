//! Links by which one session can be read, by the hashes of their secrets.

use rusqlite::{OptionalExtension, Row, params};
use session::{SessionId, Time, UserId};
use uuid::Uuid;

use super::{By, People, PeopleError, blob, uuid};

const SHARE: &str = "shares.id, shares.user, shares.session, shares.created_at";

/// A link by which one session can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub id: Uuid,
    pub user: UserId,
    pub session: SessionId,
    pub created_at: Time,
}

impl People {
    /// Keeps a share by the hash of its secret.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn add_share(
        &self,
        by: By,
        user: UserId,
        session: SessionId,
        hash: [u8; 32],
    ) -> Result<Uuid, PeopleError> {
        let id = by.id;
        self.change(by, "shared", &format!("{session} as {id}"), |transaction| {
            transaction.execute(
                "INSERT INTO shares (id, user, session, hash, created_at) VALUES (?, ?, ?, ?, ?)",
                params![id.as_bytes(), blob(user), session.0.as_bytes(), hash, by.now.0],
            )?;
            Ok(id)
        })
    }

    /// The share with this hash, unless it was withdrawn or its user shut out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn share(&self, hash: [u8; 32]) -> Result<Option<Share>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {SHARE} FROM shares JOIN users ON users.id = shares.user WHERE hash = ? AND disabled = 0"
        ))?;
        Ok(select.query_row([hash], share).optional()?)
    }

    /// A user's shares of a session, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn shares(&self, user: UserId, session: SessionId) -> Result<Vec<Share>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {SHARE} FROM shares WHERE user = ? AND session = ? ORDER BY created_at, id"
        ))?;
        let rows = select.query_map(params![blob(user), session.0.as_bytes()], share)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Withdraws a user's share. Answers no when there is none.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn withdraw(&self, by: By, user: UserId, id: Uuid) -> Result<bool, PeopleError> {
        self.change(by, "share_withdrawn", &id.to_string(), |transaction| {
            let sql = "DELETE FROM shares WHERE id = ? AND user = ?";
            Ok(transaction.execute(sql, params![id.as_bytes(), blob(user)])? == 1)
        })
    }
}

fn share(row: &Row<'_>) -> rusqlite::Result<Share> {
    Ok(Share {
        id: uuid(row, 0)?,
        user: UserId(uuid(row, 1)?),
        session: SessionId(uuid(row, 2)?),
        created_at: Time(row.get(3)?),
    })
}

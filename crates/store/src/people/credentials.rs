//! What opens the gate: tokens of programs and logins of browsers, by the hashes of their secrets.

use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
use session::{Time, UserId};
use std::collections::HashMap;
use uuid::Uuid;

use super::{By, Kind, People, PeopleError, Role, Scope, blob, uuid};

/// Least time between two notes of when a credential was used.
const USED_MICROS: i64 = 60 * 1_000_000;
/// The credential of a hash, and what its user is. Asked with every request: written out, so that nothing is put
/// together each time.
const VERIFY: &str =
    "SELECT credentials.id, credentials.user, kind, credentials.name, scope, credentials.created_at, used_at,
            expires_at, role
     FROM credentials JOIN users ON users.id = credentials.user
     WHERE hash = ? AND disabled = 0 AND (expires_at IS NULL OR expires_at > ?)";

/// A token or a login, without its secret, which nobody has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub id: Uuid,
    pub user: UserId,
    pub kind: Kind,
    pub name: String,
    pub scope: Scope,
    pub created_at: Time,
    pub used_at: Option<Time>,
    pub expires_at: Option<Time>,
}

impl Credential {
    /// Whether it is time to note that it was used.
    pub fn use_is_due(&self, now: Time) -> bool {
        self.used_at.is_none_or(|used| now.micros_since(used) >= USED_MICROS)
    }
}

/// What a new credential is to be.
#[derive(Debug, Clone)]
pub struct NewCredential {
    pub user: UserId,
    pub kind: Kind,
    pub name: String,
    pub scope: Scope,
    pub expires_at: Option<Time>,
}

impl People {
    /// Keeps a credential by the hash of its secret.
    ///
    /// # Errors
    /// When there is no such user or nothing could be kept.
    pub fn add_credential(&self, by: By, new: &NewCredential, hash: [u8; 32]) -> Result<Uuid, PeopleError> {
        let id = by.id;
        let action = match new.kind {
            Kind::Token => "token_made",
            Kind::Login => "logged_in",
        };
        self.change(by, action, &format!("{id}, {}", new.name), |transaction| {
            let added = transaction.execute(
                "INSERT INTO credentials (id, user, kind, name, scope, hash, created_at, expires_at)
                 SELECT ?, id, ?, ?, ?, ?, ?, ? FROM users WHERE id = ? AND disabled = 0",
                params![
                    id.as_bytes(),
                    new.kind,
                    new.name,
                    new.scope,
                    hash,
                    by.now.0,
                    new.expires_at.map(|time| time.0),
                    blob(new.user),
                ],
            )?;
            if added == 1 { Ok(id) } else { Err(PeopleError::UnknownUser) }
        })
    }

    /// The credential with this hash, if it opens the gate at this moment, with the most that it
    /// allows and what its user is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn verify(
        &self,
        hash: [u8; 32],
        now: Time,
    ) -> Result<Option<(Credential, Scope, Role)>, PeopleError> {
        let found = {
            let connection = self.reading();
            let mut select = connection.prepare_cached(VERIFY)?;
            select
                .query_row(params![hash, now.0], |row| Ok((credential(row)?, row.get::<_, Role>(8)?)))
                .optional()?
        };
        let Some((credential, role)) = found else { return Ok(None) };
        let scope = credential.scope.min(role.scope());
        Ok(Some((credential, scope, role)))
    }

    /// Notes when credentials were used.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note_uses(&self, uses: &HashMap<Uuid, Time>) -> Result<(), PeopleError> {
        if uses.is_empty() {
            return Ok(());
        }
        self.write(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (credential, at) in uses {
                transaction
                    .prepare_cached("UPDATE credentials SET used_at = ? WHERE id = ?")?
                    .execute(params![at.0, credential.as_bytes()])?;
            }
            Ok(transaction.commit()?)
        })
    }

    /// A user's credentials, oldest first; everyone's when no user is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn credentials(&self, of: Option<UserId>, kind: Kind) -> Result<Vec<Credential>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT id, user, kind, name, scope, created_at, used_at, expires_at FROM credentials
             WHERE kind = ?1 AND (?2 IS NULL OR user = ?2) ORDER BY created_at, id",
        )?;
        let rows = select.query_map(params![kind, of.map(blob)], credential)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Takes a credential away. Answers no when there is none of this user, or of anybody when no user is named.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn revoke(&self, by: By, of: Option<UserId>, kind: Kind, id: Uuid) -> Result<bool, PeopleError> {
        self.change(by, "revoked", &id.to_string(), |transaction| {
            let sql = "DELETE FROM credentials WHERE id = ?1 AND kind = ?2 AND (?3 IS NULL OR user = ?3)";
            Ok(transaction.execute(sql, params![id.as_bytes(), kind, of.map(blob)])? == 1)
        })
    }
}

fn credential(row: &Row<'_>) -> rusqlite::Result<Credential> {
    Ok(Credential {
        id: uuid(row, 0)?,
        user: UserId(uuid(row, 1)?),
        kind: row.get(2)?,
        name: row.get(3)?,
        scope: row.get(4)?,
        created_at: Time(row.get(5)?),
        used_at: row.get::<_, Option<i64>>(6)?.map(Time),
        expires_at: row.get::<_, Option<i64>>(7)?.map(Time),
    })
}

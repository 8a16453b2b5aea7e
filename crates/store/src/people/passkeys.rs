//! Keys that devices keep for users: what checks them, and when they were used.

use rusqlite::{OptionalExtension, Row, params};
use session::{Time, UserId};
use uuid::Uuid;

use super::users::{USER_OF_JOIN, user};
use super::{By, People, PeopleError, User, blob, uuid};

/// Passkeys of one user.
pub const PASSKEYS_MAX: usize = 50;

const PASSKEY: &str =
    "passkeys.id, passkeys.name, passkeys.credential, passkeys.passkey, passkeys.created_at,
    passkeys.used_at";

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: Uuid,
    /// What its user calls it.
    pub name: String,
    /// How the device calls it.
    pub credential: Vec<u8>,
    /// What checks it, as the library writes it.
    pub kept: String,
    pub created_at: Time,
    pub used_at: Option<Time>,
}

impl People {
    /// A user's passkeys, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn passkeys(&self, of: UserId) -> Result<Vec<Passkey>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {PASSKEY} FROM passkeys WHERE user = ? ORDER BY created_at, id"
        ))?;
        Ok(select.query_map([blob(of)], passkey)?.collect::<rusqlite::Result<_>>()?)
    }

    /// The passkey that a device calls so, and whose it is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn passkey(&self, credential: &[u8]) -> Result<Option<(Passkey, User)>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {USER_OF_JOIN}, {PASSKEY} FROM passkeys JOIN users ON users.id = passkeys.user
             WHERE credential = ?"
        ))?;
        let found = select.query_row([credential], |row| Ok((passkey_from(row, 6)?, user(row)?)));
        Ok(found.optional()?)
    }

    /// Keeps a passkey of a user, by what his device calls it.
    ///
    /// # Errors
    /// When it is kept already, the user has too many or is shut out, or nothing could be kept.
    pub fn add_passkey(
        &self,
        by: By,
        of: UserId,
        name: &str,
        credential: &[u8],
        kept: &str,
    ) -> Result<Uuid, PeopleError> {
        let id = by.id;
        self.change(by, "passkey_added", &format!("{id}, {name}"), |transaction| {
            let count: usize =
                transaction.query_row("SELECT count(*) FROM passkeys WHERE user = ?", [blob(of)], |row| {
                    row.get(0)
                })?;
            if count >= PASSKEYS_MAX {
                return Err(PeopleError::TooManyPasskeys);
            }
            let known = "SELECT 1 FROM passkeys WHERE credential = ?";
            if transaction.prepare_cached(known)?.exists([credential])? {
                return Err(PeopleError::PasskeyKnown);
            }
            let added = transaction.execute(
                "INSERT INTO passkeys (id, user, name, credential, passkey, created_at)
                 SELECT ?, id, ?, ?, ?, ? FROM users WHERE id = ? AND disabled = 0",
                params![id.as_bytes(), name, credential, kept, by.now.0, blob(of)],
            )?;
            if added == 1 { Ok(id) } else { Err(PeopleError::UnknownUser) }
        })
    }

    /// Notes that a passkey was used, with what checks it from now on.
    ///
    /// # Errors
    /// When it is not as it was when it was looked at (removed, used by another in the meantime, its user shut out), or
    /// nothing could be kept.
    pub fn use_passkey(&self, by: By, before: &Passkey, kept: &str) -> Result<(), PeopleError> {
        self.change(by, "passkey_used", &format!("{}, {}", before.id, before.name), |transaction| {
            let used = transaction.execute(
                "UPDATE passkeys SET passkey = ?, used_at = ? WHERE id = ? AND passkey = ?
                 AND user IN (SELECT id FROM users WHERE disabled = 0)",
                params![kept, by.now.0, before.id.as_bytes(), before.kept],
            )?;
            if used == 1 { Ok(()) } else { Err(PeopleError::UnknownPasskey) }
        })
    }

    /// Removes a user's passkey.
    ///
    /// # Errors
    /// When he has none such, or nothing could be kept.
    pub fn remove_passkey(&self, by: By, of: UserId, id: Uuid) -> Result<(), PeopleError> {
        self.change(by, "passkey_removed", &id.to_string(), |transaction| {
            let sql = "DELETE FROM passkeys WHERE id = ? AND user = ?";
            let removed = transaction.execute(sql, params![id.as_bytes(), blob(of)])?;
            if removed == 1 { Ok(()) } else { Err(PeopleError::UnknownPasskey) }
        })
    }
}

fn passkey(row: &Row<'_>) -> rusqlite::Result<Passkey> {
    passkey_from(row, 0)
}

/// A passkey whose columns begin at one of a row.
fn passkey_from(row: &Row<'_>, at: usize) -> rusqlite::Result<Passkey> {
    Ok(Passkey {
        id: uuid(row, at)?,
        name: row.get(at + 1)?,
        credential: row.get(at + 2)?,
        kept: row.get(at + 3)?,
        created_at: Time(row.get(at + 4)?),
        used_at: row.get::<_, Option<i64>>(at + 5)?.map(Time),
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use crate::directory::{DataDirectory, LogsAt};

    use super::*;
    use crate::people::Role;

    fn by(id: u128) -> By {
        By { user: None, now: Time(5), id: Uuid::from_u128(id) }
    }

    #[test]
    fn a_passkey_is_its_users_and_is_used_as_it_was_seen() {
        let directory = TempDir::new().unwrap();
        let people =
            People::open(&DataDirectory::enter(directory.path(), LogsAt::Elsewhere).unwrap(), Time(1))
                .unwrap();
        let bob = people.add_user(by(1), "bob", Role::Member, None).unwrap();
        let id = people.add_passkey(by(2), bob, "phone", b"one", "first").unwrap();
        let again = people.add_passkey(by(3), UserId::FIRST, "mine", b"one", "first");
        assert!(matches!(again, Err(PeopleError::PasskeyKnown)));
        assert_eq!(people.passkeys(UserId::FIRST).unwrap(), []);
        let (seen, user) = people.passkey(b"one").unwrap().unwrap();
        assert_eq!((seen.id, seen.used_at, user.id), (id, None, bob));
        people.use_passkey(by(4), &seen, "second").unwrap();
        // Whoever looked at the same time is late.
        let late = people.use_passkey(by(5), &seen, "third");
        assert!(matches!(late, Err(PeopleError::UnknownPasskey)));
        let (seen, _) = people.passkey(b"one").unwrap().unwrap();
        assert_eq!((seen.kept.as_str(), seen.used_at), ("second", Some(Time(5))));
        people.set_user(by(6), bob, Role::Member, true).unwrap();
        let shut_out = people.use_passkey(by(7), &seen, "third");
        assert!(matches!(shut_out, Err(PeopleError::UnknownPasskey)));
        assert!(matches!(people.add_passkey(by(8), bob, "x", b"two", ""), Err(PeopleError::UnknownUser)));
        let foreign = people.remove_passkey(by(9), UserId::FIRST, id);
        assert!(matches!(foreign, Err(PeopleError::UnknownPasskey)));
        people.remove_passkey(by(10), bob, id).unwrap();
        assert_eq!(people.passkey(b"one").unwrap(), None);
        // What did not happen is not in the audit trail.
        let lines = people.audit(None, 10).unwrap();
        let told: Vec<&str> = lines.iter().map(|line| line.action.as_str()).collect();
        assert_eq!(told, ["passkey_removed", "user_changed", "passkey_used", "passkey_added", "user_added"]);
    }

    #[test]
    fn passkeys_of_a_user_are_bounded() {
        let directory = TempDir::new().unwrap();
        let people =
            People::open(&DataDirectory::enter(directory.path(), LogsAt::Elsewhere).unwrap(), Time(1))
                .unwrap();
        for number in 0..PASSKEYS_MAX as u128 {
            people.add_passkey(by(number), UserId::FIRST, "x", &number.to_be_bytes(), "").unwrap();
        }
        let refused = people.add_passkey(by(1_000), UserId::FIRST, "x", b"one more", "");
        assert!(matches!(refused, Err(PeopleError::TooManyPasskeys)));
        assert_eq!(people.passkeys(UserId::FIRST).unwrap().len(), PASSKEYS_MAX);
    }
}

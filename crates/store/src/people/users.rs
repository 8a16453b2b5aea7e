//! Those who use the server, and their passwords.

use rusqlite::{OptionalExtension, Row, params};
use session::{Time, UserId};

use super::{By, People, PeopleError, Role, blob, uuid};

const USER: &str = "id, name, role, disabled, password IS NOT NULL, created_at";

/// The same beside another table.
pub(super) const USER_OF_JOIN: &str =
    "users.id, users.name, users.role, users.disabled, users.password IS NOT NULL, users.created_at";

/// Someone who uses the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub name: String,
    pub role: Role,
    pub disabled: bool,
    /// Whether there is a password.
    pub can_log_in: bool,
    pub created_at: Time,
}

impl People {
    /// Every user, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn users(&self) -> Result<Vec<User>, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached(&format!("SELECT {USER} FROM users ORDER BY created_at, id"))?;
        Ok(select.query_map([], user)?.collect::<rusqlite::Result<_>>()?)
    }

    /// A user by name, with the hash of the password.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn by_name(&self, name: &str) -> Result<Option<(User, Option<String>)>, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached(&format!("SELECT {USER}, password FROM users WHERE name = ?"))?;
        Ok(select.query_row([name], |row| Ok((user(row)?, row.get(6)?))).optional()?)
    }

    /// A user by id, with the hash of the password.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn user(&self, id: UserId) -> Result<Option<(User, Option<String>)>, PeopleError> {
        let connection = self.reading();
        let mut select =
            connection.prepare_cached(&format!("SELECT {USER}, password FROM users WHERE id = ?"))?;
        Ok(select.query_row([blob(id)], |row| Ok((user(row)?, row.get(6)?))).optional()?)
    }

    /// Adds a user.
    ///
    /// # Errors
    /// When the name is taken or nothing could be kept.
    pub fn add_user(
        &self,
        by: By,
        name: &str,
        role: Role,
        password: Option<&str>,
    ) -> Result<UserId, PeopleError> {
        let id = UserId(by.id);
        self.change(by, "user_added", &format!("{name}, {}", role.as_str()), |transaction| {
            let added = transaction.execute(
                "INSERT INTO users (id, name, role, password, created_at) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT (name) DO NOTHING",
                params![blob(id), name, role, password, by.now.0],
            )?;
            if added == 1 { Ok(id) } else { Err(PeopleError::NameTaken) }
        })
    }

    /// Gives a user another role, or shuts him out or lets him in again. What he could do before he cannot do from now on,
    /// also where he is logged in: a change of role ends his logins.
    ///
    /// # Errors
    /// When there is no such user, or no owner would be left.
    pub fn set_user(&self, by: By, id: UserId, role: Role, disabled: bool) -> Result<(), PeopleError> {
        let about = format!("{id}: {}{}", role.as_str(), if disabled { ", disabled" } else { "" });
        self.change(by, "user_changed", &about, |transaction| {
            let before: Option<Role> = transaction
                .query_row("SELECT role FROM users WHERE id = ?", [blob(id)], |row| row.get(0))
                .optional()?;
            let before = before.ok_or(PeopleError::UnknownUser)?;
            transaction.execute(
                "UPDATE users SET role = ?, disabled = ? WHERE id = ?",
                params![role, disabled, blob(id)],
            )?;
            let owners: i64 = transaction.query_row(
                "SELECT count(*) FROM users WHERE role = 'owner' AND disabled = 0",
                [],
                |row| row.get(0),
            )?;
            if owners == 0 {
                return Err(PeopleError::LastOwner);
            }
            if before != role || disabled {
                transaction
                    .execute("DELETE FROM credentials WHERE user = ? AND kind = 'login'", [blob(id)])?;
            }
            Ok(())
        })
    }

    /// Gives a user a password, already hashed, and ends his logins.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn set_password(&self, by: By, id: UserId, hashed: &str) -> Result<(), PeopleError> {
        self.change(by, "password_set", &id.to_string(), |transaction| {
            let set = transaction
                .execute("UPDATE users SET password = ? WHERE id = ?", params![hashed, blob(id)])?;
            transaction.execute("DELETE FROM credentials WHERE user = ? AND kind = 'login'", [blob(id)])?;
            if set == 1 { Ok(()) } else { Err(PeopleError::UnknownUser) }
        })
    }

    /// Whether anybody can log in by password.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn has_login(&self) -> Result<bool, PeopleError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM users WHERE password IS NOT NULL AND disabled = 0)";
        Ok(self.reading().query_row(sql, [], |row| row.get(0))?)
    }
}

pub(super) fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: UserId(uuid(row, 0)?),
        name: row.get(1)?,
        role: row.get(2)?,
        disabled: row.get(3)?,
        can_log_in: row.get(4)?,
        created_at: Time(row.get(5)?),
    })
}

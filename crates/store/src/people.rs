//! Who uses the server, and what opens its gate: users, tokens, logins, shares, and the audit trail of all that.
//!
//! A small file of its own beside the logs. Every change is one transaction with its line in the audit trail, and is
//! seen by every process that has the file open as soon as it is made: nothing here is cached.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use session::{BlobHash, SessionId, Time, UserId};
use uuid::Uuid;

/// Marks a file as ours: "EvTp".
const APPLICATION_ID: i64 = 0x4576_5470;
const SCHEMA: &str = include_str!("people/schema.sql");
const VERSION: i64 = 1;
/// How long a change waits for another process that changes the file.
const BUSY_MAX: Duration = Duration::from_secs(5);
/// Least time between two notes of when a credential was used.
const USED_MICROS: i64 = 60 * 1_000_000;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(FromSqlError::InvalidType),
                }
            }
        }
    };
}

words! {
    /// What a user is to the server.
    Role {
        /// Has sessions.
        Member = "member",
        /// Also manages the others.
        Owner = "owner",
    }
}

words! {
    /// What a credential allows; each allows what those before it do.
    Scope {
        /// Read sessions.
        Read = "read",
        /// Change them.
        Write = "write",
        /// Manage people and access.
        Manage = "manage",
    }
}

words! {
    /// What a credential is.
    Kind {
        /// A program's.
        Token = "token",
        /// A browser's, by password.
        Login = "login",
    }
}

impl Role {
    /// The most that this role may do.
    pub fn scope(self) -> Scope {
        match self {
            Self::Member => Scope::Write,
            Self::Owner => Scope::Manage,
        }
    }
}

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

/// What a new credential is to be.
#[derive(Debug, Clone)]
pub struct NewCredential {
    pub user: UserId,
    pub kind: Kind,
    pub name: String,
    pub scope: Scope,
    pub expires_at: Option<Time>,
}

/// A link by which one session can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub id: Uuid,
    pub user: UserId,
    pub session: SessionId,
    pub created_at: Time,
}

/// A line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    pub no: i64,
    pub time: Time,
    /// Who did it; none: the command line on the server, or nobody who is known.
    pub user: Option<UserId>,
    pub action: String,
    pub about: String,
}

/// Who does something, and when.
#[derive(Debug, Clone, Copy)]
pub struct By {
    pub user: Option<UserId>,
    pub now: Time,
    /// The id of what is made, if anything is; given to nothing else.
    pub id: Uuid,
}

/// Why something about people did not happen. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    #[error("the name is taken")]
    NameTaken,
    #[error("there is no such user")]
    UnknownUser,
    #[error("at least one owner must stay who can use the server")]
    LastOwner,
    #[error("the file of people has schema {found}, this version knows {VERSION}; start the newer version")]
    Newer { found: i64 },
    #[error("the file is not one of people")]
    Foreign,
    #[error("the file of people: {0}")]
    File(#[from] rusqlite::Error),
}

/// The file, open.
#[derive(Debug)]
pub struct People {
    reading: Mutex<Connection>,
    writing: Mutex<Connection>,
}

impl People {
    /// Opens the file, or makes it with its first user, an owner without a password.
    ///
    /// # Errors
    /// When it cannot be read or is not one of ours.
    pub fn open(path: &Path, now: Time) -> Result<Self, PeopleError> {
        let mut writing = connect(path)?;
        prepare(&mut writing, now)?;
        Ok(Self { reading: Mutex::new(connect(path)?), writing: Mutex::new(writing) })
    }

    fn reading(&self) -> MutexGuard<'_, Connection> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change and its line in the audit trail, both or neither.
    fn change<T>(
        &self,
        by: By,
        action: &str,
        about: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, PeopleError>,
    ) -> Result<T, PeopleError> {
        let mut connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let made = work(&transaction)?;
        transaction.execute(
            "INSERT INTO audit (time, user, action, about) VALUES (?, ?, ?, ?)",
            params![by.now.0, by.user.map(blob), action, about],
        )?;
        transaction.commit()?;
        Ok(made)
    }

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

    /// The credential with this hash, if it opens the gate at this moment, with the most that it allows and the name of its
    /// user.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn verify(&self, hash: [u8; 32], now: Time) -> Result<Option<(Credential, Scope)>, PeopleError> {
        let found = {
            let connection = self.reading();
            let mut select = connection.prepare_cached(&format!(
                "SELECT {CREDENTIAL}, role FROM credentials JOIN users ON users.id = credentials.user
                 WHERE hash = ? AND disabled = 0 AND (expires_at IS NULL OR expires_at > ?)"
            ))?;
            select
                .query_row(params![hash, now.0], |row| Ok((credential(row)?, row.get::<_, Role>(8)?)))
                .optional()?
        };
        let Some((credential, role)) = found else { return Ok(None) };
        let scope = credential.scope.min(role.scope());
        Ok(Some((credential, scope)))
    }

    /// Notes that a credential was used, when that was not noted a moment ago.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note_use(&self, credential: &Credential, now: Time) -> Result<(), PeopleError> {
        if credential.used_at.is_some_and(|used| now.micros_since(used) < USED_MICROS) {
            return Ok(());
        }
        let connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        connection
            .prepare_cached("UPDATE credentials SET used_at = ? WHERE id = ?")?
            .execute(params![now.0, credential.id.as_bytes()])?;
        Ok(())
    }

    /// A user's credentials, oldest first; everyone's when no user is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn credentials(&self, of: Option<UserId>, kind: Kind) -> Result<Vec<Credential>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {CREDENTIAL} FROM credentials WHERE kind = ?1 AND (?2 IS NULL OR user = ?2) ORDER BY created_at, id"
        ))?;
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

    /// Notes who brought a file.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note_upload(&self, user: UserId, file: &BlobHash) -> Result<(), PeopleError> {
        let connection = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        connection
            .prepare_cached("INSERT OR IGNORE INTO uploads (blob, user) VALUES (?, ?)")?
            .execute(params![file.0, blob(user)])?;
        Ok(())
    }

    /// Whether a user brought a file.
    ///
    /// # Errors
    /// When the file of people cannot be read.
    pub fn uploaded(&self, user: UserId, file: &BlobHash) -> Result<bool, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached("SELECT 1 FROM uploads WHERE blob = ? AND user = ?")?;
        Ok(select.exists(params![file.0, blob(user)])?)
    }

    /// Notes something that changed nothing here: a login that failed, a session that was erased.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note(&self, by: By, action: &str, about: &str) -> Result<(), PeopleError> {
        self.change(by, action, about, |_| Ok(()))
    }

    /// The audit trail before a line, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn audit(&self, before: Option<i64>, count: usize) -> Result<Vec<AuditLine>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT no, time, user, action, about FROM audit WHERE no < ? ORDER BY no DESC LIMIT ?",
        )?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let rows = select.query_map(params![before.unwrap_or(i64::MAX), count], |row| {
            Ok(AuditLine {
                no: row.get(0)?,
                time: Time(row.get(1)?),
                user: row.get::<_, Option<[u8; 16]>>(2)?.map(|id| UserId(Uuid::from_bytes(id))),
                action: row.get(3)?,
                about: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A number that changes whenever another process changed the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn changed_by_others(&self) -> Result<i64, PeopleError> {
        Ok(self.reading().query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

const USER: &str = "id, name, role, disabled, password IS NOT NULL, created_at";
const CREDENTIAL: &str =
    "credentials.id, credentials.user, credentials.kind, credentials.name, credentials.scope,
    credentials.created_at, credentials.used_at, credentials.expires_at";
const SHARE: &str = "shares.id, shares.user, shares.session, shares.created_at";

fn blob(user: UserId) -> [u8; 16] {
    *user.0.as_bytes()
}

fn uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(at)?))
}

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: UserId(uuid(row, 0)?),
        name: row.get(1)?,
        role: row.get(2)?,
        disabled: row.get(3)?,
        can_log_in: row.get(4)?,
        created_at: Time(row.get(5)?),
    })
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

fn share(row: &Row<'_>) -> rusqlite::Result<Share> {
    Ok(Share {
        id: uuid(row, 0)?,
        user: UserId(uuid(row, 1)?),
        session: SessionId(uuid(row, 2)?),
        created_at: Time(row.get(3)?),
    })
}

fn connect(path: &Path) -> Result<Connection, PeopleError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_MAX)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}

/// Makes the tables and the first user, or refuses a file that is not ours or newer.
fn prepare(connection: &mut Connection, now: Time) -> Result<(), PeopleError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let application: i64 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match (application, found) {
        (0, 0) => {}
        (APPLICATION_ID, VERSION) => return Ok(()),
        (APPLICATION_ID, found) => return Err(PeopleError::Newer { found }),
        _ => return Err(PeopleError::Foreign),
    }
    transaction.execute_batch(SCHEMA)?;
    transaction.execute(
        "INSERT INTO users (id, name, role, created_at) VALUES (?, 'owner', 'owner', ?)",
        params![blob(UserId::FIRST), now.0],
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

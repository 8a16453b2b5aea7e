//! Who uses the server, and what opens its gate: users, passkeys, tokens, logins, shares, and the audit trail of all that;
//! and what people set while the server runs.
//!
//! A small file of its own beside the logs. Every change is one transaction with its line in the audit trail, and is
//! seen by every process that has the file open as soon as it is made: nothing here is cached.

mod credentials;
mod drafts;
mod gateway;
mod identities;
mod models;
mod passkeys;
mod preferences;
mod projects;
mod secrets;
mod settings;
mod shares;
mod trash;
mod users;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use session::{BlobHash, Time, UserId};
use uuid::Uuid;

use crate::directory::{DataDirectory, Database, Left};
use crate::sqlite::{Fault, wal};

pub use credentials::{Credential, NewCredential};
pub use drafts::Draft;
pub use gateway::{GatewayPairing, GatewayPeer, GatewayTaken, PAIRING_LASTS_MICROS};
pub use models::{KeptModel, MODELS_MAX, SealedOptions};
pub use passkeys::{PASSKEYS_MAX, Passkey};
pub use preferences::Preferences;
pub use projects::{PROJECTS_MAX, Project, ProjectChange};
pub use secrets::SecretLine;
pub use shares::Share;
pub use users::User;

/// What the file is called in a data directory.
pub const PEOPLE_FILE: &str = "people.db";
/// Marks a file as ours: "EvTp".
const APPLICATION_ID: i64 = 0x4576_5470;
/// Every migration, in order. A released one is never changed.
const MIGRATIONS: [&str; 9] = [
    include_str!("people/schema.sql"),
    include_str!("people/projects.sql"),
    include_str!("people/secrets.sql"),
    include_str!("people/drafts.sql"),
    include_str!("people/signin.sql"),
    include_str!("people/settings.sql"),
    include_str!("people/gateway.sql"),
    include_str!("people/trash.sql"),
    include_str!("people/revisions.sql"),
];
const VERSION: usize = MIGRATIONS.len();
/// How long a change waits for another process that changes the file.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// A word that is none of these.
#[derive(Debug, thiserror::Error)]
#[error("must be one of: {}", .0.join(", "))]
pub struct UnknownWord(&'static [&'static str]);

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

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(UnknownWord(&[$($text),*])),
                }
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.parse().map_err(|_| FromSqlError::InvalidType)
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
        /// A browser's, whose user proved who he is.
        Login = "login",
    }
}

words! {
    /// What a message does that is sent while a run is going on.
    Busy {
        /// It waits its turn.
        Queue = "queue",
        /// It goes into the run, between two steps.
        Steer = "steer",
        /// It stops the run and goes first.
        Interrupt = "interrupt",
    }
}

words! {
    /// The wire format that a model is asked in.
    WireName {
        /// Chat Completions.
        Openai = "openai",
        /// Messages.
        Anthropic = "anthropic",
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
    #[error("the name is already taken")]
    NameTaken,
    #[error("user not found")]
    UnknownUser,
    #[error("a user can have at most {PROJECTS_MAX} projects")]
    TooManyProjects,
    #[error("a user can have at most {PASSKEYS_MAX} passkeys")]
    TooManyPasskeys,
    #[error("the passkey is already registered")]
    PasskeyKnown,
    #[error("passkey not found")]
    UnknownPasskey,
    #[error("this provider account is already linked to a user")]
    IdentityKnown,
    #[error("at most {MODELS_MAX} models can be added")]
    TooManyModels,
    #[error("the server needs at least one enabled owner")]
    LastOwner,
    #[error(
        "people.db has schema {found}, but this version supports only {VERSION}; nothing was changed, start \
         the newer version"
    )]
    Newer { found: usize },
    #[error("people.db is not an Everturn user database; nothing was changed")]
    Foreign,
    #[error("failed to list uploads: {0}")]
    Uploads(#[from] std::io::Error),
    #[error("people.db is closed")]
    Closed,
    #[error("{0}")]
    Directory(String),
    #[error("people.db: {0}")]
    File(#[from] rusqlite::Error),
}

impl From<Fault> for PeopleError {
    fn from(fault: Fault) -> Self {
        Self::Directory(fault.to_string())
    }
}

/// The file, open. Changes are checkpointed as they are made, so that the one file has them.
#[derive(Debug)]
pub struct People {
    directory: DataDirectory,
    reading: Mutex<Connection>,
    /// None once it is closed.
    writing: Mutex<Option<Connection>>,
}

impl People {
    /// Opens the file in a data directory, or makes it with its first user, an owner without a password. Sessions and
    /// files of the time before there were users belong to that owner.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not ours, or is missing in a directory that was used.
    pub fn open(directory: &DataDirectory, now: Time) -> Result<Self, PeopleError> {
        let path = directory.path().join(PEOPLE_FILE);
        let found = directory.look(Database::People)?.map_or(Ok(0), |file| check(&file))?;
        if found == 0 {
            directory.may_have_new_people()?;
        }
        let mut writing = connect(&path)?;
        prepare(&mut writing, now, &path)?;
        let people = Self {
            directory: directory.clone(),
            reading: Mutex::new(connect(&path)?),
            writing: Mutex::new(Some(writing)),
        };
        // A version that never checkpointed may have left nearly everything in the write-ahead log.
        people.scrub()?;
        directory.note_made(Database::People)?;
        Ok(people)
    }

    /// Opens the file to read it only; none if there is no file, or none of today's schema.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not ours.
    pub fn look(directory: &DataDirectory) -> Result<Option<Self>, PeopleError> {
        let Some(reading) = directory.look(Database::People)? else { return Ok(None) };
        if check(&reading)? != VERSION {
            return Ok(None);
        }
        let (directory, writing) = (directory.clone(), Mutex::new(None));
        Ok(Some(Self { directory, reading: Mutex::new(reading), writing }))
    }

    fn reading(&self) -> MutexGuard<'_, Connection> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the file. When this returns, the change is durable, and in the file unless a reader is in the way.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, PeopleError>,
    ) -> Result<T, PeopleError> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = writing.as_mut().ok_or(PeopleError::Closed)?;
        let made = work(connection)?;
        self.directory.note_commit(Database::People, connection)?;
        checkpoint(connection, "PASSIVE")?;
        Ok(made)
    }

    /// Makes a change and its line in the audit trail, both or neither.
    fn change<T>(
        &self,
        by: By,
        action: &str,
        about: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, PeopleError>,
    ) -> Result<T, PeopleError> {
        self.write(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let made = work(&transaction)?;
            audit_line(&transaction, by, action, about)?;
            transaction.commit()?;
            Ok(made)
        })
    }

    /// Empties the write-ahead log, which still holds deleted rows. Beside another process, only that one
    /// may do so.
    fn scrub(&self) -> Result<(), PeopleError> {
        if self.directory.is_shared() {
            return Ok(());
        }
        self.directory.note_emptying(Database::People)?;
        self.write(|connection| checkpoint(connection, "TRUNCATE"))
    }

    /// Leaves everything in the one file. Later changes are refused.
    ///
    /// # Errors
    /// Returns an error if the file could not be closed; the next start finds every change all the same.
    pub fn close(&self) -> Result<(), PeopleError> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = writing.take() else { return Ok(()) };
        if self.directory.is_shared() {
            return Ok(());
        }
        self.directory.note_emptying(Database::People)?;
        checkpoint(&connection, "TRUNCATE")?;
        let log = wal::path(&self.directory.path().join(PEOPLE_FILE));
        if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            // Another process kept part of it in use.
            return Ok(self.directory.note_commit(Database::People, &connection)?);
        }
        drop(connection);
        Ok(self.directory.note(Database::People, Left::Closed)?)
    }

    /// Notes who brought a file.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub fn note_upload(&self, user: UserId, file: &BlobHash) -> Result<(), PeopleError> {
        self.write(|connection| {
            connection
                .prepare_cached("INSERT OR IGNORE INTO uploads (blob, user) VALUES (?, ?)")?
                .execute(params![file.0, blob(user)])?;
            Ok(())
        })
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
        let rows = select.query_map(params![before.unwrap_or(i64::MAX), count], to_audit_line)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// When something was last done.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn last(&self, action: &str) -> Result<Option<Time>, PeopleError> {
        let sql = "SELECT max(time) FROM audit WHERE action = ?";
        Ok(self
            .reading()
            .prepare_cached(sql)?
            .query_row([action], |row| row.get::<_, Option<i64>>(0))?
            .map(Time))
    }

    /// The newest line about something of a kind.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn latest(&self, action: &str) -> Result<Option<AuditLine>, PeopleError> {
        let connection = self.reading();
        let mut select = connection.prepare_cached(
            "SELECT no, time, user, action, about FROM audit WHERE action = ? ORDER BY no DESC LIMIT 1",
        )?;
        Ok(select.query_row([action], to_audit_line).optional()?)
    }

    /// A number that changes whenever somebody, this process or another, changed the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn changes(&self) -> Result<i64, PeopleError> {
        Ok(self.reading().query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

impl Drop for People {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "failed to close people.db");
        }
    }
}

fn to_audit_line(row: &Row<'_>) -> rusqlite::Result<AuditLine> {
    Ok(AuditLine {
        no: row.get(0)?,
        time: Time(row.get(1)?),
        user: row.get::<_, Option<[u8; 16]>>(2)?.map(|id| UserId(Uuid::from_bytes(id))),
        action: row.get(3)?,
        about: row.get(4)?,
    })
}

fn audit_line(transaction: &Transaction<'_>, by: By, action: &str, about: &str) -> Result<(), PeopleError> {
    transaction
        .prepare_cached("INSERT INTO audit (time, user, action, about) VALUES (?, ?, ?, ?)")?
        .execute(params![by.now.0, by.user.map(blob), action, about])?;
    Ok(())
}

fn blob(user: UserId) -> [u8; 16] {
    *user.0.as_bytes()
}

fn uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(at)?))
}

fn connect(path: &Path) -> Result<Connection, PeopleError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_MAX)?;
    // A statement's plan does not depend on what is bound, so it is made once and not for every request.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A file that is refused stays as it is, byte for byte, and a log that must exist is never removed by closing.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The mode is written into the file, so it is looked at first.
    check(&connection)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}

/// Copies the write-ahead log into the file.
fn checkpoint(connection: &Connection, mode: &str) -> Result<(), PeopleError> {
    Ok(connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))?)
}

/// Refuses a file that is not ours or newer. Returns its version.
pub(crate) fn check(connection: &Connection) -> Result<usize, PeopleError> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let found: usize = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found, objects) {
        (0, 0, 0) => Ok(0),
        (APPLICATION_ID, 1..=VERSION, _) => Ok(found),
        (APPLICATION_ID, found, _) => Err(PeopleError::Newer { found }),
        _ => Err(PeopleError::Foreign),
    }
}

/// Brings the file to today's schema; a new one gets its first user, who has the files of the time before there were users.
fn prepare(connection: &mut Connection, now: Time, path: &Path) -> Result<(), PeopleError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = check(&transaction)?;
    if found == VERSION {
        return Ok(());
    }
    for migration in &MIGRATIONS[found..] {
        transaction.execute_batch(migration)?;
    }
    if found == 0 {
        transaction.execute(
            "INSERT INTO users (id, name, role, created_at) VALUES (?, 'owner', 'owner', ?)",
            params![blob(UserId::FIRST), now.0],
        )?;
        for file in crate::blob::kept_in(&path.with_file_name("blobs"))? {
            let first = params![file.0, blob(UserId::FIRST)];
            transaction.execute("INSERT INTO uploads (blob, user) VALUES (?, ?)", first)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

//! The one way into a data directory. Entering takes its lock and checks every database in it before anything else opens
//! a file there: SQLite creates a missing write-ahead log silently, which would hide that the latest writes are
//! gone. Stores, backups and verification take a [`DataDirectory`], so no other order compiles.
//!
//! For each database, the file `lock` holds one byte that says how the last process left it, and a record of how far its
//! write-ahead log was committed. SQLite cannot tell a log that was cut after a transaction from a complete one; the record
//! can.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::people::{self, PEOPLE_FILE};
use crate::sqlite::wal::{self, Committed};
use crate::sqlite::{Fault, LOGS_FILE, OpenStoreError, migrate};

/// The file whose lock says who uses the directory.
const LOCK_FILE: &str = "lock";
/// Where versions without a database of people kept their tokens.
const TOKENS_FILE: &str = "tokens.toml";

/// How long a reader waits for another process.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// A database of a data directory that cannot be rebuilt from another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Logs,
    People,
}

impl Database {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Logs => LOGS_FILE,
            Self::People => PEOPLE_FILE,
        }
    }

    /// The write-ahead log of the database in a directory.
    fn log(self, directory: &Path) -> PathBuf {
        wal::path(&directory.join(self.file()))
    }

    /// The offset of its byte in the lock file.
    fn at(self) -> u64 {
        match self {
            Self::Logs => 0,
            Self::People => 1,
        }
    }

    /// The offset of its commit record in the lock file.
    fn committed_at(self) -> u64 {
        16 + self.at() * Committed::BYTES as u64
    }

    /// Refuses a file of a newer version or of another program. Returns its schema; 0 if it has none yet.
    fn version(self, connection: &Connection) -> Result<usize, Fault> {
        match self {
            Self::Logs => migrate::check(connection),
            Self::People => people::check(connection).map_err(|error| Fault::Refused(error.to_string())),
        }
    }
}

/// How a process left a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Never used, or used by a version without this record.
    Unknown,
    /// In use by an earlier version: the write-ahead log exists, possibly empty.
    InUse,
    /// In use, and everything was in the file at that moment: the write-ahead log may be empty.
    Emptied,
    /// In use: the write-ahead log has the latest writes, and so at least its header.
    Logged,
    /// Closed: the file has everything.
    Closed,
}

impl Left {
    fn read(byte: Option<u8>) -> Self {
        match byte {
            Some(b'u') => Self::InUse,
            Some(b'e') => Self::Emptied,
            Some(b'w') => Self::Logged,
            Some(b'c') => Self::Closed,
            _ => Self::Unknown,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::InUse => b'u',
            Self::Emptied => b'e',
            Self::Logged => b'w',
            Self::Closed => b'c',
        }
    }
}

/// Where a server keeps its logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogsAt {
    /// In this directory, on SQLite.
    Here,
    /// On PostgreSQL: a file of logs in this directory is not used.
    Elsewhere,
}

impl LogsAt {
    /// The databases of a data directory.
    pub(crate) fn databases(self) -> &'static [Database] {
        match self {
            Self::Here => &[Database::Logs, Database::People],
            Self::Elsewhere => &[Database::People],
        }
    }
}

/// A data directory whose databases were checked. Its lock is free again once every clone is dropped.
#[derive(Debug, Clone)]
pub struct DataDirectory(Arc<Entered>);

#[derive(Debug)]
struct Entered {
    path: PathBuf,
    /// None beside another process that holds the lock.
    lock: Option<File>,
    logs: LogsAt,
    /// Whether `people.db` must already exist.
    had_people: bool,
    /// Write-ahead logs that are missing, empty or cut short, if the directory was entered for repair.
    lost: Vec<PathBuf>,
    /// The recorded state of each database. Kept here, because after a failed sync the file may show what is not durable.
    left: [Mutex<Left>; 2],
}

impl Entered {
    fn new(path: &Path, lock: Option<File>, logs: LogsAt, had_people: bool) -> io::Result<Self> {
        let read = |database| lock.as_ref().map_or(Ok(Left::Unknown), |lock| left(lock, database));
        let left = [Mutex::new(read(Database::Logs)?), Mutex::new(read(Database::People)?)];
        Ok(Self { path: path.to_owned(), lock, logs, had_people, lost: Vec::new(), left })
    }
}

impl DataDirectory {
    /// Locks a directory for this process, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error if another process uses it; if a database is missing, empty or cut short; if its write-ahead log is
    /// missing, empty, cut short or damaged; or if a database is not ours or of a newer version. No file is changed then.
    pub fn enter(path: &Path, logs: LogsAt) -> Result<Self, OpenStoreError> {
        let lock = take_lock(path)?;
        for database in logs.databases() {
            check_files(&lock, path, *database)?;
            check_log(&lock, path, *database)?;
            check_size(path, *database)?;
        }
        Self::check_versions(path, lock, logs)
    }

    /// Enters a directory, or joins the process that holds its lock without checking again.
    ///
    /// # Errors
    /// Returns the errors of [`Self::enter`], except for a directory in use.
    pub fn enter_shared(path: &Path, logs: LogsAt) -> Result<Self, OpenStoreError> {
        match Self::enter(path, logs) {
            Err(OpenStoreError::InUse(path)) => {
                // A restore may hold the lock before there are users.
                let lock = File::open(path.join(LOCK_FILE)).map_err(Fault::from)?;
                let had_people = had_people(&lock, &path)?;
                Ok(Self(Arc::new(Entered::new(&path, None, logs, had_people).map_err(Fault::from)?)))
            }
            entered => entered,
        }
    }

    /// Enters a directory for repair: its write-ahead logs may be missing or damaged.
    ///
    /// # Errors
    /// Returns an error if another process uses the directory, if a database that existed is missing or empty, or if the database
    /// of users is truncated.
    pub fn enter_to_repair(path: &Path, logs: LogsAt) -> Result<Self, OpenStoreError> {
        let lock = take_lock(path)?;
        let mut lost = Vec::new();
        for database in logs.databases() {
            check_files(&lock, path, *database)?;
            if *database == Database::People {
                // Repair cannot bring back missing pages, and opening the file would hide that they are missing.
                check_size(path, *database)?;
            }
            let log = database.log(path);
            lost.extend(lost_log(&lock, &log, *database)?.map(|_| log));
        }
        let had_people = had_people(&lock, path)?;
        let entered = Entered::new(path, Some(lock), logs, had_people).map_err(Fault::from)?;
        Ok(Self(Arc::new(Entered { lost, ..entered })))
    }

    /// Locks a directory for a restore. Until it is complete, no server starts there.
    pub(crate) fn announce(path: &Path, logs: LogsAt) -> Result<Self, OpenStoreError> {
        let lock = take_lock(path)?;
        let directory = Self(Arc::new(Entered::new(path, Some(lock), logs, false).map_err(Fault::from)?));
        let last = if logs == LogsAt::Here { Database::Logs } else { Database::People };
        directory.note(last, Left::Closed)?;
        sync(path).map_err(Fault::from)?;
        Ok(directory)
    }

    /// Makes the directory of a failed restore look unused again.
    pub(crate) fn forget(path: &Path) -> io::Result<()> {
        fs::remove_file(path.join(LOCK_FILE))
    }

    fn check_versions(path: &Path, lock: File, logs: LogsAt) -> Result<Self, OpenStoreError> {
        let had_people = had_people(&lock, path)?;
        for database in logs.databases() {
            if size_of(&path.join(database.file())) == 0 {
                continue;
            }
            let version = database.version(&look(path, *database, true)?)?;
            if *database == Database::People && version == 0 && had_people {
                return Err(lost_people(&path.join(PEOPLE_FILE)).into());
            }
        }
        Ok(Self(Arc::new(Entered::new(path, Some(lock), logs, had_people).map_err(Fault::from)?)))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Where the server of this directory keeps its logs.
    pub fn logs_at(&self) -> LogsAt {
        self.0.logs
    }

    /// Write-ahead logs that are missing, empty or cut short, if the directory was entered for repair.
    pub fn lost_logs(&self) -> &[PathBuf] {
        &self.0.lost
    }

    /// Returns what SQLite finds wrong with the database of users, if anything.
    ///
    /// # Errors
    /// Returns an error if the database can't be opened.
    pub fn damage_of_people(&self) -> Result<Option<String>, OpenStoreError> {
        let Some(people) = self.look(Database::People)? else { return Ok(None) };
        let found = people.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        Ok(match found {
            Ok(found) => (found != "ok").then_some(found),
            Err(error) => Some(error.to_string()),
        })
    }

    /// Whether another process uses the directory.
    pub fn is_shared(&self) -> bool {
        self.0.lock.is_none()
    }

    /// Opens a database to read it; none if it does not exist yet.
    pub(crate) fn look(&self, database: Database) -> Result<Option<Connection>, Fault> {
        if size_of(&self.path().join(database.file())) == 0 {
            return Ok(None);
        }
        look(self.path(), database, !self.is_shared()).map(Some)
    }

    /// Returns an error if the directory already had users.
    pub(crate) fn may_have_new_people(&self) -> Result<(), Fault> {
        if self.0.had_people { Err(lost_people(&self.path().join(PEOPLE_FILE))) } else { Ok(()) }
    }

    /// How a database was left, as far as this process knows.
    fn left(&self, database: Database) -> MutexGuard<'_, Left> {
        let [logs, people] = &self.0.left;
        let left = match database {
            Database::Logs => logs,
            Database::People => people,
        };
        left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records how a database is left from now on, durably: one byte, so a crash leaves the old state or the new one.
    /// Beside another process, which keeps the record itself, this does nothing.
    pub(crate) fn note(&self, database: Database, left: Left) -> Result<(), Fault> {
        let Some(lock) = &self.0.lock else { return Ok(()) };
        let mut noted = self.left(database);
        fault::hit("use.before_note")?;
        if left != Left::Logged {
            // An older version of this program may fill the log next, without a record.
            lock.write_all_at(&[0; Committed::BYTES], database.committed_at())?;
        }
        lock.write_all_at(&[left.byte()], database.at())?;
        lock.sync_all()?;
        fault::hit("use.after_note")?;
        *noted = left;
        Ok(())
    }

    /// Records that the write-ahead log may be empty, before it is emptied. A new database has no record yet: until its
    /// first checkpoint is durable, it may be missing altogether.
    pub(crate) fn note_emptying(&self, database: Database) -> Result<(), Fault> {
        let left = *self.left(database);
        match left {
            Left::Unknown | Left::Emptied => Ok(()),
            Left::InUse | Left::Logged | Left::Closed => self.note(database, Left::Emptied),
        }
    }

    /// Records that a database exists, after its first checkpoint.
    pub(crate) fn note_made(&self, database: Database) -> Result<(), Fault> {
        let is_new = *self.left(database) == Left::Unknown;
        if is_new && !self.is_shared() {
            // The files have their names before the record says that they exist.
            sync(self.path())?;
            self.note(database, Left::Emptied)?;
        }
        Ok(())
    }

    /// Records how far the write-ahead log is committed. Called after a commit and before it is acknowledged. The record is
    /// not synced: after a power cut it may be older than the log, which is harmless.
    pub(crate) fn note_commit(&self, database: Database, connection: &Connection) -> Result<(), Fault> {
        let Some(lock) = &self.0.lock else { return Ok(()) };
        // A transaction that changed nothing leaves an empty log empty.
        let Some(committed) = Committed::of(connection, &database.log(self.path()))? else { return Ok(()) };
        lock.write_all_at(&committed.to_bytes(), database.committed_at())?;
        let left = *self.left(database);
        if left == Left::Logged { Ok(()) } else { self.note(database, Left::Logged) }
    }
}

fn take_lock(path: &Path) -> Result<File, OpenStoreError> {
    let lock = || -> io::Result<Option<File>> {
        fs::create_dir_all(path)?;
        fault::hit("store.lock")?;
        let file =
            File::options().create(true).truncate(false).read(true).write(true).open(path.join(LOCK_FILE))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    };
    lock().map_err(Fault::from)?.ok_or_else(|| OpenStoreError::InUse(path.to_owned()))
}

fn left(lock: &File, database: Database) -> io::Result<Left> {
    let mut byte = [0];
    let count = lock.read_at(&mut byte, database.at())?;
    Ok(Left::read((count == 1).then_some(byte[0])))
}

/// Returns how far the last process committed the write-ahead log, or `None` if there is no valid record.
fn recorded(lock: &File, database: Database) -> io::Result<Option<Committed>> {
    let mut bytes = [0; Committed::BYTES];
    match lock.read_exact_at(&mut bytes, database.committed_at()) {
        Ok(()) => Ok(Committed::from_bytes(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the directory was used by a version that keeps users in a database.
fn had_people(lock: &File, path: &Path) -> Result<bool, OpenStoreError> {
    let was_used = || -> io::Result<bool> {
        let of_people = left(lock, Database::People)? != Left::Unknown;
        Ok(of_people || left(lock, Database::Logs)? != Left::Unknown && !path.join(TOKENS_FILE).exists())
    };
    Ok(was_used().map_err(Fault::from)?)
}

fn lost_people(file: &Path) -> Fault {
    Fault::Refused(format!(
        "users, tokens and secrets are missing: {} is missing or empty in a data directory that was used; restore it \
         from a backup, or delete the file `lock` beside it to start without the old users",
        file.display()
    ))
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// Returns an error if a database that existed is missing or empty.
fn check_files(lock: &File, path: &Path, database: Database) -> Result<(), Fault> {
    let file = path.join(database.file());
    if left(lock, database)? == Left::Unknown || size_of(&file) > 0 {
        return Ok(());
    }
    match database {
        Database::Logs => Err(Fault::Refused(format!(
            "{} is missing or empty in a data directory that was used; restore a backup into an empty data directory, or \
             delete the file `lock` to start with an empty store",
            file.display()
        ))),
        Database::People => Err(lost_people(&file)),
    }
}

/// Returns an error if a required write-ahead log is lost, or if it is damaged.
fn check_log(lock: &File, path: &Path, database: Database) -> Result<(), Fault> {
    let log = database.log(path);
    match lost_log(lock, &log, database)? {
        None => wal::check(&log),
        Some(lost) => Err(Fault::Refused(format!(
            "{} was not closed, and its write-ahead log {}, which held the latest writes, is {lost}; restore the log, or \
             run `everturn repair` to continue without those writes. No writes are lost if another SQLite program \
             opened the database and merged the log into it",
            database.file(),
            log.display()
        ))),
    }
}

/// Returns an error if a database lacks pages that its write-ahead log does not have either.
fn check_size(path: &Path, database: Database) -> Result<(), Fault> {
    let file = path.join(database.file());
    if size_of(&file) == 0 || !wal::is_cut(&file, &database.log(path))? {
        return Ok(());
    }
    Err(Fault::Refused(format!(
        "{} is cut short: pages at its end are missing; restore a backup into an empty data directory",
        file.display()
    )))
}

/// Returns how a required write-ahead log was lost, if it was.
fn lost_log(lock: &File, log: &Path, database: Database) -> Result<Option<&'static str>, Fault> {
    Ok(match left(lock, database)? {
        Left::Unknown | Left::Emptied | Left::Closed => None,
        Left::InUse => (!log.exists()).then_some("missing"),
        Left::Logged if !log.exists() => Some("missing"),
        Left::Logged => match Committed::read(log)? {
            None => Some("empty"),
            Some(found) => {
                recorded(lock, database)?.and_then(|recorded| found.lacks(recorded).then_some("cut short"))
            }
        },
    })
}

/// Opens a database read-only. Without other users and with an empty log, this creates no file.
fn look(path: &Path, database: Database, alone: bool) -> Result<Connection, Fault> {
    let file = path.join(database.file());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if alone && size_of(&database.log(path)) == 0 {
        // Without a log the file has everything, and SQLite need not make a log to read it.
        Connection::open_with_flags(immutable(&file), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(&file, flags)?
    };
    connection.busy_timeout(BUSY_MAX)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Returns the SQLite URI that opens `file` as immutable.
fn immutable(file: &Path) -> String {
    let mut address = String::from("file:");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte))
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address + "?immutable=1"
}

/// Makes the names in a directory durable.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

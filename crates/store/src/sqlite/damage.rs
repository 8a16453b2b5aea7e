//! Logs that are known to be damaged: the chain is broken, SQLite cannot read a row, or the end is missing. Other errors do
//! not prove damage and are not recorded here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use session::Seq;

use super::Fault;

/// Time between two checks of the whole database.
const CHECK_PAUSE: Duration = Duration::from_secs(600);

/// Logs that are known to be damaged.
#[derive(Debug, Default)]
pub(super) struct DamagedLogs {
    /// Logs whose end is damaged, with an entry up to which they are intact. They can be read up to there and cannot be
    /// claimed.
    unwritable: BTreeMap<i64, Seq>,
    /// Logs in which a reader found damage. They can still be claimed.
    read: BTreeSet<i64>,
}

impl DamagedLogs {
    /// Replaces the logs that cannot be claimed.
    pub(super) fn set_unwritable(&mut self, logs: BTreeMap<i64, Seq>) {
        self.unwritable = logs;
    }

    /// Records a log that cannot be claimed any more.
    pub(super) fn note_unwritable(&mut self, no: i64, intact: Seq) {
        self.unwritable.insert(no, intact);
    }

    /// Records damage found by a reader. Returns true if the log was not known to be damaged.
    pub(super) fn note_read(&mut self, no: i64) -> bool {
        self.read.insert(no) && !self.unwritable.contains_key(&no)
    }

    /// Whether a log is known to be damaged.
    pub(super) fn is_known(&self, no: i64) -> bool {
        self.read.contains(&no) || self.unwritable.contains_key(&no)
    }

    /// Forgets a log that was erased.
    pub(super) fn forget(&mut self, no: i64) {
        self.unwritable.remove(&no);
        self.read.remove(&no);
    }

    /// Returns an entry up to which the log is intact, if the log cannot be claimed.
    pub(super) fn unwritable_after(&self, no: i64) -> Option<Seq> {
        self.unwritable.get(&no).copied()
    }

    pub(super) fn count(&self) -> u64 {
        let only_read = self.read.iter().filter(|no| !self.unwritable.contains_key(no)).count();
        (self.unwritable.len() + only_read) as u64
    }
}

/// Whether SQLite found damage in the database.
#[derive(Debug, Default)]
pub(super) struct Malformed {
    found: Option<String>,
    checked: Option<Instant>,
}

impl Malformed {
    /// Returns whether the database is to be checked now, and records that it is.
    pub(super) fn begins_check(&mut self, now: Instant) -> bool {
        let is_due = self.checked.is_none_or(|checked| now.duration_since(checked) >= CHECK_PAUSE);
        if is_due {
            self.checked = Some(now);
        }
        is_due
    }

    /// Replaces what the last check found.
    pub(super) fn set(&mut self, found: Option<String>) {
        self.found = found;
    }

    pub(super) fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

/// Returns the first damage that SQLite finds in a database, if any. Reads all of it.
///
/// # Errors
/// Returns an error if the database can't be read.
pub(super) fn find(connection: &Connection) -> Result<Option<String>, Fault> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then_some(found))
}

impl Fault {
    /// Returns whether this error is a sign of damage. A malformed database proves it only if it is found again: SQLite
    /// reports a read that failed with `EIO` as malformed too.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Sqlite(error) => Self::is_malformed(error),
            Self::Io(_) | Self::Refused(_) => false,
        }
    }

    /// Returns whether SQLite found a malformed database, or failed to read it.
    pub(crate) fn is_malformed(error: &rusqlite::Error) -> bool {
        let code = error.sqlite_error_code();
        matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }
}

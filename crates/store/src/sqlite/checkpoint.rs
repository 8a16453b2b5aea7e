//! Checkpoints: folding the write-ahead log into the file, and emptying it. The checkpoint thread folds most of it. The
//! writing thread empties the log once no reader needs it, and waits for readers only at a clean stop.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::directory::{Database, Left};

use super::request::{Request, answer_with};
use super::writer::Writer;
use super::{Fault, WRITER_BUSY_MAX, no_connection, open_files, spawn};

/// Pages of the log, not folded yet, after which the thread beside is asked.
const BESIDE_PAGES: i64 = 250;
/// Pages of the log after which the writing thread folds the rest itself, so that the log can restart.
const PAGES_MAX: i64 = 1_000;
/// The most that the writing thread folds in one go: 16 MiB. The log is longer after a reader that held it for long.
const OWN_PAGES_MAX: i64 = 4_000;

/// The longest time that a clean stop waits for readers.
const CLOSE_BUSY_MAX: Duration = Duration::from_millis(500);

/// The pages of the log, and how many of them are folded into the file.
#[derive(Debug, Clone, Copy)]
struct Length {
    pages: i64,
    folded: i64,
}

impl Length {
    fn of(connection: &Connection) -> Result<Self, Fault> {
        let mut noop = connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
        Ok(noop.query_row([], |row| Ok(Self { pages: row.get(1)?, folded: row.get(2)? }))?)
    }

    fn unfolded(self) -> i64 {
        self.pages - self.folded
    }
}

/// The checkpoint thread, beside the writing one; none until it is started.
#[derive(Debug, Default)]
pub(super) struct Checkpointer {
    asked: Option<mpsc::Sender<u64>>,
    thread: Option<JoinHandle<()>>,
    /// Whether it works on something.
    busy: bool,
    /// The length of the log when it was last asked. A reader may have kept it from folding any of that.
    asked_at: i64,
}

impl Checkpointer {
    /// Opens the connection of the thread and starts it. It says through `requests` when it is done.
    pub(super) fn start(database: &Path, life: u64, requests: mpsc::Sender<Request>) -> Result<Self, Fault> {
        let (asked, asks) = mpsc::channel::<u64>();
        let database = database.to_owned();
        // Each time the writing thread revives, the file is reopened: the cause of the failure is unknown.
        let mut connection = Some((life, connect(&database).and_then(open_files)?));
        let thread = spawn("everturn-fold", move || {
            while let Ok(life) = asks.recv() {
                let open = match connection.take().filter(|(of, _)| *of == life) {
                    Some((_, open)) => Ok(open),
                    None => connect(&database),
                };
                let folded = open.and_then(|open| {
                    fold(&open)?;
                    connection = Some((life, open));
                    Ok(())
                });
                let result = folded.map_err(|fault| fault.to_string());
                if requests.send(Request::Folded { life, result }).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { asked: Some(asked), thread: Some(thread), busy: false, asked_at: 0 })
    }

    /// Looks at the log after a commit.
    fn look(&mut self, connection: &Connection, life: u64) -> Result<(), Fault> {
        let length = Length::of(connection)?;
        if length.pages < self.asked_at {
            self.asked_at = 0;
        }
        if self.busy {
            return Ok(());
        }
        if length.pages >= PAGES_MAX && length.unfolded() < OWN_PAGES_MAX {
            fold(connection)?;
        } else if length.pages - length.folded.max(self.asked_at) >= BESIDE_PAGES {
            self.ask(length, life);
        }
        Ok(())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    fn ask(&mut self, length: Length, life: u64) {
        self.busy = self.asked.as_ref().is_some_and(|asked| asked.send(life).is_ok());
        self.asked_at = length.pages;
    }

    /// Ends the thread, so that nobody else holds the log.
    pub(super) fn end(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was its own report.
            drop(thread.join());
        }
    }
}

/// Who folds a long log before it is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folding {
    /// The thread beside; the log is emptied when it is done.
    Beside,
    /// The writing thread, for pages written since the checkpoint thread finished.
    Here,
}

impl Writer {
    /// Folds the write-ahead log into the file before it grows long.
    pub(super) fn look_at_wal(&mut self) {
        let looked = match &self.connection {
            Some(connection) => self.checkpointer.look(connection, self.life),
            None => Ok(()),
        };
        if let Err(fault) = looked {
            self.die(&fault.to_string());
        }
    }

    /// The thread beside is done.
    pub(super) fn folded(&mut self, life: u64, result: Result<(), String>) {
        self.checkpointer.busy = false;
        if life != self.life || self.connection.is_none() {
            return;
        }
        match result {
            Ok(()) => self.empty_if_due(Folding::Here),
            Err(reason) => self.die(&reason),
        }
    }

    /// Empties the write-ahead log as soon as no reader needs it: now, or at one of the next ticks.
    pub(super) fn empty_soon(&mut self) {
        self.empty_due = true;
        self.retry_emptying();
    }

    /// Tries again to empty a log that a reader needed.
    pub(super) fn retry_emptying(&mut self) {
        self.empty_if_due(Folding::Beside);
    }

    fn empty_if_due(&mut self, folding: Folding) {
        if !self.empty_due {
            return;
        }
        let Some(connection) = self.connection.take() else { return };
        let emptied = self.try_empty_log(&connection, folding);
        self.connection = Some(connection);
        match emptied {
            Ok(true) => {
                self.empty_due = false;
                self.scrubbing.drain(..).for_each(|(_, answer)| answer_with(answer, Ok(())));
            }
            Ok(false) => {}
            Err(fault) => self.die(&fault.to_string()),
        }
    }

    /// Empties the write-ahead log unless a reader needs it, or it is so long that the thread beside folds it first.
    fn try_empty_log(&mut self, connection: &Connection, folding: Folding) -> Result<bool, Fault> {
        if self.checkpointer.busy {
            return Ok(false);
        }
        let length = Length::of(connection)?;
        // The thread beside already folded all that readers let it.
        let folded = folding == Folding::Here || length.pages == self.checkpointer.asked_at;
        if length.unfolded() >= if folded { OWN_PAGES_MAX } else { BESIDE_PAGES } {
            if !folded {
                self.checkpointer.ask(length, self.life);
            }
            return Ok(false);
        }
        self.empty_unless_read(connection)
    }

    /// Empties the write-ahead log unless a reader needs it, however long it is, and returns whether it is empty.
    pub(super) fn empty_unless_read(&self, connection: &Connection) -> Result<bool, Fault> {
        connection.busy_timeout(Duration::ZERO)?;
        // A reader that needs the log shows here, before the log is recorded as empty.
        let emptied = restart(connection).and_then(|free| {
            if free {
                self.empty_log(connection)
            } else {
                self.directory.note_commit(Database::Logs, connection).map(|()| false)
            }
        });
        connection.busy_timeout(WRITER_BUSY_MAX)?;
        emptied
    }

    /// Empties the write-ahead log and returns whether it is empty. A crash at any point leaves a record that tells an
    /// emptied log from a lost one.
    fn empty_log(&self, connection: &Connection) -> Result<bool, Fault> {
        self.directory.note_emptying(Database::Logs)?;
        empty(connection)?;
        let emptied = std::fs::metadata(self.shared.wal()).is_ok_and(|wal| wal.len() == 0);
        if emptied {
            self.directory.note_made(Database::Logs)?;
        } else {
            // A reader may have kept part of the log in use.
            self.directory.note_commit(Database::Logs, connection)?;
        }
        Ok(emptied)
    }

    /// Leaves everything in the one file, and records it.
    pub(super) fn fold_together(&self, connection: &Connection) -> Result<(), Fault> {
        // A log that a reader keeps is emptied after the next start.
        connection.busy_timeout(CLOSE_BUSY_MAX)?;
        if self.empty_log(connection)? {
            fault::hit("close.before_note")?;
            self.directory.note(Database::Logs, Left::Closed)?;
            fault::hit("close.after_note")?;
        }
        Ok(())
    }
}

fn connect(database: &Path) -> Result<Connection, Fault> {
    let connection = Connection::open(database).map_err(no_connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Folds the log as far as no reader keeps it, without waiting for one.
fn fold(connection: &Connection) -> Result<(), Fault> {
    fault::hit("checkpoint.before")?;
    connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?;
    fault::hit("checkpoint.after")?;
    Ok(())
}

/// Folds the log and returns whether no reader needs it any more.
fn restart(connection: &Connection) -> Result<bool, Fault> {
    fault::hit("checkpoint.before")?;
    let busy: bool = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))?;
    fault::hit("checkpoint.after")?;
    Ok(!busy)
}

/// Folds the write-ahead log into the file and empties it. Readers may keep part of it; the next time gets that.
pub(super) fn empty(connection: &Connection) -> Result<(), Fault> {
    fault::hit("checkpoint.before")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    fault::hit("checkpoint.after")?;
    Ok(())
}

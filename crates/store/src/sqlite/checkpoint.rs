//! When the write-ahead log is folded into the file: mostly by a thread beside the writing one, so that few commits wait
//! for it.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::Fault;
use super::request::Request;

/// Pages of the log, not folded yet, after which the thread beside is asked.
const BESIDE_PAGES: i64 = 250;
/// Pages of the log after which the writing thread folds the rest itself, so that the log can begin anew.
const PAGES_MAX: i64 = 1_000;

/// The thread beside.
#[derive(Debug)]
pub(super) struct Checkpointer {
    asked: Option<mpsc::Sender<u64>>,
    thread: Option<JoinHandle<()>>,
    /// Whether it works on something.
    busy: bool,
}

impl Checkpointer {
    /// Starts the thread. It says through `requests` when it is done.
    pub(super) fn start(database: &Path, requests: mpsc::Sender<Request>) -> std::io::Result<Self> {
        let (asked, asks) = mpsc::channel::<u64>();
        let database = database.to_owned();
        let thread = std::thread::Builder::new().name("everturn-fold".to_owned()).spawn(move || {
            // In each life of the writing thread the file is opened anew: nobody knows why it died.
            let mut connection: Option<(u64, Connection)> = None;
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
        Ok(Self { asked: Some(asked), thread: Some(thread), busy: false })
    }

    /// Looks at the log after a commit.
    pub(super) fn look(&mut self, connection: &Connection, life: u64) -> Result<(), Fault> {
        let (pages, folded): (i64, i64) = connection
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
            .query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?;
        if pages >= PAGES_MAX && !self.busy {
            fold(connection)?;
        } else if pages - folded >= BESIDE_PAGES && !self.busy {
            self.busy = self.asked.as_ref().is_some_and(|asked| asked.send(life).is_ok());
        }
        Ok(())
    }

    pub(super) fn folded(&mut self) {
        self.busy = false;
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

fn connect(database: &Path) -> Result<Connection, Fault> {
    let connection = Connection::open(database)?;
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

/// Folds the write-ahead log into the file and empties it. Readers may keep part of it; the next time gets that.
pub(super) fn empty(connection: &Connection) -> Result<(), Fault> {
    fault::hit("checkpoint.before")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    fault::hit("checkpoint.after")?;
    Ok(())
}

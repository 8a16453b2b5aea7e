//! Bare SQLite doing the same work: one row an entry in a table with a unique index, WAL, synced at each commit; no
//! chain, no fold, no packing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rusqlite::{Connection, params};
use session::{Entry, SessionId};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::recording::Batch;

const INSERT: &str = "INSERT INTO entries (session, seq, time, epoch, body) VALUES (?, ?, ?, ?, ?)";

/// A bare file of entries.
#[derive(Debug)]
pub(crate) struct Bare {
    path: PathBuf,
    connection: Connection,
    numbers: HashMap<SessionId, i64>,
}

/// A connection with the settings of the store's own.
pub(crate) fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -64 * 1024)?;
    Ok(connection)
}

impl Bare {
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let connection = connect(&path)?;
        connection.execute_batch(
            "CREATE TABLE entries (session INTEGER NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL,
             epoch INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
             CREATE UNIQUE INDEX entries_by_seq ON entries (session, seq);",
        )?;
        Ok(Self { path, connection, numbers: HashMap::new() })
    }

    /// Commits the same entries in the same batches. Answers entries per second.
    pub(crate) fn replay(&mut self, batches: &[Batch]) -> Result<f64> {
        for (session, _) in batches.iter().flatten() {
            let next = self.numbers.len() as i64 + 1;
            self.numbers.entry(*session).or_insert(next);
        }
        let begun = Instant::now();
        let mut count = 0;
        for batch in batches {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            let mut insert = self.connection.prepare_cached(INSERT)?;
            for (session, entry) in batch {
                insert_entry(&mut insert, self.numbers[session], entry)?;
            }
            drop(insert);
            self.connection.execute_batch("COMMIT")?;
            count += batch.len();
        }
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }

    /// Reads a session on a fresh connection and looks at every body. Answers the time and the bytes seen.
    pub(crate) fn read(&self, session: SessionId) -> Result<(Duration, u64)> {
        let begun = Instant::now();
        let connection = Connection::open(&self.path)?;
        let mut select = connection
            .prepare("SELECT seq, time, epoch, body FROM entries WHERE session = ? ORDER BY seq")?;
        let mut rows = select.query([self.numbers[&session]])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let numbers: (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let body: String = row.get(3)?;
            seen += body.bytes().filter(|byte| *byte != 0).count() as u64 + u64::from(numbers.0 == 0);
        }
        Ok((begun.elapsed(), seen))
    }

    /// Folds the log of SQLite into the file.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}

fn insert_entry(insert: &mut rusqlite::Statement<'_>, session: i64, entry: &Entry) -> Result<()> {
    let body: &str = &entry.body;
    insert.execute(params![session, entry.seq.0, entry.time.0, entry.epoch.0, body])?;
    Ok(())
}

/// One entry that waits for its commit.
struct Submitted {
    session: i64,
    seq: i64,
    body: String,
    answer: oneshot::Sender<i64>,
}

/// How long a bare commit takes, in microseconds, with `count` submitters that each wait for theirs: one thread
/// commits what came while the commit before was syncing.
pub(crate) fn commit_micros(
    runtime: &Runtime,
    path: PathBuf,
    count: usize,
    texts: &'static [String],
    duration: Duration,
) -> Result<Vec<f64>> {
    let bare = Bare::create(path)?;
    let (submit, inbox) = mpsc::channel::<Submitted>();
    let committer = std::thread::spawn(move || commit_groups(&bare.connection, &inbox));
    let until = Instant::now() + duration;
    let submitters: Vec<_> = (0..count)
        .map(|session| {
            let submit = submit.clone();
            runtime.spawn(async move {
                let mut micros = Vec::new();
                while Instant::now() < until {
                    let seq = micros.len();
                    let text = &texts[(session * 7 + seq) % texts.len()];
                    let begun = Instant::now();
                    let (answer, answered) = oneshot::channel();
                    let body = format!("{{\"text_added\":{{\"run\":3,\"text\":\"{text}\"}}}}");
                    let submitted = Submitted { session: session as i64, seq: seq as i64, body, answer };
                    submit.send(submitted).map_err(|_| anyhow!("the bare committer is gone"))?;
                    answered.await?;
                    micros.push(begun.elapsed().as_secs_f64() * 1e6);
                }
                Ok::<_, anyhow::Error>(micros)
            })
        })
        .collect();
    drop(submit);
    let mut all = Vec::new();
    for submitter in submitters {
        all.extend(runtime.block_on(submitter)??);
    }
    committer.join().map_err(|_| anyhow!("the bare committer panicked"))??;
    Ok(all)
}

fn commit_groups(connection: &Connection, inbox: &mpsc::Receiver<Submitted>) -> Result<()> {
    let mut insert = connection.prepare(INSERT)?;
    while let Ok(first) = inbox.recv() {
        let group: Vec<Submitted> = std::iter::once(first).chain(inbox.try_iter()).collect();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for one in &group {
            insert.execute(params![one.session, one.seq, one.seq, 1, one.body])?;
        }
        connection.execute_batch("COMMIT")?;
        for one in group {
            one.answer.send(one.seq).map_err(|seq| anyhow!("nobody waits for bare entry {seq}"))?;
        }
    }
    Ok(())
}

//! Is everything as it was written? Every chain is followed, every log folded, and whatever stands beside the logs held
//! against what they say. Nothing is changed, and a server may go on serving meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use session::{BlobHash, Entry, Event, Link, RunEnd, RunId, Seq, Session, SessionId};
use uuid::Uuid;

use crate::blob::BlobDirectory;
use crate::catalog::{ListRow, TurnIndex};
use crate::directory::DataDirectory;

use super::catalog;
use super::disk::moment;
use super::read::{self, Page, Stop};
use super::tail::Tail;
use super::{Fault, LOGS_FILE, OpenStoreError, connect_to_read, load, migrate};

/// Entries in memory at once, for each worker.
const STRETCH: usize = 10_000;
const STRETCH_BYTES: usize = 16 * 1024 * 1024;
/// Logs that a worker takes at a time.
const LOGS: usize = 64;
/// How long one look at the store lasts. While it does, the write-ahead log of a server that serves cannot restart.
const LOOK: Duration = Duration::from_secs(2);

/// What was found.
#[derive(Debug, Default)]
pub struct Verified {
    pub sessions: u64,
    pub entries: u64,
    pub attachments: u64,
    /// Bytes of the file that was read.
    pub file_bytes: u64,
    pub troubles: Vec<Trouble>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    /// None: of the store as a whole.
    pub session: Option<SessionId>,
    pub kind: TroubleKind,
    pub what: String,
}

/// What kind of trouble, and so what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleKind {
    /// Entries are damaged or missing; those up to `intact` are whole.
    Damaged { intact: Seq },
    /// What is derived from a log is not what the log says.
    Astray,
    /// An attachment is missing or changed.
    Attachment,
    /// Something is left of what was erased.
    Leftover,
}

impl TroubleKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Damaged { .. } => "damaged",
            Self::Astray => "astray",
            Self::Attachment => "attachment",
            Self::Leftover => "leftover",
        }
    }
}

/// Told how many logs are done of how many.
pub type VerifyProgress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Verifies the store in a directory with so many workers.
///
/// # Errors
/// When it cannot be read at all, or is of another version.
pub fn verify(
    directory: &DataDirectory,
    workers: usize,
    progress: VerifyProgress<'_>,
) -> Result<Verified, OpenStoreError> {
    Ok(look_through(directory.path(), workers, progress)?)
}

pub(super) fn look_through(
    directory: &Path,
    workers: usize,
    progress: VerifyProgress<'_>,
) -> Result<Verified, Fault> {
    let path = directory.join(LOGS_FILE);
    let connection = connect_to_read(&path)?;
    migrate::is_today(&connection)?;
    load::shape(&connection)?;
    let logs: Vec<i64> = connection
        .prepare("SELECT no FROM logs ORDER BY no")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let work = Work {
        path: &path,
        logs: &logs,
        next: AtomicUsize::new(0),
        done: AtomicU64::new(0),
        found: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(|| work.take_part(progress))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(Fault::Damaged("a verification worker panicked".to_owned())))
        })
    })?;
    let mut found = work.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.file_bytes = std::fs::metadata(&path)?.len();
    leftovers(&connection, &mut found.troubles)?;
    attachments(&connection, directory, &mut found)?;
    found.troubles.sort();
    Ok(found)
}

/// The logs that are to be verified, shared by the workers.
struct Work<'a> {
    path: &'a Path,
    logs: &'a [i64],
    next: AtomicUsize,
    done: AtomicU64,
    found: Mutex<Verified>,
}

impl Work<'_> {
    fn take_part(&self, progress: VerifyProgress<'_>) -> Result<(), Fault> {
        let mut connection = connect_to_read(self.path)?;
        let mut batch = self.batch();
        while !batch.is_empty() {
            let transaction = connection.transaction()?;
            let tail = load::tail(&transaction)?.tail;
            let begun = moment();
            while !batch.is_empty() && begun.elapsed() < LOOK {
                let mut part = Verified::default();
                for no in batch {
                    verify_log(&transaction, &tail, *no, &mut part)?;
                }
                self.add(part);
                let done = self.done.fetch_add(batch.len() as u64, Ordering::Relaxed) + batch.len() as u64;
                progress(done, self.logs.len() as u64);
                batch = self.batch();
            }
        }
        Ok(())
    }

    fn batch(&self) -> &[i64] {
        let from = self.next.fetch_add(LOGS, Ordering::Relaxed).min(self.logs.len());
        &self.logs[from..(from + LOGS).min(self.logs.len())]
    }

    fn add(&self, part: Verified) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.sessions += part.sessions;
        found.entries += part.entries;
        found.troubles.extend(part.troubles);
    }
}

/// What one log says about everything that is kept beside it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) state: Session,
    pub(super) row: Option<ListRow>,
    pub(super) turns: TurnIndex,
    /// By key, of its own entries: what was shared with an origin is the origin's.
    pub(super) keys: BTreeMap<String, Seq>,
    pub(super) open_runs: BTreeSet<RunId>,
    pub(super) blobs: BTreeSet<String>,
}

impl Told {
    pub(super) fn take(&mut self, entry: &Entry, session: SessionId, own: bool) {
        session::fold(&mut self.state, entry);
        self.row.get_or_insert_with(|| ListRow::new(session)).apply(entry);
        self.turns.apply(entry);
        if let Event::SessionBranched { .. } = entry.event {
            self.open_runs.clear();
        }
        match &entry.event {
            Event::RunStarted { .. } => drop(self.open_runs.insert(RunId(entry.seq.0))),
            Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => {}
            Event::RunEnded { run, .. } | Event::RecoverySettled { run, .. } => {
                self.open_runs.remove(run);
            }
            _ => {}
        }
        if own && let Some((key, _)) = entry.event.key() {
            self.keys.entry(key.0.clone()).or_insert(entry.seq);
        }
        let message = entry.event.message();
        self.blobs
            .extend(message.iter().flat_map(|message| &message.attachments).map(|file| file.blob.0.clone()));
    }
}

/// A log as it stands in the table of logs.
pub(super) struct LogRow {
    pub(super) session: SessionId,
    epoch: u64,
    /// Erased, but branches still share its beginning.
    pub(super) trunk: bool,
}

pub(super) fn log_row(connection: &Connection, no: i64) -> Result<Option<LogRow>, Fault> {
    Ok(connection
        .prepare_cached("SELECT key, epoch, trunk FROM logs WHERE no = ?")?
        .query_row([no], |row| {
            Ok(LogRow {
                session: SessionId(Uuid::from_bytes(row.get(0)?)),
                epoch: row.get(1)?,
                trunk: row.get(2)?,
            })
        })
        .optional()?)
}

fn verify_log(connection: &Connection, tail: &Tail, no: i64, found: &mut Verified) -> Result<(), Fault> {
    // Erased since the logs were counted.
    let Some(log) = log_row(connection, no)? else { return Ok(()) };
    let session = log.session;
    let mut tell = |kind: TroubleKind, what: String| {
        found.troubles.push(Trouble { session: Some(session), kind, what });
    };
    let end = read::end(connection, tail.get(no), no)?;
    let base = read::log(connection, no)?.base.seq;
    let snapshot = snapshot(connection, no)?;
    let mut told = Told::default();
    let mut strange_snapshot = false;
    let (link, damage) = follow(connection, tail, no, end, |entry| {
        told.take(entry, session, entry.seq > base);
        if let Some((at, state)) = &snapshot
            && *at == entry.seq
        {
            strange_snapshot = *state != told.state;
        }
    })?;
    found.entries += link.seq.0.saturating_sub(base.0);
    if let Some(damage) = damage {
        tell(TroubleKind::Damaged { intact: link.seq }, damage);
        return Ok(());
    }
    let proven = read::proven(connection, no)?;
    if proven > end.seq {
        let what = format!("entries {} to {proven} are missing", end.seq.next());
        tell(TroubleKind::Damaged { intact: end.seq }, what);
        return Ok(());
    }
    if log.trunk || end.seq == base {
        return Ok(());
    }
    if log.epoch < end.epoch.0 {
        let what = format!("the epoch is {}, but the last entry has {}", log.epoch, end.epoch.0);
        tell(TroubleKind::Astray, what);
    }
    if strange_snapshot {
        tell(TroubleKind::Astray, "the snapshot does not match the log".to_owned());
    }
    for what in compare(connection, no, session, end, &mut told)? {
        tell(TroubleKind::Astray, what);
    }
    found.sessions += 1;
    Ok(())
}

/// Follows a log from its beginning. Answers how far it is whole, and what is wrong there.
pub(super) fn follow(
    connection: &Connection,
    tail: &Tail,
    no: i64,
    end: Link,
    mut take: impl FnMut(&Entry),
) -> Result<(Link, Option<String>), Fault> {
    let mut link = Link::START;
    while link.seq < end.seq {
        let mut page = Page::bounded(STRETCH, STRETCH_BYTES);
        let read = read::collect(connection, &|no| tail.get(no).cloned(), no, link.seq, &mut page);
        for entry in &page.entries {
            // Each stretch was checked by itself; here they join.
            if entry.seq != link.seq.next() || entry.epoch < link.epoch {
                return Ok((link, Some(format!("entry {} does not follow entry {}", entry.seq, link.seq))));
            }
            take(entry);
            link = entry.link();
        }
        match read {
            Ok(_) if page.entries.is_empty() => {
                return Ok((link, Some(format!("all entries from {} are missing", link.seq.next()))));
            }
            Ok(_) => {}
            Err(Stop::Damage(damage)) => return Ok((link, Some(damage.to_string()))),
            Err(Stop::Fault(Fault::Sqlite(error)))
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) =>
            {
                return Ok((link, Some(error.to_string())));
            }
            Err(Stop::Fault(fault)) => return Err(fault),
        }
    }
    match link == end {
        true => Ok((link, None)),
        false => Ok((link, Some(format!("the log does not match its recorded end, entry {}", end.seq)))),
    }
}

fn snapshot(connection: &Connection, no: i64) -> Result<Option<(Seq, Session)>, Fault> {
    let stored: Option<(u64, Vec<u8>)> = connection
        .prepare_cached("SELECT seq, body FROM snapshots WHERE no = ?")?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // One that cannot be read is only a longer fold.
    let read = |body: Vec<u8>| Session::from_bytes(&zstd::stream::decode_all(body.as_slice()).ok()?);
    Ok(stored.and_then(|(seq, body)| Some((Seq(seq), read(body)?))))
}

/// What stands beside a whole log and is not what it says.
fn compare(
    connection: &Connection,
    no: i64,
    session: SessionId,
    end: Link,
    told: &mut Told,
) -> Result<Vec<String>, Fault> {
    let mut wrong = Vec::new();
    let listed = catalog::list_row(connection, no)?;
    if let (Some(listed), Some(row)) = (&listed, &mut told.row) {
        // Logs that are older than this count began it at zero, and what was in the trash before its time was kept went
        // there when the store was brought to that schema. What waits for a person is known since then as well.
        row.interrupted = listed.interrupted;
        row.trashed_at = row.trashed_at.and(listed.trashed_at);
        row.needs = row.needs.and(listed.needs);
        // Sessions of before were not named after their first message.
        if listed.title.is_none() && !row.named_by_person {
            row.title = None;
        }
    }
    if listed != told.row {
        wrong.push(format!("the session list has {listed:?}, but the log has {:?}", told.row));
    }
    let mut select = connection.prepare_cached("SELECT tag FROM list_tags WHERE no = ? ORDER BY tag")?;
    let tags: BTreeSet<String> =
        select.query_map([no], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    if told.row.as_ref().is_some_and(|row| row.tags.iter().cloned().collect::<BTreeSet<_>>() != tags) {
        wrong.push(format!("the tag index does not match the log: {tags:?}"));
    }
    let mut select = connection.prepare_cached("SELECT key, seq FROM keys WHERE no = ?")?;
    let keys: BTreeMap<String, Seq> = select
        .query_map([no], |row| Ok((row.get(0)?, Seq(row.get(1)?))))?
        .collect::<rusqlite::Result<_>>()?;
    if keys != told.keys {
        wrong.push(format!(
            "the key index ({} keys) does not match the log ({} keys)",
            keys.len(),
            told.keys.len()
        ));
    }
    let mut select = connection.prepare_cached("SELECT run FROM open_runs WHERE no = ?")?;
    let runs: BTreeSet<RunId> =
        select.query_map([no], |row| Ok(RunId(row.get(0)?)))?.collect::<rusqlite::Result<_>>()?;
    if runs != told.open_runs {
        wrong.push(format!("the index of open runs has {runs:?}, but the log has {:?}", told.open_runs));
    }
    let indexed: Option<u64> = connection
        .prepare_cached("SELECT indexed_to FROM watermarks WHERE no = ?")?
        .query_row([no], |row| row.get(0))
        .optional()?;
    // What follows behind the log is compared where it has come to the end.
    if indexed == Some(end.seq.0) {
        let turns = catalog::turns(connection, session, None, usize::MAX)?;
        let folded = told.turns.page(None, usize::MAX);
        if turns != folded {
            wrong.push(format!(
                "the turn index ({} turns) does not match the log ({} turns)",
                turns.len(),
                folded.len()
            ));
        }
        let mut select = connection.prepare_cached("SELECT blob FROM blob_uses WHERE no = ?")?;
        let blobs: BTreeSet<String> =
            select.query_map([no], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        if let Some(blob) = told.blobs.difference(&blobs).next() {
            wrong.push(format!("attachment {blob} is used, but not recorded as used"));
        }
    }
    Ok(wrong)
}

/// Rows of logs that are no more.
fn leftovers(connection: &Connection, troubles: &mut Vec<Trouble>) -> Result<(), Fault> {
    let tables = [
        "packs",
        "keys",
        "open_runs",
        "list",
        "list_tags",
        "watermarks",
        "snapshots",
        "turns",
        "blob_uses",
        "session_ids",
    ];
    for table in tables {
        let sql = format!(
            "SELECT count(*) FROM {table} WHERE no IS NOT NULL AND NOT EXISTS (SELECT 1 FROM logs WHERE logs.no = {table}.no)"
        );
        let count: u64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if count > 0 {
            let what = format!("{count} rows of `{table}` belong to no session");
            troubles.push(Trouble { session: None, kind: TroubleKind::Leftover, what });
        }
    }
    Ok(())
}

/// Every attachment that a session uses is there, with the bytes it is named by.
fn attachments(connection: &Connection, directory: &Path, found: &mut Verified) -> Result<(), Fault> {
    let blobs = BlobDirectory::beside(directory.join("blobs"));
    let mut select = connection.prepare("SELECT blob, min(no) FROM blob_uses GROUP BY blob")?;
    let used = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for row in used {
        let (blob, no) = row?;
        let what = match blobs.get(&BlobHash(blob.clone())) {
            Ok(Some(_)) => {
                found.attachments += 1;
                continue;
            }
            Ok(None) => format!("attachment {blob} is missing"),
            Err(error) => format!("attachment {blob}: {error}"),
        };
        // A session that was erased meanwhile took it along.
        let log = connection
            .prepare_cached("SELECT 1 FROM blob_uses WHERE blob = ? AND no = ?")?
            .exists(params![blob, no])?;
        if log {
            let session = log_row(connection, no)?.map(|log| log.session);
            found.troubles.push(Trouble { session, kind: TroubleKind::Attachment, what });
        }
    }
    Ok(())
}

//! What is removed with a session: its log, packs, words, snapshot and keys, and the blobs that nobody else uses.
//! Its ids stay, as used. A beginning that branches share stays for them, without a name.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Params, params};
use session::{BlobHash, Event, Link, Seq};

use crate::Claim;
use crate::blob::BlobDirectory;
use crate::directory::Database;
use crate::error::{AppendError, StoreError};

use super::append::{self, link};
use super::disk::moment;
use super::project::{Work, make_packs, store_pack};
use super::read::{self, Page, Stop};
use super::request::{Answer, Failure, answer_with};
use super::source::{OnDamage, Source, TailOf};
use super::writer::Writer;
use super::{Fault, index, load, put};

/// The longest time that an erase waits for readers that keep its bytes in the write-ahead log.
const SCRUB_WAIT_MAX: Duration = Duration::from_millis(250);

impl Writer {
    /// Erases a session. Answers once the projecting thread has made its words unfindable and its bytes have left the
    /// write-ahead log, but waits for the latter at most [`SCRUB_WAIT_MAX`]. The words are scrubbed later.
    pub(super) fn erase_session(&mut self, claim: Claim, answer: Answer<Result<(), AppendError>>) {
        let Some(connection) = self.connection.take() else {
            return answer_with(answer, Err(StoreError::from(self.dead()).into()));
        };
        let result = self.erase_in(&connection, claim);
        self.connection = Some(connection);
        match result {
            Ok(Ok(no)) => {
                self.forgetting.insert(no, answer);
                self.ask_projector(Work::Forget { no });
                self.empty_soon();
            }
            Ok(Err(refused)) => answer_with(answer, Err(refused)),
            Err(failure) => {
                self.die(failure.reason());
                answer_with(answer, Err(failure.append_error()));
            }
        }
    }

    /// Asks for the words of logs whose erasing was cut off.
    pub(super) fn forget_doomed(&self) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        for no in doomed_words(connection)? {
            self.ask_projector(Work::Forget { no });
        }
        Ok(())
    }

    /// The words of an erased session are gone, or could not be removed: then the session is erased but not answered
    /// for, and the next start removes them.
    pub(super) fn forgotten(&mut self, no: i64, result: Result<(), String>) {
        let Some(connection) = &self.connection else { return };
        let noted = match &result {
            Ok(()) => words_removed(connection, no).map_err(|fault| fault.to_string()),
            Err(_) => Ok(()),
        };
        let answered = match (&result, &noted) {
            (Ok(()), Ok(())) => Ok(()),
            (Err(reason), _) => {
                tracing::error!(
                    reason,
                    "failed to delete search index of deleted session, retrying at the next start"
                );
                let reason =
                    format!("the session is deleted, but its search index only at the next start: {reason}");
                Err(AppendError::Unknown { reason })
            }
            (Ok(()), Err(reason)) => Err(AppendError::Unknown { reason: reason.clone() }),
        };
        match (self.forgetting.remove(&no), answered) {
            (Some(answer), Ok(())) if self.empty_due => {
                self.scrubbing.push((moment() + SCRUB_WAIT_MAX, answer));
            }
            (Some(answer), answered) => answer_with(answer, answered),
            (None, _) => {}
        }
        if let Err(reason) = noted {
            self.die(&reason);
        }
    }

    /// Answers erases that have waited [`SCRUB_WAIT_MAX`] for a reader. The log is emptied once no reader needs it, if
    /// necessary after a restart.
    pub(super) fn answer_erased(&mut self, now: Instant) {
        for (_, answer) in self.scrubbing.extract_if(.., |(until, _)| *until <= now) {
            answer_with(answer, Ok(()));
        }
    }

    fn erase_in(
        &mut self,
        connection: &Connection,
        claim: Claim,
    ) -> Result<Result<i64, AppendError>, Failure> {
        let before = |fault: Fault| Failure::Before(fault.to_string());
        let head = {
            let tail = self.shared.tail();
            append::load_head(connection, &tail, claim.session).map_err(before)?
        };
        let Some(head) = head else { return Ok(Err(AppendError::Deleted(claim.session))) };
        if head.epoch != claim.epoch {
            return Ok(Err(AppendError::Fenced { current: head.epoch }));
        }
        (|| -> Result<(), Fault> {
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let blobs = erase(connection, &|no| self.shared.tail().get(no).cloned(), head.no)?;
            doom(connection, &blobs)?;
            fault::hit("erase.before_commit")?;
            Ok(())
        })()
        .map_err(before)?;
        connection.execute_batch("COMMIT").map_err(|error| Failure::Unknown(error.to_string()))?;
        let after = |fault: Fault| Failure::Unknown(fault.to_string());
        self.directory.note_commit(Database::Logs, connection).map_err(after)?;
        fault::hit("erase.after_commit").map_err(|error| after(error.into()))?;
        self.shared.damaged().forget(head.no);
        self.active.remove(&claim.session);
        self.snapshots.remove(&claim.session);
        self.projected.retain(|projection| projection.session != claim.session);
        self.reload_tail(connection).map_err(after)?;
        fault::hit("erase.before_blobs").map_err(|error| after(error.into()))?;
        remove_doomed(connection, &self.shared.blobs).map_err(after)?;
        fault::hit("erase.after_blobs").map_err(|error| after(error.into()))?;
        connection.pragma_update(None, "secure_delete", "FAST").map_err(|error| after(error.into()))?;
        // Pages that are free now are given back once it is quiet.
        self.wrote = true;
        Ok(Ok(head.no))
    }

    /// A trunk keeps part of its tail, so what is known of the tail is read anew.
    fn reload_tail(&mut self, connection: &Connection) -> Result<(), Fault> {
        let loaded = load::tail(connection)?;
        let mut damaged = self.shared.damaged();
        loaded.damaged.into_iter().for_each(|(no, intact)| damaged.note_unwritable(no, intact));
        drop(damaged);
        *self.shared.tail() = loaded.tail;
        Ok(())
    }
}

/// Removes a session in the current transaction and answers the blobs that nobody uses any more.
pub(super) fn erase(connection: &Connection, tail: TailOf<'_>, no: i64) -> Result<BTreeSet<BlobHash>, Fault> {
    connection.execute("UPDATE session_ids SET no = NULL WHERE no = ?", [no])?;
    for table in ["list", "list_tags", "keys", "open_runs", "snapshots", "turns", "watermarks"] {
        connection.execute(&format!("DELETE FROM {table} WHERE no = ?"), [no])?;
    }
    connection.execute("INSERT OR IGNORE INTO doomed_words (no) VALUES (?)", [no])?;
    let mut used = BTreeSet::new();
    purge(connection, tail, no, &mut used)?;
    unused(connection, used)
}

/// Those of some blobs that no session uses and no upload brought for a message to come.
pub(super) fn unused(
    connection: &Connection,
    blobs: BTreeSet<BlobHash>,
) -> Result<BTreeSet<BlobHash>, Fault> {
    if blobs.is_empty() {
        return Ok(blobs);
    }
    let in_tail = tail_blobs(connection, "no != 0", [])?;
    let mut used = connection.prepare_cached("SELECT 1 FROM blob_uses WHERE blob = ? LIMIT 1")?;
    let mut unused = BTreeSet::new();
    for blob in blobs {
        if !in_tail.contains(&blob) && !used.exists([&blob.0])? && !put::is_pending(connection, &blob)? {
            unused.insert(blob);
        }
    }
    Ok(unused)
}

/// Notes blobs whose files go once the transaction is durable, so that a crash in between does not leave them.
pub(super) fn doom(connection: &Connection, blobs: &BTreeSet<BlobHash>) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO doomed_blobs (blob) VALUES (?)")?;
    for blob in blobs {
        insert.execute([&blob.0])?;
    }
    Ok(())
}

/// Logs whose words are still to be removed.
pub(super) fn doomed_words(connection: &Connection) -> Result<Vec<i64>, Fault> {
    let mut select = connection.prepare("SELECT no FROM doomed_words")?;
    Ok(select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// The words of a log are gone.
pub(super) fn words_removed(connection: &Connection, no: i64) -> Result<(), Fault> {
    fault::hit("erase.before_words_noted")?;
    connection.execute("DELETE FROM doomed_words WHERE no = ?", [no])?;
    fault::hit("erase.after_words_noted")?;
    Ok(())
}

/// Removes the files of doomed blobs, except those that a session or an upload has come to use since.
pub(super) fn remove_doomed(connection: &Connection, blobs: &BlobDirectory) -> Result<(), Fault> {
    let mut select = connection.prepare("SELECT blob FROM doomed_blobs")?;
    let doomed: BTreeSet<BlobHash> =
        select.query_map([], |row| row.get(0).map(BlobHash))?.collect::<rusqlite::Result<_>>()?;
    if doomed.is_empty() {
        return Ok(());
    }
    for blob in &unused(connection, doomed)? {
        match blobs.remove(blob) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    fault::hit("erase.before_forget")?;
    connection.execute("DELETE FROM doomed_blobs", [])?;
    fault::hit("erase.after_forget")?;
    Ok(())
}

/// Removes a log as far as no branch shares it, and the trunks that nobody shares any more. Adds the blobs that it
/// used to `blobs`.
fn purge(
    connection: &Connection,
    tail: TailOf<'_>,
    no: i64,
    blobs: &mut BTreeSet<BlobHash>,
) -> Result<(), Fault> {
    let used = used_blobs(connection, no)?;
    connection.execute("DELETE FROM blob_uses WHERE no = ?", [no])?;
    let shared: Option<u64> =
        connection.query_row("SELECT max(base_seq) FROM logs WHERE parent = ?", [no], |row| row.get(0))?;
    if let Some(shared) = shared {
        connection.execute("UPDATE logs SET trunk = 1, node = NULL WHERE no = ?", [no])?;
        if !used.is_empty() {
            note_blobs(connection, tail, no, Seq(shared))?;
        }
        blobs.extend(used);
        return cut(connection, tail, no, Seq(shared));
    }
    blobs.extend(used);
    let parent: Option<i64> =
        connection.query_row("SELECT parent FROM logs WHERE no = ?", [no], |row| row.get(0))?;
    connection.execute("DELETE FROM packs WHERE no = ?", [no])?;
    blank(connection, no, 0)?;
    connection.execute("DELETE FROM logs WHERE no = ?", [no])?;
    if let Some(parent) = parent {
        let trunk: bool =
            connection.query_row("SELECT trunk FROM logs WHERE no = ?", [parent], |row| row.get(0))?;
        if trunk {
            return purge(connection, tail, parent, blobs);
        }
    }
    Ok(())
}

/// Keeps a log up to `end` alone, in packs alone: nobody writes it any more, so nobody would pack its tail later.
fn cut(connection: &Connection, tail: TailOf<'_>, no: i64, end: Seq) -> Result<(), Fault> {
    let whole = connection
        .query_row(
            "SELECT last_seq, last_epoch, last_hash FROM packs WHERE no = ? AND last_seq <= ?
             ORDER BY first_seq DESC LIMIT 1",
            params![no, end.0],
            |row| Ok(link(row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let prev: Link = whole.map_or_else(|| read::log(connection, no).map(|log| log.base), Ok)?;
    let count = usize::try_from(end.0.saturating_sub(prev.seq.0)).unwrap_or(usize::MAX);
    let mut page = Page::of(count);
    match read::collect(connection, tail, no, prev.seq, &mut page) {
        Ok(_) if page.entries.len() == count => {}
        Err(Stop::Fault(fault)) => return Err(fault),
        // What cannot be read cannot be packed anew: it stays as it is, and only what stands after it goes.
        Ok(_) | Err(Stop::Damage(_)) => {
            connection.execute("DELETE FROM packs WHERE no = ? AND first_seq > ?", params![no, end.0])?;
            return blank(connection, no, end.0);
        }
    }
    connection.execute("DELETE FROM packs WHERE no = ? AND first_seq > ?", params![no, prev.seq.0])?;
    blank(connection, no, 0)?;
    make_packs(prev, &page.entries)?.iter().try_for_each(|pack| store_pack(connection, no, pack))
}

/// Notes the blobs that a log uses up to `end`; those after it are no longer used.
fn note_blobs(connection: &Connection, tail: TailOf<'_>, no: i64, end: Seq) -> Result<(), Fault> {
    let base = read::log(connection, no)?.base.seq;
    // Damage ends the reading; a blob that only stands behind it cannot be shown either.
    Source { connection, tail, no }.go_through(OnDamage::End, base, end, |entries| {
        let mut messages = entries.iter().filter_map(|entry| entry.event.message());
        messages.try_for_each(|message| index::blobs(connection, no, message))
    })?;
    Ok(())
}

/// Blanks rows of the tail. They go when the tail is trimmed: its row ids have no gap, so that a missing row shows.
fn blank(connection: &Connection, no: i64, after: u64) -> Result<(), Fault> {
    connection.execute(
        "UPDATE tail SET no = 0, seq = 0, time = 0, epoch = 0, hash = x'', body = '' WHERE no = ? AND seq > ?",
        params![no, after],
    )?;
    Ok(())
}

/// Blobs that the session uses, also those that are not indexed yet.
fn used_blobs(connection: &Connection, no: i64) -> Result<BTreeSet<BlobHash>, Fault> {
    let mut indexed = connection.prepare("SELECT blob FROM blob_uses WHERE no = ?")?;
    let mut blobs: BTreeSet<BlobHash> =
        indexed.query_map([no], |row| row.get(0).map(BlobHash))?.collect::<rusqlite::Result<_>>()?;
    blobs.extend(tail_blobs(connection, "no = ?", [no])?);
    Ok(blobs)
}

/// Blobs that some rows of the tail use.
fn tail_blobs(connection: &Connection, rows: &str, of: impl Params) -> Result<BTreeSet<BlobHash>, Fault> {
    let sql = format!("SELECT body FROM tail WHERE {rows} AND body LIKE '%\"attachments\"%'");
    let mut select = connection.prepare(&sql)?;
    let mut bodies = select.query(of)?;
    let mut blobs = BTreeSet::new();
    while let Some(row) = bodies.next()? {
        let body: String = row.get(0)?;
        if let Some(message) = serde_json::from_str(&body).ok().as_ref().and_then(Event::message) {
            blobs.extend(message.attachments.iter().map(|attachment| attachment.blob.clone()));
        }
    }
    Ok(blobs)
}

//! What the writing thread does between commits, in small pieces: stores projections and snapshots, trims the tail,
//! packs what is idle, and gives space back.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::{Connection, params};
use session::{BlobHash, Event, Link, Seq, SessionId};

use crate::Snapshot;

use super::disk::moment;
use super::project::{self, Due, Packing, Projection};
use super::request::answer_with;
use super::writer::Writer;
use super::{Fault, index};

/// How often idle work is looked for.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// A session without a run is packed when nothing came for this long.
const IDLE: Duration = Duration::from_secs(1);
/// Longest stretch of projecting while appends may wait.
const SLICE: Duration = Duration::from_millis(4);
/// After a slice, appends have the thread for at least this many times as long.
const REST_FACTOR: u32 = 3;
/// Rows of the tail before its oldest session is packed in mid-run, so that the tail can be trimmed.
const TAIL_ROWS_MAX: i64 = 100_000;
/// The same per session that writes, so that many at once still make whole packs.
const TAIL_ROWS_PER_SESSION: i64 = 300;
/// Entries and bytes after which a run that goes on is packed so far.
pub(super) const SESSION_ROWS_MAX: usize = 4_096;
pub(super) const SESSION_BYTES_MAX: usize = 1024 * 1024;
/// Rows removed from the tail in one go.
const TRIM_ROWS_MAX: i64 = 4_000;
/// Sessions handed to the projector at once.
const IN_FLIGHT_MAX: usize = 32;
/// Free pages given back to the disk in one go when idle.
const VACUUM_PAGES: i64 = 2_000;

impl Writer {
    pub(super) fn take_projection(
        &mut self,
        session: SessionId,
        no: i64,
        life: u64,
        answer: Result<Box<Projection>, String>,
    ) {
        self.in_flight = self.in_flight.saturating_sub(1);
        // The session may have been erased, or the store died, since it was asked for.
        let Some(active) = self.active.get_mut(&session).filter(|_| life == self.life) else { return };
        match answer {
            Ok(projection) => self.projected.push_back(projection),
            Err(reason) => {
                tracing::error!(%session, reason, "the session could not be projected");
                self.damaged.insert(no);
                active.in_flight = false;
                active.due_since = None;
                active.pack_due = false;
            }
        }
    }

    /// Projects, trims and tidies, in small pieces.
    pub(super) fn background(&mut self) {
        self.hand_out();
        let now = moment();
        if now >= self.next_slice && self.connection.is_some() {
            let busy = !self.projected.is_empty() || !self.snapshots.is_empty();
            if busy && let Err(fault) = self.slice() {
                return self.die(&fault.to_string());
            }
            let spent = moment().duration_since(now);
            let rest = if self.settling.is_empty() { spent * REST_FACTOR } else { Duration::ZERO };
            self.next_slice = moment() + rest;
        }
        if moment() >= self.next_tick || !self.settling.is_empty() {
            self.next_tick = moment() + TICK;
            if let Err(fault) = self.tick() {
                self.die(&fault.to_string());
            }
        }
    }

    /// Hands sessions to the projector, so many that it never runs dry.
    pub(super) fn hand_out(&mut self) {
        while self.in_flight < IN_FLIGHT_MAX {
            let Some(session) = self.due.pop_front() else { return };
            let Some(active) = self.active.get_mut(&session) else { continue };
            active.queued = false;
            if active.in_flight {
                continue;
            }
            let Some(tail) = self.shared.tail().get(active.head.no).cloned() else {
                active.due_since = None;
                active.pack_due = false;
                continue;
            };
            let packing = if active.pack_due { Packing::Pack } else { Packing::IndexOnly };
            let (no, indexed_to) = (active.head.no, active.head.indexed_to);
            let due = Due { session, no, indexed_to, tail, packing, life: self.life };
            active.in_flight = true;
            active.pack_due = false;
            self.in_flight += 1;
            if self.projector.as_ref().is_none_or(|projector| projector.send(due).is_err()) {
                return;
            }
        }
    }

    /// Stores projections for a few milliseconds, in one transaction.
    pub(super) fn slice(&mut self) -> Result<(), Fault> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let result = self.slice_in(&connection);
        self.connection = Some(connection);
        result
    }

    pub(super) fn slice_in(&mut self, connection: &Connection) -> Result<(), Fault> {
        let begun = moment();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut stored = Vec::new();
        let mut packed = false;
        while let Some(projection) = self.projected.pop_front() {
            store(connection, &projection)?;
            packed |= !projection.packs.is_empty();
            stored.push(projection);
            if moment().duration_since(begun) >= SLICE && self.settling.is_empty() {
                break;
            }
        }
        if packed {
            fault::hit("pack.before_commit")?;
        }
        let snapshot = self.snapshots.pop_first();
        if let Some((session, snapshot)) = &snapshot {
            save_snapshot(connection, *session, snapshot)?;
            fault::hit("snapshot.before_commit")?;
        }
        fault::hit("project.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("project.after_commit")?;
        if packed {
            fault::hit("pack.after_commit")?;
        }
        if snapshot.is_some() {
            fault::hit("snapshot.after_commit")?;
        }
        for projection in &stored {
            self.stored(projection);
        }
        self.trim(connection)
    }

    /// Forgets what a stored projection took out of the tail.
    pub(super) fn stored(&mut self, projection: &Projection) {
        let mut tail = self.shared.tail();
        for pack in &projection.packs {
            tail.packed(projection.no, pack.last, pack.size_bytes);
        }
        drop(tail);
        let Some(active) = self.active.get_mut(&projection.session) else { return };
        active.in_flight = false;
        active.head.indexed_to = active.head.indexed_to.max(projection.indexed_to);
        // What came meanwhile is due again.
        let behind = active.head.link.seq > active.head.indexed_to;
        active.due_since = active.due_since.filter(|_| behind);
        if (active.due_since.is_some() || active.pack_due) && !active.queued {
            active.queued = true;
            self.due.push_back(projection.session);
        }
    }

    /// Removes rows at the beginning of the tail that no session needs any more.
    pub(super) fn trim(&mut self, connection: &Connection) -> Result<(), Fault> {
        let (first, low_water) = {
            let tail = self.shared.tail();
            (tail.first_row, tail.low_water())
        };
        let settling = !self.settling.is_empty();
        if low_water - first < TRIM_ROWS_MAX && !(settling && low_water > first) {
            return Ok(());
        }
        let end = if settling { low_water } else { low_water.min(first + TRIM_ROWS_MAX) };
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.prepare_cached("DELETE FROM tail WHERE id < ?")?.execute([end])?;
        fault::hit("trim.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("trim.after_commit")?;
        self.shared.tail().first_row = end;
        Ok(())
    }

    /// What is looked at a few times a second: lag, idle sessions, a tail that grew too long, the file's size.
    pub(super) fn tick(&mut self) -> Result<(), Fault> {
        let now = moment();
        let settling = !self.settling.is_empty();
        let oldest = self.active.values().filter_map(|active| active.due_since).min();
        let lag = oldest
            .map_or(0, |since| i64::try_from(now.duration_since(since).as_micros()).unwrap_or(i64::MAX));
        self.shared.lag_micros.store(lag, Ordering::Relaxed);
        let pinning = {
            let tail = self.shared.tail();
            let writing = i64::try_from(tail.sessions().count()).unwrap_or(i64::MAX);
            let limit = TAIL_ROWS_MAX.max(writing.saturating_mul(TAIL_ROWS_PER_SESSION));
            if tail.length() > limit { tail.oldest() } else { None }
        };
        for (session, active) in &mut self.active {
            let idle = now.duration_since(active.last_append) >= IDLE && !active.run_open;
            let has_tail = self.shared.tail().get(active.head.no).is_some();
            // What is damaged stays in the tail as it is.
            let sound = has_tail && !self.damaged.contains(&active.head.no);
            let wanted = sound && (settling || idle || pinning == Some(active.head.no));
            if wanted && !active.in_flight && !active.pack_due {
                active.pack_due = true;
                if !active.queued {
                    active.queued = true;
                    self.due.push_back(*session);
                }
            }
        }
        self.active.retain(|_, active| {
            let has_tail = self.shared.tail().get(active.head.no).is_some();
            has_tail || active.in_flight || active.run_open || now.duration_since(active.last_append) < IDLE
        });
        self.hand_out();
        let quiet = self.in_flight == 0
            && self.projected.is_empty()
            && self.due.is_empty()
            && self.snapshots.is_empty();
        if quiet && self.connection.is_some() {
            self.when_quiet(settling)?;
        }
        Ok(())
    }

    /// Gives space back once nothing is left to project.
    pub(super) fn when_quiet(&mut self, settling: bool) -> Result<(), Fault> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let idle = self.active.values().all(|active| moment().duration_since(active.last_append) >= IDLE);
        let result = (|| -> Result<(), Fault> {
            if !(settling || self.wrote && idle) {
                return Ok(());
            }
            if settling {
                self.trim(&connection)?;
            }
            let pages = if settling { i64::from(i32::MAX) } else { VACUUM_PAGES };
            vacuum(&connection, pages)?;
            checkpoint(&connection)?;
            self.wrote = false;
            Ok(())
        })();
        self.connection = Some(connection);
        result?;
        if settling {
            self.shared.lag_micros.store(0, Ordering::Relaxed);
            self.settling.drain(..).for_each(|answer| answer_with(answer, Ok(())));
        }
        Ok(())
    }
}

pub(super) fn attachments(event: &Event) -> impl Iterator<Item = &BlobHash> {
    let message = match event {
        Event::MessagePosted { message, .. }
        | Event::MessageEdited { message, .. }
        | Event::QueuedEdited { message, .. } => Some(message),
        _ => None,
    };
    message.into_iter().flat_map(|message| message.attachments.iter().map(|attachment| &attachment.blob))
}

fn store(connection: &Connection, projection: &Projection) -> Result<(), Fault> {
    index::inherit(connection, projection.no, &projection.inherited)?;
    for entry in &projection.entries {
        index::turns(connection, projection.no, entry)?;
    }
    for document in &projection.documents {
        index::document(connection, projection.no, document)?;
    }
    index::watermark(connection, projection.no, projection.indexed_to)?;
    for pack in &projection.packs {
        project::store_pack(connection, projection.no, pack)?;
    }
    Ok(())
}

fn save_snapshot(connection: &Connection, session: SessionId, snapshot: &Snapshot) -> Result<(), Fault> {
    let Link { seq: Seq(seq), epoch, hash } = snapshot.at;
    // A checksum, because nothing else would tell a state that changed on the disk.
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1)?;
    encoder.include_checksum(true)?;
    encoder.write_all(&snapshot.state)?;
    let body = encoder.finish()?;
    connection
        .prepare_cached(
            "INSERT INTO snapshots (no, seq, epoch, hash, body)
             SELECT no, ?2, ?3, ?4, ?5 FROM logs WHERE key = ?1 AND trunk = 0
             ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, epoch = excluded.epoch, hash = excluded.hash,
             body = excluded.body WHERE excluded.seq > snapshots.seq",
        )?
        .execute(params![session.0.as_bytes().as_slice(), seq, epoch.0, hash.0, body])?;
    Ok(())
}

/// Gives free pages back to the disk. The pragma frees one page a step, so it must be stepped to its end.
fn vacuum(connection: &Connection, pages: i64) -> Result<(), Fault> {
    let mut steps = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    fault::hit("vacuum.before")?;
    let mut rows = steps.query([])?;
    while rows.next()?.is_some() {}
    fault::hit("vacuum.after")?;
    Ok(())
}

/// Folds the write-ahead log into the file and empties it. Readers may keep part of it; the next time gets that.
pub(super) fn checkpoint(connection: &Connection) -> Result<(), Fault> {
    fault::hit("checkpoint.before")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    fault::hit("checkpoint.after")?;
    Ok(())
}

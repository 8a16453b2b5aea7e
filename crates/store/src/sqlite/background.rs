//! What the writing thread does between commits, in small pieces: stores projections and snapshots, trims the tail,
//! packs what is idle, and gives space back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::{Connection, params};
use session::{Link, Seq, SessionId};

use crate::directory::Database;
use crate::metrics;

use super::disk::moment;
use super::project::{self, CLOSING_MAX, Due, NotProjected, Packing, Projection, Work};
use super::request::{PackedSnapshot, answer_with};
use super::tail::TailSession;
use super::writer::Writer;
use super::{Fault, index};

/// How often idle work is looked for.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// A session without a run is packed when nothing came for this long.
const IDLE: Duration = Duration::from_secs(1);
/// Longest stretch of storing projections while appends may wait.
const SLICE: Duration = Duration::from_millis(1);
/// Bytes of snapshots kept in one go.
const SLICE_SNAPSHOT_BYTES: usize = 256 * 1024;
/// After a slice, appends have the thread for so many times as long, as long as projections lag less than this.
const RESTS: [(Duration, u32); 2] = [(Duration::from_millis(250), 3), (Duration::from_millis(750), 1)];
/// Projections may lag so far before appends are slowed down; with so much more lag a commit takes twice as long.
const LAG_UNSLOWED: Duration = Duration::from_millis(500);
const LAG_DOUBLES: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Rows of the tail before those sessions that keep older ones are packed in mid-run, so that it can be trimmed.
const TAIL_ROWS_MAX: i64 = 100_000;
/// The same per session that writes, so that many at once still make whole packs.
const TAIL_ROWS_PER_SESSION: i64 = 300;
/// Entries and bytes after which a run that goes on is packed so far.
pub(super) const SESSION_ROWS_MAX: usize = 4_096;
pub(super) const SESSION_BYTES_MAX: usize = 1024 * 1024;
/// Rows removed from the tail in one go while appends may wait: about a millisecond.
const TRIM_ROWS_MAX: i64 = 512;
/// Sessions handed to the projector at once.
const IN_FLIGHT_MAX: usize = 32;
/// Pause before a session that could not be projected is tried again, doubled up to the longest.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(10);
/// Attempts in a row that find the database malformed before that counts as damage: 3 s and more.
const MALFORMED_MAX: u32 = 5;
/// Free pages given back to the disk in one go when idle.
const VACUUM_PAGES: i64 = 2_000;

fn retry_pause(failures: u32) -> Duration {
    RETRY_PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(RETRY_PAUSE_MAX)
}

impl Writer {
    pub(super) fn take_projection(
        &mut self,
        session: SessionId,
        no: i64,
        life: u64,
        answer: Result<Box<Projection>, NotProjected>,
    ) {
        self.in_flight = self.in_flight.saturating_sub(1);
        // The session may have been erased, or the store died, since it was asked for.
        let Some(active) = self.active.get_mut(&session).filter(|_| life == self.life) else { return };
        let answer = answer.map_err(|not_projected| match not_projected {
            NotProjected::Malformed(reason) if active.malformed >= MALFORMED_MAX => {
                NotProjected::Damaged(reason)
            }
            not_projected => not_projected,
        });
        active.malformed =
            if matches!(answer, Err(NotProjected::Malformed(_))) { active.malformed + 1 } else { 0 };
        match answer {
            Ok(projection) => self.projected.push_back(projection),
            Err(NotProjected::Failed(reason) | NotProjected::Malformed(reason)) => {
                metrics::count_failed_projection();
                tracing::warn!(%session, reason, "failed to project session, retrying");
                active.in_flight = false;
                active.pack_due = false;
                active.retry_at = Some(moment() + retry_pause(active.failures));
                active.failures = active.failures.saturating_add(1);
            }
            Err(NotProjected::Damaged(reason)) => {
                tracing::error!(%session, reason, "session log damaged");
                active.in_flight = false;
                active.due_since = None;
                active.pack_due = false;
                self.shared.damaged().note_unwritable(no, active.head.indexed_to);
            }
        }
    }

    /// Projects, trims and tidies, in small pieces.
    pub(super) fn background(&mut self) {
        let now = moment();
        if now >= self.next_slice && self.connection.is_some() {
            if self.has_slice()
                && let Err(fault) = self.slice()
            {
                return self.die(&fault.to_string());
            }
            self.next_slice = moment() + moment().duration_since(now) * self.rest_factor();
        }
        self.hand_out();
        if moment() >= self.next_tick || (!self.settling.is_empty() && self.is_quiet()) {
            self.next_tick = moment() + TICK;
            if let Err(fault) = self.tick() {
                self.die(&fault.to_string());
            }
        }
    }

    /// Whether something waits to be stored or trimmed.
    pub(super) fn has_slice(&self) -> bool {
        !self.projected.is_empty() || !self.snapshots.is_empty() || self.needless_rows >= TRIM_ROWS_MAX
    }

    fn lag(&self) -> Duration {
        Duration::from_micros(self.shared.lag_micros.load(Ordering::Relaxed).unsigned_abs())
    }

    /// How long appends wait after a commit that took so long, so that projections that lag far behind come up. They
    /// are not lost to it: more of them share the next commit.
    pub(super) fn pause(&self, commit: Duration) -> Duration {
        let over = self.lag().saturating_sub(LAG_UNSLOWED);
        commit.mul_f64(over.div_duration_f64(LAG_DOUBLES)).min(PAUSE_MAX)
    }

    /// How much longer than a slice appends have the thread after it. What lags far behind takes turns with them.
    fn rest_factor(&self) -> u32 {
        let lag = self.lag();
        let rest = RESTS.iter().find(|(limit, _)| lag < *limit && self.settling.is_empty());
        rest.map_or(0, |(_, factor)| *factor)
    }

    /// Hands sessions to the projector, so many that it never runs dry.
    pub(super) fn hand_out(&mut self) {
        while self.in_flight < IN_FLIGHT_MAX {
            let Some(session) = self.due.pop_front() else { return };
            let Some(active) = self.active.get_mut(&session) else { continue };
            active.queued = false;
            if active.in_flight || active.retry_at.is_some_and(|at| at > moment()) {
                continue;
            }
            active.retry_at = None;
            let Some(tail) = self.shared.tail().get(active.head.no).cloned() else {
                active.due_since = None;
                active.pack_due = false;
                continue;
            };
            let packing = if active.pack_due { Packing::Pack } else { Packing::IndexOnly };
            let (no, indexed_to) = (active.head.no, active.head.indexed_to);
            let due = Due { session, no, indexed_to, tail, packing, life: self.life };
            active.in_flight = true;
            active.handed_at = moment();
            active.pack_due = false;
            self.in_flight += 1;
            self.ask_projector(Work::Project(due));
        }
    }

    /// Stores projections for a moment, trims the tail and keeps snapshots, in one transaction.
    pub(super) fn slice(&mut self) -> Result<(), Fault> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let result = self.slice_in(&connection);
        self.connection = Some(connection);
        result?;
        self.look_at_wal();
        Ok(())
    }

    pub(super) fn slice_in(&mut self, connection: &Connection) -> Result<(), Fault> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let begun = moment();
        let mut stored = Vec::new();
        while let Some(projection) = self.projected.pop_front() {
            store(connection, &projection)?;
            stored.push(projection);
            if begun.elapsed() >= SLICE && self.settling.is_empty() {
                break;
            }
        }
        rely_on_words(connection, &stored)?;
        let trimmed = self.trim(connection, TRIM_ROWS_MAX)?;
        let packed = stored.iter().any(|projection| !projection.packs.is_empty());
        if packed {
            fault::hit("pack.before_commit")?;
        }
        let snapshots = self.store_snapshots(connection)?;
        fault::hit("project.before_commit")?;
        connection.execute_batch("COMMIT")?;
        self.directory.note_commit(Database::Logs, connection)?;
        fault::hit("project.after_commit")?;
        if packed {
            fault::hit("pack.after_commit")?;
        }
        if snapshots {
            fault::hit("snapshot.after_commit")?;
        }
        if let Some(first_row) = trimmed {
            fault::hit("trim.after_commit")?;
            self.shared.tail().first_row = first_row;
        }
        for projection in &stored {
            self.stored(projection);
        }
        self.needless_rows = self.shared.tail().needless_rows();
        Ok(())
    }

    /// Stores some of the waiting snapshots in the open transaction. Returns whether there were any.
    fn store_snapshots(&mut self, connection: &Connection) -> Result<bool, Fault> {
        let mut bytes = 0;
        while bytes < SLICE_SNAPSHOT_BYTES
            && let Some((session, snapshot)) = self.snapshots.pop_first()
        {
            save_snapshot(connection, session, &snapshot)?;
            bytes += snapshot.body.len();
        }
        if bytes > 0 {
            fault::hit("snapshot.before_commit")?;
        }
        Ok(bytes > 0)
    }

    /// Stores the snapshots of sessions that were retired just before the store closes, within [`CLOSING_MAX`].
    pub(super) fn store_last_snapshots(&mut self, connection: &Connection) -> Result<(), Fault> {
        let begun = moment();
        while !self.snapshots.is_empty() && begun.elapsed() < CLOSING_MAX {
            let transaction = connection.unchecked_transaction()?;
            self.store_snapshots(&transaction)?;
            transaction.commit()?;
            self.directory.note_commit(Database::Logs, connection)?;
            fault::hit("snapshot.after_commit")?;
        }
        Ok(())
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
        active.failures = 0;
        active.head.indexed_to = active.head.indexed_to.max(projection.indexed_to);
        // What came meanwhile is due again.
        let behind = active.indexable_to > active.head.indexed_to;
        active.due_since = behind.then_some(active.handed_at);
        if (active.due_since.is_some() || active.pack_due) && !active.queued {
            active.queued = true;
            self.due.push_back(projection.session);
        }
    }

    /// Removes rows at the beginning of the tail that no session needs any more, in the current transaction. Answers
    /// the first row that is left, if any went.
    pub(super) fn trim(&self, connection: &Connection, count: i64) -> Result<Option<i64>, Fault> {
        let (first_row, needless) = {
            let tail = self.shared.tail();
            (tail.first_row, tail.needless_rows())
        };
        if needless == 0 {
            return Ok(None);
        }
        let end = first_row + needless.min(count);
        connection.prepare_cached("DELETE FROM tail WHERE id < ?")?.execute([end])?;
        fault::hit("trim.before_commit")?;
        Ok(Some(end))
    }

    /// Removes all of them.
    fn trim_all(&mut self, connection: &Connection) -> Result<(), Fault> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let trimmed = self.trim(connection, i64::MAX)?;
        connection.execute_batch("COMMIT")?;
        if let Some(first_row) = trimmed {
            fault::hit("trim.after_commit")?;
            self.shared.tail().first_row = first_row;
        }
        self.needless_rows = 0;
        Ok(())
    }

    /// What is looked at a few times a second: lag, idle sessions, a tail that grew too long, the file's size.
    pub(super) fn tick(&mut self) -> Result<(), Fault> {
        let now = moment();
        let settling = !self.settling.is_empty();
        // A session that fails again and again must not hold up the runs of all others.
        let timely = self.active.values().filter(|active| active.retry_at.is_none());
        let oldest = timely.filter_map(|active| active.due_since).min();
        let lag = oldest
            .map_or(0, |since| i64::try_from(now.duration_since(since).as_micros()).unwrap_or(i64::MAX));
        self.shared.lag_micros.store(lag, Ordering::Relaxed);
        let tail = self.shared.tail();
        let writing = i64::try_from(tail.sessions().count()).unwrap_or(i64::MAX);
        let keep_from = tail.next_row - TAIL_ROWS_MAX.max(writing.saturating_mul(TAIL_ROWS_PER_SESSION));
        for (session, active) in &mut self.active {
            let retries = active.retry_at.is_some_and(|at| at <= now);
            if retries && active.due_since.is_some() && !active.queued {
                active.queued = true;
                self.due.push_back(*session);
            }
            let idle = now.duration_since(active.last_append) >= IDLE && !active.run_open;
            let Some(first_row) = tail.get(active.head.no).and_then(TailSession::first_row) else { continue };
            // What is damaged stays in the tail as it is.
            let sound = self.shared.damaged().unwritable_after(active.head.no).is_none();
            let wanted = sound && (settling || idle || first_row < keep_from);
            let waits = active.retry_at.is_some_and(|at| at > now);
            if wanted && !active.in_flight && !active.pack_due && !waits {
                active.pack_due = true;
                if !active.queued {
                    active.queued = true;
                    self.due.push_back(*session);
                }
            }
        }
        self.active.retain(|_, active| {
            let has_tail = tail.get(active.head.no).is_some();
            has_tail || active.in_flight || active.run_open || now.duration_since(active.last_append) < IDLE
        });
        drop(tail);
        self.hand_out();
        if self.is_quiet() && self.tidying.is_none() && self.connection.is_some() {
            self.when_quiet(settling)?;
        }
        self.retry_emptying();
        self.answer_erased(now);
        Ok(())
    }

    /// Whether nothing is left to project.
    fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.projected.is_empty() && self.due.is_empty() && self.snapshots.is_empty()
    }

    /// Gives space back once nothing is left to project.
    pub(super) fn when_quiet(&mut self, settling: bool) -> Result<(), Fault> {
        let idle = self.active.values().all(|active| moment().duration_since(active.last_append) >= IDLE);
        if !(settling || self.wrote && idle) {
            return Ok(());
        }
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let pages = if settling { i64::from(i32::MAX) } else { VACUUM_PAGES };
        let result = self.trim_all(&connection).and_then(|()| vacuum(&connection, pages));
        self.connection = Some(connection);
        result?;
        self.empty_soon();
        if settling && self.checkpointer.is_busy() {
            // The log is emptied when the thread beside is done, and this is looked at again.
            return Ok(());
        }
        self.wrote = false;
        self.tidying = Some(self.settling.len());
        self.ask_projector(Work::Tidy);
        Ok(())
    }

    /// The file of words is tidy too: who waited until all is settled when that was asked need not wait any more.
    pub(super) fn tidied(&mut self) {
        let settled = self.tidying.take().unwrap_or(0).min(self.settling.len());
        if settled > 0 {
            self.shared.lag_micros.store(0, Ordering::Relaxed);
        }
        self.settling.drain(..settled).for_each(|answer| answer_with(answer, Ok(())));
    }
}

fn store(connection: &Connection, projection: &Projection) -> Result<(), Fault> {
    index::inherit(connection, projection.no, &projection.inherited)?;
    for entry in &projection.entries {
        index::turns(connection, projection.no, entry)?;
    }
    index::watermark(connection, projection.no, projection.indexed_to)?;
    projection.packs.iter().try_for_each(|pack| project::store_pack(connection, projection.no, pack))
}

/// Notes on how many commits of the words the log relies from now on; on none once some were lost.
fn rely_on_words(connection: &Connection, stored: &[Box<Projection>]) -> Result<(), Fault> {
    let commits = stored.iter().map(|projection| projection.search_commits).collect::<Option<Vec<u64>>>();
    match commits {
        None => connection.prepare_cached("DELETE FROM search")?.execute([])?,
        Some(commits) => connection
            .prepare_cached("UPDATE search SET commits = ?1 WHERE commits < ?1")?
            .execute([commits.into_iter().max().unwrap_or(0)])?,
    };
    Ok(())
}

fn save_snapshot(
    connection: &Connection,
    session: SessionId,
    snapshot: &PackedSnapshot,
) -> Result<(), Fault> {
    let Link { seq: Seq(seq), epoch, hash } = snapshot.at;
    connection
        .prepare_cached(
            "INSERT INTO snapshots (no, seq, epoch, hash, body)
             SELECT no, ?2, ?3, ?4, ?5 FROM logs WHERE key = ?1 AND trunk = 0
             ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, epoch = excluded.epoch, hash = excluded.hash,
             body = excluded.body WHERE excluded.seq > snapshots.seq",
        )?
        .execute(params![session.0.as_bytes().as_slice(), seq, epoch.0, hash.0, snapshot.body])?;
    Ok(())
}

/// Gives free pages back to the disk. The pragma frees one page a step, so it must be stepped to its end.
pub(super) fn vacuum(connection: &Connection, pages: i64) -> Result<(), Fault> {
    let mut steps = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    fault::hit("vacuum.before")?;
    let mut rows = steps.query([])?;
    while rows.next()?.is_some() {}
    fault::hit("vacuum.after")?;
    Ok(())
}

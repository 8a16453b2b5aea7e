//! The one thread that writes: it commits what is asked in groups, and stores projections in between.
//!
//! Any error makes the store dead: the connection is closed, nothing is acknowledged, and only [`Request::Revive`]
//! brings it back, by reading from the disk anew. SQLite itself would carry on after a failed sync.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use session::{BlobHash, Event, Link, NodeId, Seq, SessionId, Time};
use tokio::sync::oneshot;

use crate::catalog::ListRow;
use crate::error::{AppendError, ClaimError, Dead, StoreError};
use crate::{Append, Claim, Claiming, Snapshot, Urgency};

use super::append::{self, Head, Written};
use super::disk::{Reserve, moment};
use super::project::{self, Due, Packing, Projection};
use super::tail::Tail;
use super::{Fault, Settings, Shared, connect_to_write, erase, index, load, migrate};

/// How often idle work is looked for.
const TICK: Duration = Duration::from_millis(250);
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
const SESSION_ROWS_MAX: usize = 4_096;
const SESSION_BYTES_MAX: usize = 1024 * 1024;
/// Rows removed from the tail in one go.
const TRIM_ROWS_MAX: i64 = 4_000;
/// Sessions handed to the projector at once.
const IN_FLIGHT_MAX: usize = 32;
/// Free pages given back to the disk in one go when idle.
const VACUUM_PAGES: i64 = 2_000;

type Answer<T> = oneshot::Sender<T>;

/// What the writing thread is asked.
#[derive(Debug)]
pub(super) enum Request {
    Append { batch: Vec<Append>, answer: Answer<Vec<Result<(), AppendError>>> },
    Claim {
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
        /// The list row of what a branch shares with its origin.
        shared: Option<ListRow>,
        answer: Answer<Result<Claim, ClaimError>>,
    },
    Heartbeat { node: NodeId, now: Time, answer: Answer<Result<(), StoreError>> },
    Snapshot { session: SessionId, snapshot: Snapshot, answer: Answer<Result<(), StoreError>> },
    PutBlob { bytes: Vec<u8>, answer: Answer<Result<BlobHash, StoreError>> },
    Erase { claim: Claim, answer: Answer<Result<(), AppendError>> },
    Settle { answer: Answer<Result<(), StoreError>> },
    Revive { answer: Answer<Result<(), StoreError>> },
    Projected { session: SessionId, no: i64, life: u64, answer: Result<Box<Projection>, String> },
    Close,
}

/// What waits for the next group commit, in order.
enum Quick {
    Append(Vec<Append>, Answer<Vec<Result<(), AppendError>>>),
    Claim(SessionId, NodeId, Claiming, Time, Option<ListRow>, Answer<Result<Claim, ClaimError>>),
    Heartbeat(NodeId, Time, Answer<Result<(), StoreError>>),
}

/// What became of one of them.
enum Outcome {
    Append(Vec<Result<(), AppendError>>),
    Claim(Result<Claim, ClaimError>),
    Heartbeat,
}

/// What is known of a session that is being written.
#[derive(Debug)]
struct Active {
    head: Head,
    /// Since when something finished waits to be indexed.
    due_since: Option<Instant>,
    pack_due: bool,
    in_flight: bool,
    /// Whether it waits to be handed to the projector.
    queued: bool,
    run_open: bool,
    last_append: Instant,
}

/// The state of the writing thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    settings: Settings,
    connection: Option<Connection>,
    active: HashMap<SessionId, Active>,
    /// Logs whose stored end does not hold; they are read up to the damage and not written.
    damaged: HashSet<i64>,
    reserve: Reserve,
    quick: Vec<Quick>,
    slow: VecDeque<Request>,
    projected: VecDeque<Box<Projection>>,
    snapshots: BTreeMap<SessionId, Snapshot>,
    due: VecDeque<SessionId>,
    in_flight: usize,
    projector: Option<mpsc::Sender<Due>>,
    settling: Vec<Answer<Result<(), StoreError>>>,
    /// Blobs that were put, so many times more than entries came that use them: someone is about to.
    fresh_blobs: HashMap<BlobHash, u32>,
    /// Goes up when the store dies, so that what was asked for before is told from what is asked for after.
    life: u64,
    next_slice: Instant,
    next_tick: Instant,
    wrote: bool,
    closing: bool,
    /// Held as long as the thread lives.
    _lock: File,
}

impl Writer {
    /// Opens the file, reads the tail, and starts the thread.
    pub(super) fn start(
        shared: Arc<Shared>,
        settings: Settings,
        requests: mpsc::Sender<Request>,
        inbox: mpsc::Receiver<Request>,
        lock: File,
    ) -> Result<JoinHandle<()>, Fault> {
        let now = moment();
        let mut writer = Self {
            reserve: Reserve::new(settings.reserve_bytes),
            shared: shared.clone(),
            settings,
            connection: None,
            active: HashMap::new(),
            damaged: HashSet::new(),
            quick: Vec::new(),
            slow: VecDeque::new(),
            projected: VecDeque::new(),
            snapshots: BTreeMap::new(),
            due: VecDeque::new(),
            in_flight: 0,
            projector: None,
            settling: Vec::new(),
            fresh_blobs: HashMap::new(),
            life: 0,
            next_slice: now,
            next_tick: now + TICK,
            wrote: false,
            closing: false,
            _lock: lock,
        };
        writer.connect()?;
        if let Some(connection) = &writer.connection {
            // The lock proves that every earlier process is gone, so nobody has to wait for its heartbeat to lapse.
            connection.execute("DELETE FROM nodes", [])?;
        }
        let (projector, projecting) = project::start(shared, requests)?;
        writer.projector = Some(projector);
        let thread = std::thread::Builder::new().name("everturn-store".to_owned()).spawn(move || {
            writer.run(&inbox);
            drop(writer);
            drop(inbox);
            // The projector ends once its channel is closed; a panic in it was its own report.
            drop(projecting.join());
        })?;
        Ok(thread)
    }

    /// Opens the file and learns from the disk alone what the tail holds.
    fn connect(&mut self) -> Result<(), Fault> {
        fault::hit("store.open")?;
        let mut connection = connect_to_write(&self.shared.database())?;
        migrate::migrate(&mut connection)?;
        erase::remove_doomed(&connection, &self.shared.blobs)?;
        let loaded = load::tail(&connection)?;
        fault::hit("store.tail_loaded")?;
        for (session, head) in loaded.heads {
            let active = Active::new(head, &loaded.tail);
            self.active.insert(session, active);
        }
        self.damaged = loaded.damaged;
        *self.shared.tail() = loaded.tail;
        self.connection = Some(connection);
        Ok(())
    }

    fn run(&mut self, inbox: &mpsc::Receiver<Request>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(request) => self.sort(request),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(request) = inbox.try_recv() {
                self.sort(request);
            }
            self.commit_group();
            self.slow_requests();
            self.background();
            if self.closing && self.quick.is_empty() {
                return self.close();
            }
        }
    }

    /// How long the thread may sleep.
    fn patience(&self) -> Duration {
        let now = moment();
        let waiting = !self.projected.is_empty() || !self.snapshots.is_empty() || !self.settling.is_empty();
        let until = if waiting && self.connection.is_some() { self.next_slice } else { self.next_tick };
        until.saturating_duration_since(now)
    }

    fn sort(&mut self, request: Request) {
        match request {
            Request::Append { batch, answer } => self.quick.push(Quick::Append(batch, answer)),
            Request::Claim { session, node, claiming, now, shared, answer } => {
                self.quick.push(Quick::Claim(session, node, claiming, now, shared, answer));
            }
            Request::Heartbeat { node, now, answer } => self.quick.push(Quick::Heartbeat(node, now, answer)),
            Request::Projected { session, no, life, answer } => self.take_projection(session, no, life, answer),
            Request::Snapshot { session, snapshot, answer } => {
                let newer = self.snapshots.get(&session).is_none_or(|waits| waits.at.seq < snapshot.at.seq);
                if newer {
                    self.snapshots.insert(session, snapshot);
                }
                answer_with(answer, self.alive());
            }
            Request::Settle { answer } => match self.alive() {
                Ok(()) => self.settling.push(answer),
                Err(dead) => answer_with(answer, Err(dead)),
            },
            Request::Close => self.closing = true,
            slow @ (Request::PutBlob { .. } | Request::Erase { .. } | Request::Revive { .. }) => {
                self.slow.push_back(slow);
            }
        }
    }

    fn alive(&self) -> Result<(), StoreError> {
        if self.connection.is_some() { Ok(()) } else { Err(self.dead().into()) }
    }

    fn dead(&self) -> Dead {
        let reason = self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Dead { reason: reason.unwrap_or_else(|| "it was closed".to_owned()) }
    }

    /// Stops writing. What was in memory is forgotten: only the disk knows what is durable.
    fn die(&mut self, reason: &str) {
        tracing::error!(reason, "the store is not written to any more");
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        self.connection = None;
        self.life += 1;
        self.active.clear();
        self.projected.clear();
        self.due.clear();
        for answer in self.settling.drain(..) {
            answer_with(answer, Err(Dead { reason: reason.to_owned() }.into()));
        }
    }

    /// Commits everything that waits in one transaction, then answers.
    fn commit_group(&mut self) {
        if self.quick.is_empty() {
            return;
        }
        let group = std::mem::take(&mut self.quick);
        let full = self.reserve.is_reached(&self.settings.directory);
        let mut written = Vec::new();
        let result = match self.connection.take() {
            None => Err(Failure::Before(self.dead().reason)),
            Some(connection) => {
                let result = self.write_group(&connection, &group, full, &mut written);
                self.connection = Some(connection);
                result
            }
        };
        match result {
            Ok(outcomes) => {
                self.remember(&group, &outcomes, written);
                for (quick, outcome) in group.into_iter().zip(outcomes) {
                    quick.answer(outcome);
                }
                self.wrote = true;
            }
            Err(failure) => {
                if self.connection.is_some() {
                    self.die(failure.reason());
                }
                group.into_iter().for_each(|quick| quick.fail(&failure));
            }
        }
    }

    fn write_group(
        &mut self,
        connection: &Connection,
        group: &[Quick],
        full: bool,
        written: &mut Vec<(SessionId, Written)>,
    ) -> Result<Vec<Outcome>, Failure> {
        let appends = group.iter().any(|quick| matches!(quick, Quick::Append(..)));
        let claims = group.iter().any(|quick| matches!(quick, Quick::Claim(..)));
        let before = |fault: Fault| Failure::Before(fault.to_string());
        let point = |wanted: bool, name| if wanted { fault::hit(name) } else { Ok(()) };
        let outcomes = (|| -> Result<Vec<Outcome>, Fault> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            point(appends, "append.begin")?;
            let mut next_row = self.shared.tail().next_row;
            let outcomes = group.iter().map(|quick| self.write(connection, quick, full, &mut next_row, written));
            let outcomes = outcomes.collect::<Result<Vec<_>, Fault>>()?;
            point(claims, "claim.before_commit")?;
            point(appends, "append.before_commit")?;
            Ok(outcomes)
        })()
        .map_err(before)?;
        if fault::planted("acknowledge_before_durable") {
            // The planted bug acknowledges what it then throws away.
            connection.execute_batch("ROLLBACK").map_err(|error| before(error.into()))?;
            return Ok(outcomes);
        }
        connection.execute_batch("COMMIT").map_err(|error| Failure::Unknown(error.to_string()))?;
        let after = |error: std::io::Error| Failure::Unknown(error.to_string());
        point(claims, "claim.after_commit").map_err(after)?;
        point(appends, "append.after_commit").map_err(after)?;
        point(appends, "append.before_answer").map_err(after)?;
        Ok(outcomes)
    }

    fn write(
        &mut self,
        connection: &Connection,
        quick: &Quick,
        full: bool,
        next_row: &mut i64,
        written: &mut Vec<(SessionId, Written)>,
    ) -> Result<Outcome, Fault> {
        match quick {
            Quick::Heartbeat(node, now, _) => {
                append::heartbeat(connection, *node, *now)?;
                Ok(Outcome::Heartbeat)
            }
            Quick::Claim(session, node, claiming, now, shared, _) => {
                let claimed = {
                    let tail = self.shared.tail();
                    append::claim(connection, &tail, *session, *node, *claiming, *now, shared.as_ref())?
                };
                let claimed = self.refuse_damaged(connection, claimed)?;
                Ok(Outcome::Claim(claimed))
            }
            Quick::Append(batch, _) => {
                let mut results = Vec::with_capacity(batch.len());
                for one in batch {
                    if full && one.urgency == Urgency::Normal {
                        results.push(Err(AppendError::Full));
                        continue;
                    }
                    results.push(self.append_one(connection, one, next_row, written)?);
                }
                Ok(Outcome::Append(results))
            }
        }
    }

    fn append_one(
        &mut self,
        connection: &Connection,
        one: &Append,
        next_row: &mut i64,
        written: &mut Vec<(SessionId, Written)>,
    ) -> Result<Result<(), AppendError>, Fault> {
        let session = one.claim.session;
        if !self.active.contains_key(&session) {
            let tail = self.shared.tail();
            let Some(head) = append::load_head(connection, &tail, session)? else {
                return Ok(Err(AppendError::Deleted(session)));
            };
            let active = Active::new(head, &tail);
            drop(tail);
            self.active.insert(session, active);
        }
        let Some(active) = self.active.get_mut(&session) else { return Ok(Err(AppendError::Deleted(session))) };
        let result = append::append(connection, &mut active.head, next_row, one)?;
        Ok(result.map(|result| written.push((session, result))))
    }

    fn refuse_damaged(
        &mut self,
        connection: &Connection,
        claimed: Result<Claim, ClaimError>,
    ) -> Result<Result<Claim, ClaimError>, Fault> {
        let Ok(claim) = claimed else { return Ok(claimed) };
        let no: i64 = connection.query_row("SELECT no FROM logs WHERE key = ?", [claim.session.0.as_bytes().as_slice()], |row| row.get(0))?;
        if self.damaged.contains(&no) {
            let reason = "its log is damaged; what is intact can be read".to_owned();
            return Ok(Err(StoreError::Failed { doing: "write the session", reason }.into()));
        }
        if let Some(active) = self.active.get_mut(&claim.session) {
            active.head.epoch = claim.epoch;
        }
        Ok(Ok(claim))
    }

    /// Brings what is known in memory up to what the transaction made durable.
    fn remember(&mut self, group: &[Quick], outcomes: &[Outcome], written: Vec<(SessionId, Written)>) {
        {
            let mut tail = self.shared.tail();
            for (_, written) in &written {
                let mut before = written.before;
                for (row, link, size_bytes) in &written.rows {
                    tail.push(written.no, *row, before, *link, *size_bytes);
                    before = *link;
                }
            }
        }
        let now = moment();
        for (quick, outcome) in group.iter().zip(outcomes) {
            let (Quick::Append(batch, _), Outcome::Append(results)) = (quick, outcome) else { continue };
            for (one, _) in batch.iter().zip(results).filter(|(_, result)| result.is_ok()) {
                self.note_due(one, now);
            }
        }
    }

    /// Notes what an append leaves to be projected.
    fn note_due(&mut self, one: &Append, now: Instant) {
        for blob in one.entries.iter().flat_map(|entry| attachments(&entry.event)) {
            if let Some(count) = self.fresh_blobs.get_mut(blob) {
                *count -= 1;
                if *count == 0 {
                    self.fresh_blobs.remove(blob);
                }
            }
        }
        let Some(active) = self.active.get_mut(&one.claim.session) else { return };
        active.last_append = now;
        for entry in &one.entries {
            match entry.event {
                Event::RunStarted { .. } => active.run_open = true,
                Event::RunEnded { .. } => {
                    active.run_open = false;
                    active.pack_due = true;
                }
                _ => {}
            }
            if index::concerns(&entry.event) {
                active.due_since = active.due_since.or(Some(now));
            }
        }
        let tail = self.shared.tail();
        let large = tail
            .get(active.head.no)
            .is_some_and(|tail| tail.rows.len() >= SESSION_ROWS_MAX || tail.size_bytes >= SESSION_BYTES_MAX);
        drop(tail);
        active.pack_due |= large;
        if (active.due_since.is_some() || active.pack_due) && !active.in_flight && !active.queued {
            active.queued = true;
            self.due.push_back(one.claim.session);
        }
    }

    fn slow_requests(&mut self) {
        while let Some(request) = self.slow.pop_front() {
            match request {
                Request::PutBlob { bytes, answer } => answer_with(answer, self.put_blob(&bytes)),
                Request::Erase { claim, answer } => {
                    let result = self.erase(claim);
                    answer_with(answer, result);
                }
                Request::Revive { answer } => {
                    let result = self.revive();
                    answer_with(answer, result);
                }
                Request::Append { .. }
                | Request::Claim { .. }
                | Request::Heartbeat { .. }
                | Request::Snapshot { .. }
                | Request::Settle { .. }
                | Request::Projected { .. }
                | Request::Close => {}
            }
        }
    }

    fn put_blob(&mut self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let failed = |reason: String| StoreError::Failed { doing: "keep a blob", reason };
        if self.reserve.is_reached(&self.settings.directory) {
            return Err(failed("the disk is at its reserve; free some space".to_owned()));
        }
        let hash = self.shared.blobs.put(bytes).map_err(|error| failed(error.to_string()))?;
        *self.fresh_blobs.entry(hash.clone()).or_default() += 1;
        Ok(hash)
    }

    fn erase(&mut self, claim: Claim) -> Result<(), AppendError> {
        let Some(connection) = self.connection.take() else { return Err(StoreError::from(self.dead()).into()) };
        let result = self.erase_in(&connection, claim);
        self.connection = Some(connection);
        match result {
            Ok(result) => result,
            Err(failure) => {
                self.die(failure.reason());
                Err(failure.append_error())
            }
        }
    }

    fn erase_in(&mut self, connection: &Connection, claim: Claim) -> Result<Result<(), AppendError>, Failure> {
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
            let mut blobs = erase::erase(connection, &|no| self.shared.tail().get(no).cloned(), head.no)?;
            blobs.retain(|blob| !self.fresh_blobs.contains_key(blob));
            erase::doom(connection, &blobs)?;
            fault::hit("erase.before_commit")?;
            Ok(())
        })()
        .map_err(before)?;
        connection.execute_batch("COMMIT").map_err(|error| Failure::Unknown(error.to_string()))?;
        let after = |fault: Fault| Failure::Unknown(fault.to_string());
        fault::hit("erase.after_commit").map_err(|error| after(error.into()))?;
        self.active.remove(&claim.session);
        self.snapshots.remove(&claim.session);
        self.projected.retain(|projection| projection.session != claim.session);
        self.reload_tail(connection).map_err(after)?;
        fault::hit("erase.before_blobs").map_err(|error| after(error.into()))?;
        erase::remove_doomed(connection, &self.shared.blobs).map_err(after)?;
        fault::hit("erase.after_blobs").map_err(|error| after(error.into()))?;
        connection.pragma_update(None, "secure_delete", "FAST").map_err(|error| after(error.into()))?;
        checkpoint(connection).map_err(after)?;
        // Pages that are free now are given back once it is quiet.
        self.wrote = true;
        Ok(Ok(()))
    }

    /// A trunk keeps part of its tail, so what is known of the tail is read anew.
    fn reload_tail(&mut self, connection: &Connection) -> Result<(), Fault> {
        let loaded = load::tail(connection)?;
        self.damaged = loaded.damaged;
        *self.shared.tail() = loaded.tail;
        Ok(())
    }

    fn revive(&mut self) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
        }
        let failed = |fault: Fault| fault.doing("reopen");
        fault::hit("revive.before_open").map_err(|error| failed(error.into()))?;
        self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.connect().map_err(failed)?;
        fault::hit("revive.after_open").map_err(|error| failed(error.into()))?;
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) = None;
        tracing::info!("the store is written to again");
        Ok(())
    }

    fn take_projection(&mut self, session: SessionId, no: i64, life: u64, answer: Result<Box<Projection>, String>) {
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
    fn background(&mut self) {
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
    fn hand_out(&mut self) {
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
    fn slice(&mut self) -> Result<(), Fault> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let result = self.slice_in(&connection);
        self.connection = Some(connection);
        result
    }

    fn slice_in(&mut self, connection: &Connection) -> Result<(), Fault> {
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
    fn stored(&mut self, projection: &Projection) {
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
    fn trim(&mut self, connection: &Connection) -> Result<(), Fault> {
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
    fn tick(&mut self) -> Result<(), Fault> {
        let now = moment();
        let settling = !self.settling.is_empty();
        let oldest = self.active.values().filter_map(|active| active.due_since).min();
        let lag = oldest.map_or(0, |since| i64::try_from(now.duration_since(since).as_micros()).unwrap_or(i64::MAX));
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
        let quiet = self.in_flight == 0 && self.projected.is_empty() && self.due.is_empty() && self.snapshots.is_empty();
        if quiet && self.connection.is_some() {
            self.when_quiet(settling)?;
        }
        Ok(())
    }

    /// Gives space back once nothing is left to project.
    fn when_quiet(&mut self, settling: bool) -> Result<(), Fault> {
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

    fn close(&mut self) {
        // Whatever is not projected now is projected at the next start; the log has everything.
        self.projector = None;
        if let Some(connection) = self.connection.take()
            && let Err(fault) = checkpoint(&connection)
        {
            tracing::warn!(reason = %fault, "the log of SQLite was not folded into the file; it is at the next start");
        }
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) = Some("it was closed".to_owned());
    }
}

impl Active {
    fn new(head: Head, tail: &Tail) -> Self {
        // What stands in the tail when a session becomes known may not be indexed yet.
        let behind = tail.get(head.no).is_some() && head.link.seq > head.indexed_to;
        let now = moment();
        Self { head, due_since: behind.then_some(now), pack_due: false, in_flight: false, queued: false, run_open: false, last_append: now }
    }
}

fn attachments(event: &Event) -> impl Iterator<Item = &BlobHash> {
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
    let body = zstd::bulk::compress(&snapshot.state, 1)?;
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
    let mut rows = steps.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Folds the write-ahead log into the file and empties it. Readers may keep part of it; the next time gets that.
fn checkpoint(connection: &Connection) -> Result<(), Fault> {
    fault::hit("checkpoint.before")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    fault::hit("checkpoint.after")?;
    Ok(())
}

/// Why a group was not committed.
enum Failure {
    /// Nothing was written.
    Before(String),
    /// The disk may or may not have it.
    Unknown(String),
}

impl Failure {
    fn reason(&self) -> &str {
        match self {
            Self::Before(reason) | Self::Unknown(reason) => reason,
        }
    }

    fn store_error(&self) -> StoreError {
        Dead { reason: self.reason().to_owned() }.into()
    }

    fn append_error(&self) -> AppendError {
        match self {
            Self::Before(_) => self.store_error().into(),
            Self::Unknown(reason) => AppendError::Unknown { reason: reason.clone() },
        }
    }
}

impl Quick {
    fn answer(self, outcome: Outcome) {
        match (self, outcome) {
            (Self::Append(_, answer), Outcome::Append(results)) => answer_with(answer, results),
            (Self::Claim(.., answer), Outcome::Claim(result)) => answer_with(answer, result),
            (Self::Heartbeat(.., answer), Outcome::Heartbeat) => answer_with(answer, Ok(())),
            (Self::Append(..) | Self::Claim(..) | Self::Heartbeat(..), _) => unreachable!("outcomes are made in order"),
        }
    }

    fn fail(self, failure: &Failure) {
        match self {
            Self::Append(batch, answer) => {
                answer_with(answer, batch.iter().map(|_| Err(failure.append_error())).collect());
            }
            Self::Claim(.., answer) => answer_with(answer, Err(failure.store_error().into())),
            Self::Heartbeat(.., answer) => answer_with(answer, Err(failure.store_error())),
        }
    }
}

/// Answers a caller; one that stopped waiting needs none.
fn answer_with<T>(answer: Answer<T>, value: T) {
    drop(answer.send(value));
}

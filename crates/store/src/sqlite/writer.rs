//! The one thread that writes: it commits what is asked in groups, and stores projections in between.
//!
//! Any error makes the store dead: the connection is closed, nothing is acknowledged, and only [`Request::Revive`]
//! brings it back, by reading the disk again. SQLite itself would carry on after a failed sync.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use session::{Event, Seq, SessionId};

use crate::directory::{DataDirectory, Database};
use crate::error::{AppendError, ClaimError, Dead, StoreError};
use crate::metrics;
use crate::{Append, Claim, Urgency};

use super::append::{self, Head, Written};
use super::background::{SESSION_BYTES_MAX, SESSION_ROWS_MAX, TICK};
use super::checkpoint::Checkpointer;
use super::disk::{Reserve, moment};
use super::project::{self, Projection, Work};
use super::request::{Answer, Failure, Outcome, PackedSnapshot, Quick, Request, answer_with};
use super::search::Search;
use super::tail::Tail;
use super::{Fault, Settings, Shared, connect_to_write, erase, index, load, migrate, put, read, spawn, wal};

/// What is known of a session that is being written.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) head: Head,
    /// Since when something waits to be indexed.
    pub(super) due_since: Option<Instant>,
    /// The last entry that the index takes.
    pub(super) indexable_to: Seq,
    /// When it was last handed to the projector.
    pub(super) handed_at: Instant,
    pub(super) pack_due: bool,
    pub(super) in_flight: bool,
    /// Whether it waits to be handed to the projector.
    pub(super) queued: bool,
    pub(super) run_open: bool,
    pub(super) last_append: Instant,
    /// Failed tries to project it in a row, and when the next one is due.
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    /// Attempts in a row that found the database malformed.
    pub(super) malformed: u32,
}

/// The state of the writing thread.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) settings: Settings,
    pub(super) connection: Option<Connection>,
    pub(super) active: HashMap<SessionId, Active>,
    pub(super) reserve: Reserve,
    pub(super) quick: Vec<Quick>,
    pub(super) slow: VecDeque<Request>,
    pub(super) projected: VecDeque<Box<Projection>>,
    pub(super) snapshots: BTreeMap<SessionId, PackedSnapshot>,
    pub(super) due: VecDeque<SessionId>,
    pub(super) in_flight: usize,
    /// Rows of the tail that can go.
    pub(super) needless_rows: i64,
    pub(super) projector: Option<mpsc::Sender<Work>>,
    pub(super) checkpointer: Checkpointer,
    pub(super) settling: Vec<Answer<Result<(), StoreError>>>,
    /// While the file of words is being tidied: how many wait for that.
    pub(super) tidying: Option<usize>,
    /// Who waits until the words of an erased log are gone.
    pub(super) forgetting: HashMap<i64, Answer<Result<(), AppendError>>>,
    /// Whether the write-ahead log is to be emptied as soon as no reader needs it.
    pub(super) empty_due: bool,
    /// Erases that wait until the write-ahead log has none of their bytes, and the time at which each is answered anyway.
    pub(super) scrubbing: Vec<(Instant, Answer<Result<(), AppendError>>)>,
    /// Goes up when the store dies, so that what was asked for before is told from what is asked for after.
    pub(super) life: u64,
    pub(super) next_commit: Instant,
    pub(super) next_slice: Instant,
    pub(super) next_tick: Instant,
    pub(super) wrote: bool,
    /// Whether it closes, and who waits for that.
    pub(super) closing: Option<Vec<Answer<()>>>,
    /// Locked as long as the thread lives.
    pub(super) directory: DataDirectory,
}

impl Writer {
    /// Opens the file, reads the tail, and starts the thread.
    pub(super) fn start(
        shared: Arc<Shared>,
        settings: Settings,
        requests: mpsc::Sender<Request>,
        inbox: mpsc::Receiver<Request>,
        directory: DataDirectory,
    ) -> Result<JoinHandle<()>, Fault> {
        let now = moment();
        let mut writer = Self {
            reserve: Reserve::new(settings.reserve_bytes),
            shared: shared.clone(),
            settings,
            connection: None,
            active: HashMap::new(),
            quick: Vec::new(),
            slow: VecDeque::new(),
            projected: VecDeque::new(),
            snapshots: BTreeMap::new(),
            due: VecDeque::new(),
            in_flight: 0,
            needless_rows: 0,
            projector: None,
            checkpointer: Checkpointer::default(),
            settling: Vec::new(),
            tidying: None,
            forgetting: HashMap::new(),
            empty_due: false,
            scrubbing: Vec::new(),
            life: 0,
            next_commit: now,
            next_slice: now,
            next_tick: now + TICK,
            wrote: false,
            closing: None,
            directory,
        };
        writer.connect()?;
        shared.open_readers()?;
        writer.checkpointer = Checkpointer::start(&shared.database(), writer.life, requests.clone())?;
        if let Some(connection) = &writer.connection {
            // The lock proves that every earlier process is gone, so nobody has to wait for its heartbeat to lapse.
            fault::hit("nodes.before_commit")?;
            connection.execute("DELETE FROM nodes", [])?;
            fault::hit("nodes.after_commit")?;
        }
        let search = match &writer.connection {
            Some(connection) => Search::open(connection, &shared.tail(), shared.words()),
            None => Search::off(shared.words()),
        };
        let (projector, projecting) = project::start(shared, search, requests)?;
        writer.projector = Some(projector);
        writer.forget_doomed()?;
        let thread = spawn("everturn-store", move || {
            if catch_unwind(AssertUnwindSafe(|| writer.run(&inbox))).is_err() {
                // Without this thread no write is answered; the next start recovers.
                tracing::error!("store writer thread panicked, exiting");
                std::process::abort();
            }
            drop(writer);
            drop(inbox);
            // The projector ends once its channel is closed.
            drop(projecting.join());
        })?;
        Ok(thread)
    }

    /// Opens the file and learns from the disk alone what the tail holds.
    fn connect(&mut self) -> Result<(), Fault> {
        fault::hit("store.open")?;
        wal::check(&self.shared.wal())?;
        wal::write_again(&self.shared.wal())?;
        let mut connection = connect_to_write(&self.shared.database())?;
        migrate::migrate(&mut connection)?;
        self.empty_due = !self.empty_unless_read(&connection)?;
        if let Err(fault) = erase::remove_doomed(&connection, &self.shared.blobs) {
            tracing::warn!(reason = %fault, "failed to delete attachments of deleted sessions, retrying at \
                                             the next start");
        }
        load::shape(&connection)?;
        let loaded = load::tail(&connection)?;
        fault::hit("store.tail_loaded")?;
        for (session, head) in loaded.heads {
            let active = Active::new(head, &loaded.tail);
            self.active.insert(session, active);
        }
        self.shared.damaged().set_unwritable(loaded.damaged);
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
            if moment() >= self.next_commit {
                let begun = moment();
                self.commit_group();
                self.next_commit = moment() + self.pause(begun.elapsed());
            }
            self.slow_requests();
            self.background();
            if self.quick.is_empty()
                && let Some(waiting) = self.closing.take()
            {
                self.close();
                waiting.into_iter().for_each(|answer| answer_with(answer, ()));
                return;
            }
        }
    }

    /// How long the thread may sleep.
    fn patience(&self) -> Duration {
        let now = moment();
        let mut until = self.next_tick;
        if self.has_slice() && self.connection.is_some() {
            until = until.min(self.next_slice);
        }
        if !self.quick.is_empty() {
            until = until.min(self.next_commit);
        }
        until.saturating_duration_since(now)
    }

    fn sort(&mut self, request: Request) {
        match request {
            Request::Append { batch, answer } => self.quick.push(Quick::Append(batch, answer)),
            Request::Claim { session, node, claiming, now, shared, answer } => {
                self.quick.push(Quick::Claim(session, node, claiming, now, shared, answer));
            }
            Request::Heartbeat { node, now, answer } => self.quick.push(Quick::Heartbeat(node, now, answer)),
            Request::Bind { chat, known, binding, answer } => {
                self.quick.push(Quick::Bind(chat, known, binding, answer));
            }
            Request::Projected { session, no, life, answer } => {
                self.take_projection(session, no, life, answer)
            }
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
            Request::Forgotten { no, result } => self.forgotten(no, result),
            Request::Tidied => self.tidied(),
            Request::SearchDamaged => self.ask_projector(Work::RebuildSearch),
            Request::WordsMade { generation, commits } => self.words_made(generation, commits),
            Request::Folded { life, result } => self.folded(life, result),
            Request::Close(answer) => self.closing.get_or_insert_default().extend(answer),
            Request::Upload { blob, now, answer } => self.quick.push(Quick::Upload(blob, now, answer)),
            slow @ (Request::Erase { .. } | Request::ExpireUploads { .. } | Request::Revive { .. }) => {
                self.slow.push_back(slow);
            }
        }
    }

    fn alive(&self) -> Result<(), StoreError> {
        if self.connection.is_some() { Ok(()) } else { Err(self.dead().into()) }
    }

    pub(super) fn dead(&self) -> Dead {
        let reason = self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Dead { reason: reason.unwrap_or_else(|| "the store is closed".to_owned()) }
    }

    /// Stops writing. What was in memory is forgotten: only the disk knows what is durable.
    pub(super) fn die(&mut self, reason: &str) {
        tracing::error!(reason, "write failed, store is read-only");
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        self.connection = None;
        self.life += 1;
        self.active.clear();
        self.projected.clear();
        self.due.clear();
        self.tidying = self.tidying.map(|_| 0);
        for answer in self.settling.drain(..) {
            answer_with(answer, Err(Dead { reason: reason.to_owned() }.into()));
        }
        let scrubbing = self.scrubbing.drain(..).map(|(_, answer)| answer);
        for answer in self.forgetting.drain().map(|(_, answer)| answer).chain(scrubbing) {
            answer_with(answer, Err(AppendError::Unknown { reason: reason.to_owned() }));
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
                let begun = moment();
                let result = self.write_group(&connection, &group, full, &mut written);
                metrics::observe_commit(begun.elapsed());
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
                self.look_at_wal();
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
        let binds = group.iter().any(|quick| matches!(quick, Quick::Bind(..)));
        let uploads = group.iter().any(|quick| matches!(quick, Quick::Upload(..)));
        let beats = group.iter().any(|quick| matches!(quick, Quick::Heartbeat(..)));
        let before = |fault: Fault| Failure::Before(fault.to_string());
        let point = |wanted: bool, name| if wanted { fault::hit(name) } else { Ok(()) };
        let outcomes = (|| -> Result<Vec<Outcome>, Fault> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            point(appends, "append.begin")?;
            let mut next_row = self.shared.tail().next_row;
            let outcomes =
                group.iter().map(|quick| self.write(connection, quick, full, &mut next_row, written));
            let outcomes = outcomes.collect::<Result<Vec<_>, Fault>>()?;
            point(beats, "heartbeat.before_commit")?;
            point(claims, "claim.before_commit")?;
            point(binds, "bind.before_commit")?;
            point(uploads, "upload.before_commit")?;
            point(appends, "append.before_commit")?;
            Ok(outcomes)
        })()
        .map_err(before)?;
        if appends && !claims && fault::planted("acknowledge_before_durable") {
            // The planted bug acknowledges what it then throws away.
            connection.execute_batch("ROLLBACK").map_err(|error| before(error.into()))?;
            return Ok(outcomes);
        }
        connection.execute_batch("COMMIT").map_err(|error| Failure::Unknown(error.to_string()))?;
        self.directory
            .note_commit(Database::Logs, connection)
            .map_err(|fault| Failure::Unknown(fault.to_string()))?;
        let after = |error: std::io::Error| Failure::Unknown(error.to_string());
        point(beats, "heartbeat.after_commit").map_err(after)?;
        point(claims, "claim.after_commit").map_err(after)?;
        point(binds, "bind.after_commit").map_err(after)?;
        point(uploads, "upload.after_commit").map_err(after)?;
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
            Quick::Bind(chat, known, binding, _) => {
                Ok(Outcome::Bind(append::bind(connection, chat, *known, *binding)?))
            }
            Quick::Claim(session, node, claiming, now, shared, _) => {
                let claimed = {
                    let tail = self.shared.tail();
                    append::claim(connection, &tail, *session, *node, *claiming, *now, shared.as_ref())?
                };
                let claimed = self.refuse_damaged(connection, claimed)?;
                Ok(Outcome::Claim(claimed))
            }
            Quick::Upload(..) if full => {
                let reason = "the disk is full except for its reserve; free some space".to_owned();
                Ok(Outcome::Upload(Err(StoreError::Failed { doing: "save an attachment", reason })))
            }
            Quick::Upload(blob, now, _) => {
                put::record(connection, blob, *now)?;
                Ok(Outcome::Upload(Ok(())))
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
        let Some(active) = self.active.get_mut(&session) else {
            return Ok(Err(AppendError::Deleted(session)));
        };
        let result = append::append(connection, &self.shared.blobs, &mut active.head, next_row, one)?;
        Ok(result.map(|result| written.push((session, result))))
    }

    fn refuse_damaged(
        &mut self,
        connection: &Connection,
        claimed: Result<Claim, ClaimError>,
    ) -> Result<Result<Claim, ClaimError>, Fault> {
        let Ok(claim) = claimed else { return Ok(claimed) };
        let no: i64 = connection.query_row(
            "SELECT no FROM logs WHERE key = ?",
            [claim.session.0.as_bytes().as_slice()],
            |row| row.get(0),
        )?;
        // Appends of the same group are in the transaction, and not in the tail yet.
        let end = match self.active.get(&claim.session) {
            Some(active) => active.head.link,
            None => read::end(connection, self.shared.tail().get(no), no)?,
        };
        let mut damaged = self.shared.damaged();
        if read::proven(connection, no)? > end.seq {
            damaged.note_unwritable(no, end.seq);
        }
        if let Some(intact) = damaged.unwritable_after(no) {
            return Ok(Err(ClaimError::Damaged { intact }));
        }
        drop(damaged);
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
                active.indexable_to = entry.seq;
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
                Request::Erase { claim, answer } => self.erase_session(claim, answer),
                Request::ExpireUploads { before, answer } => self.expire_uploads(before, answer),
                Request::Revive { answer } => {
                    let result = self.revive();
                    answer_with(answer, result);
                }
                Request::Append { .. }
                | Request::Claim { .. }
                | Request::Heartbeat { .. }
                | Request::Bind { .. }
                | Request::Snapshot { .. }
                | Request::Upload { .. }
                | Request::Settle { .. }
                | Request::Projected { .. }
                | Request::Forgotten { .. }
                | Request::Tidied
                | Request::SearchDamaged
                | Request::WordsMade { .. }
                | Request::Folded { .. }
                | Request::Close(_) => {}
            }
        }
    }

    pub(super) fn ask_projector(&self, work: Work) {
        // The projector lives as long as this thread; while closing there is none, and nothing is asked any more.
        if let Some(projector) = &self.projector {
            drop(projector.send(work));
        }
    }

    fn revive(&mut self) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
        }
        if let Err(fault) = self.reopen() {
            // A store that is open in part must not count as revived: the next attempt starts over.
            self.connection = None;
            self.active.clear();
            return Err(fault.doing("reopen"));
        }
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) = None;
        tracing::info!("store writable again");
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), Fault> {
        fault::hit("revive.before_open")?;
        self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.connect()?;
        self.shared.open_readers()?;
        self.forget_doomed()?;
        fault::hit("revive.after_open")?;
        Ok(())
    }

    fn close(&mut self) {
        // Whatever is not projected now is projected at the next start; the log has everything.
        self.projector = None;
        self.checkpointer.end();
        if let Some(connection) = self.connection.take() {
            if let Err(fault) = self.store_last_snapshots(&connection) {
                tracing::warn!(reason = %fault, "snapshots not saved, next start replays more entries");
            }
            if let Err(fault) = self.fold_together(&connection) {
                tracing::warn!(reason = %fault, "WAL checkpoint failed, retrying at the next start");
            }
        }
        self.scrubbing.drain(..).for_each(|(_, answer)| answer_with(answer, Ok(())));
        *self.shared.dead.lock().unwrap_or_else(PoisonError::into_inner) =
            Some("the store is closed".to_owned());
    }
}

impl Active {
    fn new(head: Head, tail: &Tail) -> Self {
        // What stands in the tail when a session becomes known may not be indexed yet.
        let behind = tail.get(head.no).is_some() && head.link.seq > head.indexed_to;
        let now = moment();
        Self {
            indexable_to: head.link.seq,
            handed_at: now,
            head,
            due_since: behind.then_some(now),
            pack_due: false,
            in_flight: false,
            queued: false,
            run_open: false,
            last_append: now,
            failures: 0,
            malformed: 0,
            retry_at: None,
        }
    }
}

//! Opens sessions: finds a session's writer, or starts one. Starts, keeps and drains what all of them share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use session::{Command, InterruptReason, NodeId, Runs, Seq, SessionId, SlotNo, TurnId, UserId};
use store::{Claiming, OpenError, Snapshot, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::changes::{Change, Changes, ListFollower};
use crate::clock::Clock;
use crate::committer::{Committer, Trouble};
use crate::compacting::Compacting;
use crate::deliveries::Deliveries;
use crate::error::{CommandError, StartError};
use crate::handle::SessionHandle;
use crate::input::{GivenUp, Input, Retire};
use crate::memory::{self, Remembers};
use crate::registry::Registry;
use crate::repairs::{self, Repairs};
use crate::resume::{Crashed, ResumePolicy};
use crate::runner::Runner;
use crate::spool::{SlotDirectory, SlotMedium, Spool};
use crate::writer::{self};

/// Inputs that may wait for one writer; whoever sends more waits.
const MAILBOX_MAX: usize = 256;
/// How often the node says that it is alive: three times within what a store allows.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Interval of housekeeping: due repairs, pending memory commits and spare slots.
const HOUSEKEEPING: Duration = Duration::from_millis(250);
/// Lag of the projections at which new runs wait.
const LAG_MICROS_MAX: i64 = 10_000_000;
/// Free slots below which more are made.
const SLOTS_FREE_MIN: usize = 16;
/// How long a drain whose time is up still waits for one session to be given up.
const RETIRE_MIN: Duration = Duration::from_millis(300);
/// How often sessions that nobody holds are asked for what they owe to memory.
const OWING: Duration = Duration::from_secs(300);

/// How a hub behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the spool slots are.
    pub spool: Arc<dyn SlotMedium>,
    /// Slots made at start, and at most. One is lent to each run.
    pub slots: u16,
    pub slots_max: u16,
    /// A writer with nothing to do for this long gives its session up.
    pub idle_after: Duration,
    /// Whether an interrupted run resumes by itself.
    pub after_interruption: ResumePolicy,
    /// Who takes completed turns.
    pub memory: Remembers,
    /// Suspends, at start, chats that were active so shortly before, and are not known to have been interrupted. Off
    /// unless asked for: which runs were cut off is known exactly.
    pub suspend_active_within: Option<Duration>,
}

impl Settings {
    /// The usual settings, with the spool in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            spool: Arc::new(SlotDirectory(directory.into())),
            slots: 32,
            slots_max: 4_096,
            idle_after: Duration::from_secs(60),
            after_interruption: ResumePolicy::default(),
            memory: Remembers::default(),
            suspend_active_within: None,
        }
    }
}

/// What all writers of a process share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) committer: Committer,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) settings: Settings,
    pub(crate) node: NodeId,
    registry: Mutex<Registry>,
    pub(crate) draining: AtomicBool,
    open_runs: watch::Sender<u64>,
    /// Whether the runs that were interrupted before the start are still being resumed.
    pub(crate) starting: AtomicBool,
    /// Whether the first batch of sessions is being resumed; later ones wait for room.
    pub(crate) first_resumes: AtomicBool,
    pub(crate) crashed: Crashed,
    pub(crate) repairs: Repairs,
    pub(crate) compacting: Compacting,
    heal_looks: AtomicU64,
    /// Looks at what is owed to memory, so that each begins elsewhere.
    pub(crate) owing_looks: AtomicUsize,
    pub(crate) changes: Changes,
    pub(crate) deliveries: Deliveries,
}

/// The sessions of one process.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
    /// Ends with the last copy of the hub.
    _housekeeping: Arc<Housekeeping>,
}

/// A hub, for as long as someone else keeps it.
#[derive(Clone)]
pub(crate) struct WeakHub {
    shared: Weak<Shared>,
    housekeeping: Weak<Housekeeping>,
}

impl WeakHub {
    pub(crate) fn upgrade(&self) -> Option<Hub> {
        Some(Hub { shared: self.shared.upgrade()?, _housekeeping: self.housekeeping.upgrade()? })
    }
}

struct Housekeeping([AbortHandle; 2]);

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("node", &self.shared.node).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether runs may start now.
    pub(crate) fn runs(&self) -> Runs {
        let held = self.draining.load(Ordering::Acquire) || self.store.lag_micros() > LAG_MICROS_MAX;
        if held { Runs::Held } else { Runs::Allowed }
    }

    pub(crate) fn run_opened(&self) {
        self.open_runs.send_modify(|count| *count += 1);
    }

    pub(crate) fn run_closed(&self) {
        self.open_runs.send_modify(|count| *count = count.saturating_sub(1));
    }

    /// Waits until fewer runs are going on, or the hub is gone.
    pub(crate) fn room(&self, most: u64) -> impl Future<Output = ()> + use<> {
        let mut open = self.open_runs.subscribe();
        async move { drop(open.wait_for(|count| *count < most).await) }
    }

    pub(crate) fn count_heal_look(&self) {
        self.heal_looks.fetch_add(1, Ordering::AcqRel);
    }

    /// The writer of a log. `id` leads to the log, `session` is the id under which it was made.
    pub(crate) fn writer_of(
        self: &Arc<Self>,
        id: SessionId,
        session: SessionId,
        claiming: Claiming,
    ) -> mpsc::Sender<Input> {
        let shared = self.clone();
        self.registry().find_or_insert(session, || {
            let (sender, mailbox) = mpsc::channel(MAILBOX_MAX);
            crate::spawn::spawn(writer::run(shared, id, session, claiming, sender.clone(), mailbox));
            sender
        })
    }

    /// Keeps a snapshot without waiting for it.
    pub(crate) fn save_snapshot(self: &Arc<Self>, session: SessionId, snapshot: Snapshot) {
        let shared = self.clone();
        crate::spawn::spawn(async move {
            if let Err(error) = shared.store.save_snapshot(session, snapshot).await {
                tracing::debug!(%session, reason = %error, "snapshot not saved, next open replays more \
                                                            entries");
            }
        });
    }
}

/// How a hub and its store are.
#[derive(Debug, Clone)]
pub struct Health {
    pub store: store::Health,
    /// Sessions that owe turns to memory, if that could be looked up.
    pub owing: Option<u64>,
}

impl Hub {
    /// Starts on a store: repairs every session whose run was cut off, then serves.
    ///
    /// # Errors
    /// When the spool or the store cannot be used.
    pub async fn start(
        store: Arc<dyn Store>,
        runner: Arc<dyn Runner>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Result<Self, StartError> {
        let open = store.open_runs().await?;
        let named: BTreeMap<SlotNo, SessionId> =
            open.iter().filter_map(|run| Some((run.spool?, run.session))).collect();
        let spool = Arc::new(Spool::new(settings.spool.clone()));
        let (count, fresh) = (settings.slots, clock.node_id().0.as_u64_pair());
        let prepared = spool.work(move |spool| {
            // Half of an id is enough to tell one spool from another, whichever half is random.
            spool.find_slots(fresh.0 ^ fresh.1)?;
            // Before any slot is made: a new file in the place of a missing one would look like an unused journal.
            named.iter().for_each(|(slot, session)| spool.reserve(*slot, *session));
            if let Err(error) = spool.release_unnamed(&named) {
                tracing::warn!(%error, "failed to release unused spool slots");
            }
            spool.grow(count)
        });
        prepared.await??;
        let shared = Arc::new(Shared {
            committer: Committer::start(store.clone()),
            node: clock.node_id(),
            store,
            runner,
            clock,
            spool,
            settings,
            registry: Mutex::default(),
            draining: AtomicBool::new(false),
            open_runs: watch::Sender::new(0),
            starting: AtomicBool::new(true),
            first_resumes: AtomicBool::new(true),
            crashed: Crashed::default(),
            repairs: Repairs::default(),
            compacting: Compacting::default(),
            heal_looks: AtomicU64::new(0),
            owing_looks: AtomicUsize::new(0),
            changes: Changes::default(),
            deliveries: Deliveries::default(),
        });
        shared.store.heartbeat(shared.node, shared.clock.now()).await?;
        let tasks = [
            crate::spawn::spawn(beat(Arc::downgrade(&shared))).abort_handle(),
            crate::spawn::spawn(keep_house(Arc::downgrade(&shared))).abort_handle(),
        ];
        let hub = Self { shared, _housekeeping: Arc::new(Housekeeping(tasks)) };
        hub.start_all(&open).await;
        hub.suspend_at_start().await;
        // For whoever was held by a process that is gone, this is the boundary that did not come.
        memory::ask_those_that_owe(&hub.shared, |_| true).await;
        Ok(hub)
    }

    /// Suspends the chats that do not come to an end, and those that the settings say.
    async fn suspend_at_start(&self) {
        let within = self.shared.settings.suspend_active_within;
        let suspended = async {
            let recent = match within {
                Some(within) => self.suspend_recent(within).await?,
                None => 0,
            };
            Ok::<_, StoreError>(recent + self.suspend_stuck().await?)
        };
        match suspended.await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "chats suspended"),
            Err(error) => {
                tracing::error!(reason = %error, "failed to suspend chats, retrying at the next start")
            }
        }
    }

    /// A session by any of its ids. Nothing is looked up yet.
    pub fn open(&self, session: SessionId) -> SessionHandle {
        SessionHandle { hub: self.clone(), session }
    }

    /// Makes a session. `after` is the session that its author leaves behind.
    ///
    /// # Errors
    /// When the id is in use or nothing could be kept.
    pub async fn create(&self, create: Create) -> Result<SessionHandle, CommandError> {
        if let Some(id) = create.session {
            self.check_new(id).await?;
        }
        let session = create.session.unwrap_or_else(|| self.shared.clock.session_id());
        let command =
            Command::Create { id: session, title: create.title, after: create.after, user: create.user };
        let created = self.begin(session, Claiming::New, command).await?;
        if let Some(after) = create.after {
            self.leave_behind(after);
        }
        Ok(created)
    }

    /// An id that a caller chose may lead to a session, or have done so once.
    async fn check_new(&self, id: SessionId) -> Result<(), CommandError> {
        match self.shared.store.open(id).await {
            Ok(_) => Err(CommandError::Exists(id)),
            Err(OpenError::Unknown(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a session that shares another's log up to the end of one of its turns, or no turn at all.
    ///
    /// # Errors
    /// When there is no such turn, or nothing could be kept.
    pub async fn branch(
        &self,
        from: SessionId,
        turn: impl Into<Option<TurnId>>,
    ) -> Result<SessionHandle, CommandError> {
        let origin = self.shared.store.open(from).await?.session;
        let at = match turn.into() {
            Some(turn) => self.end_of_turn(origin, turn).await?,
            // What made the session: nothing was said yet.
            None => Seq(1),
        };
        let session = self.shared.clock.session_id();
        let command = Command::Branch { id: session, from: origin, at };
        self.begin(session, Claiming::Branch { from: origin, at }, command).await
    }

    /// The last entry of a turn that is over.
    async fn end_of_turn(&self, session: SessionId, turn: TurnId) -> Result<Seq, CommandError> {
        let loaded = crate::load::load(self.store(), session).await?;
        let mut after = Seq(turn.0);
        let mut end = None;
        // A turn's own entries stand between its message and the end of its last run.
        while after < loaded.state.head() {
            let entries = self.shared.store.read(session, after, crate::load::PAGE).await?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in &entries {
                match &entry.event {
                    session::Event::RunEnded { turn: of, .. }
                    | session::Event::RecoverySettled { turn: of, .. }
                        if *of == turn =>
                    {
                        end = Some(entry.seq);
                    }
                    session::Event::RunStarted { turn: of, .. } if *of != turn && end.is_some() => {
                        return end.ok_or(session::Rejected::NoSuchTurn.into());
                    }
                    _ => {}
                }
            }
        }
        end.ok_or(session::Rejected::NoSuchTurn.into())
    }

    async fn begin(
        &self,
        session: SessionId,
        claiming: Claiming,
        command: Command,
    ) -> Result<SessionHandle, CommandError> {
        let mailbox = self.shared.writer_of(session, session, claiming);
        let (answer, answered) = oneshot::channel();
        let gone = || CommandError::Doubtful { reason: "the session's writer exited".to_owned() };
        mailbox.send(Input::Command { command, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())??;
        Ok(self.open(session))
    }

    /// Erases a session: its log and all that was made from it.
    ///
    /// # Errors
    /// When there is no such session, or the store refuses.
    pub async fn erase(&self, session: SessionId) -> Result<(), CommandError> {
        let given_up = self.give_up(session).await?;
        self.erase_given_up(session, given_up).await
    }

    /// Has a session's writer leave at once, whatever goes on.
    pub(crate) async fn give_up(&self, session: SessionId) -> Result<GivenUp, CommandError> {
        let mailbox = self.writer(session).await?;
        let (answer, answered) = oneshot::channel();
        let gone = || CommandError::Doubtful { reason: "the session's writer exited".to_owned() };
        mailbox.send(Input::Retire { when: Retire::Now, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())
    }

    /// Erases a session that its writer gave up; one that was claimed since is refused.
    pub(crate) async fn erase_given_up(
        &self,
        session: SessionId,
        given_up: GivenUp,
    ) -> Result<(), CommandError> {
        self.shared.store.erase(given_up.claim).await?;
        self.shared.changes.tell(|| Change::Gone { session: given_up.claim.session, user: given_up.user });
        let wiped = self.shared.spool.work(move |spool| {
            let session = given_up.claim.session;
            // A slot of a spool that was away at start is not reserved.
            let named = given_up.slots.into_iter().map(|(_, slot)| slot);
            named.chain(spool.reserved_for(session)).try_for_each(|slot| spool.release(slot, session))
        });
        if let Err(error) = wiped.await.flatten() {
            tracing::warn!(%session, %error, "failed to wipe spool slot of deleted session, retrying at the \
                                              next start");
        }
        Ok(())
    }

    /// Whether a writer of this process serves the session.
    pub(crate) async fn has_writer(&self, id: SessionId) -> Result<bool, CommandError> {
        if self.shared.registry().find(id).is_some() {
            return Ok(true);
        }
        let session = self.shared.store.open(id).await?.session;
        Ok(self.shared.registry().serving(session).is_some())
    }

    /// The session's writer, or a new one.
    pub(crate) async fn writer(&self, id: SessionId) -> Result<mpsc::Sender<Input>, CommandError> {
        if let Some(writer) = self.shared.registry().find(id) {
            return Ok(writer);
        }
        let session = match self.shared.store.open(id).await {
            Err(OpenError::Unknown(_)) if fault::planted("unknown_id_creates") => {
                return Ok(self.shared.writer_of(id, id, Claiming::New));
            }
            opened => opened?.session,
        };
        Ok(self.shared.writer_of(id, session, Claiming::Existing))
    }

    /// The time at which things happen here.
    pub fn now(&self) -> session::Time {
        self.shared.clock.now()
    }

    /// An id that no session has.
    pub fn new_session_id(&self) -> SessionId {
        self.shared.clock.session_id()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The hub for a task that must not keep it alive.
    pub(crate) fn downgrade(&self) -> WeakHub {
        WeakHub { shared: Arc::downgrade(&self.shared), housekeeping: Arc::downgrade(&self._housekeeping) }
    }

    pub(crate) fn deliveries(&self) -> &Deliveries {
        &self.shared.deliveries
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.shared.store.as_ref()
    }

    /// The store, for its list, its pages and its search.
    pub fn shared_store(&self) -> Arc<dyn Store> {
        self.shared.store.clone()
    }

    /// What changes in a user's list of sessions from now on.
    pub fn follow_list(&self, user: UserId) -> ListFollower {
        self.shared.changes.subscribe(user)
    }

    /// How often a journal was looked at for healing since the start.
    pub fn heal_looks(&self) -> u64 {
        self.shared.heal_looks.load(Ordering::Acquire)
    }

    /// Closes the store, after a drain.
    pub async fn close(&self) {
        self.shared.store.close().await;
    }

    /// Why the store takes no entries, as that changes.
    pub fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.shared.committer.trouble()
    }

    /// This process among those that use the store.
    pub fn node(&self) -> NodeId {
        self.shared.node
    }

    /// How the hub and its store are.
    pub async fn health(&self) -> Health {
        let owing = self.shared.store.owing().await.ok().map(|sessions| sessions.len() as u64);
        Health { store: self.shared.store.health(), owing }
    }

    /// Runs that are going on.
    pub fn open_runs(&self) -> u64 {
        *self.shared.open_runs.borrow()
    }

    /// Returns how many spool slots exist, and how many of them are free.
    pub fn spool_slots(&self) -> (u16, usize) {
        self.shared.spool.counts()
    }

    pub(crate) fn mailboxes(&self) -> Vec<mpsc::Sender<Input>> {
        self.shared.registry().writers().into_iter().map(|(_, mailbox)| mailbox).collect()
    }

    /// Writers that are alive.
    pub fn writers(&self) -> usize {
        self.shared.registry().writers().len()
    }

    /// Lets a session go out of memory once nothing is going on in it, as one does by itself that nobody asks for. What
    /// it owes to memory is offered first.
    pub async fn evict(&self, session: SessionId) {
        let writer = self.shared.registry().find(session);
        if let Some(mailbox) = writer {
            give_up(&mailbox).await;
        }
    }

    /// Lets no new run start from now on, keeps messages, and waits for those that are going on, at most so long.
    pub async fn hold_runs(&self, most: Duration) {
        self.shared.draining.store(true, Ordering::Release);
        let mut open = self.shared.open_runs.subscribe();
        // Running out of time is what the interrupt is for.
        drop(tokio::time::timeout(most, open.wait_for(|count| *count == 0)).await);
    }

    /// Interrupts every run that is going on, and lets no other start. A writer that cannot append now is not waited for
    /// any longer than `most`.
    pub async fn interrupt_runs(&self, reason: &InterruptReason, most: Duration) {
        self.shared.draining.store(true, Ordering::Release);
        let writers = self.shared.registry().writers();
        let interrupted = writers.iter().map(|(session, mailbox)| async move {
            match tokio::time::timeout(most, interrupt(mailbox, reason.clone())).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%session, %error, "failed to interrupt run"),
                Err(_) => tracing::warn!(%session, "run not interrupted in time, the next start repairs it"),
            }
        });
        futures_util::future::join_all(interrupted).await;
    }

    /// Stops: no new run starts, messages are kept and wait, runs have until `timeout` to end, those still going on
    /// are interrupted with `reason`, and every writer keeps its state and ends. What is owed to memory has the same time.
    /// Returns whether every writer ended in time; the next start repairs the sessions of the others, as after a crash.
    pub async fn drain(&self, reason: InterruptReason, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        self.shared.draining.store(true, Ordering::Release);
        if fault::planted("drain_marks_its_begin") {
            self.mark_every_writer(&reason).await;
        }
        self.hold_runs(timeout).await;
        let writers = self.shared.registry().writers();
        let reason = &reason;
        let retired = writers.iter().map(|(session, mailbox)| async move {
            let left = deadline.saturating_duration_since(Instant::now()).max(RETIRE_MIN);
            let retired = async {
                if let Err(error) = interrupt(mailbox, reason.clone()).await {
                    tracing::warn!(%session, %error, "failed to close session, the next start repairs it");
                }
                give_up(mailbox).await;
            };
            let in_time = tokio::time::timeout(left, retired).await.is_ok();
            if !in_time {
                tracing::warn!(%session, "session not closed in time, pending memory commits stay pending");
            }
            in_time
        });
        futures_util::future::join_all(retired).await.into_iter().all(|in_time| in_time)
    }
}

/// Interrupts what a writer has going on.
async fn interrupt(mailbox: &mpsc::Sender<Input>, reason: InterruptReason) -> std::io::Result<()> {
    let (answer, interrupted) = oneshot::channel();
    fault::hit("drain.before_interrupt")?;
    // A writer that ended by itself meanwhile has nothing to interrupt.
    drop(mailbox.send(Input::Command { command: Command::Interrupt { reason }, answer }).await);
    drop(interrupted.await);
    fault::hit("drain.after_interrupt")
}

/// Lets a writer end once nothing is going on.
async fn give_up(mailbox: &mpsc::Sender<Input>) {
    let (answer, retired) = oneshot::channel();
    drop(mailbox.send(Input::Retire { when: Retire::WhenQuiet, answer }).await);
    drop(retired.await);
    mailbox.closed().await;
}

/// What a new session starts with.
#[derive(Debug, Clone, Default)]
pub struct Create {
    /// The caller's own id for it, which makes asking again harmless.
    pub session: Option<SessionId>,
    pub title: Option<String>,
    pub after: Option<SessionId>,
    /// Whose session it is.
    pub user: UserId,
}

/// Keeps the claims of this node, for as long as the hub lives. Nothing else may hold up a heartbeat.
async fn beat(shared: std::sync::Weak<Shared>) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = shared.store.heartbeat(shared.node, shared.clock.now()).await {
            tracing::warn!(reason = %error, "heartbeat failed");
            if let Err(error) = shared.store.revive().await {
                tracing::warn!(reason = %error, "store still unavailable, retrying");
            }
        }
    }
}

/// Repairs sessions, requests pending memory commits and makes spare slots, for as long as the hub lives.
async fn keep_house(shared: std::sync::Weak<Shared>) {
    let mut until_owing = OWING;
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        let Some(shared) = shared.upgrade() else { return };
        until_owing = until_owing.saturating_sub(HOUSEKEEPING);
        if until_owing.is_zero() {
            until_owing = OWING;
            memory::ask_those_that_owe(&shared, |session| shared.registry().serving(session).is_none()).await;
        }
        repairs::repair_due(&shared);
        grow_spool(&shared).await;
    }
}

/// Releases slots that a failing disk kept, then makes more if few are free.
async fn grow_spool(shared: &Shared) {
    if shared.spool.has_unreleased()
        && let Err(error) = shared.spool.work(Spool::retry_releases).await.flatten()
    {
        tracing::debug!(%error, "spool slots not released yet");
    }
    let (made, free) = shared.spool.counts();
    if free >= SLOTS_FREE_MIN || made >= shared.settings.slots_max {
        return;
    }
    let count = made.saturating_mul(2).clamp(1, shared.settings.slots_max);
    if let Err(error) = shared.spool.work(move |spool| spool.grow(count)).await.flatten() {
        tracing::warn!(%error, "failed to add spool slots, new runs have none");
    }
}

//! The line from a node to the store: slow, cut, full, and sometimes silent about what became of an append. Everything
//! is passed on to the one truth; what must hold of every append is checked as it passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{
    BlobHash, ChatKey, Entry, Event, MessageKey, NodeId, Seq, Session, SessionId, Time, TurnId, UserId,
};
use store::blob::Blobs;
use store::{
    Append, AppendError, Binding, Bindings, Bound, Catalog, ChatRow, Claim, ClaimError, Claiming, Counts,
    Dead, Hit, KeyUse, ListQuery, ListRow, LogStore, OpenError, OpenRun, Opened, ReadError, SearchQuery,
    Snapshot, StoreError, TagCount, Trashed, TurnRow, Urgency,
};

use super::slots::SimSlots;
use super::world::World;

/// A lag above the limit of a hub.
const LAG_MICROS: i64 = 60_000_000;

/// What is wrong with one node's way to the store.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Nothing gets through.
    pub(crate) cut: AtomicBool,
    /// Only what is essential is taken.
    pub(crate) full: AtomicBool,
    /// An append had no answer; nothing is written until the store was brought back.
    dead: AtomicBool,
    /// Answers are lost now and then.
    pub(crate) forgetful: AtomicBool,
    /// Logs cannot be read.
    pub(crate) unreadable: AtomicBool,
    /// The answer to the next append that starts a run is lost.
    pub(crate) forget_next_start: AtomicBool,
    /// The next append that ends a run is durable, and its answer is lost.
    pub(crate) forget_next_end: AtomicBool,
    /// The next append is durable, and its answer is the first thing that the line does not carry any more.
    pub(crate) cut_with_next: AtomicBool,
    /// The node drains: messages are kept and wait.
    pub(crate) held: AtomicBool,
    /// Projections report a lag above the hub's limit.
    pub(crate) lags: AtomicBool,
    /// Projections lagged during the life of this process.
    pub(crate) lagged: AtomicBool,
}

impl Line {
    /// A new process has a new connection.
    pub(crate) fn open_anew(&self) {
        self.dead.store(false, Ordering::Relaxed);
        self.held.store(false, Ordering::Relaxed);
        self.lagged.store(false, Ordering::Relaxed);
    }
}

/// The store as one node reaches it.
pub(crate) struct SimStore {
    pub(crate) world: Arc<World>,
    pub(crate) line: Arc<Line>,
    pub(crate) slots: Arc<SimSlots>,
}

impl SimStore {
    /// The way there or back: mostly short.
    async fn way(&self) {
        let millis = match self.world.below(20) {
            0 => 200,
            1..=4 => 20,
            _ => 2,
        };
        self.world.pause(millis).await;
    }

    async fn reach(&self) -> Result<(), StoreError> {
        self.way().await;
        if self.line.cut.load(Ordering::Relaxed) {
            return Err(Dead { reason: "the line is cut".to_owned() }.into());
        }
        Ok(())
    }

    async fn reach_to_write(&self) -> Result<(), StoreError> {
        self.reach().await?;
        if self.line.dead.load(Ordering::Relaxed) {
            return Err(Dead { reason: "an append had no answer".to_owned() }.into());
        }
        Ok(())
    }

    async fn append(&self, batch: Vec<Append>) -> Vec<Result<(), AppendError>> {
        if let Err(error) = self.reach_to_write().await {
            self.world.met("an append found the store away");
            return vec![Err(error.into()); batch.len()];
        }
        let full = self.line.full.load(Ordering::Relaxed);
        let last = self.line.cut_with_next.swap(false, Ordering::Relaxed);
        let has = |wanted: fn(&Event) -> bool| {
            batch.iter().any(|one| one.entries.iter().any(|entry| wanted(&entry.event)))
        };
        let lost_start = has(|event| matches!(event, Event::RunStarted { .. }))
            && self.line.forget_next_start.swap(false, Ordering::Relaxed);
        let lost_end = has(|event| matches!(event, Event::RunEnded { .. }))
            && self.line.forget_next_end.swap(false, Ordering::Relaxed);
        let forgetful = self.line.forgetful.load(Ordering::Relaxed) && self.world.chance(15);
        let forgets = last || lost_start || lost_end || forgetful;
        let vanishes = forgets && !last && !lost_end && self.world.chance(50);
        let count = batch.len();
        if count > 1 {
            self.world.met("several sessions shared a commit");
        }
        let mut results = Vec::with_capacity(count);
        for one in batch {
            if vanishes {
                results.push(Ok(()));
            } else if full && one.urgency == Urgency::Normal {
                self.world.met("a full disk refused an append");
                results.push(Err(AppendError::Full));
            } else {
                results.push(self.apply(one).await);
            }
        }
        self.way().await;
        if forgets {
            self.world.met(if vanishes {
                "an append without an answer was not durable"
            } else {
                "an append without an answer was durable"
            });
            self.line.dead.store(true, Ordering::Relaxed);
            if last {
                self.line.cut.store(true, Ordering::Relaxed);
            }
            let reason = "the answer was lost".to_owned();
            return vec![Err(AppendError::Unknown { reason }); count];
        }
        results
    }

    /// What truly happens. It takes no time, so that it happens whole or not at all.
    async fn apply(&self, one: Append) -> Result<(), AppendError> {
        let (session, epoch, entries) = (one.claim.session, one.claim.epoch, one.entries.clone());
        let result = self.world.truth.append(vec![one]).await.pop().unwrap_or(Ok(()));
        match &result {
            Ok(()) => {
                let mut record = self.world.record();
                for entry in &entries {
                    record.note(session.0.as_bytes());
                    record.note(&entry.hash.0);
                }
                let newest = record.claimed.get(&session).copied();
                drop(record);
                // I15: a claim that is not the newest writes nothing.
                if newest != Some(epoch) {
                    self.world.broken(|| format!("I15 {session} was written under an old claim"));
                }
                self.appended(session, &entries);
            }
            Err(AppendError::Fenced { .. }) => self.world.met("an append of an old claim was refused"),
            Err(AppendError::KeyUsed { .. }) => self.world.met("a used key was refused by the store"),
            Err(_) => {}
        }
        result
    }
}

impl SimStore {
    /// What must hold of every append by itself.
    fn appended(&self, session: SessionId, entries: &[Arc<Entry>]) {
        for entry in entries {
            // I29: a journal that cannot be seen costs no attempt.
            if let Event::RecoveryAttempted { run, .. } = &entry.event
                && !self.slots.could_be_seen(self.world.slot_of(session, *run))
            {
                self.world
                    .broken(|| format!("I29 run {run} of {session} was tried and its journal is not here"));
            }
        }
        let slots = entries.iter().filter_map(|entry| match entry.event {
            Event::RunStarted { spool, .. } => spool,
            _ => None,
        });
        for slot in slots {
            let open = self.world.truth.open_runs().now_or_never().and_then(Result::ok).unwrap_or_default();
            if open.iter().filter(|run| run.spool == Some(slot)).count() > 1 {
                self.world.broken(|| format!("two runs name slot {slot}, one of them in {session}"));
            }
        }
        // P15: a message and the run that it begins are one.
        let posted = entries.iter().any(|entry| matches!(entry.event, Event::MessagePosted { .. }));
        let held = self.line.held.load(Ordering::Relaxed) || self.line.lagged.load(Ordering::Relaxed);
        if posted && !held {
            let mut state = Session::default();
            self.world.log(session).iter().for_each(|entry| session::fold(&mut state, entry));
            if state.open_run.is_none() && state.queue.iter().any(|queued| !queued.paused) {
                self.world.broken(|| format!("P15 a message of {session} waits and nothing goes on"));
            }
        }
    }
}

impl LogStore for SimStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        async move {
            self.reach_to_write().await?;
            let claimed = self.world.truth.claim(session, node, claiming, now).await;
            if let Ok(claim) = &claimed {
                self.world.record().claimed.insert(claim.session, claim.epoch);
            }
            match &claimed {
                Err(ClaimError::Held { .. }) => self.world.met("a session was held by another node"),
                Ok(claim) if claim.epoch.0 > 1 => self.world.met("a session was claimed again"),
                _ => {}
            }
            self.way().await;
            claimed
        }
        .boxed()
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.reach_to_write().await?;
            self.world.truth.heartbeat(node, now).await
        }
        .boxed()
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        Self::append(self, batch).boxed()
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        async move {
            self.reach().await?;
            if self.line.unreadable.load(Ordering::Relaxed) {
                return Err(StoreError::from(Dead { reason: "the log cannot be read".to_owned() }).into());
            }
            self.world.truth.read(session, after, limit).await
        }
        .boxed()
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        async move {
            self.reach().await?;
            self.world.truth.open(session).await
        }
        .boxed()
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.find_key(session, key).await
        }
        .boxed()
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.reach_to_write().await?;
            self.world.met("a snapshot was kept");
            self.world.truth.save_snapshot(session, snapshot).await
        }
        .boxed()
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.open_runs().await
        }
        .boxed()
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.waiting().await
        }
        .boxed()
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.interrupted(since).await
        }
        .boxed()
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.undelivered().await
        }
        .boxed()
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.owing().await
        }
        .boxed()
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        async move {
            self.reach_to_write().await?;
            self.world.truth.erase(claim).await
        }
        .boxed()
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.reach().await?;
            if self.line.dead.swap(false, Ordering::Relaxed) {
                self.world.met("a dead store was brought back");
            }
            Ok(())
        }
        .boxed()
    }
}

impl Catalog for SimStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.list(query).await
        }
        .boxed()
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.turns(session, before, count).await
        }
        .boxed()
    }

    fn indexed_to(&self, session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.indexed_to(session).await
        }
        .boxed()
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.tags(user, count).await
        }
        .boxed()
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.trashed(until, after, count).await
        }
        .boxed()
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.belongs(session, user).await
        }
        .boxed()
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.row(session).await
        }
        .boxed()
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.counts(user).await
        }
        .boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.search(query).await
        }
        .boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.reach().await }.boxed()
    }

    fn lag_micros(&self) -> i64 {
        let lags = self.line.lags.load(Ordering::Relaxed);
        self.line.lagged.fetch_or(lags, Ordering::Relaxed);
        if lags { LAG_MICROS } else { 0 }
    }
}

impl Blobs for SimStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        async move {
            self.reach_to_write().await?;
            self.world.truth.put_blob(bytes, now).await
        }
        .boxed()
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.has_blob(hash).await
        }
        .boxed()
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            self.reach_to_write().await?;
            self.world.truth.expire_uploads(before).await
        }
        .boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.blob(hash).await
        }
        .boxed()
    }
}

impl Bindings for SimStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.binding(chat).await
        }
        .boxed()
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        async move {
            self.reach().await?;
            let before = self.world.truth.binding(chat.clone()).await?;
            let bound = self.world.truth.bind(chat, known, binding).await?;
            if bound == Bound::Yes && before != known {
                self.world.broken(|| format!("I37 the row {before:?} was changed by who knew {known:?}"));
            }
            Ok(bound)
        }
        .boxed()
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.chats_of(session).await
        }
        .boxed()
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        async move {
            self.reach().await?;
            self.world.truth.chats().await
        }
        .boxed()
    }
}

//! A store that can be told to refuse appends, as in an outage, or to hold them, as a slow disk does. Everything else
//! passes through to a real one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{BlobHash, ChatKey, Entry, MessageKey, NodeId, Seq, SessionId, Time, TurnId, UserId};
use store::blob::Blobs;
use store::{
    Append, AppendError, Binding, Bindings, Bound, Catalog, ChatRow, Claim, ClaimError, Claiming, Counts,
    Dead, Hit, KeyUse, ListQuery, ListRow, LogStore, OpenError, OpenRun, Opened, ReadError, SearchQuery,
    Snapshot, Store, StoreError, TagCount, Trashed, TurnRow,
};
use tokio::sync::watch;

/// A real store behind a switch.
pub struct RefusingStore {
    /// Taken away by a crash, whoever still holds a handle.
    store: Mutex<Option<Arc<dyn Store>>>,
    refusing: AtomicBool,
    holding: watch::Sender<bool>,
    /// Appends that are held.
    held: watch::Sender<usize>,
}

impl std::fmt::Debug for RefusingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RefusingStore").field("refusing", &self.refusing).finish_non_exhaustive()
    }
}

impl RefusingStore {
    /// A store that refuses nothing yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let (holding, held) = (watch::Sender::new(false), watch::Sender::new(0));
        Self { store: Mutex::new(Some(store)), refusing: AtomicBool::new(false), holding, held }
    }

    /// Refuses every append from now on.
    pub fn refuse(&self) {
        self.refusing.store(true, Ordering::Release);
    }

    /// Takes appends again.
    pub fn take_again(&self) {
        self.refusing.store(false, Ordering::Release);
    }

    /// Holds every append from now on.
    pub fn hold(&self) {
        self.holding.send_replace(true);
    }

    /// Lets go of what is held, and of what comes.
    pub fn let_go(&self) {
        self.holding.send_replace(false);
    }

    /// Waits until an append is held.
    pub async fn holds(&self) {
        // The sender lives in this store, so waiting cannot fail.
        drop(self.held.subscribe().wait_for(|held| *held > 0).await);
    }

    /// Takes the real store away, as a crash does. It is closed once nothing is under way in it.
    pub fn take_away(&self) {
        drop(self.store.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    #[expect(clippy::expect_used, reason = "a test that uses a crashed world is wrong")]
    fn store(&self) -> Arc<dyn Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("the world crashed")
    }

    fn check(&self) -> Result<(), Dead> {
        let dead = Dead { reason: "told to refuse".to_owned() };
        if self.refusing.load(Ordering::Acquire) { Err(dead) } else { Ok(()) }
    }
}

impl LogStore for RefusingStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        let store = self.store();
        async move { store.claim(session, node, claiming, now).await }.boxed()
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        let store = self.store();
        async move { store.heartbeat(node, now).await }.boxed()
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        match self.check() {
            Ok(()) => {
                let store = self.store();
                async move {
                    self.held.send_modify(|held| *held += usize::from(*self.holding.borrow()));
                    drop(self.holding.subscribe().wait_for(|holding| !holding).await);
                    self.held.send_replace(0);
                    store.append(batch).await
                }
                .boxed()
            }
            Err(dead) => {
                let refused = AppendError::Store(dead.into());
                async move { vec![Err(refused); batch.len()] }.boxed()
            }
        }
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        let store = self.store();
        async move { store.read(session, after, limit).await }.boxed()
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        let store = self.store();
        async move { store.open(session).await }.boxed()
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        let store = self.store();
        async move { store.find_key(session, key).await }.boxed()
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        let store = self.store();
        async move { store.save_snapshot(session, snapshot).await }.boxed()
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        let store = self.store();
        async move { store.open_runs().await }.boxed()
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let store = self.store();
        async move { store.waiting().await }.boxed()
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let store = self.store();
        async move { store.interrupted(since).await }.boxed()
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let store = self.store();
        async move { store.undelivered().await }.boxed()
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let store = self.store();
        async move { store.owing().await }.boxed()
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        let store = self.store();
        async move { store.erase(claim).await }.boxed()
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.check() {
            Ok(()) => {
                let store = self.store();
                async move { store.revive().await }.boxed()
            }
            Err(dead) => async move { Err(dead.into()) }.boxed(),
        }
    }
}

impl Catalog for RefusingStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        let store = self.store();
        async move { store.list(query).await }.boxed()
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        let store = self.store();
        async move { store.turns(session, before, count).await }.boxed()
    }

    fn indexed_to(&self, session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        let store = self.store();
        async move { store.indexed_to(session).await }.boxed()
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        let store = self.store();
        async move { store.tags(user, count).await }.boxed()
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        let store = self.store();
        async move { store.trashed(until, after, count).await }.boxed()
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let store = self.store();
        async move { store.belongs(session, user).await }.boxed()
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        let store = self.store();
        async move { store.row(session).await }.boxed()
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        let store = self.store();
        async move { store.counts(user).await }.boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        let store = self.store();
        async move { store.search(query).await }.boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let store = self.store();
        async move { store.settle().await }.boxed()
    }

    fn lag_micros(&self) -> i64 {
        self.store().lag_micros()
    }
}

impl Blobs for RefusingStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        let store = self.store();
        async move { store.put_blob(bytes, now).await }.boxed()
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        let store = self.store();
        async move { store.has_blob(hash).await }.boxed()
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        let store = self.store();
        async move { store.expire_uploads(before).await }.boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let store = self.store();
        async move { store.blob(hash).await }.boxed()
    }
}

impl Bindings for RefusingStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        let store = self.store();
        async move { store.binding(chat).await }.boxed()
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        let store = self.store();
        async move { store.bind(chat, known, binding).await }.boxed()
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        let store = self.store();
        async move { store.chats_of(session).await }.boxed()
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        let store = self.store();
        async move { store.chats().await }.boxed()
    }
}

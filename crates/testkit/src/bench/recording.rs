//! A store that notes which entries were committed together, so that bare SQLite can be given the same batches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use session::{BlobHash, ChatKey, Entry, MessageKey, NodeId, Seq, SessionId, Time, TurnId, UserId};
use store::blob::Blobs;
use store::sqlite::SqliteStore;
use store::{
    Append, AppendError, Binding, Bindings, Bound, Catalog, ChatRow, Claim, ClaimError, Claiming, Counts,
    Hit, KeyUse, ListQuery, ListRow, LogStore, OpenError, OpenRun, Opened, ReadError, SearchQuery, Snapshot,
    StoreError, TagCount, Trashed, TurnRow,
};

/// Entries that were committed together, each with its session.
pub(crate) type Batch = Vec<(SessionId, Arc<Entry>)>;

/// The real store, and what it was given while recording.
#[derive(Debug)]
pub(crate) struct RecordingStore {
    store: Arc<SqliteStore>,
    recording: AtomicBool,
    batches: Mutex<Vec<Batch>>,
}

impl RecordingStore {
    pub(crate) fn new(store: Arc<SqliteStore>) -> Self {
        Self { store, recording: AtomicBool::new(false), batches: Mutex::default() }
    }

    pub(crate) fn record(&self) {
        self.recording.store(true, Ordering::Release);
    }

    /// Ends the recording and gives what was noted.
    pub(crate) fn recorded(&self) -> Vec<Batch> {
        self.recording.store(false, Ordering::Release);
        std::mem::take(&mut self.batches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, appends: &[Append]) {
        if self.recording.load(Ordering::Acquire) {
            let entries = appends
                .iter()
                .flat_map(|append| append.entries.iter().map(|entry| (append.claim.session, entry.clone())));
            self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(entries.collect());
        }
    }
}

impl LogStore for RecordingStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        self.store.claim(session, node, claiming, now)
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.heartbeat(node, now)
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        self.note(&batch);
        self.store.append(batch)
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        self.store.read(session, after, limit)
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        self.store.open(session)
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        self.store.find_key(session, key)
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.save_snapshot(session, snapshot)
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.store.waiting()
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.store.interrupted(since)
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.store.undelivered()
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.store.owing()
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.store.open_runs()
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        self.store.erase(claim)
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.revive()
    }
}

impl Catalog for RecordingStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        self.store.list(query)
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        self.store.turns(session, before, count)
    }

    fn indexed_to(&self, session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        self.store.indexed_to(session)
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        self.store.tags(user, count)
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        self.store.trashed(until, after, count)
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.belongs(session, user)
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        self.store.row(session)
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        self.store.counts(user)
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        self.store.search(query)
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.settle()
    }

    fn lag_micros(&self) -> i64 {
        self.store.lag_micros()
    }
}

impl Blobs for RecordingStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        self.store.put_blob(bytes, now)
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.has_blob(hash)
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.store.expire_uploads(before)
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.store.blob(hash)
    }
}

impl Bindings for RecordingStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        self.store.binding(chat)
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        self.store.bind(chat, known, binding)
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        self.store.chats_of(session)
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        self.store.chats()
    }
}

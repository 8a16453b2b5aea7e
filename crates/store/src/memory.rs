//! The reference store: logs in maps behind one lock, every projection folded anew when asked. It says what a store
//! means, and its fault switches let tests above it meet a store that fails.

mod faults;
mod state;

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{BlobHash, ChatKey, Entry, MessageKey, NodeId, Seq, SessionId, Time, TurnId, UserId};

use crate::blob::{Blobs, hash_of};
use crate::catalog::{Catalog, Counts, Hit, ListQuery, ListRow, SearchQuery, TagCount, Trashed, TurnRow};
use crate::error::{AppendError, ClaimError, OpenError, ReadError, StoreError};
use crate::{
    Append, Binding, Bindings, Bound, ChatRow, Claim, Claiming, KeyUse, LogStore, OpenRun, Opened, Snapshot,
    Urgency,
};

pub use faults::Faults;
use faults::{Ending, Permission};
use state::State;

/// A store that lives as long as its process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    faults: Faults,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets every heartbeat, like a store opened by its only process.
    pub fn forget_nodes(&self) {
        self.state().nodes.clear();
    }

    /// The switches that make it fail.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, batch: &[Append]) -> Vec<Result<(), AppendError>> {
        let (permission, ending) = match self.faults.next_append() {
            Ok(next) => next,
            Err(dead) => return vec![Err(StoreError::from(dead).into()); batch.len()],
        };
        let mut state = self.state();
        let mut results = Vec::with_capacity(batch.len());
        for one in batch {
            let full = permission == Permission::Essential && one.urgency == Urgency::Normal;
            results.push(match ending {
                _ if full => Err(AppendError::Full),
                Ending::Vanishes => Ok(()),
                Ending::Answered | Ending::AnswerLost => state.append(one),
            });
        }
        match ending {
            Ending::Answered => results,
            Ending::AnswerLost | Ending::Vanishes => {
                let reason = "the answer was lost".to_owned();
                vec![Err(AppendError::Unknown { reason }); batch.len()]
            }
        }
    }
}

impl LogStore for MemoryStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        async move {
            self.faults.alive().map_err(StoreError::from)?;
            self.state().claim(session, node, claiming, now)
        }
        .boxed()
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.faults.alive()?;
            self.state().heartbeat(node, now);
            Ok(())
        }
        .boxed()
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        async move { self.append_now(&batch) }.boxed()
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        async move {
            let read = self.state().read(session, after, limit)?;
            self.faults.damaged(session, after, read)
        }
        .boxed()
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        async move { self.state().open(session) }.boxed()
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        async move { Ok(self.state().find_key(session, &key)) }.boxed()
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.faults.alive()?;
            self.state().save_snapshot(session, snapshot);
            Ok(())
        }
        .boxed()
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        async move { Ok(self.state().open_runs()) }.boxed()
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move { Ok(self.state().waiting()) }.boxed()
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move { Ok(self.state().interrupted(since)) }.boxed()
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move { Ok(self.state().undelivered()) }.boxed()
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move { Ok(self.state().owing()) }.boxed()
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        async move {
            self.faults.alive().map_err(StoreError::from)?;
            self.state().erase(claim)
        }
        .boxed()
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { Ok(self.faults.revive()?) }.boxed()
    }
}

impl Catalog for MemoryStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        async move { Ok(self.state().list(&query)) }.boxed()
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        async move { Ok(self.state().turns(session, before, count)) }.boxed()
    }

    /// Turns are indexed in the transaction that appends their entries.
    fn indexed_to(&self, _session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        async { Ok(Seq(u64::MAX)) }.boxed()
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        async move { Ok(self.state().tags(user, count)) }.boxed()
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        async move { Ok(self.state().trashed(until, after, count)) }.boxed()
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move { Ok(self.state().belongs(session, user)) }.boxed()
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        async move { Ok(self.state().row(session)) }.boxed()
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        async move { Ok(self.state().counts(user)) }.boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        async move { Ok(self.state().search(&query)) }.boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { Ok(self.faults.alive()?) }.boxed()
    }

    fn lag_micros(&self) -> i64 {
        0
    }
}

impl Blobs for MemoryStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        async move {
            let hash = hash_of(&bytes);
            let mut state = self.state();
            state.blobs.insert(hash.clone(), bytes);
            state.pending_blobs.insert(hash.clone(), now);
            Ok(hash)
        }
        .boxed()
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move { Ok(self.state().blobs.contains_key(&hash)) }.boxed()
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move { Ok(self.state().expire_uploads(before)) }.boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        async move { Ok(self.state().blobs.get(&hash).cloned()) }.boxed()
    }
}

impl Bindings for MemoryStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        async move { Ok(self.state().chats.get(&chat.to_text()).copied()) }.boxed()
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        async move {
            self.faults.alive()?;
            Ok(self.state().bind(&chat, known, binding))
        }
        .boxed()
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        async move { Ok(self.state().chats_of(session)) }.boxed()
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        async move { Ok(self.state().chat_rows()) }.boxed()
    }
}

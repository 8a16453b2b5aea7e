//! Durable logs, the list of sessions, search, blobs and claims.
//!
//! A store keeps what writers append and never anything else: it knows entries and claims, not agents, HTTP or
//! platforms. Four small traits are the seams; [`memory`] is the reference implementation with fault switches,
//! [`sqlite`] the one for a single machine, [`postgres`] the one for several, and [`conformance`] the suite that every store must pass.

pub mod backup;
mod binding;
pub mod blob;
pub mod catalog;
pub mod claim;
pub mod conformance;
pub mod directory;
mod error;
pub mod memory;
mod metrics;
pub mod people;
pub mod postgres;
pub mod sqlite;
pub mod words;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use session::{Entry, Fingerprint, Link, MessageKey, NodeId, RunId, Seq, SessionId, SlotNo, Time};

pub use binding::{Binding, Bindings, Bound, ChatRow};
pub use catalog::{
    Catalog, Counts, Document, DocumentKind, Doing, Hit, ListQuery, ListRow, SearchCursor, SearchQuery,
    SearchScope, Shelf, TagCount, Trashed, TurnRow,
};
pub use claim::{Claim, Claiming};
pub use error::{AppendError, ClaimError, Dead, OpenError, ReadError, StoreError};

/// Durable logs: the only truth. Everything else that a store keeps can be rebuilt from them.
pub trait LogStore: Send + Sync + 'static {
    /// Gives `node` the right to write a session, under an epoch higher than any before. A session that another
    /// node holds is given only when that node's last heartbeat is older than [`claim::HEARTBEAT_MICROS_MAX`]; the
    /// old holder's appends are refused from then on, whatever its clock says.
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>>;

    /// Says that `node` is alive; nothing is renewed per session.
    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Appends to many sessions in one transaction. Each append is checked (epoch, end of the log, keys) and applied
    /// whole or not at all, in the order given, and reports for itself. When this answers `Ok`, the entries survive
    /// a power cut.
    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>>;

    /// Returns entries after `after`, in order, at most `limit`. A page ends with the entry that brings it to
    /// [`PAGE_BYTES`]; an empty page means the end of the log. Entries are checked against the chain. If one is damaged, the
    /// page ends before it.
    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>>;

    /// Where a session's log ends and what shortens reading it. Any of its ids will do.
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>>;

    /// What a key was used for, if it was.
    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>>;

    /// Keeps a state to shorten a later fold. Never waited for, always rebuildable.
    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Runs that were started and not ended, over all sessions.
    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>>;

    /// Sessions in which a message may wait for its run, over all sessions; some may turn out to have none.
    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>>;

    /// Sessions whose newest answer was interrupted, active since then, the latest activity first; none in the trash.
    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>>;

    /// Sessions that owe completed turns to a memory owner, over all sessions.
    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>>;

    /// Sessions that owe answers to chats, over all sessions.
    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>>;

    /// Removes a session's log and all that was derived from it, and keeps its ids as used.
    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>>;

    /// How the store is at this moment. One without files of its own has nothing to tell.
    fn health(&self) -> Health {
        Health::default()
    }

    /// Closes the store: what was appended is durable anyway, and the next start has less to do. Nothing is answered
    /// any more.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Brings a dead store back: reopens it and checks the chain of all that is not packed.
    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// How a store is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// How far projections are behind.
    pub lag_micros: i64,
    /// Bytes of entries that are not packed yet.
    pub tail_bytes: u64,
    /// Sessions that are known to be damaged.
    pub damaged: u64,
    /// Damage that SQLite found in its database outside of any one log.
    pub malformed: Option<String>,
    /// Why it is not written to, if it is not.
    pub dead: Option<String>,
    /// Whether the words for search cannot be trusted.
    pub search_off: bool,
}

/// Bytes of entries after which a page ends.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// Reads a log after `after` to its end, page by page.
///
/// # Errors
/// Returns the first [`ReadError`] of a page.
pub async fn read_all(
    store: &dyn LogStore,
    session: SessionId,
    mut after: Seq,
) -> Result<Vec<Entry>, ReadError> {
    let mut entries = Vec::new();
    loop {
        let page = store.read(session, after, usize::MAX).await?;
        let Some(last) = page.last() else { return Ok(entries) };
        after = last.seq;
        entries.extend(page);
    }
}

/// A store with all its seams.
pub trait Store: LogStore + Catalog + blob::Blobs + Bindings {}

impl<T: LogStore + Catalog + blob::Blobs + Bindings> Store for T {}

/// Entries for one session, appended whole or not at all.
#[derive(Debug, Clone)]
pub struct Append {
    pub claim: Claim,
    /// The end of the log that the writer knows; the append is refused when it is another.
    pub last: Link,
    pub entries: Vec<Arc<Entry>>,
    pub urgency: Urgency,
}

/// Whether an append may use the disk's reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Refused when the disk is at its reserve.
    Normal,
    /// Ends and marks: taken from the reserve, so that a full disk can be left.
    Essential,
}

/// What a store knows of a session when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The id under which the log was made; its name inside the store, whatever other ids lead here.
    pub session: SessionId,
    pub end: Link,
    pub snapshot: Option<Snapshot>,
}

/// A stored state at a `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub at: Link,
    pub state: Vec<u8>,
}

/// What a key was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub seq: Seq,
    pub fingerprint: Fingerprint,
}

/// A run that was started and not ended, or whose journal is still awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenRun {
    pub session: SessionId,
    pub run: RunId,
    pub spool: Option<SlotNo>,
}

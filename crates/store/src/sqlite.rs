//! The store for one machine: one SQLite file, WAL, `synchronous=FULL`, one connection that writes, many that read;
//! beside it the search index, in a file that can be rebuilt.
//!
//! | file | question |
//! | --- | --- |
//! | `sqlite/writer.rs` | what does the one writing thread do, and in which order? |
//! | `sqlite/background.rs` | what does it do between commits? |
//! | `sqlite/append.rs` | what belongs in the append's transaction? |
//! | `sqlite/tail.rs` | which rows belong to a session that is not packed? |
//! | `sqlite/pack.rs` | how do entries stand in a pack? |
//! | `sqlite/project.rs` | what follows behind the append, off the writing thread? |
//! | `sqlite/index.rs` | what do entries change in the projections beside the log? |
//! | `sqlite/search.rs` | which texts can be found, in a file of their own? |
//! | `sqlite/find.rs` | which of them have the words? |
//! | `sqlite/source.rs` | how is a whole log read for what is made from it? |
//! | `sqlite/read.rs` | how are entries read back, from packs and tail? |
//! | `sqlite/catalog.rs` | which sessions, turns and chats are there, and what waits? |
//! | `sqlite/put.rs` | how is an attachment kept, without a commit waiting for it? |
//! | `sqlite/erase.rs` | what is removed with a session? |
//! | `sqlite/checkpoint.rs` | when is the write-ahead log folded into the file? |
//! | `sqlite/wal.rs` | is the write-ahead log whole? |
//! | `sqlite/beside.rs` | what can be asked of a store that is not opened? |
//! | `sqlite/verify.rs` | is everything as it was written? |
//! | `sqlite/repair.rs` | how does a session go on after damage? |
//! | `sqlite/damage.rs` | which logs are known to be damaged? |
//! | `sqlite/disk.rs` | is there room? |

mod append;
mod background;
mod beside;
mod catalog;
mod checkpoint;
mod damage;
pub(crate) mod disk;
mod erase;
mod find;
mod index;
mod load;
pub(crate) mod migrate;
mod pack;
mod project;
mod put;
mod read;
mod remake;
mod repair;
mod request;
mod search;
mod source;
mod tail;
mod verify;
pub(crate) mod wal;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use session::{ChatKey, Damage, Entry, MessageKey, NodeId, Seq, SessionId, Time, TurnId, UserId};
use tokio::sync::{Semaphore, oneshot};

use crate::blob::BlobDirectory;
use crate::catalog::{Catalog, Counts, Hit, ListQuery, ListRow, SearchQuery, TagCount, Trashed, TurnRow};
use crate::directory::{DataDirectory, LogsAt};
use crate::error::{AppendError, ClaimError, Dead, OpenError, ReadError, StoreError};
use crate::{
    Append, Binding, Bindings, Bound, ChatRow, Claim, Claiming, Health, KeyUse, LogStore, OpenRun, Opened,
    Snapshot,
};

pub use beside::look;
pub use repair::{Repaired, RepairedSession, repair};
pub use verify::{Trouble, TroubleKind, Verified, VerifyProgress, verify};

pub(crate) use beside::raise_epochs;
use damage::{DamagedLogs, Malformed};
use disk::moment;
use request::{PackedSnapshot, Request};
use tail::Tail;
use writer::Writer;

/// What the logs are called in a data directory.
pub(crate) const LOGS_FILE: &str = "everturn.db";

/// Older versions of SQLite can lose committed writes when a WAL is reset while another connection writes.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// The longest time that the writing connection waits for a lock: of another writer, or of readers at a clean stop.
const WRITER_BUSY_MAX: Duration = Duration::from_secs(5);

/// Connections that read at once. Two cores rarely keep more busy.
const READERS_MAX: usize = 4;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory that holds the file, the blobs and the lock.
    pub directory: PathBuf,
    /// Free bytes on the disk below which only ends and marks are still written.
    pub reserve_bytes: u64,
}

impl Settings {
    /// The usual settings for a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), reserve_bytes: 256 * 1024 * 1024 }
    }
}

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error("another process uses {}; stop it first", .0.display())]
    InUse(PathBuf),
    #[error("SQLite {found} can lose committed writes; {SQLITE_VERSION_MIN} or newer is needed")]
    OldSqlite { found: i32 },
    #[error("{0}")]
    Refused(String),
    #[error("failed to open {LOGS_FILE}: {0}")]
    Failed(String),
}

/// Something in the world below failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Damaged(String),
}

impl From<Fault> for OpenStoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(text) => Self::Refused(text),
            Fault::Sqlite(_) | Fault::Io(_) | Fault::Damaged(_) => Self::Failed(fault.to_string()),
        }
    }
}

impl Fault {
    fn doing(&self, doing: &'static str) -> StoreError {
        StoreError::Failed { doing, reason: self.to_string() }
    }
}

/// What the writing thread, the projector and readers share.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    tail: Mutex<Tail>,
    connections: Mutex<Vec<Connection>>,
    permits: Semaphore,
    blobs: BlobDirectory,
    blob_permits: Semaphore,
    lag_micros: AtomicI64,
    damaged: Mutex<DamagedLogs>,
    malformed: Mutex<Malformed>,
    /// Whether the words for search cannot be written, and so not be trusted.
    search_off: AtomicBool,
    /// Why the store is not written to, if it is not.
    dead: Mutex<Option<String>>,
}

/// The lock holds as long as anyone uses the directory.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteStore {
    /// Enters a directory and opens the store in it, or makes one.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be entered, or if the store cannot be read.
    pub fn open(settings: Settings) -> Result<Self, OpenStoreError> {
        let directory = DataDirectory::enter(&settings.directory, LogsAt::Here)?;
        Self::open_in(directory, settings)
    }

    /// Opens the store in a directory that this process entered, or makes one.
    ///
    /// # Errors
    /// Returns an error if another process uses the directory, or if the store cannot be read.
    pub fn open_in(directory: DataDirectory, settings: Settings) -> Result<Self, OpenStoreError> {
        let found = rusqlite::version_number();
        if found < SQLITE_VERSION_MIN {
            return Err(OpenStoreError::OldSqlite { found });
        }
        if directory.is_shared() {
            return Err(OpenStoreError::InUse(directory.path().to_owned()));
        }
        let blobs = BlobDirectory::open(settings.directory.join("blobs")).map_err(Fault::from)?;
        let shared = Arc::new(Shared {
            directory: settings.directory.clone(),
            tail: Mutex::default(),
            connections: Mutex::default(),
            permits: Semaphore::new(READERS_MAX),
            blobs,
            blob_permits: Semaphore::new(put::BLOB_WRITERS_MAX),
            lag_micros: AtomicI64::new(0),
            damaged: Mutex::default(),
            malformed: Mutex::default(),
            search_off: AtomicBool::new(false),
            dead: Mutex::new(None),
        });
        let (requests, inbox) = mpsc::channel();
        let writer = Writer::start(shared.clone(), settings, requests.clone(), inbox, directory)?;
        Ok(Self { shared, requests, writer: Some(writer) })
    }

    /// Sends a request to the writing thread and waits for its answer.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
        gone: impl FnOnce(Dead) -> T + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let (answer, answered) = oneshot::channel();
        // A send fails only when the thread is gone; the answer's sender is dropped then.
        drop(self.requests.send(request(answer)));
        async move {
            match answered.await {
                Ok(answer) => answer,
                Err(_) => gone(Dead { reason: "the writer thread exited".to_owned() }),
            }
        }
        .boxed()
    }

    /// Reads on one of a few connections, off the async threads.
    fn reading<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Shared, &mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let shared = self.shared.clone();
        async move {
            let failed = |reason: String| StoreError::Failed { doing, reason };
            let _permit = shared.permits.acquire().await.map_err(|error| failed(error.to_string()))?;
            let reader = shared.clone();
            let read = tokio::task::spawn_blocking(move || reader.with_connection(work));
            match read.await {
                Ok(result) => {
                    if let Err(Fault::Sqlite(error)) = &result
                        && Fault::is_malformed(error)
                        && shared.malformed().begins_check(moment())
                    {
                        let shared = shared.clone();
                        tokio::task::spawn_blocking(move || shared.check_database());
                    }
                    result.map_err(|fault| fault.doing(doing))
                }
                Err(error) => Err(failed(error.to_string())),
            }
        }
        .boxed()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        drop(self.requests.send(Request::Close(None)));
        if let Some(writer) = self.writer.take() {
            // The thread ends by itself.
            drop(writer.join());
        }
    }
}

impl Shared {
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn damaged(&self) -> MutexGuard<'_, DamagedLogs> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn malformed(&self) -> MutexGuard<'_, Malformed> {
        self.malformed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the whole database for damage, after a read found it malformed. A failing disk looks the same to that read.
    fn check_database(&self) {
        let checked = connect_to_read(&self.database()).and_then(|connection| damage::find(&connection));
        match checked {
            Ok(found) => {
                if let Some(damage) = &found {
                    tracing::error!(damage, "database damaged, restore a backup");
                }
                self.malformed().set(found);
            }
            Err(error) => tracing::warn!(%error, "failed to check the database for damage"),
        }
    }

    /// Records and logs damage found by a reader.
    fn note_damage(&self, no: i64, session: SessionId, damage: &Damage) {
        if self.damaged().note_read(no) {
            tracing::error!(%session, %damage, "session log damaged");
        }
    }

    fn database(&self) -> PathBuf {
        self.directory.join(LOGS_FILE)
    }

    fn wal(&self) -> PathBuf {
        wal::path(&self.database())
    }

    fn words(&self) -> PathBuf {
        self.directory.join("search.db")
    }

    /// Opens a connection for each reader, in place of earlier ones.
    fn open_readers(&self) -> Result<(), Fault> {
        let open = || connect_to_read(&self.database()).and_then(open_files);
        let opened = std::iter::repeat_with(open).take(READERS_MAX).collect::<Result<_, Fault>>()?;
        *self.connections.lock().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(())
    }

    fn with_connection<T>(
        &self,
        work: impl FnOnce(&Self, &mut Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let idle = self.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect_to_read(&self.database())?,
        };
        let result =
            fault::hit("reader.read").map_err(Fault::from).and_then(|()| work(self, &mut connection));
        // A connection that met an error is not used again.
        if result.is_ok() {
            self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        result
    }
}

/// Opens all files of a connection now instead of at its first use, so that a server without enough descriptors fails at
/// its start and not later.
fn open_files(connection: Connection) -> Result<Connection, Fault> {
    match connection.query_row("PRAGMA schema_version", [], |_| Ok(())) {
        Ok(()) => Ok(connection),
        Err(error) => Err(no_connection(error)),
    }
}

/// Names the usual reason for a connection that cannot be opened.
fn no_connection(error: rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => Fault::Refused(format!(
            "failed to open a connection to the store: {error}; the limit of open files (`ulimit -n`) may be too low"
        )),
        _ => error.into(),
    }
}

/// Starts a thread of the store.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    fault::hit("store.spawn")?;
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

fn connect_to_write(path: &Path) -> Result<Connection, Fault> {
    let connection = Connection::open(path)?;
    // Closing after an error must not touch the files; a sound store is folded together by name.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if migrate::check(&connection)? == 0 {
        // Said again to a file that has it already, this would be a write; a full disk must not keep a store closed.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Refused(format!(
            "the file system doesn't support SQLite's WAL mode (journal mode is {mode})"
        )));
    }
    connection.pragma_update(None, "synchronous", if fault::planted("no_sync") { "OFF" } else { "FULL" })?;
    connection.pragma_update(None, "cache_size", -64 * 1024)?;
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // Looked after in `checkpoint.rs`.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.busy_timeout(WRITER_BUSY_MAX)?;
    // A statement's plan does not depend on what is bound, so it is made once and not at every use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn connect_to_read(path: &Path) -> Result<Connection, Fault> {
    fault::hit("reader.connect")?;
    // A connection is one thread's at a time, so that SQLite need not take a lock at every step.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !path.exists() {
        return Err(Fault::Refused(format!("there is no store at {} yet", path.display())));
    }
    let connection = Connection::open_with_flags(path, flags).map_err(no_connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

impl LogStore for SqliteStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        let ask = move |shared| {
            self.ask(
                |answer| Request::Claim { session, node, claiming, now, shared, answer },
                |dead| Err(StoreError::from(dead).into()),
            )
        };
        let Claiming::Branch { from, at } = claiming else { return ask(None) };
        // What a branch shares never changes, so it is folded here, where no append waits for it.
        let shared = self.reading("create a branch", move |shared, connection| {
            catalog::shared_row(shared, connection, session, from, at)
        });
        async move { ask(shared.await?).await }.boxed()
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(|answer| Request::Heartbeat { node, now, answer }, |dead| Err(dead.into()))
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        let count = batch.len();
        self.ask(
            |answer| Request::Append { batch, answer },
            move |dead| vec![Err(AppendError::Unknown { reason: dead.reason }); count],
        )
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        let read = self.reading("read entries", move |shared, connection| {
            Ok(read::entries(shared, connection, session, after, limit))
        });
        async move { read.await? }.boxed()
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        let read = self
            .reading("open a session", move |shared, connection| Ok(read::open(shared, connection, session)));
        async move { read.await? }.boxed()
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        self.reading("look up an idempotency key", move |_, connection| read::key(connection, session, &key))
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        // Compressed here, so that the writing thread has less to do.
        match PackedSnapshot::new(&snapshot) {
            Ok(snapshot) => {
                self.ask(|answer| Request::Snapshot { session, snapshot, answer }, |dead| Err(dead.into()))
            }
            Err(error) => {
                let reason = error.to_string();
                async move { Err(StoreError::Failed { doing: "save a snapshot", reason }) }.boxed()
            }
        }
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.reading("list open runs", |_, connection| catalog::open_runs(connection))
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.reading("list sessions with queued messages", |shared, connection| {
            catalog::waiting(shared, connection)
        })
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.reading("list interrupted sessions", move |_, connection| {
            catalog::interrupted(connection, since)
        })
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.reading("list undelivered answers", |_, connection| catalog::undelivered(connection))
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        self.reading("list pending memory commits", |_, connection| catalog::owing(connection))
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        self.ask(
            |answer| Request::Erase { claim, answer },
            |dead| Err(AppendError::Unknown { reason: dead.reason }),
        )
    }

    fn health(&self) -> Health {
        let shared = &self.shared;
        Health {
            lag_micros: shared.lag_micros.load(Ordering::Relaxed),
            tail_bytes: shared.tail().size_bytes(),
            damaged: shared.damaged().count(),
            malformed: shared.malformed().found().map(str::to_owned),
            dead: shared.dead.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            search_off: shared.search_off.load(Ordering::Relaxed),
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.ask(|answer| Request::Close(Some(answer)), |_| ())
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(|answer| Request::Revive { answer }, |dead| Err(dead.into()))
    }
}

impl Catalog for SqliteStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        self.reading("list sessions", move |_, connection| catalog::list(connection, &query))
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        self.reading("read a page of turns", move |_, connection| {
            catalog::turns(connection, session, before, count)
        })
    }

    fn indexed_to(&self, session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        self.reading("read how far turns are indexed", move |_, connection| {
            catalog::indexed_to(connection, session)
        })
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        self.reading("count tags", move |_, connection| catalog::tags(connection, user, count))
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        self.reading("list the trash", move |_, connection| catalog::trashed(connection, until, after, count))
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.reading("look up a session's owner", move |_, connection| {
            catalog::belongs(connection, session, user)
        })
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        self.reading("look up a session", move |_, connection| catalog::row(connection, session))
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        self.reading("count sessions", move |_, connection| catalog::counts(connection, user))
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        let requests = self.requests.clone();
        self.reading("search", move |shared, connection| {
            if shared.search_off.load(Ordering::Acquire) {
                let why = "search is off after an error until its index is rebuilt";
                return Err(Fault::Refused(why.to_owned()));
            }
            let found = find::find(connection, &shared.words(), &query);
            if found.as_ref().is_err_and(Fault::is_damage) {
                // The send fails only if the writing thread is gone; then nothing can rebuild the index.
                drop(requests.send(Request::SearchDamaged));
            }
            found
        })
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(|answer| Request::Settle { answer }, |dead| Err(dead.into()))
    }

    fn lag_micros(&self) -> i64 {
        self.shared.lag_micros.load(Ordering::Relaxed)
    }
}

impl Bindings for SqliteStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        self.reading("look up a chat", move |_, connection| catalog::binding(connection, &chat))
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        self.ask(|answer| Request::Bind { chat, known, binding, answer }, |dead| Err(dead.into()))
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        self.reading("list a session's chats", move |_, connection| catalog::chats_of(connection, session))
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        self.reading("list chats", |_, connection| catalog::chats(connection))
    }
}

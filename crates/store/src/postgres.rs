//! A store on PostgreSQL: the same logs for several machines. A batch of appends is one statement that checks each
//! session's claim and end and answers for each; what follows from the entries (keys, ids, open runs, list, turns, words)
//! is written in the same transaction.
//!
//! | file | question |
//! | --- | --- |
//! | `append.rs` | how does a batch become durable, or each of its appends be refused? |
//! | `claims.rs` | who may write a session, and how does one begin or end? |
//! | `notes.rs` | what follows from entries, in the same transaction? |
//! | `read.rs` | what is there? |
//! | `search.rs` | which texts can be found, and which have the words? |

mod append;
mod blobs;
mod claims;
mod notes;
mod read;
mod search;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{
    BlobHash, ChatKey, Entry, Hash, Link, MessageKey, NodeId, Seq, SessionId, Time, TurnId, UserId,
};
use tokio_postgres::config::Host;
use tokio_postgres::{NoTls, Row};

use crate::blob::{Blobs, hash_of};
use crate::catalog::{Catalog, Counts, Hit, ListQuery, ListRow, SearchQuery, TagCount, Trashed, TurnRow};
use crate::error::{AppendError, ClaimError, Dead, OpenError, ReadError, StoreError};
use crate::{
    Append, Binding, Bindings, Bound, ChatRow, Claim, Claiming, KeyUse, LogStore, OpenRun, Opened, Snapshot,
};

/// Connections for appends, claims and whatever a message needs to be accepted.
const CONNECTIONS_MAX: usize = 8;
/// Connections for reads that may be slow: lists, counts, search, chats and attachments. Appends never wait for them.
const READERS_MAX: usize = 6;
/// Maximum wait for such a connection.
const READER_WAIT: Duration = Duration::from_secs(2);
/// Statement timeout of reads. A canceled request does not cancel its statement; the timeout frees the connection.
const READ_SECONDS_MAX: u32 = 10;
/// Session options that must not depend on the defaults of the role or the database.
const OPTIONS: &str = "-c plan_cache_mode=force_generic_plan -c default_transaction_isolation=read\\ committed \
    -c lock_timeout=0 -c idle_in_transaction_session_timeout=0";
/// How long the lock of a process that died may take to be free.
const LOCK_TRIES: u32 = 250;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Every migration, in order. A released one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("postgres/migrations/0001_first.sql"),
    include_str!("postgres/migrations/0002_needs.sql"),
    include_str!("postgres/migrations/0003_deliveries.sql"),
    include_str!("postgres/migrations/0004_words.sql"),
    include_str!("postgres/migrations/0005_uploads.sql"),
];
/// Keeps two processes from migrating at once: "EvTn".
const MIGRATION_LOCK: i64 = 0x4576_546e;

/// Where the store is.
#[derive(Clone)]
pub struct Settings {
    /// As PostgreSQL writes it: `postgresql://user@host/database`, or `host=… user=…`.
    pub url: String,
    /// The schema that holds the tables; made when it is not there.
    pub schema: String,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // An address may hold a password.
        f.debug_struct("Settings").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Why a store was not opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error("invalid PostgreSQL connection settings: {0}")]
    Address(tokio_postgres::Error),
    #[error("failed to connect to PostgreSQL: {0}")]
    Unreachable(String),
    #[error("PostgreSQL rejected the store: {0}")]
    Refused(String),
    #[error("another process uses the store; stop it first")]
    InUse,
}

/// A store on PostgreSQL.
pub struct PostgresStore {
    pool: Pool,
    /// For reads that may take long.
    readers: Pool,
    config: tokio_postgres::Config,
    schema: String,
    ends: append::Ends,
    /// Says to other processes that this one uses the store, for as long as it is open.
    lock: Mutex<Option<tokio_postgres::Client>>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

/// What went wrong with a statement.
type Fault = tokio_postgres::Error;

impl PostgresStore {
    /// Opens the store and brings its schema up to date.
    ///
    /// # Errors
    /// When it cannot be reached, is set up to lose what it acknowledged, or was made by a newer version.
    pub async fn open(settings: &Settings) -> Result<Self, OpenStoreError> {
        let store = Self::connect(settings)?;
        // Before the schema is touched: another process may use it as it is.
        store.take_lock().await?;
        store.prepare().await?;
        // The lock proves that every earlier process is gone, so nobody has to wait for its heartbeat to lapse.
        let mut client =
            store.client().await.map_err(|error| OpenStoreError::Unreachable(error.to_string()))?;
        client.execute("DELETE FROM nodes", &[]).await.map_err(unreachable)?;
        search::rebuild(&mut client).await.map_err(unreachable)?;
        drop(client);
        Ok(store)
    }

    /// A store whose schema is up to date already. Nothing is connected yet.
    ///
    /// # Errors
    /// When the address cannot be read.
    pub fn connect(settings: &Settings) -> Result<Self, OpenStoreError> {
        let mut config: tokio_postgres::Config = settings.url.parse().map_err(OpenStoreError::Address)?;
        let plain = settings.schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !config.get_hosts().iter().all(is_local) {
            let reason = "without TLS, PostgreSQL must run on this machine or be reached over a socket";
            return Err(OpenStoreError::Refused(reason.to_owned()));
        }
        if !plain || settings.schema.is_empty() {
            return Err(OpenStoreError::Refused(
                "a schema name can contain only letters, digits and _".to_owned(),
            ));
        }
        // Statements are planned once, not for each batch.
        let options = format!("-c search_path={} {OPTIONS}", settings.schema);
        let mut reading = config.clone();
        config.options(format!("{options} -c statement_timeout=0")).application_name("everturn");
        reading
            .options(format!("{options} -c statement_timeout={READ_SECONDS_MAX}s"))
            .application_name("everturn reader");
        // A connection that died unnoticed is heard of by whoever asks it, and what he asked for is read again; asking
        // first would double the way to the server.
        let builder = |config: &tokio_postgres::Config| {
            let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            Pool::builder(Manager::from_config(config.clone(), NoTls, fast))
        };
        let unreachable =
            |error: deadpool_postgres::BuildError| OpenStoreError::Unreachable(error.to_string());
        let pool = builder(&config).max_size(CONNECTIONS_MAX).build().map_err(unreachable)?;
        let readers = builder(&reading)
            .max_size(READERS_MAX)
            .wait_timeout(Some(READER_WAIT))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .build()
            .map_err(unreachable)?;
        Ok(Self {
            pool,
            readers,
            config,
            schema: settings.schema.clone(),
            ends: append::Ends::default(),
            lock: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<tokio_postgres::Client>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock of the store, on a connection that stays open. One that a process held that died is free as soon
    /// as PostgreSQL has noticed.
    #[expect(
        clippy::disallowed_methods,
        reason = "a connection is driven by a task of its own; it does nothing else"
    )]
    async fn take_lock(&self) -> Result<(), OpenStoreError> {
        if self.lock().as_ref().is_some_and(|client| !client.is_closed()) {
            return Ok(());
        }
        let (client, connection) = self.config.connect(NoTls).await.map_err(unreachable)?;
        // It ends with the client, and whoever asks the client hears why.
        tokio::spawn(connection.map(drop));
        for _ in 0..LOCK_TRIES {
            let sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
            let taken: bool = client.query_one(sql, &[&self.schema]).await.map_err(unreachable)?.get(0);
            if taken {
                *self.lock() = Some(client);
                return Ok(());
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        Err(OpenStoreError::InUse)
    }

    /// Checks that the server keeps what it acknowledges, and brings the schema up to date.
    async fn prepare(&self) -> Result<(), OpenStoreError> {
        let mut client =
            self.pool.get().await.map_err(|error| OpenStoreError::Unreachable(error.to_string()))?;
        for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
            let on: String =
                client.query_one(&format!("SHOW {setting}"), &[]).await.map_err(unreachable)?.get(0);
            if on == "off" {
                return Err(OpenStoreError::Refused(format!(
                    "PostgreSQL runs with {setting} = off and may lose acknowledged writes; turn it on"
                )));
            }
        }
        migrate(&mut client, &self.schema).await
    }

    async fn client(&self) -> Result<Object, StoreError> {
        // The hub asks for a revival, which is a connection that works.
        self.pool.get().await.map_err(|error| Dead { reason: error.to_string() }.into())
    }

    /// A connection for a read that may take long.
    async fn reader(&self) -> Result<Object, StoreError> {
        self.readers.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => {
                let reason = "all read connections are in use; try again".to_owned();
                StoreError::Failed { doing: "read", reason }
            }
            error => Dead { reason: error.to_string() }.into(),
        })
    }
}

/// Whether what is said to a host stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

fn unreachable(error: Fault) -> OpenStoreError {
    OpenStoreError::Unreachable(reason(&error))
}

/// Returns an error's cause in words. `tokio_postgres::Error` alone prints only its kind, such as "db error".
fn reason(error: &Fault) -> String {
    if let Some(told) = error.as_db_error() {
        return format!("{}: {}", told.severity(), told.message());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

async fn migrate(client: &mut Object, schema: &str) -> Result<(), OpenStoreError> {
    let transaction = client.transaction().await.map_err(unreachable)?;
    let run = async {
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
        transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
        transaction.batch_execute("CREATE TABLE IF NOT EXISTS migrations (version INT NOT NULL)").await?;
        let row = transaction.query_one("SELECT coalesce(max(version), 0) FROM migrations", &[]).await?;
        Ok::<i32, Fault>(row.get(0))
    };
    let version = run.await.map_err(unreachable)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(OpenStoreError::Refused(format!(
            "the store has schema {version}, but this version supports only {}; start the newer version",
            MIGRATIONS.len()
        )));
    }
    for (migration, number) in MIGRATIONS.iter().zip(1_i32..).skip(version) {
        transaction.batch_execute(migration).await.map_err(unreachable)?;
        transaction.execute("INSERT INTO migrations VALUES ($1)", &[&number]).await.map_err(unreachable)?;
    }
    transaction.commit().await.map_err(unreachable)
}

/// A statement failed, and what it asked for did not happen.
fn failed(doing: &'static str) -> impl Fn(Fault) -> StoreError {
    move |error| {
        if error.is_closed() || error.code().is_none() {
            return Dead { reason: error.to_string() }.into();
        }
        let reason = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
        StoreError::Failed { doing, reason }
    }
}

/// PostgreSQL has no unsigned numbers; ours never come near the end of the signed ones.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &Row, at: &str) -> u64 {
    u64::try_from(row.get::<_, i64>(at)).unwrap_or(0)
}

fn hash(bytes: &[u8]) -> Hash {
    Hash(bytes.try_into().unwrap_or_default())
}

/// A link from the columns `seq`, `epoch` and `hash`.
fn link(row: &Row, seq: &str, epoch: &str, hash_at: &str) -> Link {
    Link {
        seq: Seq(number(row, seq)),
        epoch: session::Epoch(number(row, epoch)),
        hash: hash(row.get(hash_at)),
    }
}

impl LogStore for PostgresStore {
    fn claim<'a>(
        &'a self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> BoxFuture<'a, Result<Claim, ClaimError>> {
        async move {
            let mut client = self.client().await?;
            claims::claim(&mut client, session, node, claiming, now).await
        }
        .boxed()
    }

    fn heartbeat(&self, node: NodeId, now: Time) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let client = self.client().await?;
            let sql = "INSERT INTO nodes VALUES ($1, $2) ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at";
            client.execute(sql, &[&node.0, &now.0]).await.map_err(failed("save a heartbeat"))?;
            Ok(())
        }
        .boxed()
    }

    fn append(&self, batch: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), AppendError>>> {
        async move {
            match self.client().await {
                Ok(mut client) => append::append(&mut client, &self.ends, &batch).await,
                Err(error) => batch.iter().map(|_| Err(error.clone().into())).collect(),
            }
        }
        .boxed()
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        async move { read::entries(&self.client().await?, session, after, limit).await }.boxed()
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Opened, OpenError>> {
        async move { read::open(&self.client().await?, session).await }.boxed()
    }

    fn find_key(
        &self,
        session: SessionId,
        key: MessageKey,
    ) -> BoxFuture<'_, Result<Option<KeyUse>, StoreError>> {
        async move {
            read::key(&self.client().await?, session, &key)
                .await
                .map_err(failed("look up an idempotency key"))
        }
        .boxed()
    }

    fn save_snapshot(&self, session: SessionId, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let client = self.client().await?;
            let sql = "INSERT INTO snapshots SELECT no, $2, $3, $4, $5 FROM logs WHERE key = $1 AND NOT erased
                       ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, epoch = excluded.epoch, hash = excluded.hash,
                       body = excluded.body WHERE snapshots.seq < excluded.seq";
            let Link { seq, epoch, hash } = snapshot.at;
            let (seq, epoch, hash) = (int(seq.0), int(epoch.0), hash.0.as_slice());
            client
                .execute(sql, &[&session.0, &seq, &epoch, &hash, &snapshot.state])
                .await
                .map_err(failed("save a snapshot"))?;
            Ok(())
        }
        .boxed()
    }

    fn open_runs(&self) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        async move { read::open_runs(&self.client().await?).await.map_err(failed("list open runs")) }.boxed()
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            let sql = "SELECT DISTINCT logs.no, key FROM turns JOIN logs USING (no) WHERE position IS NULL
                       AND EXISTS (SELECT 1 FROM entries WHERE entries.no = logs.no AND seq > shared_seq) ORDER BY logs.no";
            read::sessions(&self.client().await?, sql).await.map_err(failed("list sessions with queued \
                                                                             messages"))
        }
        .boxed()
    }

    fn interrupted(&self, since: Time) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            read::interrupted(&self.client().await?, since).await.map_err(failed("list interrupted sessions"))
        }
        .boxed()
    }

    fn undelivered(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            let sql =
                "SELECT no, key FROM list JOIN logs USING (no) WHERE undelivered > 0 AND shelf >= 0 ORDER BY no";
            read::sessions(&self.client().await?, sql).await.map_err(failed("list undelivered answers"))
        }
        .boxed()
    }

    fn owing(&self) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        async move {
            let sql =
                "SELECT no, key FROM list JOIN logs USING (no) WHERE owed > 0 AND shelf >= 0 ORDER BY no";
            read::sessions(&self.client().await?, sql).await.map_err(failed("list pending memory commits"))
        }
        .boxed()
    }

    fn erase(&self, claim: Claim) -> BoxFuture<'_, Result<(), AppendError>> {
        async move {
            let mut client = self.client().await?;
            claims::erase(&mut client, claim).await
        }
        .boxed()
    }

    fn revive(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            // The pool checks a connection before it lends it; one that works, and the lock, is all there is to bring back.
            let has_lock = self.lock().is_some();
            if has_lock {
                self.take_lock().await.map_err(|error| Dead { reason: error.to_string() })?;
            }
            self.client().await?.batch_execute("SELECT 1").await.map_err(failed("connect to PostgreSQL"))
        }
        .boxed()
    }
}

impl Catalog for PostgresStore {
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>> {
        async move { read::list(&self.reader().await?, query).await.map_err(failed("list sessions")) }.boxed()
    }

    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>> {
        async move {
            read::turns(&self.client().await?, session, before, count).await.map_err(failed("list turns"))
        }
        .boxed()
    }

    /// Turns are indexed in the transaction that appends their entries.
    fn indexed_to(&self, _session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>> {
        async { Ok(Seq(u64::MAX)) }.boxed()
    }

    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>> {
        async move { read::tags(&self.reader().await?, user, count).await.map_err(failed("count tags")) }
            .boxed()
    }

    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>> {
        async move {
            read::trashed(&self.reader().await?, until, after, count).await.map_err(failed("list the trash"))
        }
        .boxed()
    }

    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            let sql = "SELECT 1 FROM session_ids JOIN list USING (no) WHERE id = $1 AND user_id = $2 AND shelf >= 0";
            let found = self.client().await?.query_opt(sql, &[&session.0, &user.0]).await;
            Ok(found.map_err(failed("look up a session's owner"))?.is_some())
        }
        .boxed()
    }

    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>> {
        async move { read::row(&self.client().await?, session).await.map_err(failed("look up a session")) }
            .boxed()
    }

    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>> {
        async move { read::counts(&self.reader().await?, user).await.map_err(failed("count sessions")) }
            .boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>> {
        async move { search::find(&self.reader().await?, &query).await.map_err(failed("search")) }.boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        // Everything is written with the entries that it follows from.
        async move { self.client().await.map(drop) }.boxed()
    }

    fn lag_micros(&self) -> i64 {
        0
    }
}

impl Blobs for PostgresStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        async move {
            let hash = hash_of(&bytes);
            let mut client = self.client().await?;
            blobs::put(&mut client, &hash, &bytes, now).await.map_err(failed("save an attachment"))?;
            Ok(hash)
        }
        .boxed()
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            let client = self.client().await?;
            let row = client.query_opt("SELECT 1 FROM blobs WHERE blob = $1", &[&hash.0]).await;
            Ok(row.map_err(failed("look up an attachment"))?.is_some())
        }
        .boxed()
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            let mut client = self.client().await?;
            blobs::expire(&mut client, before).await.map_err(failed("expire uploads"))
        }
        .boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        async move {
            let client = self.reader().await?;
            let row = client.query_opt("SELECT bytes FROM blobs WHERE blob = $1", &[&hash.0]).await;
            let bytes: Option<Vec<u8>> = row.map_err(failed("read an attachment"))?.map(|row| row.get(0));
            match bytes {
                Some(bytes) if hash_of(&bytes) != hash => Err(StoreError::Failed {
                    doing: "read an attachment",
                    reason: format!("the bytes of {} changed", hash.0),
                }),
                bytes => Ok(bytes),
            }
        }
        .boxed()
    }
}

impl Bindings for PostgresStore {
    fn binding(&self, chat: ChatKey) -> BoxFuture<'_, Result<Option<Binding>, StoreError>> {
        async move { read::binding(&self.client().await?, &chat).await.map_err(failed("look up a chat")) }
            .boxed()
    }

    fn bind(
        &self,
        chat: ChatKey,
        known: Option<Binding>,
        binding: Binding,
    ) -> BoxFuture<'_, Result<Bound, StoreError>> {
        async move {
            let client = self.client().await?;
            claims::bind(&client, &chat, known, binding).await.map_err(failed("bind a chat"))
        }
        .boxed()
    }

    fn chats_of(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(ChatKey, Binding)>, StoreError>> {
        async move {
            read::chats_of(&self.client().await?, session).await.map_err(failed("list a session's chats"))
        }
        .boxed()
    }

    fn chats(&self) -> BoxFuture<'_, Result<Vec<ChatRow>, StoreError>> {
        async move { read::chats(&self.reader().await?).await.map_err(failed("list chats")) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected(url: &str) -> Result<PostgresStore, OpenStoreError> {
        PostgresStore::connect(&Settings { url: url.to_owned(), schema: "everturn".to_owned() })
    }

    #[test]
    fn what_would_leave_this_machine_in_the_clear_is_refused() {
        for url in
            ["host=db.example.org user=a", "postgresql://a@192.0.2.7/b", "host=/run/pg,db.example.org user=a"]
        {
            assert!(matches!(connected(url), Err(OpenStoreError::Refused(_))), "{url}");
        }
        for url in
            ["host=/run/pg user=a", "host=127.0.0.1 user=a", "postgresql://a@localhost/b", "host=::1 user=a"]
        {
            assert!(connected(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn an_address_is_not_told() {
        let settings = Settings { url: "host=/x password=secret".to_owned(), schema: "s".to_owned() };
        assert!(!format!("{settings:?}").contains("secret"));
    }
}

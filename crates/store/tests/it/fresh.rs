//! Factories of stores for the suite.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use store::Store;
use store::conformance::Fresh;
use store::memory::MemoryStore;
use store::postgres;
use store::sqlite::{Settings, SqliteStore};
use tempfile::TempDir;

/// Makes reference stores; they have no cold start of their own.
#[derive(Debug)]
pub(crate) struct Memory;

impl Fresh for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(MemoryStore::new())
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }
}

/// Makes SQLite stores, each in a directory of its own.
#[derive(Debug)]
pub(crate) struct Directories {
    root: TempDir,
    made: AtomicU32,
}

impl Directories {
    pub(crate) fn new() -> Self {
        // The suite cuts no power, so it need not wait for a disk to sync.
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        Self { root, made: AtomicU32::new(0) }
    }

    fn open(&self) -> Arc<dyn Store> {
        let path = self.root.path().join(self.made.load(Ordering::Relaxed).to_string());
        Arc::new(SqliteStore::open(settings(&path)).unwrap())
    }
}

impl Fresh for Directories {
    fn store(&self) -> Arc<dyn Store> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.open()
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        assert_eq!(Arc::strong_count(&store), 1, "a cold start leaves nothing open");
        drop(store);
        self.open()
    }
}

/// Settings without a reserve, so that no test depends on the room that this machine has.
pub(crate) fn settings(path: &Path) -> Settings {
    Settings { reserve_bytes: 0, ..Settings::new(path) }
}

/// Stores on the PostgreSQL server that was started for the tests, each in a schema of its own.
pub(crate) struct Schemas(std::sync::Mutex<Option<postgres::Settings>>);

impl Schemas {
    pub(crate) fn new() -> Self {
        Self(std::sync::Mutex::new(None))
    }

    /// Where the store is that was made last.
    pub(crate) fn settings(&self) -> postgres::Settings {
        self.0.lock().unwrap().clone().unwrap()
    }
}

impl Fresh for Schemas {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by their environment, and a schema needs a new name"
    )]
    fn store(&self) -> Arc<dyn Store> {
        let url = std::env::var("TEST_POSTGRES")
            .unwrap_or_else(|_| panic!("no PostgreSQL was started for this test: run it with `just test`"));
        let settings = postgres::Settings { url, schema: format!("s{}", uuid::Uuid::now_v7().simple()) };
        let prepared = settings.clone();
        // A connection belongs to the runtime that it was made on.
        let preparing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(postgres::PostgresStore::open(&prepared)).unwrap();
        });
        preparing.join().unwrap();
        let store = postgres::PostgresStore::connect(&settings).unwrap();
        *self.0.lock().unwrap() = Some(settings);
        Arc::new(store)
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        drop(store);
        let settings = self.0.lock().unwrap().clone().unwrap();
        Arc::new(postgres::PostgresStore::connect(&settings).unwrap())
    }
}

//! Factories of stores for the suite.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use store::Store;
use store::conformance::Fresh;
use store::memory::MemoryStore;
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

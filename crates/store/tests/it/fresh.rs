//! Factories of stores for the suite.

use std::sync::Arc;

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

/// Makes SQLite stores in a directory of their own.
#[derive(Debug)]
pub(crate) struct Directory(pub(crate) TempDir);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings { reserve_bytes: 0, ..Settings::new(self.0.path()) }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.settings()).unwrap()
    }
}

impl Fresh for Directory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.open())
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        assert_eq!(Arc::strong_count(&store), 1, "a cold start leaves nothing open");
        drop(store);
        Arc::new(self.open())
    }
}

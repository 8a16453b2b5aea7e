//! Where a race happens: a directory that outlives its server, and a server's inside that can be ended at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hub::AfterInterruption;
use hub::{Hub, Settings, SystemClock};
use store::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::words::{Counter, Speaker};

/// How long something that must happen may take. Only a failing race waits this long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A data directory and the agent that every life of the server uses.
#[derive(Debug)]
pub(super) struct Place {
    directory: TempDir,
    pub(super) counter: Arc<Counter>,
    idle_after: Duration,
}

/// A running server's inside.
pub(super) struct Life {
    runtime: Runtime,
    pub(super) hub: Hub,
    pub(super) store: Arc<SqliteStore>,
}

impl Place {
    pub(super) fn new(idle_after: Duration) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("make a directory")?;
        Ok(Self { directory, counter: Arc::default(), idle_after })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Opens the store alone, cold.
    pub(super) fn open(&self) -> anyhow::Result<SqliteStore> {
        let settings = store::sqlite::Settings { directory: self.path().to_owned(), reserve_bytes: 0 };
        SqliteStore::open(settings).context("open the store")
    }

    /// Starts a server on what the directory holds.
    pub(super) fn start(&self) -> anyhow::Result<Life> {
        let runtime = runtime()?;
        let store = Arc::new(self.open()?);
        let mut settings = Settings::new(self.path().join("spool"));
        settings.slots = 16;
        settings.after_interruption = AfterInterruption::Continue.into();
        settings.idle_after = self.idle_after;
        let speaker = Arc::new(Speaker(self.counter.clone()));
        let started = Hub::start(store.clone(), speaker, Arc::new(SystemClock), settings);
        let hub = runtime.block_on(started).context("start the hub")?;
        Ok(Life { runtime, hub, store })
    }

    /// Spool slots that were made so far. A slot that is not given back makes another one necessary.
    pub(super) fn slots(&self) -> anyhow::Result<usize> {
        let files = std::fs::read_dir(self.path().join("spool")).context("list the spool")?;
        let is_slot = |name: std::ffi::OsString| name.to_string_lossy().starts_with("slot-");
        Ok(files.filter_map(Result::ok).filter(|file| is_slot(file.file_name())).count())
    }
}

impl Life {
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Ends everything at once: no operator, writer, run or timer gets another word in.
    pub(super) fn crash(self) -> anyhow::Result<()> {
        let Self { runtime, hub, store } = self;
        drop(hub);
        runtime.shutdown_timeout(PATIENCE);
        Arc::into_inner(store).map(drop).context("someone still holds the crashed store")
    }
}

/// Two cores, as on the smallest machine that counts.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .context("make a runtime")
}

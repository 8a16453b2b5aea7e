//! A server's inside on a real directory: SQLite, hub and a scripted agent, that can be crashed and started again.
#![expect(clippy::expect_used, reason = "tests call this; a world that cannot be made fails the test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub::{
    AfterInterruption, Clock, Create, Followed, Hub, Remembers, ResumePolicy, SessionHandle, Settings,
};
use session::{Command, Entry, Message, PostMode, Seq, View};
use store::Store;
use store::postgres::PostgresStore;
use store::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

use crate::agent::ScriptedAgent;
use crate::attached;
use crate::clock::HandClock;
use crate::memory::ScriptedMemory;
use crate::refusing::RefusingStore;

/// How long a test waits for something that must happen. Only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// How a world is made.
#[derive(Debug, Clone)]
pub struct WorldSettings {
    pub after_interruption: AfterInterruption,
    pub idle_after: Duration,
    pub reserve_bytes: u64,
    pub suspend_active_within: Option<Duration>,
}

impl Default for WorldSettings {
    fn default() -> Self {
        // Tests start and end runs by hand, and a test disk may be small.
        Self {
            after_interruption: policy(),
            idle_after: Duration::from_secs(600),
            reserve_bytes: 0,
            suspend_active_within: None,
        }
    }
}

/// The policy that worlds have unless a test chooses one: `TEST_POLICY=wait` or `continue`, which ships.
fn policy() -> AfterInterruption {
    let waits = std::env::var_os("TEST_POLICY").is_some_and(|policy| policy == "wait");
    if waits { AfterInterruption::Wait } else { AfterInterruption::Continue }
}

/// Everything that lives in a server's process, and the directory that outlives it.
#[derive(Debug)]
pub struct World {
    directory: TempDir,
    pub settings: WorldSettings,
    pub clock: Arc<HandClock>,
    pub agent: Arc<ScriptedAgent>,
    pub memory: ScriptedMemory,
    /// Where the store is, when it is not in the directory.
    postgres: Option<store::postgres::Settings>,
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    runtime: Runtime,
    hub: Hub,
    store: Arc<RefusingStore>,
    policy: ResumePolicy,
}

impl World {
    /// A new world in a directory of its own.
    pub fn new() -> Self {
        Self::with(WorldSettings::default())
    }

    /// A new world in which interrupted runs wait for the user, whatever the other tests do.
    pub fn that_waits() -> Self {
        Self::with(WorldSettings { after_interruption: AfterInterruption::Wait, ..WorldSettings::default() })
    }

    /// A new world in which interrupted runs resume, whatever the other tests do.
    pub fn that_continues() -> Self {
        Self::with(WorldSettings {
            after_interruption: AfterInterruption::Continue,
            ..WorldSettings::default()
        })
    }

    /// A new world that behaves as told.
    pub fn with(settings: WorldSettings) -> Self {
        let directory = tempfile::tempdir().expect("make a directory");
        let (clock, agent, memory) = (Arc::default(), Arc::default(), ScriptedMemory::default());
        let postgres = on_postgres().then(postgres_settings);
        let mut world = Self { directory, settings, clock, agent, memory, postgres, live: None };
        world.start();
        world
    }

    /// Starts on what the directory holds.
    pub fn start(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("make a runtime");
        let store: Arc<dyn Store> = match &self.postgres {
            Some(settings) => {
                let opened = runtime.block_on(PostgresStore::open(settings));
                Arc::new(opened.expect("open the store"))
            }
            None => {
                let (directory, reserve_bytes) = (self.path().to_owned(), self.settings.reserve_bytes);
                let settings = store::sqlite::Settings { directory, reserve_bytes };
                Arc::new(SqliteStore::open(settings).expect("open the store"))
            }
        };
        let uploaded = store.put_blob(attached::BYTES.to_vec(), self.clock.now());
        drop(runtime.block_on(uploaded).expect("store the file that messages carry"));
        let store = Arc::new(RefusingStore::new(store));
        let mut settings = Settings::new(self.spool());
        settings.slots = 8;
        let policy = ResumePolicy::from(self.settings.after_interruption);
        settings.after_interruption = policy.clone();
        settings.idle_after = self.settings.idle_after;
        settings.suspend_active_within = self.settings.suspend_active_within;
        settings.memory = Remembers(Some(Arc::new(self.memory.clone())));
        let (agent, clock, shared) = (self.agent.clone(), self.clock.clone(), store.clone());
        let hub = runtime.block_on(Hub::start(shared, agent, clock, settings)).expect("start the hub");
        self.live = Some(Live { runtime, hub, store, policy });
    }

    /// Ends everything at once, as a crash does: no writer, run or timer gets another word in.
    pub fn crash(&mut self) {
        if let Some(Live { runtime, hub, store, .. }) = self.live.take() {
            drop(hub);
            runtime.shutdown_timeout(PATIENCE);
            store.take_away();
        }
    }

    /// A crash and a cold start on a freshly opened store.
    pub fn restart(&mut self) {
        self.crash();
        self.start();
    }

    /// The data directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the store is, when it is on PostgreSQL.
    pub fn postgres(&self) -> Option<&store::postgres::Settings> {
        self.postgres.as_ref()
    }

    /// Lets the store make all the connections that it may ever have.
    pub fn warm_up(&self) {
        let store: Arc<dyn Store> = self.store();
        let nobody = session::SessionId(uuid::Uuid::nil());
        self.run(futures_util::future::join_all((0..64).map(|_| store.open(nobody))));
    }

    /// Where the spool slots are.
    pub fn spool(&self) -> PathBuf {
        self.path().join("spool")
    }

    fn live(&self) -> &Live {
        self.live.as_ref().expect("the world was crashed and not started again")
    }

    /// The hub.
    pub fn hub(&self) -> Hub {
        self.live().hub.clone()
    }

    /// Lets interrupted runs resume from now on, also after a restart.
    pub fn resume_from_now_on(&mut self) {
        self.settings.after_interruption = AfterInterruption::Continue;
        self.live().policy.set(AfterInterruption::Continue, Duration::from_secs(3_600));
    }

    /// The store, with its switch.
    pub fn store(&self) -> Arc<RefusingStore> {
        self.live().store.clone()
    }

    /// The runtime that everything lives on.
    pub fn handle(&self) -> Handle {
        self.live().runtime.handle().clone()
    }

    /// Tasks that are alive: writers, runs, looks, and the hub's own.
    pub fn tasks(&self) -> usize {
        self.live().runtime.metrics().num_alive_tasks()
    }

    /// Runs a test's future to its end, at most as long as patience lasts.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let live = self.live();
        live.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, future).await })
            .expect("it took too long")
    }

    /// A new session.
    pub fn create(&self) -> SessionHandle {
        self.run(self.hub().create(Create::default())).expect("create a session")
    }

    /// Posts a message and waits until it is durable.
    pub fn post(&self, session: &SessionHandle, text: &str) -> hub::Acknowledged {
        self.run(session.submit(post(text))).expect("post a message")
    }

    /// Submits a command that must be accepted.
    pub fn submit(&self, session: &SessionHandle, command: Command) -> hub::Acknowledged {
        self.run(session.submit(command)).expect("submit a command")
    }

    /// The session as a reader sees it now.
    pub fn view(&self, session: &SessionHandle) -> View {
        self.run(session.view()).expect("view a session")
    }

    /// Waits until the session looks as wanted, woken by its entries.
    pub fn until(&self, session: &SessionHandle, wanted: impl Fn(&View) -> bool) -> View {
        self.run(until(session, wanted))
    }

    /// Reads until the session looks as wanted, without following it.
    pub fn read_until(&self, session: &SessionHandle, wanted: impl Fn(&View) -> bool) -> View {
        self.run(async {
            loop {
                let view = session.view().await.expect("view a session");
                if wanted(&view) {
                    return view;
                }
            }
        })
    }

    /// Waits until no run is going on and nothing waits but what was paused.
    pub fn until_quiet(&self, session: &SessionHandle) -> View {
        self.until(session, |view| view.run.is_none() && view.queue.iter().all(|queued| queued.paused))
    }

    /// The whole log.
    pub fn log(&self, session: &SessionHandle) -> Vec<Entry> {
        let store: Arc<dyn Store> = self.store();
        self.run(async {
            let id = store.open(session.session()).await.expect("open").session;
            store::read_all(store.as_ref(), id, Seq(0)).await.expect("read the log")
        })
    }
}

/// Whether worlds stand on PostgreSQL, as the tests' environment says.
pub fn on_postgres() -> bool {
    std::env::var_os("TEST_STORE").is_some_and(|store| store == "postgres")
}

/// A schema of its own on the server that was started for the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by their environment, and a schema needs a new name"
)]
fn postgres_settings() -> store::postgres::Settings {
    let url = std::env::var(crate::postgres::VARIABLE)
        .expect("no PostgreSQL was started for this test: run it with `just contract`");
    store::postgres::Settings { url, schema: format!("w{}", uuid::Uuid::now_v7().simple()) }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.crash();
    }
}

/// A message as a command.
pub fn post(text: &str) -> Command {
    Command::PostMessage { message: Message::text(text), mode: PostMode::Queue, key: None }
}

/// Waits until the session looks as wanted, woken by its entries.
pub async fn until(session: &SessionHandle, wanted: impl Fn(&View) -> bool) -> View {
    loop {
        let view = session.view().await.expect("view a session");
        if wanted(&view) {
            return view;
        }
        let mut follower = session.follow(view.seq).await.expect("follow a session");
        loop {
            match follower.next().await.expect("follow a session") {
                Followed::Entry(_) => break,
                Followed::CaughtUp => {}
            }
        }
    }
}

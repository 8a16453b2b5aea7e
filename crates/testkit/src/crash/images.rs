//! Copies of a store that were tampered with: opened, and every log read as far as it can be.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use session::{Entry, Hash, Seq, Session, SessionId};
use store::sqlite::{Settings, SqliteStore};
use store::{LogStore, OpenError, ReadError};

/// Entries read in one go.
const PAGE: usize = 500;

static PANICS: AtomicUsize = AtomicUsize::new(0);
static HOOK: Once = Once::new();

/// What a store gave.
#[derive(Debug)]
pub enum Given {
    /// It was not opened.
    Refused(String),
    /// Some thread of it panicked.
    Panicked,
    Logs(BTreeMap<SessionId, Log>),
}

/// What a store gave of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub hashes: Vec<Hash>,
    pub end: End,
    /// A stored state that is not the fold of the log.
    pub wrong_state: bool,
}

/// How the reading of a log ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// At the end, and the store says that it is the end.
    Whole,
    /// The store does not know the session.
    Unknown,
    /// The store said that something is amiss.
    Told(String),
}

/// Opens the store of a directory and reads the logs of sessions.
///
/// # Errors
/// When there is no runtime.
pub fn read(directory: &Path, sessions: &[SessionId]) -> anyhow::Result<Given> {
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|_| {
            PANICS.fetch_add(1, Ordering::AcqRel);
        }));
    });
    let before = PANICS.load(Ordering::Acquire);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let given = panic::catch_unwind(AssertUnwindSafe(|| {
        let settings = Settings { directory: directory.to_owned(), reserve_bytes: 0 };
        let store = match SqliteStore::open(settings) {
            Ok(store) => store,
            Err(error) => return Given::Refused(error.to_string()),
        };
        let mut logs = BTreeMap::new();
        for session in sessions {
            logs.insert(*session, runtime.block_on(log(&store, *session)));
        }
        Given::Logs(logs)
    }));
    let quiet = PANICS.load(Ordering::Acquire) == before;
    Ok(given.ok().filter(|_| quiet).unwrap_or(Given::Panicked))
}

async fn log(store: &SqliteStore, session: SessionId) -> Log {
    let mut log = Log { hashes: Vec::new(), end: End::Whole, wrong_state: false };
    let opened = match store.open(session).await {
        Ok(opened) => opened,
        Err(OpenError::Unknown(_) | OpenError::Deleted(_)) => {
            log.end = End::Unknown;
            return log;
        }
        Err(error) => {
            log.end = End::Told(error.to_string());
            return log;
        }
    };
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(Seq(0), |entry| entry.seq);
        match store.read(session, after, PAGE).await {
            Ok(page) if page.is_empty() => break,
            Ok(page) => entries.extend(page),
            Err(ReadError::Unknown(_)) => {
                log.end = End::Unknown;
                break;
            }
            Err(error) => {
                log.end = End::Told(error.to_string());
                break;
            }
        }
    }
    let end = entries.last().map_or(Seq(0), |entry| entry.seq);
    if log.end == End::Whole && end != opened.end.seq {
        log.end = End::Told(format!("it ends at {end}, not at {}", opened.end.seq));
    }
    if let Some(snapshot) = opened.snapshot {
        let stored = Session::from_bytes(&snapshot.state).filter(|state| state.link == snapshot.at);
        let mut folded = Session::default();
        entries
            .iter()
            .take_while(|entry| entry.seq <= snapshot.at.seq)
            .for_each(|entry| session::fold(&mut folded, entry));
        // A hub takes a stored state only when it says itself that it is of this entry.
        log.wrong_state = stored.is_some_and(|stored| folded.link.seq == stored.link.seq && folded != stored);
    }
    log.hashes = entries.iter().map(|entry| entry.hash).collect();
    log
}

//! Rebuilds the search index while the store runs, after its file failed: log by log, between other work. Search reports an
//! error until the index is complete.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::directory::Database;

use super::disk::moment;
use super::project::{Projector, Told, connect};
use super::request::Request;
use super::source::Source;
use super::writer::Writer;
use super::{Fault, read, search};

/// The pause before the first attempt. It doubles with each that fails.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_DOUBLINGS_MAX: u32 = 4;
/// Minimum time between the starts of two rebuilds because of damage.
const DAMAGED_AGAIN: Duration = Duration::from_secs(600);
/// How long the writing thread may take to record a rebuilt index.
const NOTE_AGAIN: Duration = Duration::from_secs(5);

/// Progress of rebuilding the search index.
#[derive(Debug)]
pub(super) enum Remake {
    /// The index is complete.
    Done,
    /// The rebuild starts at this time.
    Due(Instant),
    /// The index lacks the words of these logs.
    Reading { generation: [u8; 16], logs: Vec<i64> },
    /// The index is complete; the writing thread is asked to record it, again at this time.
    Noting { generation: [u8; 16], again: Instant },
}

impl Remake {
    /// Returns the time of the next step, or `None` if nothing is left to do.
    pub(super) fn next(&self) -> Option<Instant> {
        match self {
            Self::Done => None,
            Self::Due(at) | Self::Noting { again: at, .. } => Some(*at),
            Self::Reading { .. } => Some(moment()),
        }
    }
}

impl Projector {
    /// Schedules a rebuild if the index failed.
    pub(super) fn note_search(&mut self) {
        if self.search.is_off() && !matches!(self.remake, Remake::Due(_)) {
            self.shared.search_off.store(true, Ordering::Release);
            self.remake = Remake::Due(moment() + PAUSE * (1 << self.remakes_failed.min(PAUSE_DOUBLINGS_MAX)));
            self.remakes_failed += 1;
        }
    }

    /// Discards an index in which a search found damage, and schedules a rebuild. Rebuilds are rate limited: if damage
    /// reappears right after one, its cause is not the index.
    pub(super) fn rebuild_damaged(&mut self) {
        let now = moment();
        if self.search.is_off() || self.rebuild_after.is_some_and(|after| now < after) {
            return;
        }
        self.rebuild_after = Some(now + DAMAGED_AGAIN);
        self.search.fail(&Fault::Damaged("a search found damage in its index".to_owned()));
        self.note_search();
    }

    /// Takes one step of the rebuild.
    pub(super) fn remake_some(&mut self) -> Told {
        match std::mem::replace(&mut self.remake, Remake::Done) {
            Remake::Done => {}
            Remake::Due(at) if moment() < at => self.remake = Remake::Due(at),
            Remake::Due(_) => match self.begin_remake() {
                Ok((generation, logs)) => self.remake = Remake::Reading { generation, logs },
                Err(fault) => self.remake_failed(&fault),
            },
            Remake::Reading { generation, mut logs } => match logs.pop() {
                Some(no) => match self.remake_log(no) {
                    Ok(()) => self.remake = Remake::Reading { generation, logs },
                    Err(fault) => self.remake_failed(&fault),
                },
                None => self.note_words(generation)?,
            },
            Remake::Noting { generation, again } => {
                if !self.shared.search_off.load(Ordering::Acquire) {
                    self.remakes_failed = 0;
                } else if moment() < again {
                    self.remake = Remake::Noting { generation, again };
                } else {
                    self.note_words(generation)?;
                }
            }
        }
        Ok(())
    }

    fn begin_remake(&mut self) -> Result<([u8; 16], Vec<i64>), Fault> {
        let connection = self.connection.take().map_or_else(|| connect(&self.shared), Ok)?;
        let generation = self.search.begin_again()?;
        let mut select = connection.prepare("SELECT no FROM logs WHERE trunk = 0 ORDER BY no DESC")?;
        let logs = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        drop(select);
        tracing::info!(sessions = logs.len(), "rebuilding the search index from the logs");
        self.connection = Some(connection);
        Ok((generation, logs))
    }

    /// Reads the log to its end, beyond its watermark: the watermark lags behind the words that were indexed already.
    fn remake_log(&mut self, no: i64) -> Result<(), Fault> {
        let mut connection = self.connection.take().map_or_else(|| connect(&self.shared), Ok)?;
        let erased =
            !connection.prepare_cached("SELECT 1 FROM logs WHERE no = ? AND trunk = 0")?.exists([no])?;
        if !erased {
            let tails = read::tails(&self.shared, &connection, no)?;
            let find = |no: i64| tails.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
            let transaction = connection.transaction()?;
            let end = read::end(&transaction, find(no).as_ref(), no)?.seq;
            let source = Source { connection: &transaction, tail: &find, no };
            self.search.remake(&source, end)?;
        }
        self.connection = Some(connection);
        Ok(())
    }

    fn note_words(&mut self, generation: [u8; 16]) -> Told {
        let commits = self.search.commits();
        self.remake = Remake::Noting { generation, again: moment() + NOTE_AGAIN };
        self.tell(Request::WordsMade { generation, commits })
    }

    fn remake_failed(&mut self, fault: &Fault) {
        self.search.fail(fault);
        self.note_search();
    }
}

impl Writer {
    /// Records that the search index was rebuilt.
    pub(super) fn words_made(&mut self, generation: [u8; 16], commits: u64) {
        let Some(connection) = self.connection.take() else { return };
        let noted = (|| -> Result<(), Fault> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            search::rely_on(&connection, generation, commits)?;
            connection.execute_batch("COMMIT")?;
            self.directory.note_commit(Database::Logs, &connection)
        })();
        self.connection = Some(connection);
        match noted {
            Ok(()) => {
                self.shared.search_off.store(false, Ordering::Release);
                tracing::info!("search available again");
            }
            Err(fault) => self.die(&fault.to_string()),
        }
    }
}

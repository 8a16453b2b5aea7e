//! What follows behind the append, off the writing thread: reads what is new of sessions, packs it, makes its words
//! findable, and prepares what the index takes. The writing thread only stores the result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use session::{Entry, Event, Link, Seq, SessionId};

use crate::catalog::TurnRow;

use super::disk::moment;
use super::pack::{self, Row};
use super::read;
use super::remake::Remake;
use super::request::Request;
use super::search::Search;
use super::source::{Findable, Inherited, Source};
use super::tail::TailSession;
use super::{Fault, Shared, connect_to_read, index, open_files, spawn};

/// Entries and bytes of one pack: large enough to compress well, small enough to read a page from.
const PACK_ENTRIES_MAX: usize = 4_096;
const PACK_BYTES_MAX: usize = 1024 * 1024;

/// Sessions that are projected together: their entries stand beside each other, and their words share a commit.
const SESSIONS_AT_ONCE: usize = 32;
/// Longest time at a clean stop for scrubbing erased words, and for storing the last snapshots.
pub(super) const CLOSING_MAX: Duration = Duration::from_secs(1);
/// Pages kept while they are: 32 MiB.
const CACHE_KIB: i64 = 32 * 1024;

/// What the projecting thread is asked.
#[derive(Debug)]
pub(super) enum Work {
    Project(Due),
    /// Remove the words of an erased log.
    Forget {
        no: i64,
    },
    /// Give back space of the file of words.
    Tidy,
    /// Rebuild the search index, because a search found damage in it.
    RebuildSearch,
}

/// A session that has something to project.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) session: SessionId,
    pub(super) no: i64,
    pub(super) indexed_to: Seq,
    pub(super) tail: TailSession,
    pub(super) packing: Packing,
    /// Which life of the writing thread asks; what it asked in an earlier one is not wanted any more.
    pub(super) life: u64,
}

/// Whether the tail of a session is packed as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Pack,
    IndexOnly,
}

/// What the writing thread stores for a session.
#[derive(Debug)]
pub(super) struct Projection {
    pub(super) session: SessionId,
    pub(super) no: i64,
    pub(super) entries: Vec<Entry>,
    /// Changes of the search index.
    pub(super) findable: Vec<Findable>,
    /// Commits of the words after which those of this session are durable; nothing when search is off.
    pub(super) search_commits: Option<u64>,
    /// The turns of its origin, when the session begins as a branch.
    pub(super) inherited: Vec<TurnRow>,
    pub(super) indexed_to: Seq,
    pub(super) packs: Vec<Pack>,
}

/// Why a session was not projected.
#[derive(Debug)]
pub(super) enum NotProjected {
    /// Its log is damaged, as a broken chain proves.
    Damaged(String),
    /// SQLite found the database malformed, or the disk failed to read it. If it is found again and again, it is damage.
    Malformed(String),
    /// Anything else, such as a want of descriptors: it is tried again.
    Failed(String),
}

impl From<Fault> for NotProjected {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Damaged(reason) => Self::Damaged(reason),
            fault if fault.is_damage() => Self::Malformed(fault.to_string()),
            fault => Self::Failed(fault.to_string()),
        }
    }
}

/// A pack to store.
#[derive(Debug)]
pub(super) struct Pack {
    pub(super) prev: Link,
    pub(super) last: Link,
    pub(super) body: Vec<u8>,
    /// Bytes that its entries took in the tail.
    pub(super) size_bytes: usize,
}

/// Stores a pack.
pub(super) fn store_pack(connection: &Connection, no: i64, pack: &Pack) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO packs (no, first_seq, last_seq, prev_epoch, prev_hash, last_epoch, last_hash, body)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            no,
            pack.prev.seq.next().0,
            pack.last.seq.0,
            pack.prev.epoch.0,
            pack.prev.hash.0,
            pack.last.epoch.0,
            pack.last.hash.0,
            pack.body
        ])?;
    Ok(())
}

/// Opens the connection of the projecting thread and starts it. It ends when the writing thread drops its end.
pub(super) fn start(
    shared: Arc<Shared>,
    search: Search,
    requests: mpsc::Sender<Request>,
) -> Result<(mpsc::Sender<Work>, JoinHandle<()>), Fault> {
    let (sender, receiver) = mpsc::channel::<Work>();
    let connection = Some(connect(&shared).and_then(open_files)?);
    let remake = Remake::Done;
    let mut projector = Projector {
        shared,
        search,
        requests,
        connection,
        tidy_asked: 0,
        remake,
        remakes_failed: 0,
        rebuild_after: None,
    };
    projector.note_search();
    let thread = spawn("everturn-project", move || {
        let work = AssertUnwindSafe(|| while projector.go_on(&receiver).is_ok() {});
        if catch_unwind(work).is_err() {
            // Without this thread, lag would hold every run; the next start recovers.
            tracing::error!("store projection thread panicked, exiting");
            std::process::abort();
        }
    })?;
    Ok((sender, thread))
}

/// The state of the projecting thread.
pub(super) struct Projector {
    pub(super) shared: Arc<Shared>,
    pub(super) search: Search,
    requests: mpsc::Sender<Request>,
    pub(super) connection: Option<Connection>,
    /// Pending requests to tidy up; they wait until the erased words are scrubbed.
    tidy_asked: usize,
    pub(super) remake: Remake,
    /// Attempts in a row to rebuild the search index.
    pub(super) remakes_failed: u32,
    /// Before this time, damage found by a search starts no other rebuild.
    pub(super) rebuild_after: Option<Instant>,
}

/// The writing thread is gone.
pub(super) struct Alone;

pub(super) type Told = Result<(), Alone>;

impl Projector {
    /// Handles the pending requests, then scrubs and remakes a little. Waits only if neither is left to do.
    fn go_on(&mut self, receiver: &mpsc::Receiver<Work>) -> Told {
        let next = if self.search.has_erased_words() { Some(moment()) } else { self.remake.next() };
        let first = match next {
            None => Some(receiver.recv().map_err(|_| Alone)?),
            Some(next) => match receiver.recv_timeout(next.saturating_duration_since(moment())) {
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.close(),
                first => first.ok(),
            },
        };
        let more = std::iter::from_fn(|| receiver.try_recv().ok()).take(SESSIONS_AT_ONCE - 1);
        let works: Vec<Work> = first.into_iter().chain(more).collect();
        self.work(works)?;
        if self.search.has_erased_words() {
            self.search.scrub();
            self.note_search();
        }
        self.remake_some()?;
        if self.tidy_asked > 0 && !self.search.has_erased_words() {
            self.search.tidy();
            self.note_search();
            for _ in 0..std::mem::take(&mut self.tidy_asked) {
                self.tell(Request::Tidied)?;
            }
        }
        Ok(())
    }

    /// Scrubs as much as a clean stop may take; the next start scrubs the rest.
    fn close(&mut self) -> Told {
        let begun = moment();
        while self.search.has_erased_words() && begun.elapsed() < CLOSING_MAX {
            self.search.scrub();
        }
        Err(Alone)
    }

    /// Does what was asked, in order. Fails when nobody hears of it any more.
    fn work(&mut self, works: Vec<Work>) -> Told {
        let mut dues = Vec::new();
        for work in works {
            match work {
                Work::Project(due) => {
                    dues.push(due);
                    continue;
                }
                Work::Forget { no } => {
                    self.project(std::mem::take(&mut dues))?;
                    let result = self.search.forget(no).map_err(|fault| fault.to_string());
                    self.note_search();
                    self.tell(Request::Forgotten { no, result })?;
                }
                Work::Tidy => self.tidy_asked += 1,
                Work::RebuildSearch => self.rebuild_damaged(),
            }
        }
        self.project(dues)
    }

    pub(super) fn tell(&self, request: Request) -> Told {
        self.requests.send(request).map_err(|_| Alone)
    }

    fn project(&mut self, dues: Vec<Due>) -> Told {
        if dues.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = dues.iter().map(|due| (due.session, due.no, due.life)).collect();
        let mut projected = match self.connection.take().map_or_else(|| connect(&self.shared), Ok) {
            Ok(mut connection) => {
                let projected = project_all(&self.shared, &mut connection, dues);
                // A connection that met an error is not used again.
                self.connection = projected.iter().all(Result::is_ok).then_some(connection);
                projected
            }
            Err(fault) => dues.iter().map(|_| Err(Fault::Refused(fault.to_string()))).collect(),
        };
        let search = &mut self.search;
        let findable: Vec<(i64, &Findable)> = projected
            .iter()
            .flatten()
            .flat_map(|projection| projection.findable.iter().map(|findable| (projection.no, findable)))
            .collect();
        let search_commits =
            caught(|| Ok(search.store(&findable))).unwrap_or_else(|fault| self.search.fail(&fault));
        self.note_search();
        for projection in projected.iter_mut().flatten() {
            projection.search_commits = search_commits;
            projection.findable = Vec::new();
        }
        for ((session, no, life), projected) in asked.into_iter().zip(projected) {
            let answer = projected.map(Box::new).map_err(NotProjected::from);
            self.tell(Request::Projected { session, no, life, answer })?;
        }
        Ok(())
    }
}

/// Runs `work` and turns a panic into a fault, so that the thread survives.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Fault::Refused(format!("panicked: {}", text.unwrap_or("for an unknown reason"))))
    })
}

pub(super) fn connect(shared: &Shared) -> Result<Connection, Fault> {
    fault::hit("project.connect")?;
    let connection = connect_to_read(&shared.database())?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(connection)
}

/// Projects sessions in one read transaction.
fn project_all(
    shared: &Shared,
    connection: &mut Connection,
    dues: Vec<Due>,
) -> Vec<Result<Projection, Fault>> {
    // Copied before the read transaction begins, as every reader does.
    let tails: Vec<_> = dues.iter().map(|due| read::tails(shared, connection, due.no)).collect();
    let transaction = match connection.transaction() {
        Ok(transaction) => transaction,
        Err(error) => {
            let failed = |_| Err(Fault::Refused(error.to_string()));
            return dues.into_iter().map(failed).collect();
        }
    };
    let projected = dues.into_iter().zip(tails).map(|(due, tails)| {
        let tails = tails?;
        caught(|| project(&transaction, due, tails))
    });
    projected.collect()
}

fn project(
    connection: &Connection,
    due: Due,
    mut tails: Vec<(i64, TailSession)>,
) -> Result<Projection, Fault> {
    fault::hit("project.read")?;
    let Due { session, no, indexed_to, tail, packing, .. } = due;
    tails.retain(|(of, _)| *of != no);
    let after = match packing {
        Packing::Pack => tail.prev.seq,
        Packing::IndexOnly => indexed_to.max(tail.prev.seq),
    };
    let prev = tail.prev;
    let end = tail.last.seq;
    tails.push((no, tail));
    let find = |no: i64| tails.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
    let source = Source { connection, tail: &find, no };
    let mut entries = source.read(after, end)?;
    let branched =
        entries.iter().filter(|entry| entry.seq > indexed_to).find_map(|entry| match entry.event {
            Event::SessionBranched { at, .. } => Some(at),
            _ => None,
        });
    let inherited = branched.map_or_else(|| Ok(Inherited::default()), |at| source.inherited(at))?;
    let Inherited { turns: inherited, mut findable } = inherited;
    findable.extend(source.findable(&entries, indexed_to)?);
    let packs = match packing {
        Packing::Pack => make_packs(prev, &entries)?,
        Packing::IndexOnly => Vec::new(),
    };
    entries.retain(|entry| entry.seq > indexed_to && index::concerns(&entry.event));
    let (search_commits, indexed_to) = (None, end);
    Ok(Projection { session, no, entries, findable, search_commits, inherited, indexed_to, packs })
}

pub(super) fn make_packs(prev: Link, entries: &[Entry]) -> Result<Vec<Pack>, Fault> {
    let mut packs = Vec::new();
    let mut prev = prev;
    let mut rest = entries;
    while !rest.is_empty() {
        let mut size_bytes = 0;
        let mut count = 0;
        for entry in rest.iter().take(PACK_ENTRIES_MAX) {
            if count > 0 && size_bytes + entry.body.len() > PACK_BYTES_MAX {
                break;
            }
            size_bytes += entry.body.len();
            count += 1;
        }
        let (packed, after) = rest.split_at(count);
        rest = after;
        let rows: Vec<Row> = packed
            .iter()
            .map(|entry| Row { time: entry.time, epoch: entry.epoch, body: entry.body.to_string() })
            .collect();
        let last = packed.last().map_or(prev, Entry::link);
        packs.push(Pack { prev, last, body: pack::encode(&rows)?, size_bytes });
        prev = last;
    }
    Ok(packs)
}

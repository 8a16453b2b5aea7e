//! What follows behind the append, off the writing thread: reads what is new of a session, packs it, and prepares
//! what the index takes. The writing thread only stores the result.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use session::{Entry, Event, Link, RunId, Seq, SessionId};

use crate::catalog::{Document, TurnIndex, TurnRow, document};

use super::pack::{self, Row};
use super::read::{self, Stop};
use super::request::Request;
use super::tail::TailSession;
use super::{Fault, Shared, connect_to_read, index};

/// Entries and bytes of one pack: large enough to compress well, small enough to read a page from.
const PACK_ENTRIES_MAX: usize = 4_096;
const PACK_BYTES_MAX: usize = 1024 * 1024;

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
    pub(super) documents: Vec<Document>,
    /// The turns of its origin, when the session begins as a branch.
    pub(super) inherited: Vec<TurnRow>,
    pub(super) indexed_to: Seq,
    pub(super) packs: Vec<Pack>,
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

/// Starts the projecting thread. It ends when the writing thread drops its end.
pub(super) fn start(
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
) -> std::io::Result<(mpsc::Sender<Due>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel::<Due>();
    let thread = std::thread::Builder::new().name("everturn-project".to_owned()).spawn(move || {
        let mut connection = None;
        while let Ok(due) = receiver.recv() {
            let (session, no, life) = (due.session, due.no, due.life);
            let projected = with(&mut connection, &shared, |connection| project(&shared, connection, due));
            let answer = projected.map_err(|fault| fault.to_string());
            if requests.send(Request::Projected { session, no, life, answer: answer.map(Box::new) }).is_err()
            {
                return;
            }
        }
    })?;
    Ok((sender, thread))
}

fn with<T>(
    connection: &mut Option<Connection>,
    shared: &Shared,
    work: impl FnOnce(&mut Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => connect_to_read(&shared.database())?,
    };
    let result = work(&mut open)?;
    *connection = Some(open);
    Ok(result)
}

fn project(shared: &Shared, connection: &mut Connection, due: Due) -> Result<Projection, Fault> {
    let Due { session, no, indexed_to, tail, packing, .. } = due;
    // Copied before the read transaction begins, as every reader does.
    let mut tails = read::tails(shared, connection, no)?;
    tails.retain(|(of, _)| *of != no);
    tails.push((no, tail.clone()));
    let transaction = connection.transaction()?;
    let after = match packing {
        Packing::Pack => tail.prev.seq,
        Packing::IndexOnly => indexed_to.max(tail.prev.seq),
    };
    let prev = tail.prev;
    let end = tail.last.seq;
    let source = Source { connection: &transaction, no, tails: &tails };
    let entries = source.read(no, after, end)?;
    let mut documents = Vec::new();
    let mut inherited = Vec::new();
    for entry in entries.iter().filter(|entry| entry.seq > indexed_to) {
        if let Event::SessionBranched { at, .. } = entry.event {
            inherited = source.inherited(at)?;
        }
        let mut failure = None;
        let found = document(entry, |run| match source.answer(run, entry.seq, &entries) {
            Ok(text) => text,
            Err(fault) => {
                failure = Some(fault);
                String::new()
            }
        });
        if let Some(fault) = failure {
            return Err(fault);
        }
        documents.extend(found);
    }
    let packs = match packing {
        Packing::Pack => make_packs(prev, &entries)?,
        Packing::IndexOnly => Vec::new(),
    };
    let mut entries = entries;
    entries.retain(|entry| entry.seq > indexed_to && index::concerns(&entry.event));
    Ok(Projection { session, no, entries, documents, inherited, indexed_to: end, packs })
}

/// Where the entries of a session that is being projected are read.
struct Source<'a> {
    connection: &'a Connection,
    no: i64,
    tails: &'a [(i64, TailSession)],
}

impl Source<'_> {
    fn read(&self, no: i64, after: Seq, end: Seq) -> Result<Vec<Entry>, Fault> {
        let tail = |no: i64| self.tails.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
        let count = usize::try_from(end.0.saturating_sub(after.0)).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        match read::collect(self.connection, &tail, no, after, count, &mut entries) {
            Ok(_) => Ok(entries),
            Err(Stop::Fault(fault)) => Err(fault),
            Err(Stop::Damage(damage)) => Err(Fault::Damaged(damage.to_string())),
        }
    }

    /// The text of a run that ended at `end`: from the entries at hand, or read back when it began before them.
    fn answer(&self, run: RunId, end: Seq, at_hand: &[Entry]) -> Result<String, Fault> {
        let covered = at_hand.first().is_some_and(|first| first.seq.0 <= run.0);
        if covered {
            let entries = at_hand.iter().filter(|entry| entry.seq.0 >= run.0 && entry.seq <= end);
            return Ok(session::run_text(run, entries));
        }
        let entries = self.read(self.no, Seq(run.0.saturating_sub(1)), end)?;
        Ok(session::run_text(run, &entries))
    }

    /// The visible turns of the shared beginning.
    fn inherited(&self, at: Seq) -> Result<Vec<TurnRow>, Fault> {
        let mut turns = TurnIndex::default();
        let mut after = Seq(0);
        while after < at {
            let end = Seq(at.0.min(after.0 + 10_000));
            let entries = self.read(self.no, after, end)?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            entries.iter().for_each(|entry| turns.apply(entry));
        }
        Ok(turns.page(None, usize::MAX))
    }
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

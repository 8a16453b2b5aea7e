//! Which texts can be found: words in a file of their own, written by the projecting thread, so that no commit waits for
//! them. Words are durable before the log's watermark passes them; the file itself can be rebuilt from the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use session::{Seq, Time, TurnId};

use crate::catalog::{Document, DocumentKind};
use crate::words;

use super::disk::moment;
use super::project::caught;
use super::source::{Findable, OnDamage, Source};
use super::tail::Tail;
use super::{Fault, background, checkpoint, wal};

/// Marks a file as ours: "EvTs". Another form of the tables or of the words gets another number, and the file is
/// rebuilt.
const APPLICATION_ID: i64 = 0x4576_5473;
const FORM: i64 = 4;

/// Sessions whose words are made durable together when the file is rebuilt.
const REBUILT_AT_ONCE: usize = 500;
/// How often it is told how far that is.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// Bytes of erased words that are scrubbed before other work has its turn. A larger text is scrubbed as a whole.
const SCRUBBED_AT_ONCE: usize = 64 * 1024;
/// Free pages given back to the disk after a scrub.
const SCRUB_VACUUM_PAGES: i64 = 2_000;
/// Words from this size on are stored compressed.
const COMPRESSED_FROM: usize = 2 * 1024;
/// The log of documents whose words are erased but not scrubbed. No log has this number.
const ERASED: i64 = 0;

/// Ids begin with the time, so that FTS5 reads the newest documents first: in steps of about a millisecond, with so many
/// documents in each.
const TIME_SHIFT: u32 = 10;
const SLOT_BITS: u32 = 21;

const TABLES: &str = "
-- How many times the file was written. The log's file knows how many it relies on: fewer are words that were lost.
CREATE TABLE written (generation BLOB NOT NULL, commits INTEGER NOT NULL) STRICT;
-- The commit in which the words of a log came last. Those that its file does not rely on may be of lost entries.
CREATE TABLE logs (no INTEGER PRIMARY KEY, commits INTEGER NOT NULL) STRICT;
CREATE INDEX logs_by_commits ON logs (commits);
-- Texts that can be found; their words are in `names` or `fulltext` under the same id. `shown` is the turn that shows the
-- text, `time` is when it was first complete, `seq` is the entry that completed it. Log 0: erased, to be scrubbed.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, no INTEGER NOT NULL, turn INTEGER NOT NULL, run INTEGER, shown INTEGER NOT NULL,
    time INTEGER NOT NULL, seq INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_by_turn ON documents (no, turn, run);
-- The words of each document as they were indexed: FTS5 removes a document by its words. A blob is compressed.
CREATE TABLE texts (id INTEGER PRIMARY KEY, words ANY NOT NULL) STRICT;
CREATE VIRTUAL TABLE names USING fts5 (text, content = '', columnsize = 0, tokenize = 'ascii');
CREATE VIRTUAL TABLE fulltext USING fts5 (text, content = '', columnsize = 0, tokenize = 'ascii');
-- Removed words are removed from the pages of the index, too.
INSERT INTO names (names, rank) VALUES ('secure-delete', 1);
INSERT INTO fulltext (fulltext, rank) VALUES ('secure-delete', 1);
";

/// The words, for the one thread that writes them.
#[derive(Debug)]
pub(super) struct Search {
    path: PathBuf,
    /// Gone once anything failed: what is in the file is not known any more, so the file goes as well.
    connection: Option<Connection>,
    commits: u64,
    scrub: Scrub,
}

/// Progress of removing erased words from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scrub {
    Done,
    /// Documents of erased logs are still in the file.
    Due,
}

/// What the log's file relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Relied {
    generation: [u8; 16],
    commits: u64,
}

impl Search {
    /// Opens the index, or rebuilds it from the logs if it is missing, damaged, or older than the logs rely on.
    /// A store whose words cannot be had is still a store.
    pub(super) fn open(main: &Connection, tail: &Tail, path: PathBuf) -> Self {
        Self::open_or_make(main, tail, path.clone()).unwrap_or_else(|fault| {
            tracing::error!(reason = %fault, "search disabled until its index is rebuilt");
            Self::off(path)
        })
    }

    /// Nothing is found, and nothing made findable.
    pub(super) fn off(path: PathBuf) -> Self {
        Self { path, connection: None, commits: 0, scrub: Scrub::Done }
    }

    fn open_or_make(main: &Connection, tail: &Tail, path: PathBuf) -> Result<Self, Fault> {
        let relied = main
            .query_row("SELECT generation, commits FROM search", [], |row| {
                Ok(Relied { generation: row.get(0)?, commits: row.get(1)? })
            })
            .optional()?;
        let opened = relied.map(|relied| open(&path, relied));
        match opened {
            Some(Ok((connection, commits))) => {
                let mut search = Self { path, connection: Some(connection), commits, scrub: Scrub::Due };
                search.catch_up(main, tail, relied.map_or(0, |relied| relied.commits))?;
                return Ok(search);
            }
            Some(Err(fault)) => {
                tracing::warn!(reason = %fault, "rebuilding the search index from the logs")
            }
            None => {}
        }
        Self::make(main, tail, path)
    }

    fn make(main: &Connection, tail: &Tail, path: PathBuf) -> Result<Self, Fault> {
        main.execute("DELETE FROM search", [])?;
        let mut search = Self::off(path);
        let generation = search.begin_again()?;
        search.rebuild(main, tail)?;
        fault::hit("search.before_made")?;
        rely_on(main, generation, search.commits)?;
        fault::hit("search.after_made")?;
        Ok(search)
    }

    /// Replaces the file with an empty one. `everturn.db` does not rely on it yet.
    pub(super) fn begin_again(&mut self) -> Result<[u8; 16], Fault> {
        self.connection = None;
        remove(&self.path)?;
        let connection = connect(&self.path)?;
        let generation: [u8; 16] = connection.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute_batch(TABLES)?;
        connection.execute("INSERT INTO written (generation, commits) VALUES (?, 0)", [generation])?;
        connection.pragma_update(None, "user_version", FORM)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.execute_batch("COMMIT")?;
        (self.connection, self.commits, self.scrub) = (Some(connection), 0, Scrub::Done);
        Ok(generation)
    }

    /// Rebuilds the words of a log, from its beginning to `end`.
    pub(super) fn remake(&mut self, source: &Source<'_>, end: Seq) -> Result<(), Fault> {
        self.doom(source.no)?;
        let mut found = Vec::new();
        source.go_through(OnDamage::End, Seq(0), end, |entries| {
            found.extend(source.findable(entries, Seq(0))?);
            Ok(())
        })?;
        self.write(&found.iter().map(|findable| (source.no, findable)).collect::<Vec<_>>())
    }

    /// How many times the file was written.
    pub(super) fn commits(&self) -> u64 {
        self.commits
    }

    /// Rebuilds the words of every log with commits to this file that `everturn.db` does not rely on: a disk that ignored a
    /// sync may have lost the entries and kept the words.
    fn catch_up(&mut self, main: &Connection, tail: &Tail, relied: u64) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let mut select = connection.prepare("SELECT no FROM logs WHERE commits > ? ORDER BY no")?;
        let ahead: Vec<i64> =
            select.query_map([relied], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        drop(select);
        if ahead.is_empty() {
            return Ok(());
        }
        for no in ahead {
            self.doom(no)?;
            let indexed_to = main
                .prepare_cached(
                    "SELECT indexed_to FROM watermarks JOIN logs USING (no) WHERE no = ? AND trunk = 0",
                )?
                .query_row([no], |row| row.get(0))
                .optional()?;
            if let Some(indexed_to) = indexed_to {
                let mut found = Vec::new();
                findable(main, tail, no, Seq(indexed_to), &mut found)?;
                self.write(&found.iter().map(|(no, findable)| (*no, findable)).collect::<Vec<_>>())?;
            }
        }
        // They are of the log that stands now, so the next start need not make them again.
        main.execute("UPDATE search SET commits = ?", [self.commits])?;
        Ok(())
    }

    /// Reads every log as far as it was indexed.
    fn rebuild(&mut self, main: &Connection, tail: &Tail) -> Result<(), Fault> {
        let mut select = main.prepare(
            "SELECT no, indexed_to FROM watermarks JOIN logs USING (no)
             WHERE trunk = 0 AND indexed_to > base_seq ORDER BY no",
        )?;
        let logs: Vec<(i64, u64)> =
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        let mut told_at = moment();
        for (at, some) in logs.chunks(REBUILT_AT_ONCE).enumerate() {
            let mut found = Vec::new();
            for (no, indexed_to) in some {
                findable(main, tail, *no, Seq(*indexed_to), &mut found)?;
            }
            self.write(&found.iter().map(|(no, findable)| (*no, findable)).collect::<Vec<_>>())?;
            if told_at.elapsed() >= TELL_EVERY {
                told_at = moment();
                let done = at * REBUILT_AT_ONCE + some.len();
                tracing::info!(done, of = logs.len(), "search index rebuild in progress");
            }
        }
        Ok(())
    }

    /// Whether it could not be written.
    pub(super) fn is_off(&self) -> bool {
        self.connection.is_none()
    }

    /// Indexes texts durably, in place of their earlier versions. Returns the number of commits to the file, or `None` if
    /// it cannot be written: search then reports an error until the index is rebuilt.
    pub(super) fn store(&mut self, findable: &[(i64, &Findable)]) -> Option<u64> {
        self.connection.as_ref()?;
        if findable.is_empty() {
            return Some(self.commits);
        }
        match self.write(findable) {
            Ok(()) => Some(self.commits),
            Err(fault) => self.fail(&fault),
        }
    }

    /// Gives the file up. Words of erased sessions must not stay in one that nobody can write.
    pub(super) fn fail(&mut self, fault: &Fault) -> Option<u64> {
        tracing::error!(reason = %fault, "search disabled until its index is rebuilt");
        self.connection = None;
        if let Err(error) = remove(&self.path) {
            tracing::warn!(%error, "failed to delete search index, retrying at the next start");
        }
        None
    }

    fn write(&mut self, findable: &[(i64, &Findable)]) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut changes = BTreeMap::new();
        for (no, findable) in findable {
            match findable {
                Findable::Text(document) => note(connection, *no, document, &mut changes)?,
                Findable::Steered { turn, into } => {
                    let sql = "UPDATE documents SET shown = ? WHERE no = ? AND turn = ? AND run IS NULL";
                    connection.prepare_cached(sql)?.execute(params![into.0, no, turn.0])?;
                }
            }
        }
        connection.prepare_cached("UPDATE written SET commits = ?")?.execute([self.commits + 1])?;
        let mut touch =
            connection.prepare_cached("INSERT OR REPLACE INTO logs (no, commits) VALUES (?, ?)")?;
        let logs: BTreeSet<i64> = findable.iter().map(|(no, _)| *no).collect();
        logs.into_iter().try_for_each(|no| touch.execute(params![no, self.commits + 1]).map(drop))?;
        drop(touch);
        index(connection, changes)?;
        fault::hit("search.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("search.after_commit")?;
        self.commits += 1;
        Ok(())
    }

    /// Makes every word of a log unfindable. Their bytes go with the next scrubs.
    pub(super) fn forget(&mut self, no: i64) -> Result<(), Fault> {
        match caught(|| self.doom(no)) {
            Ok(()) => Ok(()),
            Err(fault) => {
                self.fail(&fault);
                // Without the file there are no words.
                if self.path.exists() { Err(fault) } else { Ok(()) }
            }
        }
    }

    fn doom(&mut self, no: i64) -> Result<(), Fault> {
        let Some(connection) = &self.connection else {
            return Ok(remove(&self.path)?);
        };
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute("UPDATE written SET commits = ?", [self.commits + 1])?;
        connection.execute("UPDATE documents SET no = ? WHERE no = ?", [ERASED, no])?;
        connection.execute("DELETE FROM logs WHERE no = ?", [no])?;
        fault::hit("forget.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("forget.after_commit")?;
        self.commits += 1;
        self.scrub = Scrub::Due;
        Ok(())
    }

    /// Returns whether bytes of erased words are left in the file.
    pub(super) fn has_erased_words(&self) -> bool {
        self.connection.is_some() && self.scrub == Scrub::Due
    }

    /// Removes some erased words from the file's bytes.
    pub(super) fn scrub(&mut self) {
        if let Err(fault) = caught(|| self.scrub_some()) {
            self.fail(&fault);
        }
    }

    fn scrub_some(&mut self) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let (mut changes, mut bytes) = (BTreeMap::new(), 0);
        let mut select = connection.prepare_cached(
            "SELECT documents.id, turn, words FROM documents JOIN texts USING (id) WHERE no = ?",
        )?;
        let mut rows = select.query([ERASED])?;
        while bytes < SCRUBBED_AT_ONCE
            && let Some(row) = rows.next()?
        {
            let words = stored_words(row, 2)?;
            bytes += words.len();
            let table = Table::of(TurnId(row.get(1)?));
            changes.insert(row.get(0)?, WordChange { table, before: Some(words), after: None });
        }
        drop(rows);
        drop(select);
        if changes.is_empty() {
            // The write-ahead log holds pages from before.
            background::vacuum(connection, SCRUB_VACUUM_PAGES)?;
            checkpoint::empty(connection)?;
            self.scrub = Scrub::Done;
            return Ok(());
        }
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for id in changes.keys() {
            connection.prepare_cached("DELETE FROM documents WHERE id = ?")?.execute([id])?;
            connection.prepare_cached("DELETE FROM texts WHERE id = ?")?.execute([id])?;
        }
        index(connection, changes)?;
        fault::hit("scrub.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("scrub.after_commit")?;
        Ok(())
    }

    /// Gives free pages back and empties the write-ahead log.
    pub(super) fn tidy(&mut self) {
        if let Err(fault) = caught(|| self.tidy_file()) {
            self.fail(&fault);
        }
    }

    fn tidy_file(&self) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        background::vacuum(connection, i64::from(i32::MAX))?;
        checkpoint::empty(connection)
    }
}

/// Notes the file of words, and how many commits of it the logs rely on.
pub(super) fn rely_on(main: &Connection, generation: [u8; 16], commits: u64) -> Result<(), Fault> {
    main.execute("DELETE FROM search", [])?;
    main.execute("INSERT INTO search (generation, commits) VALUES (?, ?)", params![generation, commits])?;
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    let new = !path.exists();
    let connection = Connection::open(path)?;
    if new {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Refused(format!(
            "the file system doesn't support SQLite's WAL mode (journal mode is {mode})"
        )));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    // A reader may look at it at this moment.
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Opens a file that has at least what the logs rely on.
fn open(path: &Path, relied: Relied) -> Result<(Connection, u64), Fault> {
    let damaged = |what: &str| Fault::Damaged(format!("{} {what}", path.display()));
    if !path.exists() {
        return Err(damaged("is missing"));
    }
    wal::check(&wal::path(path))?;
    let connection = connect(path)?;
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if (application, form) != (APPLICATION_ID, FORM) {
        return Err(damaged("has another form"));
    }
    let found = connection.query_row("SELECT generation, commits FROM written", [], |row| {
        Ok(Relied { generation: row.get(0)?, commits: row.get(1)? })
    })?;
    if found.generation != relied.generation {
        return Err(damaged("belongs to another store"));
    }
    if found.commits < relied.commits {
        return Err(damaged("has lost words"));
    }
    Ok((connection, found.commits))
}

fn remove(path: &Path) -> io::Result<()> {
    for path in [path.to_owned(), wal::path(path), path.with_extension("db-shm")] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Collects the documents of a log up to `end`, including the beginning that it shares. Damage ends the collection; a
/// reader of the session is told of it.
fn findable(
    main: &Connection,
    tail: &Tail,
    no: i64,
    end: Seq,
    found: &mut Vec<(i64, Findable)>,
) -> Result<(), Fault> {
    let source = Source { connection: main, tail: &|no| tail.get(no).cloned(), no };
    source.go_through(OnDamage::End, Seq(0), end, |entries| {
        found.extend(source.findable(entries, Seq(0))?.into_iter().map(|findable| (no, findable)));
        Ok(())
    })?;
    Ok(())
}

fn run_of(kind: DocumentKind) -> Option<u64> {
    match kind {
        DocumentKind::Title | DocumentKind::Message => None,
        DocumentKind::Answer(run) => Some(run.0),
    }
}

/// An index of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Names,
    Fulltext,
}

impl Table {
    /// Returns the index for the texts of a turn; turn 0 is the session's name.
    fn of(turn: TurnId) -> Self {
        if turn == TurnId(0) { Self::Names } else { Self::Fulltext }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Fulltext => "fulltext",
        }
    }
}

/// A change of the indexed words of a document.
struct WordChange {
    table: Table,
    before: Option<String>,
    after: Option<String>,
}

/// Notes a document and its words, which are indexed at the end of the transaction.
fn note(
    connection: &Connection,
    no: i64,
    document: &Document,
    changes: &mut BTreeMap<i64, WordChange>,
) -> Result<(), Fault> {
    let run = run_of(document.kind);
    let known = connection
        .prepare_cached(
            "SELECT id, words FROM documents JOIN texts USING (id) WHERE no = ? AND turn = ? AND run IS ?",
        )?
        .query_row(params![no, document.turn.0, run], |row| Ok((row.get(0)?, stored_words(row, 1)?)))
        .optional()?;
    let words = words::indexed(&document.text);
    let (id, before) = match known {
        Some((id, before)) => {
            let mut update = connection.prepare_cached("UPDATE documents SET seq = ? WHERE id = ?")?;
            update.execute(params![document.seq.0, id])?;
            (id, Some(before))
        }
        None => {
            let id = free_id(connection, document.time)?;
            connection
                .prepare_cached(
                    "INSERT INTO documents (id, no, turn, run, shown, time, seq) VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6)",
                )?
                .execute(params![id, no, document.turn.0, run, document.time.0, document.seq.0])?;
            (id, None)
        }
    };
    let mut put = connection.prepare_cached("INSERT OR REPLACE INTO texts (id, words) VALUES (?, ?)")?;
    if words.len() < COMPRESSED_FROM {
        put.execute(params![id, words])?;
    } else {
        put.execute(params![id, zstd::bulk::compress(words.as_bytes(), 1)?])?;
    }
    let table = Table::of(document.turn);
    let change = changes.entry(id).or_insert(WordChange { table, before, after: None });
    change.after = Some(words);
    Ok(())
}

fn stored_words(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    match row.get_ref(column)? {
        ValueRef::Blob(packed) => zstd::stream::decode_all(packed)
            .ok()
            .and_then(|words| String::from_utf8(words).ok())
            .ok_or(rusqlite::Error::InvalidQuery),
        words => Ok(words.as_str()?.to_owned()),
    }
}

/// Changes indexed words. No other statement may begin in between: FTS5 would write out what it gathered, as a segment of
/// its own. Ids rise for the same reason.
fn index(connection: &Connection, changes: BTreeMap<i64, WordChange>) -> Result<(), Fault> {
    for table in [Table::Names, Table::Fulltext] {
        let name = table.name();
        let remove = format!("INSERT INTO {name} ({name}, rowid, text) VALUES ('delete', ?, ?)");
        let mut remove = connection.prepare_cached(&remove)?;
        let mut insert =
            connection.prepare_cached(&format!("INSERT INTO {name} (rowid, text) VALUES (?, ?)"))?;
        for (id, change) in changes.iter().filter(|(_, change)| change.table == table) {
            if let Some(words) = &change.before {
                remove.execute(params![id, words])?;
            }
            if let Some(words) = &change.after {
                insert.execute(params![id, words])?;
            }
        }
    }
    Ok(())
}

/// Returns the ids for documents of one moment, about a millisecond.
pub(super) fn ids_at(time: Time) -> std::ops::RangeInclusive<i64> {
    let first = (time.0.clamp(0, (1 << (62 - SLOT_BITS + TIME_SHIFT)) - 1) >> TIME_SHIFT) << SLOT_BITS;
    first..=first + (1 << SLOT_BITS) - 1
}

/// Returns a free id for a document. After two million documents of one moment, ids continue behind all others.
fn free_id(connection: &Connection, time: Time) -> Result<i64, Fault> {
    let ids = ids_at(time);
    let newest: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM documents WHERE id BETWEEN ? AND ?")?
        .query_row([ids.start(), ids.end()], |row| row.get(0))?;
    match newest {
        None => Ok(*ids.start()),
        Some(newest) if newest < *ids.end() => Ok(newest + 1),
        Some(_) => Ok(connection.query_row("SELECT max(id) + 1 FROM documents", [], |row| row.get(0))?),
    }
}

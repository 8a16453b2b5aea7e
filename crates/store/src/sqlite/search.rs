//! Which texts can be found: words in a file of their own, written by the projecting thread, so that no commit waits for
//! them. Words are durable before the log's watermark passes them; the file itself can be made anew from the logs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, ToSql, params};
use session::{RunId, Seq, SessionId, TurnId};
use uuid::Uuid;

use crate::catalog::{Document, DocumentKind, Hit, SaidBy, SearchQuery};

use super::append::shelf_number;
use super::disk::moment;
use super::source::{OnDamage, Source};
use super::tail::Tail;
use super::{Fault, background, checkpoint, wal};

/// Marks a file as ours: "EvTs". Another form of the tables gets another number, and the file is made anew.
const APPLICATION_ID: i64 = 0x4576_5473;
const FORM: i64 = 3;

/// Sessions whose words are made durable together when the file is made anew.
const REBUILT_AT_ONCE: usize = 500;
/// How often it is told how far that is.
const TELL_EVERY: Duration = Duration::from_secs(2);

const TABLES: &str = "
-- How many times the file was written. The log's file knows how many it relies on: fewer are words that were lost.
CREATE TABLE written (generation BLOB NOT NULL, commits INTEGER NOT NULL) STRICT;
-- The commit in which the words of a log came last. Those that its file does not rely on may be of lost entries.
CREATE TABLE logs (no INTEGER PRIMARY KEY, commits INTEGER NOT NULL) STRICT;
CREATE INDEX logs_by_commits ON logs (commits);
-- Texts that can be found; the words are in `fulltext` under the same id, the text itself only in the log.
-- `seq` is the entry that completed the text.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, no INTEGER NOT NULL, turn INTEGER NOT NULL, run INTEGER, seq INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_by_turn ON documents (no, turn, run);
CREATE INDEX documents_by_seq ON documents (no, seq);
CREATE VIRTUAL TABLE fulltext USING fts5 (
    text,
    content = '',
    contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);
";

/// The words, for the one thread that writes them.
#[derive(Debug)]
pub(super) struct Search {
    path: PathBuf,
    /// Gone once anything failed: what is in the file is not known any more, so the file goes as well.
    connection: Option<Connection>,
    commits: u64,
}

/// What the log's file relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Relied {
    generation: [u8; 16],
    commits: u64,
}

impl Search {
    /// Opens the words, or makes them anew from the logs when they are missing, damaged, or older than the logs rely on.
    /// A store whose words cannot be had is still a store.
    pub(super) fn open(main: &Connection, tail: &Tail, path: PathBuf) -> Self {
        Self::open_or_make(main, tail, path.clone()).unwrap_or_else(|fault| {
            tracing::error!(reason = %fault, "search is off; the next start tries again");
            Self::off(path)
        })
    }

    /// Nothing is found, and nothing made findable.
    pub(super) fn off(path: PathBuf) -> Self {
        Self { path, connection: None, commits: 0 }
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
                let mut search = Self { path, connection: Some(connection), commits };
                search.catch_up(main, tail, relied.map_or(0, |relied| relied.commits))?;
                return Ok(search);
            }
            Some(Err(fault)) => {
                tracing::warn!(reason = %fault, "the words for search are made anew from the logs")
            }
            None => {}
        }
        Self::make(main, tail, path)
    }

    fn make(main: &Connection, tail: &Tail, path: PathBuf) -> Result<Self, Fault> {
        main.execute("DELETE FROM search", [])?;
        remove(&path)?;
        let connection = connect(&path)?;
        let generation: [u8; 16] = connection.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute_batch(TABLES)?;
        connection.execute("INSERT INTO written (generation, commits) VALUES (?, 0)", [generation])?;
        connection.pragma_update(None, "user_version", FORM)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.execute_batch("COMMIT")?;
        let mut search = Self { path, connection: Some(connection), commits: 0 };
        search.rebuild(main, tail)?;
        fault::hit("search.before_made")?;
        main.execute(
            "INSERT INTO search (generation, commits) VALUES (?, ?)",
            params![generation, search.commits],
        )?;
        fault::hit("search.after_made")?;
        Ok(search)
    }

    /// Takes back words of entries that no log relies on: a disk that did not keep what it said may have lost the entries
    /// and kept the words. What is there of them comes again when it is indexed.
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
            let log = main
                .prepare_cached(
                    "SELECT base_seq, indexed_to FROM watermarks JOIN logs USING (no) WHERE no = ? AND trunk = 0",
                )?
                .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match log {
                Some((base, indexed_to)) => self.take_back(main, tail, no, Seq(base), Seq(indexed_to))?,
                None => self.remove_words(no, Seq(0))?,
            }
        }
        // They are of the log that stands now, so the next start need not make them again.
        main.execute("UPDATE search SET commits = ?", [self.commits])?;
        Ok(())
    }

    /// Removes the words that came behind `indexed_to`, and puts earlier forms of them back.
    fn take_back(
        &mut self,
        main: &Connection,
        tail: &Tail,
        no: i64,
        base: Seq,
        indexed_to: Seq,
    ) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let mut select =
            connection.prepare_cached("SELECT turn, run FROM documents WHERE no = ? AND seq > ?")?;
        let behind: Vec<(u64, Option<u64>)> = select
            .query_map(params![no, indexed_to.0], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        drop(select);
        // Nothing of a text stands before its message or its run.
        let Some(first) = behind.iter().map(|(turn, run)| run.unwrap_or(*turn)).min() else { return Ok(()) };
        self.remove_words(no, indexed_to)?;
        let mut found = Vec::new();
        documents(main, tail, no, base.max(Seq(first.saturating_sub(1))), indexed_to, &mut found)?;
        found.retain(|(_, document)| behind.contains(&(document.turn.0, run_of(document.kind))));
        self.write(&found.iter().map(|(no, document)| (*no, document)).collect::<Vec<_>>())
    }

    /// Reads every log as far as it was indexed.
    fn rebuild(&mut self, main: &Connection, tail: &Tail) -> Result<(), Fault> {
        let mut select = main.prepare(
            "SELECT no, base_seq, indexed_to FROM watermarks JOIN logs USING (no)
             WHERE trunk = 0 AND indexed_to > base_seq ORDER BY no",
        )?;
        let logs: Vec<(i64, u64, u64)> = select
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut told_at = moment();
        for (at, some) in logs.chunks(REBUILT_AT_ONCE).enumerate() {
            let mut found = Vec::new();
            for (no, base, indexed_to) in some {
                documents(main, tail, *no, Seq(*base), Seq(*indexed_to), &mut found)?;
            }
            let documents: Vec<_> = found.iter().map(|(no, document)| (*no, document)).collect();
            self.write(&documents)?;
            if told_at.elapsed() >= TELL_EVERY {
                told_at = moment();
                let done = at * REBUILT_AT_ONCE + some.len();
                tracing::info!(done, of = logs.len(), "sessions are made findable again");
            }
        }
        Ok(())
    }

    /// Whether it could not be written.
    pub(super) fn is_off(&self) -> bool {
        self.connection.is_none()
    }

    /// Makes documents findable and durable; an earlier form of one no longer is found. Answers how many times the file
    /// was written, or nothing when it could not be: search then says so until the next start makes it anew.
    pub(super) fn store(&mut self, documents: &[(i64, &Document)]) -> Option<u64> {
        self.connection.as_ref()?;
        if documents.is_empty() {
            return Some(self.commits);
        }
        match self.write(documents) {
            Ok(()) => Some(self.commits),
            Err(fault) => self.fail(&fault),
        }
    }

    /// Gives the file up. Words of erased sessions must not stay in one that nobody can write.
    pub(super) fn fail(&mut self, fault: &Fault) -> Option<u64> {
        tracing::error!(reason = %fault, "search is off; the next start makes its words anew from the logs");
        self.connection = None;
        if let Err(error) = remove(&self.path) {
            tracing::warn!(%error, "the file of words is removed at the next start");
        }
        None
    }

    fn write(&mut self, documents: &[(i64, &Document)]) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut words = Vec::with_capacity(documents.len());
        for (no, document) in documents {
            words.push(note(connection, *no, document)?);
        }
        connection.prepare_cached("UPDATE written SET commits = ?")?.execute([self.commits + 1])?;
        let mut touch =
            connection.prepare_cached("INSERT OR REPLACE INTO logs (no, commits) VALUES (?, ?)")?;
        let logs: BTreeSet<i64> = documents.iter().map(|(no, _)| *no).collect();
        logs.into_iter().try_for_each(|no| touch.execute(params![no, self.commits + 1]).map(drop))?;
        // Nothing else is written from here on: FTS5 writes out what it gathered, as a segment of its own, whenever
        // another statement begins.
        let mut remove = connection.prepare_cached("DELETE FROM fulltext WHERE rowid = ?")?;
        let mut insert = connection.prepare_cached("INSERT INTO fulltext (rowid, text) VALUES (?, ?)")?;
        for Words { id, known, text } in words {
            if known {
                remove.execute([id])?;
            }
            insert.execute(params![id, text])?;
        }
        drop((remove, insert));
        fault::hit("search.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("search.after_commit")?;
        self.commits += 1;
        Ok(())
    }

    /// Removes every word of a log, from the file's bytes as well.
    pub(super) fn forget(&mut self, no: i64) -> Result<(), Fault> {
        let forgotten = self.remove_words(no, Seq(0)).and_then(|()| self.scrub());
        match forgotten {
            Ok(()) => Ok(()),
            Err(fault) => {
                self.fail(&fault);
                // Without the file there are no words.
                if self.path.exists() { Err(fault) } else { Ok(()) }
            }
        }
    }

    /// Removes the words of a log that came behind an entry.
    fn remove_words(&mut self, no: i64, after: Seq) -> Result<(), Fault> {
        let Some(connection) = &self.connection else {
            return Ok(remove(&self.path)?);
        };
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute("UPDATE written SET commits = ?", [self.commits + 1])?;
        connection.execute(
            "DELETE FROM fulltext WHERE rowid IN (SELECT id FROM documents WHERE no = ? AND seq > ?)",
            params![no, after.0],
        )?;
        connection.execute("DELETE FROM documents WHERE no = ? AND seq > ?", params![no, after.0])?;
        connection.execute("DELETE FROM logs WHERE no = ?", [no])?;
        fault::hit("forget.before_commit")?;
        connection.execute_batch("COMMIT")?;
        fault::hit("forget.after_commit")?;
        self.commits += 1;
        Ok(())
    }

    /// Rewrites the segments without the deleted words.
    fn scrub(&self) -> Result<(), Fault> {
        if let Some(connection) = &self.connection {
            connection.execute("INSERT INTO fulltext (fulltext) VALUES ('optimize')", [])?;
        }
        self.tidy_file()
    }

    /// Gives free pages back and empties the write-ahead log.
    pub(super) fn tidy(&mut self) {
        if let Err(fault) = self.tidy_file() {
            self.fail(&fault);
        }
    }

    fn tidy_file(&self) -> Result<(), Fault> {
        let Some(connection) = &self.connection else { return Ok(()) };
        background::vacuum(connection, i64::from(i32::MAX))?;
        checkpoint::empty(connection)
    }
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    let new = !path.exists();
    let connection = Connection::open(path)?;
    if new {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Refused(format!("the disk cannot hold a WAL (journal mode {mode})")));
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

/// The documents of a log up to `end`. What is damaged is left out; its session tells of it when it is read.
fn documents(
    main: &Connection,
    tail: &Tail,
    no: i64,
    base: Seq,
    end: Seq,
    found: &mut Vec<(i64, Document)>,
) -> Result<(), Fault> {
    let source = Source { connection: main, tail: &|no| tail.get(no).cloned(), no };
    source.go_through(OnDamage::End, base, end, |entries| {
        found.extend(source.documents(entries, base)?.into_iter().map(|document| (no, document)));
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

/// The words of a document, to be made findable under its id.
struct Words<'a> {
    id: i64,
    /// Whether an earlier form of it can be found.
    known: bool,
    text: &'a str,
}

fn note<'a>(connection: &Connection, no: i64, document: &'a Document) -> Result<Words<'a>, Fault> {
    let run = run_of(document.kind);
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM documents WHERE no = ? AND turn = ? AND run IS ?")?
        .query_row(params![no, document.turn.0, run], |row| row.get(0))
        .optional()?;
    let text = &document.text;
    if let Some(id) = known {
        let mut update = connection.prepare_cached("UPDATE documents SET seq = ? WHERE id = ?")?;
        update.execute(params![document.seq.0, id])?;
        return Ok(Words { id, known: true, text });
    }
    connection
        .prepare_cached("INSERT INTO documents (no, turn, run, seq) VALUES (?, ?, ?, ?)")?
        .execute(params![no, document.turn.0, run, document.seq.0])?;
    Ok(Words { id: connection.last_insert_rowid(), known: false, text })
}

/// The newest documents that have all the words. `connection` reads the logs; the words are attached to it.
pub(super) fn find(connection: &Connection, path: &Path, query: &SearchQuery) -> Result<Vec<Hit>, Fault> {
    // Each word is quoted, so that no character of a search is read as an operator.
    let words = query.words.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    if quoted.is_empty() {
        return Ok(Vec::new());
    }
    let attached: bool = connection
        .prepare_cached("SELECT count(*) FROM pragma_database_list WHERE name = 'words'")?
        .query_row([], |row| row.get(0))?;
    if !attached {
        connection.execute("ATTACH ? AS words", [path.to_string_lossy()])?;
    }
    let (user, words) = (query.user.0.as_bytes(), quoted.join(" "));
    let count = i64::try_from(query.count).unwrap_or(i64::MAX);
    let shelves: Vec<String> = query.shelves.iter().map(|shelf| shelf_number(*shelf).to_string()).collect();
    let mut narrowed = format!(" AND list.shelf IN ({})", shelves.join(", "));
    narrowed += match query.said_by {
        None => "",
        Some(SaidBy::Person) => " AND documents.run IS NULL AND turn > 0",
        Some(SaidBy::Agent) => " AND documents.run IS NOT NULL",
    };
    let (project, since) =
        (query.project.map(|project| *project.0.as_bytes()), query.active_since.map(|time| time.0));
    let mut asked: Vec<&dyn ToSql> = vec![&words, user, &count];
    if let Some(project) = &project {
        asked.push(project);
        narrowed += &format!(" AND list.project = ?{}", asked.len());
    }
    if let Some(tag) = &query.tag {
        asked.push(tag);
        narrowed += &format!(
            " AND EXISTS (SELECT 1 FROM main.list_tags AS tags WHERE tags.no = list.no AND tag = ?{})",
            asked.len()
        );
    }
    if let Some(since) = &since {
        asked.push(since);
        narrowed += &format!(" AND list.active_at >= ?{}", asked.len());
    }
    let mut select = connection.prepare_cached(&format!(
        // In this order, so that reading ends with the last document that is wanted.
        "SELECT logs.key, turn, documents.run FROM words.fulltext
         CROSS JOIN words.documents AS documents ON documents.id = fulltext.rowid
         CROSS JOIN main.logs AS logs USING (no) CROSS JOIN main.list AS list USING (no)
         WHERE fulltext MATCH ?1 AND trunk = 0 AND user = ?2{narrowed} ORDER BY fulltext.rowid DESC LIMIT ?3"
    ))?;
    let rows = select.query_map(asked.as_slice(), |row| {
        let turn = TurnId(row.get(1)?);
        let kind = match row.get::<_, Option<u64>>(2)? {
            Some(run) => DocumentKind::Answer(RunId(run)),
            None if turn == TurnId(0) => DocumentKind::Title,
            None => DocumentKind::Message,
        };
        Ok(Hit { session: SessionId(Uuid::from_bytes(row.get(0)?)), turn, kind })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

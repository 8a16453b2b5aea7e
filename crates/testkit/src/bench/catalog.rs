//! (e) the newest sessions of very many, and words among all that was said.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use rusqlite::{Connection, params};
use store::sqlite::SqliteStore;
use store::{Catalog, ListQuery, Shelf};
use tokio::runtime::Runtime;

use super::corpus::{self, Log};
use super::figures::{median, millis};
use super::prose::Author;
use super::{Bench, place};

/// Turns of a session that is searched: ten messages and ten answers.
const TURNS: usize = 10;
const MESSAGE_BYTES: usize = 160;
/// Sessions appended at once while the corpus is made.
const AT_ONCE: usize = 500;
const NEWEST: usize = 50;
const LIST_TRIALS: usize = 200;
const LIST_SQL: &str = "SELECT key, title, named_by_person, created_at, active_at, run, messages, pinned, archived, \
    trashed FROM list WHERE shelf = 0 ORDER BY active_at DESC, no DESC LIMIT ?";
const SEARCH_SQL: &str = "SELECT rowid FROM fulltext WHERE fulltext MATCH ? ORDER BY rowid DESC LIMIT ?";

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let (sessions, searched) = bench.size.pick((10_000, 5_000), (100_000, 100_000));
    let directory = place::directory()?;
    let runtime = place::runtime()?;
    let store = place::open_store(directory.path())?;
    let bare_path = directory.path().join("bare.db");
    let begun = Instant::now();
    runtime.block_on(make(&store, &bare_path, sessions, searched))?;
    let made = begun.elapsed().as_secs_f64();
    bench.note(
        "e.made_seconds",
        made,
        &format!("{sessions} sessions, {searched} with {} messages", TURNS * 2),
    );
    let bare = Arc::new(std::sync::Mutex::new(Connection::open(&bare_path)?));
    measure_list(bench, &runtime, &store, &bare)?;
    measure_search(bench, &runtime, &store, &bare)?;
    drop(store);
    runtime.shutdown_timeout(std::time::Duration::from_secs(20));
    Ok(())
}

/// Makes the same corpus in the store and as bare tables.
async fn make(store: &Arc<SqliteStore>, bare: &Path, sessions: usize, searched: usize) -> Result<()> {
    let mut author = Author::new(6);
    let mut bare = create_bare(bare)?;
    let mut logs = corpus::logs(store.as_ref(), sessions).await?;
    let mut done = 0;
    for logs in logs.chunks_mut(AT_ONCE) {
        let transaction = bare.transaction()?;
        for log in &mut *logs {
            let turns = if done < searched { TURNS } else { 1 };
            for _ in 0..turns {
                let (message, answer) = (author.text(MESSAGE_BYTES), author.text(MESSAGE_BYTES));
                log.turn(&message, [answer.as_str()]);
                let mut insert = transaction.prepare_cached("INSERT INTO fulltext (text) VALUES (?)")?;
                insert.execute([&message])?;
                insert.execute([&answer])?;
            }
            list_bare(&transaction, log, turns)?;
            done += 1;
        }
        transaction.commit()?;
        corpus::append(store.as_ref(), logs).await?;
    }
    Ok(store.settle().await?)
}

fn create_bare(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
         CREATE TABLE list (no INTEGER PRIMARY KEY, key BLOB NOT NULL, title TEXT, named_by_person INTEGER NOT NULL,
         created_at INTEGER NOT NULL, active_at INTEGER NOT NULL, run INTEGER, messages INTEGER NOT NULL,
         pinned INTEGER NOT NULL, archived INTEGER NOT NULL, trashed INTEGER NOT NULL, shelf INTEGER NOT NULL) STRICT;
         CREATE INDEX list_by_activity ON list (shelf, active_at, no);
         CREATE VIRTUAL TABLE fulltext USING fts5 (text, content = '', contentless_delete = 1,
         tokenize = 'unicode61 remove_diacritics 2');",
    )?;
    Ok(connection)
}

fn list_bare(connection: &Connection, log: &Log, turns: usize) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO list (key, title, named_by_person, created_at, active_at, messages, pinned, archived,
             trashed, shelf) VALUES (?, ?, 1, ?, ?, ?, 0, 0, 0, 0)",
        )?
        .execute(params![
            log.session().0.as_bytes().as_slice(),
            "Session 12345 about a few things",
            log.now().0,
            log.now().0,
            turns as i64
        ])?;
    Ok(())
}

type SharedConnection = Arc<std::sync::Mutex<Connection>>;

/// Runs a query on a bare connection as the store does: on a thread for work that blocks. Answers milliseconds.
async fn hop<T: Send + 'static>(
    bare: &SharedConnection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
) -> Result<(f64, T)> {
    let begun = Instant::now();
    let bare = bare.clone();
    let result = tokio::task::spawn_blocking(move || {
        let connection = bare.lock().map_err(|_| anyhow!("a bare query panicked"))?;
        Ok::<_, anyhow::Error>(work(&connection)?)
    })
    .await??;
    Ok((millis(begun.elapsed()), result))
}

type BareRow = ([u8; 16], Option<String>, bool, i64, i64, Option<i64>, i64, bool, bool, bool);

fn list_in(connection: &Connection) -> rusqlite::Result<Vec<BareRow>> {
    let mut select = connection.prepare_cached(LIST_SQL)?;
    let rows = select.query_map([NEWEST as i64], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
            row.get(6)?,
            row.get(7)?,
            row.get(8)?,
            row.get(9)?,
        ))
    })?;
    rows.collect()
}

fn measure_list(
    bench: &mut Bench,
    runtime: &Runtime,
    store: &SqliteStore,
    bare: &SharedConnection,
) -> Result<()> {
    let (mut ours, mut bares, mut hops) = (Vec::new(), Vec::new(), Vec::new());
    runtime.block_on(async {
        for _ in 0..LIST_TRIALS {
            let begun = Instant::now();
            let query = ListQuery { count: NEWEST, ..ListQuery::of(session::UserId::FIRST, Shelf::Active) };
            let rows = store.list(query).await?;
            ours.push(millis(begun.elapsed()));
            let (time, bare_rows) = hop(bare, list_in).await?;
            bares.push(time);
            ensure!(rows.len() == NEWEST && bare_rows.len() == NEWEST, "the list is short");
            hops.push(hop(bare, |_| Ok(())).await?.0);
        }
        Ok(())
    })?;
    bench.note("e.list_ms", median(&ours), "newest 50; 5 on a quiet machine");
    bench.note("e.bare_list_ms", median(&bares), "bare SQLite, same thread hop");
    bench.note("e.hop_ms", median(&hops), "the thread hop alone");
    bench.at_most("e.list_of_bare", median(&ours) / median(&bares), 3.0);
    Ok(())
}

fn search_in(connection: &Connection, words: &str) -> rusqlite::Result<usize> {
    let mut select = connection.prepare_cached(SEARCH_SQL)?;
    let rows = select.query_map(params![words, NEWEST as i64], |row| row.get::<_, i64>(0))?;
    rows.collect::<rusqlite::Result<Vec<_>>>().map(|rows| rows.len())
}

fn measure_search(
    bench: &mut Bench,
    runtime: &Runtime,
    store: &SqliteStore,
    bare: &SharedConnection,
) -> Result<()> {
    let author = Author::new(6);
    // Frequent, middling and rare words, alone and together.
    let ranks: [&[usize]; 9] =
        [&[40], &[400], &[4_000], &[3, 60], &[50, 200], &[150, 300], &[30, 2_000], &[500, 900], &[8, 15, 70]];
    let (mut ours_all, mut bare_all, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for ranks in ranks {
        let words = ranks.iter().map(|rank| author.word(*rank)).collect::<Vec<_>>().join(" ");
        let (mut ours, mut bares) = (Vec::new(), Vec::new());
        for _ in 0..9 {
            let (time, hits, bare_time, bare_hits) = runtime.block_on(async {
                let begun = Instant::now();
                let hits = store
                    .search(store::SearchQuery::new(session::UserId::FIRST, words.clone(), NEWEST))
                    .await?;
                let time = millis(begun.elapsed());
                let quoted = words.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
                let (bare_time, bare_hits) = hop(bare, move |bare| search_in(bare, &quoted)).await?;
                Ok::<_, anyhow::Error>((time, hits.len(), bare_time, bare_hits))
            })?;
            ensure!(hits == bare_hits, "{words}: {hits} found, bare SQLite finds {bare_hits}");
            ours.push(time);
            bares.push(bare_time);
            found.push(hits as f64);
        }
        ours_all.push(median(&ours));
        bare_all.push(median(&bares));
    }
    let ratios: Vec<f64> = ours_all.iter().zip(&bare_all).map(|(ours, bare)| ours / bare).collect();
    bench.note("e.search_found", median(&found), "hits of a query, at most 50");
    bench.note("e.search_ms", median(&ours_all), "median of nine queries; 50 on a quiet machine");
    bench.note("e.search_worst_ms", ours_all.iter().copied().fold(0.0, f64::max), "the slowest of them");
    bench.note("e.bare_search_ms", median(&bare_all), "bare FTS5, same thread hop");
    bench.at_most("e.search_of_bare", median(&ratios), 3.0);
    Ok(())
}

//! Repairs damaged sessions while no server uses the store. A damaged pack is set aside in a file and replaced by
//! placeholders; the entries before and after it stay. Entries after the damage that cannot be verified are set aside
//! too. Placeholders and marks in the log say how much is missing. Everything derived from the log is rebuilt.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;
use session::{Entry, Epoch, Event, Link, Seq, Session, SessionId, Time, hex};

use crate::directory::{DataDirectory, Database, Left, sync};
use crate::people::PEOPLE_FILE;

use super::append::put_row;
use super::pack;
use super::project::{Pack, make_packs, store_pack};
use super::read::Page;
use super::source::Source;
use super::tail::Tail;
use super::verify::{Told, TroubleKind, Verified, follow, log_row, look_through};
use super::{
    Fault, LOGS_FILE, OpenStoreError, append, checkpoint, connect_to_write, index, load, migrate, read, wal,
};

/// Where damaged parts are put, below the data directory.
const SET_ASIDE: &str = "set-aside";
/// Rows of the tail that may be missing in one place.
const GAP_MAX: i64 = 1_000_000;

/// What became of the store.
#[derive(Debug)]
pub struct Repaired {
    /// What was wrong before.
    pub before: Verified,
    pub sessions: Vec<RepairedSession>,
    /// Copies of the write-ahead logs that were damaged.
    pub write_ahead_logs: Vec<PathBuf>,
}

/// What became of one session.
#[derive(Debug)]
pub struct RepairedSession {
    pub session: SessionId,
    /// The last entry that was kept.
    pub kept: Seq,
    /// The number of entries that were set aside.
    pub set_aside: u64,
    /// The file with these entries. Entries shared with another session may be in that session's file.
    pub aside: Option<PathBuf>,
}

/// Repairs the store in a directory.
///
/// # Errors
/// When another process uses it, or when the file is damaged beyond its sessions.
pub fn repair(directory: &DataDirectory, workers: usize, now: Time) -> Result<Repaired, OpenStoreError> {
    if directory.is_shared() {
        return Err(OpenStoreError::InUse(directory.path().to_owned()));
    }
    Repair { directory, now }.run(workers).map_err(|fault| match OpenStoreError::from(fault) {
        OpenStoreError::Failed(reason) => OpenStoreError::Failed(format!("{reason}; restore a backup")),
        refused => refused,
    })
}

struct Repair<'a> {
    directory: &'a DataDirectory,
    now: Time,
}

impl Repair<'_> {
    fn run(&self, workers: usize) -> Result<Repaired, Fault> {
        let database = self.directory.path().join(LOGS_FILE);
        let write_ahead_logs = self.keep_damaged_logs()?;
        self.directory.note_emptying(Database::Logs)?;
        let mut connection = connect_to_write(&database)?;
        migrate::migrate(&mut connection)?;
        checkpoint::empty(&connection)?;
        load::shape(&connection)?;
        fill_gaps(&connection)?;
        let before = look_through(self.directory.path(), workers, &|_, _| {})?;
        let mut sessions = Vec::new();
        for trouble in &before.troubles {
            let Some(session) = trouble.session else { continue };
            if trouble.kind == TroubleKind::Attachment
                || sessions.iter().any(|done: &RepairedSession| done.session == session)
            {
                continue;
            }
            let transaction = connection.transaction()?;
            sessions.extend(self.mend(&transaction, session)?);
            transaction.commit()?;
        }
        remove_leftovers(&connection)?;
        if !sessions.is_empty() {
            // Search must not find missing entries. The index is rebuilt when the store is opened.
            connection.execute("DELETE FROM search", [])?;
        }
        checkpoint::empty(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        self.directory.note(Database::Logs, Left::Closed)?;
        Ok(Repaired { before, sessions, write_ahead_logs })
    }

    /// Keeps a copy of each write-ahead log that is damaged in the middle, before SQLite reads the part before the damage.
    fn keep_damaged_logs(&self) -> Result<Vec<PathBuf>, Fault> {
        let mut kept = Vec::new();
        for database in [LOGS_FILE, PEOPLE_FILE] {
            let path = wal::path(&self.directory.path().join(database));
            if wal::check(&path).is_err() {
                let aside = self.aside(&format!("{database}-wal-{}", self.now.0))?;
                fs::copy(&path, &aside)?;
                File::open(&aside)?.sync_all()?;
                kept.push(aside);
            }
        }
        Ok(kept)
    }

    fn aside(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.directory.path().join(SET_ASIDE);
        fs::create_dir_all(&folder)?;
        sync(self.directory.path())?;
        Ok(folder.join(name))
    }

    fn mend(&self, connection: &Connection, session: SessionId) -> Result<Option<RepairedSession>, Fault> {
        let no: Option<i64> = connection
            .query_row("SELECT no FROM logs WHERE key = ?", [session.0.as_bytes().as_slice()], |row| {
                row.get(0)
            })
            .optional()?;
        let Some(no) = no else { return Ok(None) };
        let folder = self.directory.path().join(SET_ASIDE);
        let path = folder.join(format!("{session}-{}.jsonl", self.now.0));
        self.replace_damaged_packs(connection, no, &path)?;
        let loaded = load::tail(connection)?;
        let end = read::end(connection, loaded.tail.get(no), no)?;
        // Counted here, because a session that shares its beginning may have been repaired before.
        let (mut state, mut replaced) = (Session::default(), 0);
        let (kept, _) = follow(connection, &loaded.tail, no, end, |entry| {
            session::fold(&mut state, entry);
            replaced += u64::from(self.is_placeholder(entry));
        })?;
        let proven = read::proven(connection, no)?.max(end.seq);
        let cut_off = proven.0.saturating_sub(kept.seq.0);
        let mut end = kept;
        if cut_off > 0 {
            write_aside(connection, no, kept, &path)?;
            cut(connection, &loaded.tail, no, kept)?;
            end = self.append(connection, no, end, Event::EntriesSetAside { count: cut_off })?;
        }
        if cut_off + replaced > 0 && !state.queue.is_empty() {
            // The runs of these messages may be among the missing entries. They wait until a person sends them.
            self.append(connection, no, end, Event::QueuePaused {})?;
        }
        rebuild_derived(connection, no, session)?;
        let set_aside = replaced + cut_off;
        let aside = path.exists().then_some(path);
        if aside.is_some() {
            sync(&folder)?;
            sync(self.directory.path())?;
        }
        Ok(Some(RepairedSession { session, kept: kept.seq, set_aside, aside }))
    }

    /// Returns whether this repair put the entry in the place of a damaged one.
    fn is_placeholder(&self, entry: &Entry) -> bool {
        entry.time == self.now && matches!(entry.event, Event::EntriesSetAside { .. })
    }

    /// Replaces the damaged packs of a log, and of the logs whose beginning it shares, by placeholders, and writes the
    /// damaged packs to `path`.
    ///
    /// Stops at a pack whose links do not match its neighbors. Skips a pack whose damage includes the first entry,
    /// because a session cannot exist without it.
    fn replace_damaged_packs(&self, connection: &Connection, no: i64, path: &Path) -> Result<(), Fault> {
        let log = read::log(connection, no)?;
        if let Some(parent) = log.parent {
            self.replace_damaged_packs(connection, parent, path)?;
        }
        let links: Vec<(Link, Link)> = connection
            .prepare(
                "SELECT first_seq, prev_epoch, prev_hash, last_seq, last_epoch, last_hash FROM packs
                 WHERE no = ? ORDER BY first_seq",
            )?
            .query_map([no], |row| {
                let first: u64 = row.get(0)?;
                let prev = append::link(first.saturating_sub(1), row.get(1)?, row.get(2)?);
                Ok((prev, append::link(row.get(3)?, row.get(4)?, row.get(5)?)))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let mut end = log.base;
        for (at, (prev, last)) in links.iter().enumerate() {
            if *prev != end || links.get(at + 1).is_some_and(|(next, _)| next != last) {
                break;
            }
            end = *last;
            let body: Vec<u8> = connection.query_row(
                "SELECT body FROM packs WHERE no = ? AND last_seq = ?",
                params![no, last.seq.0],
                |row| row.get(0),
            )?;
            let (entries, damage) = pack::decode(&body, prev, last, Seq(0));
            let kept = entries.last().map_or(*prev, Entry::link);
            if damage.is_none() || kept == log.base {
                continue;
            }
            write_pack_aside(path, &body, prev.seq.next(), last.seq)?;
            connection.execute("DELETE FROM packs WHERE no = ? AND last_seq = ?", params![no, last.seq.0])?;
            for pack in make_packs(*prev, &entries)? {
                store_pack(connection, no, &pack)?;
            }
            let body = pack::encode_placeholders(&kept, last, self.now)?;
            store_pack(connection, no, &Pack { prev: kept, last: *last, body, size_bytes: 0 })?;
        }
        Ok(())
    }

    /// Appends an entry to the tail of a log, under an epoch of its own. Returns the new end of the log.
    fn append(&self, connection: &Connection, no: i64, end: Link, event: Event) -> Result<Link, Fault> {
        connection
            .execute("UPDATE logs SET epoch = max(epoch, ?2) + 1 WHERE no = ?1", params![no, end.epoch.0])?;
        let epoch = connection.query_row("SELECT epoch FROM logs WHERE no = ?", [no], |row| row.get(0))?;
        if end.seq == read::log(connection, no)?.base.seq {
            // The log has no entry of its own left to append to.
            return Ok(end);
        }
        let entry = Entry::seal(&end, self.now, Epoch(epoch), event);
        let next: i64 =
            connection.query_row("SELECT coalesce(max(id), 0) + 1 FROM tail", [], |row| row.get(0))?;
        let body: &str = &entry.body;
        connection.execute(
            "INSERT INTO tail (id, no, seq, time, epoch, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![next, no, entry.seq.0, entry.time.0, entry.epoch.0, entry.hash.0, body],
        )?;
        Ok(entry.link())
    }
}

/// Rows of the tail that are missing are replaced by rows of no session: what they held is missed by its session.
fn fill_gaps(connection: &Connection) -> Result<(), Fault> {
    let ids: Vec<i64> = connection
        .prepare("SELECT id FROM tail ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for pair in ids.windows(2) {
        if pair[1] - pair[0] > GAP_MAX {
            return Err(Fault::Damaged(format!("rows {} to {} of the tail are missing", pair[0], pair[1])));
        }
        for id in pair[0] + 1..pair[1] {
            connection.execute(
                "INSERT INTO tail (id, no, seq, time, epoch, hash, body) VALUES (?, 0, 0, 0, 0, zeroblob(16), '')",
                [id],
            )?;
        }
    }
    Ok(())
}

fn open_aside(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::options().create(true).append(true).open(path)
}

/// Writes a pack, as it is stored.
fn write_pack_aside(path: &Path, body: &[u8], first: Seq, last: Seq) -> io::Result<()> {
    let mut out = open_aside(path)?;
    writeln!(out, "{}", json!({ "pack": hex(body), "first_seq": first.0, "last_seq": last.0 }))?;
    out.sync_all()
}

/// Writes everything that is stored of a log behind `kept`, as it is stored.
fn write_aside(connection: &Connection, no: i64, kept: Link, path: &Path) -> Result<(), Fault> {
    let mut out = open_aside(path)?;
    let mut packs =
        connection.prepare("SELECT first_seq, last_seq, body FROM packs WHERE no = ? AND last_seq > ?")?;
    let rows = packs.query_map(params![no, kept.seq.0], |row| {
        Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, row.get::<_, Vec<u8>>(2)?))
    })?;
    for row in rows {
        let (first, last, body) = row?;
        writeln!(out, "{}", json!({ "pack": hex(&body), "first_seq": first, "last_seq": last }))?;
    }
    let mut tail = connection
        .prepare("SELECT seq, time, epoch, hash, body FROM tail WHERE no = ? AND seq > ? ORDER BY id")?;
    let rows = tail.query_map(params![no, kept.seq.0], |row| {
        let hash: Vec<u8> = row.get(3)?;
        // Also what is no text any more is kept as it is.
        let body = match row.get_ref(4)? {
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| hex(bytes))
            }
            _ => String::new(),
        };
        let (seq, time, epoch): (u64, i64, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(json!({ "seq": seq, "time": time, "epoch": epoch, "hash": hex(&hash), "body": body }))
    })?;
    for row in rows {
        writeln!(out, "{}", row?)?;
    }
    Ok(out.sync_all()?)
}

/// Ends a log at `kept`.
fn cut(connection: &Connection, tail: &Tail, no: i64, kept: Link) -> Result<(), Fault> {
    let base = read::log(connection, no)?.base;
    // What stands before the damage in the pack that has it.
    let first: Option<u64> = connection.query_row(
        "SELECT min(first_seq) FROM packs WHERE no = ? AND last_seq > ?",
        params![no, kept.seq.0],
        |row| row.get(0),
    )?;
    let mut rest = Page::of(0);
    if let Some(first) = first.filter(|first| *first <= kept.seq.0) {
        let after = Seq(first.saturating_sub(1));
        let count = usize::try_from(kept.seq.0 - after.0).unwrap_or(usize::MAX);
        rest = Page::of(count);
        // Damage behind these is why we are here.
        drop(read::collect(connection, &|no| tail.get(no).cloned(), no, after, &mut rest));
    }
    connection.execute("DELETE FROM packs WHERE no = ? AND last_seq > ?", params![no, kept.seq.0])?;
    if let Some(entry) = rest.entries.first() {
        let before = read::end(connection, None, no)?;
        let prev = if before.seq.next() == entry.seq { before } else { base };
        for pack in make_packs(prev, &rest.entries)? {
            store_pack(connection, no, &pack)?;
        }
    }
    connection.execute("UPDATE tail SET no = 0 WHERE no = ? AND seq > ?", params![no, kept.seq.0])?;
    connection.execute("DELETE FROM keys WHERE no = ? AND seq > ?", params![no, kept.seq.0])?;
    connection.execute("DELETE FROM open_runs WHERE no = ? AND run > ?", params![no, kept.seq.0])?;
    if kept.seq < base.seq {
        // A beginning that it shared is damaged, and nothing of its own can stand on that.
        connection.execute(
            "UPDATE logs SET base_seq = ?, base_epoch = ?, base_hash = ? WHERE no = ?",
            params![kept.seq.0, kept.epoch.0, kept.hash.0, no],
        )?;
    }
    Ok(())
}

/// Rebuilds everything that is derived from a log.
fn rebuild_derived(connection: &Connection, no: i64, session: SessionId) -> Result<(), Fault> {
    for table in ["snapshots", "turns", "blob_uses", "list", "list_tags", "keys"] {
        connection.execute(&format!("DELETE FROM {table} WHERE no = ?"), [no])?;
    }
    let tail = load::tail(connection)?.tail;
    let find = |no: i64| tail.get(no).cloned();
    let base = read::log(connection, no)?.base.seq;
    let end = read::end(connection, tail.get(no), no)?;
    let source = Source { connection, tail: &find, no };
    let mut told = Told::default();
    let mut failed = None;
    follow(connection, &tail, no, end, |entry| {
        told.take(entry, session, entry.seq > base);
        if failed.is_none() && entry.seq > base {
            failed = index_entry(connection, no, &source, entry).err();
        }
    })?;
    if let Some(fault) = failed {
        return Err(fault);
    }
    let listed = end.seq > base && log_row(connection, no)?.is_some_and(|log| !log.trunk);
    if let Some(row) = told.row.filter(|_| listed) {
        put_row(connection, no, &row, append::shelf_number(row.shelf()))?;
    }
    let mut runs = connection.prepare("SELECT run FROM open_runs WHERE no = ?")?;
    let kept: Vec<u64> = runs.query_map([no], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for run in kept.iter().filter(|run| !told.open_runs.contains(&session::RunId(**run))) {
        connection.execute("DELETE FROM open_runs WHERE no = ? AND run = ?", params![no, run])?;
    }
    for run in told.open_runs.iter().filter(|run| !kept.contains(&run.0)) {
        connection.execute("INSERT INTO open_runs (no, run) VALUES (?, ?)", params![no, run.0])?;
    }
    connection.execute("UPDATE logs SET epoch = max(epoch, ?2) WHERE no = ?1", params![no, end.epoch.0])?;
    index::watermark(connection, no, end.seq)
}

fn index_entry(connection: &Connection, no: i64, source: &Source<'_>, entry: &Entry) -> Result<(), Fault> {
    if let Some((key, fingerprint)) = entry.event.key() {
        connection.execute(
            "INSERT OR IGNORE INTO keys (no, key, seq, fingerprint) VALUES (?, ?, ?, ?)",
            params![no, key.0, entry.seq.0, fingerprint.0],
        )?;
    }
    if let Event::SessionBranched { at, .. } = entry.event {
        index::inherit(connection, no, &source.inherited(at)?.turns)?;
    }
    if index::concerns(&entry.event) {
        index::turns(connection, no, entry)?;
    }
    Ok(())
}

fn remove_leftovers(connection: &Connection) -> Result<(), Fault> {
    for table in
        ["packs", "keys", "open_runs", "list", "list_tags", "watermarks", "snapshots", "turns", "blob_uses"]
    {
        connection.execute(
            &format!("DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM logs WHERE logs.no = {table}.no)"),
            [],
        )?;
    }
    Ok(())
}

//! What belongs in the append's transaction: entries, keys, ids, open runs and list rows; nothing else.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};
use session::{ChatKey, Entry, Epoch, Event, Hash, Link, NodeId, RunEnd, RunId, Seq, SessionId, Time};
use uuid::Uuid;

use crate::blob::BlobDirectory;
use crate::catalog::{ListRow, Shelf, Touch, may_touch};
use crate::claim::HEARTBEAT_MICROS_MAX;
use crate::error::{AppendError, ClaimError, StoreError};
use crate::{Append, Binding, Bound, Claim, Claiming};

use super::catalog;
use super::tail::Tail;
use super::{Fault, put, read};

/// What is known of a log that is being written.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) no: i64,
    pub(super) epoch: Epoch,
    pub(super) link: Link,
    pub(super) indexed_to: Seq,
}

/// What one append changes in memory once it is durable.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) no: i64,
    pub(super) before: Link,
    /// Row, link and size of each entry.
    pub(super) rows: Vec<(i64, Link, usize)>,
}

/// Looks a log up by the id under which it was made.
pub(super) fn load_head(connection: &Connection, tail: &Tail, key: SessionId) -> Result<Option<Head>, Fault> {
    let log = connection
        .prepare_cached("SELECT no, epoch FROM logs WHERE key = ? AND trunk = 0")?
        .query_row([key.0.as_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((no, epoch)) = log else { return Ok(None) };
    let link = read::end(connection, tail.get(no), no)?;
    let indexed_to = connection
        .prepare_cached("SELECT indexed_to FROM watermarks WHERE no = ?")?
        .query_row([no], |row| row.get(0))
        .optional()?;
    Ok(Some(Head { no, epoch: Epoch(epoch), link, indexed_to: Seq(indexed_to.unwrap_or(0)) }))
}

/// Checks an append against the log as it is in this transaction, then writes it.
pub(super) fn append(
    connection: &Connection,
    blobs: &BlobDirectory,
    head: &mut Head,
    next_row: &mut i64,
    append: &Append,
) -> Result<Result<Written, AppendError>, Fault> {
    if head.epoch != append.claim.epoch && !fault::planted("no_fence") {
        return Ok(Err(AppendError::Fenced { current: head.epoch }));
    }
    if head.link != append.last {
        return Ok(Err(AppendError::Conflict { head: head.link.seq }));
    }
    if let Err(refusal) = check_names(connection, head.no, &append.entries)? {
        return Ok(Err(refusal));
    }
    if let Err(refusal) = check_blobs(blobs, &append.entries) {
        return Ok(Err(refusal));
    }
    let before = head.link;
    let mut rows = Vec::with_capacity(append.entries.len());
    let mut insert = connection.prepare_cached(
        "INSERT INTO tail (id, no, seq, time, epoch, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for entry in &append.entries {
        assert_eq!(entry.seq, head.link.seq.next(), "a writer numbers its entries without gap");
        let body: &str = &entry.body;
        insert.execute(params![
            *next_row,
            head.no,
            entry.seq.0,
            entry.time.0,
            entry.epoch.0,
            entry.hash.0,
            body
        ])?;
        rows.push((*next_row, entry.link(), body.len()));
        *next_row += 1;
        head.link = entry.link();
        note(connection, head.no, append.claim.session, entry)?;
    }
    Ok(Ok(Written { no: head.no, before, rows }))
}

/// Keys and ids must be free before anything of the append is written.
fn check_names(
    connection: &Connection,
    no: i64,
    entries: &[std::sync::Arc<Entry>],
) -> Result<Result<(), AppendError>, Fault> {
    let mut keys = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for entry in entries {
        if let Some((key, _)) = entry.event.key().filter(|_| !fault::planted("no_key")) {
            let used = connection
                .prepare_cached("SELECT seq FROM keys WHERE no = ? AND key = ?")?
                .query_row(params![no, key.0], |row| row.get(0).map(Seq))
                .optional()?;
            if let Some(seq) = used.or(keys.insert(key, entry.seq)) {
                return Ok(Err(AppendError::KeyUsed { seq }));
            }
        }
        if let Event::IdAdded { id } = &entry.event
            && (read::id(connection, *id)?.is_some() || !ids.insert(*id))
        {
            return Ok(Err(AppendError::IdTaken(*id)));
        }
    }
    Ok(Ok(()))
}

/// The files that messages name must be there. Only this thread removes files, so they still are once it commits.
fn check_blobs(blobs: &BlobDirectory, entries: &[std::sync::Arc<Entry>]) -> Result<(), AppendError> {
    let failed = |error: std::io::Error| StoreError::Failed {
        doing: "look up an attachment",
        reason: error.to_string(),
    };
    let messages = entries.iter().filter_map(|entry| entry.event.message());
    for attachment in messages.flat_map(|message| &message.attachments) {
        if !fault::planted("message_names_lost_file") && !blobs.has(&attachment.blob).map_err(failed)? {
            return Err(AppendError::BlobMissing(attachment.blob.clone()));
        }
    }
    Ok(())
}

/// Writes what must be found without reading the log: keys, ids, open runs, list rows.
fn note(connection: &Connection, no: i64, session: SessionId, entry: &Entry) -> Result<(), Fault> {
    if let Some((key, fingerprint)) = entry.event.key() {
        connection
            .prepare_cached("INSERT OR IGNORE INTO keys (no, key, seq, fingerprint) VALUES (?, ?, ?, ?)")?
            .execute(params![no, key.0, entry.seq.0, fingerprint.0])?;
    }
    match &entry.event {
        Event::IdAdded { id } => {
            connection
                .prepare_cached("INSERT INTO session_ids (id, no) VALUES (?, ?)")?
                .execute(params![id.0.as_bytes().as_slice(), no])?;
        }
        Event::IdRemoved { id } => {
            connection
                .prepare_cached("UPDATE session_ids SET no = NULL WHERE id = ?")?
                .execute([id.0.as_bytes().as_slice()])?;
        }
        Event::RunStarted { spool, .. } => {
            connection
                .prepare_cached("INSERT INTO open_runs (no, run, spool) VALUES (?, ?, ?)")?
                .execute(params![no, entry.seq.0, spool.map(|slot| slot.0)])?;
        }
        Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => {}
        Event::RunEnded { end: RunEnd::Stopped { .. }, .. } if fault::planted("stop_leaves_open_run") => {}
        Event::RunEnded { run, .. } | Event::RecoverySettled { run, .. } => {
            connection
                .prepare_cached("DELETE FROM open_runs WHERE no = ? AND run = ?")?
                .execute(params![no, run.0])?;
        }
        _ => {}
    }
    if let Some(message) = entry.event.message() {
        put::name(connection, message)?;
    }
    if may_touch(&entry.event) {
        touch(connection, no, session, entry)?;
    }
    Ok(())
}

fn touch(connection: &Connection, no: i64, session: SessionId, entry: &Entry) -> Result<(), Fault> {
    let mut row = catalog::list_row(connection, no)?.unwrap_or_else(|| ListRow::new(session));
    let tagged = !row.tags.is_empty();
    match row.apply(entry) {
        Touch::Untouched => Ok(()),
        Touch::Changed => {
            if tagged {
                connection.prepare_cached("DELETE FROM list_tags WHERE no = ?")?.execute([no])?;
            }
            put_row(connection, no, &row, shelf_number(row.shelf()))
        }
    }
}

/// Writes a row, and its tags, of which none are there.
pub(super) fn put_row(connection: &Connection, no: i64, row: &ListRow, shelf: i64) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO list (no, title, named_by_person, created_at, active_at, run, messages, pinned,
             archived, trashed, remembers, owed, interrupted, resume_pending, shelf, user, trashed_at, project, tags,
             needs, undelivered)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            no,
            row.title,
            row.named_by_person,
            row.created_at.0,
            row.active_at.0,
            row.run.map(|RunId(run)| run),
            row.messages,
            row.pinned,
            row.archived,
            row.trashed,
            row.remembers,
            row.owed,
            row.interrupted,
            row.resume_pending,
            shelf,
            row.user.0.as_bytes(),
            row.trashed_at.map(|time| time.0),
            row.project.map(|project| *project.0.as_bytes()),
            // A list of strings is never refused.
            serde_json::to_string(&row.tags).unwrap_or_default(),
            catalog::need_number(row.needs),
            row.undelivered,
        ])?;
    for tag in &row.tags {
        connection
            .prepare_cached("INSERT INTO list_tags (user, tag, shelf, active_at, no) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![row.user.0.as_bytes(), tag, shelf, row.active_at.0, no])?;
    }
    Ok(())
}

/// Where the row of a branch waits for its first entry: on no shelf that is listed.
const NO_SHELF: i64 = -1;

pub(super) fn shelf_number(shelf: Shelf) -> i64 {
    match shelf {
        Shelf::Active => 0,
        Shelf::Archived => 1,
        Shelf::Trash => 2,
    }
}

/// Gives a node the right to write a session. `shared` is the list row of what a branch shares with its origin.
pub(super) fn claim(
    connection: &Connection,
    tail: &Tail,
    session: SessionId,
    node: NodeId,
    claiming: Claiming,
    now: Time,
    shared: Option<&ListRow>,
) -> Result<Result<Claim, ClaimError>, Fault> {
    let known = read::id(connection, session)?;
    let no = match (known, claiming) {
        (Some(None), _) => return Ok(Err(ClaimError::Deleted(session))),
        (None, Claiming::Existing) => return Ok(Err(ClaimError::Unknown(session))),
        (Some(Some(no)), Claiming::Existing) => no,
        (Some(Some(no)), Claiming::New | Claiming::Branch { .. }) => {
            // A session whose first entry never came is as good as new.
            let base: u64 =
                connection.query_row("SELECT base_seq FROM logs WHERE no = ?", [no], |row| row.get(0))?;
            if read::end(connection, tail.get(no), no)?.seq != Seq(base) {
                return Ok(Err(ClaimError::Exists(session)));
            }
            no
        }
        (None, Claiming::New) => create(connection, session, None, Link::START)?,
        (None, Claiming::Branch { from, at }) => {
            let Some(Some(parent)) = read::id_or_key(connection, from)? else {
                return Ok(Err(ClaimError::Unknown(from)));
            };
            let parent = read::holder(connection, parent, at)?;
            let base = match read::link_at(connection, tail, parent, at) {
                Ok(Some(base)) => base,
                Ok(None) => return Ok(Err(ClaimError::Unknown(from))),
                // Damage stops what needs the damaged entry, not the store.
                Err(Fault::Damaged(reason)) => {
                    return Ok(Err(StoreError::Failed { doing: "create a branch", reason }.into()));
                }
                Err(fault) => return Err(fault),
            };
            let no = create(connection, session, Some(parent), base)?;
            if let Some(row) = shared {
                put_row(connection, no, row, NO_SHELF)?;
            }
            no
        }
    };
    let (key, holder, epoch): ([u8; 16], Option<[u8; 16]>, u64) = connection
        .prepare_cached("SELECT key, node, epoch FROM logs WHERE no = ?")?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if let Some(holder) =
        holder.map(|holder| NodeId(Uuid::from_bytes(holder))).filter(|holder| *holder != node)
        && is_alive(connection, holder, now)?
    {
        return Ok(Err(ClaimError::Held { node: holder }));
    }
    connection
        .prepare_cached("UPDATE logs SET node = ?, epoch = epoch + 1 WHERE no = ?")?
        .execute(params![node.0.as_bytes().as_slice(), no])?;
    Ok(Ok(Claim { session: SessionId(Uuid::from_bytes(key)), node, epoch: Epoch(epoch + 1) }))
}

fn is_alive(connection: &Connection, node: NodeId, now: Time) -> Result<bool, Fault> {
    let seen: Option<i64> = connection
        .prepare_cached("SELECT seen_at FROM nodes WHERE node = ?")?
        .query_row([node.0.as_bytes().as_slice()], |row| row.get(0))
        .optional()?;
    Ok(seen.is_some_and(|seen| now.micros_since(Time(seen)) <= HEARTBEAT_MICROS_MAX))
}

fn create(
    connection: &Connection,
    session: SessionId,
    parent: Option<i64>,
    base: Link,
) -> Result<i64, Fault> {
    connection
        .prepare_cached(
            "INSERT INTO logs (key, epoch, parent, base_seq, base_epoch, base_hash) VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            session.0.as_bytes().as_slice(),
            base.epoch.0,
            parent,
            base.seq.0,
            base.epoch.0,
            base.hash.0
        ])?;
    let no = connection.last_insert_rowid();
    connection
        .prepare_cached("INSERT INTO session_ids (id, no) VALUES (?, ?)")?
        .execute(params![session.0.as_bytes().as_slice(), no])?;
    connection
        .prepare_cached("INSERT INTO watermarks (no, indexed_to) VALUES (?, ?)")?
        .execute(params![no, base.seq.0])?;
    Ok(no)
}

/// Changes the row of a chat, if it still is what the caller knows.
pub(super) fn bind(
    connection: &Connection,
    chat: &ChatKey,
    known: Option<Binding>,
    binding: Binding,
) -> Result<Bound, Fault> {
    let current = catalog::binding(connection, chat)?;
    if current != known && !fault::planted("bind_without_looking") {
        return Ok(Bound::Changed(current));
    }
    connection
        .prepare_cached("INSERT OR REPLACE INTO chats (chat, session, suspended) VALUES (?, ?, ?)")?
        .execute(params![chat.to_text(), binding.session.0.as_bytes().as_slice(), binding.suspended])?;
    Ok(Bound::Yes)
}

pub(super) fn heartbeat(connection: &Connection, node: NodeId, now: Time) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO nodes (node, seen_at) VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at",
        )?
        .execute(params![node.0.as_bytes().as_slice(), now.0])?;
    Ok(())
}

/// A stored link, from its columns.
pub(super) fn link(seq: u64, epoch: u64, hash: [u8; 16]) -> Link {
    Link { seq: Seq(seq), epoch: Epoch(epoch), hash: Hash(hash) }
}

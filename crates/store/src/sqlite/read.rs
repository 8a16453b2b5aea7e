//! How entries are read back, from packs and tail, and what the catalog answers.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, params};
use session::{
    ChatKey, Damage, Entry, Epoch, Fingerprint, Hash, Link, MessageKey, Need, ProjectId, RunId, Seq,
    SessionId, SlotNo, Time, TurnId, UserId,
};
use uuid::Uuid;

use crate::catalog::{Counts, Doing, ListQuery, ListRow, TagCount, Trashed, TurnRow};
use crate::error::{OpenError, ReadError};
use crate::{Binding, ChatRow, KeyUse, OpenRun, Opened, Snapshot};

use super::append::{link, shelf_number};
use super::source::{OnDamage, Source, TailOf};
use super::tail::{Tail, TailSession};
use super::{Fault, Shared, pack};

/// Looks at the tail before a log that is shorter than something proves counts as damaged: 100 ms in all, many times
/// what the writing thread needs from a commit to telling of it.
const TAIL_LOOKS_MAX: usize = 50;
const TAIL_LOOK_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Where an id leads: `None` never used, `Some(None)` deleted.
pub(super) fn id(connection: &Connection, session: SessionId) -> Result<Option<Option<i64>>, Fault> {
    Ok(connection
        .prepare_cached("SELECT no FROM session_ids WHERE id = ?")?
        .query_row([session.0.as_bytes().as_slice()], |row| row.get(0))
        .optional()?)
}

/// A log and the link before its own first entry.
pub(super) struct Log {
    no: i64,
    parent: Option<i64>,
    pub(super) base: Link,
}

pub(super) fn log(connection: &Connection, no: i64) -> Result<Log, Fault> {
    Ok(connection
        .prepare_cached("SELECT parent, base_seq, base_epoch, base_hash FROM logs WHERE no = ?")?
        .query_row([no], |row| {
            Ok(Log { no, parent: row.get(0)?, base: link(row.get(1)?, row.get(2)?, row.get(3)?) })
        })?)
}

/// The log that holds entry `at` itself: `no`, or one whose beginning it shares. A branch hangs on that one, so that it
/// keeps nothing that it does not share.
pub(super) fn holder(connection: &Connection, no: i64, at: Seq) -> Result<i64, Fault> {
    let log = log(connection, no)?;
    match log.parent {
        Some(parent) if at <= log.base.seq => holder(connection, parent, at),
        _ => Ok(no),
    }
}

/// The end of a log.
pub(super) fn end(connection: &Connection, tail: Option<&TailSession>, no: i64) -> Result<Link, Fault> {
    if let Some(tail) = tail {
        return Ok(tail.last);
    }
    let packed = connection
        .prepare_cached(
            "SELECT last_seq, last_epoch, last_hash FROM packs WHERE no = ? ORDER BY first_seq DESC LIMIT 1",
        )?
        .query_row([no], |row| Ok(link(row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match packed {
        Some(packed) => Ok(packed),
        None => Ok(log(connection, no)?.base),
    }
}

/// The last entry that something else proves to have been there: what was indexed, snapshotted or started. Asked
/// before the end of the log is looked up, it never passes it, unless the log has lost its end.
pub(super) fn proven(connection: &Connection, no: i64) -> Result<Seq, Fault> {
    let proven: Option<u64> = connection
        .prepare_cached(
            "SELECT max(seq) FROM (SELECT indexed_to AS seq FROM watermarks WHERE no = ?1
             UNION ALL SELECT seq FROM snapshots WHERE no = ?1
             UNION ALL SELECT max(run) FROM open_runs WHERE no = ?1)",
        )?
        .query_row([no], |row| row.get(0))?;
    Ok(Seq(proven.unwrap_or(0)))
}

/// A row that proves an entry may be committed a moment before the tail in memory knows the entry. Waits that moment
/// out; a log that has lost its end is only looked at for longer.
fn wait_for_tail(shared: &Shared, connection: &Connection, no: i64, proven: Seq) -> Result<(), Fault> {
    for _ in 0..TAIL_LOOKS_MAX {
        let tail = shared.tail().get(no).cloned();
        if end(connection, tail.as_ref(), no)?.seq >= proven {
            return Ok(());
        }
        std::thread::sleep(TAIL_LOOK_PAUSE);
    }
    Ok(())
}

/// The link of one entry, for a branch that begins there.
pub(super) fn link_at(connection: &Connection, tail: &Tail, no: i64, at: Seq) -> Result<Option<Link>, Fault> {
    if at == Seq(0) {
        return Ok(Some(Link::START));
    }
    let before = Seq(at.0 - 1);
    let mut entries = Vec::new();
    match collect(connection, &|no| tail.get(no).cloned(), no, before, 1, &mut entries) {
        Ok(_) => Ok(entries.first().map(Entry::link)),
        Err(Stop::Fault(fault)) => Err(fault),
        Err(Stop::Damage(damage)) => Err(Fault::Damaged(damage.to_string())),
    }
}

/// Why collecting ended early.
pub(super) enum Stop {
    Fault(Fault),
    Damage(Damage),
}

impl<E: Into<Fault>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// Entries of a session after `after`, at most `limit`.
pub(super) fn entries(
    shared: &Shared,
    connection: &mut Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, ReadError> {
    let failed = |fault: Fault| ReadError::Store(fault.doing("read entries"));
    let Some(Some(no)) = id_or_key(connection, session).map_err(failed)? else {
        return Err(ReadError::Unknown(session));
    };
    let result = entries_of(shared, connection, no, after, limit);
    // A log that was erased in the meantime is not damaged, it is gone.
    if result.is_err() && id_or_key(connection, session).map_err(failed)? != Some(Some(no)) {
        return Err(ReadError::Unknown(session));
    }
    result
}

fn entries_of(
    shared: &Shared,
    connection: &mut Connection,
    no: i64,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, ReadError> {
    let failed = |fault: Fault| ReadError::Store(fault.doing("read entries"));
    let proven = proven(connection, no).map_err(failed)?;
    wait_for_tail(shared, connection, no, proven).map_err(failed)?;
    // The tail is copied before the read transaction begins: what is packed and trimmed in between stands in packs
    // that the transaction sees.
    let tail = tails(shared, connection, no).map_err(failed)?;
    let transaction = connection.transaction().map_err(|error| failed(error.into()))?;
    let find = |no: i64| tail.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
    let head = end(&transaction, find(no).as_ref(), no).map_err(failed)?;
    if proven > head.seq && after >= head.seq {
        let damage =
            Damage::Unreadable { seq: head.seq.next(), error: "the end of the log is missing".to_owned() };
        return Err(ReadError::Damaged { intact: head.seq, damage });
    }
    if after > head.seq {
        return Err(ReadError::BeyondEnd { after, head: head.seq });
    }
    let mut entries = Vec::new();
    match collect(&transaction, &find, no, after, limit, &mut entries) {
        Ok(_) => Ok(entries),
        Err(Stop::Fault(fault)) => Err(failed(fault)),
        Err(Stop::Damage(_)) if !entries.is_empty() => Ok(entries),
        Err(Stop::Damage(damage)) => Err(ReadError::Damaged { intact: after, damage }),
    }
}

/// Copies of the tails of a log and of those whose beginning it shares.
pub(super) fn tails(
    shared: &Shared,
    connection: &Connection,
    no: i64,
) -> Result<Vec<(i64, TailSession)>, Fault> {
    let mut tails = Vec::new();
    let mut next = Some(no);
    while let Some(no) = next {
        if let Some(tail) = shared.tail().get(no) {
            tails.push((no, tail.clone()));
        }
        next = log(connection, no)?.parent;
    }
    Ok(tails)
}

/// Collects entries in order: shared beginning, packs, tail. Answers the link reached.
pub(super) fn collect(
    connection: &Connection,
    tail: TailOf<'_>,
    no: i64,
    after: Seq,
    limit: usize,
    entries: &mut Vec<Entry>,
) -> Result<Link, Stop> {
    let log = log(connection, no)?;
    if let Some(parent) = log.parent.filter(|_| after < log.base.seq) {
        let wanted = usize::try_from(log.base.seq.0 - after.0).unwrap_or(usize::MAX).min(limit);
        let reached = collect(connection, tail, parent, after, wanted, entries)?;
        if entries.len() >= limit || reached.seq < log.base.seq {
            return Ok(reached);
        }
    }
    let mut link = log.base;
    let from = after.max(log.base.seq);
    let mut packs = connection.prepare_cached(
        "SELECT last_seq, last_epoch, last_hash, first_seq, prev_epoch, prev_hash, body FROM packs
         WHERE no = ?1 AND first_seq >= coalesce((SELECT max(first_seq) FROM packs WHERE no = ?1 AND first_seq <= ?2), 0)
         ORDER BY first_seq",
    )?;
    let mut rows = packs.query(params![log.no, from.0 + 1])?;
    let mut first = true;
    while let Some(row) = rows.next()? {
        let last = super::append::link(row.get(0)?, row.get(1)?, row.get(2)?);
        let first_seq: u64 = row.get(3)?;
        let prev = super::append::link(first_seq.saturating_sub(1), row.get(4)?, row.get(5)?);
        // The first one may begin anywhere before what is wanted, but not behind it, and a log begins at its base.
        let from_base = || prev.seq <= from && (prev.seq != log.base.seq || prev == log.base);
        if !(if first { from_base() } else { prev == link }) {
            return Err(Stop::Damage(Damage::ChainBroken { seq: from.next() }));
        }
        first = false;
        link = last;
        if last.seq <= from {
            continue;
        }
        let (mut unpacked, damage) =
            pack::decode(row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?, &prev, &last, from);
        unpacked.truncate(limit - entries.len());
        entries.append(&mut unpacked);
        if let Some(damage) = damage {
            return Err(Stop::Damage(damage));
        }
        if entries.len() >= limit {
            return Ok(link);
        }
    }
    drop(rows);
    collect_tail(connection, tail(log.no).as_ref(), link, from, limit, entries)
}

/// Collects the entries after `from` that stand in the tail, behind packs that end at `packed`.
fn collect_tail(
    connection: &Connection,
    tail: Option<&TailSession>,
    packed: Link,
    from: Seq,
    limit: usize,
    entries: &mut Vec<Entry>,
) -> Result<Link, Stop> {
    let Some(tail) = tail else { return Ok(packed) };
    let from = from.max(packed.seq);
    let rows = tail.rows_after(from);
    if rows.is_empty() {
        return Ok(packed);
    }
    let mut select =
        connection.prepare_cached("SELECT seq, time, epoch, hash, body FROM tail WHERE id = ?")?;
    // Each row carries its hash; the link before the first wanted one is the pack's or the row's before it.
    let mut link = match from {
        from if from == packed.seq => packed,
        from if from == tail.prev.seq => tail.prev,
        from => {
            let at = usize::try_from(from.0 - tail.prev.seq.0 - 1).unwrap_or(usize::MAX);
            let row = tail.rows.get(at).copied().unwrap_or(-1);
            let stored = select.query_row([row], stored_row).optional()?;
            stored.map_or(packed, |stored| Link { seq: from, epoch: stored.epoch, hash: stored.hash })
        }
    };
    for row in rows.iter().take(limit.saturating_sub(entries.len())) {
        let missing = || Damage::Unreadable { seq: link.seq.next(), error: "its row is missing".to_owned() };
        let stored = match select.query_row([row], stored_row).optional() {
            Ok(stored) => stored.ok_or_else(missing).map_err(Stop::Damage)?,
            Err(error) => return Err(unreadable(link.seq.next(), error)),
        };
        let opened =
            Entry::open(&link, stored.seq, stored.time, stored.epoch, stored.body, Some(stored.hash));
        let entry = opened.map_err(Stop::Damage)?;
        link = entry.link();
        entries.push(entry);
    }
    Ok(link)
}

/// A row that SQLite itself cannot read is damage of this session, not of the store.
fn unreadable(seq: Seq, error: rusqlite::Error) -> Stop {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) | None => {
            Stop::Damage(Damage::Unreadable { seq, error: error.to_string() })
        }
        Some(_) => Stop::Fault(error.into()),
    }
}

pub(super) struct StoredRow {
    pub(super) seq: Seq,
    pub(super) time: Time,
    pub(super) epoch: Epoch,
    pub(super) hash: Hash,
    pub(super) body: String,
}

pub(super) fn stored_row(row: &SqlRow<'_>) -> rusqlite::Result<StoredRow> {
    Ok(StoredRow {
        seq: Seq(row.get(0)?),
        time: Time(row.get(1)?),
        epoch: Epoch(row.get(2)?),
        hash: Hash(row.get(3)?),
        body: row.get(4)?,
    })
}

/// Where a session's log ends, and its newest snapshot.
pub(super) fn open(
    shared: &Shared,
    connection: &mut Connection,
    session: SessionId,
) -> Result<Opened, OpenError> {
    let failed = |fault: Fault| OpenError::Store(fault.doing("open a session"));
    let made = made(connection, session).map_err(failed)?;
    let astray = || failed(Fault::Damaged(format!("the id {session} does not lead to its log")));
    let no = match id(connection, session).map_err(failed)? {
        None if made.is_some() => return Err(astray()),
        None => return Err(OpenError::Unknown(session)),
        Some(None) => return Err(OpenError::Deleted(session)),
        Some(Some(no)) if made.is_some_and(|made| made != no) => return Err(astray()),
        Some(Some(no)) => no,
    };
    let proven = proven(connection, no).map_err(failed)?;
    wait_for_tail(shared, connection, no, proven).map_err(failed)?;
    let tail = shared.tail().get(no).cloned();
    let read = || -> Result<Opened, Fault> {
        let end = end(connection, tail.as_ref(), no)?;
        let key: [u8; 16] =
            connection.query_row("SELECT key FROM logs WHERE no = ?", [no], |row| row.get(0))?;
        let snapshot = connection
            .prepare_cached("SELECT seq, epoch, hash, body FROM snapshots WHERE no = ?")?
            .query_row([no], |row| {
                Ok((link(row.get(0)?, row.get(1)?, row.get(2)?), row.get::<_, Vec<u8>>(3)?))
            })
            .optional()?;
        // A snapshot that cannot be read is only a longer fold.
        let snapshot = snapshot.filter(|(at, _)| at.seq <= end.seq).and_then(|(at, body)| {
            let state = zstd::stream::decode_all(body.as_slice()).ok()?;
            Some(Snapshot { at, state })
        });
        Ok(Opened { session: SessionId(Uuid::from_bytes(key)), end, snapshot })
    };
    let mut opened = match read() {
        Ok(opened) => opened,
        Err(fault) if id(connection, session).map_err(failed)? == Some(Some(no)) => {
            return Err(failed(fault));
        }
        Err(_) => return Err(OpenError::Deleted(session)),
    };
    if proven > opened.end.seq {
        // Where it must have ended; whoever reads on to there is told what is missing.
        opened.end = Link { seq: proven, hash: Hash([0xff; 16]), ..opened.end };
    }
    if opened.end.seq == log(connection, no).map_err(failed)?.base.seq {
        // Claimed, but its first entry never came: there is no such session for anyone.
        return Err(OpenError::Unknown(session));
    }
    Ok(opened)
}

/// The log that was made under an id.
fn made(connection: &Connection, session: SessionId) -> Result<Option<i64>, Fault> {
    Ok(connection
        .prepare_cached("SELECT no FROM logs WHERE key = ? AND trunk = 0")?
        .query_row([session.0.as_bytes().as_slice()], |row| row.get(0))
        .optional()?)
}

/// The id under which a log was made leads to it inside the store, also when it was deleted as an address.
pub(super) fn id_or_key(connection: &Connection, session: SessionId) -> Result<Option<Option<i64>>, Fault> {
    match made(connection, session)? {
        Some(no) => Ok(Some(Some(no))),
        None => id(connection, session),
    }
}

pub(super) fn key(
    connection: &Connection,
    session: SessionId,
    key: &MessageKey,
) -> Result<Option<KeyUse>, Fault> {
    if fault::planted("no_key") {
        return Ok(None);
    }
    let Some(Some(no)) = id_or_key(connection, session)? else { return Ok(None) };
    Ok(connection
        .prepare_cached("SELECT seq, fingerprint FROM keys WHERE no = ? AND key = ?")?
        .query_row(params![no, key.0], |row| {
            Ok(KeyUse { seq: Seq(row.get(0)?), fingerprint: Fingerprint(row.get(1)?) })
        })
        .optional()?)
}

pub(super) fn open_runs(connection: &Connection) -> Result<Vec<OpenRun>, Fault> {
    let mut select = connection
        .prepare_cached("SELECT logs.key, run, spool FROM open_runs JOIN logs USING (no) ORDER BY no, run")?;
    let rows = select.query_map([], |row| {
        Ok(OpenRun {
            session: SessionId(Uuid::from_bytes(row.get(0)?)),
            run: RunId(row.get(1)?),
            spool: row.get::<_, Option<u64>>(2)?.map(SlotNo),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Sessions with a message that waits, as far as they are indexed, and those that are not indexed to their end.
pub(super) fn waiting(shared: &Shared, connection: &Connection) -> Result<Vec<SessionId>, Fault> {
    let tails: Vec<(i64, Seq)> = shared.tail().sessions().map(|(no, tail)| (no, tail.last.seq)).collect();
    let mut select = connection.prepare_cached("SELECT DISTINCT no FROM turns WHERE position IS NULL")?;
    let mut found: BTreeSet<i64> =
        select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut indexed =
        connection.prepare_cached("SELECT 1 FROM watermarks WHERE no = ? AND indexed_to >= ?")?;
    for (no, last) in tails {
        if !indexed.exists(params![no, last.0])? {
            found.insert(no);
        }
    }
    let mut key = connection.prepare_cached("SELECT key FROM logs WHERE no = ? AND trunk = 0")?;
    let mut sessions = Vec::with_capacity(found.len());
    for no in found {
        sessions.extend(key.query_row([no], |row| Ok(SessionId(Uuid::from_bytes(row.get(0)?)))).optional()?);
    }
    Ok(sessions)
}

/// Sessions that owe turns to memory.
pub(super) fn owing(connection: &Connection) -> Result<Vec<SessionId>, Fault> {
    listed_where(connection, "owed > 0")
}

/// Sessions whose newest answer was interrupted, the latest activity first.
pub(super) fn interrupted(connection: &Connection, since: Time) -> Result<Vec<SessionId>, Fault> {
    let sql = "SELECT logs.key FROM list JOIN logs USING (no)
               WHERE needs = ?1 AND list.active_at >= ?2 AND shelf >= 0 AND trashed = 0 ORDER BY list.active_at DESC";
    let mut select = connection.prepare_cached(sql)?;
    let wanted = params![need_number(Some(Need::Interrupted)), since.0];
    let rows = select.query_map(wanted, |row| Ok(SessionId(Uuid::from_bytes(row.get(0)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Sessions that owe answers to chats.
pub(super) fn undelivered(connection: &Connection) -> Result<Vec<SessionId>, Fault> {
    listed_where(connection, "undelivered > 0")
}

fn listed_where(connection: &Connection, so: &str) -> Result<Vec<SessionId>, Fault> {
    let sql = format!("SELECT logs.key FROM list JOIN logs USING (no) WHERE {so} AND shelf >= 0 ORDER BY no");
    let mut select = connection.prepare_cached(&sql)?;
    let rows = select.query_map([], |row| Ok(SessionId(Uuid::from_bytes(row.get(0)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The row of a chat.
pub(super) fn binding(connection: &Connection, chat: &ChatKey) -> Result<Option<Binding>, Fault> {
    Ok(connection
        .prepare_cached("SELECT session, suspended FROM chats WHERE chat = ?")?
        .query_row([chat.to_text()], |row| to_binding(row, 0))
        .optional()?)
}

fn to_binding(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Binding> {
    let suspended = row.get::<_, bool>(at + 1)? || fault::planted("every_row_is_suspended");
    Ok(Binding { session: SessionId(Uuid::from_bytes(row.get(at)?)), suspended })
}

/// The chats that speak in a session, by whatever id.
pub(super) fn chats_of(
    connection: &Connection,
    session: SessionId,
) -> Result<Vec<(ChatKey, Binding)>, Fault> {
    let sql = "SELECT chat, session, suspended FROM chats WHERE session = ?1 OR session IN
               (SELECT other.id FROM session_ids AS known JOIN session_ids AS other USING (no) WHERE known.id = ?1)
               ORDER BY chat";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([session.0.as_bytes().as_slice()], |row| {
        let chat: String = row.get(0)?;
        Ok(ChatKey::from_text(&chat).zip(Some(to_binding(row, 1)?)))
    })?;
    let chats: Vec<Option<(ChatKey, Binding)>> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(chats.into_iter().flatten().collect())
}

/// Every chat, and what the list says of its session.
pub(super) fn chats(connection: &Connection) -> Result<Vec<ChatRow>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT chat, chats.session, suspended, active_at, interrupted, resume_pending FROM chats
         LEFT JOIN session_ids ON session_ids.id = chats.session LEFT JOIN list USING (no) ORDER BY chat",
    )?;
    let rows = select.query_map([], |row| {
        let chat: String = row.get(0)?;
        let Some(chat) = ChatKey::from_text(&chat) else { return Ok(None) };
        Ok(Some(ChatRow {
            chat,
            binding: to_binding(row, 1)?,
            active_at: Time(row.get::<_, Option<i64>>(3)?.unwrap_or(0)),
            interrupted: row.get::<_, Option<u32>>(4)?.unwrap_or(0),
            resume_pending: row.get::<_, Option<bool>>(5)?.unwrap_or(false),
        }))
    })?;
    // A key of a later version is someone else's business.
    let chats: Vec<Option<ChatRow>> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(chats.into_iter().flatten().collect())
}

const LIST_COLUMNS: &str =
    "logs.key, title, named_by_person, created_at, list.active_at, run, messages, pinned, archived,
    trashed, remembers, owed, interrupted, resume_pending, list.user, trashed_at, project, tags, needs,
    undelivered";

fn to_list_row(row: &SqlRow<'_>) -> rusqlite::Result<ListRow> {
    Ok(ListRow {
        session: SessionId(Uuid::from_bytes(row.get(0)?)),
        title: row.get(1)?,
        named_by_person: row.get(2)?,
        created_at: Time(row.get(3)?),
        active_at: Time(row.get(4)?),
        run: row.get::<_, Option<u64>>(5)?.map(RunId),
        messages: row.get(6)?,
        pinned: row.get(7)?,
        archived: row.get(8)?,
        trashed: row.get(9)?,
        remembers: row.get(10)?,
        owed: row.get(11)?,
        interrupted: row.get(12)?,
        resume_pending: row.get(13)?,
        user: UserId(Uuid::from_bytes(row.get(14)?)),
        trashed_at: row.get::<_, Option<i64>>(15)?.map(Time),
        project: row.get::<_, Option<[u8; 16]>>(16)?.map(|id| ProjectId(Uuid::from_bytes(id))),
        tags: serde_json::from_str(row.get_ref(17)?.as_str()?).unwrap_or_default(),
        needs: match row.get(18)? {
            1 => Some(Need::Failed),
            2 => Some(Need::Interrupted),
            _ => None,
        },
        undelivered: row.get(19)?,
    })
}

pub(super) fn need_number(needs: Option<Need>) -> i64 {
    match needs {
        None => 0,
        Some(Need::Failed) => 1,
        Some(Need::Interrupted) => 2,
    }
}

pub(super) fn list_row(connection: &Connection, no: i64) -> Result<Option<ListRow>, Fault> {
    Ok(connection
        .prepare_cached(&format!("SELECT {LIST_COLUMNS} FROM list JOIN logs USING (no) WHERE no = ?"))?
        .query_row([no], to_list_row)
        .optional()?)
}

/// The list row that a branch of `from` after entry `at` starts from: the fold of what it shares.
pub(super) fn shared_row(
    shared: &Shared,
    connection: &mut Connection,
    session: SessionId,
    from: SessionId,
    at: Seq,
) -> Result<Option<ListRow>, Fault> {
    let Some(Some(no)) = id_or_key(connection, from)? else { return Ok(None) };
    let tail = tails(shared, connection, no)?;
    let transaction = connection.transaction()?;
    let find = |no: i64| tail.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
    let mut row = ListRow::new(session);
    let source = Source { connection: &transaction, tail: &find, no };
    let reached = source.go_through(OnDamage::Fail, Seq(0), at, |entries| {
        for entry in entries {
            row.apply(entry);
        }
        Ok(())
    })?;
    Ok((reached >= at).then_some(row))
}

pub(super) fn list(connection: &Connection, query: &ListQuery) -> Result<Vec<ListRow>, Fault> {
    let before = match query.before {
        None => (i64::MAX, i64::MAX),
        // A session of somebody else is as unknown as one that never was.
        Some((time, session)) => {
            let mut select = connection.prepare_cached(
                "SELECT no FROM session_ids JOIN list USING (no) WHERE id = ? AND user = ?",
            )?;
            let asked = params![session.0.as_bytes(), query.user.0.as_bytes()];
            (time.0, select.query_row(asked, |row| row.get(0)).optional()?.unwrap_or(i64::MAX))
        }
    };
    let (user, shelf) = (query.user.0.as_bytes(), shelf_number(query.shelf));
    let count = i64::try_from(query.count).unwrap_or(i64::MAX);
    let project = query.project.map(|project| *project.0.as_bytes());
    let mut asked: Vec<&dyn ToSql> = vec![user, &shelf, &before.0, &before.1, &count];
    // Tags stand in the order of pages in a table of their own, so that a page costs a page whatever stands beside it.
    let (from, order) = match query.tag {
        None => ("list", "list"),
        Some(_) => ("list_tags CROSS JOIN list ON list.no = list_tags.no", "list_tags"),
    };
    let mut narrowed = String::new();
    if let Some(project) = &project {
        asked.push(project);
        narrowed += &format!(" AND list.project = ?{}", asked.len());
    }
    if let Some(tag) = &query.tag {
        asked.push(tag);
        narrowed += &format!(" AND tag = ?{}", asked.len());
    }
    // As their indexes say it.
    narrowed += match query.doing {
        None => "",
        Some(Doing::Live) => " AND run IS NOT NULL",
        Some(Doing::NeedsPerson) => " AND needs > 0",
        Some(Doing::Pinned) => " AND pinned = 1",
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT {LIST_COLUMNS} FROM {from} JOIN logs ON logs.no = list.no
         WHERE {order}.user = ?1 AND {order}.shelf = ?2 AND ({order}.active_at, {order}.no) < (?3, ?4){narrowed}
         ORDER BY {order}.active_at DESC, {order}.no DESC LIMIT ?5"
    ))?;
    let rows = select.query_map(asked.as_slice(), to_list_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn row(connection: &Connection, session: SessionId) -> Result<Option<ListRow>, Fault> {
    Ok(connection
        .prepare_cached(&format!(
            "SELECT {LIST_COLUMNS} FROM session_ids JOIN list USING (no) JOIN logs USING (no)
             WHERE id = ? AND shelf >= 0"
        ))?
        .query_row([session.0.as_bytes()], to_list_row)
        .optional()?)
}

pub(super) fn counts(connection: &Connection, user: UserId) -> Result<Counts, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT (SELECT count(*) FROM list WHERE user = ?1 AND shelf = 0),
                (SELECT count(*) FROM list WHERE user = ?1 AND shelf = 1),
                (SELECT count(*) FROM list WHERE user = ?1 AND shelf = 2),
                (SELECT count(*) FROM list WHERE user = ?1 AND shelf = 0 AND run IS NOT NULL),
                (SELECT count(*) FROM list WHERE user = ?1 AND shelf = 0 AND needs > 0)",
    )?;
    Ok(select.query_row([user.0.as_bytes()], |row| {
        Ok(Counts {
            active: row.get(0)?,
            archived: row.get(1)?,
            trash: row.get(2)?,
            live: row.get(3)?,
            needs_person: row.get(4)?,
        })
    })?)
}

pub(super) fn tags(connection: &Connection, user: UserId, count: usize) -> Result<Vec<TagCount>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT tag, count(*) AS sessions FROM list_tags WHERE user = ?1 AND shelf IN (0, 1)
         GROUP BY tag ORDER BY sessions DESC, tag LIMIT ?2",
    )?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = select.query_map(params![user.0.as_bytes(), count], |row| {
        Ok(TagCount { tag: row.get(0)?, sessions: row.get(1)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn trashed(
    connection: &Connection,
    until: Time,
    after: Option<(Time, SessionId)>,
    count: usize,
) -> Result<Vec<Trashed>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT logs.key, user, trashed_at FROM list JOIN logs USING (no)
         WHERE trashed_at <= ?1 AND trashed_at >= ?2 AND (trashed_at, logs.key) > (?2, ?3) AND shelf >= 0
         ORDER BY trashed_at, logs.key LIMIT ?4",
    )?;
    let (time, key) = after.map_or((i64::MIN, Vec::new()), |(time, key)| (time.0, key.0.as_bytes().to_vec()));
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = select.query_map(params![until.0, time, key, count], |row| {
        Ok(Trashed {
            session: SessionId(Uuid::from_bytes(row.get(0)?)),
            user: UserId(Uuid::from_bytes(row.get(1)?)),
            since: Time(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn belongs(connection: &Connection, session: SessionId, user: UserId) -> Result<bool, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT 1 FROM session_ids JOIN list USING (no) WHERE id = ? AND user = ? AND shelf >= 0",
    )?;
    Ok(select.exists(params![session.0.as_bytes(), user.0.as_bytes()])?)
}

pub(super) fn turns(
    connection: &Connection,
    session: SessionId,
    before: Option<TurnId>,
    count: usize,
) -> Result<Vec<TurnRow>, Fault> {
    let Some(Some(no)) = id_or_key(connection, session)? else { return Ok(Vec::new()) };
    let end = match before {
        None => i64::MAX,
        Some(turn) => connection
            .prepare_cached("SELECT position FROM turns WHERE no = ? AND turn = ?")?
            .query_row(params![no, turn.0], |row| row.get::<_, Option<i64>>(0))
            .optional()?
            .flatten()
            .unwrap_or(i64::MAX),
    };
    let mut select = connection.prepare_cached(
        "SELECT position, turn, message, last FROM turns
         WHERE no = ? AND position IS NOT NULL AND position < ? AND hidden IS NULL ORDER BY position DESC LIMIT ?",
    )?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = select.query_map(params![no, end, count], |row| {
        Ok(TurnRow {
            position: Seq(row.get(0)?),
            turn: TurnId(row.get(1)?),
            message: Seq(row.get(2)?),
            last: Seq(row.get(3)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn indexed_to(connection: &Connection, session: SessionId) -> Result<Seq, Fault> {
    let Some(Some(no)) = id_or_key(connection, session)? else { return Ok(Seq(0)) };
    let mut select = connection.prepare_cached("SELECT indexed_to FROM watermarks WHERE no = ?")?;
    Ok(Seq(select.query_row([no], |row| row.get(0)).optional()?.unwrap_or(0)))
}

//! Reads entries from packs and the tail.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use session::{Damage, Entry, Epoch, Fingerprint, Hash, Link, MessageKey, Seq, SessionId, Time};
use uuid::Uuid;

use crate::error::{OpenError, ReadError};
use crate::{KeyUse, Opened, PAGE_BYTES, Snapshot};

use super::append::link;
use super::source::TailOf;
use super::tail::{Tail, TailSession};
use super::{Fault, Shared, pack};

/// Looks at the tail before a log that is shorter than something proves counts as damaged: 100 ms in all, many times
/// what the writing thread needs from a commit to telling of it.
const TAIL_LOOKS_MAX: usize = 50;
const TAIL_LOOK_PAUSE: Duration = Duration::from_millis(2);
/// Pauses before a reader looks again at a database that SQLite finds malformed. A disk that fails to read for a moment looks
/// the same.
const CONFIRMATIONS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1_600)];
/// The error for a log that ends before an entry that is known to exist.
const END_MISSING: &str = "the end of the log is missing";

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
    pub(super) parent: Option<i64>,
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
    let mut page = Page::of(1);
    match collect(connection, &|no| tail.get(no).cloned(), no, before, &mut page) {
        Ok(_) => Ok(page.entries.first().map(Entry::link)),
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
    let mut result = entries_of(shared, connection, no, after, limit);
    for pause in CONFIRMATIONS {
        if !matches!(result, Err(NotRead::Malformed(_))) || shared.damaged().is_known(no) {
            break;
        }
        std::thread::sleep(pause);
        result = entries_of(shared, connection, no, after, limit);
    }
    let result = result.map_err(|not_read| match not_read {
        NotRead::Error(error) => error,
        NotRead::Malformed(error) => {
            ReadError::Damaged { intact: after, damage: Damage::Unreadable { seq: after.next(), error } }
        }
    });
    // A log that was erased in the meantime is not damaged, it is gone.
    if result.is_err() && id_or_key(connection, session).map_err(failed)? != Some(Some(no)) {
        return Err(ReadError::Unknown(session));
    }
    if let Err(ReadError::Damaged { damage, .. }) = &result
        // A missing end is no proof of damage: on a loaded machine, the tail may be updated late.
        && !matches!(damage, Damage::Unreadable { error, .. } if error == END_MISSING)
    {
        shared.note_damage(no, session, damage);
    }
    result
}

/// Why entries were not read.
enum NotRead {
    Error(ReadError),
    /// SQLite found the database malformed, or the disk failed to read it: SQLite reports both alike.
    Malformed(String),
}

impl From<ReadError> for NotRead {
    fn from(error: ReadError) -> Self {
        Self::Error(error)
    }
}

fn entries_of(
    shared: &Shared,
    connection: &mut Connection,
    no: i64,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, NotRead> {
    let failed = |fault: Fault| match fault {
        Fault::Sqlite(error) if Fault::is_malformed(&error) => NotRead::Malformed(error.to_string()),
        fault => NotRead::Error(ReadError::Store(fault.doing("read entries"))),
    };
    let proven = proven(connection, no).map_err(failed)?;
    wait_for_tail(shared, connection, no, proven).map_err(failed)?;
    // The tail is copied before the read transaction begins: what is packed and trimmed in between stands in packs
    // that the transaction sees.
    let tail = tails(shared, connection, no).map_err(failed)?;
    let transaction = connection.transaction().map_err(|error| failed(error.into()))?;
    let find = |no: i64| tail.iter().find(|(of, _)| *of == no).map(|(_, tail)| tail.clone());
    let head = end(&transaction, find(no).as_ref(), no).map_err(failed)?;
    if proven > head.seq && after >= head.seq {
        let damage = Damage::Unreadable { seq: head.seq.next(), error: END_MISSING.to_owned() };
        return Err(ReadError::Damaged { intact: head.seq, damage }.into());
    }
    if after > head.seq {
        return Err(ReadError::BeyondEnd { after, head: head.seq }.into());
    }
    let mut page = Page::bounded(limit, PAGE_BYTES);
    match collect(&transaction, &find, no, after, &mut page) {
        Ok(_) => Ok(page.entries),
        Err(Stop::Fault(fault)) if fault.is_damage() && !page.entries.is_empty() => Ok(page.entries),
        Err(Stop::Fault(fault)) => Err(failed(fault)),
        Err(Stop::Damage(_)) if !page.entries.is_empty() => Ok(page.entries),
        Err(Stop::Damage(damage)) => Err(ReadError::Damaged { intact: after, damage }.into()),
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

/// A page of entries, limited in number and in total bytes.
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    limit: usize,
    bytes_left: usize,
}

impl Page {
    /// Returns an empty page for at most `limit` entries of any size.
    pub(super) fn of(limit: usize) -> Self {
        Self::bounded(limit, usize::MAX)
    }

    /// Returns an empty page for at most `limit` entries, which ends with the entry that brings it to `bytes`.
    pub(super) fn bounded(limit: usize, bytes: usize) -> Self {
        Self { entries: Vec::new(), limit, bytes_left: bytes }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.limit || self.bytes_left == 0
    }

    fn push(&mut self, entry: Entry) {
        self.bytes_left = self.bytes_left.saturating_sub(entry.body.len());
        self.entries.push(entry);
    }
}

/// Collects entries in order: shared beginning, packs, tail. Answers the link reached.
pub(super) fn collect(
    connection: &Connection,
    tail: TailOf<'_>,
    no: i64,
    after: Seq,
    page: &mut Page,
) -> Result<Link, Stop> {
    let log = log(connection, no)?;
    if let Some(parent) = log.parent.filter(|_| after < log.base.seq) {
        let shared = usize::try_from(log.base.seq.0 - after.0).unwrap_or(usize::MAX);
        let limit = page.limit;
        page.limit = limit.min(shared);
        let reached = collect(connection, tail, parent, after, page)?;
        page.limit = limit;
        if page.is_full() || reached.seq < log.base.seq {
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
    while let Some(row) = rows.next().map_err(|error| unreadable(link.seq.max(from).next(), error))? {
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
        let (unpacked, damage) =
            pack::decode(row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?, &prev, &last, from);
        for entry in unpacked {
            if page.is_full() {
                return Ok(link);
            }
            page.push(entry);
        }
        if let Some(damage) = damage {
            return Err(Stop::Damage(damage));
        }
        if page.is_full() {
            return Ok(link);
        }
    }
    drop(rows);
    collect_tail(connection, tail(log.no).as_ref(), link, from, page)
}

/// Collects the entries after `from` that stand in the tail, behind packs that end at `packed`.
fn collect_tail(
    connection: &Connection,
    tail: Option<&TailSession>,
    packed: Link,
    from: Seq,
    page: &mut Page,
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
    for row in rows {
        if page.is_full() {
            break;
        }
        let missing = || Damage::Unreadable { seq: link.seq.next(), error: "the row is missing".to_owned() };
        let stored = match select.query_row([row], stored_row).optional() {
            Ok(stored) => stored.ok_or_else(missing).map_err(Stop::Damage)?,
            Err(error) => return Err(unreadable(link.seq.next(), error)),
        };
        let opened =
            Entry::open(&link, stored.seq, stored.time, stored.epoch, stored.body, Some(stored.hash));
        let entry = opened.map_err(Stop::Damage)?;
        link = entry.link();
        page.push(entry);
    }
    Ok(link)
}

/// A row that SQLite itself cannot read is damage of this session, not of the store.
fn unreadable(seq: Seq, error: rusqlite::Error) -> Stop {
    match error.sqlite_error_code() {
        None => Stop::Damage(Damage::Unreadable { seq, error: error.to_string() }),
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
    let astray = || failed(Fault::Damaged(format!("the session ID {session} doesn't lead to its log")));
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

//! What the tail holds, learnt from the disk alone, with every link of its chain checked.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension};
use session::{Link, Seq, SessionId};
use uuid::Uuid;

use super::Fault;
use super::append::{Head, load_head};
use super::read::{self, StoredRow, stored_row};
use super::tail::Tail;

/// Rows read in one go.
const PAGE: i64 = 2_000;

/// What was found.
pub(super) struct Loaded {
    pub(super) tail: Tail,
    /// Sessions that have something in the tail.
    pub(super) heads: Vec<(SessionId, Head)>,
    /// Logs whose rows do not follow each other, with the last intact entry.
    pub(super) damaged: BTreeMap<i64, Seq>,
}

pub(super) fn tail(connection: &Connection) -> Result<Loaded, Fault> {
    let (first, last): (Option<i64>, Option<i64>) =
        connection
            .query_row("SELECT min(id), max(id) FROM tail", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut tail = Tail::default();
    // Row ids go on where the packs' rows once stood, so that none is ever used twice.
    tail.first_row = first.unwrap_or(1);
    tail.next_row = last.map_or(1, |last| last + 1);
    let mut damaged = BTreeMap::new();
    let mut ends: HashMap<i64, Link> = HashMap::new();
    let mut next = tail.first_row;
    let mut select = connection
        .prepare("SELECT seq, time, epoch, hash, body, id, no FROM tail WHERE id >= ? ORDER BY id LIMIT ?")?;
    while next < tail.next_row {
        let rows = select.query_map([next, PAGE], |row| {
            let no: i64 = row.get(6)?;
            let stored = if no == 0 { None } else { Some(stored_row(row)?) };
            Ok((row.get::<_, i64>(5)?, no, stored))
        })?;
        let before = next;
        for row in rows {
            let (id, no, stored) = row?;
            if id != next {
                return Err(Fault::Damaged(format!("rows {next} to {} of the tail are missing", id - 1)));
            }
            next = id + 1;
            if let Some(stored) = stored {
                take(connection, &mut tail, &mut ends, &mut damaged, id, no, &stored)?;
            }
        }
        if next == before {
            return Err(Fault::Damaged(format!("row {next} of the tail is missing")));
        }
    }
    let heads = heads(connection, &tail)?;
    Ok(Loaded { tail, heads, damaged })
}

/// The tables that say what there is must be whole: a row that a damaged page hides is missed by nobody else.
pub(super) fn shape(connection: &Connection) -> Result<(), Fault> {
    for table in ["tail", "logs", "session_ids", "open_runs", "watermarks"] {
        let sql = format!("PRAGMA quick_check('{table}')");
        let found: String = connection.query_row(&sql, [], |row| row.get(0))?;
        if found != "ok" {
            return Err(Fault::Damaged(format!("table {table} is damaged: {found}")));
        }
    }
    Ok(())
}

/// Takes one row, if it is not packed already and follows the one before it.
fn take(
    connection: &Connection,
    tail: &mut Tail,
    ends: &mut HashMap<i64, Link>,
    damaged: &mut BTreeMap<i64, Seq>,
    id: i64,
    no: i64,
    stored: &StoredRow,
) -> Result<(), Fault> {
    let end = match ends.get(&no) {
        Some(end) => *end,
        None => {
            let end = read::end(connection, None, no)?;
            ends.insert(no, end);
            end
        }
    };
    if stored.seq <= end.seq || damaged.contains_key(&no) {
        return Ok(());
    }
    let hash = end.hash.next(stored.seq, stored.time, stored.epoch, &stored.body);
    let link = Link { seq: stored.seq, epoch: stored.epoch, hash: stored.hash };
    if stored.seq != end.seq.next() || stored.epoch < end.epoch || hash != stored.hash {
        // The row stays known, so that a reader is told of the damage instead of a shorter log.
        damaged.insert(no, end.seq);
    }
    tail.push(no, id, end, link, stored.body.len());
    ends.insert(no, link);
    Ok(())
}

fn heads(connection: &Connection, tail: &Tail) -> Result<Vec<(SessionId, Head)>, Fault> {
    let mut heads = Vec::new();
    for (no, _) in tail.sessions() {
        let key: Option<[u8; 16]> = connection
            .prepare_cached("SELECT key FROM logs WHERE no = ? AND trunk = 0")?
            .query_row([no], |row| row.get(0))
            .optional()?;
        let Some(session) = key.map(|key| SessionId(Uuid::from_bytes(key))) else { continue };
        if let Some(head) = load_head(connection, tail, session)? {
            heads.push((session, head));
        }
    }
    Ok(heads)
}

//! Queries on the catalog: the list of sessions, their turns and chats, and sessions with pending work.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, params};
use session::{ChatKey, Need, ProjectId, RunId, Seq, SessionId, SlotNo, Time, TurnId, UserId};
use uuid::Uuid;

use crate::catalog::{Counts, Doing, ListQuery, ListRow, TagCount, Trashed, TurnRow};
use crate::{Binding, ChatRow, OpenRun};

use super::append::shelf_number;
use super::read::{id_or_key, tails};
use super::source::{OnDamage, Source};
use super::{Fault, Shared};

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
    // Skips keys written by a later version.
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
    // `list_tags` is stored in page order, so that a page of a tag does not scan sessions without it.
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
    // These conditions must match those of the partial indexes.
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

//! Reads logs, the list, turns and chats.

use deadpool_postgres::{Client, GenericClient};
use session::{
    ChatKey, Damage, Entry, Epoch, Fingerprint, Link, MessageKey, RunId, Seq, SessionId, SlotNo, Time,
    TurnId, UserId,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::catalog::{Counts, Doing, ListQuery, ListRow, TagCount, Trashed, TurnRow};
use crate::error::{OpenError, ReadError};
use crate::{Binding, ChatRow, KeyUse, OpenRun, Opened, PAGE_BYTES, Snapshot};

use super::notes::shelf_number;
use super::{Fault, failed, hash, int, link, number};

/// A log by the id under which it was made, or by any that leads to it.
pub(super) async fn find<C: GenericClient>(client: &C, session: SessionId) -> Result<Option<i64>, Fault> {
    let sql = "SELECT no FROM logs WHERE key = $1 AND NOT erased
               UNION ALL SELECT no FROM session_ids WHERE id = $1 AND no IS NOT NULL LIMIT 1";
    Ok(client.query_opt(sql, &[&session.0]).await?.map(|row| row.get(0)))
}

/// Whether a log has an entry of its own. Claimed, but its first entry never came: there is no such session for anyone.
pub(super) async fn begun<C: GenericClient>(client: &C, no: i64) -> Result<bool, Fault> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM entries WHERE no = $1 AND seq > shared_seq) FROM logs WHERE no = $1";
    Ok(client.query_one(sql, &[&no]).await?.get(0))
}

pub(super) async fn entries(
    client: &Client,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, ReadError> {
    let failed = |error| ReadError::from(failed("read a log")(error));
    let no = find(client, session).await.map_err(failed)?.ok_or(ReadError::Unknown(session))?;
    let sql = "SELECT coalesce(max(seq), 0) AS head FROM entries WHERE no = $1";
    let head = Seq(number(&client.query_one(sql, &[&no]).await.map_err(failed)?, "head"));
    if after > head {
        return Err(ReadError::BeyondEnd { after, head });
    }
    stretch(client, no, after, limit, PAGE_BYTES).await
}

/// Entries of a log after `after`, checked against the chain.
pub(super) async fn stretch<C: GenericClient>(
    client: &C,
    no: i64,
    after: Seq,
    limit: usize,
    bytes: usize,
) -> Result<Vec<Entry>, ReadError> {
    let failed = |error| ReadError::from(failed("read a log")(error));
    let sql = "SELECT seq, time, epoch, hash, body FROM (
                   SELECT *, sum(octet_length(body)) FILTER (WHERE seq > $2) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
                       - octet_length(body) AS bytes_before
                   FROM (SELECT * FROM entries WHERE no = $1 AND seq >= $2 ORDER BY seq LIMIT $3) AS page) AS summed
               WHERE bytes_before < $4 OR seq <= $2 + 1 ORDER BY seq";
    // The one before is where the chain is taken up.
    let limit = i64::try_from(limit).unwrap_or(i64::MAX - 1).saturating_add(1);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // Prepared once per connection: planning takes longer than reading a few entries.
    let statement = client.prepare_cached(sql).await.map_err(failed)?;
    let rows = client.query(&statement, &[&no, &int(after.0), &limit, &bytes]).await.map_err(failed)?;
    let mut rows = rows.iter();
    let mut last = Link::START;
    if after > Seq(0) {
        match rows.next().filter(|row| number(row, "seq") == after.0) {
            Some(row) => last = link(row, "seq", "epoch", "hash"),
            None => return Ok(Vec::new()),
        }
    }
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows.take(usize::try_from(limit - 1).unwrap_or(usize::MAX)) {
        match entry(&last, row) {
            Ok(entry) => {
                last = entry.link();
                entries.push(entry);
            }
            Err(damage) if entries.is_empty() => return Err(ReadError::Damaged { intact: last.seq, damage }),
            Err(_) => break,
        }
    }
    Ok(entries)
}

/// The entries after the first of some rows, as far as they fit the chain.
pub(super) fn chained(rows: &[Row]) -> Vec<Entry> {
    let Some((first, rows)) = rows.split_first() else { return Vec::new() };
    let mut last = link(first, "seq", "epoch", "hash");
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        let Ok(entry) = entry(&last, row) else { break };
        last = entry.link();
        entries.push(entry);
    }
    entries
}

fn entry(last: &Link, row: &Row) -> Result<Entry, Damage> {
    let (seq, time, epoch) = (Seq(number(row, "seq")), Time(row.get("time")), Epoch(number(row, "epoch")));
    Entry::open(last, seq, time, epoch, row.get::<_, &str>("body"), Some(hash(row.get("hash"))))
}

pub(super) async fn open(client: &Client, session: SessionId) -> Result<Opened, OpenError> {
    let failed = |error| OpenError::from(failed("open a session")(error));
    let sql = "SELECT logs.key, session_ids.no, last.seq AS end_seq, last.epoch AS end_epoch, last.hash AS end_hash,
               snapshots.seq, snapshots.epoch, snapshots.hash, snapshots.body
               FROM session_ids LEFT JOIN logs USING (no) LEFT JOIN snapshots USING (no) LEFT JOIN LATERAL
               (SELECT * FROM entries WHERE entries.no = logs.no AND seq > shared_seq ORDER BY seq DESC LIMIT 1) AS last
               ON TRUE WHERE session_ids.id = $1";
    let row =
        client.query_opt(sql, &[&session.0]).await.map_err(failed)?.ok_or(OpenError::Unknown(session))?;
    if row.get::<_, Option<i64>>("no").is_none() {
        return Err(OpenError::Deleted(session));
    }
    // Claimed, but its first entry never came.
    if row.get::<_, Option<i64>>("end_seq").is_none() {
        return Err(OpenError::Unknown(session));
    }
    let snapshot = row
        .get::<_, Option<i64>>("seq")
        .map(|_| Snapshot { at: link(&row, "seq", "epoch", "hash"), state: row.get("body") });
    let end = link(&row, "end_seq", "end_epoch", "end_hash");
    Ok(Opened { session: SessionId(row.get("key")), end, snapshot })
}

pub(super) async fn key(
    client: &Client,
    session: SessionId,
    key: &MessageKey,
) -> Result<Option<KeyUse>, Fault> {
    let Some(no) = find(client, session).await? else { return Ok(None) };
    let sql = "SELECT seq, fingerprint FROM keys WHERE no = $1 AND key = $2";
    let row = client.query_opt(sql, &[&no, &key.0.as_bytes()]).await?;
    Ok(row.map(|row| KeyUse {
        seq: Seq(number(&row, "seq")),
        fingerprint: Fingerprint(row.get::<_, &[u8]>("fingerprint").try_into().unwrap_or_default()),
    }))
}

pub(super) async fn open_runs(client: &Client) -> Result<Vec<OpenRun>, Fault> {
    let sql = "SELECT key, run, spool FROM open_runs JOIN logs USING (no) ORDER BY no, run";
    let rows = client.query(sql, &[]).await?;
    let run = |row: &Row| OpenRun {
        session: SessionId(row.get("key")),
        run: RunId(number(row, "run")),
        spool: row.get::<_, Option<i64>>("spool").and_then(|slot| u64::try_from(slot).ok()).map(SlotNo),
    };
    Ok(rows.iter().map(run).collect())
}

/// Sessions that a query names in its column `key`.
pub(super) async fn sessions(client: &Client, sql: &str) -> Result<Vec<SessionId>, Fault> {
    Ok(client.query(sql, &[]).await?.iter().map(|row| SessionId(row.get("key"))).collect())
}

/// Sessions whose newest answer was interrupted, the latest activity first.
pub(super) async fn interrupted(client: &Client, since: Time) -> Result<Vec<SessionId>, Fault> {
    let sql = "SELECT key, row FROM list JOIN logs USING (no)
               WHERE needs AND active_at >= $1 AND shelf >= 0 ORDER BY active_at DESC";
    let rows = client.query(sql, &[&since.0]).await?;
    let interrupted = rows.iter().filter(|row| {
        let listed: Option<ListRow> = serde_json::from_str(row.get("row")).ok();
        listed.is_some_and(|row| row.needs == Some(session::Need::Interrupted) && !row.trashed)
    });
    Ok(interrupted.map(|row| SessionId(row.get("key"))).collect())
}

pub(super) async fn list_row<C: GenericClient>(client: &C, no: i64) -> Result<Option<ListRow>, Fault> {
    let row = client.query_opt("SELECT row FROM list WHERE no = $1", &[&no]).await?;
    Ok(row.and_then(|row| serde_json::from_str(row.get(0)).ok()))
}

pub(super) async fn list(client: &Client, query: ListQuery) -> Result<Vec<ListRow>, Fault> {
    let (time, no) = match query.before {
        None => (i64::MAX, i64::MAX),
        // A session of somebody else is as unknown as one that never was.
        Some((time, session)) => {
            let no = find(client, session).await?;
            let sql = "SELECT no FROM list WHERE no = $1 AND user_id = $2";
            let own = client.query_opt(sql, &[&no, &query.user.0]).await?;
            (time.0, own.map_or(i64::MAX, |row| row.get(0)))
        }
    };
    let (shelf, count) = (shelf_number(query.shelf), i64::try_from(query.count).unwrap_or(i64::MAX));
    let project = query.project.map(|project| project.0);
    let mut asked: Vec<&(dyn ToSql + Sync)> = vec![&query.user.0, &shelf, &time, &no, &count];
    // Tags stand in the order of pages in a table of their own, so that a page costs a page whatever stands beside it.
    let (from, order) = match query.tag {
        None => ("list", "list"),
        Some(_) => ("list_tags JOIN list USING (no)", "list_tags"),
    };
    let mut narrowed = String::new();
    if let Some(project) = &project {
        asked.push(project);
        narrowed += &format!(" AND list.project = ${}", asked.len());
    }
    if let Some(tag) = &query.tag {
        asked.push(tag);
        narrowed += &format!(" AND tag = ${}", asked.len());
    }
    narrowed += match query.doing {
        None => "",
        Some(Doing::Live) => " AND live",
        Some(Doing::NeedsPerson) => " AND needs",
        Some(Doing::Pinned) => " AND pinned",
    };
    let sql = format!(
        "SELECT row FROM {from} WHERE {order}.user_id = $1 AND {order}.shelf = $2
         AND ({order}.active_at, {order}.no) < ($3, $4){narrowed}
         ORDER BY {order}.active_at DESC, {order}.no DESC LIMIT $5"
    );
    let rows = client.query(&sql, &asked).await?;
    Ok(rows.iter().filter_map(|row| serde_json::from_str(row.get(0)).ok()).collect())
}

pub(super) async fn row(client: &Client, session: SessionId) -> Result<Option<ListRow>, Fault> {
    let sql = "SELECT row FROM session_ids JOIN list USING (no) WHERE id = $1 AND shelf >= 0";
    let row = client.query_opt(sql, &[&session.0]).await?;
    Ok(row.and_then(|row| serde_json::from_str(row.get(0)).ok()))
}

pub(super) async fn counts(client: &Client, user: UserId) -> Result<Counts, Fault> {
    let sql =
        "SELECT count(*) FILTER (WHERE shelf = 0) AS active, count(*) FILTER (WHERE shelf = 1) AS archived,
               count(*) FILTER (WHERE shelf = 2) AS trash, count(*) FILTER (WHERE shelf = 0 AND live) AS live,
               count(*) FILTER (WHERE shelf = 0 AND needs) AS needs FROM list WHERE user_id = $1";
    let row = client.query_one(sql, &[&user.0]).await?;
    Ok(Counts {
        active: number(&row, "active"),
        archived: number(&row, "archived"),
        trash: number(&row, "trash"),
        live: number(&row, "live"),
        needs_person: number(&row, "needs"),
    })
}

pub(super) async fn tags(client: &Client, user: UserId, count: usize) -> Result<Vec<TagCount>, Fault> {
    let sql = "SELECT tag, count(*) AS sessions FROM list_tags WHERE user_id = $1 AND shelf IN (0, 1)
               GROUP BY tag ORDER BY sessions DESC, tag LIMIT $2";
    let rows = client.query(sql, &[&user.0, &i64::try_from(count).unwrap_or(i64::MAX)]).await?;
    Ok(rows.iter().map(|row| TagCount { tag: row.get(0), sessions: number(row, "sessions") }).collect())
}

pub(super) async fn trashed(
    client: &Client,
    until: Time,
    after: Option<(Time, SessionId)>,
    count: usize,
) -> Result<Vec<Trashed>, Fault> {
    let sql = "SELECT logs.key, user_id, trashed_at FROM list JOIN logs USING (no)
               WHERE trashed_at <= $1 AND trashed_at >= $2 AND (trashed_at > $2 OR logs.key > $3) AND shelf >= 0
               ORDER BY trashed_at, logs.key LIMIT $4";
    let (time, key) = after.map_or((i64::MIN, uuid::Uuid::nil()), |(time, key)| (time.0, key.0));
    let rows = client.query(sql, &[&until.0, &time, &key, &i64::try_from(count).unwrap_or(i64::MAX)]).await?;
    let trashed = |row: &Row| Trashed {
        session: SessionId(row.get("key")),
        user: UserId(row.get("user_id")),
        since: Time(row.get("trashed_at")),
    };
    Ok(rows.iter().map(trashed).collect())
}

pub(super) async fn turns(
    client: &Client,
    session: SessionId,
    before: Option<TurnId>,
    count: usize,
) -> Result<Vec<TurnRow>, Fault> {
    let Some(no) = find(client, session).await? else { return Ok(Vec::new()) };
    let end: Option<i64> = match before {
        None => None,
        Some(turn) => client
            .query_opt("SELECT position FROM turns WHERE no = $1 AND turn = $2", &[&no, &int(turn.0)])
            .await?
            .and_then(|row| row.get(0)),
    };
    let sql =
        "SELECT turn, position, message, last FROM turns WHERE no = $1 AND position < $2 AND hidden IS NULL
               ORDER BY position DESC LIMIT $3";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = client.query(sql, &[&no, &end.unwrap_or(i64::MAX), &count]).await?;
    let turn = |row: &Row| TurnRow {
        position: Seq(number(row, "position")),
        turn: TurnId(number(row, "turn")),
        message: Seq(number(row, "message")),
        last: Seq(number(row, "last")),
    };
    Ok(rows.iter().map(turn).collect())
}

pub(super) async fn binding(client: &Client, chat: &ChatKey) -> Result<Option<Binding>, Fault> {
    let sql = "SELECT session, suspended FROM chats WHERE chat = $1";
    let row = client.query_opt(sql, &[&chat.to_text().into_bytes()]).await?;
    Ok(row.map(|row| Binding { session: SessionId(row.get(0)), suspended: row.get(1) }))
}

pub(super) async fn chats_of(client: &Client, session: SessionId) -> Result<Vec<(ChatKey, Binding)>, Fault> {
    let sql = "SELECT chat, session, suspended FROM chats WHERE session = $1 OR session IN
               (SELECT other.id FROM session_ids AS known JOIN session_ids AS other USING (no) WHERE known.id = $1)
               ORDER BY chat";
    let rows = client.query(sql, &[&session.0]).await?;
    let chat = |row: &Row| {
        let chat = ChatKey::from_text(std::str::from_utf8(row.get(0)).ok()?)?;
        Some((chat, Binding { session: SessionId(row.get(1)), suspended: row.get(2) }))
    };
    Ok(rows.iter().filter_map(chat).collect())
}

pub(super) async fn chats(client: &Client) -> Result<Vec<ChatRow>, Fault> {
    let sql = "SELECT chat, chats.session, suspended, list.row FROM chats
               LEFT JOIN session_ids ON session_ids.id = chats.session LEFT JOIN list USING (no) ORDER BY chat";
    let rows = client.query(sql, &[]).await?;
    let chat = |row: &Row| {
        let listed: Option<ListRow> =
            row.get::<_, Option<&str>>("row").and_then(|row| serde_json::from_str(row).ok());
        Some(ChatRow {
            chat: ChatKey::from_text(std::str::from_utf8(row.get("chat")).ok()?)?,
            binding: Binding { session: SessionId(row.get("session")), suspended: row.get("suspended") },
            active_at: listed.as_ref().map_or(Time(0), |row| row.active_at),
            interrupted: listed.as_ref().map_or(0, |row| row.interrupted),
            resume_pending: listed.is_some_and(|row| row.resume_pending),
        })
    };
    Ok(rows.iter().filter_map(chat).collect())
}

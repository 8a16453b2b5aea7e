//! Who may write a session: claims, beginnings, branches, erasing, and the rows of chats.

use deadpool_postgres::{Client, Transaction};
use session::{ChatKey, Epoch, Event, Link, NodeId, Seq, SessionId, Time};

use crate::catalog::{ListRow, TurnIndex};
use crate::claim::HEARTBEAT_MICROS_MAX;
use crate::error::{AppendError, ClaimError, StoreError};
use crate::{Binding, Bound, Claim, Claiming};

use super::{Fault, blobs, failed, int, notes, number, read, search};

/// Gives a node the right to write a session.
pub(super) async fn claim(
    client: &mut Client,
    session: SessionId,
    node: NodeId,
    claiming: Claiming,
    now: Time,
) -> Result<Claim, ClaimError> {
    let failed = |error| ClaimError::from(failed("claim a session")(error));
    let transaction = client.transaction().await.map_err(failed)?;
    let known = transaction.query_opt("SELECT no FROM session_ids WHERE id = $1", &[&session.0]).await;
    let known: Option<Option<i64>> = known.map_err(failed)?.map(|row| row.get(0));
    let no = match (known, claiming) {
        (Some(None), _) => return Err(ClaimError::Deleted(session)),
        (None, Claiming::Existing) => return Err(ClaimError::Unknown(session)),
        (Some(Some(no)), Claiming::Existing) => no,
        // A session whose first entry never came is as good as new.
        (Some(Some(no)), Claiming::New | Claiming::Branch { .. }) => {
            if read::begun(&transaction, no).await.map_err(failed)? {
                return Err(ClaimError::Exists(session));
            }
            no
        }
        (None, Claiming::New) => make(&transaction, session, &Link::START).await.map_err(failed)?,
        (None, Claiming::Branch { from, at }) => branch(&transaction, session, from, at).await?,
    };
    let sql =
        "SELECT key, holder, claim_epoch, nodes.seen_at FROM logs LEFT JOIN nodes ON nodes.node = holder
               WHERE no = $1 FOR UPDATE OF logs";
    let row = transaction.query_one(sql, &[&no]).await.map_err(failed)?;
    let holder: Option<uuid::Uuid> = row.get("holder");
    let seen: Option<i64> = row.get("seen_at");
    if let Some(holder) = holder.filter(|holder| *holder != node.0)
        && seen.is_some_and(|seen| now.micros_since(Time(seen)) <= HEARTBEAT_MICROS_MAX)
    {
        return Err(ClaimError::Held { node: NodeId(holder) });
    }
    let epoch = Epoch(number(&row, "claim_epoch") + 1);
    let sql = "UPDATE logs SET holder = $2, claim_epoch = $3 WHERE no = $1";
    transaction.execute(sql, &[&no, &node.0, &int(epoch.0)]).await.map_err(failed)?;
    let session = SessionId(row.get("key"));
    transaction.commit().await.map_err(failed)?;
    Ok(Claim { session, node, epoch })
}

async fn make(transaction: &Transaction<'_>, session: SessionId, base: &Link) -> Result<i64, Fault> {
    let sql =
        "INSERT INTO logs (key, claim_epoch, shared_seq, words_form) VALUES ($1, $2, $3, $4) RETURNING no";
    let (epoch, shared) = (int(base.epoch.0), int(base.seq.0));
    let no: i64 = transaction.query_one(sql, &[&session.0, &epoch, &shared, &search::FORM]).await?.get(0);
    transaction.execute("INSERT INTO session_ids VALUES ($1, $2)", &[&session.0, &no]).await?;
    Ok(no)
}

/// A branch begins with a copy of what it shares, so that neither can take anything from the other.
async fn branch(
    transaction: &Transaction<'_>,
    session: SessionId,
    from: SessionId,
    at: Seq,
) -> Result<i64, ClaimError> {
    let failed = |error| ClaimError::from(failed("create a branch")(error));
    let origin = read::find(transaction, from).await.map_err(failed)?.ok_or(ClaimError::Unknown(from))?;
    let shared =
        read::stretch(transaction, origin, Seq(0), usize::try_from(at.0).unwrap_or(usize::MAX), usize::MAX)
            .await;
    let shared = shared.map_err(|error| {
        ClaimError::from(StoreError::Failed { doing: "create a branch", reason: error.to_string() })
    })?;
    let base = shared.last().filter(|entry| entry.seq == at).ok_or(ClaimError::Unknown(from))?.link();
    let no = make(transaction, session, &base).await.map_err(failed)?;
    let sql = "INSERT INTO entries SELECT $1, seq, time, epoch, hash, body FROM entries WHERE no = $2 AND seq <= $3";
    transaction.execute(sql, &[&no, &origin, &int(at.0)]).await.map_err(failed)?;
    let (mut row, mut turns) = (ListRow::new(session), TurnIndex::default());
    for entry in &shared {
        row.apply(entry);
        turns.apply(entry);
        if let Some(message) = entry.event.message() {
            notes::blobs(transaction, no, message).await.map_err(failed)?;
        }
        search::note(transaction, no, entry).await.map_err(failed)?;
    }
    notes::put_row(transaction, no, &row, notes::NO_SHELF).await.map_err(failed)?;
    for turn in turns.page(None, usize::MAX) {
        let sql = "INSERT INTO turns (no, turn, position, message, last) VALUES ($1, $2, $3, $4, $5)";
        let (id, position) = (int(turn.turn.0), int(turn.position.0));
        let (message, last) = (int(turn.message.0), int(turn.last.0));
        transaction.execute(sql, &[&no, &id, &position, &message, &last]).await.map_err(failed)?;
    }
    Ok(no)
}

/// Removes a log and all that was made from it, and keeps its ids as used.
pub(super) async fn erase(client: &mut Client, claim: Claim) -> Result<(), AppendError> {
    let failed = |error| AppendError::from(failed("delete a session")(error));
    let transaction = client.transaction().await.map_err(failed)?;
    let sql = "SELECT no, claim_epoch FROM logs WHERE key = $1 AND NOT erased FOR UPDATE";
    let row = transaction.query_opt(sql, &[&claim.session.0]).await.map_err(failed)?;
    let row = row.ok_or(AppendError::Deleted(claim.session))?;
    let current = Epoch(number(&row, "claim_epoch"));
    if current != claim.epoch {
        return Err(AppendError::Fenced { current });
    }
    let no: i64 = row.get("no");
    let sql = "SELECT blob FROM blob_uses WHERE no = $1";
    let used = transaction.query(sql, &[&no]).await.map_err(failed)?;
    let used: Vec<String> = used.iter().map(|row| row.get(0)).collect();
    blobs::remove_unused(&transaction, &used, no).await.map_err(failed)?;
    for table in
        ["entries", "keys", "open_runs", "list", "list_tags", "turns", "documents", "snapshots", "blob_uses"]
    {
        transaction.execute(&format!("DELETE FROM {table} WHERE no = $1"), &[&no]).await.map_err(failed)?;
    }
    for sql in
        ["UPDATE session_ids SET no = NULL WHERE no = $1", "UPDATE logs SET erased = TRUE WHERE no = $1"]
    {
        transaction.execute(sql, &[&no]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(|error| AppendError::Unknown { reason: error.to_string() })
}

/// Changes the row of a chat, if it still is what the caller knows.
pub(super) async fn bind(
    client: &Client,
    chat: &ChatKey,
    known: Option<Binding>,
    binding: Binding,
) -> Result<Bound, Fault> {
    let key = chat.to_text().into_bytes();
    let changed = match known {
        None => {
            let sql = "INSERT INTO chats VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            client.execute(sql, &[&key, &binding.session.0, &binding.suspended]).await?
        }
        Some(known) => {
            let sql = "UPDATE chats SET session = $2, suspended = $3
                       WHERE chat = $1 AND session = $4 AND suspended = $5";
            let (session, suspended) = (known.session.0, known.suspended);
            client.execute(sql, &[&key, &binding.session.0, &binding.suspended, &session, &suspended]).await?
        }
    };
    if changed == 1 { Ok(Bound::Yes) } else { Ok(Bound::Changed(read::binding(client, chat).await?)) }
}

/// Whether an event gives a session another id, or takes one away.
pub(super) async fn ids(transaction: &Transaction<'_>, no: i64, event: &Event) -> Result<(), Fault> {
    match event {
        Event::IdAdded { id } => {
            transaction.execute("INSERT INTO session_ids VALUES ($1, $2)", &[&id.0, &no]).await?;
        }
        Event::IdRemoved { id } => {
            transaction.execute("UPDATE session_ids SET no = NULL WHERE id = $1", &[&id.0]).await?;
        }
        _ => {}
    }
    Ok(())
}

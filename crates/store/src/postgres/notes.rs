//! What follows from entries, written with them: keys, ids, open runs, the list, turns, words and uses of blobs.

use deadpool_postgres::Transaction;
use session::{Entry, Event, Message, RunEnd, Seq, TurnId};
use tokio_postgres::types::ToSql;

use crate::Append;
use crate::catalog::{ListRow, Shelf, Touch, may_touch};

use super::{Fault, claims, int, read, search};

/// Where the row of a branch waits for its first entry: on no shelf that is listed.
pub(super) const NO_SHELF: i16 = -1;

/// Whether anything follows from an event; chunks of a run that goes on are entries and no more.
pub(super) fn concerns(event: &Event) -> bool {
    event.output_of().is_none() || may_touch(event)
}

/// Writes what follows from appends.
pub(super) async fn keep<'a>(
    transaction: &Transaction<'_>,
    appends: impl Iterator<Item = (i64, &'a Append)>,
) -> Result<(), Fault> {
    for (no, append) in appends {
        if append.entries.iter().any(|entry| may_touch(&entry.event)) {
            touch(transaction, no, append).await?;
        }
        for entry in append.entries.iter().filter(|entry| concerns(&entry.event)) {
            note(transaction, no, entry).await?;
        }
    }
    Ok(())
}

async fn touch(transaction: &Transaction<'_>, no: i64, append: &Append) -> Result<(), Fault> {
    let known = read::list_row(transaction, no).await?;
    let mut row = known.unwrap_or_else(|| ListRow::new(append.claim.session));
    let tagged = !row.tags.is_empty();
    let mut changed = false;
    for entry in &append.entries {
        changed |= row.apply(entry) == Touch::Changed;
    }
    if !changed {
        return Ok(());
    }
    if tagged {
        transaction.execute("DELETE FROM list_tags WHERE no = $1", &[&no]).await?;
    }
    put_row(transaction, no, &row, shelf_number(row.shelf())).await
}

pub(super) fn shelf_number(shelf: Shelf) -> i16 {
    match shelf {
        Shelf::Active => 0,
        Shelf::Archived => 1,
        Shelf::Trash => 2,
    }
}

/// Writes a row, and its tags, of which none are there.
pub(super) async fn put_row(
    transaction: &Transaction<'_>,
    no: i64,
    row: &ListRow,
    shelf: i16,
) -> Result<(), Fault> {
    let sql =
        "INSERT INTO list VALUES ($1, $6, $2, $3, $4, $7, $8, $5, $9, $10, $11, $12) ON CONFLICT (no) DO UPDATE SET shelf = excluded.shelf,
               active_at = excluded.active_at, owed = excluded.owed, trashed_at = excluded.trashed_at,
               project = excluded.project, row = excluded.row, live = excluded.live, needs = excluded.needs, pinned = excluded.pinned,
               undelivered = excluded.undelivered";
    // A row holds text, numbers and flags only.
    let stored = serde_json::to_string(row).unwrap_or_default();
    let (user, active_at, owed) = (row.user.0, row.active_at.0, int(row.owed));
    let (trashed_at, project) = (row.trashed_at.map(|time| time.0), row.project.map(|project| project.0));
    let (live, needs) = (row.run.is_some(), row.needs.is_some());
    let undelivered = int(row.undelivered);
    let values: [&(dyn ToSql + Sync); 12] = [
        &no,
        &shelf,
        &active_at,
        &owed,
        &stored,
        &user,
        &trashed_at,
        &project,
        &live,
        &needs,
        &row.pinned,
        &undelivered,
    ];
    transaction.execute(sql, &values).await?;
    if !row.tags.is_empty() {
        let sql = "INSERT INTO list_tags SELECT $1, tag, $2, $3, $4 FROM unnest($5::TEXT[]) AS tags (tag)";
        transaction.execute(sql, &[&user, &shelf, &active_at, &no, &row.tags]).await?;
    }
    Ok(())
}

async fn note(transaction: &Transaction<'_>, no: i64, entry: &Entry) -> Result<(), Fault> {
    if let Some((key, fingerprint)) = entry.event.key() {
        let sql = "INSERT INTO keys VALUES ($1, $2, $3, $4)";
        let (key, fingerprint) = (key.0.as_bytes(), fingerprint.0.as_slice());
        transaction.execute(sql, &[&no, &key, &int(entry.seq.0), &fingerprint]).await?;
    }
    claims::ids(transaction, no, &entry.event).await?;
    match &entry.event {
        Event::RunStarted { spool, .. } => {
            let spool = spool.map(|slot| int(slot.0));
            transaction
                .execute("INSERT INTO open_runs VALUES ($1, $2, $3)", &[&no, &int(entry.seq.0), &spool])
                .await?;
        }
        Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => {}
        Event::RunEnded { run, .. } | Event::RecoverySettled { run, .. } => {
            transaction
                .execute("DELETE FROM open_runs WHERE no = $1 AND run = $2", &[&no, &int(run.0)])
                .await?;
        }
        _ => {}
    }
    turns(transaction, no, entry).await?;
    search::note(transaction, no, entry).await
}

async fn turns(transaction: &Transaction<'_>, no: i64, entry: &Entry) -> Result<(), Fault> {
    let seq = entry.seq;
    match &entry.event {
        Event::MessagePosted { message, .. } => {
            wait(transaction, no, TurnId(seq.0), seq).await?;
            blobs(transaction, no, message).await
        }
        Event::MessageEdited { turn, message, .. } => {
            hide(transaction, no, *turn, seq).await?;
            wait(transaction, no, TurnId(seq.0), seq).await?;
            blobs(transaction, no, message).await
        }
        Event::QueuedEdited { turn, message, .. } => {
            run(transaction, "UPDATE turns SET message = $3 WHERE no = $1 AND turn = $2", no, *turn, seq)
                .await?;
            blobs(transaction, no, message).await
        }
        Event::QueuedRemoved { turn } | Event::MessageSteered { turn, .. } => {
            let sql = "DELETE FROM turns WHERE no = $1 AND turn = $2 AND position IS NULL AND $3::BIGINT > 0";
            run(transaction, sql, no, *turn, seq).await
        }
        Event::RunStarted { turn, .. } => {
            let sql =
                "UPDATE turns SET position = coalesce(position, $3), last = $3 WHERE no = $1 AND turn = $2";
            run(transaction, sql, no, *turn, seq).await
        }
        Event::RunEnded { turn, .. }
        | Event::AnswerChosen { turn, .. }
        | Event::RecoveryAttempted { turn, .. }
        | Event::RecoverySettled { turn, .. }
        | Event::RequestBilled { turn, .. } => {
            run(transaction, "UPDATE turns SET last = $3 WHERE no = $1 AND turn = $2", no, *turn, seq).await
        }
        Event::TurnsUndone { from, .. } => hide(transaction, no, *from, seq).await,
        Event::TurnsPutBack { from } => {
            let sql = "UPDATE turns SET hidden = NULL WHERE no = $1 AND $3::BIGINT > 0
                       AND hidden = (SELECT hidden FROM turns WHERE no = $1 AND turn = $2)";
            run(transaction, sql, no, *from, seq).await
        }
        Event::SessionCleared {} => {
            let sql =
                "UPDATE turns SET hidden = $2 WHERE no = $1 AND position IS NOT NULL AND hidden IS NULL";
            transaction.execute(sql, &[&no, &int(seq.0)]).await.map(drop)
        }
        _ => Ok(()),
    }
}

async fn run(transaction: &Transaction<'_>, sql: &str, no: i64, turn: TurnId, seq: Seq) -> Result<(), Fault> {
    transaction.execute(sql, &[&no, &int(turn.0), &int(seq.0)]).await.map(drop)
}

async fn wait(transaction: &Transaction<'_>, no: i64, turn: TurnId, seq: Seq) -> Result<(), Fault> {
    let sql = "INSERT INTO turns (no, turn, message, last) VALUES ($1, $2, $3, $3)";
    run(transaction, sql, no, turn, seq).await
}

async fn hide(transaction: &Transaction<'_>, no: i64, from: TurnId, by: Seq) -> Result<(), Fault> {
    let sql = "UPDATE turns SET hidden = $3 WHERE no = $1 AND hidden IS NULL
               AND position >= (SELECT position FROM turns WHERE no = $1 AND turn = $2)";
    run(transaction, sql, no, from, by).await
}

pub(super) async fn blobs(transaction: &Transaction<'_>, no: i64, message: &Message) -> Result<(), Fault> {
    for attachment in &message.attachments {
        let sql = "INSERT INTO blob_uses VALUES ($1, $2) ON CONFLICT DO NOTHING";
        transaction.execute(sql, &[&attachment.blob.0, &no]).await?;
        let sql = "DELETE FROM pending_blobs WHERE blob = $1";
        transaction.execute(sql, &[&attachment.blob.0]).await?;
    }
    Ok(())
}

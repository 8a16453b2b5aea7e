//! Attachments and the uploads that no message names yet.
//!
//! A transaction locks the row of a blob before it checks for uses, in a statement of its own, so that the check sees what
//! the previous holder of the lock committed. Rows are locked in the order of their names, so that no two transactions
//! wait for each other.

use std::collections::BTreeSet;

use deadpool_postgres::{Client, Transaction};
use session::{BlobHash, Time};

use crate::Append;

use super::Fault;

/// Uploads that expire in one transaction.
const EXPIRED_MAX: i64 = 100;

/// Stores an upload for a message to name.
pub(super) async fn put(
    client: &mut Client,
    hash: &BlobHash,
    bytes: &Vec<u8>,
    now: Time,
) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    // The update changes nothing; it locks a row that is there.
    let sql = "INSERT INTO blobs VALUES ($1, $2) ON CONFLICT (blob) DO UPDATE SET blob = excluded.blob";
    transaction.execute(sql, &[&hash.0, bytes]).await?;
    let sql = "INSERT INTO pending_blobs VALUES ($1, $2) ON CONFLICT (blob) DO UPDATE SET at = excluded.at";
    transaction.execute(sql, &[&hash.0, &now.0]).await?;
    transaction.commit().await
}

/// Locks the blobs that messages of a batch name against removal. Answers those that are stored.
pub(super) async fn hold(
    transaction: &Transaction<'_>,
    batch: &[Append],
) -> Result<BTreeSet<BlobHash>, Fault> {
    let messages = batch.iter().flat_map(|append| &append.entries).filter_map(|entry| entry.event.message());
    let named: Vec<&str> = messages
        .flat_map(|message| &message.attachments)
        .map(|attachment| attachment.blob.0.as_str())
        .collect();
    if named.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = "SELECT blob FROM blobs WHERE blob = ANY($1) ORDER BY blob FOR KEY SHARE";
    let rows = transaction.query(sql, &[&named]).await?;
    Ok(rows.iter().map(|row| BlobHash(row.get(0))).collect())
}

/// Removes those of some blobs that no log uses, other than `but`, and no upload brought for a message to come.
pub(super) async fn remove_unused(
    transaction: &Transaction<'_>,
    blobs: &[String],
    but: i64,
) -> Result<(), Fault> {
    let sql = "SELECT blob FROM blobs WHERE blob = ANY($1) ORDER BY blob FOR UPDATE";
    transaction.query(sql, &[&blobs]).await?;
    let sql = "DELETE FROM blobs WHERE blob = ANY($1)
               AND NOT EXISTS (SELECT 1 FROM blob_uses uses WHERE uses.blob = blobs.blob AND uses.no <> $2)
               AND NOT EXISTS (SELECT 1 FROM pending_blobs pending WHERE pending.blob = blobs.blob)";
    transaction.execute(sql, &[&blobs, &but]).await?;
    Ok(())
}

/// Removes some uploads from before this time that no message named, and answers how many.
pub(super) async fn expire(client: &mut Client, before: Time) -> Result<u64, Fault> {
    let transaction = client.transaction().await?;
    let sql = "DELETE FROM pending_blobs WHERE blob IN
               (SELECT blob FROM pending_blobs WHERE at < $1 ORDER BY blob LIMIT $2 FOR UPDATE) RETURNING blob";
    let rows = transaction.query(sql, &[&before.0, &EXPIRED_MAX]).await?;
    let expired: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    // No log has this number.
    remove_unused(&transaction, &expired, 0).await?;
    transaction.commit().await?;
    Ok(expired.len() as u64)
}

//! Stores attachments. They are hashed, written and synced on blocking threads of the caller, so that no commit waits for
//! them. The writing thread records each upload before its file is written, so that no file is left without an owner.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension, params};
use session::{BlobHash, Message, Time};

use crate::blob::{Blobs, hash_of};
use crate::directory::Database;
use crate::error::StoreError;

use super::erase;
use super::request::{Answer, Failure, Request, answer_with};
use super::writer::Writer;
use super::{Fault, SqliteStore};

/// Attachments written at once. More would only share the same disk.
pub(super) const BLOB_WRITERS_MAX: usize = 2;
/// Uploads that expire in one transaction.
const EXPIRED_MAX: usize = 100;

impl Blobs for SqliteStore {
    fn put_blob(&self, bytes: Vec<u8>, now: Time) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        async move {
            let failed = |reason: String| StoreError::Failed { doing: "save an attachment", reason };
            let permit = self.shared.blob_permits.acquire().await;
            let _permit = permit.map_err(|error| failed(error.to_string()))?;
            let hashed = tokio::task::spawn_blocking(move || (hash_of(&bytes), bytes)).await;
            let (blob, bytes) = hashed.map_err(|error| failed(error.to_string()))?;
            let name = blob.clone();
            self.ask(|answer| Request::Upload { blob: name, now, answer }, |dead| Err(dead.into())).await?;
            let shared = self.shared.clone();
            let put = tokio::task::spawn_blocking(move || {
                shared.blobs.put_as(&blob, &bytes)?;
                Ok::<_, Fault>(blob)
            });
            put.await.map_err(|error| failed(error.to_string()))?.map_err(|fault| failed(fault.to_string()))
        }
        .boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let shared = self.shared.clone();
        async move {
            let failed = |reason: String| StoreError::Failed { doing: "read an attachment", reason };
            let read = tokio::task::spawn_blocking(move || shared.blobs.get(&hash)).await;
            read.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
        }
        .boxed()
    }

    fn has_blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<bool, StoreError>> {
        let shared = self.shared.clone();
        async move {
            let failed = |reason: String| StoreError::Failed { doing: "look up an attachment", reason };
            let found = tokio::task::spawn_blocking(move || shared.blobs.has(&hash)).await;
            found.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
        }
        .boxed()
    }

    fn expire_uploads(&self, before: Time) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.ask(|answer| Request::ExpireUploads { before, answer }, |dead| Err(dead.into())).boxed()
    }
}

/// Records an upload that a message is to name.
pub(super) fn record(connection: &Connection, blob: &BlobHash, now: Time) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO pending_blobs (blob, at) VALUES (?, ?)")?
        .execute(params![blob.0, now.0])?;
    Ok(())
}

/// A message names its attachments: from now on they stay for its session.
pub(super) fn name(connection: &Connection, message: &Message) -> Result<(), Fault> {
    for attachment in &message.attachments {
        connection
            .prepare_cached("DELETE FROM pending_blobs WHERE blob = ?")?
            .execute([&attachment.blob.0])?;
    }
    Ok(())
}

/// Whether an upload waits for a message to name it.
pub(super) fn is_pending(connection: &Connection, blob: &BlobHash) -> Result<bool, Fault> {
    let found = connection
        .prepare_cached("SELECT 1 FROM pending_blobs WHERE blob = ?")?
        .query_row([&blob.0], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

impl Writer {
    pub(super) fn expire_uploads(&mut self, before: Time, answer: Answer<Result<u64, StoreError>>) {
        let Some(connection) = self.connection.take() else {
            return answer_with(answer, Err(self.dead().into()));
        };
        let expired = self.expire_in(&connection, before);
        self.connection = Some(connection);
        if let Err(failure) = &expired {
            self.die(failure.reason());
        }
        answer_with(answer, expired.map_err(|failure| failure.store_error()));
    }

    fn expire_in(&mut self, connection: &Connection, before: Time) -> Result<u64, Failure> {
        let failed = |fault: Fault| Failure::Before(fault.to_string());
        let expired = (|| -> Result<Vec<BlobHash>, Fault> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let mut select =
                connection.prepare_cached("SELECT blob FROM pending_blobs WHERE at < ? LIMIT ?")?;
            let old = select.query_map(params![before.0, EXPIRED_MAX], |row| row.get(0).map(BlobHash))?;
            let old: Vec<BlobHash> = old.collect::<rusqlite::Result<_>>()?;
            let mut delete = connection.prepare_cached("DELETE FROM pending_blobs WHERE blob = ?")?;
            for blob in &old {
                delete.execute([&blob.0])?;
            }
            let unused = erase::unused(connection, old.iter().cloned().collect::<BTreeSet<_>>())?;
            erase::doom(connection, &unused)?;
            fault::hit("expire.before_commit")?;
            Ok(old)
        })()
        .map_err(failed)?;
        let unknown = |fault: Fault| Failure::Unknown(fault.to_string());
        connection.execute_batch("COMMIT").map_err(|error| unknown(error.into()))?;
        self.directory.note_commit(Database::Logs, connection).map_err(unknown)?;
        fault::hit("expire.after_commit").map_err(|error| unknown(error.into()))?;
        erase::remove_doomed(connection, &self.shared.blobs).map_err(unknown)?;
        Ok(expired.len() as u64)
    }
}

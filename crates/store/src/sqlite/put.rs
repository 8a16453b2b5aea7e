//! Stores attachments. They are hashed, written and synced on blocking threads of the caller, so that no commit waits for
//! them. The writing thread only counts the uploads that a message is about to use.

use std::sync::mpsc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::BlobHash;

use crate::blob::{Blobs, hash_of};
use crate::error::StoreError;

use super::request::{Answer, Request, answer_with};
use super::writer::Writer;
use super::{Fault, SqliteStore};

/// Attachments written at once. More would only share the same disk.
pub(super) const BLOB_WRITERS_MAX: usize = 2;

/// A blob that the writing thread awaits. Dropped, it is not awaited any more.
struct PendingBlob {
    requests: mpsc::Sender<Request>,
    blob: Option<BlobHash>,
}

impl Drop for PendingBlob {
    fn drop(&mut self) {
        if let Some(blob) = self.blob.take() {
            // A send fails only when the thread is gone, and what it awaited with it.
            drop(self.requests.send(Request::DropBlob { blob }));
        }
    }
}

impl Blobs for SqliteStore {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobHash, StoreError>> {
        async move {
            let failed = |reason: String| StoreError::Failed { doing: "keep a blob", reason };
            let permit = self.shared.blob_permits.acquire().await;
            let _permit = permit.map_err(|error| failed(error.to_string()))?;
            let hashed = tokio::task::spawn_blocking(move || (hash_of(&bytes), bytes)).await;
            let (blob, bytes) = hashed.map_err(|error| failed(error.to_string()))?;
            // Before the file is looked for, so that no erase removes it in between.
            let name = blob.clone();
            let asked = self.ask(|answer| Request::AwaitBlob { blob: name, answer }, |dead| Err(dead.into()));
            let mut awaited = PendingBlob { requests: self.requests.clone(), blob: Some(blob.clone()) };
            asked.await?;
            let shared = self.shared.clone();
            let put = tokio::task::spawn_blocking(move || {
                shared.blobs.put_as(&blob, &bytes)?;
                // The blob stays pending until a message uses it, even if the caller is gone by now.
                Ok::<_, Fault>(awaited.blob.take().unwrap_or(blob))
            });
            put.await.map_err(|error| failed(error.to_string()))?.map_err(|fault| failed(fault.to_string()))
        }
        .boxed()
    }

    fn blob(&self, hash: BlobHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let shared = self.shared.clone();
        async move {
            let failed = |reason: String| StoreError::Failed { doing: "read a blob", reason };
            let read = tokio::task::spawn_blocking(move || shared.blobs.get(&hash)).await;
            read.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
        }
        .boxed()
    }
}

impl Writer {
    /// Counts a use of a blob that is to come. The caller takes it back if it fails, also when it is refused here.
    pub(super) fn await_blob(&mut self, blob: BlobHash, answer: Answer<Result<(), StoreError>>) {
        *self.fresh_blobs.entry(blob).or_default() += 1;
        let answered = if self.reserve.is_reached(&self.settings.directory) {
            let reason = "the disk is at its reserve; free some space".to_owned();
            Err(StoreError::Failed { doing: "keep a blob", reason })
        } else {
            Ok(())
        };
        answer_with(answer, answered);
    }

    /// Counts one use of a blob less that is to come.
    pub(super) fn drop_blob(&mut self, blob: &BlobHash) {
        if let Some(count) = self.fresh_blobs.get_mut(blob) {
            *count -= 1;
            if *count == 0 {
                self.fresh_blobs.remove(blob);
            }
        }
    }
}

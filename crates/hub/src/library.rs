//! What doors may look up without a session's writer: the list, search and attachments.

use session::BlobHash;

pub use store::{DocumentKind, Hit, ListQuery, ListRow, Shelf, StoreError};

use crate::hub::Hub;

impl Hub {
    /// A page of the list of sessions, latest activity first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<ListRow>, StoreError> {
        self.store().list(query).await
    }

    /// Messages and answers with all the words of `words`, newest first, at most `count`.
    ///
    /// # Errors
    /// When the store cannot be read, or search is off.
    pub async fn search(&self, words: String, count: usize) -> Result<Vec<Hit>, StoreError> {
        self.store().search(words, count).await
    }

    /// Keeps the bytes of an attachment. When this answers, they survive a power cut.
    ///
    /// # Errors
    /// When they could not be kept.
    pub async fn keep_blob(&self, bytes: Vec<u8>) -> Result<BlobHash, StoreError> {
        self.store().put_blob(bytes).await
    }

    /// The bytes of an attachment; `None` when there are none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn blob(&self, blob: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.store().blob(blob).await
    }
}

//! What doors may look up without a session's writer: the list, search and attachments.

use std::time::Duration;

use session::{BlobHash, SessionId, UserId};

pub use store::words::marks;
pub use store::{
    Counts, DocumentKind, Doing, Hit, ListQuery, ListRow, SearchCursor, SearchQuery, SearchScope, Shelf,
    StoreError, TagCount,
};

use crate::hub::Hub;

impl Hub {
    /// A page of a user's list of sessions, latest activity first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<ListRow>, StoreError> {
        self.store().list(query).await
    }

    /// A user's tags, the most used first, at most `count`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tags(&self, user: UserId, count: usize) -> Result<Vec<TagCount>, StoreError> {
        self.store().tags(user, count).await
    }

    /// The line of a session in the list.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn row(&self, session: SessionId) -> Result<Option<ListRow>, StoreError> {
        self.store().row(session).await
    }

    /// How many sessions a user has.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn counts(&self, user: UserId) -> Result<Counts, StoreError> {
        self.store().counts(user).await
    }

    /// Names, messages and answers of a user with all the words, newest first.
    ///
    /// # Errors
    /// When the store cannot be read, or search is off.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<Hit>, StoreError> {
        self.store().search(query).await
    }

    /// Whether an id leads to a session of this user.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn belongs(&self, session: SessionId, user: UserId) -> Result<bool, StoreError> {
        self.store().belongs(session, user).await
    }

    /// Stores an upload for a message to name. When this answers, it survives a power cut.
    ///
    /// # Errors
    /// When they could not be kept.
    pub async fn keep_blob(&self, bytes: Vec<u8>) -> Result<BlobHash, StoreError> {
        self.store().put_blob(bytes, self.now()).await
    }

    /// Removes uploads that no message named within `age`, and answers how many.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn expire_uploads(&self, age: Duration) -> Result<u64, StoreError> {
        let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        let before = self.now().plus_micros(micros.saturating_neg());
        let mut expired = 0;
        loop {
            match self.store().expire_uploads(before).await? {
                0 => return Ok(expired),
                count => expired += count,
            }
        }
    }

    /// The bytes of an attachment; `None` when there are none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn blob(&self, blob: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.store().blob(blob).await
    }
}

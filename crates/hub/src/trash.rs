//! What has been in the trash for long enough: found for all users, and erased if it still is there.

use std::time::Duration;

use session::{SessionId, Time};
use store::StoreError;
pub use store::Trashed;
use tokio::sync::oneshot;

use crate::error::CommandError;
use crate::hub::Hub;
use crate::input::{Input, Retire};

/// Sessions looked for in one go.
const PAGE: usize = 100;

impl Hub {
    /// Sessions that have been in the trash for `keep` or longer, those that are there longest first: a page of them,
    /// after a given one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn due_trash(
        &self,
        keep: Duration,
        after: Option<Trashed>,
    ) -> Result<Vec<Trashed>, StoreError> {
        let after = after.map(|after| (after.since, after.session));
        self.store().trashed(self.trash_end(keep), after, PAGE).await
    }

    /// Erases a session that has been in the trash for `keep` or longer. Its writer looks once more, in the order in which
    /// things are asked of it: a session that was taken out meanwhile, or is at work, stays. So does one that somebody
    /// claimed after its writer gave it up. Says whether it was erased.
    ///
    /// # Errors
    /// When that cannot be told, or the store refuses.
    pub async fn erase_due(&self, session: SessionId, keep: Duration) -> Result<bool, CommandError> {
        let mailbox = self.writer(session).await?;
        let (answer, answered) = oneshot::channel();
        let when = Retire::Trashed { until: self.trash_end(keep) };
        if mailbox.send(Input::Retire { when, answer }).await.is_err() {
            return Ok(false);
        }
        // A writer that keeps its session drops the answer.
        let Ok(given_up) = answered.await else { return Ok(false) };
        match self.erase_given_up(session, given_up).await {
            Err(CommandError::Moved) => Ok(false),
            erased => erased.map(|()| true),
        }
    }

    fn trash_end(&self, keep: Duration) -> Time {
        self.now().plus_micros(i64::try_from(keep.as_micros()).unwrap_or(i64::MAX).saturating_neg())
    }
}

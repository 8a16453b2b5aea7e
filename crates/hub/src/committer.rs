//! The one committer of a process: gathers the appends of all sessions while the previous commit is syncing, and
//! hands them to the store as one batch. When the store is dead it brings it back before anything is tried again.

use std::sync::Arc;
use std::time::Duration;

use store::{Append, AppendError, StoreError, Store};
use tokio::sync::{mpsc, oneshot, watch};

/// Appends in one batch. More would only make the first wait longer.
const BATCH_MAX: usize = 4_096;
/// First pause between two tries to bring a dead store back, doubled up to the longest.
const REVIVE_PAUSE: Duration = Duration::from_millis(50);
const REVIVE_PAUSE_MAX: Duration = Duration::from_secs(5);

type Answer = oneshot::Sender<Result<(), AppendError>>;

/// What writers hold to append.
#[derive(Debug, Clone)]
pub(crate) struct Committer {
    appends: mpsc::UnboundedSender<(Append, Answer)>,
    /// Counts how often the store came back.
    back: watch::Receiver<u64>,
}

impl Committer {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        let (appends, inbox) = mpsc::unbounded_channel();
        let (tell, back) = watch::channel(0);
        crate::spawn::spawn(commit(store, inbox, tell));
        Self { appends, back }
    }

    /// Appends and waits until it is durable or refused.
    pub(crate) async fn append(&self, append: Append) -> Result<(), AppendError> {
        let (answer, answered) = oneshot::channel();
        let gone = || AppendError::Unknown { reason: "the committer is gone".to_owned() };
        self.appends.send((append, answer)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Told each time the store came back.
    pub(crate) fn back(&self) -> watch::Receiver<u64> {
        self.back.clone()
    }
}

async fn commit(store: Arc<dyn Store>, mut inbox: mpsc::UnboundedReceiver<(Append, Answer)>, back: watch::Sender<u64>) {
    let mut gathered = Vec::new();
    while inbox.recv_many(&mut gathered, BATCH_MAX).await > 0 {
        let (batch, answers): (Vec<Append>, Vec<Answer>) = gathered.drain(..).unzip();
        let results = store.append(batch).await;
        let dead = results.iter().any(is_dead);
        for (answer, result) in answers.into_iter().zip(results) {
            // A writer that is gone needs no answer: the next one reads the log.
            drop(answer.send(result));
        }
        if dead {
            revive(store.as_ref()).await;
            back.send_modify(|count| *count += 1);
        }
    }
}

fn is_dead(result: &Result<(), AppendError>) -> bool {
    matches!(result, Err(AppendError::Unknown { .. } | AppendError::Store(StoreError::Dead(_))))
}

/// Tries until the store is back. Appends wait in the inbox meanwhile, unanswered and so unacknowledged.
async fn revive(store: &dyn Store) {
    let mut pause = REVIVE_PAUSE;
    while let Err(error) = store.revive().await {
        tracing::warn!(reason = %error, "the store is not back yet");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(REVIVE_PAUSE_MAX);
    }
}

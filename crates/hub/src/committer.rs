//! The one committer of a process: gathers the appends of all sessions while the previous commit is syncing, and
//! hands them to the store as one batch. When the store is dead it brings it back before anything is tried again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use store::{Append, AppendError, Dead, Store, StoreError, Urgency};
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// Appends in one batch. More would only make the first wait longer.
const BATCH_MAX: usize = 4_096;
/// First pause between two tries to bring a dead store back, doubled up to the longest.
const REVIVE_PAUSE: Duration = Duration::from_millis(50);
const REVIVE_PAUSE_MAX: Duration = Duration::from_millis(500);

type Answer = oneshot::Sender<Result<(), AppendError>>;

/// Why the store takes no entries at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Whether it is for want of room on the disk.
    pub full: bool,
    pub reason: String,
}

/// What writers hold to append.
#[derive(Debug, Clone)]
pub(crate) struct Committer {
    appends: mpsc::UnboundedSender<(Append, Answer)>,
    /// Told each time the store came back. All who wait are woken in the order in which they came, so that the same
    /// seed gives the same world.
    back: Arc<Notify>,
    trouble: watch::Sender<Option<Trouble>>,
}

impl Committer {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        let (appends, inbox) = mpsc::unbounded_channel();
        let (back, trouble) = (Arc::new(Notify::new()), watch::Sender::new(None));
        let committing = AssertUnwindSafe(commit(store, inbox, back.clone(), trouble.clone()));
        crate::spawn::spawn(async move {
            if committing.catch_unwind().await.is_err() {
                // Without a committer no append is answered; the next start recovers.
                tracing::error!("committer panicked, exiting");
                std::process::abort();
            }
        });
        Self { appends, back, trouble }
    }

    /// Why the store takes no entries, as that changes.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.trouble.subscribe()
    }

    /// Appends and waits until it is durable or refused.
    pub(crate) async fn append(&self, mut append: Append) -> Result<(), AppendError> {
        if fault::planted("operation_in_two_appends") && append.entries.len() > 1 {
            let rest = append.entries.split_off(1);
            let last = append.entries[0].link();
            self.send(append.clone()).await?;
            append = Append { last, entries: rest, ..append };
        }
        self.send(append).await
    }

    async fn send(&self, append: Append) -> Result<(), AppendError> {
        let (answer, answered) = oneshot::channel();
        let gone = || AppendError::Unknown { reason: "the committer exited".to_owned() };
        self.appends.send((append, answer)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Whether nothing can be appended any more: the committer goes only when the process does.
    pub(crate) fn is_gone(&self) -> bool {
        self.appends.is_closed()
    }

    /// Waits until the store comes back once more, from when this was asked.
    pub(crate) fn back(&self) -> impl Future<Output = ()> + Send + use<> {
        self.back.clone().notified_owned()
    }
}

async fn commit(
    store: Arc<dyn Store>,
    mut inbox: mpsc::UnboundedReceiver<(Append, Answer)>,
    back: Arc<Notify>,
    trouble: watch::Sender<Option<Trouble>>,
) {
    let mut gathered = Vec::new();
    while inbox.recv_many(&mut gathered, BATCH_MAX).await > 0 {
        let (batch, answers): (Vec<Append>, Vec<Answer>) = gathered.drain(..).unzip();
        // Ends and marks are taken from the reserve of a full disk: that they were kept says nothing.
        let usual: Vec<bool> = batch.iter().map(|append| append.urgency == Urgency::Normal).collect();
        let results = store.append(batch).await;
        let dead = results.iter().any(is_dead);
        let refused = results.iter().find_map(trouble_of);
        if refused.is_some() || results.iter().zip(usual).any(|(result, usual)| usual && result.is_ok()) {
            trouble.send_if_modified(|known| {
                let changed = *known != refused;
                *known = refused;
                changed
            });
        }
        for (answer, result) in answers.into_iter().zip(results) {
            // A writer that is gone needs no answer: the next one reads the log.
            drop(answer.send(result));
        }
        if dead {
            revive(store.as_ref(), &mut inbox).await;
            back.notify_waiters();
        }
    }
}

fn trouble_of(result: &Result<(), AppendError>) -> Option<Trouble> {
    let full = matches!(result, Err(AppendError::Full));
    let error = result.as_ref().err().filter(|_| full || is_dead(result))?;
    Some(Trouble { full, reason: error.to_string() })
}

fn is_dead(result: &Result<(), AppendError>) -> bool {
    matches!(result, Err(AppendError::Unknown { .. } | AppendError::Store(StoreError::Dead(_))))
}

/// Tries until the store is back. Whoever appends meanwhile is told at once that nothing was written, so that a run's
/// output can be spooled.
async fn revive(store: &dyn Store, inbox: &mut mpsc::UnboundedReceiver<(Append, Answer)>) {
    let mut pause = REVIVE_PAUSE;
    loop {
        match refusing(inbox, store.revive()).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(reason = %error, "store still unavailable, retrying"),
        }
        refusing(inbox, tokio::time::sleep(pause)).await;
        pause = (pause * 2).min(REVIVE_PAUSE_MAX);
    }
}

/// Waits for something while appends are refused.
async fn refusing<T>(
    inbox: &mut mpsc::UnboundedReceiver<(Append, Answer)>,
    wait: impl Future<Output = T>,
) -> T {
    let mut wait = std::pin::pin!(wait);
    loop {
        tokio::select! {
            biased;
            done = &mut wait => return done,
            Some((_, answer)) = inbox.recv() => {
                let dead = Dead { reason: "the store is recovering".to_owned() };
                drop(answer.send(Err(AppendError::Store(dead.into()))));
            }
        }
    }
}

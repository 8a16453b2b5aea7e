//! Reopens sessions after a transient failure: their repair at start failed, or their writer stopped with an error. Retries
//! with backoff until the session opens or the error is permanent.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use session::SessionId;
use store::Claiming;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::CommandError;
use crate::hub::Shared;
use crate::input::Input;

/// The pause before the first attempt. It doubles with each that fails.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_DOUBLINGS_MAX: u32 = 6;

/// The sessions to open again.
#[derive(Debug, Default)]
pub(crate) struct Repairs(Mutex<BTreeMap<SessionId, Due>>);

#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    attempts: u32,
    /// Whether the session failed again since the last attempt began.
    failed_again: bool,
}

impl Repairs {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Due>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules a repair if the error may pass. A session that moved belongs to another node.
    pub(crate) fn note(&self, session: SessionId, error: &CommandError) {
        if fault::planted("failed_repair_is_forgotten") || !error.may_pass() || *error == CommandError::Moved
        {
            return;
        }
        let mut sessions = self.sessions();
        let first = Due { at: Instant::now() + PAUSE, attempts: 0, failed_again: false };
        sessions.entry(session).and_modify(|due| due.failed_again = true).or_insert(first);
    }

    /// Returns the sessions to open now, and schedules the next attempt of each.
    fn due(&self) -> Vec<SessionId> {
        let now = Instant::now();
        let mut due = Vec::new();
        for (session, next) in self.sessions().iter_mut().filter(|(_, next)| next.at <= now) {
            due.push(*session);
            next.attempts += 1;
            next.failed_again = false;
            next.at = now + PAUSE * (1 << next.attempts.min(PAUSE_DOUBLINGS_MAX));
        }
        due
    }

    /// Notes that a session was opened.
    fn opened(&self, session: SessionId) {
        let mut sessions = self.sessions();
        if sessions.get(&session).is_some_and(|due| !due.failed_again) {
            sessions.remove(&session);
        }
    }
}

/// Opens the sessions that are due, without waiting for them.
pub(crate) fn repair_due(shared: &Arc<Shared>) {
    if shared.draining.load(Ordering::Acquire) {
        return;
    }
    for session in shared.repairs.due() {
        let shared = shared.clone();
        crate::spawn::spawn(async move {
            match repair(&shared, session).await {
                Err(error) if error.may_pass() && error != CommandError::Moved => {
                    tracing::warn!(%session, reason = %error, "failed to repair session, retrying");
                }
                _ => shared.repairs.opened(session),
            }
        });
    }
}

/// Opens a session's writer, which repairs it first, and waits for that.
pub(crate) async fn repair(shared: &Arc<Shared>, session: SessionId) -> Result<(), CommandError> {
    let mailbox = shared.writer_of(session, session, Claiming::Existing);
    let (answer, answered) = oneshot::channel();
    let gone = || CommandError::Unavailable { reason: "the session's writer exited".to_owned() };
    mailbox.send(Input::Open { answer }).await.map_err(|_| gone())?;
    answered.await.map_err(|_| gone())?
}

//! Notifies systemd when the server is ready, alive or stopping. Does nothing without a supervisor, as on a terminal.

use std::time::Duration;

use hub::Hub;
use sd_notify::NotifyState;
use session::{SessionId, UserId};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Time to close the store after the runs have finished.
const CLOSING: Duration = Duration::from_secs(30);

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "failed to notify the supervisor");
    }
}

/// Reports that the server accepts requests.
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Reports that the server is stopping, and how long that may take.
pub(crate) fn stopping(drain: Duration) {
    let most = u32::try_from((drain + CLOSING).as_micros()).unwrap_or(u32::MAX);
    tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(most)]);
}

/// Reports that the server is alive as long as the store answers, even while the server is stopping.
pub(crate) async fn keep_alive(hub: Hub, stop: CancellationToken) {
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let nobody = SessionId(Uuid::nil());
    while tokio::time::timeout(patience / 3, stop.cancelled()).await.is_err() {
        // A store that answers with an error is alive; one that does not answer is not.
        if tokio::time::timeout(patience / 2, hub.belongs(nobody, UserId::FIRST)).await.is_ok() {
            tell(&[NotifyState::Watchdog]);
        }
    }
}

//! What the supervisor of the machine is told: that the server is ready, that it stops, and that it is alive. Without one,
//! as on a terminal, nobody is told anything.

use std::time::Duration;

use hub::Hub;
use sd_notify::NotifyState;
use session::{SessionId, UserId};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Beyond the time that runs have, for closing the store.
const CLOSING: Duration = Duration::from_secs(30);

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the supervisor could not be told");
    }
}

/// The server takes work.
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The server stops, and takes at most so long for it.
pub(crate) fn stopping(drain: Duration) {
    let most = u32::try_from((drain + CLOSING).as_micros()).unwrap_or(u32::MAX);
    tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(most)]);
}

/// Says that the server is alive for as long as it is: a look at the store is answered. Also while it stops.
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

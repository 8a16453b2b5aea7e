//! Which sessions owe answers to chats: told as it happens to whoever brings them there, and listed for whoever was away.

use session::{Event, SessionId};
use store::StoreError;
use tokio::sync::broadcast;

use crate::changes::Missed;
use crate::hub::Hub;

/// Sessions that may wait to be heard of; whoever is further behind lists them anew.
const WAITING_MAX: usize = 4_096;

/// Whoever brings answers to chats.
pub(crate) struct Deliveries(broadcast::Sender<SessionId>);

impl Default for Deliveries {
    fn default() -> Self {
        Self(broadcast::Sender::new(WAITING_MAX))
    }
}

impl Deliveries {
    /// Tells of a session; nobody may be there to hear it.
    pub(crate) fn tell(&self, session: SessionId) {
        drop(self.0.send(session));
    }
}

/// Whether with an event something is owed to a chat.
pub(crate) fn owes(event: &Event) -> bool {
    matches!(event, Event::DeliveryOwed { .. })
}

/// Hears of sessions that owe something to a chat from now on.
#[derive(Debug)]
pub struct OwingFollower(broadcast::Receiver<SessionId>);

impl OwingFollower {
    /// The next session. May be dropped while it waits without losing anything.
    ///
    /// # Errors
    /// When some were missed: list them anew.
    pub async fn next(&mut self) -> Result<SessionId, Missed> {
        self.0.recv().await.map_err(|_| Missed)
    }
}

impl Hub {
    /// Hears of sessions that owe something to a chat from now on.
    pub fn follow_owing(&self) -> OwingFollower {
        OwingFollower(self.deliveries().0.subscribe())
    }

    /// Sessions that owe something to a chat now.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn undelivered(&self) -> Result<Vec<SessionId>, StoreError> {
        self.store().undelivered().await
    }
}

//! A clock that goes as the machine's does, plus what a test adds to it.

use std::sync::atomic::{AtomicI64, Ordering};

use hub::{Clock, SystemClock};
use session::{NodeId, SessionId, Time};

/// The machine's clock, moved by hand.
#[derive(Debug, Default)]
pub struct HandClock {
    added_micros: AtomicI64,
}

impl HandClock {
    /// Lets time pass at once.
    pub fn advance(&self, micros: i64) {
        self.added_micros.fetch_add(micros, Ordering::AcqRel);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Time {
        SystemClock.now().plus_micros(self.added_micros.load(Ordering::Acquire))
    }

    fn session_id(&self) -> SessionId {
        SystemClock.session_id()
    }

    fn node_id(&self) -> NodeId {
        SystemClock.node_id()
    }
}

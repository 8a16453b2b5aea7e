//! A clock that goes as the machine's does, plus what a test adds to it. It never gives the same time twice, so that
//! the entries of one decision are known by their time, and goes back only when a test turns it back.

use std::sync::atomic::{AtomicI64, Ordering};

use hub::{Clock, SystemClock};
use session::{NodeId, SessionId, Time};

/// The machine's clock, moved by hand.
#[derive(Debug, Default)]
pub struct HandClock {
    added_micros: AtomicI64,
    given: AtomicI64,
}

impl HandClock {
    /// Lets time pass at once.
    pub fn advance(&self, micros: i64) {
        self.added_micros.fetch_add(micros, Ordering::AcqRel);
    }

    /// Turns the clock back, as a time server does when the clock was ahead.
    pub fn turn_back(&self, micros: i64) {
        self.added_micros.fetch_sub(micros, Ordering::AcqRel);
        self.given.fetch_sub(micros, Ordering::AcqRel);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Time {
        let now = SystemClock.now().plus_micros(self.added_micros.load(Ordering::Acquire));
        let later = |given: i64| Some(now.0.max(given + 1));
        let given = self.given.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        Time(given.map_or(now.0, |given| now.0.max(given + 1)))
    }

    fn session_id(&self) -> SessionId {
        SystemClock.session_id()
    }

    fn node_id(&self) -> NodeId {
        SystemClock.node_id()
    }
}

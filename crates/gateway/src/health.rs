//! How a platform is, for whoever looks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How receiving goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It was not heard of yet.
    Starting,
    Receiving,
    Away {
        reason: String,
    },
    /// Another process receives with the same credentials.
    Elsewhere {
        reason: String,
    },
    Unauthorized {
        reason: String,
    },
}

impl State {
    /// The state in one word, and why.
    pub fn told(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Starting => ("starting", None),
            Self::Receiving => ("receiving", None),
            Self::Away { reason } => ("away", Some(reason)),
            Self::Elsewhere { reason } => ("elsewhere", Some(reason)),
            Self::Unauthorized { reason } => ("unauthorized", Some(reason)),
        }
    }
}

/// How a platform is and was since the start.
#[derive(Debug)]
pub(crate) struct Health {
    state: Mutex<State>,
    received: AtomicU64,
    sent: AtomicU64,
    repeated: AtomicU64,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            state: Mutex::new(State::Starting),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        }
    }
}

impl Health {
    pub(crate) fn is(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Whether it was not heard of since the start, or since it went away.
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*state, State::Starting | State::Away { .. })
    }

    pub(crate) fn received(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn told(&self, name: &str, kind: &'static str) -> PlatformHealth {
        PlatformHealth {
            name: name.to_owned(),
            kind,
            state: self.state.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            received: self.received.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            repeated: self.repeated.load(Ordering::Relaxed),
        }
    }
}

/// How a platform is, in numbers since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformHealth {
    pub name: String,
    pub kind: &'static str,
    pub state: State,
    /// Events of people who are let in.
    pub received: u64,
    /// Messages that arrived.
    pub sent: u64,
    /// Messages that were sent again, because it is not known whether they arrived.
    pub repeated: u64,
}

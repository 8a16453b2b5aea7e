//! The only place that reads the time or makes an id.

use std::time::{SystemTime, UNIX_EPOCH};

use session::{NodeId, SessionId, Time};
use uuid::Uuid;

/// Where time and ids come from.
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Time;

    /// A session id that was never given before.
    fn session_id(&self) -> SessionId;

    /// An id for this process as a writer.
    fn node_id(&self) -> NodeId;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time and makes ids")]
impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn session_id(&self) -> SessionId {
        SessionId(Uuid::now_v7())
    }

    fn node_id(&self) -> NodeId {
        NodeId(Uuid::now_v7())
    }
}

impl SystemClock {
    /// An id that was never given before, for anything else.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that makes ids")]
    pub fn id(self) -> Uuid {
        Uuid::now_v7()
    }
}

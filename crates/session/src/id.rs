//! Identifiers and numbers: newtypes, nothing else.
//!
//! Ids inside a session are the `seq` of the entry that made the thing, so they need no counter and no randomness.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// An entry's position in its log: 1, 2, 3 … without gaps, never reused. 0 is the empty log.
    Seq(u64)
);
number!(
    /// A turn's ID: the `seq` of the entry that posted its message.
    TurnId(u64)
);
number!(
    /// A run's ID: the `seq` of the entry that started it.
    RunId(u64)
);
number!(
    /// A tool call's number within its run, in the order of the calls.
    CallNo(u32)
);
number!(
    /// The number of a claim. Appends with an old epoch are rejected.
    Epoch(u64)
);
number!(
    /// Microseconds since the Unix epoch.
    Time(i64)
);
number!(
    /// A spool slot: a preallocated file used by one run at a time. It also names the spool, because each node has its
    /// own: a journal missing here may exist on another node.
    SlotNo(u64)
);

impl SlotNo {
    /// Bits of the slot's number within its spool; the rest tells spools apart. Together they are a whole number that
    /// every reader of JSON can hold.
    const NO_BITS: u32 = u16::BITS;
    /// The highest identity of a spool.
    pub const SPOOL_MAX: u64 = (1 << (53 - Self::NO_BITS)) - 1;

    /// A slot of a spool.
    pub fn new(spool: u64, no: u16) -> Self {
        Self((spool & Self::SPOOL_MAX) << Self::NO_BITS | u64::from(no))
    }

    /// Which spool it belongs to.
    pub fn spool(self) -> u64 {
        self.0 >> Self::NO_BITS
    }

    /// Its number there.
    pub fn no(self) -> u16 {
        // The mask leaves no more than fit.
        u16::try_from(self.0 & u64::from(u16::MAX)).unwrap_or(u16::MAX)
    }
}

impl Seq {
    /// The next position.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Time {
    /// This time, `micros` later.
    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Microseconds since an earlier time; 0 when the clock went backwards.
    #[must_use]
    pub fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id!(
    /// A session ID. A session can have several IDs for the same log.
    SessionId
);
uuid_id!(
    /// Names one server process in the store's eyes, made anew at each start.
    NodeId
);

uuid_id!(
    /// A user's ID. Data from before multi-user support belongs to the first user.
    UserId
);

uuid_id!(
    /// A project's ID.
    ProjectId
);

impl UserId {
    /// The person who set the server up.
    pub const FIRST: Self = Self(Uuid::nil());

    /// Whether this is the person who set the server up.
    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }
}

impl Default for UserId {
    fn default() -> Self {
        Self::FIRST
    }
}

/// The caller's idempotency key: the same key and body return the same result. It doesn't expire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct MessageKey(pub String);

/// The owner of memory for completed turns: a provider, account and agent instance, from which the connection can be
/// re-established at any time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Owner(pub String);

/// The SHA-256 of an attachment's bytes, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct BlobHash(pub String);

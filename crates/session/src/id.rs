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
    /// An entry's position in its log: 1, 2, 3 … without gap, never reused. 0 is the empty log.
    Seq(u64)
);
number!(
    /// A turn: the `seq` of the entry that posted its message.
    TurnId(u64)
);
number!(
    /// A run: the `seq` of the entry that started it.
    RunId(u64)
);
number!(
    /// A call's number within its run, given by the agent in the order of asking.
    CallNo(u32)
);
number!(
    /// The number of a claim; an append with an old epoch is refused.
    Epoch(u64)
);
number!(
    /// Microseconds since the Unix epoch.
    Time(i64)
);
number!(
    /// A spool slot: one preallocated file lent to one run at a time. It names the spool too, because each node has its
    /// own: a journal that is not here may be elsewhere.
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
    /// Names a session. A session may have several; each leads to the same log.
    SessionId
);
uuid_id!(
    /// Names one server process in the store's eyes, made anew at each start.
    NodeId
);

uuid_id!(
    /// Names a person who uses the server. What was made before there were several belongs to the first.
    UserId
);

uuid_id!(
    /// Names a project of a user: what sessions can stand in.
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

/// The caller's idempotency key: the same key and body give the same answer, without expiry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct MessageKey(pub String);

/// Who is owed memory of completed turns: provider, account and agent instance, from which the live handle can be made
/// again at any time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Owner(pub String);

/// A blob's name: the SHA-256 of its bytes, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct BlobHash(pub String);

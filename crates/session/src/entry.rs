//! One line of a log: an event with its number, time, writer's epoch and a hash chained to its predecessor.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::event::Event;
use crate::id::{Epoch, Seq, Time};
use crate::upcast;

/// A link of the hash chain: the first 16 bytes of the SHA-256 over the previous link and this entry.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Hash(pub [u8; 16]);

impl Hash {
    /// The link before the first entry.
    pub const START: Self = Self([0; 16]);

    /// The link of an entry after this one.
    #[must_use]
    pub fn next(&self, seq: Seq, time: Time, epoch: Epoch, body: &str) -> Self {
        let mut sha = Sha256::new();
        let mut head = [0_u8; 40];
        head[..16].copy_from_slice(&self.0);
        head[16..24].copy_from_slice(&seq.0.to_le_bytes());
        head[24..32].copy_from_slice(&time.0.to_le_bytes());
        head[32..].copy_from_slice(&epoch.0.to_le_bytes());
        sha.update(head);
        sha.update(body.as_bytes());
        let digest = sha.finalize();
        let mut link = [0; 16];
        link.copy_from_slice(&digest[..16]);
        Self(link)
    }
}

/// Bytes as one writes them down.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// One entry. Never changed once durable; `body` are the stored bytes, `event` is what they mean today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    pub time: Time,
    pub epoch: Epoch,
    pub hash: Hash,
    pub body: Arc<str>,
    pub event: Event,
}

/// Why stored bytes are not the entry they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("found entry {found} instead of entry {expected}")]
    OutOfOrder { expected: Seq, found: Seq },
    #[error("entry {seq} doesn't match the hash chain: its bytes or earlier ones changed")]
    ChainBroken { seq: Seq },
    #[error("the epoch decreases at entry {seq}")]
    EpochFell { seq: Seq },
    #[error("failed to decode entry {seq}: {error}")]
    Unreadable { seq: Seq, error: String },
}

/// A position in a log: the entry that the next one must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Link {
    pub seq: Seq,
    pub epoch: Epoch,
    pub hash: Hash,
}

impl Link {
    /// The end of an empty log.
    pub const START: Self = Self { seq: Seq(0), epoch: Epoch(0), hash: Hash::START };
}

impl Entry {
    /// Makes the entry that follows `last`.
    pub fn seal(last: &Link, time: Time, epoch: Epoch, event: Event) -> Self {
        let seq = last.seq.next();
        let body: Arc<str> = upcast::encode(&event).into();
        let hash = last.hash.next(seq, time, epoch, &body);
        Self { seq, time, epoch, hash, body, event }
    }

    /// Reads a stored entry and checks that it follows `last`.
    ///
    /// # Errors
    /// When number, epoch, chain or bytes are not what they must be.
    pub fn open(
        last: &Link,
        seq: Seq,
        time: Time,
        epoch: Epoch,
        body: impl Into<Arc<str>>,
        stored: Option<Hash>,
    ) -> Result<Self, Damage> {
        if seq != last.seq.next() {
            return Err(Damage::OutOfOrder { expected: last.seq.next(), found: seq });
        }
        if epoch < last.epoch {
            return Err(Damage::EpochFell { seq });
        }
        let body = body.into();
        let hash = last.hash.next(seq, time, epoch, &body);
        if stored.is_some_and(|stored| stored != hash) {
            return Err(Damage::ChainBroken { seq });
        }
        let event =
            upcast::decode(&body).map_err(|error| Damage::Unreadable { seq, error: error.to_string() })?;
        Ok(Self { seq, time, epoch, hash, body, event })
    }

    /// What the next entry must follow.
    pub fn link(&self) -> Link {
        Link { seq: self.seq, epoch: self.epoch, hash: self.hash }
    }
}

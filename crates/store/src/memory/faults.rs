//! The switches that make the reference store fail, the way a disk or a database would.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session::{Damage, Entry, Seq, SessionId};

use crate::error::{Dead, ReadError};

/// A handle to the switches of one store. Clones turn the same switches.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Switches>>);

#[derive(Debug, Default)]
struct Switches {
    outage: bool,
    full: bool,
    /// A sync failed; nothing is written until the store was revived.
    dead: bool,
    next: Option<Next>,
    /// Where the log of a session stops being readable.
    damaged: BTreeMap<SessionId, Seq>,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    LoseAnswer,
    Vanish,
    FailSync,
}

/// What becomes of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    /// It is durable, and nobody is told.
    AnswerLost,
    /// It is not durable, and nobody is told.
    Vanishes,
}

/// What there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    All,
    Essential,
}

impl Faults {
    /// Refuses everything that writes, as if the disk were gone, until [`Self::end_outage`].
    pub fn begin_outage(&self) {
        self.switches().outage = true;
    }

    /// Lets everything be written again.
    pub fn end_outage(&self) {
        self.switches().outage = false;
    }

    /// Brings the disk to its reserve: only what is essential is taken, until [`Self::free_disk`].
    pub fn fill_disk(&self) {
        self.switches().full = true;
    }

    /// Makes room again.
    pub fn free_disk(&self) {
        self.switches().full = false;
    }

    /// Makes the next append durable and answers that this is not known.
    pub fn lose_next_answer(&self) {
        self.switches().next = Some(Next::LoseAnswer);
    }

    /// Writes nothing of the next append and answers that this is not known.
    pub fn drop_next_append(&self) {
        self.switches().next = Some(Next::Vanish);
    }

    /// Fails the sync of the next append: nothing of it is durable, that is not known, and the store is dead until it
    /// was revived.
    pub fn fail_next_sync(&self) {
        self.switches().next = Some(Next::FailSync);
    }

    /// Makes a session's log unreadable after entry `intact`. `session` is the id that readers use.
    pub fn damage(&self, session: SessionId, intact: Seq) {
        self.switches().damaged.insert(session, intact);
    }

    pub(super) fn alive(&self) -> Result<(), Dead> {
        let switches = self.switches();
        match (switches.outage, switches.dead) {
            (true, _) => Err(Dead { reason: "the disk is gone".to_owned() }),
            (false, true) => Err(Dead { reason: "a sync failed".to_owned() }),
            (false, false) => Ok(()),
        }
    }

    pub(super) fn revive(&self) -> Result<(), Dead> {
        self.switches().dead = false;
        self.alive()
    }

    /// What the next append may do and how it ends; asked once for each.
    pub(super) fn next_append(&self) -> Result<(Permission, Ending), Dead> {
        self.alive()?;
        let mut switches = self.switches();
        let permission = if switches.full { Permission::Essential } else { Permission::All };
        let ending = match switches.next.take() {
            None => Ending::Answered,
            Some(Next::LoseAnswer) => Ending::AnswerLost,
            Some(Next::Vanish) => Ending::Vanishes,
            Some(Next::FailSync) => {
                switches.dead = true;
                Ending::Vanishes
            }
        };
        Ok((permission, ending))
    }

    /// Cuts what was read after `after` where the session is damaged.
    pub(super) fn damaged(
        &self,
        session: SessionId,
        after: Seq,
        mut entries: Vec<Entry>,
    ) -> Result<Vec<Entry>, ReadError> {
        let Some(intact) = self.switches().damaged.get(&session).copied() else { return Ok(entries) };
        let asked = !entries.is_empty();
        entries.retain(|entry| entry.seq <= intact);
        if asked && entries.is_empty() {
            return Err(ReadError::Damaged {
                intact: after,
                damage: Damage::ChainBroken { seq: after.next() },
            });
        }
        Ok(entries)
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

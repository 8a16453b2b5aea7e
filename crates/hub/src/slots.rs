//! The spool slots of a writer's runs. A slot is lent for a run that is about to start. It returns by itself unless the
//! run's first entry is in the log, or may be.

use std::sync::Arc;

use session::{RunId, Session, SessionId, SlotNo};

use crate::spool::Spool;
use crate::writer::Writer;

/// A slot for a run whose first entry is not durable yet. Dropped, it can be lent again.
#[derive(Debug)]
pub(crate) struct LentSlot {
    spool: Arc<Spool>,
    slot: SlotNo,
    returns: bool,
}

impl LentSlot {
    /// Lends a slot, if one is free.
    pub(crate) fn of(spool: &Arc<Spool>) -> Option<Self> {
        Some(Self { slot: spool.lend()?, spool: spool.clone(), returns: true })
    }

    pub(crate) fn slot(&self) -> SlotNo {
        self.slot
    }

    /// Reserves the slot for a session whose log names it, or may name it.
    fn keep(mut self, session: SessionId) {
        self.returns = false;
        self.spool.reserve(self.slot, session);
    }
}

impl Drop for LentSlot {
    fn drop(&mut self) {
        if self.returns {
            self.spool.give_back(self.slot);
        }
    }
}

/// The slots that runs of a session name whose output may still be in them.
pub(crate) fn lent_slots(state: &Session) -> Vec<(RunId, SlotNo)> {
    let open = state.open().map(|(_, run)| (run.id, run.spool));
    let recovering = state.recovering.iter().map(|recovering| (recovering.run, recovering.spool));
    open.into_iter().chain(recovering).filter_map(|(run, slot)| Some((run, slot?))).collect()
}

/// Releases the slots that were reserved for a session and that its log does not name: an append of its last writer had no
/// answer and was not durable, or a slot could not be cleared.
pub(crate) async fn release_unnamed(spool: &Arc<Spool>, session: SessionId, named: &[(RunId, SlotNo)]) {
    if fault::planted("reserved_slot_is_lost") {
        return;
    }
    let mut unnamed = spool.reserved_for(session);
    unnamed.retain(|slot| !named.iter().any(|(_, named)| named == slot));
    if unnamed.is_empty() {
        return;
    }
    let release = move |spool: &Spool| unnamed.into_iter().try_for_each(|slot| spool.release(slot, session));
    if let Err(error) = spool.work(release).await.flatten() {
        tracing::warn!(%session, %error, "failed to release spool slots");
    }
}

impl Writer {
    /// The first entry of a run is durable, and names its slot.
    pub(crate) fn keep_slot(&mut self, run: RunId, slot: Option<SlotNo>) {
        let Some(slot) = slot else { return };
        let session = self.session;
        self.batch.lent.extract_if(.., |lent| lent.slot == slot).for_each(|lent| lent.keep(session));
        self.slots.push((run, slot));
    }

    /// Reserves the slots of the batch, because the log may name them. If it does not, the next writer of the session
    /// releases them.
    pub(crate) fn keep_slots_in_doubt(&mut self) {
        let session = self.session;
        if fault::planted("slot_is_lent_twice") {
            return self.batch.lent.clear();
        }
        self.batch.lent.drain(..).for_each(|lent| lent.keep(session));
    }

    /// Releases the slot of a run that is over.
    pub(crate) fn free_slot(&mut self, run: RunId) {
        let Some(at) = self.slots.iter().position(|(of, _)| *of == run) else { return };
        let (_, slot) = self.slots.swap_remove(at);
        if let Err(error) = self.shared.spool.release(slot, self.session) {
            tracing::warn!(%slot, %error, "spool slot not released yet");
        }
    }

    /// The run whose output can be caught, and its slot.
    pub(crate) fn spooling(&self) -> Option<(SessionId, RunId, SlotNo)> {
        let worker = self.worker.as_ref()?;
        let run = self.state.turns.iter().rev().find_map(|turn| turn.run(worker.run))?;
        Some((self.session, run.id, run.spool?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::SlotDirectory;

    const SESSION: SessionId = SessionId(uuid::Uuid::from_u128(1));
    const OTHER: SessionId = SessionId(uuid::Uuid::from_u128(2));

    #[test]
    fn a_slot_returns_unless_the_log_may_name_it() {
        let directory = tempfile::tempdir().expect("make a directory");
        let spool = Arc::new(Spool::new(Arc::new(SlotDirectory(directory.path().join("spool")))));
        spool.find_slots(1).expect("look for slots");
        spool.grow(1).expect("make a slot");
        let lend = || LentSlot::of(&spool);
        let lent = lend().expect("a slot is free");
        assert!(lend().is_none());
        drop(lent);
        lend().expect("the slot returned").keep(SESSION);
        assert!(lend().is_none(), "the log may name it");
        let [kept] = spool.reserved_for(SESSION)[..] else { panic!("one slot is reserved") };
        spool.release(kept, OTHER).expect("clear it");
        assert!(lend().is_none(), "another session releases nothing");
        spool.release(kept, SESSION).expect("clear it");
        let again = lend().expect("the slot was released");
        spool.release(kept, SESSION).expect("clear it");
        assert!(lend().is_none(), "a slot is released once");
        drop(again);
    }

    #[test]
    fn a_slot_that_could_not_be_cleared_is_released_later() {
        let directory = tempfile::tempdir().expect("make a directory");
        let folder = directory.path().join("spool");
        let spool = Arc::new(Spool::new(Arc::new(SlotDirectory(folder.clone()))));
        spool.find_slots(1).expect("look for slots");
        spool.grow(1).expect("make a slot");
        let lent = LentSlot::of(&spool).expect("a slot is free");
        let slot = lent.slot();
        lent.keep(SESSION);
        let away = directory.path().join("away");
        std::fs::rename(&folder, &away).expect("take the disk away");
        spool.release(slot, SESSION).expect_err("the disk is away");
        assert!(spool.has_unreleased());
        spool.retry_releases().expect_err("the disk is still away");
        std::fs::rename(&away, &folder).expect("bring the disk back");
        spool.retry_releases().expect("release it");
        assert!(!spool.has_unreleased());
        assert_eq!(spool.lend(), Some(slot));
    }
}

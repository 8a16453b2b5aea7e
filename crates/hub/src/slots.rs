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

    /// The log names the slot, or may do so: it does not return by itself.
    fn keep(mut self) {
        self.returns = false;
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

impl Writer {
    /// The first entry of a run is durable, and names its slot.
    pub(crate) fn keep_slot(&mut self, run: RunId, slot: Option<SlotNo>) {
        let Some(slot) = slot else { return };
        self.batch.lent.extract_if(.., |lent| lent.slot == slot).for_each(LentSlot::keep);
        self.slots.push((run, slot));
    }

    /// Keeps the slots of the batch, because the log may name them. If it does not, the next start frees them.
    pub(crate) fn keep_slots_in_doubt(&mut self) {
        self.batch.lent.drain(..).for_each(LentSlot::keep);
    }

    /// Lets the slot of a run that is over be lent again. One that cannot be cleared stays out of use.
    pub(crate) fn free_slot(&mut self, run: RunId) {
        let Some(at) = self.slots.iter().position(|(of, _)| *of == run) else { return };
        let (_, slot) = self.slots.swap_remove(at);
        match self.shared.spool.clear(slot) {
            Ok(()) => self.shared.spool.give_back(slot),
            Err(error) => tracing::warn!(%slot, %error, "a spool slot stays out of use"),
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
        lend().expect("the slot returned").keep();
        assert!(lend().is_none(), "the log may name it");
    }
}

//! The slots of a node, as a disk keeps them: what was synced survives a power cut, and for a while none can be seen.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub::{Access, SlotFile, SlotMedium};
use session::SlotNo;
use tokio::time::Instant;

/// How long a look at a slot may have been under way.
const SEEN_LATELY: Duration = Duration::from_secs(5);

/// The slots of one node: what was synced survives a power cut, what was not may not.
#[derive(Debug, Default)]
pub(crate) struct SimSlots {
    identity: Mutex<Option<u64>>,
    slots: Mutex<BTreeMap<u16, Arc<Mutex<Slot>>>>,
    /// Since when they cannot be seen.
    away: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Slot {
    size_bytes: u64,
    synced: Vec<u8>,
    written: Vec<u8>,
}

impl SimSlots {
    fn slots(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Mutex<Slot>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what was not synced.
    pub(crate) fn lose_power(&self) {
        for slot in self.slots().values() {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.written = slot.synced.clone();
        }
    }

    fn away(&self) -> MutexGuard<'_, Option<Instant>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hides them, or shows them again.
    pub(crate) fn hide(&self, away: bool) {
        let mut since = self.away();
        *since = away.then(|| since.unwrap_or_else(Instant::now));
    }

    /// Whether a slot is one of these, and was to be seen lately.
    pub(super) fn could_be_seen(&self, slot: Option<SlotNo>) -> bool {
        let identity = *self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let own = slot.is_none_or(|slot| Some(slot.spool()) == identity);
        own && self.away().is_none_or(|since| since.elapsed() < SEEN_LATELY)
    }

    fn seen(&self) -> io::Result<()> {
        if self.away().is_some() { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
    }
}

impl SlotMedium for SimSlots {
    fn identity(&self, fresh: u64) -> io::Result<u64> {
        Ok(*self.identity.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fresh))
    }

    fn made(&self) -> io::Result<u16> {
        Ok(self.slots().keys().next_back().copied().unwrap_or(0))
    }

    fn make(&self, no: u16, size_bytes: u64) -> io::Result<()> {
        self.slots()
            .entry(no)
            .or_insert_with(|| Arc::new(Mutex::new(Slot { size_bytes, ..Slot::default() })));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, no: u16, _: Access) -> io::Result<Box<dyn SlotFile>> {
        self.seen()?;
        let found = self.slots().get(&no).cloned();
        Ok(Box::new(OpenSlot(found.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn blocks(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct OpenSlot(Arc<Mutex<Slot>>);

impl OpenSlot {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotFile for OpenSlot {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.slot().size_bytes)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let slot = self.slot();
        let (at, size) = (usize::try_from(at).unwrap_or(0), usize::try_from(slot.size_bytes).unwrap_or(0));
        // What was never written is not kept: the rest of a slot is zeros.
        let count = bytes.len().min(slot.written.len().max(64).min(size).saturating_sub(at));
        for (offset, byte) in bytes[..count].iter_mut().enumerate() {
            *byte = slot.written.get(at + offset).copied().unwrap_or(0);
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut slot = self.slot();
        let at = usize::try_from(at).unwrap_or(0);
        let end = at + bytes.len();
        if slot.written.len() < end {
            slot.written.resize(end, 0);
        }
        slot.written[at..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut slot = self.slot();
        slot.synced = slot.written.clone();
        Ok(())
    }
}

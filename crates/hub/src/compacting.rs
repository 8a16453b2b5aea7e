//! Sessions that are being compacted on request, so that no session is compacted twice at the same time.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use session::SessionId;

#[derive(Debug, Default)]
pub(crate) struct Compacting(Mutex<BTreeSet<SessionId>>);

impl Compacting {
    /// Marks a session as being compacted until the guard is dropped. Returns `None` if it already is.
    pub(crate) fn enter(&self, session: SessionId) -> Option<CompactingGuard<'_>> {
        let entered = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
        entered.then_some(CompactingGuard { compacting: self, session })
    }
}

/// Leaves the session when it is dropped.
#[derive(Debug)]
pub(crate) struct CompactingGuard<'a> {
    compacting: &'a Compacting,
    session: SessionId,
}

impl Drop for CompactingGuard<'_> {
    fn drop(&mut self) {
        self.compacting.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.session);
    }
}

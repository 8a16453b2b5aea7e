//! The map from session to writer in one process.

use std::collections::BTreeMap;

use session::SessionId;
use tokio::sync::mpsc;

use crate::input::Input;

/// Writers by the id under which their log was made, and the other ids that lead to them.
#[derive(Default)]
pub(crate) struct Registry {
    writers: BTreeMap<SessionId, mpsc::Sender<Input>>,
    /// Ids that lead to a log, by the id under which it was made. Only a log's writer says so: whoever looked an id
    /// up may come too late.
    names: BTreeMap<SessionId, SessionId>,
}

impl Registry {
    /// The living writer that an id leads to.
    pub(crate) fn find(&self, id: SessionId) -> Option<mpsc::Sender<Input>> {
        self.serving(*self.names.get(&id)?).cloned()
    }

    /// The living writer of a log, by the id under which it was made.
    pub(crate) fn serving(&self, session: SessionId) -> Option<&mpsc::Sender<Input>> {
        self.writers.get(&session).filter(|writer| !writer.is_closed() && !fault::planted("two_writers"))
    }

    /// The writer of a log, or a place for a new one.
    pub(crate) fn find_or_insert(
        &mut self,
        session: SessionId,
        make: impl FnOnce() -> mpsc::Sender<Input>,
    ) -> mpsc::Sender<Input> {
        if let Some(writer) = self.serving(session) {
            return writer.clone();
        }
        let writer = make();
        self.writers.insert(session, writer.clone());
        writer
    }

    /// Takes a writer out, unless another took its place already.
    pub(crate) fn remove(&mut self, session: SessionId, writer: &mpsc::Sender<Input>) {
        if self.writers.get(&session).is_some_and(|current| current.same_channel(writer)) {
            self.writers.remove(&session);
            self.names.retain(|_, to| *to != session);
        }
    }

    /// An id leads to a log from now on.
    pub(crate) fn lead(&mut self, id: SessionId, session: SessionId) {
        self.names.insert(id, session);
    }

    /// An id leads nowhere any more.
    pub(crate) fn forget(&mut self, id: SessionId) {
        self.names.remove(&id);
    }

    /// Every living writer.
    pub(crate) fn writers(&self) -> Vec<(SessionId, mpsc::Sender<Input>)> {
        self.writers.iter().map(|(session, writer)| (*session, writer.clone())).collect()
    }
}

//! Reads a session's state from the store: a snapshot and what followed it, never the whole history.

use session::{Entry, Link, Seq, Session, SessionId};
use store::{Opened, ReadError, Store};

use crate::error::CommandError;
use crate::spool::Look;

/// Entries read in one go.
pub(crate) const PAGE: usize = 8_192;
/// Entries read in one go when a few turns are wanted: as many as the store reads anyway to find one.
const STRETCH: usize = 2_048;

/// A state and how it was reached.
pub(crate) struct Loaded {
    pub(crate) state: Session,
    /// Entries folded on top of the snapshot.
    pub(crate) folded: u64,
}

/// Loads the state at the end of the log.
pub(crate) async fn load(store: &dyn Store, session: SessionId) -> Result<Loaded, CommandError> {
    let Opened { session, end, snapshot } = store.open(session).await?;
    let mut state = snapshot
        .and_then(|snapshot| Session::from_bytes(&snapshot.state).filter(|state| state.link == snapshot.at))
        .unwrap_or_default();
    let from = state.head();
    fold_until(store, session, &mut state, end.seq).await?;
    state.resume.take_if(|_| fault::planted("restart_forgets_marks"));
    Ok(Loaded { folded: state.head().0 - from.0, state })
}

/// Loads the state as it was after entry `at`.
pub(crate) async fn load_until(
    store: &dyn Store,
    session: SessionId,
    at: Seq,
) -> Result<Session, CommandError> {
    let Opened { session, snapshot, .. } = store.open(session).await?;
    let mut state = snapshot
        .filter(|snapshot| snapshot.at.seq <= at)
        .and_then(|snapshot| Session::from_bytes(&snapshot.state).filter(|state| state.link == snapshot.at))
        .unwrap_or_default();
    fold_until(store, session, &mut state, at).await?;
    Ok(state)
}

async fn fold_until(
    store: &dyn Store,
    session: SessionId,
    state: &mut Session,
    end: Seq,
) -> Result<(), CommandError> {
    while state.head() < end {
        let left = usize::try_from(end.0 - state.head().0).unwrap_or(usize::MAX);
        let entries = store.read(session, state.head(), left.min(PAGE)).await?;
        if entries.is_empty() {
            return Err(CommandError::Damaged { intact: state.head() });
        }
        entries.iter().for_each(|entry| session::fold(state, entry));
    }
    Ok(())
}

/// Reads ranges of a log that lie near each other, each stretch once.
pub(crate) struct Stretches<'a> {
    store: &'a dyn Store,
    session: SessionId,
    /// What was read last, consecutive.
    stretch: Vec<Entry>,
    bytes_added: usize,
}

impl<'a> Stretches<'a> {
    pub(crate) fn new(store: &'a dyn Store, session: SessionId) -> Self {
        Self { store, session, stretch: Vec::new(), bytes_added: 0 }
    }

    /// Adds the entries after `after` up to and including `end`.
    pub(crate) async fn add(
        &mut self,
        mut after: Seq,
        end: Seq,
        entries: &mut Vec<Entry>,
    ) -> Result<(), CommandError> {
        while after < end {
            if !self.has(after.next()) {
                self.stretch = self.store.read(self.session, after, STRETCH).await?;
                if self.stretch.is_empty() {
                    return Err(CommandError::Damaged { intact: after });
                }
            }
            let wanted = |entry: &&Entry| entry.seq > after && entry.seq <= end;
            for entry in self.stretch.iter().filter(wanted) {
                self.bytes_added += entry.body.len();
                entries.push(entry.clone());
            }
            after = self.stretch.last().map_or(end, |last| last.seq);
        }
        Ok(())
    }

    /// Bytes of all entries added so far.
    pub(crate) fn bytes_added(&self) -> usize {
        self.bytes_added
    }

    fn has(&self, seq: Seq) -> bool {
        let (first, last) = (self.stretch.first(), self.stretch.last());
        first.is_some_and(|first| first.seq <= seq) && last.is_some_and(|last| seq <= last.seq)
    }
}

/// Returns the links of the log from the first spooled entry on.
pub(crate) async fn links_of(
    look: &Look,
    store: &dyn Store,
    session: SessionId,
) -> Result<Vec<Link>, CommandError> {
    match look {
        Look::Frames { frames, .. } => match frames.first() {
            Some(first) => links(store, session, first.link.seq).await,
            None => Ok(Vec::new()),
        },
        Look::Unused | Look::NotYet => Ok(Vec::new()),
    }
}

/// The links of a log from entry `from` to its end, to recognise what it has already.
pub(crate) async fn links(
    store: &dyn Store,
    session: SessionId,
    from: Seq,
) -> Result<Vec<Link>, CommandError> {
    let mut links = Vec::new();
    let mut after = Seq(from.0.saturating_sub(1));
    loop {
        match store.read(session, after, PAGE).await {
            Ok(entries) if entries.is_empty() => return Ok(links),
            Ok(entries) => {
                links.extend(entries.iter().map(Entry::link));
                after = entries.last().map_or(after, |entry| entry.seq);
            }
            Err(ReadError::BeyondEnd { .. }) => return Ok(links),
            Err(error) => return Err(error.into()),
        }
    }
}

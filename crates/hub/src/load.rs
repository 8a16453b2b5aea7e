//! Reads a session's state from the store: a snapshot and what followed it, never the whole history.

use session::{Link, Seq, Session, SessionId};
use store::{Opened, ReadError, Store};

use crate::error::CommandError;

/// Entries read in one go.
pub(crate) const PAGE: usize = 2_048;

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
    let mut folded = 0;
    while state.head() < end.seq {
        let entries = store.read(session, state.head(), PAGE).await?;
        if entries.is_empty() {
            return Err(CommandError::Damaged { intact: state.head() });
        }
        for entry in &entries {
            // A snapshot that is not of this log would show here.
            session::fold(&mut state, entry);
            folded += 1;
        }
    }
    Ok(Loaded { state, folded })
}

/// The links of a log from entry `from` to its end, to recognise what it has already.
pub(crate) async fn links(store: &dyn Store, session: SessionId, from: Seq) -> Result<Vec<Link>, CommandError> {
    let mut links = Vec::new();
    let mut after = Seq(from.0.saturating_sub(1));
    loop {
        match store.read(session, after, PAGE).await {
            Ok(entries) if entries.is_empty() => return Ok(links),
            Ok(entries) => {
                links.extend(entries.iter().map(session::Entry::link));
                after = entries.last().map_or(after, |entry| entry.seq);
            }
            Err(ReadError::BeyondEnd { .. }) => return Ok(links),
            Err(error) => return Err(error.into()),
        }
    }
}

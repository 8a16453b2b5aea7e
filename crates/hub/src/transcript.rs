//! A session's whole transcript, oldest turn first, a turn at a time: also the turns that are out of sight, and every
//! answer that was given. It is read from the log up to where that ended when it was asked for.

use std::collections::{BTreeMap, VecDeque};

use session::{Entry, Event, Seq, Session, SessionId, Time, Turn};
use store::catalog::TurnIndex;
use store::{Store, TurnRow};

use crate::error::CommandError;
use crate::handle::{SessionHandle, fold_row};
use crate::load::{self, Stretches};

/// What took a turn out of sight, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    pub by: HiddenBy,
    pub at: Time,
}

/// What takes turns out of sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenBy {
    Undo,
    /// Another message took its place, or the place of a turn before it.
    Edit,
    Clear,
}

/// A turn of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptTurn {
    pub turn: Turn,
    /// None when it can be seen.
    pub hidden: Option<Hidden>,
}

/// A session's whole transcript, a turn at a time.
#[derive(Debug)]
pub struct Transcript {
    handle: SessionHandle,
    session: SessionId,
    /// The session at the end of what is told here.
    pub state: Session,
    left: VecDeque<(TurnRow, Option<Hidden>)>,
}

impl SessionHandle {
    /// The whole transcript up to now.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read as a whole.
    pub async fn transcript(&self) -> Result<Transcript, CommandError> {
        let store = self.hub.store();
        let opened = store.open(self.session).await?;
        let (session, end) = (opened.session, opened.end.seq);
        let left = places(store, session, end).await?;
        let state = load::load_until(store, session, end).await?;
        Ok(Transcript { handle: self.clone(), session, state, left: left.into() })
    }
}

impl Transcript {
    /// The next turn; none at the end.
    ///
    /// # Errors
    /// When the session is gone meanwhile or cannot be read.
    pub async fn next(&mut self) -> Result<Option<TranscriptTurn>, CommandError> {
        while let Some((row, hidden)) = self.left.pop_front() {
            let mut log = Stretches::new(self.handle.hub.store(), self.session);
            if let Some(turn) = fold_row(&mut log, &row).await? {
                return Ok(Some(TranscriptTurn { turn, hidden }));
            }
        }
        Ok(None)
    }
}

/// Where every turn stands, oldest first, and what took it out of sight.
async fn places(
    store: &dyn Store,
    session: SessionId,
    end: Seq,
) -> Result<Vec<(TurnRow, Option<Hidden>)>, CommandError> {
    let (mut index, mut hiders) = (TurnIndex::default(), BTreeMap::new());
    let mut after = Seq(0);
    while after < end {
        let entries = store.read(session, after, load::PAGE).await?;
        let Some(last) = entries.last() else { return Err(CommandError::Damaged { intact: after }) };
        after = last.seq;
        for entry in entries.iter().filter(|entry| entry.seq <= end) {
            index.apply(entry);
            hiders.extend(hides(entry).map(|hidden| (entry.seq, hidden)));
        }
    }
    let place = |(row, by): (TurnRow, Option<Seq>)| (row, by.and_then(|by| hiders.get(&by).copied()));
    Ok(index.all().map(place).collect())
}

fn hides(entry: &Entry) -> Option<Hidden> {
    let by = match &entry.event {
        Event::TurnsUndone { .. } => HiddenBy::Undo,
        Event::MessageEdited { .. } => HiddenBy::Edit,
        Event::SessionCleared {} => HiddenBy::Clear,
        _ => return None,
    };
    Some(Hidden { by, at: entry.time })
}

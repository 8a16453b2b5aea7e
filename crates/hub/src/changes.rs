//! What changes in the list of sessions, as it happens: enough for a list on a screen to stay true without asking again.

use std::sync::Arc;

use session::{Event, Need, ProjectId, RunId, Seq, Session, SessionId, Time, UserId};
use tokio::sync::broadcast;

/// Changes that may wait for one reader. One that is further behind reads the list anew.
const WAITING_MAX: usize = 1_024;

/// A session's line in the list after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Line(Line),
    /// The session was erased.
    Gone {
        session: SessionId,
        user: UserId,
    },
}

impl Change {
    /// Whose session it is.
    fn user(&self) -> UserId {
        match self {
            Self::Line(line) => line.user,
            Self::Gone { user, .. } => *user,
        }
    }
}

/// What a list shows of a session. Of two, the one with the higher `seq` is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub session: SessionId,
    pub user: UserId,
    pub seq: Seq,
    pub title: Option<String>,
    pub created_at: Time,
    pub active_at: Time,
    pub run: Option<RunId>,
    pub needs: Option<Need>,
    pub pinned: bool,
    pub archived: bool,
    pub trashed: bool,
    pub trashed_at: Option<Time>,
    pub tags: Vec<String>,
    pub project: Option<ProjectId>,
}

impl Line {
    pub(crate) fn of(session: SessionId, state: &Session) -> Self {
        Self {
            session,
            user: state.user,
            seq: state.head(),
            title: state.title.as_ref().map(|title| title.text().to_owned()),
            created_at: state.created_at,
            active_at: state.active_at,
            run: state.open_run,
            needs: state.needs,
            pinned: state.pinned,
            archived: state.archived,
            trashed: state.trashed,
            trashed_at: state.trashed_at,
            tags: state.tags.clone(),
            project: state.project,
        }
    }
}

/// Whoever wants to know what changes in the list.
pub(crate) struct Changes(broadcast::Sender<Arc<Change>>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(WAITING_MAX))
    }
}

impl Changes {
    pub(crate) fn subscribe(&self, user: UserId) -> ListFollower {
        ListFollower { changes: self.0.subscribe(), user }
    }

    /// Tells of a change; nobody may be there to hear it.
    pub(crate) fn tell(&self, change: impl FnOnce() -> Change) {
        if self.0.receiver_count() > 0 {
            drop(self.0.send(Arc::new(change())));
        }
    }
}

/// Whether an event changes what a list shows.
pub(crate) fn touches(event: &Event) -> bool {
    store::catalog::may_touch(event) && !matches!(event, Event::CallFinished { .. })
}

/// A reader of one user's list that receives every change of it from now on.
#[derive(Debug)]
pub struct ListFollower {
    changes: broadcast::Receiver<Arc<Change>>,
    user: UserId,
}

/// The reader was too slow, or the hub is gone; the list must be read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("changes were missed; read the list again")]
pub struct Missed;

impl ListFollower {
    /// The next change. May be dropped while it waits without losing anything.
    ///
    /// # Errors
    /// When changes were missed.
    pub async fn next(&mut self) -> Result<Arc<Change>, Missed> {
        loop {
            let change = self.changes.recv().await.map_err(|_| Missed)?;
            if change.user() == self.user {
                return Ok(change);
            }
        }
    }
}

//! Search queries, hits and their order, and the documents that entries make.

use std::cmp::Reverse;

use session::{Entry, Event, ProjectId, RunEnd, RunId, Seq, SessionId, Time, TurnId, UserId};

use super::{ListRow, Shelf};

/// A search over the sessions of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    pub user: UserId,
    /// Words that all must be there; the last one matches as a prefix.
    pub words: String,
    pub scope: SearchScope,
    /// Only on these shelves.
    pub shelves: Vec<Shelf>,
    /// Only in sessions that stand in this project.
    pub project: Option<ProjectId>,
    /// Only in sessions with this tag.
    pub tag: Option<String>,
    /// Only in sessions that were active since then.
    pub active_since: Option<Time>,
    /// The last hit of the page before.
    pub before: Option<SearchCursor>,
    pub count: usize,
}

impl SearchQuery {
    /// Searches everything that a user has, the trash included.
    pub fn new(user: UserId, words: impl Into<String>, count: usize) -> Self {
        let shelves = vec![Shelf::Active, Shelf::Archived, Shelf::Trash];
        let (project, tag, active_since, before) = (None, None, None, None);
        let scope = SearchScope::Everything;
        Self { user, words: words.into(), scope, shelves, project, tag, active_since, before, count }
    }

    /// Returns whether the search looks into a session.
    pub(crate) fn reaches(&self, row: &ListRow) -> bool {
        row.user == self.user
            && self.shelves.contains(&row.shelf())
            && (self.project.is_none() || row.project == self.project)
            && self.tag.as_ref().is_none_or(|tag| row.tags.contains(tag))
            && self.active_since.is_none_or(|since| row.active_at >= since)
    }

    /// Returns whether the search looks at documents of a kind.
    pub(crate) fn wants(&self, kind: DocumentKind) -> bool {
        match kind {
            DocumentKind::Title => self.scope.has_names(),
            DocumentKind::Message => {
                matches!(self.scope, SearchScope::Everything | SearchScope::Texts | SearchScope::Messages)
            }
            DocumentKind::Answer(_) => {
                matches!(self.scope, SearchScope::Everything | SearchScope::Texts | SearchScope::Answers)
            }
        }
    }
}

/// The kinds of documents that a search looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    Everything,
    /// Names of sessions.
    Names,
    /// Messages and answers.
    Texts,
    Messages,
    Answers,
}

impl SearchScope {
    pub(crate) fn has_names(self) -> bool {
        matches!(self, Self::Everything | Self::Names)
    }

    pub(crate) fn has_texts(self) -> bool {
        self != Self::Names
    }
}

/// A text that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub turn: TurnId,
    pub kind: DocumentKind,
    /// The entry that completed it; the text of a message stands there.
    pub seq: Seq,
    pub time: Time,
    pub text: String,
}

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// The name of a session; its turn is 0.
    Title,
    Message,
    /// An answer, by the run that gave it.
    Answer(RunId),
}

/// A document that has the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    pub session: SessionId,
    pub turn: TurnId,
    pub kind: DocumentKind,
    /// When it was first complete.
    pub time: Time,
    /// The entry that completed it as it is now.
    pub seq: Seq,
}

impl Hit {
    /// Returns the cursor for the page after this hit.
    pub fn cursor(&self) -> SearchCursor {
        SearchCursor { time: self.time, session: self.session, seq: self.seq }
    }
}

/// The place of a hit among all hits. Hits are ordered newest first; a rebuilt index gives the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchCursor {
    pub time: Time,
    pub session: SessionId,
    pub seq: Seq,
}

/// Returns the first `count` hits in order.
pub(crate) fn newest(mut hits: Vec<Hit>, count: usize) -> Vec<Hit> {
    hits.sort_unstable_by_key(|hit| Reverse(hit.cursor()));
    hits.truncate(count);
    hits
}

/// Returns the document that an entry makes or changes. `answer` gives the text of a run, which its end completes. An
/// empty text replaces the earlier one.
pub fn document(entry: &Entry, answer: impl FnOnce(RunId) -> String) -> Option<Document> {
    let (turn, kind, text) = match &entry.event {
        Event::SessionCreated { title: Some(title), .. }
        | Event::SessionRenamed { title }
        | Event::TitleGenerated { title } => (TurnId(0), DocumentKind::Title, title.clone()),
        Event::MessagePosted { message, .. } | Event::MessageEdited { message, .. } => {
            (TurnId(entry.seq.0), DocumentKind::Message, message.text.clone())
        }
        Event::QueuedEdited { turn, message, .. } => (*turn, DocumentKind::Message, message.text.clone()),
        // A run that is being recovered is indexed once its recovery settles.
        Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => return None,
        Event::RunEnded { turn, run, .. } | Event::RecoverySettled { turn, run, .. } => {
            (*turn, DocumentKind::Answer(*run), answer(*run))
        }
        _ => return None,
    };
    Some(Document { turn, kind, seq: entry.seq, time: entry.time, text })
}

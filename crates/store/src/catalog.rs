//! The list of sessions, pages of turns and full text: projections of the logs, each a fold that can be rebuilt.

mod search;

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use session::{
    CommitOutcome, Entry, Event, Flag, Message, Need, ProjectId, RunEnd, RunId, Seq, SessionId, Time, TurnId,
    UserId, interrupted_in_a_row, moves_activity, need_after, provisional_title,
};

use crate::error::StoreError;

pub(crate) use search::newest;
pub use search::{Document, DocumentKind, Hit, SearchCursor, SearchQuery, SearchScope, document};

/// Least time between two touches of a list row by finished calls: a busy run stays fresh without a write a call.
const CALL_TOUCH_MICROS: i64 = 1_000_000;

/// What can be found without opening a session.
pub trait Catalog: Send + Sync + 'static {
    /// A page of a user's list, latest activity first.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<ListRow>, StoreError>>;

    /// Visible turns that stand before `before`, newest first, at most `count`. Behind the log by the lag.
    fn turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<TurnRow>, StoreError>>;

    /// The last entry of a session that its turns are indexed to.
    fn indexed_to(&self, session: SessionId) -> BoxFuture<'_, Result<Seq, StoreError>>;

    /// Names, messages and answers of a user's sessions with all the words, in the order of [`SearchCursor`]. Only
    /// texts that a reader of the session sees are found: none that was removed, edited away or undone. A branch is
    /// also found by the beginning that it shares. Behind the log by the lag.
    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<Hit>, StoreError>>;

    /// The line of a session, by any id that leads to it.
    fn row(&self, session: SessionId) -> BoxFuture<'_, Result<Option<ListRow>, StoreError>>;

    /// How many sessions a user has.
    fn counts(&self, user: UserId) -> BoxFuture<'_, Result<Counts, StoreError>>;

    /// A user's tags that are on sessions outside the trash, the most used first, at most `count`.
    fn tags(&self, user: UserId, count: usize) -> BoxFuture<'_, Result<Vec<TagCount>, StoreError>>;

    /// Sessions of all users that are in the trash since `until` or longer, those that are there longest first, at most
    /// `count`; only those after a given one.
    fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Trashed>, StoreError>>;

    /// Whether an id leads to a session, and to one of this user.
    fn belongs(&self, session: SessionId, user: UserId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Waits until everything appended so far is indexed, packed and trimmed as far as it can be.
    fn settle(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// How far the projections are behind, in microseconds: the age of the oldest finished thing not indexed yet.
    fn lag_micros(&self) -> i64;
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    pub user: UserId,
    pub shelf: Shelf,
    /// Only those that stand in this project.
    pub project: Option<ProjectId>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those in which something goes on or waits for a person, or that are pinned.
    pub doing: Option<Doing>,
    /// The last row of the page before.
    pub before: Option<(Time, SessionId)>,
    pub count: usize,
}

impl ListQuery {
    /// A shelf of a user as a whole.
    pub fn of(user: UserId, shelf: Shelf) -> Self {
        Self { user, shelf, project: None, tag: None, doing: None, before: None, count: usize::MAX }
    }
}

/// What a list can be narrowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A run is going on.
    Live,
    /// The newest turn waits for a person.
    NeedsPerson,
    /// A person pinned it.
    Pinned,
}

/// How many sessions a user has on each shelf, and how many of the active ones are live or wait for him.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub active: u64,
    pub archived: u64,
    pub trash: u64,
    pub live: u64,
    pub needs_person: u64,
}

impl Counts {
    /// Counts a session.
    pub(crate) fn add(&mut self, row: &ListRow) {
        match row.shelf() {
            Shelf::Active => {
                self.active += 1;
                self.live += u64::from(row.is(Doing::Live));
                self.needs_person += u64::from(row.is(Doing::NeedsPerson));
            }
            Shelf::Archived => self.archived += 1,
            Shelf::Trash => self.trash += 1,
        }
    }
}

/// A tag, and how many sessions have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    pub tag: String,
    pub sessions: u64,
}

/// A session in the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trashed {
    pub session: SessionId,
    pub user: UserId,
    pub since: Time,
}

/// Where a session stands in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Shelf {
    #[default]
    Active,
    Archived,
    Trash,
}

/// One line of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow {
    pub session: SessionId,
    #[serde(default)]
    pub user: UserId,
    pub title: Option<String>,
    pub named_by_person: bool,
    pub created_at: Time,
    pub active_at: Time,
    /// The run that is going on.
    pub run: Option<RunId>,
    /// Why its newest turn waits for a person, if it does.
    #[serde(default)]
    pub needs: Option<Need>,
    /// Messages accepted.
    pub messages: u64,
    pub pinned: bool,
    pub archived: bool,
    pub trashed: bool,
    /// Since when it is in the trash.
    #[serde(default)]
    pub trashed_at: Option<Time>,
    /// Its tags, in order.
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub project: Option<ProjectId>,
    /// Whether completed turns are owed to a memory owner, and how many are.
    pub remembers: bool,
    pub owed: u64,
    /// Answers that are owed to chats.
    #[serde(default)]
    pub undelivered: u64,
    /// Runs that ended interrupted since one was completed.
    pub interrupted: u32,
    /// Whether the next turn is told of an interruption.
    pub resume_pending: bool,
}

/// Whether an entry changed a list row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    Changed,
    Untouched,
}

impl ListRow {
    /// The row of a session whose log is empty.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            user: UserId::FIRST,
            title: None,
            named_by_person: false,
            created_at: Time(0),
            active_at: Time(0),
            run: None,
            needs: None,
            messages: 0,
            pinned: false,
            archived: false,
            trashed: false,
            trashed_at: None,
            tags: Vec::new(),
            project: None,
            remembers: false,
            owed: 0,
            undelivered: 0,
            interrupted: 0,
            resume_pending: false,
        }
    }

    /// Whether the session is in that state.
    pub fn is(&self, doing: Doing) -> bool {
        match doing {
            Doing::Live => self.run.is_some(),
            Doing::NeedsPerson => self.needs.is_some(),
            Doing::Pinned => self.pinned,
        }
    }

    /// Where the row stands.
    pub fn shelf(&self) -> Shelf {
        match (self.trashed, self.archived) {
            (true, _) => Shelf::Trash,
            (false, true) => Shelf::Archived,
            (false, false) => Shelf::Active,
        }
    }

    /// Applies an entry.
    pub fn apply(&mut self, entry: &Entry) -> Touch {
        if !may_touch(&entry.event) {
            return Touch::Untouched;
        }
        let needed = self.needs;
        self.needs = need_after(needed, &entry.event);
        match &entry.event {
            Event::SessionCreated { title, user, .. } => {
                self.user = *user;
                self.created_at = entry.time;
                self.title.clone_from(title);
                self.named_by_person = title.is_some();
            }
            // A branch starts with its origin's user, name, tags and project, and nothing else of its row.
            Event::SessionBranched { .. } => {
                *self = Self {
                    user: self.user,
                    title: self.title.take(),
                    tags: std::mem::take(&mut self.tags),
                    project: self.project,
                    created_at: entry.time,
                    messages: self.messages,
                    ..Self::new(self.session)
                };
            }
            Event::SessionRenamed { title } => {
                self.title = Some(title.clone());
                self.named_by_person = true;
            }
            Event::TitleGenerated { title } if !self.named_by_person => self.title = Some(title.clone()),
            Event::FlagSet { flag, on } => match flag {
                Flag::Pinned => self.pinned = *on,
                Flag::Archived => self.archived = *on,
                Flag::Trashed => {
                    self.trashed = *on;
                    self.trashed_at = on.then(|| self.trashed_at.unwrap_or(entry.time));
                }
                Flag::Other(_) => {}
            },
            Event::TagsSet { tags } => self.tags.clone_from(tags),
            Event::ProjectSet { project } => self.project = *project,
            Event::MessagePosted { message, .. } | Event::MessageEdited { message, .. } => self.take(message),
            Event::RunStarted { .. } => self.run = Some(RunId(entry.seq.0)),
            Event::RunEnded { end, .. } => self.end_run(end),
            Event::ResumeMarked { .. } => self.resume_pending = true,
            Event::ResumeCleared {} => self.resume_pending = false,
            Event::MemoryOwnerSet { owner } => self.remembers = owner.is_some(),
            Event::MemoryReassigned { first, last, from: None, .. } => self.owed += last - first + 1,
            Event::MemoryCommitEnded { first, last, outcome: CommitOutcome::Done, .. } => {
                self.owed = self.owed.saturating_sub(last - first + 1);
            }
            Event::DeliveryOwed { .. } => self.undelivered += 1,
            Event::DeliveryEnded { .. } => self.undelivered = self.undelivered.saturating_sub(1),
            Event::TurnsUndone { .. } | Event::SessionCleared {} | Event::AnswerChosen { .. }
                if self.needs == needed =>
            {
                return Touch::Untouched;
            }
            // What comes back of a run that is over is maintenance.
            Event::CallFinished { run, .. } if self.run != Some(*run) => return Touch::Untouched,
            Event::CallFinished { .. } if entry.time.micros_since(self.active_at) < CALL_TOUCH_MICROS => {
                return Touch::Untouched;
            }
            _ => {}
        }
        if moves_activity(&entry.event) {
            self.active_at = self.active_at.max(entry.time);
        }
        Touch::Changed
    }
}

impl ListRow {
    /// Counts a message; the first one names a session that has no name yet.
    fn take(&mut self, message: &Message) {
        self.messages += 1;
        if self.title.is_none() {
            self.title = provisional_title(&message.text);
        }
    }

    fn end_run(&mut self, end: &RunEnd) {
        self.run = None;
        self.interrupted = interrupted_in_a_row(self.interrupted, end);
        match end {
            RunEnd::Completed => {
                self.owed += u64::from(self.remembers);
                self.resume_pending = false;
            }
            RunEnd::OutputLimit { .. } => self.resume_pending = false,
            RunEnd::Interrupted { .. }
            | RunEnd::Stopped { .. }
            | RunEnd::Failed { .. }
            | RunEnd::Other(_) => {}
        }
    }
}

/// Whether an event of this kind can change a list row at all. Chunks of text and reasoning never do.
pub fn may_touch(event: &Event) -> bool {
    if fault::planted("chunk_touches_list") && matches!(event, Event::TextAdded { .. }) {
        return true;
    }
    if fault::planted("end_leaves_list") && matches!(event, Event::RunEnded { .. }) {
        return false;
    }
    matches!(
        event,
        Event::SessionCreated { .. }
            | Event::SessionBranched { .. }
            | Event::SessionRenamed { .. }
            | Event::TitleGenerated { .. }
            | Event::FlagSet { .. }
            | Event::TagsSet { .. }
            | Event::ProjectSet { .. }
            | Event::MessagePosted { .. }
            | Event::MessageEdited { .. }
            | Event::RunStarted { .. }
            | Event::RunEnded { .. }
            | Event::CallFinished { .. }
            | Event::TurnsUndone { .. }
            | Event::SessionCleared {}
            | Event::AnswerChosen { .. }
            | Event::ResumeMarked { .. }
            | Event::ResumeCleared {}
            | Event::MemoryOwnerSet { .. }
            | Event::MemoryReassigned { from: None, .. }
            | Event::MemoryCommitEnded { outcome: CommitOutcome::Done, .. }
            | Event::DeliveryOwed { .. }
            | Event::DeliveryEnded { .. }
    )
}

/// Where a turn's entries stand in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnRow {
    /// Its place among the turns: the entry that started its first run.
    pub position: Seq,
    pub turn: TurnId,
    /// The entry that last changed its message.
    pub message: Seq,
    /// The last entry that concerns it.
    pub last: Seq,
}

/// The index of a session's turns.
#[derive(Debug, Clone, Default)]
pub struct TurnIndex {
    rows: BTreeMap<Seq, (TurnRow, Option<Seq>)>,
    /// Messages that were posted and wait: the entry that last changed each.
    waiting: BTreeMap<TurnId, Seq>,
    /// The turn of each run.
    runs: BTreeMap<RunId, TurnId>,
    /// Messages that went into a running run, and the turn that shows them.
    steered: BTreeMap<TurnId, TurnId>,
}

impl TurnIndex {
    /// Applies an entry.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            // A branch has the visible turns of its origin, and nothing that waits or can be put back.
            Event::SessionBranched { .. } => {
                self.rows.retain(|_, (_, hidden)| hidden.is_none());
                self.waiting.clear();
            }
            Event::MessagePosted { .. } => self.wait(TurnId(entry.seq.0), entry.seq),
            Event::MessageEdited { turn, .. } => {
                self.hide(*turn, entry.seq);
                self.wait(TurnId(entry.seq.0), entry.seq);
            }
            Event::QueuedEdited { turn, .. } => self.wait(*turn, entry.seq),
            Event::QueuedRemoved { turn } => {
                self.waiting.remove(turn);
            }
            Event::MessageSteered { turn, run } => {
                self.waiting.remove(turn);
                if let Some(into) = self.runs.get(run) {
                    self.steered.insert(*turn, *into);
                }
            }
            Event::RunStarted { turn, .. } => {
                self.runs.insert(RunId(entry.seq.0), *turn);
                if let Some(message) = self.waiting.remove(turn) {
                    let row = TurnRow { position: entry.seq, turn: *turn, message, last: entry.seq };
                    self.rows.insert(entry.seq, (row, None));
                }
                self.reach(*turn, entry.seq);
            }
            Event::RunEnded { turn, .. }
            | Event::AnswerChosen { turn, .. }
            | Event::RecoveryAttempted { turn, .. }
            | Event::RecoverySettled { turn, .. }
            | Event::RequestBilled { turn, .. } => self.reach(*turn, entry.seq),
            Event::TurnsUndone { from, .. } => self.hide(*from, entry.seq),
            Event::TurnsPutBack { from } => self.put_back(*from),
            Event::SessionCleared {} => self.hide_after(Seq(0), entry.seq),
            _ => {}
        }
    }

    /// Visible turns before `before`, newest first.
    pub fn page(&self, before: Option<TurnId>, count: usize) -> Vec<TurnRow> {
        let end = before.and_then(|turn| self.position(turn)).unwrap_or(Seq(u64::MAX));
        let rows = self.rows.range(..end).rev().filter(|(_, (_, hidden))| hidden.is_none());
        rows.take(count).map(|(_, (row, _))| *row).collect()
    }

    /// Whether a reader sees the message or the answers of a turn: among the turns, waiting, or in the run that it went
    /// into.
    pub fn shows(&self, turn: TurnId) -> bool {
        let visible = |turn: TurnId| {
            let position = self.position(turn).and_then(|position| self.rows.get(&position));
            position.is_some_and(|(_, hidden)| hidden.is_none())
        };
        self.waiting.contains_key(&turn)
            || visible(turn)
            || self.steered.get(&turn).is_some_and(|into| visible(*into))
    }

    /// Every turn, oldest first, with the entry that took it out of sight.
    pub fn all(&self) -> impl Iterator<Item = (TurnRow, Option<Seq>)> {
        self.rows.values().copied()
    }

    fn wait(&mut self, turn: TurnId, message: Seq) {
        self.waiting.insert(turn, message);
    }

    fn position(&self, turn: TurnId) -> Option<Seq> {
        self.rows.values().rev().find(|(row, _)| row.turn == turn).map(|(row, _)| row.position)
    }

    fn reach(&mut self, turn: TurnId, last: Seq) {
        if let Some((row, _)) = self.position(turn).and_then(|position| self.rows.get_mut(&position)) {
            row.last = last;
        }
    }

    fn hide(&mut self, from: TurnId, by: Seq) {
        if let Some(position) = self.position(from) {
            self.hide_after(position, by);
        }
    }

    fn hide_after(&mut self, position: Seq, by: Seq) {
        for (_, (_, hidden)) in self.rows.range_mut(position..) {
            *hidden = hidden.or(Some(by));
        }
    }

    fn put_back(&mut self, from: TurnId) {
        let Some(position) = self.position(from) else { return };
        let by = self.rows.get(&position).and_then(|(_, hidden)| *hidden);
        for (_, (_, hidden)) in self.rows.range_mut(position..) {
            if *hidden == by {
                *hidden = None;
            }
        }
    }
}

//! What is owed to memory: which completed turns wait to be committed, and to whom. A fold of the log like everything
//! else, so that a debt survives whatever its process does not.
//!
//! Each completed turn is a *generation*. Generations of one owner in a row are a *segment*. A commit hands over the
//! oldest segment, whole, and from the moment it was first offered a segment does not grow: asking again offers the same
//! generations under the same key.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::CommitOutcome;
use crate::id::{Owner, Seq};
use crate::view::OwedView;

/// A session's pending memory commits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ledger {
    /// The number of completed turns.
    pub generation: u64,
    /// The owner of future completed turns.
    pub owner: Option<Owner>,
    /// Pending generations, oldest first.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Segment>))]
    pub segments: VecDeque<Segment>,
    /// The commit in progress, with the entry that started it. It is always for the oldest segment.
    pub commit: Option<Commit>,
}

/// Consecutive generations pending for one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Segment {
    /// The owner; null if none was set when the turns were completed. The first owner set then takes them.
    pub owner: Option<Owner>,
    pub first: u64,
    pub last: u64,
    /// The entries that completed the first and the last generation.
    pub from: Seq,
    pub through: Seq,
    /// Whether a commit was attempted. A retry then sends the same generations again.
    pub offered: bool,
    /// Why the last commit attempt failed.
    pub error: Option<String>,
}

/// A memory commit in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Commit {
    pub id: Seq,
    /// The provider's ID for the commit, once accepted. Accepted does not mean complete.
    pub task: Option<String>,
}

impl Ledger {
    /// Whether anything is owed to anyone.
    pub fn is_dirty(&self) -> bool {
        !self.segments.is_empty()
    }

    /// A turn was completed by the entry `at`.
    pub(crate) fn complete(&mut self, at: Seq) {
        self.generation += 1;
        let generation = self.generation;
        if let Some(last) = self.segments.back_mut()
            && last.owner == self.owner
            && (!last.offered || fault::planted("offered_segment_grows"))
        {
            last.last = generation;
            last.through = at;
            return;
        }
        self.segments.push_back(Segment {
            owner: self.owner.clone(),
            first: generation,
            last: generation,
            from: at,
            through: at,
            offered: false,
            error: None,
        });
    }

    /// What is completed from now on is owed to someone else, or to nobody.
    pub(crate) fn set_owner(&mut self, owner: Option<&Owner>) {
        self.owner = owner.cloned();
        if fault::planted("replacement_takes_over") && owner.is_some() {
            self.segments.iter_mut().for_each(|segment| segment.owner = owner.cloned());
        }
        if fault::planted("unregistering_drops_debt") && owner.is_none() {
            self.segments.clear();
        }
    }

    /// The segment that begins with generation `first` is owed to someone else.
    pub(crate) fn reassign(&mut self, first: u64, to: &Owner) {
        if let Some(segment) = self.segments.iter_mut().find(|segment| segment.first == first) {
            segment.owner = Some(to.clone());
        }
    }

    /// The oldest segment was offered to its owner, by the entry `id`.
    pub(crate) fn begin(&mut self, id: Seq) {
        self.commit = Some(Commit { id, task: None });
        if let Some(oldest) = self.segments.front_mut() {
            oldest.offered = true;
        }
    }

    /// The provider took it and works on it.
    pub(crate) fn accept(&mut self, id: Seq, task: &str) {
        if let Some(commit) = self.commit.as_mut().filter(|commit| commit.id == id) {
            commit.task = Some(task.to_owned());
        }
    }

    /// A commit ended. Only what it was begun for is settled by it.
    pub(crate) fn end(&mut self, id: Seq, outcome: &CommitOutcome) {
        if self.commit.take_if(|commit| commit.id == id).is_none() {
            return;
        }
        match outcome {
            CommitOutcome::Done if fault::planted("commit_clears_newer_generation") => self.segments.clear(),
            CommitOutcome::Done => drop(self.segments.pop_front()),
            CommitOutcome::Failed { .. } if fault::planted("failed_commit_forgets_owner") => {
                if let Some(oldest) = self.segments.front_mut() {
                    oldest.owner = None;
                }
            }
            CommitOutcome::Failed { error } => {
                if let Some(oldest) = self.segments.front_mut() {
                    oldest.error = Some(error.clone());
                }
            }
            // An unknown outcome leaves the commit pending.
            CommitOutcome::Other(_) => {}
        }
    }

    /// What the next commit hands over, and to whom: the oldest segment to its own owner, or to `named` if it has none.
    pub(crate) fn next(&self, named: Option<&Owner>) -> Option<(Owner, &Segment)> {
        let oldest = self.segments.front().filter(|_| self.commit.is_none())?;
        let owner = match &oldest.owner {
            Some(_) if named.is_some() && fault::planted("named_owner_takes_over") => named.cloned(),
            Some(owner) => Some(owner.clone()),
            None => named.or(self.owner.as_ref()).cloned(),
        };
        Some((owner?, oldest))
    }

    /// What is owed to someone, as a reader sees it.
    pub(crate) fn owed(&self) -> impl Iterator<Item = OwedView> {
        self.segments.iter().filter_map(|segment| {
            Some(OwedView {
                owner: segment.owner.clone()?,
                turns: segment.last - segment.first + 1,
                error: segment.error.clone(),
            })
        })
    }

    /// Whether a commit could hand something over now.
    pub fn can_commit(&self) -> bool {
        self.next(None).is_some()
    }
}

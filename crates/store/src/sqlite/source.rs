//! One log, read for what is made from it: projections, words, lists. Whole, but only a stretch of it in memory.

use rusqlite::Connection;
use session::{Entry, RunId, Seq};

use crate::catalog::{Document, TurnIndex, TurnRow, document};

use super::Fault;
use super::read::{self, Stop};
use super::tail::TailSession;

/// Entries in memory at once.
const STRETCH: u64 = 10_000;

/// Finds the tail of a log.
pub(super) type TailOf<'a> = &'a dyn Fn(i64) -> Option<TailSession>;

/// Where a log is read.
pub(super) struct Source<'a> {
    pub(super) connection: &'a Connection,
    pub(super) tail: TailOf<'a>,
    pub(super) no: i64,
}

/// What damage does to a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDamage {
    /// Without the whole there is nothing to make.
    Fail,
    /// What stands before it is made; whoever reads the session is told of the damage.
    End,
}

impl Source<'_> {
    /// The entries after `after` up to and including `end`.
    pub(super) fn read(&self, after: Seq, end: Seq) -> Result<Vec<Entry>, Fault> {
        self.read_as(OnDamage::Fail, after, end)
    }

    fn read_as(&self, on_damage: OnDamage, after: Seq, end: Seq) -> Result<Vec<Entry>, Fault> {
        let count = usize::try_from(end.0.saturating_sub(after.0)).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        match read::collect(self.connection, self.tail, self.no, after, count, &mut entries) {
            Err(Stop::Fault(fault)) => Err(fault),
            Err(Stop::Damage(damage)) if on_damage == OnDamage::Fail => {
                Err(Fault::Damaged(damage.to_string()))
            }
            Ok(_) | Err(Stop::Damage(_)) => Ok(entries),
        }
    }

    /// Goes through the entries after `after` up to `end`, a stretch at a time. Answers how far they went.
    pub(super) fn go_through(
        &self,
        on_damage: OnDamage,
        mut after: Seq,
        end: Seq,
        mut take: impl FnMut(&[Entry]) -> Result<(), Fault>,
    ) -> Result<Seq, Fault> {
        while after < end {
            let entries = self.read_as(on_damage, after, Seq(end.0.min(after.0 + STRETCH)))?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            take(&entries)?;
        }
        Ok(after)
    }

    /// What consecutive entries make findable, from the first behind `after` on.
    pub(super) fn documents(&self, entries: &[Entry], after: Seq) -> Result<Vec<Document>, Fault> {
        let mut documents = Vec::new();
        for entry in entries.iter().filter(|entry| entry.seq > after) {
            let mut failure = None;
            let found = document(entry, |run| match self.answer(run, entry.seq, entries) {
                Ok(text) => text,
                Err(fault) => {
                    failure = Some(fault);
                    String::new()
                }
            });
            if let Some(fault) = failure {
                return Err(fault);
            }
            documents.extend(found);
        }
        Ok(documents)
    }

    /// The text of a run that ended at `end`: from the entries at hand, or read back when it began before them.
    fn answer(&self, run: RunId, end: Seq, at_hand: &[Entry]) -> Result<String, Fault> {
        let covered = at_hand.first().is_some_and(|first| first.seq.0 <= run.0);
        if covered {
            let begin = at_hand.partition_point(|entry| entry.seq.0 < run.0);
            let behind = at_hand.partition_point(|entry| entry.seq <= end);
            return Ok(session::run_text(run, &at_hand[begin..behind]));
        }
        let entries = self.read(Seq(run.0.saturating_sub(1)), end)?;
        Ok(session::run_text(run, &entries))
    }

    /// The visible turns of the shared beginning.
    pub(super) fn inherited(&self, at: Seq) -> Result<Vec<TurnRow>, Fault> {
        let mut turns = TurnIndex::default();
        self.go_through(OnDamage::Fail, Seq(0), at, |entries| {
            entries.iter().for_each(|entry| turns.apply(entry));
            Ok(())
        })?;
        Ok(turns.page(None, usize::MAX))
    }
}

//! One log, read for what is made from it: projections, words, lists. Whole, but only a stretch of it in memory.

use rusqlite::Connection;
use session::{Entry, Event, RunId, Seq, TurnId};

use crate::catalog::{Document, TurnIndex, TurnRow, document};

use super::Fault;
use super::read::{self, Page, Stop};
use super::tail::TailSession;

/// Entries in memory at once, and bytes of them.
const STRETCH: usize = 10_000;
const STRETCH_BYTES: usize = 16 * 1024 * 1024;

/// Finds the tail of a log.
pub(super) type TailOf<'a> = &'a dyn Fn(i64) -> Option<TailSession>;

/// Where a log is read.
pub(super) struct Source<'a> {
    pub(super) connection: &'a Connection,
    pub(super) tail: TailOf<'a>,
    pub(super) no: i64,
}

/// A change of the search index.
#[derive(Debug)]
pub(super) enum Findable {
    /// A text is complete, or has another form.
    Text(Document),
    /// The message of `turn` is shown in the turn `into` from now on.
    Steered { turn: TurnId, into: TurnId },
}

/// The beginning that a branch shares with its origin.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// Its visible turns.
    pub(super) turns: Vec<TurnRow>,
    pub(super) findable: Vec<Findable>,
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
        let count = usize::try_from(end.0.saturating_sub(after.0)).unwrap_or(usize::MAX);
        self.collect(OnDamage::Fail, after, Page::of(count))
    }

    fn collect(&self, on_damage: OnDamage, after: Seq, mut page: Page) -> Result<Vec<Entry>, Fault> {
        match read::collect(self.connection, self.tail, self.no, after, &mut page) {
            Err(Stop::Fault(fault)) => Err(fault),
            Err(Stop::Damage(damage)) if on_damage == OnDamage::Fail => {
                Err(Fault::Damaged(damage.to_string()))
            }
            Ok(_) | Err(Stop::Damage(_)) => Ok(page.entries),
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
            let count = usize::try_from(end.0 - after.0).unwrap_or(usize::MAX).min(STRETCH);
            let entries = self.collect(on_damage, after, Page::bounded(count, STRETCH_BYTES))?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            take(&entries)?;
        }
        Ok(after)
    }

    /// Returns the changes of the search index by consecutive entries after `after`.
    pub(super) fn findable(&self, entries: &[Entry], after: Seq) -> Result<Vec<Findable>, Fault> {
        let mut findable = Vec::new();
        for entry in entries.iter().filter(|entry| entry.seq > after) {
            if let Event::MessageSteered { turn, run } = entry.event {
                findable.extend(self.turn_of(run, entries)?.map(|into| Findable::Steered { turn, into }));
                continue;
            }
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
            findable.extend(found.map(Findable::Text));
        }
        Ok(findable)
    }

    /// Returns the turn of a run, from the entries at hand or from the log.
    fn turn_of(&self, run: RunId, at_hand: &[Entry]) -> Result<Option<TurnId>, Fault> {
        let turn = |entry: &Entry| match entry.event {
            Event::RunStarted { turn, .. } if entry.seq.0 == run.0 => Some(turn),
            _ => None,
        };
        if let Some(found) = at_hand.iter().find_map(turn) {
            return Ok(Some(found));
        }
        Ok(self.read(Seq(run.0.saturating_sub(1)), Seq(run.0))?.iter().find_map(turn))
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

    /// Reads the beginning that a branch shares.
    pub(super) fn inherited(&self, at: Seq) -> Result<Inherited, Fault> {
        let (mut turns, mut findable) = (TurnIndex::default(), Vec::new());
        self.go_through(OnDamage::Fail, Seq(0), at, |entries| {
            entries.iter().for_each(|entry| turns.apply(entry));
            findable.extend(self.findable(entries, Seq(0))?);
            Ok(())
        })?;
        Ok(Inherited { turns: turns.page(None, usize::MAX), findable })
    }
}

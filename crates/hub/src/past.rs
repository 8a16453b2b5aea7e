//! A session's log as people look at it: newest entry first, what was streamed put together, and single texts from it.

use session::{Entry, Epoch, Event, RunId, Seq, Time};
use store::ReadError;

use crate::error::CommandError;
use crate::handle::SessionHandle;

/// Entries read in one go.
const STRETCH: u64 = 2_048;
/// Bytes of entries after which a page ends.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Entries that are gone through for one page.
const GONE_THROUGH_MAX: u64 = 65_536;
/// Entries of one answer whose text is read at once: a search shows words of many.
const SAID_MAX: usize = 8_192;

/// A line of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastLine {
    Entry(Entry),
    /// Pieces of one run's answer, one after the other.
    Streamed {
        run: RunId,
        first: Moment,
        last: Moment,
        entries: u64,
        characters: u64,
    },
}

/// Which entry, when, and under which claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub seq: Seq,
    pub time: Time,
    pub epoch: Epoch,
}

impl From<&Entry> for Moment {
    fn from(entry: &Entry) -> Self {
        Self { seq: entry.seq, time: entry.time, epoch: entry.epoch }
    }
}

/// Some lines of the past, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub lines: Vec<PastLine>,
    /// Where what is older ends; none when there is nothing.
    pub before: Option<Seq>,
}

/// How many characters of an answer an entry brought, and in which run.
fn streamed(event: &Event) -> Option<(RunId, u64)> {
    let (run, text) = match event {
        Event::TextAdded { run, text } | Event::ReasoningAdded { run, text } => (run, text),
        Event::CallDrafted { run, arguments, .. } => (run, arguments),
        _ => return None,
    };
    Some((*run, text.chars().count() as u64))
}

impl Past {
    /// Puts an older entry behind the others.
    fn push(&mut self, entry: Entry) {
        self.before = Some(entry.seq);
        match (streamed(&entry.event), self.lines.last_mut()) {
            (Some((of, added)), Some(PastLine::Streamed { run, first, entries, characters, .. }))
                if *run == of =>
            {
                *first = Moment::from(&entry);
                *entries += 1;
                *characters += added;
            }
            (Some((run, characters)), _) => {
                let first = Moment::from(&entry);
                self.lines.push(PastLine::Streamed { run, first, last: first, entries: 1, characters });
            }
            (None, _) => self.lines.push(PastLine::Entry(entry)),
        }
    }
}

impl SessionHandle {
    /// Returns the log before an entry, newest first: at most `count` lines, and fewer if entries are large or a long answer
    /// was streamed. Damaged entries are left out.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn past(&self, before: Option<Seq>, count: usize) -> Result<Past, CommandError> {
        let store = self.hub.store();
        let opened = store.open(self.session).await?;
        let end = before.map_or(opened.end.seq.0, |before| before.0.saturating_sub(1).min(opened.end.seq.0));
        let (mut past, mut left) = (Past { lines: Vec::new(), before: None }, end);
        let (mut stretch, mut bytes) = (STRETCH, 0);
        while left > 0 && end - left < GONE_THROUGH_MAX {
            let after = left.saturating_sub(stretch);
            let wanted = usize::try_from(left - after).unwrap_or(usize::MAX);
            let mut entries = match store.read(opened.session, Seq(after), wanted).await {
                Ok(entries) => entries,
                Err(ReadError::Damaged { .. }) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            if wanted > 1 && entries.last().is_none_or(|last| last.seq.0 < left) {
                // The page ended early, because its entries are large or one is damaged. Read a shorter stretch.
                stretch = (left - after) / 2;
                continue;
            }
            while let Some(entry) = entries.pop() {
                // A line more is needed to know that the last one is whole.
                if past.lines.len() >= count && streamed(&entry.event).is_none() {
                    return Ok(past);
                }
                let ends_page = streamed(&entry.event).is_none() && bytes >= PAGE_BYTES_MAX;
                if ends_page {
                    return Ok(past);
                }
                bytes += entry.body.len();
                past.push(entry);
                if past.lines.len() > count {
                    past.before = past.lines.pop().map(|line| line.last_seq().next());
                    return Ok(past);
                }
            }
            left = after;
            stretch = (stretch * 2).min(STRETCH);
        }
        if left == 0 {
            past.before = None;
        }
        Ok(past)
    }

    /// The text that an entry completed: a message as it stood then, or the answer of a run as far as it can be read at
    /// once.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn said(&self, seq: Seq, run: Option<RunId>) -> Result<Option<String>, CommandError> {
        let store = self.hub.store();
        let Some(run) = run else {
            let read = store.read(self.session, Seq(seq.0.saturating_sub(1)), 1).await?;
            return Ok(read.into_iter().find_map(|entry| match entry.event {
                Event::MessagePosted { message, .. }
                | Event::MessageEdited { message, .. }
                | Event::QueuedEdited { message, .. } => Some(message.text),
                _ => None,
            }));
        };
        let (mut entries, mut after) = (Vec::new(), Seq(run.0.saturating_sub(1)));
        while entries.len() < SAID_MAX && after < seq {
            let read = store.read(self.session, after, STRETCH as usize).await?;
            let Some(last) = read.last() else { break };
            after = last.seq;
            entries.extend(read.into_iter().filter(|entry| entry.seq <= seq));
        }
        Ok(Some(session::run_text(run, &entries)))
    }
}

impl PastLine {
    fn last_seq(&self) -> Seq {
        match self {
            Self::Entry(entry) => entry.seq,
            Self::Streamed { last, .. } => last.seq,
        }
    }
}

//! Reads turns that left a session's state back from its log: into a prompt that has room for them, and into a state that
//! undo emptied.

use std::sync::Arc;
use std::time::Duration;

use agent::{History, Unreadable};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{EarlierRange, Prompt, Seq, Session, SessionId, Turn, TurnId, earlier_messages};
use store::{Store, TurnRow};

use crate::error::CommandError;
use crate::handle::fold_row;
use crate::load::Stretches;

/// Rows of the index read in one go.
const ROWS: usize = 512;
/// Entries whose turns are folded in one go.
const ENTRIES: u64 = 2_048;
/// The first and the longest pause between two checks of an index that lags behind the log, and their longest sum.
const PAUSE: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);
const PAUSES_MAX: Duration = Duration::from_secs(10);

/// The turns of a session that are read from its log.
#[derive(Clone)]
pub struct EarlierTurns {
    store: Arc<dyn Store>,
    session: SessionId,
}

impl std::fmt::Debug for EarlierTurns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EarlierTurns").field("session", &self.session).finish_non_exhaustive()
    }
}

impl EarlierTurns {
    pub(crate) fn new(store: Arc<dyn Store>, session: SessionId) -> Self {
        Self { store, session }
    }

    /// Puts turns back into a state that undo emptied, as many as it has room for. The whole state must be durable.
    pub(crate) async fn refill(&self, state: &mut Session) -> Result<(), CommandError> {
        if !state.wants_refill() {
            return Ok(());
        }
        let (before, indexed) = (state.head().next(), state.head());
        let rows = self.rows(EarlierRange { before, after: None, indexed }, &[]).await?;
        let mut rows = rows.as_slice();
        while let Some((page, older)) = newest_page(rows) {
            rows = older;
            let turns = self.turns(page).await?;
            if !session::refill(state, turns.into_iter().map(|(_, turn)| turn)) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the index rows of the turns in a range, newest first, except those that are `known`.
    async fn rows(&self, range: EarlierRange, known: &[TurnId]) -> Result<Vec<TurnRow>, CommandError> {
        self.until_indexed(range.indexed).await?;
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let page = self.store.turns(self.session, before, ROWS).await?;
            let Some(oldest) = page.last() else { return Ok(found) };
            before = Some(oldest.turn);
            for row in page {
                if range.after == Some(row.turn) {
                    return Ok(found);
                }
                if row.position < range.before && !known.contains(&row.turn) {
                    found.push(row);
                }
            }
        }
    }

    /// Waits until the index of turns covers an entry.
    async fn until_indexed(&self, seq: Seq) -> Result<(), CommandError> {
        let (mut pause, mut waited) = (PAUSE, Duration::ZERO);
        while self.store.indexed_to(self.session).await? < seq {
            if waited >= PAUSES_MAX {
                let reason = "the turn index lags behind the log".to_owned();
                return Err(CommandError::Unavailable { reason });
            }
            tokio::time::sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(())
    }

    /// Folds turns, newest first, each with where it stands.
    async fn turns(&self, rows: &[TurnRow]) -> Result<Vec<(TurnRow, Turn)>, CommandError> {
        let mut log = Stretches::new(self.store.as_ref(), self.session);
        let mut turns = Vec::with_capacity(rows.len());
        // Oldest first, so that the log is read forwards.
        for row in rows.iter().rev() {
            turns.extend(fold_row(&mut log, row).await?.map(|turn| (*row, turn)));
        }
        turns.reverse();
        Ok(turns)
    }

    async fn extend_prompt(&self, prompt: &mut Prompt, room_bytes: usize) -> Result<(), CommandError> {
        let Some(range) = prompt.earlier.filter(|_| !fault::planted("prompt_ends_at_state")) else {
            return Ok(());
        };
        let known: Vec<TurnId> = prompt.turns.iter().map(|turn| turn.turn).collect();
        let rows = self.rows(range, &known).await?;
        let mut left = rows.as_slice();
        while prompt.size_bytes() <= room_bytes
            && let Some((page, older)) = newest_page(left)
        {
            for (row, turn) in self.turns(page).await? {
                if prompt.size_bytes() > room_bytes {
                    prompt.earlier = Some(EarlierRange { before: row.position.next(), ..range });
                    return Ok(());
                }
                prompt.prepend(turn.id, earlier_messages(&turn));
            }
            left = older;
        }
        let newest = left.first();
        prompt.earlier = newest.map(|row| EarlierRange { before: row.position.next(), ..range });
        Ok(())
    }

    async fn oldest_prompt(&self, prompt: &Prompt, room_bytes: usize) -> Result<Prompt, CommandError> {
        let mut oldest = Prompt::default();
        let Some(range) = prompt.earlier else { return Ok(oldest) };
        let rows = self.rows(range, &[]).await?;
        let mut left = rows.as_slice();
        while let Some((page, newer)) = oldest_page(left) {
            for (_, turn) in self.turns(page).await?.iter().rev() {
                let messages = earlier_messages(turn);
                let added: usize = messages.iter().map(session::PromptMessage::size_bytes).sum();
                if !oldest.turns.is_empty() && oldest.size_bytes() + added > room_bytes {
                    return Ok(oldest);
                }
                oldest.append(turn.id, messages);
            }
            left = newer;
        }
        Ok(oldest)
    }
}

impl History for EarlierTurns {
    fn extend<'a>(
        &'a self,
        prompt: &'a mut Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<(), Unreadable>> {
        async move { self.extend_prompt(prompt, room_bytes).await.map_err(unreadable) }.boxed()
    }

    fn oldest<'a>(
        &'a self,
        prompt: &'a Prompt,
        room_bytes: usize,
    ) -> BoxFuture<'a, Result<Prompt, Unreadable>> {
        async move { self.oldest_prompt(prompt, room_bytes).await.map_err(unreadable) }.boxed()
    }
}

fn unreadable(error: CommandError) -> Unreadable {
    let reason = if let CommandError::Unavailable { reason } = error { reason } else { error.to_string() };
    Unreadable(reason)
}

/// Splits off the newest rows, newest first, whose turns are folded in one go: at least one.
fn newest_page(rows: &[TurnRow]) -> Option<(&[TurnRow], &[TurnRow])> {
    let count = page_len(rows.iter())?;
    Some(rows.split_at(count))
}

/// The same at the other end, the oldest.
fn oldest_page(rows: &[TurnRow]) -> Option<(&[TurnRow], &[TurnRow])> {
    let count = page_len(rows.iter().rev())?;
    let (newer, page) = rows.split_at(rows.len() - count);
    Some((page, newer))
}

fn page_len<'a>(rows: impl ExactSizeIterator<Item = &'a TurnRow>) -> Option<usize> {
    let all = rows.len();
    let mut entries = 0;
    let fits = rows.take_while(|row| {
        entries += row.last.0.saturating_sub(row.position.0) + 2;
        entries <= ENTRIES
    });
    (all > 0).then(|| fits.count().max(1))
}

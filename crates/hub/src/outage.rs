//! What a writer does while the store refuses appends: what its run brings is caught in the spool, unshown; what
//! people ask is refused, so that they know; and once the store is back, everything is appended as it was decided.

use std::time::Duration;

use tokio::time::Instant;

use session::{Command, Entry, Event, InterruptReason, Link, RunId, SlotNo};
use store::{AppendError, OpenError, Urgency};

use crate::error::CommandError;
use crate::input::{Durable, Input, OfEntries, Retire, Waiting};
use crate::load;
use crate::spool::{Catcher, SpoolError};
use crate::writer::{Stopped, Writer};

/// How often an append is tried again, when nothing else says that the store is back.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// A stretch in which the store takes nothing.
pub(crate) struct Outage {
    catcher: Option<(SlotNo, Catcher)>,
    /// Entries of the batch that were offered to the spool.
    caught: usize,
}

impl Outage {
    /// Stays until the batch is durable.
    pub(crate) async fn begin(writer: &mut Writer, error: &AppendError) -> Result<(), Stopped> {
        tracing::warn!(session = %writer.session, reason = %error, "store unavailable, buffering run output");
        let mut outage = Self { catcher: None, caught: 0 };
        let mut back = Box::pin(writer.shared.committer.back());
        if outage.try_again(writer).await? {
            return Ok(());
        }
        outage.catch_and_answer(writer)?;
        // Whether the batch was kept is not known to whoever waits for it.
        let closed = || Stopped(CommandError::Doubtful { reason: "the hub closed".to_owned() });
        let mut next_try = Instant::now() + TRY_AGAIN;
        loop {
            tokio::select! {
                biased;
                () = back.as_mut() => {
                    back.set(writer.shared.committer.back());
                    next_try = Instant::now();
                }
                // A run that keeps bringing something must not keep the next try away.
                () = tokio::time::sleep_until(next_try) => {}
                input = writer.next_input() => {
                    let input = input.ok_or_else(closed)?;
                    let ends_run = input.ends_run();
                    outage.take(writer, input).await?;
                    if ends_run {
                        // An end may use the reserve of a full disk.
                        next_try = Instant::now();
                    }
                }
            }
            if Instant::now() >= next_try {
                if outage.try_again(writer).await? {
                    return Ok(());
                }
                if writer.shared.committer.is_gone() {
                    return Err(closed());
                }
                next_try = Instant::now() + TRY_AGAIN;
            }
        }
    }

    /// Appends the batch, or what of it the log does not have yet.
    async fn try_again(&mut self, writer: &mut Writer) -> Result<bool, Stopped> {
        // An append may be durable without an answer, and output is caught in the slot from now on.
        writer.keep_slots_in_doubt();
        let end = match writer.shared.store.open(writer.address()).await {
            Ok(opened) => opened.end,
            // Its first entry is what could not be appended.
            Err(OpenError::Unknown(_)) => writer.durable,
            Err(_) => return Ok(false),
        };
        if end.seq < writer.durable.seq {
            return Err(Stopped(CommandError::Damaged { intact: end.seq }));
        }
        if end != writer.durable && !self.skip_durable(writer).await? {
            return Ok(false);
        }
        if writer.batch.entries.is_empty() {
            writer.finish()?;
            return Ok(true);
        }
        if fault::planted("outage_clears_slot_early") {
            self.clear(writer);
        }
        match writer.append(Urgency::of(&writer.batch.entries)).await {
            Ok(()) => {
                let last = writer.batch.entries.last().map(|entry| entry.seq);
                tracing::info!(session = %writer.session, seq = ?last, "store available again");
                self.clear(writer);
                writer.finish()?;
                Ok(true)
            }
            Err(AppendError::Fenced { .. }) => Err(Stopped(CommandError::Moved)),
            Err(_) => Ok(false),
        }
    }

    /// An append of unknown outcome may have been durable: what the log has is taken out of the batch.
    async fn skip_durable(&mut self, writer: &mut Writer) -> Result<bool, Stopped> {
        let from = writer.durable.seq.next();
        let Ok(links) = load::links(writer.shared.store.as_ref(), writer.session, from).await else {
            return Ok(false);
        };
        let same = links.iter().zip(&writer.batch.entries).all(|(link, entry)| *link == entry.link());
        if !same || links.len() > writer.batch.entries.len() {
            return Err(Stopped(CommandError::Moved));
        }
        let durable: Vec<_> = writer.batch.entries.drain(..links.len()).collect();
        self.caught = self.caught.saturating_sub(durable.len());
        if fault::planted("durable_append_is_not_told") {
            writer.note_durable(&durable)?;
            writer.durable = durable.last().map_or(writer.durable, |last| last.link());
            return Ok(true);
        }
        writer.made_durable(&durable)?;
        Ok(true)
    }

    /// The output is in the log: the slot holds nothing any more.
    fn clear(&mut self, writer: &Writer) {
        if let Some((slot, _)) = self.catcher.take()
            && let Err(error) = writer.shared.spool.clear(slot)
        {
            // The entries are recognised by their links, so nothing is healed twice.
            tracing::warn!(%slot, %error, "failed to clear spool slot");
        }
    }

    async fn take(&mut self, writer: &mut Writer, input: Input) -> Result<(), Stopped> {
        match input {
            Input::Progress { run, progress, answer } => {
                writer.take_progress(run, progress, answer)?;
                self.catch_and_answer(writer)?;
            }
            Input::Command {
                command: command @ (Command::Stop { .. } | Command::Interrupt { .. }),
                answer,
            } => {
                let decided = writer.decide_after_brought(command).await?;
                writer.batch.waiting.push(Waiting::Command(answer, decided));
                self.catch(writer)?;
                writer.cancel_now();
            }
            Input::Read { answer } => {
                let loaded = load::load(writer.shared.store.as_ref(), writer.address()).await;
                drop(answer.send(loaded.map(|loaded| Box::new(loaded.state))));
            }
            Input::Follow { after, answer } => {
                drop(answer.send(writer.followers.subscribe(after, writer.durable)))
            }
            Input::Open { answer } => drop(answer.send(Ok(()))),
            Input::LookAgain => {}
            Input::Healed { .. } => writer.healing = false,
            // The trash can wait.
            Input::Retire { when: Retire::Trashed { .. }, .. } => {}
            // The run stays open in the log and its output in the slot; the next writer heals it.
            Input::Retire { .. } => {
                let reason = "store unavailable, buffering run output".to_owned();
                return Err(Stopped(CommandError::Doubtful { reason }));
            }
            other @ Input::Command { .. } => {
                other.fail(&CommandError::Unavailable { reason: "the store is unavailable".to_owned() });
            }
        }
        Ok(())
    }

    /// Catches the run's output, and lets the run go on where that is enough; nobody is shown it yet.
    fn catch_and_answer(&mut self, writer: &mut Writer) -> Result<(), Stopped> {
        if self.catch(writer)? {
            let caught = |waiting: &mut Waiting| matches!(waiting, Waiting::Progress(.., Durable::Anywhere));
            let seq = writer.durable.seq;
            writer.batch.waiting.extract_if(.., caught).for_each(|waiting| waiting.acknowledge(seq));
        }
        Ok(())
    }

    /// Catches the run's output of the batch in its slot. Says whether all of it is durable there.
    fn catch(&mut self, writer: &mut Writer) -> Result<bool, Stopped> {
        let Some((session, run, slot)) = writer.spooling() else { return Ok(false) };
        let entries: Vec<_> = writer.batch.entries[self.caught..].to_vec();
        let mut last = match self.caught {
            0 => writer.durable,
            caught => writer.batch.entries[caught - 1].link(),
        };
        if self.catcher.is_none() {
            match writer.shared.spool.begin(slot, session, run) {
                Ok(catcher) => self.catcher = Some((slot, catcher)),
                Err(error) => {
                    tracing::warn!(%slot, %error, "failed to open spool slot, run output not buffered");
                    return Ok(false);
                }
            }
        }
        let Some((_, catcher)) = self.catcher.as_mut() else { return Ok(false) };
        for entry in &entries {
            let added = if is_of(entry, run) { catcher.add(&last, &[entry]) } else { Ok(()) };
            match added {
                Ok(()) => {
                    self.caught += 1;
                    last = entry.link();
                }
                Err(SpoolError::Full) => return self.interrupt(writer),
                Err(error) => {
                    tracing::warn!(%slot, %error, "failed to write spool slot, run output no longer buffered");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The slot is full: what is caught is kept, the run ends here.
    fn interrupt(&mut self, writer: &mut Writer) -> Result<bool, Stopped> {
        drop(writer.decide(Command::Interrupt { reason: InterruptReason::SpoolFull })?);
        // The end is linked to the entry before it, which did not fit.
        let (end, last): (_, Link) = match writer.batch.entries.as_slice() {
            [.., before, end] => (Some(end.clone()), before.link()),
            [end] => (Some(end.clone()), writer.durable),
            [] => (None, writer.durable),
        };
        if let (Some(end), Some((_, catcher))) = (end, self.catcher.as_mut())
            && let Err(error) = catcher.add(&last, &[&end])
        {
            tracing::warn!(%error, "failed to write run end to spool");
        }
        self.caught = writer.batch.entries.len();
        writer.cancel_now();
        // Once the store is back, the run resumes.
        writer.proceeds = true;
        Ok(false)
    }
}

/// Returns whether an entry is output of `run` or its end. The batch may also hold entries of the next run, which has its
/// own slot.
fn is_of(entry: &Entry, run: RunId) -> bool {
    let of = match &entry.event {
        Event::RunEnded { run, .. } => Some(*run),
        event => event.output_of(),
    };
    of == Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::{Epoch, RunEnd, Time, TurnId};

    #[test]
    fn a_slot_catches_the_entries_of_its_own_run_alone() {
        let entry = |event| Entry::seal(&Link::START, Time(1), Epoch(1), event);
        let text = |run| entry(Event::TextAdded { run, text: "heron".to_owned() });
        let end = |run| entry(Event::RunEnded { turn: TurnId(2), run, end: RunEnd::Completed });
        let (own, next) = (RunId(3), RunId(9));
        assert!(is_of(&text(own), own) && is_of(&end(own), own));
        assert!(!is_of(&text(next), own) && !is_of(&end(next), own));
        assert!(!is_of(&entry(Event::TitleGenerated { title: "heron".to_owned() }), own));
    }
}

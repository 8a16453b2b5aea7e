//! Brings back what a dead run left outside the log: at the first repair, and later at each read that asks for it.

use session::{Command, Context, Journal, Link, RunId};

use crate::error::CommandError;
use crate::input::Input;
use crate::load;
use crate::spool::Look;
use crate::writer::{Stopped, Writer};

impl Writer {
    /// Closes the run that was going on when its worker died, before anything else is decided.
    pub(crate) async fn recover(&mut self) -> Result<(), Stopped> {
        let open = self.state.open().map(|(_, run)| (run.id, run.spool));
        let journal = match open {
            None => Journal::Unused,
            Some((run, slot)) => {
                let look = self.look(slot, run).await;
                let links = self.links(&look).await.map_err(Stopped)?;
                self.seal_and_read(slot, look, &links)?
            }
        };
        let spool = self.shared.spool.lend();
        let chat = open.is_some() && self.is_chat().await;
        let context = Context { now: self.shared.clock.now(), spool, runs: self.shared.runs(), chat };
        let policy = self.shared.settings.after_crash.get();
        let decision = if fault::planted("no_repair") && open.is_some() {
            session::Decision::default()
        } else {
            session::recover(&self.state, journal, policy, &context)
        };
        self.apply(decision, &context);
        if self.batch.entries.is_empty() {
            return Ok(());
        }
        fault::hit("recover.before_append")?;
        let appended = self.append(store::Urgency::Essential).await;
        appended.map_err(|error| Stopped(error.into()))?;
        fault::hit("recover.after_append")?;
        self.finish()
    }

    async fn look(&self, slot: Option<session::SlotNo>, run: RunId) -> Look {
        let session = self.session;
        let looked = self.shared.spool.work(move |spool| spool.look(slot, session, run)).await;
        looked.unwrap_or(Look::NotYet)
    }

    /// The links that the log has where the frames would stand.
    async fn links(&self, look: &Look) -> Result<Vec<Link>, CommandError> {
        let first = match look {
            Look::Frames { frames, .. } => frames.first().map(|frame| frame.link.seq),
            Look::Unused | Look::NotYet => None,
        };
        match first {
            Some(first) => load::links(self.shared.store.as_ref(), self.session, first).await,
            None => Ok(Vec::new()),
        }
    }

    /// What a look means. Output of a dead run is sealed first, so that nothing can be added while it is healed.
    fn seal_and_read(
        &self,
        slot: Option<session::SlotNo>,
        look: Look,
        links: &[Link],
    ) -> Result<Journal, Stopped> {
        let unsealed = matches!(&look, Look::Frames { sealed: false, frames } if !frames.is_empty());
        if let Some(slot) = slot.filter(|_| unsealed && !fault::planted("healer_leaves_unsealed")) {
            self.shared.spool.seal(slot)?;
        }
        Ok(look.journal(|link| links.contains(link)))
    }

    /// A read asks for healing; it does not wait for it. One look at a time.
    pub(crate) fn ask_to_heal(&mut self) -> Result<(), Stopped> {
        if self.state.recovering.is_empty() || (self.healing && !fault::planted("heals_overlap")) {
            return Ok(());
        }
        let now = self.shared.clock.now();
        let given_up: Vec<RunId> = self
            .state
            .recovering
            .iter()
            .filter(|marker| marker.is_given_up(now))
            .map(|marker| marker.run)
            .collect();
        for run in given_up {
            // Settles by age alone, without a look at the journal.
            drop(self.decide(Command::Heal { run, journal: Journal::NotYet })?);
        }
        let Some(marker) = self.state.recovering.first().copied() else { return Ok(()) };
        self.healing = true;
        let (shared, session, mailbox) = (self.shared.clone(), self.session, self.sender.clone());
        crate::spawn::spawn(async move {
            shared.count_heal_look();
            let looked = shared.spool.work(move |spool| spool.look(marker.spool, session, marker.run)).await;
            let look = looked.unwrap_or(Look::NotYet);
            let first = match &look {
                Look::Frames { frames, .. } => frames.first().map(|frame| frame.link.seq),
                Look::Unused | Look::NotYet => None,
            };
            let links = match first {
                Some(first) => load::links(shared.store.as_ref(), session, first).await.unwrap_or_default(),
                None => Vec::new(),
            };
            // A writer that retired meanwhile is asked again by the next read.
            drop(mailbox.send(Input::Healed { run: marker.run, look, links }).await);
        });
        Ok(())
    }

    pub(crate) async fn take_healed(
        &mut self,
        run: RunId,
        look: Look,
        links: &[Link],
    ) -> Result<(), Stopped> {
        self.healing = false;
        let Some(marker) = self.state.recovering.iter().find(|marker| marker.run == run).copied() else {
            return Ok(());
        };
        let journal = self.seal_and_read(marker.spool, look, links)?;
        let heals = matches!(&journal, Journal::Output { events, .. } if !events.is_empty());
        if heals {
            fault::hit("heal.before_append")?;
        }
        drop(self.decide(Command::Heal { run, journal })?);
        self.commit().await?;
        if heals {
            fault::hit("heal.after_append")?;
        }
        Ok(())
    }
}

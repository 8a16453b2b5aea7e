//! Brings back what a dead run left outside the log: at the first repair, at each read, and while someone follows.

use session::{Command, Journal, Link, RunId};

use store::AppendError;

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
                let links =
                    load::links_of(&look, self.shared.store.as_ref(), self.session).await.map_err(Stopped)?;
                self.seal_and_read(slot, look, &links)?
            }
        };
        let chat = open.is_some() && self.is_chat().await;
        let context = self.context(self.shared.runs(), chat);
        let reason = self.shared.crashed.reason(self.session);
        let unrepaired = fault::planted("no_repair") && open.is_some();
        if !unrepaired {
            self.apply(session::recover(&self.state, journal, reason, &context), &context);
        }
        self.first_input().await;
        let asked = self.inputs.iter().any(Input::takes_precedence);
        self.proceeds = asked && !fault::planted("resume_overtakes_message");
        if !self.proceeds && !unrepaired && self.shared.has_room_to_resume() {
            drop(self.decide(Command::Proceed)?);
        }
        if self.batch.entries.is_empty() {
            return Ok(());
        }
        fault::hit("recover.before_append")?;
        if let Err(error) = self.append(store::Urgency::Essential).await {
            if matches!(error, AppendError::Unknown { .. }) {
                self.keep_slots_in_doubt();
            }
            return Err(Stopped(error.into()));
        }
        fault::hit("recover.after_append")?;
        self.finish()
    }

    async fn look(&self, slot: Option<session::SlotNo>, run: RunId) -> Look {
        let session = self.session;
        let looked = self.shared.spool.work(move |spool| spool.look(slot, session, run)).await;
        looked.unwrap_or(Look::NotYet)
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
            self.proceeds |= self.state.recovering.is_empty();
        }
        let Some(marker) = self.state.recovering.first().cloned() else { return Ok(()) };
        self.healing = true;
        let (shared, session, mailbox) = (self.shared.clone(), self.session, self.sender.clone());
        crate::spawn::spawn(async move {
            shared.count_heal_look();
            let looked = shared.spool.work(move |spool| spool.look(marker.spool, session, marker.run)).await;
            let look = looked.unwrap_or(Look::NotYet);
            let (look, links) = match load::links_of(&look, shared.store.as_ref(), session).await {
                Ok(links) => (look, links),
                Err(_) if fault::planted("unreadable_log_has_nothing") => (look, Vec::new()),
                // Without the log, recovery would append entries that it already has. The next look retries.
                Err(_) => (Look::NotYet, Vec::new()),
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
        let Some(marker) = self.state.recovering.iter().find(|marker| marker.run == run).cloned() else {
            return Ok(());
        };
        let journal = self.seal_and_read(marker.spool, look, links)?;
        let heals = matches!(&journal, Journal::Output { events, .. } if !events.is_empty());
        if heals {
            fault::hit("heal.before_append")?;
        }
        drop(self.decide(Command::Heal { run, journal })?);
        self.proceeds |= self.state.recovering.is_empty();
        self.commit().await?;
        if heals {
            fault::hit("heal.after_append")?;
        }
        Ok(())
    }
}

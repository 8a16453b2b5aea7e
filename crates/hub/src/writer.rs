//! The loop of one session: take what was asked, decide, append, fold, acknowledge, hand over effects.
//!
//! The state is folded ahead of durability, one batch at most, and nobody sees it before the batch is durable. Any
//! point at which that cannot be told stops the writer: the log is intact, and the next one recovers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent::Alarm;
use session::{
    Accepted, Command, Context, Decision, Entry, Event, Link, Progress, Rejected, RunId, Runs, Session,
    SessionId, SlotNo,
};
use store::{Append, AppendError, Claim, ClaimError, Claiming, Snapshot, StoreError, Urgency};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::changes::{self, Change, Line};
use crate::deliveries;
use crate::earlier::EarlierTurns;
use crate::effects::Worker;
use crate::error::CommandError;
use crate::follow::Followers;
use crate::handle::Acknowledged;
use crate::hub::Shared;
use crate::input::{
    Batch, BatchKind, CommandAnswer, Durable, GivenUp, Input, OfEntries, ProgressAnswer, Retire, Waiting,
    ends_run, may_start_run,
};
use crate::load;
use crate::memory::Leaving;
use crate::metrics;
use crate::outage::Outage;
use crate::runner::RunOver;
use crate::slots::{LentSlot, lent_slots, release_unnamed};

/// Inputs taken into one batch, so that a flood of one session is one append and no other session waits for it.
const BATCH_INPUTS_MAX: usize = 64;
/// Entries after which a state is kept to shorten the next fold.
const SNAPSHOT_ENTRIES: u64 = 1_024;
/// How often journals of runs that are being recovered are looked at while someone follows.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How often a run that could not start is tried again.
const PROCEED_AGAIN: Duration = Duration::from_secs(1);
/// How long a new writer waits for the input that it was started for, before it goes on by itself.
const FIRST_INPUT: Duration = Duration::from_secs(1);

/// Why a writer ends. Callers that wait are told; the next writer reads the log.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) CommandError);

impl From<std::io::Error> for Stopped {
    fn from(error: std::io::Error) -> Self {
        Self(CommandError::Doubtful { reason: error.to_string() })
    }
}

/// The one task that may append to a session.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: SessionId,
    pub(crate) claim: Claim,
    mailbox: mpsc::Receiver<Input>,
    pub(crate) sender: mpsc::Sender<Input>,
    /// Taken from the mailbox and not looked at yet.
    pub(crate) inputs: VecDeque<Input>,
    pub(crate) state: Session,
    /// The end of the log as it is on disk.
    pub(crate) durable: Link,
    pub(crate) batch: Batch,
    pub(crate) followers: Followers,
    pub(crate) worker: Option<Worker>,
    pub(crate) healing: bool,
    /// Held while a title is requested: one request at a time.
    pub(crate) titling: Arc<Semaphore>,
    /// Whether an interrupted run may resume, or a waiting message start, once the inputs that came first are served.
    pub(crate) proceeds: bool,
    /// When journals are looked at again while someone follows.
    look_again: Instant,
    pub(crate) leaving: Leaving,
    /// Whether a run of this session is counted as going on in this process.
    counted: bool,
    /// Slots lent to runs whose output may still be in them, also when the turn is out of sight already.
    pub(crate) slots: Vec<(RunId, SlotNo)>,
    since_snapshot: u64,
    /// Whether the state holds more turns than its log folds to, because undo emptied it. A snapshot is a fold of the log,
    /// so none is kept from then on.
    refilled: bool,
    /// Rings when nothing was asked for long enough.
    idle: Alarm,
    retiring: Option<(Retire, oneshot::Sender<GivenUp>)>,
}

/// Claims the session, reads and recovers it, and serves its mailbox until it is idle.
pub(crate) async fn run(
    shared: Arc<Shared>,
    id: SessionId,
    session: SessionId,
    claiming: Claiming,
    sender: mpsc::Sender<Input>,
    mut mailbox: mpsc::Receiver<Input>,
) {
    let begun = match begin(&shared, id, claiming).await {
        Ok(begun) => begun,
        Err(error) => {
            shared.registry().remove(session, &sender);
            mailbox.close();
            // Others may have come by an id that still leads here: each is told by its own.
            let others = claiming == Claiming::Existing && error == CommandError::Deleted(id);
            let error = if others { CommandError::Retired } else { error };
            while let Some(input) = mailbox.recv().await {
                input.fail(&error);
            }
            return;
        }
    };
    let (claim, state, since_snapshot) = begun;
    let slots = match claiming {
        Claiming::Existing => {
            state.ids.iter().for_each(|id| shared.registry().lead(*id, session));
            let named = lent_slots(&state);
            release_unnamed(&shared.spool, claim.session, &named).await;
            named
        }
        // What a branch shares with its origin stays its origin's.
        Claiming::New | Claiming::Branch { .. } => Vec::new(),
    };
    let idle = Alarm::new(Instant::now() + shared.settings.idle_after);
    let mut writer = Writer {
        shared,
        session: claim.session,
        claim,
        mailbox,
        sender,
        inputs: VecDeque::new(),
        durable: state.link,
        state,
        batch: Batch::default(),
        followers: Followers::default(),
        worker: None,
        healing: false,
        titling: Arc::new(Semaphore::new(1)),
        proceeds: false,
        look_again: Instant::now() + LOOK_AGAIN,
        leaving: Leaving::default(),
        counted: false,
        slots,
        since_snapshot,
        refilled: false,
        idle,
        retiring: None,
    };
    let recovered = match claiming {
        Claiming::Existing => writer.recover().await,
        // Nothing of its own has happened yet.
        Claiming::New | Claiming::Branch { .. } => Ok(()),
    };
    let ended = match recovered {
        Ok(()) => writer.serve().await,
        Err(stopped) => Err(stopped),
    };
    writer.end(ended).await;
}

/// Claims the session and reads its state. A branch is read as its origin up to where it begins.
async fn begin(
    shared: &Shared,
    id: SessionId,
    claiming: Claiming,
) -> Result<(Claim, Session, u64), CommandError> {
    let ask = || shared.store.claim(id, shared.node, claiming, shared.clock.now());
    let claim = match ask().await {
        // A dead store comes back when someone asks for it.
        Err(ClaimError::Store(StoreError::Dead(_))) => {
            shared.store.revive().await?;
            ask().await?
        }
        claimed => claimed?,
    };
    match claiming {
        Claiming::New => Ok((claim, Session::default(), 0)),
        Claiming::Existing => {
            let mut loaded = load::load(shared.store.as_ref(), id).await?;
            written_by(&claim, &loaded.state)?;
            if fault::planted("restart_forgets_debt") {
                loaded.state.memory = session::Ledger::default();
            }
            Ok((claim, loaded.state, loaded.folded))
        }
        Claiming::Branch { from, at } => {
            let state = load::load_until(shared.store.as_ref(), from, at).await?;
            Ok((claim, state, at.0))
        }
    }
}

/// Another node may have claimed the session, and appended, before its log was read here.
fn written_by(claim: &Claim, state: &Session) -> Result<(), CommandError> {
    if state.link.epoch > claim.epoch { Err(CommandError::Moved) } else { Ok(()) }
}

impl Writer {
    async fn serve(&mut self) -> Result<(), Stopped> {
        loop {
            if self.inputs.is_empty() && !self.wait().await? {
                return Ok(());
            }
            while !self.inputs.is_empty() {
                self.take_inputs().await?;
                self.commit().await?;
                // A command of the user that is still to come takes precedence.
                while self.proceeds && !self.inputs.iter().any(Input::takes_precedence) {
                    self.proceeds = false;
                    drop(self.decide(Command::Proceed)?);
                    self.commit().await?;
                }
                if fault::planted("commit_blocks_its_session") {
                    self.wait_for_commit().await?;
                }
            }
            let quiet = self.state.open_run.is_none();
            // Looked at last, so that whatever was asked before counts; whoever asked finds the answer dropped.
            let since = self.state.trashed_at.filter(|_| quiet);
            self.retiring.take_if(|(when, _)| {
                matches!(when, Retire::Trashed { until } if since.is_none_or(|since| since > *until))
            });
            if quiet && matches!(self.retiring, Some((Retire::WhenQuiet, _))) && !self.settle_memory().await?
            {
                continue;
            }
            if self.retiring.as_ref().is_some_and(|(when, _)| quiet || *when == Retire::Now) {
                return Ok(());
            }
        }
    }

    /// Waits for inputs; says no when the session was idle for long enough.
    async fn wait(&mut self) -> Result<bool, Stopped> {
        loop {
            let mut taken = Vec::new();
            let deadline = Instant::now() + self.shared.settings.idle_after;
            let looks = !self.state.recovering.is_empty() && !self.followers.is_empty();
            let proceeds = self.waits_to_proceed();
            let count = tokio::select! {
                biased;
                count = self.mailbox.recv_many(&mut taken, BATCH_INPUTS_MAX) => Some(count),
                () = tokio::time::sleep_until(self.look_again), if looks => {
                    taken.push(Input::LookAgain);
                    Some(1)
                }
                () = tokio::time::sleep(PROCEED_AGAIN), if proceeds => match self.shared.runs() {
                    Runs::Allowed => {
                        taken.push(Input::proceed());
                        Some(1)
                    }
                    Runs::Held => continue,
                },
                () = self.idle.until(deadline) => None,
            };
            self.inputs.extend(taken);
            match count {
                Some(count) => return Ok(count > 0),
                None if self.is_idle() => {
                    if self.settle_memory().await? {
                        return Ok(false);
                    }
                }
                // A follower that leaves tells nobody, so it is looked for again.
                None => self.leaving = Leaving::default(),
            }
        }
    }

    /// Returns whether a queued message or an interrupted run could start if runs were allowed.
    fn waits_to_proceed(&self) -> bool {
        let context = self.context(Runs::Allowed, false);
        let starts = |decision: Decision| !decision.events.is_empty();
        self.shared.has_room_to_resume()
            && !fault::planted("waiting_message_is_forgotten")
            && session::decide(&self.state, Command::Proceed, &context).is_ok_and(starts)
    }

    fn is_idle(&self) -> bool {
        let waits = self.state.queue.iter().any(|queued| !queued.paused);
        self.state.open_run.is_none() && !waits && self.followers.is_empty()
    }

    /// Decides inputs until one must see the others durable first.
    async fn take_inputs(&mut self) -> Result<(), Stopped> {
        while let Some(input) = self.inputs.pop_front() {
            let alone = input.stands_alone();
            // Turns are read back from what is durable.
            if (alone || self.state.wants_refill()) && !self.batch.is_empty() {
                self.inputs.push_front(input);
                return Ok(());
            }
            self.take(input).await?;
            if alone {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(crate) async fn take(&mut self, input: Input) -> Result<(), Stopped> {
        match input {
            Input::Command { command, answer } => self.take_command(command, answer).await,
            Input::Progress { run, progress, answer } => self.take_progress(run, progress, answer),
            Input::Read { answer } => {
                let refilled = self.refill().await;
                // A reader that is gone needs nothing.
                drop(answer.send(refilled.map(|()| Box::new(self.state.clone()))));
                self.ask_to_heal()
            }
            Input::Follow { after, answer } => {
                drop(answer.send(self.followers.subscribe(after, self.durable)));
                // What this writer does not know of was appended by another.
                if after > self.durable.seq {
                    return Err(Stopped(CommandError::Moved));
                }
                if fault::planted("follow_does_not_heal") { Ok(()) } else { self.ask_to_heal() }
            }
            Input::Open { answer } => {
                drop(answer.send(Ok(())));
                Ok(())
            }
            Input::LookAgain => {
                self.look_again = Instant::now() + LOOK_AGAIN;
                if fault::planted("follow_does_not_heal") { Ok(()) } else { self.ask_to_heal() }
            }
            Input::Healed { run, look, links } => self.take_healed(run, look, &links).await,
            Input::Retire { when, answer } => {
                // Emptying the trash comes after whoever wants the session given up anyway.
                let waits = matches!(when, Retire::Trashed { .. }) && self.retiring.is_some();
                if !waits {
                    self.retiring = Some((when, answer));
                }
                Ok(())
            }
        }
    }

    async fn take_command(
        &mut self,
        command: Command,
        answer: oneshot::Sender<CommandAnswer>,
    ) -> Result<(), Stopped> {
        fault::hit("accept.before_decide")?;
        match self.known_key(&command).await {
            Ok(None) => {}
            Ok(Some(acknowledged)) => {
                drop(answer.send(Ok(acknowledged)));
                return Ok(());
            }
            Err(error) => {
                drop(answer.send(Err(error)));
                return Ok(());
            }
        }
        let ready = match self.check_attachments(&command).await {
            Ok(()) => self.refill().await,
            missing => missing,
        };
        if let Err(error) = ready {
            drop(answer.send(Err(error)));
            return Ok(());
        }
        self.note_leaving(&command);
        let decided = self.decide_after_brought(command).await?;
        self.batch.waiting.push(Waiting::Command(answer, decided));
        Ok(())
    }

    /// Looks for the attachments of a message before anything is decided. The append looks again.
    async fn check_attachments(&self, command: &Command) -> Result<(), CommandError> {
        for attachment in command.message().map_or(&[][..], |message| &message.attachments) {
            let blob = attachment.blob.clone();
            if !fault::planted("message_names_lost_file") && !self.shared.store.has_blob(blob.clone()).await?
            {
                return Err(CommandError::AttachmentMissing(blob));
            }
        }
        Ok(())
    }

    /// The turns that the state no longer holds.
    pub(crate) fn earlier(&self) -> EarlierTurns {
        EarlierTurns::new(self.shared.store.clone(), self.session)
    }

    /// Puts turns back into a state that undo emptied, before anyone looks at it or asks for the next undo.
    async fn refill(&mut self) -> Result<(), CommandError> {
        let wanted = self.state.wants_refill();
        self.refilled |= wanted;
        if wanted { self.earlier().refill(&mut self.state).await } else { Ok(()) }
    }

    /// Whether a chat is bound to the session: an interruption leaves a mark then. When in doubt, it does.
    pub(crate) async fn is_chat(&self) -> bool {
        self.shared.store.chats_of(self.session).await.map_or(true, |chats| !chats.is_empty())
    }

    /// Decides a command. One that ends the run comes after all that the run brought; one that is refused, or meant
    /// for another run, leaves the run alone.
    pub(crate) async fn decide_after_brought(
        &mut self,
        command: Command,
    ) -> Result<Result<Accepted, Rejected>, Stopped> {
        let runs = self.shared.runs();
        let chat = matches!(command, Command::Interrupt { .. }) && self.is_chat().await;
        if self.worker.is_some() && ends_run(&command) {
            // Deciding is pure, so that it can be asked beforehand.
            let context = Context { spool: None, ..self.context(runs, false) };
            let decision = session::decide(&self.state, command.clone(), &context);
            let ends = |event: &Event| matches!(event, Event::RunEnded { .. });
            let ends = decision.is_ok_and(|decision| decision.events.iter().any(ends));
            if ends || fault::planted("refused_command_ends_run") {
                self.take_brought()?;
            }
        }
        self.decide_when(command, runs, chat)
    }

    /// What the run brought before a command ends it comes first, also what was not handed over yet: it was paid for.
    fn take_brought(&mut self) -> Result<(), Stopped> {
        let Some(worker) = self.worker.as_ref().filter(|_| !fault::planted("stop_drops_gathered")) else {
            return Ok(());
        };
        let run = worker.run;
        let (mailbox, inputs) = (&mut self.mailbox, &mut self.inputs);
        let gathered = worker.close(|| {
            while let Ok(input) = mailbox.try_recv() {
                inputs.push_back(input);
            }
        });
        for input in std::mem::take(&mut self.inputs) {
            match input {
                Input::Progress { run: of, progress, answer } if of == run && !progress.ends_run() => {
                    self.take_progress(run, progress, answer)?;
                }
                other => self.inputs.push_back(other),
            }
        }
        for progress in gathered {
            // Nobody waits for these; a run that is over already brings nothing more.
            drop(self.decide(Command::Progress { run, progress })?);
        }
        Ok(())
    }

    pub(crate) fn take_progress(
        &mut self,
        run: RunId,
        progress: Progress,
        answer: oneshot::Sender<ProgressAnswer>,
    ) -> Result<(), Stopped> {
        let mut durable = Durable::of(&progress);
        let ends_step = progress == Progress::StepEnded;
        let decided = self.decide(Command::Progress { run, progress })?;
        // A step that ends the run needs nothing in the log: in an outage the end goes to the spool.
        if ends_step && decided.as_ref().is_ok_and(|accepted| accepted.steered.is_empty()) {
            durable = Durable::Anywhere;
        }
        let steered = decided.map(|accepted| accepted.steered).map_err(|_| RunOver);
        self.batch.waiting.push(Waiting::Progress(answer, steered, durable));
        Ok(())
    }

    /// The answer that a key was given before, if it was.
    async fn known_key(&self, command: &Command) -> Result<Option<Acknowledged>, CommandError> {
        let (key, fingerprint) = match command {
            Command::PostMessage { message, mode, key: Some(key) } => {
                (key, session::Fingerprint::of_post(message, mode))
            }
            Command::EditMessage { turn, message, key: Some(key) } => {
                (key, session::Fingerprint::of_edit(*turn, message))
            }
            _ => return Ok(None),
        };
        match self.shared.store.find_key(self.session, key.clone()).await? {
            None => Ok(None),
            Some(used) if used.fingerprint != fingerprint => Err(CommandError::KeyReused),
            Some(used) => Ok(Some(Acknowledged::of_key(used.seq))),
        }
    }

    /// Decides a command and folds what follows from it, ahead of durability.
    pub(crate) fn decide(&mut self, command: Command) -> Result<Result<Accepted, Rejected>, Stopped> {
        self.decide_when(command, self.shared.runs(), false)
    }

    /// Returns the context of a decision, without a spool slot.
    pub(crate) fn context(&self, runs: Runs, chat: bool) -> Context {
        let resume_within_micros = self.shared.settings.after_interruption.within_micros();
        Context { now: self.shared.clock.now(), spool: None, runs, chat, resume_within_micros }
    }

    /// Waits for the input that the writer was started for.
    pub(crate) async fn first_input(&mut self) {
        let mut taken = Vec::new();
        let first = self.mailbox.recv_many(&mut taken, BATCH_INPUTS_MAX);
        // A caller that went away leaves the writer to itself.
        drop(tokio::time::timeout(FIRST_INPUT, first).await);
        self.inputs.extend(taken);
    }

    fn decide_when(
        &mut self,
        command: Command,
        runs: Runs,
        chat: bool,
    ) -> Result<Result<Accepted, Rejected>, Stopped> {
        let lent = if may_start_run(&command) { LentSlot::of(&self.shared.spool) } else { None };
        let spool = lent.as_ref().map(LentSlot::slot);
        let context = Context { spool, ..self.context(runs, chat) };
        let decision = match session::decide(&self.state, command, &context) {
            Ok(decision) => decision,
            Err(rejected) => return Ok(Err(rejected)),
        };
        let starts = |event: &Event| matches!(event, Event::RunStarted { spool: slot, .. } if *slot == spool);
        if decision.events.iter().any(starts) {
            self.batch.lent.extend(lent);
        }
        Ok(Ok(self.apply(decision, &context)))
    }

    /// Numbers, chains and folds the events of a decision.
    pub(crate) fn apply(&mut self, decision: Decision, context: &Context) -> Accepted {
        for event in decision.events {
            let entry = Entry::seal(&self.state.link, context.now, self.claim.epoch, event);
            session::fold(&mut self.state, &entry);
            self.batch.entries.push(Arc::new(entry));
        }
        self.batch.effects.extend(decision.effects);
        if decision.accepted.run.is_some() {
            self.register_owner();
        }
        decision.accepted
    }

    /// Makes the batch durable, then shows, acknowledges and performs it.
    pub(crate) async fn commit(&mut self) -> Result<(), Stopped> {
        if self.batch.entries.is_empty() {
            return self.confirm().await;
        }
        let kind = BatchKind::of(&self.batch.entries);
        if fault::planted("answer_before_append") {
            let seq = self.durable.seq;
            self.batch.waiting.drain(..).for_each(|waiting| waiting.acknowledge(seq));
        }
        fault::hit(kind.before())?;
        match self.append(Urgency::of(&self.batch.entries)).await {
            Ok(()) => {
                fault::hit(kind.after())?;
                self.finish()
            }
            Err(AppendError::Fenced { .. }) => Err(Stopped(CommandError::Moved)),
            Err(
                refused @ (AppendError::KeyUsed { .. } | AppendError::IdTaken(_) | AppendError::Deleted(_)),
            ) => self.refused(&refused).await,
            // Nothing was written, and people are told so at once; what a run brought waits for room.
            Err(error @ (AppendError::Full | AppendError::BlobMissing(_))) if self.batch.is_asked_for() => {
                self.refused(&error).await
            }
            // An edit that ended a run: the writer stops, and the next one recovers what the run produced.
            Err(AppendError::BlobMissing(blob)) => Err(Stopped(CommandError::AttachmentMissing(blob))),
            // No outage, but the end of the process: the next one finds the log as it is.
            Err(error) if self.shared.committer.is_gone() => {
                Err(Stopped(CommandError::Doubtful { reason: error.to_string() }))
            }
            Err(
                error @ (AppendError::Full
                | AppendError::Conflict { .. }
                | AppendError::Store(_)
                | AppendError::Unknown { .. }),
            ) => Outage::begin(self, &error).await,
        }
    }

    /// Nothing is to be appended, so that no append tells whether the session is still this writer's. What people are
    /// told holds only if the log still ends where this writer knows it to.
    async fn confirm(&mut self) -> Result<(), Stopped> {
        let tells_people = self.batch.waiting.iter().any(|waiting| matches!(waiting, Waiting::Command(..)));
        if !tells_people || self.durable == Link::START {
            return self.finish();
        }
        match self.shared.store.open(self.address()).await {
            Ok(opened) if opened.end == self.durable => self.finish(),
            Ok(_) => Err(Stopped(CommandError::Moved)),
            Err(error) => {
                let error = CommandError::from(error);
                std::mem::take(&mut self.batch).waiting.into_iter().for_each(|waiting| waiting.fail(&error));
                Ok(())
            }
        }
    }

    pub(crate) async fn append(&self, urgency: Urgency) -> Result<(), AppendError> {
        let append =
            Append { claim: self.claim, last: self.durable, entries: self.batch.entries.clone(), urgency };
        self.shared.committer.append(append).await
    }

    /// A name was taken, or there is no room. All of the batch was asked for, so nothing else is undone with it.
    async fn refused(&mut self, refused: &AppendError) -> Result<(), Stopped> {
        for waiting in std::mem::take(&mut self.batch).waiting {
            waiting.fail(&CommandError::from(refused.clone()));
        }
        if self.durable == Link::START {
            // The session was not created, and its id may belong to another user by now, so the writer loads nothing by it.
            return Err(Stopped(CommandError::from(refused.clone())));
        }
        let loaded = load::load(self.shared.store.as_ref(), self.address()).await.map_err(Stopped)?;
        written_by(&self.claim, &loaded.state).map_err(Stopped)?;
        self.state = loaded.state;
        self.durable = self.state.link;
        Ok(())
    }

    /// Everything in the batch is durable: show it, acknowledge it, perform it, in this order.
    pub(crate) fn finish(&mut self) -> Result<(), Stopped> {
        let entries = std::mem::take(&mut self.batch.entries);
        self.made_durable(&entries)?;
        let batch = std::mem::take(&mut self.batch);
        if batch.touches_list {
            self.shared.changes.tell(|| Change::Line(Line::of(self.session, &self.state)));
        }
        if batch.owes_deliveries {
            self.shared.deliveries.tell(self.session);
        }
        let seq = self.durable.seq;
        fault::hit("accept.before_acknowledge")?;
        for waiting in batch.waiting {
            waiting.acknowledge(seq);
        }
        fault::hit("accept.after_acknowledge")?;
        for effect in batch.effects {
            self.perform(effect)?;
        }
        self.keep_snapshot(&entries);
        Ok(())
    }

    /// Counts durable entries and shows them to followers, whether their append was answered or found in the log. Lists and
    /// chats are told once the whole batch is durable.
    pub(crate) fn made_durable(&mut self, entries: &[Arc<Entry>]) -> Result<(), Stopped> {
        let Some(last) = entries.last() else { return Ok(()) };
        self.durable = last.link();
        entries.iter().for_each(|entry| metrics::count_event(&entry.event));
        self.batch.touches_list |= entries.iter().any(|entry| changes::touches(&entry.event));
        self.batch.owes_deliveries |= entries.iter().any(|entry| deliveries::owes(&entry.event));
        fault::hit("follow.before_publish")?;
        self.followers.publish(entries);
        fault::hit("follow.after_publish")?;
        self.note_durable(entries)
    }

    /// Takes the worker away at once: its end is in the batch, and what it brings counts no more.
    pub(crate) fn cancel_now(&mut self) {
        if self.state.open_run.is_none()
            && let Some(worker) = self.worker.take()
        {
            worker.cancel();
        }
    }

    /// What the shell itself must know of durable entries: ids that lead here, slots that are free again.
    pub(crate) fn note_durable(&mut self, entries: &[Arc<Entry>]) -> Result<(), Stopped> {
        for entry in entries {
            match &entry.event {
                Event::SessionCreated { id, .. }
                | Event::SessionBranched { id, .. }
                | Event::IdAdded { id } => {
                    self.shared.registry().lead(*id, self.session);
                }
                Event::IdRemoved { id } if !fault::planted("deleted_id_leads_on") => {
                    self.shared.registry().forget(*id);
                }
                Event::CallAsked { .. } => fault::hit("call.asked_durable")?,
                Event::CallFinished { .. } => fault::hit("call.finished_durable")?,
                Event::RunStarted { spool, .. } => {
                    self.keep_slot(RunId(entry.seq.0), *spool);
                    self.counted = true;
                    self.shared.run_opened();
                }
                Event::RunEnded { end, run, .. } => {
                    self.uncount();
                    let recovering = matches!(end, session::RunEnd::Interrupted { recovering: true, .. });
                    if !recovering {
                        self.free_slot(*run);
                    }
                }
                Event::RecoverySettled { run, .. } => self.free_slot(*run),
                _ => {}
            }
        }
        Ok(())
    }

    /// The run that was counted as going on is over, or nobody works on it any more.
    fn uncount(&mut self) {
        if std::mem::take(&mut self.counted) {
            self.shared.run_closed();
        }
    }

    /// Keeps the state now and then, so that the next open is short.
    fn keep_snapshot(&mut self, entries: &[Arc<Entry>]) {
        self.since_snapshot += entries.len() as u64;
        if self.refilled {
            return;
        }
        let ended = entries.iter().any(|entry| matches!(entry.event, Event::RunEnded { .. }));
        if self.since_snapshot >= SNAPSHOT_ENTRIES * 4 || (ended && self.since_snapshot >= SNAPSHOT_ENTRIES) {
            self.since_snapshot = 0;
            self.shared.save_snapshot(self.session, self.snapshot());
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { at: self.state.link, state: self.state.to_bytes() }
    }

    /// Gives the session up: nobody is left waiting, the worker is taken away, the state is kept.
    async fn end(mut self, ended: Result<(), Stopped>) {
        self.shared.registry().remove(self.session, &self.sender);
        self.mailbox.close();
        if let Some(worker) = self.worker.take() {
            worker.cancel();
        }
        // A run that stays open in the log is not going on any more.
        self.uncount();
        let error = match ended {
            Ok(()) => {
                if self.since_snapshot > 0 && !self.refilled {
                    self.keep_last_snapshot().await;
                }
                // Answered after the snapshot: the store may close as soon as every session is given up.
                if let Some((_, answer)) = self.retiring.take() {
                    let slots = lent_slots(&self.state);
                    let given_up = GivenUp { claim: self.claim, user: self.state.user, slots };
                    if answer.send(given_up).is_err() {
                        tracing::debug!(session = %self.session, "caller stopped waiting for the session to retire");
                    }
                }
                CommandError::Retired
            }
            Err(Stopped(error)) => {
                self.shared.crashed.note(self.session);
                self.shared.repairs.note(self.session, &error);
                tracing::warn!(session = %self.session, reason = %error, "the session's writer exited");
                error
            }
        };
        for waiting in std::mem::take(&mut self.batch).waiting {
            waiting.fail(&error);
        }
        for input in self.inputs.drain(..) {
            input.fail(&error);
        }
        // Also what is being sent at this moment.
        while let Some(input) = self.mailbox.recv().await {
            input.fail(&error);
        }
    }

    async fn keep_last_snapshot(&self) {
        let kept = async {
            fault::hit("retire.before_snapshot")?;
            let kept = self.shared.store.save_snapshot(self.session, self.snapshot()).await;
            kept.map_err(|error| std::io::Error::other(error.to_string()))?;
            fault::hit("retire.after_snapshot")
        };
        if let Err(error) = kept.await {
            tracing::debug!(session = %self.session, %error, "snapshot not saved, next open replays more \
                                                              entries");
        }
    }

    /// An id that leads here. The one under which the log was made may be removed.
    pub(crate) fn address(&self) -> SessionId {
        self.state.ids.first().copied().unwrap_or(self.session)
    }

    /// The next input, while the store is away.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        match self.inputs.pop_front() {
            Some(input) => Some(input),
            None => self.mailbox.recv().await,
        }
    }
}

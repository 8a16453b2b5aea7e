//! Hands completed turns to whom they are owed: performs a commit beside everything else, and sees to it that a session
//! is given up only after what it owes was offered. Which turns, to whom and when is decided by `session::memory`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::memory::{CompletedTurn, Handover, Memory, MemoryError, Taken, TaskState};
use session::{
    Command, CommitOutcome, Entry, Event, MemoryCommit, Owner, Piece, RunEnd, Runs, Seq, SessionId, fold_turn,
};
use store::{Claiming, Store};
use tokio::sync::{mpsc, oneshot};

use crate::error::CommandError;
use crate::handle::SessionHandle;
use crate::hub::{Hub, Shared};
use crate::input::Input;
use crate::load::Stretches;
use crate::writer::{Stopped, Writer};

/// How long a provider may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// How long a task that was accepted may take, and the pauses between looks at it.
const TASK_MAX: Duration = Duration::from_secs(900);
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Sessions that are asked at once for what they owe; the others are next.
const OWING_AT_ONCE: usize = 64;

/// For a bug that can be planted.
static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The memory provider of a hub, if it has one.
#[derive(Clone, Default)]
pub struct Remembers(pub Option<Arc<dyn Memory>>);

impl std::fmt::Debug for Remembers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Remembers").field(&self.0.is_some()).finish()
    }
}

/// Whether a writer is about to give its session up, as far as memory knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Leaving {
    #[default]
    No,
    /// What is owed is being offered.
    Offering,
    /// It was offered and not taken: it stays owed.
    Refused,
}

impl Hub {
    /// A boundary of a session that was left behind. Nobody waits for it, and there may be no such session.
    pub(crate) fn leave_behind(&self, session: SessionId) {
        let session = self.open(session);
        crate::spawn::spawn(async move {
            if let Err(error) = session.commit_memory(None).await {
                tracing::warn!(session = %session.session(), reason = %error, "memory commit postponed");
            }
        });
    }
}

impl SessionHandle {
    /// A boundary: hands the oldest turns that are owed to their owner, or to `owner` if they have none. Answers once
    /// that is begun; nothing happens for a session that owes nothing or does not exist.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub async fn commit_memory(&self, owner: Option<Owner>) -> Result<(), CommandError> {
        self.submit_if_there(Command::CommitMemory { owner }).await
    }

    /// Owes what is completed from now on to this owner, or to none.
    ///
    /// # Errors
    /// When nothing could be kept.
    pub async fn set_memory_owner(&self, owner: Option<Owner>) -> Result<(), CommandError> {
        self.submit_if_there(Command::SetMemoryOwner { owner }).await
    }

    async fn submit_if_there(&self, command: Command) -> Result<(), CommandError> {
        match self.submit(command).await {
            Ok(_) | Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Asks sessions for what they owe: their boundary came when it could not be handed over, or never came.
pub(crate) async fn ask_those_that_owe(shared: &Arc<Shared>, which: impl Fn(SessionId) -> bool) {
    if shared.settings.memory.0.is_none() || shared.runs() == Runs::Held {
        return;
    }
    let owing = match shared.store.owing().await {
        Ok(owing) => owing,
        Err(error) => {
            tracing::warn!(reason = %error, "failed to list pending memory commits, retrying");
            return;
        }
    };
    let mut owing: Vec<SessionId> = owing.into_iter().filter(|session| which(*session)).collect();
    // Those whose provider keeps refusing must not keep the others from being asked.
    let first = shared.owing_looks.fetch_add(1, Ordering::AcqRel) * OWING_AT_ONCE;
    let first = first.checked_rem(owing.len()).unwrap_or(0);
    owing.rotate_left(first);
    for session in owing.into_iter().take(OWING_AT_ONCE) {
        let mailbox = shared.writer_of(session, session, Claiming::Existing);
        let (answer, _) = oneshot::channel();
        // A session that cannot be opened now is asked again later.
        drop(mailbox.send(Input::Command { command: Command::CommitMemory { owner: None }, answer }).await);
    }
}

impl Writer {
    /// What the run that starts completes is owed to whom the provider says.
    pub(crate) fn register_owner(&mut self) {
        let Some(memory) = &self.shared.settings.memory.0 else { return };
        let Some(owner) =
            memory.owner(self.session).filter(|owner| Some(owner) != self.state.memory.owner.as_ref())
        else {
            return;
        };
        // Deciding this is never refused.
        drop(self.decide(Command::SetMemoryOwner { owner: Some(owner) }));
    }

    /// Begins a commit, now that its intent is durable.
    pub(crate) fn commit_memory(&self, commit: MemoryCommit) {
        let (shared, session, mailbox) = (self.shared.clone(), self.session, self.sender.clone());
        crate::spawn::spawn(async move {
            let id = commit.commit;
            let outcome = match perform(&shared, session, commit, &mailbox).await {
                Ok(()) => CommitOutcome::Done,
                Err(error) => CommitOutcome::Failed { error },
            };
            tell(&mailbox, Command::EndCommit { commit: id, outcome }).await;
        });
    }

    pub(crate) fn release_owner(&self, owner: Owner) {
        if let Some(memory) = &self.shared.settings.memory.0 {
            memory.release(self.session, owner);
        }
    }

    /// Offers what is owed before the session is given up. Says whether it may be given up now; if not, an input comes.
    pub(crate) async fn settle_memory(&mut self) -> Result<bool, Stopped> {
        if self.shared.settings.memory.0.is_none() || fault::planted("leaving_forgets_memory") {
            return Ok(true);
        }
        if fault::planted("release_before_flush") {
            drop(self.decide(Command::SetMemoryOwner { owner: None })?);
            self.commit().await?;
        }
        if self.state.memory.commit.is_some() {
            self.leaving = Leaving::Offering;
            return Ok(false);
        }
        if self.leaving != Leaving::Refused && self.state.memory.can_commit() {
            self.leaving = Leaving::Offering;
            drop(self.decide(Command::CommitMemory { owner: None })?);
            self.commit().await?;
            return Ok(false);
        }
        if self.state.memory.owner.is_some() {
            drop(self.decide(Command::SetMemoryOwner { owner: None })?);
            self.commit().await?;
        }
        Ok(true)
    }

    /// A bug that can be planted: nothing else is looked at while a commit is under way.
    pub(crate) async fn wait_for_commit(&mut self) -> Result<(), Stopped> {
        let mut later = std::collections::VecDeque::new();
        while self.state.memory.commit.is_some() {
            match self.next_input().await {
                Some(input @ Input::Command { command: Command::EndCommit { .. }, .. }) => {
                    self.take(input).await?;
                    self.commit().await?;
                }
                Some(input) => later.push_back(input),
                None => break,
            }
        }
        later.extend(self.inputs.drain(..));
        self.inputs = later;
        Ok(())
    }

    /// Notes what a command means for a session that is about to be given up: a commit that was refused is not tried
    /// again on this way out, and whatever else is asked ends it.
    pub(crate) fn note_leaving(&mut self, command: &Command) {
        self.leaving = match (command, self.leaving) {
            (Command::EndCommit { outcome: CommitOutcome::Failed { .. }, .. }, Leaving::Offering) => {
                Leaving::Refused
            }
            (Command::EndCommit { .. } | Command::AcceptCommit { .. }, leaving) => leaving,
            _ => Leaving::No,
        };
    }
}

/// Tells the writer until it kept it. A writer that is gone leaves the commit open; the next one asks again under the
/// same key.
async fn tell(mailbox: &mpsc::Sender<Input>, command: Command) {
    loop {
        let (answer, kept) = oneshot::channel();
        if mailbox.send(Input::Command { command: command.clone(), answer }).await.is_err() {
            return;
        }
        match kept.await {
            Ok(Err(CommandError::Unavailable { .. } | CommandError::Doubtful { .. })) => {
                tokio::time::sleep(LOOK_PAUSE).await;
            }
            _ => return,
        }
    }
}

/// Hands over and waits until it is done. Whatever goes wrong is told in words.
async fn perform(
    shared: &Shared,
    session: SessionId,
    commit: MemoryCommit,
    mailbox: &mpsc::Sender<Input>,
) -> Result<(), String> {
    let memory = shared.settings.memory.0.clone().ok_or("This server has no memory provider.")?;
    let turns =
        completed(shared.store.as_ref(), session, &commit).await.map_err(|error| error.to_string())?;
    let MemoryCommit { commit: id, owner, first, last, .. } = commit;
    let handover =
        Handover { key: format!("{session}/{first}-{last}"), session, owner: owner.clone(), turns };
    fault::hit("memory.before_handover").map_err(|error| error.to_string())?;
    let _turn = if fault::planted("one_commit_at_a_time") { Some(ONE.lock().await) } else { None };
    let taken = in_time(memory.commit(handover)).await?;
    fault::hit("memory.after_handover").map_err(|error| error.to_string())?;
    let Taken::Accepted { task } = taken else { return Ok(()) };
    tell(mailbox, Command::AcceptCommit { commit: id, task: task.clone() }).await;
    fault::hit("memory.after_accepted").map_err(|error| error.to_string())?;
    let done = tokio::time::timeout(TASK_MAX, until_done(memory.as_ref(), owner, task)).await;
    done.map_err(|_| {
        "The memory provider took too long to process the turns. They will be sent again.".to_owned()
    })?
}

async fn until_done(memory: &dyn Memory, owner: Owner, task: String) -> Result<(), String> {
    loop {
        match in_time(memory.look(owner.clone(), task.clone())).await? {
            TaskState::Done => return Ok(()),
            TaskState::Failed { error } => return Err(error),
            TaskState::Working => tokio::time::sleep(LOOK_PAUSE).await,
        }
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, MemoryError>>) -> Result<T, String> {
    match tokio::time::timeout(ANSWER_MAX, asked).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("The memory provider didn't respond in time.".to_owned()),
    }
}

/// The turns that a commit hands over, as the log has them.
async fn completed(
    store: &dyn Store,
    session: SessionId,
    commit: &MemoryCommit,
) -> Result<Vec<CompletedTurn>, CommandError> {
    let mut log = Stretches::new(store, session);
    let mut entries = Vec::new();
    log.add(Seq(commit.from.0.saturating_sub(1)), commit.through, &mut entries).await?;
    let ends: Vec<Entry> = entries
        .drain(..)
        .filter(|entry| matches!(entry.event, Event::RunEnded { end: RunEnd::Completed, .. }))
        .collect();
    let mut turns = Vec::with_capacity(ends.len());
    for (end, generation) in ends.iter().zip(commit.first..=commit.last) {
        let Event::RunEnded { turn, run, .. } = end.event else { continue };
        entries.clear();
        log.add(Seq(turn.0.saturating_sub(1)), end.seq, &mut entries).await?;
        let Some(folded) = fold_turn(turn, &entries) else { continue };
        let mut messages = vec![folded.message.clone()];
        let mut answer = String::new();
        for piece in folded.run(run).map(|run| run.pieces.as_slice()).unwrap_or_default() {
            match piece {
                Piece::Text(text) => answer.push_str(text),
                Piece::Steered { message, .. } => messages.push(message.clone()),
                Piece::Reasoning(_) | Piece::Call(_) => {}
            }
        }
        turns.push(CompletedTurn { turn, generation, messages, answer });
    }
    Ok(turns)
}

//! What others hold to submit to a session and to follow it.

use std::collections::VecDeque;

use agent::Billed;
use session::{
    Command, RequestPurpose, RunId, Seq, Session, SessionId, Turn, TurnId, TurnView, Usage, View, fold_turn,
    turn_view,
};
use store::TurnRow;
use tokio::sync::oneshot;

use crate::earlier::EarlierTurns;
use crate::error::{CommandError, FollowError};
use crate::follow::{Follower, Subscription};
use crate::hub::Hub;
use crate::input::Input;
use crate::load;
use crate::runner::PromptRequest;

/// Tries to reach a writer before giving up: each finds a writer that retired meanwhile.
const TRIES_MAX: usize = 8;
/// Turns read together.
const TURNS_AT_ONCE_MAX: usize = 16;
/// Maximum bytes of entries in a page of several turns; older turns go to the next page.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is durable now that a command was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// The end of the log that holds it.
    pub seq: Seq,
    /// The turn that the command made or concerned.
    pub turn: Option<TurnId>,
    /// The run that it started.
    pub run: Option<RunId>,
}

impl Acknowledged {
    /// The answer that a key was given before.
    pub(crate) fn of_key(seq: Seq) -> Self {
        Self { seq, turn: Some(TurnId(seq.0)), run: None }
    }
}

/// A session, by one of its ids.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    pub(crate) hub: Hub,
    pub(crate) session: SessionId,
}

impl SessionHandle {
    /// The id that this handle was opened by.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Asks something of the session and waits until it is durable.
    ///
    /// # Errors
    /// When it was rejected or not kept; [`CommandError::Doubtful`] when that is not known.
    pub async fn submit(&self, command: Command) -> Result<Acknowledged, CommandError> {
        self.ask(|answer| Input::Command { command: command.clone(), answer }).await?
    }

    /// Gives up what is going on as a crash would, without a word to the log. The next writer, which comes at once, finds a
    /// run that nobody works on.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn abandon(&self) -> Result<(), CommandError> {
        let given_up = self.hub.give_up(self.session).await?;
        self.hub.shared().crashed.note(given_up.claim.session);
        self.state().await.map(drop)
    }

    /// Summarizes the turns before the newest for the model and keeps the summary; the transcript stays as it is. Returns
    /// none if there is nothing new to summarize, a run is going on, or the session is being compacted already.
    ///
    /// # Errors
    /// Returns an error if the model gives no summary, or it was not kept.
    pub async fn compact(&self) -> Result<Option<Acknowledged>, CommandError> {
        // By the session's first id, so that all of its ids share one guard, and before its state is read.
        let session = self.hub.store().open(self.session).await?.session;
        let Some(_entered) = self.hub.shared().compacting.enter(session) else { return Ok(None) };
        let state = self.state().await?;
        let prompt = session::prompt(&state);
        if prompt.turns.len() < 2 || state.open_run.is_some() {
            return Ok(None);
        }
        let Session { user, project, .. } = *state;
        let earlier = EarlierTurns::new(self.hub.shared_store(), session);
        let request = PromptRequest { user, project, prompt, earlier };
        let newest = state.turns.back().and_then(|turn| Some((turn.id, turn.runs.last()?.id)));
        let Billed { value, usage } = self.hub.shared().runner.summary(request).await;
        if let Some((turn, run)) = newest.filter(|_| usage != Usage::default()) {
            let purpose = RequestPurpose::Summary;
            self.submit(Command::BillRequest { turn, run, purpose, usage }).await?;
        }
        let Some((summary, through)) = value else {
            let reason = "the model returned no summary".to_owned();
            return Err(CommandError::Unavailable { reason });
        };
        self.submit(Command::CompactContext { run: None, summary, through }).await.map(Some)
    }

    /// The session as a reader sees it: [`Self::state`], viewed.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn view(&self) -> Result<View, CommandError> {
        Ok(session::view(&*self.state().await?))
    }

    /// The session as it is, all of it durable, for a reader that folds on from there. Asks for repair and healing where
    /// something is amiss, and does not wait for the latter.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn state(&self) -> Result<Box<Session>, CommandError> {
        if !self.hub.has_writer(self.session).await? {
            let mut loaded = load::load(self.hub.store(), self.session).await?;
            let state = &mut loaded.state;
            EarlierTurns::new(self.hub.shared_store(), self.session).refill(state).await?;
            // A message that waits while nothing runs was left behind by a drain or a crash.
            let waits = state.queue.iter().any(|queued| !queued.paused);
            let whole = state.open_run.is_none() && state.recovering.is_empty();
            let sound = whole && !waits && !self.hub.awaits_resume(state);
            if sound || fault::planted("no_repair") {
                return Ok(Box::new(loaded.state));
            }
        }
        self.ask(|answer| Input::Read { answer }).await?
    }

    /// The session as it was after entry `at`: the fold of its log up to there.
    ///
    /// # Errors
    /// When there is no such session or entry, or it cannot be read.
    pub async fn view_at(&self, at: Seq) -> Result<View, FollowError> {
        let store = self.hub.store();
        let head = store.open(self.session).await.map_err(CommandError::from)?.end.seq;
        if at > head {
            return Err(FollowError::BeyondEnd { after: at, head });
        }
        let mut state = load::load_until(store, self.session, at).await?;
        if at == head {
            EarlierTurns::new(self.hub.shared_store(), self.session).refill(&mut state).await?;
        }
        Ok(session::view(&state))
    }

    /// Returns turns before `before` as they are in the log, newest last: at most `count`, and fewer if they are long. An
    /// empty page means that there are no more.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub async fn page(&self, before: Option<TurnId>, count: usize) -> Result<Vec<TurnView>, CommandError> {
        let store = self.hub.store();
        let session = store.open(self.session).await?.session;
        // No log is that long, and a database holds no such number.
        let before = before.filter(|turn| i64::try_from(turn.0).is_ok());
        let rows = store.turns(session, before, count).await?;
        let mut log = load::Stretches::new(store, session);
        let mut turns = VecDeque::with_capacity(rows.len());
        let mut bytes_kept = 0;
        let (mut rest, mut at_once) = (rows.as_slice(), 1);
        while !rest.is_empty() {
            let (some, after) = rest.split_at(at_once.min(rest.len()));
            rest = after;
            // More at once, as long as they are short: turns often share a stretch of the log, which is read forwards.
            at_once = (at_once * 2).min(TURNS_AT_ONCE_MAX);
            let mut older = Vec::new();
            for row in some.iter().rev() {
                let before = log.bytes_added();
                let turn = fold_row(&mut log, row).await?;
                older.extend(turn.map(|turn| (turn_view(&turn), log.bytes_added() - before)));
            }
            for (turn, bytes) in older.into_iter().rev() {
                bytes_kept += bytes;
                if bytes_kept > PAGE_BYTES_MAX && !turns.is_empty() {
                    return Ok(turns.into());
                }
                turns.push_front(turn);
            }
            if bytes_kept > PAGE_BYTES_MAX {
                break;
            }
        }
        Ok(turns.into())
    }

    /// Receives entries in order after `after`: history, then live.
    ///
    /// # Errors
    /// When there is no such session, or no such entry yet.
    pub async fn follow(&self, after: Seq) -> Result<Follower, FollowError> {
        let opened = self.hub.store().open(self.session).await.map_err(CommandError::from)?;
        if after > opened.end.seq {
            return Err(FollowError::BeyondEnd { after, head: opened.end.seq });
        }
        let after = if fault::planted("resume_off_by_one") { after.next() } else { after };
        Ok(Follower::new(self.hub.shared_store(), self.clone(), opened.session, after))
    }

    /// The same for a reader that knows which entry it has there, by its hash or the beginning of it. After a disk that
    /// ignored a sync, or a backup that was restored, the number may stand for another entry.
    ///
    /// # Errors
    /// Also when the log has another entry there.
    pub async fn follow_link(&self, after: Seq, hash: &[u8]) -> Result<Follower, FollowError> {
        let follower = self.follow(after).await?;
        if after > Seq(0) {
            let read = self.hub.store().read(self.session, Seq(after.0 - 1), 1).await;
            let there = read.map_err(CommandError::from)?.first().map(|entry| entry.link().hash);
            if !there.is_some_and(|there| there.0.starts_with(hash)) {
                return Err(FollowError::AnotherLog { after });
            }
        }
        Ok(follower)
    }

    pub(crate) async fn subscribe(&self, after: Seq) -> Result<Subscription, FollowError> {
        self.ask(|answer| Input::Follow { after, answer }).await?
    }

    /// Reaches the session's writer, or the next one when it retires meanwhile.
    async fn ask<T: RetiredOr>(
        &self,
        input: impl Fn(oneshot::Sender<T>) -> Input,
    ) -> Result<T, CommandError> {
        for _ in 0..TRIES_MAX {
            let mailbox = self.hub.writer(self.session).await?;
            let (answer, answered) = oneshot::channel();
            if mailbox.send(input(answer)).await.is_err() {
                continue;
            }
            match answered.await {
                Ok(answer) if answer.is_retired() => {}
                Ok(answer) => return Ok(answer),
                Err(_) => {
                    return Err(CommandError::Doubtful { reason: "the session's writer exited".to_owned() });
                }
            }
        }
        Err(CommandError::Unavailable { reason: "the session's writer keeps exiting".to_owned() })
    }
}

/// Reads a turn's own entries and folds them.
pub(crate) async fn fold_row(
    log: &mut load::Stretches<'_>,
    row: &TurnRow,
) -> Result<Option<Turn>, CommandError> {
    let mut entries = Vec::new();
    for seq in [Seq(row.turn.0), row.message] {
        log.add(Seq(seq.0 - 1), seq, &mut entries).await?;
    }
    let before = Seq(row.position.0 - 1);
    log.add(before, row.last, &mut entries).await?;
    // A message that went into the run may have been posted while the turn itself still waited.
    let waited = |entry: &session::Entry| matches!(entry.event, session::Event::MessageSteered { turn, .. } if turn.0 <= before.0);
    if entries.iter().any(waited) {
        log.add(Seq(row.turn.0), before, &mut entries).await?;
    }
    entries.sort_by_key(|entry| entry.seq);
    entries.dedup_by_key(|entry| entry.seq);
    Ok(fold_turn(row.turn, &entries))
}

/// Whether an answer only says that the writer retired before it looked.
trait RetiredOr {
    fn is_retired(&self) -> bool;
}

impl<T> RetiredOr for Result<T, CommandError> {
    fn is_retired(&self) -> bool {
        matches!(self, Err(CommandError::Retired))
    }
}

impl<T> RetiredOr for Result<T, FollowError> {
    fn is_retired(&self) -> bool {
        matches!(self, Err(FollowError::Command(CommandError::Retired)))
    }
}

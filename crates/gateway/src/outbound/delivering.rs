//! One answer on its way: what is to be shown of it, in which messages, and the first thing that is not as it should be.

use std::collections::BTreeMap;
use std::time::Duration;

use hub::CommandError;
use session::{
    Brought, Delivery, DeliveryOutcome, DeliveryStep, Part, RunCause, RunId, SessionId, Turn, TurnView,
    turn_view,
};
use tokio::time::Instant;

use super::{AGAIN_MAX, Broken, Log};
use crate::gateway::Shared;
use crate::health::Health;
use crate::platform::{Abilities, Counting, MessageId, Outbound, OutboundFile, Place, Platform, SendError};
use crate::register::RegisterError;
use crate::split::split;
use crate::words;

/// How often a message whose arrival is in doubt is sent, the first time counted.
const ATTEMPTS_MAX: u32 = 3;
/// Half of how long a message that may have arrived rests before it is repeated for the first time.
const DOUBT: Duration = Duration::from_secs(4);
/// Messages of text that one answer takes; what is longer comes as a file behind them.
const MESSAGES_MAX: usize = 5;
/// How often a chat is shown that something is being written.
const TYPING: Duration = Duration::from_secs(4);
/// Characters of an answer before it is shown while it grows.
const GROWING_MIN: usize = 16;
/// Turns read in one go to find an older one, and how often that is done.
const PAGE: usize = 64;
const PAGES_MAX: usize = 16;

/// What is to be shown of an answer.
struct Told {
    text: String,
    /// Nothing more comes.
    over: bool,
    /// It was interrupted and will resume: nothing comes for now.
    waits: bool,
}

/// What to do next.
enum Next {
    /// Look again at once.
    Again,
    /// Wait for more of the answer, at most so long.
    Wait(Duration),
    /// Wait so long, whatever comes.
    Rest(Duration),
    End(DeliveryOutcome),
}

/// One message of an answer.
struct Piece {
    text: String,
    file: Option<OutboundFile>,
}

/// A message that is to show something else.
struct Edit {
    at: usize,
    message: MessageId,
    wanted: String,
    key: String,
    /// Whether it stays so.
    closed: bool,
}

/// An answer on its way.
pub(super) struct Delivering<'a> {
    shared: &'a Shared,
    platform: &'a dyn Platform,
    health: &'a Health,
    to: Place,
    owed: Delivery,
    /// What each message is known to show; nothing is known after a restart.
    shown: BTreeMap<usize, String>,
    again: Duration,
    edited_at: Option<Instant>,
    typed_at: Option<Instant>,
    /// Whether the platform lets the next message go out.
    has_turn: bool,
}

impl<'a> Delivering<'a> {
    /// An answer of which nothing is known but what the log says.
    pub(super) fn new(
        shared: &'a Shared,
        (platform, health): (&'a dyn Platform, &'a Health),
        to: Place,
        owed: Delivery,
    ) -> Self {
        Self {
            shared,
            platform,
            health,
            to,
            owed,
            shown: BTreeMap::new(),
            again: Duration::ZERO,
            edited_at: None,
            typed_at: None,
            has_turn: false,
        }
    }

    /// Brings it to its end.
    pub(super) async fn run(mut self, log: &mut Log) -> Result<(), Broken> {
        loop {
            log.catch_up()?;
            let known = log.state.deliveries.iter().find(|delivery| delivery.answer == self.owed.answer);
            let Some(known) = known.filter(|delivery| delivery.outcome.is_none()) else { return Ok(()) };
            self.owed = known.clone();
            let withdrawn =
                |reason: &str| Next::End(DeliveryOutcome::Withdrawn { reason: reason.to_owned() });
            let next = match self.is_let_in() {
                Ok(true) if self.tell_resuming(log).await? => Next::Again,
                Ok(true) => match self.told(log).await? {
                    Some(told) => self.step(log, &told).await?,
                    None => withdrawn("the turn was taken back, or answered again"),
                },
                Ok(false) => withdrawn("who asked is no longer let in"),
                Err(error) => {
                    tracing::error!(reason = %error, "failed to read allowed senders, delivery waits");
                    self.later(None)
                }
            };
            match next {
                Next::Again => {}
                Next::End(outcome) => return log.note(&self.owed, DeliveryStep::End(outcome)).await,
                Next::Rest(rest) => {
                    let until = Instant::now() + rest;
                    while let Ok(more) = tokio::time::timeout_at(until, log.next()).await {
                        more?;
                    }
                }
                Next::Wait(most) => {
                    let more = tokio::time::timeout(most, log.next()).await;
                    more.unwrap_or(Ok(()))?;
                }
            }
        }
    }

    /// Tells the chat that a run resumes its answer, and says whether it did. Recorded before it is sent, so that it is sent
    /// at most once.
    async fn tell_resuming(&mut self, log: &mut Log) -> Result<bool, Broken> {
        let Some((turn, run)) = log.state.open().filter(|(turn, _)| turn.id == self.owed.turn) else {
            return Ok(false);
        };
        let told = self.owed.notified == Some(run.id);
        if run.cause != RunCause::Resume || told || !is_newest(turn, self.owed.answer) {
            return Ok(false);
        }
        let run_id = run.id;
        let before = turn.runs.iter().filter(|run| run.id < run_id).max_by_key(|run| run.id);
        let reason = before.and_then(session::marker).and_then(|marker| marker.reason);
        log.note(&self.owed, DeliveryStep::Notified { run: run_id }).await?;
        let key = format!("resuming {} {}", log.handle.session().0, run_id.0);
        let notice = Outbound::text(words::resuming(reason.as_ref()));
        if let Err(error) = self.platform.send(&self.to, notice, key).await {
            tracing::debug!(reason = %error, "failed to notify chat that its answer resumes");
        }
        Ok(true)
    }

    /// Whether whoever asked may still be answered.
    fn is_let_in(&self) -> Result<bool, RegisterError> {
        let user = self.shared.register.user_of(self.platform.name(), &self.owed.to.peer)?;
        Ok(user.is_some())
    }

    /// What is to be shown; none when the answer is not shown any more.
    async fn told(&self, log: &Log) -> Result<Option<Told>, CommandError> {
        let answer = self.owed.answer;
        let turn = match log.state.turn(self.owed.turn) {
            Some(turn) if is_newest(turn, answer) => {
                // Whichever is shown elsewhere, this one is owed.
                Some(turn_view(&Turn { chosen: Some(answer), ..turn.clone() }))
            }
            Some(_) => None,
            None => self.older_turn(log).await?.filter(|turn| turn.alternatives.last() == Some(&answer)),
        };
        let Some(turn) = turn else { return Ok(None) };
        let open = log.state.open().is_some_and(|(open, _)| open.id == self.owed.turn);
        let newest = log.state.turns.back().is_some_and(|newest| newest.id == self.owed.turn);
        let waits = !open && newest && self.shared.hub.awaits_resume(&log.state);
        let over = !open && !waits;
        let ending = turn.marker.as_ref().filter(|_| over);
        let ending = ending.and_then(|marker| words::ending(marker, newest && log.state.is_stuck()));
        Ok(Some(Told { text: text_of(&turn, self.before().letters, ending), over, waits }))
    }

    /// What the chat had when the answer went on.
    fn before(&self) -> Brought {
        self.owed.before.unwrap_or_default()
    }

    /// A turn that left the state before its answer was brought.
    async fn older_turn(&self, log: &Log) -> Result<Option<TurnView>, CommandError> {
        let mut before = log.state.turns.front().map(|turn| turn.id);
        for _ in 0..PAGES_MAX {
            let page = log.handle.page(before, PAGE).await?;
            let Some(first) = page.first().map(|turn| turn.turn) else { return Ok(None) };
            if let Some(found) = page.into_iter().find(|turn| turn.turn == self.owed.turn) {
                return Ok(Some(found));
            }
            before = Some(first);
        }
        Ok(None)
    }

    /// Brings the first thing that is not as it should be.
    async fn step(&mut self, log: &mut Log, told: &Told) -> Result<Next, Broken> {
        self.shared.couriers.waits(log.handle.session(), false);
        let abilities = self.platform.abilities();
        let room = abilities.text_max.saturating_sub(abilities.counting.length(words::REPEATED)).max(1);
        let pieces = pieces(&told.text, room, abilities.counting);
        let first = self.before().parts as usize;
        for (place, Piece { text, file }) in pieces.iter().enumerate() {
            let at = first + place;
            let closed = told.over || place + 1 < pieces.len();
            // The chat shows an interrupted answer in full until it resumes.
            let settled = closed || told.waits;
            let known = self.owed.parts.get(at).cloned().unwrap_or_default();
            let wanted = |attempts: u32| {
                let doubted = attempts > 1 && !abilities.idempotent;
                if doubted { format!("{}{text}", words::REPEATED) } else { text.clone() }
            };
            match known.receipt {
                Some(receipt) => {
                    let wanted = wanted(known.attempts);
                    if !abilities.edits || file.is_some() || self.shown.get(&at) == Some(&wanted) {
                        continue;
                    }
                    let key = edit_key(log.handle.session(), self.owed.answer, at, &wanted);
                    let edit = Edit { at, message: MessageId(receipt), wanted, key, closed: settled };
                    return Ok(self.edit(edit, abilities).await);
                }
                None if !closed && (file.is_some() || !self.may_grow(text, abilities)) => break,
                None if known.attempts >= ATTEMPTS_MAX && !abilities.idempotent => {
                    return Ok(Next::End(DeliveryOutcome::Doubtful));
                }
                None => {
                    let repeated = known.attempts > 0;
                    // What is in doubt is repeated to a platform that answers, and not into an outage.
                    if repeated
                        && !abilities.idempotent
                        && !self.has_turn
                        && let Err(error) = self.platform.who_am_i().await
                    {
                        tracing::warn!(reason = %error, "delivery uncertain, repeating later");
                        return Ok(self.later(None));
                    }
                    let piece = Piece { text: wanted(known.attempts + 1), file: file.clone() };
                    return self.send(log, at, piece, repeated).await;
                }
            }
        }
        if told.over {
            return Ok(Next::End(DeliveryOutcome::Delivered));
        }
        if told.waits {
            self.shared.couriers.waits(log.handle.session(), true);
            return Ok(Next::Wait(TYPING));
        }
        Ok(self.show_typing().await)
    }

    /// Whether an answer that is not over yet is shown.
    fn may_grow(&self, text: &str, abilities: Abilities) -> bool {
        abilities.edits && text.chars().count() >= GROWING_MIN && self.platform.slack(&self.to)
    }

    async fn show_typing(&mut self) -> Next {
        let due = self.typed_at.is_none_or(|at| at.elapsed() >= TYPING);
        if due && self.platform.slack(&self.to) {
            self.platform.typing(&self.to).await;
        }
        if due {
            self.typed_at = Some(Instant::now());
        }
        Next::Wait(TYPING)
    }

    async fn send(&mut self, log: &mut Log, at: usize, piece: Piece, repeated: bool) -> Result<Next, Broken> {
        let Piece { text, file } = piece;
        let part = u32::try_from(at).unwrap_or(u32::MAX);
        if !std::mem::take(&mut self.has_turn) {
            // The answer may have grown meanwhile, so that it is looked at again.
            return Ok(match self.platform.turn(&self.to).await {
                Ok(()) => {
                    self.has_turn = true;
                    Next::Again
                }
                Err(SendError::NotSent { retry_after, .. }) => self.later(retry_after),
                Err(_) => self.later(None),
            });
        }
        log.note(&self.owed, DeliveryStep::Attempt { part }).await?;
        if repeated {
            self.health.repeated();
        }
        let answers = (part == self.before().parts).then(|| MessageId(self.owed.to.message.clone()));
        let message = Outbound { text: text.clone(), answers, files: file.into_iter().collect() };
        let key = part_key(log.handle.session(), self.owed.answer, at);
        match self.platform.send(&self.to, message, key).await {
            Ok(MessageId(receipt)) => {
                self.health.sent();
                self.again = Duration::ZERO;
                self.shown.insert(at, text);
                self.edited_at = Some(Instant::now());
                log.note(&self.owed, DeliveryStep::Receipt { part, receipt }).await?;
                Ok(Next::Again)
            }
            Err(SendError::NotSent { reason, retry_after }) => {
                tracing::debug!(reason, "answer not sent, retrying");
                log.note(&self.owed, DeliveryStep::Unsent { part }).await?;
                Ok(self.later(retry_after))
            }
            Err(SendError::Doubtful { reason }) => {
                tracing::warn!(reason, "delivery uncertain");
                self.again = self.again.max(DOUBT);
                Ok(self.later(None))
            }
            Err(error @ (SendError::TooLong | SendError::Refused { .. })) => {
                Ok(Next::End(DeliveryOutcome::Refused { reason: error.to_string() }))
            }
        }
    }

    /// Lets a message show what it should. What still grows is shown now and then, what is over surely.
    async fn edit(&mut self, edit: Edit, abilities: Abilities) -> Next {
        let Edit { at, message, wanted, key, closed } = edit;
        if !closed {
            let since = self.edited_at.map_or(abilities.edit_every, |at| at.elapsed());
            if since < abilities.edit_every {
                return Next::Wait(abilities.edit_every - since);
            }
            if !self.platform.slack(&self.to) {
                return Next::Wait(abilities.edit_every);
            }
        }
        let edited = self.platform.edit(&self.to, message, wanted.clone(), key).await;
        self.edited_at = Some(Instant::now());
        match edited {
            Err(SendError::NotSent { retry_after, .. }) => self.later(retry_after),
            Err(SendError::Doubtful { .. }) => self.later(None),
            // A message that its readers removed needs no change.
            Ok(()) | Err(SendError::TooLong | SendError::Refused { .. }) => {
                self.again = Duration::ZERO;
                self.shown.insert(at, wanted);
                Next::Again
            }
        }
    }

    fn later(&mut self, retry_after: Option<Duration>) -> Next {
        self.again = (self.again * 2).clamp(Duration::from_millis(250), AGAIN_MAX);
        Next::Rest(retry_after.unwrap_or(self.again))
    }
}

/// Whether what was asked for last in a turn belongs to this answer.
fn is_newest(turn: &Turn, answer: RunId) -> bool {
    let newest = turn.answers().max_by_key(|runs| runs.iter().map(|run| run.id).max());
    newest.and_then(<[_]>::first).is_some_and(|first| first.id == answer)
}

/// Names a message on a platform: the same at every start, and no other's.
fn part_key(session: SessionId, answer: RunId, at: usize) -> String {
    format!("{}:{}:{at}", session.0, answer.0)
}

/// Names a change of a message. A platform that shows what has one name once must show every change, so that each text has
/// its own.
fn edit_key(session: SessionId, answer: RunId, at: usize, wanted: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, wanted.as_bytes());
    format!("{}:edit:{}", part_key(session, answer, at), session::hex(&digest.as_ref()[..16]))
}

/// An answer as the messages that it takes. One that grows keeps the messages that are there.
fn pieces(answer: &str, room: usize, counting: Counting) -> Vec<Piece> {
    let texts = split(answer, room, counting);
    let is_long = texts.len() > MESSAGES_MAX;
    let mut pieces: Vec<Piece> =
        texts.into_iter().take(MESSAGES_MAX).map(|text| Piece { text, file: None }).collect();
    if is_long {
        let file = OutboundFile {
            name: "answer.md".to_owned(),
            media_type: "text/markdown".to_owned(),
            bytes: answer.to_owned().into(),
        };
        pieces.push(Piece { text: words::WHOLE_IN_FILE.to_owned(), file: Some(file) });
    }
    pieces
}

/// What the agent said behind so many letters, and behind it how it ended.
fn text_of(turn: &TurnView, mut before: u64, ending: Option<String>) -> String {
    let parts = turn.answer.iter().flat_map(|answer| &answer.parts);
    let mut texts = Vec::new();
    for part in parts {
        let Part::Text(text) = part else { continue };
        let mut letters = text.chars();
        while before > 0 && letters.next().is_some() {
            before -= 1;
        }
        let text = letters.as_str().trim();
        if !text.is_empty() {
            texts.push(text.to_owned());
        }
    }
    texts.extend(ending);
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use session::{RunId, SessionId};

    use super::{edit_key, part_key};

    #[test]
    fn every_change_of_every_message_has_a_name_of_its_own() {
        let session = |number| SessionId(uuid::Uuid::from_u128(number));
        let keys = [
            part_key(session(1), RunId(3), 0),
            part_key(session(2), RunId(3), 0),
            part_key(session(1), RunId(3), 1),
            edit_key(session(1), RunId(3), 0, "herons"),
            // As long as the other.
            edit_key(session(1), RunId(3), 0, "storks"),
            edit_key(session(2), RunId(3), 0, "herons"),
        ];
        let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len(), "{keys:?}");
        assert_eq!(keys[3], edit_key(session(1), RunId(3), 0, "herons"), "the same at every start");
    }
}

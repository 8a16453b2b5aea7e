//! From the log to a platform: a courier a session brings its answers to the chats that they are owed to, in order. Each
//! message is noted in the log before it is sent and receipted after, so that whoever comes next knows what to do.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use hub::{CommandError, FollowError, Followed, Follower, OwingFollower, SessionHandle};
use session::{
    ChatKey, Command, Delivery, DeliveryOutcome, DeliveryStep, Part, Session, SessionId, TurnView, fold,
    turn_view,
};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::gateway::Shared;
use crate::platform::{Abilities, MessageId, Outbound, Place, Platform, SendError};
use crate::split::split;
use crate::{spawn, words};

/// How often a message whose arrival is in doubt is sent, the first time counted.
const ATTEMPTS_MAX: u32 = 3;
/// The longest wait before something is sent again.
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// How often a chat is shown that something is being written.
const TYPING: Duration = Duration::from_secs(4);
/// Characters of an answer before it is shown while it grows.
const GROWING_MIN: usize = 16;
/// Turns read in one go to find an older one, and how often that is done.
const PAGE: usize = 64;
const PAGES_MAX: usize = 16;

/// The sessions whose answers are being brought.
pub(crate) struct Couriers {
    /// Whether more is owed since the courier looked.
    at_work: Mutex<HashMap<SessionId, bool>>,
    count: watch::Sender<usize>,
}

impl Default for Couriers {
    fn default() -> Self {
        Self { at_work: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl Couriers {
    /// Whether a courier must be sent; the one that is under way looks again.
    fn begin(&self, session: SessionId) -> bool {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let began = at_work.insert(session, true).is_none();
        self.count.send_replace(at_work.len());
        began
    }

    /// The courier looks from now on.
    fn looks(&self, session: SessionId) {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.insert(session, false);
    }

    /// Whether the courier is done; not if more is owed since it looked.
    fn ends(&self, session: SessionId) -> bool {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let again = at_work.get(&session).copied().unwrap_or_default();
        if !again {
            at_work.remove(&session);
            self.count.send_replace(at_work.len());
        }
        !again
    }

    /// Waits until no courier is under way.
    pub(crate) async fn idle(&self) {
        drop(self.count.subscribe().wait_for(|count| *count == 0).await);
    }
}

/// Brings everything that is owed now, and waits until it is brought or a run is waited for.
pub(crate) async fn bring_all_owed(shared: &Shared) {
    let sessions = loop {
        match shared.hub.undelivered().await {
            Ok(sessions) => break sessions,
            Err(error) => {
                tracing::warn!(reason = %error, "what is owed to chats cannot be listed yet");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    };
    for session in sessions {
        send_courier(shared, session);
    }
    shared.couriers.idle().await;
}

/// Brings what is owed from now on.
pub(crate) async fn bring_as_owed(shared: Shared, mut owing: OwingFollower) {
    loop {
        let owed = tokio::select! {
            () = shared.stop.cancelled() => return,
            owed = owing.next() => owed,
        };
        match owed {
            Ok(session) => send_courier(&shared, session),
            Err(hub::Missed) => {
                owing = shared.hub.follow_owing();
                for session in shared.hub.undelivered().await.unwrap_or_default() {
                    send_courier(&shared, session);
                }
            }
        }
    }
}

fn send_courier(shared: &Shared, session: SessionId) {
    if shared.couriers.begin(session) {
        let shared = shared.clone();
        spawn::spawn(async move {
            let _at_work = AtWork { couriers: &shared.couriers, session };
            tokio::select! {
                () = shared.stop.cancelled() => {}
                () = courier(&shared, session) => {}
            }
        });
    }
}

/// A courier under way. One that fails in a way that nobody thought of leaves room for the next.
struct AtWork<'a> {
    couriers: &'a Couriers,
    session: SessionId,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.couriers.looks(self.session);
            self.couriers.ends(self.session);
        }
    }
}

/// Why a courier begins anew.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Follow(#[from] FollowError),
}

async fn courier(shared: &Shared, session: SessionId) {
    let mut wait = Duration::ZERO;
    loop {
        shared.couriers.looks(session);
        match bring(shared, session).await {
            Ok(()) if shared.couriers.ends(session) => return,
            Ok(()) => {}
            Err(Broken::Command(CommandError::Unknown(_) | CommandError::Deleted(_))) => {
                if shared.couriers.ends(session) {
                    return;
                }
            }
            Err(Broken::Follow(FollowError::CutOff { .. })) => {}
            Err(error) => {
                wait = (wait * 2).clamp(Duration::from_millis(100), AGAIN_MAX);
                tracing::warn!(%session, reason = %error, "answers to a chat wait");
                tokio::time::sleep(wait).await;
            }
        }
    }
}

/// Brings all that a session owes.
async fn bring(shared: &Shared, session: SessionId) -> Result<(), Broken> {
    let handle = shared.hub.open(session);
    let state = handle.state().await?;
    let follower = handle.follow(state.head()).await?;
    let mut log = Log { handle, state: *state, follower };
    loop {
        let Some(owed) = log.state.undelivered().cloned() else { return Ok(()) };
        let chat = ChatKey::from_text(&owed.to.chat);
        let Some((chat, (platform, health))) =
            chat.and_then(|chat| shared.named(&chat.platform).map(|named| (chat, named)))
        else {
            // It stays owed: the platform may be configured again.
            tracing::warn!(%session, "an answer is owed to a platform that is not configured");
            return Ok(());
        };
        let delivering = Delivering {
            shared,
            platform: platform.as_ref(),
            health,
            to: Place::of(&chat),
            owed,
            shown: BTreeMap::new(),
            again: Duration::ZERO,
            edited_at: None,
            typed_at: None,
            has_turn: false,
        };
        delivering.run(&mut log).await?;
    }
}

/// A session as it is, and what comes.
struct Log {
    handle: SessionHandle,
    state: Session,
    follower: Follower,
}

impl Log {
    async fn next(&mut self) -> Result<(), Broken> {
        if let Followed::Entry(entry) = self.follower.next().await? {
            fold(&mut self.state, &entry);
        }
        Ok(())
    }

    /// Folds what is there already.
    fn catch_up(&mut self) -> Result<(), Broken> {
        while let Some(next) = self.follower.next().now_or_never() {
            if let Followed::Entry(entry) = next? {
                fold(&mut self.state, &entry);
            }
        }
        Ok(())
    }

    /// Notes what happens to a delivery, and folds the log up to there.
    async fn note(&mut self, owed: &Delivery, step: DeliveryStep) -> Result<(), Broken> {
        let command = Command::Deliver { answer: owed.answer, step };
        let noted = self.handle.submit(command).await?;
        while self.state.head() < noted.seq {
            self.next().await?;
        }
        Ok(())
    }
}

/// What is to be shown of an answer.
struct Told {
    text: String,
    /// Nothing more comes.
    over: bool,
}

/// What to do next.
enum Next {
    /// Look again at once.
    Again,
    /// Wait for more of the answer, at most so long.
    Wait(Duration),
    End(DeliveryOutcome),
}

/// An answer on its way.
struct Delivering<'a> {
    shared: &'a Shared,
    platform: &'a dyn Platform,
    health: &'a crate::health::Health,
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

impl Delivering<'_> {
    async fn run(mut self, log: &mut Log) -> Result<(), Broken> {
        loop {
            log.catch_up()?;
            let known = log.state.deliveries.iter().find(|delivery| delivery.answer == self.owed.answer);
            let Some(known) = known.filter(|delivery| delivery.outcome.is_none()) else { return Ok(()) };
            self.owed = known.clone();
            let next = match self.forbidden() {
                Some(reason) => Next::End(DeliveryOutcome::Withdrawn { reason }),
                None => match self.told(log).await? {
                    Some(told) => self.step(log, &told).await?,
                    None => {
                        let reason = "the turn was taken back, or answered again".to_owned();
                        Next::End(DeliveryOutcome::Withdrawn { reason })
                    }
                },
            };
            match next {
                Next::Again => {}
                Next::End(outcome) => return log.note(&self.owed, DeliveryStep::End(outcome)).await,
                Next::Wait(most) => {
                    let more = tokio::time::timeout(most, log.next()).await;
                    more.unwrap_or(Ok(()))?;
                }
            }
        }
    }

    /// Why nothing may be sent to whoever asked, if nothing may.
    fn forbidden(&self) -> Option<String> {
        let let_in = self.shared.register.user_of(self.platform.name(), &self.owed.to.peer);
        match let_in {
            Ok(Some(_)) => None,
            Ok(None) => Some("who asked is no longer let in".to_owned()),
            Err(error) => {
                tracing::error!(reason = %error, "who is let in cannot be read; nothing is sent");
                Some("who is let in could not be read".to_owned())
            }
        }
    }

    /// What is to be shown; none when the answer is not shown any more.
    async fn told(&self, log: &Log) -> Result<Option<Told>, CommandError> {
        let turn = match log.state.turn(self.owed.turn) {
            Some(turn) => Some(turn_view(turn)),
            None => self.older_turn(log).await?,
        };
        let Some(turn) = turn else { return Ok(None) };
        let open = log.state.open().is_some_and(|(open, _)| open.id == self.owed.turn);
        let newest = turn.alternatives.last() == Some(&self.owed.answer);
        if !newest {
            return Ok(None);
        }
        Ok(Some(Told { text: text_of(&turn, !open), over: !open }))
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
        let abilities = self.platform.abilities();
        let room = abilities.text_max.saturating_sub(abilities.counting.length(words::REPEATED)).max(1);
        let parts = split(&told.text, room, abilities.counting);
        for (at, text) in parts.iter().enumerate() {
            let closed = told.over || at + 1 < parts.len();
            let known = self.owed.parts.get(at).cloned().unwrap_or_default();
            let wanted = |attempts: u32| {
                let doubted = attempts > 1 && !abilities.idempotent;
                if doubted { format!("{}{text}", words::REPEATED) } else { text.clone() }
            };
            match known.receipt {
                Some(receipt) => {
                    let wanted = wanted(known.attempts);
                    if !abilities.edits || self.shown.get(&at) == Some(&wanted) {
                        continue;
                    }
                    return Ok(self.edit(at, MessageId(receipt), wanted, closed, abilities).await);
                }
                None if !closed && !self.may_grow(text, abilities) => break,
                None if known.attempts >= ATTEMPTS_MAX && !abilities.idempotent => {
                    return Ok(Next::End(DeliveryOutcome::Doubtful));
                }
                None => return self.send(log, at, wanted(known.attempts + 1), known.attempts > 0).await,
            }
        }
        if told.over {
            return Ok(Next::End(DeliveryOutcome::Delivered));
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

    async fn send(&mut self, log: &mut Log, at: usize, text: String, repeated: bool) -> Result<Next, Broken> {
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
        let answers = (at == 0).then(|| MessageId(self.owed.to.message.clone()));
        let message = Outbound { text: text.clone(), answers, files: Vec::new() };
        let key = self.key(log, at);
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
                tracing::debug!(reason, "an answer was not sent yet");
                log.note(&self.owed, DeliveryStep::Unsent { part }).await?;
                Ok(self.later(retry_after))
            }
            Err(SendError::Doubtful { reason }) => {
                tracing::warn!(reason, "an answer may have arrived");
                Ok(self.later(None))
            }
            Err(error @ (SendError::TooLong | SendError::Refused { .. })) => {
                Ok(Next::End(DeliveryOutcome::Refused { reason: error.to_string() }))
            }
        }
    }

    /// Lets a message show what it should. What still grows is shown now and then, what is over surely.
    async fn edit(
        &mut self,
        at: usize,
        message: MessageId,
        wanted: String,
        closed: bool,
        abilities: Abilities,
    ) -> Next {
        if !closed {
            let since = self.edited_at.map_or(abilities.edit_every, |at| at.elapsed());
            if since < abilities.edit_every {
                return Next::Wait(abilities.edit_every - since);
            }
            if !self.platform.slack(&self.to) {
                return Next::Wait(abilities.edit_every);
            }
        }
        let key = format!("{}:{}:edit:{}", self.owed.answer.0, at, wanted.len());
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

    /// The same for the same message at every start.
    fn key(&self, log: &Log, at: usize) -> String {
        format!("{}:{}:{at}", log.handle.session().0, self.owed.answer.0)
    }

    fn later(&mut self, retry_after: Option<Duration>) -> Next {
        self.again = (self.again * 2).clamp(Duration::from_millis(250), AGAIN_MAX);
        Next::Wait(retry_after.unwrap_or(self.again))
    }
}

/// What the agent said, and behind it how it ended.
fn text_of(turn: &TurnView, over: bool) -> String {
    let parts = turn.answer.iter().flat_map(|answer| &answer.parts);
    let mut texts: Vec<String> = parts
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.trim().to_owned()),
            Part::Reasoning(_) | Part::Call { .. } | Part::Steered { .. } | Part::Marker(_) => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    if over {
        texts.extend(turn.marker.as_ref().and_then(words::ending));
    }
    texts.join("\n\n")
}

//! From the log to a platform: a courier a session brings its answers to the chats that they are owed to, in order. Each
//! message is noted in the log before it is sent and receipted after, so that whoever comes next knows what to do.

mod delivering;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use hub::{CommandError, FollowError, Followed, Follower, OwingFollower, SessionHandle};
use session::{ChatKey, Command, Delivery, DeliveryStep, Session, SessionId, fold};
use tokio::sync::watch;

use self::delivering::Delivering;
use crate::gateway::Shared;
use crate::platform::Place;
use crate::spawn;

/// The longest wait before something is sent again.
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// The sessions whose answers are being brought.
pub(crate) struct Couriers {
    at_work: Mutex<HashMap<SessionId, CourierState>>,
    count: watch::Sender<usize>,
}

/// The state of a courier that is under way.
#[derive(Debug, Clone, Copy, Default)]
struct CourierState {
    /// Whether more is owed since it looked.
    more: bool,
    /// Whether it waits for an interrupted answer to resume, which another process may do.
    waits: bool,
}

fn busy(at_work: &HashMap<SessionId, CourierState>) -> usize {
    at_work.values().filter(|under| !under.waits).count()
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
        let began = !at_work.contains_key(&session);
        at_work.entry(session).or_default().more = true;
        self.count.send_replace(busy(&at_work));
        began
    }

    /// The courier looks from now on.
    fn looks(&self, session: SessionId) {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.entry(session).or_default().more = false;
    }

    /// Says whether a courier waits for an interrupted answer to resume.
    pub(super) fn waits(&self, session: SessionId, waits: bool) {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under) = at_work.get_mut(&session) {
            under.waits = waits;
        }
        self.count.send_replace(busy(&at_work));
    }

    /// Whether the courier is done; not if more is owed since it looked.
    fn ends(&self, session: SessionId) -> bool {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let again = at_work.get(&session).copied().unwrap_or_default().more;
        if !again {
            at_work.remove(&session);
            self.count.send_replace(busy(&at_work));
        }
        !again
    }

    /// Waits until no courier is under way, but for those that wait for an answer to resume.
    pub(crate) async fn idle(&self) {
        drop(self.count.subscribe().wait_for(|count| *count == 0).await);
    }
}

/// Sends couriers for everything that is owed now.
pub(crate) async fn send_for_all_owed(shared: &Shared) {
    let sessions = loop {
        match shared.hub.undelivered().await {
            Ok(sessions) => break sessions,
            Err(error) => {
                tracing::warn!(reason = %error, "failed to list undelivered answers, retrying");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    };
    for session in sessions {
        send_courier(shared, session);
    }
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
                send_for_all_owed(&shared).await;
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
            Ok(()) => wait = Duration::ZERO,
            Err(Broken::Command(CommandError::Unknown(_) | CommandError::Deleted(_))) => {
                if shared.couriers.ends(session) {
                    return;
                }
            }
            Err(Broken::Follow(FollowError::CutOff { .. })) => {}
            Err(error) => {
                wait = (wait * 2).clamp(Duration::from_millis(100), AGAIN_MAX);
                tracing::warn!(%session, reason = %error, "delivery failed, retrying");
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
            tracing::warn!(%session, "undelivered answer for a platform that is not configured");
            return Ok(());
        };
        let delivering = Delivering::new(shared, (platform.as_ref(), health), Place::of(&chat), owed);
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

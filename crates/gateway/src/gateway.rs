//! The gateway as a whole: its platforms, what they share, and the order in which it starts and stops.

use std::sync::Arc;
use std::time::Duration;

use hub::Hub;
use session::{ChatKey, PostMode, SessionId};
use tokio_util::sync::CancellationToken;

use crate::health::{Health, PlatformHealth};
use crate::outbound::{self, Couriers};
use crate::platform::{Outbound, Place, Platform, ReceiveError};
use crate::register::Register;
use crate::{inbound, spawn, words};

/// How long a pairing code can be approved.
pub const PAIRING_LASTS: Duration = Duration::from_secs(3_600);
/// How long chats are told of a stop before it goes on.
const NOTICE_MAX: Duration = Duration::from_secs(3);
/// How long owed answers have at start before receiving begins.
const OWED_FIRST_MAX: Duration = Duration::from_secs(10);

/// What all parts of a gateway share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) hub: Hub,
    pub(crate) register: Arc<dyn Register>,
    pub(crate) busy: PostMode,
    pub(crate) couriers: Couriers,
    platforms: Vec<(Arc<dyn Platform>, Health)>,
    /// Ends receiving.
    receiving: CancellationToken,
    /// Ends everything.
    pub(crate) stop: CancellationToken,
}

impl std::ops::Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    pub(crate) fn platform(&self, at: usize) -> &(Arc<dyn Platform>, Health) {
        &self.platforms[at]
    }

    pub(crate) fn named(&self, name: &str) -> Option<&(Arc<dyn Platform>, Health)> {
        self.platforms.iter().find(|(platform, _)| platform.name() == name)
    }
}

/// The messaging door.
#[derive(Clone)]
pub struct Gateway(Shared);

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.platforms.iter().map(|(platform, _)| platform.name()).collect();
        f.debug_tuple("Gateway").field(&names).finish()
    }
}

impl Gateway {
    /// A gateway over these platforms. `busy` is what a message does while an answer is being written.
    pub fn new(
        hub: Hub,
        register: Arc<dyn Register>,
        platforms: Vec<Arc<dyn Platform>>,
        busy: PostMode,
    ) -> Self {
        let platforms = platforms.into_iter().map(|platform| (platform, Health::default())).collect();
        Self(Shared(Arc::new(Inner {
            hub,
            register,
            busy,
            couriers: Couriers::default(),
            platforms,
            receiving: CancellationToken::new(),
            stop: CancellationToken::new(),
        })))
    }

    /// Brings what is owed first, then receives.
    pub fn start(&self) {
        let shared = self.0.clone();
        spawn::spawn(async move {
            let owing = shared.hub.follow_owing();
            outbound::send_for_all_owed(&shared).await;
            drop(tokio::time::timeout(OWED_FIRST_MAX, shared.couriers.idle()).await);
            spawn::spawn(outbound::bring_as_owed(shared.clone(), owing));
            for at in 0..shared.platforms.len() {
                spawn::spawn(inbound::receive(shared.clone(), at, shared.receiving.clone()));
            }
        });
    }

    /// Tells the chats whose runs are going on that the server stops or restarts.
    pub async fn tell_stopping(&self, restart: bool, most: Duration) {
        let told = async {
            let sessions = self.0.hub.undelivered().await.unwrap_or_default();
            let notices = sessions.into_iter().map(|session| self.notice(session, restart));
            futures_util::future::join_all(notices).await;
        };
        // Nothing waits for a platform that does not answer.
        drop(tokio::time::timeout(most.min(NOTICE_MAX), told).await);
    }

    async fn notice(&self, session: SessionId, restart: bool) {
        let Ok(state) = self.0.hub.open(session).state().await else { return };
        let Some((turn, run)) = state.open().filter(|_| !fault::planted("stop_is_not_told")) else { return };
        let Some(chat) = turn.message.from.as_ref().and_then(|from| ChatKey::from_text(&from.chat)) else {
            return;
        };
        let Some((platform, _)) = self.0.named(&chat.platform) else { return };
        let key = format!("stopping {} {}", session.0, run.id.0);
        let resumes = self.0.hub.resumes() && run.open_calls().next().is_none();
        let notice = Outbound::text(words::stopping(restart, resumes));
        if let Err(error) = platform.send(&Place::of(&chat), notice, key).await {
            tracing::debug!(platform = chat.platform, reason = %error, "failed to notify chat of the \
                                                                        shutdown");
        }
    }

    /// Receives no more, and lets what is written go out for at most so long.
    pub async fn finish(&self, most: Duration) {
        self.0.receiving.cancel();
        drop(tokio::time::timeout(most, self.0.couriers.idle()).await);
        self.0.stop.cancel();
    }

    /// How each platform is.
    pub fn health(&self) -> Vec<PlatformHealth> {
        let told =
            |(platform, health): &(Arc<dyn Platform>, Health)| health.told(platform.name(), platform.kind());
        self.0.platforms.iter().map(told).collect()
    }

    /// Asks a platform who this account is there; none when there is no such platform.
    pub async fn test(&self, name: &str) -> Option<Result<String, ReceiveError>> {
        let (platform, _) = self.0.named(name)?;
        Some(platform.who_am_i().await)
    }
}

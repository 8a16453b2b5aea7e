//! Resumes interrupted runs: at start, the runs that a crash, a shutdown or a restart interrupted; later, those that a
//! lost node or an outage did. `session::Session::resumable` decides which; [`ResumePolicy`] decides whether any do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use session::limits::RESUME_WITHIN_MICROS;
use session::{Command, InterruptReason, Session, SessionId, Time, UserId};
use store::OpenRun;

use crate::error::CommandError;
use crate::hub::{Hub, Shared};
use crate::repairs;

/// Sessions opened concurrently at start, and open runs above which further resumes wait.
const RESUME_AT_ONCE: usize = 64;
/// Maximum run duration assumed by the query at start: the list knows when a run started, not when it last wrote.
const RUN_MICROS_MAX: i64 = 7 * 24 * 3_600 * 1_000_000;

/// Whether an interrupted run resumes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterInterruption {
    /// Where no call may have run, it makes progress, and its last output is recent.
    #[default]
    Continue,
    /// Never; it waits for the user.
    Wait,
}

/// The policy as it is at this moment: every copy sees a change of any of them.
#[derive(Debug, Clone)]
pub struct ResumePolicy(Arc<Policy>);

#[derive(Debug)]
struct Policy {
    continues: AtomicBool,
    within_micros: AtomicI64,
}

impl ResumePolicy {
    pub fn new(after: AfterInterruption, within: Duration) -> Self {
        let policy =
            Self(Arc::new(Policy { continues: AtomicBool::new(true), within_micros: AtomicI64::new(0) }));
        policy.set(after, within);
        policy
    }

    pub fn get(&self) -> AfterInterruption {
        if self.0.continues.load(Ordering::Acquire) {
            AfterInterruption::Continue
        } else {
            AfterInterruption::Wait
        }
    }

    /// Changes the policy. `within` is the age of its newest output up to which a run resumes; zero for none.
    pub fn set(&self, after: AfterInterruption, within: Duration) {
        let micros = i64::try_from(within.as_micros()).unwrap_or(i64::MAX);
        self.0.within_micros.store(micros, Ordering::Release);
        self.0.continues.store(after == AfterInterruption::Continue, Ordering::Release);
    }

    /// The age of its newest output up to which a run resumes; 0 when none does.
    pub(crate) fn within_micros(&self) -> i64 {
        match self.get() {
            AfterInterruption::Continue => self.0.within_micros.load(Ordering::Acquire),
            AfterInterruption::Wait => 0,
        }
    }
}

impl From<AfterInterruption> for ResumePolicy {
    fn from(after: AfterInterruption) -> Self {
        Self::new(after, Duration::from_micros(RESUME_WITHIN_MICROS.unsigned_abs()))
    }
}

impl Default for ResumePolicy {
    fn default() -> Self {
        AfterInterruption::default().into()
    }
}

/// Sessions whose run was interrupted by this process, or by the one before it on this store. A run that is found open in
/// any other session was another node's.
#[derive(Debug, Default)]
pub(crate) struct Crashed(Mutex<BTreeSet<SessionId>>);

impl Crashed {
    pub(crate) fn note(&self, session: SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
    }

    /// What interrupted the run that is found open in a session.
    pub(crate) fn reason(&self, session: SessionId) -> InterruptReason {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        if known { InterruptReason::Crash } else { InterruptReason::LostNode }
    }
}

impl Shared {
    /// Whether another interrupted run may resume now: at start, not all at once.
    pub(crate) fn has_room_to_resume(&self) -> bool {
        !self.starting.load(Ordering::Acquire) || self.first_resumes.load(Ordering::Acquire)
    }
}

impl Hub {
    /// Whether interrupted runs resume by themselves.
    pub fn resumes(&self) -> bool {
        self.shared().settings.after_interruption.within_micros() > 0
    }

    /// Whether an interrupted run of this session will resume by itself.
    pub fn awaits_resume(&self, session: &Session) -> bool {
        let within = self.shared().settings.after_interruption.within_micros();
        session.awaits_resume(self.now(), within)
    }

    /// Repairs sessions with an open run, then resumes interrupted runs (latest activity first), then starts waiting
    /// messages, at most [`RESUME_AT_ONCE`] at a time. A failed repair does not delay the others;
    /// transient failures are retried later.
    pub(crate) async fn start_all(&self, open: &[OpenRun]) {
        open.iter().for_each(|run| self.shared().crashed.note(run.session));
        let mut sessions = self.sessions_to_start(open).await;
        if sessions.len() > RESUME_AT_ONCE {
            sessions = self.round_robin(sessions).await;
        }
        for sessions in sessions.chunks(RESUME_AT_ONCE) {
            let repaired = sessions.iter().map(|session| async move {
                if let Err(error) = repairs::repair(self.shared(), *session).await {
                    tracing::error!(%session, reason = %error, "failed to repair session");
                    self.shared().repairs.note(*session, &error);
                }
            });
            futures_util::future::join_all(repaired).await;
            self.shared().first_resumes.store(false, Ordering::Release);
        }
        if sessions.len() <= RESUME_AT_ONCE {
            self.shared().starting.store(false, Ordering::Release);
            return;
        }
        let hub = self.downgrade();
        crate::spawn::spawn(async move {
            for session in sessions {
                let Some(room) = hub.upgrade().map(|hub| hub.shared().room(RESUME_AT_ONCE as u64)) else {
                    return;
                };
                room.await;
                let Some(hub) = hub.upgrade() else { return };
                match hub.open(session).submit(Command::Proceed).await {
                    Ok(_) | Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => {}
                    Err(error) => tracing::error!(%session, reason = %error, "failed to resume session"),
                }
            }
            if let Some(hub) = hub.upgrade() {
                hub.shared().starting.store(false, Ordering::Release);
            }
        });
    }

    /// Orders sessions by round-robin over their users, so that one user's many runs do not delay everyone else's.
    async fn round_robin(&self, sessions: Vec<SessionId>) -> Vec<SessionId> {
        let mut taken: BTreeMap<UserId, usize> = BTreeMap::new();
        let mut ordered = Vec::with_capacity(sessions.len());
        for session in sessions {
            // A session that cannot be looked up is reported when it is repaired.
            let user = self.store().row(session).await.ok().flatten().map_or(UserId::FIRST, |row| row.user);
            let round = taken.entry(user).or_default();
            ordered.push((*round, session));
            *round += 1;
        }
        ordered.sort_by_key(|(round, _)| *round);
        ordered.into_iter().map(|(_, session)| session).collect()
    }

    async fn sessions_to_start(&self, open: &[OpenRun]) -> Vec<SessionId> {
        let mut sessions: Vec<SessionId> = open.iter().map(|run| run.session).collect();
        let within = self.shared().settings.after_interruption.within_micros();
        if within > 0 {
            let since = Time(self.now().0.saturating_sub(within).saturating_sub(RUN_MICROS_MAX));
            match self.store().interrupted(since).await {
                Ok(interrupted) => sessions.extend(interrupted),
                Err(error) => tracing::error!(reason = %error, "failed to list interrupted sessions"),
            }
        }
        match self.store().waiting().await {
            Ok(waiting) => sessions.extend(waiting),
            Err(error) => tracing::error!(reason = %error, "failed to list sessions with queued messages"),
        }
        let mut seen = BTreeSet::new();
        sessions.retain(|session| seen.insert(*session));
        sessions
    }
}

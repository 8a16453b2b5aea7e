//! Hourly housekeeping: permanently deletes expired sessions in the trash, and removes unfinished and unused uploads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hub::{Clock, Hub, SystemClock};
use session::SessionId;
use store::people::People;
use tokio_util::sync::CancellationToken;

use crate::people;
use crate::settings::Settings;
use crate::uploads::Uploads;

/// The interval between two rounds.
const EVERY: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The housekeeping task.
pub(crate) struct Housekeeping {
    pub(crate) hub: Hub,
    pub(crate) people: Arc<People>,
    pub(crate) uploads: Arc<Uploads>,
    /// Read again in every round, because owners can change the retention of the trash.
    pub(crate) settings: Arc<Settings>,
}

impl Housekeeping {
    /// Runs immediately and then every hour until the server stops.
    pub(crate) async fn keep(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.empty_trash() => {}
            }
            self.drop_uploads().await;
            if tokio::time::timeout(EVERY, stop.cancelled()).await.is_ok() {
                return;
            }
        }
    }

    /// Permanently deletes expired sessions, page by page. Skips sessions that can't be deleted now.
    async fn empty_trash(&self) {
        let days = self.settings.now().trash_days;
        // Sessions never expire.
        if days == 0 {
            return;
        }
        let keep = DAY.saturating_mul(days);
        let observed = match self.observed().await {
            Ok(observed) => observed,
            Err(reason) => {
                tracing::error!(%reason, "failed to update time in trash, retrying in an hour");
                return;
            }
        };
        let mut last = None;
        loop {
            let due = match self.hub.due_trash(keep, last).await {
                Ok(due) => due,
                Err(error) => {
                    tracing::error!(reason = %error, "failed to list sessions in the trash, retrying in an hour");
                    return;
                }
            };
            let Some(end) = due.last().copied() else { return };
            for trashed in due {
                let session = trashed.session;
                if observed.get(&session).is_none_or(|age| *age < keep) {
                    continue;
                }
                match self.hub.erase_due(session, keep).await {
                    Ok(true) => self.tell_erased(session).await,
                    Ok(false) => tracing::debug!(%session, "session left the trash before it expired"),
                    Err(error) => {
                        tracing::warn!(%session, reason = %error, "failed to delete session in the trash, retrying in an hour")
                    }
                }
            }
            last = Some(end);
        }
    }

    /// Returns how long each session has been in the trash, by observed time.
    async fn observed(&self) -> Result<BTreeMap<SessionId, Duration>, String> {
        let (mut trashed, mut last) = (BTreeMap::new(), None);
        loop {
            let page = self.hub.due_trash(Duration::ZERO, last).await.map_err(|error| error.to_string())?;
            let Some(end) = page.last().copied() else { break };
            trashed.extend(page.into_iter().map(|trashed| (trashed.session, trashed.since)));
            last = Some(end);
        }
        let (people, now) = (self.people.clone(), self.hub.now());
        let observing = tokio::task::spawn_blocking(move || people.observe_trash(now, &trashed));
        observing.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    async fn tell_erased(&self, session: SessionId) {
        tracing::info!(%session, "permanently deleted expired session in the trash");
        let people = self.people.clone();
        let note = move || people.note_erased(people::by(None), session, ", from the trash");
        match tokio::task::spawn_blocking(note).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%session, reason = %error, "failed to record the deletion in the audit log")
            }
            Err(error) => {
                tracing::error!(%session, reason = %error, "failed to record the deletion in the audit log")
            }
        }
    }

    async fn drop_uploads(&self) {
        let uploads = self.uploads.clone();
        match tokio::task::spawn_blocking(move || uploads.drop_old(SystemClock.now())).await {
            Ok(Ok(0)) => {}
            Ok(Ok(count)) => tracing::info!(count, "removed unfinished uploads"),
            Ok(Err(error)) => {
                tracing::warn!(reason = %error, "failed to remove old uploads, retrying in an hour")
            }
            Err(error) => {
                tracing::warn!(reason = %error, "failed to remove old uploads, retrying in an hour")
            }
        }
        match self.hub.expire_uploads(DAY).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "removed unused uploads"),
            Err(error) => {
                tracing::warn!(reason = %error, "failed to remove old uploads, retrying in an hour")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hub::Create;
    use session::{Command, Flag, UserId};
    use store::directory::{DataDirectory, LogsAt};
    use testkit::agent::ScriptedAgent;
    use testkit::clock::HandClock;

    use super::*;

    struct Place {
        keeper: Housekeeping,
        clock: Arc<HandClock>,
        _home: tempfile::TempDir,
    }

    impl Place {
        async fn new(trash_days: u32) -> Self {
            let home = tempfile::tempdir().unwrap();
            let clock = Arc::new(HandClock::default());
            let store = Arc::new(store::memory::MemoryStore::new());
            let settings = hub::Settings::new(home.path().join("spool"));
            let agent = Arc::new(ScriptedAgent::default());
            let hub = Hub::start(store, agent, clock.clone(), settings).await.unwrap();
            let directory = DataDirectory::enter(home.path(), LogsAt::Here).unwrap();
            let people = Arc::new(People::open(&directory, clock.now()).unwrap());
            let uploads = Arc::new(Uploads::open(home.path()).unwrap());
            let config = crate::config::Config { trash_days, ..Default::default() };
            let settings = Arc::new(Settings::open(&config, people.clone()).unwrap());
            Self { keeper: Housekeeping { hub, people, uploads, settings }, clock, _home: home }
        }

        async fn create(&self) -> SessionId {
            let create = Create { session: None, title: None, after: None, user: UserId::FIRST };
            self.keeper.hub.create(create).await.unwrap().session()
        }

        async fn trash(&self, session: SessionId, on: bool) {
            let command = Command::SetFlag { flag: Flag::Trashed, on };
            self.keeper.hub.open(session).submit(command).await.unwrap();
        }

        async fn is_there(&self, session: SessionId) -> bool {
            self.keeper.hub.belongs(session, UserId::FIRST).await.unwrap()
        }

        fn pass(&self, days: i64) {
            self.clock.advance(days * 24 * 3_600 * 1_000_000);
        }

        fn erased(&self) -> Vec<String> {
            let lines = self.keeper.people.audit(None, 1_000).unwrap();
            lines.into_iter().filter(|line| line.action == "session_erased").map(|line| line.about).collect()
        }
    }

    #[tokio::test]
    async fn what_is_in_the_trash_for_long_enough_is_erased_and_told() {
        let place = Place::new(30).await;
        let mut old = Vec::new();
        // More than a page.
        for _ in 0..130 {
            let session = place.create().await;
            place.trash(session, true).await;
            old.push(session);
        }
        let (active, taken_out, put_back) = (place.create().await, old[3], old[4]);
        place.pass(29);
        place.trash(taken_out, false).await;
        place.trash(put_back, false).await;
        place.trash(put_back, true).await;
        place.keeper.empty_trash().await;
        assert_eq!(place.erased(), Vec::<String>::new(), "nothing is due yet");
        place.pass(1);
        place.keeper.empty_trash().await;
        for session in &old {
            let stays = [taken_out, put_back].contains(session);
            assert_eq!(place.is_there(*session).await, stays, "{session}");
        }
        assert!(place.is_there(active).await);
        assert_eq!(place.erased().len(), 128);
        assert!(place.erased().contains(&format!("{}, from the trash", old[0])));
    }

    #[tokio::test]
    async fn a_clock_that_jumps_erases_nothing() {
        let place = Place::new(30).await;
        let session = place.create().await;
        place.trash(session, true).await;
        place.keeper.empty_trash().await;
        place.pass(400);
        place.keeper.empty_trash().await;
        assert!(place.is_there(session).await, "the clock jumped ahead");
        // Another one comes into the trash while the clock is decades behind.
        place.pass(-20_000);
        let early = place.create().await;
        place.trash(early, true).await;
        place.keeper.empty_trash().await;
        place.pass(20_000);
        place.keeper.empty_trash().await;
        assert!(place.is_there(early).await, "the clock was set right");
        for day in 0..30 {
            assert!(place.is_there(session).await && place.is_there(early).await, "day {day}");
            place.pass(1);
            place.keeper.empty_trash().await;
        }
        assert!(!place.is_there(session).await && !place.is_there(early).await);
    }

    #[tokio::test]
    async fn a_trash_without_an_end_is_kept() {
        let place = Place::new(0).await;
        let session = place.create().await;
        place.trash(session, true).await;
        place.pass(10_000);
        place.keeper.empty_trash().await;
        assert!(place.is_there(session).await);
        // An owner sets an end, and the next look keeps to it.
        let change = crate::settings::Change { trash_days: Some(30), ..Default::default() };
        place.keeper.settings.change(people::by_hand(), change).unwrap();
        place.keeper.empty_trash().await;
        assert!(!place.is_there(session).await);
    }

    /// A session whose restore was acknowledged is never deleted, however the restore and the deletion interleave.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_session_that_is_taken_out_in_time_is_not_erased() {
        let place = Place::new(30).await;
        let (mut rescued, mut erased) = (0, 0);
        for _ in 0..200 {
            let session = place.create().await;
            place.trash(session, true).await;
            place.pass(31);
            let command = Command::SetFlag { flag: Flag::Trashed, on: false };
            let handle = place.keeper.hub.open(session);
            let keep = DAY * 30;
            let (saved, gone) =
                tokio::join!(handle.submit(command), place.keeper.hub.erase_due(session, keep));
            let (saved, gone) = (saved.is_ok(), gone.unwrap_or(false));
            assert!(!(saved && gone), "what was acknowledged was erased");
            assert_eq!(place.is_there(session).await, !gone);
            (rescued, erased) = (rescued + u32::from(saved), erased + u32::from(gone));
        }
        assert!(rescued + erased > 0);
    }
}

//! What the server does beside serving because an owner asked for it: backups and verifying, one at a time.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hub::{Clock, SystemClock};
use serde::Serialize;
use session::UserId;
use store::people::People;
use store::{backup, sqlite};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::config::Config;
use crate::{people, upkeep};

/// Tasks that are remembered.
const KNOWN_MAX: usize = 20;
/// Troubles that are told one by one.
const TOLD: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskKind {
    Backup,
    Verify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    Running,
    Done,
    /// The task couldn't be completed, or it found damage.
    Failed,
}

/// A backup or integrity check, and its progress.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Task {
    task: Uuid,
    kind: TaskKind,
    state: TaskState,
    /// Microseconds since 1970.
    begun_at: i64,
    ended_at: Option<i64>,
    /// The progress or result, as a sentence for people.
    told: String,
}

/// Why nothing was begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error("Another task is running. Wait until it has finished.")]
    Busy,
    #[error("{0}")]
    OnPostgres(String),
    #[error("{0}")]
    BadPlace(String),
}

/// What came of a task, in words.
type Ended = anyhow::Result<(TaskState, String)>;

/// The tasks of a server.
#[derive(Clone)]
pub(crate) struct Tasks {
    config: Arc<Config>,
    people: Arc<People>,
    /// Newest first.
    known: Arc<Mutex<VecDeque<Task>>>,
}

impl Tasks {
    pub(crate) fn new(config: &Config, people: Arc<People>) -> Self {
        Self { config: Arc::new(config.clone()), people, known: Arc::default() }
    }

    /// The latest tasks, newest first.
    pub(crate) fn list(&self) -> Vec<Task> {
        self.known().iter().cloned().collect()
    }

    /// Begins a backup.
    ///
    /// # Errors
    /// When the folder cannot be used, or something else is going on.
    pub(crate) fn back_up(&self, user: UserId, place: &str) -> Result<Uuid, BeginError> {
        let to = upkeep::place(&self.config.data, place)
            .map_err(|error| BeginError::BadPlace(error.to_string()))?;
        self.begin(TaskKind::Backup, "Copying.", move |tasks, task| tasks.make_backup(task, user, to))
    }

    /// Begins to verify.
    ///
    /// # Errors
    /// When something else is going on.
    pub(crate) fn verify(&self, user: UserId) -> Result<Uuid, BeginError> {
        upkeep::can_be_verified(&self.config).map_err(BeginError::OnPostgres)?;
        self.begin(TaskKind::Verify, "Reading.", move |tasks, task| tasks.look_through(task, user))
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, task: Uuid, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.known().iter_mut().find(|known| known.task == task) {
            change(task);
        }
    }

    fn tell(&self, task: Uuid, told: String) {
        self.change(task, |task| task.told = told);
    }

    /// Notes a task and works on it, off the threads that serve.
    fn begin(
        &self,
        kind: TaskKind,
        told: &str,
        work: impl FnOnce(&Self, Uuid) -> Ended + Send + 'static,
    ) -> Result<Uuid, BeginError> {
        let task = SystemClock.id();
        {
            let mut known = self.known();
            if known.iter().any(|task| task.state == TaskState::Running) {
                return Err(BeginError::Busy);
            }
            let begun_at = SystemClock.now().0;
            let told = told.to_owned();
            known.push_front(Task { task, kind, state: TaskState::Running, begun_at, ended_at: None, told });
            known.truncate(KNOWN_MAX);
        }
        let tasks = self.clone();
        crate::spawn::spawn(async move {
            let working = tasks.clone();
            let worked = tokio::task::spawn_blocking(move || work(&working, task)).await;
            let (state, told) = match worked {
                Ok(Ok(ended)) => ended,
                Ok(Err(error)) => (TaskState::Failed, format!("{error:#}.")),
                Err(error) => {
                    tracing::error!(reason = %error, "task panicked");
                    (TaskState::Failed, "The task failed unexpectedly. Sessions were not changed.".to_owned())
                }
            };
            tasks.change(task, |task| {
                (task.state, task.told) = (state, told);
                task.ended_at = Some(SystemClock.now().0);
            });
        });
        Ok(task)
    }

    fn make_backup(&self, task: Uuid, user: UserId, to: PathBuf) -> Ended {
        let mut progress = |what: &str, done: u64, all: u64| {
            self.tell(task, format!("Copying {what}: {}.", part(done, all)))
        };
        let made = backup::make(&self.config.enter_shared()?, &to, SystemClock.now(), &mut progress)?;
        upkeep::note_backup(&self.people, people::by(Some(user)), &to)?;
        let key = upkeep::KEY_NOT_INCLUDED;
        let to = to.display();
        let mut told = if made.has_sessions() {
            format!("Copied {} sessions and {} attachments to {to}. {key}", made.sessions, made.attachments)
        } else {
            format!("Copied users, access and settings to {to}. {} {key}", upkeep::SESSIONS_ON_POSTGRES)
        };
        if made.attachments_damaged > 0 {
            let count = made.attachments_damaged;
            told += &format!(
                " The backup lacks {count} attachments that are missing or damaged. Choose Verify now to list them."
            );
        }
        Ok((TaskState::Done, told))
    }

    fn look_through(&self, task: Uuid, user: UserId) -> Ended {
        let progress =
            |done: u64, all: u64| self.tell(task, format!("Checking sessions: {}.", part(done, all)));
        // Half of the machine goes on serving.
        let workers = upkeep::workers().div_ceil(2);
        let found = sqlite::verify(&self.config.enter_shared()?, workers, &progress)?;
        upkeep::note_verify(&self.people, people::by(Some(user)), &found)?;
        let read = format!(
            "{} sessions, {} entries, {} attachments",
            found.sessions, found.entries, found.attachments
        );
        if found.troubles.is_empty() {
            return Ok((TaskState::Done, format!("Checked {read}. No problems found.")));
        }
        let lines: Vec<String> = found.troubles.iter().take(TOLD).map(upkeep::line).collect();
        let more = found.troubles.len().saturating_sub(TOLD);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let told = format!(
            "Checked {read} and found {} problems: {}{more}. Stop the server and run `everturn repair`, or \
             restore a backup.",
            found.troubles.len(),
            lines.join("; ")
        );
        Ok((TaskState::Failed, told))
    }
}

/// How far something is.
fn part(done: u64, all: u64) -> String {
    format!("{done} of {all} ({} %)", done.saturating_mul(100) / all.max(1))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    async fn ended(tasks: &Tasks, task: Uuid) -> Task {
        loop {
            let known = tasks.list().into_iter().find(|known| known.task == task).unwrap();
            if known.state != TaskState::Running {
                return known;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn one_at_a_time_and_the_latest_are_remembered() {
        let home = tempfile::tempdir().unwrap();
        let config = Config { data: home.path().join("data"), ..Config::default() };
        let people = Arc::new(people::open(&config.enter().unwrap()).unwrap());
        let postgres = Config { postgres: Some("host=/run/postgresql".to_owned()), ..config.clone() };
        let elsewhere = Tasks::new(&postgres, people.clone());
        let refused = |begun: Result<Uuid, BeginError>| begun.unwrap_err().to_string();
        assert!(refused(elsewhere.verify(UserId::FIRST)).contains("`verify` works only with SQLite"));
        let tasks = Tasks::new(&config, people);
        let (go, waits) = mpsc::channel();
        let first = tasks
            .begin(TaskKind::Verify, "Reading.", move |_, _| {
                waits.recv()?;
                Ok((TaskState::Done, "Done.".to_owned()))
            })
            .unwrap();
        assert!(matches!(tasks.verify(UserId::FIRST), Err(BeginError::Busy)));
        let copy = home.path().join("copy");
        assert!(matches!(tasks.back_up(UserId::FIRST, &copy.to_string_lossy()), Err(BeginError::Busy)));
        assert_eq!((tasks.list().len(), tasks.list()[0].state), (1, TaskState::Running));
        go.send(()).unwrap();
        let first = ended(&tasks, first).await;
        assert_eq!((first.state, first.told.as_str()), (TaskState::Done, "Done."));
        assert!(first.ended_at.is_some_and(|at| at >= first.begun_at));
        for _ in 0..KNOWN_MAX + 5 {
            let task = tasks.begin(TaskKind::Verify, "Reading.", |_, _| anyhow::bail!("no")).unwrap();
            assert_eq!(ended(&tasks, task).await.told, "no.");
        }
        assert_eq!(tasks.list().len(), KNOWN_MAX);
        let panics = tasks.begin(TaskKind::Verify, "Reading.", |_, _| panic!("on purpose")).unwrap();
        assert_eq!(ended(&tasks, panics).await.state, TaskState::Failed);
    }
}

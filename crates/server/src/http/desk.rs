//! What one caller may see and do. A route is handed a desk, never the hub or the store behind it, so that nothing can be
//! asked without saying for whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use hub::{
    BoundChat, ChatHandle, ChatStatus, Clock, Counts, Create, Doing, Hit, Hub, ListFollower, ListQuery,
    ListRow, SearchQuery, SessionHandle, Shelf, SystemClock, TagCount, Trouble,
};
use session::{BlobHash, ChatKey, Message, ProjectId, RunId, Seq, SessionId, Time, TurnId, UserId};
use store::people::{By, Credential, Draft, Kind, People, PeopleError, Role, Scope};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::App;
use super::error::{ErrorCode, Problem};
use super::wire::MessageBody;
use crate::uploads::Uploads;
use crate::{people, secret};

/// Streams that one user may have open.
const STREAMS_MAX: usize = 5_000;
/// How often it is looked whether another process took somebody's access away.
const LOOK: Duration = Duration::from_secs(1);

/// Changes of drafts that a slow reader may be behind; then it is told what is kept.
const DRAFTS_WAITING_MAX: usize = 64;

/// A user writes something else.
#[derive(Debug)]
pub(crate) struct DraftChange {
    user: UserId,
    pub(crate) session: SessionId,
    pub(crate) text: String,
    pub(crate) revision: u64,
    /// Where it is written, as that place calls itself.
    pub(crate) device: String,
}

/// Who asks, and what he may. Made by the gate alone.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) credential: Credential,
    /// The most that is allowed.
    pub(crate) scope: Scope,
    pub(crate) role: Role,
    hash: [u8; 32],
}

/// All desks of a server.
#[derive(Clone)]
pub(crate) struct Desks(Arc<Inner>);

struct Inner {
    hub: Hub,
    people: Arc<People>,
    uploads: Arc<Uploads>,
    /// Counts changes of who may what.
    changes: watch::Sender<u64>,
    /// What is being written, for the other devices of who writes it.
    drafts: broadcast::Sender<Arc<DraftChange>>,
    streams: Mutex<HashMap<UserId, usize>>,
    /// When credentials were used, until that is noted.
    used: Mutex<HashMap<Uuid, Time>>,
    /// Ends open streams when the server stops.
    stop: CancellationToken,
}

impl Desks {
    pub(crate) fn new(hub: Hub, people: Arc<People>, uploads: Arc<Uploads>, stop: CancellationToken) -> Self {
        let (changes, streams, used) = (watch::Sender::new(0), Mutex::default(), Mutex::default());
        let drafts = broadcast::Sender::new(DRAFTS_WAITING_MAX);
        Self(Arc::new(Inner { hub, people, uploads, changes, drafts, streams, used, stop }))
    }

    /// Until the server stops: looks for changes that other processes make, and notes when credentials were used.
    pub(crate) async fn watch_access(self) {
        let mut known = self.0.people.changes().ok();
        while tokio::time::timeout(LOOK, self.0.stop.cancelled()).await.is_err() {
            let now = self.0.people.changes().ok();
            if now != known {
                known = now;
                self.tell_change();
            }
            let used = std::mem::take(&mut *self.used());
            if let Err(problem) = self.aside(move |people| people.note_uses(&used)).await {
                // Who may what does not depend on it.
                tracing::warn!(?problem, "failed to save when credentials were last used");
            }
        }
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Uuid, Time>> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with people off the threads that serve.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&People) -> Result<T, PeopleError> + Send + 'static,
    ) -> Result<T, Problem> {
        let people = self.0.people.clone();
        let worked = tokio::task::spawn_blocking(move || work(&people)).await;
        Ok(worked.map_err(|error| Problem::new(ErrorCode::Unavailable, error.to_string()))??)
    }

    fn tell_change(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }

    /// Whoever has this secret, if it opens the gate at this moment.
    pub(crate) fn admit(&self, secret: &str, kind: Kind) -> Result<Option<Caller>, PeopleError> {
        let hash = secret::hash(secret);
        let now = SystemClock.now();
        let found = self.0.people.verify(hash, now)?;
        let Some((credential, scope, role)) = found.filter(|(credential, ..)| credential.kind == kind) else {
            return Ok(None);
        };
        if credential.use_is_due(now) {
            self.used().insert(credential.id, now);
        }
        Ok(Some(Caller { credential, scope, role, hash }))
    }

    /// The session that a share leads to, for reading.
    pub(crate) async fn shared(&self, secret: &str) -> Result<SessionHandle, Problem> {
        let unknown = || {
            Problem::new(
                ErrorCode::SessionNotFound,
                "This link doesn't work. It was revoked, or its session was deleted.",
            )
        };
        let share = self.0.people.share(secret::hash(secret))?.ok_or_else(unknown)?;
        // What is in the trash is shown to nobody else.
        let row = self.0.hub.row(share.session).await?;
        if !row.is_some_and(|row| row.user == share.user && !row.trashed) {
            return Err(unknown());
        }
        Ok(self.0.hub.open(share.session))
    }

    pub(crate) fn people(&self) -> &Arc<People> {
        &self.0.people
    }
}

/// Which sessions of a shelf are listed; all when nothing is said.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    pub(crate) project: Option<ProjectId>,
    pub(crate) tag: Option<String>,
    pub(crate) doing: Option<Doing>,
}

/// What one caller may see and do.
#[derive(Clone)]
pub(crate) struct Desk {
    desks: Desks,
    pub(crate) caller: Caller,
}

impl FromRequestParts<App> for Desk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // Only the gate puts a caller there; a route that anyone may use has none.
        let caller = parts.extensions.get::<Caller>().cloned();
        let nobody = || Problem::new(ErrorCode::NotAuthorised, "The request isn't authenticated.");
        Ok(Self { desks: app.desks.clone(), caller: caller.ok_or_else(nobody)? })
    }
}

impl Desk {
    fn hub(&self) -> &Hub {
        &self.desks.0.hub
    }

    pub(crate) fn user(&self) -> UserId {
        self.caller.credential.user
    }

    /// Who does what is done here.
    pub(crate) fn by(&self) -> By {
        people::by(Some(self.user()))
    }

    /// Sessions that owe an answer to a chat.
    pub(crate) async fn undelivered(&self) -> Result<Vec<SessionId>, Problem> {
        Ok(self.hub().undelivered().await?)
    }

    /// Changes something about people, off the threads that serve, and lets open streams look whether they still may.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&People) -> Result<T, PeopleError> + Send + 'static,
    ) -> Result<T, Problem> {
        let changed = self.desks.aside(work).await;
        self.desks.tell_change();
        changed
    }

    /// Keeps something that changes nobody's access, off the threads that serve.
    pub(crate) async fn keep<T: Send + 'static>(
        &self,
        work: impl FnOnce(&People) -> Result<T, PeopleError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.desks.aside(work).await
    }

    pub(crate) fn people(&self) -> &Arc<People> {
        &self.desks.0.people
    }

    /// Files on their way in; each is found by its user alone.
    pub(crate) fn uploads(&self) -> &Arc<Uploads> {
        &self.desks.0.uploads
    }

    /// A session of this user. One of somebody else is as unknown as one that never was.
    pub(crate) async fn session(&self, session: Uuid) -> Result<SessionHandle, Problem> {
        let session = SessionId(session);
        if !self.hub().belongs(session, self.user()).await? {
            return Err(unknown(session));
        }
        Ok(self.hub().open(session))
    }

    /// The chats that speak in a session of this user.
    pub(crate) async fn bindings(&self, session: Uuid) -> Result<Vec<BoundChat>, Problem> {
        let session = self.session(session).await?.session();
        Ok(self.hub().chats_of(session).await?)
    }

    /// The chats that speak in sessions of this user.
    pub(crate) async fn chats(&self) -> Result<Vec<(ChatKey, ChatStatus)>, Problem> {
        let mut chats = Vec::new();
        for row in self.hub().chats().await? {
            if self.hub().belongs(row.binding.session, self.user()).await?
                && let Some(status) = self.hub().chat(row.chat.clone()).status().await?
            {
                chats.push((row.chat, status));
            }
        }
        Ok(chats)
    }

    /// A chat that speaks in a session of this user. One of somebody else is as unknown as one that never was.
    pub(crate) async fn chat(&self, chat: &str) -> Result<ChatHandle, Problem> {
        let key = ChatKey::from_text(chat).ok_or_else(no_chat)?;
        let chat = self.hub().chat(key).of(self.user());
        let status = chat.status().await?.ok_or_else(no_chat)?;
        if !self.hub().belongs(status.session, self.user()).await? {
            return Err(no_chat());
        }
        Ok(chat)
    }

    pub(crate) async fn list(
        &self,
        shelf: Shelf,
        narrow: Narrow,
        before: Option<(Time, SessionId)>,
        count: usize,
    ) -> Result<Vec<ListRow>, Problem> {
        let Narrow { project, tag, doing } = narrow;
        // A project that is gone has no sessions.
        if let Some(project) = project
            && !self.has_project(project)?
        {
            return Ok(Vec::new());
        }
        let query = ListQuery { user: self.user(), shelf, project, tag, doing, before, count };
        let mut rows = self.hub().list(query).await?;
        for row in &mut rows {
            row.project = self.shown(row.project)?;
        }
        Ok(rows)
    }

    /// Whether this user has a project.
    pub(crate) fn has_project(&self, project: ProjectId) -> Result<bool, Problem> {
        Ok(self.people().has_project(self.user(), project)?)
    }

    /// The project that a session is shown in: none once it is gone.
    pub(crate) fn shown(&self, project: Option<ProjectId>) -> Result<Option<ProjectId>, Problem> {
        match project {
            Some(project) if self.has_project(project)? => Ok(Some(project)),
            _ => Ok(None),
        }
    }

    /// This user's tags, the most used first.
    pub(crate) async fn tags(&self, count: usize) -> Result<Vec<TagCount>, Problem> {
        Ok(self.hub().tags(self.user(), count).await?)
    }

    pub(crate) fn follow_list(&self) -> ListFollower {
        self.hub().follow_list(self.user())
    }

    /// What this user finds; `narrow` says where.
    pub(crate) async fn search(
        &self,
        words: String,
        count: usize,
        narrow: impl FnOnce(&mut SearchQuery),
    ) -> Result<Vec<Hit>, Problem> {
        let mut query = SearchQuery::new(self.user(), words, count);
        narrow(&mut query);
        query.user = self.user();
        Ok(self.hub().search(query).await?)
    }

    /// The line of a session of this user in the list; none when it is gone.
    pub(crate) async fn row(&self, session: SessionId) -> Result<Option<ListRow>, Problem> {
        Ok(self.hub().row(session).await?.filter(|row| row.user == self.user()))
    }

    /// The text that an entry completed in a session of this user.
    pub(crate) async fn said(
        &self,
        session: SessionId,
        seq: Seq,
        run: Option<RunId>,
    ) -> Result<Option<String>, Problem> {
        Ok(self.session(session.0).await?.said(seq, run).await?)
    }

    /// How many sessions this user has.
    pub(crate) async fn counts(&self) -> Result<Counts, Problem> {
        Ok(self.hub().counts(self.user()).await?)
    }

    /// What this user calls the device or the program that asks.
    pub(crate) fn device(&self) -> Option<String> {
        Some(self.caller.credential.name.clone()).filter(|name| !name.is_empty())
    }

    /// Why nothing can be kept at the moment, as that changes.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.hub().trouble()
    }

    pub(crate) async fn create(
        &self,
        session: Option<Uuid>,
        title: Option<String>,
        after: Option<Uuid>,
    ) -> Result<SessionHandle, Problem> {
        if let Some(after) = after {
            self.session(after).await?;
        }
        let create =
            Create { session: session.map(SessionId), title, after: after.map(SessionId), user: self.user() };
        Ok(self.hub().create(create).await?)
    }

    pub(crate) async fn branch(&self, from: Uuid, turn: Option<TurnId>) -> Result<SessionHandle, Problem> {
        let origin = self.session(from).await?;
        let turn = match turn {
            Some(TurnId(0)) => None,
            Some(turn) => Some(turn),
            None => {
                let state = origin.state().await?;
                let open = state.open().map(|(turn, _)| turn.id);
                state.turns.iter().rev().map(|turn| turn.id).find(|turn| Some(*turn) != open)
            }
        };
        Ok(self.hub().branch(origin.session(), turn).await?)
    }

    pub(crate) async fn erase(&self, session: Uuid) -> Result<(), Problem> {
        let session = self.session(session).await?.session();
        let first = self.first_id(session).await;
        self.hub().erase(session).await?;
        let (by, session) = (self.by(), first);
        self.change(move |people| people.note_erased(by, session, "")).await
    }

    /// Returns the id under which drafts of a session are kept, whichever of its ids was asked for.
    pub(crate) async fn first_id(&self, session: SessionId) -> SessionId {
        self.row(session).await.ok().flatten().map_or(session, |row| row.session)
    }

    /// What this user is writing in a session.
    pub(crate) fn draft(&self, session: SessionId) -> Result<Draft, Problem> {
        Ok(self.people().draft(self.user(), session)?)
    }

    /// Replaces this user's draft of a session, if `base` is its revision or left out, and tells the user's other devices.
    pub(crate) async fn put_draft(
        &self,
        session: Uuid,
        text: String,
        device: String,
        base: Option<u64>,
    ) -> Result<u64, Problem> {
        let session = self.session(session).await?.session();
        let session = self.first_id(session).await;
        let (user, kept) = (self.user(), text.clone());
        let put = self.desks.aside(move |people| people.put_draft(user, session, &kept, base)).await?;
        let Some(revision) = put else {
            let detail = "The draft was changed on another device, so this version wasn't saved. The live \
                          socket delivers the newer text.";
            return Err(Problem::new(ErrorCode::DraftChanged, detail));
        };
        // Nobody else may be looking.
        drop(self.desks.0.drafts.send(Arc::new(DraftChange { user, session, text, revision, device })));
        Ok(revision)
    }

    /// What this user writes in a session from now on, on any device.
    pub(crate) fn follow_draft(
        &self,
        session: SessionId,
    ) -> impl futures_util::Stream<Item = Arc<DraftChange>> + Send + use<> {
        let (user, changes) = (self.user(), self.desks.0.drafts.subscribe());
        stream::unfold((self.desks.clone(), changes), move |(desks, mut changes)| async move {
            loop {
                match changes.recv().await {
                    Ok(change) if change.user == user && change.session == session => {
                        return Some((change, (desks, changes)));
                    }
                    Ok(_) => {}
                    // What was missed may have been the last there is; what is kept tells.
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        let kept = desks.aside(move |people| people.draft(user, session)).await;
                        let Draft { text, revision } = kept.unwrap_or_default();
                        let change = DraftChange { user, session, text, revision, device: String::new() };
                        return Some((Arc::new(change), (desks, changes)));
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        })
    }

    /// Keeps a file that this user brings.
    pub(crate) async fn keep_file(&self, bytes: Vec<u8>) -> Result<BlobHash, Problem> {
        let file = self.hub().keep_blob(bytes).await?;
        let (user, noted) = (self.user(), file.clone());
        self.desks.aside(move |people| people.note_upload(user, &noted)).await?;
        Ok(file)
    }

    /// A file that this user brought.
    pub(crate) async fn file(&self, file: BlobHash) -> Result<Option<Vec<u8>>, Problem> {
        if !self.people().uploaded(self.user(), &file)? {
            return Ok(None);
        }
        Ok(self.hub().blob(file).await?)
    }

    /// A message as it is kept. It names no file that its author did not bring.
    pub(crate) fn message(&self, body: MessageBody) -> Result<Message, Problem> {
        let message = Message { device: self.device(), ..Message::from(body) };
        for attachment in &message.attachments {
            if !self.people().uploaded(self.user(), &attachment.blob)? {
                return Err(no_file());
            }
        }
        Ok(message)
    }

    /// Takes one of the streams that this user may have open.
    pub(crate) fn open_stream(&self) -> Result<OpenStream, Problem> {
        let user = self.user();
        let mut streams = self.desks.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let open = streams.entry(user).or_default();
        if *open >= STREAMS_MAX {
            return Err(Problem::new(
                ErrorCode::TooMany,
                format!("At most {STREAMS_MAX} streams can be open at once. Close one and try again."),
            ));
        }
        *open += 1;
        drop(streams);
        Ok(OpenStream { desks: self.desks.clone(), caller: self.caller.clone() })
    }
}

/// A stream that counts for its user until it is dropped.
pub(crate) struct OpenStream {
    desks: Desks,
    caller: Caller,
}

impl OpenStream {
    /// The project that a session is shown in: none once it is gone, or when that cannot be looked up.
    pub(crate) fn shown(&self, project: Option<ProjectId>) -> Option<ProjectId> {
        let (people, user) = (&self.desks.0.people, self.caller.credential.user);
        project.filter(|project| people.has_project(user, *project).unwrap_or(false))
    }

    /// Waits until the server stops or the caller may no longer read.
    pub(crate) fn end(&self) -> BoxFuture<'static, ()> {
        let (desks, caller) = (self.desks.clone(), self.caller.clone());
        let mut changes = desks.0.changes.subscribe();
        async move {
            // It is looked once at the beginning: what was taken away since the gate was passed counts too. What cannot
            // be looked up is not shown.
            let may = || matches!(desks.0.people.verify(caller.hash, SystemClock.now()), Ok(Some(_)));
            let revoked = async { while may() && changes.changed().await.is_ok() {} };
            let expires = caller.credential.expires_at.map(|at| at.micros_since(SystemClock.now()));
            let expired = async {
                match expires {
                    Some(micros) => {
                        tokio::time::sleep(Duration::from_micros(u64::try_from(micros).unwrap_or(0))).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = desks.0.stop.cancelled() => {}
                () = revoked => {}
                () = expired => {}
            }
        }
        .boxed()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut streams = self.desks.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = streams.get_mut(&self.caller.credential.user) {
            *open = open.saturating_sub(1);
        }
    }
}

pub(crate) fn no_chat() -> Problem {
    Problem::new(ErrorCode::NoSuchThing, "There is no such chat.")
}

/// A session that is not there, in the same words whatever the reason.
pub(crate) fn unknown(session: SessionId) -> Problem {
    Problem::new(ErrorCode::SessionNotFound, format!("There is no session {session}."))
}

/// A project that is not there, in the same words whatever the reason.
pub(crate) fn no_project(project: ProjectId) -> Problem {
    Problem::new(ErrorCode::ProjectNotFound, format!("There is no project {project}."))
}

/// A file that is not there, in the same words whatever the reason.
pub(crate) fn no_file() -> Problem {
    Problem::new(ErrorCode::AttachmentNotFound, "No attachment with this hash is stored.")
}

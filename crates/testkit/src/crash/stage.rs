//! A server's inside in a child process: store, hub and agent on a directory, and every request told to the parent.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use hub::{Acknowledged, CommandError, Create, FollowError, Followed, Hub, Settings, SystemClock};
use session::{
    Attachment, BlobHash, ChatKey, ChatKind, Command, Message, MessageKey, PostMode, Seq, SessionId, Time,
    TurnId, View,
};
use store::Catalog;
use store::blob::Blobs;
use store::sqlite::SqliteStore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::agent::WordAgent;
use super::witness::{Asked, Line, say};
use crate::refusing::RefusingStore;

/// How long something that must happen may take. Only a broken case waits this long.
pub const PATIENCE: Duration = Duration::from_secs(12);
/// How often a request that was not kept is asked again.
const TRIES_MAX: u32 = 12;
pub(super) const PAUSE: Duration = Duration::from_millis(25);
/// Looks at a session whose interrupted run is still to resume.
const RESUME_TRIES_MAX: u32 = 400;

/// The sessions of the workloads have known names.
pub fn session_no(no: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + no))
}

/// Everything alive in the child.
#[derive(Debug)]
pub struct Stage {
    pub hub: Hub,
    pub store: Arc<RefusingStore>,
    followers: JoinSet<()>,
    next_op: AtomicU64,
}

/// A message to post.
#[derive(Debug, Clone, Default)]
pub struct Post<'a> {
    pub text: &'a str,
    pub mode: PostMode,
    pub key: Option<&'a str>,
    pub blob: Option<BlobHash>,
}

impl<'a> Post<'a> {
    /// A message with a key of its own.
    pub fn keyed(text: &'a str) -> Self {
        Self { text, key: Some(text), ..Self::default() }
    }

    /// A message without a key.
    pub fn plain(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }

    /// The command that posts it.
    pub fn command(&self) -> Command {
        let attachments = self.blob.iter().map(|blob| Attachment {
            name: "note".to_owned(),
            media_type: "text/plain".to_owned(),
            blob: blob.clone(),
            size_bytes: 1,
        });
        let message = Message { attachments: attachments.collect(), ..Message::text(self.text) };
        Command::PostMessage {
            message,
            mode: self.mode.clone(),
            key: self.key.map(|key| MessageKey(key.to_owned())),
        }
    }
}

impl Stage {
    /// Opens the store and starts the hub. `first_op` numbers the requests of this child.
    ///
    /// # Errors
    /// When either refuses.
    pub async fn open(directory: &Path, reserve_bytes: u64, first_op: u64) -> anyhow::Result<Self> {
        Self::with(directory, reserve_bytes, first_op, WordAgent::default()).await
    }

    /// The same, with an agent that behaves as told.
    ///
    /// # Errors
    /// When either refuses.
    pub async fn with(
        directory: &Path,
        reserve_bytes: u64,
        first_op: u64,
        agent: WordAgent,
    ) -> anyhow::Result<Self> {
        let settings = store::sqlite::Settings { directory: directory.to_owned(), reserve_bytes };
        let sqlite = SqliteStore::open(settings).context("open the store")?;
        let store = Arc::new(RefusingStore::new(Arc::new(sqlite)));
        let mut settings = Settings::new(directory.join("spool"));
        settings.slots = 4;
        settings.slots_max = 6;
        settings.idle_after = Duration::from_millis(40);
        let hub = Hub::start(store.clone(), Arc::new(agent), Arc::new(SystemClock), settings);
        let hub = hub.await.context("start the hub")?;
        Ok(Self { hub, store, followers: JoinSet::new(), next_op: AtomicU64::new(first_op) })
    }

    /// Closes hub and store as a server that ends in order does.
    pub async fn close(mut self) {
        self.followers.shutdown().await;
        drop(self.hub);
        // Tasks that are ending let go of the store a moment later; the last to do so closes it.
        let until = Instant::now() + Duration::from_secs(1);
        while Arc::strong_count(&self.store) > 1 && Instant::now() < until {
            sleep(Duration::from_millis(2)).await;
        }
    }

    fn ask(&self, what: Asked) -> u64 {
        let op = self.next_op.fetch_add(1, Ordering::AcqRel);
        say(&Line::Ask { op, what });
        op
    }

    /// Submits until it is acknowledged, rejected, or was tried often enough. What may have been kept is asked again
    /// only when that is harmless.
    pub async fn submit(&self, what: Asked, session: SessionId, command: Command) -> Option<Acknowledged> {
        let harmless =
            matches!(&what, Asked::Post { key: Some(_), .. }) || matches!(command, Command::Stop { .. });
        let op = self.ask(what);
        let (mut nothing_kept, mut why) = (true, String::new());
        for _ in 0..TRIES_MAX {
            match timeout(PATIENCE, self.hub.open(session).submit(command.clone())).await {
                Err(_) => {
                    say(&Line::Broken { why: format!("wedged: no answer to {command:?}") });
                    return None;
                }
                Ok(Ok(ack)) => {
                    say(&Line::Ack { op, seq: ack.seq, turn: ack.turn, session });
                    return Some(ack);
                }
                Ok(Err(error)) => {
                    nothing_kept &= !matches!(error, CommandError::Doubtful { .. } | CommandError::Moved);
                    why = error.to_string();
                    let again = harmless || matches!(error, CommandError::Unavailable { .. });
                    if !again || matches!(error, CommandError::Rejected(_)) {
                        break;
                    }
                }
            }
            sleep(PAUSE).await;
        }
        say(&Line::Nak { op, nothing_kept, why });
        None
    }

    /// Creates a session with a known name.
    pub async fn create(&self, session: SessionId, title: Option<&str>) {
        let op = self.ask(Asked::Create { session });
        for _ in 0..TRIES_MAX {
            let create =
                Create { session: Some(session), title: title.map(str::to_owned), ..Create::default() };
            match timeout(PATIENCE, self.hub.create(create)).await {
                Err(_) => return say(&Line::Broken { why: format!("wedged: create {session}") }),
                // Asked again after a doubtful answer, it may be there already.
                Ok(Ok(_)) | Ok(Err(CommandError::Exists(_))) => {
                    return say(&Line::Ack { op, seq: Seq(1), turn: None, session });
                }
                Ok(Err(CommandError::Rejected(session::Rejected::Exists))) => {
                    return say(&Line::Ack { op, seq: Seq(1), turn: None, session });
                }
                Ok(Err(_)) => sleep(PAUSE).await,
            }
        }
    }

    /// Posts a message.
    pub async fn post(&self, session: SessionId, post: Post<'_>) -> Option<Acknowledged> {
        let command = post.command();
        let Command::PostMessage { key, mode, .. } = &command else { return None };
        let (text, blob) = (post.text.to_owned(), post.blob.clone());
        let what = Asked::Post { session, text, mode: mode.clone(), key: key.clone(), blob };
        self.submit(what, session, command).await
    }

    /// Posts a message and waits until it is answered.
    pub async fn turn(&self, session: SessionId, text: &str) -> Option<TurnId> {
        let turn = self.post(session, Post::keyed(text)).await?.turn;
        self.quiet(session).await;
        turn
    }

    /// Anything that the log's end acknowledges.
    pub async fn other(&self, session: SessionId, name: &str, command: Command) -> Option<Acknowledged> {
        self.submit(Asked::Other { session, name: name.to_owned() }, session, command).await
    }

    /// Gives a session a name.
    pub async fn rename(&self, session: SessionId, title: &str) {
        let what = Asked::Rename { session, title: title.to_owned() };
        self.submit(what, session, Command::Rename { title: title.to_owned() }).await;
    }

    /// Keeps an attachment that a message of `session` will name.
    pub async fn blob(&self, session: SessionId, text: &str) -> Option<BlobHash> {
        let hash = store::blob::hash_of(text.as_bytes());
        let op = self.ask(Asked::Blob { hash, text: text.to_owned(), session });
        let uploaded = self.upload(text).await;
        if uploaded.is_some() {
            say(&Line::Ack { op, seq: Seq(0), turn: None, session });
        }
        uploaded
    }

    /// Stores bytes for a message to name.
    pub async fn upload(&self, text: &str) -> Option<BlobHash> {
        for _ in 0..TRIES_MAX {
            if let Ok(hash) = self.store.put_blob(text.as_bytes().to_vec(), Time(1)).await {
                return Some(hash);
            }
            sleep(PAUSE).await;
        }
        None
    }

    /// Lets every upload expire that no message named.
    pub async fn expire(&self) {
        for _ in 0..TRIES_MAX {
            if self.store.expire_uploads(Time(i64::MAX)).await.is_ok() {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    /// Erases a session.
    pub async fn erase(&self, session: SessionId) {
        let op = self.ask(Asked::Erase { session });
        for _ in 0..TRIES_MAX {
            match timeout(PATIENCE, self.hub.erase(session)).await {
                Err(_) => return say(&Line::Broken { why: format!("wedged: erase {session}") }),
                Ok(Ok(()) | Err(CommandError::Deleted(_))) => {
                    return say(&Line::Ack { op, seq: Seq(0), turn: None, session });
                }
                Ok(Err(_)) => sleep(PAUSE).await,
            }
        }
    }

    /// Lets a chat speak in a session.
    pub async fn bind(&self, chat: &str, session: SessionId) {
        let chat = ChatKey {
            agent: "main".to_owned(),
            platform: "crash".to_owned(),
            kind: ChatKind::Direct,
            chat: chat.to_owned(),
            thread: None,
            sender: None,
        };
        for _ in 0..TRIES_MAX {
            if self.hub.chat(chat.clone()).bind(session).await.is_ok() {
                let status = self.hub.chat(chat).status().await;
                if matches!(&status, Ok(Some(status)) if status.session != session) {
                    say(&Line::Broken { why: format!("a chat was bound to {session} and is {status:?}") });
                }
                return;
            }
            sleep(PAUSE).await;
        }
    }

    /// Makes a branch after a turn.
    pub async fn branch(&self, from: SessionId, turn: TurnId) -> Option<SessionId> {
        let op = self.ask(Asked::Branch { from });
        for _ in 0..TRIES_MAX {
            match timeout(PATIENCE, self.hub.branch(from, turn)).await {
                Err(_) => say(&Line::Broken { why: format!("wedged: branch {from}") }),
                Ok(Ok(branch)) => {
                    let session = branch.session();
                    say(&Line::Ack { op, seq: Seq(1), turn: None, session });
                    return Some(session);
                }
                // Each try makes a branch of its own; one that was not acknowledged may be there as well.
                Ok(Err(_)) => sleep(PAUSE).await,
            }
        }
        None
    }

    /// The session as it is, once it can be read.
    pub async fn view(&self, session: SessionId) -> Option<View> {
        let until = Instant::now() + PATIENCE;
        loop {
            match timeout(PATIENCE, self.hub.open(session).view()).await {
                Ok(Ok(view)) => return Some(view),
                Ok(Err(CommandError::Deleted(_) | CommandError::Unknown(_))) => return None,
                Ok(Err(error)) if Instant::now() > until => {
                    say(&Line::Broken { why: format!("wedged: view {session}: {error}") });
                    return None;
                }
                Err(_) => {
                    say(&Line::Broken { why: format!("wedged: view {session}") });
                    return None;
                }
                Ok(Err(_)) => sleep(PAUSE).await,
            }
        }
    }

    /// Waits until the session looks as wanted; says that it is wedged when it never does.
    pub async fn until(&self, session: SessionId, what: &str, wanted: impl Fn(&View) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let Some(view) = self.view(session).await else { return };
            if wanted(&view) {
                return;
            }
            if Instant::now() > until {
                let why = format!(
                    "wedged: {session} is never {what}: run {:?}, {} wait",
                    view.run,
                    view.queue.len()
                );
                return say(&Line::Broken { why });
            }
            sleep(Duration::from_millis(3)).await;
        }
    }

    /// Waits until nothing is going on in a session.
    pub async fn quiet(&self, session: SessionId) {
        for _ in 0..RESUME_TRIES_MAX {
            self.until(session, "quiet", |view| {
                view.run.is_none() && view.queue.iter().all(|queued| queued.paused)
            })
            .await;
            // An interrupted run resumes once its journal was read; it may have started since the view was taken.
            match self.hub.open(session).state().await {
                Ok(state) if state.open_run.is_some() || self.hub.awaits_resume(&state) => sleep(PAUSE).await,
                _ => return,
            }
        }
    }

    /// Waits until the catalog is up to date. A store that dies meanwhile is another step's business.
    pub async fn settle(&self) {
        drop(timeout(PATIENCE, self.store.settle()).await);
    }

    /// Tells the parent of every entry that a reader of the session is given, from now to the end.
    pub fn follow(&mut self, session: SessionId) {
        self.followers.spawn(watch(self.hub.clone(), session));
    }
}

async fn watch(hub: Hub, session: SessionId) {
    let mut after = Seq(0);
    loop {
        match hub.open(session).follow(after).await {
            Ok(mut follower) => {
                while let Ok(followed) = follower.next().await {
                    if let Followed::Entry(entry) = followed {
                        say(&Line::Seen { session, seq: entry.seq, hash: entry.hash });
                        after = entry.seq;
                    }
                }
            }
            Err(FollowError::Command(CommandError::Deleted(_))) => return,
            Err(FollowError::BeyondEnd { after, head }) => {
                return say(&Line::Broken {
                    why: format!("{session} ended at {head} after {after} was shown"),
                });
            }
            Err(_) => {}
        }
        sleep(Duration::from_millis(10)).await;
    }
}

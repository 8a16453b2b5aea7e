//! The Bot API of Telegram, simulated faithfully enough to lose messages by: updates are kept until a higher offset is asked
//! for, a second poller ends the first, too many messages are refused for a while, and an answer can be lost after the message
//! was taken. It runs on a thread of its own, so that a test may wind its own clock; people and judges hold the handle.

mod faults;
mod html;
mod http;
mod limits;
mod methods;
mod state;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::Instant;

pub use self::faults::{Fault, FaultPlan};
pub use self::limits::Limits;
pub use self::state::{Edited, Person, Sent, SentFile};

use self::faults::Faults;
use self::methods::{Done, entities, upgrade};
use self::state::{Chat, Kind, State, date};

/// How the platform is.
#[derive(Debug, Clone)]
pub struct SimulatorSettings {
    pub token: String,
    pub username: String,
    /// How fast a bot may write; nothing lets it write as fast as it can.
    pub limits: Option<Limits>,
    pub faults: FaultPlan,
}

impl Default for SimulatorSettings {
    fn default() -> Self {
        Self {
            token: "424242:Simulated-Token_of_35_characters".to_owned(),
            username: "ever_bot".to_owned(),
            limits: None,
            faults: FaultPlan::default(),
        }
    }
}

/// The platform, until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Arc<Notify>,
    running: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    begun: Instant,
    /// There is an update, or another poller.
    changed: Notify,
    /// The bot did something.
    sent: Notify,
}

/// What somebody says, and where.
#[derive(Debug, Clone, Default)]
pub struct Saying {
    pub text: String,
    pub topic: Option<i64>,
    /// The message that it answers.
    pub answers: Option<i64>,
    pub file: Option<Shown>,
}

impl From<&str> for Saying {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// A file that somebody shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Told in two sizes, of which only the largest is these bytes.
    Photo(Bytes),
    Document {
        name: String,
        media_type: String,
        bytes: Bytes,
    },
}

impl Simulator {
    /// Starts the platform on a free port of this machine.
    ///
    /// # Errors
    /// When there is none.
    pub fn start(settings: SimulatorSettings) -> io::Result<Self> {
        let SimulatorSettings { token, username, limits, faults } = settings;
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(token, username, limits, Faults::new(faults))),
            begun: Instant::now(),
            changed: Notify::new(),
            sent: Notify::new(),
        });
        let stop = Arc::new(Notify::new());
        let (tell, told) = mpsc::channel();
        let (serving, stopped) = (shared.clone(), stop.clone());
        let running = std::thread::Builder::new().name("telegram".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ran = runtime.and_then(|runtime| {
                runtime.block_on(async {
                    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
                    let address = listener.local_addr()?;
                    drop(tell.send(Ok(address)));
                    tokio::select! {
                        ended = accept(listener, serving) => ended,
                        () = stopped.notified() => Ok(()),
                    }
                })
            });
            if let Err(error) = ran {
                drop(tell.send(Err(error)));
            }
        })?;
        let address = told.recv().map_err(io::Error::other)??;
        Ok(Self { shared, address, stop, running: Some(running) })
    }

    /// The address for a bot's settings.
    pub fn api(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The token that is taken now.
    pub fn token(&self) -> String {
        self.shared.state().token.clone()
    }

    /// Takes another token from now on.
    pub fn set_token(&self, token: &str) {
        token.clone_into(&mut self.shared.state().token);
    }

    /// Makes a group, and gives its number. Basic ones can be upgraded.
    pub fn make_group(&self, title: &str) -> i64 {
        let mut state = self.shared.state();
        let id = -(1_000 + i64::try_from(state.chats.len()).unwrap_or(0));
        state.chats.insert(id, Chat::new(Kind::Group, title));
        id
    }

    /// Makes a group that has topics, and gives its number.
    pub fn make_supergroup(&self, title: &str) -> i64 {
        let mut state = self.shared.state();
        let id = -(1_001_000_000_000 + i64::try_from(state.chats.len()).unwrap_or(0));
        state.chats.insert(id, Chat::new(Kind::Supergroup, title));
        id
    }

    /// Opens a topic, and gives its number.
    pub fn open_topic(&self, chat: i64) -> i64 {
        let mut state = self.shared.state();
        let Some(chat) = state.chats.get_mut(&chat) else { return 0 };
        let topic = chat.message_id();
        chat.topics.push(topic);
        topic
    }

    /// Says something to the bot alone, and gives the message's number.
    pub fn say(&self, person: &Person, saying: impl Into<Saying>) -> i64 {
        let new = || Chat::new(Kind::Private, &person.name);
        self.shared.state().chats.entry(person.id).or_insert_with(new);
        self.say_in(person.id, person, saying)
    }

    /// Says something in a chat, and gives the message's number.
    pub fn say_in(&self, chat: i64, person: &Person, saying: impl Into<Saying>) -> i64 {
        let saying = saying.into();
        let mut state = self.shared.state();
        let file = saying.file.as_ref().map(|file| store_file(&mut state, file));
        let quoted = saying.answers.and_then(|answered| state.quoted(chat, answered));
        let Some(room) = state.chats.get_mut(&chat) else { return 0 };
        let id = room.message_id();
        let mut message = json!({
            "message_id": id, "date": date(id), "chat": room.json(chat), "from": person.json(),
        });
        let (text, marks) =
            if file.is_some() { ("caption", "caption_entities") } else { ("text", "entities") };
        if !saying.text.is_empty() {
            message[text] = saying.text.as_str().into();
            message[marks] = entities(&saying.text).into();
        }
        if let Some((kind, file)) = file {
            message[kind] = file;
        }
        if let Some(topic) = saying.topic {
            message["message_thread_id"] = topic.into();
            message["is_topic_message"] = true.into();
        }
        if let Some(quoted) = quoted {
            message["reply_to_message"] = quoted;
        }
        room.said.insert(id, message.clone());
        state.tell("message", &message);
        drop(state);
        self.shared.changed.notify_waiters();
        id
    }

    /// Changes what somebody said.
    pub fn change(&self, chat: i64, message: i64, text: &str) {
        let mut state = self.shared.state();
        let said = state.chats.get_mut(&chat).and_then(|chat| chat.said.get_mut(&message));
        let Some(said) = said else { return };
        said["text"] = text.into();
        said["entities"] = entities(text).into();
        said["edit_date"] = date(message + 1).into();
        let told = said.clone();
        state.tell("edited_message", &told);
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// Bars the bot from a chat: a person blocks it, a group throws it out.
    pub fn bar(&self, chat: i64) {
        if let Some(barred) = self.shared.state().chats.get_mut(&chat) {
            let why = match barred.kind {
                Kind::Private => "bot was blocked by the user",
                Kind::Group => "bot was kicked from the group chat",
                Kind::Supergroup => "bot was kicked from the supergroup chat",
            };
            barred.barred = Some(why);
        }
    }

    /// Makes a supergroup of a group, and gives its new number.
    pub fn upgrade(&self, chat: i64) -> i64 {
        upgrade(&mut self.shared.state(), chat)
    }

    /// Lets the next call of a method go wrong; one after another when told several times.
    pub fn fail_next(&self, method: &str, fault: Fault) {
        self.shared.state().faults.script(method, fault);
    }

    /// Lets the dice decide from now on.
    pub fn set_faults(&self, plan: FaultPlan) {
        self.shared.state().faults.plan(plan);
    }

    /// Lets a bot write so fast from now on.
    pub fn set_limits(&self, limits: Option<Limits>) {
        self.shared.state().limits = limits;
    }

    /// Everything that the bot sent, in the order in which it was taken.
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.state().sent.clone()
    }

    /// Everything that the bot sent, once it is as expected.
    pub async fn sent_when(&self, expected: impl Fn(&[Sent]) -> bool) -> Vec<Sent> {
        loop {
            let changed = self.shared.sent.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = self.shared.state();
                if expected(&state.sent) {
                    return state.sent.clone();
                }
            }
            changed.await;
        }
    }

    /// Updates that the bot has not confirmed.
    pub fn pending(&self) -> usize {
        self.shared.state().pending()
    }

    /// How often a method was called.
    pub fn calls(&self, method: &str) -> u64 {
        self.shared.state().calls.get(method).copied().unwrap_or(0)
    }

    /// How often the bot was told that it is too fast.
    pub fn refused_count(&self) -> u64 {
        self.shared.state().refused_count
    }

    /// How often what went wrong.
    pub fn fault_counts(&self) -> BTreeMap<&'static str, u64> {
        self.shared.state().faults.counts()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(running) = self.running.take() {
            drop(running.join());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn downloaded(&self, path: &str) -> Option<Bytes> {
        let state = self.state();
        state.files.values().find(|(at, _)| at == path).map(|(_, bytes)| bytes.clone())
    }

    fn answer_is_lost(&self, done: Done) {
        let mut state = self.state();
        match done {
            Done::Sent { index } => state.sent[index].answer_lost = true,
            Done::Edited { index } => {
                if let Some(edited) = state.sent[index].edits.last_mut() {
                    edited.answer_lost = true;
                }
            }
            Done::Nothing => {}
        }
        drop(state);
        self.sent.notify_waiters();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        let shared = shared.clone();
        #[expect(clippy::disallowed_methods, reason = "a peer of the product, not a part of it")]
        tokio::spawn(async move {
            // A caller that left needs no answer.
            drop(http::serve(socket, shared).await);
        });
    }
}

/// Keeps a file, and gives what a message tells of it.
fn store_file(state: &mut State, file: &Shown) -> (&'static str, Value) {
    let number = state.files.len();
    let mut keep = |name: &str, path: String, bytes: &Bytes| {
        let id = format!("file-{name}-{number}");
        state.files.insert(id.clone(), (path, bytes.clone()));
        id
    };
    match file {
        Shown::Photo(bytes) => {
            let small =
                keep("small", format!("photos/file_{number}_small.jpg"), &Bytes::from_static(b"small"));
            let large = keep("large", format!("photos/file_{number}.jpg"), bytes);
            let sizes = json!([
                { "file_id": small, "width": 90, "height": 67, "file_size": 5 },
                { "file_id": large, "width": 1280, "height": 960, "file_size": bytes.len() },
            ]);
            ("photo", sizes)
        }
        Shown::Document { name, media_type, bytes } => {
            let id = keep("document", format!("documents/file_{number}.bin"), bytes);
            let document = json!({ "file_id": id, "file_name": name, "mime_type": media_type, "file_size": bytes.len() });
            ("document", document)
        }
    }
}

//! What the gateway must know again after a restart beside the logs of sessions: how far each platform was read, who is let in,
//! and what was taken of what they told. The server keeps it.

use session::{BlobHash, SessionId, UserId};

/// Keeps it. Every answer is durable when it is given.
pub trait Register: Send + Sync + 'static {
    /// From where a platform is read on.
    ///
    /// # Errors
    /// When nothing can be read.
    fn cursor(&self, platform: &str) -> Result<Option<String>, RegisterError>;

    /// Keeps from where a platform is read on.
    ///
    /// # Errors
    /// When it was not kept.
    fn keep_cursor(&self, platform: &str, cursor: &str) -> Result<(), RegisterError>;

    /// Whose sessions a peer speaks in; none when nobody let them in. Asked again for every message, so that whoever is shut
    /// out is out at once.
    ///
    /// # Errors
    /// When nothing can be read: then nobody is let in.
    fn user_of(&self, platform: &str, peer: &str) -> Result<Option<UserId>, RegisterError>;

    /// Notes that a user brought a file, so that they can read it.
    ///
    /// # Errors
    /// When it was not kept.
    fn note_file(&self, user: UserId, file: &BlobHash) -> Result<(), RegisterError>;

    /// A stranger wants to be let in.
    ///
    /// # Errors
    /// When nothing can be kept.
    fn ask_to_pair(&self, platform: &str, peer: &str, name: &str) -> Result<Pairing, RegisterError>;

    /// What was kept of an event, by the platform's own name of it.
    ///
    /// # Errors
    /// When nothing can be read.
    fn taken(&self, platform: &str, event: &str) -> Result<Option<Taken>, RegisterError>;

    /// Keeps what an event is about before anything is done because of it, or that it is done.
    ///
    /// # Errors
    /// When it was not kept.
    fn keep_taken(&self, platform: &str, event: &str, taken: &Taken) -> Result<(), RegisterError>;

    /// The model that a chat chose.
    ///
    /// # Errors
    /// When nothing can be read.
    fn model_of(&self, chat: &str) -> Result<Option<String>, RegisterError>;

    /// Keeps which model a chat chose; none is the usual one.
    ///
    /// # Errors
    /// When it was not kept.
    fn choose_model(&self, chat: &str, model: Option<&str>) -> Result<(), RegisterError>;

    /// The models that can be chosen, the usual one first.
    fn models(&self) -> Vec<String>;
}

/// What a stranger who asks is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairing {
    /// This code, which an owner can approve.
    Code(String),
    /// Nothing: they were told a short while ago, or too many ask, or nobody is let in this way.
    Silence,
}

/// An event that was taken: what it is about was looked up once, so that doing it again after a crash does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// The session that it is about.
    pub session: Option<SessionId>,
    /// The turn or run, as a command needs it.
    pub about: Option<u64>,
    pub done: bool,
}

/// Why the register cannot be used. Nothing is acknowledged to the platform then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub String);

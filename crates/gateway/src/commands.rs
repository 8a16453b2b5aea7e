//! Slash commands. What a command is about is looked up once and kept before it is done, so that a command that the platform
//! tells twice, or that a crash cut off, is done once.

use hub::{ChatHandle, CommandError, SessionHandle};
use session::{Command, MarkerKind, PostMode, Rejected, RunId, TurnId, TurnView, View};

use crate::register::{Register, RegisterError, Taken};
use crate::words;

/// A command as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    New,
    Stop,
    Undo,
    Retry,
    Continue,
    Compact,
    Clear,
    ResumeQueue,
    DropQueue,
    Status,
    Model(Option<String>),
    Help,
    /// Says something with that mode.
    Say(PostMode, String),
    Unknown(String),
}

impl Slash {
    /// Reads a command; none when the text is a message.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let rest = text.trim().strip_prefix('/')?;
        let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let argument = argument.trim();
        // A path or a fraction is no command.
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        Some(match word.to_ascii_lowercase().as_str() {
            "new" | "reset" => Self::New,
            "stop" => Self::Stop,
            "undo" => Self::Undo,
            "retry" => Self::Retry,
            "continue" => Self::Continue,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "status" => Self::Status,
            "model" => Self::Model((!argument.is_empty()).then(|| argument.to_owned())),
            "help" | "start" => Self::Help,
            "queue" if argument == "resume" => Self::ResumeQueue,
            "queue" if argument == "drop" => Self::DropQueue,
            "queue" if !argument.is_empty() => Self::Say(PostMode::Queue, argument.to_owned()),
            "steer" if !argument.is_empty() => Self::Say(PostMode::Steer, argument.to_owned()),
            "queue" | "steer" => Self::Help,
            _ => Self::Unknown(word.to_owned()),
        })
    }
}

/// Why a command was not done and is tried again: nothing is acknowledged to the platform.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Held {
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A command in a chat.
pub(crate) struct Asked<'a> {
    pub(crate) register: &'a dyn Register,
    pub(crate) platform: &'a str,
    pub(crate) event: &'a str,
    pub(crate) chat_key: &'a str,
    pub(crate) hub: &'a hub::Hub,
    pub(crate) chat: &'a ChatHandle,
}

impl Asked<'_> {
    /// Does a command and says what to answer. `None` when it was done before.
    pub(crate) async fn perform(&self, slash: &Slash) -> Result<Option<String>, Held> {
        let kept = self.register.taken(self.platform, self.event)?;
        if kept.as_ref().is_some_and(|taken| taken.done) {
            return Ok(None);
        }
        let taken = match kept {
            Some(taken) => taken,
            None => {
                let taken = self.look_up(slash).await?;
                self.register.keep_taken(self.platform, self.event, &taken)?;
                taken
            }
        };
        let answer = self.carry_out(slash, &taken).await?;
        Ok(Some(answer))
    }

    /// Keeps that a command was done and answered.
    pub(crate) fn done(&self) -> Result<(), RegisterError> {
        let done = Taken { done: true, ..Taken::default() };
        self.register.keep_taken(self.platform, self.event, &done)
    }

    async fn session(&self) -> Result<Option<SessionHandle>, CommandError> {
        Ok(self.chat.status().await?.map(|status| self.hub.open(status.session)))
    }

    /// What a command is about at this moment.
    async fn look_up(&self, slash: &Slash) -> Result<Taken, CommandError> {
        let nothing = Taken::default();
        if *slash == Slash::New {
            return Ok(Taken { session: Some(self.hub.new_session_id()), ..nothing });
        }
        let Some(session) = self.session().await? else { return Ok(nothing) };
        let view = match session.view().await {
            Ok(view) => view,
            Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => return Ok(nothing),
            Err(error) => return Err(error),
        };
        let newest = view.turns.last();
        let about = match slash {
            // A run that would resume by itself is stopped too.
            Slash::Stop => view.run.or_else(|| interrupted(newest)).map(|run| run.0),
            Slash::Undo => newest.map(|turn| turn.turn.0),
            // The answer that is there; once there is another, it was done.
            Slash::Retry => newest.and_then(|turn| turn.alternatives.last()).map(|run| run.0),
            Slash::Continue => newest.and_then(|turn| turn.alternatives.last()).map(|run| run.0),
            Slash::New
            | Slash::Clear
            | Slash::Compact
            | Slash::ResumeQueue
            | Slash::DropQueue
            | Slash::Status
            | Slash::Model(_)
            | Slash::Help
            | Slash::Say(..)
            | Slash::Unknown(_) => None,
        };
        Ok(Taken { session: Some(session.session()), about, done: false })
    }

    async fn carry_out(&self, slash: &Slash, taken: &Taken) -> Result<String, Held> {
        let said = |text: &str| Ok(text.to_owned());
        let session = taken.session.map(|session| self.hub.open(session));
        match (slash, session, taken.about) {
            (Slash::New, Some(session), _) => {
                self.chat.begin_anew(session.session()).await?;
                said("Your next message starts a new session. The old one is saved.")
            }
            (Slash::Stop, Some(session), Some(run)) => {
                let stop = Command::Stop { run: Some(RunId(run)), device: Some(self.platform.to_owned()) };
                match session.submit(stop).await {
                    Ok(_) => Ok(stopped(session.view().await?.queue.len())),
                    Err(CommandError::Rejected(_)) => said("Nothing is running."),
                    Err(error) => Err(error.into()),
                }
            }
            (Slash::Undo, Some(session), Some(turn)) => {
                match session.submit(Command::Undo { from: Some(TurnId(turn)) }).await {
                    Ok(_) | Err(CommandError::Rejected(Rejected::NoSuchTurn)) => {
                        said("The last turn was undone.")
                    }
                    Err(CommandError::Rejected(rejected)) => Ok(words::not_taken(&rejected.to_string())),
                    Err(error) => Err(error.into()),
                }
            }
            (Slash::Retry | Slash::Continue, Some(session), Some(run)) => {
                self.again(slash, &session, run).await
            }
            (Slash::Clear, Some(session), _) => {
                session.submit(Command::Clear).await?;
                said("Cleared. Your next message starts fresh; the history is saved.")
            }
            (Slash::Compact, Some(session), _) => match session.compact().await {
                Ok(Some(_)) => said("Compacted. I'll continue with a summary; the history is saved."),
                Ok(None) => said("Nothing to compact, or an answer is still being written."),
                Err(CommandError::Unavailable { .. }) => {
                    said("Couldn't compact the session. Try again later.")
                }
                Err(error) => Err(error.into()),
            },
            (Slash::ResumeQueue, Some(session), _) => {
                let waiting = session.view().await?.queue.len();
                session.submit(Command::ResumeQueue).await?;
                Ok(match waiting {
                    0 => "No messages are queued.".to_owned(),
                    1 => "Sending 1 message.".to_owned(),
                    count => format!("Sending {count} messages."),
                })
            }
            (Slash::DropQueue, Some(session), _) => {
                let waiting = session.view().await?.queue.len();
                session.submit(Command::ClearQueue).await?;
                Ok(match waiting {
                    0 => "No messages are queued.".to_owned(),
                    1 => "Removed 1 message.".to_owned(),
                    count => format!("Removed {count} messages."),
                })
            }
            (Slash::Stop, ..) => said("Nothing is running."),
            (Slash::ResumeQueue | Slash::DropQueue, ..) => said("No messages are queued."),
            (Slash::Undo | Slash::Retry | Slash::Continue | Slash::Clear | Slash::Compact, ..) => {
                said("There are no turns here yet.")
            }
            (Slash::Status, ..) => self.status().await,
            (Slash::Model(name), ..) => self.model(name.as_deref()),
            (Slash::Unknown(word), ..) => Ok(format!("Unknown command /{word}. Send /help for a list.")),
            (Slash::Help | Slash::Say(..) | Slash::New, ..) => said(words::HELP),
        }
    }

    /// Asks for another answer, or to go on with the one that there is, unless that was asked for already.
    async fn again(&self, slash: &Slash, session: &SessionHandle, run: u64) -> Result<String, Held> {
        let view = session.view().await?;
        let newest = view.turns.last();
        let retried = newest.is_none_or(|turn| turn.alternatives.last() != Some(&RunId(run)));
        let (command, word) = match slash {
            Slash::Retry if retried => return Ok("Another answer is on its way.".to_owned()),
            Slash::Retry => (Command::Retry, "Another answer is on its way."),
            _ => (Command::Continue, "Continuing."),
        };
        match session.submit(command).await {
            Ok(_) => {
                // `/continue` keeps a suspended chat in its session.
                let suspended = self.chat.status().await?.is_some_and(|status| status.suspended);
                if *slash == Slash::Continue && suspended {
                    self.chat.bind(session.session()).await?;
                }
                Ok(word.to_owned())
            }
            Err(CommandError::Rejected(Rejected::NothingToContinue)) => {
                Ok("There is nothing to continue.".to_owned())
            }
            Err(CommandError::Rejected(rejected)) => Ok(words::not_taken(&rejected.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    async fn status(&self) -> Result<String, Held> {
        let Some(status) = self.chat.status().await? else {
            return Ok("This chat has no session yet. Your first message starts one.".to_owned());
        };
        let view = match self.hub.open(status.session).view().await {
            Ok(view) => view,
            Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => {
                return Ok("Your next message starts a new session.".to_owned());
            }
            Err(error) => return Err(error.into()),
        };
        let model = self.register.model_of(self.chat_key)?;
        let model = model.or_else(|| self.register.models().into_iter().next());
        let mut lines = vec![format!("Session: {}", view.title.as_deref().unwrap_or("untitled"))];
        lines.push(doing(&view).to_owned());
        if !view.queue.is_empty() {
            let paused =
                if view.queue.iter().any(|queued| queued.paused) { " (paused; /queue resume)" } else { "" };
            lines.push(format!("Queued: {}{paused}", view.queue.len()));
        }
        lines.extend(model.map(|model| format!("Model: {model}")));
        if status.suspended {
            lines.push("The next message starts a new session.".to_owned());
        }
        lines.push(format!("Id: {}", status.session.0));
        Ok(lines.join("\n"))
    }

    fn model(&self, name: Option<&str>) -> Result<String, Held> {
        let models = self.register.models();
        let Some(name) = name else {
            let chosen = self.register.model_of(self.chat_key)?;
            let chosen = chosen.or_else(|| models.first().cloned()).unwrap_or_default();
            let list = models.iter().map(|model| format!("• {model}")).collect::<Vec<_>>().join("\n");
            return Ok(format!(
                "Current model: {chosen}. Available models:\n{list}\nSend /model NAME to switch."
            ));
        };
        if !models.iter().any(|model| model == name) {
            return Ok(format!("Unknown model `{name}`. Send /model for a list."));
        }
        let usual = models.first().is_some_and(|model| model == name);
        self.register.choose_model(self.chat_key, (!usual).then_some(name))?;
        Ok(format!("{name} now answers in this chat."))
    }
}

/// The run of the newest turn that was interrupted and not continued.
fn interrupted(newest: Option<&TurnView>) -> Option<RunId> {
    let marker = newest?.marker.as_ref()?;
    let kinds = [MarkerKind::Interrupted, MarkerKind::Recovering, MarkerKind::Recovered];
    kinds.contains(&marker.kind).then_some(marker.run)
}

/// What a stop leaves behind.
fn stopped(waiting: usize) -> String {
    match waiting {
        0 => "Stopped. The answer so far is saved.".to_owned(),
        1 => "Stopped. The answer so far is saved. 1 message is queued: send it with /queue resume, or \
              remove it with /queue drop."
            .to_owned(),
        count => format!(
            "Stopped. The answer so far is saved. {count} messages are queued: send them with /queue resume, \
             or remove them with /queue drop."
        ),
    }
}

fn doing(view: &View) -> &'static str {
    if view.run.is_some() {
        return "An answer is being written.";
    }
    let last = view.turns.last().and_then(|turn| turn.marker.as_ref());
    match last.map(|marker| marker.kind) {
        Some(session::MarkerKind::Failed) => "The last answer failed. Send /retry to try again.",
        Some(session::MarkerKind::Interrupted) => {
            "The last answer was interrupted. Send /continue to resume it."
        }
        _ => "Nothing is running.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        assert_eq!(Slash::read("/new"), Some(Slash::New));
        assert_eq!(Slash::read(" /STOP "), Some(Slash::Stop));
        assert_eq!(
            Slash::read("/queue hello there"),
            Some(Slash::Say(PostMode::Queue, "hello there".into()))
        );
        assert_eq!(Slash::read("/queue resume"), Some(Slash::ResumeQueue));
        assert_eq!(Slash::read("/queue drop"), Some(Slash::DropQueue));
        assert_eq!(
            Slash::read("/queue resume the talks"),
            Some(Slash::Say(PostMode::Queue, "resume the talks".into()))
        );
        assert_eq!(Slash::read("/steer"), Some(Slash::Help));
        assert_eq!(Slash::read("/model small one"), Some(Slash::Model(Some("small one".into()))));
        assert_eq!(Slash::read("/frobnicate"), Some(Slash::Unknown("frobnicate".into())));
        for message in ["hello", "1/2", "/etc/passwd", "/", "/ new", ""] {
            assert_eq!(Slash::read(message), None, "{message}");
        }
    }
}

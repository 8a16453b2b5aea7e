//! Chats on messaging platforms: who speaks where, the mark that an interruption leaves on the session behind a chat, and
//! the note that the agent is given because of it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::event::{InterruptReason, RunCause};
use crate::id::Time;
use crate::prompt::PromptMessage;
use crate::state::{Run, Session};

/// One chat, as the platform splits them: by thread or by sender where it does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatKey {
    pub agent: String,
    pub platform: String,
    pub kind: ChatKind,
    pub chat: String,
    pub thread: Option<String>,
    pub sender: Option<String>,
}

/// The kinds of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChatKind {
    /// One person.
    Direct,
    /// Several people.
    Group,
    /// Anyone who follows.
    Channel,
}

const KINDS: [(ChatKind, &str); 3] =
    [(ChatKind::Direct, "direct"), (ChatKind::Group, "group"), (ChatKind::Channel, "channel")];

impl ChatKey {
    /// The key in one line, as it is stored. Different keys are different lines.
    pub fn to_text(&self) -> String {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, name)| name);
        let mut text = [&self.agent, &self.platform, kind, &self.chat].map(escaped).join(":");
        for (mark, part) in [('t', &self.thread), ('s', &self.sender)] {
            if let Some(part) = part {
                text.push_str(&format!(":{mark}={}", escaped(part)));
            }
        }
        text
    }

    /// Reads a stored key; nothing when it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (agent, platform, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = KINDS.iter().find(|(_, name)| *name == kind)?.0;
        let chat = parts.next()?;
        let mut key = Self {
            agent: unescaped(agent)?,
            platform: unescaped(platform)?,
            kind,
            chat: unescaped(chat)?,
            thread: None,
            sender: None,
        };
        for part in parts {
            match part.split_once('=')? {
                ("t", thread) => key.thread = Some(unescaped(thread)?),
                ("s", sender) => key.sender = Some(unescaped(sender)?),
                _ => return None,
            }
        }
        Some(key)
    }
}

/// Keeps the two signs that a key is made of out of its parts.
fn escaped(part: impl AsRef<str>) -> String {
    part.as_ref().replace('%', "%25").replace(':', "%3a")
}

fn unescaped(part: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let (sign, left) = (after.get(..2)?, after.get(2..)?);
        text.push(match sign {
            "25" => '%',
            "3a" => ':',
            _ => return None,
        });
        rest = left;
    }
    text.push_str(rest);
    Some(text)
}

/// A session's interruption mark: the model gets a note in the next turn. A completed turn removes the mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResumeMark {
    pub reason: ResumeReason,
    /// When the mark was set, if known.
    pub at: Option<Time>,
}

/// Why a session is marked to be resumed. Any value is stored as given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct ResumeReason(pub String);

impl Default for ResumeReason {
    fn default() -> Self {
        (&InterruptReason::RestartTimeout).into()
    }
}

impl From<&InterruptReason> for ResumeReason {
    fn from(reason: &InterruptReason) -> Self {
        let word = match reason {
            InterruptReason::RestartTimeout => "restart_timeout",
            InterruptReason::ShutdownTimeout => "shutdown_timeout",
            InterruptReason::Crash => "crash",
            InterruptReason::SpoolFull => "spool_full",
            InterruptReason::LostNode => "lost_node",
            InterruptReason::Other(_) => "interrupted",
        };
        Self(word.to_owned())
    }
}

/// Reads a time; one that cannot be read is none, and costs nothing else.
pub(crate) fn readable_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let time = value.as_i64().map(Time);
    if time.is_none() && fault::planted("bad_time_is_damage") {
        return Err(serde::de::Error::custom("not a time"));
    }
    Ok(time)
}

impl Run {
    /// Whether its agent came so far that something of it could be lost.
    pub(crate) fn has_begun(&self) -> bool {
        self.steps > 0 || !self.pieces.is_empty() || fault::planted("unbuilt_agent_is_marked")
    }
}

/// The one note that the agent is given before the message of the turn that it works on, if any.
pub(crate) fn note(session: &Session, before: &[PromptMessage]) -> Option<String> {
    let (turn, run) = session.open()?;
    // The message is new to the agent in the run that a message started, and in no other.
    if run.cause != RunCause::Message || turn.runs.len() > 1 {
        return None;
    }
    let ends_in_results = matches!(before.last(), Some(PromptMessage::Result { .. }));
    match &session.resume {
        Some(mark) if ends_in_results || !fault::planted("resume_note_needs_results") => {
            let what = match mark.reason.0.as_str() {
                "restart_timeout" => "a restart of the server",
                "shutdown_timeout" if !fault::planted("every_stop_is_a_restart") => {
                    "a shutdown of the server"
                }
                "shutdown_timeout" => "a restart of the server",
                _ => "an interruption",
            };
            let mut note = format!(
                "[System note: the previous turn was cut off by {what}. The history is intact. If it ends in tool results \
                 that were not dealt with, deal with them first; then answer the message that follows.]"
            );
            if ends_in_results && fault::planted("two_notes") {
                note.push_str(TOOL_TAIL);
            }
            Some(note)
        }
        None if ends_in_results && !fault::planted("no_tool_tail_note") => Some(TOOL_TAIL.to_owned()),
        Some(_) | None => fault::planted("note_for_everyone").then(|| TOOL_TAIL.to_owned()),
    }
}

const TOOL_TAIL: &str = "[System note: the previous turn ended in tool results that were not dealt with. Deal with them \
                         first; then answer the message that follows.]";

//! What the gateway says by itself, in one place: short, and true whatever happens next.

use std::time::Duration;

use hub::Reset;
use session::{Marker, MarkerKind};

/// Before a drain, to chats with a run that is going on.
pub(crate) fn stopping(restart: bool) -> &'static str {
    if restart {
        "⏸ The server is restarting. Your task may be interrupted; everything so far is kept. After the restart I will try to \
         resume it. Messages that you send meanwhile are kept and answered then."
    } else {
        "⏸ The server is stopping. Your task may be interrupted; everything so far is kept. When it is back I will try to \
         resume it. Messages that you send meanwhile are kept and answered then."
    }
}

/// Why the chat goes on in a new session.
pub(crate) fn reset(reset: Reset) -> String {
    format!(
        "A new session begins ({}): the last one was interrupted several times in a row without coming to an end. It is kept; \
         you find it in the list of sessions.",
        reset.word()
    )
}

/// To a stranger.
pub(crate) fn pairing(code: &str, lasts: Duration) -> String {
    format!(
        "I do not know you yet. Give this code to the owner of this server: `{code}`\nIt can be approved within {} minutes, \
         with `everturn gateway approve {code}` or in the settings.",
        lasts.as_secs() / 60
    )
}

/// Before what is sent again.
pub(crate) const REPEATED: &str = "↻ Sent again: it is not known whether this arrived before.\n\n";

/// With the file that holds an answer which is too long for a chat.
pub(crate) const WHOLE_IN_FILE: &str = "The answer is longer than that; all of it is in this file.";

/// Behind an answer that was stopped.
const STOPPED: &str = "⏹ Stopped. Everything above is kept.";

/// Behind an answer that was interrupted and does not go on by itself.
const INTERRUPTED: &str = "⏸ Interrupted. Everything above is kept; /continue goes on, or just write.";

/// Behind an answer that is not complete.
pub(crate) fn ending(marker: &Marker) -> Option<String> {
    match marker.kind {
        MarkerKind::Stopped => Some(STOPPED.to_owned()),
        MarkerKind::Failed => {
            Some(format!("⚠ This went wrong: {}\nYour message is kept; /retry asks again.", marker.text))
        }
        MarkerKind::Interrupted | MarkerKind::Recovering | MarkerKind::Recovered => {
            Some(INTERRUPTED.to_owned())
        }
    }
}

/// A message that was not taken.
pub(crate) fn not_taken(reason: &str) -> String {
    format!("⚠ Your message was not taken: {reason}.")
}

/// A file that could not be fetched.
pub(crate) fn file_missing(name: &str, reason: &str) -> String {
    format!("[the file {name} could not be fetched: {reason}]")
}

pub(crate) const HELP: &str = "Write, and I answer. Messages that come while I work wait for their turn.\n\
    /new – begin a new session\n\
    /stop – stop the answer; what is there is kept\n\
    /undo – take back the last turn\n\
    /retry – answer the last message again\n\
    /continue – go on after a stop or an interruption\n\
    /queue TEXT – say it after the running answer\n\
    /steer TEXT – say it into the running answer\n\
    /status – how this chat stands\n\
    /model NAME – who answers here\n\
    /help – this";

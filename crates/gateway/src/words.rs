//! What the gateway says by itself, in one place: short, and true whatever happens next.

use std::time::Duration;

use hub::Reset;
use session::{InterruptReason, Marker, MarkerKind};

/// Before a drain, to chats with a run that is going on.
pub(crate) fn stopping(restart: bool, resumes: bool) -> &'static str {
    match (restart, resumes) {
        (true, true) => {
            "⏸ The server is restarting. Everything so far is saved, and I'll resume your task after the restart. \
             Messages you send in the meantime are saved and answered then."
        }
        (false, true) => {
            "⏸ The server is shutting down. Everything so far is saved, and I'll resume your task if it's back soon. \
             Messages you send in the meantime are saved and answered then."
        }
        (true, false) => {
            "⏸ The server is restarting. Everything so far is saved; send /continue after the restart to resume. \
             Messages you send in the meantime are saved and answered then."
        }
        (false, false) => {
            "⏸ The server is shutting down. Everything so far is saved; send /continue when it's back to resume. \
             Messages you send in the meantime are saved and answered then."
        }
    }
}

/// To the chat of an answer that resumes after an interruption.
pub(crate) fn resuming(reason: Option<&InterruptReason>) -> &'static str {
    match reason {
        Some(InterruptReason::RestartTimeout) => {
            "▶ The server was restarted. I'm picking up where I left off."
        }
        Some(InterruptReason::ShutdownTimeout) => "▶ The server is back. I'm picking up where I left off.",
        Some(InterruptReason::Crash) => {
            "▶ The server stopped unexpectedly and is back. I'm picking up where I left off."
        }
        Some(InterruptReason::LostNode) => "▶ Another server took over. I'm picking up where I left off.",
        Some(InterruptReason::SpoolFull) => {
            "▶ The storage is available again. I'm picking up where I left off."
        }
        Some(InterruptReason::Other(_)) | None => "▶ I was interrupted. I'm picking up where I left off.",
    }
}

/// Why the chat goes on in a new session.
pub(crate) fn reset(reset: Reset) -> String {
    format!(
        "A new session begins ({}): this chat was suspended. The last session is kept; \
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

/// Behind an answer that was interrupted again and again without new output.
const STUCK: &str = "⏸ Interrupted three times without new output, so I stopped trying. Everything above is saved. \
    Send /continue to try again.";

/// Behind an answer that is not complete.
pub(crate) fn ending(marker: &Marker, stuck: bool) -> Option<String> {
    match marker.kind {
        MarkerKind::Stopped => Some(STOPPED.to_owned()),
        MarkerKind::Failed => {
            Some(format!("⚠ This went wrong: {}\nYour message is kept; /retry asks again.", marker.text))
        }
        MarkerKind::Interrupted | MarkerKind::Recovering | MarkerKind::Recovered if stuck => {
            Some(STUCK.to_owned())
        }
        MarkerKind::Interrupted | MarkerKind::Recovering | MarkerKind::Recovered => {
            Some(format!("⏸ {} Everything above is saved. Send /continue to resume.", marker.text))
        }
        MarkerKind::OutputLimit => Some(format!("⏸ {} Send /continue for more.", marker.text)),
        MarkerKind::Other => None,
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
    /clear – hide all turns\n\
    /compact – go on with a summary of the conversation\n\
    /retry – answer the last message again\n\
    /continue – continue after a stop, an interruption or the output limit\n\
    /queue TEXT – say it after the running answer\n\
    /queue resume – send the messages that Stop paused\n\
    /queue drop – remove all waiting messages\n\
    /steer TEXT – say it into the running answer\n\
    /status – how this chat stands\n\
    /model NAME – who answers here\n\
    /help – this";

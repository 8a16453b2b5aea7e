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
        "Starting a new session (reason: {}). The previous session is saved; you can find it in the session list.",
        reset.word()
    )
}

/// To a stranger.
pub(crate) fn pairing(code: &str, lasts: Duration) -> String {
    format!(
        "I don't know you yet. Give this code to the owner of this server: `{code}`\nThey can approve it within \
         {} minutes, with `everturn gateway approve {code}` or in the settings.",
        lasts.as_secs() / 60
    )
}

/// Before what is sent again.
pub(crate) const REPEATED: &str = "↻ Sent again, because this may not have arrived before.\n\n";

/// With the file that holds an answer which is too long for a chat.
pub(crate) const WHOLE_IN_FILE: &str = "The answer is too long for a message. The full text is in this file.";

/// Behind an answer that was stopped.
const STOPPED: &str = "⏹ Stopped. Everything above is saved.";

/// Behind an answer that was interrupted again and again without new output.
const STUCK: &str = "⏸ Interrupted three times without new output, so I stopped trying. Everything above is saved. \
    Send /continue to try again.";

/// Behind an answer that is not complete.
pub(crate) fn ending(marker: &Marker, stuck: bool) -> Option<String> {
    match marker.kind {
        MarkerKind::Stopped => Some(STOPPED.to_owned()),
        MarkerKind::Failed => Some(format!(
            "⚠ Something went wrong: {}\nYour message is saved. Send /retry to try again.",
            marker.text
        )),
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
    format!("⚠ Your message wasn't accepted: {reason}.")
}

/// A file that could not be fetched.
pub(crate) fn file_missing(name: &str, reason: &str) -> String {
    format!("[the file {name} could not be fetched: {reason}]")
}

pub(crate) const HELP: &str = "Send a message and I'll answer. Messages sent while I'm working wait in the queue.\n\
    /new – start a new session\n\
    /stop – stop the current answer; what is written so far is saved\n\
    /undo – undo the last turn\n\
    /clear – hide all turns\n\
    /compact – continue with a summary of the session\n\
    /retry – answer the last message again\n\
    /continue – continue after a stop, an interruption or the output limit\n\
    /queue TEXT – send a message after the current answer\n\
    /queue resume – send the messages that Stop paused\n\
    /queue drop – remove all queued messages\n\
    /steer TEXT – send a message into the current answer\n\
    /status – show the status of this chat\n\
    /model NAME – choose the model for this chat\n\
    /help – show this help";

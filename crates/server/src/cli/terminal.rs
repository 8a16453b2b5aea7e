//! Output to the terminal. Strips control characters from text of models and servers.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes to standard output and flushes it.
///
/// # Errors
/// Returns an error if the output is closed.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line to standard error. Ignores errors, because standard error may be closed.
pub(crate) fn remark(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Prints progress to standard error, at most once per second.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    last: Option<tokio::time::Instant>,
}

impl Meter {
    pub(crate) fn show(&mut self, what: &str, done: u64, all: u64) {
        let now = tokio::time::Instant::now();
        // Prints nothing in the first second.
        let begun = *self.last.get_or_insert(now);
        if now.duration_since(begun).as_secs() >= 1 {
            self.last = Some(now);
            remark(&format!("{what} {done} of {all} ({} %)", done * 100 / all.max(1)));
        }
    }
}

/// Removes control characters, which could move the cursor or change the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t')).collect()
}

/// Escapes the control characters in a line of JSON.
pub(crate) fn escaped(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_control() {
            line.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            line.push(character);
        }
    }
    line
}

/// Prints an error with its causes.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // A reader such as `head` may close the pipe early.
    let gone =
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if gone {
        return ExitCode::SUCCESS;
    }
    remark(&format!("everturn: {error:#}"));
    ExitCode::FAILURE
}

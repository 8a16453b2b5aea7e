//! What is written to the terminal. Text of a model is shown without characters that a terminal would act on.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes to standard output at once.
///
/// # Errors
/// When nobody reads it any more.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a remark to standard error; nobody may be there to read it.
pub(crate) fn remark(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// How far something long has come: a line on standard error, once a second.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    last: Option<tokio::time::Instant>,
}

impl Meter {
    pub(crate) fn show(&mut self, what: &str, done: u64, all: u64) {
        let now = tokio::time::Instant::now();
        // What takes less than a second needs no progress.
        let begun = *self.last.get_or_insert(now);
        if now.duration_since(begun).as_secs() >= 1 {
            self.last = Some(now);
            remark(&format!("{what} {done} of {all} ({} %)", done * 100 / all.max(1)));
        }
    }
}

/// Text without characters that move the cursor or change the terminal.
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

/// Tells an error with what led to it.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // A reader that left, as `head` does, is no error of ours.
    let gone =
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if gone {
        return ExitCode::SUCCESS;
    }
    remark(&format!("everturn: {error:#}"));
    ExitCode::FAILURE
}

//! What is never written to the log of the process, whoever passes it there: things that look like secrets.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

/// How secrets begin: our own, keys of providers, and what follows the name of a scheme.
const BEGINNINGS: [&str; 7] = ["evt_", "evl_", "evs_", "evb_", "sk-", "Bearer ", "bearer "];
/// Characters that follow, at least, for something to be a secret.
const SECRET_MIN: usize = 12;

/// The text without secrets.
pub(crate) fn redacted(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, beginning)) =
        BEGINNINGS.iter().filter_map(|beginning| Some((rest.find(beginning)?, beginning))).min()
    {
        let (before, secret) = rest.split_at(at);
        let (beginning, secret) = secret.split_at(beginning.len());
        let part_of_it = |character: char| character.is_ascii_alphanumeric() || "-_.~+/=".contains(character);
        let end = secret.find(|character| !part_of_it(character)).unwrap_or(secret.len());
        clean.push_str(before);
        clean.push_str(beginning);
        clean.push_str(if end >= SECRET_MIN { "[redacted]" } else { &secret[..end] });
        rest = &secret[end..];
    }
    clean.push_str(rest);
    clean
}

/// Standard error, without secrets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CleanStderr;

impl Write for CleanStderr {
    /// Each event comes in one piece.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(redacted(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

impl MakeWriter<'_> for CleanStderr {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_and_words_stay() {
        let token = format!("evt_{}", "0123456789abcdef".repeat(4));
        for (text, clean) in [
            (format!("token {token}, and on"), "token evt_[redacted], and on"),
            (format!("a={token} b={token}"), "a=evt_[redacted] b=evt_[redacted]"),
            ("Authorization: Bearer abcdefghijklmnop".to_owned(), "Authorization: Bearer [redacted]"),
            ("key sk-proj-aaaaaaaaaaaaaaaa\u{e4}".to_owned(), "key sk-[redacted]\u{e4}"),
            ("a disk-backed task, evt_ and sk-1".to_owned(), "a disk-backed task, evt_ and sk-1"),
            ("Bearer evt_0123456789abcdef".to_owned(), "Bearer [redacted]"),
            (String::new(), ""),
        ] {
            assert_eq!(redacted(&text), clean);
        }
    }
}

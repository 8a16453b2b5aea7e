//! A session as one page that needs nothing else: no script, nothing loaded, everything that was said escaped.

use std::fmt::Write;

use hub::TranscriptTurn;
use session::{Attachment, Part};

use super::{Head, call_word, hidden_word, notes, readable, tame};

/// Nothing may be loaded or run; the style is in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}\
    section{border-top:1px solid #bbb;margin-top:1.5em}h2{font-size:1em}time,.note{color:#555;font-weight:normal}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.5em}.said{white-space:pre-wrap;\
    overflow-wrap:anywhere}.hidden{opacity:.6}";

/// Text that stays text wherever it stands, also within quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in tame(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

pub(super) fn head(head: &Head) -> String {
    let title = escaped(head.title.as_deref().unwrap_or("Session"));
    let mut about =
        format!("Created {}, last active {}", readable(head.created_at), readable(head.active_at));
    if let Some(project) = &head.project {
        write!(about, ", project {project}").unwrap_or_default();
    }
    if !head.tags.is_empty() {
        write!(about, ", tags {}", head.tags.join(", ")).unwrap_or_default();
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<p class=\"note\">{}</p>\n",
        escaped(&about)
    )
}

fn files(out: &mut String, attachments: &[Attachment]) {
    for file in attachments {
        let (name, kind) = (escaped(&file.name), escaped(&file.media_type));
        let line = format!("{name} ({kind}, {} bytes, SHA-256 {})", file.size_bytes, escaped(&file.blob.0));
        writeln!(out, "<p class=\"note\">File: {line}</p>").unwrap_or_default();
    }
}

pub(super) fn turn(exported: &TranscriptTurn) -> String {
    let turn = &exported.turn;
    let mut out = String::new();
    let (class, note) = match exported.hidden {
        None => ("", String::new()),
        Some(hidden) => {
            (" class=\"hidden\"", format!(" · {} {}", hidden_word(hidden.by), readable(hidden.at)))
        }
    };
    write!(
        out,
        "<section{class}><h2>User <time>{}{note}</time></h2>\n<div class=\"said\">{}</div>\n",
        readable(turn.posted_at),
        escaped(&turn.message.text)
    )
    .unwrap_or_default();
    files(&mut out, &turn.message.attachments);
    let many = turn.answers().count() > 1;
    for (at, runs) in turn.answers().enumerate() {
        let number = if many { format!(", answer {}", at + 1) } else { String::new() };
        let Some(first) = runs.first() else { continue };
        writeln!(out, "<h2>Agent{number} <time>{}</time></h2>", readable(first.started_at))
            .unwrap_or_default();
        let joined = session::joined(runs);
        for part in &joined.parts {
            write_part(&mut out, part);
        }
        for marker in notes(runs, &joined) {
            writeln!(out, "<p class=\"note\">{}</p>", escaped(&marker)).unwrap_or_default();
        }
    }
    out + "</section>\n"
}

fn write_part(out: &mut String, part: &Part) {
    let written = match part {
        Part::Text(text) => writeln!(out, "<div class=\"said\">{}</div>", escaped(text)),
        Part::Reasoning(text) => {
            writeln!(out, "<details><summary>Reasoning</summary><pre>{}</pre></details>", escaped(text))
        }
        Part::Call { tool, arguments, state, result, .. } => writeln!(
            out,
            "<details><summary>{}, {}</summary><pre>{}</pre><pre>{}</pre></details>",
            escaped(tool),
            call_word(*state),
            escaped(arguments),
            escaped(result.as_deref().unwrap_or_default())
        ),
        Part::Steered { message, .. } => {
            let said = writeln!(out, "<h2>User</h2><div class=\"said\">{}</div>", escaped(&message.text));
            files(out, &message.attachments);
            said
        }
    };
    // Text takes whatever is written into it.
    written.unwrap_or_default();
}

pub(super) fn foot(head: &Head) -> String {
    let mut out = String::new();
    for queued in &head.queue {
        let said = escaped(&queued.message.text);
        let at = readable(queued.posted_at);
        writeln!(
            out,
            "<section><h2>User, queued <time>{at}</time></h2><div class=\"said\">{said}</div></section>"
        )
        .unwrap_or_default();
    }
    out + "</body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// Every tag of a page.
    fn tags(page: &str) -> Vec<&str> {
        page.split('<').skip(1).map(|rest| rest.split(['>', ' ']).next().unwrap_or_default()).collect()
    }

    #[test]
    fn what_was_said_makes_no_tag_and_leaves_no_quotes() {
        let whole =
            |text: &str| head(&sample::head(text)) + &turn(&sample::turn(text)) + &foot(&sample::head(text));
        let (evil, plain) = (whole(sample::EVIL), whole("plain"));
        assert_eq!(tags(&evil), tags(&plain));
        assert!(!evil.contains("<script") && !evil.contains("alert(1)</script>"));
        assert_eq!(evil.matches('"').count(), plain.matches('"').count());
        assert!(!evil.contains(['\u{202e}', '\u{0}']));
        assert!(!plain.contains("src=") && !plain.contains("href=") && !plain.contains("url("));
        assert!(plain.contains("default-src 'none'"));
        assert!(evil.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is shown as it was said");
    }
}

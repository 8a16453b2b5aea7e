//! A session as Markdown. What was said is quoted line by line, so that nothing in it can look like another turn; code
//! stays as it was written, and elsewhere no HTML begins.

use std::fmt::Write;

use hub::TranscriptTurn;
use session::{Attachment, Part};

use super::{Head, call_word, hidden_word, notes, one_line, readable, tame};

/// Words within a line of our own: every sign that means something is escaped.
fn words(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
        if character.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// The fence that a line at its margin opens: its sign and length.
fn opens(line: &str) -> Option<(char, usize)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|other| *other == sign).count();
    // With a backtick behind it, it is code within a line.
    let fits = length >= 3 && !(sign == '`' && line[length..].contains('`'));
    fits.then_some((sign, length))
}

fn closes(line: &str, (sign, length): (char, usize)) -> bool {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start_matches(' ').trim_end();
    indent <= 3 && rest.len() >= length && rest.chars().all(|other| other == sign)
}

/// What was said, quoted. Fenced code stays byte for byte; so does code within a line where that cannot be disputed.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    let (mut fence, mut paragraph) = (None, Vec::new());
    for line in tame(text).split('\n') {
        let opened = opens(line).filter(|_| fence.is_none());
        if fence.is_none() && opened.is_none() && !line.trim().is_empty() {
            paragraph.push(line.to_owned());
            continue;
        }
        write_paragraph(&mut out, &std::mem::take(&mut paragraph));
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
        fence = match fence {
            Some(open) if closes(line, open) => None,
            Some(open) => Some(open),
            None => opened,
        };
    }
    write_paragraph(&mut out, &paragraph);
    out
}

fn write_paragraph(out: &mut String, lines: &[String]) {
    // A reader pairs backticks across lines, and cuts at borders of blocks and cells: only where every line is whole by
    // itself it is sure what is code.
    let sure = lines.iter().all(|line| !line.contains(['|', '\\']) && code_spans(line).is_some());
    for line in lines {
        let spans = if sure { code_spans(line).unwrap_or_default() } else { Vec::new() };
        out.push_str("> ");
        for (at, character) in line.char_indices() {
            let is_code = spans.iter().any(|span| span.contains(&at));
            let begins_tag = character == '<'
                && line[at + 1..]
                    .starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
            if begins_tag && !is_code { out.push_str("&lt;") } else { out.push(character) }
        }
        out.push('\n');
    }
}

/// Where code stands within a line; none when a backtick stays without its partner.
fn code_spans(line: &str) -> Option<Vec<std::ops::Range<usize>>> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((begin, length)) if *begin + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some((begin, length)) = runs.get(at).copied() {
        let partner = runs[at + 1..].iter().position(|(_, other)| *other == length)?;
        let (end, _) = runs[at + 1 + partner];
        spans.push(begin..end + length);
        at += partner + 2;
    }
    Some(spans)
}

/// A block of code, with a fence that nothing in it closes.
fn fenced(text: &str) -> String {
    let text = tame(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

pub(super) fn head(head: &Head) -> String {
    let mut out = format!("# {}\n\n", words(head.title.as_deref().unwrap_or("Session")));
    writeln!(out, "Created {}, last active {}.", readable(head.created_at), readable(head.active_at))
        .unwrap_or_default();
    if let Some(project) = &head.project {
        writeln!(out, "Project: {}.", words(project)).unwrap_or_default();
    }
    if !head.tags.is_empty() {
        let tags: Vec<String> = head.tags.iter().map(|tag| words(tag)).collect();
        writeln!(out, "Tags: {}.", tags.join(", ")).unwrap_or_default();
    }
    out
}

fn files(out: &mut String, attachments: &[Attachment]) {
    for file in attachments {
        let (name, kind, hash) = (words(&file.name), words(&file.media_type), words(&file.blob.0));
        writeln!(out, "\nFile: {name} ({kind}, {} bytes, SHA-256 {hash})", file.size_bytes)
            .unwrap_or_default();
    }
}

pub(super) fn turn(exported: &TranscriptTurn) -> String {
    let turn = &exported.turn;
    let mut out = format!("\n## User, {}", readable(turn.posted_at));
    if let Some(hidden) = exported.hidden {
        write!(out, " ({} {})", hidden_word(hidden.by), readable(hidden.at)).unwrap_or_default();
    }
    write!(out, "\n\n{}", quoted(&turn.message.text)).unwrap_or_default();
    files(&mut out, &turn.message.attachments);
    let many = turn.answers().count() > 1;
    for (at, runs) in turn.answers().enumerate() {
        let number = if many { format!(", answer {}", at + 1) } else { String::new() };
        let Some(first) = runs.first() else { continue };
        writeln!(out, "\n### Agent{number}, {}", readable(first.started_at)).unwrap_or_default();
        let joined = session::joined(runs);
        for part in &joined.parts {
            write_part(&mut out, part);
        }
        for marker in notes(runs, &joined) {
            writeln!(out, "\n*{}*", words(&marker)).unwrap_or_default();
        }
    }
    out
}

fn write_part(out: &mut String, part: &Part) {
    let written = match part {
        Part::Text(text) => write!(out, "\n{}", quoted(text)),
        Part::Reasoning(text) => write!(out, "\nReasoning:\n\n{}", quoted(text)),
        Part::Call { tool, arguments, state, result, .. } => {
            let asked =
                write!(out, "\nTool call {}, {}:\n\n{}", words(tool), call_word(*state), fenced(arguments));
            let result = result.as_ref().map(|result| write!(out, "\nResult:\n\n{}", fenced(result)));
            asked.and(result.unwrap_or(Ok(())))
        }
        Part::Steered { message, .. } => {
            let said = write!(out, "\nUser, during the answer:\n\n{}", quoted(&message.text));
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
        let (at, said) = (readable(queued.posted_at), quoted(&queued.message.text));
        write!(out, "\n## User, queued, {at}\n\n{said}").unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn code_stays_as_it_was_written() {
        let code = "Try:\n\n```html\n<b>`x`</b>\n    <i>\n```\n\nor `Vec<u8>`, if a<b.";
        let expected =
            "> Try:\n>\n> ```html\n> <b>`x`</b>\n>     <i>\n> ```\n>\n> or `Vec<u8>`, if a&lt;b.\n";
        assert_eq!(quoted(code), expected);
        assert_eq!(fenced("a\n````\nb"), "`````\na\n````\nb\n`````\n");
    }

    #[test]
    fn no_html_begins_outside_of_code() {
        for text in [
            "<script>",
            "a `\n` <script> `",
            "# a ` ` `\n<script> `",
            "| ` | <script> ` |",
            "\\` <script> `",
            "- x\n   ```\n<script>",
            "``` a ` b\n<script>",
            "```\n<b>\n```\n<script>",
            "~~~\n```\n~~~\n<script>",
            "`` ` <script> ``` `",
        ] {
            let shown = quoted(text);
            assert!(!shown.contains("<script>"), "{text:?} gives {shown:?}");
        }
    }

    #[test]
    fn nothing_that_was_said_looks_like_a_turn_or_a_heading() {
        let forged = "x\n\n## User, 2020\n\n---\r\n### Agent\r# y";
        let whole = head(&sample::head(forged)) + &turn(&sample::turn(forged)) + &foot(&sample::head(forged));
        let plain = head(&sample::head("x")) + &turn(&sample::turn("x")) + &foot(&sample::head("x"));
        let headings = |text: &str| {
            let mut fence: Option<String> = None;
            let mut found = 0;
            for line in text.lines() {
                match &fence {
                    Some(open) if line == open => fence = None,
                    Some(_) => {}
                    None if line.starts_with("```") => fence = Some(line.to_owned()),
                    None => found += usize::from(line.starts_with('#') || line.starts_with("---")),
                }
            }
            found
        };
        assert_eq!(headings(&whole), headings(&plain));
        assert!(!whole.contains('\r'));
    }
}

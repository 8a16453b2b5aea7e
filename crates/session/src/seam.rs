//! Joins the texts of an answer that was interrupted and continued, so that it reads as one text.
//!
//! A model that takes a prefix continues exactly where its text ends. Any other model is asked to continue, and may
//! repeat the end of the text, open a code fence again, comment on the interruption, or begin on a new line. The log
//! keeps every byte; the seam is repaired here, for every reader alike. `web/src/log/seam.ts` is the same function for
//! the browser, and `fixtures/seams.json` holds both to the same cases.

/// Characters at the beginning of a continuation in which a repetition is looked for.
const WINDOW: usize = 400;
/// Characters after which a continuation that does not comment on the interruption is shown.
const COMMENT_WINDOW: usize = 80;
/// Characters that a repetition has at least.
const OVERLAP_MIN: usize = 8;
/// Characters that a repetition has at least when something else comes before it.
const OVERLAP_AFTER_COMMENT_MIN: usize = 24;
/// Words of a model that comments on the interruption before it repeats what it wrote.
const COMMENTS: [&str; 7] = ["sorry", "apolog", "continu", "cut off", "interrupt", "resum", "left off"];

/// How far the run came whose text is joined to the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It still writes, or it ended before it was done. Text that may turn out to be a repetition or a comment is held back,
    /// so that nothing shown is taken back; the next run is asked to continue what was shown.
    Unfinished,
    /// It completed.
    Completed,
}

/// What becomes of a continuation: its beginning is dropped, and the rest follows behind a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seam {
    /// Bytes of the continuation that are left out.
    dropped: usize,
    separator: &'static str,
}

impl Seam {
    const fn at(dropped: usize) -> Option<Self> {
        Some(Self { dropped, separator: "" })
    }
}

/// Appends the text of a run that was asked to continue.
pub fn join(previous: &mut String, text: &str, stage: Stage) {
    if let Some(Seam { dropped, separator }) = seam(previous, text, stage) {
        previous.push_str(separator);
        previous.push_str(&text[dropped..]);
    }
}

/// Where the continuation begins; none while it is held back.
fn seam(previous: &str, text: &str, stage: Stage) -> Option<Seam> {
    if text.is_empty() {
        return None;
    }
    if previous.is_empty() {
        return Seam::at(0);
    }
    let block = open_fence(previous);
    let mut begin = 0;
    if let Some(block) = block {
        match reopened(text, block) {
            Fence::Unfinished if stage == Stage::Unfinished => return None,
            Fence::Named(end) => begin = end,
            Fence::Bare(end) => {
                // A bare fence closes the block, unless the block is repeated behind it.
                let rest = &text[end..];
                if let Some(overlap) = overlap(previous, rest) {
                    return Seam::at(end + overlap);
                }
                if stage == Stage::Unfinished && !rest.trim().is_empty() && repeats(previous, rest) {
                    return None;
                }
            }
            Fence::Unfinished | Fence::None => {}
        }
    }
    let rest = &text[begin..];
    // The repetition may still grow.
    if stage == Stage::Unfinished && repeats(previous, rest) {
        return None;
    }
    if let Some(overlap) = overlap(previous, rest) {
        return Seam::at(begin + overlap);
    }
    if stage == Stage::Unfinished {
        let count = rest.chars().take(WINDOW).count();
        if count < COMMENT_WINDOW || (count < WINDOW && comments(rest)) {
            return None;
        }
    }
    if block.is_some() {
        let ends_line = previous.ends_with([';', '{', '}', ':', ',', ')', ']', '>']);
        let separator = if begin > 0 && ends_line { "\n" } else { "" };
        return Some(Seam { dropped: begin, separator });
    }
    Some(between(previous, rest))
}

/// Bytes of the continuation up to the end of a repetition of what stands at the end of `previous`.
fn overlap(previous: &str, rest: &str) -> Option<usize> {
    let skipped = rest.len() - rest.trim_start().len();
    let window = first(&rest[skipped..], WINDOW);
    let ends = ends_of_chars(window);
    let repeated = ends.iter().skip(OVERLAP_MIN - 1).rev().find(|end| previous.ends_with(&window[..**end]));
    if let Some(end) = repeated {
        return Some(skipped + end);
    }
    if !comments(rest) {
        return None;
    }
    let window = first(rest, WINDOW);
    let tail = last(previous, WINDOW);
    let starts: Vec<usize> = tail.char_indices().map(|(at, _)| at).collect();
    let longest = starts.len().checked_sub(OVERLAP_AFTER_COMMENT_MIN)?;
    starts.iter().take(longest + 1).find_map(|start| {
        let suffix = &tail[*start..];
        window.find(suffix).map(|at| at + suffix.len())
    })
}

/// Whether the continuation so far is a piece of the end of `previous`.
fn repeats(previous: &str, rest: &str) -> bool {
    let begun = rest.trim_start();
    begun.is_empty() || (begun.chars().count() <= WINDOW && last(previous, WINDOW).contains(begun))
}

/// Whether the continuation begins with a comment on the interruption.
fn comments(rest: &str) -> bool {
    let begun = first(rest, COMMENT_WINDOW).to_lowercase();
    COMMENTS.iter().any(|word| begun.contains(word))
}

/// What two texts of prose need between them.
fn between(previous: &str, rest: &str) -> Seam {
    let (Some(before), Some(after)) = (previous.chars().next_back(), rest.chars().next()) else {
        return Seam { dropped: 0, separator: "" };
    };
    if before.is_whitespace() || after.is_whitespace() {
        return Seam { dropped: 0, separator: "" };
    }
    if let Some(kind) = block(rest) {
        let line = previous.rsplit('\n').next().unwrap_or_default();
        let separator =
            if block(line.trim_start()) == Some(kind) && kind != Block::Other { "\n" } else { "\n\n" };
        return Seam { dropped: 0, separator };
    }
    if before.is_alphanumeric() && after.is_alphanumeric() {
        return between_words(previous, rest, before, after);
    }
    let separator = if after.is_alphanumeric() && needs_space(previous, before, after) { " " } else { "" };
    Seam { dropped: 0, separator }
}

/// Whether a letter or digit behind a punctuation mark begins another word. `3.14`, `main.rs`, `1,000` and `std::fs` do not.
fn needs_space(previous: &str, before: char, after: char) -> bool {
    match before {
        '.' | '!' | '?' => !after.is_lowercase() && !after.is_numeric() && !is_ideographic(after),
        ':' | ';' | ',' => {
            let ahead = previous.chars().rev().nth(1);
            let in_number = after.is_numeric() && ahead.is_some_and(char::is_numeric);
            !in_number && ahead != Some(':') && !is_ideographic(after)
        }
        _ => false,
    }
}

/// Returns the seam of a cut inside a word; the model may have repeated that word.
fn between_words(previous: &str, rest: &str, before: char, after: char) -> Seam {
    if is_ideographic(before) || is_ideographic(after) {
        return Seam { dropped: 0, separator: "" };
    }
    let cut_word = &previous[previous.trim_end_matches(char::is_alphanumeric).len()..];
    let first_word = &rest[..rest.len() - rest.trim_start_matches(char::is_alphanumeric).len()];
    if cut_word.chars().count() >= 2 && first_word.len() > cut_word.len() && first_word.starts_with(cut_word)
    {
        return Seam { dropped: cut_word.len(), separator: "" };
    }
    let new_word = after.is_uppercase() && !before.is_uppercase() && !in_identifier(previous);
    Seam { dropped: 0, separator: if new_word { " " } else { "" } }
}

/// Returns whether `text` ends inside a URL, path or code identifier.
fn in_identifier(text: &str) -> bool {
    let word = last(text, WINDOW).rsplit(char::is_whitespace).next().unwrap_or_default();
    word.contains(['.', '/', ':', '@', '_', '=', '+', '`', '\\', '#', '&', '?', '%'])
}

/// Whether a character is East Asian (Han, kana, Hangul): no space is added beside it.
fn is_ideographic(char: char) -> bool {
    matches!(char, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The kinds of Markdown block that begin with a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    List,
    Quote,
    Table,
    Other,
}

/// The block that a line begins.
fn block(line: &str) -> Option<Block> {
    let digits = line.len() - line.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let numbered = (1..=9).contains(&digits) && line[digits..].starts_with(". ");
    if numbered || ["- ", "* ", "+ "].iter().any(|bullet| line.starts_with(bullet)) {
        Some(Block::List)
    } else if line.starts_with("> ") {
        Some(Block::Quote)
    } else if line.starts_with('|') {
        Some(Block::Table)
    } else if line.starts_with('#') || line.starts_with("```") || line.starts_with("~~~") {
        Some(Block::Other)
    } else {
        None
    }
}

/// What the first line of a continuation is to an open code block.
enum Fence {
    /// No fence.
    None,
    /// It may still become one: the line is not complete.
    Unfinished,
    /// A fence that names a language ends at this byte: the block is opened again.
    Named(usize),
    /// A fence without a name ends at this byte: it opens the block again, or closes it.
    Bare(usize),
}

fn reopened(text: &str, block: (char, usize)) -> Fence {
    let blank = text.len() - text.trim_start_matches(['\n', '\r']).len();
    let Some(length) = text[blank..].find('\n') else {
        let begun = text[blank..].trim_start_matches(' ');
        let may_be = begun.is_empty() || begun.starts_with('`') || begun.starts_with('~');
        return if may_be { Fence::Unfinished } else { Fence::None };
    };
    let line = &text[blank..blank + length];
    let end = blank + length + 1;
    match fence(line) {
        Some((sign, count, "")) if (sign, count) == block => Fence::Bare(end),
        Some((sign, count, _)) if (sign, count) == block => Fence::Named(end),
        // Another fence is part of the code.
        Some(_) | None => Fence::None,
    }
}

/// A fence: its character, how many of them, and what follows on the line.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let sign = inner.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let rest = inner.trim_start_matches(sign);
    let count = inner.len() - rest.len();
    let info = rest.trim();
    let fits = line.len() - inner.len() <= 3 && count >= 3 && !(sign == '`' && info.contains('`'));
    fits.then_some((sign, count, info))
}

/// Returns the character and length of the fence that is still open at the end of `text`, if any.
fn open_fence(text: &str) -> Option<(char, usize)> {
    let mut open: Option<(char, usize)> = None;
    for line in text.split('\n') {
        let Some((sign, count, info)) = fence(line.trim_end_matches('\r')) else { continue };
        match open {
            None => open = Some((sign, count)),
            Some((by, least)) if sign == by && count >= least && info.is_empty() => open = None,
            Some(_) => {}
        }
    }
    open
}

fn ends_of_chars(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, char)| at + char.len_utf8()).collect()
}

/// The first so many characters.
fn first(text: &str, count: usize) -> &str {
    &text[..text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)]
}

/// The last so many characters.
fn last(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

//! Cuts a long answer into messages that a platform takes, where it hurts least: between paragraphs, lines, sentences, words.
//! A block of code that is cut is closed in one message and opened again in the next. What is cut off an answer that still
//! grows stays as it is: only the last message changes.

use crate::platform::Counting;

/// The longest line that opens a block of code again.
const FENCE_MAX: usize = 64;

/// The messages of a text, in order. Each is at most `most` long, and none is empty.
pub fn split(text: &str, most: usize, counting: Counting) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim().to_owned();
    while !rest.is_empty() {
        if counting.length(&rest) <= most {
            parts.push(rest);
            break;
        }
        let (part, left) = cut(&rest, most, counting);
        parts.push(part);
        rest = left;
    }
    parts
}

/// The first message of a text that is too long for one, and what is left.
fn cut(text: &str, most: usize, counting: Counting) -> (String, String) {
    // Room for the line that closes a block.
    let room = most.saturating_sub(4).max(1);
    let end = fitting(text, room, counting);
    let at = best_cut(&text[..end]);
    let (head, tail) = text.split_at(at);
    match open_fence(head) {
        None => (head.trim_end().to_owned(), tail.trim_start().to_owned()),
        Some(opening) => {
            let tail = tail.strip_prefix('\n').unwrap_or(tail);
            (format!("{}\n```", head.trim_end()), format!("{opening}\n{tail}"))
        }
    }
}

/// Bytes of the longest beginning that is not longer than `room`; at least one character.
fn fitting(text: &str, room: usize, counting: Counting) -> usize {
    let mut length = 0;
    for (at, character) in text.char_indices() {
        length += match counting {
            Counting::Bytes => character.len_utf8(),
            Counting::Utf16 => character.len_utf16(),
            Counting::Chars => 1,
        };
        if length > room && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The last good place to cut in the second half; the end where there is none.
fn best_cut(head: &str) -> usize {
    let half = head.len() / 2;
    let good = ["\n\n", "\n", ". ", " "];
    let found = good.iter().find_map(|mark| {
        let at = head.rfind(mark)?;
        let kept = at + mark.trim_end().len();
        // After a block was opened and nothing said in it, there is no use in cutting.
        (at > half && !head[..kept].trim().is_empty()).then_some(kept)
    });
    found.filter(|at| *at > 0).unwrap_or(head.len())
}

/// The line that opened the block of code in which a text ends, if it ends in one.
fn open_fence(text: &str) -> Option<String> {
    let mut open = None;
    for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("```")) {
        open = match open {
            None => Some(line),
            Some(_) => None,
        };
    }
    open.map(|line| line.chars().take(FENCE_MAX).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(parts: &[String], counting: Counting) -> usize {
        parts.iter().map(|part| counting.length(part)).max().unwrap_or(0)
    }

    #[test]
    fn a_short_text_is_one_message() {
        assert_eq!(split("hello", 10, Counting::Chars), ["hello"]);
        assert_eq!(split(" \n ", 10, Counting::Chars), Vec::<String>::new());
    }

    #[test]
    fn a_long_text_is_cut_between_paragraphs_and_words() {
        let text = "one two three.\n\nfour five six seven eight";
        assert_eq!(split(text, 24, Counting::Chars), ["one two three.", "four five six seven", "eight"]);
    }

    #[test]
    fn a_block_of_code_is_closed_and_opened_again() {
        let text = format!("Look:\n```rust\n{}```\nDone.", "let heron = 1;\n".repeat(20));
        let parts = split(&text, 120, Counting::Chars);
        assert!(parts.len() > 2);
        for part in &parts {
            assert_eq!(part.matches("```").count() % 2, 0, "{part}");
        }
        assert!(parts[1].starts_with("```rust\n"), "{}", parts[1]);
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("let")).count();
        assert_eq!(parts.iter().map(|part| lines(part)).sum::<usize>(), 20);
    }

    #[test]
    fn characters_of_two_units_count_twice() {
        let parts = split(&"🐦".repeat(30), 20, Counting::Utf16);
        assert!(lengths(&parts, Counting::Utf16) <= 20);
        assert_eq!(parts.concat().chars().count(), 30);
    }

    proptest! {
        #[test]
        fn nothing_is_too_long_and_no_word_is_lost(text in "[a-z\n .`🐦]{0,400}", most in 80_usize..200) {
            for counting in [Counting::Bytes, Counting::Utf16, Counting::Chars] {
                let parts = split(&text, most, counting);
                prop_assert!(lengths(&parts, counting) <= most);
                let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic() || *c == '🐦').collect::<String>();
                // A block that is opened again repeats the line that opened it, so only texts without one are compared.
                if !text.contains("```") {
                    prop_assert_eq!(letters(&parts.concat()), letters(&text));
                }
            }
        }

        #[test]
        fn what_is_cut_off_stays_as_it_is_when_more_comes(text in "[a-z\n .`]{0,600}", more in "[a-z\n .`]{0,300}") {
            let before = split(&text, 100, Counting::Chars);
            let after = split(&format!("{}{more}", text.trim()), 100, Counting::Chars);
            let closed = before.len().saturating_sub(1);
            prop_assert_eq!(&before[..closed], &after[..closed.min(after.len())]);
        }
    }
}

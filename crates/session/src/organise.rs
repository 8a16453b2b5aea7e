//! Which tags a session may have: short, visible, lower-case, each once, in order.

use crate::decide::Rejected;
use crate::limits::{TAG_CHARS_MAX, TAGS_MAX};

/// A tag as it is kept: without space around it, lower-case. `None` when it cannot be one.
pub fn tag(text: &str) -> Option<String> {
    let tag = text.trim().to_lowercase();
    let fits = (1..=TAG_CHARS_MAX).contains(&tag.chars().count());
    (fits && tag.chars().all(is_visible)).then_some(tag)
}

/// Whether a reader can see that the character is there. What turns the direction of writing or joins without a trace
/// would let two tags look the same.
pub fn is_visible(character: char) -> bool {
    let hidden = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !hidden && !character.is_control() && (character == ' ' || !character.is_whitespace())
}

pub(crate) fn checked_tags(tags: Vec<String>) -> Result<Vec<String>, Rejected> {
    let mut kept = Vec::new();
    for text in tags {
        kept.push(tag(&text).ok_or(Rejected::BadTag)?);
    }
    kept.sort();
    kept.dedup();
    if kept.len() > TAGS_MAX { Err(Rejected::TooManyTags) } else { Ok(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_short_visible_and_lower_case() {
        for (text, kept) in [
            ("  Herons of the North ", Some("herons of the north")),
            ("Ünder", Some("ünder")),
            ("", None),
            ("   ", None),
            ("two\nlines", None),
            ("nothing\u{200b}here", None),
            ("\u{202e}backwards", None),
            ("\0", None),
        ] {
            assert_eq!(tag(text).as_deref(), kept, "{text:?}");
        }
        assert!(tag(&"ü".repeat(TAG_CHARS_MAX)).is_some());
        assert!(tag(&"ü".repeat(TAG_CHARS_MAX + 1)).is_none());
    }

    #[test]
    fn tags_are_kept_once_and_in_order() {
        let tags = |texts: &[&str]| checked_tags(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(tags(&["b", "A", " B "]), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(tags(&["a", ""]), Err(Rejected::BadTag));
        let many: Vec<String> = (0..=TAGS_MAX).map(|number| number.to_string()).collect();
        assert_eq!(checked_tags(many), Err(Rejected::TooManyTags));
    }
}

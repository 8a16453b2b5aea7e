//! The words around what was found, cut so that both can be read in a line or two.

use serde::Serialize;
use utoipa::ToSchema;

/// Characters before and after the first word that was found.
const BEFORE: usize = 60;
const AFTER: usize = 180;

/// A piece of text. `hit` marks a word from the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Stretch {
    pub(crate) text: String,
    pub(crate) hit: bool,
}

/// A stretch of `text` around the first of the words that were looked for, with all of them marked. Line breaks become
/// spaces. Where none is there, it is the beginning.
pub(crate) fn around(text: &str, looked_for: &str) -> Vec<Stretch> {
    let hits = hub::marks(text, looked_for);
    let first = hits.first().map_or(0, |hit| hit.start);
    let from = text[..first].char_indices().rev().take(BEFORE).last().map_or(first, |(at, _)| at);
    let until = text[first..].char_indices().nth(AFTER).map_or(text.len(), |(at, _)| first + at);
    let mut stretches = Vec::new();
    let mut push = |text: &str, hit: bool| {
        if !text.is_empty() {
            stretches.push(Stretch { text: text.replace(['\n', '\r', '\t'], " "), hit });
        }
    };
    if from > 0 {
        push("…", false);
    }
    let mut at = from;
    for hit in hits.into_iter().filter(|hit| hit.start >= from && hit.end <= until) {
        push(&text[at..hit.start], false);
        push(&text[hit.clone()], true);
        at = hit.end;
    }
    push(&text[at..until], false);
    if until < text.len() {
        push("…", false);
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, words: &str) -> String {
        let show = |stretch: Stretch| if stretch.hit { format!("[{}]", stretch.text) } else { stretch.text };
        around(text, words).into_iter().map(show).collect()
    }

    #[test]
    fn the_words_are_marked_wherever_they_stand() {
        assert_eq!(shown("A heron, two Herons, a HERON.", "heron"), "A [heron], two [Herons], a [HERON].");
        assert_eq!(shown("grey\nherons\tfly", "fly grey"), "[grey] herons [fly]");
        assert_eq!(shown("Füße im Föhn", "FOHN fusse"), "[Füße] im [Föhn]");
        assert_eq!(shown("今日は日本語の文章", "日本語"), "今日は[日本語]の文章");
        assert_eq!(shown("nothing of it", "heron"), "nothing of it");
        assert_eq!(shown("", "heron"), "");
        assert_eq!(shown("heron", "heron"), "[heron]");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let text = format!("{}heron{}", "ä".repeat(500), "ö ".repeat(500));
        let stretches = around(&text, "heron");
        // Letters run together: the word begins in mid-word here, so it is none.
        assert_eq!(stretches.iter().filter(|stretch| stretch.hit).count(), 0);
        let text = format!("{} heron {}", "ä ".repeat(500), "ö ".repeat(500));
        let stretches = around(&text, "heron");
        let told: String = stretches.iter().map(|stretch| stretch.text.as_str()).collect();
        assert_eq!(told.chars().count(), 1 + BEFORE + AFTER + 1);
        assert!(told.starts_with('…') && told.ends_with('…'));
        assert_eq!(
            stretches
                .iter()
                .filter(|stretch| stretch.hit)
                .map(|stretch| stretch.text.as_str())
                .collect::<String>(),
            "heron"
        );
    }

    /// Whatever stands there, cutting it is harmless and invents nothing.
    #[test]
    fn any_text_can_be_cut() {
        for (text, words) in
            [("\u{301}a\u{301}b", "a"), ("🦩🦩 🦩", "🦩"), ("İstanbul ist", "istanbul"), ("ß", "SS")]
        {
            let told: String = around(text, words).into_iter().map(|stretch| stretch.text).collect();
            assert_eq!(told, text);
        }
    }
}

//! The words of a text as search compares them. Every store indexes and queries through this module, so that all of
//! them find the same.
//!
//! A word is a run of letters, digits and the marks that belong to them, compared without case, accents and
//! compatibility forms: `Straße` is `strasse`, `İstanbul` is `istanbul`, `ﬁ` is `fi`. Vowel points of Arabic and Hebrew
//! are optional in writing and are ignored; vowel signs of Indic scripts and Thai are letters and are kept.
//!
//! Scripts that are written without spaces, and Hangul with its compounds, are indexed as overlapping pairs of
//! characters, followed by the last character alone: 日本語 is `日本 本語 語`. A query of several characters is the phrase
//! of its pairs; a single character is the beginning of a pair.

use std::collections::BTreeSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of a word that are compared. PostgreSQL accepts 2,046 bytes.
const WORD_CHARS_MAX: usize = 500;
/// Bytes of the words of one text. The largest message fits in any script; only texts made of ligatures that stand for
/// whole phrases, such as U+FDFA, are cut short. Without a bound, one such text would cost seconds to index and to excerpt.
const WORDS_BYTES_MAX: usize = 12 * 1024 * 1024;
/// A shorter last word of a query is not a prefix: it would match most of the index.
const PREFIX_CHARS_MIN: usize = 2;

/// A word of a text, and where it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Bytes of the text.
    pub span: Range<usize>,
    kind: WordKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Spaced,
    /// Two characters of a script without spaces; the first ends here.
    Pair {
        first_end: usize,
    },
    /// The last character of a run of such a script.
    Last,
}

/// Words that must follow each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phrase {
    pub words: Vec<String>,
    pub ending: WordEnd,
}

/// How the last word of a phrase matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordEnd {
    Whole,
    Prefix,
}

/// Returns the words of a text, in order.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each_word(text, |word| words.push(word));
    words
}

/// Returns the words of a text as an index stores them: separated by single spaces.
pub(crate) fn indexed(text: &str) -> String {
    let mut joined = String::with_capacity(text.len() + text.len() / 8);
    each_word(text, |word| {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&word.text);
    });
    joined
}

/// Returns the phrases that a text must all have to match a query: one per part between spaces. The last word of the
/// query matches as a prefix, so that a search finds while it is typed.
pub fn phrases(query: &str) -> Vec<Phrase> {
    let mut phrases: Vec<Phrase> = query.split_whitespace().filter_map(phrase).collect();
    if let Some(last) = phrases.last_mut()
        && last
            .words
            .last()
            .is_some_and(|word| word.chars().count() >= PREFIX_CHARS_MIN && !word.chars().any(is_dense))
    {
        last.ending = WordEnd::Prefix;
    }
    let mut seen = BTreeSet::new();
    phrases.retain(|phrase| seen.insert(phrase.clone()));
    phrases
}

fn phrase(part: &str) -> Option<Phrase> {
    let mut found = words(part);
    let mut ending = WordEnd::Whole;
    if found.last()?.kind == WordKind::Last {
        // The text may go on where the query ends.
        match found.len().checked_sub(2).map(|at| found[at].kind) {
            Some(WordKind::Pair { .. }) => drop(found.pop()),
            _ => ending = WordEnd::Prefix,
        }
    }
    Some(Phrase { words: found.into_iter().map(|word| word.text).collect(), ending })
}

impl Phrase {
    /// Whether `words` start with the phrase.
    fn begins<T: AsRef<str>>(&self, words: &[T]) -> bool {
        let Some((last, before)) = self.words.split_last() else { return false };
        let Some((found, ahead)) = words.get(..self.words.len()).and_then(<[T]>::split_last) else {
            return false;
        };
        let ends = match self.ending {
            WordEnd::Whole => found.as_ref() == last,
            WordEnd::Prefix => found.as_ref().starts_with(last.as_str()),
        };
        ends && before.iter().zip(ahead).all(|(wanted, found)| wanted == found.as_ref())
    }

    /// Whether the phrase stands anywhere in some words.
    pub fn is_in<T: AsRef<str>>(&self, words: &[T]) -> bool {
        (0..words.len()).any(|at| self.begins(&words[at..]))
    }
}

/// Returns the stretches of a text that a query matches, in order and without overlap.
pub fn marks(text: &str, query: &str) -> Vec<Range<usize>> {
    let phrases = phrases(query);
    let words = words(text);
    let mut marks: Vec<Range<usize>> = Vec::new();
    for at in 0..words.len() {
        for phrase in phrases.iter().filter(|phrase| phrase.begins(&words[at..])) {
            let last = &words[at + phrase.words.len() - 1];
            let single = phrase.words.last().is_some_and(|word| word.chars().nth(1).is_none());
            let end = match last.kind {
                WordKind::Pair { first_end } if single => first_end,
                WordKind::Spaced | WordKind::Pair { .. } | WordKind::Last => last.span.end,
            };
            marks.push(words[at].span.start..end);
        }
    }
    marks.sort_by_key(|mark| (mark.start, mark.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark),
        }
    }
    joined
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

fn each_word(text: &str, emit: impl FnMut(Word)) {
    let mut cutter =
        Cutter { emit, taken_bytes: 0, word: String::new(), word_chars: 0, span: 0..0, dense: None };
    let mut folded = String::new();
    let mut rest = text.char_indices().peekable();
    while cutter.taken_bytes < WORDS_BYTES_MAX
        && let Some((start, c)) = rest.next()
    {
        if is_ignored(c) {
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some((at, mark)) = rest.next_if(|(_, next)| !next.is_ascii() && attaches(*next)) {
            end = at + mark.len_utf8();
        }
        if end == start + 1 {
            cutter.take(c.to_ascii_lowercase(), start..end);
            continue;
        }
        folded.clear();
        fold(&text[start..end], &mut folded);
        for c in folded.chars() {
            cutter.take(c, start..end);
        }
    }
    cutter.end_word();
    cutter.end_run();
}

/// Cuts folded characters into words.
struct Cutter<F: FnMut(Word)> {
    emit: F,
    taken_bytes: usize,
    word: String,
    word_chars: usize,
    span: Range<usize>,
    /// The newest character of a script without spaces.
    dense: Option<(char, Range<usize>)>,
}

impl<F: FnMut(Word)> Cutter<F> {
    fn take(&mut self, c: char, span: Range<usize>) {
        // A character of a script without spaces is in two pairs.
        self.taken_bytes += if is_dense(c) { 2 * c.len_utf8() + 1 } else { c.len_utf8() };
        let is_letter = c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c));
        if is_letter && is_dense(c) {
            self.end_word();
            if let Some((first, first_span)) = self.dense.replace((c, span.clone())) {
                let kind = WordKind::Pair { first_end: first_span.end };
                let text = [first, c].iter().collect();
                (self.emit)(Word { text, span: first_span.start..span.end, kind });
            }
            return;
        }
        self.end_run();
        if !is_letter {
            return self.end_word();
        }
        if self.word.is_empty() {
            self.span.start = span.start;
        }
        if self.word_chars < WORD_CHARS_MAX {
            self.word.push(c);
            self.word_chars += 1;
        }
        self.span.end = span.end;
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.word_chars = 0;
            let text = std::mem::take(&mut self.word);
            (self.emit)(Word { text, span: self.span.clone(), kind: WordKind::Spaced });
        }
    }

    fn end_run(&mut self) {
        if let Some((last, span)) = self.dense.take() {
            (self.emit)(Word { text: last.to_string(), span, kind: WordKind::Last });
        }
    }
}

/// Appends a character and its marks as search compares them.
fn fold(cluster: &str, folded: &mut String) {
    let mut plain = String::with_capacity(cluster.len());
    for c in cluster.nfkd().filter(|c| !is_optional_mark(*c) && !is_ignored(*c)) {
        for c in c.to_lowercase() {
            match spelled_out(c) {
                Some(letters) => plain.push_str(letters),
                None => plain.push(c),
            }
        }
    }
    // Lower case of `İ` brings a mark of its own.
    folded.extend(plain.chars().filter(|c| !is_optional_mark(*c)).nfc());
}

/// Returns the plain spelling of a letter that decomposition leaves alone, if people type it or its other case differently.
fn spelled_out(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'ı' => "i",
        'ς' => "σ",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ł' => "l",
        'ħ' => "h",
        'ŧ' => "t",
        'þ' => "th",
        // Persian and Arabic keyboards write these letters differently.
        'ک' => "ك",
        'ی' | 'ى' => "ي",
        _ => return None,
    })
}

/// Accents, and the vowel points of Arabic and Hebrew.
fn is_optional_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
        // Hebrew.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        // Arabic.
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}')
}

/// Characters that change how a word looks, not what it is: joiners, the soft hyphen, variation selectors, tatweel.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{640}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a character is folded together with the one before it.
fn attaches(c: char) -> bool {
    // Vowels and ends of Hangul syllables, and the voicing marks of half-width Katakana.
    matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}' | '\u{ff9e}' | '\u{ff9f}')
        || is_combining_mark(c)
}

/// Whether a character belongs to a script whose words are not separated by spaces, or to Hangul.
fn is_dense(c: char) -> bool {
    matches!(c,
        // Thai, Lao, Myanmar, Khmer.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}'
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}'
        // Hangul.
        | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        // Han, Hiragana, Katakana, Bopomofo.
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{303c}'
        | '\u{3041}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{1aff0}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;

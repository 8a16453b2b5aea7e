//! A model that takes no prefix: asked to continue, it repeats, apologizes, opens the code block again, or begins a new
//! line. Which of these it does depends on the answer so far, so that a prompt always leads to the same continuation.

use super::Told;

/// Characters of each piece, chosen so that pieces end within words.
const PIECE_CHARS: usize = 7;
/// Words of each line of a code block.
const WORDS_PER_LINE: u64 = 8;
const APOLOGY: &str = "Sorry, I was interrupted. Continuing where I left off:\n\n";

/// The ways in which it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Exactly,
    RepeatsShort,
    RepeatsLong,
    Apologizes,
    ReopensFence,
    ReopensBareFence,
    NewLine,
    RepeatsWord,
}

const IN_PROSE: [Manner; 6] = [
    Manner::RepeatsShort,
    Manner::NewLine,
    Manner::Apologizes,
    Manner::RepeatsWord,
    Manner::RepeatsLong,
    Manner::Exactly,
];
const IN_CODE: [Manner; 6] = [
    Manner::ReopensFence,
    Manner::RepeatsShort,
    Manner::ReopensBareFence,
    Manner::Apologizes,
    Manner::RepeatsLong,
    Manner::Exactly,
];

/// Returns the uninterrupted answer.
fn whole(told: &Told) -> String {
    let words = (1..=told.count).map(|no| {
        let ends_line = told.code && no % WORDS_PER_LINE == 0;
        format!("{}.{no}{}", told.tag, if ends_line { '\n' } else { ' ' })
    });
    let words: String = words.collect();
    if told.code { format!("```text\n{}\n```\n", words.trim_end()) } else { words }
}

/// Returns the continuation of `answer` in pieces.
pub(super) fn pieces(told: &Told, answer: &str, asked_to_continue: bool) -> Vec<String> {
    let whole = whole(told);
    let said = continuation(told, &whole, answer, asked_to_continue);
    let chars: Vec<char> = said.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

fn continuation(told: &Told, whole: &str, answer: &str, asked_to_continue: bool) -> String {
    // Readers that count words find this one.
    let Some(at) = position(whole, answer) else { return format!("unexpected-prompt {whole}") };
    let rest = &whole[at..];
    if answer.is_empty() || !asked_to_continue {
        return rest.to_owned();
    }
    let repeated = |count: usize| at.checked_sub(count).map(|from| &whole[from..]);
    let in_code = told.code && whole.len() > at + 5 && at > 12;
    let manners = if in_code { IN_CODE } else { IN_PROSE };
    let said = match manners[at % manners.len()] {
        Manner::Exactly => None,
        Manner::RepeatsShort => repeated(30).map(str::to_owned),
        Manner::RepeatsLong => repeated(200).map(str::to_owned),
        Manner::Apologizes => repeated(60).map(|text| format!("{APOLOGY}{text}")),
        Manner::ReopensFence => Some(format!("```text\n{rest}")),
        Manner::ReopensBareFence => repeated(60).map(|text| format!("```\n{text}")),
        Manner::NewLine if answer.ends_with(char::is_whitespace) => Some(format!("\n{rest}")),
        Manner::NewLine | Manner::RepeatsWord => {
            let word = answer.rsplit(char::is_whitespace).next().unwrap_or_default();
            repeated(word.len()).filter(|_| word.len() >= 8).map(str::to_owned)
        }
    };
    said.unwrap_or_else(|| rest.to_owned())
}

/// Bytes of the whole answer that were said already; none when something else was. Lines may be broken elsewhere.
fn position(whole: &str, answer: &str) -> Option<usize> {
    let mut at = 0;
    for char in answer.chars() {
        let rest = &whole[at..];
        if rest.starts_with(char) || (char.is_whitespace() && rest.starts_with(char::is_whitespace)) {
            at += char.len_utf8();
        } else if !char.is_whitespace() {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_leads_to_the_end_of_the_same_answer() {
        for text in ["say 40 of heron loose", "say 40 of heron loose code"] {
            let told = Told::parse(text).expect("an instruction");
            let whole = whole(&told);
            for at in 0..whole.len() {
                let said = pieces(&told, &whole[..at], true).concat();
                assert!(said.ends_with(&whole[at..]), "after {at} bytes: {said}");
                assert!(!said.contains("unexpected"), "after {at} bytes: {said}");
            }
        }
    }
}

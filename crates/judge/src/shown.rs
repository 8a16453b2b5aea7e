//! Judges each answer as readers see it: one text, however often it was continued. Its words count from 1 without gap
//! or
//! double, also where the model repeated itself, apologized or opened a code block again.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use crate::verify::{Class, Judgement, Log, Violation, event, instruction, is_loose, token};

/// An answer as the API gives it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShownAnswer {
    pub turn: u64,
    /// The message that it answers.
    pub message: String,
    pub texts: Vec<String>,
    pub complete: bool,
    /// Where it was interrupted and continued.
    pub interruptions: u64,
    /// A message went into it, which may be answered in its place.
    pub steered: bool,
}

impl ShownAnswer {
    /// Reads a turn of the API.
    pub fn read(turn: &Value) -> Self {
        let answer = &turn["answer"];
        let parts = answer["parts"].as_array().cloned().unwrap_or_default();
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        Self {
            turn: turn["turn"].as_u64().unwrap_or(0),
            message: turn["message"]["text"].as_str().unwrap_or_default().to_owned(),
            texts: texts.map(str::to_owned).collect(),
            complete: answer["complete"] == true,
            interruptions: answer["interruptions"].as_array().map_or(0, Vec::len) as u64,
            steered: parts.iter().any(|part| part["steered"].is_object()),
        }
    }
}

/// Whether the newest answer was interrupted and must resume by itself.
pub fn will_resume(view: &Value) -> bool {
    let Some(turn) = view["turns"].as_array().and_then(|turns| turns.last()) else { return false };
    let interrupted =
        matches!(turn["marker"]["kind"].as_str(), Some("interrupted" | "recovering" | "recovered"));
    let parts = turn["answer"]["parts"].as_array();
    let in_doubt =
        parts.is_some_and(|parts| parts.iter().any(|part| part["call"]["state"] == "may_have_run"));
    interrupted && !in_doubt && view["stuck"] != true
}

/// Judges the visible answers of one session.
pub fn judge(session: Uuid, answers: &[ShownAnswer], judgement: &mut Judgement) {
    for answer in answers {
        let mut happened = |what: &'static str, count: u64| {
            *judgement.happened.entry(what).or_default() += count;
        };
        let found = Words::count(answer);
        happened("words shown", found.right);
        happened("answers continued", u64::from(answer.interruptions > 0));
        if is_loose(&answer.message) {
            happened("seams repaired", answer.interruptions);
        }
        for (what, class, words) in [
            ("words missing", Class::Lost, found.missing),
            ("words doubled", Class::Doubled, found.doubled),
            ("words foreign", Class::Changed, found.foreign),
        ] {
            *judgement.happened.entry(what).or_default() += words.len() as u64;
            if let Some(first) = words.first() {
                let what = format!("{} {what} in the answer to turn {}: {first}", words.len(), answer.turn);
                judgement.violations.push(Violation { class, session, what });
            }
        }
    }
}

/// Interruptions without output after which a session does not resume by itself.
const IDLE_INTERRUPTIONS_MAX: u64 = 3;

/// A session is suspended only when its runs were interrupted again and again without output.
pub fn judge_suspension(session: Uuid, log: &Log, stuck: bool, judgement: &mut Judgement) {
    let what = "suspended although it moved";
    let idle = idle_interruptions(log);
    let wrong = stuck && idle < IDLE_INTERRUPTIONS_MAX;
    *judgement.happened.entry(what).or_default() += u64::from(wrong);
    *judgement.happened.entry("suspended").or_default() += u64::from(stuck);
    if wrong {
        let what = format!("{what}: {idle} interruptions without output");
        judgement.violations.push(Violation { class: Class::Wedged, session, what });
    }
}

/// Interruptions in a row without output between them, as the log tells.
fn idle_interruptions(log: &Log) -> u64 {
    let (mut idle, mut output) = (0, false);
    for event in log.iter().map(event) {
        match event.kind.as_str() {
            "run_started" => output = false,
            "text_added" | "reasoning_added" | "call_drafted" | "call_asked" => {
                // What comes after the end of its run is recovered output, and counts as much.
                (idle, output) = (idle.min(1), true);
            }
            "run_ended" if event.body["end"]["interrupted"].is_object() => {
                idle = if output { 1 } else { idle + 1 }
            }
            "run_ended" if event.body["end"] == "completed" => idle = 0,
            _ => {}
        }
    }
    idle
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    right: u64,
    missing: Vec<String>,
    doubled: Vec<String>,
    foreign: Vec<String>,
}

impl Words {
    fn count(answer: &ShownAnswer) -> Self {
        let mut words = Self::default();
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let is_whole = answer.complete && !answer.steered;
        let texts = answer.texts.iter().map(|text| if is_whole { text.as_str() } else { whole_words(text) });
        for word in texts.flat_map(|text| text.split_whitespace()).filter(|word| !word.starts_with("```")) {
            let Some((tag, no)) = token(word) else {
                words.foreign.push(word.chars().take(40).collect());
                continue;
            };
            let before = counts.entry(tag).or_default();
            if no <= *before {
                words.doubled.push(word.to_owned());
            } else {
                words.missing.extend((*before + 1..no).map(|no| format!("{tag}.{no}")));
                words.right += 1;
                *before = no;
            }
        }
        if let Some((count, tag)) = instruction(&answer.message).filter(|_| is_whole) {
            let last = counts.get(tag).copied().unwrap_or(0);
            words.missing.extend((last + 1..=count).map(|no| format!("{tag}.{no}")));
        }
        words
    }
}

/// A text without the word that it was cut in.
fn whole_words(text: &str) -> &str {
    text.rfind(char::is_whitespace).map_or("", |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> ShownAnswer {
        let message = "say 4 of heron loose".to_owned();
        ShownAnswer { message, texts: vec![text.to_owned()], complete: true, ..ShownAnswer::default() }
    }

    #[test]
    fn every_word_once_is_right() {
        let words = Words::count(&answer("```text\nheron.1 heron.2\nheron.3 heron.4\n```"));
        assert_eq!(words, Words { right: 4, ..Words::default() });
    }

    #[test]
    fn gaps_doubles_and_other_words_are_found() {
        let words = Words::count(&answer("heron.1 heron.3 heron.3 Sorry"));
        assert_eq!(words.missing, ["heron.2", "heron.4"]);
        assert_eq!(words.doubled, ["heron.3"]);
        assert_eq!(words.foreign, ["Sorry"]);
    }
}

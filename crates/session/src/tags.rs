//! Splits streamed text into answer and reasoning where a model wraps its reasoning in tags.
//!
//! A tag counts only as the first thing of a step, as reasoning models write it; the same letters later in an
//! answer are answer. Tags may be cut anywhere by the stream.

use serde::{Deserialize, Serialize};

const TAGS: &[(&str, &str)] =
    &[("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

/// The stream's position in a step's text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) enum TagState {
    /// Only white space or the start of an opening tag has arrived, which `0` holds back.
    Opening(String),
    /// Inside reasoning; `held` may be the start of the closing tag `TAGS[tag]`.
    Reasoning { tag: usize, held: String },
    /// Plain answer text from here on.
    #[default]
    Answer,
}

/// What a stretch of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Answer,
    Reasoning,
}

impl TagState {
    /// The state at the beginning of a step.
    pub(crate) fn start() -> Self {
        Self::Opening(String::new())
    }

    /// Takes the next text and hands on what is settled.
    pub(crate) fn feed(&mut self, text: &str, emit: &mut impl FnMut(Kind, &str)) {
        match self {
            Self::Answer => emit(Kind::Answer, text),
            Self::Opening(held) => {
                held.push_str(text);
                let held = std::mem::take(held);
                self.open(held, emit);
            }
            Self::Reasoning { tag, held } => {
                held.push_str(text);
                let (tag, held) = (*tag, std::mem::take(held));
                self.close(tag, &held, emit);
            }
        }
    }

    /// Hands on what is still held back, as what it is.
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(Kind, &str)) {
        match std::mem::take(self) {
            Self::Opening(held) if !held.is_empty() => emit(Kind::Answer, &held),
            Self::Reasoning { held, .. } if !held.is_empty() => {
                emit(
                    if fault::planted("half_tag_is_answer") { Kind::Answer } else { Kind::Reasoning },
                    &held,
                );
            }
            Self::Opening(_) | Self::Reasoning { .. } | Self::Answer => {}
        }
    }

    /// Hands on what is held back because something else follows; reasoning may go on after it.
    pub(crate) fn flush(&mut self, emit: &mut impl FnMut(Kind, &str)) {
        match self {
            Self::Reasoning { held, .. } if !held.is_empty() => emit(Kind::Reasoning, &std::mem::take(held)),
            Self::Opening(held) if !held.trim().is_empty() => self.finish(emit),
            Self::Opening(_) | Self::Reasoning { .. } | Self::Answer => {}
        }
    }

    /// Whether anything but white space is held back.
    pub(crate) fn holds_text(&self) -> bool {
        match self {
            Self::Opening(held) | Self::Reasoning { held, .. } => !held.trim().is_empty(),
            Self::Answer => false,
        }
    }

    fn open(&mut self, held: String, emit: &mut impl FnMut(Kind, &str)) {
        let trimmed = held.trim_start();
        if let Some(tag) = TAGS.iter().position(|(open, _)| trimmed.starts_with(open)) {
            let rest = trimmed[TAGS[tag].0.len()..].to_owned();
            *self = Self::Reasoning { tag, held: String::new() };
            return self.close(tag, &rest, emit);
        }
        if trimmed.is_empty() || TAGS.iter().any(|(open, _)| open.starts_with(trimmed)) {
            *self = Self::Opening(held);
            return;
        }
        *self = Self::Answer;
        emit(Kind::Answer, &held);
    }

    fn close(&mut self, tag: usize, text: &str, emit: &mut impl FnMut(Kind, &str)) {
        let close = TAGS[tag].1;
        if let Some(at) = text.find(close) {
            if at > 0 {
                emit(Kind::Reasoning, &text[..at]);
            }
            *self = Self::Answer;
            let rest = &text[at + close.len()..];
            if !rest.is_empty() {
                emit(Kind::Answer, rest);
            }
            return;
        }
        // The longest end of the text that may be the beginning of the closing tag waits for what follows.
        let keep = (1..close.len()).rev().find(|length| text.ends_with(&close[..*length])).unwrap_or(0);
        let settled = &text[..text.len() - keep];
        if !settled.is_empty() {
            emit(Kind::Reasoning, settled);
        }
        *self = Self::Reasoning { tag, held: text[text.len() - keep..].to_owned() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&str]) -> (String, String) {
        let (mut answer, mut reasoning) = (String::new(), String::new());
        let mut state = TagState::start();
        let mut emit = |kind, text: &str| match kind {
            Kind::Answer => answer.push_str(text),
            Kind::Reasoning => reasoning.push_str(text),
        };
        for chunk in chunks {
            state.feed(chunk, &mut emit);
        }
        state.finish(&mut emit);
        (answer, reasoning)
    }

    #[test]
    fn tags_cut_at_every_byte_split_the_same() {
        let text = "\n<think>why < how </ think> not</think>\nBecause <think> is a word.";
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (answer, reasoning) = split(&[&text[..at], &text[at..]]);
            assert_eq!(reasoning, "why < how </ think> not", "cut at {at}");
            assert_eq!(answer, "\nBecause <think> is a word.", "cut at {at}");
        }
    }

    #[test]
    fn an_unclosed_tag_stays_reasoning_and_a_half_tag_is_kept() {
        assert_eq!(split(&["<think>half a thou"]), (String::new(), "half a thou".into()));
        assert_eq!(split(&["<think>x</thi"]), (String::new(), "x</thi".into()));
        assert_eq!(split(&["  <thi"]), ("  <thi".into(), String::new()));
        assert_eq!(split(&["plain <think>no</think>"]), ("plain <think>no</think>".into(), String::new()));
    }
}

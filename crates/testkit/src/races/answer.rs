//! An independent joining of the runs of one answer into the parts that readers see.
//!
//! Runs of a race continue exactly where the text before them ended, so a joined text is their texts in a row.

use serde_json::{Value, json};

use super::model::{Part, Run};

/// A part of an answer with all its runs.
enum Shown {
    Text(String),
    Reasoning(String),
    /// A call whose arguments never arrived in full.
    IncompleteCall(Value),
    Other(Value),
}

/// Where an earlier run ended.
struct End {
    part: usize,
    offset: usize,
    marker: Value,
}

/// The parts of an answer, and where its earlier runs ended.
pub(super) fn join(runs: &[Run]) -> (Vec<Value>, Vec<Value>) {
    let mut answer = Answer::default();
    for (at, run) in runs.iter().enumerate() {
        answer.text_last();
        answer.continues = !answer.parts.is_empty();
        for part in &run.parts {
            answer.add(shown(part, run.end.is_some()));
        }
        if let Some(marker) = run.marker().filter(|_| at + 1 < runs.len()) {
            let (part, offset) = answer.end();
            answer.end_at(End { part, offset, marker });
        }
    }
    let ends = answer.ends.into_iter();
    let ends = ends.map(|end| json!({ "part": end.part, "offset": end.offset, "marker": end.marker }));
    (answer.parts.into_iter().map(Shown::render).collect(), ends.collect())
}

#[derive(Default)]
struct Answer {
    parts: Vec<Shown>,
    ends: Vec<End>,
    /// Whether the next text continues the last one.
    continues: bool,
}

impl Answer {
    /// The last part and its length.
    fn end(&self) -> (usize, usize) {
        (self.parts.len().saturating_sub(1), self.parts.last().map_or(0, Shown::length))
    }

    /// One end a place: a run that brought nothing ended where the one before it did.
    fn end_at(&mut self, end: End) {
        self.ends.retain(|other| (other.part, other.offset) != (end.part, end.offset));
        self.ends.push(end);
    }

    /// Moves the last text behind the thoughts and incomplete calls that follow it.
    fn text_last(&mut self) {
        let hurdles = self.parts.iter().rev().take_while(|part| part.is_passed()).count();
        let last = self.parts.len().saturating_sub(1);
        let Some(at) = last.checked_sub(hurdles).filter(|_| hurdles > 0) else { return };
        if !matches!(self.parts[at], Shown::Text(_)) {
            return;
        }
        self.parts[at..].rotate_left(1);
        let (last, length) = self.end();
        for End { part, offset, marker } in std::mem::take(&mut self.ends) {
            let (part, offset) = match part.cmp(&at) {
                std::cmp::Ordering::Less => (part, offset),
                std::cmp::Ordering::Equal => (last, offset),
                std::cmp::Ordering::Greater => (last, length),
            };
            self.end_at(End { part, offset, marker });
        }
    }

    fn add(&mut self, shown: Shown) {
        let last = self.parts.len().saturating_sub(1);
        match (shown, self.parts.last_mut().filter(|_| self.continues)) {
            (Shown::Text(more), Some(Shown::Text(text))) => {
                text.push_str(&more);
                self.continues = false;
            }
            (Shown::Reasoning(more), Some(Shown::Reasoning(thought))) => *thought += &format!("\n\n{more}"),
            (Shown::Reasoning(more), Some(Shown::Text(_))) => match &mut self.parts[..last] {
                [.., Shown::Reasoning(thought)] => *thought += &format!("\n\n{more}"),
                _ => {
                    self.parts.insert(last, Shown::Reasoning(more));
                    self.ends.iter_mut().filter(|end| end.part == last).for_each(|end| end.part += 1);
                }
            },
            (shown, _) => {
                self.parts.push(shown);
                self.continues = false;
            }
        }
    }
}

fn shown(part: &Part, over: bool) -> Shown {
    match part {
        Part::Text(text) => Shown::Text(text.clone()),
        Part::Reasoning(text) => Shown::Reasoning(text.clone()),
        Part::Call { asked: false, outcome: None, .. } => Shown::IncompleteCall(part.render(over)),
        Part::Call { .. } | Part::Steered { .. } => Shown::Other(part.render(over)),
    }
}

impl Shown {
    fn is_passed(&self) -> bool {
        matches!(self, Self::Reasoning(_) | Self::IncompleteCall(_))
    }

    /// Characters of its text.
    fn length(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.chars().count(),
            Self::IncompleteCall(_) | Self::Other(_) => 0,
        }
    }

    fn render(self) -> Value {
        match self {
            Self::Text(text) => json!({ "text": text }),
            Self::Reasoning(text) => json!({ "reasoning": text }),
            Self::IncompleteCall(call) | Self::Other(call) => call,
        }
    }
}

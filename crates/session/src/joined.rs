//! The parts of an answer with all its runs, as one: a text that was interrupted and continued is one text, and where it
//! was interrupted is noted beside it.

use serde::{Deserialize, Serialize};

use crate::event::RunEnd;
use crate::seam::{self, Stage};
use crate::state::{Piece, Run};
use crate::view::{CallProgress, Marker, Part, marker, part};

/// The point where an earlier run of an answer ended prematurely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Interruption {
    /// Index of the part in which, or after which, the run ended.
    pub part: usize,
    /// Characters of the part's text before the interruption; 0 for a call or a message.
    pub offset: usize,
    pub marker: Marker,
}

/// An answer as readers get it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Joined {
    pub parts: Vec<Part>,
    pub interruptions: Vec<Interruption>,
}

impl Joined {
    /// The text of the answer alone, part by part.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Reasoning(_) | Part::Call { .. } | Part::Steered { .. } => None,
        })
    }
}

/// Joins the runs of one answer.
pub fn joined(runs: &[Run]) -> Joined {
    let mut joining = Joining::default();
    for (at, run) in runs.iter().enumerate() {
        joining.add(run);
        if at + 1 < runs.len()
            && let Some(marker) = marker(run)
        {
            joining.interrupt(marker);
        }
    }
    joining.joined
}

/// How far the text at this place among the pieces of a run came: it is over when something follows it.
pub(crate) fn stage(run: &Run, at: usize) -> Stage {
    match &run.end {
        _ if at + 1 < run.pieces.len() => Stage::Completed,
        Some(RunEnd::Completed) => Stage::Completed,
        None | Some(_) => Stage::Unfinished,
    }
}

impl Part {
    /// Characters of its text; 0 for a call or a message.
    fn length(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.chars().count(),
            Self::Call { .. } | Self::Steered { .. } => 0,
        }
    }
}

#[derive(Default)]
struct Joining {
    joined: Joined,
    /// The last part is of an earlier run, and may be continued.
    continues: bool,
}

impl Joining {
    fn add(&mut self, run: &Run) {
        self.continues = !self.joined.parts.is_empty();
        self.text_last();
        for (at, piece) in run.pieces.iter().enumerate() {
            self.add_piece(piece, run, stage(run, at));
        }
    }

    /// Moves the last text behind the reasoning and incomplete calls that follow it, because the next run continues
    /// that text.
    fn text_last(&mut self) {
        let Joined { parts, interruptions } = &mut self.joined;
        let Some(at) = parts.iter().rposition(|part| matches!(part, Part::Text(_))) else { return };
        let behind = |part: &Part| {
            matches!(part, Part::Reasoning(_) | Part::Call { state: CallProgress::Incomplete, .. })
        };
        if at + 1 == parts.len() || !parts[at + 1..].iter().all(behind) {
            return;
        }
        let text = parts.remove(at);
        let end = text.length();
        parts.push(text);
        let last = parts.len() - 1;
        for cut in interruptions.iter_mut() {
            if cut.part == at {
                cut.part = last;
            } else if cut.part > at {
                (cut.part, cut.offset) = (last, end);
            }
        }
        // Of two at the same place, the later one counts.
        interruptions.reverse();
        interruptions.dedup_by_key(|cut| (cut.part, cut.offset));
        interruptions.reverse();
    }

    fn add_piece(&mut self, piece: &Piece, run: &Run, stage: Stage) {
        let parts = &mut self.joined.parts;
        match (piece, parts.last_mut()) {
            (Piece::Text(text), Some(Part::Text(previous))) if self.continues => {
                if run.asked_to_continue && !fault::planted("seam_is_left_as_it_is") {
                    seam::join(previous, text, stage);
                } else {
                    previous.push_str(text);
                }
                self.continues = false;
            }
            (Piece::Reasoning(text), Some(Part::Reasoning(previous))) if self.continues => {
                previous.push_str("\n\n");
                previous.push_str(text);
            }
            // A model that thinks before it continues: the thought goes before the text, so that the text stays one.
            (Piece::Reasoning(text), Some(Part::Text(_))) if self.continues => {
                let last = parts.len() - 1;
                if let Some(Part::Reasoning(previous)) = last.checked_sub(1).and_then(|at| parts.get_mut(at))
                {
                    previous.push_str("\n\n");
                    previous.push_str(text);
                } else {
                    parts.insert(last, Part::Reasoning(text.clone()));
                    let moved = self.joined.interruptions.iter_mut().filter(|cut| cut.part >= last);
                    moved.for_each(|cut| cut.part += 1);
                }
            }
            _ => {
                parts.push(part(piece, run));
                self.continues = false;
            }
        }
    }

    /// Notes where a run ended. One that brought nothing ended where the one before it did.
    fn interrupt(&mut self, marker: Marker) {
        let parts = &self.joined.parts;
        let offset = parts.last().map_or(0, Part::length);
        let cut = Interruption { part: parts.len().saturating_sub(1), offset, marker };
        let interruptions = &mut self.joined.interruptions;
        match interruptions.last_mut() {
            Some(last) if (last.part, last.offset) == (cut.part, cut.offset) => *last = cut,
            _ => interruptions.push(cut),
        }
    }
}

//! Fits a session into a model's window: a summary in place of the oldest turns, then shortened results, and never more
//! than fits. The visible session stays as it is.

use session::{Prompt, PromptMessage, TurnId};

use crate::media::Shown;
use crate::model::Model;
use crate::provider::{Effort, Question, ToolOffer};

/// Part of the window at which older turns are summarised, and what is left of it then, in percent.
const FULL_PERCENT: usize = 75;
const KEPT_PERCENT: usize = 40;
/// What stays of a result that had to be shortened.
const RESULT_BYTES_KEPT: usize = 500;
/// Stands for the beginning of a text that was cut.
const CUT: &str = "[the beginning was left out]\n";
/// Room for a model that thinks first.
const SUMMARY_TOKENS_MAX: u32 = 4_096;
const SUMMARY_BYTES_MAX: usize = 16 * 1024;
/// Summaries of turns that a prompt leaves out, in one run. The next run goes on from there.
pub(crate) const CATCH_UPS_MAX: usize = 64;

const SUMMARISE: &str = "Summarise the conversation so far for yourself, so that you can go on without seeing it: \
    facts, decisions, names, numbers, open questions and what was promised. No introduction, no comment.";

/// The bytes that a model's window has for messages, beside its answer, the instructions and the tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The limit for messages, lowered by refusals.
    bytes: usize,
    /// The limit from the configured window alone.
    configured_bytes: usize,
}

impl Window {
    pub(crate) fn new(model: &Model, instructions: Option<&str>, tools: &[ToolOffer]) -> Self {
        let tokens = model.window_tokens.saturating_sub(u64::from(model.output_tokens_max));
        let offered: usize = tools.iter().map(ToolOffer::size_bytes).sum();
        let beside = instructions.map_or(0, str::len) + offered;
        Self {
            bytes: model.density.fitting(tokens).saturating_sub(beside),
            configured_bytes: model.density.bytes_of(tokens).saturating_sub(beside),
        }
    }

    /// Bytes of messages above which older turns are summarised.
    pub(crate) fn full_bytes(self) -> usize {
        self.bytes / 100 * FULL_PERCENT
    }

    /// Bytes of earlier turns that are summarised together with the summary of the turns before them.
    pub(crate) fn catch_up_bytes(self, prompt: &Prompt) -> usize {
        let summary = prompt.messages.first().filter(|first| matches!(first, PromptMessage::Summary(_)));
        self.full_bytes().saturating_sub(summary.map_or(0, PromptMessage::size_bytes))
    }

    /// Bytes of a summary that are kept, whatever a model says.
    pub(crate) fn summary_bytes(self) -> usize {
        (self.bytes / 4).min(SUMMARY_BYTES_MAX)
    }

    /// Whether messages may fit the model. The estimate of bytes per token is cautious, so a third more is allowed. A
    /// limit from refusals may be too low, so only the configured window counts.
    pub(crate) fn takes(self, messages: &[PromptMessage]) -> bool {
        size_bytes(messages) <= self.configured_bytes.saturating_add(self.configured_bytes / 3)
    }

    /// Returns the window reduced by `bytes`, for content other than messages.
    pub(crate) fn without(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes), ..self }
    }

    /// Whether messages fit without leaving any out.
    pub(crate) fn holds(self, messages: &[PromptMessage]) -> bool {
        size_bytes(messages) <= self.bytes
    }

    fn kept_bytes(self) -> usize {
        self.bytes / 100 * KEPT_PERCENT
    }
}

fn size_bytes(messages: &[PromptMessage]) -> usize {
    messages.iter().map(PromptMessage::size_bytes).sum()
}

/// The turns that should be summarised before the model is asked: the question for it, and the last of them.
pub(crate) struct Compaction {
    pub(crate) question: Question,
    pub(crate) through: TurnId,
    /// Messages that the summary takes the place of.
    messages: usize,
}

/// Whether the prompt fills the window, and what to summarise then.
pub(crate) fn compaction(prompt: &Prompt, model: &Model, window: Window) -> Option<Compaction> {
    // A summary covers everything up to its turn, so it cannot pass over turns that were not read.
    if prompt.earlier.is_some() || prompt.size_bytes() <= window.full_bytes() {
        return None;
    }
    let kept = window.kept_bytes();
    // The turn that is being answered always stays.
    let candidates = prompt.turns.get(1..)?;
    let first = candidates
        .iter()
        .find(|turn| size_bytes(&prompt.messages[turn.at..]) <= kept)
        .or(candidates.last())?;
    let before = prompt.turns.iter().take_while(|turn| turn.at < first.at).count();
    Some(oldest(prompt, before, model, window))
}

/// What to summarise before every turn but the newest is, which stays as it is: it may be continued or answered again.
pub(crate) fn whole(prompt: &Prompt, model: &Model, window: Window) -> Option<Compaction> {
    let before = prompt.turns.len().checked_sub(1).filter(|before| *before > 0)?;
    Some(oldest(prompt, before, model, window))
}

/// Summarises the oldest of the first `turns_max` turns: as many as fit one question, and at least one.
fn oldest(prompt: &Prompt, turns_max: usize, model: &Model, window: Window) -> Compaction {
    let end = |turns: usize| prompt.turns.get(turns).map_or(prompt.messages.len(), |turn| turn.at);
    let (mut size, mut from) = (0, 0);
    let fit = (1..=turns_max).take_while(|turns| {
        size += size_bytes(&prompt.messages[from..end(*turns)]);
        from = end(*turns);
        size <= window.full_bytes()
    });
    let turns = fit.count().max(1);
    let messages = end(turns);
    let question = summary_question(prompt.messages[..messages].to_vec(), model, window);
    Compaction { question, through: prompt.turns[turns - 1].turn, messages }
}

/// The question for a summary of the oldest turns that a prompt leaves out, behind what its own summary says.
pub(crate) fn catch_up(prompt: &Prompt, oldest: Prompt, model: &Model, window: Window) -> Option<Compaction> {
    let through = oldest.turns.last()?.turn;
    let summary = prompt.messages.first().filter(|first| matches!(first, PromptMessage::Summary(_)));
    let messages = summary.cloned().into_iter().chain(oldest.messages).collect();
    Some(Compaction { question: summary_question(messages, model, window), through, messages: 0 })
}

fn summary_question(mut messages: Vec<PromptMessage>, model: &Model, window: Window) -> Question {
    // What is summarized must itself fit, or the oldest of it is left out.
    shorten(&mut messages, window.full_bytes());
    messages.push(PromptMessage::User(session::Message::text(SUMMARISE)));
    Question {
        model: model.id.clone(),
        instructions: None,
        messages,
        tools: Vec::new(),
        output_tokens_max: SUMMARY_TOKENS_MAX.min(model.output_tokens_max),
        effort: Effort::Lowest,
        shown: Shown::default(),
    }
}

impl Compaction {
    /// Puts the summary in place of what it summarises.
    pub(crate) fn apply(&self, prompt: &mut Prompt, summary: String) {
        prompt.messages.splice(..self.messages, [PromptMessage::Summary(summary)]);
        prompt.turns.retain(|turn| turn.at >= self.messages);
        prompt.turns.iter_mut().for_each(|turn| turn.at = turn.at - self.messages + 1);
    }
}

/// The hard cap: whatever the session holds, what is sent fits the window, unless the newest message alone does not.
pub(crate) fn fit(messages: &mut Vec<PromptMessage>, window: Window) {
    leave_out(messages, window.bytes);
    let newest = messages.iter().rposition(|message| matches!(message, PromptMessage::User(_)));
    cut(messages, newest.unwrap_or(0), window.bytes);
}

/// Shortens what is to be summarized until it fits.
fn shorten(messages: &mut Vec<PromptMessage>, room_bytes: usize) {
    leave_out(messages, room_bytes);
    let end = messages.len();
    cut(messages, end, room_bytes);
}

/// Shortens old results, then drops the oldest messages.
fn leave_out(messages: &mut Vec<PromptMessage>, room_bytes: usize) {
    let mut excess = size_bytes(messages).saturating_sub(room_bytes);
    for message in messages.iter_mut() {
        if excess == 0 {
            return;
        }
        if let PromptMessage::Result { content, .. } = message
            && content.len() > RESULT_BYTES_KEPT
        {
            let before = content.len();
            content.truncate(content.floor_char_boundary(RESULT_BYTES_KEPT));
            content.push_str("\n[the rest was left out to keep within the window]");
            excess = excess.saturating_sub(before.saturating_sub(content.len()));
        }
    }
    let summary = summaries(messages);
    // The turns begin with something said to the model, never with an answer or a result.
    while size_bytes(messages) > room_bytes && messages.len() > summary + 1 {
        let later = messages.iter().skip(summary + 1);
        let Some(next) = later.clone().position(|message| matches!(message, PromptMessage::User(_))) else {
            break;
        };
        messages.drain(summary..=summary + next);
    }
}

/// The summary stays: it stands for more than any other message.
fn summaries(messages: &[PromptMessage]) -> usize {
    usize::from(matches!(messages.first(), Some(PromptMessage::Summary(_))))
}

/// Cuts the texts of the messages before `end`, oldest first, until all messages fit.
fn cut(messages: &mut [PromptMessage], end: usize, room_bytes: usize) {
    let mut excess = size_bytes(messages).saturating_sub(room_bytes);
    let summary = summaries(messages);
    for message in messages.iter_mut().take(end).skip(summary) {
        let text = match message {
            PromptMessage::User(message) => &mut message.text,
            PromptMessage::Assistant { text, .. } => text,
            PromptMessage::Summary(_) | PromptMessage::Note(_) | PromptMessage::Result { .. } => continue,
        };
        if excess == 0 {
            return;
        }
        let before = text.len();
        if before > CUT.len() {
            let start = text.ceil_char_boundary((excess + CUT.len()).min(before));
            *text = format!("{CUT}{}", &text[start..]);
            excess = excess.saturating_sub(before - text.len());
        }
    }
}

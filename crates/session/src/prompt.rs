//! The prompt of a session: the summary of older turns, then the visible turns. Turns that the state no longer holds are
//! read from the log, until the model's window is full.

use crate::chat;
use crate::event::{Message, ProviderPart};
use crate::id::{CallNo, Seq, TurnId};
use crate::joined::stage;
use crate::limits::{PROMPT_BYTES_MAX, PROMPT_RESULT_BYTES_MAX};
use crate::seam::join;
use crate::state::{CallState, Piece, Run, Session, Turn};

/// The messages for a model, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub messages: Vec<PromptMessage>,
    /// The turns among the messages, oldest first.
    pub turns: Vec<PromptTurn>,
    /// The visible turns that neither the messages nor the summary cover, if there are any.
    pub earlier: Option<EarlierRange>,
}

/// The range of visible turns that a prompt leaves to be read from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierRange {
    /// The turns started before this entry.
    pub before: Seq,
    /// The turns follow this one, the last that the summary covers; none if they begin with the session.
    pub after: Option<TurnId>,
    /// The index of turns must cover the log up to this entry.
    pub indexed: Seq,
}

/// Where a turn begins among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptTurn {
    pub turn: TurnId,
    pub at: usize,
}

/// One message for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptMessage {
    /// What was said before the turns that follow, in short.
    Summary(String),
    /// What the agent is told before the message that follows.
    Note(String),
    User(Message),
    Assistant {
        text: String,
        reasoning: String,
        calls: Vec<PromptCall>,
        /// What only the provider of the answer understands, in order. `text_before` counts from the start of the text.
        parts: Vec<ProviderPart>,
    },
    Result {
        call: CallNo,
        provider_call: Option<String>,
        content: String,
    },
}

/// A call as a model asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCall {
    pub call: CallNo,
    pub provider_call: Option<String>,
    pub tool: String,
    pub arguments: String,
}

impl Prompt {
    /// The model that the newest message names, if it names one.
    pub fn model(&self) -> Option<&str> {
        let newest = self.messages.iter().rev().find_map(|message| match message {
            PromptMessage::User(message) => Some(message),
            PromptMessage::Summary(_)
            | PromptMessage::Note(_)
            | PromptMessage::Assistant { .. }
            | PromptMessage::Result { .. } => None,
        });
        newest?.model.as_deref()
    }

    /// Bytes that a model is shown of it.
    pub fn size_bytes(&self) -> usize {
        self.messages.iter().map(PromptMessage::size_bytes).sum()
    }

    /// Puts an older turn before the others, behind the summary.
    pub fn prepend(&mut self, turn: TurnId, messages: Vec<PromptMessage>) {
        let at = usize::from(self.has_summary());
        self.turns.iter_mut().for_each(|later| later.at += messages.len());
        self.turns.insert(0, PromptTurn { turn, at });
        self.messages.splice(at..at, messages);
    }

    /// Adds a turn behind the others.
    pub fn append(&mut self, turn: TurnId, messages: Vec<PromptMessage>) {
        self.turns.push(PromptTurn { turn, at: self.messages.len() });
        self.messages.extend(messages);
    }

    /// Puts a summary before the turns, in place of an older one.
    pub fn set_summary(&mut self, text: String) {
        if self.has_summary() {
            self.messages[0] = PromptMessage::Summary(text);
        } else {
            self.turns.iter_mut().for_each(|turn| turn.at += 1);
            self.messages.insert(0, PromptMessage::Summary(text));
        }
    }

    fn has_summary(&self) -> bool {
        matches!(self.messages.first(), Some(PromptMessage::Summary(_)))
    }
}

/// The prompt of a state.
pub fn prompt(session: &Session) -> Prompt {
    // By place, not by number: an interrupting message goes before older ones that wait.
    let through = session.summary.as_ref().map(|summary| summary.through);
    let place = |id| session.turns.iter().position(|turn| Some(turn.id) == id);
    let summarised = place(through).map_or(0, |at| at + 1);
    // The turn that is answered is always in the prompt, also when a summary covers it already.
    let answered = place(session.open().map(|(turn, _)| turn.id)).unwrap_or(usize::MAX);
    let summarised =
        if fault::planted("summary_hides_answered_turn") { summarised } else { summarised.min(answered) };
    let mut prompt = Prompt::default();
    let mut size_bytes = session.summary.as_ref().map_or(0, |summary| summary.text.len());
    let mut left_out = session.turns_before > 0 && place(through).is_none();
    let mut before = session.head().next();
    // From the newest turn backwards, so that the cap takes the oldest.
    for turn in session.turns.iter().skip(summarised).rev() {
        // A run reads what it said itself, whichever answer a person looks at meanwhile.
        let given = turn.answers().find(|runs| runs.iter().any(|run| Some(run.id) == session.open_run));
        let messages = turn_messages(turn, given.or(turn.answer()).unwrap_or_default());
        size_bytes += messages.iter().map(PromptMessage::size_bytes).sum::<usize>();
        if size_bytes > PROMPT_BYTES_MAX && !prompt.messages.is_empty() {
            left_out = true;
            break;
        }
        before = turn.started().unwrap_or(before);
        prompt.prepend(turn.id, messages);
    }
    add_note(session, &mut prompt);
    if let Some(summary) = &session.summary {
        prompt.set_summary(summary.text.clone());
    }
    let indexed = session.open_run.map_or(session.head(), |run| Seq(run.0.saturating_sub(1)));
    prompt.earlier = left_out.then_some(EarlierRange { before, after: through, indexed });
    prompt
}

/// Returns a turn that was read from the log as messages: what its user said, and the answer that is shown.
pub fn earlier_messages(turn: &Turn) -> Vec<PromptMessage> {
    turn_messages(turn, turn.answer().unwrap_or_default())
}

fn turn_messages(turn: &Turn, answer: &[Run]) -> Vec<PromptMessage> {
    let mut messages = vec![PromptMessage::User(turn.message.clone())];
    add_answer(&mut messages, answer);
    messages
}

/// Puts the note about what happened before in front of the newest turn's message.
fn add_note(session: &Session, prompt: &mut Prompt) {
    let Some(newest) = prompt.turns.last().copied() else { return };
    if session.open().is_none_or(|(turn, _)| turn.id != newest.turn) {
        return;
    }
    if let Some(note) = chat::note(session, &prompt.messages[..newest.at]) {
        prompt.messages.insert(newest.at, PromptMessage::Note(note));
    }
}

/// An answer as messages: text, reasoning and calls together, then the results, then what followed them. A run that goes on
/// goes on in the same message: providers take one unfinished message at the end, not two.
fn add_answer(messages: &mut Vec<PromptMessage>, runs: &[Run]) {
    let mut open = Open::default();
    for run in runs {
        // Calls are numbered by the run.
        open.said(messages);
        add_run(messages, &mut open, run);
    }
    open.close(messages);
}

fn add_run(messages: &mut Vec<PromptMessage>, open: &mut Open, run: &Run) {
    let mut continues = run.asked_to_continue;
    let mut parts = run.parts.iter().filter(|placed| belongs_to_prompt(&placed.part, run)).peekable();
    open.run_from = open.text.len();
    for (at, piece) in run.pieces.iter().enumerate() {
        while let Some(placed) = parts.next_if(|placed| placed.pieces_before <= at) {
            open.part(&placed.part);
        }
        match piece {
            Piece::Text(text) => {
                let said = open.said(messages);
                if std::mem::take(&mut continues) {
                    // As readers get it: what was repeated is not said twice.
                    join(&mut said.text, text, stage(run, at));
                } else {
                    said.text.push_str(text);
                }
            }
            Piece::Reasoning(text) => open.said(messages).reasoning.push_str(text),
            Piece::Steered { message, .. } => {
                open.close(messages);
                messages.push(PromptMessage::User(message.clone()));
            }
            Piece::Call(call) if call.state == CallState::Drafted => {}
            Piece::Call(call) => {
                let content = match &call.state {
                    CallState::Finished(outcome) => capped(&outcome.content),
                    CallState::Drafted | CallState::Asked => {
                        "The call was interrupted. It may have run; its outcome is unknown.".to_owned()
                    }
                };
                open.calls.push(PromptCall {
                    call: call.no,
                    provider_call: call.provider_call.clone(),
                    tool: call.tool.clone(),
                    arguments: call.arguments.clone(),
                });
                let provider_call = call.provider_call.clone();
                open.results.push(PromptMessage::Result { call: call.no, provider_call, content });
            }
        }
    }
    for placed in parts {
        open.part(&placed.part);
    }
}

/// A part of a call that was cut off is left out with the call; a later run may use the same call number.
fn belongs_to_prompt(part: &ProviderPart, run: &Run) -> bool {
    let is_its = |piece: &Piece| matches!(piece, Piece::Call(call) if Some(call.no) == part.call && call.state != CallState::Drafted);
    part.call.is_none() || run.pieces.iter().any(is_its)
}

/// The assistant message that is being put together.
#[derive(Default)]
struct Open {
    text: String,
    reasoning: String,
    calls: Vec<PromptCall>,
    parts: Vec<ProviderPart>,
    results: Vec<PromptMessage>,
    /// Bytes of the text that earlier runs of the answer brought.
    run_from: usize,
}

impl Open {
    /// What is said after a call belongs to the next message.
    fn said(&mut self, messages: &mut Vec<PromptMessage>) -> &mut Self {
        if !self.calls.is_empty() {
            self.close(messages);
        }
        self
    }

    /// Parts arrive when their step ends, before the next step says anything.
    fn part(&mut self, part: &ProviderPart) {
        let text_before = (self.run_from as u64 + part.text_before).min(self.text.len() as u64);
        self.parts.push(ProviderPart { text_before, ..part.clone() });
    }

    fn close(&mut self, messages: &mut Vec<PromptMessage>) {
        let Self { text, reasoning, calls, parts, results, run_from: _ } = std::mem::take(self);
        if !(text.is_empty() && reasoning.is_empty() && calls.is_empty()) {
            messages.push(PromptMessage::Assistant { text, reasoning, calls, parts });
        }
        messages.extend(results);
    }
}

fn capped(content: &str) -> String {
    if content.len() <= PROMPT_RESULT_BYTES_MAX {
        return content.to_owned();
    }
    let cut = (0..=PROMPT_RESULT_BYTES_MAX).rev().find(|at| content.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[cut: {} of {} bytes shown]", &content[..cut], cut, content.len())
}

impl PromptMessage {
    /// Text that the model said, without calls.
    pub fn said(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), reasoning: String::new(), calls: Vec::new(), parts: Vec::new() }
    }

    /// Bytes that a model is shown of it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Summary(text) | Self::Note(text) => text.len(),
            Self::User(message) => message.text.len(),
            Self::Assistant { text, reasoning, calls, parts } => {
                let calls: usize = calls.iter().map(|call| call.tool.len() + call.arguments.len()).sum();
                let parts: usize = parts.iter().map(|part| part.data.len()).sum();
                text.len() + reasoning.len() + calls + parts
            }
            Self::Result { content, .. } => content.len(),
        }
    }
}

//! What a model sees of a session: the summary of older turns, then the visible turns, within hard caps.

use crate::chat;
use crate::event::Message;
use crate::id::{CallNo, TurnId};
use crate::joined::stage;
use crate::limits::{PROMPT_BYTES_MAX, PROMPT_RESULT_BYTES_MAX};
use crate::seam::join;
use crate::state::{CallState, Piece, Run, Session};

/// The messages for a model, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub messages: Vec<PromptMessage>,
    /// The turns among the messages, oldest first.
    pub turns: Vec<PromptTurn>,
    /// Whether turns were left out to keep the cap.
    pub truncated: bool,
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
    // From the newest turn backwards, so that the cap takes the oldest.
    for turn in session.turns.iter().skip(summarised).rev() {
        let mut messages = vec![PromptMessage::User(turn.message.clone())];
        // A run reads what it said itself, whichever answer a person looks at meanwhile.
        let given = turn.answers().find(|runs| runs.iter().any(|run| Some(run.id) == session.open_run));
        let runs = given.or(turn.answer()).unwrap_or_default();
        add_answer(&mut messages, runs);
        size_bytes += messages.iter().map(PromptMessage::size_bytes).sum::<usize>();
        if size_bytes > PROMPT_BYTES_MAX && !prompt.messages.is_empty() {
            prompt.truncated = true;
            break;
        }
        prompt.turns.iter_mut().for_each(|later| later.at += messages.len());
        prompt.turns.insert(0, PromptTurn { turn: turn.id, at: 0 });
        prompt.messages.splice(0..0, messages);
    }
    add_note(session, &mut prompt);
    prompt.truncated |= session.turns_before > 0 && session.summary.is_none();
    if let Some(summary) = &session.summary {
        prompt.turns.iter_mut().for_each(|turn| turn.at += 1);
        prompt.messages.insert(0, PromptMessage::Summary(summary.text.clone()));
    }
    prompt
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
    for (at, piece) in run.pieces.iter().enumerate() {
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
}

/// The assistant message that is being put together.
#[derive(Default)]
struct Open {
    text: String,
    reasoning: String,
    calls: Vec<PromptCall>,
    results: Vec<PromptMessage>,
}

impl Open {
    /// What is said after a call belongs to the next message.
    fn said(&mut self, messages: &mut Vec<PromptMessage>) -> &mut Self {
        if !self.calls.is_empty() {
            self.close(messages);
        }
        self
    }

    fn close(&mut self, messages: &mut Vec<PromptMessage>) {
        let Self { text, reasoning, calls, results } = std::mem::take(self);
        if !(text.is_empty() && reasoning.is_empty() && calls.is_empty()) {
            messages.push(PromptMessage::Assistant { text, reasoning, calls });
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
    /// Bytes that a model is shown of it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Summary(text) | Self::Note(text) => text.len(),
            Self::User(message) => message.text.len(),
            Self::Assistant { text, reasoning, calls } => {
                let calls: usize = calls.iter().map(|call| call.tool.len() + call.arguments.len()).sum();
                text.len() + reasoning.len() + calls
            }
            Self::Result { content, .. } => content.len(),
        }
    }
}

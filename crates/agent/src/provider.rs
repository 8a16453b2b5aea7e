//! The seam to models: what one is asked, and what it streams back. Each wire format is one file.

pub mod anthropic;
pub mod openai;

use std::time::Duration;

use session::{Prompt, Usage};

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub model: String,
    /// What the model is told before the session.
    pub instructions: Option<String>,
    pub prompt: Prompt,
    pub tools: Vec<ToolOffer>,
    pub output_tokens_max: u32,
}

/// A tool that the model may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOffer {
    pub name: String,
    pub about: String,
    /// The JSON schema of its arguments.
    pub arguments: serde_json::Value,
}

/// A fragment of an answer, as the provider streams it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A piece of a call. The place tells the calls of an answer apart; id and tool come with its first piece.
    Call {
        place: u32,
        id: Option<String>,
        tool: Option<String>,
        arguments: String,
    },
    /// What the provider counted so far in this answer; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is whole. Nothing follows.
    End(Finish),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The model said what it had to say.
    Said,
    /// It waits for the outcome of its calls.
    Calls,
    /// It reached the most tokens that it may say, or that fit.
    Length,
    /// The provider kept back the rest.
    Withheld,
}

/// Why an answer did not come, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The provider asks to wait, or is out of order for the moment.
    #[error("the provider is busy: {reason}")]
    Busy { reason: String, retry_after: Option<Duration> },
    /// The provider does not accept the question; asking again does not help.
    #[error("the provider refused: {reason}")]
    Refused { reason: String },
    /// The stream ended, stalled or broke before the answer did.
    #[error("the answer was cut off: {reason}")]
    Cut { reason: String },
    /// What came is not what the wire format says.
    #[error("the provider sent something unreadable: {reason}")]
    Unreadable { reason: String },
}

/// Reads one answer off the events of a stream, in order.
pub trait Decoder: Send {
    /// Takes one event.
    ///
    /// # Errors
    /// When the provider says that it failed, or the event cannot be read.
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError>;

    /// The stream is over.
    ///
    /// # Errors
    /// When the answer is not.
    fn over(&mut self) -> Result<Vec<Delta>, ProviderError>;
}

/// How a model is told what was said before the turns that it is shown.
fn before(summary: &str) -> String {
    format!("What was said before, in short:\n{summary}")
}

//! One run: a model is asked, what it streams is read off the wire and reported. Nothing here can append to a log.
//!
//! | file | question |
//! | --- | --- |
//! | `provider.rs` | what is a model asked, and what does it stream back? |
//! | `provider/openai.rs` | how do Chat Completions say it? |
//! | `provider/anthropic.rs` | how do Messages say it? |
//! | `answer.rs` | how does a stream of bytes become one answer, or a cut-off one? |

pub mod answer;
pub mod provider;

pub use answer::{AnswerLimits, answer};
pub use provider::{Decoder, Delta, Finish, ProviderError, Question, ToolOffer};

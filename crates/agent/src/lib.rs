//! One run: a model is asked, what it streams is read off the wire and reported. Nothing here can append to a log.
//!
//! | file | question |
//! | --- | --- |
//! | `provider.rs` | what is a model asked, and what does it stream back? |
//! | `provider/openai.rs` | how do Chat Completions say it? |
//! | `provider/anthropic.rs` | how do Messages say it? |
//! | `provider/refusal.rs` | what does a reply mean that is no answer? |
//! | `dialect.rs` | what does a model accept? |
//! | `answer.rs` | how does a stream of bytes become one answer, or a cut-off one? |
//! | `alarm.rs` | how does a wait that nearly always ends early cost no timer? |
//! | `transport.rs` | how does a question travel, and its answer back? |
//! | `options.rs` | what does an operator add to the requests of a model? |
//! | `outgoing.rs` | what may be fetched, and from where? |
//! | `model.rs` | which models are there, how much do they read, what do they cost? |
//! | `meter.rs` | what do requests to providers cost, in time, tokens and money? |
//! | `run.rs` | the loop: ask, stream, call tools, repeat |
//! | `step.rs` | how is one question answered, whatever happens to the stream? |
//! | `retry.rs` | which errors are tried again, and when? |
//! | `limits.rs` | what may a run use? |
//! | `window.rs` | what of a session does a model read when not all of it fits? |
//! | `history.rs` | how does a prompt get turns that left the session's state? |
//! | `title.rs` | how does a session get its name? |
//! | `tool.rs` | what may the agent do? |
//! | `media.rs` | which pictures and documents is a model shown? |
//! | `memory.rs` | what may it remember across sessions? |

mod alarm;
pub mod answer;
pub mod dialect;
mod history;
mod limits;
pub mod media;
pub mod memory;
mod meter;
mod model;
pub mod options;
pub mod outgoing;
pub mod provider;
mod retry;
mod run;
mod step;
mod title;
pub mod tool;
pub mod transport;
mod window;

pub use alarm::Alarm;
pub use answer::{AnswerLimits, answer};
pub use dialect::{Dialect, LearnedDialect};
pub use history::{History, NoHistory, Unreadable};
pub use limits::RunLimits;
pub use memory::{CompletedTurn, Handover, Memory, MemoryError, Taken, TaskState};
pub use meter::Purpose;
pub use model::{Density, Model, Prices};
pub use options::{OptionError, RequestOptions};
pub use outgoing::{ClientOptions, Outgoing, Refused};
pub use provider::{
    AnswerStream, ApiKey, BusyKind, Decoder, Delta, Effort, Ending, Finish, KeySource, Provider,
    ProviderError, ProviderResponse, Question, RefusalKind, Secrets, ToolOffer, Wire, endpoint, headers,
    is_at,
};
pub use run::{Agent, Billed, Over, Sink, Work};
pub use tool::{Tool, ToolCall, World};
pub use transport::{Broken, HttpTransport, Reply, Request, Transport};

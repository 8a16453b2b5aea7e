//! What can be asked of a session, what happened, and what it means: commands are decided, events are folded,
//! effects are returned.
//!
//! Everything here is a pure function of its arguments. There is no IO, no async, no clock and no randomness: time,
//! spool slots and policies come in as arguments, and ids are the `seq` of the entry that made them.
//!
//! | file | question |
//! | --- | --- |
//! | [`command`] | what can be asked of a session? |
//! | [`event`] | what can happen? (the stored format) |
//! | [`entry`] | how is an event numbered, timed and chained? |
//! | [`state`] | what is known of a session at a `seq`? |
//! | [`decide`](decide()) | which events and effects follow from a command? |
//! | [`fold`](fold()) | what does an entry change? |
//! | [`organise`] | which tags may a session have? |
//! | [`recover`](recover()) | what must be appended after a crash, and which run resumes? |
//! | [`joined`](joined()) | what is an answer that took several runs? |
//! | [`join`] | how are two texts of one answer joined? |
//! | [`chat`] | which chat, what is marked on it, what is the agent told? |
//! | [`memory`] | what is owed to memory, and to whom? |
//! | [`view`](view()) | what does a reader see? |
//! | [`prompt`](prompt()) | what does a model see? |

#![warn(clippy::wildcard_enum_match_arm, clippy::iter_over_hash_type)]

pub mod chat;
pub mod command;
mod decide;
mod delivery;
pub mod effect;
pub mod entry;
pub mod event;
mod fold;
pub mod id;
mod joined;
pub mod limits;
pub mod memory;
pub mod organise;
mod planted;
mod prompt;
mod recover;
mod seam;
pub mod state;
mod tags;
mod upcast;
mod view;

pub use chat::{ChatKey, ChatKind, ResumeMark, ResumeReason};
pub use command::{Command, Journal, Progress};
pub use decide::{Accepted, Context, Decision, Rejected, Runs, decide};
pub use delivery::{Brought, DeliveredPart, Delivery, DeliveryOutcome, DeliveryStep, FromChat};
pub use effect::{Effect, MemoryCommit};
pub use entry::{Damage, Entry, Hash, Link, hex};
pub use event::{
    Attachment, CallStatus, CommitOutcome, Event, Fingerprint, Flag, InterruptReason, Message, Outcome,
    PostMode, ProviderPart, RecoveryOutcome, RequestPurpose, RetryReason, RunCause, RunEnd, Usage,
};
pub use fold::{
    fold, fold_turn, interrupted_in_a_row, moves_activity, need_after, provisional_title, refill, run_text,
};
pub use id::{
    BlobHash, CallNo, Epoch, MessageKey, NodeId, Owner, ProjectId, RunId, Seq, SessionId, SlotNo, Time,
    TurnId, UserId,
};
pub use joined::{Interruption, Joined, joined};
pub use memory::{Commit, Ledger, Segment};
pub use prompt::{EarlierRange, Prompt, PromptCall, PromptMessage, PromptTurn, earlier_messages, prompt};
pub use recover::recover;
pub use seam::{Stage, join};
pub use state::{
    Call, CallState, Need, Piece, PlacedPart, Queued, Recovery, Retry, Run, SHAPE, Session, Title, Turn,
};
pub use upcast::Undecodable;
pub use view::{
    Answer, CallProgress, Marker, MarkerKind, OwedView, Part, QueuedView, TurnView, View, marker, parts,
    turn_view, view,
};

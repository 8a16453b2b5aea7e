//! One writer per session: the only caller of `append`. It knows neither HTTP nor platforms, nor which store it has.
//!
//! # Follow one turn
//!
//! 1. A door asks [`Hub::open`] for the session's [`SessionHandle`] and submits a command.
//! 2. `registry.rs` finds the session's writer, or starts one, which claims the session from the store.
//! 3. `writer.rs` takes the command from its mailbox and calls `session::decide`: events and effects, purely.
//! 4. `committer.rs` gathers the appends of all sessions while the previous commit is syncing. Durable, or nothing
//!    happened.
//! 5. `session::fold` applied each new entry; the caller gets its acknowledgement. From here the turn cannot be lost.
//! 6. `effects.rs` performs the effects, now that they are durable: it starts the run, or takes its worker away.
//! 7. What the run brings is gathered into chunks (`gather.rs`) and comes back to the same mailbox: 3, 4, 5 again.
//! 8. `follow.rs` gives every follower the entries in order: history, then live, no gap, no double.
//! 9. After a crash: read, fold, `session::recover`, and the interrupted run resumes (`resume.rs`). When the store refuses appends, what
//!    a run brings waits, unshown, in its spool (`spool.rs`, `outage.rs`) and is healed from there (`heal.rs`).
//! 10. At a boundary, what was completed is handed to whom it is owed (`memory.rs`).

mod changes;
mod chats;
mod clock;
mod committer;
mod compacting;
mod deliveries;
mod earlier;
mod effects;
mod error;
mod follow;
mod gather;
mod handle;
mod heal;
mod hub;
mod input;
mod library;
mod load;
mod memory;
mod metrics;
mod outage;
mod past;
mod registry;
mod repairs;
mod resume;
mod runner;
mod slots;
mod spawn;
mod spool;
mod transcript;
mod trash;
mod writer;

pub use agent::Alarm;
pub use agent::{Outgoing, Refused};
pub use changes::{Change, Line, ListFollower, Missed};
pub use chats::{Arrived, BoundChat, ChatHandle, ChatStatus, Reset, Settled};
pub use clock::{Clock, SystemClock};
pub use committer::Trouble;
pub use deliveries::OwingFollower;
pub use earlier::EarlierTurns;
pub use error::{CommandError, FollowError, StartError};
pub use follow::{Followed, Follower};
pub use handle::{Acknowledged, SessionHandle};
pub use hub::{Create, Health, Hub, Settings};
pub use library::{
    Counts, DocumentKind, Doing, Hit, ListQuery, ListRow, SearchCursor, SearchQuery, SearchScope, Shelf,
    StoreError, TagCount, marks,
};
pub use memory::Remembers;
pub use past::{Moment, Past, PastLine};
pub use resume::{AfterInterruption, ResumePolicy};
pub use runner::{PromptRequest, RunOver, RunProgress, RunRequest, Runner};
pub use spool::{Access, Catcher, Frame, Look, SlotDirectory, SlotFile, SlotMedium, Spool, SpoolError};
pub use transcript::{Hidden, HiddenBy, Transcript, TranscriptTurn};
pub use trash::Trashed;

//! An independent verifier. It shares no crate with the server and speaks its public API only: it plays people who
//! post, stop, undo and retry, and readers who are cut off and come back; it writes down what it was told before it
//! believes it; and in the end it reads every log and sorts what it finds into classes.
//!
//! | file | question |
//! | --- | --- |
//! | `api.rs` | how is the server asked? |
//! | `history.rs` | what was done and seen? |
//! | `play.rs` | what do clients and readers do? |
//! | `verify.rs` | what became of it? |

pub mod api;
pub mod dice;
pub mod history;
pub mod play;
pub mod verify;

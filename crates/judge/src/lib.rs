//! An independent verifier. It uses no crate of the server and speaks its public API only: it plays people who
//! post, stop, undo and retry, and readers who are cut off and come back; it writes down what it was told before it
//! believes it; and in the end it reads every log and sorts what it finds into classes.
//!
//! | file | question |
//! | --- | --- |
//! | `api.rs` | how is the server asked? |
//! | `history.rs` | what was done and seen? |
//! | `play.rs` | what do clients and readers do? |
//! | `verify.rs` | what became of it? |
//! | `shown.rs` | what do readers get of each answer? |
//! | `figures.rs` | how is that told? |
//! | `model.rs` | which model says what the messages ask for? |

pub mod api;
pub mod dice;
pub mod figures;
pub mod history;
pub mod model;
pub mod play;
pub mod shown;
pub mod verify;

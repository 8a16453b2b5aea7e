//! Messaging platforms as doors: what arrives goes into a session's log before the platform is told, what is answered goes back
//! out with a receipt. It sees sessions through the hub alone; it knows neither the store nor a model.
//!
//! # Follow one message
//!
//! 1. `inbound.rs` receives it from a [`platform::Platform`], asks the [`Register`] who its sender is, and keeps in which session
//!    it belongs.
//! 2. It goes into that session's log with the platform's own name of the event as its key. Only then the platform hears, by the
//!    next cursor, that it was taken. Commands (`commands.rs`) are kept before they are done.
//! 3. With the run that answers it, the log says that the answer is owed to the chat.
//! 4. `outbound.rs` sends a courier, who follows the log, cuts the answer into messages (`split.rs`), notes each before it is
//!    sent, and receipts it after.
//! 5. After a restart, what is owed is brought first; then receiving goes on where it was.

mod commands;
pub mod format;
mod gateway;
mod health;
mod inbound;
mod outbound;
pub mod platform;
mod register;
mod spawn;
mod split;
mod words;

pub use gateway::{Gateway, PAIRING_LASTS};
pub use health::{PlatformHealth, State};
pub use register::{Pairing, Register, RegisterError, Taken};
pub use split::split;

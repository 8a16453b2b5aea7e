//! Telegram as the gateway speaks it, against the simulated Bot API over real sockets.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what cannot be set up fails the test")]

mod doubt;
mod files;
mod kit;
mod load;
mod receiving;
mod sending;

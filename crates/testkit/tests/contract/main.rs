//! The contract, rule by rule, through the hub on the SQLite store. A test's name starts with its rule's id.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be set up fails the test"
)]

mod attachments;
mod chats;
mod durable;
mod failure;
mod flush;
mod ids;
mod kit;
mod list;
mod memory;
mod paths;
mod races;
mod recovery;
mod resume;
mod stop;
mod window;

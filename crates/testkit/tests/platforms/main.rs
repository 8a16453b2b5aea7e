//! Messaging platforms against real servers of theirs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what cannot be set up fails the test")]

mod matrix;

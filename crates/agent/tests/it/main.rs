//! The agent through its door: questions and recorded streams in, bodies and deltas out.

mod failures;
mod pictures;
mod questions;
mod responses;
mod runs;
mod streams;

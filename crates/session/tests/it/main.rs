//! What a session does, told from outside: stories, laws over random histories, golden logs and prompts.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod asked;
mod bounds;
mod golden;
mod memory;
mod model;
mod prompts;
mod seams;
mod sizes;
mod story;
mod titles;
mod variants;

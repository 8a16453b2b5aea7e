//! The routes, one file a subject.

pub(super) mod attachments;
pub(super) mod events;
pub(super) mod health;
pub(super) mod messages;
pub(super) mod models;
pub(super) mod people;
pub(super) mod sessions;
pub(super) mod shares;
pub(super) mod turns;

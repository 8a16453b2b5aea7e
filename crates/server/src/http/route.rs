//! The routes, one file a subject.

pub(super) mod attachments;
pub(super) mod audit;
pub(super) mod drafts;
pub(super) mod events;
pub(super) mod export;
pub(super) mod health;
pub(super) mod live;
pub(super) mod log;
pub(super) mod login;
pub(super) mod messages;
pub(super) mod metrics;
pub(super) mod models;
pub(super) mod passkeys;
pub(super) mod preferences;
pub(super) mod projects;
pub(super) mod search;
pub(super) mod secrets;
pub(super) mod server;
pub(super) mod sessions;
pub(super) mod settings;
pub(super) mod shares;
pub(super) mod tasks;
pub(super) mod tokens;
pub(super) mod turns;
pub(super) mod uploads;
pub(super) mod users;

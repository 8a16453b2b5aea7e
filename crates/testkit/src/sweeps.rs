//! Sweeps over the released binary's whole surface. They read the operations from its own description, so that a route
//! that is added tomorrow is swept without anybody telling them.
//!
//! | file | question |
//! | --- | --- |
//! | `sweeps/surface.rs` | which operations are there, and how is each asked? |
//! | `sweeps/entry.rs` | who is let in, from where, and what does every answer carry? |
//! | `sweeps/foreign.rs` | what does one user learn of another, and how soon is what was taken away gone? |
//! | `sweeps/login.rs` | how is a password guarded? |
//! | `sweeps/nonsense.rs` | what becomes of requests that mean nothing? |
//! | `sweeps/stream.rs` | can anything that is said forge an event? |
//! | `sweeps/names.rs` | does a name become a path? |
//! | `sweeps/bombs.rs` | what becomes of requests that are small to send and large to take? |
//! | `sweeps/canary.rs` | is a secret ever written down? |
//! | `sweeps/start.rs` | what does a server do that nobody set up? |

mod bombs;
mod canary;
mod entry;
mod evil;
mod foreign;
mod login;
mod names;
mod nonsense;
mod start;
mod stream;
pub mod surface;

use std::path::Path;

use crate::Report;
use crate::client::Client;
use crate::trial::{Process, Setup, scripted_model};
use surface::{Operation, operations};

/// A password that can be used.
pub const PASSWORD: &str = "correct horse battery";

/// A server with two users and something to find.
#[derive(Debug)]
pub struct Stage {
    pub setup: Setup,
    pub operations: Vec<Operation>,
    /// The first user, who may everything.
    pub owner: Client,
    /// A member, who has sessions of his own.
    pub member: Client,
    pub member_id: String,
    /// A session of the first user with a turn in it.
    pub session: String,
    server: Process,
    _model: Process,
}

impl Stage {
    /// Starts it.
    ///
    /// # Errors
    /// When it does not start.
    pub fn new(home: &Path) -> anyhow::Result<Self> {
        let (model, model_port) = scripted_model()?;
        let setup = Setup::at(home, model_port)?;
        let owner = Client { port: setup.port, token: setup.prepare()? };
        let server = setup.serve()?;
        let session = owner.create()?;
        let turn = owner.post(&session, "say 3 of canary")?["turn"].as_u64();
        owner.follow(&session, turn)?.until("run_ended")?;
        let body = serde_json::json!({ "name": "bob", "role": "member", "password": PASSWORD });
        let made = owner.must("POST", "/users", &body)?;
        let member_id = made["user"].as_str().unwrap_or_default().to_owned();
        let operations = operations(&owner)?;
        let mut stage = Self {
            setup,
            operations,
            member: owner.clone(),
            owner,
            member_id,
            session,
            server,
            _model: model,
        };
        stage.member = stage.token("bob", "write")?;
        Ok(stage)
    }

    /// A client with a new token.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn token(&self, user: &str, scope: &str) -> anyhow::Result<Client> {
        let made = self.setup.command().args(["token", "new", "--user", user, "--scope", scope]).output()?;
        anyhow::ensure!(made.status.success(), "no token: {}", String::from_utf8_lossy(&made.stderr));
        let token = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        Ok(Client { token, port: self.owner.port })
    }

    /// The server's process.
    pub fn process(&self) -> u32 {
        self.server.0.id()
    }

    /// Whether the server still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.server.0.try_wait(), Ok(None))
    }
}

/// Sweeps everything, or one part.
///
/// # Errors
/// When the server cannot be started or asked.
pub fn run(report: &mut Report, full: bool, only: Option<&str>) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut stage = Stage::new(home.path())?;
    report.line("sweeps.operations", stage.operations.len(), ">=40", stage.operations.len() >= 40);
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    if wanted("entry") {
        entry::unauthenticated(report, &stage)?;
        entry::other_sites(report, &stage)?;
        entry::dressed(report, &stage)?;
    }
    if wanted("foreign") {
        foreign::unknown(report, &stage)?;
        foreign::revoked(report, &stage)?;
    }
    if wanted("stream") {
        stream::unforged(report, &stage)?;
    }
    if wanted("names") {
        names::no_paths(report, &stage)?;
    }
    if wanted("login") {
        login::guarded(report, &stage)?;
    }
    if wanted("nonsense") {
        nonsense::refused(report, &mut stage, if full { 1_000 } else { 200 })?;
    }
    if wanted("bombs") {
        bombs::defused(report, &mut stage)?;
    }
    if wanted("evil") {
        evil::endured(report, home.path())?;
    }
    if wanted("canary") {
        canary::never_told(report, home.path())?;
    }
    if wanted("start") {
        start::closed(report, home.path())?;
    }
    Ok(())
}

//! How the server is: for the page that shows it to owners.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use store::people::AuditLine;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::error::{ErrorCode, Problem};
use super::super::gate::{Gate, Policy};
use super::super::pages;
use crate::file;
use crate::samples::Sample;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Watch, routes!(server))
}

/// The server's status. Times are in microseconds since 1970.
#[derive(Debug, Serialize, ToSchema)]
struct ServerBody {
    version: &'static str,
    /// The build of the web UI.
    build: &'static str,
    started_at: i64,
    /// The ID of this process among all nodes that use the store.
    node: String,
    open_runs: u64,
    writers: u64,
    lag_micros: i64,
    store: StoreBody,
    disk: Option<DiskBody>,
    storage: StorageBody,
    last_backup: Option<DoneBody>,
    last_verify: Option<DoneBody>,
    /// Samples of the last 15 minutes, one every five seconds, oldest first.
    samples: Vec<Sample>,
}

/// The store's status.
#[derive(Debug, Serialize, ToSchema)]
struct StoreBody {
    kind: &'static str,
    /// Whether writes currently succeed.
    writable: bool,
    problem: Option<String>,
    search_works: bool,
    /// Bytes of entries not yet compacted into packs.
    tail_bytes: u64,
    /// The number of sessions known to be damaged.
    damaged: u64,
    /// Damage to the database outside of any session, as SQLite reports it.
    malformed: Option<String>,
}

/// The disk of the data directory.
#[derive(Debug, Serialize, ToSchema)]
struct DiskBody {
    free_bytes: u64,
    total_bytes: u64,
}

/// Disk usage of the data directory.
#[derive(Debug, Default, Serialize, ToSchema)]
struct StorageBody {
    /// 0 if sessions are stored in PostgreSQL.
    logs_bytes: u64,
    search_bytes: u64,
    attachments_bytes: u64,
    people_bytes: u64,
    other_bytes: u64,
}

/// The last time a task ran, and its subject.
#[derive(Debug, Serialize, ToSchema)]
struct DoneBody {
    at: i64,
    about: String,
}

impl From<AuditLine> for DoneBody {
    fn from(line: AuditLine) -> Self {
        Self { at: line.time.0, about: line.about }
    }
}

/// Returns the server's status, for owners. It names no session and no user.
#[utoipa::path(get, path = "/api/v1/server", operation_id = "server.status", tag = "server",
    security(("token" = [])),
    responses((status = 200, body = ServerBody), (status = "default", body = Problem)))]
async fn server(State(app): State<App>) -> Result<Json<ServerBody>, Problem> {
    let (hub, data) = app.figures.place();
    let health = hub.health().await;
    let trouble = hub.trouble().borrow().as_ref().map(|trouble| trouble.reason.clone());
    let problem = health.store.dead.or(trouble);
    let place = data.to_owned();
    let measured = tokio::task::spawn_blocking(move || storage(&place)).await;
    let failed = |error: tokio::task::JoinError| Problem::new(ErrorCode::Internal, error.to_string());
    let disk = nix::sys::statvfs::statvfs(data).ok().map(|disk| DiskBody {
        free_bytes: disk.blocks_available() * disk.fragment_size(),
        total_bytes: disk.blocks() * disk.fragment_size(),
    });
    let people = app.desks.people();
    let last = |action| people.latest(action).map(|line| line.map(DoneBody::from));
    Ok(Json(ServerBody {
        version: env!("CARGO_PKG_VERSION"),
        build: pages::build(),
        started_at: app.figures.started_at.0,
        node: hub.node().to_string(),
        open_runs: hub.open_runs(),
        writers: hub.writers() as u64,
        lag_micros: health.store.lag_micros,
        store: StoreBody {
            kind: if app.on_postgres { "postgres" } else { "sqlite" },
            writable: problem.is_none(),
            problem,
            search_works: !health.store.search_off,
            tail_bytes: health.store.tail_bytes,
            damaged: health.store.damaged,
            malformed: health.store.malformed,
        },
        disk,
        storage: measured.map_err(failed)?,
        last_backup: last("backup_made")?,
        last_verify: last("verified")?,
        samples: app.figures.samples.all(),
    }))
}

fn storage(data: &Path) -> StorageBody {
    let mut storage = StorageBody::default();
    for (name, bytes) in file::sizes(data) {
        let name = name.to_string_lossy();
        let part = match name.split('/').next().unwrap_or_default() {
            "blobs" | "uploads" => &mut storage.attachments_bytes,
            name if name.starts_with("people.db") => &mut storage.people_bytes,
            name if name.starts_with("search.db") => &mut storage.search_bytes,
            name if name.starts_with("everturn.db") => &mut storage.logs_bytes,
            _ => &mut storage.other_bytes,
        };
        *part += bytes;
    }
    storage
}

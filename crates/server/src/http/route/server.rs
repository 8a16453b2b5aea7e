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

/// How the server is. Times are microseconds since 1970.
#[derive(Debug, Serialize, ToSchema)]
struct ServerBody {
    version: &'static str,
    /// Of the pages that it serves.
    build: &'static str,
    started_at: i64,
    /// This process among those that use the store.
    node: String,
    open_runs: u64,
    writers: u64,
    lag_micros: i64,
    store: StoreBody,
    disk: Option<DiskBody>,
    storage: StorageBody,
    last_backup: Option<DoneBody>,
    last_verify: Option<DoneBody>,
    /// Every five seconds over the last quarter of an hour, oldest first.
    samples: Vec<Sample>,
}

/// How the store is.
#[derive(Debug, Serialize, ToSchema)]
struct StoreBody {
    kind: &'static str,
    /// Whether anything can be kept at the moment.
    writable: bool,
    problem: Option<String>,
    search_works: bool,
    /// Bytes of entries that are not packed yet.
    tail_bytes: u64,
    /// Sessions that are known to be damaged.
    damaged: u64,
    /// Damage in the database outside of any one session, in SQLite's words.
    malformed: Option<String>,
}

/// The disk that the data directory is on.
#[derive(Debug, Serialize, ToSchema)]
struct DiskBody {
    free_bytes: u64,
    total_bytes: u64,
}

/// What the files in the data directory take.
#[derive(Debug, Default, Serialize, ToSchema)]
struct StorageBody {
    /// 0 when they are on PostgreSQL.
    logs_bytes: u64,
    search_bytes: u64,
    attachments_bytes: u64,
    people_bytes: u64,
    other_bytes: u64,
}

/// When something was last done, and to what.
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

/// How the server is, for owners. It names no session and no user.
#[utoipa::path(get, path = "/api/v1/server", tag = "health", security(("token" = [])),
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

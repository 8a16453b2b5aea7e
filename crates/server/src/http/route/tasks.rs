//! Backups and verifying beside serving, asked for by owners.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{Gate, Policy};
use crate::tasks::{BeginError, Task};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(back_up))
        .route(Policy::Manage, routes!(verify))
        .route(Policy::Manage, routes!(list))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BackupBody {
    /// A folder of the server by its whole path, new or empty, outside of the data directory.
    place: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct BegunBody {
    task: Uuid,
}

/// Begins to copy everything that is kept to a folder of the server, as `everturn backup` does.
#[utoipa::path(post, path = "/api/v1/server/backup", tag = "server", request_body = BackupBody,
    security(("token" = [])), responses((status = 202, body = BegunBody), (status = "default", body = Problem)))]
async fn back_up(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<BackupBody>,
) -> Result<(StatusCode, Json<BegunBody>), Problem> {
    let user = desk.user();
    // It looks at the folder, which may be far away.
    let begun = tokio::task::spawn_blocking(move || app.tasks.back_up(user, &body.place)).await;
    let task = begun.map_err(|error| Problem::new(ErrorCode::Unavailable, error.to_string()))??;
    Ok((StatusCode::ACCEPTED, Json(BegunBody { task })))
}

/// Begins to look whether every session is as it was written, as `everturn verify` does. It changes nothing.
#[utoipa::path(post, path = "/api/v1/server/verify", tag = "server", security(("token" = [])),
    responses((status = 202, body = BegunBody), (status = "default", body = Problem)))]
async fn verify(State(app): State<App>, desk: Desk) -> Result<(StatusCode, Json<BegunBody>), Problem> {
    let task = app.tasks.verify(desk.user())?;
    Ok((StatusCode::ACCEPTED, Json(BegunBody { task })))
}

#[derive(Debug, Serialize, ToSchema)]
struct TasksBody {
    tasks: Vec<Task>,
}

/// The latest 20 tasks since the server was started, newest first.
#[utoipa::path(get, path = "/api/v1/server/tasks", tag = "server", security(("token" = [])),
    responses((status = 200, body = TasksBody), (status = "default", body = Problem)))]
async fn list(State(app): State<App>) -> Json<TasksBody> {
    Json(TasksBody { tasks: app.tasks.list() })
}

impl From<BeginError> for Problem {
    fn from(error: BeginError) -> Self {
        let code = match error {
            BeginError::Busy => ErrorCode::Busy,
            BeginError::OnPostgres(_) => ErrorCode::OnPostgres,
            BeginError::BadPlace(_) => ErrorCode::BadPlace,
        };
        Self::new(code, error.to_string())
    }
}

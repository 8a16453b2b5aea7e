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
    /// The absolute path of a folder on the server. It must be new or empty, and outside the data directory.
    place: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct BegunBody {
    task: Uuid,
}

/// Starts a backup to a folder on the server, like `everturn backup`.
#[utoipa::path(post, path = "/api/v1/server/backup", operation_id = "server.back_up", tag = "server",
    request_body = BackupBody,
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

/// Starts an integrity check of every session, like `everturn verify`. It changes nothing.
#[utoipa::path(post, path = "/api/v1/server/verify", operation_id = "server.verify", tag = "server",
    security(("token" = [])),
    responses((status = 202, body = BegunBody), (status = "default", body = Problem)))]
async fn verify(State(app): State<App>, desk: Desk) -> Result<(StatusCode, Json<BegunBody>), Problem> {
    let task = app.tasks.verify(desk.user())?;
    Ok((StatusCode::ACCEPTED, Json(BegunBody { task })))
}

#[derive(Debug, Serialize, ToSchema)]
struct TasksBody {
    tasks: Vec<Task>,
}

/// Lists the latest 20 tasks since the server started, newest first.
#[utoipa::path(get, path = "/api/v1/server/tasks", operation_id = "server.list_tasks", tag = "server",
    security(("token" = [])),
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

//! Whether the process lives, and whether it should be sent work.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::error::{ErrorCode, Problem};
use super::super::gate::{Gate, Policy};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(health)).route(Policy::Anyone, routes!(ready))
}

#[derive(Debug, Serialize, ToSchema)]
struct Healthy {
    status: &'static str,
}

/// Reports that the process is alive.
#[utoipa::path(get, path = "/api/v1/health", operation_id = "health.live", tag = "health",
    responses((status = 200, body = Healthy)))]
async fn health() -> Json<Healthy> {
    Json(Healthy { status: "alive" })
}

/// Reports whether the server accepts work: interrupted sessions are repaired and it isn't stopping.
#[utoipa::path(get, path = "/api/v1/ready", operation_id = "health.ready", tag = "health",
    responses((status = 200, body = Healthy), (status = 503, body = Problem)))]
async fn ready(State(app): State<App>) -> Result<Json<Healthy>, Problem> {
    if app.is_ready() {
        return Ok(Json(Healthy { status: "ready" }));
    }
    Err(Problem::new(
        ErrorCode::NotReady,
        "The server is starting or stopping. Messages sent now are still saved.",
    ))
}

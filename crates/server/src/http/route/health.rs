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

/// Whether the process lives.
#[utoipa::path(get, path = "/api/v1/health", tag = "health", responses((status = 200, body = Healthy)))]
async fn health() -> Json<Healthy> {
    Json(Healthy { status: "alive" })
}

/// Whether it takes work: every session that was cut off is repaired, and it is not stopping.
#[utoipa::path(get, path = "/api/v1/ready", tag = "health",
    responses((status = 200, body = Healthy), (status = 503, body = Problem)))]
async fn ready(State(app): State<App>) -> Result<Json<Healthy>, Problem> {
    if app.is_ready() {
        return Ok(Json(Healthy { status: "ready" }));
    }
    Err(Problem::new(ErrorCode::NotReady, "The server is stopping. Messages are still kept."))
}

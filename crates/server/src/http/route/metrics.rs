//! The figures of the server.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa_axum::routes;

use super::super::App;
use super::super::error::Problem;
use super::super::gate::{Gate, Policy};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Watch, routes!(figures))
}

/// Returns the server's metrics in Prometheus text format, for owners. They name no session and no user.
#[utoipa::path(get, path = "/api/v1/metrics", operation_id = "server.metrics", tag = "server",
    security(("token" = [])),
    responses((status = 200, body = String), (status = "default", body = Problem)))]
async fn figures(State(app): State<App>) -> Response {
    let text = app.figures.text().await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

//! The API's own description, as OpenAPI and as a page to read.

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa_axum::routes;

use super::gate::{Gate, Policy};

/// Made once, when the router is.
static DESCRIPTION: OnceLock<String> = OnceLock::new();

const PAGE: &str = include_str!("reference.html");

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(openapi)).route(Policy::Anyone, routes!(reference))
}

pub(crate) fn describe(openapi: &utoipa::openapi::OpenApi) {
    DESCRIPTION.get_or_init(|| openapi.to_json().unwrap_or_default());
}

/// Returns the OpenAPI description of this API.
#[utoipa::path(get, path = "/api/v1/openapi.json", operation_id = "reference.openapi", tag = "reference",
    responses((status = 200, body = Object)))]
async fn openapi() -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, DESCRIPTION.get().cloned().unwrap_or_default()).into_response()
}

/// Returns this API's reference as an HTML page.
#[utoipa::path(get, path = "/api/v1/reference", operation_id = "reference.page", tag = "reference",
    responses((status = 200, content_type = "text/html")))]
async fn reference() -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
        frame-ancestors 'none'; base-uri 'none'";
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, PAGE).into_response()
}

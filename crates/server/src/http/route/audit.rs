//! What was done about people and access.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::Problem;
use super::super::extract::Asked;
use super::super::gate::{Gate, Policy};

/// Lines of a page.
const PAGE: usize = 100;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(audit))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AuditAsked {
    /// Return lines before this one. If omitted, the newest lines.
    before: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditLineBody {
    no: i64,
    time: i64,
    /// The user who did it; null for the server's command line and unknown callers.
    user: Option<Uuid>,
    action: String,
    about: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditBody {
    lines: Vec<AuditLineBody>,
}

/// Lists the audit log, newest first: changes to users, credentials, links and settings.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "audit.list", tag = "audit",
    params(AuditAsked), security(("token" = [])),
    responses((status = 200, body = AuditBody), (status = "default", body = Problem)))]
async fn audit(desk: Desk, Asked(asked): Asked<AuditAsked>) -> Result<Json<AuditBody>, Problem> {
    let lines = desk.people().audit(asked.before, PAGE)?.into_iter().map(|line| AuditLineBody {
        no: line.no,
        time: line.time.0,
        user: line.user.map(|user| user.0),
        action: line.action,
        about: line.about,
    });
    Ok(Json(AuditBody { lines: lines.collect() }))
}

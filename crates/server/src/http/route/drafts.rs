//! What a user is writing and has not sent, for his other devices. The live socket tells of it.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};

/// Bytes of a draft; a longer one stays on its device.
const DRAFT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a device's name.
const DEVICE_BYTES_MAX: usize = 100;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Write, routes!(put))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DraftBody {
    /// At most 256 KiB.
    text: String,
    /// The revision that this text replaces. If it is not the newest one, nothing is kept. Without it, the text replaces any.
    base: Option<u64>,
    /// What the device calls itself, so that it knows its own words when they come back.
    device: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct DraftKept {
    /// The `base` of the next change.
    revision: u64,
}

/// Keeps what the caller is writing in a session, and tells the caller's other devices.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/draft", tag = "messages", params(("session" = Uuid, Path)),
    request_body = DraftBody, security(("token" = [])),
    responses((status = 200, body = DraftKept), (status = "default", body = Problem)))]
async fn put(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Body(body): Body<DraftBody>,
) -> Result<Json<DraftKept>, Problem> {
    if body.text.len() > DRAFT_BYTES_MAX || body.device.len() > DEVICE_BYTES_MAX {
        return Err(Problem::new(
            ErrorCode::TooLarge,
            "A draft has at most 256 KiB. It is kept where it is.",
        ));
    }
    let revision = desk.put_draft(session, body.text, body.device, body.base).await?;
    Ok(Json(DraftKept { revision }))
}

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
    /// The revision that this text replaces. If it isn't the latest, nothing is saved. If omitted, the text replaces
    /// any draft.
    base: Option<u64>,
    /// The device's own name, so that it can recognize its own changes.
    device: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct DraftKept {
    /// The `base` of the next change.
    revision: u64,
}

/// Saves the caller's draft in a session and notifies the caller's other devices.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/draft", operation_id = "drafts.put", tag = "drafts",
    params(("session" = Uuid, Path)),
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
            "The draft or the device name is too long, so it wasn't saved. A draft can have at most 256 KiB.",
        ));
    }
    let revision = desk.put_draft(session, body.text, body.device, body.base).await?;
    Ok(Json(DraftKept { revision }))
}

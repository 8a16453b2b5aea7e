//! The ids of a session: each of them leads to the same log.

use axum::Json;
use serde::{Deserialize, Serialize};
use session::{Command, SessionId};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use super::super::wire::Kept;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Write, routes!(add_id))
        .route(Policy::Write, routes!(remove_id))
}

#[derive(Debug, Serialize, ToSchema)]
struct IdsBody {
    /// The session's IDs, oldest first.
    ids: Vec<Uuid>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct IdAsked {
    /// An ID not used by any session.
    id: Uuid,
}

/// Lists a session's IDs.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/ids", operation_id = "sessions.list_ids", tag = "sessions",
    params(("session" = Uuid, Path)), security(("token" = [])),
    responses((status = 200, body = IdsBody), (status = "default", body = Problem)))]
async fn list(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<IdsBody>, Problem> {
    let state = desk.session(session).await?.state().await?;
    Ok(Json(IdsBody { ids: state.ids.iter().map(|SessionId(id)| *id).collect() }))
}

/// Adds an ID to a session. Adding an ID it already has changes nothing.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/ids", operation_id = "sessions.add_id", tag = "sessions",
    params(("session" = Uuid, Path)), request_body = IdAsked, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn add_id(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Body(asked): Body<IdAsked>,
) -> Result<Json<Kept>, Problem> {
    let command = Command::AddId { id: SessionId(asked.id) };
    Ok(Json(desk.session(session).await?.submit(command).await?.into()))
}

/// Removes an ID from a session. A removed ID is never reused for another session. The first ID can't be removed.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}/ids/{id}", operation_id = "sessions.remove_id", tag = "sessions",
    params(("session" = Uuid, Path), ("id" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn remove_id(desk: Desk, AtPath((session, id)): AtPath<(Uuid, Uuid)>) -> Result<Json<Kept>, Problem> {
    let handle = desk.session(session).await?;
    // Lists, chats and exports name the session by its first id.
    if handle.state().await?.ids.first() == Some(&SessionId(id)) {
        let detail = "A session's first ID can't be removed.";
        return Err(Problem::new(ErrorCode::BadRequest, detail));
    }
    Ok(Json(handle.submit(Command::RemoveId { id: SessionId(id) }).await?.into()))
}

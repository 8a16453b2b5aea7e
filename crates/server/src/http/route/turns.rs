//! The turns of a session: pages of older ones, another message in place of one, another of its answers.

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use session::{Command, RunId, TurnId};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::Problem;
use super::super::extract::{Asked, AtPath, Body, Key};
use super::super::gate::{Gate, Policy};
use super::super::wire::{Kept, MessageBody};

/// Turns of a page, at most and when nothing is said.
const PAGE_MAX: usize = 100;
const PAGE: usize = 20;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(page))
        .route(Policy::Write, routes!(edit))
        .route(Policy::Write, routes!(choose_answer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct PageAsked {
    /// Return turns before this one. If omitted, the newest turns.
    before: Option<u64>,
    /// The maximum number of turns, up to 100; 20 if omitted. A page of long turns holds fewer; only an empty page is
    /// the last.
    count: Option<usize>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PageBody {
    /// Oldest first.
    turns: Vec<session::TurnView>,
}

/// Lists visible turns before a given turn.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/turns", operation_id = "turns.list", tag = "turns",
    params(("session" = Uuid, Path), PageAsked),
    security(("token" = [])), responses((status = 200, body = PageBody), (status = "default", body = Problem)))]
async fn page(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Asked(asked): Asked<PageAsked>,
) -> Result<Json<PageBody>, Problem> {
    let count = asked.count.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let turns = desk.session(session).await?.page(asked.before.map(TurnId), count).await?;
    Ok(Json(PageBody { turns }))
}

/// Edits a turn's message: a new turn replaces it and all turns after it.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/turns/{turn}", operation_id = "turns.edit", tag = "turns",
    params(("session" = Uuid, Path), ("turn" = u64, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = MessageBody, security(("token" = [])),
    responses((status = 202, body = Kept), (status = "default", body = Problem)))]
async fn edit(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
    Key(key): Key,
    Body(body): Body<MessageBody>,
) -> Result<(StatusCode, Json<Kept>), Problem> {
    let command = Command::EditMessage { turn: TurnId(turn), message: desk.message(body)?, key };
    let kept = desk.session(session).await?.submit(command).await?;
    Ok((StatusCode::ACCEPTED, Json(kept.into())))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    /// The first run of the answer to show.
    run: u64,
}

/// Chooses which of a turn's answers is shown.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/turns/{turn}/answer", operation_id = "turns.choose_answer", tag = "turns",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), request_body = AnswerBody, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn choose_answer(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
    Body(body): Body<AnswerBody>,
) -> Result<Json<Kept>, Problem> {
    let command = Command::ChooseAnswer { turn: TurnId(turn), run: RunId(body.run) };
    Ok(Json(desk.session(session).await?.submit(command).await?.into()))
}

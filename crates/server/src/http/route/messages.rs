//! What a person says and asks in a session: messages, those that wait, stop, undo, retry, go on.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use session::{Command, RunId, TurnId};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body, Key, OptionalBody};
use super::super::gate::{Gate, Policy};
use super::super::wire::{Kept, MessageBody, PostBody};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Write, routes!(post))
        .route(Policy::Write, routes!(edit_queued, remove_queued))
        .route(Policy::Write, routes!(steer_queued))
        .route(Policy::Write, routes!(resume_queue))
        .route(Policy::Write, routes!(clear_queue))
        .route(Policy::Write, routes!(stop))
        .route(Policy::Write, routes!(undo))
        .route(Policy::Write, routes!(put_back))
        .route(Policy::Write, routes!(retry))
        .route(Policy::Write, routes!(go_on))
        .route(Policy::Write, routes!(clear))
        .route(Policy::Write, routes!(compact))
}

async fn submit(desk: &Desk, session: Uuid, command: Command) -> Result<Json<Kept>, Problem> {
    Ok(Json(desk.session(session).await?.submit(command).await?.into()))
}

/// Says something. It begins a turn, or waits, steers or interrupts while a run is going on.
///
/// With an `Idempotency-Key`, asking again is harmless for ever: the same key and body give the same turn.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/messages", tag = "messages",
    params(("session" = Uuid, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = PostBody,
    security(("token" = [])), responses((status = 202, body = Kept), (status = "default", body = Problem)))]
async fn post(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Key(key): Key,
    Body(body): Body<PostBody>,
) -> Result<(StatusCode, Json<Kept>), Problem> {
    let PostBody { text, attachments, model, mode } = body;
    let message = desk.message(MessageBody { text, attachments, model })?;
    let command = Command::PostMessage { message, mode: mode.into(), key };
    submit(&desk, session, command).await.map(|kept| (StatusCode::ACCEPTED, kept))
}

/// Changes a message that waits.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/queue/{turn}", tag = "messages",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), request_body = MessageBody, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn edit_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
    Body(body): Body<MessageBody>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::EditQueued { turn: TurnId(turn), message: desk.message(body)? }).await
}

/// Lets a message that waits steer the run that is going on: it takes effect when the current step ends, and the run takes
/// another step for it.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/{turn}/steer", tag = "messages",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn steer_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::SteerQueued { turn: TurnId(turn) }).await
}

/// Withdraws a message that waits.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}/queue/{turn}", tag = "messages",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn remove_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::RemoveQueued { turn: TurnId(turn) }).await
}

/// Sends the messages that Stop paused, in their order. Harmless when none is paused.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/resume", tag = "messages",
    params(("session" = Uuid, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn resume_queue(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::ResumeQueue).await
}

/// Withdraws every message that waits. Harmless when none does.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/clear", tag = "messages",
    params(("session" = Uuid, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn clear_queue(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::ClearQueue).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StopBody {
    /// Stop this run and no later one.
    #[serde(default)]
    run: Option<u64>,
}

/// Stops the current run, keeps its output, and pauses the waiting messages. Without a run, it still pauses them and
/// keeps an interrupted run from resuming.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/stop", tag = "messages", params(("session" = Uuid, Path)),
    request_body = Option<StopBody>, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn stop(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    OptionalBody(body): OptionalBody<StopBody>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Stop { run: body.run.map(RunId), device: desk.device() }).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// Take back this turn and all after it; the newest if left out.
    #[serde(default)]
    from: Option<u64>,
}

/// Takes back the newest turn, or all from one on. They can be put back until something else is said.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/undo", tag = "messages", params(("session" = Uuid, Path)),
    request_body = Option<UndoBody>, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn undo(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    OptionalBody(body): OptionalBody<UndoBody>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Undo { from: body.from.map(TurnId) }).await
}

/// Puts back what was taken back last.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/put-back", tag = "messages", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn put_back(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::PutBack).await
}

/// Asks for another answer to the newest turn; the earlier ones stay as alternatives.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/retry", tag = "messages", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn retry(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Retry).await
}

/// Continues the newest answer after a stop, a failure, an interruption or the output limit.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/continue", tag = "messages", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn go_on(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Continue).await
}

/// Compacts the context: the model reads a summary in place of all turns before the newest one. The transcript stays as it is.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/compact", tag = "messages", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn compact(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    let compacted = desk.session(session).await?.compact().await?;
    let nothing = || {
        let detail = "There is nothing to compact: every turn before the newest is already summarized, or an answer or a summary \
                      is being written.";
        Problem::new(ErrorCode::NothingToCompact, detail)
    };
    Ok(Json(compacted.ok_or_else(nothing)?.into()))
}

/// Takes every turn out of sight.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/clear", tag = "messages", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn clear(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Clear).await
}

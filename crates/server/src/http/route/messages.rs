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

/// Posts a message. It starts a turn; while a run is active, it is queued, steers the run or interrupts it.
///
/// With an `Idempotency-Key`, the request can be retried safely at any time: the same key and body return the same
/// turn.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/messages", operation_id = "messages.post", tag = "messages",
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

/// Edits a queued message.
#[utoipa::path(put, path = "/api/v1/sessions/{session}/queue/{turn}", operation_id = "queue.edit", tag = "queue",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), request_body = MessageBody, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn edit_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
    Body(body): Body<MessageBody>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::EditQueued { turn: TurnId(turn), message: desk.message(body)? }).await
}

/// Turns a queued message into one that steers the active run: it enters when the current step ends, and the run takes
/// another step.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/{turn}/steer", operation_id = "queue.steer", tag = "queue",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn steer_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::SteerQueued { turn: TurnId(turn) }).await
}

/// Removes a queued message.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}/queue/{turn}", operation_id = "queue.remove", tag = "queue",
    params(("session" = Uuid, Path), ("turn" = u64, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn remove_queued(
    desk: Desk,
    AtPath((session, turn)): AtPath<(Uuid, u64)>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::RemoveQueued { turn: TurnId(turn) }).await
}

/// Resumes a queue paused by Stop: its messages are sent in order. Does nothing if the queue isn't paused.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/resume", operation_id = "queue.resume", tag = "queue",
    params(("session" = Uuid, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn resume_queue(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::ResumeQueue).await
}

/// Removes all queued messages. Does nothing if the queue is empty.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/queue/clear", operation_id = "queue.clear", tag = "queue",
    params(("session" = Uuid, Path)), security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn clear_queue(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::ClearQueue).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StopBody {
    /// Stop only this run. If it has ended, no later run is stopped.
    #[serde(default)]
    run: Option<u64>,
}

/// Stops the active run, saves its output, and pauses the queue. Without an active run, it still pauses the queue and
/// keeps an interrupted run from resuming.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/stop", operation_id = "sessions.stop", tag = "sessions",
    params(("session" = Uuid, Path)),
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
    /// Undo this turn and all turns after it. If omitted, the newest turn.
    #[serde(default)]
    from: Option<u64>,
}

/// Undoes the newest turn, or a turn and all after it. They can be redone until the next message is posted.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/undo", operation_id = "turns.undo", tag = "turns",
    params(("session" = Uuid, Path)),
    request_body = Option<UndoBody>, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn undo(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    OptionalBody(body): OptionalBody<UndoBody>,
) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Undo { from: body.from.map(TurnId) }).await
}

/// Redoes the turns undone last.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/put-back", operation_id = "turns.redo", tag = "turns",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn put_back(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::PutBack).await
}

/// Retries the newest turn. Earlier answers stay as alternatives.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/retry", operation_id = "turns.retry", tag = "turns",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn retry(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Retry).await
}

/// Continues the newest answer after a stop, a failure, an interruption or the output limit.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/continue", operation_id = "sessions.continue", tag = "sessions",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn go_on(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Continue).await
}

/// Compacts the context: the model reads a summary in place of all turns before the newest one. The transcript stays as it is.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/compact", operation_id = "sessions.compact", tag = "sessions",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn compact(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    let compacted = desk.session(session).await?.compact().await?;
    let nothing = || {
        let detail = "Every turn before the newest is already summarized, or an answer or a summary is being \
                      written.";
        Problem::new(ErrorCode::NothingToCompact, detail)
    };
    Ok(Json(compacted.ok_or_else(nothing)?.into()))
}

/// Clears the session: hides all turns from the transcript and the model.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/clear", operation_id = "sessions.clear", tag = "sessions",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn clear(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<Kept>, Problem> {
    submit(&desk, session, Command::Clear).await
}

//! What happened in a session, for people to read: its log, newest first, with what was streamed put together.

use axum::Json;
use hub::PastLine;
use serde::{Deserialize, Serialize};
use session::Seq;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath};
use super::super::gate::{Gate, Policy};
use super::super::wire::{EntryBody, EventBody};

/// Lines of a page, at most and when nothing is said.
const LINES_MAX: usize = 500;
const LINES: usize = 100;
/// The tag of sessions in which something may be broken on purpose.
const SCRATCH: &str = "scratch";

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(log)).route(Policy::Manage, routes!(break_run))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct LogAsked {
    /// Return entries before this one. If omitted, the newest entries.
    before: Option<u64>,
    /// The number of lines, at most 500; 100 if omitted.
    count: Option<usize>,
}

/// A page of a session's log, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct LogBody {
    #[schema(value_type = Vec<LogLine<'static>>)]
    entries: Vec<serde_json::Value>,
    /// The `before` of the next, older page; null if there is none.
    next: Option<u64>,
}

/// A log entry, or consecutive pieces of an answer combined into one line.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LogLine)]
struct LogLine<'a> {
    seq: u64,
    time: i64,
    /// The claim that the entry was written under. It increases each time a server opens the session for writing.
    epoch: u64,
    /// The last combined piece, and its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_time: Option<i64>,
    /// The event as in a session's event stream, or `streamed` with `run`, `entries` and `characters`.
    #[schema(value_type = Object)]
    event: LogEvent<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum LogEvent<'a> {
    Entry(EventBody<'a>),
    Streamed { streamed: Streamed },
}

#[derive(Debug, Serialize)]
struct Streamed {
    run: u64,
    entries: u64,
    characters: u64,
}

fn line(line: &PastLine) -> LogLine<'_> {
    match line {
        PastLine::Entry(entry) => {
            let EntryBody { seq, time, event } = EntryBody::from(entry);
            let epoch = entry.epoch.0;
            LogLine { seq, time, epoch, until_seq: None, until_time: None, event: LogEvent::Entry(event) }
        }
        PastLine::Streamed { run, first, last, entries, characters } => LogLine {
            seq: first.seq.0,
            time: first.time.0,
            epoch: first.epoch.0,
            until_seq: Some(last.seq.0),
            until_time: Some(last.time.0),
            event: LogEvent::Streamed {
                streamed: Streamed { run: run.0, entries: *entries, characters: *characters },
            },
        },
    }
}

/// Lists the entries of a session's log, newest first.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/log", operation_id = "sessions.log", tag = "sessions",
    params(("session" = Uuid, Path), LogAsked), security(("token" = [])),
    responses((status = 200, body = LogBody), (status = "default", body = Problem)))]
async fn log(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Asked(asked): Asked<LogAsked>,
) -> Result<Json<LogBody>, Problem> {
    let handle = desk.session(session).await?;
    let count = asked.count.unwrap_or(LINES).clamp(1, LINES_MAX);
    let past = handle.past(asked.before.map(Seq), count).await?;
    let told = past.lines.iter().map(|past| serde_json::to_value(line(past)));
    let unreadable = |error: serde_json::Error| Problem::new(ErrorCode::Internal, error.to_string());
    let entries = told.collect::<Result<_, _>>().map_err(unreadable)?;
    Ok(Json(LogBody { entries, next: past.before.map(|seq| seq.0) }))
}

/// Aborts the active run as a crash would, to demonstrate recovery. The session must have the tag `scratch`; it
/// recovers as after a restart.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/break", operation_id = "sessions.break_run", tag = "sessions",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn break_run(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<axum::http::StatusCode, Problem> {
    let handle = desk.session(session).await?;
    if !handle.view().await?.tags.iter().any(|tag| tag == SCRATCH) {
        let detail =
            format!("Only a session with the tag `{SCRATCH}` can be broken on purpose. Nothing was changed.");
        return Err(Problem::new(ErrorCode::NotScratch, detail));
    }
    handle.abandon().await?;
    Ok(axum::http::StatusCode::NO_CONTENT)
}

//! Sessions as files: one of them in a format for programs or people, or all of them, one a line.

use std::collections::{HashSet, VecDeque};

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::{Stream, stream};
use hub::{CommandError, SessionHandle, Shelf};
use serde::Deserialize;
use serde_json::json;
use session::{ProjectId, SessionId};
use utoipa::IntoParams;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::{Desk, Narrow, OpenStream};
use super::super::error::Problem;
use super::super::extract::{Asked, AtPath};
use super::super::gate::{Gate, Policy};
use crate::export::{Export, Format, Head, VERSION, file_name};

/// Lines of the list that are read in one go.
const PAGE: usize = 200;
/// Looks at the list until nothing new is found: what is active moves while it is read.
const LOOKS_MAX: usize = 5;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(of_session)).route(Policy::Read, routes!(of_all))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ExportAsked {
    /// The file format; `json` if omitted.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// Exports a session as a file: all turns with every answer, including hidden ones.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/export", operation_id = "export.session", tag = "export",
    params(("session" = Uuid, Path), ExportAsked), security(("token" = [])),
    responses((status = 200, content_type = "application/json"), (status = "default", body = Problem)))]
async fn of_session(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Asked(asked): Asked<ExportAsked>,
) -> Result<Response, Problem> {
    let handle = desk.session(session).await?;
    let stream = desk.open_stream()?;
    let export = begin(&desk, &handle, asked.format).await??;
    let name = file_name(export.title(), session, asked.format);
    Ok(reply(&name, asked.format.media_type(), pieces(Source::One(Box::new(export)), stream)))
}

/// Exports all sessions as JSON Lines, including archived and trashed ones.
///
/// Each line has the format of `/sessions/{session}/export`. A session that can't be read has an `error` instead of
/// turns. An export is complete only if the response ends with its last chunk.
#[utoipa::path(get, path = "/api/v1/export", operation_id = "export.all", tag = "export",
    security(("token" = [])),
    responses((status = 200, content_type = "application/x-ndjson"), (status = "default", body = Problem)))]
async fn of_all(desk: Desk) -> Result<Response, Problem> {
    let stream = desk.open_stream()?;
    let left = every_session(&desk).await?;
    let source = Source::All { desk, left, current: None };
    Ok(reply("everturn-export.ndjson", "application/x-ndjson", pieces(source, stream)))
}

/// The outer error is the server's, the inner one the session's.
async fn begin(
    desk: &Desk,
    handle: &SessionHandle,
    format: Format,
) -> Result<Result<Export, CommandError>, Problem> {
    let transcript = match handle.transcript().await {
        Ok(transcript) => transcript,
        Err(error) => return Ok(Err(error)),
    };
    let project = match desk.shown(transcript.state.project)? {
        Some(project) => name_of(desk, project)?,
        None => None,
    };
    Ok(Ok(Export::new(format, Head::new(handle.session(), &transcript, project), transcript)))
}

fn name_of(desk: &Desk, project: ProjectId) -> Result<Option<String>, Problem> {
    let projects = desk.people().projects(desk.user())?;
    Ok(projects.into_iter().find(|one| one.id == project).map(|one| one.name))
}

/// The ids of all sessions of a user: as many bytes as a line of each would have.
async fn every_session(desk: &Desk) -> Result<VecDeque<SessionId>, Problem> {
    let (mut seen, mut all) = (HashSet::new(), VecDeque::new());
    for _ in 0..LOOKS_MAX {
        let known = all.len();
        for shelf in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
            let mut before = None;
            loop {
                let page = desk.list(shelf, Narrow::default(), before, PAGE).await?;
                all.extend(page.iter().map(|row| row.session).filter(|session| seen.insert(*session)));
                match page.last().filter(|_| page.len() == PAGE) {
                    Some(last) => before = Some((last.active_at, last.session)),
                    None => break,
                }
            }
        }
        if all.len() == known {
            break;
        }
    }
    Ok(all)
}

fn reply(
    name: &str,
    media_type: &'static str,
    pieces: impl Stream<Item = Result<String, CutOff>> + Send + 'static,
) -> Response {
    // The name has letters, digits, hyphens and one dot.
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, disposition.unwrap_or_else(|_| HeaderValue::from_static("attachment"))),
    ];
    (StatusCode::OK, headers, Body::from_stream(pieces)).into_response()
}

/// Why the rest does not come: the connection is broken off, so that nobody takes a part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct CutOff(String);

/// What is being written down.
enum Source {
    One(Box<Export>),
    All { desk: Desk, left: VecDeque<SessionId>, current: Option<Box<Export>> },
}

impl Source {
    async fn next(&mut self) -> Result<Option<String>, CutOff> {
        let cut = |error: CommandError| CutOff(error.to_string());
        match self {
            Self::One(export) => export.next().await.map_err(cut),
            Self::All { desk, left, current } => loop {
                if let Some(export) = current {
                    match export.next().await.map_err(cut)? {
                        Some(piece) => return Ok(Some(piece)),
                        None => {
                            *current = None;
                            return Ok(Some("\n".to_owned()));
                        }
                    }
                }
                let Some(session) = left.pop_front() else { return Ok(None) };
                // Erased meanwhile: as if it had not been listed.
                let Ok(handle) = desk.session(session.0).await else { continue };
                let begun = begin(desk, &handle, Format::Json).await;
                match begun.map_err(|problem| CutOff(format!("{problem:?}")))? {
                    Ok(export) => *current = Some(Box::new(export)),
                    Err(CommandError::Unknown(_) | CommandError::Deleted(_)) => {}
                    Err(error) => {
                        let line = json!({ "everturn_export": VERSION, "session": session, "error": error.to_string() });
                        return Ok(Some(format!("{line}\n")));
                    }
                }
            },
        }
    }
}

/// The pieces one after another, until the end, or until the caller may no longer read.
fn pieces(source: Source, open: OpenStream) -> impl Stream<Item = Result<String, CutOff>> + Send {
    let end: BoxFuture<'static, ()> = open.end();
    stream::unfold(Some((source, end, open)), |state| async move {
        let (mut source, mut end, open) = state?;
        let next = tokio::select! {
            biased;
            () = &mut end => Err(CutOff("the server is stopping, or the caller lost access".to_owned())),
            next = source.next() => next,
        };
        match next {
            Ok(Some(piece)) => Some((Ok(piece), Some((source, end, open)))),
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(reason = %error, "export cut off");
                Some((Err(error), None))
            }
        }
    })
}

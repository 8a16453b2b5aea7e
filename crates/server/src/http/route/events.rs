//! What happens, as it happens: the entries of one session, and the lines of the list.

use axum::http::HeaderMap;
use axum::response::Response;
use bytes::BytesMut;
use hub::Shelf;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::cursor::Cursor;

use super::super::desk::{Desk, Narrow};
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath};
use super::super::gate::{Gate, Policy};
use super::super::sse;
use super::super::wire::SessionBody;
use super::sessions;

/// Lines that a feed of the list begins with.
const LIST_COUNT: usize = 50;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(of_session)).route(Policy::Read, routes!(of_list))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct EventsAsked {
    /// Start after this entry, given by its number or its event ID; 0 starts at the beginning. `Last-Event-ID` takes
    /// precedence.
    #[param(value_type = Option<String>, example = "13.9f86d081")]
    after: Option<Cursor>,
}

/// Streams a session as it changes.
///
/// Without a cursor, sends `snapshot` (the session as `GET` returns it, with the ID of its newest entry), `caught_up`,
/// then each new `entry`. With a cursor, sends every `entry` after it, `caught_up`, then each new `entry`. The ID of an
/// `entry` is its number and the start of its hash; `heartbeat` has no ID. A cursor beyond the end of the log is an
/// error, and so is one whose hash doesn't match. A reader that is too slow gets `cut_off` and can resume from its last
/// ID.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/events", operation_id = "sessions.follow", tag = "sessions",
    params(("session" = Uuid, Path), EventsAsked, ("Last-Event-ID" = Option<String>, Header)), security(("token" = [])),
    responses((status = 200, content_type = "text/event-stream"), (status = "default", body = Problem)))]
async fn of_session(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Asked(asked): Asked<EventsAsked>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let handle = desk.session(session).await?;
    let cursor = match headers.get("last-event-id") {
        None => asked.after,
        Some(value) => {
            let cursor = value.to_str().ok().and_then(|text| text.parse().ok());
            let wrong = || {
                Problem::new(
                    ErrorCode::BadRequest,
                    "`Last-Event-ID` must be the ID of an event from this stream.",
                )
            };
            Some(cursor.ok_or_else(wrong)?)
        }
    };
    let mut begun = BytesMut::new();
    let after = match cursor {
        Some(after) => after,
        None => {
            let state = handle.state().await?;
            let mut view = session::view(&state);
            view.project = desk.shown(view.project)?;
            let cursor = Cursor::from(state.link);
            sse::event(&mut begun, "snapshot", Some(cursor), &SessionBody { session, view });
            cursor
        }
    };
    let stream = desk.open_stream()?;
    let follower = match after.hash {
        Some(hash) => handle.follow_link(after.seq, &hash).await?,
        None => handle.follow(after.seq).await?,
    };
    Ok(sse::reply(sse::entries(follower, begun, stream)))
}

/// Streams the list of sessions as it changes.
///
/// Sends `list` (the first page, as `GET /sessions` returns it), then a `line` for each changed session and a `gone`
/// for each deleted one. There is no cursor: after a disconnect, the stream starts over.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "sessions.follow_list", tag = "sessions",
    security(("token" = [])),
    responses((status = 200, content_type = "text/event-stream"), (status = "default", body = Problem)))]
async fn of_list(desk: Desk) -> Result<Response, Problem> {
    // From before the page is read, so that no change falls in between.
    let follower = desk.follow_list();
    let page = sessions::page(&desk, Shelf::Active, Narrow::default(), None, LIST_COUNT).await?;
    let stream = desk.open_stream()?;
    let mut begun = BytesMut::new();
    sse::event(&mut begun, "list", None, &page);
    Ok(sse::reply(sse::changes(follower, begun, stream)))
}

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
    /// Begin after this entry, named by its number or by the id of its event; 0 is the whole log. `Last-Event-ID` says the
    /// same and goes first.
    #[param(value_type = Option<String>, example = "13.9f86d081")]
    after: Option<Cursor>,
}

/// A session as it happens.
///
/// Without a cursor: `snapshot` (the session as `GET` gives it, with the id of its newest entry), `caught_up`, then
/// entries as they come. With one: every `entry` after it, `caught_up`, then entries as they come. The id of an `entry` is
/// its number and the beginning of its hash; `heartbeat` has none. A cursor beyond the end is an error, and so is one whose
/// hash is of another entry. A reader that is too slow gets `cut_off` and resumes with the last id it has.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/events", tag = "events",
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
            let wrong = || Problem::new(ErrorCode::BadRequest, "Last-Event-ID is not the id of an event.");
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

/// The list of sessions as it happens.
///
/// `list` (the first page, as `GET /sessions` gives it), then a `line` for each session that changed and a `gone` for
/// each that was erased. There is no cursor: a reader that was cut off begins anew.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", security(("token" = [])),
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

//! The list of sessions, and each of them as a whole: make, read, change, erase.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::{Doing, Shelf};
use serde::{Deserialize, Serialize};
use session::{Command, Flag, ProjectId, Seq, SessionId, Time, TurnId};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::{Desk, Narrow, no_project};
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath, Body, said};
use super::super::gate::{Gate, Policy};
use super::super::wire::{Kept, Line, SessionBody};

/// Lines of a page, at most and when nothing is said.
const PAGE_MAX: usize = 200;
const PAGE: usize = 50;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Write, routes!(create))
        .route(Policy::Read, routes!(read))
        .route(Policy::Write, routes!(change, erase))
        .route(Policy::Write, routes!(branch))
        .route(Policy::Read, routes!(counts))
}

/// The part of the list that a session is in.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShelfName {
    #[default]
    Active,
    Archived,
    Trash,
}

impl From<ShelfName> for Shelf {
    fn from(name: ShelfName) -> Self {
        match name {
            ShelfName::Active => Self::Active,
            ShelfName::Archived => Self::Archived,
            ShelfName::Trash => Self::Trash,
        }
    }
}

/// A session's activity.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateName {
    /// A run is active.
    Live,
    /// The newest turn needs the user's attention.
    NeedsYou,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAsked {
    #[serde(default)]
    #[param(inline)]
    shelf: ShelfName,
    /// Only sessions with an active run, or only those that need the user's attention.
    #[param(inline)]
    state: Option<StateName>,
    /// Only pinned sessions. Can't be combined with `state`.
    pinned: Option<bool>,
    /// Only sessions with this tag.
    tag: Option<String>,
    /// Only sessions in this project.
    project: Option<Uuid>,
    /// The `next` of the previous page.
    before: Option<String>,
    /// The number of sessions, at most 200; 50 if omitted.
    count: Option<usize>,
}

/// A page of the session list, latest activity first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListBody {
    pub(crate) sessions: Vec<Line>,
    /// The `before` of the next page; null on the last page.
    pub(crate) next: Option<String>,
}

/// Lists sessions, latest activity first.
#[utoipa::path(get, path = "/api/v1/sessions", operation_id = "sessions.list", tag = "sessions",
    params(ListAsked), security(("token" = [])),
    responses((status = 200, body = ListBody), (status = "default", body = Problem)))]
pub(crate) async fn list(desk: Desk, Asked(asked): Asked<ListAsked>) -> Result<Json<ListBody>, Problem> {
    let shelf = asked.shelf.into();
    let doing = match (asked.state, asked.pinned) {
        (None, None | Some(false)) => None,
        (None, Some(true)) => Some(Doing::Pinned),
        (Some(StateName::Live), None) => Some(Doing::Live),
        (Some(StateName::NeedsYou), None) => Some(Doing::NeedsPerson),
        (Some(_), Some(_)) => {
            return Err(Problem::new(ErrorCode::BadRequest, "Use either `state` or `pinned`, not both."));
        }
    };
    let before = asked.before.as_deref().map(place).transpose()?;
    let count = asked.count.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    // What cannot be a tag is on no session.
    let tag = asked.tag.map(|text| session::organise::tag(&text).unwrap_or_default());
    let narrow = Narrow { project: asked.project.map(ProjectId), tag, doing };
    page(&desk, shelf, narrow, before, count).await.map(Json)
}

/// The number of sessions by status.
#[derive(Debug, Serialize, ToSchema)]
struct CountsBody {
    active: u64,
    /// Sessions in `active` with an active run.
    live: u64,
    /// Sessions in `active` that need the user's attention.
    needs_you: u64,
    archived: u64,
    trash: u64,
    /// Days before a session in the trash is deleted permanently; 0 if never.
    trash_days: u32,
}

/// Counts the caller's sessions.
#[utoipa::path(get, path = "/api/v1/sessions/counts", operation_id = "sessions.count", tag = "sessions",
    security(("token" = [])),
    responses((status = 200, body = CountsBody), (status = "default", body = Problem)))]
async fn counts(State(app): State<App>, desk: Desk) -> Result<Json<CountsBody>, Problem> {
    let counts = desk.counts().await?;
    Ok(Json(CountsBody {
        active: counts.active,
        live: counts.live,
        needs_you: counts.needs_person,
        archived: counts.archived,
        trash: counts.trash,
        trash_days: app.settings.now().trash_days,
    }))
}

/// One page of the list.
pub(crate) async fn page(
    desk: &Desk,
    shelf: Shelf,
    narrow: Narrow,
    before: Option<(Time, SessionId)>,
    count: usize,
) -> Result<ListBody, Problem> {
    let rows = desk.list(shelf, narrow, before, count).await?;
    let last = rows.last().filter(|_| rows.len() == count);
    let next = last.map(|row| format!("{}.{}", row.active_at, row.session));
    Ok(ListBody { sessions: rows.into_iter().map(Line::from).collect(), next })
}

fn place(text: &str) -> Result<(Time, SessionId), Problem> {
    let parsed = text.split_once('.').and_then(|(time, id)| Some((time.parse().ok()?, id.parse().ok()?)));
    let wrong = || Problem::new(ErrorCode::BadRequest, "`before` must be the `next` of a page.");
    parsed.map(|(time, id)| (Time(time), id)).ok_or_else(wrong)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateBody {
    /// An ID chosen by the caller, so that a retry creates no second session.
    #[serde(default)]
    id: Option<Uuid>,
    #[serde(default)]
    title: Option<String>,
    /// The session that this one continues from.
    #[serde(default)]
    after: Option<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Created {
    session: Uuid,
}

/// Creates a session.
#[utoipa::path(post, path = "/api/v1/sessions", operation_id = "sessions.create", tag = "sessions",
    request_body = CreateBody, security(("token" = [])),
    responses((status = 201, body = Created), (status = "default", body = Problem)))]
async fn create(desk: Desk, Body(body): Body<CreateBody>) -> Result<(StatusCode, Json<Created>), Problem> {
    let handle = desk.create(body.id, body.title, body.after).await?;
    Ok((StatusCode::CREATED, Json(Created { session: handle.session().0 })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ReadAsked {
    /// Return the session as it was after this entry.
    at: Option<u64>,
}

/// Returns a session: its newest turns, queued messages and active run.
#[utoipa::path(get, path = "/api/v1/sessions/{session}", operation_id = "sessions.get", tag = "sessions",
    params(("session" = Uuid, Path), ReadAsked),
    security(("token" = [])), responses((status = 200, body = SessionBody), (status = "default", body = Problem)))]
async fn read(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Asked(asked): Asked<ReadAsked>,
) -> Result<Json<SessionBody>, Problem> {
    let handle = desk.session(session).await?;
    let mut view = match asked.at {
        Some(at) => handle.view_at(Seq(at)).await?,
        None => handle.view().await?,
    };
    view.project = desk.shown(view.project)?;
    Ok(Json(SessionBody { session, view }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    pinned: Option<bool>,
    #[serde(default)]
    archived: Option<bool>,
    #[serde(default)]
    trashed: Option<bool>,
    /// All of the session's tags: at most 20, each with 1 to 40 visible characters. They are lower-cased, deduplicated
    /// and sorted.
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// One of the caller's projects; null removes the session from its project.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<Uuid>)]
    project: Option<Option<Uuid>>,
}

/// Renames, pins, archives or trashes a session, or sets its tags or project. Each request changes exactly one of them.
#[utoipa::path(patch, path = "/api/v1/sessions/{session}", operation_id = "sessions.update", tag = "sessions",
    params(("session" = Uuid, Path)),
    request_body = ChangeBody, security(("token" = [])),
    responses((status = 200, body = Kept), (status = "default", body = Problem)))]
async fn change(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Body(body): Body<ChangeBody>,
) -> Result<Json<Kept>, Problem> {
    let flags = [(Flag::Pinned, body.pinned), (Flag::Archived, body.archived), (Flag::Trashed, body.trashed)];
    let flags = flags.into_iter().filter_map(|(flag, on)| Some(Command::SetFlag { flag, on: on? }));
    let project = body.project.map(|project| Command::SetProject { project: project.map(ProjectId) });
    let tags = body.tags.map(|tags| Command::SetTags { tags });
    let title = body.title.map(|title| Command::Rename { title });
    let mut commands = [title, tags, project].into_iter().flatten().chain(flags);
    // One at a time: several could not be kept together or not at all.
    let (Some(command), None) = (commands.next(), commands.next()) else {
        return Err(Problem::new(
            ErrorCode::BadRequest,
            "A request must change exactly one field. Nothing was changed.",
        ));
    };
    let handle = desk.session(session).await?;
    if let Command::SetProject { project: Some(project) } = command
        && !desk.has_project(project)?
    {
        return Err(no_project(project));
    }
    Ok(Json(handle.submit(command).await?.into()))
}

/// Deletes a session permanently: its log and everything derived from it.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}", operation_id = "sessions.delete", tag = "sessions",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn erase(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    desk.erase(session).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BranchBody {
    /// The last turn to share. If omitted, the newest turn not being answered; 0 shares no turns.
    #[serde(default)]
    turn: Option<u64>,
}

/// Branches a session: creates one that shares its turns up to and including `turn`.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/branch", operation_id = "sessions.branch", tag = "sessions",
    params(("session" = Uuid, Path)),
    request_body = BranchBody, security(("token" = [])),
    responses((status = 201, body = Created), (status = "default", body = Problem)))]
async fn branch(
    desk: Desk,
    AtPath(session): AtPath<Uuid>,
    Body(body): Body<BranchBody>,
) -> Result<(StatusCode, Json<Created>), Problem> {
    let handle = desk.branch(session, body.turn.map(TurnId)).await?;
    Ok((StatusCode::CREATED, Json(Created { session: handle.session().0 })))
}

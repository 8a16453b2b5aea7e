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

/// Where a session stands in the list.
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

/// What goes on in a session.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateName {
    /// A run is going on.
    Live,
    /// The newest turn waits for a person.
    NeedsYou,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAsked {
    #[serde(default)]
    #[param(inline)]
    shelf: ShelfName,
    /// Only sessions in which something goes on, or that wait for a person.
    #[param(inline)]
    state: Option<StateName>,
    /// Only sessions that are pinned; not together with `state`.
    pinned: Option<bool>,
    /// Only sessions with this tag.
    tag: Option<String>,
    /// Only sessions in this project.
    project: Option<Uuid>,
    /// `next` of the page before.
    before: Option<String>,
    /// Lines, at most 200; 50 if left out.
    count: Option<usize>,
}

/// A page of the list, latest activity first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListBody {
    pub(crate) sessions: Vec<Line>,
    /// Where the next page begins; none at the end.
    pub(crate) next: Option<String>,
}

/// The list of sessions, latest activity first.
#[utoipa::path(get, path = "/api/v1/sessions", tag = "sessions", params(ListAsked), security(("token" = [])),
    responses((status = 200, body = ListBody), (status = "default", body = Problem)))]
pub(crate) async fn list(desk: Desk, Asked(asked): Asked<ListAsked>) -> Result<Json<ListBody>, Problem> {
    let shelf = asked.shelf.into();
    let doing = match (asked.state, asked.pinned) {
        (None, None | Some(false)) => None,
        (None, Some(true)) => Some(Doing::Pinned),
        (Some(StateName::Live), None) => Some(Doing::Live),
        (Some(StateName::NeedsYou), None) => Some(Doing::NeedsPerson),
        (Some(_), Some(_)) => {
            return Err(Problem::new(ErrorCode::BadRequest, "Ask for `state` or for `pinned`."));
        }
    };
    let before = asked.before.as_deref().map(place).transpose()?;
    let count = asked.count.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    // What cannot be a tag is on no session.
    let tag = asked.tag.map(|text| session::organise::tag(&text).unwrap_or_default());
    let narrow = Narrow { project: asked.project.map(ProjectId), tag, doing };
    page(&desk, shelf, narrow, before, count).await.map(Json)
}

/// How many sessions stand where.
#[derive(Debug, Serialize, ToSchema)]
struct CountsBody {
    active: u64,
    /// Of the active ones, those in which a run is going on.
    live: u64,
    /// Of the active ones, those whose newest turn waits for a person.
    needs_you: u64,
    archived: u64,
    trash: u64,
    /// Days that a session stays in the trash before it is erased; 0: until it is erased by hand.
    trash_days: u32,
}

/// How many sessions the caller has.
#[utoipa::path(get, path = "/api/v1/sessions/counts", tag = "sessions", security(("token" = [])),
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
    let wrong = || Problem::new(ErrorCode::BadRequest, "`before` is not the `next` of a page.");
    parsed.map(|(time, id)| (Time(time), id)).ok_or_else(wrong)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateBody {
    /// The caller's own id, so that asking again makes no second session.
    #[serde(default)]
    id: Option<Uuid>,
    #[serde(default)]
    title: Option<String>,
    /// The session that its author leaves behind.
    #[serde(default)]
    after: Option<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Created {
    session: Uuid,
}

/// Makes a session.
#[utoipa::path(post, path = "/api/v1/sessions", tag = "sessions", request_body = CreateBody, security(("token" = [])),
    responses((status = 201, body = Created), (status = "default", body = Problem)))]
async fn create(desk: Desk, Body(body): Body<CreateBody>) -> Result<(StatusCode, Json<Created>), Problem> {
    let handle = desk.create(body.id, body.title, body.after).await?;
    Ok((StatusCode::CREATED, Json(Created { session: handle.session().0 })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ReadAsked {
    /// Read it as it was after this entry.
    at: Option<u64>,
}

/// A session as it is: its newest turns, what waits, and what goes on.
#[utoipa::path(get, path = "/api/v1/sessions/{session}", tag = "sessions", params(("session" = Uuid, Path), ReadAsked),
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
    /// All tags that it is to have: 20 at most, each of 1 to 40 visible characters; kept lower-case, once, in order.
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// One of the caller's projects; null takes it out of the one that it stands in.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<Uuid>)]
    project: Option<Option<Uuid>>,
}

/// Renames, pins, archives or trashes a session, or gives it tags or a project, one of them at a time.
#[utoipa::path(patch, path = "/api/v1/sessions/{session}", tag = "sessions", params(("session" = Uuid, Path)),
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
        return Err(Problem::new(ErrorCode::BadRequest, "Change exactly one thing in one request."));
    };
    let handle = desk.session(session).await?;
    if let Command::SetProject { project: Some(project) } = command
        && !desk.has_project(project)?
    {
        return Err(no_project(project));
    }
    Ok(Json(handle.submit(command).await?.into()))
}

/// Erases a session for good: its log and all that was made from it.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}", tag = "sessions", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn erase(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    desk.erase(session).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BranchBody {
    /// The last turn that the branch shares. If omitted, the newest turn that is not being answered. 0 shares no turn.
    #[serde(default)]
    turn: Option<u64>,
}

/// Makes a session that shares another's beginning, up to the end of one of its turns.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/branch", tag = "sessions", params(("session" = Uuid, Path)),
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

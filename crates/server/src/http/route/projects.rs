//! Projects, which sessions can be put into, and the tags that are in use.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use session::ProjectId;
use session::organise::is_visible;
use store::people::{Project, ProjectChange};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::{Desk, no_project};
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath, Body, said};
use super::super::gate::{Gate, Policy};
use super::models::no_model;
use super::settings::checked_instructions;

/// Characters of a project's name.
const NAME_CHARS_MAX: usize = 100;
/// Tags that are told, at most and when nothing is said.
const TAGS_MAX: usize = 1_000;
const TAGS: usize = 200;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Write, routes!(make))
        .route(Policy::Write, routes!(change, delete))
        .route(Policy::Read, routes!(tags))
}

/// A project that groups a user's sessions.
#[derive(Debug, Serialize, ToSchema)]
struct ProjectBody {
    project: Uuid,
    name: String,
    /// Microseconds since 1970.
    created_at: i64,
    /// The project's model, unless a message chooses another; null for the default model.
    model: Option<String>,
    /// Instructions for the model, after the server-wide ones.
    instructions: Option<String>,
}

impl From<Project> for ProjectBody {
    fn from(project: Project) -> Self {
        Self {
            project: project.id.0,
            name: project.name,
            created_at: project.created_at.0,
            model: project.model,
            instructions: project.instructions,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct ProjectsBody {
    projects: Vec<ProjectBody>,
}

/// Lists the caller's projects by name, at most 1,000.
#[utoipa::path(get, path = "/api/v1/projects", operation_id = "projects.list", tag = "projects",
    security(("token" = [])),
    responses((status = 200, body = ProjectsBody), (status = "default", body = Problem)))]
async fn list(desk: Desk) -> Result<Json<ProjectsBody>, Problem> {
    let projects = desk.people().projects(desk.user())?;
    Ok(Json(ProjectsBody { projects: projects.into_iter().map(ProjectBody::from).collect() }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MakeBody {
    /// An ID chosen by the caller, so that a retry creates no second project.
    #[serde(default)]
    id: Option<Uuid>,
    /// 1 to 100 visible characters.
    name: String,
}

/// Creates a project. If the ID exists, renames that project.
#[utoipa::path(post, path = "/api/v1/projects", operation_id = "projects.create", tag = "projects",
    request_body = MakeBody, security(("token" = [])),
    responses((status = 201, body = ProjectBody), (status = "default", body = Problem)))]
async fn make(desk: Desk, Body(body): Body<MakeBody>) -> Result<(StatusCode, Json<ProjectBody>), Problem> {
    let id = ProjectId(body.id.unwrap_or_else(|| SystemClock.id()));
    let (name, created_at) = (checked(&body.name)?, SystemClock.now());
    let project = Project { id, name, created_at, model: None, instructions: None };
    let user = desk.user();
    let kept = desk.keep(move |people| {
        people.put_project(user, &project)?;
        // One that was there has more to say than what was sent.
        people.project(user, id)
    });
    let kept = kept.await?.ok_or_else(|| no_project(id))?;
    Ok((StatusCode::CREATED, Json(kept.into())))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ProjectChangeBody {
    /// 1 to 100 visible characters.
    #[serde(default)]
    name: Option<String>,
    /// The name of a model; null for the default model.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<String>)]
    model: Option<Option<String>>,
    /// At most 20,000 characters; null for none.
    #[serde(default, deserialize_with = "said")]
    #[schema(value_type = Option<String>)]
    instructions: Option<Option<String>>,
}

/// Updates a project's name, model or instructions. Changes apply from the next run on.
#[utoipa::path(patch, path = "/api/v1/projects/{project}", operation_id = "projects.update", tag = "projects",
    params(("project" = Uuid, Path)),
    request_body = ProjectChangeBody, security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn change(
    State(app): State<App>,
    desk: Desk,
    AtPath(project): AtPath<Uuid>,
    Body(body): Body<ProjectChangeBody>,
) -> Result<StatusCode, Problem> {
    let (user, project) = (desk.user(), ProjectId(project));
    let name = body.name.as_deref().map(checked).transpose()?;
    let instructions = body.instructions.map(checked_instructions).transpose()?;
    if let Some(Some(model)) = &body.model
        && !app.offered.now().iter().any(|offer| offer.config.name == *model)
    {
        return Err(no_model());
    }
    let change = ProjectChange { name, model: body.model, instructions };
    let found = desk.keep(move |people| people.change_project(user, project, &change)).await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(no_project(project)) }
}

/// Deletes a project. Its sessions are kept, without a project.
#[utoipa::path(delete, path = "/api/v1/projects/{project}", operation_id = "projects.delete", tag = "projects",
    params(("project" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn delete(desk: Desk, AtPath(project): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    let (user, project) = (desk.user(), ProjectId(project));
    let found = desk.keep(move |people| people.delete_project(user, project)).await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(no_project(project)) }
}

fn checked(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    let fits = (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(is_visible);
    let wrong = || format!("A project's name must have 1 to {NAME_CHARS_MAX} visible characters.");
    if fits { Ok(name.to_owned()) } else { Err(Problem::new(ErrorCode::BadName, wrong())) }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct TagsAsked {
    /// The number of tags, at most 1,000; 200 if omitted.
    count: Option<usize>,
}

/// A tag and the number of sessions with it.
#[derive(Debug, Serialize, ToSchema)]
struct TagBody {
    tag: String,
    sessions: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct TagsBody {
    tags: Vec<TagBody>,
}

/// Lists the tags of the caller's sessions outside the trash, most used first.
#[utoipa::path(get, path = "/api/v1/tags", operation_id = "tags.list", tag = "tags",
    params(TagsAsked), security(("token" = [])),
    responses((status = 200, body = TagsBody), (status = "default", body = Problem)))]
async fn tags(desk: Desk, Asked(asked): Asked<TagsAsked>) -> Result<Json<TagsBody>, Problem> {
    let tags = desk.tags(asked.count.unwrap_or(TAGS).clamp(1, TAGS_MAX)).await?;
    let tags = tags.into_iter().map(|count| TagBody { tag: count.tag, sessions: count.sessions });
    Ok(Json(TagsBody { tags: tags.collect() }))
}

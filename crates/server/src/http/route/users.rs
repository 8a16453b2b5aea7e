//! Who uses the server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use session::UserId;
use store::people::{Role, User};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use crate::password;
use crate::people::NAME_MAX;
use crate::throttle::Key;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(me))
        .route(Policy::Write, routes!(change_password))
        .route(Policy::Manage, routes!(users, add_user))
        .route(Policy::Manage, routes!(change_user))
}

/// A user's role.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RoleName {
    /// Can use sessions.
    Member,
    /// Can also manage users and the server.
    Owner,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Member => Self::Member,
            RoleName::Owner => Self::Owner,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserBody {
    user: Uuid,
    name: String,
    role: &'static str,
    /// Whether the user is disabled: their logins, tokens and share links don't work.
    disabled: bool,
    /// Whether the user has a password.
    can_log_in: bool,
    created_at: i64,
}

impl From<User> for UserBody {
    fn from(user: User) -> Self {
        Self {
            user: user.id.0,
            name: user.name,
            role: user.role.as_str(),
            disabled: user.disabled,
            can_log_in: user.can_log_in,
            created_at: user.created_at.0,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct MeBody {
    #[serde(flatten)]
    user: UserBody,
    /// The scope of this request's credential.
    scope: &'static str,
    has_password: bool,
    /// The number of passkeys.
    passkeys: usize,
}

/// Returns the caller.
#[utoipa::path(get, path = "/api/v1/me", operation_id = "me.get", tag = "me", security(("token" = [])),
    responses((status = 200, body = MeBody), (status = "default", body = Problem)))]
async fn me(desk: Desk) -> Result<Json<MeBody>, Problem> {
    let (user, _) = desk.people().user(desk.user())?.ok_or_else(no_user)?;
    Ok(Json(MeBody {
        has_password: user.can_log_in,
        passkeys: desk.people().passkeys(user.id)?.len(),
        user: user.into(),
        scope: desk.caller.scope.as_str(),
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PasswordBody {
    /// The current password; omitted if there is none yet.
    #[serde(default)]
    old: Option<String>,
    new: String,
}

/// Changes the caller's password and ends all of their logins.
#[utoipa::path(put, path = "/api/v1/me/password", operation_id = "me.change_password", tag = "me",
    request_body = PasswordBody, security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn change_password(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<PasswordBody>,
) -> Result<StatusCode, Problem> {
    let user = desk.user();
    let keys = [Key::account(&format!("password of {user}"))];
    let too_early = |wait| {
        Problem::new(ErrorCode::TooMany, "Too many attempts. Wait a while, then try again.").after(wait)
    };
    app.throttle.attempt(&keys).map_err(too_early)?;
    let kept = desk.people().user(user)?.and_then(|(_, kept)| kept);
    let old = body.old.unwrap_or_default();
    if let Some(kept) = kept
        && !password::in_turn(move || password::is_right(&old, Some(&kept))).await.unwrap_or(false)
    {
        return Err(Problem::new(
            ErrorCode::Forbidden,
            "The current password is wrong. Nothing was changed.",
        ));
    }
    app.throttle.succeeded(&keys);
    let hashed = hashed(body.new).await?;
    let by = desk.by();
    desk.change(move |people| people.set_password(by, user, &hashed)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn hashed(new: String) -> Result<String, Problem> {
    if !password::is_usable(&new) {
        let detail =
            format!("A password must have {} to {} characters.", password::LENGTH_MIN, password::LENGTH_MAX);
        return Err(Problem::new(ErrorCode::BadPassword, detail));
    }
    let failed = || Problem::new(ErrorCode::Unavailable, "The password couldn't be saved. Try again.");
    password::in_turn(move || password::hash(&new)).await.flatten().map_err(|_| failed())
}

#[derive(Debug, Serialize, ToSchema)]
struct UsersBody {
    users: Vec<UserBody>,
}

/// Lists all users.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "users.list", tag = "users",
    security(("token" = [])),
    responses((status = 200, body = UsersBody), (status = "default", body = Problem)))]
async fn users(desk: Desk) -> Result<Json<UsersBody>, Problem> {
    let users = desk.people().users()?.into_iter().map(UserBody::from);
    Ok(Json(UsersBody { users: users.collect() }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewUserBody {
    name: String,
    role: RoleName,
    /// If omitted, the user can't sign in with a password until one is set.
    #[serde(default)]
    password: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct NewUser {
    user: Uuid,
}

/// Adds a user.
#[utoipa::path(post, path = "/api/v1/users", operation_id = "users.create", tag = "users",
    request_body = NewUserBody, security(("token" = [])),
    responses((status = 201, body = NewUser), (status = "default", body = Problem)))]
async fn add_user(desk: Desk, Body(body): Body<NewUserBody>) -> Result<(StatusCode, Json<NewUser>), Problem> {
    let name = checked_name(&body.name)?;
    let password = match body.password {
        Some(password) => Some(hashed(password).await?),
        None => None,
    };
    let (by, role) = (desk.by(), body.role.into());
    let user = desk.change(move |people| people.add_user(by, &name, role, password.as_deref())).await?;
    Ok((StatusCode::CREATED, Json(NewUser { user: user.0 })))
}

/// A name that can be shown: visible, and not too long.
pub(super) fn checked_name(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    let usable = !name.is_empty() && name.chars().count() <= NAME_MAX && !name.chars().any(char::is_control);
    let wrong =
        || Problem::new(ErrorCode::BadName, format!("A name must have 1 to {NAME_MAX} visible characters."));
    usable.then(|| name.to_owned()).ok_or_else(wrong)
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChangeUserBody {
    #[serde(default)]
    role: Option<RoleName>,
    #[serde(default)]
    disabled: Option<bool>,
    #[serde(default)]
    password: Option<String>,
}

/// Changes a user's role or password, or disables or enables the user. This ends their logins.
#[utoipa::path(patch, path = "/api/v1/users/{user}", operation_id = "users.update", tag = "users",
    params(("user" = Uuid, Path)),
    request_body = ChangeUserBody, security(("token" = [])),
    responses((status = 200, body = UserBody), (status = "default", body = Problem)))]
async fn change_user(
    desk: Desk,
    AtPath(id): AtPath<Uuid>,
    Body(body): Body<ChangeUserBody>,
) -> Result<Json<UserBody>, Problem> {
    let id = UserId(id);
    let (known, _) = desk.people().user(id)?.ok_or_else(no_user)?;
    let by = desk.by();
    if let Some(password) = body.password {
        let hashed = hashed(password).await?;
        desk.change(move |people| people.set_password(by, id, &hashed)).await?;
    }
    let role = body.role.map_or(known.role, Role::from);
    let disabled = body.disabled.unwrap_or(known.disabled);
    if (role, disabled) != (known.role, known.disabled) {
        desk.change(move |people| people.set_user(by, id, role, disabled)).await?;
    }
    let (user, _) = desk.people().user(id)?.ok_or_else(no_user)?;
    Ok(Json(user.into()))
}

pub(super) fn no_user() -> Problem {
    Problem::new(ErrorCode::NoSuchThing, "No user has this ID.")
}

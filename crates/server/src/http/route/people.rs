//! Who uses the server: login and logout, users, their tokens and logins, and the audit trail.

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use session::{Time, UserId};
use store::people::{Credential, Kind, NewCredential, Role, Scope, User};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath, Body};
use super::super::gate::{COOKIE, Gate, Policy};
use super::super::{App, Peer};
use crate::password;
use crate::people::{by, by_hand, make_token};
use crate::secret::{self, SecretKind};

/// How long a login lasts.
const LOGIN_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;
/// Characters of a name.
const NAME_MAX: usize = 80;
/// Lines of the audit trail in a page.
const AUDIT_PAGE: usize = 100;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(log_in))
        .route(Policy::Read, routes!(log_out))
        .route(Policy::Read, routes!(me))
        .route(Policy::Write, routes!(change_password))
        .route(Policy::Manage, routes!(users, add_user))
        .route(Policy::Manage, routes!(change_user))
        .route(Policy::Read, routes!(tokens))
        .route(Policy::Write, routes!(new_token))
        .route(Policy::Write, routes!(revoke_token))
        .route(Policy::Read, routes!(logins))
        .route(Policy::Write, routes!(end_login))
        .route(Policy::Manage, routes!(audit))
}

/// What a user is to the server.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RoleName {
    /// Has sessions.
    Member,
    /// Also manages the others.
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

/// What a credential allows; each allows what those before it do.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeName {
    Read,
    #[default]
    Write,
    Manage,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Read => Self::Read,
            ScopeName::Write => Self::Write,
            ScopeName::Manage => Self::Manage,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct UserBody {
    user: Uuid,
    name: String,
    role: &'static str,
    /// Shut out: no login, token or share of this user works.
    disabled: bool,
    /// Whether there is a password.
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

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    name: String,
    password: String,
}

/// Logs a browser in: the answer sets a cookie that ends with the login.
#[utoipa::path(post, path = "/api/v1/login", tag = "people", request_body = LoginBody,
    responses((status = 200, body = UserBody), (status = "default", body = Problem)))]
async fn log_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let address = app.front.address(peer, request.headers());
    let agent = request.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let agent: String = agent.unwrap_or("unknown").chars().take(NAME_MAX).collect();
    let Body(body) =
        <Body<LoginBody> as axum::extract::FromRequest<App>>::from_request(request, &app).await?;
    let keys = [
        format!("name {}", body.name.to_lowercase()),
        format!("address {}", address.map_or_else(String::new, |address| address.to_string())),
    ];
    if let Some(wait) = app.throttle.wait(&keys) {
        return Err(Problem::new(ErrorCode::TooMany, "Too many logins failed; wait a while.").after(wait));
    }
    // Counted before it is known, so that many at once are not one.
    app.throttle.failed(&keys);
    let people = app.desks.people().clone();
    let checked = tokio::task::spawn_blocking(move || {
        let found = people.by_name(&body.name)?;
        let kept = found.as_ref().and_then(|(_, kept)| kept.as_deref());
        let right = password::is_right(&body.password, kept);
        let now = SystemClock.now();
        let Some((user, _)) = found.filter(|(user, _)| right && !user.disabled) else {
            let name: String = body.name.chars().take(NAME_MAX).collect();
            people.note(by_hand(), "login_failed", &name)?;
            return Ok(None);
        };
        let secret = SecretKind::Login.make()?;
        let new = NewCredential {
            user: user.id,
            kind: Kind::Login,
            name: agent,
            scope: user.role.scope(),
            expires_at: Some(now.plus_micros(LOGIN_MICROS)),
        };
        people.add_credential(by(Some(user.id)), &new, secret::hash(&secret))?;
        Ok::<_, anyhow::Error>(Some((user, secret)))
    });
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a login could not be looked at");
        Problem::new(ErrorCode::Unavailable, "The login could not be looked at; try again.")
    };
    let checked = checked.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let (user, secret) = checked
        .ok_or_else(|| Problem::new(ErrorCode::NotAuthorised, "The name or the password is wrong."))?;
    app.throttle.succeeded(&keys);
    let seconds = LOGIN_MICROS / 1_000_000;
    Ok(([(header::SET_COOKIE, cookie(&secret, seconds))], Json(UserBody::from(user))).into_response())
}

/// The cookie of a login: kept from scripts, from other sites and from connections in the clear.
fn cookie(secret: &str, seconds: i64) -> HeaderValue {
    let text = format!("{COOKIE}={secret}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Ends the login, or revokes the token, that this request was made with.
#[utoipa::path(post, path = "/api/v1/logout", tag = "people", security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn log_out(desk: Desk, _headers: HeaderMap) -> Result<Response, Problem> {
    let (by, user) = (desk.by(), desk.user());
    let (kind, id) = (desk.caller.credential.kind, desk.caller.credential.id);
    desk.change(move |people| people.revoke(by, Some(user), kind, id)).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie("", 0))]).into_response())
}

#[derive(Debug, Serialize, ToSchema)]
struct MeBody {
    #[serde(flatten)]
    user: UserBody,
    /// What this request's credential allows.
    scope: &'static str,
}

/// Who asks.
#[utoipa::path(get, path = "/api/v1/me", tag = "people", security(("token" = [])),
    responses((status = 200, body = MeBody), (status = "default", body = Problem)))]
async fn me(desk: Desk) -> Result<Json<MeBody>, Problem> {
    let (user, _) = desk.people().user(desk.user())?.ok_or_else(no_user)?;
    Ok(Json(MeBody { user: user.into(), scope: desk.caller.scope.as_str() }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PasswordBody {
    /// The password until now; left out when there is none yet.
    #[serde(default)]
    old: Option<String>,
    new: String,
}

/// Changes one's own password, and ends all of one's logins.
#[utoipa::path(put, path = "/api/v1/me/password", tag = "people", request_body = PasswordBody, security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn change_password(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<PasswordBody>,
) -> Result<StatusCode, Problem> {
    let user = desk.user();
    let keys = [format!("password of {user}")];
    if let Some(wait) = app.throttle.wait(&keys) {
        return Err(Problem::new(ErrorCode::TooMany, "Too many tries; wait a while.").after(wait));
    }
    let kept = desk.people().user(user)?.and_then(|(_, kept)| kept);
    let old = body.old.unwrap_or_default();
    app.throttle.failed(&keys);
    if let Some(kept) = kept
        && !tokio::task::spawn_blocking(move || password::is_right(&old, Some(&kept))).await.unwrap_or(false)
    {
        return Err(Problem::new(ErrorCode::Forbidden, "The old password is wrong."));
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
            format!("A password has {} to {} characters.", password::LENGTH_MIN, password::LENGTH_MAX);
        return Err(Problem::new(ErrorCode::BadPassword, detail));
    }
    let failed = || Problem::new(ErrorCode::Unavailable, "The password could not be hashed.");
    let hashing = tokio::task::spawn_blocking(move || password::hash(&new)).await;
    hashing.map_err(|_| failed())?.map_err(|_| failed())
}

#[derive(Debug, Serialize, ToSchema)]
struct UsersBody {
    users: Vec<UserBody>,
}

/// Everyone who uses the server.
#[utoipa::path(get, path = "/api/v1/users", tag = "people", security(("token" = [])),
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
    /// Left out: no login until there is one.
    #[serde(default)]
    password: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct NewUser {
    user: Uuid,
}

/// Adds a user.
#[utoipa::path(post, path = "/api/v1/users", tag = "people", request_body = NewUserBody, security(("token" = [])),
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
fn checked_name(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    let usable = !name.is_empty() && name.chars().count() <= NAME_MAX && !name.chars().any(char::is_control);
    let wrong =
        || Problem::new(ErrorCode::BadName, format!("A name has 1 to {NAME_MAX} visible characters."));
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

/// Gives a user another role or password, or shuts him out. His logins end with it.
#[utoipa::path(patch, path = "/api/v1/users/{user}", tag = "people", params(("user" = Uuid, Path)),
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

fn no_user() -> Problem {
    Problem::new(ErrorCode::NoSuchThing, "There is no such user.")
}

/// A token or a login, without its secret, which nobody has.
#[derive(Debug, Serialize, ToSchema)]
struct CredentialBody {
    id: Uuid,
    name: String,
    scope: &'static str,
    created_at: i64,
    /// To the minute.
    used_at: Option<i64>,
    expires_at: Option<i64>,
    /// Whether this request was made with it.
    this: bool,
}

fn credentials(desk: &Desk, kind: Kind) -> Result<Vec<CredentialBody>, Problem> {
    let found = desk.people().credentials(Some(desk.user()), kind)?;
    let body = |credential: Credential| CredentialBody {
        this: credential.id == desk.caller.credential.id,
        id: credential.id,
        name: credential.name,
        scope: credential.scope.as_str(),
        created_at: credential.created_at.0,
        used_at: credential.used_at.map(|time| time.0),
        expires_at: credential.expires_at.map(|time| time.0),
    };
    Ok(found.into_iter().map(body).collect())
}

#[derive(Debug, Serialize, ToSchema)]
struct TokensBody {
    tokens: Vec<CredentialBody>,
}

/// One's own tokens.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "people", security(("token" = [])),
    responses((status = 200, body = TokensBody), (status = "default", body = Problem)))]
async fn tokens(desk: Desk) -> Result<Json<TokensBody>, Problem> {
    Ok(Json(TokensBody { tokens: credentials(&desk, Kind::Token)? }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTokenBody {
    /// What it is for.
    name: String,
    #[serde(default)]
    scope: ScopeName,
    /// Left out: until it is revoked.
    #[serde(default)]
    days: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
struct NewToken {
    id: Uuid,
    /// Shown this once.
    token: String,
}

/// Makes a token for a program. It never allows more than the request that asks for it.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "people", request_body = NewTokenBody, security(("token" = [])),
    responses((status = 201, body = NewToken), (status = "default", body = Problem)))]
async fn new_token(
    desk: Desk,
    Body(body): Body<NewTokenBody>,
) -> Result<(StatusCode, Json<NewToken>), Problem> {
    let name = checked_name(&body.name)?;
    let scope = Scope::from(body.scope);
    if scope > desk.caller.scope {
        let detail = format!("You may `{}`, and so may your tokens.", desk.caller.scope.as_str());
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let (by, user) = (desk.by(), desk.user());
    let micros = Duration::from_secs(24 * 3_600).as_micros();
    let expires = |days: u32| Some(by.now.plus_micros(i64::try_from(micros).ok()? * i64::from(days)));
    let expires_at: Option<Time> = body.days.and_then(expires);
    let people = desk.people().clone();
    let making = tokio::task::spawn_blocking(move || make_token(&people, by, user, &name, scope, expires_at));
    let failed = || Problem::new(ErrorCode::Unavailable, "The token could not be kept.");
    let (id, token) = making.await.map_err(|_| failed())?.map_err(|_| failed())?;
    Ok((StatusCode::CREATED, Json(NewToken { id, token })))
}

/// Takes one of one's own tokens away; what it reads at the moment ends.
#[utoipa::path(delete, path = "/api/v1/tokens/{token}", tag = "people", params(("token" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn revoke_token(desk: Desk, AtPath(token): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    revoke(&desk, Kind::Token, token).await
}

async fn revoke(desk: &Desk, kind: Kind, id: Uuid) -> Result<StatusCode, Problem> {
    let by = desk.by();
    // Whoever manages access may take away anybody's.
    let of = (desk.caller.scope < Scope::Manage).then(|| desk.user());
    match desk.change(move |people| people.revoke(by, of, kind, id)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::new(ErrorCode::NoSuchThing, "There is nothing by that id.")),
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct LoginsBody {
    logins: Vec<CredentialBody>,
}

/// Where one is logged in.
#[utoipa::path(get, path = "/api/v1/logins", tag = "people", security(("token" = [])),
    responses((status = 200, body = LoginsBody), (status = "default", body = Problem)))]
async fn logins(desk: Desk) -> Result<Json<LoginsBody>, Problem> {
    Ok(Json(LoginsBody { logins: credentials(&desk, Kind::Login)? }))
}

/// Ends one of one's logins; what it reads at the moment ends.
#[utoipa::path(delete, path = "/api/v1/logins/{login}", tag = "people", params(("login" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn end_login(desk: Desk, AtPath(login): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    revoke(&desk, Kind::Login, login).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct AuditAsked {
    /// Lines before this one; the newest if left out.
    before: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditLineBody {
    no: i64,
    time: i64,
    /// Who did it; none: the command line on the server, or nobody who is known.
    user: Option<Uuid>,
    action: String,
    about: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditBody {
    lines: Vec<AuditLineBody>,
}

/// What was done about people and access, newest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "people", params(AuditAsked), security(("token" = [])),
    responses((status = 200, body = AuditBody), (status = "default", body = Problem)))]
async fn audit(desk: Desk, Asked(asked): Asked<AuditAsked>) -> Result<Json<AuditBody>, Problem> {
    let lines = desk.people().audit(asked.before, AUDIT_PAGE)?.into_iter().map(|line| AuditLineBody {
        no: line.no,
        time: line.time.0,
        user: line.user.map(|user| user.0),
        action: line.action,
        about: line.about,
    });
    Ok(Json(AuditBody { lines: lines.collect() }))
}

//! What opens the gate: one's tokens and logins.

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::people::{Credential, Kind, NewCredential, Scope};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use super::users::checked_name;
use crate::secret::SecretKind;

const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(tokens))
        .route(Policy::Write, routes!(new_token))
        .route(Policy::Write, routes!(revoke_token))
        .route(Policy::Read, routes!(logins))
        .route(Policy::Write, routes!(end_login))
}

/// A credential's permissions. Each scope includes the ones before it.
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

/// An API token or a login, without its secret, which isn't stored.
#[derive(Debug, Serialize, ToSchema)]
struct CredentialBody {
    id: Uuid,
    name: String,
    scope: &'static str,
    created_at: i64,
    /// Accurate to the minute.
    used_at: Option<i64>,
    expires_at: Option<i64>,
    /// Whether this request was made with this credential.
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

/// Lists the caller's API tokens.
#[utoipa::path(get, path = "/api/v1/tokens", operation_id = "tokens.list", tag = "tokens",
    security(("token" = [])),
    responses((status = 200, body = TokensBody), (status = "default", body = Problem)))]
async fn tokens(desk: Desk) -> Result<Json<TokensBody>, Problem> {
    Ok(Json(TokensBody { tokens: credentials(&desk, Kind::Token)? }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTokenBody {
    /// A name that says what the token is for.
    name: String,
    #[serde(default)]
    scope: ScopeName,
    /// Days until the token expires. If omitted, it never expires.
    #[serde(default)]
    days: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
struct NewToken {
    id: Uuid,
    /// The token's secret, returned only here.
    token: String,
}

/// Creates an API token. Its scope can't exceed the caller's.
#[utoipa::path(post, path = "/api/v1/tokens", operation_id = "tokens.create", tag = "tokens",
    request_body = NewTokenBody, security(("token" = [])),
    responses((status = 201, body = NewToken), (status = "default", body = Problem)))]
async fn new_token(
    desk: Desk,
    Body(body): Body<NewTokenBody>,
) -> Result<(StatusCode, Json<NewToken>), Problem> {
    let name = checked_name(&body.name)?;
    let scope = Scope::from(body.scope);
    if scope > desk.caller.scope {
        let detail = format!(
            "A token can't have a higher scope than your own, which is `{}`.",
            desk.caller.scope.as_str()
        );
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let (by, user) = (desk.by(), desk.user());
    let expires_at = body.days.map(|days| by.now.plus_micros(DAY_MICROS * i64::from(days)));
    let (token, hash) = SecretKind::Token.make()?;
    let new = NewCredential { user, kind: Kind::Token, name, scope, expires_at };
    let id = desk.change(move |people| people.add_credential(by, &new, hash)).await?;
    Ok((StatusCode::CREATED, Json(NewToken { id, token })))
}

/// Revokes an API token and closes its open streams. With the scope `manage`, any user's token can be revoked.
#[utoipa::path(delete, path = "/api/v1/tokens/{token}", operation_id = "tokens.revoke", tag = "tokens",
    params(("token" = Uuid, Path)),
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
        false => Err(Problem::new(ErrorCode::NoSuchThing, "No token or login has this ID.")),
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct LoginsBody {
    logins: Vec<CredentialBody>,
}

/// Lists the caller's logins.
#[utoipa::path(get, path = "/api/v1/logins", operation_id = "logins.list", tag = "logins",
    security(("token" = [])),
    responses((status = 200, body = LoginsBody), (status = "default", body = Problem)))]
async fn logins(desk: Desk) -> Result<Json<LoginsBody>, Problem> {
    Ok(Json(LoginsBody { logins: credentials(&desk, Kind::Login)? }))
}

/// Ends a login and closes its open streams. With the scope `manage`, any user's login can be ended.
#[utoipa::path(delete, path = "/api/v1/logins/{login}", operation_id = "logins.end", tag = "logins",
    params(("login" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn end_login(desk: Desk, AtPath(login): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    revoke(&desk, Kind::Login, login).await
}

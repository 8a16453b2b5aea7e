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
    let expires_at = body.days.map(|days| by.now.plus_micros(DAY_MICROS * i64::from(days)));
    let (token, hash) = SecretKind::Token.make()?;
    let new = NewCredential { user, kind: Kind::Token, name, scope, expires_at };
    let id = desk.change(move |people| people.add_credential(by, &new, hash)).await?;
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

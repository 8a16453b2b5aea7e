//! One's passkeys: which there are, adding one, removing one. For logins only: what a program was given must not become
//! a way in that outlives it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::people::{Kind, Passkey};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;
use webauthn_rs::prelude::RegisterPublicKeyCredential;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use super::super::visitor::Visitor;
use super::login::{BeginPasskeyBody, CeremonyBody};
use super::users::{checked_name, no_user};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Write, routes!(passkeys))
        .route(Policy::Write, routes!(begin))
        .route(Policy::Write, routes!(finish))
        .route(Policy::Write, routes!(remove))
}

/// A caller who logged in.
fn logged_in(desk: &Desk) -> Result<(), Problem> {
    let detail = "Passkeys can only be managed from a login, not with an API token.";
    let forbidden = || Problem::new(ErrorCode::Forbidden, detail);
    (desk.caller.credential.kind == Kind::Login).then_some(()).ok_or_else(forbidden)
}

#[derive(Debug, Serialize, ToSchema)]
struct PasskeyBody {
    passkey: Uuid,
    name: String,
    created_at: i64,
    used_at: Option<i64>,
}

impl From<Passkey> for PasskeyBody {
    fn from(passkey: Passkey) -> Self {
        Self {
            passkey: passkey.id,
            name: passkey.name,
            created_at: passkey.created_at.0,
            used_at: passkey.used_at.map(|time| time.0),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct PasskeysBody {
    passkeys: Vec<PasskeyBody>,
}

/// Lists the caller's passkeys.
#[utoipa::path(get, path = "/api/v1/passkeys", operation_id = "passkeys.list", tag = "passkeys",
    security(("token" = [])),
    responses((status = 200, body = PasskeysBody), (status = "default", body = Problem)))]
async fn passkeys(desk: Desk) -> Result<Json<PasskeysBody>, Problem> {
    logged_in(&desk)?;
    let found = desk.people().passkeys(desk.user())?;
    Ok(Json(PasskeysBody { passkeys: found.into_iter().map(PasskeyBody::from).collect() }))
}

/// Starts adding a passkey.
#[utoipa::path(post, path = "/api/v1/passkeys/begin", operation_id = "passkeys.start", tag = "passkeys",
    request_body = BeginPasskeyBody,
    security(("token" = [])), responses((status = 200, body = CeremonyBody), (status = "default", body = Problem)))]
async fn begin(
    State(app): State<App>,
    desk: Desk,
    visitor: Visitor,
    Body(BeginPasskeyBody {}): Body<BeginPasskeyBody>,
) -> Result<Json<CeremonyBody>, Problem> {
    logged_in(&desk)?;
    let (user, _) = desk.people().user(desk.user())?.ok_or_else(no_user)?;
    let known = desk.people().passkeys(user.id)?;
    let begun = app.passkeys.begin_adding(visitor.origin.as_ref(), visitor.from, &user, &known)?;
    Ok(Json(begun.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPasskeyBody {
    ceremony: Uuid,
    /// The result of `navigator.credentials.create`, as its `toJSON` returns it.
    #[schema(value_type = Object)]
    credential: RegisterPublicKeyCredential,
    /// The passkey's display name.
    name: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct NewPasskey {
    passkey: Uuid,
}

/// Finishes adding a passkey with the device's response.
#[utoipa::path(post, path = "/api/v1/passkeys/finish", operation_id = "passkeys.finish", tag = "passkeys",
    request_body = NewPasskeyBody,
    security(("token" = [])), responses((status = 201, body = NewPasskey), (status = "default", body = Problem)))]
async fn finish(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<NewPasskeyBody>,
) -> Result<(StatusCode, Json<NewPasskey>), Problem> {
    logged_in(&desk)?;
    let name = checked_name(&body.name)?;
    let user = desk.user();
    let added = desk.change(move |people| {
        let added = app.passkeys.finish_adding(people, user, body.ceremony, &name, &body.credential);
        Ok(added.map_err(Problem::from))
    });
    Ok((StatusCode::CREATED, Json(NewPasskey { passkey: added.await?? })))
}

/// Removes one of the caller's passkeys. Logins made with it stay active.
#[utoipa::path(delete, path = "/api/v1/passkeys/{passkey}", operation_id = "passkeys.delete", tag = "passkeys",
    params(("passkey" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn remove(desk: Desk, AtPath(passkey): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    logged_in(&desk)?;
    let (by, user) = (desk.by(), desk.user());
    desk.change(move |people| people.remove_passkey(by, user, passkey)).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Logging in by passkey. No name is typed: the device says whose it is.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;
use webauthn_rs::prelude::PublicKeyCredential;

use super::super::super::App;
use super::super::super::error::{ErrorCode, Problem};
use super::super::super::extract::Body;
use super::super::super::gate::{Gate, Policy};
use super::super::super::visitor::Visitor;
use super::super::users::UserBody;
use super::{entered, let_in, note_failed};
use crate::passkeys::{Begun, PasskeyError};

pub(super) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(begin)).route(Policy::Anyone, routes!(finish))
}

/// An empty object, reserved for later fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BeginPasskeyBody {}

/// A WebAuthn challenge for the browser.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CeremonyBody {
    /// The ID to finish with: once, and within five minutes.
    ceremony: Uuid,
    /// The options for `navigator.credentials`. Pass `publicKey` through the matching `parse…OptionsFromJSON`.
    #[schema(value_type = Object)]
    options: Value,
}

impl From<Begun> for CeremonyBody {
    fn from(begun: Begun) -> Self {
        Self { ceremony: begun.ceremony, options: begun.options }
    }
}

/// Starts a sign-in with a passkey.
#[utoipa::path(post, path = "/api/v1/login/passkey/begin", operation_id = "login.passkey_start", tag = "login",
    request_body = BeginPasskeyBody,
    responses((status = 200, body = CeremonyBody), (status = "default", body = Problem)))]
async fn begin(
    State(app): State<App>,
    visitor: Visitor,
    Body(BeginPasskeyBody {}): Body<BeginPasskeyBody>,
) -> Result<Json<CeremonyBody>, Problem> {
    Ok(Json(app.passkeys.begin_entering(visitor.origin.as_ref(), visitor.from)?.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FinishPasskeyBody {
    ceremony: Uuid,
    /// The result of `navigator.credentials.get`, as its `toJSON` returns it.
    #[schema(value_type = Object)]
    credential: PublicKeyCredential,
}

/// Signs a browser in with a passkey. The response sets a cookie that is valid as long as the login.
#[utoipa::path(post, path = "/api/v1/login/passkey/finish", operation_id = "login.passkey_finish", tag = "login",
    request_body = FinishPasskeyBody,
    responses((status = 200, body = UserBody), (status = "default", body = Problem)))]
async fn finish(
    State(app): State<App>,
    visitor: Visitor,
    Body(body): Body<FinishPasskeyBody>,
) -> Result<Response, Problem> {
    let keys = visitor.attempt(&app.throttle, None)?;
    let (people, passkeys) = (app.desks.people().clone(), app.passkeys.clone());
    let checked = tokio::task::spawn_blocking(move || {
        let user = match passkeys.finish_entering(&people, body.ceremony, &body.credential) {
            Ok(user) => user,
            Err(error) => return Err(refused(&people, error)),
        };
        let secret = let_in(&people, &user, visitor.device)?;
        Ok((user, secret))
    });
    let failed = |_| Problem::new(ErrorCode::Unavailable, "The sign-in couldn't be verified. Try again.");
    let (user, secret) = checked.await.map_err(failed)??;
    app.throttle.succeeded(&keys);
    Ok(entered(user, &secret))
}

/// What somebody is told who is not let in: nothing of who has which passkey.
fn refused(people: &store::people::People, error: PasskeyError) -> Problem {
    use store::people::PeopleError::UnknownPasskey;
    if !matches!(error, PasskeyError::Wrong(_) | PasskeyError::Unknown | PasskeyError::People(UnknownPasskey))
    {
        return error.into();
    }
    tracing::info!(%error, "passkey rejected");
    if let Err(error) = note_failed(people, "by passkey") {
        return error.into();
    }
    let detail = "This passkey isn't registered here. Sign in another way, then add it again.";
    Problem::new(ErrorCode::NotAuthorised, detail)
}

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

/// Nothing is asked for yet.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BeginPasskeyBody {}

/// What a browser is asked to do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CeremonyBody {
    /// By what it is finished: once, and within five minutes.
    ceremony: Uuid,
    /// For `navigator.credentials`, with `publicKey` as its `parse…OptionsFromJSON` takes it.
    #[schema(value_type = Object)]
    options: Value,
}

impl From<Begun> for CeremonyBody {
    fn from(begun: Begun) -> Self {
        Self { ceremony: begun.ceremony, options: begun.options }
    }
}

/// Begins to log in by passkey.
#[utoipa::path(post, path = "/api/v1/login/passkey/begin", tag = "people", request_body = BeginPasskeyBody,
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
    /// What `navigator.credentials.get` gave, as its `toJSON` writes it.
    #[schema(value_type = Object)]
    credential: PublicKeyCredential,
}

/// Logs a browser in by what its device answered: the answer sets a cookie that ends with the login.
#[utoipa::path(post, path = "/api/v1/login/passkey/finish", tag = "people", request_body = FinishPasskeyBody,
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
    let failed = |_| Problem::new(ErrorCode::Unavailable, "The login could not be looked at; try again.");
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
    tracing::info!(%error, "a passkey was refused");
    if let Err(error) = note_failed(people, "by passkey") {
        return error.into();
    }
    let detail =
        "This passkey does not open this server. Log in another way, and add it again if it is yours.";
    Problem::new(ErrorCode::NotAuthorised, detail)
}

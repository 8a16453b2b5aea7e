//! Secrets that the server uses, such as keys of providers. They can be set and removed, never read.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use store::people::People;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use crate::vault;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(secrets)).route(Policy::Manage, routes!(set, remove))
}

#[derive(Debug, Serialize, ToSchema)]
struct SecretBody {
    name: String,
    changed_at: i64,
}

#[derive(Debug, Serialize, ToSchema)]
struct SecretsBody {
    secrets: Vec<SecretBody>,
}

/// Lists the names of the stored secrets.
#[utoipa::path(get, path = "/api/v1/secrets", operation_id = "secrets.list", tag = "secrets",
    security(("token" = [])),
    responses((status = 200, body = SecretsBody), (status = "default", body = Problem)))]
async fn secrets(desk: Desk) -> Result<Json<SecretsBody>, Problem> {
    let secrets = desk.people().secrets()?.into_iter();
    let body =
        |secret: store::people::SecretLine| SecretBody { name: secret.name, changed_at: secret.changed_at.0 };
    Ok(Json(SecretsBody { secrets: secrets.map(body).collect() }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSecret {
    /// The secret's value. It is never returned.
    #[schema(value_type = String)]
    secret: SecretString,
}

/// Stores a secret, replacing any earlier value. Models refer to it by `key_secret` in the configuration.
#[utoipa::path(put, path = "/api/v1/secrets/{name}", operation_id = "secrets.put", tag = "secrets",
    params(("name" = String, Path)),
    request_body = NewSecret, security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn set(
    State(app): State<App>,
    desk: Desk,
    AtPath(name): AtPath<String>,
    Body(body): Body<NewSecret>,
) -> Result<StatusCode, Problem> {
    vault::check(&name, body.secret.expose_secret()).map_err(|why| Problem::new(ErrorCode::BadName, why))?;
    let (vault, by) = (app.vault.clone(), desk.by());
    let offered = app.offered.clone();
    let keeping = move || {
        vault.keep(by, &name, body.secret.expose_secret()).inspect(|()| {
            // It may be the key of a model that an owner added.
            offered.look_again();
        })
    };
    let keeping = tokio::task::spawn_blocking(keeping).await;
    match keeping {
        Ok(Ok(())) => Ok(StatusCode::NO_CONTENT),
        Ok(Err(_)) | Err(_) => {
            Err(Problem::new(ErrorCode::Unavailable, "The secret couldn't be saved. Try again."))
        }
    }
}

/// Deletes a secret.
#[utoipa::path(delete, path = "/api/v1/secrets/{name}", operation_id = "secrets.delete", tag = "secrets",
    params(("name" = String, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn remove(
    State(app): State<App>,
    desk: Desk,
    AtPath(name): AtPath<String>,
) -> Result<StatusCode, Problem> {
    // The options of a model go with their model: without them its key could travel by another route.
    vault::check(&name, "any").map_err(|why| Problem::new(ErrorCode::BadName, why))?;
    let (by, offered) = (desk.by(), app.offered.clone());
    let removing = move |people: &People| {
        people.remove_secret(by, &name).inspect(|_| {
            // It may have been the key of a model that an owner added.
            offered.look_again();
        })
    };
    match desk.change(removing).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::new(ErrorCode::NoSuchThing, "No secret has this name.")),
    }
}

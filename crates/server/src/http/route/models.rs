//! The models that can be asked.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::gate::{Gate, Policy};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
}

#[derive(Debug, Serialize, ToSchema)]
struct ModelBody {
    name: String,
    /// What the provider calls it.
    model: String,
    /// Tokens that it reads and says together.
    window_tokens: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct ModelsBody {
    /// The first one is asked.
    models: Vec<ModelBody>,
}

/// The models of this server.
#[utoipa::path(get, path = "/api/v1/models", tag = "models", security(("token" = [])),
    responses((status = 200, body = ModelsBody)))]
async fn list(State(app): State<App>) -> Json<ModelsBody> {
    let models = app.models.iter().map(|model| ModelBody {
        name: model.name.clone(),
        model: model.model.clone(),
        window_tokens: model.window_tokens,
    });
    Json(ModelsBody { models: models.collect() })
}

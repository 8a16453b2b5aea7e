//! Providers that models can be added from: those known by name, and the models that one of them offers.

use axum::Json;
use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{Gate, Policy};
use super::models::is_address;
use crate::config::{ModelConfig, ProviderConfig};
use crate::models::{ListedModel, PRESETS, Preset};

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(presets)).route(Policy::Manage, routes!(models))
}

#[derive(Debug, Serialize, ToSchema)]
struct PresetsBody {
    providers: &'static [Preset],
}

/// Lists known providers with their URLs.
#[utoipa::path(get, path = "/api/v1/providers", operation_id = "providers.list", tag = "providers",
    security(("token" = [])),
    responses((status = 200, body = PresetsBody), (status = "default", body = Problem)))]
async fn presets() -> Json<PresetsBody> {
    Json(PresetsBody { providers: &PRESETS })
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OfferQuery {
    provider: ProviderConfig,
    /// The API's base URL.
    url: String,
    /// The API key to use; none if omitted.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    key: Option<SecretString>,
    /// A configured model whose key and options are used, if its URL has the same scheme, host and port. `key` takes
    /// precedence.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct OfferBody {
    models: Vec<ListedModel>,
    /// Why there are no models, as a sentence for people.
    told: Option<String>,
}

/// Lists the models that a provider offers.
#[utoipa::path(post, path = "/api/v1/providers/models", operation_id = "providers.list_models", tag = "providers",
    request_body = OfferQuery,
    security(("token" = [])), responses((status = 200, body = OfferBody), (status = "default", body = Problem)))]
async fn models(State(app): State<App>, Body(body): Body<OfferQuery>) -> Result<Json<OfferBody>, Problem> {
    let url = body.url.trim().to_owned();
    if !is_address(&url) {
        return Err(Problem::new(
            ErrorCode::BadModel,
            "The URL must start with `http://` or `https://` and can't contain a user name, password or `#`.",
        ));
    }
    let given = body.key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    let is_header = |key: &&str| key.chars().all(|letter| letter.is_ascii_graphic());
    if given.is_some_and(|key| !is_header(&key)) {
        return Err(Problem::new(
            ErrorCode::BadModel,
            "An API key can contain only letters, digits and punctuation.",
        ));
    }
    let saved = body.name.as_ref().and_then(|name| app.offered.at(name, &url));
    let (config, saved_key) = saved.unwrap_or_else(|| (ModelConfig::at(body.provider, url), None));
    let config = ModelConfig { provider: body.provider, ..config };
    let key = given.map(agent::ApiKey::new).or(saved_key);
    let (models, told) = match app.offered.list(&config, key).await {
        Ok(models) => (models, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Ok(Json(OfferBody { models, told }))
}

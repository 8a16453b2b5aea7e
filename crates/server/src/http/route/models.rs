//! The models that can be asked: all may list them, owners add, change, try and remove them while the server runs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use session::organise::is_visible;
use store::people::{KeptModel, Role, WireName};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use crate::config::{ProviderConfig, output_tokens_max, window_tokens};
use crate::models::{ChangeError, KnownModel, ModelOptions, NamedIn, NewKey, Offer, Offered, try_out};

/// Characters of a name, of what a provider calls a model, and of a key.
const NAME_CHARS_MAX: usize = 60;
const MODEL_CHARS_MAX: usize = 200;
const KEY_CHARS_MAX: usize = 10_000;
/// More tokens than any model reads.
const WINDOW_TOKENS_MAX: u64 = 1_000_000_000;
/// The part of the path that is not a model's name.
const RESERVED: &str = "default";

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Manage, routes!(set_default))
        .route(Policy::Manage, routes!(put, remove))
        .route(Policy::Manage, routes!(test))
}

#[derive(Debug, Serialize, ToSchema)]
struct ModelBody {
    name: String,
    /// The provider's ID for the model.
    model: String,
    /// The context window in tokens, input and output together.
    window_tokens: u64,
    /// The wire format.
    provider: ProviderConfig,
    /// The API's base URL. Shown to owners only.
    url: Option<String>,
    /// Where the model is defined.
    from: NamedIn,
    /// Whether the model has an API key. The key itself is never shown.
    has_key: bool,
    /// The maximum number of output tokens in one answer.
    output_tokens_max: u32,
    /// Whether the model can continue a partial answer (prefill).
    takes_prefix: bool,
    /// Whether the model gets tools.
    tools: bool,
    /// Whether pictures in attachments are sent to the model. Otherwise, it gets only their names.
    pictures: bool,
    /// Whether PDFs in attachments are sent to the model. Otherwise, it gets only their names.
    documents: bool,
    /// Other options, without header values. Shown to owners only.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<ModelOptions>,
}

impl ModelBody {
    fn of(offer: &Offer, for_owner: bool) -> Self {
        let config = &offer.config;
        Self {
            name: config.name.clone(),
            model: config.model.clone(),
            window_tokens: config.window_tokens,
            provider: config.provider,
            url: for_owner.then(|| config.url.clone()),
            from: offer.named_in,
            has_key: config.key_env.is_some() || config.key_file.is_some() || config.key_secret.is_some(),
            output_tokens_max: config.output_tokens_max,
            takes_prefix: config.takes_prefix,
            tools: config.tools,
            pictures: offer.model.provider.dialect.takes_pictures(),
            documents: offer.model.provider.dialect.takes_documents(),
            options: offer.options.clone().filter(|_| for_owner).map(ModelOptions::shown),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct ModelsBody {
    /// The models. The first one is the default; messages and projects can choose another.
    models: Vec<ModelBody>,
}

/// Lists the models on this server.
#[utoipa::path(get, path = "/api/v1/models", operation_id = "models.list", tag = "models",
    security(("token" = [])),
    responses((status = 200, body = ModelsBody), (status = "default", body = Problem)))]
async fn list(State(app): State<App>, desk: Desk) -> Json<ModelsBody> {
    let for_owner = desk.caller.role == Role::Owner;
    let models = app.offered.now().iter().map(|offer| ModelBody::of(offer, for_owner)).collect();
    Json(ModelsBody { models })
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewModel {
    provider: ProviderConfig,
    /// The API's base URL, for example `https://api.openai.com/v1`.
    url: String,
    /// The provider's ID for the model.
    model: String,
    /// The API key. It is never returned. If omitted, the saved key stays, provided the URL leads to the same place; an
    /// empty one removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    key: Option<SecretString>,
    /// If omitted, the window of a known model, otherwise 32,768.
    #[serde(default)]
    window_tokens: Option<u64>,
    /// If omitted, at most 32,768 for a known model and 4,096 for any other, and at most a quarter of the window.
    #[serde(default)]
    output_tokens_max: Option<u32>,
    /// False if omitted.
    #[serde(default)]
    takes_prefix: Option<bool>,
    /// If omitted, false for a known model without tool support, otherwise true.
    #[serde(default)]
    tools: Option<bool>,
    /// Other options. If omitted, the saved ones stay.
    #[serde(default)]
    options: Option<ModelOptions>,
}

/// Adds a model, or updates one added through the API. An active run keeps its settings; the change applies from the
/// next run on.
#[utoipa::path(put, path = "/api/v1/models/{name}", operation_id = "models.put", tag = "models",
    params(("name" = String, Path)),
    request_body = NewModel, security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn put(
    State(app): State<App>,
    desk: Desk,
    AtPath(name): AtPath<String>,
    Body(body): Body<NewModel>,
) -> Result<StatusCode, Problem> {
    let options = body.options.clone();
    if let Some(options) = &options {
        options.check().map_err(|error| Problem::new(ErrorCode::BadModel, error.to_string()))?;
    }
    let (model, key) = checked(name, body)?;
    let by = desk.by();
    change(app, move |offered| offered.put(by, model, key, options)).await
}

/// Deletes a model added through the API, and its key.
#[utoipa::path(delete, path = "/api/v1/models/{name}", operation_id = "models.delete", tag = "models",
    params(("name" = String, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn remove(
    State(app): State<App>,
    desk: Desk,
    AtPath(name): AtPath<String>,
) -> Result<StatusCode, Problem> {
    let by = desk.by();
    change(app, move |offered| offered.remove(by, &name)).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DefaultBody {
    /// The name of a model.
    name: String,
}

/// Sets the default model, used if neither a message nor a project chooses one.
#[utoipa::path(put, path = "/api/v1/models/default", operation_id = "models.set_default", tag = "models",
    request_body = DefaultBody,
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn set_default(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<DefaultBody>,
) -> Result<StatusCode, Problem> {
    let by = desk.by();
    change(app, move |offered| offered.set_default(by, &body.name)).await
}

#[derive(Debug, Serialize, ToSchema)]
struct TestBody {
    /// Whether the model answered.
    ok: bool,
    /// A human-readable result.
    told: String,
}

/// Tests a model by requesting one word, for at most 20 seconds.
#[utoipa::path(post, path = "/api/v1/models/{name}/test", operation_id = "models.test", tag = "models",
    params(("name" = String, Path)),
    security(("token" = [])), responses((status = 200, body = TestBody), (status = "default", body = Problem)))]
async fn test(State(app): State<App>, AtPath(name): AtPath<String>) -> Result<Json<TestBody>, Problem> {
    let offers = app.offered.now();
    let offer = offers.iter().find(|offer| offer.config.name == name).ok_or_else(no_model)?;
    let found = try_out(&offer.model).await;
    Ok(Json(TestBody { ok: found.ok, told: found.told }))
}

/// Changes the list of models, off the threads that serve.
async fn change(
    app: App,
    work: impl FnOnce(&Offered) -> Result<(), ChangeError> + Send + 'static,
) -> Result<StatusCode, Problem> {
    match tokio::task::spawn_blocking(move || work(&app.offered)).await {
        Ok(changed) => changed.map_err(Problem::from)?,
        Err(error) => return Err(Problem::new(ErrorCode::Unavailable, error.to_string())),
    }
    Ok(StatusCode::NO_CONTENT)
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::InFile => Self::new(
                ErrorCode::SetInFile,
                "This model is defined in the configuration file. Change it there, then restart the server.",
            ),
            ChangeError::Unknown => no_model(),
            ChangeError::KeyForElsewhere => Self::new(
                ErrorCode::BadModel,
                "The saved key and header values belong to another URL, proxy or certificate. Enter them \
                 again, or remove them.",
            ),
            ChangeError::BadOptions(error) => Self::new(ErrorCode::BadModel, format!("{error:#}")),
            ChangeError::People(error) => error.into(),
            ChangeError::Other(error) => {
                tracing::error!(reason = %format!("{error:#}"), "failed to change model");
                Self::new(ErrorCode::Unavailable, "The model couldn't be saved. Nothing was changed.")
            }
        }
    }
}

pub(crate) fn no_model() -> Problem {
    Problem::new(ErrorCode::NoSuchThing, "No model has this name.")
}

/// A description that can be kept, and what becomes of the key.
fn checked(name: String, body: NewModel) -> Result<(KeptModel, NewKey), Problem> {
    let wrong = |detail: &str| Err(Problem::new(ErrorCode::BadModel, detail));
    let visible = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count()) && text.trim() == text && text.chars().all(is_visible)
    };
    if !visible(&name, NAME_CHARS_MAX) || name == RESERVED {
        let detail = format!(
            "A model's name must have 1 to {NAME_CHARS_MAX} visible characters and can't be `{RESERVED}`."
        );
        return Err(Problem::new(ErrorCode::BadName, detail));
    }
    let model = body.model.trim().to_owned();
    if !visible(&model, MODEL_CHARS_MAX) {
        return wrong("The provider's model ID must have 1 to 200 visible characters.");
    }
    let url = body.url.trim().trim_end_matches('/').to_owned();
    if !is_address(&url) {
        return wrong(
            "The URL must start with `http://` or `https://` and can't contain a user name, password or `#`.",
        );
    }
    let known = KnownModel::find(&url, &model);
    let usual_window = || known.map_or_else(window_tokens, |known| known.window_tokens);
    let window_tokens = body.window_tokens.unwrap_or_else(usual_window);
    let quarter = u32::try_from(window_tokens / 4).unwrap_or(u32::MAX).max(1);
    let usual_output = || known.map_or_else(output_tokens_max, KnownModel::output_tokens_max).min(quarter);
    let output_tokens_max = body.output_tokens_max.unwrap_or_else(usual_output);
    let fits = output_tokens_max > 0 && u64::from(output_tokens_max) < window_tokens;
    if !fits || window_tokens > WINDOW_TOKENS_MAX {
        return wrong("The maximum output must be at least one token and smaller than the context window.");
    }
    let key = match body.key {
        None => NewKey::Same,
        Some(key) => match key.expose_secret().trim() {
            "" => NewKey::None,
            // It travels as a header.
            key if key.len() <= KEY_CHARS_MAX && key.chars().all(|letter| letter.is_ascii_graphic()) => {
                NewKey::Set(SecretString::from(key))
            }
            _ => {
                return wrong(
                    "An API key can contain only letters, digits and punctuation. Check that no spaces were \
                     copied with it.",
                );
            }
        },
    };
    let provider = match body.provider {
        ProviderConfig::Openai => WireName::Openai,
        ProviderConfig::Anthropic => WireName::Anthropic,
    };
    let (takes_prefix, tools) =
        (body.takes_prefix.unwrap_or(false), body.tools.unwrap_or(known.is_none_or(|known| known.tools)));
    let kept = KeptModel {
        name,
        provider,
        url,
        model,
        key_secret: None,
        window_tokens,
        output_tokens_max,
        takes_prefix,
        tools,
    };
    Ok((kept, key))
}

/// Whether questions can be sent to an address that is named like this.
pub(crate) fn is_address(url: &str) -> bool {
    agent::outgoing::check(url).is_ok() && !url.contains('#')
}

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
    /// What the provider calls it.
    model: String,
    /// Tokens that it reads and says together.
    window_tokens: u64,
    /// The wire format.
    provider: ProviderConfig,
    /// The API's base URL; for owners.
    url: Option<String>,
    /// Where it is named.
    from: NamedIn,
    /// Whether it is asked with a key. The key itself is never shown.
    has_key: bool,
    /// Tokens that one answer may have.
    output_tokens_max: u32,
    /// Whether it goes on from the beginning of an answer.
    takes_prefix: bool,
    /// Whether it is offered tools.
    tools: bool,
    /// Whether pictures in attachments are sent to it. Otherwise it gets only their names.
    pictures: bool,
    /// Whether PDFs in attachments are sent to it. Otherwise it gets only their names.
    documents: bool,
    /// Its other options, without the values of headers. Shown to owners only.
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
    /// The first one is asked, unless a message or the project of its session names another.
    models: Vec<ModelBody>,
}

/// The models of this server.
#[utoipa::path(get, path = "/api/v1/models", tag = "models", security(("token" = [])),
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
    /// What the provider calls it.
    model: String,
    /// It is never shown again. Left out, the one that is kept goes on, as long as the address leads to the same place;
    /// an empty one removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    key: Option<SecretString>,
    /// If left out, the window of a known model, otherwise 32,768.
    #[serde(default)]
    window_tokens: Option<u64>,
    /// If left out, at most 32,768 for a known model and 4,096 for any other, and at most a quarter of the window.
    #[serde(default)]
    output_tokens_max: Option<u32>,
    /// No, if left out.
    #[serde(default)]
    takes_prefix: Option<bool>,
    /// If left out, false for a known model without tools, otherwise true.
    #[serde(default)]
    tools: Option<bool>,
    /// Other options. If left out, the saved ones stay.
    #[serde(default)]
    options: Option<ModelOptions>,
}

/// Adds a model, or changes one that was added here. A run that is going on keeps the model it began with; the next one
/// asks this one.
#[utoipa::path(put, path = "/api/v1/models/{name}", tag = "models", params(("name" = String, Path)),
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

/// Takes a model away that was added here, and its key.
#[utoipa::path(delete, path = "/api/v1/models/{name}", tag = "models", params(("name" = String, Path)),
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
    /// One of the models.
    name: String,
}

/// Says which model is asked when neither a message nor a project names one.
#[utoipa::path(put, path = "/api/v1/models/default", tag = "models", request_body = DefaultBody,
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
    /// Whether it answered.
    ok: bool,
    /// What happened, for a person.
    told: String,
}

/// Asks a model for one word, as a run would ask it, for 20 seconds at most.
#[utoipa::path(post, path = "/api/v1/models/{name}/test", tag = "models", params(("name" = String, Path)),
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
                "The file of the configuration names this model. Change it there and start the server again.",
            ),
            ChangeError::Unknown => no_model(),
            ChangeError::KeyForElsewhere => Self::new(
                ErrorCode::BadModel,
                "The saved key and header values are for another address, proxy or certificate. Enter them again, or remove them.",
            ),
            ChangeError::BadOptions(error) => Self::new(ErrorCode::BadModel, format!("{error:#}")),
            ChangeError::People(error) => error.into(),
            ChangeError::Other(error) => {
                tracing::error!(reason = %format!("{error:#}"), "a model was not changed");
                Self::new(ErrorCode::Unavailable, "The model could not be kept. Nothing was changed.")
            }
        }
    }
}

pub(crate) fn no_model() -> Problem {
    Problem::new(ErrorCode::NoSuchThing, "There is no model by that name.")
}

/// A description that can be kept, and what becomes of the key.
fn checked(name: String, body: NewModel) -> Result<(KeptModel, NewKey), Problem> {
    let wrong = |detail: &str| Err(Problem::new(ErrorCode::BadModel, detail));
    let visible = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count()) && text.trim() == text && text.chars().all(is_visible)
    };
    if !visible(&name, NAME_CHARS_MAX) || name == RESERVED {
        let detail =
            format!("A model's name has 1 to {NAME_CHARS_MAX} visible characters and is not `{RESERVED}`.");
        return Err(Problem::new(ErrorCode::BadName, detail));
    }
    let model = body.model.trim().to_owned();
    if !visible(&model, MODEL_CHARS_MAX) {
        return wrong("Say what the provider calls the model, in at most 200 visible characters.");
    }
    let url = body.url.trim().trim_end_matches('/').to_owned();
    if !is_address(&url) {
        return wrong("The address begins with `http://` or `https://` and has no name, password or `#`.");
    }
    let known = KnownModel::find(&url, &model);
    let usual_window = || known.map_or_else(window_tokens, |known| known.window_tokens);
    let window_tokens = body.window_tokens.unwrap_or_else(usual_window);
    let quarter = u32::try_from(window_tokens / 4).unwrap_or(u32::MAX).max(1);
    let usual_output = || known.map_or_else(output_tokens_max, KnownModel::output_tokens_max).min(quarter);
    let output_tokens_max = body.output_tokens_max.unwrap_or_else(usual_output);
    let fits = output_tokens_max > 0 && u64::from(output_tokens_max) < window_tokens;
    if !fits || window_tokens > WINDOW_TOKENS_MAX {
        return wrong("An answer has at least one token, and fits the window with room for a question.");
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
                    "A key has letters, digits and signs, and nothing else. Was something copied with it?",
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

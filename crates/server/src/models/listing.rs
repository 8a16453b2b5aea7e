//! The models that a provider offers, with details from the provider and the catalog.

use std::sync::Arc;
use std::time::Duration;

use agent::{Outgoing, Wire};
use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::catalog::{KnownModel, as_of, without_date};
use crate::config::ModelConfig;
use crate::vault::Vault;

/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Models that are listed.
pub(super) const LISTED_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 200;
/// Bytes of a list that are read.
const LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The window of a model that Ollama loads, unless its operator set another one.
const OLLAMA_WINDOW_TOKENS: u64 = 4_096;
/// Parts of the names of models that don't chat.
const OTHER_KINDS: [&str; 14] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "image",
    "moderation",
    "rerank",
    "transcribe",
    "realtime",
    "audio",
    "sora",
    "veo",
    "guard",
    "ocr",
];

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ListedModel {
    /// The provider's name for the model.
    pub(crate) model: String,
    /// The context window in tokens, input and output together; null if unknown.
    pub(crate) window_tokens: Option<u64>,
    /// The price per million input tokens; null if unknown.
    pub(crate) input_price: Option<f64>,
    pub(crate) output_price: Option<f64>,
    /// The date of the prices, as YYYY-MM-DD, if they come from the built-in catalog.
    pub(crate) prices_as_of: Option<&'static str>,
    /// Whether the model can continue a partial answer (prefill), as with llama.cpp.
    pub(crate) takes_prefix: bool,
}

/// The provider rejected the key.
#[derive(Debug, thiserror::Error)]
#[error("The provider rejected the key ({status}).")]
pub(crate) struct KeyRejected {
    status: u16,
}

/// Asks a provider for its models. Ignores the model that `config` names.
///
/// # Errors
/// Returns an error whose message is shown to people, if there is no list.
pub(crate) async fn list(
    config: &ModelConfig,
    key: Option<agent::ApiKey>,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<Vec<ListedModel>> {
    let outgoing = super::outgoing(config)?;
    let request = super::models_request(&outgoing, config, key.as_ref(), vault)?.timeout(PATIENCE);
    let reply = request.send().await.map_err(|error| anyhow::anyhow!(reached(&error)))?;
    let status = reply.status();
    let body = read(reply).await?;
    if !status.is_success() {
        // The provider's message may contain a part of the key.
        if matches!(status.as_u16(), 401 | 403) {
            return Err(KeyRejected { status: status.as_u16() }.into());
        }
        bail!("The provider didn't list its models ({}).", status.as_u16());
    }
    let text = String::from_utf8_lossy(&body);
    if is_web_page(&text) {
        bail!("This address answers with a web page, not with a provider's API.");
    }
    let text = super::options::request(config, vault)?
        .secrets(key.as_ref())
        .map_err(anyhow::Error::msg)?
        .hide(text)
        .into_owned();
    let listed: Value =
        serde_json::from_str(&text).context("The provider's list of models can't be read.")?;
    let mut models = models(&listed, &config.url);
    if models.is_empty() {
        bail!("The provider lists no models at this URL.");
    }
    if listed["data"].as_array().is_some_and(|all| all.iter().any(|model| model["owned_by"] == "library")) {
        read_ollama(&outgoing, &config.url, &mut models).await;
    }
    Ok(models)
}

/// What a successful reply to a request for a provider's models says about one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The list has the model, or is known to be incomplete.
    Listed,
    /// The list lacks the model.
    NotListed,
    /// The reply is a web page.
    WebPage,
    /// The reply is not a list of models.
    NoList,
}

impl Listing {
    /// Reads the body of a reply.
    ///
    /// # Errors
    /// Returns an error if the body is cut off or too long.
    pub(super) async fn read(reply: reqwest::Response, config: &ModelConfig) -> anyhow::Result<Self> {
        let listing = Self::of(&read(reply).await?, &config.model);
        // Azure lists base models, but requests name deployments.
        let is_azure = agent::is_at(&config.url, &["azure.com"]);
        Ok(if listing == Self::NotListed && is_azure { Self::Listed } else { listing })
    }

    fn of(body: &[u8], model: &str) -> Self {
        if is_web_page(&String::from_utf8_lossy(body)) {
            return Self::WebPage;
        }
        let Ok(listed) = serde_json::from_slice::<Value>(body) else { return Self::NoList };
        let Some(all) = entries(&listed) else { return Self::NoList };
        let model = without_prefix(model);
        let is_it = |listed: &str| {
            let listed = without_prefix(listed);
            // Ollama lists the default tag. Anthropic lists the dated name of an alias.
            listed == model
                || listed.strip_suffix(":latest") == Some(model)
                || without_date(listed) == Some(model)
        };
        let has_it = |entry: &Value| ["id", "name"].iter().any(|key| entry[key].as_str().is_some_and(is_it));
        match listed["has_more"] == true || all.iter().any(has_it) {
            true => Self::Listed,
            false => Self::NotListed,
        }
    }
}

/// The entries of a list of models, in any of the shapes that providers use.
fn entries(listed: &Value) -> Option<&Vec<Value>> {
    listed["data"].as_array().or(listed["models"].as_array()).or(listed.as_array())
}

fn is_web_page(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

/// A model's name as requests use it. Gemini lists its models with a prefix.
fn without_prefix(name: &str) -> &str {
    name.strip_prefix("models/").unwrap_or(name)
}

fn reached(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("The provider didn't answer within {} s.", PATIENCE.as_secs());
    }
    "The provider can't be reached at this URL.".to_owned()
}

/// Reads a list of at most `LIST_BYTES_MAX` bytes.
async fn read(mut reply: reqwest::Response) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.context("The provider's list of models was cut off.")? {
        if body.len() + chunk.len() > LIST_BYTES_MAX {
            bail!("The provider's list of models is too long.");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The models of a list, in its order. Providers agree on little more than the name.
fn models(listed: &Value, url: &str) -> Vec<ListedModel> {
    let chats = |model: &&Value| {
        let is_other =
            model["type"].as_str().is_some_and(|kind| !matches!(kind, "chat" | "language" | "model"));
        !is_other && model["capabilities"]["completion_chat"].as_bool() != Some(false)
    };
    let models = entries(listed).into_iter().flatten().filter(chats).filter_map(|model| {
        let name = model["id"].as_str().or(model["name"].as_str())?;
        let name = without_prefix(name);
        let lower = name.to_lowercase();
        let is_shown = !name.trim().is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name.chars().all(session::organise::is_visible);
        if !is_shown || OTHER_KINDS.iter().any(|kind| lower.contains(kind)) {
            return None;
        }
        let known = KnownModel::find(url, name);
        let told = window_of(model);
        // OpenRouter lists its routers at -1: their price depends on the model that answers.
        let price = |field: &str| {
            let price = model["pricing"][field].as_str()?.parse::<f64>().ok()?;
            (price.is_finite() && price >= 0.0).then_some(price * 1e6)
        };
        let micros = |micros: u64| micros as f64 / 1e6;
        let told_prices = price("prompt").zip(price("completion"));
        let known_prices =
            known.map(|known| (micros(known.prices.input_micros), micros(known.prices.output_micros)));
        let (input_price, output_price) = told_prices.or(known_prices).unzip();
        Some(ListedModel {
            model: name.to_owned(),
            window_tokens: told.or(known.map(|known| known.window_tokens)),
            input_price,
            output_price,
            prices_as_of: (told_prices.is_none() && known.is_some()).then(as_of),
            takes_prefix: model["owned_by"] == "llamacpp",
        })
    });
    models.take(LISTED_MAX).collect()
}

/// Returns the window that a provider reports with a model, under any of the names that providers use.
fn window_of(model: &Value) -> Option<u64> {
    let fields = [
        &model["meta"]["n_ctx"],
        &model["max_model_len"],
        &model["loaded_context_length"],
        &model["context_length"],
        &model["context_window"],
        &model["max_context_length"],
        &model["max_input_tokens"],
    ];
    fields.into_iter().find_map(Value::as_u64).filter(|tokens| *tokens > 0)
}

/// Asks Ollama for the windows of its loaded models, and assumes the default for the others. Ollama silently truncates
/// longer prompts.
async fn read_ollama(outgoing: &Outgoing, url: &str, models: &mut [ListedModel]) {
    let root = agent::endpoint(Wire::OpenAi, url, "").trim_end_matches('/').to_owned();
    let loaded = format!("{}/api/ps", root.strip_suffix("/v1").unwrap_or(&root));
    let reply = async {
        let request = outgoing.request(reqwest::Method::GET, &loaded).ok()?.timeout(PATIENCE);
        let body = read(request.send().await.ok()?).await.ok()?;
        serde_json::from_slice::<Value>(&body).ok()
    };
    let loaded = reply.await.unwrap_or_else(|| json!({}));
    for model in models {
        let running = loaded["models"].as_array().into_iter().flatten();
        let window = running
            .filter(|running| {
                running["name"] == model.model.as_str() || running["model"] == model.model.as_str()
            })
            .find_map(|running| running["context_length"].as_u64());
        model.window_tokens = Some(window.unwrap_or(OLLAMA_WINDOW_TOKENS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_says_whether_a_model_is_listed() {
        let of = |body: &str| Listing::of(body.as_bytes(), "big-1");
        let list = |name: &str| json!({ "data": [{ "id": "text-embedding-1" }, { "id": name }] }).to_string();
        for name in ["big-1", "models/big-1", "big-1:latest", "big-1-20260414"] {
            assert_eq!(of(&list(name)), Listing::Listed, "{name}");
        }
        for name in ["big-10", "big", "big-1:4b", "Big-1"] {
            assert_eq!(of(&list(name)), Listing::NotListed, "{name}");
        }
        assert_eq!(of(&json!({ "data": [], "has_more": true }).to_string()), Listing::Listed);
        assert_eq!(of(&json!([{ "id": "a" }]).to_string()), Listing::NotListed);
        assert_eq!(of(&json!({ "models": [{ "name": "models/big-1" }] }).to_string()), Listing::Listed);
        for page in ["<!doctype html><title>Big</title>", "\n <html>"] {
            assert_eq!(of(page), Listing::WebPage);
        }
        for other in ["", "OK", "{}", "{\"status\":\"ok\"}", "7", "\u{fffd}"] {
            assert_eq!(of(other), Listing::NoList, "{other}");
        }
    }

    #[test]
    fn every_shape_of_a_list_is_read() {
        let names = |listed: Value, url: &str| {
            models(&listed, url)
                .into_iter()
                .map(|model| (model.model, model.window_tokens))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, window| (name.to_owned(), window);
        let openai = json!({ "data": [{ "id": "gpt-5.5", "owned_by": "system" }, { "id": "text-embedding-3-small" },
            { "id": "gpt-image-2" }] });
        assert_eq!(names(openai, "https://api.openai.com/v1"), [named("gpt-5.5", Some(1_050_000))]);
        let google = json!({ "object": "list", "data": [{ "id": "models/gemini-9", "object": "model" }] });
        assert_eq!(
            names(google, "https://generativelanguage.googleapis.com/v1beta/openai"),
            [named("gemini-9", None)]
        );
        let together =
            json!([{ "id": "a/b", "type": "chat", "context_length": 9 }, { "id": "c", "type": "image" }]);
        assert_eq!(names(together, "https://api.together.xyz/v1"), [named("a/b", Some(9))]);
        let mistral = json!({ "data": [{ "id": "m", "max_context_length": 7, "capabilities": { "completion_chat": true } },
            { "id": "n", "capabilities": { "completion_chat": false } }] });
        assert_eq!(names(mistral, "https://api.mistral.ai/v1"), [named("m", Some(7))]);
        let vllm = json!({ "data": [{ "id": "q", "max_model_len": 40_960 }] });
        assert_eq!(names(vllm, "http://127.0.0.1:8000/v1"), [named("q", Some(40_960))]);
        for nonsense in [json!(null), json!("x"), json!({ "data": [1, null, { "id": "a\u{202e}b" }] })] {
            assert_eq!(names(nonsense, "http://127.0.0.1:1/v1"), []);
        }
        let router = json!({ "data": [{ "id": "x/y", "context_length": 5, "pricing": { "prompt": "0.000002", "completion": "0.00001" } }] });
        let listed = models(&router, "https://openrouter.ai/api/v1");
        let prices = |listed: &ListedModel| (listed.input_price, listed.output_price, listed.prices_as_of);
        assert_eq!(prices(&listed[0]), (Some(2.0), Some(10.0), None));
        let varying =
            json!({ "data": [{ "id": "x/auto", "pricing": { "prompt": "-1", "completion": "-1" } }] });
        assert_eq!(prices(&models(&varying, "https://openrouter.ai/api/v1")[0]), (None, None, None));
        let openai = json!({ "data": [{ "id": "gpt-5.5" }] });
        assert_eq!(models(&openai, "https://api.openai.com/v1")[0].prices_as_of, Some(as_of()));
    }
}

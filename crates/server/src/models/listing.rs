//! The models that a provider offers, with details from the provider and the catalog.

use std::sync::Arc;
use std::time::Duration;

use agent::{Outgoing, Wire};
use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::catalog::{KnownModel, as_of};
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

/// A model that a provider offers.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ListedModel {
    /// The provider's name for the model.
    pub(crate) model: String,
    /// The context window in tokens, input and output together; none if unknown.
    pub(crate) window_tokens: Option<u64>,
    /// The price per million input tokens; none if unknown.
    pub(crate) input_price: Option<f64>,
    pub(crate) output_price: Option<f64>,
    /// The date of the prices if they are the catalog's, as YYYY-MM-DD.
    pub(crate) prices_as_of: Option<&'static str>,
    /// Whether it continues an answer from its beginning: llama.cpp does.
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
    if text.trim_start().starts_with('<') {
        bail!("This address answers with a web page, not with a provider's API.");
    }
    let text = super::options::request(config, vault)?
        .secrets(key.as_ref())
        .map_err(anyhow::Error::msg)?
        .hide(text)
        .into_owned();
    let listed: Value = serde_json::from_str(&text).context("The provider's list can't be read.")?;
    let mut models = models(&listed, &config.url);
    if models.is_empty() {
        bail!("The provider lists no models here.");
    }
    if listed["data"].as_array().is_some_and(|all| all.iter().any(|model| model["owned_by"] == "library")) {
        read_ollama(&outgoing, &config.url, &mut models).await;
    }
    Ok(models)
}

fn reached(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("The provider didn't answer within {} s.", PATIENCE.as_secs());
    }
    "The provider can't be reached at this address.".to_owned()
}

/// Reads a list of at most `LIST_BYTES_MAX` bytes.
async fn read(mut reply: reqwest::Response) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.context("The provider's list was cut off.")? {
        if body.len() + chunk.len() > LIST_BYTES_MAX {
            bail!("The provider's list is too long.");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The models of a list, in its order. Providers agree on little more than the name.
fn models(listed: &Value, url: &str) -> Vec<ListedModel> {
    let all = listed["data"].as_array().or(listed["models"].as_array()).or(listed.as_array());
    let chats = |model: &&Value| {
        let is_other =
            model["type"].as_str().is_some_and(|kind| !matches!(kind, "chat" | "language" | "model"));
        !is_other && model["capabilities"]["completion_chat"].as_bool() != Some(false)
    };
    let models = all.into_iter().flatten().filter(chats).filter_map(|model| {
        let name = model["id"].as_str().or(model["name"].as_str())?;
        let name = name.strip_prefix("models/").unwrap_or(name);
        let lower = name.to_lowercase();
        let is_shown = !name.trim().is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name.chars().all(session::organise::is_visible);
        if !is_shown || OTHER_KINDS.iter().any(|kind| lower.contains(kind)) {
            return None;
        }
        let known = KnownModel::find(url, name);
        let told = window_of(model);
        let price =
            |field: &str| model["pricing"][field].as_str()?.parse::<f64>().ok().map(|price| price * 1e6);
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
        let openai = json!({ "data": [{ "id": "gpt-5.5" }] });
        assert_eq!(models(&openai, "https://api.openai.com/v1")[0].prices_as_of, Some(as_of()));
    }
}

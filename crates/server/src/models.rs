//! Models as they are configured: how each is asked, with which key, and whether its provider answers.

mod offered;
mod trying;

use std::sync::Arc;
use std::time::Duration;

use agent::{
    AnswerLimits, ApiKey, Density, Dialect, KeySource, LearnedDialect, Model, Outgoing, Prices, Provider,
    Transport, Wire,
};
use anyhow::{Context, bail};

use crate::config::{ModelConfig, ProviderConfig, environment, micros};
use crate::vault::{NamedSecret, Vault};

pub(crate) use offered::{ChangeError, NamedIn, NewKey, Offer, Offered, kept};
pub(crate) use trying::try_out;

/// The model that a part of the configuration describes.
///
/// # Errors
/// When its key is not there.
pub(crate) fn make(
    config: &ModelConfig,
    transport: &Arc<dyn Transport>,
    vault: &Arc<Vault>,
) -> anyhow::Result<Model> {
    let key = key_source(config, Some(vault)).with_context(|| format!("model `{}`", config.name))?;
    Ok(make_with(config, key, transport))
}

/// The same with a key that is known.
fn make_with(config: &ModelConfig, key: Option<Arc<dyn KeySource>>, transport: &Arc<dyn Transport>) -> Model {
    Model {
        name: config.name.clone(),
        id: config.model.clone(),
        provider: Provider {
            wire: wire(config),
            url: config.url.clone(),
            key,
            takes_prefix: config.takes_prefix,
            transport: transport.clone(),
            limits: AnswerLimits {
                first_byte_max: Duration::from_secs(config.first_byte_seconds),
                silence_max: Duration::from_secs(config.silence_seconds),
                ..AnswerLimits::default()
            },
            dialect: LearnedDialect::new(Dialect::of(&config.url, &config.model)),
        },
        window_tokens: config.window_tokens,
        output_tokens_max: config.output_tokens_max,
        prices: Prices {
            input_micros: micros(config.input_price),
            output_micros: micros(config.output_price),
            ..Prices::default()
        },
        uses_tools: config.tools,
        density: Density::default(),
    }
}

/// Where a model's key comes from.
fn key_source(
    config: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<Option<Arc<dyn KeySource>>> {
    let key: Arc<dyn KeySource> = match (&config.key_env, &config.key_file, &config.key_secret) {
        (None, None, None) => return Ok(None),
        (Some(variable), None, None) => {
            Arc::new(ApiKey::new(environment(variable).with_context(|| format!("{variable} is not set"))?))
        }
        (None, Some(path), None) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
            Arc::new(ApiKey::new(text.trim()))
        }
        (None, None, Some(name)) => {
            let vault = vault
                .with_context(|| format!("secret `{name}` is not set; run `everturn secret set {name}`"))?
                .clone();
            Arc::new(NamedSecret { vault, name: name.clone() })
        }
        _ => bail!("give one of `key_env`, `key_file` and `key_secret`"),
    };
    Ok(Some(key))
}

/// What a provider answers when it is asked for its models.
pub(crate) struct ProviderReply {
    pub(crate) status: u16,
    pub(crate) date: Option<String>,
}

/// Asks a model's provider for its models.
///
/// # Errors
/// When it does not answer.
pub(crate) async fn ask_provider(
    config: &ModelConfig,
    vault: Option<&Arc<Vault>>,
    patience: Duration,
) -> anyhow::Result<ProviderReply> {
    let key =
        key_source(config, vault)?.map(|source| source.key().map_err(anyhow::Error::msg)).transpose()?;
    let outgoing = Outgoing::new([config.url.as_str()])?;
    let url = format!("{}/models", config.url.trim_end_matches('/'));
    let mut request = outgoing.request(reqwest::Method::GET, &url)?.timeout(patience);
    for (name, value) in agent::headers(wire(config), key.as_ref()) {
        request = request.header(name, value);
    }
    let reply = request.send().await?;
    let date =
        reply.headers().get(reqwest::header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
    Ok(ProviderReply { status: reply.status().as_u16(), date })
}

fn wire(config: &ModelConfig) -> Wire {
    match config.provider {
        ProviderConfig::Openai => Wire::OpenAi,
        ProviderConfig::Anthropic => Wire::Anthropic,
    }
}

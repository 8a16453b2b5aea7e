//! Models as they are configured: how each is asked, with which key, and whether its provider answers.

mod catalog;
mod listing;
mod offered;
mod options;
mod presets;
mod trying;

use std::sync::Arc;
use std::time::Duration;

use agent::{
    AnswerLimits, ApiKey, ClientOptions, Density, Dialect, HttpTransport, KeySource, LearnedDialect, Model,
    Outgoing, Prices, Provider, Transport, Wire,
};
use anyhow::{Context, bail};

use crate::config::{ModelConfig, ProviderConfig, environment, micros};
use crate::vault::{NamedSecret, Vault};

pub(crate) use catalog::KnownModel;
pub(crate) use listing::{KeyRejected, ListedModel, Listing, list};
pub(crate) use offered::{ChangeError, NamedIn, NewKey, Offer, Offered, kept};
pub(crate) use options::{HeaderConfig, ModelOptions, check as check_options};
pub(crate) use presets::{PRESETS, Preset};
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
    let named = || format!("model `{}`", config.name);
    let key = key_source(config, Some(vault)).with_context(named)?;
    make_with(config, key, transport, vault).with_context(named)
}

/// Makes the model with this key. Its requests use `transport`, unless it has a proxy or certificate of its own.
fn make_with(
    config: &ModelConfig,
    key: Option<Arc<dyn KeySource>>,
    transport: &Arc<dyn Transport>,
    vault: &Arc<Vault>,
) -> anyhow::Result<Model> {
    let client = options::client(config)?;
    let transport = match client == ClientOptions::default() {
        true => transport.clone(),
        false => Arc::new(HttpTransport(Outgoing::with([config.url.as_str()], &client)?)),
    };
    let mut dialect = Dialect::of(&config.url, &config.model);
    if let Some(known) = KnownModel::find(&config.url, &config.model) {
        dialect.pictures = known.pictures;
        dialect.documents = known.documents;
    }
    let dialect = dialect.overridden(&config.accepts);
    let options = options::request(config, Some(vault))?;
    Ok(Model {
        name: config.name.clone(),
        id: config.model.clone(),
        provider: Provider {
            wire: wire(config),
            url: config.url.clone(),
            key,
            takes_prefix: config.takes_prefix,
            transport,
            limits: AnswerLimits {
                first_byte_max: Duration::from_secs(config.first_byte_seconds),
                silence_max: Duration::from_secs(config.silence_seconds),
                ..AnswerLimits::default()
            },
            dialect: LearnedDialect::new(dialect.map_err(anyhow::Error::msg)?),
            options,
        },
        window_tokens: config.window_tokens,
        output_tokens_max: config.output_tokens_max,
        prices: prices(config),
        uses_tools: config.tools,
        density: Density::default(),
    })
}

/// The prices of a model: those of its configuration, otherwise those of the catalog. Cached input has a price of its own
/// only if both others are the catalog's.
fn prices(config: &ModelConfig) -> Prices {
    let known = KnownModel::find(&config.url, &config.model).map(|known| known.prices).unwrap_or_default();
    let input_micros = config.input_price.map_or(known.input_micros, micros);
    let output_micros = config.output_price.map_or(known.output_micros, micros);
    if (input_micros, output_micros) == (known.input_micros, known.output_micros) {
        return known;
    }
    Prices { input_micros, output_micros, ..Prices::default() }
}

/// Where a model's key comes from.
fn key_source(
    config: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<Option<Arc<dyn KeySource>>> {
    let key: Arc<dyn KeySource> = match (&config.key_env, &config.key_file, &config.key_secret) {
        (None, None, None) => return Ok(None),
        (Some(variable), None, None) => Arc::new(ApiKey::new(
            environment(variable).with_context(|| format!("environment variable `{variable}` is not set"))?,
        )),
        (None, Some(path), None) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            Arc::new(ApiKey::new(text.trim()))
        }
        (None, None, Some(name)) => {
            let vault = vault
                .with_context(|| format!("secret `{name}` is not set; run `everturn secret set {name}`"))?
                .clone();
            Arc::new(NamedSecret { vault, name: name.clone() })
        }
        _ => bail!("set only one of `key_env`, `key_file` and `key_secret`"),
    };
    Ok(Some(key))
}

/// The key of a model, if it has one.
///
/// # Errors
/// Returns an error if the key is configured but missing.
pub(crate) fn configured_key(
    config: &ModelConfig,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<Option<ApiKey>> {
    key_source(config, vault)?.map(|source| source.key().map_err(anyhow::Error::msg)).transpose()
}

/// The request for the models of a provider.
fn models_request(
    outgoing: &Outgoing,
    config: &ModelConfig,
    key: Option<&ApiKey>,
    vault: Option<&Arc<Vault>>,
) -> anyhow::Result<reqwest::RequestBuilder> {
    let wire = wire(config);
    let mut url = agent::endpoint(wire, &config.url, "models");
    if wire == Wire::Anthropic {
        // Its list comes in pages of twenty.
        let separator = if url.contains('?') { '&' } else { '?' };
        url.push_str(&format!("{separator}limit={}", listing::LISTED_MAX));
    }
    let options = options::request(config, vault)?;
    let request = outgoing.request(reqwest::Method::GET, &options.add_query(url))?;
    let headers = options.complete(agent::headers(wire, &config.url, key)).map_err(anyhow::Error::msg)?;
    Ok(headers.into_iter().fold(request, |request, (name, value)| request.header(name.as_ref(), value)))
}

/// The client for the requests of one model.
///
/// # Errors
/// Returns an error if its proxy or certificate can't be used.
fn outgoing(config: &ModelConfig) -> anyhow::Result<Outgoing> {
    Ok(Outgoing::with([config.url.as_str()], &options::client(config)?)?)
}

/// A provider's reply to a request for its models.
pub(crate) struct ProviderReply {
    pub(crate) status: u16,
    pub(crate) date: Option<String>,
    /// The model's entry in the reply; none if the status is not a success.
    pub(crate) listing: Option<Listing>,
}

/// Requests the list of models from a model's provider.
///
/// # Errors
/// Returns an error if the key is missing or the provider can't be reached.
pub(crate) async fn ask_provider(
    config: &ModelConfig,
    vault: Option<&Arc<Vault>>,
    patience: Duration,
) -> anyhow::Result<ProviderReply> {
    let key = configured_key(config, vault)?;
    let reply =
        models_request(&outgoing(config)?, config, key.as_ref(), vault)?.timeout(patience).send().await?;
    let date =
        reply.headers().get(reqwest::header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
    let status = reply.status();
    let listing = match status.is_success() {
        true => Some(Listing::read(reply, config).await?),
        false => None,
    };
    Ok(ProviderReply { status: status.as_u16(), date, listing })
}

fn wire(config: &ModelConfig) -> Wire {
    match config.provider {
        ProviderConfig::Openai => Wire::of_openai(&config.url),
        ProviderConfig::Anthropic => Wire::Anthropic,
    }
}

/// Returns the scheme, host and port of an address.
fn place(url: &str) -> Option<(String, String, Option<u16>)> {
    let url = reqwest::Url::parse(url).ok()?;
    Some((url.scheme().to_owned(), url.host_str()?.to_owned(), url.port_or_known_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_the_configuration_precede_those_of_the_catalog() {
        let of = |input_price, output_price| {
            let url = "https://api.openai.com/v1".to_owned();
            let model = ModelConfig::at(ProviderConfig::Openai, url);
            prices(&ModelConfig { model: "gpt-5.5".to_owned(), input_price, output_price, ..model })
        };
        let known = of(None, None);
        assert!(known.input_micros > 0);
        assert_eq!(of(Some(0.0), Some(0.0)), Prices::default());
        assert_eq!(
            (of(Some(0.0), None).input_micros, of(Some(0.0), None).output_micros),
            (0, known.output_micros)
        );
    }
}

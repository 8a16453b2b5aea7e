//! Options of a model beyond its address and key: additions to its requests, their route, timeouts, prices, and overrides
//! of what it accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent::options::{check_fields, check_header_value, header_name};
use agent::{ApiKey, ClientOptions, Dialect, KeySource, RequestOptions};
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::config::{ModelConfig, environment};
use crate::vault::{NamedSecret, Vault};

/// The longest timeout that can be set, in seconds.
const PATIENCE_SECONDS_MAX: u64 = 24 * 3_600;
const HEADERS_MAX: usize = 20;
/// Most bytes of a model's options.
const OPTIONS_BYTES_MAX: usize = 64 * 1024;

/// The value of a header in the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum HeaderConfig {
    Value(String),
    /// The secret of this name; `everturn secret set` saves one.
    Secret {
        secret: String,
    },
    /// The environment variable of this name.
    Variable {
        env: String,
    },
}

/// A model's options, set by owners at runtime. An omitted field keeps its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelOptions {
    /// Headers to add to every request. Their values are never shown; `null` keeps the saved value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, Option<String>>,
    /// Query parameters to add to every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) query: BTreeMap<String, String>,
    /// Fields to set in the body of every request, as a JSON merge patch: `null` removes a field.
    #[schema(value_type = std::collections::HashMap<String, Object>)]
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) fields: Map<String, Value>,
    /// The URL of an HTTP proxy, without a user name and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// Certificate authorities to trust in addition to the system's, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    /// Seconds to wait for the first byte of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte_seconds: Option<u64>,
    /// Seconds to wait for each further byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silence_seconds: Option<u64>,
    /// Price per million input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_price: Option<f64>,
    /// Price per million output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_price: Option<f64>,
    /// Overrides of the model's known capabilities; docs/configuration.md lists the fields.
    #[schema(value_type = std::collections::HashMap<String, Object>)]
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) accepts: Map<String, Value>,
}

impl ModelOptions {
    /// Fills in the saved value of each header that has none. Returns whether there was one to fill in.
    ///
    /// # Errors
    /// Returns an error if a header has neither a value nor a saved one.
    pub(crate) fn keep_values(&mut self, saved: &Self) -> anyhow::Result<bool> {
        let mut keeps = false;
        for (name, value) in self.headers.iter_mut().filter(|(_, value)| value.is_none()) {
            let known = saved.headers.iter().find(|(saved, _)| saved.eq_ignore_ascii_case(name));
            *value = known.and_then(|(_, value)| value.clone());
            ensure!(value.is_some(), "The header `{name}` has no saved value. Enter one.");
            keeps = true;
        }
        Ok(keeps)
    }

    /// Returns the options without the values of headers.
    pub(crate) fn shown(mut self) -> Self {
        self.headers.values_mut().for_each(|value| *value = None);
        self
    }

    /// Sets the options of a model.
    pub(crate) fn apply(self, config: &mut ModelConfig) {
        let values = self.headers.into_iter().filter_map(|(name, value)| Some((name, value?)));
        config.headers = values.map(|(name, value)| (name, HeaderConfig::Value(value))).collect();
        config.query = self.query;
        config.fields = self.fields;
        config.proxy = self.proxy;
        config.certificate = self.certificate;
        config.accepts = self.accepts;
        config.first_byte_seconds = self.first_byte_seconds.unwrap_or(config.first_byte_seconds);
        config.silence_seconds = self.silence_seconds.unwrap_or(config.silence_seconds);
        config.input_price = self.input_price;
        config.output_price = self.output_price;
    }

    /// Checks the size, proxy and certificate of options from the API. [`check`] does the rest.
    ///
    /// # Errors
    /// Returns an error whose message is shown to people.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec(self)?.len();
        ensure!(bytes <= OPTIONS_BYTES_MAX, "A model's options can't exceed 64 KiB.");
        if let Some(proxy) = &self.proxy {
            let is_proxy = agent::outgoing::check(proxy).is_ok();
            ensure!(is_proxy, "The proxy must be an `http` or `https` URL without a user name and password.");
        }
        if let Some(certificate) = &self.certificate {
            ensure!(certificate.contains("-----BEGIN CERTIFICATE-----"), "The certificate must be PEM text.");
        }
        Ok(())
    }
}

/// Checks the options of a model.
///
/// # Errors
/// Returns an error that names the option.
pub(crate) fn check(config: &ModelConfig) -> anyhow::Result<()> {
    ensure!(config.headers.len() <= HEADERS_MAX, "A model can have at most {HEADERS_MAX} headers.");
    let mut names = BTreeSet::new();
    for (name, value) in &config.headers {
        ensure!(names.insert(header_name(name)?), "The header `{name}` is set twice.");
        if let HeaderConfig::Value(value) = value {
            check_header_value(name, value)?;
        }
    }
    check_fields(&config.fields)?;
    Dialect::default()
        .overridden(&config.accepts)
        .map_err(|error| anyhow::anyhow!("`accepts` can't be used: {error}."))?;
    for seconds in [config.first_byte_seconds, config.silence_seconds] {
        ensure!(
            (1..=PATIENCE_SECONDS_MAX).contains(&seconds),
            "A timeout must be from 1 to {PATIENCE_SECONDS_MAX} seconds."
        );
    }
    if let Some(proxy) = &config.proxy {
        let is_proxy = reqwest::Url::parse(proxy).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        ensure!(is_proxy, "The proxy must be an `http` or `https` URL.");
    }
    for price in [config.input_price, config.output_price].into_iter().flatten() {
        ensure!((0.0..1_000_000.0).contains(&price), "A price must be at least 0 and less than 1,000,000.");
    }
    client(config).and_then(|client| Ok(agent::Outgoing::with([], &client)?)).map(drop)
}

/// Returns the proxy and certificate for a model's requests. In the configuration file, `certificate` may be a path.
///
/// # Errors
/// Returns an error if the certificate can't be read.
pub(crate) fn client(config: &ModelConfig) -> anyhow::Result<ClientOptions> {
    let certificate = match &config.certificate {
        Some(path) if !path.contains("-----BEGIN") => Some(
            std::fs::read_to_string(path).with_context(|| format!("failed to read certificate {path}"))?,
        ),
        other => other.clone(),
    };
    Ok(ClientOptions { proxy: config.proxy.clone(), certificate })
}

/// Returns the headers, query parameters and fields to add to a model's requests.
///
/// # Errors
/// Returns an error if a header has no value.
pub(crate) fn request(config: &ModelConfig, vault: Option<&Arc<Vault>>) -> anyhow::Result<RequestOptions> {
    let mut headers: Vec<(String, Arc<dyn KeySource>)> = Vec::new();
    for (name, value) in &config.headers {
        let source: Arc<dyn KeySource> = match value {
            HeaderConfig::Value(value) => Arc::new(ApiKey::new(value.clone())),
            HeaderConfig::Variable { env } => {
                let value = environment(env).with_context(|| format!("{env} is not set"))?;
                check_header_value(name, &value)?;
                Arc::new(ApiKey::new(value))
            }
            HeaderConfig::Secret { secret } => {
                let Some(vault) = vault.cloned() else {
                    bail!("secret `{secret}` is not set; run `everturn secret set {secret}`")
                };
                Arc::new(NamedSecret { vault, name: secret.clone() })
            }
        };
        headers.push((header_name(name)?, source));
    }
    let query = config.query.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(RequestOptions { headers, query, fields: config.fields.clone() })
}

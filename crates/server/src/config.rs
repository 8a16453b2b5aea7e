//! The configuration: one TOML file. Environment variables override its fields.

mod openid;
mod platforms;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hub::AfterInterruption;
use serde::{Deserialize, Serialize};
use store::directory::{DataDirectory, LogsAt};
use store::sqlite::OpenStoreError;
use utoipa::ToSchema;

use crate::file::make_private;
use crate::models::{HeaderConfig, KnownModel};

pub(crate) use openid::{OpenIdConfig, RoleConfig};
pub(crate) use platforms::{PlatformConfig, PlatformKind};

/// The number of attempts to lock the data directory, and the pause after each: 10 s in all.
const LOCK_ATTEMPTS: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The configuration file, as documented in `docs/configuration.md`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The data directory, with sessions, users and attachments.
    #[serde(default = "data_directory")]
    pub(crate) data: PathBuf,
    /// The URL of a PostgreSQL server that stores sessions instead of the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) postgres: Option<String>,
    /// The address to listen on. If other machines can reach it, the server requires a user with a password, and TLS or
    /// a proxy.
    #[serde(default = "listen_address")]
    pub(crate) listen: SocketAddr,
    /// Host names of the server, in addition to those of this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// The address of the reverse proxy that terminates TLS. The server rejects all other clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<TlsConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) telemetry: Option<TelemetryConfig>,
    /// The system prompt for every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
    /// Whether an interrupted run resumes automatically where that is safe, or waits for the user.
    #[serde(default)]
    pub(crate) after_interruption: AfterInterruptionConfig,
    /// Maximum age in seconds of an interrupted run's last output for the run to resume automatically; 0 for never.
    #[serde(default = "resume_within_seconds")]
    pub(crate) resume_within_seconds: u64,
    /// At start, chats active within this many seconds are suspended, unless they were interrupted; 0 suspends none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) suspend_active_within_seconds: u64,
    /// Seconds that runs have to finish when the server stops. Stopping takes at most one second longer.
    #[serde(default = "drain_seconds")]
    pub(crate) drain_seconds: u64,
    /// Days until a session in the trash is deleted permanently; 0 for never.
    #[serde(default = "trash_days")]
    pub(crate) trash_days: u32,
    /// The model for titles and summaries. If omitted, the session's model writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) background_model: Option<String>,
    #[serde(default)]
    pub(crate) run: RunConfig,
    #[serde(default)]
    pub(crate) models: Vec<ModelConfig>,
    /// Identity providers for sign-in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) openid: Vec<OpenIdConfig>,
    /// Accounts on messaging platforms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) platforms: Vec<PlatformConfig>,
    /// The [`CHANGEABLE`] settings that the environment sets. Owners can't change them.
    #[serde(skip)]
    pub(crate) in_environment: Vec<&'static str>,
}

/// Settings that owners can change while the server runs.
const CHANGEABLE: [&str; 4] = ["after_interruption", "resume_within_seconds", "trash_days", "instructions"];
/// The former name of `after_interruption`.
const AFTER_CRASH: &str = "after_crash";

/// The server's TLS certificate and private key, as PEM files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsConfig {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The destination of OpenTelemetry spans.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelemetryConfig {
    /// The URL of a collector for OTLP over HTTP, for example `http://127.0.0.1:4318`.
    pub(crate) endpoint: String,
}

/// Limits for one run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunConfig {
    /// Requests to the model.
    pub(crate) steps_max: u32,
    /// Input and output tokens of all steps.
    pub(crate) tokens_max: u64,
    pub(crate) minutes_max: u64,
    /// In the currency of the model's prices.
    pub(crate) cost_max: f64,
}

impl Default for RunConfig {
    fn default() -> Self {
        let limits = agent::RunLimits::default();
        Self {
            steps_max: limits.steps_max,
            tokens_max: limits.tokens_max,
            minutes_max: limits.time_max.as_secs() / 60,
            cost_max: 10.0,
        }
    }
}

/// Whether an interrupted run resumes automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AfterInterruptionConfig {
    /// It resumes if that is safe.
    #[default]
    Continue,
    /// It waits for the user.
    Wait,
}

impl From<AfterInterruptionConfig> for AfterInterruption {
    fn from(config: AfterInterruptionConfig) -> Self {
        match config {
            AfterInterruptionConfig::Continue => Self::Continue,
            AfterInterruptionConfig::Wait => Self::Wait,
        }
    }
}

/// A provider's wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProviderConfig {
    /// OpenAI's formats: Responses at OpenAI's and Azure's addresses, Chat Completions at all others (OpenRouter, Ollama, vLLM,
    /// llama.cpp, LiteLLM and many more). A URL that ends in `/responses` or `/chat/completions` selects that one.
    Openai,
    /// Anthropic's Messages format, which other providers support too.
    Anthropic,
}

/// A model. The first one in the file is the default, unless an owner chose another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// The name that users see.
    pub(crate) name: String,
    pub(crate) provider: ProviderConfig,
    /// The API's base URL, for example `https://api.openai.com/v1`.
    pub(crate) url: String,
    /// The provider's name for the model.
    pub(crate) model: String,
    /// The environment variable with the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_env: Option<String>,
    /// The file with the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_file: Option<PathBuf>,
    /// The name of the secret with the API key; `everturn secret set` saves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_secret: Option<String>,
    /// The context window in tokens, input and output together.
    #[serde(default = "window_tokens")]
    pub(crate) window_tokens: u64,
    /// Maximum tokens per answer.
    #[serde(default = "output_tokens_max")]
    pub(crate) output_tokens_max: u32,
    /// Whether the model can continue a partial answer (llama.cpp, vLLM, older Anthropic models). If not, an
    /// interrupted answer continues with a request to do so.
    #[serde(default)]
    pub(crate) takes_prefix: bool,
    /// Whether the model can use tools.
    #[serde(default = "uses_tools")]
    pub(crate) tools: bool,
    /// Seconds to wait for the first byte of an answer. Models may think for minutes before they stream.
    #[serde(default = "first_byte_seconds")]
    pub(crate) first_byte_seconds: u64,
    /// Seconds to wait for each further byte before the answer is considered cut off.
    #[serde(default = "silence_seconds")]
    pub(crate) silence_seconds: u64,
    /// Price per million input tokens. Defaults to the price of a known model.
    pub(crate) input_price: Option<f64>,
    /// Price per million output tokens. Defaults to the price of a known model.
    pub(crate) output_price: Option<f64>,
    /// Headers to add to every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, HeaderConfig>,
    /// Query parameters to add to every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) query: BTreeMap<String, String>,
    /// Fields to set in the body of every request, as a JSON merge patch.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) fields: serde_json::Map<String, serde_json::Value>,
    /// The URL of an HTTP proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// Certificate authorities to trust in addition to the system's: a file, or PEM text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    /// Overrides for the model's known capabilities; docs/configuration.md lists the fields.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) accepts: serde_json::Map<String, serde_json::Value>,
}

impl ModelConfig {
    /// Creates a model without a name or a key, with defaults for everything else.
    pub(crate) fn at(provider: ProviderConfig, url: String) -> Self {
        Self {
            name: String::new(),
            provider,
            url,
            model: String::new(),
            key_env: None,
            key_file: None,
            key_secret: None,
            window_tokens: window_tokens(),
            output_tokens_max: output_tokens_max(),
            takes_prefix: false,
            tools: uses_tools(),
            first_byte_seconds: first_byte_seconds(),
            silence_seconds: silence_seconds(),
            input_price: None,
            output_price: None,
            headers: BTreeMap::new(),
            query: BTreeMap::new(),
            fields: serde_json::Map::new(),
            proxy: None,
            certificate: None,
            accepts: serde_json::Map::new(),
        }
    }
}

fn listen_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8440))
}

fn resume_within_seconds() -> u64 {
    session::limits::RESUME_WITHIN_MICROS.unsigned_abs() / 1_000_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(seconds: &u64) -> bool {
    *seconds == 0
}

fn drain_seconds() -> u64 {
    30
}

fn trash_days() -> u32 {
    30
}

pub(crate) fn window_tokens() -> u64 {
    32_768
}

pub(crate) fn output_tokens_max() -> u32 {
    4_096
}

fn uses_tools() -> bool {
    true
}

pub(crate) fn first_byte_seconds() -> u64 {
    600
}

pub(crate) fn silence_seconds() -> u64 {
    300
}

fn data_directory() -> PathBuf {
    home("XDG_DATA_HOME", ".local/share").join("everturn")
}

/// The directory of the configuration and the command line's token.
pub(crate) fn config_directory() -> PathBuf {
    home("XDG_CONFIG_HOME", ".config").join("everturn")
}

fn home(variable: &str, below: &str) -> PathBuf {
    let set = environment(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| PathBuf::from(environment("HOME").unwrap_or_else(|| ".".to_owned())).join(below))
}

/// Returns an environment variable if it is set and not empty.
#[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a variable enables a crash point or a mutant. Only test builds have them.
pub(crate) fn arms_test_build(name: &str) -> bool {
    fault::INJECTED && matches!(name, "EVERTURN_MUTANT" | "EVERTURN_POINT")
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: data_directory(),
            postgres: None,
            listen: listen_address(),
            hosts: Vec::new(),
            proxy: None,
            tls: None,
            telemetry: None,
            instructions: None,
            after_interruption: AfterInterruptionConfig::default(),
            resume_within_seconds: resume_within_seconds(),
            suspend_active_within_seconds: 0,
            drain_seconds: drain_seconds(),
            trash_days: trash_days(),
            background_model: None,
            run: RunConfig::default(),
            models: Vec::new(),
            openid: Vec::new(),
            platforms: Vec::new(),
            in_environment: Vec::new(),
        }
    }
}

/// The path of the configuration file without `--config`.
pub(crate) fn default_path() -> PathBuf {
    environment("EVERTURN_CONFIG").map_or_else(|| config_directory().join("config.toml"), PathBuf::from)
}

impl Config {
    /// Reads the file, if it exists, and applies overrides from the environment.
    ///
    /// # Errors
    /// Returns an error that names the invalid part.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
        };
        let mut table: toml::Table =
            text.parse().with_context(|| format!("failed to read {}", path.display()))?;
        rename_old(&mut table)?;
        override_from(&mut table, std::env::vars())?;
        fill_known(&mut table);
        let mut config: Self =
            table.try_into().with_context(|| format!("invalid configuration in {}", path.display()))?;
        config.in_environment = in_environment(std::env::vars());
        config.check()?;
        Ok(config)
    }

    /// Locks the data directory for a server. Waits up to 10 s for another process to release it.
    ///
    /// # Errors
    /// Returns an error if another process still uses it, or if a database or its write-ahead log is missing or damaged.
    pub(crate) fn enter(&self) -> anyhow::Result<DataDirectory> {
        self.make_data()?;
        // Commands such as `everturn token` lock the directory for a moment.
        for attempt in 0..LOCK_ATTEMPTS {
            match DataDirectory::enter(&self.data, self.logs_at()) {
                Err(OpenStoreError::InUse(_)) => {}
                entered => return entered.with_context(|| format!("failed to open {}", self.data.display())),
            }
            if attempt == 0 {
                tracing::warn!(data = %self.data.display(), "data directory in use, waiting");
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        DataDirectory::enter(&self.data, self.logs_at())
            .with_context(|| format!("failed to open {}", self.data.display()))
    }

    /// Opens the data directory, even while a server uses it.
    ///
    /// # Errors
    /// Returns an error if a database or its write-ahead log is missing or damaged.
    pub(crate) fn enter_shared(&self) -> anyhow::Result<DataDirectory> {
        self.make_data()?;
        DataDirectory::enter_shared(&self.data, self.logs_at())
            .with_context(|| format!("failed to open {}", self.data.display()))
    }

    /// Locks the data directory, even if its write-ahead logs are missing.
    ///
    /// # Errors
    /// Returns an error if another process uses it, or if a database is missing.
    pub(crate) fn enter_to_repair(&self) -> anyhow::Result<DataDirectory> {
        DataDirectory::enter_to_repair(&self.data, self.logs_at())
            .with_context(|| format!("failed to open {}", self.data.display()))
    }

    fn make_data(&self) -> anyhow::Result<()> {
        make_private(&self.data).with_context(|| format!("failed to create {}", self.data.display()))
    }

    fn logs_at(&self) -> LogsAt {
        if self.postgres.is_some() { LogsAt::Elsewhere } else { LogsAt::Here }
    }

    fn check(&self) -> anyhow::Result<()> {
        if !self.listen.ip().is_loopback() && self.tls.is_none() && self.proxy.is_none() {
            bail!(
                "`listen` is {}, which other machines can reach, but connections are not encrypted. Set `tls` (certificate \
                 and key) or `proxy` (the address of a reverse proxy that terminates TLS), or listen on 127.0.0.1 and use \
                 an SSH tunnel.",
                self.listen
            );
        }
        if let Some(host) = self.hosts.iter().find(|host| host.contains(['/', ':', ' ']) || host.is_empty()) {
            bail!("invalid entry in `hosts`: `{host}`; use host names without scheme or port");
        }
        openid::check(&self.openid)?;
        platforms::check(&self.platforms)?;
        for model in &self.models {
            if !(model.url.starts_with("http://") || model.url.starts_with("https://")) {
                bail!(
                    "model `{}`: `url` must start with http:// or https://, not `{}`",
                    model.name,
                    model.url
                );
            }
            crate::models::check_options(model).with_context(|| format!("model `{}`", model.name))?;
            if u64::from(model.output_tokens_max) >= model.window_tokens {
                bail!(
                    "model `{}`: `output_tokens_max` ({}) must be less than `window_tokens` ({})",
                    model.name,
                    model.output_tokens_max,
                    model.window_tokens
                );
            }
        }
        Ok(())
    }

    /// The server's URL on this machine.
    pub(crate) fn url(&self) -> String {
        let port = self.listen.port();
        // A certificate is valid for a host name, not for an address.
        if let (Some(_), Some(host)) = (&self.tls, self.hosts.first()) {
            return format!("https://{host}:{port}");
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        if self.listen.ip().is_unspecified() {
            return format!("{scheme}://127.0.0.1:{port}");
        }
        format!("{scheme}://{}", self.listen)
    }

    /// The age up to which an active chat is suspended at start; none to suspend no chats.
    pub(crate) fn suspend_active_within(&self) -> Option<Duration> {
        let within = self.suspend_active_within_seconds;
        (within > 0).then(|| Duration::from_secs(within))
    }

    /// The limits for one run.
    pub(crate) fn run_limits(&self) -> agent::RunLimits {
        agent::RunLimits {
            steps_max: self.run.steps_max,
            tokens_max: self.run.tokens_max,
            time_max: Duration::from_secs(self.run.minutes_max.saturating_mul(60)),
            cost_micros_max: micros(self.run.cost_max),
            ..agent::RunLimits::default()
        }
    }
}

/// Converts an amount to millionths.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is intended")]
pub(crate) fn micros(amount: f64) -> u64 {
    (amount * 1_000_000.0).round() as u64
}

/// Returns the changeable settings that these variables set.
fn in_environment(variables: impl Iterator<Item = (String, String)>) -> Vec<&'static str> {
    let names: Vec<String> =
        variables.filter_map(|(name, _)| Some(name.strip_prefix("EVERTURN_")?.to_lowercase())).collect();
    CHANGEABLE.into_iter().filter(|known| names.iter().any(|name| today(name) == *known)).collect()
}

/// Returns the current name of a setting.
pub(crate) fn today(name: &str) -> &str {
    if name == AFTER_CRASH { "after_interruption" } else { name }
}

/// Renames settings of an older file to their current names.
fn rename_old(table: &mut toml::Table) -> anyhow::Result<()> {
    let Some(value) = table.remove(AFTER_CRASH) else { return Ok(()) };
    if table.insert(today(AFTER_CRASH).to_owned(), value).is_some() {
        bail!("`after_crash` is the former name of `after_interruption`; remove one of them");
    }
    Ok(())
}

/// Fills in the window, output limit and tool support of known models if the file omits them.
fn fill_known(table: &mut toml::Table) {
    let models = table.get_mut("models").and_then(toml::Value::as_array_mut);
    for model in models.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        let text = |field: &str| model.get(field).and_then(toml::Value::as_str);
        let known = text("url").zip(text("model")).and_then(|(url, name)| KnownModel::find(url, name));
        let Some(known) = known else { continue };
        let has_window = model.contains_key("window_tokens");
        let window_tokens = i64::try_from(known.window_tokens).unwrap_or(i64::MAX);
        let mut fill = |field: &str, value: toml::Value| {
            model.entry(field).or_insert(value);
        };
        fill("window_tokens", window_tokens.into());
        // The known limit may exceed a window that the operator set.
        if !has_window {
            fill("output_tokens_max", i64::from(known.output_tokens_max()).into());
        }
        fill("tools", known.tools.into());
    }
}

/// Applies overrides from the environment: `EVERTURN_RUN__STEPS_MAX=5` sets `steps_max` of `[run]`, and
/// `EVERTURN_MODELS__0__MODEL=x` sets `model` of the first model.
fn override_from(
    table: &mut toml::Table,
    variables: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<()> {
    for (name, value) in variables {
        // The command line uses these itself.
        let apart = ["EVERTURN_CONFIG", "EVERTURN_LOG", "EVERTURN_TOKEN", "EVERTURN_URL"];
        if apart.contains(&name.as_str()) || arms_test_build(&name) {
            continue;
        }
        let Some(path) = name.strip_prefix("EVERTURN_") else { continue };
        // Values that aren't valid TOML, such as bare words, are strings.
        let parsed = format!("value = {value}")
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut table| table.remove("value"));
        let value = parsed.unwrap_or(toml::Value::String(value));
        let path = path.to_lowercase();
        let mut steps = path.split("__").peekable();
        let Some(first) = steps.next().map(today) else { continue };
        let mut place = table.entry(first).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        for step in steps {
            place = match place {
                toml::Value::Array(list) => {
                    let at: usize = step
                        .parse()
                        .with_context(|| format!("{name}: `{step}` must be the index of a list entry"))?;
                    list.get_mut(at).with_context(|| format!("{name}: entry {at} does not exist"))?
                }
                toml::Value::Table(inner) => {
                    inner.entry(step).or_insert_with(|| toml::Value::Table(toml::Table::new()))
                }
                _ => bail!("{name}: `{step}` is below a value that is neither a table nor a list"),
            };
        }
        *place = value;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overridden(text: &str, variables: &[(&str, &str)]) -> anyhow::Result<Config> {
        let mut table: toml::Table = text.parse()?;
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        override_from(&mut table, variables)?;
        Ok(table.try_into()?)
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let text = "[[models]]\nname = 'a'\nprovider = 'openai'\nurl = 'http://x'\nmodel = 'm'\n[run]\nsteps_max = 9\n";
        let variables =
            [("EVERTURN_RUN__STEPS_MAX", "5"), ("EVERTURN_MODELS__0__MODEL", "other"), ("HOME", "/")];
        let config = overridden(text, &variables).unwrap();
        assert_eq!(config.run.steps_max, 5);
        assert_eq!(config.models[0].model, "other");
        let said = [("EVERTURN_TRASH_DAYS", "5"), ("EVERTURN_LISTEN", "x"), ("TRASH_DAYS", "5")];
        let said = said.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(in_environment(said.into_iter()), ["trash_days"]);
        let config = overridden("", &[("EVERTURN_LISTEN", "127.0.0.1:9"), ("EVERTURN_TOKEN", "x")]).unwrap();
        assert_eq!(config.listen.port(), 9);
    }

    #[test]
    fn what_nobody_reads_is_refused() {
        assert!(overridden("lisen = '127.0.0.1:1'", &[]).is_err());
        assert!(overridden("", &[("EVERTURN_LISEN", "127.0.0.1:1")]).is_err());
        let open = Config { listen: SocketAddr::from(([0, 0, 0, 0], 1)), ..Config::default() };
        assert!(open.check().is_err());
    }
}

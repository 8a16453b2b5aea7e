//! Asks for provider, API key and model, and writes the configuration.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use agent::ApiKey;
use anyhow::{Context, bail};
use clap::Args;

use super::terminal::{plain, remark};
use super::token::save_for_command_line;
use crate::config::{Config, ModelConfig, ProviderConfig, environment};
use crate::file::write_private;
use crate::models::{KeyRejected, KnownModel, ListedModel, PRESETS, Preset, configured_key, list};
use crate::people;
use crate::vault::Vault;

/// Prefix of the secret's name. The provider's host follows, so that keys of two providers don't replace each other.
const KEY_NAME: &str = "model";
const KEY_HOST_CHARS: usize = 40;
const URL: &str = "http://127.0.0.1:8080/v1";
/// Maximum number of times to ask a question.
const TRIES: u32 = 3;
/// Maximum number of models to print.
const SHOWN_MAX: usize = 60;

/// Answers to the questions. Each answer given here skips its question.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Name of the provider, such as OpenAI, or base URL of its API.
    #[arg(long = "model-url", value_name = "URL")]
    model_url: Option<String>,
    /// Model ID at the provider.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Environment variable with the API key; empty if the provider needs no key.
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Overwrite an existing configuration.
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(crate) async fn run(self, path: &Path) -> anyhow::Result<ExitCode> {
        if path.exists() && !self.force {
            bail!("{} already exists; use `--force` to overwrite it", path.display());
        }
        if self.model_url.is_none() {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            remark(&format!("Providers: {}.", names.join(", ")));
        }
        let url = answer(self.model_url, "Provider, or base URL of its API?", Some(URL), url_of)?;
        let preset = Preset::at(&url);
        let speaks_messages = preset.is_some_and(|preset| preset.provider == ProviderConfig::Anthropic)
            || url.contains("anthropic");
        let provider = if speaks_messages { ProviderConfig::Anthropic } else { ProviderConfig::Openai };
        let variable = preset.and_then(|preset| preset.key_env).filter(|name| environment(name).is_some());
        let mut config = ModelConfig::at(provider, url);
        let (typed, listed) = ask_for_key(&mut config, self.key_env, variable.unwrap_or_default()).await?;
        choose(&mut config, self.model, &listed)?;
        if let Some(key) = typed {
            let defaults = Config::default();
            let people = std::sync::Arc::new(people::open(&defaults.enter_shared()?)?);
            let name = key_name(&config.url);
            Vault::open(&defaults.data, people)?.keep(people::by_hand(), &name, &key)?;
            config.key_secret = Some(name);
        }
        let config = Config { models: vec![config], ..Config::default() };
        write_private(path, toml::to_string(&config)?.as_bytes())
            .with_context(|| format!("failed to write {}", path.display()))?;
        remark(&format!("Saved the configuration to {}.", path.display()));
        save_for_command_line(&config, "command line")?;
        remark("Start the server with `everturn serve`, and chat in another terminal with `everturn chat`.");
        remark(&format!(
            "To use a browser, set a password with `everturn user password owner` and sign in as owner at http://{}.",
            config.listen
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the base URL of a provider, given by name or by URL.
fn url_of(place: &str) -> Result<String, String> {
    let url = Preset::named(place).map_or(place, |preset| preset.url);
    match agent::outgoing::check(url) {
        Ok(()) => Ok(url.to_owned()),
        Err(_) => Err(format!(
            "`{}` is neither a known provider nor a URL; a URL starts with http:// or https://",
            plain(place)
        )),
    }
}

fn key_name(url: &str) -> String {
    let host =
        reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let host: String = host.chars().take(KEY_HOST_CHARS).map(plain).collect();
    format!("{KEY_NAME}-{host}")
}

/// Asks for the key, up to [`TRIES`] times while the provider rejects it. Returns the key if it was entered directly, and
/// the provider's models.
async fn ask_for_key(
    config: &mut ModelConfig,
    given: Option<String>,
    suggested: &str,
) -> anyhow::Result<(Option<String>, Vec<ListedModel>)> {
    let mut tries = if given.is_some() { 1 } else { TRIES };
    loop {
        let ask = "API key (the name of an environment variable, the key itself, or empty for none)?";
        let key = answer(given.clone(), ask, Some(suggested), |key| Ok(key.to_owned()))?;
        let is_variable = !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        config.key_env = is_variable.then(|| key.clone());
        let own = if is_variable {
            configured_key(config, None)
        } else {
            Ok((!key.is_empty()).then(|| ApiKey::new(key.clone())))
        };
        let listed = match own {
            Ok(own) => list(config, own, None).await,
            Err(missing) => Err(missing),
        };
        tries -= 1;
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) if tries > 0 && error.is::<KeyRejected>() => {
                remark(&error.to_string());
                continue;
            }
            Err(error) => {
                remark(&format!("Couldn't list the models: {}", plain(&error.to_string())));
                Vec::new()
            }
        };
        return Ok(((!is_variable && !key.is_empty()).then_some(key), listed));
    }
}

/// Asks for a model and fills in its configuration.
fn choose(config: &mut ModelConfig, named: Option<String>, listed: &[ListedModel]) -> anyhow::Result<()> {
    if named.is_none() {
        show(listed);
    }
    let only = listed.first().filter(|_| listed.len() == 1).map(|model| model.model.as_str());
    let model = answer(named, "Which model?", only, |model| match model {
        "" => Err("a model ID is required".to_owned()),
        model => Ok(model.to_owned()),
    })?;
    let found = listed.iter().find(|found| found.model == model);
    if found.is_none() && !listed.is_empty() {
        remark(&format!("The provider's list does not contain `{}`; it may not work.", plain(&model)));
    }
    let known = KnownModel::find(&config.url, &model);
    let window = found.and_then(|found| found.window_tokens).or(known.map(|known| known.window_tokens));
    if let Some(window) = window {
        let usual = known.map_or(config.output_tokens_max, KnownModel::output_tokens_max);
        let quarter = u32::try_from(window / 4).unwrap_or(u32::MAX).max(1);
        (config.window_tokens, config.output_tokens_max) = (window, usual.min(quarter));
    }
    if let Some(found) = found {
        // A model that continues partial answers, as with llama.cpp, repeats nothing after a crash.
        config.takes_prefix = found.takes_prefix;
        config.input_price = found.input_price;
        config.output_price = found.output_price;
    }
    config.name.clone_from(&model);
    config.model = model;
    Ok(())
}

/// Prints the available models.
fn show(listed: &[ListedModel]) {
    if listed.is_empty() {
        return;
    }
    let names: Vec<String> = listed.iter().take(SHOWN_MAX).map(|model| plain(&model.model)).collect();
    let more = listed.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    remark(&format!("Models: {}{more}.", names.join(", ")));
}

/// Returns the given answer, or asks up to [`TRIES`] times until `check` accepts one. An empty line selects the suggestion.
fn answer<T>(
    given: Option<String>,
    question: &str,
    suggested: Option<&str>,
    check: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<T> {
    if let Some(given) = given {
        return check(&given).map_err(anyhow::Error::msg);
    }
    let mut out = std::io::stderr().lock();
    let mut tries = TRIES;
    loop {
        match suggested {
            Some(suggested) => write!(out, "{question} [{}] ", plain(suggested))?,
            None => write!(out, "{question} ")?,
        }
        out.flush()?;
        let mut line = String::new();
        let is_over = std::io::stdin().lock().read_line(&mut line)? == 0;
        let typed = Some(line.trim()).filter(|typed| !typed.is_empty()).or(suggested).unwrap_or_default();
        tries -= 1;
        match check(typed) {
            Ok(answer) => return Ok(answer),
            Err(why) if tries == 0 || is_over => bail!("{why}; no configuration was written"),
            Err(why) => writeln!(out, "{why}.")?,
        }
    }
}

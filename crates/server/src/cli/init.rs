//! Asks three questions and writes the configuration.

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

/// What a key that was typed is kept as.
/// The beginning of the name of the key. The provider's host follows, so that keys of two providers don't replace each other.
const KEY_NAME: &str = "model";
const KEY_HOST_CHARS: usize = 40;
const URL: &str = "http://127.0.0.1:8080/v1";
/// Times that a question is asked.
const TRIES: u32 = 3;
/// Models that are printed to choose from.
const SHOWN_MAX: usize = 60;

/// Answers given on the command line are not asked for.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The provider's name, such as OpenAI, or the base URL of its API.
    #[arg(long = "model-url", value_name = "URL")]
    model_url: Option<String>,
    /// The provider's name for the model.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The environment variable with the key; empty for none.
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Write over a configuration that is there.
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(crate) async fn run(self, path: &Path) -> anyhow::Result<ExitCode> {
        if path.exists() && !self.force {
            bail!("{} is there already; `--force` writes over it", path.display());
        }
        if self.model_url.is_none() {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            remark(&format!("Providers: {}.", names.join(", ")));
        }
        let url = answer(self.model_url, "Provider name or base URL?", Some(URL), url_of)?;
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
            .with_context(|| format!("write {}", path.display()))?;
        remark(&format!("The configuration is in {}.", path.display()));
        save_for_command_line(&config, "command line")?;
        remark("Next: `everturn serve`, and in another terminal `everturn chat`.");
        remark(&format!(
            "In a browser: `everturn user password owner`, then sign in as owner at http://{}.",
            config.listen
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the base URL that somebody named, also by the name of its provider.
fn url_of(place: &str) -> Result<String, String> {
    let url = Preset::named(place).map_or(place, |preset| preset.url);
    match agent::outgoing::check(url) {
        Ok(()) => Ok(url.to_owned()),
        Err(_) => Err(format!(
            "`{}` is neither a known provider nor a URL; a URL begins with http:// or https://",
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

/// Asks for the key until the provider accepts it, a few times. Returns the key if it was typed, and the provider's models.
async fn ask_for_key(
    config: &mut ModelConfig,
    given: Option<String>,
    suggested: &str,
) -> anyhow::Result<(Option<String>, Vec<ListedModel>)> {
    let mut tries = if given.is_some() { 1 } else { TRIES };
    loop {
        let ask = "API key (an environment variable, the key itself, or empty)?";
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

/// Chooses a model of the provider and describes it.
fn choose(config: &mut ModelConfig, named: Option<String>, listed: &[ListedModel]) -> anyhow::Result<()> {
    if named.is_none() {
        show(listed);
    }
    let only = listed.first().filter(|_| listed.len() == 1).map(|model| model.model.as_str());
    let model = answer(named, "Which model?", only, |model| match model {
        "" => Err("a model's name is required".to_owned()),
        model => Ok(model.to_owned()),
    })?;
    let found = listed.iter().find(|found| found.model == model);
    if found.is_none() && !listed.is_empty() {
        remark(&format!("`{}` is not in the provider's list; it may not answer.", plain(&model)));
    }
    let known = KnownModel::find(&config.url, &model);
    let window = found.and_then(|found| found.window_tokens).or(known.map(|known| known.window_tokens));
    if let Some(window) = window {
        let usual = known.map_or(config.output_tokens_max, KnownModel::output_tokens_max);
        let quarter = u32::try_from(window / 4).unwrap_or(u32::MAX).max(1);
        (config.window_tokens, config.output_tokens_max) = (window, usual.min(quarter));
    }
    if let Some(found) = found {
        // llama.cpp continues an answer from its beginning, so nothing is repeated after a crash.
        config.takes_prefix = found.takes_prefix;
        config.input_price = found.input_price;
        config.output_price = found.output_price;
    }
    config.name.clone_from(&model);
    config.model = model;
    Ok(())
}

/// Prints the names of models that can be chosen.
fn show(listed: &[ListedModel]) {
    if listed.is_empty() {
        return;
    }
    let names: Vec<String> = listed.iter().take(SHOWN_MAX).map(|model| plain(&model.model)).collect();
    let more = listed.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    remark(&format!("Models: {}{more}.", names.join(", ")));
}

/// Returns the answer that was given, or asks for it until `check` accepts it, a few times. An empty line takes the
/// suggestion.
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
            Err(why) if tries == 0 || is_over => bail!("{why}; nothing was written"),
            Err(why) => writeln!(out, "{why}.")?,
        }
    }
}

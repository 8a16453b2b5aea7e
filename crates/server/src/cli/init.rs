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
use crate::models::{KnownModel, ListedModel, PRESETS, Preset, configured_key, list};
use crate::people;
use crate::vault::Vault;

/// What a key that was typed is kept as.
const KEY_NAME: &str = "model";
const URL: &str = "http://127.0.0.1:8080/v1";
/// Models that are printed to choose from.
const SHOWN_MAX: usize = 60;

/// Answers given on the command line are not asked for.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The provider's name, such as OpenAI, or the base URL of its API.
    #[arg(long = "model-url", value_name = "URL")]
    model_url: Option<String>,
    /// What the provider calls the model.
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
        let place = answer(self.model_url, "Provider name or base URL?", Some(URL))?;
        let named = Preset::named(&place);
        let url = named.map_or(place.clone(), |preset| preset.url.to_owned());
        let preset = named.or(Preset::at(&url));
        if agent::outgoing::check(&url).is_err() {
            bail!("`{}` is neither a known provider nor a URL", plain(&place));
        }
        let speaks_messages = preset.is_some_and(|preset| preset.provider == ProviderConfig::Anthropic)
            || url.contains("anthropic");
        let provider = if speaks_messages { ProviderConfig::Anthropic } else { ProviderConfig::Openai };
        let variable = preset.and_then(|preset| preset.key_env).filter(|name| environment(name).is_some());
        let ask = "API key (an environment variable, the key itself, or empty)?";
        let key = answer(self.key_env, ask, Some(variable.unwrap_or_default()))?;
        let mut config = ModelConfig::at(provider, url);
        let typed = choose(&mut config, self.model, key).await?;
        if let Some(key) = typed {
            let defaults = Config::default();
            let people = std::sync::Arc::new(people::open(&defaults.enter_shared()?)?);
            Vault::open(&defaults.data, people)?.keep(people::by_hand(), KEY_NAME, &key)?;
            config.key_secret = Some(KEY_NAME.to_owned());
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

/// Chooses a model of the provider and describes it. Returns the key if it was typed.
async fn choose(
    config: &mut ModelConfig,
    named: Option<String>,
    key: String,
) -> anyhow::Result<Option<String>> {
    let is_variable = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let own = if is_variable {
        config.key_env = Some(key.clone());
        configured_key(config, None)
    } else {
        Ok((!key.is_empty()).then(|| ApiKey::new(key.clone())))
    };
    let listed = match own {
        Ok(own) => list(config, own).await,
        Err(missing) => Err(missing),
    };
    let listed = listed.unwrap_or_else(|error| {
        remark(&format!("Couldn't list the models: {}", plain(&error.to_string())));
        Vec::new()
    });
    if named.is_none() {
        show(&listed);
    }
    let only = listed.first().filter(|_| listed.len() == 1).map(|model| model.model.as_str());
    let model = answer(named, "Which model?", only)?;
    let found = listed.iter().find(|found| found.model == model);
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
    Ok((!is_variable && !key.is_empty()).then_some(key))
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

/// The answer that was given, or the one that is typed; an empty line takes what is suggested.
fn answer(given: Option<String>, question: &str, suggested: Option<&str>) -> anyhow::Result<String> {
    if let Some(given) = given {
        return Ok(given);
    }
    let mut out = std::io::stderr().lock();
    match suggested {
        Some(suggested) => write!(out, "{question} [{}] ", plain(suggested))?,
        None => write!(out, "{question} ")?,
    }
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match (line.trim(), suggested) {
        ("", Some(suggested)) => Ok(suggested.to_owned()),
        ("", None) => bail!("a value is required: there is no suggestion"),
        (typed, _) => Ok(typed.to_owned()),
    }
}

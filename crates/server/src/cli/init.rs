//! Asks three questions and writes the configuration.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use super::terminal::{plain, remark};
use super::token::save_for_command_line;
use crate::config::{Config, ModelConfig, ProviderConfig, environment};
use crate::file::write_private;
use crate::people;
use crate::vault::Vault;

/// What a key that was typed is kept as.
const KEY_NAME: &str = "model";
const URL: &str = "http://127.0.0.1:8080/v1";

/// Answers given on the command line are not asked for.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Where the model's API is.
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
        let url = answer(self.model_url, "Where is the model's API?", URL)?;
        let found = models(&url).await;
        let known = found.first().map_or("gpt-4.1-mini", |model| model.id.as_str());
        let model = answer(self.model, "Which model?", known)?;
        let key =
            answer(self.key_env, "Its key: a variable that holds it, or the key itself, or nothing", "")?;
        let mut config = ModelConfig {
            name: model.clone(),
            provider: if url.contains("anthropic") {
                ProviderConfig::Anthropic
            } else {
                ProviderConfig::Openai
            },
            // llama.cpp goes on from the beginning of an answer, so that nothing is said twice after a crash.
            takes_prefix: found.iter().any(|found| found.id == model && found.is_llama_cpp),
            url,
            model,
            key_env: None,
            key_file: None,
            key_secret: None,
            window_tokens: 32_768,
            output_tokens_max: 4_096,
            tools: true,
            first_byte_seconds: crate::config::first_byte_seconds(),
            silence_seconds: crate::config::silence_seconds(),
            input_price: 0.0,
            output_price: 0.0,
        };
        if let Some(window) =
            found.iter().find(|found| found.id == config.model).and_then(|found| found.window_tokens)
        {
            config.window_tokens = window;
            config.output_tokens_max =
                config.output_tokens_max.min(u32::try_from(window / 4).unwrap_or(u32::MAX).max(1));
        }
        let variable = !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if variable {
            config.key_env = Some(key);
        } else if !key.is_empty() {
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

/// The answer that was given, or the one that is typed; an empty line takes what is suggested.
fn answer(given: Option<String>, question: &str, suggested: &str) -> anyhow::Result<String> {
    if let Some(given) = given {
        return Ok(given);
    }
    let mut out = std::io::stderr().lock();
    write!(out, "{question} [{}] ", plain(suggested))?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let line = line.trim();
    Ok(if line.is_empty() { suggested.to_owned() } else { line.to_owned() })
}

/// A model that the provider told of.
struct Found {
    id: String,
    is_llama_cpp: bool,
    window_tokens: Option<u64>,
}

/// What the provider says it has; nothing when it cannot be asked without a key.
async fn models(url: &str) -> Vec<Found> {
    // Whoever sets the server up named it.
    let Ok(outgoing) = agent::Outgoing::new([url]) else { return Vec::new() };
    let listing = format!("{}/models", url.trim_end_matches('/'));
    let Ok(request) = outgoing.request(reqwest::Method::GET, &listing) else { return Vec::new() };
    let mut request = request.timeout(std::time::Duration::from_secs(3));
    if let Some(key) = environment("OPENAI_API_KEY").filter(|_| url.contains("api.openai.com")) {
        request = request.bearer_auth(key);
    }
    let Ok(reply) = request.send().await else { return Vec::new() };
    let listed: Value = reply.json().await.unwrap_or_default();
    let models = listed["data"].as_array().cloned().unwrap_or_default();
    let found = models.into_iter().filter_map(|model| {
        Some(Found {
            id: model["id"].as_str()?.to_owned(),
            is_llama_cpp: model["owned_by"] == "llamacpp",
            window_tokens: model["meta"]["n_ctx"].as_u64(),
        })
    });
    found.collect()
}

//! Configuration of messaging platforms.

use std::path::PathBuf;

use anyhow::{Context, bail};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::environment;
use crate::vault::Vault;

/// An account on a messaging platform.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlatformConfig {
    /// The name of the platform. It is a part of the keys of its chats, so don't change it.
    pub(crate) name: String,
    pub(crate) kind: PlatformKind,
    /// Matrix: the homeserver. Telegram: an alternative address of the Bot API. Webhook: the destination of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The environment variable with the token or secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_env: Option<String>,
    /// The file with the token or secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The name of the secret with the token; `everturn secret set` saves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_secret: Option<String>,
    /// Senders who need no approval, by their IDs on the platform. They act as the first user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow: Vec<String>,
    /// Whether unknown senders get a pairing code that an owner can approve.
    #[serde(default = "pairing")]
    pub(crate) pairing: bool,
}

/// The kinds of platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlatformKind {
    Matrix,
    Telegram,
    Webhook,
}

fn pairing() -> bool {
    true
}

/// Checks that the names of platforms are valid and unique.
///
/// # Errors
/// Returns an error that names the invalid platform.
pub(crate) fn check(platforms: &[PlatformConfig]) -> anyhow::Result<()> {
    for (at, platform) in platforms.iter().enumerate() {
        let name = &platform.name;
        let fits = !name.is_empty()
            && name.len() <= 40
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !fits {
            bail!("invalid platform name `{name}`; use 1 to 40 characters from a-z, 0-9 and -");
        }
        if platforms[..at].iter().any(|other| other.name == *name) {
            bail!("duplicate platform name `{name}`");
        }
    }
    Ok(())
}

impl PlatformConfig {
    /// Returns the required address.
    ///
    /// # Errors
    /// Returns an error if `url` is not set.
    pub(crate) fn address(&self) -> anyhow::Result<String> {
        self.url.clone().with_context(|| format!("platform `{}`: `url` is required", self.name))
    }

    /// Reads the token or secret.
    ///
    /// # Errors
    /// Returns an error if it is not set.
    pub(crate) fn token(&self, vault: &Vault) -> anyhow::Result<SecretString> {
        match (&self.token_env, &self.token_file, &self.token_secret) {
            (Some(variable), None, None) => Ok(environment(variable)
                .with_context(|| format!("environment variable `{variable}` is not set"))?
                .into()),
            (None, Some(path), None) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read {}", path.display()))?;
                Ok(text.trim().into())
            }
            // The value may be the token itself, by mistake, so don't print it.
            (None, None, Some(name)) => vault.plain(name).map_err(|_| {
                anyhow::anyhow!(
                    "`token_secret` must be the name of a saved secret; run `everturn secret set NAME`"
                )
            }),
            _ => bail!("platform `{}`: set one of `token_env`, `token_file` and `token_secret`", self.name),
        }
    }
}

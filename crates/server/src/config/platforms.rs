//! What can be set of a messaging platform.

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
    /// What it is called here; part of the keys of its chats, so that it stays the same.
    pub(crate) name: String,
    pub(crate) kind: PlatformKind,
    /// Matrix: the homeserver. Telegram: another address of the Bot API. Webhook: where messages are posted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The environment variable that holds the token or secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_env: Option<String>,
    /// The file that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The secret that is it; `everturn secret set` keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_secret: Option<String>,
    /// Who is let in without being approved, by the platform's own ids; they speak as the first user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow: Vec<String>,
    /// Whether strangers who write are given a code that an owner can approve.
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

/// Looks whether platforms can be told apart by their names.
///
/// # Errors
/// When they cannot.
pub(crate) fn check(platforms: &[PlatformConfig]) -> anyhow::Result<()> {
    for (at, platform) in platforms.iter().enumerate() {
        let name = &platform.name;
        let fits = !name.is_empty()
            && name.len() <= 40
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !fits {
            bail!("`{name}` cannot name a platform: use a-z, 0-9 and -");
        }
        if platforms[..at].iter().any(|other| other.name == *name) {
            bail!("two platforms are called `{name}`");
        }
    }
    Ok(())
}

impl PlatformConfig {
    /// The address that must be given.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn address(&self) -> anyhow::Result<String> {
        self.url.clone().with_context(|| format!("the platform `{}` needs a `url`", self.name))
    }

    /// The token or secret, from where it is kept.
    ///
    /// # Errors
    /// When it is nowhere.
    pub(crate) fn token(&self, vault: &Vault) -> anyhow::Result<SecretString> {
        match (&self.token_env, &self.token_file, &self.token_secret) {
            (Some(variable), None, None) => {
                Ok(environment(variable).with_context(|| format!("{variable} is not set"))?.into())
            }
            (None, Some(path), None) => {
                let text =
                    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
                Ok(text.trim().into())
            }
            // What stands there may be the token itself, by mistake: it is not repeated.
            (None, None, Some(name)) => vault.plain(name).map_err(|_| {
                anyhow::anyhow!(
                    "`token_secret` is the name of a secret, and none is kept by it; `everturn secret set` keeps one"
                )
            }),
            _ => bail!("give one of `token_env`, `token_file` and `token_secret` of `{}`", self.name),
        }
    }
}

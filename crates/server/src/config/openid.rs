//! What can be set of a provider of identities.

use std::path::PathBuf;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::openid::{is_pattern, is_provider_name};

/// A provider of identities that people can log in through.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenIdConfig {
    /// Stands in addresses; users are linked to it.
    pub(crate) name: String,
    /// What people read on the button; left out: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Where it publishes what it is, without `/.well-known/openid-configuration`.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// The environment variable that holds the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret_env: Option<String>,
    /// The file that holds the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The name of the secret; `everturn secret set` keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// What it is asked for, beside who somebody is.
    #[serde(default = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// Who may log in: addresses, or `*@domain` for all of a domain. Nobody else may.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// What those are who log in for the first time.
    #[serde(default)]
    pub(crate) role: RoleConfig,
}

/// What a new user is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleConfig {
    #[default]
    Member,
    Owner,
}

fn scopes() -> Vec<String> {
    vec!["email".to_owned(), "profile".to_owned()]
}

impl OpenIdConfig {
    /// What people call it.
    pub(crate) fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// Whether providers can be used as they are set.
pub(super) fn check(providers: &[OpenIdConfig]) -> anyhow::Result<()> {
    for (at, provider) in providers.iter().enumerate() {
        let name = &provider.name;
        if !is_provider_name(name) || providers[..at].iter().any(|other| other.name == *name) {
            bail!(
                "`openid` needs a name of lower-case letters, digits and `-`, each once; this is not one: `{name}`"
            );
        }
        let issuer = reqwest::Url::parse(&provider.issuer).ok();
        let safe = issuer.as_ref().is_some_and(|issuer| {
            let here = matches!(issuer.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            issuer.scheme() == "https" || (issuer.scheme() == "http" && here)
        });
        if !safe {
            bail!("the issuer of `{name}` under `openid` must begin with https://, or be on this machine");
        }
        if let Some(wrong) = provider.allow.iter().find(|pattern| !is_pattern(pattern)) {
            bail!("`allow` of `{name}` has addresses and `*@domain`; this is neither: `{wrong}`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        struct File {
            openid: Vec<OpenIdConfig>,
        }
        let file: File = toml::from_str(text)?;
        check(&file.openid)
    }

    #[test]
    fn a_provider_that_could_be_misunderstood_is_refused() {
        let home = "[[openid]]\nname = 'home'\nissuer = 'https://id.example.org'\nclient_id = 'x'\n";
        checked(home).unwrap();
        checked(&format!("{home}allow = ['*@example.org']\nrole = 'owner'\n")).unwrap();
        checked(&home.replace("https://id.example.org", "http://127.0.0.1:9000/realms/x")).unwrap();
        for wrong in [
            home.replace("'home'", "'Home'"),
            home.repeat(2),
            home.replace("https", "http"),
            home.replace("https://id.example.org", "id.example.org"),
            format!("{home}allow = ['*']\n"),
            format!("{home}role = 'admin'\n"),
            format!("{home}alow = []\n"),
        ] {
            assert!(checked(&wrong).is_err(), "{wrong}");
        }
    }
}

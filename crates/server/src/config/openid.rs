//! Configuration of identity providers.

use std::path::PathBuf;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::openid::{is_pattern, is_provider_name};

/// An OpenID Connect provider for sign-in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenIdConfig {
    /// The provider's name in URLs. Users are linked to it, so don't change it.
    pub(crate) name: String,
    /// The label of the sign-in button. Defaults to the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The issuer URL, without `/.well-known/openid-configuration`.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// The environment variable with the client secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret_env: Option<String>,
    /// The file with the client secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The name of the saved secret; `everturn secret set` saves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// Scopes to request in addition to `openid`.
    #[serde(default = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// Users who may sign in: email addresses, or `*@domain` for a whole domain.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// The role of users who sign in for the first time.
    #[serde(default)]
    pub(crate) role: RoleConfig,
}

/// The role of a new user.
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
    /// The label of the sign-in button.
    pub(crate) fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// Checks the providers.
///
/// # Errors
/// Returns an error that names the invalid part.
pub(super) fn check(providers: &[OpenIdConfig]) -> anyhow::Result<()> {
    for (at, provider) in providers.iter().enumerate() {
        let name = &provider.name;
        if !is_provider_name(name) || providers[..at].iter().any(|other| other.name == *name) {
            bail!(
                "invalid or duplicate name under `openid`: `{name}`; use unique names of lower-case letters, digits and `-`"
            );
        }
        let issuer = reqwest::Url::parse(&provider.issuer).ok();
        let safe = issuer.as_ref().is_some_and(|issuer| {
            let here = matches!(issuer.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            issuer.scheme() == "https" || (issuer.scheme() == "http" && here)
        });
        if !safe {
            bail!(
                "`issuer` of `{name}` under `openid` must start with https://, unless it is on this machine"
            );
        }
        if let Some(wrong) = provider.allow.iter().find(|pattern| !is_pattern(pattern)) {
            bail!("invalid entry in `allow` of `{name}`: `{wrong}`; use email addresses and `*@domain`");
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

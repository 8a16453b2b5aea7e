//! Logging in through a provider of identities, by OpenID Connect: authorization code with PKCE, state and nonce.
//!
//! | file | question |
//! | --- | --- |
//! | `openid/provider.rs` | how is a provider asked, and who does it say somebody is? |
//! | `openid/rules.rs` | who may log in, how is he called, where is he led? |

mod provider;
mod rules;

use std::sync::Arc;
use std::time::Duration;

use agent::Outgoing;
use anyhow::Context;
use openidconnect::{CsrfToken, Nonce, PkceCodeVerifier, RedirectUrl};
use reqwest::Url;
use store::people::{People, PeopleError, Role, User};
use uuid::Uuid;

use crate::ceremonies::Ceremonies;
use crate::config::{OpenIdConfig, RoleConfig};
use crate::people::{by, by_hand};
use crate::secret::{SecretKind, hash};
use crate::throttle::Key;
use crate::vault::Vault;

use provider::Provider;
pub(crate) use rules::{is_inside, is_pattern, is_provider_name};

/// How long there is from leaving for the provider to coming back.
pub(crate) const AWAY_MAX: Duration = Duration::from_secs(10 * 60);

/// Why nobody was let in, as a word for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It took too long, was finished before, or was begun in another browser.
    Expired,
    /// The provider says that its user did not agree.
    Declined,
    /// The provider cannot be reached, or says something that cannot be.
    Provider,
    /// The provider does not vouch for the e-mail address.
    Unverified,
    /// The address is not among those that may log in.
    NotAllowed,
    /// The user is shut out.
    Disabled,
    /// Too many tries failed.
    TooMany,
    /// The server could not keep it.
    Unavailable,
}

impl Refusal {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Declined => "declined",
            Self::Provider => "provider",
            Self::Unverified => "unverified",
            Self::NotAllowed => "not_allowed",
            Self::Disabled => "disabled",
            Self::TooMany => "too_many",
            Self::Unavailable => "unavailable",
        }
    }
}

impl From<PeopleError> for Refusal {
    fn from(error: PeopleError) -> Self {
        tracing::error!(%error, "failed to save login");
        Self::Unavailable
    }
}

/// Somebody who left for a provider.
struct Away {
    provider: String,
    /// Of the secret that his browser keeps meanwhile.
    browser: [u8; 32],
    nonce: Nonce,
    verifier: PkceCodeVerifier,
    redirect: RedirectUrl,
    to: String,
}

/// Where a browser is sent, and what it keeps until it is back.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) address: Url,
    pub(crate) secret: String,
}

/// What a provider says when it sends a browser back.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) state: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) error: Option<String>,
}

/// The providers of a server.
pub(crate) struct OpenId {
    providers: Vec<Provider>,
    away: Ceremonies<Away>,
}

impl OpenId {
    /// The providers as they are configured.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub(crate) fn new(configs: &[OpenIdConfig], vault: &Arc<Vault>) -> anyhow::Result<Self> {
        // Places that the operator named; others only where everybody can reach them.
        let outgoing = Outgoing::new(configs.iter().map(|config| config.issuer.as_str()))?;
        let make = |config: &OpenIdConfig| {
            Provider::new(config, vault, outgoing.clone())
                .with_context(|| format!("the provider `{}` under `openid`", config.name))
        };
        let providers = configs.iter().map(make).collect::<anyhow::Result<_>>()?;
        Ok(Self { providers, away: Ceremonies::lasting(AWAY_MAX) })
    }

    /// Name and title of each, in the order of the file.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().map(|provider| (provider.config.name.as_str(), provider.config.title()))
    }

    /// Whether there is a provider by this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.provider(name).is_some()
    }

    fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.config.name == name)
    }

    /// Where a browser goes to log in, if the provider can be asked.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) async fn leave(
        &self,
        name: &str,
        origin: &Url,
        from: Option<Key>,
        to: String,
    ) -> Result<Leaving, Refusal> {
        let provider = self.provider(name).ok_or(Refusal::Provider)?;
        let redirect = rules::redirect(origin, name).ok_or(Refusal::Provider)?;
        let (secret, browser) = SecretKind::Browser.make().map_err(|_| Refusal::Unavailable)?;
        let address = provider.address(redirect.clone(), |nonce, verifier| {
            let away = Away { provider: name.to_owned(), browser, nonce, verifier, redirect, to };
            CsrfToken::new(self.away.begin(from, away).to_string())
        });
        Ok(Leaving { address: address.await?, secret })
    }

    /// Whoever comes back with this, once, in the browser that left.
    fn back(&self, name: &str, state: Option<&str>, browser: Option<&str>) -> Result<Away, Refusal> {
        let state = state.and_then(|state| Uuid::try_parse(state).ok()).ok_or(Refusal::Expired)?;
        let away = self.away.finish(state).ok_or(Refusal::Expired)?;
        // Hashes are compared: how long that takes tells nothing of the secret.
        let same = browser.is_some_and(|browser| hash(browser) == away.browser);
        if same && away.provider == name { Ok(away) } else { Err(Refusal::Expired) }
    }

    /// Lets the provider say who came back. Answers the user, made when he is new, and where he wanted to go.
    ///
    /// # Errors
    /// When he is not let in.
    pub(crate) async fn enter(
        &self,
        people: &Arc<People>,
        name: &str,
        returned: Returned,
        browser: Option<&str>,
    ) -> Result<(User, String), Refusal> {
        let provider = self.provider(name).ok_or(Refusal::Provider)?;
        let away = self.back(name, returned.state.as_deref(), browser)?;
        if let Some(error) = returned.error {
            let declined = matches!(error.as_str(), "access_denied" | "login_required" | "consent_required");
            return Err(if declined { Refusal::Declined } else { Refusal::Provider });
        }
        let code = returned.code.ok_or(Refusal::Provider)?;
        let who = provider.answer(code, away.verifier, away.redirect, &away.nonce).await?;
        let config = provider.config.clone();
        let people = people.clone();
        let user = tokio::task::spawn_blocking(move || {
            let refused = |refusal: Refusal, about: &str| {
                people.note(by_hand(), "login_failed", &format!("{}, {about}", config.name))?;
                Err(refusal)
            };
            let Some(email) = who.email.filter(|_| who.verified) else {
                return refused(Refusal::Unverified, &who.subject);
            };
            if !rules::allows(&config.allow, &email) {
                return refused(Refusal::NotAllowed, &email);
            }
            let user = user_of(&people, &config, &who.subject, &email)?;
            if user.disabled { refused(Refusal::Disabled, &user.name) } else { Ok(user) }
        });
        let user = user.await.map_err(|_| Refusal::Unavailable)??;
        Ok((user, away.to))
    }
}

/// The user who this is at a provider. He is found by the provider's own id for him; an address may go to somebody else.
fn user_of(people: &People, config: &OpenIdConfig, subject: &str, email: &str) -> Result<User, PeopleError> {
    if let Some(user) = people.identity(&config.name, subject)? {
        return Ok(user);
    }
    let role = match config.role {
        RoleConfig::Member => Role::Member,
        RoleConfig::Owner => Role::Owner,
    };
    match people.link_identity(by(None), &config.name, subject, &rules::name_from(email), role) {
        // Linked by another request in the meantime.
        Ok(_) | Err(PeopleError::IdentityKnown) => {}
        Err(error) => return Err(error),
    }
    people.identity(&config.name, subject)?.ok_or(PeopleError::UnknownUser)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away(provider: &str, browser: &str) -> Away {
        Away {
            provider: provider.to_owned(),
            browser: hash(browser),
            nonce: Nonce::new_random(),
            verifier: openidconnect::PkceCodeChallenge::new_random_sha256().1,
            redirect: RedirectUrl::new("http://localhost/".to_owned()).unwrap(),
            to: "/".to_owned(),
        }
    }

    #[tokio::test]
    async fn who_left_comes_back_once_in_the_same_browser_from_the_same_provider() {
        let openid = OpenId { providers: Vec::new(), away: Ceremonies::lasting(AWAY_MAX) };
        let begin = || openid.away.begin(None, away("house", "mine")).to_string();
        let back = |name: &str, state: &str, browser: Option<&str>| {
            openid.back(name, Some(state), browser).map(|away| away.to)
        };
        let state = begin();
        assert_eq!(back("house", &state, Some("mine")), Ok("/".to_owned()));
        assert_eq!(back("house", &state, Some("mine")), Err(Refusal::Expired));
        for (name, browser) in [("house", Some("another")), ("house", None), ("club", Some("mine"))] {
            let state = begin();
            assert_eq!(back(name, &state, browser), Err(Refusal::Expired), "{name} {browser:?}");
            // Whoever was wrong has no second try.
            assert_eq!(back("house", &state, Some("mine")), Err(Refusal::Expired), "{name} {browser:?}");
        }
        assert_eq!(back("house", "x", Some("mine")), Err(Refusal::Expired));
        assert!(openid.back("house", None, Some("mine")).is_err());
    }
}

//! One provider of identities: what it publishes of itself, where a browser is sent, and whom it says came back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::{Outgoing, Refused};
use anyhow::{Context, bail};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreGenderClaim, CoreProviderMetadata,
};
use openidconnect::{
    AccessTokenHash, AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EmptyAdditionalClaims,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, TokenResponse,
    UserInfoClaims,
};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Refusal;
use crate::config::{OpenIdConfig, environment};
use crate::vault::Vault;

/// How long what a provider publishes of itself is believed. Keys that it is about to use are published well before.
const PUBLISHED_MAX: Duration = Duration::from_secs(10 * 60);
/// How long a provider that did not answer is left alone.
const SILENT_MAX: Duration = Duration::from_secs(5);
/// Longest wait for one answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// A provider, and what it published when it was last asked.
pub(super) struct Provider {
    pub(super) config: OpenIdConfig,
    issuer: IssuerUrl,
    secret: Option<SecretSource>,
    outgoing: Outgoing,
    published: Mutex<Option<Published>>,
    /// One at a time asks for it, however many wait.
    asking: Semaphore,
}

#[derive(Clone)]
struct Published {
    at: Instant,
    metadata: Option<Arc<CoreProviderMetadata>>,
}

/// Who somebody is, by the provider's word.
#[derive(Debug)]
pub(super) struct Who {
    /// The provider's own id for him.
    pub(super) subject: String,
    pub(super) email: Option<String>,
    /// Whether the provider knows that the address is his.
    pub(super) verified: bool,
}

/// Where the secret is that this server shares with a provider.
enum SecretSource {
    Read(SecretString),
    Kept(Arc<Vault>, String),
}

impl SecretSource {
    fn of(config: &OpenIdConfig, vault: &Arc<Vault>) -> anyhow::Result<Option<Self>> {
        Ok(Some(match (&config.client_secret_env, &config.client_secret_file, &config.client_secret) {
            (None, None, None) => return Ok(None),
            (Some(variable), None, None) => {
                Self::Read(environment(variable).with_context(|| format!("{variable} is not set"))?.into())
            }
            (None, Some(path), None) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read {}", path.display()))?;
                Self::Read(text.trim().into())
            }
            (None, None, Some(name)) => {
                // What stands there may be the secret itself, by mistake: it is not repeated.
                if vault.plain(name).is_err() {
                    bail!(
                        "`client_secret` must be the name of a stored secret; store one with `everturn \
                         secret set`"
                    );
                }
                Self::Kept(vault.clone(), name.clone())
            }
            _ => bail!("set only one of `client_secret_env`, `client_secret_file` and `client_secret`"),
        }))
    }

    fn secret(&self) -> Result<ClientSecret, String> {
        let secret = match self {
            Self::Read(secret) => secret.clone(),
            Self::Kept(vault, name) => vault.plain(name)?,
        };
        Ok(ClientSecret::new(secret.expose_secret().to_owned()))
    }
}

/// Why a provider was not heard.
#[derive(Debug, thiserror::Error)]
enum Unheard {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
    #[error("response too long")]
    TooLong,
    #[error("failed to read response: {0}")]
    Unreadable(#[from] axum::http::Error),
}

/// Asks over the one client for everything that is fetched.
async fn fetch(outgoing: Outgoing, asked: HttpRequest) -> Result<HttpResponse, Unheard> {
    let (head, body) = asked.into_parts();
    let request = outgoing.request(head.method, &head.uri.to_string())?;
    let mut reply = request.headers(head.headers).body(body).timeout(ANSWER_MAX).send().await?;
    let mut response = axum::http::Response::builder().status(reply.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(reply.headers());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = reply.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(Unheard::TooLong);
        }
    }
    Ok(response.body(bytes)?)
}

impl Provider {
    pub(super) fn new(config: &OpenIdConfig, vault: &Arc<Vault>, outgoing: Outgoing) -> anyhow::Result<Self> {
        Ok(Self {
            issuer: IssuerUrl::new(config.issuer.clone())?,
            secret: SecretSource::of(config, vault)?,
            config: config.clone(),
            outgoing,
            published: Mutex::default(),
            asking: Semaphore::new(1),
        })
    }

    /// Something went wrong with it. The operator is told why; who tries to log in is told that it was the provider.
    fn failed(&self, what: &str, error: &(dyn std::error::Error + 'static)) -> Refusal {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let why = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        tracing::warn!(provider = self.config.name, why, "{what}");
        Refusal::Provider
    }

    fn published(&self) -> Option<Published> {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.clone().filter(|published| {
            let believed = if published.metadata.is_some() { PUBLISHED_MAX } else { SILENT_MAX };
            published.at.elapsed() < believed
        })
    }

    fn publish(&self, metadata: Option<Arc<CoreProviderMetadata>>) {
        let published = Published { at: Instant::now(), metadata };
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = Some(published);
    }

    fn forget(&self) {
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What the provider publishes of itself, asked for when it was not lately.
    async fn metadata(&self) -> Result<Arc<CoreProviderMetadata>, Refusal> {
        let _turn = self.asking.acquire().await.map_err(|_| Refusal::Unavailable)?;
        if let Some(published) = self.published() {
            return published.metadata.ok_or(Refusal::Provider);
        }
        let http = |asked| fetch(self.outgoing.clone(), asked);
        let found = CoreProviderMetadata::discover_async(self.issuer.clone(), &http).await;
        let found =
            found.map(Arc::new).map_err(|error| self.failed("failed to fetch provider metadata", &error));
        self.publish(found.as_ref().ok().cloned());
        found
    }

    async fn client(&self, redirect: RedirectUrl) -> Result<Client, Refusal> {
        let metadata = self.metadata().await?;
        let secret = self.secret.as_ref().map(SecretSource::secret).transpose().map_err(|why| {
            tracing::warn!(provider = self.config.name, why, "failed to read client secret");
            Refusal::Provider
        })?;
        // What is not said is the header; some take the secret in the body only.
        let in_body = metadata.token_endpoint_auth_methods_supported().is_some_and(|methods| {
            !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost)
        });
        let client = CoreClient::from_provider_metadata(
            CoreProviderMetadata::clone(&metadata),
            ClientId::new(self.config.client_id.clone()),
            secret,
        );
        let client = client.set_redirect_uri(redirect);
        Ok(if in_body { client.set_auth_type(AuthType::RequestBody) } else { client })
    }

    /// Where a browser is sent. `leaving` keeps what the answer is held against, and says by which state it is found.
    pub(super) async fn address(
        &self,
        redirect: RedirectUrl,
        leaving: impl FnOnce(Nonce, PkceCodeVerifier) -> CsrfToken,
    ) -> Result<Url, Refusal> {
        let client = self.client(redirect).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = Nonce::new_random();
        let state = leaving(nonce.clone(), verifier);
        let mut asked = client.authorize_url(CoreAuthenticationFlow::AuthorizationCode, || state, || nonce);
        for scope in &self.config.scopes {
            asked = asked.add_scope(Scope::new(scope.clone()));
        }
        let (address, ..) = asked.set_pkce_challenge(challenge).url();
        Ok(address)
    }

    /// Whom the provider says a code is about. All that it signs is checked.
    pub(super) async fn answer(
        &self,
        code: String,
        verifier: PkceCodeVerifier,
        redirect: RedirectUrl,
        nonce: &Nonce,
    ) -> Result<Who, Refusal> {
        let client = self.client(redirect).await?;
        let http = |asked| fetch(self.outgoing.clone(), asked);
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| self.failed("provider has no token endpoint", &error))?;
        let answered = exchange.set_pkce_verifier(verifier).request_async(&http).await;
        let tokens =
            answered.map_err(|error| self.failed("provider rejected the authorization code", &error))?;
        let id_token = tokens.id_token().ok_or_else(|| {
            tracing::warn!(provider = self.config.name, "provider returned no ID token");
            Refusal::Provider
        })?;
        let key = client.id_token_verifier();
        let claims = id_token.claims(&key, nonce).map_err(|error| {
            // It may have new keys; the next try looks.
            self.forget();
            self.failed("ID token verification failed", &error)
        })?;
        // The token that the address may be asked for with must be the one that was signed.
        let access = tokens.access_token();
        let signed = claims.access_token_hash().is_none_or(|signed| {
            let made = id_token.signing_alg().ok().zip(id_token.signing_key(&key).ok());
            made.and_then(|(algorithm, key)| AccessTokenHash::from_token(access, algorithm, key).ok())
                .is_some_and(|made| made == *signed)
        });
        if !signed {
            tracing::warn!(provider = self.config.name, "access token doesn't match the ID token");
            return Err(Refusal::Provider);
        }
        let who = Who {
            subject: claims.subject().to_string(),
            email: claims.email().map(|email| email.to_string()),
            verified: claims.email_verified().unwrap_or(false),
        };
        if who.email.is_some() {
            return Ok(who);
        }
        // Some tell the address to those who ask for it only. It is held against the subject that was signed.
        let Ok(asked) = client.user_info(access.clone(), Some(claims.subject().clone())) else {
            return Ok(who);
        };
        let told: UserInfoClaims<EmptyAdditionalClaims, CoreGenderClaim> =
            asked
                .request_async(&http)
                .await
                .map_err(|error| self.failed("failed to fetch email address from provider", &error))?;
        Ok(Who {
            email: told.email().map(|email| email.to_string()),
            verified: told.email_verified().unwrap_or(false),
            ..who
        })
    }
}

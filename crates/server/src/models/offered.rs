//! The models that can be asked at this moment: those of the file, and those that owners added while the server runs. The
//! list is swapped whole: a run keeps the model that it began with, and the next one asks as the list is then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use agent::{ApiKey, HttpTransport, KeySource, Model, Outgoing, Transport};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::{Digest, Sha256};
use store::people::{By, KeptModel, People, PeopleError, SealedOptions, WireName};
use utoipa::ToSchema;

use super::{ListedModel, ModelOptions, configured_key, make, make_with, place};
use crate::config::{Config, ModelConfig, ProviderConfig};
use crate::vault::{NamedSecret, Vault};

/// By which name it is kept which model is asked when nothing else says so.
const DEFAULT: &str = "default_model";
/// Letters of a model's name that the name of its key begins with.
const KEY_NAME_LETTERS: usize = 40;

/// Where a model is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NamedIn {
    /// In the file of the configuration; it cannot be changed here.
    File,
    /// By an owner, while the server ran.
    Settings,
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) config: ModelConfig,
    pub(crate) named_in: NamedIn,
    /// The options that an owner set, if any.
    pub(crate) options: Option<ModelOptions>,
    pub(crate) model: Model,
}

/// What becomes of a model's key.
pub(crate) enum NewKey {
    /// The one that it has goes on, as long as it goes to the same place.
    Same,
    None,
    Set(SecretString),
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error("the model is defined in the configuration file")]
    InFile,
    #[error("unknown model")]
    Unknown,
    /// Whoever may change an address must not learn the key by it.
    #[error("the saved key or header values belong to another URL, proxy or certificate")]
    KeyForElsewhere,
    #[error("the options can't be used: {0:#}")]
    BadOptions(anyhow::Error),
    #[error(transparent)]
    People(#[from] PeopleError),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// The models, shared by all who ask for them.
pub(crate) struct Offered {
    file: Vec<Offer>,
    people: Arc<People>,
    vault: Arc<Vault>,
    now: RwLock<Arc<Vec<Offer>>>,
    /// One change after another.
    changing: Mutex<()>,
}

impl Offered {
    /// The models of the file, and those that are kept.
    ///
    /// # Errors
    /// When the key of one of the file is not there, or those that are kept cannot be read.
    pub(crate) fn open(config: &Config, people: Arc<People>, vault: Arc<Vault>) -> anyhow::Result<Self> {
        let transport = transport(&config.models)?;
        let offer = |config: &ModelConfig| -> anyhow::Result<Offer> {
            let model = make(config, &transport, &vault)?;
            Ok(Offer { config: config.clone(), named_in: NamedIn::File, options: None, model })
        };
        let file = config.models.iter().map(offer).collect::<anyhow::Result<_>>()?;
        let offered = Self { file, people, vault, now: RwLock::default(), changing: Mutex::default() };
        offered.read(&offered.changing())?;
        Ok(offered)
    }

    /// The models at this moment; the first one is asked unless something else is said.
    pub(crate) fn now(&self) -> Arc<Vec<Offer>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a model that an owner describes, or changes the one by that name.
    ///
    /// # Errors
    /// When the file names it, its key would go elsewhere, or nothing could be kept.
    pub(crate) fn put(
        &self,
        by: By,
        mut model: KeptModel,
        key: NewKey,
        options: Option<ModelOptions>,
    ) -> Result<(), ChangeError> {
        let changing = self.changing();
        if self.is_in_file(&model.name) {
            return Err(ChangeError::InFile);
        }
        let before = self.people.models()?.into_iter().find(|kept| kept.name == model.name);
        let saved = match &before {
            Some(before) => saved_options(&self.people, &self.vault, &before.name),
            None => Ok(None),
        };
        // Options that can't be opened can only be replaced. Their route is unknown, so no saved secret is used with the new ones.
        let (saved, is_open) = match (saved, &options) {
            (Ok(saved), _) => (saved.unwrap_or_default(), true),
            (Err(_), Some(_)) => (ModelOptions::default(), false),
            (Err(error), None) => return Err(ChangeError::BadOptions(error)),
        };
        let mut options = options.unwrap_or_else(|| saved.clone().shown());
        let keeps_values = options.keep_values(&saved).map_err(ChangeError::BadOptions)?;
        let mut config = described(model.clone());
        options.clone().apply(&mut config);
        super::check_options(&config).map_err(ChangeError::BadOptions)?;
        // A proxy whose certificate is trusted could read the key.
        let is_same_place = is_open
            && before.as_ref().is_some_and(|before| {
                let route = |options: &ModelOptions| (options.proxy.clone(), options.certificate.clone());
                place(&before.url) == place(&model.url) && route(&saved) == route(&options)
            });
        if keeps_values && !is_same_place {
            return Err(ChangeError::KeyForElsewhere);
        }
        let secret = key_name(&model.name);
        let sealed = match key {
            NewKey::None => None,
            NewKey::Set(key) => {
                model.key_secret = Some(secret.clone());
                Some(self.vault.seal(&secret, key.expose_secret())?)
            }
            NewKey::Same => {
                if let Some(before) = before.filter(|before| before.key_secret.is_some()) {
                    if !is_same_place {
                        return Err(ChangeError::KeyForElsewhere);
                    }
                    model.key_secret = before.key_secret;
                }
                None
            }
        };
        let name = options_name(&model.name);
        let sealed_options = match options == ModelOptions::default() {
            true => None,
            false => {
                let text = serde_json::to_string(&options).map_err(anyhow::Error::from)?;
                Some(self.vault.seal(&name, &text)?)
            }
        };
        let options = SealedOptions { name: &name, sealed: sealed_options.as_deref() };
        self.people.put_model(by, &model, sealed.as_deref(), options)?;
        self.read(&changing)?;
        Ok(())
    }

    /// Returns a model with its key, if `url` has the same scheme, host and port as the model's own address.
    pub(crate) fn at(&self, name: &str, url: &str) -> Option<(ModelConfig, Option<ApiKey>)> {
        // The key belongs to the address of the same change.
        let _changing = self.changing();
        let offers = self.now();
        let offer = offers.iter().find(|offer| offer.config.name == name)?;
        let is_same = place(&offer.config.url) == place(url);
        let key = || configured_key(&offer.config, Some(&self.vault)).ok().flatten();
        is_same.then(|| (ModelConfig { url: url.to_owned(), ..offer.config.clone() }, key()))
    }

    /// Lists the models that a provider offers.
    ///
    /// # Errors
    /// Returns an error whose message is shown to people, if there is no list.
    pub(crate) async fn list(
        &self,
        config: &ModelConfig,
        key: Option<ApiKey>,
    ) -> anyhow::Result<Vec<ListedModel>> {
        super::list(config, key, Some(&self.vault)).await
    }

    /// Takes a model away that an owner added.
    ///
    /// # Errors
    /// When there is none, the file names it, or nothing could be kept.
    pub(crate) fn remove(&self, by: By, name: &str) -> Result<(), ChangeError> {
        let changing = self.changing();
        if self.is_in_file(name) {
            return Err(ChangeError::InFile);
        }
        if !self.people.models()?.iter().any(|kept| kept.name == name) {
            return Err(ChangeError::Unknown);
        }
        self.people.remove_model(by, name, &options_name(name))?;
        self.read(&changing)?;
        Ok(())
    }

    /// Says which model is asked when nothing else does.
    ///
    /// # Errors
    /// When there is none by that name, or nothing could be kept.
    pub(crate) fn set_default(&self, by: By, name: &str) -> Result<(), ChangeError> {
        let changing = self.changing();
        if !self.now().iter().any(|offer| offer.config.name == name) {
            return Err(ChangeError::Unknown);
        }
        self.people.set(by, &[(DEFAULT, serde_json::Value::from(name).to_string())])?;
        self.read(&changing)?;
        Ok(())
    }

    /// Reads what is kept once more: a secret may have been changed. When it cannot be read, the list stays as it is.
    pub(crate) fn look_again(&self) {
        if let Err(error) = self.read(&self.changing()) {
            tracing::error!(reason = %error, "failed to read saved models, keeping the current list");
        }
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_in_file(&self, name: &str) -> bool {
        self.file.iter().any(|offer| offer.config.name == name)
    }

    fn read(&self, _changing: &MutexGuard<'_, ()>) -> Result<(), ChangeError> {
        let mut added = kept(&self.people, &self.vault)?;
        // What the operator writes into the file since then goes before it.
        added.retain(|(config, _)| !self.is_in_file(&config.name));
        let transport = transport(added.iter().map(|(config, _)| config))?;
        let added = added.into_iter().map(|(config, options)| {
            let key = config.key_secret.as_ref().map(|name| self.key(name));
            let model = match &options {
                Ok(_) => make_with(&config, key, &transport, &self.vault),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            // Without its options, a request might bypass the proxy that an owner set.
            let model = model.or_else(|error| unusable(&config, &error, &self.vault))?;
            Ok(Offer { model, config, named_in: NamedIn::Settings, options: options.ok() })
        });
        let added = added.collect::<anyhow::Result<Vec<_>>>()?;
        let mut offers: Vec<Offer> = self.file.iter().cloned().chain(added).collect();
        let first = self.people.settings()?.into_iter().find(|(name, _)| name == DEFAULT);
        let first: Option<String> = first.and_then(|(_, name)| serde_json::from_str(&name).ok());
        let first = first.and_then(|name| offers.iter().position(|offer| offer.config.name == name));
        offers[..first.map_or(0, |at| at + 1)].rotate_right(usize::from(first.is_some()));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(offers);
        Ok(())
    }

    /// A key as it is now: a run that goes on after a change of place never carries the new key to the old one. One that
    /// cannot be opened is looked for again, and missed, when the model is asked.
    fn key(&self, name: &str) -> Arc<dyn KeySource> {
        match self.vault.secret(name) {
            Ok(key) => Arc::new(key) as Arc<dyn KeySource>,
            Err(_) => Arc::new(NamedSecret { vault: self.vault.clone(), name: name.to_owned() }),
        }
    }
}

/// Returns the models that owners added, as a file would describe them, with their options.
///
/// # Errors
/// Returns an error if they can't be read.
pub(crate) fn kept(
    people: &People,
    vault: &Vault,
) -> Result<Vec<(ModelConfig, anyhow::Result<ModelOptions>)>, PeopleError> {
    let described = people.models()?.into_iter().map(|kept| {
        let options = saved_options(people, vault, &kept.name).map(Option::unwrap_or_default);
        let mut config = described(kept);
        if let Ok(options) = &options {
            options.clone().apply(&mut config);
        }
        (config, options)
    });
    Ok(described.collect())
}

fn described(kept: KeptModel) -> ModelConfig {
    let provider = match kept.provider {
        WireName::Openai => ProviderConfig::Openai,
        WireName::Anthropic => ProviderConfig::Anthropic,
    };
    ModelConfig {
        name: kept.name,
        model: kept.model,
        key_secret: kept.key_secret,
        window_tokens: kept.window_tokens,
        output_tokens_max: kept.output_tokens_max,
        takes_prefix: kept.takes_prefix,
        tools: kept.tools,
        ..ModelConfig::at(provider, kept.url)
    }
}

fn saved_options(people: &People, vault: &Vault, model: &str) -> anyhow::Result<Option<ModelOptions>> {
    let name = options_name(model);
    if people.sealed(&name)?.is_none() {
        return Ok(None);
    }
    let text = vault.plain(&name).map_err(|_| {
        anyhow::anyhow!(
            "The saved options of this model can't be decrypted. Enter them again under Settings."
        )
    })?;
    Ok(Some(serde_json::from_str(text.expose_secret())?))
}

/// Makes a model whose options can't be used: every request fails with the reason.
fn unusable(config: &ModelConfig, error: &anyhow::Error, vault: &Arc<Vault>) -> anyhow::Result<Model> {
    tracing::error!(model = %config.name, reason = %format!("{error:#}"), "model options unusable");
    let mut plain = config.clone();
    ModelOptions::default().apply(&mut plain);
    let refusal = Arc::new(Unusable(format!("{error:#}")));
    make_with(&plain, Some(refusal), &transport([&plain])?, vault)
}

/// Stands in for the key of a model that can't be used. Getting the key fails with this reason.
struct Unusable(String);

impl KeySource for Unusable {
    fn key(&self) -> Result<ApiKey, String> {
        Err(self.0.clone())
    }
}

/// The way to some models: whoever describes one names its place.
fn transport<'a>(models: impl IntoIterator<Item = &'a ModelConfig>) -> anyhow::Result<Arc<dyn Transport>> {
    let places = models.into_iter().map(|model| model.url.as_str());
    Ok(Arc::new(HttpTransport(Outgoing::new(places)?)))
}

/// Returns the name of the secret with a model's options. Secrets that people set can't have a colon in their names.
fn options_name(model: &str) -> String {
    key_name(model).replacen("model.", "options:", 1)
}

/// By which name the key of a model is kept: readable, and another for each.
fn key_name(model: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let letters: String = model.chars().take(KEY_NAME_LETTERS).map(plain).collect();
    let hash = session::hex(&Sha256::digest(model.as_bytes()));
    format!("model.{letters}.{}", &hash[..8])
}

//! The messaging gateway as this server has it: its platforms from the configuration, and what it must know again from the
//! file of people.

use std::collections::HashMap;
use std::sync::Arc;

use gateway::platform::Platform;
use gateway::platform::matrix::{Matrix, MatrixSettings};
use gateway::platform::telegram::{self, Rates, Telegram, TelegramSettings};
use gateway::platform::webhook::{Webhook, WebhookSettings};
use gateway::{Gateway, Pairing, Register, RegisterError, Taken};
use hub::{Clock, Hub, SystemClock};
use session::{BlobHash, PostMode, UserId};
use store::people::{GatewayTaken, People, PeopleError};

use crate::config::{Config, PlatformConfig, PlatformKind};
use crate::models::Offered;
use crate::secret::hash;
use crate::vault::Vault;

/// Letters of a pairing code: none that is taken for another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LETTERS: usize = 8;

/// The gateway, and the webhooks that others post to.
#[derive(Clone)]
pub(crate) struct Messaging {
    pub(crate) gateway: Gateway,
    pub(crate) webhooks: Arc<HashMap<String, Arc<Webhook>>>,
}

impl Messaging {
    /// Makes every platform of the configuration ready. Nothing is asked of any yet.
    ///
    /// # Errors
    /// When one cannot be used as it is configured.
    pub(crate) fn open(
        config: &Config,
        hub: &Hub,
        people: Arc<People>,
        offered: Arc<Offered>,
        vault: &Vault,
    ) -> anyhow::Result<Self> {
        people.forget_gateway_taken(SystemClock.now())?;
        let mut platforms: Vec<Arc<dyn Platform>> = Vec::new();
        let mut webhooks = HashMap::new();
        for platform in &config.platforms {
            let (name, token) = (platform.name.clone(), platform.token(vault)?);
            match platform.kind {
                PlatformKind::Matrix => {
                    let homeserver = platform.address()?;
                    let settings = MatrixSettings { name, homeserver, access_token: token };
                    platforms.push(Arc::new(Matrix::new(settings)?));
                }
                PlatformKind::Telegram => {
                    let api = platform.url.clone().unwrap_or_else(|| telegram::API.to_owned());
                    let settings = TelegramSettings { name, api, token, rates: Rates::default() };
                    platforms.push(Arc::new(Telegram::new(settings)?));
                }
                PlatformKind::Webhook => {
                    let settings = WebhookSettings::new(name.clone(), platform.address()?, token);
                    let webhook = Arc::new(Webhook::new(settings, Arc::new(SystemClock))?);
                    platforms.push(webhook.clone());
                    webhooks.insert(name, webhook);
                }
            }
        }
        let kept = Kept { people, offered, platforms: config.platforms.clone() };
        let gateway = Gateway::new(hub.clone(), Arc::new(kept), platforms, PostMode::Queue);
        Ok(Self { gateway, webhooks: Arc::new(webhooks) })
    }
}

/// What of a pairing code is kept. Written in any way that a person may write it, it is the same.
pub(crate) fn code_hash(code: &str) -> [u8; 32] {
    let letters: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    hash(&letters.to_ascii_uppercase())
}

fn new_code() -> Result<String, RegisterError> {
    let mut random = [0; CODE_LETTERS];
    getrandom::fill(&mut random).map_err(|error| RegisterError(error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// What the gateway must know again, in the file of people.
struct Kept {
    people: Arc<People>,
    offered: Arc<Offered>,
    platforms: Vec<PlatformConfig>,
}

impl Kept {
    fn platform(&self, name: &str) -> Option<&PlatformConfig> {
        self.platforms.iter().find(|platform| platform.name == name)
    }
}

fn failed(error: PeopleError) -> RegisterError {
    RegisterError(error.to_string())
}

impl Register for Kept {
    fn cursor(&self, platform: &str) -> Result<Option<String>, RegisterError> {
        self.people.gateway_cursor(platform).map_err(failed)
    }

    fn keep_cursor(&self, platform: &str, cursor: &str) -> Result<(), RegisterError> {
        self.people.keep_gateway_cursor(platform, cursor).map_err(failed)
    }

    fn user_of(&self, platform: &str, peer: &str) -> Result<Option<UserId>, RegisterError> {
        let configured =
            self.platform(platform).is_some_and(|platform| platform.allow.iter().any(|id| id == peer));
        if configured {
            let first = self.people.user(UserId::FIRST).map_err(failed)?;
            return Ok(first.filter(|(user, _)| !user.disabled).map(|(user, _)| user.id));
        }
        self.people.gateway_user(platform, peer).map_err(failed)
    }

    fn note_file(&self, user: UserId, file: &BlobHash) -> Result<(), RegisterError> {
        self.people.note_upload(user, file).map_err(failed)
    }

    fn ask_to_pair(&self, platform: &str, peer: &str, name: &str) -> Result<Pairing, RegisterError> {
        if !self.platform(platform).is_some_and(|platform| platform.pairing) {
            return Ok(Pairing::Silence);
        }
        let code = new_code()?;
        let told = self.people.ask_to_pair(SystemClock.now(), platform, (peer, name), code_hash(&code));
        Ok(if told.map_err(failed)? { Pairing::Code(code) } else { Pairing::Silence })
    }

    fn taken(&self, platform: &str, event: &str) -> Result<Option<Taken>, RegisterError> {
        let kept = self.people.gateway_taken(platform, event).map_err(failed)?;
        Ok(kept.map(|GatewayTaken { session, about, done }| Taken { session, about, done }))
    }

    fn keep_taken(&self, platform: &str, event: &str, taken: &Taken) -> Result<(), RegisterError> {
        let Taken { session, about, done } = *taken;
        let kept = GatewayTaken { session, about, done };
        self.people.keep_gateway_taken(SystemClock.now(), platform, event, kept).map_err(failed)
    }

    fn model_of(&self, chat: &str) -> Result<Option<String>, RegisterError> {
        self.people.gateway_model(chat).map_err(failed)
    }

    fn choose_model(&self, chat: &str, model: Option<&str>) -> Result<(), RegisterError> {
        self.people.choose_gateway_model(chat, model).map_err(failed)
    }

    fn models(&self) -> Vec<String> {
        self.offered.now().iter().map(|offer| offer.model.name.clone()).collect()
    }
}

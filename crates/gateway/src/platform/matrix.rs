//! Matrix, over the plain client-server API. Nothing that was said while this account was away is lost: where a sync leaves a
//! gap, the gap is part of the cursor and is read page by page, in order. What is sent twice with one key is there once.
//!
//! Encrypted rooms are not read: the device has no keys.

mod api;
mod cursor;
mod reading;
mod receiving;
mod rooms;
mod sending;
mod wire;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use self::api::{Api, Ask};
use self::rooms::Rooms;
use super::{
    Abilities, Batch, Counting, InboundFile, MessageId, Outbound, Place, Platform, ReceiveError, SendError,
};

/// The longest text. An event has 65,536 bytes, and holds the text twice: plain and formatted.
const TEXT_BYTES_MAX: usize = 16_000;
/// Between two edits of one message. Synapse counts them like messages and lets an ordinary account send few.
const EDIT_EVERY: Duration = Duration::from_millis(1_500);
/// How long a homeserver shows that somebody writes, unless told again.
const TYPING_MS: u64 = 8_000;

/// What an operator says of an account.
#[derive(Debug, Clone)]
pub struct MatrixSettings {
    /// What the operator calls it.
    pub name: String,
    /// Where the homeserver is: `https://matrix.example.org`.
    pub homeserver: String,
    /// The token of one logged-in device. The same device must be used for good: that a message sent twice is there once
    /// holds for one device only, so that nobody logs in anew at each start.
    pub access_token: SecretString,
}

/// Why an account cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetUpError {
    #[error("invalid homeserver URL: {reason}")]
    Address { reason: String },
    #[error("failed to create client: {reason}")]
    Client { reason: String },
}

/// An account on a homeserver.
#[derive(Debug)]
pub struct Matrix {
    name: String,
    api: Api,
    /// Who this account is; asked once.
    me: tokio::sync::OnceCell<Me>,
    /// Who is in which room. All of it can be asked for again.
    rooms: Rooms,
    /// Whether it was said that encrypted messages are not read.
    encryption_told: AtomicBool,
}

/// Who this account is.
#[derive(Debug, Clone)]
struct Me {
    id: String,
    display_name: Option<String>,
}

impl Matrix {
    /// Makes the account ready; asks nothing yet.
    ///
    /// # Errors
    /// When the address is none, or there is no client.
    pub fn new(settings: MatrixSettings) -> Result<Self, SetUpError> {
        Ok(Self {
            name: settings.name,
            api: Api::new(&settings.homeserver, Some(settings.access_token))?,
            me: tokio::sync::OnceCell::new(),
            rooms: Rooms::default(),
            encryption_told: AtomicBool::new(false),
        })
    }

    async fn me(&self) -> Result<&Me, ReceiveError> {
        self.me.get_or_try_init(|| self.ask_who_i_am()).await
    }

    async fn ask_who_i_am(&self) -> Result<Me, ReceiveError> {
        let asked: wire::WhoAmI = self.api.read(Ask::get(&["v3", "account", "whoami"])).await?;
        let profile = Ask::get(&["v3", "profile", &asked.user_id, "displayname"]);
        let display_name = match self.api.read::<wire::DisplayName>(profile).await {
            Ok(profile) => profile.displayname,
            // An account without a profile has no name.
            Err(failed) if failed.is_final() => None,
            Err(failed) => return Err(failed.into()),
        };
        Ok(Me { id: asked.user_id, display_name })
    }

    async fn join(&self, room: &str) -> Result<(), SendError> {
        let ask = Ask::post(&["v3", "rooms", room, "join"], json!({}));
        self.api.read::<wire::Nothing>(ask).await?;
        Ok(())
    }

    async fn show_typing(&self, room: &str) -> Result<(), ReceiveError> {
        let me = self.me().await?;
        let state = json!({ "typing": true, "timeout": TYPING_MS });
        self.api.read::<wire::Nothing>(Ask::put(&["v3", "rooms", room, "typing", &me.id], state)).await?;
        Ok(())
    }
}

/// Logs a device in and gives its token: once, when an account is set up. The same device id keeps what the homeserver
/// knows of messages sent before.
///
/// # Errors
/// When the homeserver cannot be reached or does not take the password.
pub async fn login(
    homeserver: &str,
    user: &str,
    password: &SecretString,
    device_id: &str,
) -> Result<SecretString, ReceiveError> {
    let away = |error: SetUpError| ReceiveError::Away { reason: error.to_string(), retry_after: None };
    let api = Api::new(homeserver, None).map_err(away)?;
    let body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": user },
        "password": password.expose_secret(),
        "device_id": device_id,
        "initial_device_display_name": "Everturn",
    });
    match api.read::<wire::LoggedIn>(Ask::post(&["v3", "login"], body)).await {
        Ok(logged_in) => Ok(logged_in.access_token),
        Err(failed) if failed.is_final() => Err(ReceiveError::Unauthorized { reason: failed.to_string() }),
        Err(failed) => Err(failed.into()),
    }
}

impl Platform for Matrix {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "matrix"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            text_max: TEXT_BYTES_MAX,
            counting: Counting::Bytes,
            edits: true,
            idempotent: true,
            edit_every: EDIT_EVERY,
        }
    }

    fn receive(&self, cursor: Option<String>) -> BoxFuture<'_, Result<Batch, ReceiveError>> {
        self.receive_after(cursor).boxed()
    }

    fn send(
        &self,
        to: &Place,
        message: Outbound,
        key: String,
    ) -> BoxFuture<'_, Result<MessageId, SendError>> {
        let to = to.clone();
        async move { self.send_message(&to, message, &key).await }.boxed()
    }

    fn edit(
        &self,
        to: &Place,
        message: MessageId,
        text: String,
        key: String,
    ) -> BoxFuture<'_, Result<(), SendError>> {
        let room = to.chat.clone();
        async move { self.edit_message(&room, &message, &text, &key).await }.boxed()
    }

    fn typing(&self, to: &Place) -> BoxFuture<'_, ()> {
        let room = to.chat.clone();
        async move {
            if let Err(error) = self.show_typing(&room).await {
                tracing::debug!(platform = self.name, %error, "failed to send typing notice");
            }
        }
        .boxed()
    }

    fn fetch(&self, file: &InboundFile, most: usize) -> BoxFuture<'_, Result<Bytes, SendError>> {
        let reference = file.reference.clone();
        async move { self.fetch_media(&reference, most).await }.boxed()
    }

    fn who_am_i(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        async move {
            // Asked anew each time: whoever asks wants to know whether the token still holds.
            let asked: wire::WhoAmI = self.api.read(Ask::get(&["v3", "account", "whoami"])).await?;
            Ok(asked.user_id)
        }
        .boxed()
    }

    fn accept(&self, to: &Place) -> BoxFuture<'_, Result<(), SendError>> {
        let room = to.chat.clone();
        async move { self.join(&room).await }.boxed()
    }
}

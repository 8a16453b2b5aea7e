//! Who asks before it is known who he is: by which name he calls the server, from where, and with what.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use reqwest::Url;

use super::error::{ErrorCode, Problem};
use super::{App, Peer};
use crate::device;
use crate::throttle::{Key, Throttle};

/// Somebody at the door.
#[derive(Debug)]
pub(crate) struct Visitor {
    /// Where his browser sees this server. The gate has looked at the name.
    pub(crate) origin: Option<Url>,
    /// Where he comes from.
    pub(crate) from: Option<Key>,
    /// What his device is called.
    pub(crate) device: String,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        // A browser says it with a change, but not when it only follows a link.
        let named = parts.uri.authority().map(axum::http::uri::Authority::as_str).or(text(header::HOST));
        let seen = || named.map(|host| format!("{}://{host}", app.front.scheme(peer)));
        let origin = text(header::ORIGIN).map(str::to_owned).or_else(seen);
        Ok(Self {
            origin: origin.and_then(|origin| Url::parse(&origin).ok()),
            from: app.front.address(peer, &parts.headers).map(Key::address),
            device: device::name(text(header::USER_AGENT)),
        })
    }
}

impl Visitor {
    /// Counts a try to log in as failed until it is known to be right.
    ///
    /// # Errors
    /// When it is too early for one.
    pub(crate) fn attempt(&self, throttle: &Throttle, account: Option<&str>) -> Result<Vec<Key>, Problem> {
        let keys: Vec<Key> = account.map(Key::account).into_iter().chain(self.from.clone()).collect();
        let too_early = |wait| {
            Problem::new(
                ErrorCode::TooMany,
                "Too many failed sign-in attempts. Wait a while, then try again.",
            )
            .after(wait)
        };
        throttle.attempt(&keys).map_err(too_early)?;
        Ok(keys)
    }
}

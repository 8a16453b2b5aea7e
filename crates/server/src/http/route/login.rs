//! Logging in by password, and out again.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub::{Clock, SystemClock};
use serde::Deserialize;
use store::people::{Kind, NewCredential};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{COOKIE, Gate, Policy};
use super::super::{App, Peer};
use super::users::UserBody;
use crate::metrics;
use crate::password;
use crate::people::{NAME_MAX, by, by_hand};
use crate::secret::SecretKind;
use crate::throttle::Key;

/// How long a login lasts.
const LOGIN_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(log_in)).route(Policy::Read, routes!(log_out))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    name: String,
    password: String,
}

/// Logs a browser in: the answer sets a cookie that ends with the login.
#[utoipa::path(post, path = "/api/v1/login", tag = "people", request_body = LoginBody,
    responses((status = 200, body = UserBody), (status = "default", body = Problem)))]
async fn log_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let address = app.front.address(peer, request.headers());
    let agent = request.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let agent: String = agent.unwrap_or("unknown").chars().take(NAME_MAX).collect();
    let Body(body) =
        <Body<LoginBody> as axum::extract::FromRequest<App>>::from_request(request, &app).await?;
    let mut keys = vec![Key::account(&body.name)];
    keys.extend(address.map(Key::address));
    let too_early =
        |wait| Problem::new(ErrorCode::TooMany, "Too many logins failed; wait a while.").after(wait);
    app.throttle.attempt(&keys).map_err(too_early)?;
    let people = app.desks.people().clone();
    let checked = password::in_turn(move || {
        let found = people.by_name(&body.name)?;
        let kept = found.as_ref().and_then(|(_, kept)| kept.as_deref());
        let right = password::is_right(&body.password, kept);
        let now = SystemClock.now();
        let Some((user, _)) = found.filter(|(user, _)| right && !user.disabled) else {
            let name: String = body.name.chars().take(NAME_MAX).collect();
            people.note(by_hand(), "login_failed", &name)?;
            metrics::count_failed_login();
            return Ok(None);
        };
        let (secret, hash) = SecretKind::Login.make()?;
        let new = NewCredential {
            user: user.id,
            kind: Kind::Login,
            name: agent,
            scope: user.role.scope(),
            expires_at: Some(now.plus_micros(LOGIN_MICROS)),
        };
        people.add_credential(by(Some(user.id)), &new, hash)?;
        Ok::<_, anyhow::Error>(Some((user, secret)))
    });
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a login could not be looked at");
        Problem::new(ErrorCode::Unavailable, "The login could not be looked at; try again.")
    };
    let checked = checked.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let (user, secret) = checked
        .ok_or_else(|| Problem::new(ErrorCode::NotAuthorised, "The name or the password is wrong."))?;
    app.throttle.succeeded(&keys);
    let seconds = LOGIN_MICROS / 1_000_000;
    Ok(([(header::SET_COOKIE, cookie(&secret, seconds))], Json(UserBody::from(user))).into_response())
}

/// The cookie of a login: kept from scripts, from other sites and from connections in the clear.
fn cookie(secret: &str, seconds: i64) -> HeaderValue {
    let text = format!("{COOKIE}={secret}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Ends the login, or revokes the token, that this request was made with.
#[utoipa::path(post, path = "/api/v1/logout", tag = "people", security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn log_out(desk: Desk) -> Result<Response, Problem> {
    let (by, user) = (desk.by(), desk.user());
    let (kind, id) = (desk.caller.credential.kind, desk.caller.credential.id);
    desk.change(move |people| people.revoke(by, Some(user), kind, id)).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie("", 0))]).into_response())
}

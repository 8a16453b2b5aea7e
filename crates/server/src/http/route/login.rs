//! Logging in, by whatever way, and out again.

mod openid;
mod passkey;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use store::people::{Kind, NewCredential, People, PeopleError, User};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Body;
use super::super::gate::{COOKIE, Gate, Policy};
use super::super::visitor::Visitor;
use super::users::UserBody;
use crate::metrics;
use crate::passkeys;
use crate::password;
use crate::people::{NAME_MAX, by, by_hand};
use crate::secret::SecretKind;

pub(super) use passkey::{BeginPasskeyBody, CeremonyBody};

/// How long a login lasts.
const LOGIN_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

pub(crate) fn add(gate: Gate) -> Gate {
    let gate = gate
        .route(Policy::Anyone, routes!(ways))
        .route(Policy::Anyone, routes!(log_in))
        .route(Policy::Read, routes!(log_out));
    openid::add(passkey::add(gate))
}

#[derive(Debug, Serialize, ToSchema)]
struct WayBody {
    /// The provider's name in the login URL.
    name: String,
    /// The provider's display name.
    title: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct WaysBody {
    password: bool,
    /// Whether passkeys work here. They need a host name, so not if the server is opened by its IP address.
    passkey: bool,
    /// OpenID Connect providers, in display order.
    providers: Vec<WayBody>,
}

/// Lists the ways to sign in at this address.
#[utoipa::path(get, path = "/api/v1/login/ways", operation_id = "login.methods", tag = "login",
    responses((status = 200, body = WaysBody), (status = "default", body = Problem)))]
async fn ways(State(app): State<App>, visitor: Visitor) -> Json<WaysBody> {
    let way = |(name, title): (&str, &str)| WayBody { name: name.to_owned(), title: title.to_owned() };
    Json(WaysBody {
        password: true,
        passkey: passkeys::work_at(visitor.origin.as_ref()),
        providers: app.openid.ways().map(way).collect(),
    })
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    name: String,
    password: String,
}

/// Signs a browser in with a password. The response sets a cookie that is valid as long as the login.
#[utoipa::path(post, path = "/api/v1/login", operation_id = "login.password", tag = "login",
    request_body = LoginBody,
    responses((status = 200, body = UserBody), (status = "default", body = Problem)))]
async fn log_in(
    State(app): State<App>,
    visitor: Visitor,
    Body(body): Body<LoginBody>,
) -> Result<Response, Problem> {
    let keys = visitor.attempt(&app.throttle, Some(&body.name))?;
    let people = app.desks.people().clone();
    let checked = password::in_turn(move || {
        let found = people.by_name(&body.name)?;
        let kept = found.as_ref().and_then(|(_, kept)| kept.as_deref());
        let right = password::is_right(&body.password, kept);
        let Some((user, _)) = found.filter(|(user, _)| right && !user.disabled) else {
            let name: String = body.name.chars().take(NAME_MAX).collect();
            note_failed(&people, &name)?;
            return Ok(None);
        };
        let secret = let_in(&people, &user, visitor.device)?;
        Ok::<_, Problem>(Some((user, secret)))
    });
    let failed = |error| {
        tracing::error!(%error, "failed to verify login");
        Problem::new(ErrorCode::Unavailable, "The sign-in couldn't be verified. Try again.")
    };
    let checked = checked.await.map_err(failed)??;
    let (user, secret) = checked
        .ok_or_else(|| Problem::new(ErrorCode::NotAuthorised, "The user name or password is wrong."))?;
    app.throttle.succeeded(&keys);
    Ok(entered(user, &secret))
}

/// Logs a user in, whatever way he proved who he is. Answers the secret that his browser keeps.
fn let_in(people: &People, user: &User, device: String) -> Result<String, Problem> {
    let (secret, hash) = SecretKind::Login.make()?;
    let new = NewCredential {
        user: user.id,
        kind: Kind::Login,
        name: device,
        scope: user.role.scope(),
        expires_at: Some(SystemClock.now().plus_micros(LOGIN_MICROS)),
    };
    people.add_credential(by(Some(user.id)), &new, hash)?;
    Ok(secret)
}

/// Notes that somebody was not let in.
fn note_failed(people: &People, about: &str) -> Result<(), PeopleError> {
    metrics::count_failed_login();
    people.note(by_hand(), "login_failed", about)
}

/// The answer to somebody who was let in.
fn entered(user: User, secret: &str) -> Response {
    ([(header::SET_COOKIE, login_cookie(secret))], Json(UserBody::from(user))).into_response()
}

fn login_cookie(secret: &str) -> HeaderValue {
    cookie(COOKIE, secret, LOGIN_MICROS / 1_000_000)
}

/// A cookie: kept from scripts, from other sites and from connections in the clear.
fn cookie(name: &str, secret: &str, seconds: i64) -> HeaderValue {
    let text = format!("{name}={secret}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Signs out: ends the login or revokes the token that this request was made with.
#[utoipa::path(post, path = "/api/v1/logout", operation_id = "login.sign_out", tag = "login",
    security(("token" = [])),
    responses((status = 204), (status = "default", body = Problem)))]
async fn log_out(desk: Desk) -> Result<Response, Problem> {
    let (by, user) = (desk.by(), desk.user());
    let (kind, id) = (desk.caller.credential.kind, desk.caller.credential.id);
    desk.change(move |people| people.revoke(by, Some(user), kind, id)).await?;
    let headers = [
        (header::SET_COOKIE, cookie(COOKIE, "", 0)),
        // What older versions let the browser cache.
        (HeaderName::from_static("clear-site-data"), HeaderValue::from_static("\"cache\"")),
    ];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

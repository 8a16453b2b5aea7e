//! Logging in through a provider of identities: the browser is sent there, and comes back with its word.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::error::{ErrorCode, Problem};
use super::super::super::extract::{Asked, AtPath};
use super::super::super::gate::{self, Gate, Policy};
use super::super::super::visitor::Visitor;
use super::{cookie, let_in, login_cookie};
use crate::metrics;
use crate::openid::{AWAY_MAX, Refusal, Returned, is_inside};

/// What a browser keeps while it is away. Its prefix makes browsers keep it to this host.
const COOKIE: &str = "__Host-everturn-openid";

pub(super) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Anyone, routes!(leave)).route(Policy::Anyone, routes!(come_back))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct LeaveQuery {
    /// Where to redirect after the login: a path on this server.
    to: Option<String>,
}

/// Redirects a browser to a provider to sign in. Open it as a page instead of fetching it.
#[utoipa::path(get, path = "/api/v1/login/openid/{name}", operation_id = "login.openid_start", tag = "login",
    params(("name" = String, Path), LeaveQuery),
    responses((status = 302), (status = "default", body = Problem)))]
async fn leave(
    State(app): State<App>,
    AtPath(name): AtPath<String>,
    Asked(query): Asked<LeaveQuery>,
    visitor: Visitor,
) -> Result<Response, Problem> {
    known(&app, &name)?;
    let to = query.to.unwrap_or_else(|| "/".to_owned());
    let Some(origin) = visitor.origin.filter(|_| is_inside(&to)) else {
        let detail = "`to` must be a path on this server, starting with a single `/`.";
        return Err(Problem::new(ErrorCode::BadRequest, detail));
    };
    match app.openid.leave(&name, &origin, visitor.from, to).await {
        Ok(leaving) => {
            let seconds = i64::try_from(AWAY_MAX.as_secs()).unwrap_or(0);
            Ok(sent(leaving.address.as_str(), &[cookie(COOKIE, &leaving.secret, seconds)]))
        }
        Err(refusal) => Ok(refused(refusal)),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ReturnQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Receives a browser back from a provider. Signs it in and redirects it, or redirects it to `/?login=refused&why=`.
#[utoipa::path(get, path = "/api/v1/login/openid/{name}/return", operation_id = "login.openid_return", tag = "login",
    params(("name" = String, Path), ReturnQuery),
    responses((status = 302), (status = "default", body = Problem)))]
async fn come_back(
    State(app): State<App>,
    AtPath(name): AtPath<String>,
    Asked(query): Asked<ReturnQuery>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    known(&app, &name)?;
    let Ok(keys) = visitor.attempt(&app.throttle, None) else { return Ok(refused(Refusal::TooMany)) };
    let people = app.desks.people().clone();
    let returned = Returned { state: query.state, code: query.code, error: query.error };
    let entered = app.openid.enter(&people, &name, returned, gate::cookie(&headers, COOKIE)).await;
    let (user, to) = match entered {
        Ok(entered) => entered,
        Err(refusal) => {
            metrics::count_failed_login();
            return Ok(refused(refusal));
        }
    };
    let made = tokio::task::spawn_blocking(move || let_in(&people, &user, visitor.device)).await;
    let Ok(Ok(secret)) = made else { return Ok(refused(Refusal::Unavailable)) };
    app.throttle.succeeded(&keys);
    Ok(sent(&to, &[login_cookie(&secret), cookie(COOKIE, "", 0)]))
}

fn known(app: &App, name: &str) -> Result<(), Problem> {
    let unknown = || Problem::new(ErrorCode::NoSuchThing, "No OpenID Connect provider has this name.");
    app.openid.knows(name).then_some(()).ok_or_else(unknown)
}

/// Leads a browser to the page that says why it was not let in.
fn refused(refusal: Refusal) -> Response {
    sent(&format!("/?login=refused&why={}", refusal.as_str()), &[cookie(COOKIE, "", 0)])
}

fn sent(place: &str, cookies: &[HeaderValue]) -> Response {
    let mut response = StatusCode::FOUND.into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/")));
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie.clone());
    }
    response
}

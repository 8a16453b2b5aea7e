//! The messaging gateway: how its platforms are, who is let in, who waits to be, and what webhooks bring.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use gateway::platform::webhook::Rejection;
use hub::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use session::UserId;
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{AtPath, Body};
use super::super::gate::{Gate, Policy};
use crate::messaging::code_hash;
use crate::people::by;
use crate::throttle::Key;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Manage, routes!(tell))
        .route(Policy::Read, routes!(bindings))
        .route(Policy::Manage, routes!(approve))
        .route(Policy::Manage, routes!(remove))
        .route(Policy::Manage, routes!(test))
        .route(Policy::Anyone, routes!(hook))
}

#[derive(Debug, Serialize, ToSchema)]
struct GatewayBody {
    platforms: Vec<PlatformBody>,
    peers: Vec<PeerBody>,
    /// Strangers who wait to be let in.
    strangers: Vec<StrangerBody>,
    /// Sessions that owe an answer to a chat.
    undelivered: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlatformBody {
    name: String,
    /// `matrix`, `telegram` or `webhook`.
    kind: String,
    /// `starting`, `receiving`, `away`, `elsewhere` or `unauthorized`.
    state: String,
    /// Why it does not receive.
    reason: Option<String>,
    /// Events of people who are let in, since the start.
    received: u64,
    /// Messages that arrived, since the start.
    sent: u64,
    /// Messages that were sent again because it is not known whether they arrived, since the start.
    repeated: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PeerBody {
    platform: String,
    /// The platform's own id of them.
    peer: String,
    name: String,
    /// In whose sessions they speak.
    user: Uuid,
    since: i64,
}

#[derive(Debug, Serialize, ToSchema)]
struct StrangerBody {
    platform: String,
    peer: String,
    /// What they call themselves.
    name: String,
    asked_at: i64,
}

/// How the gateway is.
#[utoipa::path(get, path = "/api/v1/gateway", tag = "gateway", security(("token" = [])),
    responses((status = 200, body = GatewayBody), (status = "default", body = Problem)))]
async fn tell(State(app): State<App>, desk: Desk) -> Result<Json<GatewayBody>, Problem> {
    let people = app.desks.people();
    let platforms = app.messaging.gateway.health().into_iter().map(|health| {
        let (state, reason) = health.state.told();
        PlatformBody {
            state: state.to_owned(),
            reason: reason.map(str::to_owned),
            name: health.name,
            kind: health.kind.to_owned(),
            received: health.received,
            sent: health.sent,
            repeated: health.repeated,
        }
    });
    let peers = people.gateway_peers()?.into_iter().map(|peer| PeerBody {
        platform: peer.platform,
        peer: peer.peer,
        name: peer.name,
        user: peer.user.0,
        since: peer.since.0,
    });
    let strangers = people.gateway_pairings(SystemClock.now())?.into_iter().map(|stranger| StrangerBody {
        platform: stranger.platform,
        peer: stranger.peer,
        name: stranger.name,
        asked_at: stranger.asked_at.0,
    });
    Ok(Json(GatewayBody {
        platforms: platforms.collect(),
        peers: peers.collect(),
        strangers: strangers.collect(),
        undelivered: desk.undelivered().await?.len() as u64,
    }))
}

#[derive(Debug, Serialize, ToSchema)]
struct BindingsBody {
    bindings: Vec<BindingBody>,
}

/// A chat whose messages go to a session.
#[derive(Debug, Serialize, ToSchema)]
struct BindingBody {
    /// The chat in one line, as messages name it in `from`.
    chat: String,
    platform: String,
    /// It was interrupted too often: its next message begins a new session.
    suspended: bool,
}

/// The chats whose messages go to a session.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/bindings", tag = "gateway", params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = BindingsBody), (status = "default", body = Problem)))]
async fn bindings(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<BindingsBody>, Problem> {
    let bindings = desk.bindings(session).await?.into_iter().map(|bound| BindingBody {
        chat: bound.chat.to_text(),
        platform: bound.chat.platform,
        suspended: bound.suspended,
    });
    Ok(Json(BindingsBody { bindings: bindings.collect() }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ApproveBody {
    /// What the stranger was told.
    code: String,
    /// In whose sessions they speak; left out: in the caller's.
    user: Option<Uuid>,
}

/// Lets the stranger in who was told this code.
#[utoipa::path(post, path = "/api/v1/gateway/approve", tag = "gateway", request_body = ApproveBody,
    security(("token" = [])), responses((status = 200, body = PeerBody), (status = "default", body = Problem)))]
async fn approve(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<ApproveBody>,
) -> Result<Json<PeerBody>, Problem> {
    // Whoever may approve must not be able to try codes either: a guessed one lets a stranger in.
    let tries = [Key::account("pairing codes")];
    let too_early = |wait| Problem::new(ErrorCode::TooMany, "Too many tries; wait a while.").after(wait);
    app.throttle.attempt(&tries).map_err(too_early)?;
    let user = body.user.map_or(desk.user(), UserId);
    let people = app.desks.people();
    people.user(user)?.ok_or_else(|| Problem::new(ErrorCode::NoSuchThing, "There is no such user."))?;
    let let_in = people.approve_pairing(by(Some(desk.user())), code_hash(&body.code), user)?;
    let Some(peer) = let_in else {
        return Err(Problem::new(
            ErrorCode::NoSuchThing,
            "Nobody waits with that code; it may be over an hour old.",
        ));
    };
    app.throttle.succeeded(&tries);
    Ok(Json(PeerBody {
        platform: peer.platform,
        peer: peer.peer,
        name: peer.name,
        user: peer.user.0,
        since: peer.since.0,
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RemoveBody {
    platform: String,
    peer: String,
}

/// Shuts somebody out. What is being written to them goes no further.
#[utoipa::path(post, path = "/api/v1/gateway/remove", tag = "gateway", request_body = RemoveBody,
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn remove(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<RemoveBody>,
) -> Result<StatusCode, Problem> {
    let removed =
        app.desks.people().remove_gateway_peer(by(Some(desk.user())), &body.platform, &body.peer)?;
    if removed {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = "They were not let in by a code; who is allowed by the configuration is removed there.";
    Err(Problem::new(ErrorCode::NoSuchThing, detail))
}

#[derive(Debug, Serialize, ToSchema)]
struct TestedBody {
    /// Who the account is on its platform.
    account: Option<String>,
    /// Why that could not be told.
    problem: Option<String>,
}

/// Asks a platform who its account is there.
#[utoipa::path(post, path = "/api/v1/gateway/test/{platform}", tag = "gateway",
    params(("platform" = String, Path)), security(("token" = [])),
    responses((status = 200, body = TestedBody), (status = "default", body = Problem)))]
async fn test(State(app): State<App>, Path(platform): Path<String>) -> Result<Json<TestedBody>, Problem> {
    match app.messaging.gateway.test(&platform).await {
        None => Err(Problem::new(ErrorCode::NoSuchThing, "There is no such platform.")),
        Some(Ok(account)) => Ok(Json(TestedBody { account: Some(account), problem: None })),
        Some(Err(error)) => Ok(Json(TestedBody { account: None, problem: Some(error.to_string()) })),
    }
}

/// What others bring to a webhook, signed. Answered well once it is durable.
#[utoipa::path(post, path = "/api/v1/hooks/{platform}", tag = "gateway",
    params(("platform" = String, Path)), request_body = String,
    responses((status = 200), (status = "default", body = Problem)))]
async fn hook(
    State(app): State<App>,
    Path(platform): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    // Whoever does not know the secret is not told whether there is such a webhook.
    let unknown = || Problem::new(ErrorCode::NotAuthorised, "The signature is not right.");
    let webhook = app.messaging.webhooks.get(&platform).ok_or_else(unknown)?;
    let now_unix = SystemClock.now().0 / 1_000_000;
    let durable = webhook.take(&headers, &body, now_unix).map_err(|rejection| match rejection {
        Rejection::Signature | Rejection::Stale => unknown(),
        Rejection::TooLarge => Problem::new(ErrorCode::TooLarge, rejection.to_string()),
        Rejection::Unreadable { .. } => Problem::new(ErrorCode::BadRequest, rejection.to_string()),
        Rejection::Busy => Problem::new(ErrorCode::Unavailable, rejection.to_string()),
    })?;
    if durable.wait().await {
        Ok(StatusCode::OK)
    } else {
        Err(Problem::new(ErrorCode::Unavailable, "The server stops; post it again."))
    }
}

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
    /// Senders who wait for approval.
    strangers: Vec<StrangerBody>,
    /// The number of sessions with answers not yet delivered to a chat.
    undelivered: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlatformBody {
    name: String,
    /// `matrix`, `telegram` or `webhook`.
    kind: String,
    /// `starting`, `receiving`, `away`, `elsewhere` or `unauthorized`.
    state: String,
    /// Why the platform isn't receiving.
    reason: Option<String>,
    /// Events received from allowed senders since the server started.
    received: u64,
    /// Messages delivered since the server started.
    sent: u64,
    /// Messages sent again since the server started, because their delivery was uncertain.
    repeated: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PeerBody {
    platform: String,
    /// The sender's ID on the platform.
    peer: String,
    name: String,
    /// The user whose sessions receive the sender's messages.
    user: Uuid,
    since: i64,
}

#[derive(Debug, Serialize, ToSchema)]
struct StrangerBody {
    platform: String,
    peer: String,
    /// The sender's display name, which they choose themselves.
    name: String,
    asked_at: i64,
}

/// Returns the gateway's status: platforms, approved senders and pending requests.
#[utoipa::path(get, path = "/api/v1/gateway", operation_id = "gateway.status", tag = "gateway",
    security(("token" = [])),
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

/// A chat bound to a session.
#[derive(Debug, Serialize, ToSchema)]
struct BindingBody {
    /// The chat's key, as messages give it in `from`.
    chat: String,
    platform: String,
    /// Whether the chat is suspended: its next message starts a new session.
    suspended: bool,
}

/// Lists the chats bound to a session.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/bindings", operation_id = "sessions.list_bindings", tag = "sessions",
    params(("session" = Uuid, Path)),
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
    /// The pairing code that the sender received.
    code: String,
    /// The user whose sessions receive the sender's messages. If omitted, the caller.
    user: Option<Uuid>,
}

/// Approves the sender who received this pairing code.
#[utoipa::path(post, path = "/api/v1/gateway/approve", operation_id = "gateway.approve", tag = "gateway",
    request_body = ApproveBody,
    security(("token" = [])), responses((status = 200, body = PeerBody), (status = "default", body = Problem)))]
async fn approve(
    State(app): State<App>,
    desk: Desk,
    Body(body): Body<ApproveBody>,
) -> Result<Json<PeerBody>, Problem> {
    // Whoever may approve must not be able to try codes either: a guessed one lets a stranger in.
    let tries = [Key::account("pairing codes")];
    let too_early = |wait| {
        Problem::new(ErrorCode::TooMany, "Too many attempts. Wait a while, then try again.").after(wait)
    };
    app.throttle.attempt(&tries).map_err(too_early)?;
    let user = body.user.map_or(desk.user(), UserId);
    let people = app.desks.people();
    people.user(user)?.ok_or_else(|| Problem::new(ErrorCode::NoSuchThing, "No user has this ID."))?;
    let let_in = people.approve_pairing(by(Some(desk.user())), code_hash(&body.code), user)?;
    let Some(peer) = let_in else {
        return Err(Problem::new(
            ErrorCode::NoSuchThing,
            "No pending request has this code. It may have expired; codes are valid for an hour.",
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

/// Removes an approved sender. Answers on their way to them are no longer delivered.
#[utoipa::path(post, path = "/api/v1/gateway/remove", operation_id = "gateway.remove", tag = "gateway",
    request_body = RemoveBody,
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
    let detail = "This sender wasn't approved by a pairing code. If the configuration allows them, remove \
                  them there.";
    Err(Problem::new(ErrorCode::NoSuchThing, detail))
}

#[derive(Debug, Serialize, ToSchema)]
struct TestedBody {
    /// The account's name on the platform.
    account: Option<String>,
    /// Why the test failed.
    problem: Option<String>,
}

/// Tests the connection to a platform by asking it for the configured account.
#[utoipa::path(post, path = "/api/v1/gateway/test/{platform}", operation_id = "gateway.test", tag = "gateway",
    params(("platform" = String, Path)), security(("token" = [])),
    responses((status = 200, body = TestedBody), (status = "default", body = Problem)))]
async fn test(State(app): State<App>, Path(platform): Path<String>) -> Result<Json<TestedBody>, Problem> {
    match app.messaging.gateway.test(&platform).await {
        None => Err(Problem::new(ErrorCode::NoSuchThing, "No platform has this name.")),
        Some(Ok(account)) => Ok(Json(TestedBody { account: Some(account), problem: None })),
        Some(Err(error)) => Ok(Json(TestedBody { account: None, problem: Some(error.to_string()) })),
    }
}

/// Receives a signed webhook request. A 200 response means that its events are durable.
#[utoipa::path(post, path = "/api/v1/hooks/{platform}", operation_id = "gateway.webhook", tag = "gateway",
    params(("platform" = String, Path)), request_body = Object,
    responses((status = 200), (status = "default", body = Problem)))]
async fn hook(
    State(app): State<App>,
    Path(platform): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    // Whoever does not know the secret is not told whether there is such a webhook.
    let unknown = || Problem::new(ErrorCode::NotAuthorised, "The signature doesn't match.");
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
        Err(Problem::new(ErrorCode::Unavailable, "The server is stopping. Send the request again."))
    }
}

//! Links by which one session can be read by whoever has them, until they are withdrawn.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use session::{MarkerKind, TurnId};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::App;
use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::{Asked, AtPath};
use super::super::gate::{Gate, Policy};
use crate::secret::SecretKind;

/// Turns of a page that a share shows.
const PAGE: usize = 50;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(list))
        .route(Policy::Write, routes!(share))
        .route(Policy::Write, routes!(withdraw))
        .route(Policy::Anyone, routes!(read))
}

/// A share link, without its secret.
#[derive(Debug, Serialize, ToSchema)]
struct ShareBody {
    share: Uuid,
    created_at: i64,
}

#[derive(Debug, Serialize, ToSchema)]
struct SharesBody {
    shares: Vec<ShareBody>,
}

/// Lists a session's share links.
#[utoipa::path(get, path = "/api/v1/sessions/{session}/shares", operation_id = "shares.list", tag = "shares",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 200, body = SharesBody), (status = "default", body = Problem)))]
async fn list(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<Json<SharesBody>, Problem> {
    let session = desk.session(session).await?.session();
    let shares = desk.people().shares(desk.user(), session)?;
    let shares =
        shares.into_iter().map(|share| ShareBody { share: share.id, created_at: share.created_at.0 });
    Ok(Json(SharesBody { shares: shares.collect() }))
}

/// A new share link with its secret, which is returned only here.
#[derive(Debug, Serialize, ToSchema)]
struct NewShare {
    share: Uuid,
    /// The secret for `GET /shared/{secret}`.
    secret: String,
}

/// Creates a share link. Anyone with it can read the session until the link is revoked.
#[utoipa::path(post, path = "/api/v1/sessions/{session}/shares", operation_id = "shares.create", tag = "shares",
    params(("session" = Uuid, Path)),
    security(("token" = [])), responses((status = 201, body = NewShare), (status = "default", body = Problem)))]
async fn share(desk: Desk, AtPath(session): AtPath<Uuid>) -> Result<(StatusCode, Json<NewShare>), Problem> {
    let session = desk.session(session).await?.session();
    let (secret, hash) = SecretKind::Share.make()?;
    let (by, user) = (desk.by(), desk.user());
    let share = desk.change(move |people| people.add_share(by, user, session, hash)).await?;
    Ok((StatusCode::CREATED, Json(NewShare { share, secret })))
}

/// Revokes a share link.
#[utoipa::path(delete, path = "/api/v1/shares/{share}", operation_id = "shares.revoke", tag = "shares",
    params(("share" = Uuid, Path)),
    security(("token" = [])), responses((status = 204), (status = "default", body = Problem)))]
async fn withdraw(desk: Desk, AtPath(share): AtPath<Uuid>) -> Result<StatusCode, Problem> {
    let (by, user) = (desk.by(), desk.user());
    match desk.change(move |people| people.withdraw(by, user, share)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::new(
            ErrorCode::NoSuchThing,
            "No share link has this ID. It may have been revoked already.",
        )),
    }
}

#[derive(Debug, serde::Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct SharedAsked {
    /// Return turns before this one. If omitted, the newest turns.
    before: Option<u64>,
}

/// A shared session: its visible turns, without queued messages or undone turns.
#[derive(Debug, Serialize, ToSchema)]
struct SharedBody {
    title: Option<String>,
    turns: Vec<session::TurnView>,
    /// Whether older turns exist.
    earlier: bool,
}

/// Returns a shared session in its current state.
#[utoipa::path(get, path = "/api/v1/shared/{secret}", operation_id = "shares.read", tag = "shares",
    params(("secret" = String, Path), SharedAsked),
    responses((status = 200, body = SharedBody), (status = "default", body = Problem)))]
async fn read(
    State(app): State<App>,
    AtPath(secret): AtPath<String>,
    Asked(asked): Asked<SharedAsked>,
) -> Result<Json<SharedBody>, Problem> {
    let handle = app.desks.shared(&secret).await?;
    let view = handle.view().await?;
    // The newest are those of the log itself; pages of older ones may be a moment behind.
    let (mut turns, earlier) = match asked.before {
        None => (view.turns, view.turns_before > 0),
        Some(before) => {
            let page = handle.page(Some(TurnId(before)), PAGE).await?;
            let earlier = match page.first() {
                Some(first) => !handle.page(Some(first.turn), 1).await?.is_empty(),
                None => false,
            };
            (page, earlier)
        }
    };
    for turn in &mut turns {
        turn.forget_places();
        // Errors of providers name addresses, accounts and limits.
        turn.retry = None;
        let cuts = turn.answer.iter_mut().flat_map(|answer| &mut answer.interruptions);
        let markers = cuts.map(|cut| &mut cut.marker).chain(&mut turn.marker);
        for marker in markers.filter(|marker| marker.kind == MarkerKind::Failed) {
            "The answer failed.".clone_into(&mut marker.text);
        }
    }
    Ok(Json(SharedBody { title: view.title, turns, earlier }))
}

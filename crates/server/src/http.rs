//! The router: one line a route file, every route with its policy, and what all of them share.

mod description;
mod desk;
mod error;
mod extract;
mod gate;
mod listen;
mod pages;
mod reference;
mod route;
mod sse;
mod unread;
mod visitor;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::response::IntoResponse;

use crate::messaging::Messaging;
use crate::metrics::Figures;
use crate::models::Offered;
use crate::openid::OpenId;
use crate::passkeys::Passkeys;
use crate::settings::Settings;
use crate::tasks::Tasks;
use crate::throttle::Throttle;
use crate::vault::Vault;
use error::{ErrorCode, Problem};
use gate::Gate;

pub(crate) use desk::Desks;
pub(crate) use gate::Front;
pub(crate) use listen::{Peer, serve};

/// Bytes of a JSON body: the longest message and room for its attachments' names.
const BODY_BYTES_MAX: usize = session::limits::MESSAGE_BYTES_MAX * 2 + 64 * 1024;

/// What routes may use.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) desks: Desks,
    pub(crate) front: Front,
    pub(crate) throttle: Arc<Throttle>,
    pub(crate) passkeys: Arc<Passkeys>,
    pub(crate) openid: Arc<OpenId>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) offered: Arc<Offered>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tasks: Tasks,
    pub(crate) messaging: Messaging,
    pub(crate) figures: Figures,
    /// Whether sessions are kept on PostgreSQL.
    pub(crate) on_postgres: bool,
    pub(crate) ready: Arc<AtomicBool>,
}

impl App {
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

/// All routes, and their description.
pub(crate) fn router(app: App) -> (axum::Router, utoipa::openapi::OpenApi) {
    let gate = Gate::new(app.desks.clone(), description::start());
    let gate = route::sessions::add(gate);
    let gate = route::search::add(gate);
    let gate = route::log::add(gate);
    let gate = route::projects::add(gate);
    let gate = route::export::add(gate);
    let gate = route::messages::add(gate);
    let gate = route::drafts::add(gate);
    let gate = route::turns::add(gate);
    let gate = route::events::add(gate);
    let gate = route::live::add(gate);
    let gate = route::attachments::add(gate);
    let gate = route::uploads::add(gate);
    let gate = route::models::add(gate);
    let gate = route::settings::add(gate);
    let gate = route::preferences::add(gate);
    let gate = route::tasks::add(gate);
    let gate = route::login::add(gate);
    let gate = route::passkeys::add(gate);
    let gate = route::users::add(gate);
    let gate = route::tokens::add(gate);
    let gate = route::audit::add(gate);
    let gate = route::secrets::add(gate);
    let gate = route::providers::add(gate);
    let gate = route::shares::add(gate);
    let gate = route::gateway::add(gate);
    let gate = route::chats::add(gate);
    let gate = route::ids::add(gate);
    let gate = route::health::add(gate);
    let gate = route::metrics::add(gate);
    let gate = route::server::add(gate);
    let gate = reference::add(gate);
    let (routes, mut openapi) = gate.open();
    description::finish(&mut openapi);
    reference::describe(&openapi);
    let router = routes
        .fallback(pages::serve)
        .method_not_allowed_fallback(|| async {
            Problem::new(
                ErrorCode::MethodNotAllowed,
                "This endpoint doesn't support the method. See /api/v1/reference.",
            )
            .into_response()
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(app.front.clone(), gate::guard))
        .layer(middleware::from_fn(unread::read_the_rest))
        .with_state(app);
    (router, openapi)
}

//! The one gate. A route is added with its policy or not at all; there is no other way into the router.

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::App;
use super::error::{ErrorCode, Problem};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Anyone who reaches the port. Shows nothing of any session.
    Anyone,
    /// Whoever has a token.
    Token,
}

/// Routes behind their policies.
pub(crate) struct Gate {
    app: App,
    router: OpenApiRouter<App>,
}

impl Gate {
    pub(crate) fn new(app: App, openapi: utoipa::openapi::OpenApi) -> Self {
        Self { app, router: OpenApiRouter::with_openapi(openapi) }
    }

    /// Adds routes under a policy.
    pub(crate) fn route(mut self, policy: Policy, routes: UtoipaMethodRouter<App>) -> Self {
        let (schemas, paths, methods) = routes;
        let methods = match policy {
            Policy::Anyone => methods,
            Policy::Token => methods.layer(middleware::from_fn_with_state(self.app.clone(), need_token)),
        };
        self.router = self.router.routes((schemas, paths, methods));
        self
    }

    pub(crate) fn open(self) -> (axum::Router<App>, utoipa::openapi::OpenApi) {
        self.router.split_for_parts()
    }
}

async fn need_token(State(app): State<App>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match token {
        Some((_, token)) if app.tokens.allow(token.trim()) => next.run(request).await,
        _ => Problem::new(
            ErrorCode::NotAuthorised,
            "Send `Authorization: Bearer <token>`. `everturn token new` makes one.",
        )
        .into_response(),
    }
}

/// Refuses requests that a page of another site makes a browser send here: they name another host.
pub(crate) async fn check_host(request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let named = request.headers().get(header::HOST).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let local = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    };
    if authority.iter().chain(&named).all(|host| local(host)) && (authority.is_some() || named.is_some()) {
        return next.run(request).await;
    }
    Problem::new(ErrorCode::ForeignHost, "Use localhost or 127.0.0.1.").into_response()
}

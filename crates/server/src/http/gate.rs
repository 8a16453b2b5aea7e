//! The one gate. A route is added with its policy or not at all; there is no other way into the router.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use store::people::{Kind, Role, Scope};
use tracing::Instrument;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use uuid::Uuid;

use super::desk::Caller;
use super::error::{ErrorCode, Problem};
use super::{App, Desks, Peer, pages};
use crate::metrics;
use crate::secret::SecretKind;

/// What may be sent before it is known who asks.
const STRANGER_BODY_MAX: usize = 16 * 1024;

/// The cookie of a login. Its prefix makes browsers keep it to this host, to all paths, and to safe connections.
pub(crate) const COOKIE: &str = "__Host-everturn";
/// A header that a browser must send with every change, because a page of another site cannot. Its value may be the
/// page's user. The server then rejects the change if another user has signed in since.
const CHANGE_HEADER: &str = "x-everturn";

/// What a browser says of a page that has no origin.
const NO_ORIGIN: &str = "null";

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Anyone who reaches the port. Shows nothing of any session.
    Anyone,
    /// Whoever may read.
    Read,
    /// Whoever may change something.
    Write,
    /// Owners who may read: what concerns the server as a whole.
    Watch,
    /// Whoever manages people and access.
    Manage,
}

impl Policy {
    fn scope(self) -> Option<Scope> {
        match self {
            Self::Anyone => None,
            Self::Read | Self::Watch => Some(Scope::Read),
            Self::Write => Some(Scope::Write),
            Self::Manage => Some(Scope::Manage),
        }
    }
}

/// Routes behind their policies.
pub(crate) struct Gate {
    desks: Desks,
    router: OpenApiRouter<App>,
}

impl Gate {
    pub(crate) fn new(desks: Desks, openapi: utoipa::openapi::OpenApi) -> Self {
        Self { desks, router: OpenApiRouter::with_openapi(openapi) }
    }

    /// Adds routes under a policy.
    pub(crate) fn route(mut self, policy: Policy, routes: UtoipaMethodRouter<App>) -> Self {
        let (schemas, paths, methods) = routes;
        let methods = match policy.scope() {
            None => methods.layer(DefaultBodyLimit::max(STRANGER_BODY_MAX)),
            Some(scope) => {
                let asked = Asked { scope, owner: policy == Policy::Watch };
                methods.layer(middleware::from_fn_with_state((self.desks.clone(), asked), admit))
            }
        };
        self.router = self.router.routes((schemas, paths, methods));
        self
    }

    pub(crate) fn open(self) -> (axum::Router<App>, utoipa::openapi::OpenApi) {
        self.router.split_for_parts()
    }
}

/// What a policy asks of a caller.
#[derive(Debug, Clone, Copy)]
struct Asked {
    scope: Scope,
    /// Whether only owners pass.
    owner: bool,
}

async fn admit(State((desks, asked)): State<(Desks, Asked)>, mut request: Request, next: Next) -> Response {
    match caller(&desks, asked, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Who asks, if he may. The same look whatever carried the secret.
fn caller(desks: &Desks, asked: Asked, request: &Request) -> Result<Caller, Problem> {
    let nobody = || {
        Problem::new(
            ErrorCode::NotAuthorised,
            "Sign in, or send `Authorization: Bearer <token>`. Create a token with `everturn token new`.",
        )
    };
    let (secret, kind) = carried(request.headers()).ok_or_else(nobody)?;
    let caller = desks.admit(secret, kind)?.ok_or_else(nobody)?;
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if kind == Kind::Login && changes && !request.headers().contains_key(CHANGE_HEADER) {
        return Err(Problem::new(
            ErrorCode::ForeignOrigin,
            format!(
                "Requests that change something with a login cookie need the header `{CHANGE_HEADER}: 1`. \
                 Nothing was changed."
            ),
        ));
    }
    let page =
        request.headers().get(CHANGE_HEADER).and_then(|user| Uuid::parse_str(user.to_str().ok()?).ok());
    if kind == Kind::Login && changes && page.is_some_and(|user| user != caller.credential.user.0) {
        let detail = "Another user signed in to this browser. Nothing was changed. Reload the page.";
        return Err(Problem::new(ErrorCode::AnotherUser, detail));
    }
    let scope = asked.scope;
    if caller.scope < scope {
        let detail = format!(
            "This request needs the scope `{}`; your credential has `{}`.",
            scope.as_str(),
            caller.scope.as_str()
        );
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    if asked.owner && caller.role != Role::Owner {
        return Err(Problem::new(ErrorCode::Forbidden, "Only owners can do this."));
    }
    Ok(caller)
}

/// The secret that a request carries, and what kind it must be.
fn carried(headers: &HeaderMap) -> Option<(&str, Kind)> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
        let secret = secret.trim();
        return (scheme.eq_ignore_ascii_case("bearer") && SecretKind::Token.fits(secret))
            .then_some((secret, Kind::Token));
    }
    login_cookie(headers).map(|secret| (secret, Kind::Login))
}

/// The cookie of a login, if it can be one.
pub(crate) fn login_cookie(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, COOKIE).filter(|secret| SecretKind::Login.fits(secret))
}

/// What a cookie holds.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// By which names the server goes, and whom it believes about callers behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Front {
    /// Names beside those of this machine.
    pub(crate) hosts: Arc<Vec<String>>,
    /// The proxy that stands before this server.
    pub(crate) proxy: Option<IpAddr>,
    /// Whether it speaks TLS itself.
    pub(crate) tls: bool,
}

impl Front {
    fn knows(&self, authority: &str) -> bool {
        let name = authority.rsplit_once(':').map_or(authority, |(name, port)| {
            if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { authority }
        });
        let name = name.to_ascii_lowercase();
        matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]") || self.hosts.contains(&name)
    }

    /// How a caller who is connected from there reaches the server: what comes by the proxy came to it by TLS.
    pub(crate) fn scheme(&self, peer: Option<SocketAddr>) -> &'static str {
        let proxied = self.proxy.is_some() && peer.map(|peer| peer.ip()) == self.proxy;
        if self.tls || proxied { "https" } else { "http" }
    }

    /// Where a request comes from: its connection, or what the proxy that we trust says.
    pub(crate) fn address(&self, peer: Option<SocketAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer?.ip();
        if Some(peer) != self.proxy {
            return Some(peer);
        }
        let told =
            headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok()).next_back();
        told.and_then(|told| told.rsplit(',').next()?.trim().parse().ok()).or(Some(peer))
    }
}

/// Refuses requests that a page of another site makes a browser send here: they name another host, or come from one. A
/// page of ours that was given no origin fetches its scripts like that too, and nothing else.
fn check_host(front: &Front, request: &Request) -> Result<(), Problem> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    if front.proxy.is_some_and(|proxy| peer.is_some_and(|peer| peer != proxy && !peer.is_loopback())) {
        return Err(Problem::new(
            ErrorCode::ForeignHost,
            "This server accepts requests only through its proxy. Use the proxy's address.",
        ));
    }
    let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let mut named = request.headers().get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or(""));
    let hosts = [authority, named.next(), named.next()];
    let hosts = || hosts.iter().flatten();
    if hosts().next().is_none() || !hosts().all(|host| front.knows(host)) {
        let detail = "Use localhost or 127.0.0.1, or add the host to `hosts` in the configuration.";
        return Err(Problem::new(ErrorCode::ForeignHost, detail));
    }
    let asset = pages::is_asset(request);
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or("");
        if origin == NO_ORIGIN {
            return asset;
        }
        let place = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        place.is_some_and(|place| hosts().any(|host| host.eq_ignore_ascii_case(place)))
    };
    if !request.headers().get_all(header::ORIGIN).iter().all(own) {
        return Err(Problem::new(
            ErrorCode::ForeignOrigin,
            "This server accepts browser requests only from its own pages.",
        ));
    }
    Ok(())
}

/// What every answer carries, also an error.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

/// Around every route and page: looks by which name it is asked, puts the headers on that every answer carries, and
/// turns a panic into an answer: one request never ends the others.
pub(crate) async fn guard(State(front): State<Front>, request: Request, next: Next) -> Response {
    let begun = tokio::time::Instant::now();
    // Named by its route: what stands in a path may be a secret.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span =
        tracing::info_span!("request", method = %request.method(), route, status = tracing::field::Empty);
    let answer = async {
        match check_host(&front, &request) {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    };
    let answered = AssertUnwindSafe(answer).catch_unwind().instrument(span.clone()).await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::error!("request handler panicked");
        let detail = "The server hit a bug. Everything confirmed before this request is saved. Try again, or \
                      check the server's log.";
        Problem::new(ErrorCode::Internal, detail).into_response()
    });
    span.record("status", response.status().as_u16());
    metrics::count_answer(response.status().as_u16(), begun.elapsed());
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // Callers come by TLS, here or at the proxy.
    if front.tls || front.proxy.is_some() {
        let value = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use hub::Create;
    use session::UserId;
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    use super::super::{route, serve};
    use super::*;
    use crate::app::Server;
    use crate::config::{Config, environment};

    /// Requests of a block, and blocks of each kind, in turn.
    const REQUESTS: usize = 200;
    const BLOCKS: usize = 3;

    /// Asks for a page again and again over one connection.
    fn block(socket: &mut BufReader<TcpStream>, token: &str) -> Duration {
        let begun = tokio::time::Instant::now();
        for _ in 0..REQUESTS {
            let asked = format!(
                "GET /api/v1/sessions?count=50 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
            );
            socket.get_mut().write_all(asked.as_bytes()).unwrap();
            let mut length = 0;
            for at in 0.. {
                let mut line = String::new();
                socket.read_line(&mut line).unwrap();
                assert!(at > 0 || line.contains(" 200 "), "{line}");
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            assert!(length > 50 * 100, "a page of fifty sessions");
            let mut body = vec![0; length];
            socket.read_exact(&mut body).unwrap();
        }
        begun.elapsed()
    }

    async fn served(router: axum::Router) -> BufReader<TcpStream> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let place = listener.local_addr().unwrap();
        crate::spawn::spawn(serve(listener, None, router, CancellationToken::new()));
        let socket = TcpStream::connect(place).unwrap();
        socket.set_nodelay(true).unwrap();
        BufReader::new(socket)
    }

    /// `just bench-gate` runs this in a released build, for longer.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_gate_costs_a_page_of_the_list_little() {
        drop(rustls::crypto::ring::default_provider().install_default());
        let directory = tempfile::tempdir().unwrap();
        let (server, app, token) = Server::for_test(Config {
            data: directory.path().join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..Config::default()
        })
        .await;
        for number in 0..50 {
            let title = Some(format!("Session {number} about a few things"));
            let create = Create { session: None, title, after: None, user: UserId::FIRST };
            server.hub().create(create).await.unwrap();
        }
        let caller = app.desks.admit(&token, Kind::Token).unwrap().unwrap();
        let list = axum::routing::get(route::sessions::list);
        let bare = axum::Router::new().route("/api/v1/sessions", list);
        let mut bare = served(bare.layer(axum::Extension(caller)).with_state(app)).await;
        let mut gated = served(server.router()).await;
        let blocks = environment("GATE_BLOCKS").and_then(|count| count.parse().ok()).unwrap_or(BLOCKS);
        let measured = tokio::task::spawn_blocking(move || {
            let (mut with, mut without) = (Duration::MAX, Duration::MAX);
            block(&mut gated, &token);
            for _ in 0..blocks {
                with = with.min(block(&mut gated, &token));
                without = without.min(block(&mut bare, &token));
            }
            (with, without)
        });
        let (with, without) = measured.await.unwrap();
        let rate = |took: Duration| REQUESTS as f64 / took.as_secs_f64();
        let cost = 1.0 - rate(with) / rate(without);
        let (reached, goal) =
            if blocks > BLOCKS { (cost <= 0.10, "<=0.10") } else { (cost <= 0.20, "<=0.20") };
        let verdict = if reached { "ok" } else { "short" };
        println!("# pages a second: {:.0} with the gate, {:.0} without", rate(with), rate(without));
        println!("gate.cost {cost:.3} {goal} {verdict}");
        println!("bench-gate {verdict}");
        // A build for tests has other prices.
        assert!(reached || cfg!(debug_assertions), "the gate costs {cost:.3} of a page");
    }
}

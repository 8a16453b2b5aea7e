//! The web pages, built into the binary: one page, which shows the list and each session, what it is made of, and a
//! second one for the frame that draws diagrams.

use std::sync::OnceLock;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{Embed, EmbeddedFile};

use super::error::{ErrorCode, Problem};

/// What `vite build` left. Empty when the binary was built without it.
#[derive(Embed)]
#[folder = "../../web/dist"]
struct Files;

const PAGE: &str = "index.html";
/// What a page may do: run our scripts and no others, speak to this server and nobody else, and be framed by nobody. The
/// scripts that it starts by their addresses are the thread that reads code and the worker that keeps the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; \
    connect-src 'self'; font-src 'self'; img-src 'self' data: blob:; manifest-src 'self'; frame-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; \
    trusted-types colours worker";
/// The page in a frame that draws diagrams.
const DIAGRAM: &str = "diagram.html";
/// What draws them writes HTML and inline styles. So its page has no origin, also when it is opened alone: it runs our
/// scripts, and reaches neither this server nor the page around it.
const DIAGRAM_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src data:; form-action 'none'; frame-ancestors 'self'; base-uri 'none'; sandbox allow-scripts";
/// Places inside the page: what an address begins with.
const PLACES: [&str; 10] =
    ["", "s", "new", "live", "needs-you", "archive", "trash", "settings", "server", "shared"];
/// Names of these hold a digest of what is in them.
const ASSETS: &str = "assets/";

/// Holds the name that the pages have for their build.
const BUILD: &str = "build.txt";

/// The build that serves, as its pages know it; the version where there are none.
pub(crate) fn build() -> &'static str {
    static KNOWN: OnceLock<String> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let named = Files::get(BUILD).and_then(|file| String::from_utf8(file.data.into_owned()).ok());
        named.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
    })
}

/// Whether a request only reads what pages are made of: the same for everybody, and no secret.
pub(crate) fn is_asset(request: &Request) -> bool {
    let name = request.uri().path().trim_start_matches('/');
    *request.method() == Method::GET && name.starts_with(ASSETS)
}

/// Answers what no route did.
pub(crate) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") || !matches!(method, Method::GET | Method::HEAD) {
        return Problem::new(ErrorCode::NoSuchRoute, "Check the URL. /api/v1/reference lists all endpoints.")
            .into_response();
    }
    let inside = path.split('/').next().is_some_and(|place| PLACES.contains(&place));
    let name = if inside { PAGE } else { path };
    let Some(file) = Files::get(name) else {
        let no_pages = "This build doesn't include the web UI. Build one that does with `just release`.";
        let detail = if inside { no_pages } else { "Check the URL. /api/v1/reference lists all endpoints." };
        return Problem::new(ErrorCode::NoSuchRoute, detail).into_response();
    };
    answer(name, &file, &headers)
}

fn answer(name: &str, file: &EmbeddedFile, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", session::hex(&file.metadata.sha256_hash()));
    let kept = if name.starts_with(ASSETS) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    let policy = if name == DIAGRAM { DIAGRAM_POLICY } else { POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if name.starts_with(ASSETS) {
        // A page without an origin may not fetch modules otherwise. They are the same for everybody.
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    let packed = accepted.contains("br").then(|| Files::get(&format!("{name}.br"))).flatten();
    if packed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    let data = packed.as_ref().unwrap_or(file).data.clone();
    (headers, axum::body::Bytes::from(data.into_owned())).into_response()
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_is_installed_from_has_its_type() {
        assert_eq!(media_type("manifest.webmanifest"), "application/manifest+json");
        assert_eq!(media_type("icon-192.png"), "image/png");
        assert_eq!(media_type("worker.js"), "text/javascript; charset=utf-8");
        assert_eq!(media_type("build"), "application/octet-stream");
    }
}

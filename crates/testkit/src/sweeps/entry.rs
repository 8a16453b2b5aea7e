//! Who is let in, from where, and what every answer carries.

use anyhow::Context;

use super::Stage;
use super::surface::{Answer, UNKNOWN, ask, request, send};
use crate::Report;

/// Operations that show nothing of any session, or are opened by what is sent to them.
const OPEN: [&str; 12] = [
    "/api/v1/health",
    "/api/v1/login",
    "/api/v1/login/openid/{name}",
    "/api/v1/login/openid/{name}/return",
    "/api/v1/login/passkey/begin",
    "/api/v1/login/passkey/finish",
    "/api/v1/login/ways",
    "/api/v1/openapi.json",
    "/api/v1/ready",
    "/api/v1/reference",
    "/api/v1/shared/{secret}",
    // Its callers sign what they bring.
    "/api/v1/hooks/{platform}",
];

/// T1: every operation without a credential, or with a wrong one.
///
/// # Errors
/// When the server does not answer.
pub(super) fn unauthenticated(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let token = &stage.owner.token;
    let revoked = stage.token("owner", "manage")?;
    let tokens = revoked.must("GET", "/tokens", &serde_json::json!({}))?;
    let this = tokens["tokens"].as_array().context("tokens")?.iter().find(|token| token["this"] == true);
    let id = this.and_then(|token| token["id"].as_str()).context("its own id")?;
    stage.owner.must("DELETE", &format!("/tokens/{id}"), &serde_json::json!({}))?;
    let expired = stage.owner.must("POST", "/tokens", &serde_json::json!({ "name": "x", "days": 0 }))?;
    let expired = expired["token"].as_str().context("a token")?;
    let wrong = [
        String::new(),
        "authorization: Bearer\r\n".to_owned(),
        "authorization: Bearer evt_00\r\n".to_owned(),
        format!("authorization: Bearer {}\r\n", token.replace("evt_", "evt_0")),
        format!("authorization: Bearer {}\r\n", revoked.token),
        format!("authorization: Bearer {expired}\r\n"),
        format!("authorization: Basic {token}\r\n"),
        format!("x-api-key: {token}\r\n"),
        format!("cookie: __Host-everturn={token}\r\n"),
        format!("cookie: everturn={token}\r\n"),
        "authorization: Bearer null\r\n".to_owned(),
    ];
    let (mut asked, mut let_in, mut guarded) = (0, Vec::new(), 0);
    for operation in &stage.operations {
        let open = OPEN.contains(&operation.path.as_str());
        guarded += usize::from(operation.guarded);
        if open == operation.guarded {
            let_in.push(format!("{} {} is described otherwise", operation.method, operation.path));
        }
        if open {
            continue;
        }
        let body = operation.body().to_string();
        let in_query = format!("{}?token={token}", operation.filled(&stage.session));
        let paths = [operation.filled(&stage.session), operation.filled(UNKNOWN), in_query];
        for (path, header) in paths.iter().flat_map(|path| wrong.iter().map(move |header| (path, header))) {
            let headers = format!("host: localhost\r\n{header}");
            let answer = send(stage.owner.port, &request(&operation.method, path, &headers, &body))?;
            asked += 1;
            if answer.status != 401 || !answer.body.contains("not_authorised") {
                let_in.push(format!("{} {path} with {header:?}: {}", operation.method, answer.status));
            }
        }
    }
    let_in.iter().take(10).for_each(|line| report.note(line));
    report.line("t1.requests", asked, ">=1000", asked >= 1_000);
    report.line("t1.operations_guarded", guarded, ">=35", guarded >= 35);
    report.line("t1.let_in", let_in.len(), 0, let_in.is_empty());
    Ok(())
}

/// Names that are not this machine's, however much they look like one.
const HOSTS: [&str; 21] = [
    "evil.example",
    "127.evil.com",
    "localhost.evil.com",
    "evil-localhost",
    "localhost@evil.com",
    "evil.com#localhost",
    "localhost:80@evil.com",
    "127.0.0.1.nip.io",
    "0.0.0.0",
    "[::]",
    "[::ffff:127.0.0.1]",
    "127.1",
    "2130706433",
    "0x7f000001",
    "LOCALHOST.",
    "localhost:80:80",
    "localhost:",
    "localhost:x",
    "",
    " ",
    "169.254.169.254",
];

/// Pages that are not this server's.
const ORIGINS: [&str; 16] = [
    "null",
    "",
    "http://evil.example",
    "https://localhost.evil.com",
    "http://127.evil.com",
    "http://localhost.",
    "http://localhost@evil.com",
    "file://",
    "http://localhost:1",
    "ftp://localhost",
    "chrome-extension://abc",
    "//localhost",
    "localhost",
    "http://127.0.0.1:1",
    "http://localhost/",
    "http://localhost evil.com",
];

/// T5: requests that a page of another site makes a browser send.
///
/// # Errors
/// When the server does not answer.
pub(super) fn other_sites(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let port = stage.owner.port;
    let token = &stage.owner.token;
    let (mut asked, mut answered) = (0, Vec::new());
    let mut try_it = |headers: &str| -> anyhow::Result<()> {
        for (method, path) in
            [("GET", "/api/v1/sessions"), ("POST", "/api/v1/sessions"), ("GET", "/api/v1/health")]
        {
            let headers = format!("{headers}authorization: Bearer {token}\r\n");
            let answer = send(port, &request(method, path, &headers, "{}"))?;
            asked += 1;
            if !matches!(answer.status, 400 | 403 | 421) {
                answered.push(format!("{method} {path} with {headers:?}: {}", answer.status));
            }
        }
        Ok(())
    };
    for host in HOSTS {
        try_it(&format!("host: {host}\r\n"))?;
    }
    for origin in ORIGINS {
        try_it(&format!("host: localhost\r\norigin: {origin}\r\n"))?;
    }
    try_it("")?;
    try_it("host: localhost\r\nhost: evil.example\r\n")?;
    try_it("host: localhost\r\norigin: http://localhost\r\norigin: http://evil.example\r\n")?;
    // What a form of another page can send without asking: none of these may change anything.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let body = "{}";
        let plain = format!(
            "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: {kind}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let answer = send(port, plain.as_bytes())?;
        asked += 1;
        if answer.status < 400 {
            answered.push(format!("a {kind} was taken: {}", answer.status));
        }
    }
    answered.iter().take(10).for_each(|line| report.note(line));
    report.line("t5.requests", asked, ">=40", asked >= 40);
    report.line("t5.answered", answered.len(), 0, answered.is_empty());
    let own = [
        format!("host: 127.0.0.1:{port}\r\n"),
        format!("host: localhost:{port}\r\norigin: http://localhost:{port}\r\n"),
    ];
    let mut fine = 0;
    for headers in own {
        let headers = format!("{headers}authorization: Bearer {token}\r\n");
        fine += usize::from(send(port, &request("GET", "/api/v1/sessions", &headers, ""))?.status == 200);
    }
    report.line("t5.own_pages_answered", fine, 2, fine == 2);
    Ok(())
}

/// T16: what every answer carries, whatever its status.
///
/// # Errors
/// When the server does not answer.
pub(super) fn dressed(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let wanted = [
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "cache-control:",
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
    ];
    let (mut looked, mut bare) = (0, Vec::new());
    let mut look = |what: &str, answer: &Answer| {
        looked += 1;
        let missing = wanted.iter().filter(|header| !answer.head.contains(**header));
        bare.extend(missing.map(|header| format!("{what} ({}) has no {header}", answer.status)));
        if answer.head.contains("access-control-allow") || answer.head.contains("\nserver:") {
            bare.push(format!("{what} tells others too much"));
        }
    };
    for operation in &stage.operations {
        // These end what the other sweeps need.
        if operation.path.ends_with("/logout") {
            continue;
        }
        let what = format!("{} {}", operation.method, operation.path);
        let (method, unknown) = (&operation.method, operation.filled(UNKNOWN));
        look(&what, &ask(&stage.member, method, &unknown, &operation.body().to_string())?);
        look(&what, &ask(&stage.member, method, &unknown, "{")?);
        let nobody = request(method, &unknown, "host: localhost\r\n", "");
        look(&what, &send(stage.owner.port, &nobody)?);
        look(&what, &send(stage.owner.port, &request(method, &unknown, "host: evil\r\n", ""))?);
        look(&what, &ask(&stage.member, "TRACE", &unknown, "")?);
    }
    look("nothing", &ask(&stage.member, "GET", "/nowhere", "")?);
    bare.iter().take(10).for_each(|line| report.note(line));
    report.line("t16.answers", looked, ">=200", looked >= 200);
    report.line("t16.bare", bare.len(), 0, bare.is_empty());
    Ok(())
}

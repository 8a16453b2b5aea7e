//! Requests that are small to send and large to take.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Stage;
use super::surface::{request, send};
use crate::Report;

/// Memory that the server may take more than before.
const MORE_MIB_MAX: u64 = 200;
/// Bytes that an endless body is sent of, at most.
const ENDLESS: usize = 1 << 30;

fn memory_mib(process: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(u64::MAX);
    Ok(kib / 1_024)
}

/// Sends a body that does not end, until the server has enough of it. Answers how much it took.
fn endless(port: u16, head: &str) -> anyhow::Result<usize> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_write_timeout(Some(Duration::from_secs(10)))?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.write_all(head.as_bytes())?;
    let mut chunk = b"10000\r\n".to_vec();
    chunk.extend(vec![b'x'; 0x1_0000]);
    chunk.extend(b"\r\n");
    let mut sent = 0;
    while sent < ENDLESS && socket.write_all(&chunk).is_ok() {
        sent += chunk.len();
    }
    let mut rest = Vec::new();
    drop(socket.read_to_end(&mut rest));
    Ok(sent)
}

/// Heads without end.
fn heads() -> [String; 5] {
    [
        format!("GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x-y: z\r\n".repeat(100_000)),
        format!("GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(8 << 20)),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "y".repeat(8 << 20)),
        format!(
            "GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\ncookie: {}\r\n\r\n",
            "a=b;".repeat(1 << 20)
        ),
        format!("POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", u64::MAX),
    ]
}

/// T9: bodies without end, deep and wide JSON, compressed nothing, heads without end: refused, in little memory.
///
/// # Errors
/// When the server does not answer.
pub(super) fn defused(report: &mut Report, stage: &mut Stage) -> anyhow::Result<()> {
    let port = stage.owner.port;
    let token = stage.owner.token.clone();
    let before = memory_mib(stage.process())?;
    let auth = format!("host: localhost\r\nauthorization: Bearer {token}\r\n");
    let chunked = "transfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n";
    let mut taken = 0;
    let paths = ["/api/v1/sessions", "/api/v1/attachments", "/api/v1/login", "/api/v1/tokens", "/nowhere"];
    for path in paths {
        for auth in [auth.as_str(), "host: localhost\r\n"] {
            taken = taken.max(endless(port, &format!("POST {path} HTTP/1.1\r\n{auth}{chunked}"))?);
        }
    }
    let taken_mib = taken >> 20;
    report.line("t9.most_taken_mib", taken_mib, "<=64", taken_mib <= 64);
    let (mut bombs, mut let_in) = (paths.len() * 2, Vec::new());
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    let wide = format!("{{{}\"x\":1}}", "\"a\":1,".repeat(100_000));
    let bodies = [
        ("deep lists", deep("[", "]")),
        ("deep objects", deep("{\"a\":", "}")),
        ("only beginnings", "[".repeat(500_000)),
        ("a wide object", wide),
        ("a long number", format!("{{\"title\":{}}}", "9".repeat(1_000_000))),
        ("many escapes", format!("{{\"title\":\"{}\"}}", "\\u0000".repeat(100_000))),
    ];
    for (what, body) in &bodies {
        let answer = send(port, &request("POST", "/api/v1/sessions", &auth, body))?;
        bombs += 1;
        if !(400..500).contains(&answer.status) {
            let_in.push(format!("{what}: {}", answer.status));
        }
    }
    for coding in ["gzip", "br", "deflate", "zstd"] {
        let answer = send(
            port,
            &request(
                "POST",
                "/api/v1/sessions",
                &format!("{auth}content-encoding: {coding}\r\n"),
                "\u{1f}\u{8b}",
            ),
        )?;
        bombs += 1;
        if !(400..500).contains(&answer.status) {
            let_in.push(format!("{coding}: {}", answer.status));
        }
    }
    for head in heads() {
        bombs += 1;
        // A refusal, or no answer at all.
        if send(port, head.as_bytes()).is_ok_and(|answer| !(400..500).contains(&answer.status)) {
            let_in.push(head.chars().take(60).collect());
        }
    }
    let_in.iter().take(10).for_each(|line| report.note(line));
    report.line("t9.bombs", bombs, ">=25", bombs >= 25);
    report.line("t9.let_in", let_in.len(), 0, let_in.is_empty());
    let more = memory_mib(stage.process())?.saturating_sub(before);
    report.line("t9.memory_mib", more, format!("<={MORE_MIB_MAX}"), more <= MORE_MIB_MAX);
    let alive = stage.is_alive() && stage.owner.create().is_ok();
    report.line("t9.alive", alive, true, alive);
    Ok(())
}

//! One connection of a bot: requests in, answers out, and whatever goes wrong between.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Shared;
use super::faults::Fault;
use super::methods::{Asked, Done, Refusal, perform};

/// Bytes of a request: a file of 50 MB and a little more.
const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
struct Request {
    path: String,
    content_type: String,
    body: Bytes,
}

/// What goes back.
enum Reply {
    Json(u16, Value),
    Raw(u16, Bytes),
    /// The first half of an answer, and then nothing.
    Half(Value),
    Nothing,
}

/// Answers the requests of a connection until it ends.
pub(super) async fn serve(mut socket: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut read = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut read).await? {
        let (status, body) = match answer(&mut socket, &shared, request).await {
            Reply::Json(status, value) => (status, Bytes::from(value.to_string())),
            Reply::Raw(status, bytes) => (status, bytes),
            Reply::Half(value) => {
                let body = value.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                socket.write_all(head.as_bytes()).await?;
                socket.write_all(&body.as_bytes()[..body.len() / 2]).await?;
                return socket.shutdown().await;
            }
            Reply::Nothing => return Ok(()),
        };
        let head = format!(
            "HTTP/1.1 {status} Answered\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut whole = head.into_bytes();
        whole.extend_from_slice(&body);
        socket.write_all(&whole).await?;
    }
    Ok(())
}

async fn answer(socket: &mut TcpStream, shared: &Arc<Shared>, request: Request) -> Reply {
    let refuse = |refusal: &Refusal| Reply::Json(refusal.code, refusal.json());
    let token = shared.state().token.clone();
    if let Some(path) = request.path.strip_prefix("/file/bot") {
        return match path
            .strip_prefix(&token)
            .and_then(|path| shared.downloaded(path.trim_start_matches('/')))
        {
            Some(bytes) => Reply::Raw(200, bytes),
            None => Reply::Raw(404, Bytes::from_static(b"Not Found")),
        };
    }
    let Some((given, method)) = request.path.strip_prefix("/bot").and_then(|path| path.split_once('/'))
    else {
        return refuse(&Refusal::new(404, "Not Found"));
    };
    if given != token {
        // As the real one: what is not even shaped like a token is not found.
        let shaped = given.split_once(':').is_some_and(|(id, _)| id.parse::<i64>().is_ok());
        let (code, why) = if shaped { (401, "Unauthorized") } else { (404, "Not Found") };
        return refuse(&Refusal::new(code, why));
    }
    let asked = asked(&request);
    let fault = {
        let mut state = shared.state();
        *state.calls.entry(method.to_owned()).or_default() += 1;
        state.faults.next(method)
    };
    match fault {
        Some(Fault::CutBefore) => return Reply::Nothing,
        Some(Fault::BrokenBefore(status)) => return broken(status),
        Some(Fault::Flood(seconds)) => {
            shared.state().refused_count += 1;
            return refuse(&Refusal::flood(seconds));
        }
        Some(Fault::Refused(code, why)) => return refuse(&Refusal::new(code, why)),
        _ => {}
    }
    let (done, result) = if method == "getUpdates" {
        (Done::Nothing, poll(socket, shared, &asked).await)
    } else {
        carry_out(shared, method, &asked)
    };
    let value = match result {
        Ok(value) => json!({ "ok": true, "result": value }),
        Err(refusal) => return refuse(&refusal),
    };
    spoil(socket, shared, fault, done, value).await
}

fn carry_out(shared: &Shared, method: &str, asked: &Asked) -> (Done, Result<Value, Refusal>) {
    let performed = perform(&mut shared.state(), method, asked, shared.begun.elapsed());
    shared.sent.notify_waiters();
    match performed {
        Ok((value, done)) => (done, Ok(value)),
        Err(refusal) => (Done::Nothing, Err(refusal)),
    }
}

/// Gives the answer to what was done, or does not.
async fn spoil(
    socket: &mut TcpStream,
    shared: &Shared,
    fault: Option<Fault>,
    done: Done,
    value: Value,
) -> Reply {
    let Some(fault) = fault else { return Reply::Json(200, value) };
    if fault.loses_the_answer() {
        shared.answer_is_lost(done);
    }
    match fault {
        Fault::CutInAnswer => Reply::Half(value),
        Fault::BrokenAfter(status) => broken(status),
        Fault::Garbled => Reply::Raw(200, Bytes::from_static(b"<html>It works!</html>")),
        Fault::Slow(wait) => {
            let left = tokio::select! {
                () = tokio::time::sleep(wait) => false,
                () = gone(socket) => true,
            };
            if left {
                shared.answer_is_lost(done);
                return Reply::Nothing;
            }
            Reply::Json(200, value)
        }
        Fault::CutAfter
        | Fault::CutBefore
        | Fault::BrokenBefore(_)
        | Fault::Flood(_)
        | Fault::Refused(..) => Reply::Nothing,
    }
}

fn broken(status: u16) -> Reply {
    // A gateway on the way writes HTML; the platform itself writes JSON.
    match status {
        502 => Reply::Raw(502, Bytes::from_static(b"<html><h1>502 Bad Gateway</h1></html>")),
        status => Reply::Json(
            status,
            json!({ "ok": false, "error_code": status, "description": "Internal Server Error" }),
        ),
    }
}

/// Waits for updates, as long as the bot asks. A newer poll ends an older one.
async fn poll(socket: &mut TcpStream, shared: &Arc<Shared>, asked: &Asked) -> Result<Value, Refusal> {
    let offset = asked.fields["offset"].as_i64();
    let limit = asked.fields["limit"].as_u64().filter(|limit| (1..=100).contains(limit)).unwrap_or(100);
    let timeout = Duration::from_secs(asked.fields["timeout"].as_u64().unwrap_or(0));
    let until = tokio::time::Instant::now() + timeout;
    let number = {
        let mut state = shared.state();
        state.newest_poll += 1;
        if let Some(offset) = offset {
            state.confirm(offset);
        }
        state.newest_poll
    };
    shared.changed.notify_waiters();
    loop {
        let changed = shared.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        {
            let mut state = shared.state();
            if state.newest_poll != number {
                state.faults.count("conflict");
                let why = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
                return Err(Refusal::new(409, why));
            }
            let batch = state.batch(usize::try_from(limit).unwrap_or(100));
            if !batch.is_empty() || tokio::time::Instant::now() >= until {
                return Ok(batch.into());
            }
        }
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(until) => {}
            () = gone(socket) => return Ok(json!([])),
        }
    }
}

/// Completes when the bot has closed the connection.
async fn gone(socket: &TcpStream) {
    let mut byte = [0];
    match socket.peek(&mut byte).await {
        Ok(0) | Err(_) => {}
        // It says something before it was answered, which no client does.
        Ok(_) => std::future::pending().await,
    }
}

async fn read_request(socket: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let head_end = loop {
        if let Some(at) = find(read, b"\r\n\r\n") {
            break at + 4;
        }
        if read.len() > REQUEST_BYTES_MAX || socket.read_buf(read).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while read.len() < head_end + length {
        if length > REQUEST_BYTES_MAX || socket.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
    let body = Bytes::copy_from_slice(&read[head_end..head_end + length]);
    read.drain(..head_end + length);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Ok(Some(Request { path, content_type: header("content-type").unwrap_or_default(), body }))
}

fn asked(request: &Request) -> Asked {
    match request.content_type.split_once("boundary=") {
        Some((_, boundary)) => form(&request.body, boundary.trim_matches('"')),
        None => Asked { fields: serde_json::from_slice(&request.body).unwrap_or_default(), file: None },
    }
}

/// Reads a form: its texts, and the one file of it.
fn form(body: &Bytes, boundary: &str) -> Asked {
    let mut asked = Asked { fields: json!({}), file: None };
    let mark = format!("--{boundary}").into_bytes();
    let mut at = find(body, &mark).map_or(body.len(), |at| at + mark.len());
    while let Some(length) = find(&body[at..], &mark) {
        // Each part stands between two ends of a line.
        let part = body.slice((at + 2).min(at + length)..(at + length).saturating_sub(2).max(at));
        at += length + mark.len();
        let Some(head_end) = find(&part, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..head_end]).into_owned();
        let content = part.slice(head_end + 4..);
        let quoted = |name: &str| {
            let after = head.split_once(&format!("{name}=\""))?.1;
            Some(after.split('"').next().unwrap_or_default().to_owned())
        };
        let Some(field) = quoted(" name") else { continue };
        match quoted("filename") {
            Some(name) => {
                let media_type = head.lines().find_map(|line| {
                    let (found, value) = line.split_once(':')?;
                    found.eq_ignore_ascii_case("content-type").then(|| value.trim().to_owned())
                });
                asked.file = Some((field, name, media_type.unwrap_or_default(), content));
            }
            None => asked.fields[field] = String::from_utf8_lossy(&content).into_owned().into(),
        }
    }
    asked
}

fn find(among: &[u8], what: &[u8]) -> Option<usize> {
    among.windows(what.len()).position(|window| window == what)
}

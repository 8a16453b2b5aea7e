//! A small blocking client of the public API, for campaigns: plain HTTP over one socket, and every byte of a stream as
//! it came.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

/// Longest wait for anything. Only a failing campaign waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The cookie with the secret of a login.
const COOKIE: &str = "__Host-everturn";

/// Where a server is, and who asks.
#[derive(Debug, Clone)]
pub struct Client {
    pub port: u16,
    pub token: String,
}

/// A reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

impl Client {
    /// Signs in with a name and a password. Returns the headers that a browser sends from then on, for [`Client::exchange`].
    ///
    /// # Errors
    /// Returns an error if the server refuses.
    pub fn sign_in(&self, login: &Value) -> anyhow::Result<String> {
        let mut reply = Vec::new();
        self.connect("POST", "/login", "", login.to_string().as_bytes())?.read_to_end(&mut reply)?;
        let reply = String::from_utf8_lossy(&reply);
        let cookie = reply.split_once(&format!("{COOKIE}=")).and_then(|(_, rest)| rest.split(';').next());
        let cookie =
            cookie.with_context(|| format!("no login: {}", reply.lines().next().unwrap_or_default()))?;
        Ok(format!("cookie: {COOKIE}={cookie}\r\nx-everturn: 1\r\n"))
    }

    fn connect(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> anyhow::Result<TcpStream> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        let token = &self.token;
        // A browser has a cookie and no token.
        let bearer = match headers.starts_with("cookie: ") {
            true => String::new(),
            false => format!("authorization: Bearer {token}\r\n"),
        };
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n{bearer}\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
        );
        socket.write_all(head.as_bytes())?;
        socket.write_all(body)?;
        Ok(socket)
    }

    /// Asks something.
    ///
    /// # Errors
    /// When no whole answer comes.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Reply> {
        let (status, body) = self.exchange(method, path, "", body)?;
        Ok(Reply { status, body: serde_json::from_slice(&body).unwrap_or_default() })
    }

    /// Asks something; answers the status and the bytes as they came.
    ///
    /// # Errors
    /// When no whole answer comes.
    pub fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &Value,
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        whole_reply(self.connect(method, path, headers, body.to_string().as_bytes())?)
    }

    /// Asks something that must be done.
    ///
    /// # Errors
    /// When it is not.
    pub fn must(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let reply = self.ask(method, path, body)?;
        if !(200..300).contains(&reply.status) {
            bail!("{method} {path}: {} {}", reply.status, reply.body);
        }
        Ok(reply.body)
    }

    /// Uploads a file and returns the attachment for a message.
    ///
    /// # Errors
    /// Returns an error if the upload fails.
    pub fn attach(&self, name: &str, media_type: &str, bytes: &[u8]) -> anyhow::Result<Value> {
        let (status, reply) = whole_reply(self.connect("POST", "/attachments", "", bytes)?)?;
        let kept: Value = serde_json::from_slice(&reply)?;
        anyhow::ensure!((200..300).contains(&status), "POST /attachments: {status} {kept}");
        let size_bytes = bytes.len();
        Ok(
            serde_json::json!({ "name": name, "media_type": media_type, "blob": kept["blob"], "size_bytes": size_bytes }),
        )
    }

    /// Makes a session.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(&self) -> anyhow::Result<String> {
        let made = self.must("POST", "/sessions", &serde_json::json!({ "title": "trial" }))?;
        Ok(made["session"].as_str().context("a session has an id")?.to_owned())
    }

    /// Posts a message.
    ///
    /// # Errors
    /// When it is not kept.
    pub fn post(&self, session: &str, text: &str) -> anyhow::Result<Value> {
        self.must("POST", &format!("/sessions/{session}/messages"), &serde_json::json!({ "text": text }))
    }

    /// Opens a stream of a session's events.
    ///
    /// # Errors
    /// When the server says no.
    pub fn follow(&self, session: &str, after: Option<u64>) -> anyhow::Result<Stream> {
        let cursor = after.map_or_else(String::new, |after| format!("last-event-id: {after}\r\n"));
        self.follow_from(session, &cursor)
    }

    /// Opens the stream after the event with this id.
    ///
    /// # Errors
    /// When the server says no.
    pub fn follow_after(&self, session: &str, id: &str) -> anyhow::Result<Stream> {
        self.follow_from(session, &format!("last-event-id: {id}\r\n"))
    }

    fn follow_from(&self, session: &str, cursor: &str) -> anyhow::Result<Stream> {
        let mut socket = self.connect("GET", &format!("/sessions/{session}/events"), cursor, b"")?;
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            socket.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let status = String::from_utf8_lossy(&head);
        if !status.starts_with("HTTP/1.1 200") {
            bail!("no stream: {}", status.lines().next().unwrap_or_default());
        }
        Ok(Stream { socket, waiting: Vec::new(), chunk: Vec::new() })
    }
}

/// A stream of events, byte by byte if need be.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    /// Bytes of the body that were not given yet.
    waiting: Vec<u8>,
    /// Bytes of the connection that are not a whole chunk yet.
    chunk: Vec<u8>,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    /// The number of the entry.
    pub id: Option<u64>,
    /// The whole id, as a reader names it to resume.
    pub cursor: Option<String>,
    pub data: String,
}

impl Event {
    /// What happened, when it is an entry: its kind and body.
    pub fn happened(&self) -> Option<(String, Value)> {
        let entry: Value = serde_json::from_str(&self.data).ok()?;
        let event = entry["event"].as_object()?.iter().next()?;
        Some((event.0.clone(), event.1.clone()))
    }
}

impl Stream {
    /// More bytes of the body; nothing at its end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn more(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            if let Some((bytes, rest)) = take_chunk(&self.chunk) {
                self.chunk = rest;
                return Ok((!bytes.is_empty()).then_some(bytes));
            }
            let mut piece = [0; 16 * 1024];
            match self.socket.read(&mut piece)? {
                0 => return Ok(None),
                count => self.chunk.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// The next event; nothing when the stream ended.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn event(&mut self) -> anyhow::Result<Option<Event>> {
        loop {
            if let Some(end) = find(&self.waiting, b"\n\n") {
                let event: Vec<u8> = self.waiting.drain(..end + 2).collect();
                return Ok(Some(parse(&String::from_utf8_lossy(&event))));
            }
            match self.more()? {
                Some(bytes) => self.waiting.extend(bytes),
                None => return Ok(None),
            }
        }
    }

    /// The next entry of a kind.
    ///
    /// # Errors
    /// When the stream ends before.
    pub fn until(&mut self, kind: &str) -> anyhow::Result<(u64, Value)> {
        loop {
            let event = self.event()?.with_context(|| format!("the stream ended before {kind}"))?;
            if let (Some(id), Some((happened, body))) = (event.id, event.happened())
                && happened == kind
            {
                return Ok((id, body));
            }
        }
    }
}

/// Reads an event as our server writes it: one field a line.
pub fn parse(text: &str) -> Event {
    let mut event = Event::default();
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("event", name)) => name.clone_into(&mut event.name),
            Some(("id", id)) => {
                event.id = id.split('.').next().and_then(|number| number.parse().ok());
                event.cursor = Some(id.to_owned());
            }
            Some(("data", data)) => data.clone_into(&mut event.data),
            _ => {}
        }
    }
    event
}

/// Reads a reply to the end of its connection: its status and its body.
pub(crate) fn whole_reply(mut socket: TcpStream) -> anyhow::Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes)?;
    let end = find(&bytes, b"\r\n\r\n").context("a reply has a head")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head.split_whitespace().nth(1).context("a reply has a status")?.parse()?;
    let mut body = bytes.split_off(end + 4);
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Ok((status, body))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The first whole chunk, and what follows it.
fn take_chunk(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let line = find(bytes, b"\r\n")?;
    let size = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).ok()?.trim(), 16).ok()?;
    let end = line + 2 + size + 2;
    (bytes.len() >= end).then(|| (bytes[line + 2..line + 2 + size].to_vec(), bytes[end..].to_vec()))
}

fn unchunked(bytes: &[u8]) -> Vec<u8> {
    let (mut all, mut rest) = (Vec::new(), bytes.to_vec());
    while let Some((chunk, after)) = take_chunk(&rest) {
        all.extend(chunk);
        rest = after;
    }
    all
}

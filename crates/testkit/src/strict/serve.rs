//! Strict servers on one local port. Providers with a host are reached through a proxy on that port, which terminates
//! TLS with a certificate for the host; local ones are reached by path. Requests to hosts that are not in the table are
//! refused and recorded, so nothing leaves this machine.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::rules::Breach;
use super::{PROVIDERS, Reaction, Strict, listing, pictures, speech};
use crate::trial::now;

/// Bytes of a request.
const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest wait for more of a request.
const READ_MAX: Duration = Duration::from_secs(60);
/// Requests that are remembered.
const REMEMBERED: usize = 20;

/// What happens to a run's next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It is answered normally.
    Pass,
    /// Its connection is cut after this many words of a counting answer.
    Cut(usize),
    /// It is held until the client disconnects or it is released.
    Hold,
}

/// The servers.
#[derive(Debug)]
pub struct Served {
    pub port: u16,
    /// The certificate authority that clients must trust, as PEM.
    pub certificate: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    orders: VecDeque<Order>,
    held: Vec<TcpStream>,
    remembered: VecDeque<String>,
    strangers: Vec<String>,
    /// Providers that accepted a request with returned thinking.
    got_thinking_back: BTreeSet<&'static str>,
    /// Providers that accepted a request with a picture.
    got_picture: BTreeSet<&'static str>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: String) {
        let mut state = self.state();
        state.remembered.push_back(what);
        if state.remembered.len() > REMEMBERED {
            state.remembered.pop_front();
        }
    }
}

impl Served {
    /// Begins to serve. It ends with the process.
    ///
    /// # Errors
    /// Returns an error if no certificate can be made or no port is free.
    pub fn start() -> anyhow::Result<Self> {
        let (certificate, config) = certificates()?;
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let (state, config) = (shared.clone(), Arc::new(config));
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (shared, config) = (state.clone(), config.clone());
                // A client that goes away in the middle is none of the server's business.
                std::thread::spawn(move || serve(socket, &shared, &config).unwrap_or(()));
            }
        });
        Ok(Self { port, certificate, shared })
    }

    /// Writes the certificate into `home`, and returns the environment with which a server connects to these providers.
    ///
    /// # Errors
    /// Returns an error if the certificate can't be written.
    pub fn variables(&self, home: &Path) -> anyhow::Result<Vec<(&'static str, String)>> {
        let authority = home.join("authority.pem");
        std::fs::write(&authority, &self.certificate)?;
        Ok(vec![
            ("HTTPS_PROXY", format!("http://127.0.0.1:{}", self.port)),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("SSL_CERT_FILE", authority.display().to_string()),
        ])
    }

    /// Sets what happens to the next request of a run. Titles, summaries and refused requests take no order.
    pub fn order(&self, order: Order) {
        self.shared.state().orders.push_back(order);
    }

    /// Waits until a request is kept waiting.
    ///
    /// # Errors
    /// Returns an error if none comes in time.
    pub fn wait_for_held(&self, most: Duration) -> anyhow::Result<()> {
        let deadline = now() + most;
        let mut state = self.shared.state();
        while state.held.is_empty() {
            let left = deadline.saturating_duration_since(now());
            anyhow::ensure!(!left.is_zero(), "no request came that was to be held");
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Releases held requests.
    pub fn release(&self) {
        for held in self.shared.state().held.drain(..) {
            // One whose client is gone is closed already.
            held.shutdown(Shutdown::Both).unwrap_or(());
        }
    }

    /// Discards unused orders, and releases held requests.
    pub fn forget_orders(&self) {
        self.shared.state().orders.clear();
        self.release();
    }

    /// The last requests and what became of them, oldest first.
    pub fn remembered(&self) -> Vec<String> {
        self.shared.state().remembered.iter().cloned().collect()
    }

    /// Whether a provider accepted a request that returned its thinking with calls.
    pub fn got_thinking_back(&self, provider: &Strict) -> bool {
        self.shared.state().got_thinking_back.contains(provider.name)
    }

    /// Whether a provider accepted a request with a picture.
    pub fn got_picture(&self, provider: &Strict) -> bool {
        self.shared.state().got_picture.contains(provider.name)
    }

    /// Hosts that were asked for and are not in the table.
    pub fn strangers(&self) -> Vec<String> {
        self.shared.state().strangers.clone()
    }
}

/// Creates a certificate authority and a certificate for every host.
fn certificates() -> anyhow::Result<(String, ServerConfig)> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "strict servers");
    let authority_key = KeyPair::generate()?;
    let root = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let mut hosts: Vec<String> = PROVIDERS.iter().filter_map(Strict::host).map(str::to_owned).collect();
    hosts.dedup();
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(hosts)?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)?;
    Ok((root.pem(), config))
}

fn serve(mut socket: TcpStream, shared: &Shared, config: &Arc<ServerConfig>) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(READ_MAX))?;
    let asked = Request::read(&mut socket)?;
    let Some(place) = asked.line.strip_prefix("CONNECT ") else {
        let handle = socket.try_clone()?;
        return answer(&mut socket, &handle, &asked, None, shared);
    };
    let host = place.split([':', ' ']).next().unwrap_or_default().to_owned();
    if !PROVIDERS.iter().any(|provider| provider.host() == Some(&host)) {
        shared.state().strangers.push(host);
        return Ok(socket.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")?);
    }
    socket.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let handle = socket.try_clone()?;
    let mut stream = StreamOwned::new(ServerConnection::new(config.clone())?, socket);
    let asked = Request::read(&mut stream)?;
    answer(&mut stream, &handle, &asked, Some(&host), shared)?;
    stream.conn.send_close_notify();
    Ok(stream.flush()?)
}

/// A request over HTTP/1.1.
struct Request {
    line: String,
    /// In lower case.
    head: String,
    body: String,
}

impl Request {
    fn read(socket: &mut impl Read) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        let mut piece = [0; 16 * 1024];
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            let count = socket.read(&mut piece)?;
            anyhow::ensure!(count > 0 && bytes.len() < REQUEST_BYTES_MAX, "the request has no end");
            bytes.extend_from_slice(&piece[..count]);
        };
        let told = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let head = told.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = bytes.split_off(end + 4);
        while body.len() < length.unwrap_or(0) {
            let count = socket.read(&mut piece)?;
            anyhow::ensure!(count > 0 && body.len() < REQUEST_BYTES_MAX, "the body has no end");
            body.extend_from_slice(&piece[..count]);
        }
        let line = told.lines().next().unwrap_or_default().to_owned();
        Ok(Self { line, head, body: String::from_utf8(body)? })
    }

    fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// Returns its path if it goes to this machine, otherwise its URL.
    fn place(&self, host: Option<&str>) -> String {
        host.map_or(self.path().to_owned(), |host| format!("https://{host}{}", self.path()))
    }

    /// The provider at this address that has the model.
    fn provider(&self, host: Option<&str>) -> Option<&'static Strict> {
        let model: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let model = model["model"].as_str().unwrap_or_default();
        let place = self.place(host);
        let is_there = |provider: &&Strict| {
            place
                .strip_prefix(provider.base)
                .is_some_and(|rest| rest.split('?').next() == Some(provider.endpoint()))
        };
        let mut there = PROVIDERS.iter().filter(is_there);
        let first = there.clone().next();
        there.find(|provider| provider.model == model).or(first)
    }

    fn has_key(&self, provider: &Strict) -> bool {
        let key = provider.key();
        let headers =
            [format!("authorization: bearer {key}"), format!("x-api-key: {key}"), format!("api-key: {key}")];
        headers.iter().any(|header| self.head.lines().any(|line| line == header))
    }

    /// Whether a run asks, and not for a title or a summary.
    fn is_of_run(&self) -> bool {
        !(self.body.contains("title of two to six words")
            || self.body.contains("Summarise the conversation so far"))
    }
}

fn answer(
    stream: &mut impl Write,
    socket: &TcpStream,
    asked: &Request,
    host: Option<&str>,
    shared: &Shared,
) -> anyhow::Result<()> {
    if let Some(list) = listing::at(&asked.place(host)) {
        return send(stream, "200 OK", &list.to_string());
    }
    let Some(provider) = asked.provider(host) else {
        shared.note(format!("{}: nothing is there", asked.line));
        let reply = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        return Ok(stream.write_all(reply.as_bytes())?);
    };
    let reaction = if asked.has_key(provider) {
        provider.react(&asked.body)
    } else {
        provider.refuse(&Breach { status: 401, ..Breach::of("Incorrect API key provided.") })
    };
    let takes_order = asked.is_of_run() && matches!(reaction, Reaction::Answers(_));
    let order = if takes_order { shared.state().orders.pop_front() } else { None };
    match reaction {
        Reaction::Refuses { status, body, .. } => {
            shared.note(format!("{}: {status} {body}", provider.name));
            send(stream, &format!("{status} No"), &body)?;
        }
        Reaction::Answers(_) if order == Some(Order::Hold) => {
            shared.note(format!("{}: held", provider.name));
            shared.state().held.push(socket.try_clone()?);
            shared.changed.notify_all();
            // Wait until the client disconnects.
            let mut rest = [0; 1];
            let mut waiting = socket;
            while matches!(waiting.read(&mut rest), Ok(1..)) {}
        }
        Reaction::Answers(frames) => {
            shared.note(format!("{}: answered{}", provider.name, if order.is_some() { ", cut" } else { "" }));
            let body = serde_json::from_str(&asked.body).unwrap_or_default();
            if speech::brings_thinking_back(provider, &body) {
                shared.state().got_thinking_back.insert(provider.name);
            }
            if pictures::picture_of(&body).is_some() {
                shared.state().got_picture.insert(provider.name);
            }
            stream_frames(stream, socket, &frames, order)?;
        }
    }
    Ok(())
}

/// Sends a whole reply.
fn send(stream: &mut impl Write, status: &str, body: &str) -> anyhow::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}");
    Ok(stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes())?)
}

/// Sends the frames of an answer, whole or up to a cut.
fn stream_frames(
    stream: &mut impl Write,
    socket: &TcpStream,
    frames: &[String],
    order: Option<Order>,
) -> anyhow::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let mut words = 0;
    for frame in frames {
        write!(stream, "{:x}\r\n{frame}\r\n", frame.len())?;
        stream.flush()?;
        words += usize::from(says_word(frame));
        if order == Some(Order::Cut(words)) {
            socket.shutdown(Shutdown::Both)?;
            return Err(io::Error::from(io::ErrorKind::ConnectionAborted)).context("cut, as ordered");
        }
    }
    Ok(stream.write_all(b"0\r\n\r\n")?)
}

/// Whether a frame has a word of a counting answer.
pub(crate) fn says_word(frame: &str) -> bool {
    ["content", "text", "delta"].iter().any(|field| frame.contains(&format!("\"{field}\":\"w")))
}

/// Returns the moment that is `seconds` from now.
pub(crate) fn deadline(seconds: u64) -> Instant {
    now() + Duration::from_secs(seconds)
}

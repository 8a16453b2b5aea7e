//! Many connections on few threads, each read as raw bytes: the load must cost less than what it measures.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Client;
use crate::model::now_micros;

/// Finds the moments that tokens tell, and how long ago each was.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// The end of what was read, which may be half a moment.
    rest: Vec<u8>,
}

/// Digits of microseconds since 1970.
const DIGITS: usize = 16;

impl Stamps {
    /// Adds the age of every token in some bytes, in milliseconds.
    pub(crate) fn take(&mut self, bytes: &[u8], ages: &mut Vec<f64>) {
        let now = now_micros();
        self.rest.extend_from_slice(bytes);
        let mut done = 0;
        while let Some(at) = self.rest[done..].iter().position(|byte| *byte == b'@').map(|at| at + done) {
            let Some(digits) = self.rest.get(at + 1..=at + DIGITS) else {
                done = at;
                break;
            };
            let said = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
            ages.extend(said.map(|said| now.saturating_sub(said) as f64 / 1e3));
            done = at + 1;
        }
        if !self.rest[done..].contains(&b'@') {
            done = self.rest.len();
        }
        self.rest.drain(..done);
    }
}

/// A connection on which one request was sent.
pub(crate) async fn send(port: u16, head: &str, body: &str) -> Result<TcpStream> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await?;
    socket.set_nodelay(true)?;
    let length = body.len();
    let request = format!(
        "{head}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await?;
    Ok(socket)
}

/// Asks something and waits for the answer.
pub(crate) async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value> {
    let head = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nauthorization: Bearer {}\r\nconnection: close",
        client.token
    );
    let mut socket = send(client.port, &head, &body.to_string()).await?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("a reply has a head")?;
    if !head.starts_with("HTTP/1.1 2") {
        bail!("{method} {path}: {text}");
    }
    Ok(serde_json::from_str(body).unwrap_or_default())
}

/// A stream of a session's events from its beginning.
pub(crate) async fn follow(client: &Client, session: &str) -> Result<TcpStream> {
    let head = format!(
        "GET /api/v1/sessions/{session}/events?after=0 HTTP/1.1\r\nauthorization: Bearer {}\r\nconnection: close",
        client.token
    );
    send(client.port, &head, "").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_found_wherever_the_bytes_are_split() {
        let text = format!("a@{} b@{} c", now_micros() - 5_000, now_micros() - 7_000);
        for split in 0..text.len() {
            let (mut stamps, mut ages) = (Stamps::default(), Vec::new());
            stamps.take(&text.as_bytes()[..split], &mut ages);
            stamps.take(&text.as_bytes()[split..], &mut ages);
            assert_eq!(ages.len(), 2, "split at {split}");
            assert!(ages.iter().all(|age| (5.0..1_000.0).contains(age)), "{ages:?}");
        }
    }
}

//! Which operations a server has, by its own description, and how each is asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::Client;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// An id that nothing has.
pub const UNKNOWN: &str = "00000000-0000-7000-8000-000000000001";

/// One operation of the API.
#[derive(Debug, Clone)]
pub struct Operation {
    pub method: String,
    /// With its places for ids, without the host.
    pub path: String,
    /// Whether its description says that a credential is needed.
    pub guarded: bool,
    /// The fields of its body, with the schema of each.
    pub fields: Vec<(String, Value)>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

/// Every operation that a server describes.
///
/// # Errors
/// When it does not.
pub fn operations(client: &Client) -> anyhow::Result<Vec<Operation>> {
    let api = client.must("GET", "/openapi.json", &json!({}))?;
    let mut found = Vec::new();
    for (path, methods) in api["paths"].as_object().context("paths")? {
        for (method, described) in methods.as_object().context("methods")? {
            let schema = &described["requestBody"]["content"]["application/json"]["schema"];
            let name = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()).unwrap_or("");
            let fields = api["components"]["schemas"][name]["properties"].as_object().cloned();
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                guarded: described["security"].as_array().is_some_and(|needed| !needed.is_empty()),
                fields: fields.unwrap_or_default().into_iter().collect(),
            });
        }
    }
    Ok(found)
}

impl Operation {
    /// The path with an id in each of its places.
    pub fn filled(&self, id: &str) -> String {
        let mut path = self.path.replace("{turn}", "2").replace("{blob}", &"0".repeat(64));
        while let (Some(begin), Some(end)) = (path.find('{'), path.find('}')) {
            path.replace_range(begin..=end, id);
        }
        path
    }

    /// Whether its answer goes on for as long as the connection.
    pub fn streams(&self) -> bool {
        self.path.ends_with("/events")
    }

    /// A body that could be meant.
    pub fn body(&self) -> Value {
        let value = |schema: &Value| match kind(schema) {
            "integer" | "number" => json!(2),
            "boolean" => json!(true),
            "array" => json!([]),
            _ => json!("x"),
        };
        let fields = self.fields.iter().map(|(name, schema)| (name.clone(), value(schema)));
        Value::Object(fields.collect())
    }
}

/// The type of a field, by its schema.
pub fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("")
        }
        _ => "",
    }
}

/// Sends a request as it is and reads the answer: all of it when its length is told, otherwise its head.
///
/// # Errors
/// When there is no answer.
pub fn send(port: u16, request: &[u8]) -> anyhow::Result<Answer> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // A server that refuses early may close before all of it was sent.
    drop(socket.write_all(request));
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            let wanted: usize = length.unwrap_or(0);
            if bytes.len() >= end + 4 + wanted {
                let status = head.split_whitespace().nth(1).context("a status")?.parse()?;
                let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + wanted]).into_owned();
                return Ok(Answer { status, head, body });
            }
        }
        let read = socket.read(&mut buffer).context("no answer")?;
        anyhow::ensure!(
            read > 0,
            "the connection ended before the answer: {}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.extend_from_slice(&buffer[..read]);
    }
}

/// A request as text.
pub fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Asks an operation as a client.
///
/// # Errors
/// When there is no answer.
pub fn ask(client: &Client, method: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
    let headers = format!("host: localhost\r\nauthorization: Bearer {}\r\n", client.token);
    send(client.port, &request(method, path, &headers, body))
}

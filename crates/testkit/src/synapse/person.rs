//! Somebody with a Matrix client: says, changes and reads, by plain requests that share nothing with the product.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::client::whole_reply;

/// Longest wait for anything. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// An account with one logged-in device.
#[derive(Debug, Clone)]
pub struct MatrixPerson {
    port: u16,
    pub id: String,
    pub token: String,
    /// Number of the next transaction.
    next: u64,
}

/// A message as it is seen now, with all changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrived {
    pub message: String,
    pub text: String,
    /// The formatted text, if there is one.
    pub html: Option<String>,
    /// The message that it answers.
    pub answers: Option<String>,
    /// The first message of its thread.
    pub thread: Option<String>,
    /// The address of its file.
    pub file: Option<String>,
}

impl MatrixPerson {
    /// The password of the account with a name.
    pub fn password(name: &str) -> String {
        format!("the password of {name}")
    }

    pub(super) fn register(port: u16, name: &str) -> anyhow::Result<Self> {
        let body = json!({
            "username": name,
            "password": Self::password(name),
            "device_id": format!("device-of-{name}"),
            "auth": { "type": "m.login.dummy" },
        });
        let nobody = Self { port, id: String::new(), token: String::new(), next: 0 };
        let made = nobody.must("POST", "/v3/register", &body)?;
        Ok(Self { id: text(&made, "user_id")?, token: text(&made, "access_token")?, ..nobody })
    }

    /// Logs the device out.
    ///
    /// # Errors
    /// When it is not logged in.
    pub fn log_out(&self) -> anyhow::Result<()> {
        self.must("POST", "/v3/logout", &json!({})).map(drop)
    }

    /// Asks the client-server API something that must be done.
    ///
    /// # Errors
    /// When it is not.
    pub fn must(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let path = format!("/_matrix/client{path}");
        let reply = ask(self.port, method, &path, self.token(), body.as_bytes())?;
        serde_json::from_slice(&reply).with_context(|| format!("{method} {path}"))
    }

    fn token(&self) -> Option<&str> {
        (!self.token.is_empty()).then_some(self.token.as_str())
    }

    /// Takes a name that others see.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn call_myself(&self, name: &str) -> anyhow::Result<()> {
        let path = format!("/v3/profile/{}/displayname", self.id);
        self.must("PUT", &path, &json!({ "displayname": name })).map(drop)
    }

    /// Makes a room for two and asks the other in.
    ///
    /// # Errors
    /// When it is not made.
    pub fn room_with(&self, other: &Self) -> anyhow::Result<String> {
        let body = json!({ "preset": "trusted_private_chat", "is_direct": true, "invite": [other.id] });
        text(&self.must("POST", "/v3/createRoom", &body)?, "room_id")
    }

    /// Makes a room for many and asks the others in.
    ///
    /// # Errors
    /// When it is not made.
    pub fn group_with(&self, others: &[&Self]) -> anyhow::Result<String> {
        let ids: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
        let body = json!({ "preset": "private_chat", "name": "group", "invite": ids });
        text(&self.must("POST", "/v3/createRoom", &body)?, "room_id")
    }

    /// Asks somebody into a room.
    ///
    /// # Errors
    /// When that may not be.
    pub fn invite(&self, room: &str, other: &Self) -> anyhow::Result<()> {
        self.must("POST", &format!("/v3/rooms/{room}/invite"), &json!({ "user_id": other.id })).map(drop)
    }

    /// Sends somebody out of a room.
    ///
    /// # Errors
    /// When that may not be.
    pub fn send_out(&self, room: &str, other: &Self) -> anyhow::Result<()> {
        self.must("POST", &format!("/v3/rooms/{room}/kick"), &json!({ "user_id": other.id })).map(drop)
    }

    /// Enters a room.
    ///
    /// # Errors
    /// When that may not be.
    pub fn join(&self, room: &str) -> anyhow::Result<()> {
        self.must("POST", &format!("/v3/rooms/{room}/join"), &json!({})).map(drop)
    }

    /// Leaves a room.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn leave(&self, room: &str) -> anyhow::Result<()> {
        self.must("POST", &format!("/v3/rooms/{room}/leave"), &json!({})).map(drop)
    }

    /// Says something; answers the id of the message.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn say(&mut self, room: &str, said: &str) -> anyhow::Result<String> {
        self.send(room, "m.room.message", &json!({ "msgtype": "m.text", "body": said }))
    }

    /// Says something about another message: an answer, or in its thread.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn say_about(&mut self, room: &str, said: &str, relation: &Value) -> anyhow::Result<String> {
        let content = json!({ "msgtype": "m.text", "body": said, "m.relates_to": relation });
        self.send(room, "m.room.message", &content)
    }

    /// Changes what was said.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn change(&mut self, room: &str, message: &str, said: &str) -> anyhow::Result<String> {
        let content = json!({
            "msgtype": "m.text",
            "body": format!("* {said}"),
            "m.new_content": { "msgtype": "m.text", "body": said },
            "m.relates_to": { "rel_type": "m.replace", "event_id": message },
        });
        self.send(room, "m.room.message", &content)
    }

    /// Sends any event; answers its id.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn send(&mut self, room: &str, kind: &str, content: &Value) -> anyhow::Result<String> {
        self.next += 1;
        let path = format!("/v3/rooms/{room}/send/{kind}/person-{}", self.next);
        text(&self.must("PUT", &path, content)?, "event_id")
    }

    /// Sends a file; answers the id of the message.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn send_file(
        &mut self,
        room: &str,
        name: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> anyhow::Result<String> {
        let path = format!("/_matrix/media/v3/upload?filename={name}");
        let reply = ask(self.port, "POST", &path, self.token(), bytes)?;
        let uploaded: Value = serde_json::from_slice(&reply)?;
        let kind = if media_type.starts_with("image/") { "m.image" } else { "m.file" };
        let content = json!({
            "msgtype": kind,
            "body": name,
            "url": text(&uploaded, "content_uri")?,
            "info": { "mimetype": media_type, "size": bytes.len() },
        });
        self.send(room, "m.room.message", &content)
    }

    /// Fetches a file.
    ///
    /// # Errors
    /// When it is not there.
    pub fn fetch(&self, address: &str) -> anyhow::Result<Vec<u8>> {
        let named = address.strip_prefix("mxc://").context("an address of a file")?;
        let path = format!("/_matrix/client/v1/media/download/{named}");
        ask(self.port, "GET", &path, self.token(), b"")
    }

    /// All that a user said in a room and that is there now, oldest first.
    ///
    /// # Errors
    /// When the room cannot be read.
    pub fn arrived(&self, room: &str, from: &str) -> anyhow::Result<Vec<Arrived>> {
        let mut arrived: Vec<Arrived> = Vec::new();
        for event in self.events(room)? {
            let content = &event["content"];
            if event["type"] != "m.room.message" || event["sender"] != from || content["body"].is_null() {
                continue;
            }
            let relation = &content["m.relates_to"];
            let named = |value: &Value| value.as_str().map(str::to_owned);
            if relation["rel_type"] == "m.replace" {
                let changed =
                    arrived.iter_mut().find(|message| relation["event_id"] == message.message.as_str());
                let changed = changed.context("a change of a message that is not there")?;
                changed.text = text(&content["m.new_content"], "body")?;
                changed.html = named(&content["m.new_content"]["formatted_body"]);
                continue;
            }
            arrived.push(Arrived {
                message: text(&event, "event_id")?,
                text: text(content, "body")?,
                html: named(&content["formatted_body"]),
                answers: named(&relation["m.in_reply_to"]["event_id"]),
                thread: named(&relation["event_id"]),
                file: named(&content["url"]),
            });
        }
        Ok(arrived)
    }

    /// Every event of a room, oldest first.
    ///
    /// # Errors
    /// When the room cannot be read.
    pub fn events(&self, room: &str) -> anyhow::Result<Vec<Value>> {
        let mut events = Vec::new();
        let mut from = String::new();
        loop {
            let path = format!("/v3/rooms/{room}/messages?dir=f&limit=500{from}");
            let page = self.must("GET", &path, &Value::Null)?;
            events.extend(page["chunk"].as_array().into_iter().flatten().cloned());
            let Some(end) = page["end"].as_str() else { return Ok(events) };
            from = format!("&from={end}");
        }
    }
}

fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    Ok(value[name].as_str().with_context(|| format!("{name} in {value}"))?.to_owned())
}

/// One request over a connection of its own; the body of a reply that says yes.
pub(super) fn ask(
    port: u16,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: &[u8],
) -> anyhow::Result<Vec<u8>> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let authorization = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}content-type: application/octet-stream\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body)?;
    let (status, body) = whole_reply(socket)?;
    ensure!(status == 200, "{method} {path}: {status} {}", String::from_utf8_lossy(&body));
    Ok(body)
}

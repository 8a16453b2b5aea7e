//! A provider that wants a key, remembers what it was asked, and answers with the name of the model that was asked for. A
//! message that says `call` is answered with a call of the clock first; one that says `wait` is answered when it is let. It
//! lists its models.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for a question. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A question as it came.
#[derive(Debug)]
pub(crate) struct Asked {
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    /// What the model was told before the session.
    pub(crate) fn instructions(&self) -> Option<&str> {
        self.body["messages"][0]["content"].as_str().filter(|_| self.body["messages"][0]["role"] == "system")
    }

    fn last(&self) -> &Value {
        self.body["messages"].as_array().unwrap().last().unwrap()
    }

    fn says(&self, word: &str) -> bool {
        self.last()["content"].as_str().is_some_and(|text| text.split(' ').any(|other| other == word))
    }
}

pub(crate) struct Peer {
    pub(crate) url: String,
    asked: Receiver<Asked>,
    go: Sender<()>,
}

impl Peer {
    /// Answers whoever has the key, for as long as the test runs.
    pub(crate) fn new(key: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (asked, go) = (mpsc::channel(), mpsc::channel());
        let may_go = Arc::new(Mutex::new(go.1));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (told, may_go) = (asked.0.clone(), may_go.clone());
                std::thread::spawn(move || answer(socket.unwrap(), key, &told, &may_go));
            }
        });
        Self { url, asked: asked.1, go: go.0 }
    }

    /// The next question that carried the key.
    pub(crate) fn asked(&self) -> Asked {
        self.asked.recv_timeout(PATIENCE).unwrap()
    }

    /// Lets a question be answered that waits.
    pub(crate) fn go(&self) {
        self.go.send(()).unwrap();
    }
}

fn answer(mut socket: TcpStream, key: &str, told: &Sender<Asked>, may_go: &Mutex<Receiver<()>>) {
    let (head, body) = read(&mut socket);
    if !head.contains(&format!("authorization: bearer {key}")) {
        // As real ones do: with what they were sent.
        let sent = head.lines().find(|line| line.starts_with("authorization")).unwrap_or_default().to_owned();
        let body = json!({ "error": { "message": format!("Incorrect key: {sent}") } }).to_string();
        let length = body.len();
        write!(socket, "HTTP/1.1 401 No\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .unwrap();
        return;
    }
    if head.starts_with("get ") {
        let listed = json!({ "data": [
            { "id": "big-1", "max_model_len": 40_960 }, { "id": "text-embedding-1" }, { "id": "big-2" },
        ] });
        let listed = listed.to_string();
        let length = listed.len();
        write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{listed}")
            .unwrap();
        return;
    }
    let asked = Asked { head, body: serde_json::from_slice(&body).unwrap() };
    let (calls, waits, model) = (asked.says("call"), asked.says("wait"), asked.body["model"].clone());
    // A test that has seen enough may be gone.
    drop(told.send(asked));
    if waits {
        may_go.lock().unwrap().recv().unwrap();
    }
    let call = json!({ "index": 0, "id": "c1", "function": { "name": "clock", "arguments": "{}" } });
    let (delta, finish) = match calls {
        true => (json!({ "tool_calls": [call] }), "tool_calls"),
        false => (json!({ "content": model }), "stop"),
    };
    let said = json!({ "choices": [{ "delta": delta, "finish_reason": null }] });
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": finish }] });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    // A run that was stopped needs no answer.
    drop(write!(socket, "{head}data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n"));
}

pub(crate) fn read(socket: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return (head, bytes.split_off(end + 4));
            }
        }
        let count = socket.read(&mut piece).unwrap();
        assert!(count > 0, "the question ended early");
        bytes.extend_from_slice(&piece[..count]);
    }
}

//! A model that does what the message says, over real HTTP in both wire formats: `say 30 of heron pace 5` is answered
//! with `heron.1 heron.2 …`, one token every 5 ms. It goes on from a prefix, so that every doubled or missing token of
//! an answer shows. For faults that a real provider cannot be told to make.

mod loose;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Bytes of a request's head and body.
const REQUEST_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What a message tells the model to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Tokens to say.
    pub count: u64,
    /// What they are called.
    pub tag: String,
    pub pace: Duration,
    /// Tokens after which each connection is cut.
    pub cut: Option<u64>,
    /// Ask for the clock before anything is said.
    pub call: bool,
    /// Tokens of reasoning before the answer.
    pub think: u64,
    /// Tell with each token when it was said, in microseconds since 1970.
    pub stamp: bool,
    /// Refuse the first so many requests of this tag with this status.
    pub refuse: Option<(u64, u16)>,
    /// Silence before the first token of each answer to a request.
    pub wait: Duration,
    /// Say everything inside a code block.
    pub code: bool,
    /// Say it in pieces that end within words; when asked to continue, repeat, apologize, open the code block again or begin
    /// a new line.
    pub loose: bool,
}

impl Told {
    /// Reads a message.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).copied()
        };
        let number = |name: &str| after(name).and_then(|word| word.parse().ok());
        let status = after("status").and_then(|word| word.parse().ok()).unwrap_or(503);
        Some(Self {
            count: number("say")?,
            tag: after("of")?.to_owned(),
            pace: Duration::from_millis(number("pace").unwrap_or(0)),
            cut: number("cut"),
            call: words.contains(&"call"),
            think: number("think").unwrap_or(0),
            stamp: words.contains(&"stamp"),
            refuse: number("refuse").map(|count| (count, status)),
            wait: Duration::from_millis(number("wait").unwrap_or(0)),
            code: words.contains(&"code"),
            loose: words.contains(&"loose"),
        })
    }
}

/// The model's side of the world.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    requests: AtomicU64,
    refused: std::sync::Mutex<std::collections::BTreeMap<String, u64>>,
}

impl ScriptedModel {
    /// Answers everyone for as long as it is polled.
    ///
    /// # Errors
    /// When nothing can be accepted.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> std::io::Result<()> {
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let model = self.clone();
            #[expect(clippy::disallowed_methods, reason = "a peer of the product, not a part of it")]
            tokio::spawn(async move {
                // A caller that left needs no answer.
                drop(model.answer(socket).await);
            });
        }
    }

    /// Requests answered so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Acquire)
    }

    async fn answer(&self, mut socket: TcpStream) -> std::io::Result<()> {
        let (path, body) = read_request(&mut socket).await?;
        if path.split('?').next().is_some_and(|path| path.ends_with("/models")) {
            return list(&mut socket).await;
        }
        self.requests.fetch_add(1, Ordering::AcqRel);
        let format = if path.ends_with("/messages") { Format::Anthropic } else { Format::OpenAi };
        let asked = Question::read(&body);
        if let Some(status) = self.refuses(&asked) {
            let head = format!(
                "HTTP/1.1 {status} No\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            return socket.write_all(head.as_bytes()).await;
        }
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            .await?;
        speak(&mut socket, format, &asked).await?;
        socket.shutdown().await
    }

    fn refuses(&self, asked: &Question) -> Option<u16> {
        let (most, status) = asked.told.as_ref().and_then(|told| told.refuse)?;
        let mut refused = self.refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count =
            refused.entry(asked.told.as_ref().map_or_else(String::new, |told| told.tag.clone())).or_default();
        *count += 1;
        (*count <= most).then_some(status)
    }
}

/// A wire format, written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    OpenAi,
    Anthropic,
}

/// What was asked: the newest instruction, and how much of its answer was said already.
#[derive(Debug)]
struct Question {
    told: Option<Told>,
    said: u64,
    /// The text of the answer so far.
    text: String,
    asked_to_continue: bool,
    called: bool,
    output_tokens_max: u64,
    offered_tools: bool,
}

impl Question {
    fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let messages = body["messages"].as_array().into_iter().flatten().flat_map(separated);
        let messages: Vec<Value> = messages.collect();
        let (mut told, mut said, mut called) = (None, 0, false);
        let mut answer = String::new();
        let last = messages.last().and_then(instruction);
        // A question without an instruction of its own, as that for a title, is answered with a word.
        let asked_to_go_on = messages.last().is_some_and(|message| text_of(message).contains("cut off"));
        let answers_someone = last.is_some()
            || asked_to_go_on
            || messages.last().is_some_and(|message| message["role"] != "user" || is_result(message));
        for message in &messages {
            if let Some(new) = instruction(message) {
                (told, said, called) = (Some(new), 0, false);
                answer.clear();
                continue;
            }
            called |= is_result(message);
            if message["role"] == "assistant"
                && let Some(told) = &told
            {
                let prefix = format!("{}.", told.tag);
                let text = text_of(message);
                answer.push_str(&text);
                let numbers = text
                    .split_whitespace()
                    .filter_map(|word| word.strip_prefix(&prefix)?.parse::<u64>().ok());
                said = numbers.max().unwrap_or(0).max(said);
            }
        }
        Self {
            told: told.filter(|_| answers_someone),
            said,
            text: answer,
            asked_to_continue: asked_to_go_on,
            called,
            output_tokens_max: body["max_tokens"].as_u64().unwrap_or(u64::MAX),
            offered_tools: body["tools"].is_array(),
        }
    }
}

/// Separates messages of the user that were sent as one, because nothing was answered between them.
fn separated(message: &Value) -> Vec<Value> {
    let text = message["content"].as_str().filter(|_| message["role"] == "user");
    let one = |content: Value| json!({ "role": message["role"], "content": content });
    match (text, message["content"].as_array()) {
        (Some(text), _) => text.split("\n\n").map(|part| one(part.into())).collect(),
        (None, Some(parts)) => parts.iter().map(|part| one(json!([part]))).collect(),
        (None, None) => vec![message.clone()],
    }
}

fn is_result(message: &Value) -> bool {
    message["role"] == "tool"
        || message["content"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool_result"))
}

fn instruction(message: &Value) -> Option<Told> {
    (message["role"] == "user").then(|| text_of(message)).and_then(|text| Told::parse(&text))
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// Says what it was told, token by token.
async fn speak(socket: &mut TcpStream, format: Format, asked: &Question) -> std::io::Result<()> {
    socket.write_all(format.begin().as_bytes()).await?;
    let Some(told) = &asked.told else {
        socket.write_all(format.text("Herons").as_bytes()).await?;
        return socket.write_all(format.end("stop", 1).as_bytes()).await;
    };
    if told.call && !asked.called && asked.offered_tools {
        socket.write_all(format.call().as_bytes()).await?;
        return socket.write_all(format.end("calls", 1).as_bytes()).await;
    }
    let mut pace = (!told.pace.is_zero()).then(|| tokio::time::interval(told.pace));
    if asked.said == 0 {
        for no in 1..=told.think {
            if let Some(pace) = &mut pace {
                pace.tick().await;
            }
            socket.write_all(format.reasoning(&format!("thought.{no} ")).as_bytes()).await?;
        }
    }
    tokio::time::sleep(told.wait).await;
    if told.loose {
        for piece in loose::pieces(told, &asked.text, asked.asked_to_continue) {
            if let Some(pace) = &mut pace {
                pace.tick().await;
            }
            socket.write_all(format.text(&piece).as_bytes()).await?;
        }
        return socket.write_all(format.end("stop", told.count).as_bytes()).await;
    }
    let mut here = 0;
    for no in asked.said + 1..=told.count {
        if Some(here) == told.cut {
            return Ok(());
        }
        if here >= asked.output_tokens_max {
            return socket.write_all(format.end("length", here).as_bytes()).await;
        }
        if let Some(pace) = &mut pace {
            pace.tick().await;
        }
        let token = if told.stamp {
            format!("{}.{no}@{} ", told.tag, now_micros())
        } else {
            format!("{}.{no} ", told.tag)
        };
        socket.write_all(format.text(&token).as_bytes()).await?;
        here += 1;
    }
    socket.write_all(format.end("stop", here).as_bytes()).await
}

/// Microseconds since 1970: what two processes of one machine can compare.
#[expect(clippy::disallowed_methods, reason = "a peer of the product, not a part of it")]
pub fn now_micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

impl Format {
    pub fn begin(self) -> String {
        match self {
            Self::OpenAi => String::new(),
            Self::Anthropic => event(
                "message_start",
                &json!({ "message": { "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
            ),
        }
    }

    pub fn text(self, text: &str) -> String {
        match self {
            // Written by hand: a bench asks for a hundred thousand a second.
            Self::OpenAi => {
                let text = Value::from(text);
                format!(
                    "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n"
                )
            }
            Self::Anthropic => delta(0, &json!({ "type": "text_delta", "text": text })),
        }
    }

    fn reasoning(self, text: &str) -> String {
        match self {
            Self::OpenAi => chunk(&json!({ "reasoning_content": text }), None),
            Self::Anthropic => delta(0, &json!({ "type": "thinking_delta", "thinking": text })),
        }
    }

    fn call(self) -> String {
        match self {
            Self::OpenAi => {
                let function = json!({ "name": "clock", "arguments": "{}" });
                chunk(&json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function": function }] }), None)
            }
            Self::Anthropic => {
                let block = json!({ "type": "tool_use", "id": "toolu_1", "name": "clock", "input": {} });
                let begin = event("content_block_start", &json!({ "index": 1, "content_block": block }));
                begin + &delta(1, &json!({ "type": "input_json_delta", "partial_json": "{}" }))
            }
        }
    }

    pub fn end(self, why: &str, tokens: u64) -> String {
        match self {
            Self::OpenAi => {
                let reason = if why == "calls" { "tool_calls" } else { why };
                let usage = json!({ "prompt_tokens": 10, "completion_tokens": tokens });
                let last = json!({ "choices": [], "usage": usage });
                format!("{}data: {last}\n\ndata: [DONE]\n\n", chunk(&json!({}), Some(reason)))
            }
            Self::Anthropic => {
                let reason = match why {
                    "calls" => "tool_use",
                    "length" => "max_tokens",
                    _ => "end_turn",
                };
                let delta =
                    json!({ "delta": { "stop_reason": reason }, "usage": { "output_tokens": tokens } });
                event("message_delta", &delta) + &event("message_stop", &json!({}))
            }
        }
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
}

fn delta(index: u32, delta: &Value) -> String {
    event("content_block_delta", &json!({ "index": index, "delta": delta }))
}

fn event(kind: &str, body: &Value) -> String {
    let mut body = body.clone();
    body["type"] = kind.into();
    format!("event: {kind}\ndata: {body}\n\n")
}

/// Answers with the models that there are.
async fn list(socket: &mut TcpStream) -> std::io::Result<()> {
    let listed = json!({ "data": [{ "id": "scripted", "max_model_len": 1_000_000 }] }).to_string();
    let length = listed.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    socket.write_all(format!("{head}{listed}").as_bytes()).await?;
    socket.shutdown().await
}

async fn read_request(socket: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let length: usize = length.unwrap_or(0);
            let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let mut body = bytes.split_off(end + 4);
            while body.len() < length.min(REQUEST_BYTES_MAX) {
                match socket.read(&mut piece).await? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => body.extend_from_slice(&piece[..count]),
                }
            }
            return Ok((path, body));
        }
        match socket.read(&mut piece).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
        if bytes.len() > REQUEST_BYTES_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
    }
}

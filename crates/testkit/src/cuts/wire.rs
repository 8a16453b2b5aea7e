//! A transport that sends what a case says: the faulty stream first, then what a provider would send when it is asked
//! again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{Broken, ProviderError, Reply, Request, Transport, Wire};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::json;
use tokio::sync::Notify;

use super::Fault;
use crate::model::Format;

/// What a model says once its tools were called.
pub const AFTER_TOOLS: &str = "Noon.";

/// What is sent for the case that is being played.
#[derive(Debug, Clone)]
pub struct Sent {
    pub fault: Fault,
    pub wire: Wire,
    /// The first answer.
    pub faulty: Vec<u8>,
    /// The whole answer, for when nothing came of the first.
    pub clean: Vec<u8>,
    /// The text of the whole answer, for when it goes on from a prefix.
    pub text: String,
}

/// The wire between the agent and its model.
#[derive(Debug, Default)]
pub struct ScriptedWire {
    playing: Mutex<Option<(Sent, u32)>>,
    /// Told when everything before the silence was taken.
    pub silent: Arc<Notify>,
}

impl ScriptedWire {
    fn playing(&self) -> MutexGuard<'_, Option<(Sent, u32)>> {
        self.playing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays this from now on.
    pub fn play(&self, sent: Sent) {
        *self.playing() = Some((sent, 0));
    }

    /// Requests that came since.
    pub fn requests(&self) -> u32 {
        self.playing().as_ref().map_or(0, |(_, count)| *count)
    }

    fn answer(&self, body: &str) -> (Vec<u8>, bool) {
        let mut playing = self.playing();
        let Some((sent, count)) = playing.as_mut() else { return (Vec::new(), false) };
        *count += 1;
        let first = *count == 1;
        if first {
            return (sent.faulty.clone(), matches!(sent.fault, Fault::Stall | Fault::Stop));
        }
        let say = |text: &str| {
            let format = match sent.wire {
                Wire::OpenAi => Format::OpenAi,
                Wire::Responses => return response(text),
                Wire::Anthropic => Format::Anthropic,
            };
            format!("{}{}{}", format.begin(), format.text(text), format.end("stop", 1)).into_bytes()
        };
        let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let messages = body["messages"].as_array().or(body["input"].as_array());
        let last = messages.and_then(|messages| messages.last()).cloned().unwrap_or_default();
        let text = |message: &serde_json::Value| {
            let parts =
                message["content"].as_array().and_then(|parts| parts.last()).cloned().unwrap_or_default();
            message["content"].as_str().or(parts["text"].as_str()).unwrap_or_default().to_owned()
        };
        if last["role"] == "assistant" {
            // It goes on behind what was said; white space at the seam is not shown to every format.
            let said = text(&last);
            let rest = sent.text.strip_prefix(&said).unwrap_or("").trim_start();
            return (say(if rest.is_empty() { "." } else { rest }), false);
        }
        let result = last["role"] == "tool"
            || last["type"] == "function_call_output"
            || last["content"][0]["type"] == "tool_result";
        if result { (say(AFTER_TOOLS), false) } else { (sent.clean.clone(), false) }
    }
}

/// A whole answer in the Responses format.
fn response(text: &str) -> Vec<u8> {
    let events = [
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }),
        json!({ "type": "response.completed", "response": {
            "status": "completed", "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
    ];
    events.map(|event| format!("data: {event}\n\n")).concat().into_bytes()
}

/// The wire as the agent's transport.
#[derive(Debug, Clone)]
pub struct OnWire(pub Arc<ScriptedWire>);

impl Transport for OnWire {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Reply, ProviderError>> {
        let (bytes, then_silence) = self.0.answer(&request.body);
        // In pieces, as a network gives them; where they are split is another test's question.
        let pieces: Vec<_> =
            bytes.chunks(997).map(|piece| Ok::<_, Broken>(Bytes::copy_from_slice(piece))).collect();
        let silent = self.0.silent.clone();
        let silence = stream::once(async move {
            silent.notify_one();
            std::future::pending::<Result<Bytes, Broken>>().await
        });
        let body = if then_silence {
            stream::iter(pieces).chain(silence).boxed()
        } else {
            stream::iter(pieces).boxed()
        };
        std::future::ready(Ok(Reply { status: 200, retry_after: None, request: None, body })).boxed()
    }
}

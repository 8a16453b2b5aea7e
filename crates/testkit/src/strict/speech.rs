//! The answers of a strict server, and how it streams them. An answer depends only on the request. Opaque parts carry
//! the provider's name and the step that they belong to.

use agent::Wire;
use serde_json::{Value, json};

use super::rules::{blocks, calls_of, role};
use super::{Strict, bill, responses, tokens};

/// The title that every model gives.
pub const TITLE: &str = "Herons and Clocks";
/// Words of an answer to a question that asks to count.
pub const COUNT: usize = 40;
/// What Google accepts for a call that its model did not make.
pub(crate) const PLACEHOLDER: &str = "skip_thought_signature_validator";

const SUMMARY: &str = "The user asked for the time, for words and for counting. Nothing is open.";

/// How a provider streams.
#[derive(Debug, Clone, Copy)]
pub struct Speech {
    /// What ids of calls look like: `{step}` stands for the step, `{n}` for the call's number in it.
    pub ids: &'static str,
    pub calls: Calls,
    pub thinks: Thinks,
    /// Frames before the answer.
    pub begins: &'static str,
    /// White space before its text.
    pub lead: &'static str,
}

/// How calls arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// In pieces, identified by their index.
    Pieces,
    /// Each whole, all with index 0.
    IndexZero,
    /// Each whole, without an index; the first one is signed.
    Signed,
    /// All in one chunk.
    Together,
    /// In pieces, with arguments that are an object instead of text.
    Objects,
}

/// How reasoning arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinks {
    Never,
    /// In a field of the delta.
    Field(&'static str),
    /// As parts of the content.
    Parts,
    /// As `reasoning_details`.
    Details,
    /// As `thinking_blocks`.
    Blocks,
    /// As items of Responses.
    Items,
}

impl Speech {
    /// The usual way: nothing before the answer, calls in pieces.
    pub const fn usual(ids: &'static str, thinks: Thinks) -> Self {
        Self { ids, calls: Calls::Pieces, thinks, begins: "", lead: "" }
    }

    /// The same with calls that arrive otherwise.
    pub const fn calling(self, calls: Calls) -> Self {
        Self { calls, ..self }
    }

    /// The step of a call that this provider made, if its id tells.
    pub(crate) fn step_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        let (prefix, _) = self.ids.split_once("{step}")?;
        let rest = id.strip_prefix(prefix).filter(|_| !prefix.is_empty())?;
        rest.get(..STEP_LETTERS).filter(|_| rest.len() == STEP_LETTERS + 1)
    }
}

const STEP_LETTERS: usize = 8;

/// A name for the step that a request asks for: the same for the same request.
fn step(provider: &Strict, body: &Value) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in provider.name.bytes().chain(body["messages"].to_string().bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let letter = |place: u32| char::from_digit(u32::try_from(hash / 36_u64.pow(place) % 36).unwrap_or(0), 36);
    (0..STEP_LETTERS as u32).filter_map(letter).collect()
}

/// The reasoning of a step.
pub(crate) fn thought(step: &str) -> String {
    format!("Thinking of {step}.")
}

/// Returns a mark that ties a part to its provider and step.
pub(crate) fn seal(provider: &Strict, step: &str) -> String {
    format!("sealed-by-{}-for-{step}", provider.name)
}

/// A seal that was found in a request.
pub(crate) struct Seal<'a> {
    pub(crate) provider: &'a str,
}

impl<'a> Seal<'a> {
    /// Finds every seal in a value.
    pub(crate) fn collect(value: &'a Value, seals: &mut Vec<Self>) {
        match value {
            Value::String(text) => {
                let sealed = text.strip_prefix("sealed-by-").and_then(|rest| rest.split_once("-for-"));
                seals.extend(sealed.map(|(provider, _)| Self { provider }));
            }
            Value::Array(values) => values.iter().for_each(|value| Self::collect(value, seals)),
            Value::Object(fields) => fields.values().for_each(|value| Self::collect(value, seals)),
            _ => {}
        }
    }
}

/// Whether a request returns this provider's thinking with calls.
pub(crate) fn brings_thinking_back(provider: &Strict, body: &Value) -> bool {
    let body = if provider.wire == Wire::Responses { responses::with_messages(body) } else { body.clone() };
    let marks = [thought(""), seal(provider, "")].map(|mark| mark.trim_end_matches('.').to_owned());
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| calls_of(message).next().is_some()).any(|message| {
        let message = message.to_string();
        marks.iter().any(|mark| message.contains(mark))
    })
}

/// The list that must come back with the calls of a step.
pub(crate) fn opaque_list(provider: &Strict, step: &str) -> Value {
    let (thought, seal) = (thought(step), seal(provider, step));
    match provider.speech.thinks {
        Thinks::Details => json!([
            { "type": "reasoning.text", "text": thought, "signature": seal, "format": "anthropic-claude-v1", "index": 0 },
            { "type": "reasoning.encrypted", "data": seal, "format": "anthropic-claude-v1", "index": 1 },
        ]),
        Thinks::Blocks => json!([{ "type": "thinking", "thinking": thought, "signature": seal }]),
        Thinks::Items => {
            json!([{ "type": "reasoning", "summary": [{ "type": "summary_text", "text": thought }],
            "encrypted_content": seal }])
        }
        Thinks::Never | Thinks::Field(_) | Thinks::Parts => Value::Null,
    }
}

/// The thinking blocks that must come back before the calls of a step.
pub(crate) fn thinking_blocks(provider: &Strict, step: &str) -> Vec<Value> {
    let seal = seal(provider, step);
    vec![
        json!({ "type": "thinking", "thinking": thought(step), "signature": seal }),
        json!({ "type": "redacted_thinking", "data": seal }),
    ]
}

/// The text of an answer.
pub(super) enum Says {
    Text(String),
    Calls(usize),
}

/// The kind of answer that a question asks for.
struct Asked {
    /// The last paragraph of the user's last message.
    words: String,
    /// Steps with calls since.
    steps: usize,
    /// The model's earlier text.
    before: String,
    has_tools: bool,
}

impl Asked {
    fn of(body: &Value) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let is_question = |message: &Value| role(message) == "user" && !text_of(message).is_empty();
        let at = messages.iter().rposition(is_question).unwrap_or(0);
        let (before, since) = messages.split_at(at.min(messages.len()));
        let words = since.first().map(text_of).unwrap_or_default();
        Self {
            words: words.rsplit("\n\n").next().unwrap_or_default().to_owned(),
            steps: since.iter().filter(|message| calls_of(message).next().is_some()).count(),
            before: before
                .iter()
                .rev()
                .find(|message| role(message) == "assistant")
                .map(text_of)
                .unwrap_or_default(),
            has_tools: body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        }
    }

    fn answer(&self, provider: &Strict) -> Says {
        let asks = |what: &str| self.words.contains(what);
        if asks("title of two to six words") {
            return Says::Text(TITLE.to_owned());
        }
        if asks("Summarise the conversation so far") {
            return Says::Text(SUMMARY.to_owned());
        }
        if asks("was cut off where it ends above") {
            return Says::Text(go_on(&self.before).unwrap_or_else(|| answers(provider)));
        }
        let rounds = if asks("twice") { 2 } else { 1 };
        if self.has_tools && asks("clock") && self.steps < rounds {
            return Says::Calls(if asks("both clocks") { 2 } else { 1 });
        }
        Says::Text(if asks("Count") { counted(1) } else { answers(provider) })
    }
}

/// The answer to a question that asks for nothing else.
pub fn answers(provider: &Strict) -> String {
    format!("{} answers.", provider.title)
}

/// The words of an answer that counts, from one of them on.
pub fn counted(from: usize) -> String {
    (from..=COUNT).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

/// Continues a text that was cut, and repeats its last words.
fn go_on(before: &str) -> Option<String> {
    let last =
        before.split_whitespace().rev().find_map(|word| word.strip_prefix('w')?.parse::<usize>().ok())?;
    Some(counted(last.saturating_sub(2).max(1)))
}

fn text_of(message: &Value) -> String {
    if let Some(text) = message["content"].as_str() {
        return text.to_owned();
    }
    let texts = blocks(message).iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The events of the answer to a request.
pub(crate) fn answer(provider: &Strict, body: &Value) -> Vec<String> {
    let step = step(provider, body);
    let says = Asked::of(body).answer(provider);
    match provider.wire {
        Wire::OpenAi => Chunks { provider, body, step }.all(&says),
        Wire::Responses => responses::events(provider, body, &step, &says),
        Wire::Anthropic => events(provider, body, &step, &says),
    }
}

pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

pub(super) fn call_id(provider: &Strict, step: &str, n: usize) -> String {
    provider.speech.ids.replace("{step}", step).replace("{n}", &n.to_string())
}

/// An answer as Chat Completions stream it.
struct Chunks<'a> {
    provider: &'a Strict,
    body: &'a Value,
    step: String,
}

impl Chunks<'_> {
    fn all(&self, says: &Says) -> Vec<String> {
        let speech = &self.provider.speech;
        let mut frames: Vec<String> =
            Some(speech.begins.to_owned()).filter(|begins| !begins.is_empty()).into_iter().collect();
        frames.push(chunk(&json!({ "role": "assistant", "content": "" }), None));
        frames.extend(self.reasoning().iter().map(|delta| chunk(delta, None)));
        frames.extend((!speech.lead.is_empty()).then(|| chunk(&json!({ "content": speech.lead }), None)));
        let (output, finish) = match says {
            Says::Text(text) => {
                frames.extend(pieces(text).map(|piece| chunk(&json!({ "content": piece }), None)));
                (text.len(), "stop")
            }
            Says::Calls(count) => {
                frames.extend(self.calls(*count).iter().map(|delta| chunk(delta, None)));
                (*count, "tool_calls")
            }
        };
        frames.push(chunk(&json!({}), Some(finish)));
        let usage = bill::of_chunks(self.provider, self.body, output);
        frames.push(format!(
            "data: {}\n\n",
            json!({ "object": "chat.completion.chunk", "choices": [], "usage": usage })
        ));
        frames.push("data: [DONE]\n\n".to_owned());
        frames
    }

    fn reasoning(&self) -> Vec<Value> {
        let (thought, seal) = (thought(&self.step), seal(self.provider, &self.step));
        let (head, tail) = thought.split_at(thought.len() / 2);
        match self.provider.speech.thinks {
            Thinks::Never | Thinks::Items => Vec::new(),
            Thinks::Field(name) => vec![json!({ name: head }), json!({ name: tail })],
            Thinks::Parts => {
                let part = |text| json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": text }] }] });
                vec![part(head), part(tail)]
            }
            Thinks::Details => {
                let piece = |text: &str, signature: Option<&str>| {
                    json!({ "reasoning": text, "reasoning_details": [{ "type": "reasoning.text", "text": text,
                        "signature": signature, "format": "anthropic-claude-v1", "index": 0 }] })
                };
                let encrypted = json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": seal,
                    "format": "anthropic-claude-v1", "index": 1 }] });
                vec![piece(head, None), piece(tail, None), piece("", Some(&seal)), encrypted]
            }
            Thinks::Blocks => {
                let piece = |text: &str, signature: Option<&str>| json!({ "reasoning_content": text, "thinking_blocks": [{ "type": "thinking", "thinking": text, "signature": signature }] });
                vec![piece(head, None), piece(tail, None), piece("", Some(&seal))]
            }
        }
    }

    fn calls(&self, count: usize) -> Vec<Value> {
        let id = |n| call_id(self.provider, &self.step, n);
        let whole = |n: usize| json!({ "id": id(n), "type": "function", "function": { "name": "clock", "arguments": "{}" } });
        let at = |n: usize, mut call: Value| {
            call["index"] = n.into();
            call
        };
        let calls = 0..count;
        let alone = |call: Value| json!({ "tool_calls": [call] });
        match self.provider.speech.calls {
            Calls::Pieces => calls
                .flat_map(|n| {
                    let begin = json!({ "index": n, "id": id(n), "type": "function", "function": { "name": "clock", "arguments": "" } });
                    let piece = |text| json!({ "index": n, "function": { "arguments": text } });
                    [begin, piece("{"), piece("}")].map(alone)
                })
                .collect(),
            Calls::IndexZero => calls.map(|n| alone(at(0, whole(n)))).collect(),
            Calls::Signed => {
                let signature = json!({ "google": { "thought_signature": seal(self.provider, &self.step) } });
                let signed = |n| {
                    let mut call = whole(n);
                    if n == 0 {
                        call["extra_content"] = signature.clone();
                    }
                    call
                };
                calls.map(|n| alone(signed(n))).collect()
            }
            Calls::Together => vec![json!({ "tool_calls": calls.map(|n| at(n, whole(n))).collect::<Vec<_>>() })],
            Calls::Objects => calls
                .map(|n| {
                    let mut call = at(n, whole(n));
                    call["function"]["arguments"] = json!({});
                    alone(call)
                })
                .collect(),
        }
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    format!("data: {}\n\n", json!({ "id": "1", "object": "chat.completion.chunk", "choices": [choice] }))
}

/// An answer as Messages stream it.
fn events(provider: &Strict, body: &Value, step: &str, says: &Says) -> Vec<String> {
    let usage = bill::of_message(provider, body);
    let mut frames = vec![
        event(
            "message_start",
            json!({ "message": { "type": "message", "role": "assistant", "content": [], "usage": usage } }),
        ),
        event("ping", json!({})),
    ];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>, frames: &mut Vec<String>| {
        frames.push(event("content_block_start", json!({ "index": index, "content_block": begin })));
        frames.extend(
            deltas
                .into_iter()
                .map(|delta| event("content_block_delta", json!({ "index": index, "delta": delta }))),
        );
        frames.push(event("content_block_stop", json!({ "index": index })));
        index += 1;
    };
    let thought = thought(step);
    let (head, tail) = thought.split_at(thought.len() / 2);
    let thinking = |text| json!({ "type": "thinking_delta", "thinking": text });
    let signature = json!({ "type": "signature_delta", "signature": seal(provider, step) });
    let deltas = vec![thinking(head), thinking(tail), signature];
    block(json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas, &mut frames);
    block(json!({ "type": "redacted_thinking", "data": seal(provider, step) }), Vec::new(), &mut frames);
    let (output, reason) = match says {
        Says::Text(text) => {
            let deltas = pieces(text).map(|piece| json!({ "type": "text_delta", "text": piece })).collect();
            block(json!({ "type": "text", "text": "" }), deltas, &mut frames);
            (text.len(), "end_turn")
        }
        Says::Calls(count) => {
            for n in 0..*count {
                let begin = json!({ "type": "tool_use", "id": call_id(provider, step, n), "name": "clock", "input": {} });
                let deltas =
                    ["{", "}"].map(|text| json!({ "type": "input_json_delta", "partial_json": text }));
                block(begin, deltas.to_vec(), &mut frames);
            }
            (*count, "tool_use")
        }
    };
    let usage = json!({ "output_tokens": tokens(output) });
    frames.push(event("message_delta", json!({ "delta": { "stop_reason": reason }, "usage": usage })));
    frames.push(event("message_stop", json!({})));
    frames
}

fn event(kind: &str, mut more: Value) -> String {
    more["type"] = kind.into();
    format!("event: {kind}\ndata: {more}\n\n")
}

//! OpenAI's Responses format. Requests set `store` to false: reasoning arrives encrypted, is saved in the log, and is
//! sent back before the item that followed it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use session::{PromptCall, PromptMessage, ProviderPart, Usage};

use super::{Decoder, Delta, Ending, Finish, PART_BYTES_MAX, Part, ProviderError, Question, refusal};
use crate::dialect::{CallIds, Dialect, tools_as_text, with_call_ids};
use crate::media::MediaKind;

/// The kinds of parts: an item of reasoning, and the phase of the message that follows.
const REASONING: &str = "reasoning";
const PHASE: &str = "phase";

/// The body of a question.
pub fn body(question: &Question, dialect: &Dialect) -> Value {
    let offers_tools = !question.tools.is_empty() && dialect.tools;
    let asked = if offers_tools { question.messages.clone() } else { tools_as_text(&question.messages) };
    let mut instructions: Vec<String> = question.instructions.iter().cloned().collect();
    let mut input: Vec<Value> = Vec::new();
    for message in with_call_ids(&asked, CallIds::Usual) {
        match message {
            PromptMessage::Summary(text) => instructions.push(super::before(&text)),
            PromptMessage::Note(text) => input.extend(message_of("user", &text)),
            PromptMessage::User(said) => {
                let parts = question.parts(&said, dialect);
                match message_of("user", &said.text) {
                    Some(message) if parts.is_empty() => input.push(message),
                    message => {
                        let text = message.map(|_| json!({ "type": "input_text", "text": said.text }));
                        let content: Vec<Value> =
                            text.into_iter().chain(parts.iter().map(input_of)).collect();
                        if !content.is_empty() {
                            input.push(json!({ "role": "user", "content": content }));
                        }
                    }
                }
            }
            PromptMessage::Assistant { text, calls, parts, .. } => {
                input.extend(said(&text, &parts));
                input.extend(calls.iter().flat_map(|call| call_of(call, &parts)));
            }
            PromptMessage::Result { provider_call, content, .. } => {
                input.push(
                    json!({ "type": "function_call_output", "call_id": provider_call, "output": content }),
                );
            }
        }
    }
    let mut body = json!({
        "model": question.model,
        "input": input,
        "stream": true,
        "store": false,
        "max_output_tokens": question.output_tokens_max,
    });
    if !instructions.is_empty() {
        body["instructions"] = instructions.join("\n\n").into();
    }
    if dialect.encrypted_reasoning {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if dialect.reasoning_summary {
        body["reasoning"] = json!({ "summary": "auto" });
    }
    if let Some(effort) = &dialect.lowest_effort {
        body["reasoning"]["effort"] = effort.as_ref().into();
    }
    if offers_tools {
        let tools = question.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.about,
                "parameters": tool.arguments,
                // Strict schemas are a subset of JSON Schema.
                "strict": false,
            })
        });
        body["tools"] = tools.collect();
    }
    body
}

fn input_of(part: &Part<'_>) -> Value {
    let Part { name, media } = part;
    match media.kind {
        MediaKind::Picture => json!({ "type": "input_image", "image_url": media.url() }),
        MediaKind::Document => {
            json!({ "type": "input_file", "filename": name, "file_data": media.url() })
        }
    }
}

/// A message, if it says anything.
fn message_of(role: &str, text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "role": role, "content": text }))
}

/// Returns the text of an answer, with the reasoning before each piece. Reasoning that nothing followed is left out,
/// because providers reject it.
fn said(text: &str, parts: &[ProviderPart]) -> Vec<Value> {
    let mut input = Vec::new();
    let mut before: Vec<&ProviderPart> = Vec::new();
    let mut from = 0;
    let mut say = |before: &mut Vec<&ProviderPart>, text: &str| {
        let Some(mut message) = message_of("assistant", text) else { return };
        for part in before.drain(..) {
            match (part.kind.as_str(), serde_json::from_str::<Value>(&part.data)) {
                (PHASE, Ok(phase)) => message[PHASE] = phase,
                (_, Ok(item)) => input.push(item),
                // What can't be read was not written by this format.
                (_, Err(_)) => {}
            }
        }
        input.push(message);
    };
    for part in parts.iter().filter(|part| part.call.is_none()) {
        let at = usize::try_from(part.text_before).unwrap_or(usize::MAX).min(text.len());
        let at = text.floor_char_boundary(at).max(from);
        if at > from {
            say(&mut before, &text[from..at]);
            before.clear();
            from = at;
        }
        before.push(part);
    }
    say(&mut before, &text[from..]);
    input
}

/// A call with the reasoning before it.
fn call_of(call: &PromptCall, parts: &[ProviderPart]) -> Vec<Value> {
    let own = parts.iter().filter(|part| part.call == Some(call.call) && part.kind == REASONING);
    let mut items: Vec<Value> = own.filter_map(|part| serde_json::from_str(&part.data).ok()).collect();
    items.push(json!({
        "type": "function_call",
        "call_id": call.provider_call,
        "name": call.tool,
        "arguments": call.arguments,
    }));
    items
}

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub struct Events {
    ending: Ending,
    /// The pieces of each item so far: text, reasoning or arguments.
    arrived: BTreeMap<u32, String>,
    /// Reasoning whose next item has not arrived.
    pending: Vec<Value>,
    calls: bool,
}

impl Events {
    /// Reads the beginning of an item, and attaches the reasoning before it.
    fn begin(&mut self, place: u32, item: &Value) -> Vec<Delta> {
        let mut deltas = Vec::new();
        let of_call = match item["type"].as_str() {
            Some("function_call") => {
                self.calls = true;
                let text = |field: &str| item[field].as_str().map(str::to_owned);
                deltas.push(Delta::Call {
                    place,
                    id: text("call_id"),
                    tool: text("name"),
                    arguments: String::new(),
                });
                Some(place)
            }
            Some("message") => None,
            _ => return deltas,
        };
        deltas.extend(self.pending.drain(..).map(|reasoning| Delta::Part {
            place: of_call,
            kind: REASONING,
            data: reasoning.to_string(),
        }));
        if item[PHASE].is_string() {
            deltas.push(Delta::Part { place: None, kind: PHASE, data: item[PHASE].to_string() });
        }
        deltas
    }

    /// Reads a piece of an item.
    fn piece(&mut self, place: u32, piece: &str) -> Option<String> {
        self.arrived.entry(place).or_default().push_str(piece);
        (!piece.is_empty()).then(|| piece.to_owned())
    }

    /// Reads a whole item. Returns the rest that did not arrive in pieces, and keeps reasoning to send back.
    fn end(&mut self, place: u32, item: &Value) -> Option<Delta> {
        let arrived = self.arrived.get(&place).map_or("", String::as_str);
        let rest =
            |whole: &str| whole.strip_prefix(arrived).filter(|rest| !rest.is_empty()).map(str::to_owned);
        match item["type"].as_str()? {
            "message" => rest(&text_of(item)).map(Delta::Text),
            "function_call" => {
                let arguments = rest(item["arguments"].as_str().unwrap_or_default())?;
                Some(Delta::Call { place, id: None, tool: None, arguments })
            }
            "reasoning" => {
                let kept = json!({
                    "type": "reasoning",
                    "summary": item["summary"].as_array().cloned().unwrap_or_default(),
                    "encrypted_content": item["encrypted_content"],
                });
                // Without its content the provider would look for an item that it did not store.
                if item["encrypted_content"].is_string() && kept.to_string().len() <= PART_BYTES_MAX {
                    self.pending.push(kept);
                }
                rest(&reasoning_of(item)).map(Delta::Reasoning)
            }
            _ => None,
        }
    }

    /// Reads how an answer ended.
    fn finish(&self, response: &Value) -> Finish {
        match response["status"].as_str() {
            Some("completed") if self.calls => Finish::Calls,
            Some("completed") => Finish::Said,
            Some("incomplete") => match response["incomplete_details"]["reason"].as_str() {
                Some("max_output_tokens") => Finish::Length,
                Some("content_filter") => Finish::Withheld,
                reason => Finish::Other(super::said(reason.unwrap_or("incomplete"))),
            },
            status => Finish::Other(super::said(status.unwrap_or("none"))),
        }
    }
}

impl Decoder for Events {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if let Some(ended) = self.ending.without_content(data) {
            return ended;
        }
        let event: Value = super::parse(data)?;
        let place = event["output_index"].as_u64().and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        let delta = event["delta"].as_str().unwrap_or_default();
        let mut deltas = Vec::new();
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" => deltas.extend(self.begin(place, &event["item"])),
            // A refusal is shown as the answer's text.
            "response.output_text.delta" | "response.refusal.delta" => {
                deltas.extend(self.piece(place, delta).map(Delta::Text));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                deltas.extend(self.piece(place, delta).map(Delta::Reasoning));
            }
            "response.reasoning_summary_part.added" if self.arrived.contains_key(&place) => {
                deltas.extend(self.piece(place, PARAGRAPH).map(Delta::Reasoning));
            }
            "response.function_call_arguments.delta" => {
                let piece = self.piece(place, delta);
                deltas.extend(piece.map(|arguments| Delta::Call { place, id: None, tool: None, arguments }));
            }
            "response.output_item.done" => deltas.extend(self.end(place, &event["item"])),
            "response.completed" | "response.incomplete" => {
                let response = &event["response"];
                deltas.extend(usage(&response["usage"]));
                self.ending = Ending::Given;
                deltas.push(Delta::End(self.finish(response)));
            }
            "response.failed" => return Err(refusal::of_event(&event["response"]["error"])),
            "error" => {
                let error = if event["error"].is_object() { &event["error"] } else { &event };
                return Err(refusal::of_event(error));
            }
            // Beginnings and ends of parts, and kinds of later versions.
            _ => {}
        }
        Ok(deltas)
    }

    fn document(&mut self, answer: &Value) -> Option<Vec<Delta>> {
        let mut deltas = Vec::new();
        for (at, item) in answer["output"].as_array()?.iter().enumerate() {
            let place = u32::try_from(at).unwrap_or(u32::MAX);
            deltas.extend(self.begin(place, item));
            deltas.extend(self.end(place, item));
        }
        deltas.extend(usage(&answer["usage"]));
        self.ending = Ending::Given;
        deltas.push(Delta::End(self.finish(answer)));
        Some(deltas)
    }

    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }
}

/// Stands between the parts of a summary of reasoning.
const PARAGRAPH: &str = "\n\n";

fn text_of(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str())).collect()
}

fn reasoning_of(item: &Value) -> String {
    let parts = |field: &str| {
        let parts = item[field].as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>()
    };
    let summary = parts("summary");
    if summary.is_empty() { parts("content").concat() } else { summary.join(PARAGRAPH) }
}

fn usage(counts: &Value) -> Option<Delta> {
    let input_tokens = counts["input_tokens"].as_u64()?;
    let detail = |details: &str, name: &str| counts[details][name].as_u64().unwrap_or(0);
    Some(Delta::Usage(Usage {
        input_tokens,
        output_tokens: counts["output_tokens"].as_u64().unwrap_or(0),
        cached_tokens: detail("input_tokens_details", "cached_tokens"),
        reasoning_tokens: detail("output_tokens_details", "reasoning_tokens"),
        ..Usage::default()
    }))
}

#[cfg(test)]
mod tests {
    use session::{CallNo, Message};

    use super::*;

    fn part(call: Option<u32>, text_before: u64, kind: &str, data: Value) -> ProviderPart {
        ProviderPart {
            wire: "responses".to_owned(),
            family: String::new(),
            kind: kind.to_owned(),
            call: call.map(CallNo),
            text_before,
            data: data.to_string(),
        }
    }

    fn input(text: &str, parts: Vec<ProviderPart>) -> Value {
        let call = PromptCall {
            call: CallNo(1),
            provider_call: Some("call_a".to_owned()),
            tool: "clock".to_owned(),
            arguments: "{}".to_owned(),
        };
        let question = Question {
            model: "m".to_owned(),
            instructions: Some("Be brief.".to_owned()),
            messages: vec![
                PromptMessage::Summary("herons".to_owned()),
                PromptMessage::User(Message::text("time?")),
                PromptMessage::Assistant {
                    text: text.to_owned(),
                    reasoning: "hm".to_owned(),
                    calls: vec![call],
                    parts,
                },
                PromptMessage::Result { call: CallNo(1), provider_call: None, content: "noon".to_owned() },
            ],
            tools: vec![crate::provider::ToolOffer {
                name: "clock".to_owned(),
                about: "Tells the time.".to_owned(),
                arguments: json!({ "type": "object" }),
            }],
            output_tokens_max: 100,
            effort: crate::Effort::Default,
            shown: crate::media::Shown::default(),
        };
        body(&question, &Dialect::of("https://api.openai.com/v1", "gpt-5.5"))
    }

    #[test]
    fn reasoning_goes_back_before_what_followed_it() {
        let reasoning = |id: u32| json!({ "type": "reasoning", "encrypted_content": id });
        let body = input(
            "Let me look.",
            vec![
                part(None, 0, REASONING, reasoning(1)),
                part(None, 0, PHASE, json!("commentary")),
                part(Some(1), 12, REASONING, reasoning(2)),
                // What followed these did not arrive.
                part(None, 12, REASONING, reasoning(3)),
                part(Some(9), 12, REASONING, reasoning(4)),
            ],
        );
        let call =
            json!({ "type": "function_call", "call_id": "call_a", "name": "clock", "arguments": "{}" });
        let expected = json!([
            { "role": "user", "content": "time?" },
            reasoning(1),
            { "role": "assistant", "content": "Let me look.", "phase": "commentary" },
            reasoning(2),
            call,
            { "type": "function_call_output", "call_id": "call_a", "output": "noon" },
        ]);
        assert_eq!(body["input"], expected);
        assert_eq!(body["instructions"], "Be brief.\n\nWhat was said before, in short:\nherons");
        assert_eq!(
            (&body["store"], &body["include"][0]),
            (&json!(false), &json!("reasoning.encrypted_content"))
        );
        assert_eq!(body["tools"][0]["name"], "clock");
        let blank = input(" ", vec![part(None, 0, REASONING, reasoning(1))]);
        assert_eq!(blank["input"][1]["type"], "function_call", "{blank}");
    }

    #[test]
    fn reasoning_is_kept_with_the_item_that_follows_it() {
        let read = |events: &[Value]| {
            let mut decoder = Events::default();
            let deltas =
                events.iter().flat_map(|event| decoder.event(&event.to_string()).unwrap_or_default());
            deltas.filter(|delta| matches!(delta, Delta::Part { .. })).collect::<Vec<_>>()
        };
        let item = |at: u32, item: Value| {
            ["response.output_item.added", "response.output_item.done"]
                .map(|kind| json!({ "type": kind, "output_index": at, "item": item }))
        };
        let reasoning = |content: Value| json!({ "type": "reasoning", "id": "rs_1", "status": null, "summary": [], "encrypted_content": content });
        let call = json!({ "type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}" });
        let kept = json!({ "type": "reasoning", "summary": [], "encrypted_content": "sealed" }).to_string();
        let deltas = read(&[item(0, reasoning(json!("sealed"))), item(1, call.clone())].concat());
        assert_eq!(deltas, [Delta::Part { place: Some(1), kind: REASONING, data: kept.clone() }]);
        let message = json!({ "type": "message", "phase": "final_answer", "content": [] });
        let deltas = read(&[item(0, reasoning(json!("sealed"))), item(1, message)].concat());
        let phase = Delta::Part { place: None, kind: PHASE, data: "\"final_answer\"".to_owned() };
        assert_eq!(deltas, [Delta::Part { place: None, kind: REASONING, data: kept }, phase]);
        assert_eq!(read(&[item(0, reasoning(Value::Null)), item(1, call)].concat()), []);
        assert_eq!(read(&item(0, reasoning(json!("sealed")))), [], "nothing followed it");
    }
}

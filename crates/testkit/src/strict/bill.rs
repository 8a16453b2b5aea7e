//! The usage that a strict server reports: input and output tokens, cached tokens, and the cost. The names of the fields
//! differ by provider.

use serde_json::{Value, json};

use super::rules::{blocks, role};
use super::{Strict, prompt_bytes, tokens};

/// The price of a token at the simulated OpenRouter, in dollars.
const DOLLARS_PER_TOKEN: f64 = 0.000_002;

/// How a provider caches prompts and reports cached tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caches {
    /// Reports nothing, whether it caches or not.
    Uncounted,
    /// Caches by itself; the count is in the details of the input tokens.
    Details,
    /// Caches by itself; the count is in a field of this name.
    Field(&'static str),
    /// Caches what the request marks.
    Marked,
}

impl Caches {
    fn of(provider: &Strict) -> Self {
        match provider.name {
            "anthropic" | "openrouter" | "litellm" => Self::Marked,
            "deepseek" => Self::Field("prompt_cache_hit_tokens"),
            "kimi" => Self::Field("cached_tokens"),
            "ollama" | "ollama-without-tools" | "lm-studio" => Self::Uncounted,
            // Reported only with an option of the request or of the server, or not documented.
            "mistral" | "vllm" | "vllm-without-parser" | "together" => Self::Uncounted,
            _ => Self::Details,
        }
    }
}

/// The tokens of a request, by price.
struct Counted {
    input: usize,
    cached: usize,
    /// Written to the cache.
    written: usize,
    output: usize,
}

impl Counted {
    /// Counts the messages before the last answer as cached, because an earlier request had them.
    fn of(provider: &Strict, body: &Value, output: usize) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let known = messages.iter().rposition(|message| role(message) == "assistant").unwrap_or(0);
        let known = messages[..known].iter().map(|message| message.to_string().len()).sum();
        let (input, known) = (tokens(prompt_bytes(body)), tokens(known));
        let (cached, written) = match Caches::of(provider) {
            Caches::Uncounted => (0, 0),
            Caches::Details | Caches::Field(_) => (known, 0),
            Caches::Marked if has_marks(body, messages) => (known, input.saturating_sub(known) / 2),
            Caches::Marked => (0, 0),
        };
        Self { input, cached, written, output: tokens(output) }
    }
}

/// Whether a request has cache marks, in its instructions or its messages.
fn has_marks(body: &Value, messages: &[Value]) -> bool {
    let system = body["system"].as_array().into_iter().flatten();
    system.chain(messages.iter().flat_map(blocks)).any(|block| !block["cache_control"].is_null())
}

/// Returns the usage in Chat Completions.
pub(super) fn of_chunks(provider: &Strict, body: &Value, output: usize) -> Value {
    let counted = Counted::of(provider, body, output);
    let mut usage = json!({ "prompt_tokens": counted.input, "completion_tokens": counted.output });
    match Caches::of(provider) {
        Caches::Uncounted => {}
        Caches::Details => usage["prompt_tokens_details"] = json!({ "cached_tokens": counted.cached }),
        Caches::Field(name) => usage[name] = counted.cached.into(),
        Caches::Marked => {
            usage["prompt_tokens_details"] =
                json!({ "cached_tokens": counted.cached, "cache_write_tokens": counted.written });
        }
    }
    if provider.host() == Some("openrouter.ai") {
        let tokens = u32::try_from(counted.input + counted.output).unwrap_or(u32::MAX);
        usage["cost"] = (f64::from(tokens) * DOLLARS_PER_TOKEN).into();
    }
    usage
}

/// Returns the usage in Responses.
pub(super) fn of_response(provider: &Strict, body: &Value, output: usize) -> Value {
    let counted = Counted::of(provider, body, output);
    json!({
        "input_tokens": counted.input,
        "input_tokens_details": { "cached_tokens": counted.cached },
        "output_tokens": counted.output,
    })
}

/// Returns the usage at the beginning of a Message. Its input tokens don't include cached ones.
pub(super) fn of_message(provider: &Strict, body: &Value) -> Value {
    let counted = Counted::of(provider, body, 1);
    json!({
        "input_tokens": counted.input.saturating_sub(counted.cached + counted.written),
        "cache_read_input_tokens": counted.cached,
        "cache_creation_input_tokens": counted.written,
        "output_tokens": counted.output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_earlier_messages_are_cached_and_only_if_marked_where_marks_are_needed() {
        let asked = |content: Value| {
            json!({ "messages": [
                { "role": "user", "content": "Hello, who are you, and how are you?" },
                { "role": "assistant", "content": "I am." },
                { "role": "user", "content": content },
            ] })
        };
        let plain = asked(json!("And?"));
        let marked = asked(json!([{ "type": "text", "text": "And?", "cache_control": {} }]));
        let cached = |provider: &str, body: &Value| {
            let provider = Strict::named(provider).expect("the table has it");
            Counted::of(provider, body, 1).cached
        };
        assert_eq!(cached("anthropic", &plain), 0);
        assert!(cached("anthropic", &marked) > 0);
        assert!(cached("openai", &plain) > 0);
        assert_eq!(cached("ollama", &plain), 0);
        let first = json!({ "messages": [{ "role": "user", "content": "Hello." }] });
        assert_eq!(cached("openai", &first), 0);
    }
}

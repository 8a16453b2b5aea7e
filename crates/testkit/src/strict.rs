//! Simulated providers that check requests as strictly as the real ones, and reject them with the real error messages.
//! A server keeps no state: its answer depends only on the request.
//!
//! | file | question |
//! | --- | --- |
//! | `table.rs` | which providers are there, and what does each insist on? |
//! | `rules.rs` | which requests are refused, and with which message? |
//! | `responses.rs` | what differs in the Responses format? |
//! | `speech.rs` | which answers are given, and how are they streamed? |
//! | `bill.rs` | which usage does an answer report, and how much of it was cached? |
//! | `listing.rs` | which models does a provider list, and with which details? |
//! | `serve.rs` | how does a released binary reach them without leaving this machine? |
//! | `stories.rs` | what does a person do with each of them? |
//! | `ability.rs` | which abilities does that show? |
//! | `lacks.rs` | which provider lacks which abilities, and why? |
//! | `page.rs` | what does `docs/providers.md` say about them? |
//! | `search.rs` | is there a history after which no message can succeed? |

pub mod ability;
mod bill;
mod lacks;
mod listing;
pub mod page;
pub mod pictures;
pub(crate) mod responses;
pub mod rules;
#[cfg(feature = "inject")]
pub mod search;
pub mod serve;
pub mod speech;
pub mod stories;
pub mod table;

use agent::Wire;
use serde_json::{Value, json};

use self::rules::{Breach, Check, Rule};
use self::speech::{Calls, Speech, Thinks};
pub use self::table::PROVIDERS;

/// Bytes of instructions, tools and messages that every model here reads.
pub const PROMPT_BYTES_MAX: usize = 30_000;
/// Bytes that each of their tokens has.
const BYTES_PER_TOKEN: usize = 4;

/// A simulated provider.
#[derive(Debug)]
pub struct Strict {
    /// A short name for seals and results.
    pub name: &'static str,
    /// The name that people know; it stands in answers.
    pub title: &'static str,
    /// The base URL, or a path if the server is local.
    pub base: &'static str,
    pub wire: Wire,
    pub model: &'static str,
    pub rules: &'static [Rule],
    pub speech: Speech,
    pub errors: Errors,
    pub too_long: TooLong,
}

/// The shape of a refusal.
#[derive(Debug, Clone, Copy)]
pub enum Errors {
    /// `{"error":{"message","type","param","code"}}`
    OpenAi,
    /// `{"type":"error","error":{"type","message"}}`
    Anthropic,
    /// `[{"error":{"code","message","status"}}]`
    Google,
    /// `{"object":"error","message","type","code"}`
    Flat,
    /// `{"error":{"code","message"}}`
    Coded,
    /// `{"code","error":"…"}`
    Text,
    /// `{"detail":[{"type","loc","msg"}]}` for fields, otherwise as [`Errors::Flat`].
    Detail,
}

/// The refusal of a prompt that is too long. `{sent}`, `{limit}` and `{answer}` stand for tokens.
#[derive(Debug, Clone, Copy)]
pub struct TooLong {
    pub words: &'static str,
    pub code: &'static str,
    /// Whether the refusal arrives as an event of a stream that began with 200.
    pub in_stream: bool,
}

/// A server's reaction to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    Refuses {
        status: u16,
        body: String,
        /// What failed, unless it was the length, the model or the key.
        check: Option<Check>,
    },
    /// The events of a stream, each as it is sent.
    Answers(Vec<String>),
}

impl Strict {
    /// The provider of this short name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Returns the URL to configure, with `port` for local servers.
    pub fn url(&self, port: u16) -> String {
        let base = self.base_at(port);
        // If a base has both of OpenAI's formats, the URL of the whole endpoint selects the one that is not the
        // default.
        let speaks_both = PROVIDERS.iter().any(|other| other.base == self.base && other.wire != self.wire);
        if speaks_both && Wire::of_openai(&base) != self.wire { self.endpoint_at(port) } else { base }
    }

    /// Returns the URL of the endpoint, with `port` for local servers.
    pub fn endpoint_at(&self, port: u16) -> String {
        format!("{}{}", self.base_at(port), self.endpoint())
    }

    fn base_at(&self, port: u16) -> String {
        if self.is_local() { format!("http://127.0.0.1:{port}{}", self.base) } else { self.base.to_owned() }
    }

    /// Whether it runs on the user's machine.
    pub fn is_local(&self) -> bool {
        self.base.starts_with('/')
    }

    /// Its host, if it has one of its own.
    pub fn host(&self) -> Option<&'static str> {
        self.base.strip_prefix("https://")?.split('/').next()
    }

    /// The key that it takes.
    pub fn key(&self) -> String {
        format!("key-for-{}", self.name)
    }

    /// The endpoint's path below the base.
    pub fn endpoint(&self) -> &'static str {
        match self.wire {
            Wire::OpenAi => "/chat/completions",
            Wire::Responses => "/responses",
            Wire::Anthropic => "/messages",
        }
    }

    /// Whether the model takes tools, however it is asked.
    pub fn has_tools(&self) -> bool {
        !self.rules.iter().any(|rule| rule.check == Check::NoTools)
    }

    /// Whether the model thinks, visibly or in a signature.
    pub fn thinks(&self) -> bool {
        self.speech.thinks != Thinks::Never || self.speech.calls == Calls::Signed
    }

    /// Whether thinking must come back with the calls that followed it.
    pub fn wants_thinking_back(&self) -> bool {
        self.rules.iter().any(|rule| {
            matches!(
                rule.check,
                Check::ReasoningBack { .. } | Check::SignatureBack | Check::ListBack(_) | Check::ThinkingBack
            )
        })
    }

    /// Checks a request and answers it, or refuses it.
    pub fn react(&self, body: &str) -> Reaction {
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            return self.refuse(&Breach::of("We could not parse the JSON body of your request."));
        };
        if body["model"] != self.model {
            let words =
                format!("The model `{}` does not exist or you do not have access to it.", body["model"]);
            return self.refuse(&Breach { status: 404, code: "model_not_found", ..Breach::of(words) });
        }
        if let Some(breach) = self.refuses_picture(&body) {
            return self.refuse(&breach);
        }
        let body = if self.wire == Wire::Responses { responses::with_messages(&body) } else { body };
        if let Some(breach) = self.rules.iter().find_map(|rule| rule.breach(self, &body)) {
            return self.refuse(&breach);
        }
        let sent = prompt_bytes(&body);
        if sent > PROMPT_BYTES_MAX {
            return self.refuse_length(&body, sent);
        }
        Reaction::Answers(speech::answer(self, &body))
    }

    fn refuse_length(&self, body: &Value, sent: usize) -> Reaction {
        let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let answer = limits.iter().find_map(|field| body[*field].as_u64());
        let words = self.too_long.words.replace("{sent}", &tokens(sent).to_string());
        let words = words.replace("{limit}", &tokens(PROMPT_BYTES_MAX).to_string());
        let words = words.replace("{answer}", &answer.unwrap_or_default().to_string());
        let breach = Breach { code: self.too_long.code, ..Breach::of(words) };
        if self.too_long.in_stream {
            let error = json!({ "error": { "message": breach.words } });
            return Reaction::Answers(vec![format!("event: error\ndata: {error}\n\n")]);
        }
        self.refuse(&breach)
    }

    /// A refusal in the shape that this provider gives it.
    pub fn refuse(&self, breach: &Breach) -> Reaction {
        let Breach { status, words, code, field, check } = breach;
        let code = (!code.is_empty()).then_some(*code);
        let kind = if *status == 401 { "authentication_error" } else { "invalid_request_error" };
        let flat =
            || json!({ "object": "error", "message": words, "type": kind, "param": null, "code": code });
        let body = match self.errors {
            Errors::OpenAi => {
                json!({ "error": { "message": words, "type": kind, "param": field, "code": code } })
            }
            Errors::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": words } }),
            Errors::Google => {
                json!([{ "error": { "code": status, "message": words, "status": "INVALID_ARGUMENT" } }])
            }
            Errors::Flat => flat(),
            Errors::Coded => {
                let code = code.map_or_else(|| json!(status), Value::from);
                json!({ "error": { "message": words, "code": code } })
            }
            Errors::Text => json!({ "code": "Client specified an invalid argument", "error": words }),
            Errors::Detail => match field {
                Some(field) => {
                    let mut place = vec!["body"];
                    place.extend(field.split('.'));
                    let detail =
                        json!({ "type": "extra_forbidden", "loc": place, "msg": words, "input": "" });
                    json!({ "detail": [detail] })
                }
                None => flat(),
            },
        };
        Reaction::Refuses { status: *status, body: body.to_string(), check: *check }
    }
}

/// Returns the bytes of a request that the model reads.
pub(crate) fn prompt_bytes(body: &Value) -> usize {
    let of = |field: &str| if body[field].is_null() { 0 } else { body[field].to_string().len() };
    of("messages") + of("system") + of("tools")
}

/// Tokens of so many bytes.
pub(crate) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_are_unique() {
        let mut names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
        let mut places: Vec<String> =
            PROVIDERS.iter().map(|provider| provider.endpoint_at(0) + provider.model).collect();
        names.sort_unstable();
        names.dedup();
        places.sort_unstable();
        places.dedup();
        assert_eq!((names.len(), places.len()), (PROVIDERS.len(), PROVIDERS.len()));
        assert!(PROVIDERS.len() >= 18);
    }

    #[test]
    fn every_provider_refuses_what_is_too_long_and_answers_the_rest() {
        for provider in PROVIDERS {
            let asked = |text: &str| {
                let mut body = json!({
                    "model": provider.model,
                    "stream": true,
                    "messages": [{ "role": "user", "content": text }],
                });
                if provider.wire == Wire::Anthropic {
                    body["max_tokens"] = 100.into();
                }
                if provider.wire == Wire::Responses {
                    body["input"] = body["messages"].take();
                }
                provider.react(&body.to_string())
            };
            let Reaction::Answers(events) = asked("Hello.") else {
                panic!("{}: {:?}", provider.name, asked("Hello."))
            };
            assert!(events.concat().contains("answers"), "{}", provider.name);
            match asked(&"x".repeat(PROMPT_BYTES_MAX)) {
                Reaction::Refuses { status: 400.., .. } => {}
                Reaction::Answers(events) if provider.too_long.in_stream => assert_eq!(events.len(), 1),
                other => panic!("{}: {other:?}", provider.name),
            }
        }
    }
}

//! The checks of a request before the model reads it, and the rules that give each check its error message.

use serde_json::Value;

use super::Strict;
use super::speech::{self, PLACEHOLDER, Seal};

/// A check, and the refusal if it fails. `{at}` stands for the place of the message and `{name}` for the field, role or id.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub check: Check,
    pub words: &'static str,
    pub status: u16,
    pub code: &'static str,
}

impl Rule {
    /// A rule whose breach is answered with 400 and no code.
    pub const fn new(check: Check, words: &'static str) -> Self {
        Self { check, words, status: 400, code: "" }
    }

    /// The same with a status of its own.
    pub const fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same with a code of its own.
    pub const fn with_code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// Returns the refusal if the request breaks this rule.
    pub fn breach(&self, provider: &Strict, body: &Value) -> Option<Breach> {
        let Found { at, name, field } = self.check.find(provider, body)?;
        let words = self.words.replace("{at}", &at.to_string()).replace("{name}", &name);
        Some(Breach { status: self.status, words, code: self.code, field, check: Some(self.check) })
    }
}

/// A refusal before it gets its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub status: u16,
    pub words: String,
    pub code: &'static str,
    /// The field that it is about, with dots between its steps.
    pub field: Option<String>,
    pub check: Option<Check>,
}

impl Breach {
    pub(crate) fn of(words: impl Into<String>) -> Self {
        Self { status: 400, words: words.into(), code: "", field: None, check: None }
    }
}

/// A check of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// No field of the request but these.
    Fields(&'static [&'static str]),
    /// No field of a message but these.
    MessageFields(&'static [&'static str]),
    /// No field of a call but these.
    CallFields(&'static [&'static str]),
    /// This field is not taken.
    Without(&'static str),
    /// This field must be there.
    With(&'static str),
    /// Tools are taken only without thinking.
    ToolsWithoutThinking,
    /// Tools are not taken at all.
    NoTools,
    /// A list of tools has at least one.
    NoEmptyTools,
    /// Tools are declared when the history holds calls or results.
    ToolsDeclared,
    /// Every call is answered by a result right after it.
    CallsAnswered,
    /// Every result answers a call right before it.
    ResultsAsked,
    /// Nothing of the user's comes right after a result.
    NoUserAfterResult,
    /// Nobody but a tool speaks twice in a row, and the user begins.
    RolesAlternate,
    /// There is one system message at most, at the beginning.
    OneSystemFirst,
    /// The user begins.
    UserFirst,
    /// The last message is the user's or a tool's.
    EndsWithUserOrTool,
    /// No message and no block of text is blank.
    NoBlankContent,
    /// Ids have 1 to 64 letters, digits, `_` and `-`.
    UsualIds,
    /// Ids have nine letters and digits.
    NineLetterIds,
    /// No two calls have the same id.
    UniqueIds,
    /// Calls come with the reasoning that led to them.
    ReasoningBack { may_be_empty: bool },
    /// The first call of each step has the signature that it came with, or the documented placeholder if it has none.
    SignatureBack,
    /// Calls come with this list, as it was sent.
    ListBack(&'static str),
    /// Calls come with the thinking blocks of their step before them.
    ThinkingBack,
    /// No answer ends with a thinking block.
    ThinkingNotLast,
    /// Sealed parts are this provider's own, and unchanged.
    OwnSeals,
    /// At most four cache marks.
    CacheMarks,
}

/// Where a check failed.
struct Found {
    at: usize,
    name: String,
    field: Option<String>,
}

fn found(at: usize, name: impl Into<String>) -> Option<Found> {
    Some(Found { at, name: name.into(), field: None })
}

fn field(at: usize, name: &str, path: String) -> Option<Found> {
    Some(Found { at, name: name.to_owned(), field: Some(path) })
}

impl Check {
    /// Whether a client may learn of this check from a refusal. Such a check is about the request's form alone, so
    /// every history can still be sent.
    pub fn may_be_learned(self) -> bool {
        let of_form = matches!(self, Self::Fields(_) | Self::Without(_));
        of_form || matches!(self, Self::ToolsWithoutThinking | Self::NoTools)
    }

    fn find(self, provider: &Strict, body: &Value) -> Option<Found> {
        let messages = Messages::of(body);
        match self {
            Self::Fields(_)
            | Self::MessageFields(_)
            | Self::CallFields(_)
            | Self::Without(_)
            | Self::With(_) => self.find_field(body, &messages),
            Self::ToolsWithoutThinking
            | Self::NoTools
            | Self::NoEmptyTools
            | Self::ToolsDeclared
            | Self::CacheMarks => self.find_option(body, &messages),
            Self::CallsAnswered
            | Self::ResultsAsked
            | Self::UsualIds
            | Self::NineLetterIds
            | Self::UniqueIds => self.find_call(&messages),
            Self::NoUserAfterResult
            | Self::RolesAlternate
            | Self::OneSystemFirst
            | Self::UserFirst
            | Self::EndsWithUserOrTool
            | Self::NoBlankContent => self.find_order(&messages),
            Self::ReasoningBack { .. }
            | Self::SignatureBack
            | Self::ListBack(_)
            | Self::ThinkingBack
            | Self::ThinkingNotLast
            | Self::OwnSeals => self.find_part(provider, &messages),
        }
    }

    fn find_field(self, body: &Value, messages: &Messages<'_>) -> Option<Found> {
        match self {
            Self::Fields(known) => {
                let name = unknown(body, known)?;
                field(0, name, name.to_owned())
            }
            Self::MessageFields(known) => messages.0.iter().enumerate().find_map(|(at, message)| {
                let name = unknown(message, known)?;
                field(at, name, format!("messages.{at}.{}.{name}", role(message)))
            }),
            Self::CallFields(known) => messages.calls().find_map(|(at, call)| {
                let name = unknown(call, known)?;
                field(at, name, format!("messages.{at}.tool_calls.{name}"))
            }),
            Self::Without(name) if !body[name].is_null() => field(0, name, name.to_owned()),
            Self::With(name) if body[name].is_null() => field(0, name, name.to_owned()),
            _ => None,
        }
    }

    fn find_option(self, body: &Value, messages: &Messages<'_>) -> Option<Found> {
        let tools = body["tools"].as_array();
        let has_tools = tools.is_some_and(|tools| !tools.is_empty());
        let breaks = match self {
            Self::ToolsWithoutThinking => has_tools && body["reasoning_effort"] != "none",
            Self::NoTools => tools.is_some(),
            Self::NoEmptyTools => tools.is_some_and(Vec::is_empty),
            Self::ToolsDeclared => {
                !has_tools && (messages.calls().next().is_some() || messages.results().next().is_some())
            }
            Self::CacheMarks => body.to_string().matches("\"cache_control\"").count() > 4,
            _ => false,
        };
        if breaks { found(0, "") } else { None }
    }

    fn find_call(self, messages: &Messages<'_>) -> Option<Found> {
        let bad_id = |is_good: fn(&str) -> bool| {
            messages.calls().find(|(_, call)| !is_good(id(call))).and_then(|(at, call)| found(at, id(call)))
        };
        match self {
            Self::UsualIds => bad_id(is_usual_id),
            Self::NineLetterIds => {
                bad_id(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            }
            Self::UniqueIds => {
                let mut seen = std::collections::BTreeSet::new();
                messages
                    .calls()
                    .find(|(_, call)| !seen.insert(id(call)))
                    .and_then(|(at, call)| found(at, id(call)))
            }
            Self::CallsAnswered => messages.calls().find_map(|(at, call)| {
                let is_answered = messages.results_after(at).iter().any(|result| *result == id(call));
                if is_answered { None } else { found(at, id(call)) }
            }),
            Self::ResultsAsked => messages.results().find_map(|(at, result)| {
                let asked = messages.asked_before(at);
                let is_asked = asked.is_some_and(|asked| calls_of(asked).any(|call| id(call) == result));
                if is_asked { None } else { found(at, result) }
            }),
            _ => None,
        }
    }

    fn find_order(self, messages: &Messages<'_>) -> Option<Found> {
        let all = messages.0;
        let said = || all.iter().enumerate().filter(|(_, message)| role(message) != "system");
        match self {
            Self::NoUserAfterResult => {
                let at =
                    all.windows(2).position(|pair| role(&pair[0]) == "tool" && role(&pair[1]) == "user")?;
                found(at + 1, "user")
            }
            Self::RolesAlternate => {
                let mut before = "assistant";
                said().find_map(|(at, message)| {
                    let speaker = role(message);
                    let repeats = speaker == before && speaker != "tool";
                    // After a result, the assistant or the user may speak.
                    before = speaker;
                    if repeats { found(at, speaker) } else { None }
                })
            }
            Self::OneSystemFirst => {
                let at = all.iter().skip(1).position(|message| role(message) == "system")?;
                found(at + 1, "system")
            }
            Self::UserFirst => said()
                .next()
                .filter(|(_, first)| role(first) != "user")
                .and_then(|(at, first)| found(at, role(first))),
            Self::EndsWithUserOrTool => {
                let last = all.last()?;
                if matches!(role(last), "user" | "tool") { None } else { found(all.len() - 1, role(last)) }
            }
            Self::NoBlankContent => {
                let at = all.iter().position(is_blank)?;
                found(at, role(&all[at]))
            }
            _ => None,
        }
    }

    fn find_part(self, provider: &Strict, messages: &Messages<'_>) -> Option<Found> {
        let mut asking =
            messages.0.iter().enumerate().filter(|(_, message)| calls_of(message).next().is_some());
        match self {
            Self::ReasoningBack { may_be_empty } => asking.find_map(|(at, message)| {
                let reasoning = message["reasoning_content"].as_str();
                let is_there = reasoning.is_some_and(|text| may_be_empty || !text.is_empty());
                // An answer that was cut and went on has the reasoning of both.
                let is_own = |step| reasoning.is_some_and(|text| text.contains(&speech::thought(step)));
                let is_lost = own_step(provider, message).is_some_and(|step| !is_own(step));
                if is_there && !is_lost { None } else { found(at, "reasoning_content") }
            }),
            Self::SignatureBack => asking.find_map(|(at, message)| {
                let first = calls_of(message).next()?;
                let signature = first["extra_content"]["google"]["thought_signature"].as_str();
                let expected = match provider.speech.step_of(id(first)) {
                    Some(step) => speech::seal(provider, step),
                    None => PLACEHOLDER.to_owned(),
                };
                if signature == Some(expected.as_str()) { None } else { found(at, id(first)) }
            }),
            Self::ListBack(name) => asking.find_map(|(at, message)| {
                let expected = speech::opaque_list(provider, own_step(provider, message)?);
                if message[name] == expected { None } else { found(at, name) }
            }),
            Self::ThinkingBack => asking.find_map(|(at, message)| {
                let expected = speech::thinking_blocks(provider, own_step(provider, message)?);
                let blocks = blocks(message);
                let call = blocks.iter().position(|block| block["type"] == "tool_use")?;
                let is_there =
                    blocks[..call].windows(expected.len()).any(|window| window == expected.as_slice());
                if is_there { None } else { found(at, "tool_use") }
            }),
            Self::ThinkingNotLast => messages.0.iter().enumerate().find_map(|(at, message)| {
                let last = blocks(message).last()?;
                let kind = last["type"].as_str().filter(|kind| kind.ends_with("thinking"))?;
                found(at, kind)
            }),
            Self::OwnSeals => messages.0.iter().enumerate().find_map(|(at, message)| {
                let mut seals = Vec::new();
                Seal::collect(message, &mut seals);
                let foreign = seals.into_iter().find(|seal| seal.provider != provider.name)?;
                found(at, foreign.provider)
            }),
            _ => None,
        }
    }
}

/// The step of a message's calls, if this provider made them.
fn own_step<'a>(provider: &Strict, message: &'a Value) -> Option<&'a str> {
    calls_of(message).find_map(|call| provider.speech.step_of(id(call)))
}

fn unknown<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    object.as_object()?.keys().map(String::as_str).find(|name| !known.contains(name))
}

fn is_usual_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The messages of a request.
struct Messages<'a>(&'a [Value]);

impl<'a> Messages<'a> {
    fn of(body: &'a Value) -> Self {
        Self(body["messages"].as_array().map_or(&[], Vec::as_slice))
    }

    /// Every call, with the place of its message.
    fn calls(&self) -> impl Iterator<Item = (usize, &'a Value)> {
        self.0.iter().enumerate().flat_map(|(at, message)| calls_of(message).map(move |call| (at, call)))
    }

    /// The call that each result names, with the place of its message.
    fn results(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(at, message)| results_of(message).map(move |result| (at, result)))
    }

    /// The calls that are answered right after a message.
    fn results_after(&self, at: usize) -> Vec<&'a str> {
        let after = &self.0[at + 1..];
        let is_result = |message: &&Value| role(message) == "tool";
        let in_tools = after.iter().take_while(is_result).flat_map(results_of);
        let in_blocks =
            after.first().into_iter().filter(|message| role(message) == "user").flat_map(results_of);
        in_tools.chain(in_blocks).collect()
    }

    /// The message whose calls a result at this place may answer.
    fn asked_before(&self, at: usize) -> Option<&'a Value> {
        let mut before = self.0[..at].iter().rev();
        if role(&self.0[at]) == "tool" {
            return before.find(|message| role(message) != "tool");
        }
        before.next()
    }
}

pub(crate) fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

/// The calls of a message, in either wire format.
pub(crate) fn calls_of(message: &Value) -> impl Iterator<Item = &Value> {
    let in_blocks = blocks(message).iter().filter(|block| block["type"] == "tool_use");
    message["tool_calls"].as_array().into_iter().flatten().chain(in_blocks)
}

/// The calls that a message answers.
pub(crate) fn results_of(message: &Value) -> impl Iterator<Item = &str> {
    let in_blocks = blocks(message).iter().filter_map(|block| block["tool_use_id"].as_str());
    message["tool_call_id"].as_str().into_iter().chain(in_blocks)
}

pub(crate) fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

fn id(call: &Value) -> &str {
    call["id"].as_str().unwrap_or_default()
}

/// Whether a message, or a block of its text, says nothing.
fn is_blank(message: &Value) -> bool {
    match &message["content"] {
        Value::String(text) => {
            text.trim().is_empty() && calls_of(message).next().is_none() && role(message) != "tool"
        }
        Value::Array(blocks) => {
            let is_blank = |block: &Value| {
                block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
            };
            blocks.is_empty() || blocks.iter().any(is_blank)
        }
        _ => calls_of(message).next().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn breaks(check: Check, provider: &str, body: &Value) -> bool {
        let provider = Strict::named(provider).expect("the table has it");
        Rule::new(check, "{at} {name}").breach(provider, body).is_some()
    }

    /// One request that keeps each of these checks, and one that breaks it.
    fn holds(provider: &str, check: Check, good: Value, bad: Value) {
        assert!(!breaks(check, provider, &good), "{check:?} refuses {good}");
        assert!(breaks(check, provider, &bad), "{check:?} takes {bad}");
    }

    fn messages(messages: Value) -> Value {
        json!({ "messages": messages })
    }

    fn user() -> Value {
        json!({ "role": "user", "content": "Hello." })
    }

    fn asks(ids: &[&str]) -> Value {
        let calls: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "type": "function" })).collect();
        json!({ "role": "assistant", "content": "", "tool_calls": calls })
    }

    fn result(id: &str) -> Value {
        json!({ "role": "tool", "tool_call_id": id, "content": "noon" })
    }

    fn said(text: &str) -> Value {
        json!({ "role": "assistant", "content": text })
    }

    #[test]
    fn fields_are_known() {
        let check = Check::Fields(&["model", "messages"]);
        holds("openai", check, json!({ "model": "m" }), json!({ "model": "m", "max": 1 }));
        let check = Check::MessageFields(&["role", "content"]);
        holds("openai", check, messages(json!([user()])), messages(json!([asks(&["a"])])));
        let check = Check::CallFields(&["id", "type"]);
        let signed = json!({ "role": "assistant", "tool_calls": [{ "id": "a", "extra_content": {} }] });
        holds("openai", check, messages(json!([asks(&["a"])])), messages(json!([signed])));
        holds("openai", Check::Without("a"), json!({}), json!({ "a": 1 }));
        holds("openai", Check::With("a"), json!({ "a": 1 }), json!({}));
    }

    #[test]
    fn tools_are_offered_as_the_model_takes_them() {
        let tools = |effort: &str| json!({ "tools": [{}], "reasoning_effort": effort });
        holds("openai", Check::ToolsWithoutThinking, tools("none"), tools("low"));
        holds("openai", Check::ToolsWithoutThinking, json!({}), json!({ "tools": [{}] }));
        holds("openai", Check::NoTools, json!({}), json!({ "tools": [{}] }));
        holds("openai", Check::NoEmptyTools, json!({ "tools": [{}] }), json!({ "tools": [] }));
        let history = json!([user(), asks(&["a"]), result("a")]);
        let declared = json!({ "tools": [{}], "messages": history });
        holds("anthropic", Check::ToolsDeclared, declared, messages(history));
    }

    #[test]
    fn calls_and_results_belong_together() {
        let both = messages(json!([user(), asks(&["a", "b"]), result("b"), result("a")]));
        let one = messages(json!([user(), asks(&["a", "b"]), result("a"), user()]));
        let late = messages(json!([user(), asks(&["a"]), user(), result("a")]));
        holds("openai", Check::CallsAnswered, both.clone(), one);
        holds("openai", Check::ResultsAsked, both.clone(), late);
        let orphan = messages(json!([user(), result("a")]));
        holds("openai", Check::ResultsAsked, both.clone(), orphan);
        let again = messages(json!([asks(&["a"]), result("a"), asks(&["a"]), result("a")]));
        holds("openai", Check::UniqueIds, both.clone(), again);
        holds("openai", Check::UsualIds, both, messages(json!([asks(&["a:b"])])));
        holds(
            "mistral",
            Check::NineLetterIds,
            messages(json!([asks(&["abcdefgh1"])])),
            messages(json!([asks(&["call_1"])])),
        );
    }

    #[test]
    fn blocks_belong_together_too() {
        let asks = |id: &str| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id }] });
        let result =
            |id: &str| json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id }] });
        let good = messages(json!([user(), asks("a"), result("a")]));
        holds(
            "anthropic",
            Check::CallsAnswered,
            good.clone(),
            messages(json!([user(), asks("a"), user(), result("a")])),
        );
        holds("anthropic", Check::ResultsAsked, good, messages(json!([user(), asks("a"), result("b")])));
    }

    #[test]
    fn everybody_speaks_in_turn() {
        let turns = messages(json!([user(), asks(&["a"]), result("a"), said("Noon."), user()]));
        let twice = messages(json!([user(), user()]));
        holds("vllm", Check::RolesAlternate, turns.clone(), twice);
        holds("vllm", Check::RolesAlternate, turns.clone(), messages(json!([said("Noon.")])));
        let asked_again = messages(json!([user(), asks(&["a"]), result("a"), user()]));
        holds("mistral", Check::NoUserAfterResult, turns.clone(), asked_again);
        let system = json!({ "role": "system", "content": "Be kind." });
        let late = messages(json!([system, user(), said("Yes."), system]));
        holds("vllm", Check::OneSystemFirst, messages(json!([system, user()])), late);
        holds("anthropic", Check::UserFirst, turns.clone(), messages(json!([said("Noon."), user()])));
        holds("mistral", Check::EndsWithUserOrTool, turns, messages(json!([user(), said("Noon.")])));
    }

    #[test]
    fn nothing_is_blank() {
        let good = messages(json!([user(), asks(&["a"]), result("a")]));
        holds("kimi", Check::NoBlankContent, good.clone(), messages(json!([user(), said("\n\n")])));
        let blank = json!({ "role": "assistant", "content": [{ "type": "text", "text": " " }, { "type": "tool_use" }] });
        holds("anthropic", Check::NoBlankContent, good, messages(json!([user(), blank])));
    }

    #[test]
    fn reasoning_comes_back() {
        let with = |reasoning: Value| {
            let mut asks = asks(&["a"]);
            asks["reasoning_content"] = reasoning;
            messages(json!([user(), asks, result("a")]))
        };
        let may_be_empty = Check::ReasoningBack { may_be_empty: true };
        let never_empty = Check::ReasoningBack { may_be_empty: false };
        holds("deepseek", may_be_empty, with(json!("")), with(Value::Null));
        holds("kimi", never_empty, with(json!("Hm.")), with(json!("")));
        let own = |reasoning: &str| {
            let mut asks = asks(&["call_00_dsabcdefgh0"]);
            asks["reasoning_content"] = reasoning.into();
            messages(json!([user(), asks]))
        };
        holds("deepseek", may_be_empty, own("Thinking of abcdefgh."), own("Something else."));
    }

    #[test]
    fn signatures_and_lists_come_back_as_they_were() {
        let signed = |id: &str, signature: &str| {
            let call = json!({ "id": id, "extra_content": { "google": { "thought_signature": signature } } });
            messages(json!([user(), { "role": "assistant", "tool_calls": [call] }]))
        };
        let (own, foreign) = ("function-call-geabcdefgh0", "call_1");
        let (seal, placeholder) = ("sealed-by-gemini-for-abcdefgh", PLACEHOLDER);
        holds("gemini", Check::SignatureBack, signed(own, seal), signed(own, placeholder));
        holds("gemini", Check::SignatureBack, signed(foreign, placeholder), signed(foreign, seal));
        holds("gemini", Check::OwnSeals, signed(own, seal), signed(own, "sealed-by-openrouter-for-abcdefgh"));
        let provider = Strict::named("openrouter").expect("the table has it");
        let listed = |details: Value| {
            let mut asks = asks(&["toolu_orabcdefgh0"]);
            asks["reasoning_details"] = details;
            messages(json!([user(), asks]))
        };
        let whole = speech::opaque_list(provider, "abcdefgh");
        let part = json!([whole[0]]);
        holds("openrouter", Check::ListBack("reasoning_details"), listed(whole), listed(part));
    }

    #[test]
    fn thinking_comes_back_whole_and_before_the_calls() {
        let provider = Strict::named("anthropic").expect("the table has it");
        let thinking = speech::thinking_blocks(provider, "abcdefgh");
        let call = json!({ "type": "tool_use", "id": "toolu_anabcdefgh0" });
        let blocks = |blocks: Value| messages(json!([user(), { "role": "assistant", "content": blocks }]));
        let whole = blocks(json!([thinking[0], thinking[1], call]));
        holds("anthropic", Check::ThinkingBack, whole.clone(), blocks(json!([thinking[0], call])));
        holds(
            "anthropic",
            Check::ThinkingBack,
            whole.clone(),
            blocks(json!([call, thinking[0], thinking[1]])),
        );
        holds("anthropic", Check::ThinkingNotLast, whole, blocks(json!([thinking[0]])));
        let marked =
            |count| blocks(vec![json!({ "type": "text", "text": "a", "cache_control": {} }); count].into());
        holds("anthropic", Check::CacheMarks, marked(4), marked(5));
    }
}

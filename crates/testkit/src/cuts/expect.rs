//! What a session must hold after a case, worked out from the bytes alone.

use agent::provider::{anthropic, openai, responses};
use agent::{AnswerLimits, Broken, Decoder, Delta, Finish, ProviderError, Secrets, Wire, answer};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};

use super::wire::AFTER_TOOLS;
use super::{Case, Fault, Stream};

/// What the bytes of an answer say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub reasoning: String,
    /// Arguments of each call, in the order in which they began.
    pub calls: Vec<(u32, String)>,
    pub finish: Option<Finish>,
}

impl Said {
    fn nothing(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }
}

/// What follows the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    TheEnd,
    Silence,
}

/// Reads bytes as the format says, up to what follows them, their end or the first error.
pub fn read(wire: Wire, bytes: &[u8], then: Then) -> Said {
    let decoder: Box<dyn Decoder> = match wire {
        Wire::OpenAi => Box::new(openai::Chunks::default()),
        Wire::Responses => Box::new(responses::Events::default()),
        Wire::Anthropic => Box::new(anthropic::Events::default()),
    };
    let silence = match then {
        Then::TheEnd => futures_util::stream::empty().boxed(),
        Then::Silence => futures_util::stream::pending().boxed(),
    };
    let bytes = futures_util::stream::iter([Ok::<_, Broken>(Bytes::copy_from_slice(bytes))]).chain(silence);
    let mut deltas = answer(bytes, decoder, AnswerLimits::default(), Secrets::default());
    let mut said = Said::default();
    // Bytes at hand are read without waiting.
    while let Some(Some(delta)) = deltas.next().now_or_never() {
        match delta {
            Ok(Delta::Text(text)) => said.text.push_str(&text),
            Ok(Delta::Reasoning(text)) => said.reasoning.push_str(&text),
            Ok(Delta::Call { place, arguments, .. }) => {
                match said.calls.iter_mut().find(|(at, _)| *at == place) {
                    Some((_, all)) => all.push_str(&arguments),
                    None => said.calls.push((place, arguments)),
                }
            }
            Ok(Delta::Usage(_) | Delta::Part { .. }) => {}
            Ok(Delta::End(finish)) => said.finish = Some(finish),
            Err(
                ProviderError::Cut { .. }
                | ProviderError::Silent { .. }
                | ProviderError::Unreadable { .. }
                | ProviderError::Busy { .. }
                | ProviderError::Refused { .. },
            ) => {}
        }
    }
    said
}

/// How a run must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Completed,
    Failed,
    OutputLimit,
    Stopped,
}

/// What the session must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub text: String,
    pub reasoning: String,
    /// Calls that were asked for whole, and so were done.
    pub calls_done: usize,
    /// Calls of which something came.
    pub calls: usize,
    pub end: End,
}

/// Works out what must come of a case. `clean` is what the whole stream says.
pub fn expected(case: &Case<'_>, clean: &Said) -> Expected {
    let then = if case.fault == Fault::Stop { Then::Silence } else { Then::TheEnd };
    let said = read(case.stream.wire, &case.bytes(), then);
    let stopped = case.fault == Fault::Stop && said.finish.is_none();
    if stopped {
        return held(&said, End::Stopped);
    }
    if said.finish.is_some() {
        return whole(&said);
    }
    if said.text.is_empty() && said.calls.is_empty() {
        // It is asked again, and no part of the answer is said twice. Reasoning that came before the cut stays.
        let answered = whole(clean);
        return Expected { reasoning: format!("{}{}", said.reasoning, answered.reasoning), ..answered };
    }
    let takes_prefix = case.fault == Fault::CutWithPrefix && case.stream.wire != Wire::Responses;
    let goes_on = takes_prefix && !said.text.is_empty() && said.calls.is_empty();
    if !goes_on {
        return held(&said, End::Failed);
    }
    let rest = rest(case.stream, clean, &said.text);
    Expected { text: format!("{}{rest}", said.text), ..held(&said, End::Completed) }
}

/// What a model says when it goes on from a prefix.
fn rest(stream: &Stream, clean: &Said, said: &str) -> String {
    let shown = match stream.wire {
        Wire::OpenAi | Wire::Responses => said,
        Wire::Anthropic => said.trim_end(),
    };
    let rest = clean.text.strip_prefix(shown).unwrap_or("").trim_start();
    if rest.is_empty() { ".".to_owned() } else { rest.to_owned() }
}

fn held(said: &Said, end: End) -> Expected {
    Expected {
        text: said.text.clone(),
        reasoning: said.reasoning.clone(),
        calls_done: 0,
        calls: said.calls.len(),
        end,
    }
}

/// An answer that ended by itself.
fn whole(said: &Said) -> Expected {
    match said.finish {
        Some(Finish::Said | Finish::Calls) if said.nothing() => held(said, End::Failed),
        Some(Finish::Said | Finish::Calls) if said.calls.is_empty() => held(said, End::Completed),
        Some(Finish::Said | Finish::Calls) => Expected {
            text: format!("{}{AFTER_TOOLS}", said.text),
            calls_done: said.calls.len(),
            ..held(said, End::Completed)
        },
        Some(Finish::Length) => held(said, End::OutputLimit),
        Some(Finish::WindowFull | Finish::Withheld | Finish::Other(_)) | None => held(said, End::Failed),
    }
}

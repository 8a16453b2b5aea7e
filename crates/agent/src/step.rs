//! One question and its answer, whatever happens to the stream: what arrives is reported at once, a cut is mended where
//! that doubles nothing, and what was said before a failure stays said.

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use session::{CallNo, Progress, PromptMessage, ProviderPart, RetryReason, Usage};
use tokio::time::Instant;
use tracing::Instrument;

use crate::limits::Spent;
use crate::meter::{self, Purpose};
use crate::provider::{BusyKind, Delta, Finish, ProviderError, Question, RefusalKind, refusal};
use crate::retry::{self, Streamed};
use crate::run::{Agent, Over, Sink};

const TOO_LARGE: &str = "Your message is larger than the model's window. It is saved: choose a model with a larger window, \
    or undo it and send less at once.";

/// Bytes of the parts of one step that only its provider understands.
const PARTS_BYTES_MAX: usize = 1024 * 1024;

/// What the model said in one step.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Asked>,
    /// What only the provider understands, of the last try.
    pub(crate) parts: Vec<ProviderPart>,
    /// The provider's id of the last request.
    request: Option<String>,
}

/// A call that the model asks for.
#[derive(Debug)]
pub(crate) struct Asked {
    place: u32,
    pub(crate) no: CallNo,
    pub(crate) provider_call: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: String,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum StepEnd {
    Answered(Answered),
    /// The model reached its output limit.
    OutputLimit {
        tokens: u64,
    },
    /// The prompt does not fit the model's window, and nothing was said. In words for a person.
    TooLong(String),
    /// In words for a person. What was said is kept.
    Failed(String),
}

/// A step in the making.
pub(crate) struct Step<'a, S> {
    pub(crate) agent: &'a Agent,
    pub(crate) sink: &'a S,
    pub(crate) spent: &'a mut Spent,
    /// Calls of the run so far.
    pub(crate) calls_before: u32,
}

/// Why a try brought no whole answer.
enum Cut {
    Over,
    Provider(ProviderError),
    Limit(String),
}

impl From<Over> for Cut {
    fn from(_: Over) -> Self {
        Self::Over
    }
}

impl<S: Sink> Step<'_, S> {
    /// Asks, and asks on until there is an answer or no sense in asking.
    pub(crate) async fn run(mut self, mut question: Question) -> Result<StepEnd, Over> {
        let model = self.agent.model();
        if !self.agent.fits(&question) {
            return Ok(StepEnd::TooLong(TOO_LARGE.to_owned()));
        }
        // The answer may have begun before this step: it goes on from there.
        let begun = question.messages.pop_if(
            |last| matches!(last, PromptMessage::Assistant { text, calls, .. } if calls.is_empty() && !text.is_empty()),
        );
        let (begun, begun_parts) = match begun {
            Some(PromptMessage::Assistant { text, parts, .. }) => (text, parts),
            _ => (String::new(), Vec::new()),
        };
        let mut said = Answered::default();
        let mut tries = 0;
        loop {
            let mut asked = question.clone();
            let text = format!("{begun}{}", said.text);
            if !text.is_empty() {
                asked.messages.push(PromptMessage::Assistant {
                    text,
                    reasoning: String::new(),
                    calls: Vec::new(),
                    parts: begun_parts.clone(),
                });
            }
            tries += 1;
            said.parts.clear();
            let tried = self.attempt(&asked, &mut said).await;
            if !matches!(tried, Err(Cut::Over)) {
                self.keep_parts(&mut said).await?;
            }
            let error = match tried {
                Ok(finish) => return Ok(ended(finish, said, model.output_tokens_max)),
                Err(Cut::Over) => return Err(Over),
                Err(Cut::Limit(reason)) => return Ok(StepEnd::Failed(reason)),
                Err(Cut::Provider(error)) => error,
            };
            let streamed = match &said {
                // Reasoning alone is no part of the answer: asking again doubles nothing that counts.
                Answered { text, calls, .. } if text.is_empty() && calls.is_empty() => Streamed::Nothing,
                Answered { text, calls, .. }
                    if model.provider.continues_prefix() && !text.is_empty() && calls.is_empty() =>
                {
                    Streamed::Resumable
                }
                Answered { .. } => Streamed::Final,
            };
            if let ProviderError::Refused { kind: RefusalKind::TooLong, reason } = &error
                && streamed == Streamed::Nothing
            {
                model.density.refuse(question.size_bytes(), refusal::fraction_that_fits(reason));
                return Ok(StepEnd::TooLong(failure(&error)));
            }
            match retry::pause(&error, tries, streamed, retry::chance()) {
                Some(pause) => {
                    self.announce(&error, tries, pause, said.request.clone()).await?;
                    tokio::time::sleep(pause).await;
                    if streamed == Streamed::Nothing {
                        // The next try starts reasoning from the beginning.
                        said.reasoning.clear();
                    }
                }
                None => return Ok(StepEnd::Failed(with_request(failure(&error), said.request.as_deref()))),
            }
        }
    }

    /// Asks once and reports what comes.
    async fn attempt(&mut self, question: &Question, said: &mut Answered) -> Result<Finish, Cut> {
        let model = self.agent.model();
        let span = tracing::info_span!("ask", model = %model.name);
        let response = model.ask(question, Purpose::Answer).instrument(span).await;
        said.request = response.request;
        let mut deltas = response.answer.map_err(Cut::Provider)?;
        let mut usage: Option<Usage> = None;
        let ended = loop {
            let delta = match self.sink.rests_until() {
                None => deltas.next().await,
                Some(until) => read_at_rest(&mut deltas, until).await,
            };
            match delta {
                Some(Ok(Delta::Usage(counted))) => usage = Some(counted),
                Some(Ok(Delta::End(finish))) => break Ok(finish),
                Some(Ok(delta)) => self.take(delta, said).await?,
                Some(Err(error)) => break Err(Cut::Provider(error)),
                None => {
                    let reason = "the stream ended".to_owned();
                    break Err(Cut::Provider(ProviderError::Cut { reason }));
                }
            }
            if let Some(reason) = self.agent.limits.reached(self.spent) {
                break Err(Cut::Limit(reason));
            }
        };
        if ended.is_ok() {
            model.density.accept(question.size_bytes());
        }
        if let Some(usage) = usage {
            model.density.count(question.size_bytes(), usage.input_tokens, model.window_tokens);
            let usage = model.prices.priced(usage);
            self.spent.used(usage);
            self.sink.report(Progress::Usage(usage)).await?;
        }
        ended
    }

    /// Reports the parts of a try that brought text or calls. Those of any other try stand for nothing that is in the answer.
    async fn keep_parts(&self, said: &mut Answered) -> Result<(), Over> {
        let is_abandoned = said.text.is_empty() && said.calls.is_empty();
        if is_abandoned || fault::planted("provider_part_is_dropped") {
            said.parts.clear();
        }
        for part in &said.parts {
            self.sink.report(Progress::Part(part.clone())).await?;
        }
        Ok(())
    }

    /// Reports that the request is sent again after a pause.
    async fn announce(
        &self,
        error: &ProviderError,
        tries: u32,
        pause: Duration,
        request: Option<String>,
    ) -> Result<(), Over> {
        let reason = match error {
            ProviderError::Busy { kind: BusyKind::RateLimit, .. } => RetryReason::RateLimit,
            ProviderError::Busy { kind: BusyKind::Overloaded, .. } => RetryReason::Overloaded,
            ProviderError::Busy { kind: BusyKind::Network, .. } => RetryReason::Network,
            ProviderError::Silent { .. } => RetryReason::Silent,
            ProviderError::Cut { .. } | ProviderError::Unreadable { .. } | ProviderError::Refused { .. } => {
                RetryReason::Cut
            }
        };
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let model = self.agent.model().name.as_str();
        // The provider's words may quote the prompt: they belong to the session's log alone.
        tracing::warn!(
            model,
            ?reason,
            status = error.status(),
            tries,
            wait_ms,
            request,
            "provider request failed, retrying"
        );
        meter::count_retry(model, error);
        let retry = Progress::Retry { reason, error: error.reason(), wait_ms, request };
        self.sink.report(retry).await.map(drop)
    }

    async fn take(&mut self, delta: Delta, said: &mut Answered) -> Result<(), Over> {
        match delta {
            Delta::Text(text) => {
                self.spent.output(text.len());
                self.sink.text(&text).await?;
                said.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                self.spent.output(text.len());
                self.sink.reasoning(&text).await?;
                said.reasoning.push_str(&text);
            }
            Delta::Call { place, id, tool, arguments } => {
                self.spent.output(arguments.len());
                let at = said.calls.iter().position(|call| call.place == place);
                let at = at.unwrap_or_else(|| {
                    let no = self.calls_before + u32::try_from(said.calls.len()).unwrap_or(u32::MAX) + 1;
                    said.calls.push(Asked {
                        place,
                        no: CallNo(no),
                        provider_call: id,
                        tool: tool.unwrap_or_else(|| "unnamed".to_owned()),
                        arguments: String::new(),
                    });
                    said.calls.len() - 1
                });
                let call = &mut said.calls[at];
                self.sink.draft(call.no, &call.tool, &arguments).await?;
                call.arguments.push_str(&arguments);
            }
            Delta::Part { place, kind, data } => {
                let size_bytes: usize = said.parts.iter().map(|part| part.data.len()).sum();
                if size_bytes + data.len() > PARTS_BYTES_MAX {
                    tracing::warn!(kind, bytes = data.len(), "provider part dropped, step limit reached");
                    return Ok(());
                }
                let call = place.and_then(|place| said.calls.iter().find(|call| call.place == place));
                let provider = &self.agent.model().provider;
                said.parts.push(ProviderPart {
                    wire: provider.wire_now().name().to_owned(),
                    family: provider.dialect.now().family,
                    kind: kind.to_owned(),
                    call: call.map(|call| call.no),
                    text_before: said.text.len() as u64,
                    data,
                });
            }
            Delta::Usage(_) | Delta::End(_) => {}
        }
        Ok(())
    }
}

/// Returns how a step ended whose answer has an end.
fn ended(finish: Finish, said: Answered, output_tokens_max: u32) -> StepEnd {
    let failed = |reason: &str| StepEnd::Failed(with_request(reason.to_owned(), said.request.as_deref()));
    match finish {
        Finish::Calls if said.calls.is_empty() => {
            ended(Finish::Other("tool calls without a call".to_owned()), said, output_tokens_max)
        }
        Finish::Said | Finish::Calls => StepEnd::Answered(said),
        Finish::Length => StepEnd::OutputLimit { tokens: output_tokens_max.into() },
        Finish::WindowFull => {
            let text = "The model's window is full, so the answer is incomplete. Everything above is saved. \
                        Compact the session, then press Continue.";
            failed(text)
        }
        Finish::Withheld => {
            let text = "The provider's content filter stopped the answer. Everything above is saved. Edit your message, or \
                choose another model.";
            failed(text)
        }
        Finish::Other(reason) => failed(&format!(
            "The provider ended the answer early ({reason}), so it may be incomplete. Everything above is \
             saved; press Continue to resume it."
        )),
    }
}

/// Reads what is at hand; when nothing is, rests before it waits for more.
async fn read_at_rest<T>(deltas: &mut BoxStream<'static, T>, until: Instant) -> Option<T> {
    if let Some(delta) = deltas.next().now_or_never() {
        return delta;
    }
    // The connection has a task of its own, which may have read more already.
    tokio::task::yield_now().await;
    if let Some(delta) = deltas.next().now_or_never() {
        return delta;
    }
    tokio::time::sleep_until(until).await;
    deltas.next().await
}

/// Appends the provider's request id, which its support asks for, to a message.
fn with_request(mut message: String, request: Option<&str>) -> String {
    if let Some(request) = request {
        message.push_str(&format!(" Request ID: {request}"));
    }
    message
}

/// Says what happened and what to do next.
fn failure(error: &ProviderError) -> String {
    let reason = |reason: &str| reason.trim_end_matches(['.', ' ', ':']).to_owned();
    let happened = match error {
        ProviderError::Busy { kind: BusyKind::RateLimit, reason: told, .. } => {
            format!("The provider's rate limit was reached: {}", reason(told))
        }
        ProviderError::Busy { kind: BusyKind::Overloaded, reason: told, .. } => {
            format!("The provider is overloaded or failing: {}", reason(told))
        }
        ProviderError::Busy { kind: BusyKind::Network, reason: told, .. } => {
            format!("The provider can't be reached: {}", reason(told))
        }
        ProviderError::Refused { kind, reason: told } => {
            return format!("{}: {}. {}", refused(*kind), reason(told), advice(*kind));
        }
        ProviderError::Cut { reason: told } => format!("The answer was cut off: {}", reason(told)),
        ProviderError::Silent { seconds } => format!("The provider sent nothing for {seconds} s"),
        ProviderError::Unreadable { reason: told } => {
            format!("The provider's answer can't be read: {}", reason(told))
        }
    };
    format!("{happened}. Everything above is saved; press Continue to try again{}.", when(error))
}

/// Returns when to try again, if the provider asks for a longer wait than a run allows.
fn when(error: &ProviderError) -> String {
    match error {
        ProviderError::Busy { retry_after: Some(asked), .. } if *asked > retry::ASKED_MAX => {
            format!(" in {} minutes", asked.as_secs().div_ceil(60))
        }
        _ => String::new(),
    }
}

fn refused(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::TooLong => "The session is too long for this model",
        RefusalKind::Quota => "The provider account has no credit left",
        RefusalKind::Key => "The provider rejected the API key",
        RefusalKind::UnknownModel => "The provider doesn't know this model",
        RefusalKind::Policy => "The provider's rules don't allow this content",
        RefusalKind::Parameter => "The provider rejected a parameter",
        RefusalKind::NotAModel => "Unexpected response from the provider",
        RefusalKind::Other => "The provider rejected the request",
    }
}

fn advice(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::TooLong => {
            "Everything above is saved. Choose a model with a larger window, or start a new session."
        }
        RefusalKind::Quota => {
            "Everything above is saved. Add credit at the provider or choose another model, then press \
             Continue."
        }
        RefusalKind::Key => "Everything above is saved. Correct the key under Settings, then press Continue.",
        RefusalKind::UnknownModel | RefusalKind::NotAModel => {
            "Everything above is saved. Correct the model or its URL under Settings, or choose another model."
        }
        RefusalKind::Policy => "Everything above is saved. Edit your message, or choose another model.",
        RefusalKind::Parameter | RefusalKind::Other => {
            "Everything above is saved. Choose another model, or press Continue to try again."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::stream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_at_rest_reads_what_is_at_hand_at_once_and_the_rest_later_in_one_go() {
        let (say, said) = tokio::sync::mpsc::unbounded_channel();
        let said = stream::unfold(said, |mut said| async { said.recv().await.map(|word| (word, said)) });
        let mut said = said.boxed();
        let begun = Instant::now();
        let until = begun + Duration::from_millis(50);
        for word in ["one", "two"] {
            say.send(word).expect("it is read");
            assert_eq!(read_at_rest(&mut said, until).await, Some(word));
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let later = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ["three", "four"].map(|word| say.send(word).expect("it is read"))
        };
        let (read, _) = tokio::join!(read_at_rest(&mut said, until), later);
        assert_eq!((read, begun.elapsed()), (Some("three"), Duration::from_millis(50)));
        assert_eq!(read_at_rest(&mut said, until).await, Some("four"));
        drop(say);
        assert_eq!(read_at_rest(&mut said, until).await, None);
        assert_eq!(begun.elapsed(), Duration::from_millis(50));
    }
}

//! From the bytes of a stream to one answer: every delta in order, then its end; or an error that says that the answer
//! was cut off. What came before a cut has been given by then, so that it can be kept.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use sse_stream::{Sse, SseStream};
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::provider::{Decoder, Delta, Ending, ProviderError, Secrets, refusal, said};
use crate::transport::Broken;

/// Longest wait for what follows a whole answer: what it cost, and the end of the stream.
const BILL_MAX: Duration = Duration::from_secs(5);

/// What one answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Longest wait for the first byte: models may think for minutes before they stream.
    pub first_byte_max: Duration,
    /// Longest silence after it. Any byte counts, also of a comment that keeps the connection alive.
    pub silence_max: Duration,
    /// Bytes of the whole stream, with everything around the words.
    pub stream_bytes_max: usize,
    /// Bytes of one line. The last event of Responses repeats the whole answer.
    pub line_bytes_max: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            first_byte_max: Duration::from_secs(600),
            silence_max: Duration::from_secs(300),
            stream_bytes_max: 64 * 1024 * 1024,
            line_bytes_max: 4 * 1024 * 1024,
        }
    }
}

/// Reads one answer from the body of a reply: a stream of server-sent events, or a whole answer as one document. The
/// stream ends after the answer's end or an error. `secrets` are hidden wherever the provider repeats them.
pub fn answer<E: Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    decoder: Box<dyn Decoder>,
    limits: AnswerLimits,
    secrets: Secrets,
) -> BoxStream<'static, Result<Delta, ProviderError>> {
    let mut left = limits.stream_bytes_max;
    let mut line = 0;
    let heard = Heard::default();
    let (life, begun) = (heard.clone(), Instant::now());
    let counted = bytes.map_err(|error| Broken(describe(&error))).and_then(move |chunk| {
        life.note(Instant::now());
        let room = left.checked_sub(chunk.len());
        left = room.unwrap_or(0);
        line = match chunk.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => chunk.len() - end - 1,
            None => line + chunk.len(),
        };
        std::future::ready(if room.is_none() {
            Err(Broken(format!("it is longer than {} bytes", limits.stream_bytes_max)))
        } else if line > limits.line_bytes_max {
            Err(Broken(format!("a line of it is longer than {} bytes", limits.line_bytes_max)))
        } else {
            Ok(chunk)
        })
    });
    let alarm = Alarm::new(begun + limits.silence_max);
    let source = Source::Unknown(counted.boxed());
    let reading = Reading {
        source,
        decoder,
        waiting: VecDeque::new(),
        done: false,
        limits,
        secrets,
        alarm,
        heard,
        begun,
    };
    futures_util::stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        reading.done |= matches!(item, Err(_) | Ok(Delta::End(_)));
        Some((item, reading))
    })
    .boxed()
}

/// An error with what caused it.
pub(crate) fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    said(&text)
}

/// When the last byte of a stream arrived.
#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<Option<Instant>>>);

impl Heard {
    fn note(&self, at: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    fn last(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a reply.
enum Source {
    /// Only white space arrived so far.
    Unknown(BoxStream<'static, Result<Bytes, Broken>>),
    Events(BoxStream<'static, Result<Sse, String>>),
    /// A body that is not a stream, so far.
    Document(BoxStream<'static, Result<Bytes, Broken>>, Vec<u8>),
}

/// What came next from a body.
enum Arrived {
    Event(Sse),
    /// Bytes of an incomplete event.
    Bytes(Bytes),
    End,
}

impl Source {
    async fn next(&mut self) -> Result<Arrived, String> {
        match self {
            Self::Unknown(bytes) | Self::Document(bytes, _) => match bytes.next().await {
                Some(Ok(chunk)) => Ok(Arrived::Bytes(chunk)),
                Some(Err(Broken(reason))) => Err(reason),
                None => Ok(Arrived::End),
            },
            Self::Events(events) => match events.next().await {
                Some(event) => event.map(Arrived::Event),
                None => Ok(Arrived::End),
            },
        }
    }

    /// Takes bytes that are no event yet. The first that is no white space tells a document from a stream of events.
    fn take(self, chunk: Bytes) -> Self {
        match self {
            Self::Unknown(rest) => match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => Self::Unknown(rest),
                Some(b'{' | b'[' | b'<') => Self::Document(rest, chunk.to_vec()),
                Some(_) => {
                    let bytes = futures_util::stream::iter([Ok(chunk)]).chain(rest);
                    let events = SseStream::from_bytes_stream(bytes).map_err(|error| match error {
                        sse_stream::Error::Body(broken) => said(&broken.to_string()),
                        other => said(&other.to_string()),
                    });
                    Self::Events(events.boxed())
                }
            },
            Self::Document(rest, mut document) => {
                document.extend_from_slice(&chunk);
                Self::Document(rest, document)
            }
            Self::Events(events) => Self::Events(events),
        }
    }
}

struct Reading {
    source: Source,
    decoder: Box<dyn Decoder>,
    waiting: VecDeque<Delta>,
    done: bool,
    limits: AnswerLimits,
    secrets: Secrets,
    /// Rings after the longest silence.
    alarm: Alarm,
    heard: Heard,
    begun: Instant,
}

impl Reading {
    /// Returns what arrives next, or the length of the silence if it was too long.
    async fn arrived(&mut self) -> Result<Result<Arrived, String>, Duration> {
        // What follows a whole answer is not worth a long wait.
        let bill_until = matches!(self.decoder.ending(), Ending::Whole(_)).then(|| Instant::now() + BILL_MAX);
        loop {
            let (since, most) = match self.heard.last() {
                Some(last) => (last, self.limits.silence_max),
                None => (self.begun, self.limits.first_byte_max),
            };
            let until = bill_until.map_or(since + most, |bill| bill.min(since + most));
            tokio::select! {
                biased;
                arrived = self.source.next() => return Ok(arrived),
                () = self.alarm.until(until) => {}
            }
            if bill_until.is_some_and(|bill| Instant::now() >= bill) {
                return Err(BILL_MAX);
            }
            // Bytes without an event, as a comment is, are life too.
            let is_silent = self.heard.last().unwrap_or(self.begun) == since;
            if is_silent || fault::planted("comments_are_silence") {
                return Err(most);
            }
        }
    }

    /// Nothing more comes. An answer that is whole gives its end now, whatever became of the stream behind it.
    fn over(&mut self, error: ProviderError) -> Result<Vec<Delta>, ProviderError> {
        self.decoder.ending().give().map(|end| vec![end]).ok_or(error)
    }

    fn take(&mut self, arrived: Arrived) -> Result<Vec<Delta>, ProviderError> {
        match arrived {
            Arrived::Event(event) => {
                let data = self.hide(event.data.as_deref().unwrap_or_default().trim());
                self.decoder.event(&data)
            }
            Arrived::Bytes(chunk) => {
                let taken = std::mem::replace(
                    &mut self.source,
                    Source::Unknown(futures_util::stream::empty().boxed()),
                );
                self.source = taken.take(chunk);
                Ok(Vec::new())
            }
            Arrived::End => {
                if let Source::Document(_, document) = &self.source {
                    let document = self.hide(String::from_utf8_lossy(document)).into_owned();
                    return refusal::document(&document, self.decoder.as_mut());
                }
                self.over(ProviderError::Cut { reason: "the stream ended before the answer".to_owned() })
            }
        }
    }

    fn hide<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        self.secrets.hide(text)
    }

    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if self.done {
                return None;
            }
            if let Some(delta) = self.waiting.pop_front() {
                return Some(Ok(delta));
            }
            let deltas = match self.arrived().await {
                Err(silence) => self.over(ProviderError::Silent { seconds: silence.as_secs() }),
                Ok(Err(reason)) => self.over(ProviderError::Cut { reason }),
                // What can't be read behind a whole answer takes nothing from it.
                Ok(Ok(arrived)) => self.take(arrived).or_else(|error| self.over(error)),
            };
            match deltas {
                Ok(deltas) => self.waiting.extend(deltas),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

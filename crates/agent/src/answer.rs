//! From the bytes of a stream to one answer: every delta in order, then its end; or an error that says that the answer
//! was cut off. What came before a cut has been given by then, so that it can be kept.

use std::collections::VecDeque;
use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use sse_stream::{Sse, SseStream};
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::provider::{Decoder, Delta, Ending, ProviderError, said};
use crate::transport::Broken;

/// Longest wait for what follows a whole answer: what it cost, and the end of the stream.
const BILL_MAX: Duration = Duration::from_secs(5);

/// What one answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Longest silence: a stream that says nothing for so long is dead.
    pub silence_max: Duration,
    /// Bytes of the whole stream, with everything around the words.
    pub stream_bytes_max: usize,
    /// Bytes of one line.
    pub line_bytes_max: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            silence_max: Duration::from_secs(120),
            stream_bytes_max: 64 * 1024 * 1024,
            line_bytes_max: 1024 * 1024,
        }
    }
}

/// Reads one answer off a stream of server-sent events. The stream ends after the answer's end or an error.
pub fn answer<E: Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    decoder: Box<dyn Decoder>,
    limits: AnswerLimits,
) -> BoxStream<'static, Result<Delta, ProviderError>> {
    let mut left = limits.stream_bytes_max;
    let mut line = 0;
    let counted = bytes.map_err(|error| Broken(describe(&error))).and_then(move |chunk| {
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
    let events = SseStream::from_bytes_stream(counted).map_err(|error| describe(&error)).boxed();
    let alarm = Alarm::new(Instant::now() + limits.silence_max);
    let reading = Reading { events, decoder, waiting: VecDeque::new(), done: false, limits, alarm };
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

struct Reading {
    events: Pin<Box<dyn Stream<Item = Result<Sse, String>> + Send>>,
    decoder: Box<dyn Decoder>,
    waiting: VecDeque<Delta>,
    done: bool,
    limits: AnswerLimits,
    /// Rings after the longest silence.
    alarm: Alarm,
}

impl Reading {
    /// The next event or the end of the stream; nothing after too long a silence.
    async fn spoken(&mut self, silence_max: Duration) -> Option<Option<Result<Sse, String>>> {
        let until = Instant::now() + silence_max;
        tokio::select! {
            biased;
            event = self.events.next() => Some(event),
            () = self.alarm.until(until) => None,
        }
    }

    /// Nothing more comes. An answer that is whole gives its end now, whatever became of the stream behind it.
    fn over(&mut self, reason: String) -> Result<Vec<Delta>, ProviderError> {
        self.decoder.ending().give().map(|end| vec![end]).ok_or(ProviderError::Cut { reason })
    }

    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if self.done {
                return None;
            }
            if let Some(delta) = self.waiting.pop_front() {
                return Some(Ok(delta));
            }
            let silence_max = if matches!(self.decoder.ending(), Ending::Whole(_)) {
                self.limits.silence_max.min(BILL_MAX)
            } else {
                self.limits.silence_max
            };
            let deltas = match self.spoken(silence_max).await {
                None => self.over(format!("it was silent for {} s", silence_max.as_secs())),
                Some(Some(Err(reason))) => self.over(reason),
                Some(Some(Ok(event))) => self.decoder.event(event.data.as_deref().unwrap_or_default().trim()),
                Some(None) => self.over("the stream ended before the answer".to_owned()),
            };
            match deltas {
                Ok(deltas) => self.waiting.extend(deltas),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

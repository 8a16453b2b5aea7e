//! The log of a run as lines, and the times at which its retries are due.

use std::sync::Mutex;
use std::time::Duration;

use agent::{Over, Sink};
use session::{CallNo, Message, Progress, RetryReason, TurnId};
use tokio::time::Instant;

/// Collects the progress of a run.
pub(super) struct Log {
    begun: Instant,
    lines: Mutex<Vec<(&'static str, String)>>,
    announced: Mutex<Vec<Duration>>,
}

impl Default for Log {
    fn default() -> Self {
        Self { begun: Instant::now(), lines: Mutex::default(), announced: Mutex::default() }
    }
}

impl Log {
    /// Returns `text …`, `reasoning …`, `call …` and `retry REASON REQUEST: …` in order, then the end: `answered` or
    /// `failed: …`. Consecutive pieces of text or reasoning are one line.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().iter().map(|(kind, text)| format!("{kind}{text}")).collect()
    }

    /// Returns when each request is to be sent again, counted from the beginning.
    pub(super) fn announced(&self) -> Vec<Duration> {
        self.announced.lock().unwrap().clone()
    }

    fn add(&self, kind: &'static str, text: &str) {
        let mut lines = self.lines.lock().unwrap();
        match lines.last_mut() {
            Some((last, before)) if *last == kind && ["text ", "reasoning "].contains(&kind) => {
                before.push_str(text);
            }
            _ => lines.push((kind, text.to_owned())),
        }
    }
}

fn word(reason: &RetryReason) -> &'static str {
    match reason {
        RetryReason::RateLimit => "rate_limit",
        RetryReason::Overloaded => "overloaded",
        RetryReason::Network => "network",
        RetryReason::Silent => "silent",
        RetryReason::Cut => "cut",
        RetryReason::Other(_) => "other",
    }
}

impl Sink for Log {
    fn rests_until(&self) -> Option<Instant> {
        None
    }

    async fn text(&self, text: &str) -> Result<(), Over> {
        self.add("text ", text);
        Ok(())
    }

    async fn reasoning(&self, text: &str) -> Result<(), Over> {
        self.add("reasoning ", text);
        Ok(())
    }

    async fn draft(&self, _: CallNo, _: &str, _: &str) -> Result<(), Over> {
        Ok(())
    }

    async fn report(&self, progress: Progress) -> Result<Vec<Message>, Over> {
        match progress {
            Progress::Retry { reason, error, wait_ms, request } => {
                self.announced.lock().unwrap().push(self.begun.elapsed() + Duration::from_millis(wait_ms));
                let request = request.unwrap_or_else(|| "unnamed".to_owned());
                self.add("retry ", &format!("{} {request}: {error}", word(&reason)));
            }
            Progress::CallAsked { tool, .. } => self.add("call ", &tool),
            Progress::StepEnded => self.add("answered", ""),
            Progress::Failed { error } => self.add("failed: ", &error),
            Progress::OutputLimit { .. } => self.add("output limit", ""),
            _ => {}
        }
        Ok(Vec::new())
    }

    async fn compact(&self, _: String, _: TurnId) -> Result<(), Over> {
        Ok(())
    }
}

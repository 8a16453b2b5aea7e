//! What one run may use: steps, tokens, time and cost, counted and checked in one place.

use std::time::Duration;

use session::Usage;
use tokio::time::Instant;

/// The most that a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Questions to the model, retries not counted.
    pub steps_max: u32,
    /// Tokens of all steps, in and out.
    pub tokens_max: u64,
    pub time_max: Duration,
    /// Millionths of the currency of the model's prices.
    pub cost_micros_max: u64,
    /// Bytes of answer, reasoning and arguments.
    pub output_bytes_max: usize,
    /// How long one tool may take.
    pub tool_time_max: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            steps_max: 50,
            tokens_max: 10_000_000,
            time_max: Duration::from_secs(2 * 3_600),
            cost_micros_max: 10_000_000,
            output_bytes_max: 16 * 1024 * 1024,
            tool_time_max: Duration::from_secs(60),
        }
    }
}

/// What a run has used so far.
#[derive(Debug)]
pub(crate) struct Spent {
    begun: Instant,
    pub(crate) steps: u32,
    usage: Usage,
    /// What summaries used and no entry tells yet.
    unbilled: Usage,
    output_bytes: usize,
}

impl Spent {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            steps: 0,
            usage: Usage::default(),
            unbilled: Usage::default(),
            output_bytes: 0,
        }
    }

    pub(crate) fn step(&mut self) {
        self.steps += 1;
    }

    pub(crate) fn used(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
    }

    /// Counts what a summary used.
    pub(crate) fn used_beside(&mut self, usage: Usage) {
        self.used(usage);
        self.unbilled = self.unbilled.plus(usage);
    }

    /// Returns what summaries used since the last call, if anything.
    pub(crate) fn take_unbilled(&mut self) -> Option<Usage> {
        let unbilled = std::mem::take(&mut self.unbilled);
        (unbilled != Usage::default()).then_some(unbilled)
    }

    pub(crate) fn output(&mut self, size_bytes: usize) {
        self.output_bytes += size_bytes;
    }
}

impl RunLimits {
    /// Which limit is reached, in words for a person.
    pub(crate) fn reached(&self, spent: &Spent) -> Option<String> {
        let tokens = spent.usage.input_tokens.saturating_add(spent.usage.output_tokens);
        let reached = if spent.steps >= self.steps_max {
            format!("{} steps", self.steps_max)
        } else if tokens >= self.tokens_max {
            format!("{} tokens", self.tokens_max)
        } else if spent.begun.elapsed() >= self.time_max {
            format!("{} minutes", self.time_max.as_secs() / 60)
        } else if spent.usage.cost_micros >= self.cost_micros_max {
            format!(
                "a cost of {}.{:02}",
                self.cost_micros_max / 1_000_000,
                self.cost_micros_max / 10_000 % 100
            )
        } else if spent.output_bytes >= self.output_bytes_max {
            format!("{} bytes of output", self.output_bytes_max)
        } else {
            return None;
        };
        Some(format!(
            "The run reached its limit of {reached}. Everything above is saved; press Continue to resume it."
        ))
    }
}

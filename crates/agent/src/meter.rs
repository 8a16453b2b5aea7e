//! Metrics of requests to providers, by model and purpose. Without a recorder they cost nothing.

use futures_util::StreamExt;
use session::Usage;
use tokio::time::Instant;

use crate::model::Prices;
use crate::provider::{BusyKind, Delta, Finish, ProviderError, ProviderResponse, RefusalKind};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Answer,
    Title,
    Summary,
    /// A person's test of the model under Settings.
    Test,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::Test => "test",
        }
    }
}

/// Records one request. A request that is dropped before its end counts as canceled.
pub(crate) struct Meter {
    model: String,
    purpose: &'static str,
    prices: Prices,
    begun: Instant,
    is_begun: bool,
    is_ended: bool,
    usage: Option<Usage>,
}

impl Meter {
    pub(crate) fn new(model: &str, purpose: Purpose, prices: Prices) -> Self {
        Self {
            model: model.to_owned(),
            purpose: purpose.name(),
            prices,
            begun: Instant::now(),
            is_begun: false,
            is_ended: false,
            usage: None,
        }
    }

    /// Records the response while it is read.
    pub(crate) fn watch(mut self, response: ProviderResponse) -> ProviderResponse {
        let ProviderResponse { request, answer } = response;
        let answer = match answer {
            Ok(deltas) => Ok(deltas.inspect(move |delta| self.see(delta)).boxed()),
            Err(error) => {
                self.end(outcome_of(&error));
                Err(error)
            }
        };
        ProviderResponse { request, answer }
    }

    fn see(&mut self, delta: &Result<Delta, ProviderError>) {
        match delta {
            Ok(Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. }) => self.begin(),
            Ok(Delta::Usage(usage)) => self.usage = Some(*usage),
            Ok(Delta::End(finish)) => self.end(end_of(finish)),
            Ok(Delta::Part { .. }) => {}
            Err(error) => self.end(outcome_of(error)),
        }
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            let (model, purpose) = (self.model.clone(), self.purpose);
            metrics::histogram!("everturn_provider_first_token_seconds", "model" => model, "purpose" => purpose)
                .record(self.begun.elapsed().as_secs_f64());
        }
    }

    fn end(&mut self, outcome: &'static str) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        let (model, purpose) = (&self.model, self.purpose);
        metrics::counter!(
            "everturn_provider_requests_total",
            "model" => model.clone(), "purpose" => purpose, "outcome" => outcome
        )
        .increment(1);
        let Some(usage) = self.usage.map(|usage| self.prices.priced(usage)) else { return };
        for (kind, tokens) in [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_tokens),
            ("cache_write", usage.cache_write_tokens),
            ("reasoning", usage.reasoning_tokens),
        ] {
            metrics::counter!(
                "everturn_provider_tokens_total",
                "model" => model.clone(), "purpose" => purpose, "kind" => kind
            )
            .increment(tokens);
        }
        metrics::counter!(
            "everturn_provider_cost_micros_total",
            "model" => model.clone(), "purpose" => purpose
        )
        .increment(usage.cost_micros);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.end("canceled");
    }
}

/// Counts a request that is sent again.
pub(crate) fn count_retry(model: &str, error: &ProviderError) {
    let reason = outcome_of(error);
    metrics::counter!("everturn_provider_retries_total", "model" => model.to_owned(), "reason" => reason)
        .increment(1);
}

fn end_of(finish: &Finish) -> &'static str {
    match finish {
        Finish::Said | Finish::Calls => "ok",
        Finish::Length => "output_limit",
        Finish::WindowFull => "window_full",
        Finish::Withheld => "policy",
        Finish::Other(_) => "incomplete",
    }
}

fn outcome_of(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Busy { kind: BusyKind::RateLimit, .. } => "rate_limit",
        ProviderError::Busy { kind: BusyKind::Overloaded, .. } => "overloaded",
        ProviderError::Busy { kind: BusyKind::Network, .. } => "network",
        ProviderError::Cut { .. } => "cut",
        ProviderError::Silent { .. } => "silent",
        ProviderError::Unreadable { .. } => "unreadable",
        ProviderError::Refused { kind, .. } => match kind {
            RefusalKind::TooLong => "too_long",
            RefusalKind::Quota => "quota",
            RefusalKind::Key => "key",
            RefusalKind::UnknownModel => "unknown_model",
            RefusalKind::Parameter => "parameter",
            RefusalKind::Policy => "policy",
            RefusalKind::NotAModel => "not_a_model",
            RefusalKind::Other => "other",
        },
    }
}

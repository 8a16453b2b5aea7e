//! A model: whom to ask for it, how much it reads at once, and what it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use session::Usage;

use crate::meter::{Meter, Purpose};
use crate::provider::{Provider, ProviderResponse, Question};

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct Model {
    /// What people call it here.
    pub name: String,
    /// What the provider calls it.
    pub id: String,
    pub provider: Provider,
    /// Tokens that it reads and says together.
    pub window_tokens: u64,
    /// Tokens that one answer may have.
    pub output_tokens_max: u32,
    pub prices: Prices,
    /// Whether it is offered tools. Small models call them for no reason.
    pub uses_tools: bool,
    /// Bytes of text per token, shared by all clones of this model.
    pub density: Density,
}

impl Model {
    /// Sends a question to the model, and records the request in the metrics.
    pub async fn ask(&self, question: &Question, purpose: Purpose) -> ProviderResponse {
        let meter = Meter::new(&self.name, purpose, self.prices);
        meter.watch(self.provider.ask(question).await)
    }
}

/// Assumed and minimum bytes of text per token, in thousandths.
const DENSITY_ASSUMED: u64 = 3_000;
const DENSITY_MIN: u64 = 1_000;
/// A count is used only for prompts of at least one fourth of the window. In shorter ones, instructions and tools distort it.
const COUNTED_PARTS: usize = 4;

/// How much of what was refused as too long is sent afterwards: half, or most of what fits if that is known.
const REFUSED_PART: f64 = 0.5;
const FITTING_PART: f64 = 0.85;
/// Refusals never lower the limit below this, so refusals for other reasons can't make a model unusable.
const ACCEPTED_BYTES_MIN: usize = 4 * 1024;
/// An accepted prompt raises the limit by one part in this many.
const RISE_PART: usize = 16;

/// Bytes of text per token, from the provider's last count of a long prompt. It starts at a cautious estimate for most
/// languages and never exceeds it, because the next session may be in another language.
#[derive(Debug, Clone)]
pub struct Density(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    bytes_per_1000_tokens: AtomicU64,
    /// Largest prompt in bytes that the provider accepts, learned from refusals.
    accepted_bytes_max: AtomicUsize,
}

impl Default for Density {
    fn default() -> Self {
        Self(Arc::new(Counted {
            bytes_per_1000_tokens: AtomicU64::new(DENSITY_ASSUMED),
            accepted_bytes_max: AtomicUsize::new(usize::MAX),
        }))
    }
}

impl Density {
    /// Returns how many bytes of text `tokens` stand for.
    pub(crate) fn bytes_of(&self, tokens: u64) -> usize {
        let bytes = tokens.saturating_mul(self.0.bytes_per_1000_tokens.load(Ordering::Relaxed)) / 1_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Returns how many bytes of text fit into a window of `tokens`, and into what the provider was seen to accept.
    pub(crate) fn fitting(&self, tokens: u64) -> usize {
        self.bytes_of(tokens).min(self.0.accepted_bytes_max.load(Ordering::Relaxed))
    }

    /// Updates the density from the provider's token count of a prompt of `bytes` bytes.
    pub(crate) fn count(&self, bytes: usize, tokens: u64, window_tokens: u64) {
        // In bytes: tokens would not reach a fourth of the window any more after a count that was too dense.
        let is_long = bytes >= self.bytes_of(window_tokens) / COUNTED_PARTS;
        if tokens > 0 && is_long {
            let density = (bytes as u64).saturating_mul(1_000) / tokens;
            self.0
                .bytes_per_1000_tokens
                .store(density.clamp(DENSITY_MIN, DENSITY_ASSUMED), Ordering::Relaxed);
        }
    }

    /// Notes that the provider refused a prompt of `bytes` bytes as too long, and how much of it fits if it told that.
    pub(crate) fn refuse(&self, bytes: usize, fits: Option<f64>) {
        // The provider counts tokens, and the answer may count too.
        let most = bytes as f64 * fits.map_or(REFUSED_PART, |fits| fits * FITTING_PART);
        let most = (most as usize).max(ACCEPTED_BYTES_MIN);
        self.0.accepted_bytes_max.fetch_min(most, Ordering::Relaxed);
    }

    /// Records that the provider answered a prompt of `bytes` bytes. Raises the limit if the prompt used at
    /// least half of it: the refused prompt may have been in a denser language.
    pub(crate) fn accept(&self, bytes: usize) {
        let risen = |limit: usize| {
            let is_near = limit < usize::MAX && bytes >= limit / 2;
            is_near.then(|| bytes.max(limit.saturating_add(limit / RISE_PART)))
        };
        // An error means that the limit stays.
        self.0.accepted_bytes_max.fetch_update(Ordering::Relaxed, Ordering::Relaxed, risen).ok();
    }
}

/// Prices for a million tokens, in millionths of a currency; 0 when they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prices {
    pub input_micros: u64,
    pub output_micros: u64,
    /// For input that the provider reads from its cache, if the price differs.
    pub cached_micros: Option<u64>,
    /// For input that the provider writes to its cache, if the price differs.
    pub cache_write_micros: Option<u64>,
}

impl Prices {
    /// Usage as the provider counted it, with its cost: the provider's own if it told one.
    pub(crate) fn priced(self, usage: Usage) -> Usage {
        if usage.cost_micros > 0 {
            return usage;
        }
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let cost = part(usage.input_tokens - cached - written, self.input_micros)
            + part(cached, self.cached_micros.unwrap_or(self.input_micros))
            + part(written, self.cache_write_micros.unwrap_or(self.input_micros))
            + part(usage.output_tokens, self.output_micros);
        let cost_micros = u64::try_from(cost.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Usage { cost_micros, ..usage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_count_of_a_long_prompt_holds() {
        let density = Density::default();
        assert_eq!(density.bytes_of(1_000), 3_000);
        density.count(700, 700, 1_000);
        assert_eq!(density.bytes_of(1_000), 3_000, "the prompt was short");
        density.count(800, 1_600, 1_000);
        assert_eq!(density.bytes_of(1_000), 1_000, "no token has less than a byte");
        density.count(750, 300, 1_000);
        assert_eq!(density.bytes_of(1_000), 2_500);
        density.count(2_000, 400, 1_000);
        assert_eq!(density.bytes_of(1_000), 3_000);
    }

    #[test]
    fn a_limit_from_refusals_rises_again() {
        let density = Density::default();
        for _ in 0..40 {
            density.refuse(10_000, None);
        }
        assert_eq!(density.fitting(1_000_000), 5_000, "a refusal of the same size teaches nothing new");
        for _ in 0..40 {
            density.refuse(density.fitting(1_000_000), None);
        }
        assert_eq!(density.fitting(1_000_000), ACCEPTED_BYTES_MIN);
        density.accept(100);
        assert_eq!(density.fitting(1_000_000), ACCEPTED_BYTES_MIN, "a short prompt proves nothing");
        for _ in 0..100 {
            density.accept(density.fitting(1_000_000));
        }
        assert!(density.fitting(1_000_000) > 1_000_000, "{}", density.fitting(1_000_000));
        density.refuse(1_000_000, None);
        density.accept(800_000);
        assert_eq!(density.fitting(1_000_000), 800_000, "an accepted prompt fits");
    }

    #[test]
    fn cost_is_rounded_up() {
        let prices = Prices { input_micros: 3_000_000, output_micros: 15_000_000, ..Prices::default() };
        let usage = Usage { input_tokens: 1_000, output_tokens: 10, ..Usage::default() };
        assert_eq!(prices.priced(usage).cost_micros, 3_150);
        let usage = Usage { input_tokens: 1, output_tokens: 0, ..Usage::default() };
        let prices = Prices { input_micros: 1, ..Prices::default() };
        assert_eq!(prices.priced(usage).cost_micros, 1);
    }

    #[test]
    fn cached_tokens_have_prices_of_their_own_and_the_providers_cost_counts() {
        let prices = Prices {
            input_micros: 10_000_000,
            output_micros: 0,
            cached_micros: Some(1_000_000),
            cache_write_micros: Some(12_500_000),
        };
        let usage =
            Usage { input_tokens: 1_000, cached_tokens: 600, cache_write_tokens: 200, ..Usage::default() };
        assert_eq!(prices.priced(usage).cost_micros, 2_000 + 600 + 2_500);
        assert_eq!(prices.priced(Usage { cost_micros: 7, ..usage }).cost_micros, 7);
        let more = Usage { cached_tokens: 5_000, ..usage };
        assert_eq!(prices.priced(more).cost_micros, 1_000, "no more is cached than was sent");
    }
}

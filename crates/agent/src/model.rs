//! A model: whom to ask for it, how much it reads at once, and what it costs.

use session::Usage;

use crate::provider::Provider;

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
}

/// Prices for a million tokens, in millionths of a currency; 0 when they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prices {
    pub input_micros: u64,
    pub output_micros: u64,
}

impl Prices {
    /// Usage as the provider counted it, with its cost.
    pub(crate) fn priced(self, usage: Usage) -> Usage {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let cost =
            part(usage.input_tokens, self.input_micros) + part(usage.output_tokens, self.output_micros);
        let cost_micros = u64::try_from(cost.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Usage { cost_micros, ..usage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_rounded_up() {
        let prices = Prices { input_micros: 3_000_000, output_micros: 15_000_000 };
        let usage = Usage { input_tokens: 1_000, output_tokens: 10, cost_micros: 0 };
        assert_eq!(prices.priced(usage).cost_micros, 3_150);
        let usage = Usage { input_tokens: 1, output_tokens: 0, cost_micros: 0 };
        let prices = Prices { input_micros: 1, output_micros: 0 };
        assert_eq!(prices.priced(usage).cost_micros, 1);
    }
}

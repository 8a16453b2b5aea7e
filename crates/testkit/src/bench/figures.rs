//! How figures are judged: at full size by their bar, at CI size a speed only by half of it.

use std::time::Duration;

use super::Bench;
use crate::report::rounded;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As in CI, with less data where making it takes longest.
    Brief,
    /// Within 90 s in all; machines of a CI are shared and noisy.
    Ci,
    /// The sizes and the bars that count.
    Full,
}

impl Size {
    /// One of two values.
    pub(crate) fn pick<T>(self, ci: T, full: T) -> T {
        match self {
            Self::Brief | Self::Ci => ci,
            Self::Full => full,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.pick("CI size: a speed falls short only below half its bar", "full size")
    }
}

impl Bench {
    /// A speed that must be at least `bar`.
    pub(crate) fn at_least(&mut self, name: &str, value: f64, bar: f64) {
        let half = bar / 2.0;
        match self.size {
            Size::Brief | Size::Ci => {
                self.report.line(name, rounded(value), format!("≥{half}(half_of_{bar})"), value >= half)
            }
            Size::Full => self.report.line(name, rounded(value), format!("≥{bar}"), value >= bar),
        }
    }

    /// A time, or a ratio of times, that must be at most `bar`.
    pub(crate) fn at_most(&mut self, name: &str, value: f64, bar: f64) {
        self.report.at_most(name, value, bar, self.size == Size::Full);
    }

    /// A size that must be at most `bar` on every machine.
    pub(crate) fn within(&mut self, name: &str, value: f64, bar: f64) {
        self.report.line(name, rounded(value), format!("≤{bar}"), value <= bar);
    }

    /// A figure without a bar of its own.
    pub(crate) fn note(&self, name: &str, value: f64, about: &str) {
        self.report.note(&format!("{name} {} {about}", rounded(value)));
    }
}

/// The value below which a share `q` of all values lies.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * q) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(&mut values.to_vec(), 0.5)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

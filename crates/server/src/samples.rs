//! How the server was over the last quarter of an hour: a few figures every five seconds, for the pages that draw them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use utoipa::ToSchema;

/// A quarter of an hour, one every five seconds.
const SAMPLES_MAX: usize = 180;

/// Metrics at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(crate) struct Sample {
    pub(crate) at: i64,
    pub(crate) open_runs: u64,
    /// How far the session list and search lag behind the logs.
    pub(crate) lag_micros: i64,
    /// Commit latency over the last minute, including the sync.
    pub(crate) sync_p50_micros: u64,
    pub(crate) sync_p99_micros: u64,
    /// Answers completed since the server started.
    pub(crate) answers: u64,
}

/// The newest samples.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<VecDeque<Sample>>);

impl Samples {
    pub(crate) fn push(&self, sample: Sample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// Oldest first.
    pub(crate) fn all(&self) -> Vec<Sample> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

/// The sum of a figure's lines in the text that is told to Prometheus, of those lines that say `label`.
pub(crate) fn figure(text: &str, name: &str, label: &str) -> f64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(label))
    });
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_name_and_label() {
        let text = "# TYPE ends counter\nends{end=\"failed\"} 2\nends{end=\"completed\"} 40\nends_of_days 9\n\
                    took{quantile=\"0.5\"} 0.0012\ntook{quantile=\"0.99\"} 0.5\nplain 3\n";
        assert!((figure(text, "ends", "") - 42.0).abs() < 1e-9);
        assert!((figure(text, "took", "quantile=\"0.5\"") - 0.0012).abs() < 1e-9);
        assert!((figure(text, "plain", "") - 3.0).abs() < 1e-9);
        assert!(figure(text, "absent", "").abs() < 1e-9);
    }

    #[test]
    fn only_the_newest_are_kept() {
        let samples = Samples::default();
        let sample = |at| Sample {
            at,
            open_runs: 0,
            lag_micros: 0,
            sync_p50_micros: 0,
            sync_p99_micros: 0,
            answers: 0,
        };
        (0..500).for_each(|at| samples.push(sample(at)));
        let kept = samples.all();
        assert_eq!((kept.len(), kept[0].at, kept[179].at), (180, 320, 499));
    }
}

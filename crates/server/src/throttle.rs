//! How often somebody may be wrong: after a few failures each further try has to wait, longer and longer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures that cost nothing.
const FREE: u32 = 5;
const WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// Names and addresses that are remembered. Beyond that, those that wait least are forgotten.
const KNOWN_MAX: usize = 10_000;

/// What is known of failures, by account and by address.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<HashMap<String, Failures>>);

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    until: Instant,
}

impl Throttle {
    /// How long whoever goes by these keys has to wait before the next try.
    pub(crate) fn wait(&self, keys: &[String]) -> Option<Duration> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let waits = keys.iter().filter_map(|key| known.get(key));
        waits
            .map(|failures| failures.until.saturating_duration_since(now))
            .max()
            .filter(|wait| !wait.is_zero())
    }

    /// Notes a try before it is made, so that many at once are not one.
    pub(crate) fn failed(&self, keys: &[String]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        for key in keys {
            let failures = known.entry(key.clone()).or_insert(Failures { count: 0, until: now });
            failures.count = failures.count.saturating_add(1);
            let doublings = failures.count.saturating_sub(FREE).min(20);
            let wait =
                if doublings == 0 { Duration::ZERO } else { Duration::from_secs(1 << (doublings - 1)) };
            failures.until = now + wait.min(WAIT_MAX);
        }
        if known.len() > KNOWN_MAX {
            let mut ends: Vec<Instant> = known.values().map(|failures| failures.until).collect();
            ends.sort_unstable();
            let middle = ends.get(ends.len() / 2).copied().unwrap_or(now);
            known.retain(|_, failures| failures.until > middle);
        }
    }

    /// A try was right: what went before is forgotten.
    pub(crate) fn succeeded(&self, keys: &[String]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|key, _| !keys.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_failure_beyond_a_few_doubles_the_wait() {
        let throttle = Throttle::default();
        let (ann, bob) = (["ann".to_owned()], ["bob".to_owned()]);
        for _ in 0..FREE {
            assert_eq!(throttle.wait(&ann), None);
            throttle.failed(&ann);
        }
        let mut waits = Vec::new();
        for _ in 0..12 {
            throttle.failed(&ann);
            let wait = throttle.wait(&ann).unwrap();
            waits.push(wait.as_secs());
            tokio::time::advance(wait).await;
            assert_eq!(throttle.wait(&ann), None);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        assert_eq!(throttle.wait(&bob), None);
        throttle.succeeded(&ann);
        throttle.failed(&ann);
        assert_eq!(throttle.wait(&ann), None);
    }

    #[tokio::test(start_paused = true)]
    async fn many_names_do_not_fill_the_memory() {
        let throttle = Throttle::default();
        for name in 0..KNOWN_MAX * 3 {
            throttle.failed(&[name.to_string()]);
        }
        assert!(throttle.0.lock().unwrap().len() <= KNOWN_MAX);
    }
}

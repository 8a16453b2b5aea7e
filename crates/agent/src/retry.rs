//! Which errors of a provider are tried again, and after how long. What was streamed is never asked for again: either
//! the model goes on from it, or the run ends with it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::provider::{BusyKind, ProviderError};

/// Tries of one step.
pub(crate) const TRIES_MAX: u32 = 5;
/// Tries of a step whose provider is silent: each takes minutes, and may be billed.
const SILENT_TRIES_MAX: u32 = 3;
/// First pause; each next one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// First pause after a rate limit that names no time: limits are often per minute.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(5);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Longest wait that a provider may ask for. If it asks for more, a person is told instead of kept waiting.
pub(crate) const ASKED_MAX: Duration = Duration::from_secs(300);

/// What a try left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streamed {
    /// Nothing of this step is in the session.
    Nothing,
    /// Something is, and the provider goes on from a prefix.
    Resumable,
    /// Something is, and the provider would begin anew.
    Final,
}

/// A number from 0 to 1 that differs each time.
pub(crate) fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// Returns how long to wait before the next try, or `None` if there should be none. `tries` counts those made; `chance`,
/// from 0 to 1, spreads the tries of many sessions.
pub(crate) fn pause(error: &ProviderError, tries: u32, streamed: Streamed, chance: f64) -> Option<Duration> {
    let is_final = streamed == Streamed::Final && !fault::planted("retry_doubles_text");
    if tries >= TRIES_MAX || is_final {
        return None;
    }
    let usual = |first: Duration| {
        let pause = first.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(PAUSE_MAX);
        pause + pause.mul_f64(chance / 4.0)
    };
    match error {
        ProviderError::Refused { .. } => None,
        ProviderError::Busy { retry_after: Some(asked), .. } => {
            (*asked <= ASKED_MAX).then(|| usual(PAUSE).max(*asked + PAUSE.mul_f64(chance)))
        }
        ProviderError::Busy { kind: BusyKind::RateLimit, retry_after: None, .. } => {
            Some(usual(RATE_LIMIT_PAUSE))
        }
        ProviderError::Silent { .. } => (tries < SILENT_TRIES_MAX).then(|| usual(PAUSE)),
        ProviderError::Busy { retry_after: None, .. }
        | ProviderError::Cut { .. }
        | ProviderError::Unreadable { .. } => Some(usual(PAUSE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::RefusalKind;

    fn pause_after(error: &ProviderError, tries: u32, streamed: Streamed) -> Option<Duration> {
        let pause = pause(error, tries, streamed, 0.0);
        let later = super::pause(error, tries, streamed, 1.0);
        assert!(later >= pause && later <= pause.map(|pause| pause.mul_f64(1.25) + PAUSE), "{later:?}");
        pause
    }

    #[test]
    fn what_was_streamed_is_never_asked_for_again() {
        let cut = ProviderError::Cut { reason: String::new() };
        assert_eq!(pause_after(&cut, 1, Streamed::Final), None);
        assert_eq!(pause_after(&cut, 1, Streamed::Nothing), Some(PAUSE));
        assert_eq!(pause_after(&cut, 2, Streamed::Resumable), Some(PAUSE * 2));
        assert_eq!(pause_after(&cut, TRIES_MAX, Streamed::Nothing), None);
    }

    #[test]
    fn the_providers_own_wish_is_kept_within_bounds() {
        let busy = |kind, seconds: Option<u64>| ProviderError::Busy {
            kind,
            reason: String::new(),
            retry_after: seconds.map(Duration::from_secs),
        };
        let overloaded = |seconds| busy(BusyKind::Overloaded, Some(seconds));
        assert_eq!(pause_after(&overloaded(7), 1, Streamed::Nothing), Some(Duration::from_secs(7)));
        assert_eq!(pause_after(&overloaded(0), 3, Streamed::Nothing), Some(PAUSE * 4));
        assert_eq!(pause_after(&overloaded(120), 1, Streamed::Nothing), Some(Duration::from_secs(120)));
        assert_eq!(pause_after(&overloaded(3_600), 1, Streamed::Nothing), None);
        let limited = busy(BusyKind::RateLimit, None);
        let all: Duration =
            (1..TRIES_MAX).filter_map(|tries| pause_after(&limited, tries, Streamed::Nothing)).sum();
        assert!(all > Duration::from_secs(60), "a limit per minute is outlasted: {all:?}");
        let kind = RefusalKind::Quota;
        assert_eq!(
            pause_after(&ProviderError::Refused { kind, reason: String::new() }, 1, Streamed::Nothing),
            None
        );
        let silent = ProviderError::Silent { seconds: 600 };
        assert!(pause_after(&silent, 2, Streamed::Nothing).is_some());
        assert_eq!(pause_after(&silent, 3, Streamed::Nothing), None);
    }
}

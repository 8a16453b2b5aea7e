//! Which errors of a provider are tried again, and after how long. What was streamed is never asked for again: either
//! the model goes on from it, or the run ends with it.

use std::time::Duration;

use crate::provider::ProviderError;

/// Tries of one step.
pub(crate) const TRIES_MAX: u32 = 5;
/// First pause; each next one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause. A provider that asks for more is left alone: a person is told instead of kept waiting.
const PAUSE_MAX: Duration = Duration::from_secs(60);

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

/// How long to wait before the next try, or nothing when there should be none. `tries` counts those made.
pub(crate) fn pause(error: &ProviderError, tries: u32, streamed: Streamed) -> Option<Duration> {
    let usual = PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(PAUSE_MAX);
    if tries >= TRIES_MAX || streamed == Streamed::Final {
        return None;
    }
    match error {
        ProviderError::Refused { .. } => None,
        ProviderError::Busy { retry_after: Some(asked), .. } => {
            (*asked <= PAUSE_MAX).then_some(usual.max(*asked))
        }
        ProviderError::Busy { retry_after: None, .. }
        | ProviderError::Cut { .. }
        | ProviderError::Unreadable { .. } => Some(usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_streamed_is_never_asked_for_again() {
        let cut = ProviderError::Cut { reason: String::new() };
        assert_eq!(pause(&cut, 1, Streamed::Final), None);
        assert_eq!(pause(&cut, 1, Streamed::Nothing), Some(PAUSE));
        assert_eq!(pause(&cut, 2, Streamed::Resumable), Some(PAUSE * 2));
        assert_eq!(pause(&cut, TRIES_MAX, Streamed::Nothing), None);
    }

    #[test]
    fn the_providers_own_wish_is_kept_within_bounds() {
        let busy = |seconds| ProviderError::Busy {
            reason: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
        };
        assert_eq!(pause(&busy(7), 1, Streamed::Nothing), Some(Duration::from_secs(7)));
        assert_eq!(pause(&busy(0), 3, Streamed::Nothing), Some(PAUSE * 4));
        assert_eq!(pause(&busy(3_600), 1, Streamed::Nothing), None);
        assert_eq!(pause(&ProviderError::Refused { reason: String::new() }, 1, Streamed::Nothing), None);
    }
}

//! How fast the simulated platform lets a bot write, and what it says when that was too fast.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The limits. Times are the simulator's own, since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To one chat: one in so much time, with so many saved up.
    pub chat_every: Duration,
    pub chat_burst: u32,
    /// To one group: so many in so much time.
    pub group_most: usize,
    pub group_per: Duration,
    /// Over all.
    pub overall_most: usize,
    pub overall_per: Duration,
}

impl Limits {
    /// What is documented: about 1 a second to a chat, 20 a minute to a group, 30 a second over all.
    pub fn documented() -> Self {
        Self {
            chat_every: Duration::from_secs(1),
            chat_burst: 3,
            group_most: 20,
            group_per: Duration::from_secs(60),
            overall_most: 30,
            overall_per: Duration::from_secs(1),
        }
    }

    /// The same limits on a clock that runs so many times faster.
    #[must_use]
    pub fn faster(self, times: u32) -> Self {
        let times = times.max(1);
        Self {
            chat_every: self.chat_every / times,
            group_per: self.group_per / times,
            overall_per: self.overall_per / times,
            ..self
        }
    }
}

/// Who wrote when.
#[derive(Debug, Default)]
pub(super) struct Flood {
    overall: VecDeque<Duration>,
    chats: HashMap<i64, ChatFlood>,
}

#[derive(Debug, Default)]
struct ChatFlood {
    /// When a chat that had written evenly would be where it is now.
    even: Duration,
    sent: VecDeque<Duration>,
    refused_until: Duration,
}

impl Flood {
    /// Counts a message to a chat; or says for how many seconds there may be none.
    pub(super) fn count(&mut self, limits: &Limits, chat: i64, now: Duration) -> Result<(), u64> {
        forget(&mut self.overall, limits.overall_per, now);
        let written = self.chats.entry(chat).or_default();
        forget(&mut written.sent, limits.group_per, now);
        let saved_up = limits.chat_every * limits.chat_burst.saturating_sub(1);
        let mut free_at = written.refused_until.max(written.even.saturating_sub(saved_up));
        // Groups have numbers below zero.
        if chat < 0 && written.sent.len() >= limits.group_most {
            free_at = free_at.max(written.sent[written.sent.len() - limits.group_most] + limits.group_per);
        }
        if free_at > now {
            let seconds = whole_seconds(free_at - now);
            written.refused_until = now + Duration::from_secs(seconds);
            return Err(seconds);
        }
        if self.overall.len() >= limits.overall_most {
            return Err(whole_seconds(self.overall[0] + limits.overall_per - now));
        }
        written.even = written.even.max(now) + limits.chat_every;
        written.sent.push_back(now);
        self.overall.push_back(now);
        Ok(())
    }
}

fn forget(sent: &mut VecDeque<Duration>, per: Duration, now: Duration) {
    while sent.front().is_some_and(|at| *at + per <= now) {
        sent.pop_front();
    }
}

/// The platform speaks of whole seconds, and never of none.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1_000).max(1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of messages that come so often are taken, within so long.
    fn taken(chat: impl Fn(u64) -> i64, every_ms: u64, until_ms: u64) -> usize {
        let (limits, mut flood) = (Limits::documented(), Flood::default());
        let moments = (0..until_ms / every_ms).map(|index| (index, Duration::from_millis(index * every_ms)));
        moments.filter(|(index, at)| flood.count(&limits, chat(*index), *at).is_ok()).count()
    }

    #[test]
    fn the_documented_limits_hold() {
        // One a second is taken for ever; three at once and then no more until the second is over.
        assert_eq!(taken(|_| 5, 1_000, 100_000), 100);
        assert_eq!(taken(|_| 5, 1, 900), 3);
        // A group at one a second has its twenty, and then none until a minute is over.
        assert_eq!(taken(|_| -5, 1_000, 59_000), 20);
        // Many chats share thirty a second.
        assert_eq!(taken(|index| i64::try_from(index).unwrap() + 1, 10, 1_000), 30);
    }

    #[test]
    fn who_was_refused_is_refused_until_the_time_that_was_told() {
        let (limits, mut flood) = (Limits::documented(), Flood::default());
        for _ in 0..3 {
            flood.count(&limits, 5, Duration::ZERO).unwrap();
        }
        assert_eq!(flood.count(&limits, 5, Duration::ZERO), Err(1));
        assert_eq!(flood.count(&limits, 5, Duration::from_millis(999)), Err(1));
        // Asking while one is refused makes it longer.
        assert_eq!(flood.count(&limits, 5, Duration::from_millis(1_500)), Err(1));
        assert_eq!(flood.count(&limits, 5, Duration::from_millis(2_500)), Ok(()));
    }
}

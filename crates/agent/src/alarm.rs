//! A timer for waits that nearly always end early: it is touched when it rings and not each time someone waits, so
//! that a thousand lively streams cost no thousand timers a second.

use std::pin::Pin;

use tokio::time::{Instant, Sleep};

/// A timer that outlives the waits it is asked about.
#[derive(Debug)]
pub struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    /// One that first rings at `at`; asked about an earlier moment, it is set anew.
    pub fn new(at: Instant) -> Self {
        Self(Box::pin(tokio::time::sleep_until(at)))
    }

    /// Waits until `at`. May be dropped at any time.
    pub async fn until(&mut self, at: Instant) {
        loop {
            if self.0.deadline() > at {
                self.0.as_mut().reset(at);
            }
            self.0.as_mut().await;
            // It was set for an earlier wait that is over.
            if Instant::now() >= at {
                return;
            }
            self.0.as_mut().reset(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_alarm_rings_for_the_wait_that_is_on_whatever_was_asked_before() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut alarm = Alarm::new(at(50));
        // A wait that ended early leaves an earlier moment behind.
        assert!(tokio::time::timeout_at(at(20), alarm.until(at(50))).await.is_err());
        alarm.until(at(80)).await;
        assert_eq!(begun.elapsed(), Duration::from_millis(80));
        // One that ended early may also leave a later one.
        assert!(tokio::time::timeout_at(at(90), alarm.until(at(500))).await.is_err());
        alarm.until(at(100)).await;
        assert_eq!(begun.elapsed(), Duration::from_millis(100));
        // It rang; a moment that is over does not wait.
        alarm.until(at(100)).await;
        assert_eq!(begun.elapsed(), Duration::from_millis(100));
    }
}

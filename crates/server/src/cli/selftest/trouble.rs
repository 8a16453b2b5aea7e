//! Faults: kills at any moment, even during a start; freezes; requests to stop or restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use judge::dice::Dice;
use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::subject::{DRAIN_SECONDS, Setup, Subject};

/// Range of a server's lifetime, as powers of two in milliseconds. Each power is equally likely.
const LIFE_MS_LOG: (u64, u64) = (1, 10);
/// A slower stop is late: twice the time to drain and exit. The factor allows for a busy machine.
const STOP_LATE: Duration = Duration::from_secs(2 * (DRAIN_SECONDS + 1));
/// Maximum length of a freeze.
const FROZEN_MS_MAX: u64 = 700;

/// Injects faults into a server and restarts it.
#[derive(Debug)]
pub(super) struct Trouble {
    setup: Setup,
    dice: Dice,
    subject: Option<Subject>,
    /// Duration of the last start, used to time kills during the next one.
    last_start: Duration,
    pub(super) counts: Arc<Counts>,
}

/// Counts of faults and of the server's reactions.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// All kills, including those during a start.
    pub(super) kills: AtomicU64,
    /// Kills before the server was ready.
    pub(super) kills_at_start: AtomicU64,
    pub(super) freezes: AtomicU64,
    /// Requests to stop.
    pub(super) stops: AtomicU64,
    /// Requests to restart.
    pub(super) restarts: AtomicU64,
    pub(super) slowest_stop_ms: AtomicU64,
    /// Stops that took longer than [`STOP_LATE`].
    pub(super) stops_late: AtomicU64,
    /// Stops that timed out or failed.
    pub(super) stops_failed: AtomicU64,
    /// Exits that the test did not cause.
    pub(super) ended_by_itself: AtomicU64,
    pub(super) slowest_start_ms: AtomicU64,
}

impl Trouble {
    pub(super) fn new(setup: Setup, seed: u64) -> Self {
        let dice = Dice::new(seed.wrapping_mul(41));
        Self { setup, dice, subject: None, last_start: Duration::ZERO, counts: Arc::default() }
    }

    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// Returns an error if it does not become ready.
    pub(super) async fn start(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let subject = self.subject.insert(self.setup.start()?);
        if let Err(error) = subject.ready().await {
            return Err(error.context(format!("the server did not start: {}", self.setup.last_words())));
        }
        self.last_start = begun.elapsed();
        let took = u64::try_from(self.last_start.as_millis()).unwrap_or(u64::MAX);
        self.counts.slowest_start_ms.fetch_max(took, Ordering::AcqRel);
        Ok(())
    }

    /// Injects faults until this moment. The server is ready afterwards.
    ///
    /// # Errors
    /// Returns an error if the server does not start again.
    pub(super) async fn make(&mut self, until: Instant) -> anyhow::Result<()> {
        loop {
            let (least, span) = (LIFE_MS_LOG.0, LIFE_MS_LOG.1 - LIFE_MS_LOG.0 + 1);
            let least = 1 << (least + self.dice.below(span));
            let life = Duration::from_millis(least + self.dice.below(least));
            if Instant::now() + life >= until {
                tokio::time::sleep_until(until).await;
                return Ok(());
            }
            tokio::time::sleep(life).await;
            match self.dice.below(100) {
                0..10 => self.freeze().await?,
                10..20 => {
                    let signal = if self.dice.chance(50) { Signal::SIGHUP } else { Signal::SIGTERM };
                    self.stop_by(signal).await?;
                    self.start().await?;
                }
                _ => {
                    self.kill().await?;
                    self.start_after_kills().await?;
                }
            }
        }
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut subject) = self.subject.take() else { return Ok(()) };
        match subject.kill().await? {
            None => self.counts.kills.fetch_add(1, Ordering::AcqRel),
            Some(_) => self.counts.ended_by_itself.fetch_add(1, Ordering::AcqRel),
        };
        Ok(())
    }

    /// Starts the server. Sometimes kills it during the start, possibly several times in a row.
    async fn start_after_kills(&mut self) -> anyhow::Result<()> {
        while self.dice.chance(30) {
            // Slightly longer than a start, so that kills hit its last moments too.
            let most = u64::try_from(self.last_start.as_micros())? * 5 / 4;
            let moment = Duration::from_micros(self.dice.below(most));
            let subject = self.subject.insert(self.setup.start()?);
            let ready = tokio::time::timeout(moment, subject.ready()).await;
            if ready.is_err() {
                self.counts.kills_at_start.fetch_add(1, Ordering::AcqRel);
            }
            self.kill().await?;
            if let Ok(Err(error)) = ready {
                return Err(error.context(format!("the server did not start: {}", self.setup.last_words())));
            }
        }
        self.start().await
    }

    /// Freezes the server for a moment, like a suspended machine.
    async fn freeze(&mut self) -> anyhow::Result<()> {
        let moment = Duration::from_millis(1 + self.dice.below(FROZEN_MS_MAX));
        let Some(subject) = &self.subject else { return Ok(()) };
        subject.signal(Signal::SIGSTOP)?;
        tokio::time::sleep(moment).await;
        subject.signal(Signal::SIGCONT)?;
        self.counts.freezes.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Asks the server to stop and waits until it has exited.
    ///
    /// # Errors
    /// Returns an error if the process can't be signaled or waited for.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        self.stop_by(Signal::SIGTERM).await
    }

    async fn stop_by(&mut self, signal: Signal) -> anyhow::Result<()> {
        let Some(mut subject) = self.subject.take() else { return Ok(()) };
        let begun = Instant::now();
        let well = subject.stop(signal).await.context("failed to stop the server")?;
        let took = begun.elapsed();
        let counts = &self.counts;
        let kind = if signal == Signal::SIGHUP { &counts.restarts } else { &counts.stops };
        kind.fetch_add(1, Ordering::AcqRel);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        counts.slowest_stop_ms.fetch_max(millis, Ordering::AcqRel);
        counts.stops_late.fetch_add(u64::from(took > STOP_LATE), Ordering::AcqRel);
        counts.stops_failed.fetch_add(u64::from(!well), Ordering::AcqRel);
        Ok(())
    }

    /// Kills the server.
    pub(super) async fn end(&mut self) {
        if let Some(mut subject) = self.subject.take() {
            // It fails if the server has already exited.
            drop(subject.kill().await);
        }
    }
}

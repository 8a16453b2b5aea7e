//! How fast an account writes: so many messages over all, to one place, and to one group. Who comes first to a place goes
//! first, and what is sent goes before the edits of an answer that still grows. A place that is idle is forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use session::ChatKind;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use crate::platform::Place;

/// Longest wait that the platform asked for and that is sat out here. After a longer one the caller comes again, so that what
/// it waits for is written down.
const PAUSE_SAT_OUT_MAX: Duration = Duration::from_secs(5);

/// How long everything rests when a place was refused that kept to its own rate: then it is the account that was too fast.
const BREATH_MAX: Duration = Duration::from_secs(1);

/// Places that are known before the idle ones are looked for.
const SWEEP_AT_LEAST: usize = 1_024;

/// So many requests in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub most: usize,
    pub per: Duration,
}

impl Rate {
    const fn new(most: usize, per: Duration) -> Self {
        Self { most, per }
    }

    /// The time between two requests that go out evenly.
    fn every(self) -> Duration {
        self.per / u32::try_from(self.most.max(1)).unwrap_or(u32::MAX)
    }
}

/// What the platform takes. Edits count as messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub overall: Rate,
    /// To one person, group or channel.
    pub one_place: Rate,
    /// To one group or channel, besides.
    pub one_group: Rate,
    /// How long an edit keeps from the one before.
    pub edit_every: Duration,
    /// The same in a group, where twenty a minute must do for everything.
    pub edit_every_in_groups: Duration,
}

impl Default for Rates {
    /// What is documented: 1 a second, 20 a minute in groups, 30 a second over all. Of the last a little less, and evenly: what
    /// leaves one by one still arrives in bunches, and one refusal lets everything rest for a second.
    fn default() -> Self {
        Self {
            overall: Rate::new(28, Duration::from_secs(1)),
            one_place: Rate::new(1, Duration::from_secs(1)),
            one_group: Rate::new(20, Duration::from_secs(60)),
            edit_every: Duration::from_millis(1_500),
            edit_every_in_groups: Duration::from_millis(3_500),
        }
    }
}

impl Rates {
    fn edit_every(&self, kind: ChatKind) -> Duration {
        match kind {
            ChatKind::Direct => self.edit_every,
            ChatKind::Group | ChatKind::Channel => self.edit_every_in_groups,
        }
    }

    /// How many of a group's messages edits may use: the rest is kept for what must be said.
    fn group_edits_max(&self) -> usize {
        (self.one_group.most * 3 / 4).max(1)
    }
}

/// What waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Send,
    Edit,
}

/// The platform asked to wait so long; it is too long to be sat out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paused(pub(super) Duration);

/// Lets requests out one by one.
#[derive(Debug)]
pub(super) struct Limiter {
    rates: Rates,
    overall: Line,
    paces: Mutex<Paces>,
}

/// Two queues for one thing: an edit stands in the second one alone, and from there goes behind whoever waits in the first.
#[derive(Debug)]
struct Line {
    all: Semaphore,
    edits: Semaphore,
}

impl Default for Line {
    fn default() -> Self {
        Self { all: Semaphore::new(1), edits: Semaphore::new(1) }
    }
}

#[derive(Debug, Default)]
struct Paces {
    overall: Pace,
    places: HashMap<String, PlacePace>,
    /// Places at which the idle ones are looked for.
    sweep_at: usize,
}

/// When the last requests went out, and until when none may.
#[derive(Debug, Default)]
struct Pace {
    sent: VecDeque<Instant>,
    /// When the next one would go out if all did evenly.
    next_even: Option<Instant>,
    paused_until: Option<Instant>,
}

impl Pace {
    /// When one more may go out.
    fn free_at(&self, rate: Rate, now: Instant) -> Instant {
        let by_rate = match self.sent.len().checked_sub(rate.most.max(1)) {
            Some(oldest_that_counts) => self.sent[oldest_that_counts] + rate.per,
            None => now,
        };
        by_rate.max(self.paused_until.unwrap_or(now)).max(now)
    }

    /// When one more may go out, if they go out evenly.
    fn evenly_free_at(&self, rate: Rate, now: Instant) -> Instant {
        self.free_at(rate, now).max(self.next_even.unwrap_or(now))
    }

    /// How many went out in the time that counts.
    fn used(&self, rate: Rate, now: Instant) -> usize {
        self.sent.iter().filter(|at| **at + rate.per > now).count()
    }

    fn note(&mut self, rate: Rate, now: Instant) {
        // Who is a little late does not make the next one late too.
        let every = rate.every();
        let since = self.next_even.map_or(now, |next| next.max(now.checked_sub(every).unwrap_or(now)));
        self.next_even = Some(since + every);
        self.sent.push_back(now);
        while self.sent.len() > rate.most.max(1) {
            self.sent.pop_front();
        }
    }

    fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }
}

#[derive(Debug, Default)]
struct PlacePace {
    line: Arc<Line>,
    pace: Pace,
    /// The same requests, counted by the group's rate.
    as_group: Pace,
    edited: Option<Instant>,
}

impl PlacePace {
    fn free_at(&self, rates: &Rates, kind: ChatKind, work: Work, now: Instant) -> Instant {
        let mut at = self.pace.free_at(rates.one_place, now);
        if kind != ChatKind::Direct {
            let most = match work {
                Work::Send => rates.one_group.most,
                Work::Edit => rates.group_edits_max(),
            };
            at = at.max(self.as_group.free_at(Rate::new(most, rates.one_group.per), now));
        }
        match (work, self.edited) {
            (Work::Edit, Some(edited)) => at.max(edited + rates.edit_every(kind)),
            (Work::Edit, None) | (Work::Send, _) => at,
        }
    }

    /// Whether nothing that it knows matters any more.
    fn is_idle(&self, rates: &Rates, now: Instant) -> bool {
        let rested = rates.one_place.per.max(rates.one_group.per).max(rates.edit_every_in_groups);
        let last = self.pace.sent.back().copied();
        Arc::strong_count(&self.line) == 1
            && last.is_none_or(|last| last + rested <= now)
            && self.pace.paused_until.is_none_or(|until| until <= now)
    }
}

impl Limiter {
    pub(super) fn new(rates: Rates) -> Self {
        Self { rates, overall: Line::default(), paces: Mutex::default() }
    }

    /// Waits until a request to a place may go out, and counts it. May be dropped while it waits.
    pub(super) async fn turn(&self, to: &Place, work: Work) -> Result<(), Paused> {
        let line = self.line(to);
        match work {
            Work::Send => self.turn_of_send(to, &line).await,
            Work::Edit => self.turn_of_edit(to, &line).await,
        }
    }

    /// Whether an edit could go out now, and so much room would be left that nothing has to wait for it.
    pub(super) fn slack(&self, to: &Place) -> bool {
        let now = Instant::now();
        let paces = self.paces();
        let overall = &paces.overall;
        let quiet = overall.free_at(self.rates.overall, now) <= now
            && overall.used(self.rates.overall, now) * 2 <= self.rates.overall.most
            && self.overall.edits.available_permits() > 0;
        quiet
            && paces.places.get(&to.chat).is_none_or(|place| {
                place.line.all.available_permits() > 0
                    && place.line.edits.available_permits() > 0
                    && place.free_at(&self.rates, to.kind, Work::Edit, now) <= now
            })
    }

    /// The platform asked to wait before anything else is sent to a place.
    pub(super) fn told_to_wait(&self, to: &Place, wait: Duration) {
        let now = Instant::now();
        let mut paces = self.paces();
        paces.places.entry(to.chat.clone()).or_default().pace.pause(now + wait);
        // A group's minute may have been used up before a restart; a person's second is over by then.
        if to.kind == ChatKind::Direct {
            paces.overall.pause(now + wait.min(BREATH_MAX));
        }
    }

    async fn turn_of_send(&self, to: &Place, line: &Line) -> Result<(), Paused> {
        let _first_here = line.all.acquire().await;
        loop {
            self.wait_for_place(to, Work::Send).await?;
            let _first_of_all = self.overall.all.acquire().await;
            self.wait_for_overall().await;
            if self.count(to, Work::Send) {
                return Ok(());
            }
        }
    }

    async fn turn_of_edit(&self, to: &Place, line: &Line) -> Result<(), Paused> {
        let _first_edit_here = line.edits.acquire().await;
        loop {
            // Whatever is sent to this place goes first.
            drop(line.all.acquire().await);
            self.wait_for_place(to, Work::Edit).await?;
            let _first_edit_of_all = self.overall.edits.acquire().await;
            let Ok(_nobody_sends_here) = line.all.try_acquire() else { continue };
            let _first_of_all = self.overall.all.acquire().await;
            self.wait_for_overall().await;
            if self.count(to, Work::Edit) {
                return Ok(());
            }
        }
    }

    async fn wait_for_place(&self, to: &Place, work: Work) -> Result<(), Paused> {
        loop {
            let now = Instant::now();
            let (free_at, paused_until) = {
                let mut paces = self.paces();
                let place = paces.places.entry(to.chat.clone()).or_default();
                (place.free_at(&self.rates, to.kind, work, now), place.pace.paused_until)
            };
            let pause = paused_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
            if pause > PAUSE_SAT_OUT_MAX {
                return Err(Paused(pause));
            }
            if free_at <= now {
                return Ok(());
            }
            sleep_until(free_at).await;
        }
    }

    async fn wait_for_overall(&self) {
        loop {
            let now = Instant::now();
            let free_at = self.paces().overall.evenly_free_at(self.rates.overall, now);
            if free_at <= now {
                return;
            }
            sleep_until(free_at).await;
        }
    }

    /// Counts a request, if it may still go out: the platform may have asked to wait meanwhile.
    fn count(&self, to: &Place, work: Work) -> bool {
        let now = Instant::now();
        let mut paces = self.paces();
        let place = paces.places.entry(to.chat.clone()).or_default();
        if place.free_at(&self.rates, to.kind, work, now) > now {
            return false;
        }
        place.pace.note(self.rates.one_place, now);
        if to.kind != ChatKind::Direct {
            place.as_group.note(self.rates.one_group, now);
        }
        if work == Work::Edit {
            place.edited = Some(now);
        }
        paces.overall.note(self.rates.overall, now);
        true
    }

    /// The queue of a place.
    fn line(&self, to: &Place) -> Arc<Line> {
        let mut paces = self.paces();
        if paces.places.len() >= paces.sweep_at.max(SWEEP_AT_LEAST) {
            let now = Instant::now();
            paces.places.retain(|_, place| !place.is_idle(&self.rates, now));
            // Twice what was left, so that looking costs little for each that comes.
            paces.sweep_at = paces.places.len() * 2;
        }
        paces.places.entry(to.chat.clone()).or_default().line.clone()
    }

    fn paces(&self) -> MutexGuard<'_, Paces> {
        self.paces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "rates_tests.rs"]
mod tests;

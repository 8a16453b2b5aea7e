//! Who looks meanwhile: readers, followers that come and go, and cold reads of the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub::{CommandError, FollowError, Followed, Follower, Hub};
use session::{Seq, Session, SessionId};
use store::{LogStore, Opened};
use tokio::time::{Instant, MissedTickBehavior, timeout};

use crate::dice::Dice;

use super::place::PATIENCE;
use super::seen::Source;
use super::stage::{Stage, Stretch};

/// How often the store is read cold.
const COLD_EVERY: Duration = Duration::from_millis(100);
/// Entries of one read.
const PAGE: usize = 4_096;
/// How long a follower waits for an entry before it does something else.
const QUIET: Duration = Duration::from_millis(60);

/// Looks at the session through one of its ids.
pub(super) async fn look(hub: &Hub, stage: &Stage, dice: &mut Dice) {
    let (through, gone) = stage.ids().pick(dice);
    let known = stage.known();
    match timeout(PATIENCE, hub.open(through).view()).await {
        Ok(Ok(view)) => {
            if gone {
                stage.gone_worked.fetch_add(1, Ordering::AcqRel);
            }
            if view.seq.0 < known {
                stage.stale.fetch_add(1, Ordering::AcqRel);
            }
            stage.observe(&view, Source::View);
            stage.set_latest(view);
        }
        Ok(Err(error)) => complain(stage, through, &error, "look"),
        Err(_) => stage.fault(format!("a look has no answer after {PATIENCE:?}")),
    }
}

fn complain(stage: &Stage, through: SessionId, error: &CommandError, doing: &str) {
    let gone = matches!(error, CommandError::Deleted(id) if *id == through && stage.ids().may_be_gone(*id));
    if !gone {
        stage.fault(format!("{doing} through {through}: {error}"));
    }
}

/// Looks again and again.
pub(super) async fn read(hub: Hub, stage: Arc<Stage>, mut dice: Dice) {
    while !stage.is_over() {
        look(&hub, &stage, &mut dice).await;
        tokio::time::sleep(Duration::from_millis(dice.below(12))).await;
    }
}

/// Follows the session from random cursors, for a while each time.
pub(super) async fn follow(hub: Hub, stage: Arc<Stage>, mut dice: Dice) {
    let mut resume = None;
    while !stage.is_over() {
        let (through, gone) = stage.ids().pick(&mut dice);
        let known = stage.known();
        let after = match resume.take().filter(|_| dice.chance(60)) {
            Some(after) => after,
            None if dice.chance(10) => 0,
            None => known.saturating_sub(dice.below(400)),
        };
        match hub.open(through).follow(Seq(after)).await {
            Ok(follower) => {
                if gone {
                    stage.gone_worked.fetch_add(1, Ordering::AcqRel);
                }
                resume = Some(follow_for_a_while(follower, &stage, &mut dice, through, after).await);
            }
            Err(FollowError::Command(error)) => complain(&stage, through, &error, "follow"),
            Err(error) => stage.fault(format!("follow after {after} of {known}: {error}")),
        }
    }
}

async fn follow_for_a_while(
    mut follower: Follower,
    stage: &Stage,
    dice: &mut Dice,
    through: SessionId,
    after: u64,
) -> u64 {
    let (count, sleepy) = (dice.below(1_500), dice.chance(25));
    let mut stretch = Stretch { after, entries: Vec::new() };
    while (stretch.entries.len() as u64) < count && !stage.is_over() {
        // Giving up on a wait must lose nothing.
        match timeout(QUIET, follower.next()).await {
            Ok(Ok(Followed::Entry(entry))) => stretch.entries.push((entry.seq.0, entry.hash)),
            Ok(Ok(Followed::CaughtUp)) => {}
            Ok(Err(FollowError::CutOff { .. } | FollowError::Ended { .. })) => {
                stage.cut_off.fetch_add(1, Ordering::AcqRel);
                break;
            }
            Ok(Err(FollowError::Command(error))) => {
                complain(stage, through, &error, "follow on");
                break;
            }
            Ok(Err(error)) => {
                stage.fault(format!("follow on after {after}: {error}"));
                break;
            }
            Err(_) => {}
        }
        if sleepy && dice.chance(3) {
            tokio::time::sleep(Duration::from_millis(dice.below(1_500))).await;
        }
    }
    let reached = follower.cursor().0;
    stage.follow(stretch);
    reached
}

/// Reads the store cold at a steady pace: the whole log, and a snapshot with what followed it.
pub(super) async fn read_cold(store: Arc<dyn LogStore>, stage: Arc<Stage>) {
    let mut ticks = tokio::time::interval_at(Instant::now() + COLD_EVERY, COLD_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !stage.is_over() {
        ticks.tick().await;
        for source in [Source::ColdLog, Source::ColdSnapshot] {
            if let Err(error) = observe_cold(store.as_ref(), &stage, source).await {
                stage.fault(format!("{source:?}: {error:#}"));
            }
        }
    }
}

/// Folds what the store holds and writes down what a reader would see.
pub(super) async fn observe_cold(store: &dyn LogStore, stage: &Stage, source: Source) -> anyhow::Result<()> {
    let Opened { session, end, snapshot } = store.open(stage.anchor()).await?;
    let mut state = Session::default();
    if let Some(snapshot) = snapshot.filter(|_| source == Source::ColdSnapshot) {
        state = Session::from_bytes(&snapshot.state)
            .ok_or_else(|| anyhow::anyhow!("a snapshot without a state"))?;
        anyhow::ensure!(state.link == snapshot.at, "a snapshot of another entry than it says");
    }
    while state.head() < end.seq {
        // No further than it was at first: a page that ends behind that may end in the midst of an operation.
        let left = usize::try_from(end.seq.0 - state.head().0).unwrap_or(PAGE);
        let entries = store.read(session, state.head(), left.min(PAGE)).await?;
        anyhow::ensure!(!entries.is_empty(), "the log ends before {}", end.seq);
        entries.iter().for_each(|entry| session::fold(&mut state, entry));
        tokio::task::yield_now().await;
    }
    stage.observe(&session::view(&state), source);
    Ok(())
}

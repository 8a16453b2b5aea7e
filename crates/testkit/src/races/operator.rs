//! How something is asked: through some id of the session, written down before and after.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub::{Acknowledged, CommandError, Hub};
use session::SessionId;
use tokio::time::{Instant, timeout};

use crate::dice::Dice;

use super::ask::{self, Ask, IdChange, Season};
use super::place::PATIENCE;
use super::stage::{Outcome, Stage};
use super::watch;

/// How densely operators ask.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// Storms and calms in turn, every other pair of them dry: in a calm runs get to their own end.
    Waves,
    /// With pauses in which everything may come to rest.
    Sparse,
}

/// Length of a storm or a calm.
const WAVE: Duration = Duration::from_millis(400);

impl Pace {
    fn season(self, begun: Instant) -> Season {
        let wet = (begun.elapsed().as_millis() / WAVE.as_millis()) % 4 < 2;
        if wet { Season::Wet } else { Season::Dry }
    }

    async fn wait(self, begun: Instant, dice: &mut Dice) {
        let calm = (begun.elapsed().as_millis() / WAVE.as_millis()) % 2 == 1;
        let millis = match self {
            Self::Waves if calm => 60 + dice.below(340),
            Self::Waves => dice.below(8),
            Self::Sparse if dice.chance(30) => 0,
            Self::Sparse => dice.below(60),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// Asks one thing after the other until the race is over.
pub(super) async fn operate(hub: Hub, stage: Arc<Stage>, mut dice: Dice, pace: Pace) {
    let begun = Instant::now();
    while !stage.is_over() {
        pace.wait(begun, &mut dice).await;
        let drawn = stage.latest().and_then(|view| ask::draw(&mut dice, &stage, &view, pace.season(begun)));
        match drawn.filter(|_| dice.chance(90)) {
            Some(ask) => submit(&hub, &stage, &mut dice, ask).await,
            None => watch::look(&hub, &stage, &mut dice).await,
        }
    }
}

async fn submit(hub: &Hub, stage: &Stage, dice: &mut Dice, ask: Ask) {
    let (through, gone) = stage.ids().pick(dice);
    let no = stage.ask(&ask.effect, ask.rule);
    let answer = timeout(PATIENCE, hub.open(through).submit(ask.command.clone())).await;
    match answer {
        Ok(Ok(acknowledged)) => accepted(stage, no, &ask, gone, &acknowledged),
        Ok(Err(error)) => match allowed(stage, through, &ask, &error) {
            Some(outcome) => stage.answered(no, outcome),
            None => {
                stage.answered(no, Outcome::Failed);
                stage.fault(format!("{:?} through {through}: {error}", ask.command));
            }
        },
        Err(_) => {
            stage.answered(no, Outcome::Failed);
            stage.fault(format!("{:?} has no answer after {PATIENCE:?}", ask.command));
        }
    }
}

fn accepted(stage: &Stage, no: usize, ask: &Ask, gone: bool, acknowledged: &Acknowledged) {
    if gone {
        stage.gone_worked.fetch_add(1, Ordering::AcqRel);
    }
    match ask.ids {
        IdChange::Adds(id) => stage.ids().added(id),
        IdChange::Removes(id) => stage.ids().removed(id),
        IdChange::None | IdChange::Taken(_) => {}
    }
    stage.acknowledged(no, acknowledged);
}

/// What an error means, if it is one that a race may lead to.
fn allowed(stage: &Stage, through: SessionId, ask: &Ask, error: &CommandError) -> Option<Outcome> {
    match error {
        CommandError::Rejected(_) => Some(Outcome::Refused),
        CommandError::KeyReused => Some(Outcome::KeyReused),
        CommandError::Deleted(id) if *id == through && stage.ids().may_be_gone(*id) => Some(Outcome::Refused),
        CommandError::Exists(id) | CommandError::Deleted(id) if ask.ids == IdChange::Taken(*id) => {
            Some(Outcome::Refused)
        }
        _ => None,
    }
}

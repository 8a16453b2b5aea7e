//! The memory provider's side, kept outside of every process: slow, failing, forgetful, and strict about what it is
//! handed. What it took is held against the logs in the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::memory::{Handover, Memory, MemoryError, Taken, TaskState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::event::RunEnd;
use session::{CommitOutcome, Entry, Event, Owner, SessionId, TurnId};

use super::world::World;

/// What the provider knows.
#[derive(Default)]
pub(crate) struct Record {
    /// What was taken, by its key, each key once.
    taken: BTreeMap<String, Handover>,
    /// What was accepted and is not done.
    tasks: BTreeMap<String, Handover>,
}

/// The provider as one process reaches it.
pub(crate) struct SimMemory(pub(crate) Arc<World>);

impl Memory for SimMemory {
    fn owner(&self, _: SessionId) -> Option<Owner> {
        let world = &self.0;
        (!world.chance(15)).then(|| Owner(if world.chance(80) { "anna" } else { "bert" }.to_owned()))
    }

    fn commit(&self, handover: Handover) -> BoxFuture<'static, Result<Taken, MemoryError>> {
        let world = self.0.clone();
        async move {
            must_be_durable(&world, &handover);
            let in_peace = world.record().in_peace;
            world.pause(if !in_peace && world.chance(3) { 90_000 } else { 800 }).await;
            let lost = || Err(MemoryError::Unavailable { reason: "no answer".to_owned() });
            match world.below(10) {
                _ if in_peace => {
                    take(&world, handover);
                    Ok(Taken::Done)
                }
                0 => {
                    world.met("a memory provider refused");
                    Err(MemoryError::Refused { reason: "not now".to_owned() })
                }
                1 => {
                    take(&world, handover);
                    world.met("the answer of a memory provider was lost");
                    lost()
                }
                2 | 3 => {
                    let task = handover.key.clone();
                    world.memory().tasks.insert(task.clone(), handover);
                    Ok(Taken::Accepted { task })
                }
                _ => {
                    take(&world, handover);
                    Ok(Taken::Done)
                }
            }
        }
        .boxed()
    }

    fn look(&self, _: Owner, task: String) -> BoxFuture<'static, Result<TaskState, MemoryError>> {
        let world = self.0.clone();
        async move {
            world.pause(300).await;
            if world.chance(40) {
                return Ok(TaskState::Working);
            }
            let Some(handover) = world.memory().tasks.remove(&task) else {
                let done = world.memory().taken.contains_key(&task);
                return Ok(if done {
                    TaskState::Done
                } else {
                    TaskState::Failed { error: "unknown".to_owned() }
                });
            };
            if world.chance(25) {
                world.met("a memory provider forgot what it had accepted");
                return Ok(TaskState::Failed { error: "forgotten".to_owned() });
            }
            take(&world, handover);
            Ok(TaskState::Done)
        }
        .boxed()
    }

    fn release(&self, _: SessionId, _: Owner) {
        self.0.met("a session let go of its memory owner");
    }
}

fn take(world: &World, handover: Handover) {
    let again = world.memory().taken.insert(handover.key.clone(), handover.clone());
    let Some(before) = again else { return };
    world.met("a memory provider was handed the same again");
    if (&before.turns, &before.owner) != (&handover.turns, &handover.owner) {
        world.broken(|| format!("I43 the key {} stands for {before:?} and {handover:?}", handover.key));
    }
}

/// I17, I41: what is handed over was completed, and that it is handed over is in the log.
fn must_be_durable(world: &World, handover: &Handover) {
    let log = world.log(handover.session);
    if log.is_empty() {
        return;
    }
    let asked = |entry: &Entry| matches!(&entry.event, Event::MemoryCommitStarted { owner, .. } if *owner == handover.owner);
    if !log.iter().any(asked) {
        world.broken(|| format!("I17 {} was handed over and is not in the log", handover.key));
    }
    let completed: Vec<TurnId> = own(&log).iter().filter_map(completed_turn).collect();
    for turn in &handover.turns {
        let at = usize::try_from(turn.generation - 1).ok();
        if at.and_then(|at| completed.get(at)) != Some(&turn.turn) {
            world.broken(|| {
                format!(
                    "I41 {} hands over turn {} as generation {}",
                    handover.key, turn.turn, turn.generation
                )
            });
        }
    }
    if handover.turns.is_empty() {
        world.broken(|| format!("I41 {} hands over nothing", handover.key));
    }
}

fn completed_turn(entry: &Entry) -> Option<TurnId> {
    match entry.event {
        Event::RunEnded { turn, end: RunEnd::Completed, .. } => Some(turn),
        _ => None,
    }
}

/// What a branch does not share with its origin.
fn own(log: &[Entry]) -> &[Entry] {
    let begin = log.iter().rposition(|entry| matches!(entry.event, Event::SessionBranched { .. }));
    &log[begin.unwrap_or(0)..]
}

/// Who each completed turn is owed to, read off the log by hand, and whether the log says that it was taken.
fn owed(log: &[Entry]) -> Vec<(Option<Owner>, bool)> {
    let mut owner = None;
    let mut turns: Vec<(Option<Owner>, bool)> = Vec::new();
    for entry in own(log) {
        match &entry.event {
            Event::MemoryOwnerSet { owner: set } => owner.clone_from(set),
            Event::RunEnded { end: RunEnd::Completed, .. } => turns.push((owner.clone(), false)),
            Event::MemoryReassigned { first, last, to, .. } => {
                for turn in stretch(&mut turns, *first, *last) {
                    turn.0 = Some(to.clone());
                }
            }
            Event::MemoryCommitEnded { first, last, outcome: CommitOutcome::Done, .. } => {
                for turn in stretch(&mut turns, *first, *last) {
                    turn.1 = true;
                }
            }
            _ => {}
        }
    }
    turns
}

fn stretch(turns: &mut [(Option<Owner>, bool)], first: u64, last: u64) -> &mut [(Option<Owner>, bool)] {
    let first = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
    let last = usize::try_from(last).unwrap_or(usize::MAX).min(turns.len());
    turns.get_mut(first..last).unwrap_or_default()
}

/// Whether something is owed to someone and was not taken.
pub(crate) fn owes(log: &[Entry]) -> bool {
    owed(log).iter().any(|(owner, taken)| owner.is_some() && !taken)
}

/// I42 to I44: each turn was taken once, by the one it is owed to, and the log does not say so of any other.
pub(crate) fn check(world: &World, session: SessionId, log: &[Entry]) -> Option<String> {
    let memory = world.memory();
    let mut taken: BTreeMap<u64, Vec<&Handover>> = BTreeMap::new();
    for handover in memory.taken.values().filter(|handover| handover.session == session) {
        for turn in &handover.turns {
            taken.entry(turn.generation).or_default().push(handover);
        }
    }
    for ((owner, settled), generation) in owed(log).iter().zip(1..) {
        let by = taken.remove(&generation).unwrap_or_default();
        if by.len() > 1 {
            return Some(format!("I43 generation {generation} was taken {} times", by.len()));
        }
        if *settled && by.is_empty() {
            return Some(format!("I42 generation {generation} is settled and was never taken"));
        }
        if by.first().is_some_and(|by| Some(&by.owner) != owner.as_ref()) {
            return Some(format!(
                "I44 generation {generation} is owed to {owner:?} and was taken by another"
            ));
        }
    }
    taken.keys().next().map(|generation| format!("I41 generation {generation} was taken and never completed"))
}

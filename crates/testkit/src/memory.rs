//! A memory provider that does what a script says, and keeps a record of its own of what it took.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::memory::{Handover, Memory, MemoryError, Taken, TaskState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use session::{Owner, SessionId};

use crate::agent::Gate;

/// What the provider does with the next handover.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Takes it.
    Take,
    /// Waits at the gate, then takes it.
    TakeLate(Gate),
    /// Refuses it.
    Fail,
    /// Waits at the gate, then refuses it.
    FailLate(Gate),
    /// Takes it, and its answer is lost.
    TakeUnheard,
    /// Accepts it; the task is done when it is looked at.
    Accept,
    /// Accepts it, and forgets it.
    AcceptAndForget,
}

/// A provider with a script. Without one it takes everything.
#[derive(Debug, Clone, Default)]
pub struct ScriptedMemory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<Answer>,
    calls: Vec<Handover>,
    /// What was taken, by its key: each key once.
    taken: BTreeMap<String, Handover>,
    tasks: BTreeMap<String, Option<Handover>>,
    released: Vec<(SessionId, Owner)>,
    owner: Option<Owner>,
}

impl ScriptedMemory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what happens to the next handover that nothing was said about.
    pub fn add(&self, answer: Answer) {
        self.state().answers.push_back(answer);
    }

    /// Registers an owner with every run from now on.
    pub fn register(&self, owner: Option<Owner>) {
        self.state().owner = owner;
    }

    /// Every handover that was tried.
    pub fn calls(&self) -> Vec<Handover> {
        self.state().calls.clone()
    }

    /// What was taken: owner and generation, in the order of keys.
    pub fn record(&self) -> Vec<(Owner, u64)> {
        let turns = |handover: &Handover| {
            let owner = handover.owner.clone();
            handover.turns.iter().map(move |turn| (owner.clone(), turn.generation)).collect::<Vec<_>>()
        };
        self.state().taken.values().flat_map(turns).collect()
    }

    /// Owners that were let go, in order.
    pub fn released(&self) -> Vec<(SessionId, Owner)> {
        self.state().released.clone()
    }
}

impl State {
    /// A key that was taken before is taken once.
    fn take(&mut self, handover: Handover) {
        self.taken.entry(handover.key.clone()).or_insert(handover);
    }
}

impl Memory for ScriptedMemory {
    fn owner(&self, _: SessionId) -> Option<Owner> {
        self.state().owner.clone()
    }

    fn commit(&self, handover: Handover) -> BoxFuture<'static, Result<Taken, MemoryError>> {
        let memory = self.clone();
        let answer = {
            let mut state = memory.state();
            state.calls.push(handover.clone());
            state.answers.pop_front().unwrap_or(Answer::Take)
        };
        async move {
            let refused = || MemoryError::Refused { reason: "the script says so".to_owned() };
            match answer {
                Answer::Take => memory.state().take(handover),
                Answer::TakeLate(gate) => {
                    gate.pass().await;
                    memory.state().take(handover);
                }
                Answer::Fail => return Err(refused()),
                Answer::FailLate(gate) => {
                    gate.pass().await;
                    return Err(refused());
                }
                Answer::TakeUnheard => {
                    memory.state().take(handover);
                    return Err(MemoryError::Unavailable { reason: "the answer was lost".to_owned() });
                }
                Answer::Accept | Answer::AcceptAndForget => {
                    let task = format!("task of {}", handover.key);
                    let kept = matches!(answer, Answer::Accept).then_some(handover);
                    memory.state().tasks.insert(task.clone(), kept);
                    return Ok(Taken::Accepted { task });
                }
            }
            Ok(Taken::Done)
        }
        .boxed()
    }

    fn look(&self, _: Owner, task: String) -> BoxFuture<'static, Result<TaskState, MemoryError>> {
        let memory = self.clone();
        async move {
            let mut state = memory.state();
            Ok(match state.tasks.remove(&task).flatten() {
                Some(handover) => {
                    state.take(handover);
                    TaskState::Done
                }
                None => TaskState::Failed { error: "there is no such task".to_owned() },
            })
        }
        .boxed()
    }

    fn release(&self, session: SessionId, owner: Owner) {
        self.state().released.push((session, owner));
    }
}

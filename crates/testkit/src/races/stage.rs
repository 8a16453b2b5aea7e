//! What everyone in a race shares: the session's ids, what is known of its log, and the record of all that was asked,
//! answered and seen.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hub::{Acknowledged, Create, Hub};
use session::{Command, Hash, SessionId, View};
use uuid::Uuid;

use crate::attached;
use crate::dice::Dice;

use super::seen::{Observation, Source, State, Strings, take_apart};
use super::words::Counter;

/// What must come of an operation that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// One entry with its effect.
    Once,
    /// One entry for all that were asked with the same key.
    Keyed,
    /// One entry, or none if the session had a person's name at some point meanwhile.
    OnceUnlessNamed,
    /// No run is going on at some point meanwhile.
    Stops,
    /// That run is not going on afterwards.
    StopsRun(u64),
    /// No waiting message is paused at some point meanwhile.
    ResumesQueue,
}

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nobody answered, or not yet: it may have happened.
    Pending,
    Acknowledged {
        seq: u64,
        turn: Option<u64>,
    },
    Refused,
    /// Refused because its key was used for another request.
    KeyReused,
    Failed,
}

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// What its entry is known by; the beginning of it as long as nobody answered.
    pub(super) effect: String,
    pub(super) rule: Rule,
    /// The end of the log that was known before it was asked: its entry comes later.
    pub(super) low: u64,
    /// The newest run and the words taken from it before it was asked.
    pub(super) heard: Option<(u64, u64)>,
    pub(super) outcome: Outcome,
}

/// A stretch of entries that a follower was given after `after`.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    pub(super) after: u64,
    pub(super) entries: Vec<(u64, Hash)>,
}

/// The ids of the session.
#[derive(Debug)]
pub(super) struct Ids {
    /// The id under which the log was made.
    pub(super) first: SessionId,
    /// Never removed.
    pub(super) anchor: SessionId,
    leading: Vec<SessionId>,
    leaving: BTreeSet<SessionId>,
    gone: Vec<SessionId>,
    given: u128,
}

/// Ids that operators leave leading, so that there is always a choice.
const LEADING_MIN: usize = 3;

impl Ids {
    /// An id to ask through, and whether it was removed already.
    pub(super) fn pick(&self, dice: &mut Dice) -> (SessionId, bool) {
        let gone = dice.pick(&self.gone).filter(|_| dice.chance(5));
        match (gone, dice.pick(&self.leading)) {
            (Some(id), _) => (*id, true),
            (None, Some(id)) => (*id, false),
            (None, None) => (self.anchor, false),
        }
    }

    /// An id that was never used.
    pub(super) fn fresh(&mut self) -> SessionId {
        self.given += 1;
        SessionId(Uuid::from_u128(self.anchor.0.as_u128().wrapping_add(self.given)))
    }

    /// An id that may be removed; from now on it may lead nowhere.
    pub(super) fn leave(&mut self, dice: &mut Dice) -> Option<SessionId> {
        let others: Vec<SessionId> = self.leading.iter().filter(|id| **id != self.anchor).copied().collect();
        let id = dice.pick(&others).filter(|_| self.leading.len() > LEADING_MIN).copied()?;
        self.leaving.insert(id);
        Some(id)
    }

    /// An id that is in use, by this session or by none any more.
    pub(super) fn taken(&self, dice: &mut Dice) -> Option<SessionId> {
        dice.pick(&self.gone).copied()
    }

    pub(super) fn added(&mut self, id: SessionId) {
        self.leading.push(id);
    }

    pub(super) fn removed(&mut self, id: SessionId) {
        self.leading.retain(|leading| *leading != id);
        self.gone.push(id);
    }

    /// Whether an id may lead nowhere by now.
    pub(super) fn may_be_gone(&self, id: SessionId) -> bool {
        self.leaving.contains(&id)
    }
}

/// A session in a race.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) counter: Arc<Counter>,
    ids: Mutex<Ids>,
    known: AtomicU64,
    tokens: AtomicU64,
    asked: Mutex<Vec<Asked>>,
    seen: Mutex<Seen>,
    followed: Mutex<Vec<Stretch>>,
    latest: Mutex<Option<Arc<View>>>,
    keyed: Mutex<Vec<(Command, String)>>,
    faults: Mutex<Vec<String>>,
    /// States older than what was known when they were asked for.
    pub(super) stale: AtomicU64,
    /// Looks and questions that an id answered which had been removed before.
    pub(super) gone_worked: AtomicU64,
    pub(super) cut_off: AtomicU64,
    over: AtomicBool,
    crashing: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) strings: Strings,
    pub(super) observations: Vec<Observation>,
}

/// Keyed requests that are repeated.
const KEYED_MAX: usize = 24;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// Makes a session and gives it a second id that stays.
    pub(super) async fn make(hub: &Hub, counter: Arc<Counter>) -> anyhow::Result<Arc<Self>> {
        hub.keep_blob(attached::BYTES.to_vec()).await?;
        let handle = hub.create(Create::default()).await?;
        let first = handle.session();
        let anchor = SessionId(Uuid::from_u128(first.0.as_u128() ^ (1 << 40)));
        let added = handle.submit(Command::AddId { id: anchor }).await?;
        let ids = Ids {
            first,
            anchor,
            leading: vec![first, anchor],
            leaving: BTreeSet::new(),
            gone: Vec::new(),
            given: 0,
        };
        let stage = Self {
            counter,
            ids: Mutex::new(ids),
            known: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            asked: Mutex::default(),
            seen: Mutex::default(),
            followed: Mutex::default(),
            latest: Mutex::default(),
            keyed: Mutex::default(),
            faults: Mutex::default(),
            stale: AtomicU64::new(0),
            gone_worked: AtomicU64::new(0),
            cut_off: AtomicU64::new(0),
            over: AtomicBool::new(false),
            crashing: AtomicBool::new(false),
        };
        let no = stage.ask(&format!("id added:{anchor}"), Rule::Once);
        stage.acknowledged(no, &added);
        Ok(Arc::new(stage))
    }

    pub(super) fn ids(&self) -> MutexGuard<'_, Ids> {
        lock(&self.ids)
    }

    pub(super) fn anchor(&self) -> SessionId {
        self.ids().anchor
    }

    /// A word that nobody used before.
    pub(super) fn token(&self, kind: &str) -> String {
        format!("{kind}{}x", self.tokens.fetch_add(1, Ordering::AcqRel))
    }

    /// The end of the log as far as anyone was told.
    pub(super) fn known(&self) -> u64 {
        self.known.load(Ordering::Acquire)
    }

    pub(super) fn learn(&self, seq: u64) {
        self.known.fetch_max(seq, Ordering::AcqRel);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn set_over(&self, over: bool) {
        self.over.store(over, Ordering::Release);
    }

    /// Writes down that something is asked now; gives its number.
    pub(super) fn ask(&self, effect: &str, rule: Rule) -> usize {
        let heard = self.counter.newest();
        let mut asked = lock(&self.asked);
        asked.push(Asked {
            effect: effect.to_owned(),
            rule,
            low: self.known(),
            heard,
            outcome: Outcome::Pending,
        });
        asked.len() - 1
    }

    /// Writes down that it was acknowledged.
    pub(super) fn acknowledged(&self, no: usize, acknowledged: &Acknowledged) {
        let mut asked = lock(&self.asked);
        if let Some(asked) = asked.get_mut(no) {
            let number = match asked.effect.as_str() {
                "undone:" => acknowledged.turn.map(|turn| turn.0),
                "retry:" | "continue:" => acknowledged.run.map(|run| run.0),
                _ => None,
            };
            if let Some(number) = number {
                asked.effect = format!("{}{number}x", asked.effect);
            }
            let turn = acknowledged.turn.map(|turn| turn.0);
            asked.outcome = Outcome::Acknowledged { seq: acknowledged.seq.0, turn };
        }
        drop(asked);
        self.learn(acknowledged.seq.0);
    }

    /// Writes down that it was not.
    pub(super) fn answered(&self, no: usize, outcome: Outcome) {
        if let Some(asked) = lock(&self.asked).get_mut(no) {
            asked.outcome = outcome;
        }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    /// Writes down what someone saw.
    pub(super) fn observe(&self, view: &View, source: Source) {
        match take_apart(view) {
            Ok((head, turns)) => {
                let mut seen = lock(&self.seen);
                let state = State {
                    head: seen.strings.keep(head),
                    turns: turns.into_iter().map(|turn| seen.strings.keep(turn)).collect(),
                };
                seen.observations.push(Observation { seq: view.seq.0, source, state });
            }
            Err(error) => self.fault(format!("a view that cannot be written down: {error}")),
        }
        self.learn(view.seq.0);
    }

    /// Everything that was seen.
    pub(super) fn take_seen(&self) -> Seen {
        std::mem::take(&mut *lock(&self.seen))
    }

    pub(super) fn set_latest(&self, view: View) {
        *lock(&self.latest) = Some(Arc::new(view));
    }

    pub(super) fn latest(&self) -> Option<Arc<View>> {
        lock(&self.latest).clone()
    }

    pub(super) fn follow(&self, stretch: Stretch) {
        if let Some((last, _)) = stretch.entries.last() {
            self.learn(*last);
        }
        lock(&self.followed).push(stretch);
    }

    pub(super) fn followed(&self) -> Vec<Stretch> {
        lock(&self.followed).clone()
    }

    /// Keeps a keyed request, to be asked again.
    pub(super) fn keep_keyed(&self, command: Command, effect: String) {
        let mut keyed = lock(&self.keyed);
        if keyed.len() >= KEYED_MAX {
            keyed.remove(0);
        }
        keyed.push((command, effect));
    }

    pub(super) fn keyed(&self, dice: &mut Dice) -> Option<(Command, String)> {
        dice.pick(&lock(&self.keyed)).cloned()
    }

    /// From now on, or no longer, whatever fails is the crash's doing.
    pub(super) fn set_crashing(&self, crashing: bool) {
        self.crashing.store(crashing, Ordering::Release);
    }

    /// Something failed that no race excuses.
    pub(super) fn fault(&self, text: String) {
        if !self.crashing.load(Ordering::Acquire) {
            lock(&self.faults).push(text);
        }
    }

    pub(super) fn faults(&self) -> Vec<String> {
        lock(&self.faults).clone()
    }
}

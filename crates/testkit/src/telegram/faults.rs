//! What goes wrong between a bot and the simulated platform: by the dice, or as a test says. All of it is counted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use crate::dice::Dice;

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is cut before anything is done.
    CutBefore,
    /// It is done, and the connection cut before the answer.
    CutAfter,
    /// It is done, and the connection cut in the middle of the answer.
    CutInAnswer,
    /// Answered with this status and not done.
    BrokenBefore(u16),
    /// Answered with this status, but done.
    BrokenAfter(u16),
    /// Done, and answered with what is no answer.
    Garbled,
    /// Done, and answered after so long.
    Slow(Duration),
    /// Refused for so many seconds.
    Flood(u64),
    /// Refused with this code and these words.
    Refused(u16, &'static str),
}

impl Fault {
    /// Its name in counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::CutBefore => "cut before",
            Self::CutAfter => "cut after",
            Self::CutInAnswer => "cut in answer",
            Self::BrokenBefore(_) => "broken before",
            Self::BrokenAfter(_) => "broken after",
            Self::Garbled => "garbled",
            Self::Slow(_) => "slow",
            Self::Flood(_) => "flood",
            Self::Refused(..) => "refused",
        }
    }

    /// Whether the bot cannot know from the answer that it was done.
    pub fn loses_the_answer(self) -> bool {
        match self {
            Self::CutAfter | Self::CutInAnswer | Self::BrokenAfter(_) | Self::Garbled => true,
            Self::CutBefore | Self::BrokenBefore(_) | Self::Slow(_) | Self::Flood(_) | Self::Refused(..) => {
                false
            }
        }
    }
}

/// How often which fault happens, in percent.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    pub seed: u64,
    /// To what a bot sends or edits.
    pub of_messages: Vec<(Fault, u64)>,
    /// To its polls.
    pub of_polls: Vec<(Fault, u64)>,
    /// An update is told twice in a batch, or once more after it was confirmed.
    pub repeated_updates: u64,
    /// A batch is told in another order.
    pub shuffled_batches: u64,
}

/// What was planned, and what came of it.
#[derive(Debug)]
pub(super) struct Faults {
    plan: FaultPlan,
    pub(super) dice: Dice,
    scripted: HashMap<String, VecDeque<Fault>>,
    counts: BTreeMap<&'static str, u64>,
}

impl Faults {
    pub(super) fn new(plan: FaultPlan) -> Self {
        let dice = Dice::new(plan.seed);
        Self { plan, dice, scripted: HashMap::new(), counts: BTreeMap::new() }
    }

    pub(super) fn plan(&mut self, plan: FaultPlan) {
        self.dice = Dice::new(plan.seed);
        self.plan = plan;
    }

    pub(super) fn script(&mut self, method: &str, fault: Fault) {
        self.scripted.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// What happens to this request.
    pub(super) fn next(&mut self, method: &str) -> Option<Fault> {
        let scripted = self.scripted.get_mut(method).and_then(VecDeque::pop_front);
        let fault = scripted.or_else(|| self.throw(method))?;
        self.count(fault.name());
        Some(fault)
    }

    fn throw(&mut self, method: &str) -> Option<Fault> {
        let among = match method {
            "getUpdates" => &self.plan.of_polls,
            "sendMessage" | "sendPhoto" | "sendDocument" | "editMessageText" => &self.plan.of_messages,
            _ => return None,
        };
        let mut thrown = self.dice.below(100);
        for (fault, percent) in among {
            match thrown.checked_sub(*percent) {
                Some(left) => thrown = left,
                None => return Some(*fault),
            }
        }
        None
    }

    pub(super) fn repeats(&mut self) -> bool {
        let percent = self.plan.repeated_updates;
        percent > 0 && self.dice.chance(percent)
    }

    pub(super) fn shuffles(&mut self) -> bool {
        let percent = self.plan.shuffled_batches;
        percent > 0 && self.dice.chance(percent)
    }

    pub(super) fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.clone()
    }
}

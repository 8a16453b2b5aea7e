//! One state in a form that can be compared: what stands above the turns, and each turn, as canonical JSON.
//!
//! Turns are kept once however often they were seen, so that every observation can be kept whole.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use session::View;

/// A state as someone saw it, or as the model says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) head: Arc<str>,
    pub(super) turns: Vec<Arc<str>>,
}

/// Who saw a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A reader through the hub.
    View,
    /// The whole log, folded from nothing.
    ColdLog,
    /// A snapshot and what followed it.
    ColdSnapshot,
    /// The first look after a crash, before the server started.
    ColdStart,
}

/// A state that someone saw after entry `seq`.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) seq: u64,
    pub(super) source: Source,
    pub(super) state: State,
}

/// Strings that are kept once.
#[derive(Debug, Default)]
pub(super) struct Strings(HashSet<Arc<str>>);

impl Strings {
    pub(super) fn keep(&mut self, text: String) -> Arc<str> {
        if let Some(kept) = self.0.get(text.as_str()) {
            return kept.clone();
        }
        let kept: Arc<str> = text.into();
        self.0.insert(kept.clone());
        kept
    }
}

/// Takes a view apart: its head and its turns, each canonical.
pub(super) fn take_apart(view: &View) -> anyhow::Result<(String, Vec<String>)> {
    let mut head = serde_json::to_value(view)?;
    let turns = head.as_object_mut().and_then(|head| head.remove("turns"));
    let turns = turns.as_ref().and_then(Value::as_array).into_iter().flatten();
    let turns = turns.map(Value::to_string).collect();
    Ok((head.to_string(), turns))
}

/// Where two states differ first, for people.
pub(super) fn difference(seen: &State, allowed: &State) -> String {
    if seen.head != allowed.head {
        return format!("seen    {}\n  allowed {}", seen.head, allowed.head);
    }
    if seen.turns.len() != allowed.turns.len() {
        return format!("{} turns seen, {} allowed", seen.turns.len(), allowed.turns.len());
    }
    let differs = seen.turns.iter().zip(&allowed.turns).find(|(seen, allowed)| seen != allowed);
    differs.map_or_else(String::new, |(seen, allowed)| format!("seen    {seen}\n  allowed {allowed}"))
}

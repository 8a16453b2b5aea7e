//! How it is told: one line a figure, `name value goal ok|short`, and what is only told behind `#`.

use std::sync::atomic::Ordering;

use crate::play::Counts;
use crate::verify::{Class, Judgement};

/// Violations that are told in full.
const TOLD: usize = 20;

/// What is expected of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Done in every trial: there are some.
    Done,
    /// Met in a trial that is long enough: there are some.
    Met,
    /// Told, whatever it is.
    Told,
    /// Wrong: there is none.
    Wrong,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    pub name: String,
    pub value: u64,
    pub kind: Kind,
}

impl Figure {
    /// A figure.
    pub fn new(name: &str, value: u64, kind: Kind) -> Self {
        Self { name: name.replace(' ', "_"), value, kind }
    }

    /// Whether it is as expected.
    pub fn is_reached(&self) -> bool {
        match self.kind {
            Kind::Done | Kind::Met => self.value > 0,
            Kind::Told => true,
            Kind::Wrong => self.value == 0,
        }
    }

    /// Its line in the report of a trial.
    pub fn line(&self, trial: &str) -> String {
        let Self { name, value, kind } = self;
        let verdict = if self.is_reached() { "ok" } else { "short" };
        match kind {
            Kind::Done | Kind::Met => format!("{trial}.{name} {value} >0 {verdict}"),
            Kind::Told => format!("# {trial}.{name} {value}"),
            Kind::Wrong => format!("{trial}.{name} {value} 0 {verdict}"),
        }
    }
}

/// What was done, what was met, and what is wrong.
pub fn figures(judgement: &Judgement, counts: &Counts) -> Vec<Figure> {
    let mut figures: Vec<Figure> = [
        ("sessions", judgement.sessions),
        ("messages", judgement.messages),
        ("entries", judgement.entries),
        ("entries_seen", judgement.seen),
        ("tokens", judgement.tokens),
        ("reader_connections", counts.connections.load(Ordering::Acquire)),
    ]
    .map(|(name, value)| Figure::new(name, value, Kind::Done))
    .into();
    let keys = [
        ("answers_dropped", &counts.dropped),
        ("requests_doubled", &counts.doubled),
        ("keys_reused", &counts.reused),
    ];
    figures.extend(keys.map(|(name, count)| Figure::new(name, count.load(Ordering::Acquire), Kind::Met)));
    let happened =
        |what: &str, kind| Figure::new(what, judgement.happened.get(what).copied().unwrap_or(0), kind);
    figures.push(happened("completed", Kind::Done));
    figures.push(happened("words shown", Kind::Done));
    figures
        .extend(["answers continued", "seams repaired", "suspended"].map(|what| happened(what, Kind::Told)));
    figures.extend(["stopped", "undone", "retried", "continued"].map(|what| happened(what, Kind::Met)));
    figures.extend(
        ["interrupted", "gone on by itself", "steered", "withdrawn", "put back", "failed"]
            .map(|what| happened(what, Kind::Told)),
    );
    figures.extend(Class::ALL.map(|class| {
        let count = judgement.violations.iter().filter(|violation| violation.class == class).count();
        Figure::new(class.name(), count as u64, Kind::Wrong)
    }));
    figures.extend(
        ["words missing", "words doubled", "words foreign", "suspended although it moved"]
            .map(|what| happened(what, Kind::Wrong)),
    );
    figures.push(Figure::new("keys_answered_wrong", counts.wrong.load(Ordering::Acquire), Kind::Wrong));
    figures
}

/// The first violations, a line each.
pub fn violations(judgement: &Judgement) -> Vec<String> {
    let told = judgement.violations.iter().take(TOLD);
    told.map(|wrong| format!("{} in {}: {}", wrong.class.name(), wrong.session, wrong.what)).collect()
}

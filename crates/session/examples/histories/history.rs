//! A log that grows entry by entry, with what each entry changed in the state.

use std::fmt::Write as _;

use serde_json::Value;
use session::{Entry, Epoch, Event, RunId, Seq, Session, Time, Turn, TurnId, fold, view};

use crate::changes::changes;
use crate::dice::Dice;

pub(crate) struct History {
    pub(crate) state: Session,
    pub(crate) dice: Dice,
    /// Whether texts may be large enough to reach the bounds of a state.
    pub(crate) large: bool,
    pub(crate) now: i64,
    epoch: Epoch,
    shown: Value,
    entries: Vec<String>,
    changes: Vec<Value>,
}

impl History {
    pub(crate) fn new(dice: Dice, large: bool) -> Self {
        let state = Session::default();
        let shown = state_json(&state);
        let (entries, changes) = (Vec::new(), Vec::new());
        let epoch = Epoch(1);
        Self { state, dice, large, now: 1_000_000, epoch, shown, entries, changes }
    }

    pub(crate) fn append(&mut self, event: Event) {
        let entry = Entry::seal(&self.state.link, Time(self.now), self.epoch, event);
        self.follow(&entry);
    }

    /// Appends an entry by its stored bytes.
    pub(crate) fn append_body(&mut self, body: &str) {
        let last = self.state.link;
        let opened = Entry::open(&last, last.seq.next(), Time(self.now), self.epoch, body, None);
        self.follow(&opened.unwrap_or_else(|damage| panic!("{body}: {damage}")));
    }

    fn follow(&mut self, entry: &Entry) {
        fold(&mut self.state, entry);
        let after = state_json(&self.state);
        self.changes.push(Value::Array(changes(&self.shown, &after)));
        self.shown = after;
        let Entry { seq, time, body, .. } = entry;
        self.entries.push(format!(r#"{{"seq":{seq},"time":{time},"event":{body}}}"#));
    }

    /// Another process goes on.
    pub(crate) fn take_over(&mut self) {
        self.epoch = Epoch(self.epoch.0 + 1);
    }

    /// Lets some time pass; now and then the clock goes backward.
    pub(crate) fn wait(&mut self) {
        let micros = match self.dice.below(10) {
            0..5 => 0,
            5..9 => self.dice.below(5_000_000),
            _ => self.dice.below(10_000_000_000),
        };
        let micros = i64::try_from(micros).unwrap_or_default();
        self.now = if self.dice.chance(5) { (self.now - micros).max(0) } else { self.now + micros };
    }

    fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.state.turns.iter().chain(self.state.undone.iter().flat_map(|step| &step.turns))
    }

    /// Picks a queued, visible or undone turn, or one that does not exist.
    pub(crate) fn turn(&mut self) -> TurnId {
        let waiting = self.state.queue.iter().map(|queued| queued.turn);
        let known: Vec<TurnId> = self.turns().map(|turn| turn.id).chain(waiting).collect();
        self.known(&known).unwrap_or_else(|| TurnId(self.number()))
    }

    /// A message that waits, or one that never did.
    pub(crate) fn queued(&mut self) -> TurnId {
        let known: Vec<TurnId> = self.state.queue.iter().map(|queued| queued.turn).collect();
        self.known(&known).unwrap_or_else(|| TurnId(self.number()))
    }

    /// The open run more often than another one of the state, or one that never was.
    pub(crate) fn run(&mut self) -> RunId {
        let open = self.state.open_run.filter(|_| self.dice.chance(70));
        let known: Vec<RunId> = self.turns().flat_map(|turn| &turn.runs).map(|run| run.id).collect();
        open.or_else(|| self.known(&known)).unwrap_or_else(|| RunId(self.number()))
    }

    /// An answer that goes or went to a chat, or any run.
    pub(crate) fn delivered(&mut self) -> RunId {
        let known: Vec<RunId> = self.state.deliveries.iter().map(|delivery| delivery.answer).collect();
        self.known(&known).unwrap_or_else(|| self.run())
    }

    /// The commit that is under way, or one that never was.
    pub(crate) fn commit(&mut self) -> Seq {
        let known: Vec<Seq> = self.state.memory.commit.iter().map(|commit| commit.id).collect();
        self.known(&known).unwrap_or_else(|| Seq(self.number()))
    }

    fn known<T: Clone>(&mut self, among: &[T]) -> Option<T> {
        (!among.is_empty() && self.dice.chance(90)).then(|| self.dice.pick(among))
    }

    /// A position of the log, or the one behind it.
    fn number(&mut self) -> u64 {
        self.dice.below(self.state.head().0 + 2)
    }

    /// The history in one line.
    pub(crate) fn line(&self, seed: u64) -> String {
        let mut line = format!(r#"{{"seed":{seed},"entries":[{}]"#, self.entries.join(","));
        let parts = [
            ("changes", Value::Array(self.changes.clone())),
            ("state", self.shown.clone()),
            ("view", json(&view(&self.state))),
        ];
        for (name, part) in parts {
            write!(line, r#","{name}":{part}"#).expect("a string takes everything");
        }
        line + "}"
    }
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("states and views are JSON")
}

/// The state as a reader on the wire can know it: entries come without the epoch and hash of their link.
pub(crate) fn state_json(state: &Session) -> Value {
    let mut shown = json(state);
    let link = shown["link"].as_object_mut().expect("a state has a link");
    link.retain(|name, _| name == "seq");
    shown
}

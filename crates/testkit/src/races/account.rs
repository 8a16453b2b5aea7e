//! Whether every acknowledged operation happened once, between its question and its answer, and nothing happened that
//! nobody asked for.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::judge::{Facts, Heard, Sums};
use super::model::{number, text};
use super::stage::{Asked, Outcome, Rule};

/// An entry that only an operation can have made.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    seq: u64,
    name: String,
    key: Option<String>,
    interrupts: bool,
}

/// What an entry is known by, if an operation made it.
pub(super) fn effect(seq: u64, kind: &str, fields: &Value) -> Option<Effect> {
    let said = || text(&fields["message"], "text");
    let name = match (kind, text(fields, "cause")) {
        ("message_posted", _) => format!("post:{}", said()),
        ("message_edited", _) => format!("edit:{}", said()),
        ("queued_edited", _) => format!("queued:{}", said()),
        ("queued_removed", _) => format!("removed:{}x", number(fields, "turn")),
        ("turns_undone", _) => format!("undone:{}x", number(fields, "from")),
        ("turns_put_back", _) => "put back".to_owned(),
        ("session_cleared", _) => "cleared".to_owned(),
        ("answer_chosen", _) => format!("chosen:{}:{}x", number(fields, "turn"), number(fields, "run")),
        ("session_renamed", _) => format!("name:{}", text(fields, "title")),
        ("title_generated", _) => format!("title:{}", text(fields, "title")),
        ("flag_set", _) => format!("flag:{}:{}", text(fields, "flag"), fields["on"]),
        ("id_added", _) => format!("id added:{}", text(fields, "id")),
        ("id_removed", _) => format!("id removed:{}", text(fields, "id")),
        ("context_compacted", _) => format!("summary:{}", text(fields, "summary")),
        ("run_started", "retry") => format!("retry:{seq}x"),
        ("run_started", "continue") => format!("continue:{seq}x"),
        _ => return None,
    };
    let key = fields["key"].as_str().map(str::to_owned);
    let interrupts = kind == "message_posted" && text(fields, "mode") == "interrupt";
    Some(Effect { seq, name, key, interrupts })
}

/// Matches effects and operations.
pub(super) fn settle(
    effects: &[Effect],
    facts: &Facts,
    heard: &BTreeMap<u64, Heard>,
    asked: &[Asked],
    sums: &mut Sums,
) {
    sums.operations += asked.len() as u64;
    let mut book = Book::new(asked);
    for effect in effects {
        match book.claim(effect) {
            Some(no) => check_kept(effect, facts, heard, &asked[no], sums),
            None => {
                let told = || format!("entry {} ({}) has no operation of its own", effect.seq, effect.name);
                sums.complain(|sums| &mut sums.doubled, told);
            }
        }
    }
    for (no, asked) in asked.iter().enumerate() {
        count(asked, sums);
        if !book.is_kept(no, facts) {
            sums.complain(|sums| &mut sums.lost, || format!("no entry keeps {asked:?}"));
        }
    }
    check_keys(effects, asked, sums);
}

fn count(asked: &Asked, sums: &mut Sums) {
    let acknowledged = u64::from(matches!(asked.outcome, Outcome::Acknowledged { .. }));
    let kind = asked.effect.split(':').next().unwrap_or_default().replace(' ', "_");
    let (times, kept) = sums.kinds.entry(kind).or_default();
    *times += 1;
    *kept += acknowledged;
    sums.acknowledged += acknowledged;
}

/// What is open on both sides.
struct Book<'a> {
    asked: &'a [Asked],
    /// Acknowledged operations by effect, the earliest deadline first.
    due: HashMap<&'a str, Vec<usize>>,
    /// Operations that may have happened.
    pending: Vec<usize>,
    /// The entry that each keyed request made.
    keyed: HashMap<&'a str, u64>,
    kept: Vec<bool>,
}

impl<'a> Book<'a> {
    fn new(asked: &'a [Asked]) -> Self {
        let mut due: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut pending = Vec::new();
        for (no, asked) in asked.iter().enumerate() {
            match asked.outcome {
                Outcome::Acknowledged { .. } => due.entry(&asked.effect).or_default().push(no),
                Outcome::Pending | Outcome::Failed => pending.push(no),
                Outcome::Refused | Outcome::KeyReused => {}
            }
        }
        for nos in due.values_mut() {
            nos.sort_by_key(|no| deadline(&asked[*no]));
        }
        Self { asked, due, pending, keyed: HashMap::new(), kept: vec![false; asked.len()] }
    }

    /// Gives an effect the operation that made it.
    fn claim(&mut self, effect: &Effect) -> Option<usize> {
        let asked = self.asked;
        let fits = |no: &usize| asked[*no].low < effect.seq && effect.seq <= deadline(&asked[*no]);
        let due = self.due.get_mut(effect.name.as_str());
        let found = due.and_then(|due| due.iter().position(fits).map(|at| (due[at], at, due)));
        if let Some((no, at, due)) = found {
            if asked[no].rule == Rule::Keyed {
                // All that asked with this key share the entry; a second entry finds it taken.
                let first = self.keyed.insert(&asked[no].effect, effect.seq).is_none();
                return first.then_some(no);
            }
            due.remove(at);
            self.kept[no] = true;
            return Some(no);
        }
        let maybe = |no: &usize| asked[*no].low < effect.seq && effect.name.starts_with(&asked[*no].effect);
        let at = self.pending.iter().position(maybe)?;
        let no = self.pending.remove(at);
        if asked[no].rule == Rule::Keyed && self.keyed.insert(&asked[no].effect, effect.seq).is_some() {
            return None;
        }
        Some(no)
    }

    /// Whether an operation left what its acknowledgement says.
    fn is_kept(&self, no: usize, facts: &Facts) -> bool {
        let asked = &self.asked[no];
        let Outcome::Acknowledged { seq, turn } = asked.outcome else { return true };
        match asked.rule {
            Rule::Once => self.kept[no],
            Rule::Keyed => {
                self.keyed.get(asked.effect.as_str()).is_some_and(|at| turn == Some(*at) && *at <= seq)
            }
            Rule::OnceUnlessNamed => {
                self.kept[no] || meanwhile(&facts.named, asked.low, seq).any(|named| *named)
            }
            Rule::Stops => meanwhile(&facts.open, asked.low, seq).any(Option::is_none),
            Rule::ResumesQueue => meanwhile(&facts.paused, asked.low, seq).any(|paused| !paused),
            Rule::StopsRun(run) => meanwhile(&facts.open, seq, seq).all(|open| *open != Some(run)),
        }
    }
}

fn deadline(asked: &Asked) -> u64 {
    match asked.outcome {
        // A key that was used before is answered with the entry it was used at.
        Outcome::Acknowledged { seq, .. } => seq,
        Outcome::Pending | Outcome::Refused | Outcome::KeyReused | Outcome::Failed => u64::MAX,
    }
}

/// What held after each entry from `low` to `high`.
fn meanwhile<T>(facts: &[T], low: u64, high: u64) -> impl Iterator<Item = &T> {
    let (low, high) = (usize::try_from(low).unwrap_or(0), usize::try_from(high).unwrap_or(0));
    facts.iter().skip(low).take(high.saturating_sub(low) + 1)
}

/// A message that interrupts a run keeps every word that was taken from it before the message was sent.
fn check_kept(effect: &Effect, facts: &Facts, heard: &BTreeMap<u64, Heard>, asked: &Asked, sums: &mut Sums) {
    if !effect.interrupts || asked.rule == Rule::Keyed {
        return;
    }
    let Some((run, words)) = asked.heard else { return };
    let at = usize::try_from(effect.seq).unwrap_or(0);
    let ended_it = facts.open.get(at) == Some(&Some(run)) && facts.open.get(at + 1) == Some(&None);
    let kept = heard.get(&run).map_or(0, Heard::words);
    if ended_it && kept < words {
        let told =
            || format!("entry {} ended run {run} with {kept} words; {words} had been taken", effect.seq);
        sums.complain(|sums| &mut sums.words_wrong, told);
    }
}

/// Each key stands in the log once.
fn check_keys(effects: &[Effect], asked: &[Asked], sums: &mut Sums) {
    let mut uses: HashMap<&str, u64> = HashMap::new();
    for effect in effects {
        let Some(key) = &effect.key else { continue };
        if let Some(first) = uses.insert(key, effect.seq) {
            let told = || format!("key {key} was used at {first} and at {}", effect.seq);
            sums.complain(|sums| &mut sums.doubled, told);
        }
    }
    // A refusal for the key's sake needs another use of it; with none at all there was nothing to refuse for.
    let refused = asked.iter().filter(|asked| asked.outcome == Outcome::KeyReused).count();
    if refused > 0 && uses.is_empty() {
        sums.complain(
            |sums| &mut sums.lost,
            || format!("{refused} keys were refused and none was ever used"),
        );
    }
}

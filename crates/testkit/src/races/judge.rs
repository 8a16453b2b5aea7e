//! Whether every observed state was allowed: the model replays the log, and each state must be exactly its own for
//! that entry. Also: were followers given the log, and did every word of the agent arrive once, in order?

use std::collections::BTreeMap;

use serde_json::Value;
use session::Entry;

use super::account::{self, Effect};
use super::model::{Model, event, number, text};
use super::seen::{self, Source, Strings};
use super::stage::{Seen, Stage, Stretch};
use super::words::Spoken;

/// Complaints that are told in full.
const TOLD_MAX: usize = 6;

/// What was counted in one race.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) entries: u64,
    pub(super) writers: u64,
    pub(super) operations: u64,
    pub(super) acknowledged: u64,
    /// How often each kind of operation was asked, and acknowledged.
    pub(super) kinds: BTreeMap<String, (u64, u64)>,
    pub(super) observed: u64,
    pub(super) cold_reads: u64,
    pub(super) wrong: u64,
    pub(super) stale: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) words: u64,
    pub(super) words_wrong: u64,
    pub(super) followed: u64,
    pub(super) cut_off: u64,
    pub(super) gaps: u64,
    pub(super) gone_worked: u64,
    pub(super) errors: u64,
    pub(super) list: u64,
    pub(super) pages: u64,
    pub(super) search: u64,
    pub(super) crashes: u64,
    pub(super) slots: u64,
    /// What was wrong, in words.
    pub(super) complaints: Vec<String>,
}

impl Sums {
    /// Counts something wrong and tells of the first few.
    pub(super) fn complain(
        &mut self,
        count: impl FnOnce(&mut Self) -> &mut u64,
        tell: impl FnOnce() -> String,
    ) {
        let count = count(self);
        *count += 1;
        if *count <= TOLD_MAX as u64 {
            self.complaints.push(tell());
        }
    }
}

/// What holds after each entry; index 0 is the empty log.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) open: Vec<Option<u64>>,
    pub(super) named: Vec<bool>,
    pub(super) paused: Vec<bool>,
}

/// What a run brought, as its entries say.
#[derive(Debug, Default)]
pub(super) struct Heard {
    text: String,
    reasoning: String,
    steered: Vec<String>,
    end: Option<Value>,
}

impl Heard {
    pub(super) fn words(&self) -> u64 {
        self.text.split_whitespace().count() as u64
    }
}

/// Replays the log and judges everything that was written down. Leaves the model at the log's end.
pub(super) fn judge(log: &[Entry], stage: &Stage, sums: &mut Sums) -> anyhow::Result<(Model, Strings)> {
    let Seen { mut strings, mut observations } = stage.take_seen();
    observations.sort_by_key(|observation| observation.seq);
    sums.observed += observations.len() as u64;
    sums.cold_reads +=
        observations.iter().filter(|observation| observation.source != Source::View).count() as u64;
    let mut observations = observations.into_iter().peekable();
    let mut model = Model::default();
    let mut facts = Facts { open: vec![None], named: vec![false], paused: vec![false] };
    let mut effects: Vec<Effect> = Vec::new();
    let mut heard: BTreeMap<u64, Heard> = BTreeMap::new();
    let mut waiting: BTreeMap<u64, String> = BTreeMap::new();
    for (at, entry) in log.iter().enumerate() {
        // Entries of one operation carry one time and become durable together.
        let whole = log.get(at + 1).is_none_or(|next| next.time != entry.time);
        let (kind, fields) = event(&entry.body)?;
        model.read(entry.seq.0, entry.time.0, &kind, &fields);
        facts.open.push(model.open);
        facts.named.push(model.named);
        facts.paused.push(model.is_paused());
        effects.extend(account::effect(entry.seq.0, &kind, &fields));
        hear(&mut heard, &mut waiting, entry.seq.0, &kind, &fields);
        while let Some(observation) = observations.next_if(|observation| observation.seq <= entry.seq.0) {
            let allowed = model.state(&mut strings);
            if !whole {
                let told = || format!("{:?} at {}, inside an operation", observation.source, observation.seq);
                sums.complain(|sums| &mut sums.wrong, told);
            } else if observation.state != allowed {
                let told = || {
                    let differs = seen::difference(&observation.state, &allowed);
                    format!("{:?} at {}:\n  {differs}", observation.source, observation.seq)
                };
                sums.complain(|sums| &mut sums.wrong, told);
            }
        }
        if let Some(lost) = model.lost.take() {
            sums.complain(|sums| &mut sums.wrong, || format!("entry {}: {lost}", entry.seq));
        }
    }
    for observation in observations {
        let told = || format!("{:?} at {}, which the log has not", observation.source, observation.seq);
        sums.complain(|sums| &mut sums.wrong, told);
    }
    sums.entries += log.len() as u64;
    sums.writers += log.last().map_or(0, |entry| entry.epoch.0);
    account::settle(&effects, &facts, &heard, &stage.asked(), sums);
    check_words(&heard, &stage.counter.spoken(), sums);
    check_followed(log, &stage.followed(), sums);
    Ok((model, strings))
}

/// Notes what an entry brings of a run.
fn hear(
    heard: &mut BTreeMap<u64, Heard>,
    waiting: &mut BTreeMap<u64, String>,
    seq: u64,
    kind: &str,
    fields: &Value,
) {
    let said = || text(&fields["message"], "text").to_owned();
    let run = number(fields, "run");
    match kind {
        "message_posted" | "message_edited" => drop(waiting.insert(seq, said())),
        "queued_edited" => drop(waiting.insert(number(fields, "turn"), said())),
        "run_started" => drop(heard.insert(seq, Heard::default())),
        "text_added" => heard.entry(run).or_default().text.push_str(text(fields, "text")),
        "reasoning_added" => heard.entry(run).or_default().reasoning.push_str(text(fields, "text")),
        "message_steered" => {
            let steered = waiting.get(&number(fields, "turn")).cloned();
            heard.entry(run).or_default().steered.extend(steered);
        }
        "run_ended" => heard.entry(run).or_default().end = Some(fields["end"].clone()),
        _ => {}
    }
}

/// Words are numbered: none is missing before the last, none comes twice, none out of order; and a run that ended by
/// itself said all that it was to say.
fn check_words(heard: &BTreeMap<u64, Heard>, spoken: &BTreeMap<u64, Spoken>, sums: &mut Sums) {
    for (run, heard) in heard {
        sums.words += heard.words();
        for (text, letter) in [(&heard.text, 'w'), (&heard.reasoning, 't')] {
            let in_order =
                text.split_whitespace().zip(1_u64..).all(|(word, no)| word == format!("r{run}{letter}{no}"));
            if !in_order {
                sums.complain(|sums| &mut sums.words_wrong, || format!("run {run} out of order: {text}"));
            }
        }
        let planned = spoken.get(run).map_or(0, |spoken| spoken.planned);
        let by_itself =
            heard.end.as_ref().is_some_and(|end| end == "completed" || end.get("failed").is_some());
        if by_itself && heard.words() != planned {
            let told = || {
                format!(
                    "run {run} ended by itself with {} of {planned} words: {:?}",
                    heard.words(),
                    heard.end
                )
            };
            sums.complain(|sums| &mut sums.words_wrong, told);
        }
        // The last messages that went in may not have reached a run that was ended.
        let steered = spoken.get(run).map_or(&[][..], |spoken| &spoken.steered);
        if !heard.steered.starts_with(steered) {
            let told = || format!("run {run} was given {steered:?}, the log has {:?}", heard.steered);
            sums.complain(|sums| &mut sums.words_wrong, told);
        }
    }
}

/// Each stretch is one contiguous range of the log, beginning after its cursor.
fn check_followed(log: &[Entry], followed: &[Stretch], sums: &mut Sums) {
    for stretch in followed {
        sums.followed += stretch.entries.len() as u64;
        for (given, seq) in stretch.entries.iter().zip(stretch.after + 1..) {
            let index = usize::try_from(seq - 1).unwrap_or(usize::MAX);
            let right = log.get(index).is_some_and(|entry| (entry.seq.0, entry.hash) == *given);
            if !right {
                let told =
                    || format!("a follower after {} was given {} in place of {seq}", stretch.after, given.0);
                sums.complain(|sums| &mut sums.gaps, told);
                break;
            }
        }
    }
}

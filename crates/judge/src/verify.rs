//! What became of it: every message, every entry that was seen and every token of every answer, sorted into classes.
//! Pure: a history and the logs in, violations out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use uuid::Uuid;

use crate::api::Shown;
use crate::history::{Outcome, Record};

/// The classes of what can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Accepted or seen, and gone.
    Lost,
    /// There twice.
    Doubled,
    /// There in another order.
    Reordered,
    /// There, and never sent.
    Phantom,
    /// There, and not as it was.
    Changed,
    /// It does not come to an end.
    Wedged,
}

impl Class {
    pub const ALL: [Self; 6] =
        [Self::Lost, Self::Doubled, Self::Reordered, Self::Phantom, Self::Changed, Self::Wedged];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Reordered => "reordered",
            Self::Phantom => "phantom",
            Self::Changed => "changed",
            Self::Wedged => "wedged",
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub class: Class,
    pub session: Uuid,
    pub what: String,
}

/// What was looked at, and how often rare things happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    pub violations: Vec<Violation>,
    pub sessions: u64,
    pub messages: u64,
    pub entries: u64,
    pub seen: u64,
    pub tokens: u64,
    pub happened: BTreeMap<&'static str, u64>,
}

/// The log of a session, as the server gives it in the end.
pub type Log = Vec<Shown>;

/// Judges a history by the logs.
pub fn judge(records: &[Record], logs: &BTreeMap<Uuid, Log>) -> Judgement {
    let mut judgement = Judgement { sessions: logs.len() as u64, ..Judgement::default() };
    for (session, log) in logs {
        let events = log.iter().map(event).collect();
        let mut one = OfSession { session: *session, log, events, judgement: &mut judgement };
        one.log_itself();
        one.readers(records);
        one.messages(records);
        one.runs();
        one.answers();
    }
    let known: BTreeSet<Uuid> = logs.keys().copied().collect();
    for record in records {
        if let Record::Answered { session, outcome: Outcome::Kept { .. }, key } = record
            && !known.contains(session)
        {
            let what = format!("message {key} and its session");
            judgement.violations.push(Violation { class: Class::Lost, session: *session, what });
        }
    }
    judgement
}

struct OfSession<'a> {
    session: Uuid,
    log: &'a Log,
    events: Vec<Event>,
    judgement: &'a mut Judgement,
}

/// What an entry says that happened.
pub(crate) struct Event {
    seq: u64,
    pub(crate) kind: String,
    pub(crate) body: Value,
}

pub(crate) fn event(shown: &Shown) -> Event {
    let entry: Value = serde_json::from_str(&shown.data).unwrap_or_default();
    let event = entry["event"].as_object().and_then(|event| event.iter().next());
    let (kind, body) = event.map_or_else(Default::default, |(kind, body)| (kind.clone(), body.clone()));
    Event { seq: shown.seq, kind, body }
}

impl OfSession<'_> {
    fn wrong(&mut self, class: Class, what: String) {
        self.judgement.violations.push(Violation { class, session: self.session, what });
    }

    fn happened(&mut self, what: &'static str) {
        *self.judgement.happened.entry(what).or_default() += 1;
    }

    /// Entries are 1, 2, 3 … without gap or double.
    fn log_itself(&mut self) {
        let log = self.log;
        self.judgement.entries += log.len() as u64;
        if log.is_empty() {
            self.wrong(Class::Lost, "the session itself, which was made".to_owned());
        }
        let mut before = 0;
        for shown in log {
            match shown.seq {
                seq if seq == before + 1 => {}
                seq if seq == before => self.wrong(Class::Doubled, format!("entry {seq}")),
                seq if seq < before => self.wrong(Class::Reordered, format!("entry {seq} behind {before}")),
                seq => self.wrong(Class::Lost, format!("entries between {before} and {seq}")),
            }
            before = shown.seq;
        }
    }

    /// What a reader saw is what the log says, without gap, double or loss.
    fn readers(&mut self, records: &[Record]) {
        let log: BTreeMap<u64, String> = self.log.iter().map(|shown| (shown.seq, shown.hash())).collect();
        let end = self.log.last().map_or(0, |last| last.seq);
        let mut cursors: BTreeMap<u32, u64> = BTreeMap::new();
        for record in records {
            let Record::Seen { session, reader, seq, hash } = record else { continue };
            if *session != self.session {
                continue;
            }
            self.judgement.seen += 1;
            let before = cursors.insert(*reader, *seq).unwrap_or(0);
            if *seq <= before {
                self.wrong(Class::Doubled, format!("reader {reader} was shown entry {seq} after {before}"));
            } else if *seq != before + 1 {
                self.wrong(Class::Lost, format!("reader {reader} was shown {seq} after {before}"));
            }
            match log.get(seq) {
                None if *seq > end => {
                    self.wrong(Class::Lost, format!("entry {seq}, which reader {reader} saw"))
                }
                None => {}
                Some(kept) if kept != hash => {
                    self.wrong(Class::Changed, format!("entry {seq}, since reader {reader} saw it"))
                }
                Some(_) => {}
            }
        }
    }

    /// A message that was accepted is there once, as it was sent, in the order of sending.
    fn messages(&mut self, records: &[Record]) {
        let mut posted: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        for Event { seq, body, .. } in self.events.iter().filter(|event| event.kind == "message_posted") {
            let key = body["key"].as_str().unwrap_or_default().to_owned();
            let text = body["message"]["text"].as_str().unwrap_or_default().to_owned();
            posted.entry(key).or_default().push((*seq, text));
        }
        let mut sent = BTreeSet::new();
        let mut outcomes: BTreeMap<&str, &Outcome> = BTreeMap::new();
        for record in records {
            match record {
                // Of several answers to one key, the last certain one counts.
                Record::Answered { session, key, outcome }
                    if *session == self.session
                        && !(*outcome == Outcome::Unknown && outcomes.contains_key(key.as_str())) =>
                {
                    outcomes.insert(key, outcome);
                }
                _ => {}
            }
        }
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for record in records {
            let Record::Sent { session, by, key, text, .. } = record else { continue };
            if *session != self.session || !sent.insert(key.clone()) {
                continue;
            }
            self.judgement.messages += 1;
            let there = posted.get(key).cloned().unwrap_or_default();
            let outcome = outcomes.get(key.as_str()).copied().unwrap_or(&Outcome::Unknown);
            if there.len() > 1 {
                self.wrong(Class::Doubled, format!("message {key}: {} times", there.len()));
            }
            match (outcome, there.first()) {
                (Outcome::Kept { .. }, None) => {
                    self.wrong(Class::Lost, format!("message {key}, which was accepted"))
                }
                (Outcome::Kept { turn }, Some((seq, _))) if turn != seq => {
                    self.wrong(
                        Class::Changed,
                        format!("message {key} is turn {seq}, not {turn} as was said"),
                    );
                }
                (Outcome::Refused { code }, Some(_)) => {
                    self.wrong(Class::Phantom, format!("message {key}, which was refused with {code}"));
                }
                _ => {}
            }
            let Some((seq, kept)) = there.first() else { continue };
            if kept != text {
                self.wrong(Class::Changed, format!("the text of message {key}"));
            }
            // One client sends a message once the one before it is settled.
            let before = last.insert(*by, *seq).unwrap_or(0);
            if *seq < before {
                self.wrong(
                    Class::Reordered,
                    format!("message {key} at {seq}, sent after the one at {before}"),
                );
            }
        }
        for key in posted.keys().filter(|key| !sent.contains(*key)) {
            self.wrong(Class::Phantom, format!("message {key}, which nobody sent"));
        }
    }

    /// Runs begin one at a time and end once, and nothing of one follows its end; every message came to an end.
    fn runs(&mut self) {
        let mut open: Option<u64> = None;
        let mut ended: BTreeMap<u64, bool> = BTreeMap::new();
        let mut waiting: BTreeSet<u64> = BTreeSet::new();
        let events = std::mem::take(&mut self.events);
        for Event { seq, kind, body } in &events {
            let (seq, run) = (*seq, body["run"].as_u64().unwrap_or(0));
            match kind.as_str() {
                "message_posted" | "message_edited" => drop(waiting.insert(seq)),
                "queued_removed" | "message_steered" => {
                    self.happened(if kind == "message_steered" { "steered" } else { "withdrawn" });
                    waiting.remove(&body["turn"].as_u64().unwrap_or(0));
                }
                "run_started" => {
                    waiting.remove(&body["turn"].as_u64().unwrap_or(0));
                    if let Some(open) = open.replace(seq) {
                        self.wrong(Class::Doubled, format!("run {seq} while {open} was going on"));
                    }
                    match body["cause"].as_str() {
                        Some("resume") => self.happened("gone on by itself"),
                        Some("continue") => self.happened("continued"),
                        Some("retry") => self.happened("retried"),
                        _ => {}
                    }
                }
                "run_ended" => {
                    let interrupted = &body["end"]["interrupted"];
                    if open.take_if(|open| *open == run).is_none() {
                        self.wrong(Class::Doubled, format!("the end of run {run} at {seq}"));
                    }
                    // What is recovered of an interrupted run comes behind its end.
                    ended.insert(run, interrupted["recovering"] == true);
                    let how = if body["end"] == "completed" {
                        "completed"
                    } else if interrupted.is_object() {
                        "interrupted"
                    } else if body["end"]["stopped"].is_object() {
                        "stopped"
                    } else {
                        "failed"
                    };
                    self.happened(how);
                }
                "turns_undone" => self.happened("undone"),
                "turns_put_back" => self.happened("put back"),
                "step_started" | "text_added" | "reasoning_added" | "call_drafted" | "call_asked"
                | "call_finished" | "usage_reported"
                    if ended.get(&run) == Some(&false) =>
                {
                    self.wrong(Class::Reordered, format!("entry {seq} of run {run} behind its end"));
                }
                _ => {}
            }
        }
        self.events = events;
        if let Some(open) = open {
            self.wrong(Class::Wedged, format!("run {open}, which does not end"));
        }
        for turn in waiting {
            self.wrong(Class::Wedged, format!("message {turn}, which waits for ever"));
        }
    }

    /// The tokens of an answer count from 1 without gap or double, through every cut and continuation.
    fn answers(&mut self) {
        // The runs of a turn's answer follow each other; a retry begins another answer.
        let mut answer_of: BTreeMap<u64, u64> = BTreeMap::new();
        let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
        let mut chosen: BTreeMap<u64, u64> = BTreeMap::new();
        let mut texts: BTreeMap<u64, String> = BTreeMap::new();
        let mut told: BTreeMap<u64, u64> = BTreeMap::new();
        let mut asked: BTreeMap<u64, String> = BTreeMap::new();
        let mut complete: BTreeMap<u64, u64> = BTreeMap::new();
        let mut steered: BTreeSet<u64> = BTreeSet::new();
        for Event { seq, kind, body } in &self.events {
            let seq = *seq;
            let run = body["run"].as_u64().unwrap_or(0);
            let turn = body["turn"].as_u64().unwrap_or(0);
            match kind.as_str() {
                "message_posted" => {
                    asked.insert(seq, body["message"]["text"].as_str().unwrap_or_default().to_owned());
                }
                "queued_edited" => {
                    asked.insert(turn, body["message"]["text"].as_str().unwrap_or_default().to_owned());
                }
                "run_started" => {
                    let goes_on = matches!(body["cause"].as_str(), Some("resume" | "continue"));
                    let shown_answer = chosen.get(&turn).or(newest.get(&turn)).copied();
                    let answer = shown_answer.filter(|_| goes_on).unwrap_or(seq);
                    newest.insert(turn, answer);
                    chosen.insert(turn, answer);
                    answer_of.insert(seq, answer);
                    told.insert(answer, turn);
                }
                // A message that went into the run may be answered in its place.
                "message_steered" => drop(steered.insert(answer_of.get(&run).copied().unwrap_or(run))),
                "text_added" => {
                    let answer = answer_of.get(&run).copied().unwrap_or(run);
                    texts.entry(answer).or_default().push_str(body["text"].as_str().unwrap_or_default());
                }
                "run_ended" if body["end"] == "completed" => {
                    complete.insert(answer_of.get(&run).copied().unwrap_or(run), run);
                }
                _ => {}
            }
        }
        let message =
            |answer: &u64| told.get(answer).and_then(|turn| asked.get(turn)).map_or("", String::as_str);
        for (answer, text) in &texts {
            // A log keeps what a model repeated; what readers get is judged by `shown`.
            if !is_loose(message(answer)) {
                self.tokens(*answer, text);
            }
        }
        for (answer, run) in complete {
            let text = message(&answer).to_owned();
            if is_loose(&text) {
                continue;
            }
            let Some((count, tag)) = instruction(&text) else { continue };
            let said = texts.get(&answer).map_or("", String::as_str);
            let last = said
                .split_whitespace()
                .filter_map(token)
                .filter(|(of, _)| *of == tag)
                .map(|(_, no)| no)
                .max();
            let last = last.unwrap_or(0);
            if last != count && !steered.contains(&answer) {
                self.wrong(Class::Lost, format!("run {run} is complete with {last} of {count} tokens"));
            }
        }
    }

    fn tokens(&mut self, answer: u64, text: &str) {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for word in text.split_whitespace() {
            let Some((tag, no)) = token(word) else {
                self.wrong(
                    Class::Changed,
                    format!("answer {answer} holds `{}`", word.chars().take(40).collect::<String>()),
                );
                continue;
            };
            self.judgement.tokens += 1;
            let before = counts.entry(tag).or_default();
            if no <= *before {
                let what = format!("token {tag}.{no} of answer {answer} after {before}");
                *before = no;
                self.wrong(Class::Doubled, what);
            } else if no != *before + 1 {
                let what = format!("tokens of {tag} between {before} and {no} of answer {answer}");
                *before = no;
                self.wrong(Class::Lost, what);
            } else {
                *before = no;
            }
        }
    }
}

/// Whether a message asks for a continuation that repeats itself.
pub(crate) fn is_loose(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "loose")
}

/// A token that the scripted model says: `tag.7`.
pub(crate) fn token(word: &str) -> Option<(&str, u64)> {
    let (tag, no) = word.rsplit_once('.')?;
    Some((tag, no.parse().ok()?))
}

/// What a message tells the scripted model: how many tokens of which tag.
pub(crate) fn instruction(text: &str) -> Option<(u64, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let after =
        |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
    Some((after("say")?.parse().ok()?, after("of")?))
}

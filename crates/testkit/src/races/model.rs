//! An independent reading of a log: what each stored entry means to the visible transcript.
//!
//! It knows stored bytes and nothing of `session`'s decisions, folds or views, and keeps every visible turn in plain
//! lists. Bounds of the product that a reader can see are written down here a second time.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::join;
use super::seen::{State, Strings};

const SHOWN_TURNS_MAX: usize = 64;
const SHOWN_BYTES_MAX: usize = 256 * 1024;
const PUT_BACK_MAX: usize = 16;
const ANSWERS_MAX: usize = 32;

/// The transcript after some entry.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) seq: u64,
    created: i64,
    active: i64,
    pub(super) title: Option<String>,
    pub(super) named: bool,
    flags: [bool; 3],
    pub(super) ids: Vec<String>,
    /// Every visible turn, oldest first.
    pub(super) turns: Vec<Turn>,
    /// How many of them are only counted.
    before: usize,
    undone: Vec<Vec<Turn>>,
    /// The last turn that a summary covers.
    summarized: Option<u64>,
    queue: Vec<Waiting>,
    pub(super) open: Option<u64>,
    pub(super) messages: u64,
    /// Why the model can't tell any more, if it can't.
    pub(super) lost: Option<String>,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: u64,
    pub(super) message: Value,
    posted: i64,
    pub(super) answers: Vec<Vec<Run>>,
    shown: usize,
    rendered: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: u64,
    pub(super) parts: Vec<Part>,
    /// Tokens in and out.
    used: [u64; 2],
    pub(super) end: Option<(Value, i64)>,
}

#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Call { no: u64, tool: String, arguments: String, asked: bool, outcome: Option<Value> },
    Steered { turn: u64, message: Value },
}

#[derive(Debug)]
struct Waiting {
    turn: u64,
    posted: i64,
    message: Value,
    mode: String,
    paused: bool,
}

/// The kind and the fields of a stored event.
pub(super) fn event(body: &str) -> anyhow::Result<(String, Value)> {
    let value: serde_json::Map<String, Value> = serde_json::from_str(body)?;
    value.into_iter().next().ok_or_else(|| anyhow::anyhow!("an empty event"))
}

pub(super) fn number(fields: &Value, name: &str) -> u64 {
    fields[name].as_u64().unwrap_or(0)
}

pub(super) fn text<'a>(fields: &'a Value, name: &str) -> &'a str {
    fields[name].as_str().unwrap_or("")
}

impl Model {
    /// Reads the next entry.
    pub(super) fn read(&mut self, seq: u64, time: i64, kind: &str, fields: &Value) {
        self.seq = seq;
        if self.moves_activity(kind, fields) {
            self.active = self.active.max(time);
        }
        match kind {
            "session_created" | "session_renamed" | "title_generated" | "flag_set" | "id_added"
            | "id_removed" => {
                self.about_session(time, kind, fields);
            }
            "message_posted" => self.wait(seq, time, fields, text(fields, "mode")),
            "message_edited" => {
                self.hide(number(fields, "turn"));
                self.wait(seq, time, fields, "interrupt");
            }
            "queued_edited" => {
                let turn = number(fields, "turn");
                for waiting in self.queue.iter_mut().filter(|waiting| waiting.turn == turn) {
                    waiting.message = fields["message"].clone();
                }
            }
            "queue_paused" | "queue_resumed" => {
                self.queue.iter_mut().for_each(|waiting| waiting.paused = kind == "queue_paused");
            }
            "queued_removed" => {
                let turn = number(fields, "turn");
                self.queue.retain(|waiting| waiting.turn != turn);
            }
            "message_steered" => {
                let turn = number(fields, "turn");
                if let Some(waiting) = self.take_waiting(turn) {
                    self.output(fields, |parts| parts.push(Part::Steered { turn, message: waiting.message }));
                }
            }
            "turns_undone" => self.hide(number(fields, "from")),
            "turns_put_back" => {
                self.turns.extend(self.undone.pop().unwrap_or_default());
                self.count_old();
            }
            "session_cleared" => {
                self.turns.clear();
                self.undone.clear();
                self.summarized = None;
                self.before = 0;
            }
            "answer_chosen" => self.choose(number(fields, "turn"), number(fields, "run")),
            "run_started" => self.start(seq, time, fields),
            "run_ended" => self.end(fields, time),
            "text_added" | "reasoning_added" | "call_drafted" | "call_asked" | "call_finished" => {
                self.output(fields, |parts| add_output(parts, kind, fields));
            }
            "usage_reported" => {
                let usage = &fields["usage"];
                let more = [number(usage, "input_tokens"), number(usage, "output_tokens")];
                if let Some(run) = self.run(number(fields, "run")) {
                    run.used = [run.used[0] + more[0], run.used[1] + more[1]];
                }
            }
            "context_compacted" => self.summarized = Some(number(fields, "through")),
            "step_started" => {}
            other => self.lost = Some(format!("the model does not know {other}")),
        }
    }

    fn moves_activity(&self, kind: &str, fields: &Value) -> bool {
        match kind {
            "session_created" | "session_renamed" | "message_posted" | "message_edited" | "run_started" => {
                true
            }
            "run_ended" => fields["end"].get("interrupted").is_none(),
            "call_finished" => self.open == Some(number(fields, "run")),
            _ => false,
        }
    }

    fn about_session(&mut self, time: i64, kind: &str, fields: &Value) {
        let title = || fields["title"].as_str().map(str::to_owned);
        match kind {
            "session_created" => {
                self.created = time;
                self.title = title();
                self.named = self.title.is_some();
                self.ids.push(text(fields, "id").to_owned());
            }
            "session_renamed" => {
                self.title = title();
                self.named = true;
            }
            "title_generated" if !self.named => self.title = title(),
            "flag_set" => {
                let names = ["pinned", "archived", "trashed"];
                for (flag, _) in
                    self.flags.iter_mut().zip(names).filter(|(_, name)| *name == text(fields, "flag"))
                {
                    *flag = fields["on"] == true;
                }
            }
            "id_added" => self.ids.push(text(fields, "id").to_owned()),
            "id_removed" => self.ids.retain(|id| id != text(fields, "id")),
            _ => {}
        }
    }

    fn wait(&mut self, turn: u64, posted: i64, fields: &Value, mode: &str) {
        self.messages += 1;
        let message = fields["message"].clone();
        if self.title.is_none() {
            // Every message of a race is one short line.
            self.title = Some(text(&message, "text").to_owned());
        }
        let waiting = Waiting { turn, posted, message, mode: mode.to_owned(), paused: false };
        let at = if mode == "interrupt" { 0 } else { self.queue.len() };
        self.queue.insert(at, waiting);
    }

    fn take_waiting(&mut self, turn: u64) -> Option<Waiting> {
        let at = self.queue.iter().position(|waiting| waiting.turn == turn)?;
        Some(self.queue.remove(at))
    }

    fn hide(&mut self, from: u64) {
        let shown = &self.turns[self.before..];
        let Some(at) = shown.iter().position(|turn| turn.id == from) else { return };
        let hidden = self.turns.split_off(self.before + at);
        self.summarized.take_if(|through| hidden.iter().any(|turn| turn.id == *through));
        self.undone.push(hidden);
        if self.undone.len() > PUT_BACK_MAX {
            self.undone.remove(0);
        }
    }

    fn choose(&mut self, turn: u64, run: u64) {
        let Some(turn) = self.turns.iter_mut().find(|candidate| candidate.id == turn) else { return };
        turn.rendered = None;
        let chosen = turn.answers.iter().position(|runs| runs.first().is_some_and(|first| first.id == run));
        turn.shown = chosen.unwrap_or(turn.shown);
    }

    fn start(&mut self, seq: u64, time: i64, fields: &Value) {
        let id = number(fields, "turn");
        if let Some(Waiting { message, posted, .. }) = self.take_waiting(id) {
            self.turns.push(Turn { id, message, posted, answers: Vec::new(), shown: 0, rendered: None });
            self.undone.clear();
            self.count_old();
        }
        self.open = Some(seq);
        self.active = self.active.max(time);
        let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.id == id) else {
            self.lost = Some(format!("run {seq} is of turn {id}, which is not visible"));
            return;
        };
        turn.rendered = None;
        let run = Run { id: seq, parts: Vec::new(), used: [0; 2], end: None };
        match text(fields, "cause") {
            "continue" => turn.answers[turn.shown].push(run),
            "resume" => {
                let newest = turn.answers.iter_mut().max_by_key(|runs| runs.iter().map(|run| run.id).max());
                if let Some(runs) = newest {
                    runs.push(run);
                }
            }
            _ => {
                turn.answers.push(vec![run]);
                turn.shown = turn.answers.len() - 1;
            }
        }
        turn.forget();
    }

    fn end(&mut self, fields: &Value, time: i64) {
        let run = number(fields, "run");
        if self.open.take() != Some(run) {
            self.lost = Some(format!("run {run} ends, which is not going on"));
        }
        if fields["end"]["interrupted"]["recovering"] == true {
            self.lost = Some(format!("run {run} is being recovered, though the store refused nothing"));
        }
        if let Some(run) = self.run(run) {
            run.end = Some((fields["end"].clone(), time));
        }
        self.count_old();
    }

    fn output(&mut self, fields: &Value, add: impl FnOnce(&mut Vec<Part>)) {
        let run = number(fields, "run");
        if self.open != Some(run) {
            self.lost = Some(format!("entry {} is output of run {run}, which is over", self.seq));
        }
        if let Some(run) = self.run(run) {
            add(&mut run.parts);
        }
    }

    fn run(&mut self, run: u64) -> Option<&mut Run> {
        let turns = self.turns.iter_mut().rev().chain(self.undone.iter_mut().flatten());
        let mut turns =
            turns.filter(|turn| turn.answers.iter().flatten().any(|candidate| candidate.id == run));
        let turn = turns.next()?;
        turn.rendered = None;
        turn.answers.iter_mut().flatten().find(|candidate| candidate.id == run)
    }

    /// The oldest turns are only counted once the newest fill what is shown.
    fn count_old(&mut self) {
        let mut bytes: usize = self.turns[self.before..].iter().map(Turn::bytes).sum();
        while self.turns.len() - self.before > SHOWN_TURNS_MAX
            || (bytes > SHOWN_BYTES_MAX && self.turns.len() - self.before > 1)
        {
            bytes -= self.turns[self.before].bytes();
            self.before += 1;
        }
    }

    /// What a reader sees now.
    pub(super) fn state(&mut self, strings: &mut Strings) -> State {
        let queue = self.queue.iter().map(|waiting| {
            let mut queued = json!({
                "turn": waiting.turn, "posted_at": waiting.posted,
                "message": waiting.message, "mode": waiting.mode,
            });
            if waiting.paused {
                queued["paused"] = true.into();
            }
            queued
        });
        let mut head = json!({
            "seq": self.seq,
            "title": self.title,
            "created_at": self.created,
            "active_at": self.active,
            "pinned": self.flags[0],
            "archived": self.flags[1],
            "trashed": self.flags[2],
            "turns_before": self.before,
            "queue": queue.collect::<Vec<_>>(),
            "run": self.open,
            "can_put_back": !self.undone.is_empty() && self.open.is_none(),
        });
        if let Some(through) = self.summarized {
            head["summarized_through"] = through.into();
        }
        let turns = self.turns[self.before..].iter_mut().map(|turn| turn.rendered(strings)).collect();
        State { head: strings.keep(head.to_string()), turns }
    }

    /// Whether a waiting message is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.queue.iter().any(|waiting| waiting.paused)
    }

    /// Every visible turn, also those that are only counted.
    pub(super) fn all_turns(&mut self, strings: &mut Strings) -> Vec<Arc<str>> {
        self.turns.iter_mut().map(|turn| turn.rendered(strings)).collect()
    }

    /// Pinned, and the time of the last activity.
    pub(super) fn pinned_and_active(&self) -> (bool, i64) {
        (self.flags[0], self.active)
    }
}

fn add_output(parts: &mut Vec<Part>, kind: &str, fields: &Value) {
    let added = text(fields, "text");
    match (kind, parts.last_mut()) {
        ("text_added", Some(Part::Text(last))) | ("reasoning_added", Some(Part::Reasoning(last))) => {
            last.push_str(added);
        }
        ("text_added", _) => parts.push(Part::Text(added.to_owned())),
        ("reasoning_added", _) => parts.push(Part::Reasoning(added.to_owned())),
        _ => add_call(parts, kind, fields),
    }
}

fn add_call(parts: &mut Vec<Part>, kind: &str, fields: &Value) {
    let call = number(fields, "call");
    let known = parts.iter().any(|part| matches!(part, Part::Call { no, .. } if *no == call));
    if !known {
        let (tool, arguments) = (text(fields, "tool").to_owned(), String::new());
        parts.push(Part::Call { no: call, tool, arguments, asked: false, outcome: None });
    }
    for part in parts {
        let Part::Call { no, arguments, asked, outcome, .. } = part else { continue };
        match kind {
            _ if *no != call => {}
            "call_drafted" => arguments.push_str(text(fields, "arguments")),
            "call_asked" => {
                text(fields, "arguments").clone_into(arguments);
                *asked = true;
            }
            _ => *outcome = Some(fields["outcome"].clone()),
        }
    }
}

impl Turn {
    fn bytes(&self) -> usize {
        let parts = self.answers.iter().flatten().flat_map(|run| &run.parts);
        text(&self.message, "text").len() + parts.map(Part::bytes).sum::<usize>()
    }

    /// Drops the oldest answers beyond the bound, except the answer that is shown and the newest.
    fn forget(&mut self) {
        let newest = self.answers.iter().flatten().map(|run| run.id).max();
        while self.answers.len() > ANSWERS_MAX {
            let keeps = |runs: &Vec<Run>| runs.iter().any(|run| Some(run.id) == newest);
            let oldest = (0..self.answers.len()).find(|at| *at != self.shown && !keeps(&self.answers[*at]));
            let Some(at) = oldest else { return };
            self.answers.remove(at);
            if self.shown > at {
                self.shown -= 1;
            }
        }
    }

    fn rendered(&mut self, strings: &mut Strings) -> Arc<str> {
        if let Some(rendered) = &self.rendered {
            return rendered.clone();
        }
        let rendered = strings.keep(self.render().to_string());
        self.rendered = Some(rendered.clone());
        rendered
    }

    fn render(&self) -> Value {
        let runs = self.answers.get(self.shown).map_or(&[][..], Vec::as_slice);
        let (parts, interruptions) = join(runs);
        let complete =
            runs.last().and_then(|run| run.end.as_ref()).is_some_and(|(end, _)| end == "completed");
        let first = runs.first().filter(|_| !parts.is_empty());
        let used = [0, 1].map(|at| runs.iter().map(|run| run.used[at]).sum::<u64>());
        let mut answer = first.map(|run| json!({ "run": run.id, "parts": parts, "complete": complete }));
        if let Some(answer) = answer.as_mut().filter(|_| !interruptions.is_empty()) {
            answer["interruptions"] = interruptions.into();
        }
        let mut turn = json!({
            "turn": self.id,
            "posted_at": self.posted,
            "message": self.message,
            "answer": answer,
            "marker": runs.last().and_then(Run::marker),
            "alternatives": self.answers.iter().filter_map(|runs| runs.first()).map(|run| run.id).collect::<Vec<_>>(),
        });
        if used != [0, 0] {
            turn["usage"] = json!({ "input_tokens": used[0], "output_tokens": used[1] });
        }
        turn
    }
}

impl Run {
    pub(super) fn marker(&self) -> Option<Value> {
        let (end, at) = self.end.as_ref()?;
        let mut reason = None;
        let (kind, said) = if end == "completed" {
            return None;
        } else if let Some(stopped) = end.get("stopped") {
            let by_message = stopped["by_message"] == true;
            let whom = if by_message { "Stopped for your next message." } else { "Stopped." };
            ("stopped", format!("{whom} Everything above is kept."))
        } else if let Some(failed) = end.get("failed") {
            ("failed", text(failed, "error").to_owned())
        } else {
            // Only crashes interrupt the runs of a race.
            reason = Some(end["interrupted"]["reason"].clone());
            ("interrupted", "Interrupted: the server stopped unexpectedly.".to_owned())
        };
        let mut marker = json!({ "kind": kind, "run": self.id, "at": at, "text": said });
        if let Some(reason) = reason {
            marker["reason"] = reason;
        }
        Some(marker)
    }
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.len(),
            Self::Steered { message, .. } => text(message, "text").len(),
            Self::Call { arguments, outcome, .. } => {
                arguments.len() + outcome.as_ref().map_or(0, |outcome| text(outcome, "content").len())
            }
        }
    }

    pub(super) fn render(&self, over: bool) -> Value {
        match self {
            Self::Text(text) => json!({ "text": text }),
            Self::Reasoning(text) => json!({ "reasoning": text }),
            Self::Steered { turn, message } => json!({ "steered": { "turn": turn, "message": message } }),
            Self::Call { no, tool, arguments, asked, outcome } => {
                let state = match outcome {
                    Some(outcome) if outcome["status"] == "ok" => "finished",
                    Some(_) => "failed",
                    None if *asked && over => "may_have_run",
                    None if *asked => "running",
                    None => "incomplete",
                };
                let result = outcome.as_ref().map(|outcome| outcome["content"].clone());
                json!({ "call": {
                    "call": no, "tool": tool, "arguments": arguments, "state": state, "result": result,
                } })
            }
        }
    }
}

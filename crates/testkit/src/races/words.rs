//! An agent that counts: each word of a run carries its number, so that a gap, a double or a swap shows in the log.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{RunOver, RunProgress, RunRequest, Runner};
use session::event::CallStatus;
use session::{CallNo, Message, Outcome, Progress, Usage};

use crate::dice::Dice;

/// What one run was to say, and how far it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Spoken {
    /// Words that the run says when nobody stops it.
    pub(super) planned: u64,
    /// Words that were taken from it.
    pub(super) taken: u64,
    /// Messages that went into it.
    pub(super) steered: Vec<String>,
}

/// The agent of all races.
#[derive(Debug, Default)]
pub(super) struct Counter {
    spoken: Mutex<BTreeMap<u64, Spoken>>,
    /// Every run says two words and is done.
    brief: AtomicBool,
}

impl Counter {
    fn spoken_mut(&self) -> MutexGuard<'_, BTreeMap<u64, Spoken>> {
        self.spoken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each run said so far.
    pub(super) fn spoken(&self) -> BTreeMap<u64, Spoken> {
        self.spoken_mut().clone()
    }

    /// The newest run and the words taken from it so far.
    pub(super) fn newest(&self) -> Option<(u64, u64)> {
        self.spoken_mut().last_key_value().map(|(run, spoken)| (*run, spoken.taken))
    }

    /// Whether runs are brief from now on.
    pub(super) fn be_brief(&self, brief: bool) {
        self.brief.store(brief, Ordering::Release);
    }

    fn note(&self, run: u64, change: impl FnOnce(&mut Spoken)) {
        change(self.spoken_mut().entry(run).or_default());
    }
}

/// A runner is shared by the hub and the races, so it is the counter behind an `Arc`.
#[derive(Debug, Clone)]
pub(super) struct Speaker(pub(super) std::sync::Arc<Counter>);

impl Runner for Speaker {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let counter = self.0.clone();
        // A run that is over says nothing more.
        async move { Speech::new(&counter, request.run.0, progress).give().await.unwrap_or(()) }.boxed()
    }
}

/// One run's speech.
struct Speech<'a> {
    counter: &'a Counter,
    run: u64,
    words: u64,
    fails: bool,
    dice: Dice,
    progress: RunProgress,
}

impl<'a> Speech<'a> {
    fn new(counter: &'a Counter, run: u64, progress: RunProgress) -> Self {
        let mut dice = Dice::new(run);
        let brief = counter.brief.load(Ordering::Acquire);
        let words = if brief { 2 } else { 6 + dice.below(60) };
        let fails = !brief && dice.chance(8);
        counter.note(run, |spoken| spoken.planned = words);
        Self { counter, run, words, fails, dice, progress }
    }

    async fn give(mut self) -> Result<(), RunOver> {
        self.step().await?;
        for number in 1..=self.dice.below(5) {
            self.progress.reasoning(&format!("r{}t{number} ", self.run)).await?;
        }
        let (call_at, step_at) = (self.words / 3, self.words / 2);
        for number in 1..=self.words {
            self.progress.text(&format!("r{}w{number} ", self.run)).await?;
            self.counter.note(self.run, |spoken| spoken.taken = number);
            if self.words > 2 && number == call_at {
                self.call().await?;
            }
            if self.words > 2 && number == step_at {
                self.step().await?;
            }
            if self.words > 2 && self.dice.chance(50) {
                tokio::time::sleep(Duration::from_millis(1 + self.dice.below(2))).await;
            }
        }
        let usage = Usage { input_tokens: 1, output_tokens: self.words, ..Usage::default() };
        self.progress.report(Progress::Usage(usage)).await?;
        if self.fails {
            let error = format!("run {} was told to fail", self.run);
            self.progress.report(Progress::Failed { error }).await?;
        }
        Ok(())
    }

    async fn step(&self) -> Result<(), RunOver> {
        let steered: Vec<Message> = self.progress.report(Progress::Step { asked_to_continue: false }).await?;
        self.counter
            .note(self.run, |spoken| spoken.steered.extend(steered.into_iter().map(|message| message.text)));
        Ok(())
    }

    async fn call(&mut self) -> Result<(), RunOver> {
        let (call, tool) = (CallNo(1), "count".to_owned());
        let arguments = format!("{{\"run\":{}}}", self.run);
        let (first, rest) = arguments.split_at(4);
        for piece in [first, rest] {
            let arguments = piece.to_owned();
            self.progress.report(Progress::CallDrafted { call, tool: tool.clone(), arguments }).await?;
        }
        let provider_call = Some(format!("call_{}", self.run));
        self.progress.report(Progress::CallAsked { call, tool, arguments, provider_call }).await?;
        tokio::time::sleep(Duration::from_millis(self.dice.below(4))).await;
        let status = if self.dice.chance(20) { CallStatus::Error } else { CallStatus::Ok };
        let outcome = Outcome { status, content: format!("result of run {}", self.run) };
        self.progress.report(Progress::CallFinished { call, outcome }).await?;
        Ok(())
    }
}

//! Gathers what a run streams into chunks: the first delta goes at once, later ones while the previous chunk is
//! committing and at least for the flush interval. The flushing ends with the run: it is part of its task.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use session::{CallNo, Command, Message, Progress, RunId, TurnId};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::input::{Input, ProgressAnswer};
use crate::runner::RunOver;

/// Least time between two chunks of a run: a reader sees no difference, and an entry carries more.
const FLUSH_MIN: Duration = Duration::from_millis(33);
/// Most time between two chunks when commits are slow.
const FLUSH_MAX: Duration = Duration::from_millis(250);
/// Bytes that may wait; a run that streams faster than the disk takes waits itself.
const GATHERED_BYTES_MAX: usize = 64 * 1024;

/// What a delta is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Reasoning,
    /// A piece of a call's arguments.
    Draft {
        call: CallNo,
        tool: String,
    },
}

impl Kind {
    fn progress(self, text: String) -> Progress {
        match self {
            Self::Text => Progress::Text(text),
            Self::Reasoning => Progress::Reasoning(text),
            Self::Draft { call, tool } => Progress::CallDrafted { call, tool, arguments: text },
        }
    }
}

/// What a run streamed and was not handed to the writer yet.
pub(crate) struct Gather {
    run: RunId,
    mailbox: mpsc::Sender<Input>,
    waiting: Mutex<Waiting>,
    /// Told when something waits.
    came: Notify,
    /// Told when what waited went.
    went: Notify,
}

struct Waiting {
    deltas: VecDeque<(Kind, String)>,
    /// Whether the run is still going on.
    open: bool,
    /// When commits are slow: the moment of the next chunk.
    rests_until: Option<Instant>,
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Gather {
    pub(crate) fn new(run: RunId, mailbox: mpsc::Sender<Input>) -> Self {
        let waiting = Mutex::new(Waiting { deltas: VecDeque::new(), open: true, rests_until: None });
        Self { run, mailbox, waiting, came: Notify::new(), went: Notify::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a delta; waits while too much waits already.
    pub(crate) async fn add(&self, kind: &Kind, text: &str) -> Result<(), RunOver> {
        loop {
            let room = self.went.notified();
            {
                let mut waiting = self.waiting();
                if !waiting.open {
                    return Err(RunOver);
                }
                let size_bytes: usize = waiting.deltas.iter().map(|(_, text)| text.len()).sum();
                if size_bytes < GATHERED_BYTES_MAX {
                    match waiting.deltas.back_mut() {
                        Some((last, gathered)) if last == kind => gathered.push_str(text),
                        _ => waiting.deltas.push_back((kind.clone(), text.to_owned())),
                    }
                    drop(waiting);
                    self.came.notify_one();
                    return Ok(());
                }
            }
            if self.mailbox.is_closed() {
                return Err(RunOver);
            }
            room.await;
        }
    }

    /// Hands over what waits, then `progress`, and answers once it is durable.
    pub(crate) async fn report(&self, progress: Progress) -> Result<Vec<Message>, RunOver> {
        if !(progress.ends_run() && fault::planted("end_overtakes_output")) {
            self.hand_over().await?;
        }
        let answer = self.send(progress).await?;
        answer.await.map_err(|_| RunOver)?
    }

    /// Lets the model read a summary in place of older turns. A session that does not want it any more says no, which
    /// is no concern of the run.
    pub(crate) async fn compact(&self, summary: String, through: TurnId) -> Result<(), RunOver> {
        let (answer, answered) = oneshot::channel();
        let command = Command::CompactContext { run: Some(self.run), summary, through };
        self.mailbox.send(Input::Command { command, answer }).await.map_err(|_| RunOver)?;
        answered.await.map_err(|_| RunOver)?.map_or_else(
            |error| {
                tracing::warn!(run = %self.run, reason = %error, "summary not saved");
                Ok(())
            },
            |_| Ok(()),
        )
    }

    /// Hands chunks to the writer for as long as it is polled.
    pub(crate) async fn flush_for_ever(&self) {
        let mut next = Instant::now();
        let mut interval = FLUSH_MIN;
        let mut before = Duration::ZERO;
        loop {
            if fault::planted("quiet_run_writes") {
                drop(tokio::time::timeout(FLUSH_MIN, self.came.notified()).await);
                drop(self.send(Progress::Usage(session::Usage::default())).await);
            } else {
                self.came.notified().await;
            }
            if fault::planted("flush_waits_for_end") {
                return std::future::pending().await;
            }
            if !fault::planted("no_flush_interval") {
                tokio::time::sleep_until(next).await;
            }
            let begun = Instant::now();
            self.rest_until(begun, interval);
            let Ok(answers) = self.hand_over().await else { return };
            for answer in answers {
                // A run that is over learns it from its next report.
                drop(answer.await);
            }
            // One slow commit is a hiccup, and waiting after it would only double it; two in a row are load.
            let took = begun.elapsed();
            interval = (took.min(before) * 2).clamp(FLUSH_MIN, FLUSH_MAX);
            before = took;
            next = begun + interval;
            self.rest_until(begun, interval);
        }
    }

    /// A loaded server reads what came until the next chunk in one go, which costs it a fraction. One that is not
    /// reads at once: what Stop finds gathered is kept, what it finds unread is not.
    fn rest_until(&self, begun: Instant, interval: Duration) {
        self.waiting().rests_until = (interval > FLUSH_MIN).then(|| begun + interval);
    }

    /// Until when the run may leave unread what the provider says.
    pub(crate) fn rests_until(&self) -> Option<Instant> {
        self.waiting().rests_until
    }

    /// Closes the gathering for a writer that ends the run now, and takes what waits. `drain` runs while nothing can
    /// be handed over, so that every delta is either drained from the mailbox or taken here.
    pub(crate) fn close(&self, drain: impl FnOnce()) -> Vec<Progress> {
        let mut waiting = self.waiting();
        drain();
        waiting.open = false;
        let taken = std::mem::take(&mut waiting.deltas);
        drop(waiting);
        self.went.notify_waiters();
        taken.into_iter().map(|(kind, text)| kind.progress(text)).collect()
    }

    /// Hands over what waits, in order, without waiting for its durability. A delta is taken out and put into the
    /// mailbox in one step: it is never in between.
    async fn hand_over(&self) -> Result<Vec<oneshot::Receiver<ProgressAnswer>>, RunOver> {
        let mut answers = Vec::new();
        loop {
            let permit = self.mailbox.reserve().await.map_err(|_| RunOver)?;
            let mut waiting = self.waiting();
            let Some((kind, text)) = waiting.deltas.pop_front() else { break };
            let (answer, answered) = oneshot::channel();
            permit.send(Input::Progress { run: self.run, progress: kind.progress(text), answer });
            drop(waiting);
            answers.push(answered);
        }
        self.went.notify_waiters();
        Ok(answers)
    }

    async fn send(&self, progress: Progress) -> Result<oneshot::Receiver<ProgressAnswer>, RunOver> {
        let (answer, answered) = oneshot::channel();
        let input = Input::Progress { run: self.run, progress, answer };
        self.mailbox.send(input).await.map_err(|_| RunOver)?;
        Ok(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams a word, takes it from the mailbox and answers after a while.
    async fn commit(gather: &Gather, mailbox: &mut mpsc::Receiver<Input>, takes: Duration) {
        gather.add(&Kind::Text, "word").await.expect("the run is open");
        let Some(Input::Progress { answer, .. }) = mailbox.recv().await else {
            panic!("a chunk is handed over")
        };
        tokio::time::sleep(takes).await;
        answer.send(Ok(Vec::new())).expect("someone waits for it");
        // The chunk after this one may go by now.
        tokio::time::sleep(FLUSH_MAX).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_rests_when_commits_are_slow_and_not_for_a_hiccup() {
        let (sender, mut mailbox) = mpsc::channel(8);
        let gather = Gather::new(RunId(1), sender);
        let (quick, slow) = (Duration::from_millis(1), Duration::from_millis(40));
        let script = async {
            let mut rests = Vec::new();
            for takes in [quick, slow, quick, slow, slow, slow, quick] {
                commit(&gather, &mut mailbox, takes).await;
                rests.push(gather.rests_until().is_some());
            }
            rests
        };
        let rests = tokio::select! {
            rests = script => rests,
            () = gather.flush_for_ever() => Vec::new(),
        };
        assert_eq!(rests, [false, false, false, false, true, true, false]);
    }
}

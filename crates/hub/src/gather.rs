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
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Gather {
    pub(crate) fn new(run: RunId, mailbox: mpsc::Sender<Input>) -> Self {
        let waiting = Mutex::new(Waiting { deltas: VecDeque::new(), open: true });
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
        let command = Command::CompactContext { summary, through };
        self.mailbox.send(Input::Command { command, answer }).await.map_err(|_| RunOver)?;
        answered.await.map_err(|_| RunOver)?.map_or_else(
            |error| {
                tracing::warn!(run = %self.run, reason = %error, "the summary was not kept");
                Ok(())
            },
            |_| Ok(()),
        )
    }

    /// Hands chunks to the writer for as long as it is polled.
    pub(crate) async fn flush_for_ever(&self) {
        let mut next = Instant::now();
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
            let Ok(answers) = self.hand_over().await else { return };
            for answer in answers {
                // A run that is over learns it from its next report.
                drop(answer.await);
            }
            let interval = (begun.elapsed() * 2).clamp(FLUSH_MIN, FLUSH_MAX);
            next = begun + interval;
        }
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

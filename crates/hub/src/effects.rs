//! Performs effects, now that the entries they follow from are durable: starts a run's worker, or takes it away.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tracing::Instrument;

use agent::Billed;
use futures_util::FutureExt;
use session::{Command, Effect, Progress, RequestPurpose, RunId, Session, TurnId};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::gather::Gather;
use crate::input::Input;
use crate::runner::{PromptRequest, RunProgress, RunRequest, Runner};
use crate::writer::{Stopped, Writer};

/// The task that works on a run.
pub(crate) struct Worker {
    pub(crate) run: RunId,
    gather: Arc<Gather>,
    task: AbortHandle,
}

impl Worker {
    pub(crate) fn cancel(self) {
        self.task.abort();
    }

    /// What the run streamed and was not handed to the writer yet. It can bring nothing more afterwards.
    pub(crate) fn close(&self, drain: impl FnOnce()) -> Vec<Progress> {
        self.gather.close(drain)
    }
}

impl Writer {
    pub(crate) fn perform(&mut self, effect: Effect) -> Result<(), Stopped> {
        match effect {
            Effect::StartRun { turn, run } => {
                fault::hit("effect.before_start_run")?;
                self.start_run(turn, run);
                fault::hit("effect.after_start_run")?;
            }
            Effect::CancelRun { run } => {
                fault::hit("effect.before_cancel_run")?;
                if let Some(worker) = self.worker.take_if(|worker| worker.run == run) {
                    worker.cancel();
                }
                fault::hit("effect.after_cancel_run")?;
            }
            Effect::SuggestTitle { turn, run } => self.suggest_title(turn, run),
            Effect::CommitMemory(commit) => {
                fault::hit("memory.before_commit")?;
                self.commit_memory(commit);
            }
            Effect::ReleaseOwner { owner } => self.release_owner(owner),
        }
        Ok(())
    }

    /// Requests a title in the background. While one request runs, no other begins.
    fn suggest_title(&self, turn: TurnId, run: RunId) {
        let Ok(only) = self.titling.clone().try_acquire_owned() else { return };
        let (runner, mailbox) = (self.shared.runner.clone(), self.sender.downgrade());
        let Session { user, project, .. } = self.state;
        let request =
            PromptRequest { user, project, prompt: session::prompt(&self.state), earlier: self.earlier() };
        crate::spawn::spawn(async move {
            let Some(Billed { value, usage }) = runner.title(request).await else { return };
            // A session that nobody holds any more is not opened for its name.
            let Some(mailbox) = mailbox.upgrade() else { return };
            let bill = Command::BillRequest { turn, run, purpose: RequestPurpose::Title, usage };
            for command in [bill].into_iter().chain(value.map(|title| Command::SuggestTitle { title })) {
                let (answer, _) = oneshot::channel();
                drop(mailbox.send(Input::Command { command, answer }).await);
            }
            drop(only);
        });
    }

    fn start_run(&mut self, turn: TurnId, run: RunId) {
        // A run that was stopped in the same batch has no worker to start.
        let Some((_, open)) = self.state.open().filter(|(_, open)| open.id == run) else { return };
        let request = RunRequest {
            session: self.session,
            user: self.state.user,
            project: self.state.project,
            turn,
            run,
            cause: open.cause.clone(),
            prompt: session::prompt(&self.state),
            earlier: self.earlier(),
        };
        let gather = Arc::new(Gather::new(run, self.sender.clone()));
        let span =
            tracing::info_span!(parent: None, "run", session = %self.session, turn = turn.0, run = run.0);
        let work = work(self.shared.runner.clone(), request, gather.clone()).instrument(span);
        let task = crate::spawn::spawn(work);
        self.worker = Some(Worker { run, gather, task: task.abort_handle() });
    }
}

/// Lets the agent work, hands on what it brings, and reports how it ended, whatever happens in it.
async fn work(runner: Arc<dyn Runner>, request: RunRequest, gather: Arc<Gather>) {
    let progress = RunProgress { gather: gather.clone() };
    let run = AssertUnwindSafe(async move { runner.run(request, progress).await }).catch_unwind();
    if fault::planted("flush_outlives_run") {
        let gather = gather.clone();
        crate::spawn::spawn(async move { gather.flush_for_ever().await });
    }
    let ended = tokio::select! {
        // First what the run brings, so that it can be handed on in the same breath.
        biased;
        ended = run => ended,
        // It ends only when the writer is gone, and then there is nobody to work for.
        () = gather.flush_for_ever() => return,
    };
    let last = match ended {
        Ok(()) => Progress::Completed,
        Err(_) if fault::planted("panic_leaves_run_open") => return,
        Err(_) => Progress::Failed { error: "The agent stopped unexpectedly.".to_owned() },
    };
    // A run that is over, because it was stopped or reported its own failure, needs no other end.
    drop(gather.report(last).await);
}

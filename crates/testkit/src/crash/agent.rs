//! An agent that streams numbered words, so that a gap, a double or a change of order shows in the log.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{RunOver, RunProgress, RunRequest, Runner};
use session::event::CallStatus;
use session::{CallNo, Outcome, Progress, PromptMessage, Usage};

use super::witness::{Line, say};

/// Words between two reports that the agent waits for.
const WORDS_PER_REPORT: u64 = 5;

/// Does what the message says: `m7 words=12 slow=1 call step hold fail`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordAgent {
    /// Leaves out every pause, so that a checker is not kept waiting by what a workload wanted.
    pub hurries: bool,
}

#[derive(Debug, Default)]
struct Plan {
    id: String,
    words: u64,
    slow: Option<Duration>,
    call: bool,
    step: bool,
    hold: bool,
    fail: bool,
}

impl Plan {
    fn of(text: &str) -> Self {
        let mut plan = Self::default();
        for (at, word) in text.split_whitespace().enumerate() {
            match word.split_once('=') {
                Some(("words", count)) => plan.words = count.parse().unwrap_or(0),
                Some(("slow", millis)) => plan.slow = millis.parse().ok().map(Duration::from_millis),
                _ if at == 0 => word.clone_into(&mut plan.id),
                _ => match word {
                    "call" => plan.call = true,
                    "step" => plan.step = true,
                    "hold" => plan.hold = true,
                    "fail" => plan.fail = true,
                    _ => {}
                },
            }
        }
        plan
    }
}

impl Runner for WordAgent {
    fn run(&self, request: RunRequest, progress: RunProgress) -> BoxFuture<'static, ()> {
        let said = request.prompt.messages.iter().rev().find_map(|message| match message {
            PromptMessage::User(message) => Some(message.text.clone()),
            _ => None,
        });
        let mut plan = Plan::of(&said.unwrap_or_default());
        if self.hurries {
            plan = Plan { slow: None, hold: false, ..plan };
        }
        async move {
            // A run that is over has nothing more to say.
            speak(plan, &request, &progress).await.unwrap_or_default();
        }
        .boxed()
    }
}

async fn speak(plan: Plan, request: &RunRequest, progress: &RunProgress) -> Result<(), RunOver> {
    let brought = |words| say(&Line::Brought { session: request.session, run: request.run, words });
    for word in 1..=plan.words {
        if let Some(pause) = plan.slow {
            tokio::time::sleep(pause).await;
        }
        progress.text(&format!("{}.{word} ", plan.id)).await?;
        if plan.step && word % (2 * WORDS_PER_REPORT) == 0 {
            progress.report(Progress::Step { asked_to_continue: false }).await?;
            brought(word);
        } else if word % WORDS_PER_REPORT == 0 {
            progress
                .report(Progress::Usage(Usage { input_tokens: 1, output_tokens: word, ..Usage::default() }))
                .await?;
            brought(word);
        }
    }
    if plan.call {
        let (call, tool) = (CallNo(1), "look".to_owned());
        let asked = Progress::CallAsked { call, tool, arguments: "{}".to_owned(), provider_call: None };
        progress.report(asked).await?;
        brought(plan.words);
        let outcome = Outcome { status: CallStatus::Ok, content: "looked".to_owned() };
        progress.report(Progress::CallFinished { call, outcome }).await?;
    }
    if plan.hold {
        progress.report(Progress::Usage(Usage::default())).await?;
        brought(plan.words);
        std::future::pending::<()>().await;
    }
    if plan.fail {
        progress.report(Progress::Failed { error: "told to fail".to_owned() }).await?;
        return Err(RunOver);
    }
    progress.text(&format!("{}.end ", plan.id)).await
}

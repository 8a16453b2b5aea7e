//! The loop of one run: ask the model, stream what it says, do what it asks for, repeat. Everything is reported to a
//! sink; nothing is stored here.

use std::sync::Arc;

use futures_util::StreamExt;
use session::{
    Attachment, CallNo, Message, Outcome, Progress, Prompt, PromptCall, PromptMessage, TurnId, Usage,
};
use tokio::time::Instant;

use crate::history::{History, Unreadable};
use crate::limits::{RunLimits, Spent};
use crate::media::MediaReader;
use crate::meter::Purpose;
use crate::model::Model;
use crate::provider::{Delta, Effort, Question, ToolOffer};
use crate::step::{Answered, Asked, Step, StepEnd};
use crate::title;
use crate::tool::{Tool, ToolCall, World, failed};
use crate::window::{self, Window};

/// The few repeated words show where the two parts join; `session::join` leaves them out again.
const CONTINUE: &str = "Your last answer was cut off where it ends above. Continue from exactly there, in mid-sentence if \
    need be. Begin with its last few words exactly as they are, then go on. Do not comment on the interruption.";

/// Times that one prompt is compacted because the provider finds it too long. Where it does not say how much fits, each time
/// halves the prompt.
const COMPACTIONS_MAX: usize = 5;

/// Pictures and documents take at most one in this many parts of the window.
const SHOWN_PART: u64 = 2;

const NO_MODEL: &str =
    "No model is configured yet. Your message is saved: add a model under Settings, then retry.";

/// Works on turns: models, tools, and how much they may use.
#[derive(Clone)]
pub struct Agent {
    /// The first one is asked unless a message names another. Without any, a run fails and says what to do.
    pub models: Vec<Model>,
    /// The model for titles and summaries. Without one, the model that answers writes them.
    pub background: Option<Model>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub world: Arc<dyn World>,
    /// Shared by all runs.
    pub media: Arc<MediaReader>,
    pub limits: RunLimits,
    /// What the model is told before the session.
    pub instructions: Option<String>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("models", &self.models).finish_non_exhaustive()
    }
}

/// The result of a request outside of runs, and its usage, which counts even if there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billed<T> {
    pub value: Option<T>,
    pub usage: Usage,
}

impl<T> Billed<T> {
    /// No result, at no cost.
    pub fn nothing() -> Self {
        Self { value: None, usage: Usage::default() }
    }
}

/// The run ended in the log; there is nobody to report to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run has ended")]
pub struct Over;

/// Where a run reports what it brings. Text, reasoning and drafts are gathered; a report is durable when it is answered.
pub trait Sink: Send + Sync {
    /// Answer text.
    fn text(&self, text: &str) -> impl Future<Output = Result<(), Over>> + Send;

    /// Reasoning.
    fn reasoning(&self, text: &str) -> impl Future<Output = Result<(), Over>> + Send;

    /// A piece of a call's arguments.
    fn draft(
        &self,
        call: CallNo,
        tool: &str,
        arguments: &str,
    ) -> impl Future<Output = Result<(), Over>> + Send;

    /// Anything else. For a step, answers the messages that go into it.
    fn report(&self, progress: Progress) -> impl Future<Output = Result<Vec<Message>, Over>> + Send;

    /// Lets the model read `summary` in place of all up to `through`, from now on.
    fn compact(&self, summary: String, through: TurnId) -> impl Future<Output = Result<(), Over>> + Send;

    /// When what is brought cannot be shown before some moment: until then it can as well be left with the provider, and
    /// be read in one go.
    fn rests_until(&self) -> Option<Instant>;
}

/// What a run works on.
#[derive(Debug)]
pub struct Work<'a> {
    pub prompt: Prompt,
    /// The turns that the prompt leaves out.
    pub history: &'a dyn History,
}

impl Agent {
    pub(crate) fn model(&self) -> &Model {
        // Whoever comes here has looked that there is one.
        &self.models[0]
    }

    /// Works until the turn is answered, a limit is reached, or the provider fails for good.
    ///
    /// # Errors
    /// When the run was ended from outside.
    pub async fn run<S: Sink>(&self, work: Work<'_>, sink: &S) -> Result<(), Over> {
        match self.asking_for(&work.prompt) {
            Ok(agent) => agent.answer(work, sink).await,
            Err(error) => sink.report(Progress::Failed { error }).await.map(drop),
        }
    }

    /// The agent with the model that the newest message names.
    fn asking_for(&self, prompt: &Prompt) -> Result<Self, String> {
        if self.models.is_empty() {
            return Err(NO_MODEL.to_owned());
        }
        let Some(name) = prompt.model() else { return Ok(self.clone()) };
        let model = self.models.iter().find(|model| model.name == name);
        let model =
            model.ok_or_else(|| format!("The model `{name}` is no longer offered. Choose another."))?;
        Ok(Self { models: vec![model.clone()], ..self.clone() })
    }

    async fn answer<S: Sink>(&self, work: Work<'_>, sink: &S) -> Result<(), Over> {
        let mut spent = Spent::new();
        let Work { mut prompt, history } = work;
        if let Err(Unreadable(reason)) = self.fill(&mut prompt, history, sink, &mut spent).await? {
            let error =
                format!("Couldn't read earlier turns: {reason}. Your message is saved; retry in a moment.");
            sink.report(Progress::Failed { error }).await?;
            return Ok(());
        }
        let attachments = attachments(&prompt);
        self.compact(&mut prompt, sink, &mut spent).await?;
        let mut messages = prompt.messages.clone();
        let mut asked_to_continue = self.ask_to_continue(&mut messages);
        let mut calls = 0;
        let mut steered = None;
        loop {
            if let Some(error) = self.limits.reached(&spent) {
                sink.report(Progress::Failed { error }).await?;
                return Ok(());
            }
            let into_step = match steered.take() {
                Some(steered) => steered,
                None => sink.report(Progress::Step { asked_to_continue }).await?,
            };
            asked_to_continue = false;
            messages.extend(into_step.into_iter().map(PromptMessage::User));
            match self.step(&mut prompt, &mut messages, calls, sink, &mut spent).await? {
                StepEnd::Answered(answered) if answered.calls.is_empty() => {
                    // A message that steers the run takes another step.
                    let more = sink.report(Progress::StepEnded).await?;
                    if more.is_empty() {
                        return Ok(());
                    }
                    said(&mut messages, answered.text);
                    steered = Some(more);
                }
                StepEnd::Answered(answered) => {
                    calls += u32::try_from(answered.calls.len()).unwrap_or(u32::MAX);
                    self.call_tools(answered, &attachments, &mut messages, sink).await?;
                }
                StepEnd::OutputLimit { tokens } => {
                    sink.report(Progress::OutputLimit { tokens }).await?;
                    return Ok(());
                }
                StepEnd::TooLong(error) | StepEnd::Failed(error) => {
                    sink.report(Progress::Failed { error }).await?;
                    return Ok(());
                }
            }
            spent.step();
        }
    }

    /// Asks the model. Compacts the session and asks again while the provider rejects the prompt as too long. `messages`
    /// begin with those of `prompt`.
    async fn step<S: Sink>(
        &self,
        prompt: &mut Prompt,
        messages: &mut Vec<PromptMessage>,
        calls_before: u32,
        sink: &S,
        spent: &mut Spent,
    ) -> Result<StepEnd, Over> {
        let mut shown_tokens = self.model().window_tokens / SHOWN_PART;
        let mut question = self.question(messages, shown_tokens).await;
        for _ in 0..COMPACTIONS_MAX {
            let step = Step { agent: self, sink, spent, calls_before };
            let end = step.run(question.clone()).await?;
            let StepEnd::TooLong(_) = &end else { return Ok(end) };
            tracing::info!(model = %self.model().name, "prompt too long, compacting");
            let since = messages.split_off(prompt.messages.len());
            // The last message may have grown meanwhile.
            prompt.messages = std::mem::take(messages);
            self.compact(prompt, sink, spent).await?;
            messages.clone_from(&prompt.messages);
            messages.extend(since);
            shown_tokens /= 2;
            let shorter = self.question(messages, shown_tokens).await;
            if shorter == question {
                return Ok(end);
            }
            question = shorter;
        }
        let step = Step { agent: self, sink, spent, calls_before };
        step.run(question).await
    }

    /// Requests a title from the operator's model for titles and summaries, or from the model that answered if there is
    /// none. Sends the session to no other model. Returns `None` if there is no model to ask.
    pub async fn title(&self, prompt: Prompt) -> Option<Billed<String>> {
        let agent = self.asking_for(&prompt).ok()?;
        let models = if fault::planted("title_asks_first_model") { &self.models } else { &agent.models };
        let model = self.background.as_ref().or(models.first())?;
        Some(title::title(model, prompt).await)
    }

    /// Summarizes every turn before the newest for the model. Returns the summary and the last turn that it covers, if the model gives one.
    pub async fn summary(&self, prompt: Prompt, history: &dyn History) -> Billed<(String, TurnId)> {
        let mut spent = Spent::new();
        let value = match self.asking_for(&prompt) {
            Ok(agent) => agent.summarize_all(prompt, history, &mut spent).await,
            Err(_) => None,
        };
        Billed { value, usage: spent.take_unbilled().unwrap_or_default() }
    }

    async fn summarize_all(
        &self,
        mut prompt: Prompt,
        history: &dyn History,
        spent: &mut Spent,
    ) -> Option<(String, TurnId)> {
        for _ in 0..window::CATCH_UPS_MAX {
            if self.catch_up(&mut prompt, history, spent).await.ok()?.is_none() {
                break;
            }
        }
        // A summary covers everything up to its turn, so it cannot pass over turns that were not read.
        if prompt.earlier.is_some() {
            return None;
        }
        let mut covered = None;
        for _ in 0..window::CATCH_UPS_MAX {
            let Some(compaction) = window::whole(&prompt, self.model(), self.window()) else { break };
            let summary = self.summarize(&compaction.question, spent).await?;
            compaction.apply(&mut prompt, summary.clone());
            covered = Some((summary, compaction.through));
        }
        covered
    }

    /// Whether a question, cut where it may be cut, fits the model's window as far as can be told.
    pub(crate) fn fits(&self, question: &Question) -> bool {
        self.window().takes(&question.messages)
    }

    fn window(&self) -> Window {
        Window::new(self.model(), self.instructions.as_deref(), &self.offers())
    }

    fn offers(&self) -> Vec<ToolOffer> {
        let tools = if self.model().uses_tools { self.tools.as_slice() } else { &[] };
        tools.iter().map(|tool| tool.offer()).collect()
    }

    async fn question(&self, messages: &[PromptMessage], tokens_max: u64) -> Question {
        let model = self.model();
        let mut messages: Vec<PromptMessage> = messages.iter().filter_map(shown).collect();
        let dialect = model.provider.dialect.now();
        let media = self.media.read(&messages, &dialect, self.world.as_ref(), tokens_max).await;
        let tokens: u64 = media.values().map(|media| media.tokens).sum();
        window::fit(&mut messages, self.window().without(model.density.bytes_of(tokens)));
        Question {
            model: model.id.clone(),
            instructions: self.instructions.clone(),
            messages,
            tools: self.offers(),
            output_tokens_max: model.output_tokens_max,
            effort: Effort::Default,
            shown: media,
        }
    }

    /// Asks a model that takes no prefix to continue its own text. Says whether it did.
    fn ask_to_continue(&self, messages: &mut Vec<PromptMessage>) -> bool {
        let begun =
            matches!(messages.last(), Some(PromptMessage::Assistant { text, .. }) if !text.trim().is_empty());
        let asks = begun && !self.model().provider.continues_prefix();
        if asks {
            messages.push(PromptMessage::User(Message::text(CONTINUE)));
        }
        asks
    }

    /// Adds earlier turns until the window is full, and summarizes the others, so that every turn is in the prompt or in its
    /// summary.
    async fn fill<S: Sink>(
        &self,
        prompt: &mut Prompt,
        history: &dyn History,
        sink: &S,
        spent: &mut Spent,
    ) -> Result<Result<(), Unreadable>, Over> {
        for _ in 0..window::CATCH_UPS_MAX {
            match self.catch_up(prompt, history, spent).await {
                Ok(Some((summary, through))) => {
                    bill(sink, spent).await?;
                    sink.compact(summary, through).await?;
                }
                Ok(None) => {
                    bill(sink, spent).await?;
                    break;
                }
                Err(unreadable) => return Ok(Err(unreadable)),
            }
            if self.limits.reached(spent).is_some() {
                break;
            }
        }
        if prompt.earlier.is_some() {
            tracing::warn!("context window full, dropping oldest turns from the prompt");
        }
        Ok(Ok(()))
    }

    /// Adds earlier turns until the window is full, and summarizes the oldest of those that do not fit. Returns the summary
    /// and the last turn that it covers, or `None` if every turn fits or the model gives no summary.
    async fn catch_up(
        &self,
        prompt: &mut Prompt,
        history: &dyn History,
        spent: &mut Spent,
    ) -> Result<Option<(String, TurnId)>, Unreadable> {
        let window = self.window();
        history.extend(prompt, window.full_bytes()).await?;
        if prompt.earlier.is_none() {
            return Ok(None);
        }
        let oldest = history.oldest(prompt, window.catch_up_bytes(prompt)).await?;
        let Some(compaction) = window::catch_up(prompt, oldest, self.model(), window) else {
            return Ok(None);
        };
        let Some(summary) = self.summarize(&compaction.question, spent).await else { return Ok(None) };
        cover(prompt, summary.clone(), compaction.through);
        Ok(Some((summary, compaction.through)))
    }

    /// Asks the model for a summary. Returns `None` if it gives none.
    async fn summarize(&self, question: &Question, spent: &mut Spent) -> Option<String> {
        let messages = question.messages.iter().filter_map(shown).collect();
        let mut summary = self.say(&Question { messages, ..question.clone() }, spent).await?;
        summary.truncate(summary.floor_char_boundary(self.window().summary_bytes()));
        (!summary.trim().is_empty()).then_some(summary)
    }

    /// Summarizes older turns if the window is full. Without a summary the oldest are left out.
    async fn compact<S: Sink>(&self, prompt: &mut Prompt, sink: &S, spent: &mut Spent) -> Result<(), Over> {
        for _ in 0..window::CATCH_UPS_MAX {
            let compaction = window::compaction(prompt, self.model(), self.window());
            let Some(compaction) = compaction.filter(|_| self.limits.reached(spent).is_none()) else { break };
            let summary = self.summarize(&compaction.question, spent).await;
            bill(sink, spent).await?;
            let Some(summary) = summary else {
                tracing::warn!("model returned no summary, dropping oldest turns from the prompt");
                break;
            };
            sink.compact(summary.clone(), compaction.through).await?;
            compaction.apply(prompt, summary);
        }
        Ok(())
    }

    /// Returns the operator's model for titles and summaries if the question fits its window, otherwise the model that
    /// answers.
    fn summarizer(&self, question: &Question) -> &Model {
        let fits = |model: &&Model| Window::new(model, None, &[]).holds(&question.messages);
        self.background.as_ref().filter(fits).unwrap_or(self.model())
    }

    /// The whole text of an answer that is not part of the session.
    async fn say(&self, question: &Question, spent: &mut Spent) -> Option<String> {
        let model = self.summarizer(question);
        let output_tokens_max = question.output_tokens_max.min(model.output_tokens_max);
        let question = &Question { model: model.id.clone(), output_tokens_max, ..question.clone() };
        let mut deltas = model.ask(question, Purpose::Summary).await.answer.ok()?;
        let (mut said, mut counted) = (String::new(), None);
        let whole = loop {
            match deltas.next().await {
                Some(Ok(Delta::Text(text))) => said.push_str(&text),
                Some(Ok(Delta::Usage(usage))) => counted = Some(usage),
                Some(Ok(Delta::End(_))) => break true,
                Some(Ok(Delta::Reasoning(_) | Delta::Call { .. } | Delta::Part { .. })) => {}
                Some(Err(_)) | None => break false,
            }
        };
        if let Some(usage) = counted {
            spent.used_beside(model.prices.priced(usage));
        }
        whole.then_some(said)
    }

    /// Does what the model asks for, call by call: asked for in the log, done, and its outcome in the log.
    async fn call_tools<S: Sink>(
        &self,
        answered: Answered,
        attachments: &[Attachment],
        messages: &mut Vec<PromptMessage>,
        sink: &S,
    ) -> Result<(), Over> {
        let Answered { text, reasoning, calls, parts, .. } = answered;
        let asked = calls.iter().map(|call| PromptCall {
            call: call.no,
            provider_call: call.provider_call.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
        });
        messages.push(PromptMessage::Assistant { text, reasoning, calls: asked.collect(), parts });
        for call in calls {
            sink.report(Progress::CallAsked {
                call: call.no,
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                provider_call: call.provider_call.clone(),
            })
            .await?;
            let outcome = self.call_tool(&call, attachments).await;
            let content = outcome.content.clone();
            sink.report(Progress::CallFinished { call: call.no, outcome }).await?;
            messages.push(PromptMessage::Result {
                call: call.no,
                provider_call: call.provider_call,
                content,
            });
        }
        Ok(())
    }

    async fn call_tool(&self, call: &Asked, attachments: &[Attachment]) -> Outcome {
        let Some(tool) = self.tools.iter().find(|tool| tool.offer().name == call.tool) else {
            return failed("There is no tool of that name.");
        };
        let given = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let arguments = match serde_json::from_str(given) {
            Ok(arguments) => arguments,
            Err(error) => return failed(format!("The arguments are not JSON: {error}")),
        };
        let call = ToolCall { arguments, attachments: attachments.to_vec(), world: self.world.clone() };
        let doing = tokio::time::timeout(self.limits.tool_time_max, tool.call(call));
        let late = || {
            failed(format!("It took longer than {} s and was ended.", self.limits.tool_time_max.as_secs()))
        };
        doing.await.unwrap_or_else(|_| late())
    }
}

/// Reports what summaries used since the last time.
async fn bill<S: Sink>(sink: &S, spent: &mut Spent) -> Result<(), Over> {
    match spent.take_unbilled() {
        Some(usage) => sink.report(Progress::Usage(usage)).await.map(drop),
        None => Ok(()),
    }
}

/// Puts a summary of the earlier turns up to `through` into the prompt.
fn cover(prompt: &mut Prompt, summary: String, through: TurnId) {
    prompt.set_summary(summary);
    if let Some(earlier) = &mut prompt.earlier {
        earlier.after = Some(through);
    }
}

/// Adds what the model said without a call, to the message that it continued or as one of its own.
fn said(messages: &mut Vec<PromptMessage>, text: String) {
    match messages.last_mut() {
        Some(PromptMessage::Assistant { text: begun, calls, .. }) if calls.is_empty() => {
            begun.push_str(&text)
        }
        _ => messages.push(PromptMessage::said(text)),
    }
}

/// The files that came with the messages of a session.
fn attachments(prompt: &Prompt) -> Vec<Attachment> {
    let messages = prompt.messages.iter().filter_map(|message| match message {
        PromptMessage::User(message) => Some(&message.attachments),
        PromptMessage::Summary(_)
        | PromptMessage::Note(_)
        | PromptMessage::Assistant { .. }
        | PromptMessage::Result { .. } => None,
    });
    messages.flatten().cloned().collect()
}

/// A message as the model is shown it: its files by name, and nothing that says nothing.
fn shown(message: &PromptMessage) -> Option<PromptMessage> {
    match message {
        PromptMessage::User(message) if !message.attachments.is_empty() => {
            let files = message.attachments.iter().map(|file| {
                format!("[attached: {} ({}, {} bytes)]", file.name, file.media_type, file.size_bytes)
            });
            let parts: Vec<String> = std::iter::once(message.text.clone()).chain(files).collect();
            let attachments = message.attachments.clone();
            Some(PromptMessage::User(Message { attachments, ..Message::text(parts.join("\n")) }))
        }
        // An answer that was cut off after white space is left out: providers reject blank messages.
        PromptMessage::Assistant { text, calls, .. } if text.trim().is_empty() && calls.is_empty() => None,
        other => Some(other.clone()),
    }
}

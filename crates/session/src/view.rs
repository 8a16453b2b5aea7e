//! What a reader sees: the transcript, the queue and the marks of a session.

use serde::{Deserialize, Serialize};

use crate::chat::ResumeMark;
use crate::delivery::Delivery;
use crate::event::{InterruptReason, Message, PostMode, RunEnd, Usage};
use crate::id::{CallNo, Owner, ProjectId, RunId, Seq, SessionId, Time, TurnId};
use crate::joined::{Interruption, Joined, joined};
use crate::state::{CallState, Piece, Recovery, Retry, Run, Session, Turn};

/// A session as shown to readers at `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct View {
    pub seq: Seq,
    pub title: Option<String>,
    pub created_at: Time,
    pub active_at: Time,
    pub pinned: bool,
    pub archived: bool,
    pub trashed: bool,
    /// When the session was moved to the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trashed_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The session that this one was branched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionId>,
    /// The number of visible turns older than those in `turns`. Load them page by page.
    pub turns_before: u64,
    pub turns: Vec<TurnView>,
    /// The last turn included in the summary for the model. It reads later turns in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarized_through: Option<TurnId>,
    pub queue: Vec<QueuedView>,
    /// The active run.
    pub run: Option<RunId>,
    /// Whether the newest run was interrupted three times in a row without new output, so that it no longer resumes
    /// automatically.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Whether the turns undone last can be redone.
    pub can_put_back: bool,
    /// The interruption that the model gets a note about in the next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeMark>,
    /// Completed turns waiting to be committed to memory, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<OwedView>,
    /// Answers being delivered to chats, and the outcome of the latest ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<Delivery>,
}

/// Completed turns waiting to be committed to memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OwedView {
    /// The memory owner.
    pub owner: Owner,
    pub turns: u64,
    /// Why the last commit attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A turn as shown to readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnView {
    pub turn: TurnId,
    pub posted_at: Time,
    pub message: Message,
    /// The agent's answer and its interruptions; null if there are none of either.
    pub answer: Option<Answer>,
    /// Why the answer is not complete.
    pub marker: Option<Marker>,
    /// The turn's answers by their first run, oldest first.
    pub alternatives: Vec<RunId>,
    /// The wait before the next request to the provider, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The usage of the shown answer over all its runs.
    #[serde(default, skip_serializing_if = "is_unused")]
    pub usage: Usage,
}

fn is_unused(usage: &Usage) -> bool {
    *usage == Usage::default()
}

/// The agent's answer in a turn, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answer {
    pub run: RunId,
    pub parts: Vec<Part>,
    pub complete: bool,
    /// The answer's interruptions: where each earlier run ended. `parts` has the joined text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interruptions: Vec<Interruption>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Reasoning(String),
    Call {
        call: CallNo,
        tool: String,
        arguments: String,
        state: CallProgress,
        result: Option<String>,
    },
    /// A message that entered the active run.
    Steered {
        turn: TurnId,
        message: Message,
    },
}

/// A tool call's progress, as shown to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallProgress {
    /// Its arguments never fully arrived.
    Incomplete,
    Running,
    /// Its run ended before the outcome was known.
    MayHaveRun,
    Finished,
    Failed,
}

impl TurnView {
    /// Leaves out where its author said and stopped what, on which device and in which chat: that is nothing for others.
    pub fn forget_places(&mut self) {
        self.message.forget_place();
        if let Some(marker) = &mut self.marker {
            marker.device = None;
        }
        let Some(answer) = &mut self.answer else { return };
        answer.interruptions.iter_mut().for_each(|cut| cut.marker.device = None);
        for part in &mut answer.parts {
            match part {
                Part::Steered { message, .. } => message.forget_place(),
                Part::Text(_) | Part::Reasoning(_) | Part::Call { .. } => {}
            }
        }
    }
}

/// Explains why a run did not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Marker {
    pub kind: MarkerKind,
    pub run: RunId,
    pub at: Time,
    pub text: String,
    /// Why the run was interrupted, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<InterruptReason>,
    /// The number of attempts to recover output so far; only while recovering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// When the loss of the worker was first detected; only while recovering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Time>,
    /// The device that stopped the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// The kinds of marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    Stopped,
    Failed,
    Interrupted,
    Recovering,
    Recovered,
    /// The model reached its output limit.
    OutputLimit,
    /// It ended in a way that this version does not know.
    Other,
}

/// A queued message as shown to readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct QueuedView {
    pub turn: TurnId,
    pub posted_at: Time,
    pub message: Message,
    pub mode: PostMode,
    /// Whether Stop paused the message: it waits until the queue is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// The view of a state.
pub fn view(session: &Session) -> View {
    let queue = session.queue.iter().map(|queued| QueuedView {
        turn: queued.turn,
        posted_at: queued.posted_at,
        message: queued.message.clone(),
        mode: queued.mode.clone(),
        paused: queued.paused,
    });
    let mut turns: Vec<TurnView> = session.turns.iter().map(turn_view).collect();
    for recovering in &session.recovering {
        let marker =
            turns.iter_mut().find(|turn| turn.turn == recovering.turn).and_then(|turn| turn.marker.as_mut());
        if let Some(marker) = marker.filter(|marker| marker.run == recovering.run) {
            marker.attempts = Some(recovering.attempts);
            marker.first_seen = Some(recovering.first_seen);
        }
    }
    View {
        seq: session.head(),
        title: session.title.as_ref().map(|title| title.text().to_owned()),
        created_at: session.created_at,
        active_at: session.active_at,
        pinned: session.pinned,
        archived: session.archived,
        trashed: session.trashed,
        trashed_at: session.trashed_at,
        tags: session.tags.clone(),
        project: session.project,
        origin: session.origin,
        turns_before: session.turns_before,
        turns,
        summarized_through: session.summary.as_ref().map(|summary| summary.through),
        queue: queue.collect(),
        run: session.open_run,
        stuck: session.is_stuck(),
        can_put_back: !session.undone.is_empty() && session.open_run.is_none(),
        resume: session.resume.clone(),
        owed: session.memory.owed().collect(),
        deliveries: session.deliveries.clone(),
    }
}

/// The view of one turn, without the bookkeeping of a recovery.
pub fn turn_view(turn: &Turn) -> TurnView {
    let runs = turn.answer().unwrap_or_default();
    let last = runs.last();
    let Joined { parts, interruptions } = joined(runs);
    let answer = runs.first().filter(|_| !parts.is_empty()).map(|first| Answer {
        run: first.id,
        parts,
        complete: last.is_some_and(|run| run.end == Some(RunEnd::Completed)),
        interruptions,
    });
    TurnView {
        turn: turn.id,
        posted_at: turn.posted_at,
        message: turn.message.clone(),
        answer,
        marker: last.and_then(marker),
        alternatives: turn.answers().filter_map(|runs| runs.first().map(|run| run.id)).collect(),
        retry: last.and_then(|run| run.retry.clone()),
        usage: runs.iter().fold(Usage::default(), |sum, run| sum.plus(run.usage)),
    }
}

/// What a run brought, as a reader sees it, also when its answer is not the one that is shown.
pub fn parts(run: &Run) -> Vec<Part> {
    run.pieces.iter().map(|piece| part(piece, run)).collect()
}

pub(crate) fn part(piece: &Piece, run: &Run) -> Part {
    match piece {
        Piece::Text(text) => Part::Text(text.clone()),
        Piece::Reasoning(text) => Part::Reasoning(text.clone()),
        Piece::Steered { turn, message } => Part::Steered { turn: *turn, message: message.clone() },
        Piece::Call(call) => {
            let over = run.end.is_some();
            let (state, result) = match &call.state {
                CallState::Drafted => (CallProgress::Incomplete, None),
                CallState::Asked if over => (CallProgress::MayHaveRun, None),
                CallState::Asked => (CallProgress::Running, None),
                CallState::Finished(outcome) => {
                    let state = match outcome.status {
                        crate::event::CallStatus::Ok | crate::event::CallStatus::Other(_) => {
                            CallProgress::Finished
                        }
                        crate::event::CallStatus::Error => CallProgress::Failed,
                    };
                    (state, Some(outcome.content.clone()))
                }
            };
            Part::Call {
                call: call.no,
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                state,
                result,
            }
        }
    }
}

/// Why a run did not complete; none when it did, or goes on.
pub fn marker(run: &Run) -> Option<Marker> {
    let at = run.ended_at?;
    let (mut device, mut reason) = (None, None);
    let (kind, text) = match run.end.as_ref()? {
        RunEnd::Completed => return None,
        RunEnd::Stopped { by_message, device: on } => {
            device.clone_from(on);
            let text = match by_message {
                false => "Stopped. Everything above is kept.",
                true => "Stopped for your next message. Everything above is kept.",
            };
            (MarkerKind::Stopped, text.to_owned())
        }
        RunEnd::Failed { error } => (MarkerKind::Failed, error.clone()),
        RunEnd::OutputLimit { tokens } => {
            (MarkerKind::OutputLimit, format!("Reached the output limit ({tokens} tokens)."))
        }
        RunEnd::Interrupted { reason: why, .. } => {
            reason = Some(why.clone());
            let happened = interrupted(why);
            match run.recovery {
                Recovery::Recovering => (MarkerKind::Recovering, format!("{happened} Recovering output…")),
                Recovery::Recovered => {
                    (MarkerKind::Recovered, format!("{happened} The output was recovered."))
                }
                Recovery::None | Recovery::Neutral => (MarkerKind::Interrupted, happened.to_owned()),
            }
        }
        RunEnd::Other(_) => {
            (MarkerKind::Other, "The run ended in a way this version does not know.".to_owned())
        }
    };
    Some(Marker { kind, run: run.id, at, text, reason, attempts: None, first_seen: None, device })
}

/// What is known of an interruption.
fn interrupted(reason: &InterruptReason) -> &'static str {
    match reason {
        InterruptReason::Crash => "Interrupted: the server stopped unexpectedly.",
        InterruptReason::ShutdownTimeout => "Interrupted: the server was shut down.",
        InterruptReason::RestartTimeout => "Interrupted: the server was restarted.",
        InterruptReason::SpoolFull => "Interrupted: the storage was unavailable.",
        InterruptReason::LostNode => "Interrupted: the server running it was lost.",
        InterruptReason::Other(_) => "Interrupted.",
    }
}

//! A session in the simple words of the reference.

use session::{Event, Piece, Session, Title, Turn, state};

use super::reference::{Namer, Recovering, Run, Said, Seen, Standing, Waiting};

pub(super) fn project(session: &Session) -> Seen {
    let title = session.title.as_ref().map(|title| match title {
        Title::Person(text) => (text.clone(), Namer::Person),
        Title::Generated(text) => (text.clone(), Namer::Model),
        Title::Provisional(text) => (text.clone(), Namer::Fold),
    });
    let queue = session.queue.iter().map(|queued| Waiting {
        id: queued.turn.0,
        text: queued.message.text.clone(),
        posted: queued.posted_at.0,
        mode: queued.mode.clone(),
        paused: queued.paused,
    });
    let recovering = session.recovering.iter().map(|recovering| Recovering {
        run: recovering.run.0,
        attempts: recovering.attempts,
        since: recovering.first_seen.0,
    });
    Seen {
        turns: session.turns.iter().map(turn).collect(),
        before: session.turns_before,
        undone: session.undone.iter().map(|undone| undone.turns.iter().map(turn).collect()).collect(),
        queue: queue.collect(),
        open: session.open_run.map(|run| run.0),
        recovering: recovering.collect(),
        title,
        flags: [session.pinned, session.archived, session.trashed],
        trashed_since: session.trashed_at.map(|time| time.0),
        tags: session.tags.clone(),
        project: session.project,
        ids: session.ids.clone(),
        summary: session.summary.as_ref().map(|summary| summary.through.0),
        crashes: session.interrupted_in_a_row,
        active: session.active_at.0,
    }
}

fn turn(turn: &Turn) -> super::reference::Turn {
    let chosen = turn.chosen.expect("a turn has an answer that is shown");
    let shown = turn.answers().position(|runs| runs.iter().any(|run| run.id == chosen));
    super::reference::Turn {
        id: turn.id.0,
        text: turn.message.text.clone(),
        posted: turn.posted_at.0,
        answers: turn.answers().map(|runs| runs.iter().map(run).collect()).collect(),
        shown: shown.expect("the answer that is shown is there"),
    }
}

fn run(run: &session::Run) -> Run {
    let said = run.pieces.iter().map(said).collect();
    let resumed = run.cause == session::RunCause::Resume;
    Run { id: run.id.0, resumed, last: run.last_at.0, stepped: run.steps > 0, said, end: run.end.clone() }
}

fn said(piece: &Piece) -> Said {
    match piece {
        Piece::Text(text) => Said::Text(text.clone()),
        Piece::Reasoning(text) => Said::Thought(text.clone()),
        Piece::Steered { turn, message } => Said::Steered(turn.0, message.text.clone()),
        Piece::Call(call) => {
            let standing = match &call.state {
                state::CallState::Drafted => Standing::Drafted,
                state::CallState::Asked => Standing::Asked,
                state::CallState::Finished(outcome) => {
                    Standing::Finished(outcome.status.clone(), outcome.content.clone())
                }
            };
            Said::Call(call.no.0, (call.arguments.clone(), standing))
        }
    }
}

/// The name of an event's kind.
pub(super) fn kind(event: &Event) -> &'static str {
    match event {
        Event::SessionCreated { .. } => "session_created",
        Event::SessionBranched { .. } => "session_branched",
        Event::SessionRenamed { .. } => "session_renamed",
        Event::TitleGenerated { .. } => "title_generated",
        Event::FlagSet { .. } => "flag_set",
        Event::TagsSet { .. } => "tags_set",
        Event::ProjectSet { .. } => "project_set",
        Event::IdAdded { .. } => "id_added",
        Event::IdRemoved { .. } => "id_removed",
        Event::MessagePosted { .. } => "message_posted",
        Event::QueuedEdited { .. } => "queued_edited",
        Event::QueuedRemoved { .. } => "queued_removed",
        Event::QueuePaused {} => "queue_paused",
        Event::QueueResumed {} => "queue_resumed",
        Event::ChatNotified { .. } => "chat_notified",
        Event::MessageSteered { .. } => "message_steered",
        Event::MessageEdited { .. } => "message_edited",
        Event::TurnsUndone { .. } => "turns_undone",
        Event::TurnsPutBack { .. } => "turns_put_back",
        Event::SessionCleared {} => "session_cleared",
        Event::AnswerChosen { .. } => "answer_chosen",
        Event::RunStarted { .. } => "run_started",
        Event::StepStarted { .. } => "step_started",
        Event::TextAdded { .. } => "text_added",
        Event::ReasoningAdded { .. } => "reasoning_added",
        Event::CallDrafted { .. } => "call_drafted",
        Event::CallAsked { .. } => "call_asked",
        Event::CallFinished { .. } => "call_finished",
        Event::UsageReported { .. } => "usage_reported",
        Event::ProviderPartAdded { .. } => "provider_part_added",
        Event::RetryScheduled { .. } => "retry_scheduled",
        Event::RequestBilled { .. } => "request_billed",
        Event::RunEnded { .. } => "run_ended",
        Event::RecoveryAttempted { .. } => "recovery_attempted",
        Event::RecoverySettled { .. } => "recovery_settled",
        Event::ContextCompacted { .. } => "context_compacted",
        Event::EntriesSetAside { .. } => "entries_set_aside",
        Event::ResumeMarked { .. } => "resume_marked",
        Event::ResumeCleared {} => "resume_cleared",
        Event::MemoryOwnerSet { .. } => "memory_owner_set",
        Event::MemoryReassigned { .. } => "memory_reassigned",
        Event::MemoryCommitStarted { .. } => "memory_commit_started",
        Event::MemoryCommitAccepted { .. } => "memory_commit_accepted",
        Event::MemoryCommitEnded { .. } => "memory_commit_ended",
        Event::DeliveryOwed { .. } => "delivery_owed",
        Event::DeliveryAttempted { .. } => "delivery_attempted",
        Event::DeliveryUnsent { .. } => "delivery_unsent",
        Event::PartDelivered { .. } => "part_delivered",
        Event::DeliveryEnded { .. } => "delivery_ended",
        Event::Unknown { .. } => "unknown",
    }
}

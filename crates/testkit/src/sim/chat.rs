//! People on a chat platform: they write in chats, on whatever node, and what an interruption leaves on a chat is held
//! against the logs.

use std::sync::Arc;

use futures_util::FutureExt;
use hub::{CommandError, RunRequest};
use session::event::RunEnd;
use session::limits::INTERRUPTED_IN_A_ROW_MAX;
use session::{
    ChatKey, ChatKind, Entry, Event, InterruptReason, PromptMessage, ResumeReason, RunCause, RunId, SessionId,
};
use store::Bindings;

use super::client::{Answered, ask, kept, message};
use super::world::{Up, World};

/// Tries of one message.
const TRIES_MAX: usize = 5;

/// One of the chats of every world.
fn chat(world: &World) -> ChatKey {
    ChatKey {
        agent: "main".to_owned(),
        platform: "sim".to_owned(),
        kind: ChatKind::Direct,
        chat: if world.chance(70) { "heron" } else { "egret" }.to_owned(),
        thread: None,
        sender: None,
    }
}

/// Writes in a chat, and again with the same key until it is answered.
pub(crate) async fn write(world: &Arc<World>) {
    let chat = chat(world);
    let (message, mode, key) = message(world);
    for attempt in 0..TRIES_MAX {
        let Some(Up { process, hub, .. }) = world.any_node() else {
            world.pause(3_000).await;
            continue;
        };
        let arriving =
            async { hub.chat(chat.clone()).arrive(message.clone(), mode.clone(), Some(key.clone())).await };
        match ask(&process, arriving).await {
            Answered::Yes(arrived) => {
                if arrived.reset.is_some() {
                    world.met("a suspended chat began anew");
                }
                if !world.record().sessions.contains(&arrived.session) {
                    world.record().sessions.push(arrived.session);
                }
                return kept(world, arrived.session, key, arrived.acknowledged, &message);
            }
            Answered::No(CommandError::Rejected(_) | CommandError::Deleted(_) | CommandError::KeyReused) => {
                return;
            }
            Answered::No(_) | Answered::Unknown => world.pause(3_000).await,
        }
        if attempt > 0 {
            world.met("a chat message was tried again");
        }
    }
}

/// Suspends, marks or clears a chat, as an operator does.
pub(crate) async fn operate(world: &Arc<World>) {
    let chat = chat(world);
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let chat = hub.chat(chat);
    let done = match world.below(3) {
        0 => ask(&process, chat.suspend()).await,
        1 => ask(&process, chat.mark_resume(Some(ResumeReason("an operator".to_owned())))).await,
        _ => ask(&process, chat.clear_resume()).await,
    };
    if let Answered::Yes(true) = done {
        world.met("an operator changed a chat");
    }
}

/// The mark as the log tells it: the newest that no completed turn or clearing followed.
fn marked(log: &[Entry]) -> Option<&ResumeReason> {
    let mut marked = None;
    for entry in log {
        match &entry.event {
            Event::ResumeMarked { reason, .. } => marked = Some(reason),
            Event::ResumeCleared {} | Event::SessionBranched { .. } => marked = None,
            Event::RunEnded { end: RunEnd::Completed, .. } => marked = None,
            _ => {}
        }
    }
    marked
}

/// I39: the agent is told once, and only when there is something to tell.
pub(crate) fn told(world: &World, request: &RunRequest) {
    let log = world.log(request.session);
    let Some(started) = log.iter().position(|entry| RunId(entry.seq.0) == request.run) else { return };
    let notes: Vec<usize> = request
        .prompt
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| matches!(message, PromptMessage::Note(_)))
        .map(|(at, _)| at)
        .collect();
    let words: usize = notes
        .iter()
        .map(|at| match &request.prompt.messages[*at] {
            PromptMessage::Note(note) => note.matches("System note").count(),
            _ => 0,
        })
        .sum();
    let marked = marked(&log[..started]).is_some() && request.cause == RunCause::Message;
    // What an operator marks while the run starts may be told to it as well.
    let since = log[started..]
        .iter()
        .any(|entry| matches!(&entry.event, Event::ResumeMarked { reason, .. } if reason.0 == "an operator"));
    let after_results = notes.first().is_some_and(|at| {
        matches!(at.checked_sub(1).map(|at| &request.prompt.messages[at]), Some(PromptMessage::Result { .. }))
    });
    if words > 1 || (marked && words == 0) || (!marked && !since && words == 1 && !after_results) {
        world.broken(|| format!("I39 run {} of {} was told {words} notes", request.run, request.session));
    }
    if marked {
        world.met("a turn was told of an interruption");
    }
}

/// I35 to I38: what was interrupted in a chat is marked before its end, and nothing else is; a completed turn cleared it.
pub(crate) fn check(world: &World, session: SessionId, log: &[Entry]) -> Option<String> {
    let mut state = session::Session::default();
    log.iter().for_each(|entry| session::fold(&mut state, entry));
    if state.resume.as_ref().map(|mark| &mark.reason) != marked(log) {
        return Some("I36 the mark is not what the log tells".to_owned());
    }
    let rows = world.truth.chats().now_or_never()?.ok()?;
    let bound = rows.iter().any(|row| row.binding.session == session);
    for (at, entry) in log.iter().enumerate() {
        let Event::RunEnded { run, end: RunEnd::Interrupted { reason, .. }, .. } = &entry.event else {
            continue;
        };
        let begun = log[..at].iter().any(|entry| entry.event.output_of() == Some(*run));
        let before = at.checked_sub(1).map(|at| &log[at].event);
        let marked = matches!(before, Some(Event::ResumeMarked { reason: of, .. }) if *of == ResumeReason::from(reason));
        let crashed = matches!(reason, InterruptReason::Crash | InterruptReason::LostNode);
        if marked && !begun && !crashed {
            return Some(format!("I35 run {run} had not begun and was marked"));
        }
        if bound && !marked && (begun || crashed) && *reason != InterruptReason::SpoolFull {
            return Some(format!("I35 run {run} of a chat was interrupted without a mark"));
        }
    }
    for (at, entry) in log.iter().enumerate() {
        let Event::ResumeMarked { reason, .. } = &entry.event else { continue };
        let followed = log.get(at + 1).map(|entry| &entry.event);
        let ends = matches!(followed, Some(Event::RunEnded { end: RunEnd::Interrupted { .. }, .. }));
        if reason.0 != "an operator" && !ends {
            return Some(format!("I35 entry {} marks what was not interrupted", entry.seq));
        }
        if reason.0 != "an operator" {
            world.met("a chat was marked");
        }
    }
    None
}

/// I37, I38: whoever just started has suspended what does not come to an end.
pub(crate) fn started(world: &World) {
    let rows = world.truth.chats().now_or_never().and_then(Result::ok).unwrap_or_default();
    for row in rows {
        if row.interrupted >= INTERRUPTED_IN_A_ROW_MAX {
            world.met("a chat was interrupted again and again");
            if !row.binding.suspended {
                world.broken(|| format!("I38 {:?} was interrupted {} times", row.chat, row.interrupted));
            }
        }
    }
}

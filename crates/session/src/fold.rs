//! The only function that changes a [`Session`]: what an entry means. Live and replayed entries pass here alike.

use crate::chat::ResumeMark;
use crate::entry::Entry;
use crate::event::{
    Event, Flag, Message, PostMode, RecoveryOutcome, RequestPurpose, RunCause, RunEnd, Usage,
};
use crate::id::{CallNo, RunId, SessionId, SlotNo, Time, TurnId};
use crate::limits::{
    ANSWERS_PER_TURN_MAX, PROVISIONAL_TITLE_CHARS_MAX, PROVISIONAL_TITLE_CHARS_MIN, RUN_BYTES,
    STATE_BYTES_MAX, TURN_BYTES_MAX, TURNS_IN_STATE_MAX, UNDONE_MAX,
};
use crate::memory::Ledger;
use crate::planted;
use crate::state::{
    Call, CallState, Need, Piece, PlacedPart, Queued, Recovering, Recovery, Retry, Run, Session, Summary,
    Title, Turn, Undone,
};
use crate::tags::{Kind, TagState};

/// Applies the next entry.
///
/// # Panics
/// When the entry is not the next one: a bug of the caller, which must stop before it shows a wrong state.
pub fn fold(session: &mut Session, entry: &Entry) {
    assert_eq!(entry.seq, session.link.seq.next(), "entries are folded in order, without gap");
    assert!(entry.epoch >= session.link.epoch, "epochs never fall");
    session.link = entry.link();
    // What comes back of a run that is over is maintenance, whatever it was when it happened.
    let healed = entry.event.output_of().is_some_and(|run| session.open_run != Some(run));
    if moves_activity(&entry.event) && (!healed || fault::planted("healing_moves_activity")) {
        session.active_at = session.active_at.max(entry.time);
    }
    session.needs = need_after(session.needs, &entry.event);
    apply(session, entry);
    if let Event::RunStarted { turn, .. } = &entry.event
        && let Some(turn) = session.turns.iter_mut().rev().find(|candidate| candidate.id == *turn)
    {
        turn.forget_alternatives();
    }
}

/// What a session waits for a person with after an event. The list of sessions follows the same rule.
pub fn need_after(before: Option<Need>, event: &Event) -> Option<Need> {
    if let Event::RunEnded { end, .. } = event {
        return match end {
            RunEnd::Failed { .. } => Some(Need::Failed),
            // One that goes on by itself begins its next run right behind.
            RunEnd::Interrupted { .. } => Some(Need::Interrupted),
            RunEnd::Completed | RunEnd::Stopped { .. } | RunEnd::OutputLimit { .. } | RunEnd::Other(_) => {
                None
            }
        };
    }
    let seen_to = matches!(
        event,
        Event::RunStarted { .. }
            | Event::SessionBranched { .. }
            | Event::TurnsUndone { .. }
            | Event::SessionCleared {}
            | Event::AnswerChosen { .. }
            | Event::QueuePaused {}
    );
    before.filter(|_| !seen_to)
}

/// Folds the entries of one turn alone, for a page of older turns. Entries of other turns are passed over.
pub fn fold_turn<'a>(turn: TurnId, entries: impl IntoIterator<Item = &'a Entry>) -> Option<Turn> {
    let mut page = Session::default();
    for entry in entries {
        let of_a_run = |run| page.turns.back().is_some_and(|turn| turn.run(run).is_some());
        let about_it = match &entry.event {
            // A message that is posted after this turn's may be one that went into its run.
            Event::MessagePosted { .. } => entry.seq.0 >= turn.0,
            Event::MessageEdited { .. } => entry.seq.0 == turn.0,
            Event::MessageSteered { run, .. } => of_a_run(*run),
            // A branch closes what its origin had in mid-air.
            Event::QueuedEdited { .. } | Event::SessionBranched { .. } => true,
            Event::RunStarted { turn: of, .. }
            | Event::RunEnded { turn: of, .. }
            | Event::AnswerChosen { turn: of, .. }
            | Event::RecoveryAttempted { turn: of, .. }
            | Event::RecoverySettled { turn: of, .. }
            | Event::RequestBilled { turn: of, .. } => *of == turn,
            Event::StepStarted { run, .. }
            | Event::TextAdded { run, .. }
            | Event::ReasoningAdded { run, .. }
            | Event::CallDrafted { run, .. }
            | Event::CallAsked { run, .. }
            | Event::CallFinished { run, .. }
            | Event::UsageReported { run, .. }
            | Event::ProviderPartAdded { run, .. }
            | Event::RetryScheduled { run, .. } => of_a_run(*run),
            Event::SessionCreated { .. }
            | Event::SessionRenamed { .. }
            | Event::TitleGenerated { .. }
            | Event::FlagSet { .. }
            | Event::TagsSet { .. }
            | Event::ProjectSet { .. }
            | Event::IdAdded { .. }
            | Event::IdRemoved { .. }
            | Event::QueuedRemoved { .. }
            | Event::TurnsUndone { .. }
            | Event::TurnsPutBack { .. }
            | Event::SessionCleared {}
            | Event::ContextCompacted { .. }
            | Event::EntriesSetAside { .. }
            | Event::ResumeMarked { .. }
            | Event::ResumeCleared {}
            | Event::MemoryOwnerSet { .. }
            | Event::MemoryReassigned { .. }
            | Event::MemoryCommitStarted { .. }
            | Event::MemoryCommitAccepted { .. }
            | Event::MemoryCommitEnded { .. }
            | Event::DeliveryOwed { .. }
            | Event::DeliveryAttempted { .. }
            | Event::DeliveryUnsent { .. }
            | Event::PartDelivered { .. }
            | Event::DeliveryEnded { .. }
            | Event::ChatNotified { .. }
            | Event::QueuePaused {}
            | Event::QueueResumed {}
            | Event::Unknown { .. } => false,
        };
        if about_it {
            apply(&mut page, entry);
        }
    }
    page.turns.pop_back()
}

/// The answer text that a run's entries hold, without reasoning and calls.
pub fn run_text<'a>(run: RunId, entries: impl IntoIterator<Item = &'a Entry>) -> String {
    let mut folded = Run::new(run, RunCause::Message, None, Time(0));
    for entry in entries.into_iter().filter(|entry| entry.event.output_of() == Some(run)) {
        apply_output(&mut folded, &entry.event, entry.time);
    }
    folded.finish_tags();
    let texts = folded.pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Reasoning(_) | Piece::Call(_) | Piece::Steered { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether an event counts as something that a person or the agent did. Maintenance does not. The list of
/// sessions follows the same rule.
pub fn moves_activity(event: &Event) -> bool {
    if fault::planted("maintenance_moves_activity") && matches!(event, Event::ContextCompacted { .. }) {
        return true;
    }
    match event {
        Event::SessionCreated { .. }
        | Event::SessionBranched { .. }
        | Event::SessionRenamed { .. }
        | Event::MessagePosted { .. }
        | Event::MessageEdited { .. }
        | Event::RunStarted { .. } => true,
        Event::CallFinished { .. } => !fault::planted("tool_leaves_activity"),
        // A run that a crash ended is closed by maintenance, not by anyone's doing.
        Event::RunEnded { end, .. } => !matches!(end, RunEnd::Interrupted { .. }),
        Event::TitleGenerated { .. }
        | Event::RequestBilled { .. }
        | Event::FlagSet { .. }
        | Event::TagsSet { .. }
        | Event::ProjectSet { .. }
        | Event::IdAdded { .. }
        | Event::IdRemoved { .. }
        | Event::QueuedEdited { .. }
        | Event::QueuedRemoved { .. }
        | Event::MessageSteered { .. }
        | Event::TurnsUndone { .. }
        | Event::TurnsPutBack { .. }
        | Event::SessionCleared {}
        | Event::AnswerChosen { .. }
        | Event::StepStarted { .. }
        | Event::TextAdded { .. }
        | Event::ReasoningAdded { .. }
        | Event::CallDrafted { .. }
        | Event::CallAsked { .. }
        | Event::UsageReported { .. }
        | Event::ProviderPartAdded { .. }
        | Event::RetryScheduled { .. }
        | Event::RecoveryAttempted { .. }
        | Event::RecoverySettled { .. }
        | Event::ContextCompacted { .. }
        | Event::EntriesSetAside { .. }
        | Event::ResumeMarked { .. }
        | Event::ResumeCleared {}
        | Event::MemoryOwnerSet { .. }
        | Event::MemoryReassigned { .. }
        | Event::MemoryCommitStarted { .. }
        | Event::MemoryCommitAccepted { .. }
        | Event::MemoryCommitEnded { .. }
        | Event::DeliveryOwed { .. }
        | Event::DeliveryAttempted { .. }
        | Event::DeliveryUnsent { .. }
        | Event::PartDelivered { .. }
        | Event::DeliveryEnded { .. }
        | Event::ChatNotified { .. }
        | Event::QueuePaused {}
        | Event::QueueResumed {}
        | Event::Unknown { .. } => false,
    }
}

#[expect(clippy::too_many_lines, reason = "one flat arm an event; each arm is a few lines")]
fn apply(session: &mut Session, entry: &Entry) {
    let time = entry.time;
    match &entry.event {
        Event::SessionCreated { id, title, after, user } => {
            session.ids.push(*id);
            session.user = *user;
            session.created_at = time;
            session.after = *after;
            session.title = title.clone().map(Title::Person);
        }
        Event::SessionBranched { id, from, .. } => begin_branch(session, *id, *from, time),
        Event::SessionRenamed { title } => session.title = Some(Title::Person(title.clone())),
        Event::TitleGenerated { title } => {
            if !matches!(session.title, Some(Title::Person(_))) || fault::planted("title_overwrites_name") {
                session.title = Some(Title::Generated(title.clone()));
            }
        }
        Event::FlagSet { flag, on } => match flag {
            Flag::Pinned => session.pinned = *on,
            Flag::Archived => session.archived = *on,
            Flag::Trashed => {
                session.trashed = *on;
                // Put there again, it is there since the first time.
                session.trashed_at = on.then(|| session.trashed_at.unwrap_or(time));
            }
            Flag::Other(_) => {}
        },
        Event::TagsSet { tags } => session.tags.clone_from(tags),
        Event::ProjectSet { project } => session.project = *project,
        Event::IdAdded { id } => session.ids.push(*id),
        Event::IdRemoved { id } => session.ids.retain(|other| other != id),
        Event::MessagePosted { message, mode, .. } => {
            let turn = TurnId(entry.seq.0);
            name_provisionally(session, message);
            let message = message.clone();
            let queued = Queued { turn, message, posted_at: time, mode: mode.clone(), paused: false };
            match mode {
                PostMode::Interrupt => session.queue.push_front(queued),
                PostMode::Queue | PostMode::Steer | PostMode::Other(_) => session.queue.push_back(queued),
            }
        }
        Event::QueuedEdited { turn, message, mode } => {
            if let Some(queued) = session.queue.iter_mut().find(|queued| queued.turn == *turn) {
                queued.message = message.clone();
                // Setting a mode also unpauses the message.
                if let Some(mode) = mode {
                    queued.mode = mode.clone();
                    queued.paused = false;
                }
            }
        }
        Event::QueuedRemoved { turn } => session.queue.retain(|queued| queued.turn != *turn),
        Event::QueuePaused {} => session.queue.iter_mut().for_each(|queued| queued.paused = true),
        Event::QueueResumed {} => session.queue.iter_mut().for_each(|queued| queued.paused = false),
        Event::MessageSteered { turn, run } => steer(session, *turn, *run),
        Event::MessageEdited { turn, message, hides, .. } => {
            hide_from(session, *turn, *hides);
            name_provisionally(session, message);
            let posted = Queued {
                turn: TurnId(entry.seq.0),
                message: message.clone(),
                posted_at: time,
                mode: PostMode::Interrupt,
                paused: false,
            };
            session.queue.push_front(posted);
        }
        Event::TurnsUndone { from, hides } => hide_from(session, *from, *hides),
        Event::TurnsPutBack { .. } => put_back(session),
        Event::SessionCleared {} => {
            session.turns.clear();
            session.turns_before = 0;
            session.undone.clear();
            session.summary = None;
        }
        Event::AnswerChosen { turn, run } => {
            if let Some(turn) = session.turns.iter_mut().find(|candidate| candidate.id == *turn) {
                turn.chosen = Some(*run);
            }
        }
        Event::RunStarted { turn, cause, spool } => {
            start_run(session, *turn, Run::new(RunId(entry.seq.0), cause.clone(), *spool, time));
        }
        Event::StepStarted { run, .. }
        | Event::TextAdded { run, .. }
        | Event::ReasoningAdded { run, .. }
        | Event::CallDrafted { run, .. }
        | Event::CallAsked { run, .. }
        | Event::CallFinished { run, .. }
        | Event::UsageReported { run, .. }
        | Event::ProviderPartAdded { run, .. }
        | Event::RetryScheduled { run, .. } => {
            if let Some(run) = run_mut(session, *run) {
                // What is healed later does not make the run any newer.
                if run.end.is_none() {
                    run.last_at = run.last_at.max(time);
                }
                apply_output(run, &entry.event, time);
            }
        }
        Event::RequestBilled { run, purpose, usage, .. } => {
            if *purpose == RequestPurpose::Title {
                session.titles_requested = session.titles_requested.saturating_add(1);
            }
            if let Some(run) = run_mut(session, *run) {
                run.usage = run.usage.plus(*usage);
            }
        }
        Event::RunEnded { turn, run, end } => {
            end_run(session, *turn, *run, end, time);
            if *end == RunEnd::Completed || fault::planted("every_turn_is_owed") {
                session.memory.complete(entry.seq);
            }
        }
        Event::RecoveryAttempted { run, attempts, .. } => {
            if let Some(recovering) = session.recovering.iter_mut().find(|candidate| candidate.run == *run) {
                recovering.attempts = *attempts;
            }
        }
        Event::RecoverySettled { run, outcome, .. } => settle(session, *run, outcome),
        Event::ContextCompacted { summary, through } => {
            session.summary = Some(Summary { text: summary.clone(), through: *through });
        }
        Event::ResumeMarked { reason, at } => {
            session.resume = Some(ResumeMark { reason: reason.clone(), at: *at });
        }
        Event::ResumeCleared {} => {
            session.resume.take_if(|_| !fault::planted("clearing_leaves_mark"));
        }
        Event::MemoryOwnerSet { owner } => session.memory.set_owner(owner.as_ref()),
        Event::MemoryReassigned { first, to, .. } => session.memory.reassign(*first, to),
        Event::MemoryCommitStarted { .. } => session.memory.begin(entry.seq),
        Event::MemoryCommitAccepted { commit, task } => session.memory.accept(*commit, task),
        Event::MemoryCommitEnded { commit, outcome, .. } => session.memory.end(*commit, outcome),
        Event::DeliveryOwed { turn, answer, to } => session.delivery_owed(*turn, *answer, to),
        Event::DeliveryAttempted { answer, part } => session.delivery_attempted(*answer, *part),
        Event::DeliveryUnsent { answer, part } => session.delivery_unsent(*answer, *part),
        Event::PartDelivered { answer, part, receipt } => session.part_delivered(*answer, *part, receipt),
        Event::DeliveryEnded { answer, outcome } => session.delivery_ended(*answer, outcome),
        Event::ChatNotified { answer, run } => session.chat_notified(*answer, *run),
        // The log itself says so; nothing follows from it.
        Event::EntriesSetAside { .. } | Event::Unknown { .. } => {}
    }
}

/// What a run's own output changes in it.
fn apply_output(run: &mut Run, event: &Event, time: Time) {
    // Whatever follows a wait shows that it is over.
    run.retry = None;
    if let Event::StepStarted { step, asked_to_continue, .. } = event {
        run.finish_tags();
        run.tags = TagState::start();
        run.steps = *step;
        run.asked_to_continue |= *asked_to_continue;
    } else if let Event::TextAdded { text, .. } = event {
        run.add_text(text);
    } else if let Event::ReasoningAdded { text, .. } = event {
        run.push(Kind::Reasoning, text);
    } else if let Event::CallDrafted { call, tool, arguments, .. } = event {
        run.flush_tags();
        run.call(*call, tool).arguments.push_str(arguments);
    } else if let Event::CallAsked { call, tool, arguments, provider_call, .. } = event {
        run.flush_tags();
        let call = run.call(*call, tool);
        arguments.clone_into(&mut call.arguments);
        call.provider_call.clone_from(provider_call);
        call.state = CallState::Asked;
    } else if let Event::CallFinished { call, outcome, .. } = event {
        run.call(*call, "").state = CallState::Finished(outcome.clone());
    } else if let Event::UsageReported { usage, .. } = event {
        run.usage = run.usage.plus(*usage);
    } else if let Event::ProviderPartAdded { part, .. } = event {
        run.parts.push(PlacedPart { pieces_before: run.pieces.len(), part: part.clone() });
    } else if let Event::RetryScheduled { reason, error, wait_ms, .. } = event
        && run.end.is_none()
    {
        let until = Time(time.0.saturating_add_unsigned(wait_ms.saturating_mul(1_000)));
        run.retry = Some(Retry { reason: reason.clone(), error: error.clone(), until });
    }
}

/// A branch has the turns, the tags and the project of its origin, but neither its queue, nor its marks, nor a run in mid-air.
fn begin_branch(session: &mut Session, id: SessionId, origin: SessionId, time: Time) {
    for run in session.turns.iter_mut().flat_map(|turn| turn.runs.iter_mut()) {
        if run.end.is_none() {
            run.end = Some(RunEnd::Stopped { by_message: false, device: None });
            run.ended_at = Some(time);
            run.retry = None;
        }
        if run.recovery == Recovery::Recovering {
            run.recovery = Recovery::Neutral;
        }
        run.finish_tags();
    }
    session.created_at = time;
    session.after = None;
    session.origin = Some(origin);
    session.pinned = false;
    session.archived = false;
    session.trashed = false;
    session.trashed_at = None;
    session.ids = vec![id];
    session.queue.clear();
    session.undone.clear();
    session.recovering.clear();
    session.open_run = None;
    session.interrupted_in_a_row = 0;
    session.resume = None;
    session.deliveries.clear();
    // What was completed before is its origin's debt.
    session.memory = Ledger::default();
    session.title = session.title.take().map(|title| match title {
        Title::Person(text) | Title::Generated(text) => Title::Generated(text),
        Title::Provisional(text) => Title::Provisional(text),
    });
}

/// Names a session without a title after the first line of its first message, until someone finds a better name.
fn name_provisionally(session: &mut Session, message: &Message) {
    if session.title.is_none() && !fault::planted("session_stays_unnamed") {
        session.title = provisional_title(&message.text).map(Title::Provisional);
    }
}

/// Returns the first visible line of `text`, without control and bidi characters, cut between words if it is long.
pub fn provisional_title(text: &str) -> Option<String> {
    let shown = |line: &str| {
        let line: String = line.chars().filter(|char| !char.is_control() && !turns_text(*char)).collect();
        let line = line.trim().to_owned();
        line.chars().any(|char| !char.is_whitespace() && !has_no_width(char)).then_some(line)
    };
    let line = text.split('\n').find_map(shown)?;
    if line.chars().count() <= PROVISIONAL_TITLE_CHARS_MAX {
        return Some(line);
    }
    let chars: Vec<char> = line.chars().take(PROVISIONAL_TITLE_CHARS_MAX).collect();
    let space = chars.iter().rposition(|char| *char == ' ').filter(|at| *at > PROVISIONAL_TITLE_CHARS_MIN);
    let cut: String = chars[..space.unwrap_or(chars.len())].iter().collect();
    Some(format!("{}…", cut.trim_end()))
}

/// Whether a character changes the direction of the text around it.
fn turns_text(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn has_no_width(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn start_run(session: &mut Session, turn: TurnId, run: Run) {
    let waiting = session.queue.iter().position(|queued| queued.turn == turn);
    if let Some(Queued { message, posted_at, .. }) = waiting.and_then(|at| session.queue.remove(at)) {
        session.turns.push_back(Turn { id: turn, message, posted_at, runs: Vec::new(), chosen: None });
        session.undone.clear();
    }
    // Not at a run's end: an undo or an edit that ended it may still reach for the oldest turn.
    bound(session);
    session.open_run = Some(run.id);
    let Some(turn) = session.turns.iter_mut().rev().find(|candidate| candidate.id == turn) else { return };
    if turn.chosen.is_none() || !run.goes_on() {
        turn.chosen = Some(run.id);
    }
    let at = turn.end_of_answer(&run);
    turn.runs.insert(at, run);
}

fn end_run(session: &mut Session, turn: TurnId, run: RunId, end: &RunEnd, time: Time) {
    if session.open_run == Some(run) {
        session.open_run = None;
    }
    session.interrupted_in_a_row = interrupted_in_a_row(session.interrupted_in_a_row, end);
    // One end takes away both, so that they cannot disagree.
    if matches!(end, RunEnd::Completed | RunEnd::OutputLimit { .. }) {
        session.resume.take_if(|_| !fault::planted("completed_turn_keeps_mark"));
    }
    let mut spool = None;
    if let Some(run) = run_mut(session, run) {
        run.end = Some(end.clone());
        run.ended_at = Some(time);
        run.retry = None;
        spool = run.spool;
        if let RunEnd::Interrupted { recovering: true, .. } = end {
            // Its text may go on inside the same tags.
            run.recovery = Recovery::Recovering;
        } else {
            run.finish_tags();
        }
        planted::spoil_run(run, end);
    }
    planted::spoil_session(session, turn, end);
    if let RunEnd::Interrupted { recovering: true, reason, .. } = end {
        session.recovering.push(Recovering {
            turn,
            run,
            spool,
            attempts: 0,
            first_seen: time,
            reason: reason.clone(),
        });
    }
}

/// Counts interruptions without output between them. The list of sessions follows the same rule.
pub fn interrupted_in_a_row(before: u32, end: &RunEnd) -> u32 {
    match end {
        RunEnd::Interrupted { progress: true, .. } if !fault::planted("progress_counts_as_loop") => 1,
        RunEnd::Interrupted { .. } => before + 1,
        RunEnd::Completed | RunEnd::OutputLimit { .. } => 0,
        RunEnd::Stopped { .. } | RunEnd::Failed { .. } | RunEnd::Other(_) => before,
    }
}

fn settle(session: &mut Session, run: RunId, outcome: &RecoveryOutcome) {
    session.recovering.retain(|recovering| recovering.run != run);
    if let Some(run) = run_mut(session, run) {
        run.finish_tags();
        run.recovery = match outcome {
            RecoveryOutcome::Recovered => Recovery::Recovered,
            RecoveryOutcome::Neutral | RecoveryOutcome::Other(_) => Recovery::Neutral,
        };
    }
}

fn steer(session: &mut Session, turn: TurnId, run: RunId) {
    let Some(at) = session.queue.iter().position(|queued| queued.turn == turn) else { return };
    let Some(queued) = session.queue.remove(at) else { return };
    if let Some(run) = run_mut(session, run) {
        run.finish_tags();
        run.pieces.push(Piece::Steered { turn, message: queued.message });
    }
}

/// Hides the turns from `from` on: those in the state, and as many older ones as `hides` counts beyond them.
fn hide_from(session: &mut Session, from: TurnId, hides: Option<u64>) {
    let at = session.turns.iter().position(|turn| turn.id == from);
    let in_state = session.turns.len() - at.unwrap_or(0);
    let before = match at {
        Some(_) => 0,
        None => hides.unwrap_or(0).saturating_sub(in_state as u64),
    };
    if at.is_none() && before == 0 {
        return;
    }
    let turns: Vec<Turn> = session.turns.drain(at.unwrap_or(0)..).collect();
    session.turns_before = session.turns_before.saturating_sub(before);
    // A summary that tells of what was taken back would tell it to the model still.
    session.summary.take_if(|summary| {
        turns.iter().any(|turn| turn.id == summary.through) || (before > 0 && summary.through >= from)
    });
    session.undone.push(Undone { from, turns, before });
    if session.undone.len() > UNDONE_MAX {
        session.undone.remove(0);
    }
    bound_undone(&mut session.undone);
}

/// Bounds the content of all undo steps but the latest: the oldest turns go first, and stay in the log.
fn bound_undone(undone: &mut [Undone]) {
    let Some((_, earlier)) = undone.split_last_mut() else { return };
    let mut size_bytes: usize = earlier.iter().flat_map(|step| &step.turns).map(Turn::size_bytes).sum();
    for step in earlier {
        while size_bytes > STATE_BYTES_MAX && !step.turns.is_empty() {
            size_bytes -= step.turns.remove(0).size_bytes();
            step.before += 1;
        }
    }
}

/// Redoes the latest undo step.
fn put_back(session: &mut Session) {
    let Some(Undone { turns, before, .. }) = session.undone.pop() else { return };
    if before > 0 {
        // The state holds a gapless range up to the newest turn, and the step lacks its oldest turns.
        session.turns_before += before + session.turns.len() as u64;
        session.turns.clear();
    }
    session.turns.extend(turns);
    bound(session);
}

/// Finds a run that may still take output: in the visible turns, or in those just taken back.
fn run_mut(session: &mut Session, run: RunId) -> Option<&mut Run> {
    let visible = session.turns.iter_mut().rev();
    let undone = session.undone.iter_mut().flat_map(|undone| undone.turns.iter_mut());
    visible.chain(undone).find_map(|turn| turn.run_mut(run))
}

/// Puts older visible turns, read from the log, before those in the state, as many as it has room for. They come newest
/// first, without a gap. Returns whether it has room for more.
pub fn refill(session: &mut Session, earlier: impl IntoIterator<Item = Turn>) -> bool {
    let mut size_bytes: usize = session.turns.iter().map(Turn::size_bytes).sum();
    for turn in earlier {
        size_bytes += turn.size_bytes();
        let fits = session.turns.len() < TURNS_IN_STATE_MAX && size_bytes <= STATE_BYTES_MAX;
        if session.turns_before == 0 || !(fits || session.turns.is_empty()) {
            return false;
        }
        session.turns.push_front(turn);
        session.turns_before -= 1;
    }
    session.turns_before > 0
}

/// Lets the oldest turns go once the state is full. The newest turn always stays.
fn bound(session: &mut Session) {
    let mut size_bytes: usize = session.turns.iter().map(Turn::size_bytes).sum();
    while session.turns.len() > TURNS_IN_STATE_MAX
        || (size_bytes > STATE_BYTES_MAX && session.turns.len() > 1)
    {
        let Some(oldest) = session.turns.pop_front() else { return };
        size_bytes -= oldest.size_bytes();
        session.turns_before += 1;
    }
}

impl Turn {
    /// Where a run goes among the others: after the answer that it goes on with, or last.
    fn end_of_answer(&self, run: &Run) -> usize {
        let from = match run.cause {
            RunCause::Message | RunCause::Retry | RunCause::Other(_) => None,
            RunCause::Continue => self.chosen,
            RunCause::Resume => self.runs.iter().map(|run| run.id).max(),
        };
        let mut end = 0;
        for answer in self.answers() {
            end += answer.len();
            if answer.iter().any(|run| Some(run.id) == from) {
                return end;
            }
        }
        end
    }

    /// Drops the oldest answers of a turn that is too large for the state, except the one that is shown and the one that is
    /// being written. The transcript is folded from the log and has them all.
    fn forget_alternatives(&mut self) {
        let newest = self.runs.iter().map(|run| run.id).max();
        while self.answers().count() > ANSWERS_PER_TURN_MAX
            || self.size_bytes() + self.runs.len() * RUN_BYTES > TURN_BYTES_MAX
        {
            let keeps = |run: &Run| Some(run.id) == newest || Some(run.id) == self.chosen;
            let mut end = 0;
            let mut ranges = self.answers().map(|answer| {
                end += answer.len();
                (end - answer.len()..end, answer.iter().any(keeps))
            });
            let forgotten = ranges.find(|(_, kept)| !kept).map(|(range, _)| range);
            drop(ranges);
            let Some(forgotten) = forgotten else { return };
            self.runs.drain(forgotten);
        }
    }
}

impl Run {
    fn new(id: RunId, cause: RunCause, spool: Option<SlotNo>, started_at: Time) -> Self {
        Self {
            id,
            cause,
            started_at,
            spool,
            steps: 0,
            pieces: Vec::new(),
            parts: Vec::new(),
            retry: None,
            usage: Usage::default(),
            end: None,
            ended_at: None,
            recovery: Recovery::None,
            asked_to_continue: false,
            last_at: started_at,
            tags: TagState::start(),
        }
    }

    fn add_text(&mut self, text: &str) {
        let mut tags = std::mem::take(&mut self.tags);
        tags.feed(text, &mut |kind, text| self.push(kind, text));
        self.tags = tags;
    }

    fn flush_tags(&mut self) {
        let mut tags = std::mem::take(&mut self.tags);
        tags.flush(&mut |kind, text| self.push(kind, text));
        self.tags = tags;
    }

    fn finish_tags(&mut self) {
        let mut tags = std::mem::take(&mut self.tags);
        tags.finish(&mut |kind, text| self.push(kind, text));
    }

    fn push(&mut self, kind: Kind, text: &str) {
        match (kind, self.pieces.last_mut()) {
            (Kind::Answer, Some(Piece::Text(last))) | (Kind::Reasoning, Some(Piece::Reasoning(last))) => {
                last.push_str(text);
            }
            (Kind::Answer, _) => self.pieces.push(Piece::Text(text.to_owned())),
            (Kind::Reasoning, _) => self.pieces.push(Piece::Reasoning(text.to_owned())),
        }
    }

    fn call(&mut self, no: CallNo, tool: &str) -> &mut Call {
        let known = self.pieces.iter().rposition(|piece| matches!(piece, Piece::Call(call) if call.no == no));
        let at = known.unwrap_or_else(|| {
            let state = CallState::Drafted;
            let call =
                Call { no, tool: tool.to_owned(), arguments: String::new(), provider_call: None, state };
            self.pieces.push(Piece::Call(call));
            self.pieces.len() - 1
        });
        match &mut self.pieces[at] {
            Piece::Call(call) => call,
            Piece::Text(_) | Piece::Reasoning(_) | Piece::Steered { .. } => {
                unreachable!("found as a call above")
            }
        }
    }
}

/// A message without text and attachments says nothing.
pub(crate) fn is_empty(message: &Message) -> bool {
    message.text.trim().is_empty() && message.attachments.is_empty()
}

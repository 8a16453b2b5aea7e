//! What must hold at the end, read off the logs as they truly are.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use session::event::{RecoveryOutcome, RunCause, RunEnd};
use session::{CommitOutcome, Entry, Event, Link, Part, RunId, Session, SessionId, TurnId, UserId};
use store::blob::Blobs;
use store::{Catalog, ListQuery, Shelf};

use super::world::World;
use super::{chat, memory, resume};

/// Sessions in which something is still to come.
pub(crate) fn unsettled(world: &World) -> Vec<SessionId> {
    let sessions = living(world);
    let open = |session: &SessionId| {
        let mut state = Session::default();
        let log = world.log(*session);
        log.iter().for_each(|entry| session::fold(&mut state, entry));
        state.open_run.is_some()
            || state.queue.iter().any(|queued| !queued.paused)
            || !state.recovering.is_empty()
            || memory::owes(&log)
            || resume::is_due(world, &log)
    };
    sessions.into_iter().filter(open).collect()
}

fn living(world: &World) -> Vec<SessionId> {
    let record = world.record();
    record.sessions.iter().filter(|session| !record.erased.contains(session)).copied().collect()
}

/// Checks every log against what was promised.
pub(crate) fn all(world: &World) {
    for session in living(world) {
        let log = world.log(session);
        let found = [
            chain(&log),
            runs(&log),
            said(&log),
            paid_for(world, session, &log),
            names(&log),
            recoveries(&log),
            resume::stopped(&log),
            resume::order(&log),
            resume::taken(&log),
            resume::counted(&log),
            answers(&log),
            list(world, session),
            kept(world, session, &log),
            shown(world, session, &log),
            memory::check(world, session, &log),
            chat::check(world, session, &log),
            files(world, &log),
            listed(world, session),
        ];
        for broken in found.into_iter().flatten() {
            world.broken(|| format!("{broken}, session {session}"));
        }
        situations(world, &log);
    }
    if let Some(broken) = slots(world) {
        world.broken(|| broken);
    }
}

/// C23: every attachment of a message is stored.
fn files(world: &World, log: &[Entry]) -> Option<String> {
    let messages = log.iter().filter_map(|entry| entry.event.message());
    let mut named =
        messages.flat_map(|message| &message.attachments).map(|attachment| attachment.blob.clone());
    let missing = named.find(|blob| world.truth.has_blob(blob.clone()).now_or_never() != Some(Ok(true)))?;
    Some(format!("C23 a message names {}, which is not stored", missing.0))
}

/// Checks that every slot is free: no run is open or being recovered by now.
pub(crate) fn slots(world: &World) -> Option<String> {
    let [node] = world.nodes.as_slice() else { return None };
    if world.record().slots_hidden {
        return None;
    }
    let (made, free) = node.running()?.hub.spool_slots();
    (usize::from(made) != free).then(|| format!("only {free} of {made} slots are free"))
}

/// P3: an open list shows the newest state after every run.
fn listed(world: &World, session: SessionId) -> Option<String> {
    // A list receives only the changes of its own node.
    let [node] = world.nodes.as_slice() else { return None };
    let number = node.running()?.number;
    let run = (*world.record().listed.get(&(number, session))?)?;
    Some(format!("P3 an open list shows run {run} as going on"))
}

/// I3, I16: numbered without gap, chained, under epochs that never go down.
fn chain(log: &[Entry]) -> Option<String> {
    let mut last = Link::START;
    for entry in log {
        if entry.seq != last.seq.next() {
            return Some(format!("I3 entry {} follows entry {}", entry.seq, last.seq));
        }
        if entry.epoch < last.epoch {
            return Some(format!("I16 entry {} has an older epoch than the one before", entry.seq));
        }
        if Entry::seal(&last, entry.time, entry.epoch, entry.event.clone()).hash != entry.hash {
            return Some(format!("I3 entry {} is not chained to the one before", entry.seq));
        }
        last = entry.link();
    }
    None
}

/// I15, I24, I25: one run at a time, one end each, nothing after it but what was healed, results after their calls.
fn runs(log: &[Entry]) -> Option<String> {
    let mut open: Option<RunId> = None;
    let mut ended: BTreeMap<RunId, bool> = BTreeMap::new();
    let mut asked = Vec::new();
    for entry in log {
        match &entry.event {
            // A branch goes on with what it shares, and nothing of it is open there.
            Event::SessionBranched { .. } => open = None,
            Event::RunStarted { .. } => {
                if let Some(open) = open {
                    return Some(format!("I15 run {} began while run {open} was going on", entry.seq));
                }
                open = Some(RunId(entry.seq.0));
            }
            Event::RunEnded { run, end, .. } => {
                let recovering = matches!(end, RunEnd::Interrupted { recovering: true, .. });
                if ended.insert(*run, recovering).is_some() || open != Some(*run) {
                    return Some(format!("I24 run {run} ended twice, at last at entry {}", entry.seq));
                }
                open = None;
            }
            Event::RecoverySettled { run, .. } if ended.insert(*run, false) != Some(true) => {
                return Some(format!("I28 run {run} was recovered at entry {} and was not lost", entry.seq));
            }
            Event::CallAsked { run, call, .. } => asked.push((*run, *call)),
            Event::CallFinished { run, call, .. } if !asked.contains(&(*run, *call)) => {
                return Some(format!("I25 call {call} of run {run} ended and was not asked for"));
            }
            _ => {}
        }
        if let Some(run) = entry.event.output_of()
            && ended.get(&run) == Some(&false)
        {
            return Some(format!("I24 entry {} follows the end of its run {run}", entry.seq));
        }
    }
    open.map(|open| format!("I9 run {open} never ended"))
}

/// The numbers of the words that a run said, in the order of the log.
pub(crate) fn words_of(log: &[Entry], run: RunId) -> Vec<u64> {
    let mut words = Vec::new();
    for entry in log {
        if let Event::TextAdded { run: of, text } | Event::ReasoningAdded { run: of, text } = &entry.event
            && *of == run
        {
            words.extend(text.split_whitespace().filter_map(|word| word.get(1..)?.parse::<u64>().ok()));
        }
    }
    words
}

/// I6, I28: of what a run said, a beginning is there, each word once and in order.
fn said(log: &[Entry]) -> Option<String> {
    for entry in log {
        if let Event::RunStarted { .. } = &entry.event {
            let words = words_of(log, RunId(entry.seq.0));
            if !words.iter().copied().eq(1..=words.len() as u64) {
                return Some(format!("I6 run {} said {words:?}", entry.seq));
            }
        }
    }
    None
}

/// C1–C8, I22: what was durable when the run was told so is there; a run that ended by itself is there whole.
fn paid_for(world: &World, session: SessionId, log: &[Entry]) -> Option<String> {
    let record = world.record();
    // What a branch shares with its origin is looked at there.
    let own = log.iter().rposition(|entry| matches!(entry.event, Event::SessionBranched { .. })).unwrap_or(0);
    for entry in &log[own..] {
        let Event::RunEnded { run, end, .. } = &entry.event else { continue };
        let kept = words_of(log, *run).len() as u64;
        let durable = record.durable.get(&(session, *run)).copied().unwrap_or(0);
        // A journal that is lost, or that only another node can see, was given up without a claim.
        let given_up = |entry: &Entry| matches!(&entry.event, Event::RecoverySettled { run: of, outcome: RecoveryOutcome::Neutral, .. } if of == run);
        let out_of_reach = record.slots_lost || world.nodes.len() > 1;
        if kept < durable && !(out_of_reach && log.iter().any(given_up)) {
            return Some(format!("I22 run {run} had {durable} words durable; {kept} were kept"));
        }
        let said = record.said.get(&(session, *run)).map_or(0, |(_, words)| *words);
        if *end == RunEnd::Completed && !record.finished.contains(&(session, *run)) {
            return Some(format!("P13 run {run} completed and its agent was not done"));
        }
        if *end == RunEnd::Completed && kept < said {
            return Some(format!("P11 run {run} completed after {said} words; {kept} were kept"));
        }
    }
    None
}

/// I20, P6, P12: a person's name stays; a quiet run writes nothing; silence is no answer.
fn names(log: &[Entry]) -> Option<String> {
    let mut named = false;
    for entry in log {
        match &entry.event {
            Event::SessionCreated { title: Some(_), .. } | Event::SessionRenamed { .. } => named = true,
            Event::TitleGenerated { .. } if named => {
                return Some(format!("I20 a title was generated at entry {} over a person's", entry.seq));
            }
            Event::UsageReported { usage, .. } if usage.input_tokens == 0 => {
                return Some(format!("P6 entry {} was written by nobody", entry.seq));
            }
            _ => {}
        }
    }
    None
}

/// I29: so many attempts and no more.
fn recoveries(log: &[Entry]) -> Option<String> {
    log.iter().find_map(|entry| match &entry.event {
        Event::RecoveryAttempted { run, attempts, .. }
            if *attempts > session::limits::RECOVERY_ATTEMPTS_MAX =>
        {
            Some(format!("I29 the journal of run {run} was tried {attempts} times"))
        }
        _ => None,
    })
}

/// C1–C13, I22, I26: of every visible turn, the view has the message as it was posted, and of its answer every word and
/// call that the log has.
fn answers(log: &[Entry]) -> Option<String> {
    let mut state = Session::default();
    log.iter().for_each(|entry| session::fold(&mut state, entry));
    let view = session::view(&state);
    let takes_away = |event: &Event| {
        matches!(
            event,
            Event::TurnsUndone { .. }
                | Event::SessionCleared {}
                | Event::MessageEdited { .. }
                | Event::SessionBranched { .. }
        )
    };
    let begun: BTreeSet<TurnId> = log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::RunStarted { turn, .. } => Some(*turn),
            _ => None,
        })
        .collect();
    if !log.iter().any(|entry| takes_away(&entry.event))
        && begun.len() as u64 != state.turns.len() as u64 + state.turns_before
    {
        return Some(format!("I26 {} turns were begun and {} are there", begun.len(), state.turns.len()));
    }
    for (turn, shown) in state.turns.iter().zip(&view.turns) {
        let posted = log.iter().rev().find_map(|entry| match &entry.event {
            Event::QueuedEdited { turn: of, message, .. } if *of == turn.id => Some(message),
            Event::MessagePosted { message, .. } | Event::MessageEdited { message, .. }
                if entry.seq.0 == turn.id.0 =>
            {
                Some(message)
            }
            _ => None,
        });
        if posted != Some(&shown.message) {
            return Some(format!("I26 the message of turn {} is not the one that was posted", turn.id));
        }
        let runs: Vec<RunId> = turn.answer().unwrap_or_default().iter().map(|run| run.id).collect();
        let words: usize = runs.iter().map(|run| words_of(log, *run).len()).sum();
        let calls = log.iter().filter(|entry| match &entry.event {
            Event::CallDrafted { run, .. } => runs.contains(run),
            _ => false,
        });
        let (shown_words, shown_calls) = shown_parts(shown);
        if shown_words != words || shown_calls != calls.count() {
            return Some(format!(
                "I22 turn {} shows {shown_words} words and {shown_calls} calls; the log has {words} words",
                turn.id
            ));
        }
        let ended = turn.answer().and_then(<[session::Run]>::last).and_then(|run| run.end.as_ref());
        if ended == Some(&RunEnd::Completed) && words == 0 && shown_calls == 0 {
            return Some(format!("P12 turn {} was completed by silence", turn.id));
        }
    }
    None
}

fn shown_parts(turn: &session::TurnView) -> (usize, usize) {
    let (mut words, mut calls) = (0, 0);
    for part in turn.answer.iter().flat_map(|answer| &answer.parts) {
        match part {
            // Nothing was said, and something is shown (C8): no number of words.
            Part::Text(text) if text.is_empty() => words += usize::MAX / 2,
            Part::Text(text) | Part::Reasoning(text) => words += text.split_whitespace().count(),
            Part::Call { .. } => calls += 1,
            Part::Steered { .. } => {}
        }
    }
    (words, calls)
}

/// P3, P16: the list shows what is.
fn list(world: &World, session: SessionId) -> Option<String> {
    let query = ListQuery { count: 1_000, ..ListQuery::of(UserId::FIRST, Shelf::Active) };
    let rows = world.truth.list(query).now_or_never()?.ok()?;
    let row = rows.into_iter().find(|row| row.session == session)?;
    row.run.map(|run| format!("P3 the list says that run {run} goes on"))
}

/// I4, I5: each acknowledged message once, as the turn that was named; no key twice.
fn kept(world: &World, session: SessionId, log: &[Entry]) -> Option<String> {
    let mut keys = BTreeMap::new();
    for entry in log {
        if let Some((key, _)) = entry.event.key()
            && let Some(before) = keys.insert(key.clone(), entry.seq)
        {
            return Some(format!("I5 the key {key:?} was used at entries {before} and {}", entry.seq));
        }
    }
    let record = world.record();
    let promised = record.kept.iter().filter(|((of, _), _)| *of == session);
    for ((_, key), (turn, message)) in promised {
        if keys.get(key).map(|seq| seq.0) != Some(turn.0) {
            return Some(format!(
                "I4 {} was acknowledged as turn {turn} and is at {:?}",
                message.text,
                keys.get(key)
            ));
        }
    }
    None
}

/// I2: what was shown is there as it was shown.
fn shown(world: &World, session: SessionId, log: &[Entry]) -> Option<String> {
    let record = world.record();
    let seen = record.shown.iter().filter(|((of, _), _)| *of == session);
    for ((_, seq), hash) in seen {
        let durable = usize::try_from(seq.0 - 1).ok().and_then(|at| log.get(at)).map(|entry| entry.hash);
        if durable != Some(*hash) {
            return Some(format!("I2 entry {seq} was shown and is not in the log as it was"));
        }
    }
    None
}

/// Rare situations that only the finished log tells.
fn situations(world: &World, log: &[Entry]) {
    for entry in log {
        match &entry.event {
            Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => {
                world.met("a journal could not be read at first");
            }
            Event::RunEnded { end: RunEnd::Interrupted { .. }, .. } => world.met("a run was interrupted"),
            Event::RunEnded { end: RunEnd::Stopped { by_message: true, .. }, .. } => {
                world.met("a message stopped a run");
            }
            Event::RecoverySettled { outcome: RecoveryOutcome::Recovered, .. } => {
                world.met("a run came back from its journal");
            }
            Event::RecoverySettled { .. } => world.met("a recovery ended without a claim"),
            Event::RecoveryAttempted { .. } => world.met("a sealed empty journal was looked at"),
            Event::RunStarted { cause: RunCause::Resume, .. } => world.met("a run resumed by itself"),
            Event::QueuePaused {} => world.met("a queue was paused"),
            Event::TurnsUndone { .. } => world.met("turns were taken back"),
            Event::TurnsPutBack { .. } => world.met("turns were put back"),
            Event::SessionCleared {} => world.met("a session was cleared"),
            Event::QueuedEdited { .. } => world.met("a waiting message was changed"),
            Event::QueuedRemoved { .. } => world.met("a waiting message was withdrawn"),
            Event::MessageEdited { .. } => world.met("a message was edited"),
            Event::TitleGenerated { .. } => world.met("a title was generated"),
            Event::IdAdded { .. } => world.met("a session got another id"),
            Event::MemoryReassigned { .. } => world.met("turns of nobody found an owner"),
            Event::MemoryCommitAccepted { .. } => world.met("a memory provider works on what it accepted"),
            Event::MemoryCommitEnded { first, last, outcome: CommitOutcome::Done, .. } if last > first => {
                world.met("several turns were taken at once");
            }
            _ => {}
        }
    }
}

//! What holds of every session, whatever was asked of it.

use std::collections::{BTreeMap, BTreeSet};

use session::limits::{
    ANSWERS_PER_TURN_MAX, QUEUE_MAX, SESSION_IDS_MAX, STATE_BYTES_MAX, TURNS_IN_STATE_MAX, UNDONE_MAX,
};
use session::{
    Call, Damage, Entry, Epoch, Event, Hash, Link, Part, Piece, Recovery, Run, RunEnd, RunId, Seq, Session,
    Time, Turn, fold_turn, run_text, view,
};

use super::reference::Model;

/// Reads an entry again from its stored bytes.
pub(super) fn reopen(last: &Link, entry: &Entry) -> Entry {
    let Entry { seq, time, epoch, hash, body, .. } = entry.clone();
    Entry::open(last, seq, time, epoch, body, Some(hash)).expect("what was sealed can be opened")
}

/// The state read back from its stored bytes.
pub(super) fn snapshot(session: &Session) -> Session {
    Session::from_bytes(&session.to_bytes()).expect("a stored state can be read")
}

pub(super) fn hold_of_the_state(session: &Session, model: &Model, accepted: &BTreeSet<u64>) {
    one_open_run_of_the_newest_turn(session);
    every_message_is_in_one_place(session, model, accepted);
    bounds_hold(session);
    every_place_where_an_answer_was_cut_has_one_marker(session);
}

fn runs(session: &Session) -> impl Iterator<Item = &Run> {
    all_turns(session).flat_map(|turn| &turn.runs)
}

fn all_turns(session: &Session) -> impl Iterator<Item = &Turn> {
    session.turns.iter().chain(session.undone.iter().flat_map(|undone| &undone.turns))
}

fn one_open_run_of_the_newest_turn(session: &Session) {
    let open: Vec<RunId> = runs(session).filter(|run| run.end.is_none()).map(|run| run.id).collect();
    assert_eq!(open, Vec::from_iter(session.open_run), "at most one run is open, and it is known");
    assert_eq!(session.open().map(|(_, run)| run.id), session.open_run, "it is one of the newest turn's");
}

fn every_message_is_in_one_place(session: &Session, model: &Model, accepted: &BTreeSet<u64>) {
    let steered = runs(session).flat_map(|run| &run.pieces).filter_map(|piece| match piece {
        Piece::Steered { turn, .. } => Some(turn.0),
        Piece::Text(_) | Piece::Reasoning(_) | Piece::Call(_) => None,
    });
    let turns = all_turns(session).map(|turn| turn.id.0);
    let queued = session.queue.iter().map(|queued| queued.turn.0);
    let gone = model.hidden.iter().chain(&model.withdrawn).copied();
    let mut places: Vec<u64> = turns.chain(steered).chain(queued).chain(gone).collect();
    places.sort_unstable();
    assert_eq!(places, Vec::from_iter(accepted.iter().copied()), "every accepted message is in one place");
}

fn bounds_hold(session: &Session) {
    assert!(session.turns.len() <= TURNS_IN_STATE_MAX);
    assert!(session.queue.len() <= QUEUE_MAX);
    assert!(session.undone.len() <= UNDONE_MAX);
    assert!(session.ids.len() <= SESSION_IDS_MAX);
    assert!(all_turns(session).all(|turn| turn.answers().count() <= ANSWERS_PER_TURN_MAX));
    // The newest turn stays whatever its size, and healing may bring older ones back what they lost.
    let older = session.turns.iter().rev().skip(1).flat_map(|turn| &turn.runs);
    let older: Vec<&Run> = older.collect();
    if older.iter().all(|run| run.recovery == Recovery::None) {
        let size: usize = older.iter().flat_map(|run| &run.pieces).map(text_bytes).sum();
        assert!(size <= STATE_BYTES_MAX, "{size} bytes of text stay in the state");
    }
}

fn text_bytes(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) | Piece::Reasoning(text) => text.len(),
        Piece::Call(_) | Piece::Steered { .. } => 0,
    }
}

/// Of the answer that is shown: each place where it was interrupted has one marker, in order, of a run that ended there.
fn every_place_where_an_answer_was_cut_has_one_marker(session: &Session) {
    for (turn, shown) in session.turns.iter().zip(view(session).turns) {
        let runs = turn.answer().unwrap_or_default();
        let cut = |run: RunId| {
            let end = runs.iter().find(|candidate| candidate.id == run).and_then(|run| run.end.as_ref());
            end.is_some_and(|end| *end != RunEnd::Completed)
        };
        let interruptions = shown.answer.iter().flat_map(|answer| &answer.interruptions);
        let mut last = None;
        for interruption in interruptions {
            let place = (interruption.part, interruption.offset);
            assert!(last < Some(place), "interruptions of turn {} in order", turn.id);
            assert!(cut(interruption.marker.run), "a marker of turn {} is of a run that was cut", turn.id);
            last = Some(place);
        }
        let marked = runs.last().filter(|run| cut(run.id)).map(|run| run.id);
        assert_eq!(shown.marker.map(|marker| marker.run), marked, "the marker of turn {}", turn.id);
        whole_text_is_shown(runs, &shown.answer.map(|answer| answer.parts).unwrap_or_default());
    }
}

/// Every letter of every text piece is in the parts, in order: nothing here was asked to continue.
fn whole_text_is_shown(runs: &[Run], parts: &[Part]) {
    let texts = runs.iter().flat_map(|run| &run.pieces).filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Reasoning(_) | Piece::Call(_) | Piece::Steered { .. } => None,
    });
    let shown = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Reasoning(_) | Part::Call { .. } | Part::Steered { .. } => None,
    });
    assert_eq!(shown.collect::<String>(), texts.collect::<String>(), "the whole text is shown");
}

/// The calls of the run that is going on.
pub(super) fn calls(session: &Session, run: RunId) -> Option<Vec<&Call>> {
    let run = runs(session).find(|candidate| candidate.id == run)?;
    let calls = run.pieces.iter().filter_map(|piece| match piece {
        Piece::Call(call) => Some(call),
        Piece::Text(_) | Piece::Reasoning(_) | Piece::Steered { .. } => None,
    });
    Some(calls.collect())
}

/// Nothing of a run follows its end but what was healed; no run starts while another goes on.
pub(super) fn hold_of_the_log(entries: &[Entry]) {
    let mut open: Option<RunId> = None;
    let mut ended: BTreeMap<RunId, bool> = BTreeMap::new();
    for Entry { seq, event, .. } in entries {
        match event {
            Event::RunStarted { .. } => {
                assert_eq!(
                    open.replace(RunId(seq.0)),
                    None,
                    "a run starts after the last one ended, at {seq}"
                );
            }
            Event::RunEnded { run, end, .. } => {
                assert_eq!(open.take(), Some(*run), "the run that goes on ends, once, at {seq}");
                ended.insert(*run, matches!(end, RunEnd::Interrupted { recovering: true, .. }));
            }
            Event::RecoverySettled { run, .. } => {
                assert_eq!(ended.insert(*run, false), Some(true), "a recovery settles once, at {seq}");
            }
            Event::RecoveryAttempted { run, .. } => assert_eq!(ended.get(run), Some(&true), "at {seq}"),
            event => {
                if let Some(run) = event.output_of().filter(|run| open != Some(*run)) {
                    assert_eq!(ended.get(&run), Some(&true), "output of a run that is over, at {seq}");
                }
            }
        }
    }
}

/// A page of a turn holds every run of the state, and the answers that the state dropped.
pub(super) fn pages_are_like_the_state(session: &Session, entries: &[Entry]) {
    for turn in &session.turns {
        let from = entries.iter().skip_while(|entry| entry.seq.0 < turn.id.0);
        let mut page = fold_turn(turn.id, from).expect("a turn of the state is in the log");
        page.runs.retain(|run| turn.run(run.id).is_some());
        assert_eq!(page, *turn);
    }
}

/// A transcript holds every run of the log, each with all of its text, whatever the state dropped.
pub(super) fn transcripts_hold_the_log(entries: &[Entry]) {
    let ended: BTreeSet<RunId> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => None,
            Event::RunEnded { run, .. } => Some(*run),
            _ => None,
        })
        .collect();
    for entry in entries {
        let Event::RunStarted { turn, .. } = entry.event else { continue };
        let run = RunId(entry.seq.0);
        let from = entries.iter().skip_while(|entry| entry.seq.0 < turn.0);
        let page = fold_turn(turn, from).expect("a turn that was begun is in the log");
        let folded = page.run(run).unwrap_or_else(|| panic!("run {run} of turn {turn} is in no transcript"));
        if ended.contains(&run) {
            let texts = folded.pieces.iter().filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                Piece::Reasoning(_) | Piece::Call(_) | Piece::Steered { .. } => None,
            });
            // A steered message splits the text of a transcript.
            let whole = run_text(run, entries).replace('\n', "");
            assert_eq!(texts.collect::<String>().replace('\n', ""), whole, "run {run}");
        }
    }
}

/// A change of any byte, number, time or epoch of a stored entry is noticed there or at the next entry.
pub(super) fn the_chain_notices(entries: &[Entry], at: usize, bit: usize) {
    let at = at % entries.len();
    let last = at.checked_sub(1).map_or(Link::START, |at| entries[at].link());
    let Entry { seq, time, epoch, hash, body, .. } = entries[at].clone();
    let broken = Err(Damage::ChainBroken { seq });
    let open =
        |time, epoch, body: &str, hash| Entry::open(&last, seq, time, epoch, body, Some(hash)).map(|_| ());
    assert_eq!(open(Time(time.0 ^ (1 << (bit % 63))), epoch, &body, hash), broken);
    assert_eq!(open(time, Epoch(epoch.0 + 1 + bit as u64), &body, hash), broken);
    let mut link = hash.0;
    link[bit % 16] ^= 1 << (bit % 8);
    assert_eq!(open(time, epoch, &body, Hash(link)), broken);
    let mut bytes = body.as_bytes().to_vec();
    let byte = bit % bytes.len();
    bytes[byte] ^= 1;
    if let Ok(changed) = String::from_utf8(bytes) {
        assert_eq!(open(time, epoch, &changed, hash), broken);
    }
    let skipped = Entry::open(&last, Seq(seq.0 + 1), time, epoch, body, Some(hash));
    assert_eq!(skipped, Err(Damage::OutOfOrder { expected: seq, found: Seq(seq.0 + 1) }));
}

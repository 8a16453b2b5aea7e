//! What must hold of a session's log whatever the provider did: C1 to C13 and I22 to I26, as far as one run can break
//! them.

use std::collections::BTreeMap;

use session::{CallNo, Entry, Event, Part, RunEnd, RunId, Session, fold, view};

use super::expect::{End, Expected};

/// What is wrong with a log; nothing, if all is well.
pub fn broken(log: &[Entry], expected: &Expected) -> Vec<String> {
    let mut broken = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            broken.push(what.to_owned());
        }
    };
    let mut state = Session::default();
    log.iter().for_each(|entry| fold(&mut state, entry));

    let posted = log.iter().position(|entry| matches!(entry.event, Event::MessagePosted { .. }));
    let started = log.iter().position(|entry| matches!(entry.event, Event::RunStarted { .. }));
    check(posted.is_some() && posted < started, "the message is kept before the run begins");

    let ends: Vec<&RunEnd> = log.iter().filter_map(end).collect();
    check(ends.len() == 1, "a run ends once");
    let ended = ends.first().map(|end| match end {
        RunEnd::Completed => Some(End::Completed),
        RunEnd::Failed { .. } => Some(End::Failed),
        RunEnd::Stopped { .. } => Some(End::Stopped),
        RunEnd::OutputLimit { .. } => Some(End::OutputLimit),
        RunEnd::Interrupted { .. } | RunEnd::Other(_) => None,
    });
    check(ended == Some(Some(expected.end)), "the run ends as it must");
    let at_end = log.iter().position(|entry| end(entry).is_some()).unwrap_or(log.len());
    check(
        log[at_end..].iter().all(|entry| entry.event.output_of().is_none()),
        "nothing of a run follows its end",
    );
    check(state.open_run.is_none(), "no run is left open");

    let (text, reasoning) = said(log);
    check(text == expected.text, "the text is what came, once");
    check(reasoning == expected.reasoning, "the reasoning is what came, once");
    calls(log, expected, &mut check);

    let view = view(&state);
    let turn = view.turns.last();
    let marked = turn.is_some_and(|turn| turn.marker.is_some());
    check(marked == (expected.end != End::Completed), "an answer that is not whole has one marker");
    let shown: String = turn.and_then(|turn| turn.answer.as_ref()).map_or_else(String::new, |answer| {
        let parts = answer.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Reasoning(_) | Part::Call { .. } | Part::Steered { .. } => None,
        });
        parts.collect()
    });
    check(shown == expected.text, "a reader sees the text");
    broken
}

fn end(entry: &Entry) -> Option<&RunEnd> {
    match &entry.event {
        Event::RunEnded { end, .. } => Some(end),
        _ => None,
    }
}

fn said(log: &[Entry]) -> (String, String) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    for entry in log {
        match &entry.event {
            Event::TextAdded { text: more, .. } => text.push_str(more),
            Event::ReasoningAdded { text: more, .. } => reasoning.push_str(more),
            _ => {}
        }
    }
    (text, reasoning)
}

/// Calls: drafted, asked for once, done once, in this order.
fn calls(log: &[Entry], expected: &Expected, check: &mut impl FnMut(bool, &str)) {
    let mut seen: BTreeMap<(RunId, CallNo), (bool, bool)> = BTreeMap::new();
    for entry in log {
        match &entry.event {
            Event::CallDrafted { run, call, .. } => {
                let (asked, _) = *seen.entry((*run, *call)).or_default();
                check(!asked, "nothing is drafted of a call that was asked for");
            }
            Event::CallAsked { run, call, .. } => {
                let (asked, _) = seen.entry((*run, *call)).or_default();
                check(!std::mem::replace(asked, true), "a call is asked for once");
            }
            Event::CallFinished { run, call, .. } => {
                let (asked, finished) = seen.entry((*run, *call)).or_default();
                check(*asked, "a result follows its call");
                check(!std::mem::replace(finished, true), "a call ends once");
            }
            _ => {}
        }
    }
    check(seen.len() == expected.calls, "every call of which something came is kept");
    let done = seen.values().filter(|(_, finished)| *finished).count();
    check(done == expected.calls_done, "calls that came whole are done, and no others");
}

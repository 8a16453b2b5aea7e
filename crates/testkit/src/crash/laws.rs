//! What must hold of a log, whatever happened to the process that wrote it.

use std::collections::{BTreeMap, BTreeSet};

use session::{Entry, Event, Hash, Link, RunEnd, RunId, Seq, SessionId};

use super::witness::{Asked, Witness};

/// Collects what is broken.
#[derive(Debug, Default)]
pub struct Broken(pub Vec<String>);

impl Broken {
    /// Notes what is broken when `holds` is false.
    pub fn unless(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }
}

/// Numbers without gap, epochs that never fall, and a chain that is computed here anew.
pub fn chain(broken: &mut Broken, session: SessionId, log: &[Entry]) {
    let (mut last, mut hash) = (Link::START, Hash::START);
    for entry in log {
        broken.unless(entry.seq == last.seq.next(), || {
            format!("{session}: entry {} follows {}", entry.seq, last.seq)
        });
        broken.unless(entry.epoch >= last.epoch, || format!("{session}: the epoch falls at {}", entry.seq));
        hash = hash.next(entry.seq, entry.time, entry.epoch, &entry.body);
        broken.unless(entry.hash == hash, || format!("{session}: the chain breaks at {}", entry.seq));
        last = entry.link();
    }
}

/// Everything that a reader was given stands in the log as it was given.
pub fn seen(broken: &mut Broken, witness: &Witness, session: SessionId, log: &[Entry]) {
    for (seq, hash) in witness.seen.get(&session).into_iter().flatten() {
        let stands = usize::try_from(seq.0).ok().and_then(|seq| log.get(seq.checked_sub(1)?));
        broken.unless(stands.is_some_and(|entry| entry.hash == *hash), || {
            format!(
                "{session}: entry {seq} was shown and is {}",
                if stands.is_some() { "another" } else { "lost" }
            )
        });
    }
}

/// Acknowledged messages are there once, under the turn that was named; others at most once, or not at all when the
/// product said that nothing was kept.
pub fn messages(broken: &mut Broken, witness: &Witness, session: SessionId, log: &[Entry]) {
    let posted = |text: &str| -> Vec<Seq> {
        let said = |entry: &&Entry| matches!(&entry.event, Event::MessagePosted { message, .. } if message.text == text);
        log.iter().filter(said).map(|entry| entry.seq).collect()
    };
    for op in witness.ops.values() {
        match &op.what {
            Asked::Post { session: of, text, .. } if *of == session => {
                let found = posted(text);
                match op.acked {
                    Some(acked) => broken.unless(
                        found.len() == 1 && acked.turn.is_some_and(|turn| found[0].0 == turn.0),
                        || {
                            format!(
                                "{session}: `{text}` was acknowledged as {:?} and is at {found:?}",
                                acked.turn
                            )
                        },
                    ),
                    None => broken.unless(found.len() <= usize::from(!op.nothing_kept), || {
                        format!("{session}: `{text}` was not acknowledged and is at {found:?}")
                    }),
                }
            }
            Asked::Rename { session: of, title } if *of == session && op.acked.is_some() => {
                let named = |entry: &Entry| matches!(&entry.event, Event::SessionRenamed { title: name } if name == title);
                let count = log.iter().filter(|entry| named(entry)).count();
                broken.unless(count == 1, || format!("{session}: the name `{title}` is there {count} times"));
            }
            _ => {}
        }
        if let Some(acked) = op.acked.filter(|acked| acked.session == session) {
            let head = log.last().map_or(Seq(0), |entry| entry.seq);
            broken.unless(head >= acked.seq, || {
                format!("{session}: {:?} was acknowledged at {}, the log ends at {head}", op.what, acked.seq)
            });
        }
    }
}

/// The words of each run stand in order, none missing in between, none twice, all of those that the agent was told
/// are durable, and all of them when the run completed.
pub fn words(broken: &mut Broken, witness: &Witness, session: SessionId, log: &[Entry]) {
    let mut texts: BTreeMap<RunId, String> = BTreeMap::new();
    let mut ends: BTreeMap<RunId, &RunEnd> = BTreeMap::new();
    let mut recovering: BTreeSet<RunId> = BTreeSet::new();
    for entry in log {
        match &entry.event {
            Event::RunStarted { .. } => drop(texts.insert(RunId(entry.seq.0), String::new())),
            Event::TextAdded { run, text } => texts.entry(*run).or_default().push_str(text),
            Event::RunEnded { run, end, .. } => {
                let twice = ends.insert(*run, end).is_some();
                broken.unless(!twice, || format!("{session}: run {run} ended twice"));
                if matches!(end, RunEnd::Interrupted { recovering: true, .. }) {
                    recovering.insert(*run);
                }
            }
            Event::RecoverySettled { run, .. } => drop(recovering.remove(run)),
            _ => {}
        }
    }
    let inherited = witness.inherited.get(&session).copied().unwrap_or(Seq(0));
    for (run, text) in &texts {
        broken.unless(ends.contains_key(run), || format!("{session}: run {run} was left open"));
        if run.0 <= inherited.0 {
            continue;
        }
        let count = counted(text);
        let told = witness.brought.get(&(session, *run)).copied().unwrap_or(0);
        match count {
            Err(word) => {
                broken.unless(false, || format!("{session}: run {run} has `{word}` out of order in `{text}`"))
            }
            Ok((count, _)) if count < told && !recovering.contains(run) => {
                broken
                    .unless(false, || format!("{session}: run {run} has {count} words, {told} were durable"));
            }
            Ok((_, ended)) => {
                let completed = matches!(ends.get(run), Some(RunEnd::Completed));
                broken.unless(ended || !completed, || {
                    format!("{session}: run {run} completed without its last word")
                });
            }
        }
    }
}

/// How many numbered words stand in order, and whether the last one ends the run.
fn counted(text: &str) -> Result<(u64, bool), String> {
    let (mut count, mut ended, mut id) = (0, false, None);
    for word in text.split_whitespace() {
        let (of, number) = word.split_once('.').ok_or(word)?;
        if ended || *id.get_or_insert(of) != of {
            return Err(word.to_owned());
        }
        match number {
            "end" => ended = true,
            number if number.parse() == Ok(count + 1) => count += 1,
            _ => return Err(word.to_owned()),
        }
    }
    Ok((count, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_order_are_counted_and_others_are_not() {
        assert_eq!(counted("m1.1 m1.2 m1.end "), Ok((2, true)));
        assert_eq!(counted(""), Ok((0, false)));
        for wrong in ["m1.2", "m1.1 m1.1", "m1.1 m1.3", "m1.1 m1.end m1.2", "m1.1 m2.2"] {
            assert!(counted(wrong).is_err(), "{wrong}");
        }
    }
}

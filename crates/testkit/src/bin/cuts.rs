//! Cuts, stalls, corrupts, repeats and stops a provider's stream at every byte. `cuts [--full] [--only NAME]`.

use std::sync::{Mutex, PoisonError};

use testkit::Report;
use testkit::crash::cases::in_parallel;
use testkit::cuts::{Case, Fault, Stream, play, streams};

/// Every so many bytes, when not at every one.
const STRIDE: usize = 5;
/// Cases that one task plays in a row.
const ROUND: usize = 500;
/// Broken cases that are told in full.
const TOLD: usize = 3;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let full = words.iter().any(|word| word == "--full");
    let only = words.iter().position(|word| word == "--only").and_then(|at| words.get(at + 1));
    let streams: Vec<Stream> =
        streams()?.into_iter().filter(|stream| only.is_none_or(|only| stream.name.contains(only))).collect();
    let mut report = Report::default();
    report.line("cuts.streams", streams.len(), ">=12", streams.len() >= 12 || only.is_some());
    for fault in Fault::ALL {
        let stride = if full { 1 } else { STRIDE };
        let of = |stream: &'_ Stream| (0..stream.bytes.len()).step_by(stride).collect::<Vec<_>>();
        let cases: Vec<Case<'_>> = streams
            .iter()
            .flat_map(|stream| of(stream).into_iter().map(move |at| Case { stream, fault, at }))
            .collect();
        let rounds: Vec<&[Case<'_>]> = cases.chunks(ROUND).collect();
        let broken = Mutex::new(Vec::new());
        in_parallel(vec![(), ()], rounds, |(), cases| {
            let found = play::play(cases)?;
            broken.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
            Ok(())
        })?;
        let broken = broken.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (name, what) in broken.iter().take(TOLD) {
            report.note(&format!("{name}: {}", what.join("; ")));
        }
        report.line(&format!("cuts.{}.cases", fault.name()), cases.len(), ">0", !cases.is_empty());
        report.line(&format!("cuts.{}.broken", fault.name()), broken.len(), 0, broken.is_empty());
    }
    if !report.verdict("cuts") {
        std::process::exit(1);
    }
    Ok(())
}

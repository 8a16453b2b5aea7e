//! Lives many small worlds: `sim [--full] [SEED]`.

use std::collections::BTreeMap;
use std::time::Duration;

use testkit::Report;
use testkit::sim::{Outcome, live};
use testkit::trial::now;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(seed) = words.iter().find_map(|word| word.parse::<u64>().ok()) {
        let outcome = live(seed);
        let again = live(seed);
        let mut report = Report::default();
        report.note(&format!("{outcome:#?}"));
        report.line("sim.same_trace", outcome.trace == again.trace, true, outcome.trace == again.trace);
        report.line("sim.broken", u8::from(outcome.broken.is_some()), 0, outcome.broken.is_none());
        report.verdict("sim");
        return Ok(());
    }
    let mut report = Report::default();
    let count: u64 =
        words.iter().find_map(|word| word.strip_prefix("--count=")?.parse().ok()).unwrap_or(2_000);
    let begun = now();
    let mut met: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut simulated = Duration::ZERO;
    let mut broken: Vec<(u64, Outcome)> = Vec::new();
    for seed in 1..=count {
        let outcome = live(seed);
        simulated += outcome.simulated;
        for (situation, count) in &outcome.met {
            *met.entry(situation).or_default() += count;
        }
        if outcome.broken.is_some() {
            broken.push((seed, outcome));
        }
    }
    for (situation, count) in &met {
        report.note(&format!("{count} times: {situation}"));
    }
    for (seed, outcome) in broken.iter().take(20) {
        report.note(&format!("seed {seed}: {}", outcome.broken.clone().unwrap_or_default()));
    }
    let seconds = begun.elapsed().as_secs_f64();
    report.note(&format!(
        "{count} seeds in {seconds:.1} s, {:.1} simulated hours",
        simulated.as_secs_f64() / 3_600.0
    ));
    report.line("sim.broken", broken.len(), 0, broken.is_empty());
    report.line("sim.situations", met.len(), "≥40", met.len() >= 40);
    if !report.verdict("sim") {
        std::process::exit(1);
    }
    Ok(())
}

//! Lives many small worlds: `sim [--brief | --full]`, one world again: `sim SEED`.
//! Parts of it: `sim --same`, `sim --mutants`; what it asks of itself: `sim --hunt COUNT`, `sim --traces COUNT`.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use testkit::Report;
use testkit::sim::{HUNTED, live};
use testkit::trial::now;

/// Number of seeds, and the time limit for them.
const SEEDS: u64 = 100_000;
const SEEDS_MAX: Duration = Duration::from_secs(225);
const BRIEF_SEEDS: u64 = 20_000;
/// Several times the usual duration, so that a loaded machine finishes all of them.
const BRIEF_MAX: Duration = Duration::from_secs(240);
const FULL: Duration = Duration::from_secs(3_600);
/// Worlds in which a mutant must be found.
const HUNT_MAX: u64 = 2_000;
/// Worlds that are lived twice, and those that the other build lives too.
const TWICE: u64 = 2_000;
const BOTH_BUILDS: u64 = 200;
const SITUATIONS_MIN: usize = 40;
const MUTANTS_MIN: usize = 30;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut report = Report::default();
    match words.as_slice() {
        [] => {
            many(&mut report, SEEDS, SEEDS_MAX)?;
            mutants(&mut report)?;
        }
        ["--brief"] => {
            many(&mut report, BRIEF_SEEDS, BRIEF_MAX)?;
            mutants(&mut report)?;
        }
        ["--full"] => {
            many(&mut report, u64::MAX, FULL)?;
            mutants(&mut report)?;
        }
        ["--same"] => same(&mut report)?,
        ["--mutants"] => mutants(&mut report)?,
        ["--hunt", count] => {
            hunt(count.parse()?);
            return Ok(());
        }
        ["--traces", count] => {
            traces(count.parse()?);
            return Ok(());
        }
        [seed] => one(
            &mut report,
            seed.parse().context("usage: sim [--brief | --full | --same | --mutants | SEED]")?,
        ),
        _ => anyhow::bail!("usage: sim [--brief | --full | --same | --mutants | SEED]"),
    }
    if !report.verdict("sim") {
        std::process::exit(1);
    }
    Ok(())
}

/// Lives one world and tells all of it.
fn one(report: &mut Report, seed: u64) {
    let (outcome, again) = (live(seed), live(seed));
    for (situation, count) in &outcome.met {
        report.note(&format!("{count} times: {situation}"));
    }
    report.note(&format!("trace {:016x}, {:.1} s simulated", outcome.trace, outcome.simulated.as_secs_f64()));
    report.line("sim.same_trace", outcome.trace == again.trace, true, outcome == again);
    let broken = outcome.broken.as_deref().unwrap_or("nothing");
    report.line("sim.broken", broken, "nothing", outcome.broken.is_none());
}

/// What all worlds together led to.
#[derive(Default)]
struct Sum {
    met: BTreeMap<&'static str, u64>,
    simulated: Duration,
    broken: Vec<(u64, String)>,
}

/// Lives worlds on two threads until there are enough or the time is over.
fn many(report: &mut Report, count: u64, time: Duration) -> anyhow::Result<()> {
    let begun = now();
    let next = AtomicU64::new(1);
    let sums: Vec<Sum> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut sum = Sum::default();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed > count || begun.elapsed() > time {
                            return sum;
                        }
                        let outcome = live(seed);
                        sum.simulated += outcome.simulated;
                        sum.broken.extend(outcome.broken.map(|broken| (seed, broken)));
                        for (situation, count) in outcome.met {
                            *sum.met.entry(situation).or_default() += count;
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    anyhow::ensure!(sums.len() == 2, "a world panicked");
    let mut all = Sum::default();
    for sum in sums {
        all.simulated += sum.simulated;
        all.broken.extend(sum.broken);
        for (situation, count) in sum.met {
            *all.met.entry(situation).or_default() += count;
        }
    }
    for (situation, count) in &all.met {
        report.note(&format!("{count} times: {situation}"));
    }
    all.broken.sort();
    for (seed, broken) in all.broken.iter().take(20) {
        report.note(&format!("seed {seed}: {broken}; again with `just sim {seed}`"));
    }
    let seeds = next.load(Ordering::Relaxed).saturating_sub(1).min(count);
    let wanted = SEEDS.min(count);
    // How many fit is a speed: a noisy neighbour must not fail it.
    report.line("sim.seeds", seeds, format!(">={wanted}"), seeds >= wanted / 2);
    report.note(&format!(
        "{:.0} seeds a second, {:.1} simulated hours",
        seeds as f64 / begun.elapsed().as_secs_f64(),
        all.simulated.as_secs_f64() / 3_600.0
    ));
    report.line("sim.broken", all.broken.len(), 0, all.broken.is_empty());
    report.line(
        "sim.situations",
        all.met.len(),
        format!(">={SITUATIONS_MIN}"),
        all.met.len() >= SITUATIONS_MIN,
    );
    same(report)
}

/// Whether a seed gives the same world each time, and in the build with other optimisations.
fn same(report: &mut Report) -> anyhow::Result<()> {
    let differing: Vec<u64> = (1..=TWICE).filter(|seed| live(*seed) != live(*seed)).collect();
    if let Some(seed) = differing.first() {
        report.note(&format!("seed {seed} is not the same world each time"));
    }
    let same = TWICE - differing.len() as u64;
    report.line("sim.same_twice", same, TWICE, differing.is_empty());
    let here = std::env::current_exe()?;
    let other = here.parent().and_then(|directory| directory.parent()).context("where is this?")?;
    let other = other.join("debug").join(here.file_name().context("what is this?")?);
    let told = Command::new(&other)
        .args(["--traces", &BOTH_BUILDS.to_string()])
        .output()
        .with_context(|| format!("no debug build at {}: `just sim` makes it", other.display()))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let same = (1..=BOTH_BUILDS)
        .zip(told.lines())
        .filter(|(seed, line)| *line == format!("{seed} {:016x}", live(*seed).trace))
        .count() as u64;
    report.line("sim.same_in_debug", same, BOTH_BUILDS, same == BOTH_BUILDS);
    Ok(())
}

/// Tells the trace of each of the first worlds.
#[expect(clippy::print_stdout, reason = "the answer to the process that asked")]
fn traces(count: u64) {
    for seed in 1..=count {
        println!("{seed} {:016x}", live(seed).trace);
    }
}

/// Plants each mutant in a process of its own and looks for the first world that shows it.
fn mutants(report: &mut Report) -> anyhow::Result<()> {
    let mut found = 0;
    let names: Vec<&str> = HUNTED.iter().chain(fault::FOUND_BY_SIMULATION).copied().collect();
    let next = AtomicUsize::new(0);
    let (hunted, hunts) = mpsc::channel();
    std::thread::scope(|scope| {
        for hunted in vec![hunted; 2] {
            scope.spawn(|| {
                let hunted = hunted;
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The receiver outlives the threads, so this cannot fail.
                    drop(hunted.send((*name, hunted_in(name))));
                }
            });
        }
    });
    let hunts: BTreeMap<&str, anyhow::Result<String>> = hunts.into_iter().collect();
    for (name, told) in hunts {
        let told = told?;
        let seed = told.split_whitespace().next().and_then(|seed| seed.parse::<u64>().ok());
        found += usize::from(seed.is_some());
        if let Some(why) = told.lines().next().filter(|_| seed.is_some()) {
            report.note(&format!("{name}: seed {}", why.chars().take(160).collect::<String>()));
        }
        let seed = seed.map_or_else(|| "never".to_owned(), |seed| seed.to_string());
        report.line(&format!("sim.mutant.{name}"), &seed, format!("<={HUNT_MAX}"), seed != "never");
    }
    report.line("sim.mutants_found", found, format!(">={MUTANTS_MIN}"), found >= MUTANTS_MIN);
    Ok(())
}

/// Hunts a mutant in its own process and returns the process's output.
fn hunted_in(mutant: &str) -> anyhow::Result<String> {
    let hunting = Command::new(std::env::current_exe()?)
        .args(["--hunt", &HUNT_MAX.to_string()])
        .env("EVERTURN_MUTANT", mutant)
        .output()?;
    Ok(String::from_utf8_lossy(&hunting.stdout).into_owned())
}

/// Lives worlds until one is broken, and says which.
#[expect(clippy::print_stdout, reason = "the answer to the process that asked")]
fn hunt(count: u64) {
    for seed in 1..=count {
        let broken = std::panic::catch_unwind(|| live(seed))
            .map_or_else(|_| Some("a panic".to_owned()), |outcome| outcome.broken);
        if let Some(broken) = broken {
            println!("{seed} {broken}");
            return;
        }
    }
    println!("never");
}

//! (a) durable entries a second with many runs at once, (b) how soon a reader has one, (h) how far projections lag.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::bare::{self, Bare};
use super::figures::{mean, median, quantile};
use super::load::{Ends, Load};
use super::recording::RecordingStore;
use super::{Bench, place};

pub(crate) const RUNS: [usize; 3] = [64, 512, 2_000];
/// Runs at which latency is measured.
const LATENCY_RUNS: usize = 64;
/// Ours and bare, so many times in turn.
const TURNS: usize = 3;
/// 60 times 163: what one machine must carry.
const ENTRIES_PER_SECOND: f64 = 9_780.0;

/// What was measured at one number of runs.
#[derive(Debug, Default)]
struct Measured {
    ours: Vec<f64>,
    bare: Vec<f64>,
    /// Microseconds, per turn: p50 and p99.
    ours_micros: Vec<[f64; 2]>,
    bare_micros: Vec<[f64; 2]>,
    lag_micros_max: i64,
    batches: usize,
    entries: usize,
}

pub(crate) fn measure(bench: &mut Bench) -> Result<()> {
    let mut lag_micros_max = 0;
    for runs in bench.runs.clone() {
        let measured = measure_runs(bench, runs)?;
        lag_micros_max = lag_micros_max.max(measured.lag_micros_max);
        let (ours, bare) = (mean(&measured.ours), mean(&measured.bare));
        bench.at_least(&format!("a.{runs}_runs.entries_per_second"), ours, ENTRIES_PER_SECOND);
        bench.note(&format!("a.{runs}_runs.bare_per_second"), bare, "bare SQLite, same batches");
        let size = measured.entries as f64 / measured.batches as f64;
        bench.note(&format!("a.{runs}_runs.entries_per_commit"), size, "");
        bench.at_least(&format!("a.{runs}_runs.of_bare"), ours / bare, 0.5);
        if runs == LATENCY_RUNS {
            for (at, name) in ["p50", "p99"].into_iter().enumerate() {
                let of = |micros: &[[f64; 2]]| micros.iter().map(|micros| micros[at]).collect::<Vec<_>>();
                let (ours, bare) = (of(&measured.ours_micros), of(&measured.bare_micros));
                let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
                let (ours, bare) = (median(&ours), median(&bare));
                bench.note(
                    &format!("b.{name}_ms"),
                    ours / 1e3,
                    "handed to the writer until the reader has it",
                );
                bench.note(&format!("b.bare_{name}_ms"), bare / 1e3, "bare commit, same number waiting");
                // Both in turn, and the middle one of the turns: a stall of the disk hits one of them. In CI the
                // lowest: what has become slower is slow in all of them.
                let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                bench.at_most(&format!("b.{name}_of_bare"), bench.size.pick(lowest, median(&ratios)), 1.5);
            }
        }
    }
    bench.at_most("h.lag_seconds_max", lag_micros_max as f64 / 1e6, 2.0);
    Ok(())
}

fn measure_runs(bench: &Bench, runs: usize) -> Result<Measured> {
    let directory = place::directory()?;
    let sqlite = place::open_store(directory.path())?;
    let store = Arc::new(RecordingStore::new(sqlite));
    let slots = u16::try_from(runs)? + 16;
    let mut load = Load::start(store.clone(), directory.path(), slots)?;
    load.open_runs(runs, Ends::Spread)?;
    let half = Duration::from_secs_f64(bench.size.pick(5.0, 60.0) / TURNS as f64);
    load.window(bench.size.pick(Duration::from_millis(500), Duration::from_secs(5)))?;
    let mut bare = Bare::create(directory.path().join("bare.db"))?;
    let mut measured = Measured::default();
    for turn in 0..TURNS {
        store.record();
        let mut window = load.window(half)?;
        let batches = store.recorded();
        measured.ours.push(window.entries as f64 / window.seconds);
        measured.lag_micros_max = measured.lag_micros_max.max(window.lag_micros_max);
        measured.batches += batches.len();
        measured.entries += batches.iter().map(Vec::len).sum::<usize>();
        // What the store still has to project is not bare SQLite's burden.
        std::thread::sleep(bench.size.pick(Duration::from_millis(300), Duration::from_secs(2)));
        measured.bare.push(bare.replay(&batches)?);
        if runs == LATENCY_RUNS {
            let path = directory.path().join(format!("commits-{turn}.db"));
            let duration = bench.size.pick(Duration::from_millis(1_500), half);
            let mut bare = bare::commit_micros(&load.runtime, path, runs, load.texts(), duration)?;
            measured.ours_micros.push([0.5, 0.99].map(|q| quantile(&mut window.micros, q)));
            measured.bare_micros.push([0.5, 0.99].map(|q| quantile(&mut bare, q)));
        }
    }
    load.crash();
    drop(store);
    Ok(measured)
}

//! The k-th write or sync under the directory fails, for every k until a run passes untouched: once, and twenty
//! times in a row.

use std::ffi::OsStr;
use std::fs;

use anyhow::Context;

use super::cases::{Tally, acked, in_parallel, verify, while_working};
use super::child;
use super::disk::{self, Tools};
use super::points::{Counted, Place};
use super::witness::Line;
use super::work::Life;

/// Failures in a row, in the second variant.
const IN_A_ROW: u64 = 20;

/// One failing call.
#[derive(Debug, Clone, Copy)]
struct Case {
    life: Life,
    at: u64,
    count: u64,
}

/// Fails calls until none is left; `most` bounds the cases of each life and variant, spread evenly.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, counted: &Counted, tools: &Tools, most: Option<u64>) -> anyhow::Result<u64> {
    let mut cases = Vec::new();
    let mut calls = 0;
    for life in [Life::First, Life::Second] {
        let end = first_clean(tally, counted, tools, life)?;
        calls += end - 1;
        let step = most.map_or(1, |most| end.div_ceil(most).max(1));
        for (variant, count) in [1, IN_A_ROW].into_iter().enumerate() {
            let first = 1 + variant as u64 * step / 2;
            let step = if variant == 0 { step } else { step.max(3) };
            let at = (first..end).step_by(usize::try_from(step)?);
            cases.extend(at.map(|at| Case { life, at, count }));
        }
    }
    in_parallel((0..4).map(|_| Place::memory()).collect::<anyhow::Result<_>>()?, cases, |place, case| {
        one(tally, counted, tools, place, case).map(drop)
    })?;
    Ok(calls)
}

/// About the first k that a life does not reach: doubled until a run passes untouched, then halved back.
fn first_clean(tally: &Tally, counted: &Counted, tools: &Tools, life: Life) -> anyhow::Result<u64> {
    let place = Place::memory()?;
    let mut reached = 64;
    while one(tally, counted, tools, &place, Case { life, at: reached, count: 1 })? {
        reached *= 2;
    }
    let (mut low, mut high) = (reached / 2, reached);
    while high - low > reached / 16 {
        let middle = u64::midpoint(low, high);
        if one(tally, counted, tools, &place, Case { life, at: middle, count: 1 })? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// Runs one case. Says whether the call was reached.
fn one(tally: &Tally, counted: &Counted, tools: &Tools, place: &Place, case: Case) -> anyhow::Result<bool> {
    let directory = place.path().join("data");
    let mut lines = Vec::new();
    let name = match case.life {
        Life::First => "first",
        Life::Second => {
            disk::copy(counted.crashed.path(), &directory)?;
            lines.clone_from(&counted.lines);
            "second"
        }
    };
    let environment = [
        ("LD_PRELOAD", tools.fail_io.to_str().context("a path that is not text")?.to_owned()),
        ("FAIL_DIR", directory.to_str().context("a path that is not text")?.to_owned()),
        ("FAIL_AT", case.at.to_string()),
        ("FAIL_COUNT", case.count.to_string()),
    ];
    let ended = child::run(&[OsStr::new(name), directory.as_os_str()], &environment)?;
    let call = ended.errors.lines().find(|line| line.starts_with("fail_io: ")).map(str::to_owned);
    let mut broken = while_working(&ended);
    let refused = ended.lines.iter().any(|line| matches!(line, Line::Refused { .. }));
    if !refused && !ended.reached_end() && broken.is_empty() {
        broken.push(format!("the workload did not reach its end: {}", ended.status));
    }
    lines.extend(ended.lines);
    if let Some(call) = &call {
        broken.extend(verify(&directory, &lines, 1)?);
        tally.add(&format!("{:?} {call} x{}", case.life, case.count), acked(&lines), &broken);
    }
    fs::remove_dir_all(&directory).or_else(|error| if directory.exists() { Err(error) } else { Ok(()) })?;
    Ok(call.is_some())
}

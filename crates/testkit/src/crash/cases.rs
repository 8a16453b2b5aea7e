//! One case: a child on a directory, something done to it, and two looks at what is left.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::child::{self, Ended};
use super::witness::{Line, Witness};

/// Figures of one part of the campaign.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: AtomicUsize,
    pub acked: AtomicUsize,
    broken: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts a case and what was broken in it.
    pub fn add(&self, name: &str, acked: usize, broken: &[String]) {
        self.cases.fetch_add(1, Ordering::AcqRel);
        self.acked.fetch_add(acked, Ordering::AcqRel);
        if !broken.is_empty() {
            self.list().push(format!("{name}: {}", broken.join("; ")));
        }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cases in which something was broken, each with what it was.
    pub fn broken(&self) -> Vec<String> {
        self.list().clone()
    }

    /// How many cases there were.
    pub fn count(&self) -> usize {
        self.cases.load(Ordering::Acquire)
    }

    /// How many requests were acknowledged in them.
    pub fn acked(&self) -> usize {
        self.acked.load(Ordering::Acquire)
    }
}

/// Writes what children said to a file that a checker reads.
fn keep(lines: &[Line], path: &Path) -> anyhow::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(fs::write(path, text)?)
}

/// Checks a directory in two processes of their own. Says what is broken.
///
/// # Errors
/// When the checkers cannot be run.
pub fn verify(directory: &Path, lines: &[Line], round: u64) -> anyhow::Result<Vec<String>> {
    let witness = tempfile::NamedTempFile::new()?;
    keep(lines, witness.path())?;
    let round = round.to_string();
    let words = |what: &'static str| -> Vec<PathBuf> {
        vec![what.into(), directory.to_owned(), witness.path().to_owned(), round.clone().into()]
    };
    let run = |what| {
        let words = words(what);
        child::run(&words.iter().map(|word| word.as_os_str()).collect::<Vec<&OsStr>>(), &[])
    };
    let mut broken = Vec::new();
    let first = run("check")?;
    broken.extend(complaints("check", &first));
    let again = run("again")?;
    broken.extend(complaints("check again", &again));
    if first.reached_end() && again.reached_end() && heads(&first) != heads(&again) {
        broken.push(format!("a second start changed logs: {:?} to {:?}", heads(&first), heads(&again)));
    }
    Ok(broken)
}

fn heads(ended: &Ended) -> Vec<&Line> {
    ended.lines.iter().filter(|line| matches!(line, Line::Head { .. })).collect()
}

fn complaints(who: &str, ended: &Ended) -> Vec<String> {
    let mut broken: Vec<String> = ended
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Broken { why } => Some(why.clone()),
            Line::Refused { why } => Some(format!("{who}: {why}")),
            _ => None,
        })
        .collect();
    if ended.wedged {
        broken.push(format!("{who} took too long"));
    }
    if let Some(panic) = ended.misbehaved() {
        broken.push(format!("{who}: {panic}"));
    }
    if broken.is_empty() && !ended.reached_end() {
        let errors: String = ended.errors.chars().take(300).collect();
        broken.push(format!("{who} did not end well: {} {errors}", ended.status));
    }
    broken
}

/// What was broken already while a child worked.
pub fn while_working(ended: &Ended) -> Vec<String> {
    let mut broken = Vec::new();
    if ended.wedged {
        broken.push("the workload took too long".to_owned());
    }
    if let Some(panic) = ended.misbehaved() {
        broken.push(format!("the workload: {panic}"));
    }
    broken
}

/// So many of some items, spread evenly over them.
pub fn spread<T: Copy>(items: &[T], count: usize) -> Vec<T> {
    let count = count.min(items.len());
    (0..count).map(|at| items[at * items.len() / count.max(1)]).collect()
}

/// Requests that lines acknowledge.
pub fn acked(lines: &[Line]) -> usize {
    Witness::of(lines).acked()
}

/// Works on items in parallel, each worker with a place of its own. The first error ends it.
///
/// # Errors
/// The first error of a worker.
pub fn in_parallel<P: Send, T: Send>(
    places: Vec<P>,
    items: Vec<T>,
    work: impl Fn(&P, T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        let workers: Vec<_> = places
            .into_iter()
            .map(|place| {
                scope.spawn(|| -> anyhow::Result<()> {
                    let place = place;
                    while let Some(item) = next() {
                        work(&place, item)?;
                    }
                    Ok(())
                })
            })
            .collect();
        let ended: Vec<_> =
            workers.into_iter().map(|worker| worker.join().ok().context("a worker panicked")).collect();
        ended.into_iter().try_for_each(|ended| ended?)
    })
}

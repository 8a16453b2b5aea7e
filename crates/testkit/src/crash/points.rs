//! Every named point, at its first, second and last hit, in three ways: killed there, cut from power there, failed
//! there. Points on the threads of the store also panic.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::ensure;
use tempfile::TempDir;

use super::cases::{Tally, acked, in_parallel, verify, while_working};
use super::child::{self, Child, Ended, Wait};
use super::disk::{self, Disk, Tools};
use super::witness::{Line, Witness};
use super::work::Life;

/// What is done at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Kill,
    Cut,
    Error,
    Panic,
}

impl Mode {
    /// Returns the mode's name in `EVERTURN_POINT`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Cut => "freeze",
            Self::Error => "error",
            Self::Panic => "panic",
        }
    }
}

/// Points on the threads of the store, by the first word of their names. A panic there ends the process or one piece of
/// background work. No acknowledged write is lost.
const ON_STORE_THREADS: [&str; 12] = [
    "heartbeat",
    "bind",
    "upload",
    "expire",
    "claim",
    "append",
    "pack",
    "trim",
    "snapshot",
    "vacuum",
    "forget",
    "scrub",
];
const MODES: [Mode; 3] = [Mode::Kill, Mode::Cut, Mode::Error];

/// One thing done at one hit of one point.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub life: Life,
    pub point: &'static str,
    pub hit: u64,
    pub mode: Mode,
}

/// An undisturbed run: what each life hits, and what the first one leaves.
#[derive(Debug)]
pub struct Counted {
    pub hits: Vec<(Life, &'static str, u64)>,
    /// The directory as the first life leaves it, after its crash.
    pub crashed: TempDir,
    pub lines: Vec<Line>,
    /// The directory after the second life, checked and closed.
    pub closed: TempDir,
    pub closed_lines: Vec<Line>,
}

/// A place to work: in memory, or on a disk that can be cut.
#[derive(Debug)]
pub struct Place {
    pub scratch: TempDir,
    pub disk: Option<Disk>,
}

impl Place {
    /// A place in memory.
    ///
    /// # Errors
    /// When none can be made.
    pub fn memory() -> anyhow::Result<Self> {
        Ok(Self { scratch: disk::scratch()?, disk: None })
    }

    /// A place on a disk of its own.
    ///
    /// # Errors
    /// When none can be made.
    pub fn disk() -> anyhow::Result<Self> {
        Ok(Self { scratch: disk::scratch()?, disk: Some(Disk::ext4(96 << 20)?) })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.disk.as_ref().map_or(self.scratch.path(), Disk::path)
    }
}

/// The argument that plays a life.
pub fn play(life: Life) -> &'static str {
    match life {
        Life::First => "first",
        Life::Second => "second",
    }
}

/// Plays both lives undisturbed.
///
/// # Errors
/// When something is broken without any fault.
pub fn count() -> anyhow::Result<Counted> {
    let place = disk::scratch()?;
    let directory = place.path().join("data");
    let (mut hits, mut lines) = (Vec::new(), Vec::new());
    let crashed = disk::scratch()?;
    let mut after_crash = Vec::new();
    for life in [Life::First, Life::Second] {
        let ended = child::run(&[OsStr::new(play(life)), directory.as_os_str()], &[])?;
        let broken = Witness::of(&ended.lines).broken;
        ensure!(
            ended.reached_end() && broken.is_empty(),
            "undisturbed: {broken:?} {} {}",
            ended.status,
            ended.errors
        );
        for line in &ended.lines {
            let Line::Count { name, hits: count } = line else { continue };
            if let Some(point) = fault::POINTS.iter().find(|point| *point == name) {
                hits.push((life, *point, *count));
            }
        }
        lines.extend(ended.lines);
        if life == Life::First {
            disk::copy(&directory, crashed.path())?;
            after_crash.clone_from(&lines);
        }
    }
    let broken = verify(&directory, &lines, 0)?;
    ensure!(broken.is_empty(), "undisturbed: {broken:?}");
    let closed = disk::scratch()?;
    disk::copy(&directory, closed.path())?;
    Ok(Counted { hits, crashed, lines: after_crash, closed, closed_lines: lines })
}

impl Counted {
    /// Points that no life hits, but for those of memory, which have a workload of their own.
    pub fn unreached(&self) -> Vec<&'static str> {
        let hit: BTreeSet<&str> = self.hits.iter().map(|(_, point, _)| *point).collect();
        let elsewhere = |point: &&str| hit.contains(point) || point.starts_with("memory.");
        fault::POINTS.iter().copied().filter(|point| !elsewhere(point)).collect()
    }

    /// Every case.
    pub fn all(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (life, point, count) in &self.hits {
            for hit in BTreeSet::from([1, 2, *count]).into_iter().filter(|hit| hit <= count) {
                cases.extend(MODES.map(|mode| Case { life: *life, point, hit, mode }));
                if on_store_thread(point).is_some() {
                    cases.push(Case { life: *life, point, hit, mode: Mode::Panic });
                }
            }
        }
        cases
    }

    /// Returns one kill, one cut and one error per point, at its first, second or last hit in turn, and one panic per kind
    /// of work on the store's threads.
    pub fn some(&self) -> Vec<Case> {
        let mut by_point: BTreeMap<&'static str, Vec<(Life, u64)>> = BTreeMap::new();
        for (life, point, count) in &self.hits {
            by_point.entry(point).or_default().push((*life, *count));
        }
        let (mut cases, mut panicked) = (Vec::new(), BTreeSet::new());
        for (at, (point, lives)) in by_point.into_iter().enumerate() {
            for (turn, mode) in MODES.into_iter().enumerate() {
                let (life, count) = lives[(at + turn) % lives.len()];
                let hit = [1, 2.min(count), count][(at / 2 + turn) % 3];
                cases.push(Case { life, point, hit, mode });
            }
            if let Some(first) = on_store_thread(point)
                && panicked.insert(first)
            {
                let (life, _) = lives[at % lives.len()];
                cases.push(Case { life, point, hit: 1, mode: Mode::Panic });
            }
        }
        cases
    }
}

/// Returns the first word of a point on a thread of the store.
fn on_store_thread(point: &str) -> Option<&str> {
    point.split('.').next().filter(|first| ON_STORE_THREADS.contains(first))
}

/// Runs cases. Answers those whose point was never met.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, counted: &Counted, tools: &Tools, cases: Vec<Case>) -> anyhow::Result<Vec<String>> {
    let missed = Mutex::new(Vec::new());
    let (cuts, others): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.mode == Mode::Cut);
    let work = |place: &Place, case: Case| -> anyhow::Result<()> {
        let (mut tried, mut tries) = (case, 4);
        // How work is batched differs from run to run, and so does the last hit.
        while !one(tally, counted, tools, place, tried)? {
            if tried.hit == 1 && tries > 0 {
                tries -= 1;
                continue;
            }
            if tried.hit == 1 {
                let name = format!("{:?} {:?}", case.mode, case.point);
                missed.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                break;
            }
            tried.hit = (tried.hit * 2 / 3).max(1);
        }
        Ok(())
    };
    let places =
        |make: fn() -> anyhow::Result<Place>| (0..3).map(|_| make()).collect::<anyhow::Result<Vec<_>>>();
    let (memory, disks) = (places(Place::memory)?, places(Place::disk)?);
    std::thread::scope(|scope| {
        let killing = scope.spawn(|| in_parallel(memory, others, work));
        let cutting = in_parallel(disks, cuts, work);
        killing.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        cutting
    })?;
    Ok(missed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns violations after a panic: the process must abort, reach its end, or report why it cannot start. A start that
/// fails may end the process before the panicking thread aborts it.
fn after_panic(ended: &Ended, refused: bool) -> Vec<String> {
    let panics = ended.errors.matches("panicked at").count();
    let aborted = ended.status.signal() == Some(nix::libc::SIGABRT);
    match () {
        () if ended.wedged => vec!["the workload took too long".to_owned()],
        () if panics > 1 => vec![format!("the workload panicked {panics} times")],
        () if !aborted && !refused && !ended.reached_end() => {
            vec![format!("the workload ended with {}", ended.status)]
        }
        () => Vec::new(),
    }
}

/// Runs one case. Says whether its point was met.
fn one(tally: &Tally, counted: &Counted, tools: &Tools, place: &Place, case: Case) -> anyhow::Result<bool> {
    let directory = place.path().join("data");
    let mut lines = Vec::new();
    if case.life == Life::Second {
        disk::copy(counted.crashed.path(), &directory)?;
        lines.clone_from(&counted.lines);
    }
    if case.mode == Mode::Cut {
        // What was there before the life in question is on the disk.
        std::process::Command::new("sync").arg("-f").arg(place.path()).status()?;
    }
    let armed = [("EVERTURN_POINT", format!("{}@{}:{}", case.point, case.hit, case.mode.word()))];
    let mut child = Child::start(&[OsStr::new(play(case.life)), directory.as_os_str()], &armed)?;
    let frozen = child.wait(if case.mode == Mode::Cut { Wait::ForFreeze } else { Wait::ForEnd })?;
    if let Some(disk) = place.disk.as_ref().filter(|_| frozen) {
        disk.cut(tools)?;
    }
    let ended = child.end()?;
    if let Some(disk) = place.disk.as_ref().filter(|_| frozen) {
        disk.power_on()?;
    }
    let refused = ended.lines.iter().any(|line| matches!(line, Line::Refused { .. }));
    let passed =
        |line: &Line| matches!(line, Line::Count { name, hits } if name == case.point && *hits >= case.hit);
    let fired = match case.mode {
        Mode::Kill => ended.was_killed() && !ended.reached_end(),
        Mode::Cut => frozen,
        Mode::Error => refused || ended.lines.iter().any(passed),
        Mode::Panic => ended.errors.contains("injected panic"),
    };
    let mut broken =
        if case.mode == Mode::Panic { after_panic(&ended, refused) } else { while_working(&ended) };
    if case.mode == Mode::Error && !refused && !ended.reached_end() && broken.is_empty() {
        broken.push(format!("the workload did not reach its end: {}", ended.status));
    }
    lines.extend(ended.lines);
    if fired {
        broken.extend(verify(&directory, &lines, 1)?);
        let name = format!("{:?} {:?} {}@{}", case.mode, case.life, case.point, case.hit);
        tally.add(&name, acked(&lines), &broken);
    }
    fs::remove_dir_all(&directory).or_else(|error| if directory.exists() { Err(error) } else { Ok(()) })?;
    Ok(fired)
}

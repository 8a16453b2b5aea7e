//! Kills the process and cuts the power at every named point and at random instants, fails every write, fills the
//! disk, tears and damages files; reopens and verifies. One line a figure, the verdict last.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use session::SessionId;
use testkit::Report;
use testkit::crash::cases::Tally;
use testkit::crash::disk::Tools;
use testkit::crash::points::{self, Counted, Place};
use testkit::crash::witness::{Line, Witness, read};
use testkit::crash::work::{self, Life, in_child};
use testkit::crash::{check, child, damage, eio, full, memory, random, torn};

/// How much of each part is done.
struct Size {
    all_points: bool,
    kills: u64,
    memory_hits: usize,
    memory_kills: u64,
    cuts: u64,
    torn: usize,
    failing: Option<u64>,
    failing_min: usize,
    full: u64,
    damaged: usize,
}

const BRIEF: Size = Size {
    all_points: false,
    kills: 12,
    memory_hits: 1,
    memory_kills: 6,
    cuts: 12,
    torn: 40,
    failing: Some(3),
    failing_min: 12,
    full: 2,
    damaged: 80,
};
const SMALL: Size = Size {
    all_points: false,
    kills: 40,
    memory_hits: 4,
    memory_kills: 20,
    cuts: 40,
    torn: 300,
    failing: Some(12),
    failing_min: 20,
    full: 4,
    damaged: 220,
};
const FULL: Size = Size {
    all_points: true,
    kills: 500,
    memory_hits: usize::MAX,
    memory_kills: 200,
    cuts: 200,
    torn: 2_000,
    failing: None,
    failing_min: 20,
    full: 20,
    damaged: 1_000,
};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["first", directory] => in_child(work::play(Path::new(directory), Life::First)),
        ["second", directory] => in_child(work::play(Path::new(directory), Life::Second)),
        ["stream", directory, round, seed] => {
            in_child(random::stream(Path::new(directory), round.parse()?, seed.parse()?))
        }
        ["full", directory, filler, rounds] => {
            in_child(full::play(Path::new(directory), Path::new(filler), rounds.parse()?))
        }
        ["remember", directory, record] => {
            in_child(memory::remember(Path::new(directory), Path::new(record)))
        }
        ["settle", directory, record] => in_child(memory::settle(Path::new(directory), Path::new(record))),
        ["check", directory, witness, round] => {
            let witness = Witness::of(&read(&fs::read_to_string(witness)?));
            in_child(check::check(Path::new(directory), &witness, round.parse()?))
        }
        ["again", directory, witness, _] => {
            let witness = Witness::of(&read(&fs::read_to_string(witness)?));
            in_child(check::again(Path::new(directory), &witness))
        }
        _ => campaign(&words),
    }
}

fn campaign(words: &[&str]) -> anyhow::Result<()> {
    let mut size = SMALL;
    let mut only = Vec::new();
    for word in words {
        match *word {
            "--full" => size = FULL,
            "--brief" => size = BRIEF,
            part if PARTS.contains(&part) => only.push(part),
            other => bail!("crash [--brief|--full] [{}], not {other}", PARTS.join("|")),
        }
    }
    let begun = child::now();
    let mut report = Report::default();
    let tools = Tools::build()?;
    for part in PARTS.into_iter().filter(|part| only.is_empty() || only.contains(part)) {
        let begun = child::now();
        if let Err(error) = play(&mut report, part, &size, &tools) {
            report.note(&format!("{part}: {error:#}"));
            report.line(&format!("{part}.done"), 0, 1, false);
        }
        report.note(&format!("{part}: {:.0} s", begun.elapsed().as_secs_f64()));
    }
    report.note(&format!("{:.0} s", begun.elapsed().as_secs_f64()));
    if report.verdict("crash") { Ok(()) } else { std::process::exit(1) }
}

fn play(report: &mut Report, part: &str, size: &Size, tools: &Tools) -> anyhow::Result<()> {
    let tally = Tally::default();
    match part {
        "points" => at_points(report, size, &points::count()?, tools)?,
        "random" => at_random(report, size, tools)?,
        "torn" => {
            torn::run(&tally, &torn::base(7)?, size.torn, 1)?;
            figures(report, "torn", &tally, size.torn, 0);
        }
        "eio" => {
            let calls = eio::run(&tally, &points::count()?, tools, size.failing)?;
            report.note(&format!("eio: {calls} writes and syncs in both lives"));
            figures(report, "eio", &tally, size.failing_min, 5);
        }
        "memory" => {
            let turns = memory::run(&tally, size.memory_hits, size.memory_kills)?;
            figures(report, "memory", &tally, 8 + usize::try_from(size.memory_kills)?, 0);
            let least = size.memory_kills * 5;
            report.line("memory.turns_recorded_once", turns, least, turns >= least);
        }
        "full" => {
            full::run(&tally, size.full)?;
            full::run_limited(&tally, &points::count()?)?;
            figures(report, "full", &tally, usize::try_from(size.full)? + 3, 1);
        }
        _ => damaged(report, size, &points::count()?)?,
    }
    Ok(())
}

const PARTS: [&str; 7] = ["points", "random", "memory", "torn", "eio", "full", "damage"];

/// Cases, what was broken in them, and what was acknowledged: a case in which nothing was shows nothing.
fn figures(report: &mut Report, name: &str, tally: &Tally, least: usize, acked: usize) {
    report.line(&format!("{name}.cases"), tally.count(), least, tally.count() >= least);
    let broken = tally.broken();
    for what in broken.iter().take(12) {
        report.note(&format!("{name}: {}", what.chars().take(900).collect::<String>()));
    }
    report.line(&format!("{name}.broken"), broken.len(), 0, broken.is_empty());
    if acked > 0 {
        report.line(&format!("{name}.acked"), tally.acked(), least * acked, tally.acked() >= least * acked);
    }
}

fn at_points(report: &mut Report, size: &Size, counted: &Counted, tools: &Tools) -> anyhow::Result<()> {
    let unreached = counted.unreached();
    report.line("points.listed", fault::POINTS.len(), 1, !fault::POINTS.is_empty());
    for point in &unreached {
        report.note(&format!("points: {point} is never hit"));
    }
    report.line("points.unreached", unreached.len(), 0, unreached.is_empty());
    let cases = if size.all_points { counted.all() } else { counted.some() };
    let (tally, count) = (Tally::default(), cases.len());
    let missed = points::run(&tally, counted, tools, cases)?;
    for what in missed.iter().take(20) {
        report.note(&format!("points: {what} was not met"));
    }
    report.line("points.missed", missed.len(), 0, missed.is_empty());
    figures(report, "points", &tally, count - missed.len(), 5);
    Ok(())
}

fn at_random(report: &mut Report, size: &Size, tools: &Tools) -> anyhow::Result<()> {
    let places =
        |make: fn() -> anyhow::Result<Place>| (0..3).map(|_| make()).collect::<anyhow::Result<Vec<_>>>();
    let (kills, cuts) = (Tally::default(), Tally::default());
    let (memory, disks) = (places(Place::memory)?, places(Place::disk)?);
    std::thread::scope(|scope| {
        let killing = scope.spawn(|| random::run(&kills, memory, tools, size.kills, 3));
        let cutting = random::run(&cuts, disks, tools, size.cuts, 4);
        killing.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        cutting
    })?;
    figures(report, "kills", &kills, usize::try_from(size.kills)?, 5);
    figures(report, "cuts", &cuts, usize::try_from(size.cuts)?, 5);
    Ok(())
}

fn damaged(report: &mut Report, size: &Size, counted: &Counted) -> anyhow::Result<()> {
    let stores: [(&Path, &[Line]); 2] =
        [(counted.closed.path(), &counted.closed_lines), (counted.crashed.path(), &counted.lines)];
    let tally = Tally::default();
    let (mut silent, mut wrong, mut panics) = (0, 0, 0);
    for (at, (directory, lines)) in stores.into_iter().enumerate() {
        let witness = Witness::of(lines);
        let sessions: Vec<SessionId> = witness.sessions().into_iter().collect();
        let found =
            damage::run(&tally, directory, &sessions, size.damaged / 2, 5 + at as u64).context("damage")?;
        let kinds = [("silent", &found.silent), ("wrong", &found.wrong), ("panic", &found.panics)];
        for (kind, list) in kinds {
            list.iter().take(8).for_each(|what| report.note(&format!("damage: {kind}: {what}")));
        }
        silent += found.silent.len();
        wrong += found.wrong.len();
        panics += found.panics.len();
        let (refused, told, equal) = (found.refused, found.told, found.equal);
        report.note(&format!("damage: {refused} refused, {told} told, {equal} as before"));
    }
    report.line("damage.cases", tally.count(), size.damaged, tally.count() >= size.damaged * 9 / 10);
    report.line("damage.silent", silent, 0, silent == 0);
    report.line("damage.wrong", wrong, 0, wrong == 0);
    report.line("damage.panics", panics, 0, panics == 0);
    Ok(())
}

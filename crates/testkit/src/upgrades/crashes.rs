//! A golden store that is opened for the first time, and killed, cut from power or failed at every point of that; and
//! the write-ahead log of its migrations, torn at any byte. What was told before is there, and today's version goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, ensure};
use session::{Hash, MessageKey, PostMode, Seq, SessionId, TurnId, UserId};
use store::{Catalog, ListQuery, Shelf};
use tempfile::TempDir;

use super::golden::Golden;
use crate::Report;
use crate::crash::agent::WordAgent;
use crate::crash::cases::{Tally, in_parallel, spread, verify, while_working};
use crate::crash::child::{self, Child, Wait};
use crate::crash::disk::{self, Tools};
use crate::crash::images::{self, End, Given};
use crate::crash::points::{Mode, Place};
use crate::crash::stage::Stage;
use crate::crash::torn;
use crate::crash::witness::{Asked, Line};

const MODES: [Mode; 3] = [Mode::Kill, Mode::Cut, Mode::Error];
const WAL: &str = "everturn.db-wal";

/// Opens store and hub as a server does, lets everything come to rest, and closes both. For a child.
///
/// # Errors
/// When either refuses.
pub async fn start(directory: &Path) -> anyhow::Result<()> {
    let stage = Stage::with(directory, 0, 0, WordAgent { hurries: true }).await?;
    let query = ListQuery::of(UserId::FIRST, Shelf::Active);
    for row in stage.store.list(query).await? {
        stage.quiet(row.session).await;
    }
    stage.settle().await;
    stage.close().await;
    Ok(())
}

/// A golden store, unpacked, and what an undisturbed opening of it does.
struct Base {
    name: String,
    directory: TempDir,
    sessions: Vec<SessionId>,
    logs: BTreeMap<SessionId, Vec<Hash>>,
    /// What must be there, as a witness would have told it.
    lines: Vec<Line>,
    hits: BTreeMap<&'static str, u64>,
}

/// One thing done at one hit of one point.
#[derive(Clone, Copy)]
struct Case<'a> {
    base: &'a Base,
    point: &'static str,
    hit: u64,
    mode: Mode,
}

/// Every golden store.
///
/// # Errors
/// When the campaign itself cannot go on.
pub(super) fn all(report: &mut Report, goldens: &[Golden], full: bool) -> anyhow::Result<()> {
    let bases = goldens.iter().map(Base::new).collect::<anyhow::Result<Vec<_>>>()?;
    let tools = Tools::build()?;
    let cases = if full { every(&bases) } else { some(&bases) };
    let count = cases.len();
    let in_migrations = cases.iter().filter(|case| case.point.starts_with("migrate.")).count();
    let least: usize = bases.iter().map(|base| base.migrations() * 2 * MODES.len()).sum();
    report.line("crashes.in_migrations", in_migrations, least, in_migrations >= least && least > 0);
    let (tally, missed) = (Tally::default(), Mutex::new(Vec::new()));
    let (cuts, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.mode == Mode::Cut);
    let work = |place: &Place, case: Case<'_>| -> anyhow::Result<()> {
        if !one(&tally, &tools, place, case)? {
            missed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(case.name());
        }
        Ok(())
    };
    in_parallel(vec![Place::memory()?, Place::memory()?], others, work)?;
    in_parallel(vec![Place::disk()?, Place::disk()?], cuts, work)?;
    let missed = missed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    missed.iter().take(12).for_each(|what| report.note(&format!("crashes: {what} was not met")));
    // How work is batched differs from run to run; a migration does not.
    let must = missed.iter().filter(|name| name.contains("migrate.")).count();
    report.line("crashes.missed_in_migrations", must, 0, must == 0);
    report.line("crashes.cases", tally.count(), count * 9 / 10, tally.count() >= count * 9 / 10);
    super::broken(report, "crashes", &tally.broken());
    let tally = Tally::default();
    for base in bases.iter().filter(|base| base.migrations() > 0) {
        base.tear(&tally, if full { 2_000 } else { 60 })?;
    }
    report.line("torn.cases", tally.count(), bases.len(), tally.count() >= bases.len());
    super::broken(report, "torn", &tally.broken());
    Ok(())
}

/// Other points than those of migrations that a short campaign kills at.
const OTHER_POINTS: usize = 16;

/// Every migration in every mode; some of the other points killed once, at one golden store after another.
fn some(bases: &[Base]) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> =
        every(bases).into_iter().filter(|case| case.point.starts_with("migrate.")).collect();
    let points: BTreeSet<&'static str> = bases.iter().flat_map(|base| base.hits.keys().copied()).collect();
    let others: Vec<&'static str> =
        points.into_iter().filter(|point| !point.starts_with("migrate.")).collect();
    for (at, point) in spread(&others, OTHER_POINTS).into_iter().enumerate() {
        let among: Vec<&Base> = bases.iter().filter(|base| base.hits.contains_key(point)).collect();
        cases.push(Case { base: among[at % among.len()], point, hit: 1, mode: Mode::Kill });
    }
    cases
}

/// Every hit of a migration's points, and the first, second and last of every other, in every mode.
fn every(bases: &[Base]) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for base in bases {
        for (point, count) in &base.hits {
            let hits: BTreeSet<u64> =
                if point.starts_with("migrate.") { (1..=*count).collect() } else { [1, 2, *count].into() };
            for hit in hits.into_iter().filter(|hit| hit <= count) {
                cases.extend(MODES.map(|mode| Case { base, point, hit, mode }));
            }
        }
    }
    cases
}

impl Base {
    fn new(golden: &Golden) -> anyhow::Result<Self> {
        let directory = disk::scratch()?;
        golden.unpack(directory.path())?;
        let sessions = golden.sessions();
        let copy = disk::scratch()?;
        disk::copy(directory.path(), copy.path())?;
        let logs = logs(copy.path(), &sessions)?.map_err(|why| anyhow::anyhow!("{}: {why}", golden.name))?;
        for told in &golden.told.sessions {
            let count = logs.get(&SessionId(told.session)).map_or(0, Vec::len) as u64;
            let enough = count == told.entries || told.cut_off.is_some() && count >= told.entries;
            ensure!(enough, "{}: {} has {count} entries, not {}", golden.name, told.session, told.entries);
        }
        let copy = disk::scratch()?;
        disk::copy(directory.path(), copy.path())?;
        let ended = child::run(&[OsStr::new("start"), copy.path().as_os_str()], &[])?;
        ensure!(ended.reached_end(), "{}: undisturbed: {:?} {}", golden.name, ended.lines, ended.errors);
        let mut hits = BTreeMap::new();
        for line in &ended.lines {
            let Line::Count { name, hits: count } = line else { continue };
            hits.extend(fault::POINTS.iter().find(|point| *point == name).map(|point| (*point, *count)));
        }
        let lines = lines(golden, &logs);
        Ok(Self { name: golden.name.clone(), directory, sessions, logs, lines, hits })
    }

    /// Migrations that an opening goes through.
    fn migrations(&self) -> usize {
        self.hits.get("migrate.before_commit").map_or(0, |hits| usize::try_from(*hits).unwrap_or(0))
    }

    /// Tears the write-ahead log behind what stood in it before the migrations.
    fn tear(&self, tally: &Tally, count: usize) -> anyhow::Result<()> {
        let place = disk::scratch()?;
        disk::copy(self.directory.path(), place.path())?;
        let point = format!("migrate.after_commit@{}:kill", self.migrations());
        let words = [OsStr::new("start"), place.path().as_os_str()];
        ensure!(child::run(&words, &[("EVERTURN_POINT", point)])?.was_killed(), "it was not killed");
        let wal = fs::read(place.path().join(WAL))?;
        let commits = torn::commits(&wal).context("a log of SQLite")?;
        let before = fs::read(self.directory.path().join(WAL)).unwrap_or_default();
        // The same salts: the migrations stand behind what was there. Others: SQLite began the log anew.
        let goes_on = before.get(16..24).is_some_and(|salts| wal.get(16..24) == Some(salts));
        let kept = torn::commits(&before).filter(|_| goes_on).and_then(|ends| ends.last().copied());
        let floor = kept.unwrap_or(commits[0]);
        ensure!(wal.len() > floor, "{}: the migrations left no log", self.name);
        let near = [0_usize, 1, 8, 23, 24, 25, 4_095];
        let mut cuts: BTreeSet<usize> = commits
            .iter()
            .flat_map(|end| near.iter().flat_map(move |by| [end + by, end.saturating_sub(*by)]))
            .collect();
        cuts.extend((floor..wal.len()).step_by((wal.len() - floor) / count + 1));
        let cuts: Vec<usize> = cuts.into_iter().filter(|cut| (floor..=wal.len()).contains(cut)).collect();
        in_parallel(vec![disk::scratch()?, disk::scratch()?], spread(&cuts, count), |scratch, cut| {
            let directory = scratch.path().join("image");
            disk::copy(place.path(), &directory)?;
            fs::remove_file(directory.join("everturn.db-shm"))?;
            fs::write(directory.join(WAL), &wal[..cut])?;
            let broken = match logs(&directory, &self.sessions)? {
                Err(why) => vec![why],
                Ok(logs) if logs != self.logs => vec!["its logs are not what they were".to_owned()],
                Ok(_) => Vec::new(),
            };
            tally.add(&format!("{} torn at {cut}", self.name), 0, &broken);
            Ok(fs::remove_dir_all(&directory)?)
        })
    }
}

/// The chain of every log, or what is amiss.
fn logs(
    directory: &Path,
    sessions: &[SessionId],
) -> anyhow::Result<Result<BTreeMap<SessionId, Vec<Hash>>, String>> {
    let logs = match images::read(directory, sessions)? {
        Given::Refused(why) => return Ok(Err(format!("not opened: {why}"))),
        Given::Panicked => return Ok(Err("panicked".to_owned())),
        Given::Logs(logs) => logs,
    };
    let amiss = logs.iter().find(|(_, log)| log.end != End::Whole || log.wrong_state);
    if let Some((session, log)) = amiss {
        return Ok(Err(format!("{session}: {:?}, its stored state is wrong: {}", log.end, log.wrong_state)));
    }
    Ok(Ok(logs.into_iter().map(|(session, log)| (session, log.hashes)).collect()))
}

/// Every entry as one that was shown, every key as one that was acknowledged, and what was erased.
fn lines(golden: &Golden, logs: &BTreeMap<SessionId, Vec<Hash>>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (session, log) in logs {
        let seen =
            (1..).zip(log).map(|(seq, hash)| Line::Seen { session: *session, seq: Seq(seq), hash: *hash });
        lines.extend(seen);
        lines.push(Line::Inherited { session: *session, seq: Seq(log.len() as u64) });
    }
    let mut op = 0;
    let mut acknowledged = |what: Asked, session: SessionId, turn: Option<TurnId>| {
        op += 1;
        lines.push(Line::Ask { op, what });
        lines.push(Line::Ack { op, seq: Seq(1), turn, session });
    };
    for erased in &golden.told.erased {
        let session = SessionId(*erased);
        acknowledged(Asked::Create { session }, session, None);
        acknowledged(Asked::Erase { session }, session, None);
    }
    for key in &golden.told.keys {
        let session = SessionId(key.session);
        let post = Asked::Post {
            session,
            text: key.text.clone(),
            mode: PostMode::Queue,
            key: Some(MessageKey(key.key.clone())),
            blob: None,
        };
        acknowledged(post, session, Some(TurnId(key.turn)));
    }
    lines
}

impl Case<'_> {
    fn name(&self) -> String {
        format!("{} {:?} {}@{}", self.base.name, self.mode, self.point, self.hit)
    }
}

/// Runs one case. Says whether its point was met.
fn one(tally: &Tally, tools: &Tools, place: &Place, case: Case<'_>) -> anyhow::Result<bool> {
    let directory = place.path().join("data");
    disk::copy(case.base.directory.path(), &directory)?;
    let mode = case.mode.word();
    if case.mode == Mode::Cut {
        // What the older version left is on the disk.
        std::process::Command::new("sync").arg("-f").arg(place.path()).status()?;
    }
    let armed = [("EVERTURN_POINT", format!("{}@{}:{mode}", case.point, case.hit))];
    let mut child = Child::start(&[OsStr::new("start"), directory.as_os_str()], &armed)?;
    let frozen = child.wait(if case.mode == Mode::Cut { Wait::ForFreeze } else { Wait::ForEnd })?;
    let disk = place.disk.as_ref().filter(|_| frozen);
    disk.map_or(Ok(()), |disk| disk.cut(tools))?;
    let ended = child.end()?;
    disk.map_or(Ok(()), disk::Disk::power_on)?;
    let met = match case.mode {
        Mode::Kill => ended.was_killed(),
        Mode::Panic => ended.errors.contains("injected panic"),
        Mode::Cut => frozen,
        Mode::Error => ended.lines.iter().any(|line| match line {
            Line::Refused { .. } => true,
            Line::Count { name, hits } => name == case.point && *hits >= case.hit,
            _ => false,
        }),
    };
    if met {
        let mut broken = while_working(&ended);
        broken.extend(verify(&directory, &case.base.lines, 1)?);
        tally.add(&case.name(), 0, &broken);
    }
    fs::remove_dir_all(&directory)?;
    Ok(met)
}

//! What happens, for how long, and what is counted: a crowd on one session, crashes under load, and writers that
//! retire all the time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use session::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::ending::{self, read_log};
use super::judge::{Sums, judge};
use super::operator::{Pace, operate};
use super::place::{Life, PATIENCE, Place, runtime};
use super::seen::Source;
use super::stage::Stage;
use super::watch;
use crate::Report;
use crate::dice::Dice;

/// How long and how.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Seconds of the crowd; the other scenarios take a part of that each.
    pub seconds: u64,
    pub seed: u64,
}

/// How long a life lasts between two crashes.
const LIFE: Duration = Duration::from_secs(2);
/// Spool slots that a server of one session needs at most: those made at the start, doubled once.
const SLOTS_MAX: u64 = 32;

/// Kinds of operation that are raced; each must have been acknowledged at least once.
const KINDS: usize = 19;

/// Who takes part.
#[derive(Debug, Clone, Copy)]
struct Cast {
    operators: u64,
    readers: u64,
    followers: u64,
    pace: Pace,
}

const CROWD: Cast = Cast { operators: 16, readers: 2, followers: 4, pace: Pace::Waves };
/// Few enough that everything comes to rest now and then; a follower would keep the writer from retiring.
const FEW: Cast = Cast { operators: 4, readers: 1, followers: 0, pace: Pace::Sparse };

/// Races, judges and reports; says whether every figure reached its goal.
///
/// # Errors
/// When the races themselves could not be held.
pub fn run(options: Options) -> anyhow::Result<bool> {
    let mut sums = Sums::default();
    crowd(options, &mut sums).context("the crowd")?;
    let (operations, seconds) = (sums.operations, options.seconds);
    crashes(options, &mut sums).context("the crashes")?;
    retiring(options, &mut sums).context("the retiring writers")?;
    Ok(report(&sums, options, operations / seconds.max(1)))
}

fn crowd(options: Options, sums: &mut Sums) -> anyhow::Result<()> {
    let place = Place::new(Duration::from_secs(600))?;
    let life = place.start()?;
    let stage = life.block_on(Stage::make(&life.hub, place.counter.clone()))?;
    life.block_on(race(&life, &stage, CROWD, options.seed, Duration::from_secs(options.seconds)))?;
    finish(&place, life, &stage, sums)
}

fn crashes(options: Options, sums: &mut Sums) -> anyhow::Result<()> {
    let place = Place::new(Duration::from_secs(600))?;
    let mut life = place.start()?;
    let stage = life.block_on(Stage::make(&life.hub, place.counter.clone()))?;
    for round in 1..=(options.seconds / 2 / LIFE.as_secs()).max(1) {
        life.block_on(async {
            enter(&life, &stage, CROWD, options.seed + 100 * round).detach_all();
            tokio::time::sleep(LIFE).await;
        });
        stage.set_crashing(true);
        life.crash()?;
        stage.set_crashing(false);
        sums.crashes += 1;
        look_cold(&place, &stage)?;
        life = place.start()?;
    }
    finish(&place, life, &stage, sums)
}

fn retiring(options: Options, sums: &mut Sums) -> anyhow::Result<()> {
    let place = Place::new(Duration::from_millis(1))?;
    place.counter.be_brief(true);
    let life = place.start()?;
    let stage = life.block_on(Stage::make(&life.hub, place.counter.clone()))?;
    let duration = Duration::from_secs((options.seconds / 4).max(1));
    life.block_on(race(&life, &stage, FEW, options.seed + 50, duration))?;
    finish(&place, life, &stage, sums)
}

/// Lets everyone in.
fn enter(life: &Life, stage: &Arc<Stage>, cast: Cast, seed: u64) -> JoinSet<()> {
    stage.set_over(false);
    let mut set = JoinSet::new();
    let (hub, dice) = (&life.hub, |no: u64| Dice::new(seed * 1_000 + no));
    for no in 0..cast.operators {
        set.spawn(operate(hub.clone(), stage.clone(), dice(no), cast.pace));
    }
    for no in 0..cast.readers {
        set.spawn(watch::read(hub.clone(), stage.clone(), dice(100 + no)));
    }
    for no in 0..cast.followers {
        set.spawn(watch::follow(hub.clone(), stage.clone(), dice(200 + no)));
    }
    set.spawn(watch::read_cold(life.store.clone(), stage.clone()));
    set
}

/// Lets everyone in, and waits until the last one has left.
async fn race(
    life: &Life,
    stage: &Arc<Stage>,
    cast: Cast,
    seed: u64,
    duration: Duration,
) -> anyhow::Result<()> {
    let mut set = enter(life, stage, cast, seed);
    tokio::time::sleep(duration).await;
    stage.set_over(true);
    let left = async {
        while let Some(ended) = set.join_next().await {
            if let Err(error) = ended {
                stage.fault(format!("someone did not get to the end: {error}"));
            }
        }
    };
    timeout(PATIENCE * 2, left).await.context("someone never leaves")
}

/// A true cold start: the first look at a freshly opened store.
fn look_cold(place: &Place, stage: &Stage) -> anyhow::Result<()> {
    let store = place.open()?;
    runtime()?.block_on(async {
        watch::observe_cold(&store, stage, Source::ColdStart).await?;
        watch::observe_cold(&store, stage, Source::ColdSnapshot).await
    })
}

/// Brings the session to rest, asks the catalog, starts cold once more, and judges.
fn finish(place: &Place, life: Life, stage: &Arc<Stage>, sums: &mut Sums) -> anyhow::Result<()> {
    place.counter.be_brief(true);
    let first = stage.ids().first;
    let anchor = stage.anchor();
    if let Err(error) = life.block_on(rest(&life, stage)) {
        stage.fault(format!("come to rest: {error:#}"));
    }
    let log = life.block_on(read_log(life.store.as_ref(), anchor))?;
    let found = life.block_on(ending::ask(&life.hub, life.store.as_ref(), first, anchor, &log));
    life.crash()?;
    look_cold(place, stage)?;
    let store = place.open()?;
    let again = runtime()?.block_on(read_log(&store, anchor))?;
    drop(store);
    if again != log {
        sums.complain(|sums| &mut sums.wrong, || "the log is another one after a cold start".to_owned());
    }
    let (mut model, mut strings) = judge(&log, stage, sums)?;
    match found {
        Ok(found) => ending::compare(&found, first, &log, (&mut model, &mut strings), sums)?,
        Err(error) => stage.fault(format!("ask the catalog: {error:#}")),
    }
    sums.stale += stage.stale.load(Ordering::Acquire);
    sums.gone_worked += stage.gone_worked.load(Ordering::Acquire);
    sums.cut_off += stage.cut_off.load(Ordering::Acquire);
    sums.slots = sums.slots.max(place.slots()? as u64);
    for fault in stage.faults() {
        sums.complain(|sums| &mut sums.errors, || fault);
    }
    Ok(())
}

/// Stops what is going on, and lets brief runs take the queue.
async fn rest(life: &Life, stage: &Stage) -> anyhow::Result<()> {
    let handle = life.hub.open(stage.anchor());
    handle.submit(Command::Stop { run: None, device: None }).await?;
    let quiet = async {
        loop {
            let view = handle.view().await?;
            if view.run.is_none() && view.queue.iter().all(|queued| queued.paused) {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if let Ok(rested) = timeout(PATIENCE * 3, quiet).await {
        return rested;
    }
    let view = handle.view().await?;
    bail!("run {:?} never ends, or the queue stays: {:?}", view.run, view.queue)
}

fn report(sums: &Sums, options: Options, operations_per_second: u64) -> bool {
    let mut report = Report::default();
    for complaint in &sums.complaints {
        report.note(complaint);
    }
    let seconds = options.seconds;
    report.note(&format!(
        "seed {}, {} s of crowd, {operations_per_second} operations/s",
        options.seed, seconds
    ));
    report.note(&format!("{} entries, {} words, {} writers", sums.entries, sums.words, sums.writers));
    report.note(&format!("{} acknowledged, {} followers cut off", sums.acknowledged, sums.cut_off));
    let kinds = sums.kinds.iter().map(|(kind, (asked, kept))| format!("{kind} {kept}/{asked}"));
    report.note(&format!("acknowledged of asked: {}", kinds.collect::<Vec<_>>().join(", ")));
    let kinds = sums.kinds.values().filter(|(_, kept)| *kept > 0).count();
    report.line("kinds_of_operation", kinds, format!(">={KINDS}"), kinds >= KINDS);
    // Enough of each that a race would have shown, on a machine that is busy with other things.
    for (name, value, goal) in [
        ("operations", sums.operations, seconds * 30),
        ("observed_states", sums.observed, seconds * 20),
        ("cold_reads", sums.cold_reads, seconds * 2),
        ("followed_entries", sums.followed, seconds * 100),
        ("crashes", sums.crashes, 1),
    ] {
        report.line(name, value, format!(">={goal}"), value >= goal);
    }
    for (name, value) in [
        ("states_wrong", sums.wrong),
        ("states_stale", sums.stale),
        ("operations_lost", sums.lost),
        ("operations_doubled", sums.doubled),
        ("words_wrong", sums.words_wrong),
        ("follower_gaps", sums.gaps),
        ("removed_ids_that_worked", sums.gone_worked),
        ("errors", sums.errors),
        ("list_differences", sums.list),
        ("page_differences", sums.pages),
        ("search_differences", sums.search),
    ] {
        report.line(name, value, 0, value == 0);
    }
    report.line("spool_slots", sums.slots, format!("<={SLOTS_MAX}"), sums.slots <= SLOTS_MAX);
    report.verdict("races")
}

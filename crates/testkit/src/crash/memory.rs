//! Kills between a completed turn and its commit, during the commit, and after the provider accepted it. The provider's
//! own record is kept outside, as files that survive the process: each completed turn must be in it once.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::memory::{Handover, Memory, MemoryError, Taken, TaskState};
use anyhow::Context;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hub::{Create, Hub, Remembers, Settings, SystemClock};
use session::{Command, Entry, Event, InterruptReason, Owner, RunEnd, Seq, SessionId, UserId};
use store::sqlite::SqliteStore;
use tokio::time::{Instant, sleep};

use super::agent::WordAgent;
use super::cases::{Tally, in_parallel, spread, while_working};
use super::child::{self, Child, Wait};
use super::disk;
use super::stage::{Post, session_no};
use super::witness::{Line, say};
use crate::dice::Dice;

/// Points at which the process is killed: around a turn's end, and all that a commit passes.
const POINTS: [&str; 8] = [
    "end.before_append",
    "end.after_append",
    "memory.before_commit",
    "memory.before_handover",
    "memory.after_handover",
    "memory.after_accepted",
    "accept.before_append",
    "accept.after_append",
];
/// How long everything that is owed may take to be taken.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// A provider whose record is a directory: one file a key, made once.
#[derive(Debug, Clone)]
struct Recorder(PathBuf);

impl Recorder {
    fn file(&self, kind: &str, key: &str) -> PathBuf {
        self.0.join(format!("{kind}-{}", key.replace('/', "_")))
    }

    /// Takes a handover; a key that was taken before stays as it was.
    fn take(&self, handover: &Handover) -> std::io::Result<()> {
        let mut lines = String::new();
        for turn in &handover.turns {
            lines.push_str(&format!("{} {} {}\n", handover.session, turn.generation, turn.turn));
        }
        // Whole under its name or not at all, whenever this process is killed.
        let draft = self.file("draft", &handover.key);
        fs::write(&draft, lines)?;
        let taken = fs::hard_link(&draft, self.file("taken", &handover.key));
        fs::remove_file(&draft)?;
        match taken {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Every turn in the record: how often, and which.
    fn record(&self) -> anyhow::Result<BTreeMap<(String, u64), Vec<u64>>> {
        let mut record: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if !name.starts_with("taken-") {
                continue;
            }
            for line in fs::read_to_string(&path)?.lines() {
                let mut words = line.split(' ');
                let session = words.next().context("a session")?.to_owned();
                let mut number = || words.next().context("a number")?.parse::<u64>().context("a number");
                let (generation, turn) = (number()?, number()?);
                record.entry((session, generation)).or_default().push(turn);
            }
        }
        Ok(record)
    }
}

impl Memory for Recorder {
    fn owner(&self, _: SessionId) -> Option<Owner> {
        Some(Owner("recorder/anna/1".to_owned()))
    }

    fn commit(&self, handover: Handover) -> BoxFuture<'static, Result<Taken, MemoryError>> {
        let recorder = self.clone();
        async move {
            let failed = |error: std::io::Error| MemoryError::Unavailable { reason: error.to_string() };
            // Every other key is worked on later: what was accepted is kept by the provider, not by us.
            if !handover.turns.len().is_multiple_of(2) {
                recorder.take(&handover).map_err(failed)?;
                return Ok(Taken::Done);
            }
            let task = handover.key.clone();
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(recorder.file("task", &task))
                .map_err(failed)?;
            file.write_all(b"x").map_err(failed)?;
            recorder.take(&handover).map_err(failed)?;
            Ok(Taken::Accepted { task })
        }
        .boxed()
    }

    fn look(&self, _: Owner, task: String) -> BoxFuture<'static, Result<TaskState, MemoryError>> {
        let known = self.file("task", &task).exists();
        let state = if known { TaskState::Done } else { TaskState::Failed { error: "unknown".to_owned() } };
        std::future::ready(Ok(state)).boxed()
    }

    fn release(&self, _: SessionId, _: Owner) {}
}

async fn start(directory: &Path, record: &Path) -> anyhow::Result<(Hub, Arc<SqliteStore>)> {
    let settings = store::sqlite::Settings { directory: directory.to_owned(), reserve_bytes: 0 };
    let store = Arc::new(SqliteStore::open(settings).context("open the store")?);
    let mut settings = Settings::new(directory.join("spool"));
    settings.slots = 4;
    settings.idle_after = Duration::from_millis(40);
    settings.memory = Remembers(Some(Arc::new(Recorder(record.to_owned()))));
    let agent = Arc::new(WordAgent { hurries: true });
    let hub = Hub::start(store.clone(), agent, Arc::new(SystemClock), settings).await?;
    Ok((hub, store))
}

/// The workload: turns and every boundary there is, then a drain.
///
/// # Errors
/// When something cannot be done without any fault.
pub async fn remember(directory: &Path, record: &Path) -> anyhow::Result<()> {
    let (hub, _store) = start(directory, record).await?;
    let [one, two, three] = [1, 2, 3].map(session_no);
    for session in [one, two] {
        hub.create(Create { session: Some(session), ..Create::default() }).await?;
    }
    for round in 0..3 {
        for session in [one, two] {
            turn(&hub, session, &format!("m{round} words=2")).await?;
            turn(&hub, session, &format!("n{round} words=2")).await?;
        }
        hub.open(one).commit_memory(None).await?;
        turn(&hub, one, &format!("o{round} words=2")).await?;
        hub.open(two).submit(Command::Clear).await?;
        hub.evict(two).await;
    }
    hub.create(Create { session: Some(three), after: Some(one), ..Create::default() }).await?;
    turn(&hub, three, "p words=2").await?;
    // Nobody asks for it any more, and it goes by itself.
    sleep(Duration::from_millis(60)).await;
    turn(&hub, two, "p words=2").await?;
    hub.drain(InterruptReason::ShutdownTimeout, PATIENCE).await;
    Ok(())
}

async fn turn(hub: &Hub, session: SessionId, text: &str) -> anyhow::Result<()> {
    hub.open(session).submit(Post::keyed(text).command()).await?;
    until(hub, session, |view| view.run.is_none() && view.queue.iter().all(|queued| queued.paused)).await
}

async fn until(hub: &Hub, session: SessionId, wanted: impl Fn(&session::View) -> bool) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !wanted(&hub.open(session).view().await?) {
        anyhow::ensure!(Instant::now() < until, "{session} does not come to rest");
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Starts on what a killed life left, lets it pay what it owes, and holds the provider's record against the logs.
///
/// # Errors
/// When the store does not open.
pub async fn settle(directory: &Path, record: &Path) -> anyhow::Result<()> {
    let (hub, store) = start(directory, record).await?;
    let sessions =
        store::Catalog::list(store.as_ref(), store::ListQuery::of(UserId::FIRST, store::Shelf::Active))
            .await?;
    for row in &sessions {
        until(&hub, row.session, |view| view.run.is_none() && view.queue.iter().all(|queued| queued.paused))
            .await?;
        // What was completed after the start waits for its own boundary.
        hub.evict(row.session).await;
        until(&hub, row.session, |view| view.owed.is_empty()).await?;
    }
    hub.drain(InterruptReason::ShutdownTimeout, PATIENCE).await;
    let mut record = Recorder(record.to_owned()).record()?;
    let mut count = 0;
    for row in sessions {
        let log = store::read_all(store.as_ref(), row.session, Seq(0)).await?;
        let completed = log.iter().filter_map(completed_turn);
        for (turn, generation) in completed.zip(1_u64..) {
            count += 1;
            let found = record.remove(&(row.session.to_string(), generation));
            if found.as_deref() != Some(&[turn]) {
                let why = format!(
                    "{}: generation {generation}, turn {turn}, is in the record as {found:?}",
                    row.session
                );
                say(&Line::Broken { why });
            }
        }
    }
    if !record.is_empty() {
        say(&Line::Broken { why: format!("the record has turns that no log has: {record:?}") });
    }
    say(&Line::Count { name: "turns".to_owned(), hits: count });
    Ok(())
}

fn completed_turn(entry: &Entry) -> Option<u64> {
    match entry.event {
        Event::RunEnded { turn, end: RunEnd::Completed, .. } => Some(turn.0),
        _ => None,
    }
}

/// Kills at each point, spread over its hits, and at random instants.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, hits_max: usize, random: u64) -> anyhow::Result<u64> {
    let counted = place()?;
    let undisturbed = play(&counted, &[], None)?;
    anyhow::ensure!(
        undisturbed.broken.is_empty() && undisturbed.ended,
        "undisturbed: {:?}",
        undisturbed.broken
    );
    let mut cases = Vec::new();
    for point in POINTS {
        let hits = undisturbed.hits.get(point).copied().unwrap_or(0);
        anyhow::ensure!(hits > 0, "{point} is never hit");
        let all: Vec<u64> = (1..=hits).collect();
        cases.extend(spread(&all, hits_max).into_iter().map(|hit| (Some((point, hit)), 0)));
    }
    let mut dice = Dice::new(11);
    cases.extend((0..random).map(|_| (None, dice.below(400))));
    let places = (0..3).map(|_| Ok(())).collect::<anyhow::Result<Vec<()>>>()?;
    let turns = std::sync::atomic::AtomicU64::new(0);
    in_parallel(places, cases, |(), (point, millis)| {
        let place = place()?;
        let armed = point.map(|(name, hit)| ("EVERTURN_POINT", format!("{name}@{hit}:kill")));
        let armed: Vec<(&str, String)> = armed.into_iter().collect();
        let played = play(&place, &armed, point.is_none().then(|| Duration::from_millis(millis)))?;
        turns.fetch_add(played.turns, std::sync::atomic::Ordering::AcqRel);
        tally.add(&format!("{point:?} after {millis} ms"), 0, &played.broken);
        Ok(())
    })?;
    Ok(turns.into_inner())
}

fn place() -> anyhow::Result<tempfile::TempDir> {
    let place = disk::scratch()?;
    fs::create_dir(place.path().join("record"))?;
    Ok(place)
}

struct Played {
    hits: BTreeMap<String, u64>,
    turns: u64,
    ended: bool,
    broken: Vec<String>,
}

/// One life that is killed, or not, and one that settles.
fn play(
    place: &tempfile::TempDir,
    armed: &[(&str, String)],
    kill_after: Option<Duration>,
) -> anyhow::Result<Played> {
    let (data, record) = (place.path().join("data"), place.path().join("record"));
    let words = [OsStr::new("remember"), data.as_os_str(), record.as_os_str()];
    let mut child = Child::start(&words, armed)?;
    child.wait(kill_after.map_or(Wait::ForEnd, Wait::For))?;
    let first = child.end()?;
    let mut broken = while_working(&first);
    let second = child::run(&[OsStr::new("settle"), data.as_os_str(), record.as_os_str()], &[])?;
    broken.extend(while_working(&second));
    let mut hits = BTreeMap::new();
    for line in first.lines.iter().chain(&second.lines) {
        match line {
            Line::Broken { why } | Line::Refused { why } => broken.push(why.clone()),
            _ => {}
        }
    }
    for line in &first.lines {
        if let Line::Count { name, hits: count } = line {
            hits.insert(name.clone(), *count);
        }
    }
    let turns = second.lines.iter().find_map(|line| match line {
        Line::Count { name, hits } if name == "turns" => Some(*hits),
        _ => None,
    });
    if turns.is_none() {
        broken.push(format!("it did not settle: {} {}", second.status, second.errors));
    }
    Ok(Played { hits, turns: turns.unwrap_or(0), ended: first.reached_end(), broken })
}

//! A disk that fills up: new messages are refused and nothing of them is kept, stopping and reading go on, nothing
//! that was acknowledged is lost, and once there is room everything goes on by itself.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use hub::{Acknowledged, CommandError};
use session::{Command, SessionId};
use tokio::time::{Instant, sleep, timeout};

use super::cases::{Tally, acked, verify, while_working};
use super::child;
use super::disk::{self, Disk};
use super::points::{Counted, Place, play as life_of};
use super::stage::{PATIENCE, PAUSE, Post, Stage, session_no};
use super::witness::{Asked, Line, say};
use super::work::Life;

/// Bytes of the disk, and those that only ends and marks may use.
const DISK_BYTES: u64 = 24 << 20;
const RESERVE_BYTES: u64 = 2 << 20;

/// How long the store may take to notice that the disk is full.
const NOTICE: Duration = Duration::from_millis(150);

/// How full the disk gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fullness {
    ToReserve,
    ToLastByte,
}

/// Fills the disk and frees it again, some rounds, on one directory.
///
/// # Errors
/// When the store does not open.
pub async fn play(directory: &Path, filler: &Path, rounds: u64) -> anyhow::Result<()> {
    let stage = Stage::open(directory, RESERVE_BYTES, 1).await?;
    let (talking, running) = (session_no(21), session_no(22));
    stage.create(talking, None).await;
    stage.create(running, None).await;
    for round in 0..rounds {
        let fullness = if round % 2 == 0 { Fullness::ToReserve } else { Fullness::ToLastByte };
        stage.post(running, Post::keyed(&format!("m{round}a words=2000 slow=2 step"))).await;
        stage.turn(talking, &format!("m{round}b words=2")).await;
        until_refused(&stage, talking, round, || fill(directory, filler, fullness)).await?;
        if stage.view(talking).await.is_none() || stage.view(running).await.is_none() {
            say(&Line::Broken { why: format!("round {round}: cannot be read while the disk is full") });
        }
        if fullness == Fullness::ToReserve {
            stop(&stage, running, round).await;
        }
        fs::remove_file(filler)?;
        goes_on(&stage, talking, round).await;
        stop(&stage, running, round).await;
        stage.quiet(running).await;
    }
    Ok(())
}

/// Grows the filler until the disk is full, or a little into its reserve.
fn fill(directory: &Path, filler: &Path, fullness: Fullness) -> anyhow::Result<()> {
    let mut file = File::options().create(true).append(true).open(filler)?;
    let room = || -> anyhow::Result<u64> {
        let disk = nix::sys::statvfs::statvfs(directory)?;
        Ok(disk.blocks_available() * disk.fragment_size())
    };
    let leave = if fullness == Fullness::ToReserve { RESERVE_BYTES - (256 << 10) } else { 0 };
    let page = vec![7_u8; 4_096];
    while room()? > leave {
        if file.write_all(&page).is_err() {
            break;
        }
    }
    Ok(())
}

/// With a disk kept full, a message is refused before long, and the answer says that nothing of it was kept.
///
/// The store looks at the disk ten times a second and empties its write-ahead log in the background, which frees space:
/// messages accepted until then are acknowledged like any other, and the disk is filled again.
async fn until_refused(
    stage: &Stage,
    session: SessionId,
    round: u64,
    fill: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    for attempt in 0_u64.. {
        fill()?;
        // A write that meets a disk without any room waits until there is some, so the store looks first.
        sleep(NOTICE).await;
        let text = format!("m{round}c{attempt} words=2");
        let post = Post::keyed(&text);
        let (op, key) = (500_000 + round * 10_000 + attempt, session::MessageKey(text.clone()));
        let what =
            Asked::Post { session, text: text.clone(), mode: post.mode.clone(), key: Some(key), blob: None };
        say(&Line::Ask { op, what });
        match timeout(PATIENCE, stage.hub.open(session).submit(post.command())).await {
            Ok(Err(CommandError::Unavailable { reason })) => {
                say(&Line::Nak { op, nothing_kept: true, why: reason });
                return Ok(());
            }
            // A disk without any room fails the write itself; its outcome is unknown.
            Ok(Err(error @ CommandError::Doubtful { .. })) => {
                say(&Line::Nak { op, nothing_kept: false, why: error.to_string() });
                return Ok(());
            }
            Ok(Ok(Acknowledged { seq, turn, .. })) if Instant::now() < until => {
                say(&Line::Ack { op, seq, turn, session });
                sleep(PAUSE).await;
            }
            Ok(other) => {
                say(&Line::Broken { why: format!("round {round}: a full disk answers {other:?}") });
                return Ok(());
            }
            Err(_) => {
                say(&Line::Broken { why: format!("round {round}: a full disk does not answer") });
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A run is stopped, also while the disk is full.
async fn stop(stage: &Stage, session: SessionId, round: u64) {
    let command = Command::Stop { run: None, device: None };
    if stage.other(session, "stop", command).await.is_none() {
        say(&Line::Broken { why: format!("round {round}: the run was not stopped") });
    }
}

/// With room again, a new message is taken and answered without anyone's help.
async fn goes_on(stage: &Stage, session: SessionId, round: u64) {
    let text = format!("m{round}d words=2");
    let until = Instant::now() + PATIENCE;
    while stage.post(session, Post::keyed(&text)).await.is_none() {
        if Instant::now() > until {
            return say(&Line::Broken { why: format!("round {round}: it does not go on") });
        }
    }
    stage.quiet(session).await;
}

/// Runs rounds in a child on a small disk, then checks it.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, rounds: u64) -> anyhow::Result<()> {
    let disk = Disk::memory(DISK_BYTES)?;
    let (directory, filler) = (disk.path().join("data"), disk.path().join("filler"));
    let count = rounds.to_string();
    let words = [OsStr::new("full"), directory.as_os_str(), filler.as_os_str(), count.as_ref()];
    let ended = child::run(&words, &[])?;
    let mut broken = while_working(&ended);
    if !ended.reached_end() && broken.is_empty() {
        broken.push(format!("the workload did not reach its end: {} {}", ended.status, ended.errors));
    }
    // What the filler left is gone, whatever happened.
    drop(fs::remove_file(&filler));
    broken.extend(verify(&directory, &ended.lines, 1)?);
    for round in 0..rounds {
        let name = format!("round {round}");
        tally.add(
            &name,
            if round == 0 { acked(&ended.lines) } else { 0 },
            if round == 0 { &broken } else { &[] },
        );
    }
    Ok(())
}

/// Files that may not grow: the workload goes on once the log of SQLite was folded together, or says why not.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run_limited(tally: &Tally, counted: &Counted) -> anyhow::Result<()> {
    let place = Place::memory()?;
    let directory = place.path().join("data");
    for (life, file_bytes_max) in [(Life::First, 500_000), (Life::First, 700_000), (Life::Second, 500_000)] {
        let mut lines = Vec::new();
        if life == Life::Second {
            disk::copy(counted.crashed.path(), &directory)?;
            lines.clone_from(&counted.lines);
        }
        let ended = child::run_limited(&[OsStr::new(life_of(life)), directory.as_os_str()], file_bytes_max)?;
        let mut broken = while_working(&ended);
        lines.extend(ended.lines);
        broken.extend(verify(&directory, &lines, 1)?);
        tally.add(&format!("{life:?} with files of {file_bytes_max} bytes"), acked(&lines), &broken);
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

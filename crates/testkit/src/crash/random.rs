//! Kills and cuts at random instants of a streaming workload, again and again on the same directory.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use session::{Command, PostMode, SessionId};
use tokio::time::{Instant, sleep};

use crate::dice::Dice;

use super::cases::{Tally, acked, in_parallel, verify, while_working};
use super::child::{Child, Wait};
use super::disk::Tools;
use super::points::Place;
use super::stage::{Post, Stage, session_no};

/// Rounds on one directory.
pub const ROUNDS: u64 = 10;
/// How long a workload goes on when nobody ends it.
const LONG: Duration = Duration::from_secs(20);

/// The workload: four sessions that stream, queue, steer and stop, a store that refuses now and then, a catalog that
/// is settled now and then.
///
/// # Errors
/// When the store does not open.
pub async fn stream(directory: &Path, round: u64, seed: u64) -> anyhow::Result<()> {
    let mut stage = Stage::open(directory, 0, 10_000 * (round + 1)).await?;
    let sessions = [11, 12, 13, 14].map(session_no);
    for session in sessions {
        stage.create(session, None).await;
    }
    stage.follow(sessions[0]);
    stage.follow(sessions[1]);
    let until = Instant::now() + LONG;
    let talks = sessions.into_iter().enumerate().map(|(at, session)| {
        let dice = Dice::new(seed.wrapping_mul(8).wrapping_add(at as u64));
        talk(&stage, session, format!("m{round}x{at}"), dice, until)
    });
    tokio::join!(join_all(talks), disturb(&stage, Dice::new(seed ^ 0xd157), until));
    Ok(())
}

async fn talk(stage: &Stage, session: SessionId, name: String, mut dice: Dice, until: Instant) {
    let mut next = 0_u64;
    while Instant::now() < until {
        let mut text = |dice: &mut Dice, more: &str| {
            next += 1;
            format!("{name}x{next} words={} slow={}{more}", 5 + dice.below(40), dice.below(2))
        };
        let first = text(&mut dice, " step");
        stage.post(session, Post::keyed(&first)).await;
        for _ in 0..dice.below(3) {
            let more = text(&mut dice, "");
            let mode = match dice.below(3) {
                0 => PostMode::Queue,
                1 => PostMode::Steer,
                _ => PostMode::Interrupt,
            };
            stage.post(session, Post { mode, ..Post::keyed(&more) }).await;
        }
        match dice.below(5) {
            0 => drop(stage.other(session, "stop", Command::Stop { run: None, device: None }).await),
            1 => drop(stage.other(session, "retry", Command::Retry).await),
            2 => drop(stage.other(session, "undo", Command::Undo { from: None }).await),
            _ => {}
        }
        stage.quiet(session).await;
    }
}

async fn disturb(stage: &Stage, mut dice: Dice, until: Instant) {
    while Instant::now() < until {
        sleep(Duration::from_millis(20 + dice.below(60))).await;
        match dice.below(4) {
            0 | 1 => {
                stage.store.refuse();
                sleep(Duration::from_millis(10 + dice.below(60))).await;
                stage.store.take_again();
            }
            2 => stage.settle().await,
            _ => fault::fail_next(
                ["append.before_commit", "append.after_commit", "project.before_commit"]
                    [usize::try_from(dice.below(3)).unwrap_or(0)],
            ),
        }
    }
}

/// Runs `count` rounds over as many directories as that needs.
///
/// # Errors
/// When the campaign itself cannot go on.
pub fn run(tally: &Tally, places: Vec<Place>, tools: &Tools, count: u64, seed: u64) -> anyhow::Result<()> {
    let chains: Vec<u64> = (0..count.div_ceil(ROUNDS)).collect();
    in_parallel(places, chains, |place, chain| {
        let rounds = ROUNDS.min(count - chain * ROUNDS);
        let directory = place.path().join("data");
        let mut dice = Dice::new(seed.wrapping_mul(1_000) + chain);
        let mut lines = Vec::new();
        for round in 0..rounds {
            let numbers = [round.to_string(), dice.roll().to_string()];
            let words =
                [OsStr::new("stream"), directory.as_os_str(), numbers[0].as_ref(), numbers[1].as_ref()];
            let mut child = Child::start(&words, &[])?;
            let frozen = child.wait(Wait::For(Duration::from_millis(20 + dice.below(300))))?;
            let cut = place.disk.as_ref().filter(|_| frozen);
            if let Some(disk) = cut {
                disk.cut(tools)?;
            }
            let ended = child.end()?;
            if let Some(disk) = cut {
                disk.power_on()?;
            }
            let mut broken = while_working(&ended);
            if !frozen {
                broken.push(format!("the workload ended by itself: {} {}", ended.status, ended.errors));
            }
            let heard = acked(&ended.lines);
            lines.extend(ended.lines);
            broken.extend(verify(&directory, &lines, round)?);
            tally.add(&format!("chain {chain} round {round}"), heard, &broken);
            if !broken.is_empty() {
                break;
            }
        }
        Ok(fs::remove_dir_all(&directory)?)
    })
}

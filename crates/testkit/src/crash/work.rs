//! The workload that passes every point: a first life that ends in a crash while output is being spooled, and a
//! second one that heals it, goes on and is drained.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use session::{Command, Flag, InterruptReason, PostMode, SessionId};
use tokio::time::sleep;

use super::stage::{Post, Stage, session_no};
use super::witness::{Line, say};

/// Words that are in an erased session and nowhere else.
pub const ERASED_WORD: &str = "zebrafinch";

/// The two lives of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    First,
    Second,
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Plays one life on a directory. The first ends by a kill.
///
/// # Errors
/// When the store does not open.
pub async fn play(directory: &Path, life: Life) -> anyhow::Result<()> {
    match life {
        Life::First => {
            let mut stage = Stage::open(directory, 0, 1).await?;
            first(&mut stage).await;
            tell_counts();
            end_at_once();
        }
        Life::Second => {
            let hidden = hide_slots(directory, session_no(2))?;
            let opened = Stage::open(directory, 0, 1_000).await;
            show_slots(&hidden)?;
            let mut stage = opened?;
            second(&mut stage).await;
            stage.close().await;
        }
    }
    Ok(())
}

/// Tells how often each point was hit, and that the end was reached.
pub fn tell_counts() {
    for (name, hits) in fault::counts() {
        say(&Line::Count { name: name.to_owned(), hits });
    }
    say(&Line::End);
}

/// Runs what a child does. It ends at once, as a crash does, unless it drained itself.
///
/// # Errors
/// When there is no runtime.
pub fn in_child(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    match runtime.block_on(work) {
        Ok(()) => tell_counts(),
        Err(error) => say(&Line::Refused { why: format!("{error:#}") }),
    }
    std::process::exit(0)
}

/// A crash of one's own making.
fn end_at_once() {
    let killed = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
    debug_assert!(killed.is_ok(), "a signal to oneself cannot be refused");
}

async fn first(stage: &mut Stage) {
    let [one, two, three, four] = [1, 2, 3, 4].map(session_no);
    stage.create(one, Some("one")).await;
    stage.follow(one);
    stage.create(two, None).await;
    stage.follow(two);
    stage.create(three, None).await;
    stage.create(four, None).await;
    stage.turn(one, "m1 words=6 call").await;
    attachments(stage, two, three).await;
    queue_and_steer(stage, one).await;
    second_thoughts(stage, one).await;
    // The store dies in an append, and is brought back.
    fault::fail_next("append.before_commit");
    stage.turn(two, "m20 words=5").await;
    stage.erase(three).await;
    if let Some(turn) = stage.turn(one, "m21 words=2").await
        && let Some(branch) = stage.branch(one, turn).await
    {
        stage.follow(branch);
        stage.turn(branch, "m22 words=3").await;
    }
    stage.bind("heron", one).await;
    // Nobody follows this one: its writer retires and keeps a snapshot.
    stage.turn(four, &format!("m23 words=3 {ERASED_WORD}four")).await;
    stage.post(four, Post::plain("m24 words=3 fail")).await;
    sleep(millis(60)).await;
    outage(stage, one, "m30 words=40 slow=1").await;
    stage.settle().await;
    die_spooling(stage, two, four).await;
}

async fn attachments(stage: &Stage, two: SessionId, three: SessionId) {
    stage.upload("a note that nobody sends").await;
    stage.expire().await;
    let note = stage.blob(two, "a note that stays").await;
    stage.post(two, Post { blob: note, ..Post::keyed("m2 words=3") }).await;
    let secret = stage.blob(three, &format!("a note {ERASED_WORD}kept3 that goes")).await;
    let text = format!("m3 words=3 {ERASED_WORD}three");
    stage.post(three, Post { blob: secret, ..Post::keyed(&text) }).await;
    stage.quiet(two).await;
    stage.quiet(three).await;
}

/// A long run: messages wait behind it and go into it, it is packed while it goes on, and it is stopped.
async fn queue_and_steer(stage: &Stage, one: SessionId) {
    stage.post(one, Post::keyed("m10 words=30 slow=1 step hold")).await;
    stage.post(one, Post::keyed("m11 words=2")).await;
    stage.post(one, Post { mode: PostMode::Steer, ..Post::plain("m12 words=1") }).await;
    stage.settle().await;
    sleep(millis(25)).await;
    stage.other(one, "stop", Command::Stop { run: None, device: None }).await;
    stage.other(one, "resume queue", Command::ResumeQueue).await;
    stage.quiet(one).await;
}

async fn second_thoughts(stage: &Stage, one: SessionId) {
    stage.other(one, "undo", Command::Undo { from: None }).await;
    stage.other(one, "put back", Command::PutBack).await;
    stage.other(one, "retry", Command::Retry).await;
    stage.quiet(one).await;
    stage.rename(one, "renamed").await;
    stage.other(one, "pin", Command::SetFlag { flag: Flag::Pinned, on: true }).await;
}

/// The store refuses for a while; what the run brings is spooled and comes into the log in the same life.
async fn outage(stage: &Stage, one: SessionId, text: &str) {
    stage.post(one, Post::keyed(text)).await;
    sleep(millis(10)).await;
    stage.store.refuse();
    sleep(millis(60)).await;
    stage.store.take_again();
    stage.quiet(one).await;
}

/// Ends with two runs whose output is in the spool alone.
async fn die_spooling(stage: &Stage, two: SessionId, four: SessionId) {
    stage.post(two, Post::keyed("m40 words=500 slow=1")).await;
    stage.post(four, Post::keyed("m41 words=500 slow=1")).await;
    stage.post(four, Post::keyed("m42 words=3")).await;
    sleep(millis(15)).await;
    stage.store.refuse();
    sleep(millis(60)).await;
}

async fn second(stage: &mut Stage) {
    let [one, two, four, five] = [1, 2, 4, 5].map(session_no);
    // The journal of this one comes back only now; the read asks for it.
    stage.view(two).await;
    stage.until(two, "healed", |view| !view.turns.iter().any(is_recovering)).await;
    for session in [one, two, four] {
        stage.follow(session);
        stage.quiet(session).await;
    }
    stage.bind("egret", one).await;
    stage.turn(one, "m50 words=6 call").await;
    stage.post(two, Post::keyed("m51 words=20 slow=1")).await;
    stage.other(two, "continue", Command::Continue).await;
    stage.create(five, None).await;
    // The store dies behind an append.
    fault::fail_next("project.before_commit");
    let secret = stage.blob(five, &format!("another {ERASED_WORD}kept5 that goes")).await;
    let text = format!("m52 words=3 {ERASED_WORD}five");
    stage.post(five, Post { blob: secret, ..Post::keyed(&text) }).await;
    stage.quiet(five).await;
    stage.settle().await;
    stage.erase(five).await;
    stage.erase(four).await;
    stage.quiet(two).await;
    outage(stage, one, "m60 words=40 slow=1").await;
    stage.turn(one, "m53 words=2").await;
    stage.settle().await;
    stage.post(one, Post::keyed("m54 words=5 hold")).await;
    stage.post(one, Post::keyed("m55 words=5")).await;
    stage.hub.drain(InterruptReason::RestartTimeout, millis(20)).await;
}

fn is_recovering(turn: &session::TurnView) -> bool {
    turn.marker.as_ref().is_some_and(|marker| marker.kind == session::MarkerKind::Recovering)
}

/// Takes the spool slots of a session out of sight, as a disk that is not mounted yet.
fn hide_slots(directory: &Path, session: SessionId) -> anyhow::Result<Vec<PathBuf>> {
    let mut hidden = Vec::new();
    for entry in fs::read_dir(directory.join("spool"))? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        if bytes.get(8) == Some(&1) && bytes.get(16..32) == Some(session.0.as_bytes().as_slice()) {
            let away = path.with_extension("away");
            fs::rename(&path, &away)?;
            hidden.push(away);
        }
    }
    Ok(hidden)
}

/// Puts hidden slots back.
fn show_slots(hidden: &[PathBuf]) -> anyhow::Result<()> {
    for away in hidden {
        fs::rename(away, away.with_extension(""))?;
    }
    Ok(())
}

/// Puts back what a life that was killed had hidden.
///
/// # Errors
/// When the directory cannot be read.
pub fn show_hidden(directory: &Path) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(directory.join("spool")) else { return Ok(()) };
    let mut hidden = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "away") {
            hidden.push(path);
        }
    }
    show_slots(&hidden)
}

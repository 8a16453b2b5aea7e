//! What goes wrong: kills at any point, pauses, cut lines, full disks, lost answers, clocks that jump, slots that cannot
//! be seen, lagging projections, drains. Then peace, in which everything must come to its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use session::{Command, Entry, Event, InterruptReason, Owner};
use store::{LogStore, OpenRun};
use tokio::task::JoinSet;

use super::world::{Node, Up, World};
use super::{check, client, reader};

/// Looks at every session in peace, and the time between them.
const LOOKS_MAX: u64 = 60;
const LOOK_PAUSE: Duration = Duration::from_secs(5);
/// Looks after which the clocks are set so far ahead that what waits for a journal is given up. It happens again: the
/// jump itself can make a node lose a run, which waits for its journal from then on.
const LOOKS_UNTIL_LATE: u64 = 20;
const LATE_MICROS: i64 = 25 * 3_600 * 1_000_000;
/// How far a clock jumps: a correction, or a machine that starts without knowing the date.
const NEAR_MICROS: u64 = 60_000_000;
const FAR_MICROS: u64 = 400 * 24 * 3_600 * 1_000_000;
/// How long a look or a stop, and a drain, may wait in an outage.
const ASK_PATIENCE: Duration = Duration::from_millis(200);
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);
/// How long an append may be on its way back, and the list may be behind the log.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// Lives a world from its begin to its end.
pub(crate) async fn live(world: &Arc<World>) {
    for node in &world.nodes {
        node.start(world).await;
    }
    let mut people = JoinSet::new();
    for _ in 0..=world.below(2) {
        people.spawn(client::live(world.clone(), 5 + world.below(15)));
    }
    for _ in 0..=world.below(2) {
        people.spawn(reader::read(world.clone()));
    }
    let mut troubles = JoinSet::new();
    for _ in 0..world.below(10) {
        world.pause(5_000).await;
        let node = usize::try_from(world.below(world.nodes.len() as u64)).unwrap_or(0);
        let world = world.clone();
        troubles.spawn(async move {
            world.trouble_begins();
            trouble(&world, &world.nodes[node]).await;
            world.trouble_ends();
        });
    }
    while troubles.join_next().await.is_some() {}
    peace(world).await;
    while people.join_next().await.is_some() {}
    recover_by_itself(world).await;
    settle(world).await;
    if let [node] = world.nodes.as_slice() {
        match world.below(4) {
            0 => lose_an_answer(world, node).await,
            1 => fail_to_repair(world, node).await,
            _ => {}
        }
    }
    recover_by_itself(world).await;
    for _ in 0..LOOKS_MAX {
        if check::slots(world).is_none() {
            break;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    tokio::time::sleep(TOLD_WITHIN).await;
    check::all(world);
}

/// Waits until every run has ended, without opening a session. Does nothing with more than one node.
async fn recover_by_itself(world: &Arc<World>) {
    if world.nodes.len() > 1 {
        return;
    }
    for _ in 0..LOOKS_MAX {
        if world.truth.open_runs().await.is_ok_and(|open| open.iter().all(|run| !is_open(world, run))) {
            return;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    let open = world.truth.open_runs().await;
    world.broken(|| format!("I9 nobody recovers {open:?}"));
}

/// Returns whether a run has no end. One whose output is being recovered has.
fn is_open(world: &World, run: &OpenRun) -> bool {
    let of = |entry: &Entry| matches!(entry.event, Event::RunEnded { run: of, .. } if of == run.run);
    !world.log(run.session).iter().any(of)
}

/// Loses the answer to the append that ends a run. The process is healthy otherwise and continues.
async fn lose_an_answer(world: &Arc<World>, node: &Node) {
    node.line.forget_next_end.store(true, Ordering::Relaxed);
    client::live(world.clone(), 1 + world.below(2)).await;
    settle(world).await;
    node.line.forget_next_end.store(false, Ordering::Relaxed);
}

/// Kills a node during a run. After the restart, the answer to the first append that starts a run is lost.
async fn fail_to_repair(world: &Arc<World>, node: &Node) {
    let mut people = JoinSet::new();
    people.spawn(client::live(world.clone(), 1));
    world.pause(1_000).await;
    node.kill();
    node.line.forget_next_start.store(true, Ordering::Relaxed);
    start_for_good(world, node).await;
    recover_by_itself(world).await;
    node.line.forget_next_start.store(false, Ordering::Relaxed);
    while people.join_next().await.is_some() {}
    settle(world).await;
}

async fn trouble(world: &Arc<World>, node: &Node) {
    match world.below(13) {
        0 | 1 => {
            node.kill();
            world.met("a node was killed");
            if world.chance(50) {
                node.slots.lose_power();
                world.met("a node lost its power");
            }
            world.pause(20_000).await;
            node.line.forget_next_start.store(world.chance(30), Ordering::Relaxed);
            node.start(world).await;
        }
        2 => {
            if let Some(up) = node.running() {
                up.process.kill_after(world.below(2_000));
                world.pause(10_000).await;
            }
            node.start(world).await;
        }
        3 => {
            if let Some(up) = node.running() {
                up.process.pause(true);
                world.met("a node was paused");
                world.pause(40_000).await;
                up.process.pause(false);
            }
        }
        4 => {
            node.line.cut.store(true, Ordering::Relaxed);
            world.met("a line was cut");
            world.pause(15_000).await;
            node.line.cut.store(false, Ordering::Relaxed);
        }
        5 => {
            node.line.full.store(true, Ordering::Relaxed);
            world.met("a disk was full");
            world.pause(10_000).await;
            node.line.full.store(false, Ordering::Relaxed);
        }
        6 => {
            node.line.forgetful.store(true, Ordering::Relaxed);
            world.pause(10_000).await;
            node.line.forgetful.store(false, Ordering::Relaxed);
        }
        7 => {
            let ahead = world.chance(50);
            // Claims compare the clocks of several nodes, which must agree to within minutes. A journal that cannot be seen
            // is given up after a day by the clock.
            let far = world.nodes.len() == 1 && world.chance(50) && !world.record().slots_hidden;
            world.record().jumped_far |= far;
            let most = if far { FAR_MICROS } else { NEAR_MICROS };
            let micros = i64::try_from(world.below(most)).unwrap_or(0);
            node.skew_micros.fetch_add(if ahead { micros } else { -micros }, Ordering::Relaxed);
            world.met(if ahead { "a clock jumped ahead" } else { "a clock jumped back" });
        }
        8 => drain(world, node).await,
        9 | 10 => die_in_an_outage(world, node).await,
        11 => {
            node.line.lags.store(true, Ordering::Relaxed);
            world.met("projections lagged");
            world.pause(15_000).await;
            node.line.lags.store(false, Ordering::Relaxed);
        }
        _ if world.record().jumped_far => {}
        _ => hide_slots(world, node).await,
    }
}

/// Kills a node whose slots cannot be seen for a while, or ever again.
async fn hide_slots(world: &Arc<World>, node: &Node) {
    node.slots.hide(true);
    world.record().slots_hidden = true;
    world.met("slots could not be seen");
    node.kill();
    world.pause(2_000).await;
    node.start(world).await;
    world.pause(20_000).await;
    if world.chance(25) {
        world.met("slots were lost for good");
        world.record().slots_lost = true;
    } else {
        node.slots.hide(false);
    }
}

/// A run's output goes to its slot, sometimes after the log has it already. Then the node usually dies.
async fn die_in_an_outage(world: &Arc<World>, node: &Node) {
    node.line.cut_with_next.store(world.chance(60), Ordering::Relaxed);
    world.pause(2_000).await;
    node.line.cut_with_next.store(false, Ordering::Relaxed);
    node.line.cut.store(true, Ordering::Relaxed);
    world.pause(4_000).await;
    if world.chance(30) {
        stop_all(world, node).await;
    }
    if world.chance(70) {
        if world.chance(30)
            && let Some(Up { process, hub, .. }) = node.running()
        {
            node.line.held.store(true, Ordering::Relaxed);
            let drain = hub.drain(InterruptReason::ShutdownTimeout, Duration::ZERO);
            drop(tokio::time::timeout(DRAIN_PATIENCE, process.run(drain)).await);
        }
        world.met("a node died in an outage");
        node.kill();
        if world.chance(50) {
            node.slots.lose_power();
        }
        let hidden = world.chance(70);
        world.record().slots_hidden |= hidden;
        node.slots.hide(hidden);
    }
    node.line.cut.store(false, Ordering::Relaxed);
    world.pause(3_000).await;
    node.start(world).await;
    world.pause(10_000).await;
    if world.chance(85) {
        node.line.unreadable.store(true, Ordering::Relaxed);
        node.slots.hide(false);
        world.met("slots were back before the log");
        look_at_all(world, node).await;
        world.pause(5_000).await;
        node.line.unreadable.store(false, Ordering::Relaxed);
    }
    node.slots.hide(false);
}

/// Looks at every session, which asks for healing.
async fn look_at_all(world: &Arc<World>, node: &Node) {
    let Some(Up { process, hub, .. }) = node.running() else { return };
    let sessions = world.record().sessions.clone();
    for session in sessions {
        let looking = async { hub.open(session).view().await };
        drop(tokio::time::timeout(ASK_PATIENCE, process.run(looking)).await);
    }
}

/// Stops the run of every session.
async fn stop_all(world: &Arc<World>, node: &Node) {
    let Some(Up { process, hub, .. }) = node.running() else { return };
    let sessions = world.record().sessions.clone();
    for session in sessions {
        let stop = async { hub.open(session).submit(Command::Stop { run: None, device: None }).await };
        drop(tokio::time::timeout(ASK_PATIENCE, process.run(stop)).await);
    }
}

/// Stops a node as an operator does, and starts it again.
async fn drain(world: &Arc<World>, node: &Node) {
    let Some(Up { process, hub, .. }) = node.running() else { return };
    let (reason, time) = if world.chance(50) {
        (InterruptReason::RestartTimeout, Duration::from_millis(world.below(10_000)))
    } else {
        (InterruptReason::ShutdownTimeout, Duration::ZERO)
    };
    node.line.held.store(true, Ordering::Relaxed);
    let drained = tokio::time::timeout(Duration::from_secs(60), process.run(hub.drain(reason, time))).await;
    if let Ok(Ok(in_time)) = drained {
        world.met(if in_time { "a node was drained" } else { "a drain ran out of time" });
        if in_time && hub.open_runs() > 0 {
            world.broken(|| "I35 a run goes on after a drain".to_owned());
        }
    }
    node.kill();
    world.pause(5_000).await;
    node.start(world).await;
}

/// Ends every trouble.
async fn peace(world: &Arc<World>) {
    world.record().in_peace = true;
    let slots_lost = world.record().slots_lost;
    for node in &world.nodes {
        node.line.cut.store(false, Ordering::Relaxed);
        node.line.full.store(false, Ordering::Relaxed);
        node.line.forgetful.store(false, Ordering::Relaxed);
        node.line.forget_next_start.store(false, Ordering::Relaxed);
        node.line.unreadable.store(false, Ordering::Relaxed);
        node.line.lags.store(false, Ordering::Relaxed);
        if !slots_lost {
            node.slots.hide(false);
        }
        if let Some(up) = node.running() {
            up.process.pause(false);
            up.process.kill_after(u64::MAX);
        }
    }
    for node in &world.nodes {
        start_for_good(world, node).await;
    }
}

async fn start_for_good(world: &Arc<World>, node: &Node) {
    for _ in 0..10 {
        node.start(world).await;
        if let Some(up) = node.running() {
            up.process.kill_after(u64::MAX);
        }
    }
}

/// Looks at every session, as people do, until each has come to its end (I9).
async fn settle(world: &Arc<World>) {
    let mut last = String::new();
    for look in 0..LOOKS_MAX {
        let open = check::unsettled(world);
        if open.is_empty() || world.is_broken() {
            return;
        }
        if look > 0 && look % LOOKS_UNTIL_LATE == 0 {
            world.met("a journal was given up");
            for node in &world.nodes {
                node.skew_micros.fetch_add(LATE_MICROS, Ordering::Relaxed);
            }
        }
        for session in open {
            let Some(Up { process, hub, .. }) = world.any_node() else { continue };
            // Whoever cannot be answered looks again.
            let looking = async {
                // What is owed to memory wants a boundary; a boundary is one for those of nobody as well.
                hub.open(session).commit_memory(Some(Owner("anna".to_owned()))).await?;
                hub.open(session).view().await
            };
            let looked = tokio::time::timeout(LOOK_PAUSE, process.run(looking)).await;
            last = format!("{looked:?}");
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    let open = check::unsettled(world);
    world.broken(|| format!("I9 did not come to an end: {open:?}; the last look: {last}"));
}

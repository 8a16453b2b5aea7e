//! Readers: each follows a session from its cursor, on any node, through every cut, and notes what it was shown.

use std::sync::Arc;
use std::time::Duration;

use hub::{FollowError, Followed, Follower};
use session::{Entry, Seq, SessionId};

use super::world::{Up, World};

/// Reads for as long as the world is troubled and a little longer.
pub(crate) async fn read(world: Arc<World>) {
    let mut cursors: Vec<(SessionId, Seq)> = Vec::new();
    let mut left = 200;
    while left > 0 && !world.is_broken() {
        world.pause(300).await;
        if world.record().in_peace {
            left -= 20;
        }
        left -= 1;
        let sessions = world.record().sessions.clone();
        let Some(session) = world.dice().pick(&sessions).copied() else { continue };
        let at = cursors.iter().position(|(of, _)| *of == session).unwrap_or_else(|| {
            cursors.push((session, Seq(0)));
            cursors.len() - 1
        });
        let cursor = cursors[at].1;
        cursors[at].1 = follow(&world, session, cursor).await;
    }
}

/// Follows for a while. Answers the last entry that was shown.
async fn follow(world: &Arc<World>, session: SessionId, mut cursor: Seq) -> Seq {
    let Some(Up { process, hub, .. }) = world.any_node() else { return cursor };
    if world.chance(5) {
        beyond_the_end(world, session).await;
    }
    let patience = Duration::from_millis(world.below(8_000));
    let count = 1 + world.below(40);
    let reading = async {
        let mut follower = match hub.open(session).follow(cursor).await {
            Ok(follower) => follower,
            Err(error) => return refused(world, session, cursor, &error),
        };
        for _ in 0..count {
            match next(world, &mut follower).await {
                Ok(Some(entry)) => {
                    shown(world, session, cursor, &entry);
                    cursor = entry.seq;
                }
                Ok(None) => {}
                Err(error) => return refused(world, session, cursor, &error),
            }
        }
    };
    match tokio::time::timeout(patience, process.run(reading)).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => world.met("a reader's node died"),
        Err(_) => world.met("a reader left in the middle"),
    }
    cursor
}

async fn next(world: &World, follower: &mut Follower) -> Result<Option<Entry>, FollowError> {
    match follower.next().await? {
        Followed::Entry(entry) => Ok(Some(Entry::clone(&entry))),
        Followed::CaughtUp => {
            world.met("a reader caught up");
            Ok(None)
        }
    }
}

/// I1, I2, I10: durable before it is shown, the same for all, next after the last.
fn shown(world: &World, session: SessionId, cursor: Seq, entry: &Entry) {
    if entry.seq != cursor.next() {
        world.broken(|| format!("I10 after entry {cursor} of {session} came {}", entry.seq));
    }
    let erased = world.record().erased.contains(&session);
    let durable = world.entry(session, entry.seq).map(|durable| durable.hash);
    if durable != Some(entry.hash) && !erased {
        world.broken(|| format!("I1 entry {} of {session} was shown and is not durable", entry.seq));
    }
    let before = world.record().shown.insert((session, entry.seq), entry.hash);
    if before.is_some_and(|before| before != entry.hash) {
        world.broken(|| format!("I2 entry {} of {session} was shown in two ways", entry.seq));
    }
}

fn refused(world: &World, session: SessionId, cursor: Seq, error: &FollowError) {
    match error {
        FollowError::CutOff { .. } => world.met("a reader was cut off"),
        FollowError::BeyondEnd { after, .. } if *after <= cursor => {
            let head = world.log(session).last().map_or(Seq(0), |entry| entry.seq);
            if *after <= head {
                world.broken(|| {
                    format!("I11 entry {after} of {session} was said to be beyond the end at {head}")
                });
            }
        }
        // Disks do not lie here.
        FollowError::AnotherLog { after } => {
            world.broken(|| format!("I2 {session} has another entry {after} than was shown"));
        }
        FollowError::BeyondEnd { .. } | FollowError::Ended { .. } | FollowError::Command(_) => {}
    }
}

/// I11: a cursor beyond the end is an error.
async fn beyond_the_end(world: &Arc<World>, session: SessionId) {
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let far = Seq(1_000_000);
    let asked = async { hub.open(session).follow(far).await.map(drop) };
    if let Ok(Ok(Ok(()))) = tokio::time::timeout(Duration::from_secs(30), process.run(asked)).await {
        world.broken(|| format!("I11 {session} was followed from beyond its end"));
    }
    world.met("a cursor was beyond the end");
}

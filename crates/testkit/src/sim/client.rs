//! People: they ask, ask again when they had no answer, on whatever node, and hold the server to what it said.

use std::sync::Arc;
use std::time::Duration;

use fault::Process;
use futures_util::FutureExt;
use hub::{Acknowledged, CommandError, Create, Hub};
use session::{
    Command, Event, Flag, Message, MessageKey, Owner, PostMode, RunEnd, RunId, Session, SessionId, Time,
    TurnId,
};
use store::blob::Blobs;

use crate::attached;

use super::chat;
use super::world::{Up, World};

/// Longest wait for an answer; a node may be paused.
const PATIENCE: Duration = Duration::from_secs(30);
/// Tries of one request.
const TRIES_MAX: usize = 6;

/// What became of a request.
pub(super) enum Answered<T> {
    Yes(T),
    No(CommandError),
    /// It may have happened.
    Unknown,
}

/// Asks one node once.
pub(super) async fn ask<T>(
    process: &Process,
    asked: impl Future<Output = Result<T, CommandError>>,
) -> Answered<T> {
    match tokio::time::timeout(PATIENCE, process.run(asked)).await {
        Ok(Ok(Ok(answer))) => Answered::Yes(answer),
        Ok(Ok(Err(CommandError::Doubtful { .. }))) | Ok(Err(_)) | Err(_) => Answered::Unknown,
        Ok(Ok(Err(error))) => Answered::No(error),
    }
}

/// Asks for so many things.
pub(crate) async fn live(world: Arc<World>, count: u64) {
    for _ in 0..count {
        if world.is_broken() {
            return;
        }
        world.pause(1_500).await;
        let sessions = world.record().sessions.clone();
        let session = world.dice().pick(&sessions).copied();
        if world.chance(12) {
            chat::write(&world).await;
            continue;
        }
        if world.chance(2) {
            chat::operate(&world).await;
            continue;
        }
        match session {
            Some(session) if sessions.len() > 3 || world.chance(85) => one_thing(&world, session).await,
            _ => create(&world).await,
        }
    }
}

async fn create(world: &Arc<World>) {
    let id = SessionId(world.id());
    let sessions = world.record().sessions.clone();
    let after = if world.chance(50) { world.dice().pick(&sessions).copied() } else { None };
    for attempt in 0..TRIES_MAX {
        let Some(Up { process, hub, .. }) = world.any_node() else {
            world.pause(2_000).await;
            continue;
        };
        let made = ask(&process, async {
            hub.create(Create { session: Some(id), after, ..Create::default() }).await.map(drop)
        });
        match made.await {
            Answered::Yes(()) => break,
            // The try before may have made it.
            Answered::No(CommandError::Exists(_)) if attempt > 0 => break,
            Answered::No(CommandError::Exists(_)) => {
                world.broken(|| format!("I5 the new id {id} was said to be in use"));
            }
            Answered::No(_) | Answered::Unknown => world.pause(2_000).await,
        }
        if attempt + 1 == TRIES_MAX {
            return;
        }
    }
    if !world.log(id).is_empty() {
        world.record().sessions.push(id);
    }
}

async fn one_thing(world: &Arc<World>, session: SessionId) {
    match world.below(24) {
        0..=7 => post(world, session).await,
        8..=10 => stop(world, session).await,
        11 | 12 => view(world, session).await,
        13 => _ = submit(world, session, Command::Undo { from: None }).await,
        14 => _ = submit(world, session, Command::PutBack).await,
        15 => _ = submit(world, session, Command::Retry).await,
        16 => _ = submit(world, session, Command::Continue).await,
        17 => {
            if submit(world, session, Command::Rename { title: "a person's title".to_owned() })
                .await
                .is_some()
            {
                world.met("a person named a session");
            }
        }
        18 => _ = submit(world, session, Command::SetFlag { flag: Flag::Pinned, on: world.chance(50) }).await,
        19 => queued(world, session).await,
        20 => edit(world, session).await,
        21 => _ = submit(world, session, Command::AddId { id: SessionId(world.id()) }).await,
        22 => branch(world, session).await,
        _ => match world.below(8) {
            0 => erase(world, session).await,
            1 => refused(world, session).await,
            2 => other_id(world, session).await,
            3 => nobody(world).await,
            4 => _ = submit(world, session, Command::Clear).await,
            5 => {
                let owner = world.chance(50).then(|| Owner("anna".to_owned()));
                _ = submit(world, session, Command::CommitMemory { owner }).await;
            }
            _ => post_twice(world, session).await,
        },
    }
}

/// Asks a session once, on any node.
async fn submit(world: &Arc<World>, session: SessionId, command: Command) -> Option<Acknowledged> {
    let Up { process, hub, .. } = world.any_node()?;
    match ask(&process, async { hub.open(session).submit(command).await }).await {
        Answered::Yes(acknowledged) => Some(acknowledged),
        Answered::No(CommandError::Damaged { .. }) => {
            world.broken(|| format!("I51 {session} was said to be damaged"));
            None
        }
        Answered::No(CommandError::Moved) => {
            world.met("a request met a session of another node");
            None
        }
        Answered::No(_) | Answered::Unknown => None,
    }
}

pub(super) fn message(world: &World) -> (Message, PostMode, MessageKey) {
    let id = world.id();
    let mode = match world.below(4) {
        0 => PostMode::Steer,
        1 => PostMode::Interrupt,
        _ => PostMode::Queue,
    };
    let mut message = Message::text(format!("message {id}"));
    if world.chance(20) {
        // Sometimes one relies on an earlier upload.
        if world.chance(60) {
            upload(world);
        }
        message.attachments.push(attached::attachment("heron.txt"));
    }
    (message, mode, MessageKey(id.to_string()))
}

/// Uploads the file that messages carry. It may have been erased with the last session that used it.
fn upload(world: &World) {
    drop(world.truth.put_blob(attached::BYTES.to_vec(), Time(world.now_micros())).now_or_never());
}

/// Posts, and asks again with the same key until the answer is known.
async fn post(world: &Arc<World>, session: SessionId) {
    let (message, mode, key) = message(world);
    let mut asked = Vec::new();
    for _ in 0..TRIES_MAX {
        let Some(Up { process, hub, node, .. }) = world.any_node() else {
            world.pause(3_000).await;
            continue;
        };
        if asked.last().is_some_and(|last| *last != node) {
            world.met("a key was tried again on another node");
        }
        asked.push(node);
        match ask(&process, post_once(&hub, session, message.clone(), mode.clone(), key.clone())).await {
            Answered::Yes(acknowledged) => {
                if asked.len() > 1 {
                    world.met("a key was tried again and answered");
                }
                return kept(world, session, key, acknowledged, &message);
            }
            Answered::No(CommandError::KeyReused) => {
                return world
                    .broken(|| format!("I5 the key of {} was said to be used for another", message.text));
            }
            Answered::No(CommandError::Rejected(_) | CommandError::Deleted(_) | CommandError::Unknown(_)) => {
                return;
            }
            Answered::No(CommandError::AttachmentMissing(_)) => {
                world.met("an attachment was uploaded again");
                upload(world);
            }
            Answered::No(_) => world.pause(4_000).await,
            Answered::Unknown => {
                world.met("a message had no answer");
                world.pause(4_000).await;
            }
        }
    }
    world.met("a message was given up");
}

async fn post_once(
    hub: &Hub,
    session: SessionId,
    message: Message,
    mode: PostMode,
    key: MessageKey,
) -> Result<Acknowledged, CommandError> {
    hub.open(session).submit(Command::PostMessage { message, mode, key: Some(key) }).await
}

/// I4, I5: what was acknowledged is in the log, once, under the id that was named.
pub(super) fn kept(
    world: &World,
    session: SessionId,
    key: MessageKey,
    acknowledged: Acknowledged,
    message: &Message,
) {
    let Some(turn) = acknowledged.turn else {
        return world.broken(|| format!("I4 {} was acknowledged without a turn", message.text));
    };
    if world.record().erased.contains(&session) {
        return;
    }
    let durable = world.entry(session, session::Seq(turn.0));
    let same = durable.is_some_and(
        |entry| matches!(&entry.event, Event::MessagePosted { message: kept, .. } if kept == message),
    );
    if !same {
        world.broken(|| {
            format!("I4 {} was acknowledged as turn {turn} of {session} and is not there", message.text)
        });
    }
    let before = world.record().kept.insert((session, key), (turn, message.clone()));
    if before.is_some_and(|(before, _)| before != turn) {
        world.broken(|| format!("I5 the key of {} gave two turns", message.text));
    }
}

/// Uses a key again: with the same body the same turn, with another nothing.
async fn post_twice(world: &Arc<World>, session: SessionId) {
    let known = world
        .record()
        .kept
        .iter()
        .find(|((of, _), _)| *of == session)
        .map(|(key, kept)| (key.1.clone(), kept.clone()));
    let Some((key, (turn, posted_message))) = known else { return };
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let other = world.chance(50);
    let modes = [PostMode::Queue, PostMode::Steer, PostMode::Interrupt];
    let posted = world.entry(session, session::Seq(turn.0)).map(|entry| entry.event);
    let Some(Event::MessagePosted { mode, .. }) = posted else { return };
    let message = if other { Message::text("another body") } else { posted_message };
    let mode = if other { world.dice().pick(&modes).cloned().unwrap_or(mode) } else { mode };
    match ask(&process, post_once(&hub, session, message.clone(), mode, key.clone())).await {
        Answered::Yes(acknowledged) if other => {
            world.broken(|| format!("I5 a used key took another body as turn {:?}", acknowledged.turn));
        }
        Answered::Yes(acknowledged) => {
            world.met("a used key gave its turn again");
            kept(world, session, key, acknowledged, &message);
        }
        Answered::No(CommandError::KeyReused) if other => world.met("a used key refused another body"),
        Answered::No(CommandError::KeyReused) => world.broken(|| "I5 a key refused its own body".to_owned()),
        Answered::No(_) | Answered::Unknown => {}
    }
}

/// Stops, and holds the server to what the run had said by then (I22), and to one end (I24).
async fn stop(world: &Arc<World>, session: SessionId) {
    let Some(Up { process, hub, number, .. }) = world.any_node() else { return };
    let Some(run) = open_run(world, session) else { return };
    let said = world.record().said.get(&(session, run)).copied();
    let stopped = ask(&process, async {
        hub.open(session).submit(Command::Stop { run: Some(run), device: None }).await
    })
    .await;
    let Answered::Yes(_) = stopped else { return };
    if world.record().erased.contains(&session) {
        return;
    }
    let log = world.log(session);
    let is_end =
        |entry: &&session::Entry| matches!(&entry.event, Event::RunEnded { run: of, .. } if *of == run);
    let Some(end) = log.iter().find(is_end) else {
        return world.broken(|| format!("I24 run {run} of {session} was stopped and goes on"));
    };
    let by_person = matches!(&end.event, Event::RunEnded { end: RunEnd::Stopped { .. }, .. });
    // What another process of the run had gathered died with it.
    let Some((_, words)) = said.filter(|(of, _)| *of == number && by_person && !process.is_dead()) else {
        return;
    };
    world.met("a run was stopped after it had said something");
    let kept = super::check::words_of(&log, run);
    if kept.last().copied().unwrap_or(0) < words {
        world.broken(|| format!("I22 run {run} of {session} had said {words} words; {kept:?} were kept"));
    }
}

fn state(world: &World, session: SessionId) -> Session {
    let mut state = Session::default();
    world.log(session).iter().for_each(|entry| session::fold(&mut state, entry));
    state
}

fn open_run(world: &World, session: SessionId) -> Option<RunId> {
    state(world, session).open_run
}

/// I12: what is served for `n` is the fold of the entries up to `n`.
async fn view(world: &Arc<World>, session: SessionId) {
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let Answered::Yes(view) = ask(&process, async { hub.open(session).view().await }).await else { return };
    if world.record().erased.contains(&session) {
        return;
    }
    let mut state = Session::default();
    let log = world.log(session);
    log.iter().filter(|entry| entry.seq <= view.seq).for_each(|entry| session::fold(&mut state, entry));
    if session::view(&state) != view {
        world.broken(|| format!("I12 the view of {session} at {} is not the fold of its log", view.seq));
    }
}

/// Changes or withdraws a message that waits.
async fn queued(world: &Arc<World>, session: SessionId) {
    let Some(turn) = state(world, session).queue.front().map(|queued| queued.turn) else { return };
    world.met("a message waited");
    let command = if world.chance(50) {
        Command::RemoveQueued { turn }
    } else {
        Command::EditQueued { turn, message: Message::text("changed while it waited") }
    };
    _ = submit(world, session, command).await;
}

async fn edit(world: &Arc<World>, session: SessionId) {
    let turns: Vec<TurnId> = state(world, session).turns.iter().map(|turn| turn.id).collect();
    let Some(turn) = world.dice().pick(&turns).copied() else { return };
    let key = MessageKey(world.id().to_string());
    _ = submit(
        world,
        session,
        Command::EditMessage { turn, message: Message::text("edited"), key: Some(key) },
    )
    .await;
}

async fn branch(world: &Arc<World>, session: SessionId) {
    let turns: Vec<TurnId> = state(world, session).turns.iter().map(|turn| turn.id).collect();
    let Some(turn) = world.dice().pick(&turns).copied() else { return };
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let branched =
        ask(&process, async { hub.branch(session, turn).await.map(|handle| handle.session()) }).await;
    if let Answered::Yes(branch) = branched {
        world.met("a session was branched");
        world.record().sessions.push(branch);
    }
}

async fn erase(world: &Arc<World>, session: SessionId) {
    if !world.chance(30) {
        return;
    }
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    // Readers and clients may meet it from now on, whether it succeeds or not.
    world.record().erased.push(session);
    if let Answered::Yes(()) = ask(&process, async { hub.erase(session).await }).await {
        world.met("a session was erased");
        if !world.log(session).is_empty() {
            world.broken(|| format!("I3 {session} was erased and is there"));
        }
    }
}

/// Asks for what cannot be, which must change nothing (P13): the run that is going on goes on.
async fn refused(world: &Arc<World>, session: SessionId) {
    let turn = TurnId(999_999);
    let command = match world.below(3) {
        0 => Command::EditMessage { turn, message: Message::text("nowhere"), key: None },
        1 => Command::Undo { from: Some(turn) },
        _ => Command::EditMessage { turn, message: Message::default(), key: None },
    };
    if submit(world, session, command).await.is_some() {
        world.broken(|| format!("P13 {session} accepted what cannot be"));
    }
    world.met("what cannot be was refused");
}

/// Adds an id and takes it away again: then it leads nowhere (P18).
async fn other_id(world: &Arc<World>, session: SessionId) {
    let id = SessionId(world.id());
    if submit(world, session, Command::AddId { id }).await.is_none()
        || submit(world, session, Command::RemoveId { id }).await.is_none()
    {
        return;
    }
    world.met("an id was taken away");
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    if let Answered::Yes(_) = ask(&process, async { hub.open(id).submit(Command::PutBack).await }).await {
        world.broken(|| format!("P18 {id} was taken away and leads to {session}"));
    }
    let (message, mode, key) = message(world);
    if let Answered::Yes(_) = ask(&process, post_once(&hub, id, message, mode, key)).await {
        world.broken(|| format!("P18 {id} was taken away and takes messages for {session}"));
    }
}

/// Speaks to a session that there is not (P13).
async fn nobody(world: &Arc<World>) {
    let Some(Up { process, hub, .. }) = world.any_node() else { return };
    let id = SessionId(world.id());
    let (message, mode, key) = message(world);
    if let Answered::Yes(_) = ask(&process, post_once(&hub, id, message, mode, key)).await {
        world.broken(|| format!("P13 the session {id} came from nowhere"));
    }
    world.met("a message went to nobody");
}

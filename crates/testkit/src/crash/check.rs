//! Reopens what a child left and holds it against what the witness heard.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hub::CommandError;
use session::{BlobHash, Entry, Event, RunEnd, Seq, SessionId, UserId};
use store::blob::Blobs;
use store::{Catalog, ListQuery, LogStore, OpenError, Shelf};

use super::agent::WordAgent;
use super::laws::{self, Broken};
use super::rebuild;
use super::stage::{Post, Stage};
use super::witness::{Asked, Line, Op, Witness, say};
use super::work::{ERASED_WORD, show_hidden};

/// Requests of a checker have numbers that no workload gives.
const FIRST_OP: u64 = 1_000_000;

/// Checks everything once, leaves the store quiet, and tells where each log ends. Ends without closing anything.
///
/// # Errors
/// When something that must work does not.
pub async fn check(directory: &Path, witness: &Witness, round: u64) -> anyhow::Result<()> {
    show_hidden(directory)?;
    let stage = Stage::with(directory, 0, FIRST_OP, WordAgent { hurries: true }).await?;
    let mut broken = Broken(witness.broken.clone());
    let sessions = present(&mut broken, &stage, witness).await?;
    for session in &sessions {
        stage.quiet(*session).await;
    }
    let logs = read(&stage, &sessions).await?;
    for (session, log) in &logs {
        laws::chain(&mut broken, *session, log);
        laws::seen(&mut broken, witness, *session, log);
        laws::messages(&mut broken, witness, *session, log);
        laws::words(&mut broken, witness, *session, log);
    }
    blobs(&mut broken, &stage, witness).await;
    erase_again(&mut broken, &stage, witness).await;
    let sessions = present(&mut broken, &stage, witness).await?;
    ask_again(&mut broken, &stage, witness, &sessions).await;
    go_on(&mut broken, &stage, &sessions, round).await?;
    stage.store.settle().await?;
    let logs = read(&stage, &sessions).await?;
    rebuild::compare(&mut broken, stage.store.as_ref(), &logs).await?;
    gone(&mut broken, directory, witness)?;
    tell(&logs, broken);
    Ok(())
}

/// Opens once more: nothing is left to repair, so nothing changes.
///
/// # Errors
/// When something that must work does not.
pub async fn again(directory: &Path, witness: &Witness) -> anyhow::Result<()> {
    let mut broken = Broken::default();
    let stage = Stage::with(directory, 0, FIRST_OP, WordAgent { hurries: true }).await?;
    let sessions = present(&mut broken, &stage, witness).await?;
    let logs = read(&stage, &sessions).await?;
    stage.close().await;
    let connection = rusqlite::Connection::open(directory.join("everturn.db"))?;
    let integrity: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    broken.unless(integrity == "ok", || format!("integrity_check: {integrity}"));
    tell(&logs, broken);
    Ok(())
}

fn tell(logs: &BTreeMap<SessionId, Vec<Entry>>, broken: Broken) {
    for (session, log) in logs {
        if let Some(last) = log.last() {
            say(&Line::Head { session: *session, seq: last.seq, hash: last.hash });
        }
    }
    broken.0.into_iter().for_each(|why| say(&Line::Broken { why }));
    say(&Line::End);
}

/// The sessions that are there: those of the list and those of the witness. Acknowledged ones must be there,
/// erased ones must be gone.
async fn present(
    broken: &mut Broken,
    stage: &Stage,
    witness: &Witness,
) -> anyhow::Result<BTreeSet<SessionId>> {
    let mut sessions = BTreeSet::new();
    for shelf in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
        let rows = stage.store.list(ListQuery::of(UserId::FIRST, shelf)).await?;
        sessions.extend(rows.iter().map(|row| row.session));
    }
    for session in witness.sessions() {
        let erased = witness.erased(session);
        match stage.store.open(session).await {
            Ok(_) => {
                broken.unless(erased != Some(true), || format!("{session}: was erased and is there"));
                sessions.insert(session);
            }
            Err(OpenError::Deleted(_)) => {
                broken.unless(erased.is_some(), || format!("{session}: is deleted, and nobody asked"));
            }
            Err(OpenError::Unknown(_)) => {
                broken.unless(!witness.exists(session), || {
                    format!("{session}: was acknowledged and is unknown")
                });
            }
            Err(error) => broken.unless(false, || format!("{session}: {error}")),
        }
    }
    Ok(sessions)
}

async fn read(
    stage: &Stage,
    sessions: &BTreeSet<SessionId>,
) -> anyhow::Result<BTreeMap<SessionId, Vec<Entry>>> {
    let mut logs = BTreeMap::new();
    for session in sessions {
        logs.insert(*session, store::read_all(stage.store.as_ref(), *session, Seq(0)).await?);
    }
    Ok(logs)
}

/// Attachments that were acknowledged are there, unless they went with their session.
async fn blobs(broken: &mut Broken, stage: &Stage, witness: &Witness) {
    for op in witness.ops.values().filter(|op| op.acked.is_some()) {
        let Asked::Blob { hash, text, session } = &op.what else { continue };
        if witness.erased(*session).is_none() {
            let kept = stage.store.blob(hash.clone()).await;
            broken.unless(matches!(&kept, Ok(Some(bytes)) if bytes == text.as_bytes()), || {
                format!("the blob `{text}` was acknowledged and is {kept:?}")
            });
        }
    }
}

/// Whoever got no answer to an erasure asks again, and then it is done.
async fn erase_again(broken: &mut Broken, stage: &Stage, witness: &Witness) {
    let asked = |session: &SessionId| witness.erased(*session) == Some(false);
    for session in witness.sessions().into_iter().filter(asked) {
        let erased = stage.hub.erase(session).await;
        let gone = matches!(erased, Ok(()) | Err(CommandError::Deleted(_) | CommandError::Unknown(_)));
        broken.unless(gone, || format!("{session}: cannot be erased: {erased:?}"));
    }
}

/// Every key that was ever asked gives the turn that it was given, and one message.
async fn ask_again(broken: &mut Broken, stage: &Stage, witness: &Witness, sessions: &BTreeSet<SessionId>) {
    for op in witness.ops.values() {
        let Asked::Post { session, text, mode, key: Some(key), blob } = &op.what else { continue };
        if !sessions.contains(session) || !witness.exists(*session) {
            continue;
        }
        let post = Post { text, mode: mode.clone(), key: Some(&key.0), blob: blob.clone() };
        let first = stage.hub.open(*session).submit(post.command()).await;
        let second = stage.hub.open(*session).submit(post.command()).await;
        let turn =
            |answer: &Result<hub::Acknowledged, CommandError>| answer.as_ref().ok().and_then(|ack| ack.turn);
        let expected = op.acked.and_then(|acked| acked.turn).or(turn(&first));
        broken.unless(expected.is_some() && turn(&first) == expected && turn(&second) == expected, || {
            format!("{session}: `{text}` asked again gives {first:?} and {second:?}, not {expected:?}")
        });
    }
}

/// Every session takes a new message and answers it.
async fn go_on(
    broken: &mut Broken,
    stage: &Stage,
    sessions: &BTreeSet<SessionId>,
    round: u64,
) -> anyhow::Result<()> {
    let text = format!("n{round} words=3");
    for session in sessions {
        stage.quiet(*session).await;
        let posted = stage.hub.open(*session).submit(Post::keyed(&text).command()).await;
        let Ok(Some(turn)) = posted.as_ref().map(|ack| ack.turn) else {
            broken.unless(false, || format!("{session}: takes no message: {posted:?}"));
            continue;
        };
        stage.quiet(*session).await;
        let log = store::read_all(stage.store.as_ref(), *session, Seq(turn.0)).await?;
        let ended = |entry: &Entry| matches!(&entry.event, Event::RunEnded { turn: of, end: RunEnd::Completed, .. } if *of == turn);
        broken.unless(log.iter().any(ended), || format!("{session}: a new message is not answered"));
    }
    Ok(())
}

/// What was erased is in no file any more.
fn gone(broken: &mut Broken, directory: &Path, witness: &Witness) -> anyhow::Result<()> {
    let used = |hash: &BlobHash| {
        let uses = |op: &Op| matches!(&op.what, Asked::Post { blob: Some(blob), .. } if blob == hash);
        witness.ops.values().any(|op| op.acked.is_some() && uses(op))
    };
    let words: Vec<String> = witness
        .ops
        .values()
        .filter_map(|op| match &op.what {
            Asked::Post { session, text, .. } if witness.erased(*session).is_some() => Some(text),
            // A blob that no message came to use belongs to no session.
            Asked::Blob { session, text, hash } if witness.erased(*session).is_some() && used(hash) => {
                Some(text)
            }
            _ => None,
        })
        .flat_map(|text| {
            text.split_whitespace().filter(|word| word.starts_with(ERASED_WORD)).map(str::to_owned)
        })
        .collect();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = fs::read(entry.path())?;
            for word in &words {
                let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
                broken.unless(!found, || format!("`{word}` was erased and is in {}", entry.path().display()));
            }
        }
    }
    Ok(())
}

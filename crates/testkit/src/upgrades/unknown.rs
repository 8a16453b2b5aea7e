//! Entries of kinds that only a newer version knows: kept byte for byte and skipped, and the session goes on.

use std::sync::Arc;

use anyhow::{Context, ensure};
use hub::{Clock, SystemClock};
use serde_json::json;
use session::{Entry, Event, NodeId, Seq, SessionId};
use store::sqlite::{Settings, SqliteStore};
use store::{Append, Catalog, Claiming, LogStore, Urgency};

use super::golden::Golden;
use super::reading::{settle_in, visit};
use crate::Report;

/// What a newer version may have written. Reading it and writing it again would change the first.
const BODIES: [&str; 2] =
    [r#"{ "weather_changed" : {"to": "föhn", "b":1, "a": 1.50, "b2":[1e3,null]} }"#, r#"{"moon_rose":{}}"#];

/// Every session of every golden store that was at rest.
///
/// # Errors
/// When a store or a server cannot be used.
pub(super) fn all(report: &mut Report, goldens: &[Golden], model_port: u16) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (mut count, mut broken) = (0, Vec::new());
    for mut golden in Golden::all()?.into_iter().take(goldens.len()) {
        let home = tempfile::tempdir()?;
        let setup = settle_in(&golden, home.path(), model_port)?;
        let settings = || Settings { directory: setup.data.clone(), reserve_bytes: 0 };
        let store = SqliteStore::open(settings())?;
        let mut written = Vec::new();
        for told in golden.told.sessions.iter_mut().filter(|told| told.cut_off.is_none()) {
            let session = SessionId(told.session);
            written.push((session, runtime.block_on(write(&store, session))?));
            told.entries += BODIES.len() as u64;
            if let Some(view) = &mut told.view {
                view["seq"] = json!(told.entries);
            }
        }
        drop(store);
        let mut found = visit(&golden, &setup)?;
        let store = SqliteStore::open(settings())?;
        // What is not packed is read from the tail, and then all of it from packs.
        for _ in 0..2 {
            for (session, entries) in &written {
                let kept = runtime.block_on(read(&store, *session, entries))?;
                if kept != *entries {
                    found.push(format!("{session}: {entries:?} became {kept:?}"));
                }
            }
            runtime.block_on(store.settle())?;
        }
        count += written.len() * BODIES.len();
        broken.extend(found.into_iter().map(|what| format!("{}: {what}", golden.name)));
    }
    report.line("unknown.entries", count, goldens.len() * 20, count >= goldens.len() * 20);
    super::broken(report, "unknown", &broken);
    Ok(())
}

/// Appends to a log what a newer version would have.
async fn write(store: &SqliteStore, session: SessionId) -> anyhow::Result<Vec<Entry>> {
    let last = store.open(session).await?.end;
    let now = SystemClock.now();
    let node = NodeId(SystemClock.id());
    store.heartbeat(node, now).await?;
    let claim = store.claim(session, node, Claiming::Existing, now).await?;
    let (mut link, mut entries) = (last, Vec::new());
    for body in BODIES {
        let entry = Entry::open(&link, link.seq.next(), now, claim.epoch, body, None)?;
        ensure!(matches!(entry.event, Event::Unknown { .. }), "{body} is known");
        link = entry.link();
        entries.push(entry);
    }
    let appended = entries.iter().cloned().map(Arc::new).collect();
    let append = Append { claim, last, entries: appended, urgency: Urgency::Normal };
    store.append(vec![append]).await.pop().context("an append is answered")??;
    Ok(entries)
}

/// The same entries, as they stand there now.
async fn read(store: &SqliteStore, session: SessionId, entries: &[Entry]) -> anyhow::Result<Vec<Entry>> {
    let first = entries.first().map_or(Seq(1), |entry| entry.seq);
    Ok(store.read(session, Seq(first.0 - 1), entries.len()).await?)
}

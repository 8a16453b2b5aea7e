//! The list, the turns and the words of search, folded from the logs anew and held against what the store answers.

use std::collections::{BTreeMap, BTreeSet};

use session::{Entry, SessionId, TurnId, UserId};
use store::catalog::{TurnIndex, document};
use store::words::words;
use store::{Catalog, Document, DocumentKind, Hit, ListQuery, ListRow, Shelf};

use super::laws::Broken;

/// The logs of one user.
type Logs<'a> = BTreeMap<SessionId, &'a [Entry]>;

/// Compares every projection with the logs, for each user as he sees them.
///
/// # Errors
/// When the store does not answer.
pub async fn compare(
    broken: &mut Broken,
    store: &dyn Catalog,
    logs: &BTreeMap<SessionId, Vec<Entry>>,
) -> anyhow::Result<()> {
    let mut by_user: BTreeMap<UserId, Logs<'_>> = BTreeMap::from([(UserId::FIRST, Logs::new())]);
    for (session, log) in logs {
        by_user.entry(row(*session, log).user).or_default().insert(*session, log);
    }
    for (user, logs) in &by_user {
        list(broken, store, *user, logs).await?;
        search(broken, store, *user, logs).await?;
    }
    for (session, log) in logs {
        let mut turns = TurnIndex::default();
        log.iter().for_each(|entry| turns.apply(entry));
        let stored = store.turns(*session, None, usize::MAX).await?;
        let folded = turns.page(None, usize::MAX);
        broken
            .unless(stored == folded, || format!("{session}: turns are {stored:?}, the log says {folded:?}"));
    }
    Ok(())
}

/// A session's row of the list, from its log alone.
fn row(session: SessionId, log: &[Entry]) -> ListRow {
    let mut row = ListRow::new(session);
    for entry in log {
        row.apply(entry);
    }
    row
}

async fn list(broken: &mut Broken, store: &dyn Catalog, user: UserId, logs: &Logs<'_>) -> anyhow::Result<()> {
    let mut listed = BTreeMap::new();
    for shelf in [Shelf::Active, Shelf::Archived, Shelf::Trash] {
        for row in store.list(ListQuery::of(user, shelf)).await? {
            broken.unless(row.shelf() == shelf, || format!("{}: stands on a wrong shelf", row.session));
            listed.insert(row.session, row);
        }
    }
    for (session, log) in logs {
        let mut folded = row(*session, log);
        let stored = listed.remove(session);
        if let Some(stored) = &stored {
            // What was in the trash before its time was kept went there when the store was brought to that schema.
            folded.trashed_at = folded.trashed_at.max(stored.trashed_at.filter(|_| folded.trashed));
            // What waited for a person before that was kept does so from its next run on.
            folded.needs = folded.needs.and(stored.needs);
        }
        broken.unless(stored.as_ref() == Some(&folded), || {
            format!("{session}: the list says {stored:?}, the log {folded:?}")
        });
    }
    broken.unless(listed.is_empty(), || format!("the list has sessions without a log: {:?}", listed.keys()));
    Ok(())
}

/// The documents that a reader of a session sees, with their words.
fn documents(session: SessionId, log: &[Entry]) -> BTreeMap<Hit, BTreeSet<String>> {
    let mut found: BTreeMap<(TurnId, DocumentKind), Document> = BTreeMap::new();
    let mut turns = TurnIndex::default();
    for (at, entry) in log.iter().enumerate() {
        turns.apply(entry);
        if let Some(document) = document(entry, |run| session::run_text(run, &log[..at])) {
            let key = (document.turn, document.kind);
            let time = found.get(&key).map_or(document.time, |known| known.time);
            found.insert(key, Document { time, ..document });
        }
    }
    let seen = found.into_values().filter(|one| one.kind == DocumentKind::Title || turns.shows(one.turn));
    let told = seen.map(|Document { turn, kind, seq, time, text }| {
        let words = words(&text).into_iter().map(|word| word.text).collect();
        (Hit { session, turn, kind, time, seq }, words)
    });
    told.collect()
}

async fn search(
    broken: &mut Broken,
    store: &dyn Catalog,
    user: UserId,
    logs: &Logs<'_>,
) -> anyhow::Result<()> {
    let all: BTreeMap<Hit, BTreeSet<String>> =
        logs.iter().flat_map(|(session, log)| documents(*session, log)).collect();
    // The first word of each message is its own; its answers repeat it.
    let names: BTreeSet<&String> = all
        .iter()
        .filter(|(hit, _)| hit.kind == DocumentKind::Message)
        .flat_map(|(_, words)| words.iter().filter(|word| word.starts_with(['m', 'n', 'k'])))
        .collect();
    // The last word of a search may be the beginning of a word.
    let has = |words: &BTreeSet<String>, name: &str| words.iter().any(|word| word.starts_with(name));
    for name in names {
        let expected: BTreeSet<Hit> =
            all.iter().filter(|(_, words)| has(words, name)).map(|(hit, _)| *hit).collect();
        let hits = store.search(store::SearchQuery::new(user, name.clone(), usize::MAX)).await?;
        let found: BTreeSet<Hit> = hits.iter().copied().collect();
        broken.unless(hits.len() == found.len() && found == expected, || {
            format!("search `{name}` finds {hits:?}, the logs have {expected:?}")
        });
    }
    Ok(())
}

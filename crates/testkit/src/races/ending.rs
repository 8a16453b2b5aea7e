//! Whether list, pages and search agree with a rebuild from the log, and with the model's opinion.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use hub::Hub;
use session::{Entry, RunId, Seq, SessionId, TurnId, UserId, fold_turn, run_text, turn_view};
use store::catalog::{TurnIndex, document};
use store::{DocumentKind, ListQuery, ListRow, Shelf, Store};

use super::judge::Sums;
use super::model::{Model, text};
use super::seen::Strings;

/// Turns in one page: small, so that there are many.
const PAGE: usize = 7;
/// Words that are searched for one by one.
const WORDS: usize = 120;
/// Turns that are also folded from the whole log.
const FOLDED: usize = 60;

/// What the catalog says once it has caught up.
#[derive(Debug, Default)]
pub(super) struct Found {
    row: Option<ListRow>,
    open_runs: usize,
    rows: Vec<store::TurnRow>,
    /// Pages from the newest back, as one list, oldest first.
    turns: Vec<(TurnId, String)>,
    hits: BTreeMap<String, Documents>,
}

type Documents = BTreeSet<(TurnId, DocumentKind)>;

/// Asks the catalog everything. The session is at rest.
pub(super) async fn ask(
    hub: &Hub,
    store: &dyn Store,
    session: SessionId,
    anchor: SessionId,
    log: &[Entry],
) -> anyhow::Result<Found> {
    store.settle().await.context("settle")?;
    let query = ListQuery { count: 100, ..ListQuery::of(UserId::FIRST, Shelf::Active) };
    let row = store.list(query).await.context("list")?.into_iter().find(|row| row.session == session);
    let open_runs = store.open_runs().await.context("list open runs")?;
    let open_runs = open_runs.iter().filter(|run| run.session == session).count();
    let rows = store.turns(session, None, usize::MAX).await.context("list turns")?;
    let handle = hub.open(anchor);
    let mut turns: Vec<(TurnId, String)> = Vec::new();
    loop {
        let before = turns.first().map(|(turn, _)| *turn);
        let page = handle.page(before, PAGE).await.context("read a page")?;
        if page.is_empty() {
            break;
        }
        let page: Vec<_> =
            page.iter().map(|turn| Ok((turn.turn, canonical(turn)?))).collect::<anyhow::Result<_>>()?;
        turns.splice(0..0, page);
        anyhow::ensure!(turns.len() <= log.len(), "pages do not end");
    }
    let mut hits = BTreeMap::new();
    for word in words(log) {
        let found = store
            .search(store::SearchQuery::new(UserId::FIRST, word.clone(), log.len()))
            .await
            .context("search")?;
        let found = found.iter().filter(|hit| hit.session == session).map(|hit| (hit.turn, hit.kind));
        hits.insert(word, found.collect());
    }
    Ok(Found { row, open_runs, rows, turns, hits })
}

fn canonical(turn: &session::TurnView) -> anyhow::Result<String> {
    Ok(serde_json::to_value(turn)?.to_string())
}

/// Everything that can be found, as the log says.
fn documents(log: &[Entry]) -> BTreeMap<(TurnId, DocumentKind), String> {
    let (mut documents, mut turns) = (BTreeMap::new(), TurnIndex::default());
    for (at, entry) in log.iter().enumerate() {
        turns.apply(entry);
        let answer = |run: RunId| {
            let from = usize::try_from(run.0).unwrap_or(usize::MAX).saturating_sub(1).min(at);
            run_text(run, &log[from..=at])
        };
        if let Some(document) = document(entry, answer) {
            documents.insert((document.turn, document.kind), document.text);
        }
    }
    documents.retain(|(turn, kind), _| *kind == DocumentKind::Title || turns.shows(*turn));
    documents
}

/// A word that every message has, and a spread of words that few have.
fn words(log: &[Entry]) -> Vec<String> {
    let documents = documents(log);
    let step = (documents.len() / WORDS).max(1);
    let some = documents.values().step_by(step).filter_map(|text| text.split_whitespace().last());
    let firsts = documents.values().step_by(step).filter_map(|text| text.split_whitespace().next());
    some.chain(firsts).chain(["said"]).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Compares what the catalog said with the log and with the model at its end.
pub(super) fn compare(
    found: &Found,
    session: SessionId,
    log: &[Entry],
    (model, strings): (&mut Model, &mut Strings),
    sums: &mut Sums,
) -> anyhow::Result<()> {
    compare_list(found, session, log, model, sums);
    compare_pages(found, log, &model.all_turns(strings), sums)?;
    compare_search(found, log, model, sums);
    Ok(())
}

fn compare_list(found: &Found, session: SessionId, log: &[Entry], model: &Model, sums: &mut Sums) {
    let mut row = ListRow::new(session);
    for entry in log {
        row.apply(entry);
    }
    if found.row.as_ref() != Some(&row) {
        sums.complain(|sums| &mut sums.list, || format!("the list has {:?}, the log {row:?}", found.row));
    }
    if found.open_runs != model.open.iter().len() {
        let told = || format!("the store names {} open runs, the model {:?}", found.open_runs, model.open);
        sums.complain(|sums| &mut sums.list, told);
    }
    let (pinned, active) = model.pinned_and_active();
    let seen = (row.title.clone(), row.named_by_person, row.run, row.messages, row.pinned);
    let own = (model.title.clone(), model.named, model.open.map(RunId), model.messages, pinned);
    // A finished call may leave the row alone for a second.
    let fresh = (active - 1_000_000..=active).contains(&row.active_at.0);
    if seen != own || !fresh {
        sums.complain(
            |sums| &mut sums.list,
            || format!("the list has {row:?}, the model {own:?} at {active}"),
        );
    }
}

fn compare_pages(
    found: &Found,
    log: &[Entry],
    own: &[std::sync::Arc<str>],
    sums: &mut Sums,
) -> anyhow::Result<()> {
    let mut index = TurnIndex::default();
    log.iter().for_each(|entry| index.apply(entry));
    let rows = index.page(None, usize::MAX);
    if rows != found.rows {
        let differs = rows.iter().zip(&found.rows).find(|(log, store)| log != store);
        let counts = (rows.len(), found.rows.len());
        sums.complain(
            |sums| &mut sums.pages,
            || format!("rows of turns {counts:?}, first other one {differs:?}"),
        );
    }
    if found.turns.len() != own.len() {
        let counts = (found.turns.len(), own.len());
        sums.complain(|sums| &mut sums.pages, || format!("pages and model have {counts:?} turns"));
    }
    for ((_, page), own) in found.turns.iter().zip(own) {
        if page.as_str() != own.as_ref() {
            sums.complain(|sums| &mut sums.pages, || format!("the page has\n  {page}\n  the model\n  {own}"));
        }
    }
    for (turn, page) in found.turns.iter().rev().take(FOLDED) {
        let from = usize::try_from(turn.0.saturating_sub(1)).unwrap_or(0);
        let folded = fold_turn(*turn, &log[from..]).context("a turn of a page is not in the log")?;
        let folded = canonical(&turn_view(&folded))?;
        if *page != folded {
            sums.complain(
                |sums| &mut sums.pages,
                || format!("the page has\n  {page}\n  the log\n  {folded}"),
            );
        }
    }
    Ok(())
}

fn compare_search(found: &Found, log: &[Entry], model: &Model, sums: &mut Sums) {
    let documents = documents(log);
    for (word, hits) in &found.hits {
        // The last word of a search may be the beginning of a word.
        let has = |text: &str| text.split_whitespace().any(|other| other.starts_with(word));
        let own: Documents = documents.iter().filter(|(_, text)| has(text)).map(|(at, _)| *at).collect();
        if *hits != own {
            let counts = (hits.len(), own.len());
            let other = hits.symmetric_difference(&own).next().copied();
            let told =
                || format!("search for {word} found {counts:?} (store, log), first other one {other:?}");
            sums.complain(|sums| &mut sums.search, told);
        }
    }
    // The model: every visible message can be found by a word that all of them have.
    let messages = found.hits.get("said");
    for turn in &model.turns {
        let said = text(&turn.message, "text").split_whitespace().any(|word| word == "said");
        let hit = messages.is_some_and(|hits| hits.contains(&(TurnId(turn.id), DocumentKind::Message)));
        if said && !hit {
            sums.complain(
                |sums| &mut sums.search,
                || format!("the visible message {} is not found", turn.id),
            );
        }
    }
}

/// The whole log, read page by page.
pub(super) async fn read_log(store: &dyn store::LogStore, id: SessionId) -> anyhow::Result<Vec<Entry>> {
    let opened = store.open(id).await.context("open the session")?;
    let mut log: Vec<Entry> = Vec::new();
    while (log.len() as u64) < opened.end.seq.0 {
        let entries =
            store.read(opened.session, Seq(log.len() as u64), 8_192).await.context("read the log")?;
        anyhow::ensure!(!entries.is_empty(), "the log ends early");
        log.extend(entries);
    }
    Ok(log)
}

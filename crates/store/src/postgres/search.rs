//! The search index: documents, their words, and queries.
//!
//! The words are cut by [`crate::words`], not by PostgreSQL: a `tsvector` of them says which documents can match, and
//! phrases are looked up in the words in order. Positions of a `tsvector` end at 16,383 and cannot do that.

use std::collections::BTreeSet;

use deadpool_postgres::{Client, GenericClient, Transaction};
use session::{Entry, Event, RunId, Seq, SessionId, Time, TurnId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::PAGE_BYTES;
use crate::catalog::{DocumentKind, Hit, SearchQuery, SearchScope, document, newest};
use crate::error::ReadError;
use crate::words::{self, Phrase, WordEnd};

use super::notes::shelf_number;
use super::{Fault, int, number, read};

/// The version of the format of the words. Raise it with every change: the words of every log are then rebuilt.
pub(super) const FORM: i32 = 1;
/// Bytes of different words of one text that can be found; PostgreSQL accepts a mebibyte.
const WORDS_BYTES_MAX: usize = 1_000_000;
/// Entries that are read at once, and logs that are looked up at once, when the index is rebuilt.
const ENTRIES_AT_ONCE: usize = 2_000;
const LOGS_AT_ONCE: i64 = 500;

/// Applies an entry to the search index.
pub(super) async fn note(transaction: &Transaction<'_>, no: i64, entry: &Entry) -> Result<(), Fault> {
    if let Event::MessageSteered { turn, run } = entry.event {
        return steer(transaction, no, turn, run).await;
    }
    let text = match &entry.event {
        Event::RunEnded { run, .. } | Event::RecoverySettled { run, .. } => {
            run_text(transaction, no, *run, entry.seq).await?
        }
        _ => String::new(),
    };
    let Some(found) = document(entry, |_| text) else { return Ok(()) };
    let run = match found.kind {
        DocumentKind::Title | DocumentKind::Message => 0,
        DocumentKind::Answer(run) => int(run.0),
    };
    let text = format!(" {} ", words::indexed(&found.text));
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    let new = text.split_ascii_whitespace().filter(|word| seen.insert(*word));
    let fitting = new.take_while(|word| {
        bytes += word.len();
        bytes <= WORDS_BYTES_MAX
    });
    let words: Vec<&str> = fitting.collect();
    let sql = "INSERT INTO documents (no, turn, run, shown, time, seq, words, text)
               VALUES ($1, $2, $3, $2, $4, $5, array_to_tsvector($6::TEXT[]), $7)
               ON CONFLICT (no, turn, run) DO UPDATE SET seq = excluded.seq, words = excluded.words, text = excluded.text";
    let (turn, time, seq) = (int(found.turn.0), found.time.0, int(found.seq.0));
    transaction.execute(sql, &[&no, &turn, &run, &time, &seq, &words, &text]).await.map(drop)
}

/// Ties the visibility of a steered message to the turn of the run that it went into.
async fn steer(transaction: &Transaction<'_>, no: i64, turn: TurnId, run: RunId) -> Result<(), Fault> {
    let sql = "SELECT body FROM entries WHERE no = $1 AND seq = $2";
    let started = transaction.query_opt(sql, &[&no, &int(run.0)]).await?;
    let started = started.and_then(|row| serde_json::from_str(row.get(0)).ok());
    if let Some(Event::RunStarted { turn: into, .. }) = started {
        let sql = "UPDATE documents SET shown = $3 WHERE no = $1 AND turn = $2 AND run = 0";
        transaction.execute(sql, &[&no, &int(turn.0), &int(into.0)]).await?;
    }
    Ok(())
}

async fn run_text(transaction: &Transaction<'_>, no: i64, run: RunId, end: Seq) -> Result<String, Fault> {
    let sql = "SELECT seq, time, epoch, hash, body FROM entries WHERE no = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq";
    let rows = transaction.query(sql, &[&no, &int(run.0), &int(end.0)]).await?;
    Ok(session::run_text(run, &read::chained(&rows)))
}

/// Rebuilds words of an earlier form, one log per transaction. If the start is interrupted, the next one continues.
pub(super) async fn rebuild(client: &mut Client) -> Result<(), Fault> {
    let sql = "SELECT no FROM logs WHERE words_form < $1 ORDER BY words_form, no LIMIT $2";
    let mut rebuilt = 0_u64;
    loop {
        let logs = client.query(sql, &[&FORM, &LOGS_AT_ONCE]).await?;
        if logs.is_empty() {
            break;
        }
        for row in &logs {
            rebuild_log(client, row.get(0)).await?;
        }
        rebuilt += logs.len() as u64;
        tracing::info!(sessions = rebuilt, "rebuilding the search index");
    }
    Ok(())
}

async fn rebuild_log(client: &mut Client, no: i64) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    transaction.execute("DELETE FROM documents WHERE no = $1", &[&no]).await?;
    let mut after = Seq(0);
    // Damage ends the rebuild of a log; a reader of the session is told of it.
    loop {
        let entries = match read::stretch(&transaction, no, after, ENTRIES_AT_ONCE, PAGE_BYTES).await {
            Ok(entries) => entries,
            Err(ReadError::Damaged { .. }) => break,
            Err(error) => {
                tracing::warn!(reason = %error, "failed to read a log for search");
                break;
            }
        };
        let Some(last) = entries.last() else { break };
        after = last.seq;
        for entry in &entries {
            note(&transaction, no, entry).await?;
        }
    }
    transaction.execute("UPDATE logs SET words_form = $2 WHERE no = $1", &[&no, &FORM]).await?;
    transaction.commit().await
}

/// Returns the newest documents that have all the words.
pub(super) async fn find(client: &Client, query: &SearchQuery) -> Result<Vec<Hit>, Fault> {
    let phrases = words::phrases(&query.words);
    if phrases.is_empty() {
        return Ok(Vec::new());
    }
    let mut hits = Vec::new();
    if query.scope.has_names() {
        hits.extend(find_in(client, "turn = 0", &phrases, query).await?);
    }
    let texts = match query.scope {
        SearchScope::Names => return Ok(newest(hits, query.count)),
        SearchScope::Everything | SearchScope::Texts => "turn > 0",
        SearchScope::Messages => "turn > 0 AND run = 0",
        SearchScope::Answers => "turn > 0 AND run > 0",
    };
    hits.extend(find_in(client, texts, &phrases, query).await?);
    Ok(newest(hits, query.count))
}

async fn find_in(
    client: &Client,
    kind: &str,
    phrases: &[Phrase],
    query: &SearchQuery,
) -> Result<Vec<Hit>, Fault> {
    let sql = format!(
        "SELECT logs.key, turn, run, documents.time, seq
         FROM documents JOIN logs USING (no) JOIN list USING (no)
         WHERE {kind} AND words @@ $1::TEXT::tsquery AND user_id = $2 AND shelf = ANY($3)
         AND NOT EXISTS (SELECT 1 FROM unnest($4::TEXT[]) AS phrase (words) WHERE strpos(text, phrase.words) = 0)
         AND (documents.time, logs.key, seq) < ($5, $6, $7)
         AND ($8::UUID IS NULL OR project = $8) AND ($9::BIGINT IS NULL OR active_at >= $9)
         AND ($10::TEXT IS NULL OR EXISTS (SELECT 1 FROM list_tags WHERE list_tags.no = list.no AND tag = $10))
         AND (turn = 0 OR EXISTS (SELECT 1 FROM turns
             WHERE turns.no = documents.no AND turns.turn = shown AND hidden IS NULL))
         ORDER BY documents.time DESC, logs.key DESC, seq DESC LIMIT $11"
    );
    let (expression, in_order) = (expression(phrases), in_order(phrases));
    let shelves: Vec<i16> = query.shelves.iter().map(|shelf| shelf_number(*shelf)).collect();
    let (time, session, seq) = query
        .before
        .map_or((i64::MAX, uuid::Uuid::max(), i64::MAX), |at| (at.time.0, at.session.0, int(at.seq.0)));
    let project = query.project.map(|project| project.0);
    let since = query.active_since.map(|time| time.0);
    let count = i64::try_from(query.count).unwrap_or(i64::MAX);
    let asked: [&(dyn ToSql + Sync); 11] = [
        &expression,
        &query.user.0,
        &shelves,
        &in_order,
        &time,
        &session,
        &seq,
        &project,
        &since,
        &query.tag,
        &count,
    ];
    let statement = client.prepare_cached(&sql).await?;
    let rows = client.query(&statement, &asked).await?;
    let hit = |row: &Row| Hit {
        session: SessionId(row.get("key")),
        turn: TurnId(number(row, "turn")),
        kind: match number(row, "run") {
            0 if number(row, "turn") == 0 => DocumentKind::Title,
            0 => DocumentKind::Message,
            run => DocumentKind::Answer(RunId(run)),
        },
        time: Time(row.get("time")),
        seq: Seq(number(row, "seq")),
    };
    Ok(rows.iter().map(hit).collect())
}

/// Returns all words of a query as a `tsquery`. They consist of letters and digits, so none is read as an operator.
fn expression(phrases: &[Phrase]) -> String {
    let mut words = Vec::new();
    for phrase in phrases {
        words.extend(phrase.words.iter().map(|word| format!("'{word}'")));
        if let Some(last) = words.last_mut().filter(|_| phrase.ending == WordEnd::Prefix) {
            last.push_str(":*");
        }
    }
    words.join(" & ")
}

/// Returns the phrases of more than one word, formatted like `text`: each word between spaces.
fn in_order(phrases: &[Phrase]) -> Vec<String> {
    let several = phrases.iter().filter(|phrase| phrase.words.len() > 1);
    let written = several.map(|phrase| match phrase.ending {
        WordEnd::Whole => format!(" {} ", phrase.words.join(" ")),
        WordEnd::Prefix => format!(" {}", phrase.words.join(" ")),
    });
    written.collect()
}

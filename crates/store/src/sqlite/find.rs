//! Finds texts by their words. A connection that reads the logs has the file of words attached, so that both are asked in
//! one statement.

use std::path::Path;

use rusqlite::{Connection, ToSql};
use session::{RunId, Seq, SessionId, Time, TurnId};
use uuid::Uuid;

use crate::catalog::{DocumentKind, Hit, SearchQuery, SearchScope, newest};
use crate::words::{WordEnd, phrases};

use super::Fault;
use super::append::shelf_number;
use super::search::{Table, ids_at};

/// Returns the newest documents that have all the words.
pub(super) fn find(connection: &Connection, path: &Path, query: &SearchQuery) -> Result<Vec<Hit>, Fault> {
    let Some(expression) = expression(&query.words).filter(|_| query.count > 0) else {
        return Ok(Vec::new());
    };
    attach(connection, path)?;
    let mut hits = Vec::new();
    if query.scope.has_names() {
        hits.extend(find_in(connection, Table::Names, &expression, query)?);
    }
    if query.scope.has_texts() {
        hits.extend(find_in(connection, Table::Fulltext, &expression, query)?);
    }
    Ok(newest(hits, query.count))
}

/// Attaches the search index. A rebuilt one replaces the one that this connection knows.
fn attach(connection: &Connection, path: &Path) -> Result<(), Fault> {
    let attached: bool = connection
        .prepare_cached("SELECT count(*) FROM pragma_database_list WHERE name = 'words'")?
        .query_row([], |row| row.get(0))?;
    if attached {
        let other = "SELECT 1 FROM main.search, words.written WHERE search.generation != written.generation";
        if !connection.prepare_cached(other)?.exists([])? {
            return Ok(());
        }
        connection.flush_prepared_statement_cache();
        connection.execute("DETACH words", [])?;
    }
    connection.execute("ATTACH ? AS words", [path.to_string_lossy()])?;
    Ok(())
}

/// Returns a query in the syntax of FTS5. Words consist of letters and digits, so none is read as an operator.
fn expression(query: &str) -> Option<String> {
    let phrases = phrases(query).into_iter().map(|phrase| {
        let prefix = if phrase.ending == WordEnd::Prefix { " *" } else { "" };
        format!("\"{}\"{prefix}", phrase.words.join(" "))
    });
    Some(phrases.collect::<Vec<_>>().join(" ")).filter(|expression| !expression.is_empty())
}

/// Returns the newest hits in one index. Ids order documents only to about a millisecond, so all hits of the page's oldest
/// millisecond are returned, unsorted; the caller sorts and truncates them.
fn find_in(
    connection: &Connection,
    table: Table,
    expression: &str,
    query: &SearchQuery,
) -> Result<Vec<Hit>, Fault> {
    let table = table.name();
    let user = query.user.0.as_bytes();
    let newest = query.before.map_or(i64::MAX, |before| *ids_at(before.time).end());
    let shelves: Vec<String> = query.shelves.iter().map(|shelf| shelf_number(*shelf).to_string()).collect();
    let mut narrowed = format!(" AND list.shelf IN ({})", shelves.join(", "));
    narrowed += match query.scope {
        SearchScope::Everything | SearchScope::Names | SearchScope::Texts => "",
        SearchScope::Messages => " AND documents.run IS NULL",
        SearchScope::Answers => " AND documents.run IS NOT NULL",
    };
    let (project, since) =
        (query.project.map(|project| *project.0.as_bytes()), query.active_since.map(|time| time.0));
    let mut asked: Vec<&dyn ToSql> = vec![&expression, user, &newest];
    if let Some(project) = &project {
        asked.push(project);
        narrowed += &format!(" AND list.project = ?{}", asked.len());
    }
    if let Some(tag) = &query.tag {
        asked.push(tag);
        narrowed += &format!(
            " AND EXISTS (SELECT 1 FROM main.list_tags AS tags WHERE tags.no = list.no AND tag = ?{})",
            asked.len()
        );
    }
    if let Some(since) = &since {
        asked.push(since);
        narrowed += &format!(" AND list.active_at >= ?{}", asked.len());
    }
    let mut select = connection.prepare_cached(&format!(
        // In this order, so that reading ends with the last document that is wanted.
        "SELECT documents.id, logs.key, documents.turn, documents.run, documents.time, documents.seq
         FROM words.{table} CROSS JOIN words.documents AS documents ON documents.id = {table}.rowid
         CROSS JOIN main.logs AS logs USING (no) CROSS JOIN main.list AS list USING (no)
         WHERE {table} MATCH ?1 AND {table}.rowid <= ?3 AND trunk = 0 AND user = ?2{narrowed}
         AND (documents.turn = 0 OR EXISTS (SELECT 1 FROM main.turns AS turns
             WHERE turns.no = documents.no AND turns.turn = documents.shown AND turns.hidden IS NULL))
         ORDER BY {table}.rowid DESC"
    ))?;
    let mut rows = select.query(asked.as_slice())?;
    let mut hits: Vec<Hit> = Vec::new();
    let mut oldest = i64::MIN;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? < oldest {
            break;
        }
        let turn = TurnId(row.get(2)?);
        let kind = match row.get::<_, Option<u64>>(3)? {
            Some(run) => DocumentKind::Answer(RunId(run)),
            None if turn == TurnId(0) => DocumentKind::Title,
            None => DocumentKind::Message,
        };
        let session = SessionId(Uuid::from_bytes(row.get(1)?));
        let hit = Hit { session, turn, kind, time: Time(row.get(4)?), seq: Seq(row.get(5)?) };
        if query.before.is_none_or(|before| hit.cursor() < before) {
            hits.push(hit);
            if hits.len() == query.count {
                oldest = *ids_at(hit.time).start();
            }
        }
    }
    Ok(hits)
}

//! Finding names, messages and answers, with the words around what was found.

use axum::Json;
use hub::{DocumentKind, Hit, SaidBy, Shelf};
use serde::{Deserialize, Serialize};
use session::{ProjectId, RunId, Time};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::error::{ErrorCode, Problem};
use super::super::extract::Asked;
use super::super::gate::{Gate, Policy};
use super::sessions::ShelfName;
use crate::excerpt::{self, Stretch};

/// Hits of an answer, at most and when nothing is said.
const HITS_MAX: usize = 200;
const HITS: usize = 50;
/// Hits that are shown with the words around them; reading those is most of the work.
const EXCERPTS_MAX: usize = 40;
/// Bytes of a search.
const SEARCH_MAX: usize = 500;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(search))
}

/// Who said something.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    Person,
    Agent,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct SearchAsked {
    /// Words that all must be there.
    words: String,
    /// Hits, at most 200; 50 if left out.
    count: Option<usize>,
    /// Only on this shelf; everywhere but in the trash if left out.
    #[param(inline)]
    shelf: Option<ShelfName>,
    /// Only in sessions of this project.
    project: Option<Uuid>,
    /// Only in sessions with this tag.
    tag: Option<String>,
    /// Only what was said by one of them; names of sessions are nobody's words.
    #[param(inline)]
    said_by: Option<Speaker>,
    /// Only in sessions that were active since then, in microseconds since 1970.
    from: Option<i64>,
}

/// A name, a message or an answer with all the words.
#[derive(Debug, Serialize, ToSchema)]
struct FoundBody {
    session: Uuid,
    title: Option<String>,
    archived: bool,
    trashed: bool,
    /// None for a session's name.
    turn: Option<u64>,
    /// The run whose answer it is; none for a message and a name.
    run: Option<u64>,
    /// When it was said.
    at: Option<i64>,
    /// What stands around the words; the first 40 hits have it.
    excerpt: Vec<Stretch>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SearchBody {
    hits: Vec<FoundBody>,
}

/// Finds names of sessions, which come first, and messages and answers, newest first.
#[utoipa::path(get, path = "/api/v1/search", tag = "sessions", params(SearchAsked), security(("token" = [])),
    responses((status = 200, body = SearchBody), (status = "default", body = Problem)))]
async fn search(desk: Desk, Asked(asked): Asked<SearchAsked>) -> Result<Json<SearchBody>, Problem> {
    if asked.words.len() > SEARCH_MAX {
        return Err(Problem::new(ErrorCode::BadRequest, format!("A search has at most {SEARCH_MAX} bytes.")));
    }
    let count = asked.count.unwrap_or(HITS).clamp(1, HITS_MAX);
    let shelves =
        asked.shelf.map_or_else(|| vec![Shelf::Active, Shelf::Archived], |shelf| vec![shelf.into()]);
    // What cannot be a tag is on no session.
    let tag = asked.tag.map(|text| session::organise::tag(&text).unwrap_or_default());
    let said_by = asked.said_by.map(|speaker| match speaker {
        Speaker::Person => SaidBy::Person,
        Speaker::Agent => SaidBy::Agent,
    });
    let narrow = |query: &mut hub::SearchQuery| {
        query.shelves = shelves;
        (query.tag, query.said_by) = (tag, said_by);
        (query.project, query.active_since) = (asked.project.map(ProjectId), asked.from.map(Time));
    };
    let mut found = desk.search(asked.words.clone(), count, narrow).await?;
    found.sort_by_key(|hit| hit.kind != DocumentKind::Title);
    let mut hits = Vec::with_capacity(found.len());
    for (at, hit) in found.into_iter().enumerate() {
        let words = Some(asked.words.as_str()).filter(|_| at < EXCERPTS_MAX);
        // A session may be erased since it was found.
        if let Some(body) = look(&desk, &hit, words).await? {
            hits.push(body);
        }
    }
    Ok(Json(SearchBody { hits }))
}

/// What is told of a hit; none when its session is gone.
async fn look(desk: &Desk, hit: &Hit, words: Option<&str>) -> Result<Option<FoundBody>, Problem> {
    let Some(row) = desk.row(hit.session).await? else { return Ok(None) };
    let run = match hit.kind {
        DocumentKind::Title | DocumentKind::Message => None,
        DocumentKind::Answer(RunId(run)) => Some(run),
    };
    let named = hit.kind == DocumentKind::Title;
    let said = match words {
        Some(_) if named => Some((row.created_at, row.title.clone().unwrap_or_default())),
        Some(_) => desk.said(hit.session, hit.turn, run.map(RunId)).await?,
        None => None,
    };
    let (at, text) = said.unzip();
    let excerpt = text.zip(words).map(|(text, words)| excerpt::around(&text, words)).unwrap_or_default();
    Ok(Some(FoundBody {
        session: row.session.0,
        archived: row.archived,
        trashed: row.trashed,
        title: row.title,
        turn: (!named).then_some(hit.turn.0),
        run,
        at: at.map(|time: Time| time.0),
        excerpt,
    }))
}

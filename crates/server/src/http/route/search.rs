//! Finding names, messages and answers, with the words around what was found.

use std::fmt;

use axum::Json;
use hub::{DocumentKind, Hit, SearchCursor, SearchScope, Shelf};
use serde::{Deserialize, Serialize};
use session::{ProjectId, RunId, Seq, SessionId, Time};
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

/// The author of a text.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    Person,
    Agent,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct SearchAsked {
    /// The words to find. All must occur, regardless of case and accents; the last one matches as a prefix.
    words: String,
    /// The `next` of the previous page.
    before: Option<String>,
    /// The number of hits, at most 200; 50 if omitted.
    count: Option<usize>,
    /// Search only this shelf. If omitted, everything except the trash.
    #[param(inline)]
    shelf: Option<ShelfName>,
    /// Search only sessions in this project.
    project: Option<Uuid>,
    /// Search only sessions with this tag.
    tag: Option<String>,
    /// Search only messages or only answers. Session titles are then left out.
    #[param(inline)]
    said_by: Option<Speaker>,
    /// Search only sessions active since this time, in microseconds since 1970.
    from: Option<i64>,
}

/// A title, message or answer that contains all the words.
#[derive(Debug, Serialize, ToSchema)]
struct FoundBody {
    session: Uuid,
    title: Option<String>,
    archived: bool,
    trashed: bool,
    /// The turn; null for a session's title.
    turn: Option<u64>,
    /// The run that wrote the answer; null for messages and titles.
    run: Option<u64>,
    /// The time when the text was first complete.
    at: i64,
    /// The text around the words. Only the first 40 hits have it.
    excerpt: Vec<Stretch>,
}

/// A page of hits.
#[derive(Debug, Serialize, ToSchema)]
struct SearchBody {
    hits: Vec<FoundBody>,
    /// The `before` of the next page; null on the last page.
    next: Option<String>,
}

/// Positions among names and among texts. Both have a share of each page, so that neither hides the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pages {
    names: Reached,
    texts: Reached,
}

/// A position among the hits of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Start,
    After(SearchCursor),
    End,
}

impl Reached {
    /// Returns the position after a page for which `count` hits were requested.
    fn after(self, hits: &[Hit], count: usize) -> Self {
        match hits.last() {
            Some(last) if hits.len() == count => Self::After(last.cursor()),
            // Nothing was requested.
            None if count == 0 => self,
            Some(_) | None => Self::End,
        }
    }

    fn cursor(self) -> Option<SearchCursor> {
        match self {
            Self::After(cursor) => Some(cursor),
            Self::Start | Self::End => None,
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "start" => return Some(Self::Start),
            "end" => return Some(Self::End),
            _ => {}
        }
        let (time, rest) = text.split_once('.')?;
        let (session, seq) = rest.split_once('.')?;
        let (time, session) = (Time(time.parse().ok()?), SessionId(session.parse().ok()?));
        Some(Self::After(SearchCursor { time, session, seq: Seq(seq.parse().ok()?) }))
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::End => f.write_str("end"),
            Self::After(SearchCursor { time, session, seq }) => {
                write!(f, "{}.{}.{}", time.0, session.0, seq.0)
            }
        }
    }
}

impl Pages {
    fn read(text: &str) -> Result<Self, Problem> {
        let read = text.split_once('_').and_then(|(names, texts)| {
            Some(Self { names: Reached::read(names)?, texts: Reached::read(texts)? })
        });
        read.ok_or_else(|| Problem::new(ErrorCode::BadRequest, "`before` must be the `next` of a page."))
    }

    fn next(self) -> Option<String> {
        let ended = self.names == Reached::End && self.texts == Reached::End;
        (!ended).then(|| format!("{}_{}", self.names, self.texts))
    }
}

/// Searches session titles, messages and answers. Titles come first, then texts, newest first.
///
/// Titles take up at most half of a page, rounded up. Removed, edited and undone texts are not found.
#[utoipa::path(get, path = "/api/v1/search", operation_id = "search.query", tag = "search",
    params(SearchAsked), security(("token" = [])),
    responses((status = 200, body = SearchBody), (status = "default", body = Problem)))]
async fn search(desk: Desk, Asked(asked): Asked<SearchAsked>) -> Result<Json<SearchBody>, Problem> {
    if asked.words.len() > SEARCH_MAX {
        return Err(Problem::new(
            ErrorCode::BadRequest,
            format!("A search can have at most {SEARCH_MAX} bytes."),
        ));
    }
    let mut pages = match asked.before.as_deref() {
        Some(before) => Pages::read(before)?,
        // A name has no speaker, so a search by speaker skips names.
        None if asked.said_by.is_some() => Pages { names: Reached::End, texts: Reached::Start },
        None => Pages { names: Reached::Start, texts: Reached::Start },
    };
    let count = asked.count.unwrap_or(HITS).clamp(1, HITS_MAX);
    let mut found = Vec::new();
    if pages.names != Reached::End {
        let share = count.div_ceil(2);
        found = find(&desk, &asked, SearchScope::Names, pages.names.cursor(), share).await?;
        pages.names = pages.names.after(&found, share);
    }
    if pages.texts != Reached::End {
        let scope = match asked.said_by {
            None => SearchScope::Texts,
            Some(Speaker::Person) => SearchScope::Messages,
            Some(Speaker::Agent) => SearchScope::Answers,
        };
        let share = count - found.len();
        let texts = find(&desk, &asked, scope, pages.texts.cursor(), share).await?;
        pages.texts = pages.texts.after(&texts, share);
        found.extend(texts);
    }
    let mut hits = Vec::with_capacity(found.len());
    for (at, hit) in found.into_iter().enumerate() {
        let words = Some(asked.words.as_str()).filter(|_| at < EXCERPTS_MAX);
        // A session may be erased since it was found.
        if let Some(body) = look(&desk, &hit, words).await? {
            hits.push(body);
        }
    }
    Ok(Json(SearchBody { hits, next: pages.next() }))
}

async fn find(
    desk: &Desk,
    asked: &SearchAsked,
    scope: SearchScope,
    before: Option<SearchCursor>,
    count: usize,
) -> Result<Vec<Hit>, Problem> {
    let shelves =
        asked.shelf.map_or_else(|| vec![Shelf::Active, Shelf::Archived], |shelf| vec![shelf.into()]);
    // What cannot be a tag is on no session.
    let tag = asked.tag.as_deref().map(|text| session::organise::tag(text).unwrap_or_default());
    let narrow = |query: &mut hub::SearchQuery| {
        (query.scope, query.before, query.shelves, query.tag) = (scope, before, shelves, tag);
        (query.project, query.active_since) = (asked.project.map(ProjectId), asked.from.map(Time));
    };
    desk.search(asked.words.clone(), count, narrow).await
}

/// What is told of a hit; none when its session is gone.
async fn look(desk: &Desk, hit: &Hit, words: Option<&str>) -> Result<Option<FoundBody>, Problem> {
    let Some(row) = desk.row(hit.session).await? else { return Ok(None) };
    let run = match hit.kind {
        DocumentKind::Title | DocumentKind::Message => None,
        DocumentKind::Answer(RunId(run)) => Some(run),
    };
    let named = hit.kind == DocumentKind::Title;
    let text = match words {
        Some(_) if named => row.title.clone(),
        Some(_) => desk.said(hit.session, hit.seq, run.map(RunId)).await?,
        None => None,
    };
    let excerpt = match text.zip(words.map(str::to_owned)) {
        // A text may have megabytes, which other requests must not wait for.
        Some((text, words)) => tokio::task::spawn_blocking(move || excerpt::around(&text, &words))
            .await
            .map_err(|error| Problem::new(ErrorCode::Unavailable, error.to_string()))?,
        None => Vec::new(),
    };
    Ok(Some(FoundBody {
        session: row.session.0,
        archived: row.archived,
        trashed: row.trashed,
        title: row.title,
        turn: (!named).then_some(hit.turn.0),
        run,
        at: hit.time.0,
        excerpt,
    }))
}

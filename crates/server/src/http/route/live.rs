//! One WebSocket a browser tab: all the sessions that it shows, each from its own cursor, and the list. The entries are
//! those of the event streams, with the same numbers, for the same callers, for as long.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{self, BoxStream, SelectAll};
use futures_util::{FutureExt, SinkExt, StreamExt};
use hub::{Change, Followed, Follower, ListFollower, Shelf};
use serde::{Deserialize, Serialize};
use session::{Hash, Seq, Session, SessionId};
use store::people::Draft;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::desk::{Desk, Narrow, OpenStream};
use super::super::error::{ErrorCode, Problem};
use super::super::gate::{Gate, Policy};
use super::super::pages;
use super::super::wire::{EntryBody, Line};
use super::sessions::{self, ListBody};

/// How often a quiet socket says that it is alive. A reader that hears nothing for three times as long begins anew.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one frame may take to be taken. Networks that are gone say nothing.
const SEND_MAX: Duration = Duration::from_secs(30);
/// Bytes of what a reader may say at once.
const ASKED_BYTES_MAX: usize = 4 * 1024;
/// Bytes of entries that go into one frame when much is ready.
const FRAME_BYTES: usize = 64 * 1024;
/// Sessions that one socket may follow.
const FOLLOWED_MAX: usize = 64;
/// Lines that the list begins with.
const LIST_COUNT: usize = 50;

pub(crate) fn add(gate: Gate) -> Gate {
    gate.route(Policy::Read, routes!(live))
}

/// What a reader says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Asked {
    /// Without `after`: the session's state, then entries as they come. With it: every entry after it, then the same.
    /// With the `hash` of that entry, what follows is told only if the log still has it.
    Follow {
        session: Uuid,
        after: Option<u64>,
        hash: Option<Hash>,
    },
    Leave {
        session: Uuid,
    },
    FollowList {},
    /// Answered by a heartbeat at once, for a reader that wants to know whether the connection is alive.
    Ping {},
}

/// What a reader is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Told<'a> {
    /// The server's build and the version of its state format. A page of another build should be reloaded. A page built
    /// for another `shape` must ignore snapshots and ask for a reload.
    Hello {
        build: &'static str,
        shape: u32,
    },
    Snapshot {
        session: Uuid,
        state: &'a Session,
    },
    /// `caught_up` once everything up to the end of the log at that moment was told; what follows is live.
    Entries {
        session: Uuid,
        entries: Vec<EntryBody<'a>>,
        caught_up: bool,
        /// Of the last one.
        hash: Option<Hash>,
    },
    /// The reader was too slow, or the session moved; it follows again after the last entry that it has.
    CutOff {
        session: Uuid,
    },
    Refused {
        session: Option<Uuid>,
        problem: Problem,
    },
    List(ListBody),
    Line(Box<Line>),
    Gone {
        session: Uuid,
    },
    /// What the reader's user is writing in a session, and on which device.
    Draft {
        session: Uuid,
        text: &'a str,
        /// Counts the changes of the draft. A lower one than the last is late.
        revision: u64,
        device: Option<&'a str>,
    },
    /// Changes of the list were missed; it is followed anew.
    ListCutOff {},
    /// Whether anything can be kept at the moment; told when that changes, and first when it cannot.
    Store {
        writable: bool,
        /// Whether the disk is full.
        full: bool,
        problem: Option<&'a str>,
    },
    Heartbeat {},
}

impl Told<'_> {
    fn frame(&self) -> Message {
        // Our own types hold nothing that JSON cannot carry.
        Message::Text(Utf8Bytes::from(serde_json::to_string(self).unwrap_or_default()))
    }
}

/// Streams sessions and the session list over one WebSocket.
///
/// The client sends `{"follow":{"session":…,"after":…,"hash":…}}`, `{"leave":{"session":…}}`, `{"follow_list":{}}` and
/// `{"ping":{}}`. The server sends `hello`, `snapshot` (a session's state), `entries`, `cut_off`, `refused` (with a
/// problem), `draft`, `list`, `line`, `gone`, `list_cut_off`, `store` (whether writes succeed) and, after a ping or
/// five idle seconds, `heartbeat`.
#[utoipa::path(get, path = "/api/v1/live", operation_id = "live.connect", tag = "live",
    security(("token" = [])),
    responses((status = 101, description = "Switching to a WebSocket"), (status = "default", body = Problem)))]
async fn live(
    desk: Desk,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let no_socket =
        |error: WebSocketUpgradeRejection| Problem::new(ErrorCode::BadRequest, format!("{error}."));
    let upgrade = upgrade.map_err(no_socket)?;
    let stream = desk.open_stream()?;
    let upgrade = upgrade.max_message_size(ASKED_BYTES_MAX).max_frame_size(ASKED_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| {
        let live = Live { desk, feeds: SelectAll::new(), followed: HashMap::new() };
        live.run(socket, stream)
    }))
}

/// One socket.
struct Live {
    desk: Desk,
    /// What comes, of every session and the list.
    feeds: SelectAll<BoxStream<'static, Message>>,
    /// How to leave each: none is the list.
    followed: HashMap<Option<Uuid>, AbortHandle>,
}

impl Live {
    /// Until the reader leaves, may no longer read, or the server stops.
    async fn run(mut self, socket: WebSocket, stream: OpenStream) {
        let (mut sink, mut source) = socket.split();
        let mut end = stream.end();
        let mut next = Told::Hello { build: pages::build(), shape: session::SHAPE }.frame();
        self.feeds.push(store(&self.desk).boxed());
        loop {
            let sent = tokio::select! {
                biased;
                () = end.as_mut() => break,
                sent = tokio::time::timeout(SEND_MAX, sink.send(next)) => sent,
            };
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
            next = loop {
                let said = tokio::select! {
                    biased;
                    () = end.as_mut() => return close(&mut sink, close_code::POLICY).await,
                    said = source.next() => said,
                    Some(frame) = self.feeds.next() => break frame,
                    () = tokio::time::sleep(HEARTBEAT) => break Told::Heartbeat {}.frame(),
                };
                match said {
                    None | Some(Err(_) | Ok(Message::Close(_))) => return,
                    Some(Ok(Message::Text(text))) => {
                        if let Some(answer) = self.take(&text) {
                            break answer;
                        }
                    }
                    // Pings are answered below us.
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Binary(_))) => return close(&mut sink, close_code::UNSUPPORTED).await,
                }
            };
        }
        close(&mut sink, close_code::POLICY).await;
    }

    /// Does what the reader says. Returns a frame if there is something to answer at once.
    fn take(&mut self, text: &str) -> Option<Message> {
        let refused = match serde_json::from_str(text) {
            Err(error) => Some(Problem::new(ErrorCode::BadRequest, format!("{error}."))),
            Ok(Asked::Ping {}) => return Some(Told::Heartbeat {}.frame()),
            Ok(Asked::Leave { session }) => {
                self.leave(Some(session));
                None
            }
            Ok(Asked::Follow { session, after, hash }) => {
                let entries = entries(self.desk.clone(), session, after.map(|after| (Seq(after), hash)));
                let feed = stream::select(entries, drafts(self.desk.clone(), session));
                self.follow(Some(session), feed.boxed())
            }
            Ok(Asked::FollowList {}) => self.follow(None, list(self.desk.clone()).boxed()),
        };
        refused.map(|problem| Told::Refused { session: None, problem }.frame())
    }

    fn leave(&mut self, what: Option<Uuid>) {
        if let Some(handle) = self.followed.remove(&what) {
            handle.abort();
        }
    }

    fn follow(&mut self, what: Option<Uuid>, feed: BoxStream<'static, Message>) -> Option<Problem> {
        self.leave(what);
        if self.followed.len() >= FOLLOWED_MAX {
            let detail = format!(
                "At most {FOLLOWED_MAX} sessions can be followed over one connection. Leave one first."
            );
            return Some(Problem::new(ErrorCode::TooMany, detail));
        }
        let (handle, registration) = AbortHandle::new_pair();
        self.followed.insert(what, handle);
        self.feeds.push(Abortable::new(feed, registration).boxed());
        None
    }
}

async fn close(sink: &mut (impl SinkExt<Message> + Unpin), code: u16) {
    let frame = Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from_static("") }));
    // Whoever is gone already needs no word.
    drop(tokio::time::timeout(SEND_MAX, sink.send(frame)).await);
}

/// The last entry that a reader has, and its hash if the reader knows it.
type Cursor = (Seq, Option<Hash>);

/// Where the feed of a session is.
enum Feed {
    Begin(Option<Cursor>),
    Follow(Box<Follower>),
    End,
}

fn entries(
    desk: Desk,
    session: Uuid,
    after: Option<Cursor>,
) -> impl futures_util::Stream<Item = Message> + Send + 'static {
    stream::unfold((desk, Feed::Begin(after)), move |(desk, feed)| async move {
        let (frame, feed) = match feed {
            Feed::Begin(after) => match begin(&desk, session, after).await {
                Ok((frame, follower)) => (frame, Feed::Follow(Box::new(follower))),
                Err(problem) => (Told::Refused { session: Some(session), problem }.frame(), Feed::End),
            },
            Feed::Follow(mut follower) => match next(session, &mut follower).await {
                Ok(frame) => (frame, Feed::Follow(follower)),
                Err(frame) => (frame, Feed::End),
            },
            Feed::End => return None,
        };
        Some((frame, (desk, feed)))
    })
}

/// Whether anything can be kept, as that changes; nothing as long as it can.
fn store(desk: &Desk) -> impl futures_util::Stream<Item = Message> + Send + 'static {
    let mut trouble = desk.trouble();
    if trouble.borrow().is_some() {
        trouble.mark_changed();
    }
    stream::unfold(trouble, |mut trouble| async move {
        trouble.changed().await.ok()?;
        let now = trouble.borrow_and_update().clone();
        let (writable, full) = (now.is_none(), now.as_ref().is_some_and(|trouble| trouble.full));
        let problem = now.as_ref().map(|trouble| trouble.reason.as_str());
        Some((Told::Store { writable, full, problem }.frame(), trouble))
    })
}

/// Returns what the reader's user is writing in a session: the saved draft, then every change.
fn drafts(desk: Desk, session: Uuid) -> impl futures_util::Stream<Item = Message> + Send + 'static {
    let known = async move {
        let first = desk.first_id(SessionId(session)).await;
        drafts_of(&desk, session, first)
    };
    known.flatten_stream()
}

fn drafts_of(
    desk: &Desk,
    session: Uuid,
    first: SessionId,
) -> impl futures_util::Stream<Item = Message> + Send + use<> {
    // From before what is kept is read, so that no change falls in between.
    let changes = desk.follow_draft(first);
    let kept = desk.draft(first).ok();
    let kept = kept
        .map(|Draft { text, revision }| Told::Draft { session, text: &text, revision, device: None }.frame());
    let changes = changes.map(move |change| {
        let (text, device) = (&change.text, Some(change.device.as_str()));
        Told::Draft { session, text, revision: change.revision, device }.frame()
    });
    stream::iter(kept).chain(changes)
}

/// The first frame of a session, and who follows it from there.
async fn begin(desk: &Desk, session: Uuid, after: Option<Cursor>) -> Result<(Message, Follower), Problem> {
    let handle = desk.session(session).await?;
    if let Some((after, hash)) = after {
        let follower = match hash {
            Some(hash) => handle.follow_link(after, &hash.0).await?,
            None => handle.follow(after).await?,
        };
        let nothing = Told::Entries { session, entries: Vec::new(), caught_up: false, hash: None };
        return Ok((nothing.frame(), follower));
    }
    let mut state = handle.state().await?;
    state.project = desk.shown(state.project)?;
    let follower = handle.follow(state.head()).await?;
    Ok((Told::Snapshot { session, state: &state }.frame(), follower))
}

/// What comes next of a session, with all that is ready already; as an error, the last there is.
async fn next(session: Uuid, follower: &mut Follower) -> Result<Message, Message> {
    let mut gathered = Vec::new();
    let (mut size_bytes, mut caught_up) = (0, false);
    let mut followed = follower.next().await;
    loop {
        match followed {
            Ok(Followed::Entry(entry)) => {
                size_bytes += entry.body.len();
                gathered.push(entry);
            }
            Ok(Followed::CaughtUp) => caught_up = true,
            Err(error) if gathered.is_empty() => {
                tracing::debug!(reason = %error, "stream reader cut off");
                return Err(Told::CutOff { session }.frame());
            }
            // It is told the same when it is asked again.
            Err(_) => break,
        }
        if size_bytes >= FRAME_BYTES {
            break;
        }
        match follower.next().now_or_never() {
            Some(ready) => followed = ready,
            None => break,
        }
    }
    let hash = gathered.last().map(|entry| entry.link().hash);
    let entries = gathered.iter().map(|entry| EntryBody::from(entry.as_ref())).collect();
    Ok(Told::Entries { session, entries, caught_up, hash }.frame())
}

/// Where the feed of the list is.
enum ListFeed {
    Begin,
    Follow(ListFollower),
    End,
}

fn list(desk: Desk) -> impl futures_util::Stream<Item = Message> + Send + 'static {
    stream::unfold((desk, ListFeed::Begin), |(desk, feed)| async move {
        let (frame, feed) = match feed {
            ListFeed::Begin => {
                // From before the page is read, so that no change falls in between.
                let follower = desk.follow_list();
                match sessions::page(&desk, Shelf::Active, Narrow::default(), None, LIST_COUNT).await {
                    Ok(page) => (Told::List(page).frame(), ListFeed::Follow(follower)),
                    Err(problem) => (Told::Refused { session: None, problem }.frame(), ListFeed::End),
                }
            }
            ListFeed::Follow(mut follower) => match follower.next().await.as_deref() {
                Ok(Change::Line(line)) => {
                    // One whose project cannot be looked up is shown without it.
                    let project = desk.shown(line.project).unwrap_or(None).map(|project| project.0);
                    let line = Box::new(Line { project, ..Line::from(line) });
                    (Told::Line(line).frame(), ListFeed::Follow(follower))
                }
                Ok(Change::Gone { session, .. }) => {
                    (Told::Gone { session: session.0 }.frame(), ListFeed::Follow(follower))
                }
                Err(_) => (Told::ListCutOff {}.frame(), ListFeed::End),
            },
            ListFeed::End => return None,
        };
        Some((frame, (desk, feed)))
    })
}

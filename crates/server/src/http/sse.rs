//! Server-sent events: what a reader is sent, and how a stream of them ends. Data is JSON on one line and ids are
//! numbers and hashes, so that no content can forge an event.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream};
use hub::{Alarm, Change, Followed, Follower, ListFollower};
use serde::Serialize;
use tokio::time::Instant;

use crate::cursor::Cursor;

use super::desk::OpenStream;
use super::wire::{EntryBody, Line};

/// How often a quiet stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes sent in one go when much is ready.
const CHUNK_BYTES: usize = 64 * 1024;
/// A heartbeat has no id: it moves nobody's cursor.
const BEAT: &[u8] = b"event: heartbeat\ndata: {}\n\n";

/// Writes one event.
pub(crate) fn event(out: &mut BytesMut, name: &str, id: Option<Cursor>, data: &impl Serialize) {
    out.put_slice(b"event: ");
    out.put_slice(name.as_bytes());
    if let Some(id) = id {
        out.put_slice(format!("\nid: {id}").as_bytes());
    }
    out.put_slice(b"\ndata: ");
    let before = out.len();
    if serde_json::to_writer(out.writer(), data).is_err() {
        // Our own types hold nothing that JSON cannot carry.
        out.truncate(before);
        out.put_slice(b"{}");
    }
    out.put_slice(b"\n\n");
}

/// A reply whose body goes on for as long as `stream` does.
pub(crate) fn reply(stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(stream)).into_response()
}

/// What a stream waits for beside what it tells: its end, and the time to say that it is alive. Both last as
/// long as the stream, so that one that speaks touches neither.
struct Pulse {
    end: BoxFuture<'static, ()>,
    alarm: Alarm,
    stream: OpenStream,
}

/// What happened first.
enum Heard<T> {
    Told(T),
    Quiet,
    Stopped,
}

impl Pulse {
    fn new(stream: OpenStream) -> Self {
        Self { end: stream.end(), alarm: Alarm::new(Instant::now() + HEARTBEAT), stream }
    }

    /// Waits for what is told next. May be dropped while it waits as far as `told` may.
    async fn hear<T>(&mut self, told: impl Future<Output = T>) -> Heard<T> {
        let beat_at = Instant::now() + HEARTBEAT;
        tokio::select! {
            biased;
            () = self.end.as_mut() => Heard::Stopped,
            told = told => Heard::Told(told),
            () = self.alarm.until(beat_at) => Heard::Quiet,
        }
    }
}

/// The entries of a session after what was `begun` with, until the reader leaves, may no longer read, or the server stops.
pub(crate) fn entries(
    follower: Follower,
    begun: BytesMut,
    stream: OpenStream,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let first = (!begun.is_empty()).then(|| begun.freeze());
    let state = Some((follower, Pulse::new(stream), first));
    futures_util::stream::unfold(state, |state| async move {
        let (mut follower, mut pulse, first) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((follower, pulse, None))));
        }
        let mut out = BytesMut::new();
        let mut next = match pulse.hear(follower.next()).await {
            Heard::Told(next) => next,
            Heard::Quiet => return Some((Ok(Bytes::from_static(BEAT)), Some((follower, pulse, None)))),
            Heard::Stopped => return None,
        };
        // What is ready already goes along.
        loop {
            match next {
                Ok(followed) => write(&mut out, &followed),
                Err(error) => {
                    // The reader resumes after the last id that it has.
                    tracing::debug!(reason = %error, "stream reader cut off");
                    event(&mut out, "cut_off", None, &serde_json::json!({ "after": follower.cursor().0 }));
                    return Some((Ok(out.freeze()), None));
                }
            }
            if out.len() >= CHUNK_BYTES {
                break;
            }
            match follower.next().now_or_never() {
                Some(ready) => next = ready,
                None => break,
            }
        }
        Some((Ok(out.freeze()), Some((follower, pulse, None))))
    })
}

fn write(out: &mut BytesMut, followed: &Followed) {
    match followed {
        Followed::Entry(entry) => {
            event(out, "entry", Some(entry.link().into()), &EntryBody::from(entry.as_ref()));
        }
        Followed::CaughtUp => event(out, "caught_up", None, &serde_json::json!({})),
    }
}

/// The changes of the list after what was `begun` with, until the reader leaves, misses one, or the server stops.
pub(crate) fn changes(
    follower: ListFollower,
    begun: BytesMut,
    stream: OpenStream,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let state = Some((follower, Pulse::new(stream), Some(begun.freeze())));
    futures_util::stream::unfold(state, |state| async move {
        let (mut follower, mut pulse, first) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((follower, pulse, None))));
        }
        let mut out = BytesMut::new();
        match pulse.hear(follower.next()).await {
            Heard::Stopped => return None,
            Heard::Quiet => out.put_slice(BEAT),
            Heard::Told(change) => match change.as_deref() {
                Ok(Change::Line(line)) => {
                    let project = pulse.stream.shown(line.project).map(|project| project.0);
                    event(&mut out, "line", None, &Line { project, ..Line::from(line) });
                }
                Ok(Change::Gone { session, .. }) => {
                    event(&mut out, "gone", None, &serde_json::json!({ "session": session }));
                }
                Err(_) => {
                    event(&mut out, "cut_off", None, &serde_json::json!({}));
                    return Some((Ok(out.freeze()), None));
                }
            },
        }
        Some((Ok(out.freeze()), Some((follower, pulse, None))))
    })
}

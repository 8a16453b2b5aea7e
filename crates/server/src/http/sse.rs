//! Server-sent events: what a reader is sent, and how a stream of them ends. Data is JSON on one line and ids are
//! integers, so that no content can forge an event.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{FutureExt, Stream};
use hub::{Change, Followed, Follower, ListFollower};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::wire::{EntryBody, Line};

/// How often a quiet stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes sent in one go when much is ready.
const CHUNK_BYTES: usize = 64 * 1024;
/// A heartbeat has no id: it moves nobody's cursor.
const BEAT: &[u8] = b"event: heartbeat\ndata: {}\n\n";

/// Writes one event.
pub(crate) fn event(out: &mut BytesMut, name: &str, id: Option<u64>, data: &impl Serialize) {
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

/// The entries of a session after what was `begun` with, until the reader leaves or the server stops.
pub(crate) fn entries(
    follower: Follower,
    begun: BytesMut,
    stop: CancellationToken,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let first = (!begun.is_empty()).then(|| begun.freeze());
    let state = Some((follower, stop, first));
    futures_util::stream::unfold(state, |state| async move {
        let (mut follower, stop, first) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((follower, stop, None))));
        }
        let mut out = BytesMut::new();
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            next = follower.next() => Some(next),
            () = tokio::time::sleep(HEARTBEAT) => None,
        };
        let Some(mut next) = next else {
            return Some((Ok(Bytes::from_static(BEAT)), Some((follower, stop, None))));
        };
        // What is ready already goes along.
        loop {
            match next {
                Ok(followed) => write(&mut out, &followed),
                Err(error) => {
                    // The reader resumes after the last id that it has.
                    tracing::debug!(reason = %error, "a reader was cut off");
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
        Some((Ok(out.freeze()), Some((follower, stop, None))))
    })
}

fn write(out: &mut BytesMut, followed: &Followed) {
    match followed {
        Followed::Entry(entry) => {
            let body = EntryBody { seq: entry.seq.0, time: entry.time.0, event: &entry.event };
            event(out, "entry", Some(entry.seq.0), &body);
        }
        Followed::CaughtUp => event(out, "caught_up", None, &serde_json::json!({})),
    }
}

/// The changes of the list after what was `begun` with, until the reader leaves, misses one, or the server stops.
pub(crate) fn changes(
    follower: ListFollower,
    begun: BytesMut,
    stop: CancellationToken,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let state = Some((follower, stop, Some(begun.freeze())));
    futures_util::stream::unfold(state, |state| async move {
        let (mut follower, stop, first) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((follower, stop, None))));
        }
        let mut out = BytesMut::new();
        tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            change = follower.next() => match change.as_deref() {
                Ok(Change::Line(line)) => event(&mut out, "line", None, &Line::from(line)),
                Ok(Change::Gone(session)) => {
                    event(&mut out, "gone", None, &serde_json::json!({ "session": session }));
                }
                Err(_) => {
                    event(&mut out, "cut_off", None, &serde_json::json!({}));
                    return Some((Ok(out.freeze()), None));
                }
            },
            () = tokio::time::sleep(HEARTBEAT) => out.put_slice(BEAT),
        }
        Some((Ok(out.freeze()), Some((follower, stop, None))))
    })
}

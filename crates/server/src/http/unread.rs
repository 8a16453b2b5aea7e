//! What a route leaves unread of a request is read and thrown away, so that its answer arrives. A connection that is closed
//! while bytes wait in it is reset, and the reset can overtake the answer: whoever sent too much, or was not let in, would
//! hear of a broken connection instead of the reason.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// How much of a request is read for nothing, and for how long. Whoever sends more than that wants to be a burden.
const BYTES_MAX: usize = 16 * 1024 * 1024;
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Answers at once; what the answer did not need is read beside it.
pub(super) async fn read_the_rest(request: Request, next: Next) -> Response {
    // Whoever waits to be asked for the body is not asked.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return next.run(request).await;
    }
    let (give_back, mut unread) = oneshot::channel();
    let lend = |body| Body::new(Lent { body, give_back: Some(give_back) });
    let response = next.run(request.map(lend)).await;
    if let Ok(body) = unread.try_recv() {
        crate::spawn::spawn(async move {
            if tokio::time::timeout(WAIT_MAX, throw_away(body)).await.is_err() {
                tracing::debug!(seconds = WAIT_MAX.as_secs(), "request body not drained in time");
            }
        });
    }
    response
}

async fn throw_away(mut body: Body) {
    let mut room = BYTES_MAX;
    while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match room.checked_sub(length) {
            Some(left) => room = left,
            None => return,
        }
    }
}

/// A request's body that comes back when it was not read to its end.
struct Lent {
    body: Body,
    give_back: Option<oneshot::Sender<Body>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take()
            && !self.body.is_end_stream()
        {
            // A request that was given up is not waited for.
            drop(give_back.send(std::mem::take(&mut self.body)));
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

//! The accept loop: a limit on connections and on slow heads, and an end that does not wait for ever.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Connections at once. Each may hold a stream open for hours.
const CONNECTIONS_MAX: usize = 10_000;
/// Longest wait for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// How long requests that are being answered have to end once the server stops.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Serves until `stop`, then lets what is being answered end.
pub(crate) async fn serve(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Out of file handles, most likely: those that are open end some time.
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = room.clone().try_acquire_owned() else {
            tracing::warn!(most = CONNECTIONS_MAX, "a connection was refused: there are too many");
            continue;
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "small writes may wait");
        }
        let router = router.clone();
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let router = router.clone();
            async move {
                Ok::<_, Infallible>(
                    router
                        .oneshot(request.map(axum::body::Body::new))
                        .await
                        .unwrap_or_else(|never| match never {}),
                )
            }
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).keep_alive(true);
        let connection = connections.watch(builder.serve_connection(TokioIo::new(socket), service));
        crate::spawn::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(CLOSE_MAX, connections.shutdown()).await.is_err() {
        tracing::info!("some requests were cut off");
    }
}

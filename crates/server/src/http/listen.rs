//! The accept loop: a limit on connections and on slow heads, and an end that does not wait for ever.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Connections at once. Each may hold a stream open for hours.
const CONNECTIONS_MAX: u32 = 10_000;
/// Longest wait for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// How long requests that are being answered have to end once the server stops.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Serves until `stop`, then lets what is being answered end.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: axum::Router,
    stop: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file handles, most likely: those that are open end some time.
                tracing::warn!(%error, "failed to accept connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = room.clone().try_acquire_owned() else {
            tracing::warn!(most = CONNECTIONS_MAX, "connection rejected, too many open");
            continue;
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "failed to set TCP_NODELAY");
        }
        let answering = Answering { router: router.clone(), peer, tls: tls.clone(), stop: stop.clone() };
        crate::spawn::spawn(async move {
            if let Err(error) = answering.run(socket).await {
                tracing::debug!(%error, "connection closed");
            }
            drop(permit);
        });
    }
    drop(listener);
    // All of them are there again once every connection has ended.
    if tokio::time::timeout(CLOSE_MAX, room.acquire_many(CONNECTIONS_MAX)).await.is_err() {
        tracing::info!("requests cut off at shutdown");
    }
}

/// One connection.
struct Answering {
    router: axum::Router,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
}

impl Answering {
    async fn run(self, socket: TcpStream) -> anyhow::Result<()> {
        match self.tls.clone() {
            None => self.answer(socket).await,
            Some(tls) => {
                let safe = tokio::time::timeout(HEAD_MAX, tls.accept(socket)).await??;
                self.answer(safe).await
            }
        }
    }

    async fn answer(
        self,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> anyhow::Result<()> {
        let (router, peer, stop) = (self.router, self.peer, self.stop);
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            let router = router.clone();
            request.extensions_mut().insert(Peer(peer));
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
        let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service).with_upgrades());
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        Ok(connection.await?)
    }
}

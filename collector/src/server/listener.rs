//! Accepts and serves connections until shutdown, with timeouts and a connection limit that `axum::serve`
//! lacks.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tower::Service;

use crate::http::client_ip::Peer;
use crate::http::connection::{ConnectionLimits, Timer, WriteTimeout};
use crate::ingest::handler;
use crate::server::router::{after_panic, app};
use crate::server::state::AppState;
use crate::server::workers::Workers;

/// Serves until `stop` completes, then lets running requests finish within `drain_for`. Returns `false` if
/// some did not finish.
///
/// # Errors
/// If the system refuses to start threads.
pub async fn serve(
    listener: TcpListener,
    state: &AppState,
    stop: impl Future<Output = ()>,
    drain_for: Duration,
) -> io::Result<bool> {
    let workers = Workers::start(state.config().journal.sync)?;
    let limits = &state.config().ingest;
    let mut http = http1::Builder::new();
    http.header_read_timeout(Duration::from_secs(limits.head_seconds.into()))
        .max_headers(MOST_HEADERS)
        .max_buf_size(READ_BUFFER_BYTES);
    let answer_within = Duration::from_secs(limits.answer_seconds.into());
    let app = app(state.clone());
    let open = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(limits.connections));
    let shares = Arc::new(ConnectionLimits::new(limits.network_connections));
    let mut stop = pin!(stop);
    loop {
        let accept = async {
            let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
            (accept(&listener).await, permit)
        };
        let ((stream, address), permit) = tokio::select! {
            accepted = accept => accepted,
            () = &mut stop => break,
        };
        let peer = Peer::of(address.ip(), &limits.proxies);
        let Some(share) = shares.take(peer) else {
            state.counters().connection_refused();
            continue;
        };
        let timer = Timer::default();
        let mut http = http.clone();
        let service = service(state.clone(), app.clone(), peer, timer.clone());
        let watcher = open.watcher();
        workers.serve(async move {
            // Registers the socket with the worker's runtime, which polls it from here on.
            if let Ok(stream) = TcpStream::from_std(stream) {
                let stream = TokioIo::new(WriteTimeout::new(stream, answer_within));
                let connection = http.timer(timer).serve_connection(stream, service);
                // A client's protocol error concerns only its connection.
                let _ended = watcher.watch(connection).await;
            }
            drop((permit, share));
        });
    }
    drop(listener);
    Ok(timeout(drain_for, open.shutdown()).await.is_ok())
}

async fn accept(listener: &TcpListener) -> (std::net::TcpStream, SocketAddr) {
    loop {
        let accepted = listener.accept().await;
        match accepted.and_then(|(stream, address)| Ok((stream.into_std()?, address))) {
            Ok((stream, address)) => {
                // Responses are short: Nagle's algorithm would only delay them.
                let _unsupported = stream.set_nodelay(true);
                return (stream, address);
            }
            Err(error) => {
                // Most likely the process is out of file descriptors, which become free as connections end.
                tracing::warn!(%error, "Cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The service of one connection. Beacons bypass the router, since they are a thousand times more frequent
/// than other requests.
fn service(
    state: AppState,
    app: Router,
    peer: Peer,
    timer: Timer,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>>,
> {
    let shared = Arc::new((state, app, timer));
    service_fn(move |mut request: Request<Incoming>| {
        let shared = shared.clone();
        if peer != Peer::Own {
            request.extensions_mut().insert(peer);
        }
        async move {
            let (state, app, timer) = &*shared;
            if request.uri().path() == handler::PATH {
                return Ok(surviving_panics(handler::beacons(state.ingest(), timer, request)).await);
            }
            app.clone().call(request.map(Body::new)).await
        }
    })
}

/// Catches panics as [`CatchPanicLayer`](tower_http::catch_panic::CatchPanicLayer) does for the routes.
async fn surviving_panics(handler: impl Future<Output = Response>) -> Response {
    let mut handler = pin!(handler);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx)));
        polled.unwrap_or_else(|panic| Poll::Ready(after_panic(panic)))
    })
    .await
}

const MOST_HEADERS: usize = 64;
/// Buffer per connection. A request head can be up to twice as long, because the last read may fill the
/// buffer again. A body is read in parts of this size.
const READ_BUFFER_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let answer = surviving_panics(async {
            tokio::task::yield_now().await;
            panic!("as a fault would");
        });
        assert_eq!(answer.await.status(), 500);
    }
}

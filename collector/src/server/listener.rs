//! Accepts and serves connections until shutdown, with timeouts and a connection limit that `axum::serve`
//! lacks.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::http::client_ip::Peer;
use crate::http::connection::{Activity, ConnectionLimits, with_write_timeout};
use crate::server::router::app;
use crate::server::state::AppState;
use crate::time;

/// Serves until `stop` completes, then lets running requests finish within `drain_for`. Returns `false` if
/// some did not finish: they end with the runtime.
pub async fn serve(
    listener: TcpListener,
    state: &AppState,
    stop: impl Future<Output = ()>,
    drain_for: Duration,
) -> bool {
    let limits = &state.config().ingest;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.head_seconds.into()))
        .max_headers(MOST_HEADERS)
        .max_buf_size(READ_BUFFER_BYTES);
    let answer_within = Duration::from_secs(limits.answer_seconds.into());
    let app = app(state.clone());
    // Each connection has a receiver until it ends.
    let (ending, open) = watch::channel(());
    let permits = Arc::new(Semaphore::new(limits.connections));
    let shares = Arc::new(ConnectionLimits::new(limits.connections, limits.network_connections));
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
        let Some(share) = shares.take(peer, time::steady()) else {
            state.counters().connection_refused();
            continue;
        };
        let (begin, end) = (share.activity.clone(), share.activity.clone());
        let service = ServiceExt::<Request<Incoming>>::map_response(app.clone(), move |response| {
            end.end_request_with(response)
        });
        let service = TowerToHyperService::new(service.map_request(move |request| {
            begin.begin_request(time::steady());
            with(peer, request)
        }));
        let stream = TokioIo::new(with_write_timeout(stream, answer_within));
        let connection = http.serve_connection(stream, service);
        let mut ending = open.clone();
        tokio::spawn(async move {
            serve_one(connection, &share.activity, &mut ending).await;
            drop((permit, share, ending));
        });
    }
    drop((listener, open));
    let _none_is_open = ending.send(());
    timeout(drain_for, ending.closed()).await.is_ok()
}

/// Serves a connection until it ends or is told to end, then only completes the response under way.
async fn serve_one(
    connection: impl GracefulConnection,
    activity: &Activity,
    ending: &mut watch::Receiver<()>,
) {
    let mut connection = pin!(connection);
    let makes_room = tokio::select! {
        // A client's protocol error concerns only its connection.
        _ended = connection.as_mut() => return,
        _ = ending.changed() => false,
        () = activity.told_to_close() => true,
    };
    connection.as_mut().graceful_shutdown();
    // Hyper waits for the rest of a head that has begun to arrive.
    while timeout(END_WITHIN, connection.as_mut()).await.is_err() {
        if makes_room && !activity.has_request() {
            break;
        }
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
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

/// Lets handlers know the client, unless it is this machine.
fn with<B>(peer: Peer, mut request: Request<B>) -> Request<B> {
    if peer != Peer::Own {
        request.extensions_mut().insert(peer);
    }
    request
}

/// A connection that makes room for another, and has no request, ends within this.
const END_WITHIN: Duration = Duration::from_secs(2);

const MOST_HEADERS: usize = 64;
/// Buffer per connection. A request head can be up to twice as long, because the last read may fill the
/// buffer again. A body is read in parts of this size.
const READ_BUFFER_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::Response;
    use hyper::service::service_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::sync::Notify;
    use tokio::time::Instant;

    use super::*;

    /// The server has a request.
    static ASKED: Notify = Notify::const_new();
    /// The server may respond.
    static MAY_ANSWER: Notify = Notify::const_new();

    /// A connection to a server that waits before it responds.
    fn connected() -> (DuplexStream, Arc<Activity>, watch::Sender<()>) {
        let (client, server) = duplex(1_000);
        let activity = Arc::new(Activity::default());
        let (ending, mut open) = watch::channel(());
        let (begin, end) = (activity.clone(), activity.clone());
        let answer = service_fn(move |_| {
            begin.begin_request(Duration::ZERO);
            let end = end.clone();
            async move {
                ASKED.notify_one();
                MAY_ANSWER.notified().await;
                Ok::<_, Infallible>(end.end_request_with(Response::new(Body::from("whole"))))
            }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(server), answer);
        let told = activity.clone();
        tokio::spawn(async move { serve_one(connection, &told, &mut open).await });
        (client, activity, ending)
    }

    #[tokio::test]
    async fn an_idle_connection_ends_when_told() {
        let (mut client, activity, _ending) = connected();
        activity.close();
        assert_eq!(client.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_half_a_head_ends_when_told() {
        let (mut client, activity, _ending) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        tokio::task::yield_now().await;
        activity.close();
        let told = Instant::now();
        assert_eq!(client.read_to_end(&mut Vec::new()).await.unwrap(), 0);
        assert!(told.elapsed() <= END_WITHIN + Duration::from_millis(1), "{:?}", told.elapsed());
    }

    #[tokio::test]
    async fn a_response_under_way_completes_before_the_end() {
        let tells: [fn(&Activity, &watch::Sender<()>); 2] =
            [|activity, _| activity.close(), |_, ending| ending.send(()).expect("it is open")];
        for tell in tells {
            let (mut client, activity, ending) = connected();
            client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            ASKED.notified().await;
            tell(&activity, &ending);
            tokio::task::yield_now().await;
            MAY_ANSWER.notify_one();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            assert!(answer.ends_with(b"whole"), "{}", String::from_utf8_lossy(&answer));
        }
    }
}

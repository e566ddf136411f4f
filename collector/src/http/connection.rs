//! Limits of a connection: connections per client network, and a timeout for writes.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;
use tokio_io_timeout::TimeoutWriter;

use crate::http::client_ip::{ClientNetwork, Peer};

/// Limits of open connections, for each client network and together. The last eighth is kept for networks without a
/// connection. A part of it is kept for this machine and for proxies, so that no flood silences health checks. Beyond
/// these limits a new connection takes the place of an idle one: one without a request, or with a part of its head.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    open: Mutex<OpenConnections>,
    most: usize,
    most_of_network: usize,
}

/// Numbers of open connections. There are never more networks than connections.
#[derive(Debug, Default)]
struct OpenConnections {
    all: usize,
    by_network: HashMap<ClientNetwork, usize>,
    /// Connections of client networks, about in the order of their last requests.
    by_use: VecDeque<UsedConnection>,
}

/// A place in the queue, with the last use of the connection as it was then.
#[derive(Debug)]
struct UsedConnection {
    activity: Weak<Activity>,
    used_ms: u64,
}

/// When a connection was last used, and whether it is to end.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    used_ms: AtomicU64,
    /// Requests whose response has not ended.
    requests: AtomicUsize,
    close: Notify,
}

impl Activity {
    /// A request begins: its head is complete.
    pub(crate) fn begin_request(&self, now: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.touch(now);
    }

    /// The request ends with the body of its response.
    pub(crate) fn end_request_with(self: &Arc<Self>, response: Response) -> Response {
        if response.body().is_end_stream() {
            self.end_request();
            return response;
        }
        response.map(|body| Body::new(ObservedBody { body, activity: self.clone() }))
    }

    /// Whether a request has begun whose response has not ended.
    pub(crate) fn has_request(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    fn end_request(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    fn touch(&self, now: Duration) {
        self.used_ms.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// The connection is to end after its current response.
    pub(crate) fn close(&self) {
        self.close.notify_one();
    }

    /// Completes when the connection is to end after its current response.
    pub(crate) async fn told_to_close(&self) {
        self.close.notified().await;
    }
}

/// The body of a response. The request ends when it is dropped.
struct ObservedBody {
    body: Body,
    activity: Arc<Activity>,
}

impl HttpBody for ObservedBody {
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

impl Drop for ObservedBody {
    fn drop(&mut self) {
        self.activity.end_request();
    }
}

/// A connection's share of its network's limit, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    shares: Arc<ConnectionLimits>,
    network: Option<ClientNetwork>,
    pub(crate) activity: Arc<Activity>,
}

impl ConnectionLimits {
    pub(crate) fn new(most: usize, most_of_network: usize) -> Self {
        Self { open: Mutex::default(), most, most_of_network }
    }

    /// `None` if a limit is reached. This machine and proxies have none but the number of all connections, for which the
    /// caller waits.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer, now: Duration) -> Option<ConnectionPermit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let activity = Arc::new(Activity::default());
        activity.touch(now);
        let network = match peer {
            Peer::Own | Peer::OwnProxy | Peer::Proxy => None,
            Peer::Client(network) => {
                let all = open.all;
                let count = open.by_network.get(&network).copied().unwrap_or_default();
                let reserved = if count == 0 { self.most / OWN_RESERVE } else { self.most / NEW_RESERVE };
                if count >= self.most_of_network {
                    return None;
                }
                let is_full = all >= self.most - reserved;
                let makes_room = is_full && open.close_idle(now);
                // The idle one has its place until it has ended, so the new one gets one of the reserved places. Networks
                // with connections get half of these.
                let reserved = if count == 0 { self.most / OWN_RESERVE } else { self.most / NEW_RESERVE / 2 };
                let has_room = all < self.most - reserved;
                if is_full && !(makes_room && has_room) {
                    return None;
                }
                open.by_network.insert(network, count + 1);
                let used_ms = activity.used_ms.load(Ordering::Relaxed);
                open.by_use.push_back(UsedConnection { activity: Arc::downgrade(&activity), used_ms });
                Some(network)
            }
        };
        open.all += 1;
        Some(ConnectionPermit { shares: self.clone(), network, activity })
    }
}

impl OpenConnections {
    /// Tells the connection that has been idle for longest to end. `false` if none is idle.
    fn close_idle(&mut self, now: Duration) -> bool {
        let now_ms = now.as_millis() as u64;
        for _ in 0..self.by_use.len() {
            let Some(oldest) = self.by_use.pop_front() else { return false };
            let Some(activity) = oldest.activity.upgrade() else { continue };
            if oldest.used_ms + IDLE_MS > now_ms {
                self.by_use.push_front(oldest);
                return false;
            }
            let begun_ms = activity.used_ms.load(Ordering::Relaxed);
            let used_ms = if activity.has_request() { now_ms } else { begun_ms };
            if used_ms <= oldest.used_ms {
                activity.close();
                return true;
            }
            // It was used since, and waits again behind the others.
            self.by_use.push_back(UsedConnection { used_ms, ..oldest });
        }
        false
    }

    /// Removes places of connections that have ended, once they outnumber the open ones.
    fn forget_ended(&mut self) {
        if self.by_use.len() > 2 * self.all + FEW {
            self.by_use.retain(|used| used.activity.strong_count() > 0);
        }
    }
}

/// One connection in this many is for networks without a connection.
const NEW_RESERVE: usize = 8;
/// One connection in this many is for this machine and for proxies.
const OWN_RESERVE: usize = 64;
/// A connection is idle if it has no request, and its last one began so long ago.
const IDLE_MS: u64 = 1_000;
/// So many places of ended connections stay in any case.
const FEW: usize = 64;

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.shares.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
        open.forget_ended();
        let Some(network) = self.network else { return };
        if let Some(count) = open.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.by_network.remove(&network);
            }
        }
    }
}

/// A stream with a write timeout. Without it, a client that sends a request and does not read the response
/// would occupy the connection forever: the timeouts for heads and bodies do not apply then.
pub(crate) fn with_write_timeout<S: AsyncWrite>(stream: S, timeout: Duration) -> Pin<Box<TimeoutWriter<S>>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(timeout));
    Box::pin(stream)
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    fn client(address: &str) -> Peer {
        Peer::of(address.parse().unwrap(), &[])
    }

    const START: Duration = Duration::ZERO;

    #[test]
    fn a_network_gets_its_share_and_gives_it_back() {
        let shares = Arc::new(ConnectionLimits::new(100, 2));
        let held = [shares.take(client("192.0.2.1"), START), shares.take(client("192.0.2.2"), START)];
        assert!(held.iter().all(Option::is_some));
        assert!(shares.take(client("192.0.2.3"), START).is_none());
        let other = shares.take(client("198.51.100.1"), START);
        assert!(other.is_some() && shares.take(client("127.0.0.1"), START).is_some());
        drop(held);
        assert!(shares.take(client("192.0.2.3"), START).is_some());
        drop(other);
        let open = shares.open.lock().unwrap();
        assert!(open.all == 0 && open.by_network.is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn floods_leave_connections_for_others_and_for_this_machine() {
        let shares = Arc::new(ConnectionLimits::new(64, 16));
        let mut held = Vec::new();
        let mut open = |address: String| {
            let taken = shares.take(client(&address), START);
            let is_open = taken.is_some();
            held.extend(taken);
            usize::from(is_open)
        };
        let few: usize = (0..200).map(|n| open(format!("192.0.{}.1", n % 4))).sum();
        assert_eq!(few, 56, "an eighth is left");
        let many: usize = (0..200).map(|n| open(format!("198.51.{n}.1"))).sum();
        assert_eq!(many, 7, "of networks without a connection");
        assert_eq!(open("203.0.113.1".to_owned()), 0);
        assert_eq!(open("127.0.0.1".to_owned()), 1);
    }

    #[test]
    fn an_idle_connection_makes_room_for_a_new_one() {
        let shares = Arc::new(ConnectionLimits::new(64, 64));
        let at = Duration::from_millis;
        let is_closed = |permit: &ConnectionPermit| permit.activity.told_to_close().now_or_never().is_some();
        let mut held: Vec<_> =
            (0..56).map(|n| shares.take(client("192.0.2.1"), at(n)).expect("there is room")).collect();
        held[0].activity.touch(at(100));
        held[2].activity.begin_request(at(50));
        assert!(shares.take(client("192.0.2.1"), at(900)).is_none(), "none is idle for long");
        let new = shares.take(client("192.0.2.1"), at(1_050)).expect("one is idle");
        assert!(!is_closed(&held[0]) && is_closed(&held[1]) && !is_closed(&held[2]), "the longest");
        drop(held.remove(1));
        held.push(new);
        // Half of the reserved places stay free for networks without a connection, until idle ones have ended.
        let mut more = Vec::new();
        while let Some(permit) = shares.take(client("192.0.2.1"), at(9_000)) {
            more.push(permit);
        }
        assert_eq!((held.len() + more.len(), more.len()), (60, 4));
        for n in 0..3 {
            more.extend(shares.take(client(&format!("198.51.{n}.1")), at(9_000)));
        }
        assert_eq!(more.len(), 7);
        assert!(
            shares.take(client("198.51.100.1"), at(9_000)).is_none(),
            "one was told to end, and has not ended"
        );
        more.retain(|permit| !is_closed(permit));
        held.retain(|permit| !is_closed(permit));
        assert!(shares.take(client("198.51.100.1"), at(9_000)).is_some(), "of the places of idle ones");
        assert!(shares.take(client("127.0.0.1"), at(9_000)).is_some());
        drop((held, more));
        let open = shares.open.lock().unwrap();
        assert!(open.all == 0 && open.by_use.len() <= FEW);
    }

    #[test]
    fn a_connection_with_a_request_makes_no_room() {
        let shares = Arc::new(ConnectionLimits::new(64, 64));
        let take = |seconds| shares.take(client("192.0.2.1"), Duration::from_secs(seconds));
        let held: Vec<_> = (0..56).map(|_| take(0).expect("there is room")).collect();
        for permit in &held {
            permit.activity.begin_request(START);
        }
        assert!(take(9).is_none(), "each waits for a body, or for its client to read");
        assert!(shares.take(client("198.51.100.1"), Duration::from_secs(9)).is_some());
        let answer = held[7].activity.end_request_with(Response::new(Body::from("whole")));
        assert!(take(20).is_none(), "its response has not ended");
        drop(answer);
        assert!(take(30).is_some());
        assert!(held[7].activity.told_to_close().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (near, far) = duplex(10);
        let mut stream = with_write_timeout(near, Duration::from_secs(60));
        let asked = Instant::now();
        let error = stream.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!((error.kind(), asked.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_all_bytes() {
        let (near, mut far) = duplex(10);
        let mut stream = with_write_timeout(near, Duration::from_secs(60));
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            while all.len() < 100 {
                sleep(Duration::from_secs(50)).await;
                far.read_buf(&mut all).await.unwrap();
            }
            all.len()
        });
        stream.write_all(&[0; 100]).await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(reader.await.unwrap(), 100);
    }
}

//! Limits of a connection: connections per client network, and a timeout for writes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio_io_timeout::TimeoutWriter;

use crate::http::client_ip::{ClientNetwork, Peer};

/// Limits of open connections, for each client network and together. The last eighth is kept for networks without a
/// connection. A part of it is kept for this machine and for proxies, so that no flood silences health checks.
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
}

/// A connection's share of its network's limit, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    shares: Arc<ConnectionLimits>,
    network: Option<ClientNetwork>,
}

impl ConnectionLimits {
    pub(crate) fn new(most: usize, most_of_network: usize) -> Self {
        Self { open: Mutex::default(), most, most_of_network }
    }

    /// `None` if a limit is reached. This machine and proxies have none but the number of all connections, for which the
    /// caller waits.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer) -> Option<ConnectionPermit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let network = match peer {
            Peer::Own | Peer::Proxy => None,
            Peer::Client(network) => {
                let all = open.all;
                let count = open.by_network.get(&network).copied().unwrap_or_default();
                let reserved = if count == 0 { self.most / OWN_RESERVE } else { self.most / NEW_RESERVE };
                if count >= self.most_of_network || all >= self.most - reserved {
                    return None;
                }
                open.by_network.insert(network, count + 1);
                Some(network)
            }
        };
        open.all += 1;
        Some(ConnectionPermit { shares: self.clone(), network })
    }
}

/// One connection in this many is for networks without a connection.
const NEW_RESERVE: usize = 8;
/// One connection in this many is for this machine and for proxies.
const OWN_RESERVE: usize = 64;

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.shares.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
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

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    fn client(address: &str) -> Peer {
        Peer::of(address.parse().unwrap(), &[])
    }

    #[test]
    fn a_network_gets_its_share_and_gives_it_back() {
        let shares = Arc::new(ConnectionLimits::new(100, 2));
        let held = [shares.take(client("192.0.2.1")), shares.take(client("192.0.2.2"))];
        assert!(held.iter().all(Option::is_some));
        assert!(shares.take(client("192.0.2.3")).is_none());
        let other = shares.take(client("198.51.100.1"));
        assert!(other.is_some() && shares.take(client("127.0.0.1")).is_some());
        drop(held);
        assert!(shares.take(client("192.0.2.3")).is_some());
        drop(other);
        let open = shares.open.lock().unwrap();
        assert!(open.all == 0 && open.by_network.is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn floods_leave_connections_for_others_and_for_this_machine() {
        let shares = Arc::new(ConnectionLimits::new(64, 16));
        let mut held = Vec::new();
        let mut open = |address: String| {
            let taken = shares.take(client(&address));
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

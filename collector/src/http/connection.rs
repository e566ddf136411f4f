//! Limits of a connection: connections per client network, and a timeout for writes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio_io_timeout::TimeoutWriter;

use crate::http::client_ip::{ClientNetwork, Peer};

/// Number of open connections of each client network. It never has more entries than there are connections.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    open: Mutex<HashMap<ClientNetwork, usize>>,
    most: usize,
}

/// A connection's share of its network's limit, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    shares: Arc<ConnectionLimits>,
    network: Option<ClientNetwork>,
}

impl ConnectionLimits {
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Mutex::default(), most }
    }

    /// `None` if the network has reached its limit. This machine and proxies have no limit of their own.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer) -> Option<ConnectionPermit> {
        let Peer::Client(network) = peer else {
            return Some(ConnectionPermit { shares: self.clone(), network: None });
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(network).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(ConnectionPermit { shares: self.clone(), network: Some(network) })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut open = self.shares.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&network);
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
        let shares = Arc::new(ConnectionLimits::new(2));
        let held = [shares.take(client("192.0.2.1")), shares.take(client("192.0.2.2"))];
        assert!(held.iter().all(Option::is_some));
        assert!(shares.take(client("192.0.2.3")).is_none());
        let other = shares.take(client("198.51.100.1"));
        assert!(other.is_some() && shares.take(client("127.0.0.1")).is_some());
        drop(held);
        assert!(shares.take(client("192.0.2.3")).is_some());
        drop(other);
        assert!(shares.open.lock().unwrap().is_empty(), "nothing is kept of who has gone");
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

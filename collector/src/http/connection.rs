//! Limits of a connection: connections per client network, a timeout for writes, and the timer for heads and bodies.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant as StdInstant};

use hyper::rt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

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
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs from the first write that does not fit until the whole response is written.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) const fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, waiting: None }
    }

    fn wait<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            return written;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.wait(written, cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The response to a beacon is a single buffer, for which a plain write is faster than a vectored one.
        if let [piece] = bytes {
            return self.poll_write(cx, piece);
        }
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bytes);
        this.wait(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called only after everything was written.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.waiting = None;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// The timer of one connection, reused by its requests. Each request sets two timeouts, and hardly any
/// expires. Creating and dropping a timer changes the runtime's timer list twice, under a lock that all
/// connections share. Moving the deadline of an existing timer needs no lock.
#[derive(Clone, Default)]
pub(crate) struct Timer(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

/// A timer in use, returned to its connection when dropped.
struct Lent {
    sleep: Option<Pin<Box<Sleep>>>,
    timer: Timer,
}

impl Timer {
    /// Waits for `future` at most for `timeout`. `None` if the time was not enough.
    pub(crate) async fn within<T>(&self, timeout: Duration, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let mut sleep = None;
        poll_fn(|cx| {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(value));
            }
            let sleep = sleep.get_or_insert_with(|| self.lend(Instant::now() + timeout));
            Pin::new(sleep).poll(cx).map(|()| None)
        })
        .await
    }

    fn lend(&self, deadline: Instant) -> Lent {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sleep = match held {
            Some(mut held) => {
                held.as_mut().reset(deadline);
                held
            }
            None => Box::pin(sleep_until(deadline)),
        };
        Lent { sleep: Some(sleep), timer: self.clone() }
    }
}

impl rt::Timer for Timer {
    fn sleep(&self, timeout: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(self.lend(Instant::now() + timeout))
    }

    fn sleep_until(&self, deadline: StdInstant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(self.lend(deadline.into()))
    }

    fn now(&self) -> StdInstant {
        Instant::now().into()
    }
}

impl Future for Lent {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().map_or(Poll::Ready(()), |sleep| sleep.as_mut().poll(cx))
    }
}

impl rt::Sleep for Lent {}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.timer.0.lock().unwrap_or_else(PoisonError::into_inner) = self.sleep.take();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

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
        let mut patient = WriteTimeout::new(near, Duration::from_secs(60));
        let asked = Instant::now();
        let error = patient.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!((error.kind(), asked.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reused_timer_waits_as_long_as_a_new_one() {
        let timer = Timer::default();
        for seconds in [10, 1, 60, 60, 2] {
            let begun = Instant::now();
            let timeout = Duration::from_secs(seconds);
            let soon = async {
                sleep(timeout / 2).await;
                seconds
            };
            assert_eq!(timer.within(timeout, soon).await, Some(seconds));
            assert_eq!(timer.within(timeout, std::future::pending::<()>()).await, None);
            rt::Timer::sleep(&timer, timeout).await;
            assert_eq!(begun.elapsed().as_millis(), u128::from(seconds) * 2_500, "{seconds} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_all_bytes() {
        let (near, mut far) = duplex(10);
        let mut patient = WriteTimeout::new(near, Duration::from_secs(60));
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            while all.len() < 100 {
                sleep(Duration::from_secs(5)).await;
                far.read_buf(&mut all).await.unwrap();
            }
            all.len()
        });
        patient.write_all(&[0; 100]).await.unwrap();
        patient.flush().await.unwrap();
        assert_eq!(reader.await.unwrap(), 100);
    }
}

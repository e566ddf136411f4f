//! The server's own record of every write and its time, available at `/demo/log`. Measurements are compared
//! with it.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

/// The latest responses; older ones are evicted.
#[derive(Debug)]
pub struct Log {
    started: Instant,
    ring: Mutex<Ring>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Entry>,
    last_seq: u64,
}

/// One response. Times except `request_at_ms` are milliseconds since its request arrived.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Counted from 1; also in the response header `x-demo-seq`.
    pub seq: u64,
    /// The id inside the stream. `None` if the stream has none, and in a relayed stream until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the API.
    pub api: &'static str,
    /// The scenario's path segment, or `upstream`.
    pub scenario: String,
    /// HTTP status. `None` until the headers are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Arrival of the request, in milliseconds since the server started.
    pub request_at_ms: f64,
    /// Time when the headers were passed to the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_ms: Option<f64>,
    /// Time when the first generated text was written to the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
    /// All writes of body bytes.
    pub writes: Vec<Written>,
    /// How the response ended. `None` until it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Time of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<f64>,
    /// SHA-256 of all body bytes in hexadecimal. `None` until the response ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// One write of body bytes.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Written {
    /// Time of the write.
    pub t_ms: f64,
    /// Number of bytes.
    pub bytes: usize,
    /// Tokens of generated text in these bytes.
    pub tokens: u32,
}

/// How a response ended on the server's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The body ended with its final chunk, whatever its content.
    Complete,
    /// The server closed the connection before the end.
    Cut,
    /// The client closed the connection first.
    ClientClosed,
}

/// Records one entry. If dropped before [`Recorder::end`], it records that the client closed the connection:
/// the server drops the body of a closed connection.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<Log>,
    seq: u64,
    arrived: Instant,
    digest: Sha256,
    ended: bool,
}

impl Log {
    /// An empty log whose clock starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now(), ring: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Adds the entry of a request.
    #[must_use]
    pub fn open(self: &Arc<Self>, api: &'static str, scenario: &str, arrived: Instant) -> Recorder {
        let mut ring = self.lock();
        ring.last_seq += 1;
        let seq = ring.last_seq;
        if ring.entries.len() == CAPACITY {
            ring.entries.pop_front();
        }
        ring.entries.push_back(Entry {
            seq,
            id: None,
            api,
            scenario: scenario.to_owned(),
            status: None,
            request_at_ms: ms(arrived - self.started),
            headers_ms: None,
            first_token_ms: None,
            writes: Vec::new(),
            end: None,
            end_ms: None,
            sha256: None,
        });
        drop(ring);
        self.changed.send_replace(());
        Recorder { log: Arc::clone(self), seq, arrived, digest: Sha256::new(), ended: false }
    }

    /// The stored entries after `seq`.
    #[must_use]
    pub fn after(&self, seq: u64) -> Vec<Entry> {
        self.lock().entries.iter().filter(|entry| entry.seq > seq).cloned().collect()
    }

    /// Waits until entry `seq` exists, and with `ended` until it has ended. `None` if the entry was evicted.
    pub async fn wait(&self, seq: u64, ended: bool) -> Option<Entry> {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            {
                let mut ring = self.lock();
                let is_past = seq <= ring.last_seq;
                match ring.entry(seq) {
                    Some(entry) if !ended || entry.end.is_some() => return Some(entry.clone()),
                    None if is_past => return None,
                    _ => {}
                }
            }
            changed.changed().await.ok()?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().expect("nothing panics while it holds the log")
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Ring {
    fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        let first = self.entries.front()?.seq;
        self.entries.get_mut(usize::try_from(seq.checked_sub(first)?).ok()?)
    }
}

impl Recorder {
    /// Number of the entry.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Milliseconds since the request arrived.
    #[must_use]
    pub fn now_ms(&self) -> f64 {
        ms(self.arrived.elapsed())
    }

    /// Arrival of the request.
    #[must_use]
    pub const fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Records that the headers are passed to the socket.
    pub fn headers(&self, status: u16, id: Option<String>) {
        let now_ms = self.now_ms();
        self.edit(|entry| {
            entry.status = Some(status);
            entry.headers_ms = Some(now_ms);
            entry.id = id;
        });
    }

    /// Records an id that becomes known after the headers.
    pub fn id(&self, id: &str) {
        self.edit(|entry| entry.id = Some(id.to_owned()));
    }

    /// Records a write of body bytes to the socket.
    pub fn write(&mut self, bytes: &[u8], tokens: u32) {
        let t_ms = self.now_ms();
        self.digest.update(bytes);
        self.edit(|entry| {
            if tokens > 0 {
                entry.first_token_ms.get_or_insert(t_ms);
            }
            entry.writes.push(Written { t_ms, bytes: bytes.len(), tokens });
        });
    }

    /// Records the end of the body. Later ends are ignored.
    pub fn end(&mut self, end: End) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let end_ms = self.now_ms();
        let digest = std::mem::take(&mut self.digest).finalize();
        let hex = digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string takes what is written to it");
            hex
        });
        self.edit(|entry| {
            entry.end = Some(end);
            entry.end_ms = Some(end_ms);
            entry.sha256 = Some(hex);
        });
        self.log.changed.send_replace(());
    }

    fn edit(&self, change: impl FnOnce(&mut Entry)) {
        // The entry of a long response may have been evicted.
        if let Some(entry) = self.log.lock().entry(self.seq) {
            change(entry);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(End::ClientClosed);
    }
}

/// Milliseconds, rounded down to microseconds.
fn ms(duration: std::time::Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

/// Maximum number of entries.
const CAPACITY: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn open(log: &Arc<Log>) -> Recorder {
        log.open("openai_chat", "normal", Instant::now())
    }

    #[test]
    fn a_dropped_recorder_logs_that_the_client_closed() {
        let log = Arc::new(Log::new());
        drop(open(&log));
        let mut cut = open(&log);
        cut.write(b"abc", 0);
        cut.end(End::Cut);
        drop(cut);
        let ends: Vec<_> = log.after(0).into_iter().map(|entry| entry.end.unwrap()).collect();
        assert_eq!(ends, [End::ClientClosed, End::Cut]);
        let sha256 = log.after(1)[0].sha256.clone().unwrap();
        assert_eq!(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn ending_an_evicted_entry_changes_nothing() {
        let log = Arc::new(Log::new());
        let forgotten = open(&log);
        for _ in 0..CAPACITY {
            drop(open(&log));
        }
        drop(forgotten);
        let entries = log.after(0);
        assert_eq!((entries.len(), entries[0].seq), (CAPACITY, 2));
    }

    #[tokio::test]
    async fn a_wait_ends_with_its_entry() {
        let log = Arc::new(Log::new());
        let waiting = tokio::spawn({
            let log = Arc::clone(&log);
            async move { log.wait(1, true).await }
        });
        let mut recorder = open(&log);
        recorder.write(b"text", 1);
        tokio::task::yield_now().await;
        recorder.end(End::Complete);
        let entry = waiting.await.unwrap().unwrap();
        assert_eq!(entry.end, Some(End::Complete));
        assert_eq!(entry.first_token_ms, Some(entry.writes[0].t_ms));
    }
}

//! A thread that moves commits from SQLite's write-ahead log into the file. It waits for the disk for up to
//! some hundred milliseconds; the writer must not wait that long.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::error::StoreError;

/// Handle of the running thread; dropping it ends the thread.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    woken_at: Option<Instant>,
}

impl Checkpointer {
    pub(super) fn start(file: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(file)?;
        // With `normal`, only checkpoints wait for the disk: once per run, however many commits there were.
        connection.pragma_update(None, "synchronous", "normal")?;
        let (wake, woken) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || run(&connection, &woken))
            .map_err(StoreError::Thread)?;
        Ok(Self { wake: Some(wake), thread: Some(thread), woken_at: None })
    }

    /// Requests a checkpoint, which runs now or after a later call. Returns without waiting.
    pub(super) fn wake(&mut self) {
        if self.woken_at.is_some_and(|woken_at| woken_at.elapsed() < AT_MOST_EVERY) {
            return;
        }
        self.woken_at = Some(Instant::now());
        if let Some(wake) = &self.wake {
            // If the channel is full, the thread has not begun yet and will also move the latest commit.
            let _full = wake.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // The panic was logged where it happened. A second panic here would abort the process.
            let _panicked = thread.join();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        // A `passive` checkpoint blocks no reader or writer. While the disk is full it fails, and the writer
        // reports that.
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::debug!(%error, "Cannot checkpoint the write-ahead log");
        }
    }
}

/// Minimum interval between checkpoints. Each one waits for the disk twice, and writes a page once however
/// often it changed since the last. Under full load the log grows by some 10 MB in this time. The writer
/// flushes at least every second, so the next flush triggers a skipped checkpoint.
const AT_MOST_EVERY: Duration = Duration::from_millis(200);

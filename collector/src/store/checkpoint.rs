//! A thread that moves commits from SQLite's write-ahead log into the file. It waits for the disk for up to some
//! hundred milliseconds, and the writer must not.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::error::StoreError;

/// A running thread; ends when dropped.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    woken_at: Option<Instant>,
}

impl Checkpointer {
    pub(super) fn start(file: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(file)?;
        // Of all steps only these wait for the disk: once per run, however many commits there were.
        connection.pragma_update(None, "synchronous", "normal")?;
        let (wake, woken) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || run(&connection, &woken))
            .map_err(StoreError::Thread)?;
        Ok(Self { wake: Some(wake), thread: Some(thread), woken_at: None })
    }

    /// There is something to move, which is done at once or after a later call. Does not wait.
    pub(super) fn wake(&mut self) {
        if self.woken_at.is_some_and(|woken_at| woken_at.elapsed() < AT_MOST_EVERY) {
            return;
        }
        self.woken_at = Some(Instant::now());
        if let Some(wake) = &self.wake {
            // Full: it has yet to begin, and will see this too.
            let _full = wake.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told where it happened, and must not become two.
            let _panicked = thread.join();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        // `passive` stands in nobody's way. While the disk is full it fails, and the writer says so.
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::debug!(%error, "Cannot checkpoint the write-ahead log");
        }
    }
}

/// Every run waits for the disk twice, and moves a page once however often it was written since the last.
/// Under full load the log grows by some 10 MB in this time; the writer flushes at least every second, so
/// that nothing is left behind.
const AT_MOST_EVERY: Duration = Duration::from_millis(200);

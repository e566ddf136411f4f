//! Records what the server did for each request, so that checks can ask for it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;

/// The latest request of one id.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Entry {
    /// Number of requests with this id.
    pub(super) requests: u32,
    pub(super) method: String,
    /// Names in lower case, in the order of names.
    pub(super) headers: Vec<(String, String)>,
    /// Body bytes of the request, as Latin-1.
    pub(super) body: String,
    /// Body bytes that the socket took.
    pub(super) pushed: u64,
    /// How it ended, once it has.
    pub(super) end: Option<End>,
    /// Whether the client took the whole flood, so that it has no backpressure.
    pub(super) unbounded: bool,
    #[serde(skip)]
    opened: u32,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// All steps were done.
    Played,
    /// The client closed first.
    ClientClosed,
}

/// All requests by id.
#[derive(Default)]
pub(super) struct Log {
    entries: Mutex<HashMap<String, Entry>>,
    changed: Notify,
}

impl Log {
    /// Changes an entry and wakes the tasks that wait for a change.
    pub(super) fn update(&self, id: &str, change: impl FnOnce(&mut Entry)) {
        change(self.entries().entry(id.to_owned()).or_default());
        self.changed.notify_waiters();
    }

    /// Opens the next gate of a request.
    pub(super) fn open_gate(&self, id: &str) {
        self.update(id, |entry| entry.opened += 1);
    }

    /// Waits for a gate to be opened, the `number`th of its request.
    pub(super) async fn gate(&self, id: &str, number: u32) {
        self.until(|entries| entries.get(id).filter(|entry| entry.opened >= number).map(|_| ())).await;
    }

    /// The entry as soon as `so` accepts it, or its state after a timeout.
    pub(super) async fn wait(&self, id: &str, so: impl Fn(&Entry) -> bool) -> Entry {
        let known = |entries: &HashMap<String, Entry>| entries.get(id).cloned().unwrap_or_default();
        match tokio::time::timeout(WAIT_TIMEOUT, self.until(|entries| Some(known(entries)).filter(&so))).await
        {
            Ok(entry) => entry,
            Err(_) => known(&self.entries()),
        }
    }

    async fn until<T>(&self, look: impl Fn(&HashMap<String, Entry>) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(found) = look(&self.entries()) {
                return found;
            }
            changed.await;
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        // A panic cannot leave an entry half changed: each change is one statement.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Timeout of a wait for an event that usually happens at once.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

//! The publishing thread: sends the outbox to ClickHouse and reads the revisions of peers. While ClickHouse is away,
//! changes stay in the outbox.

mod facts;
mod round;
mod send;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::client::Client;
use super::outbox::Outbox;
use super::schema;
use crate::aggregate::changes::PeerRevision;
use crate::config::{ClickHouse, Config};
use crate::store::error::StoreError;
use crate::store::stream_index::StreamIndex;
use crate::time;
pub(crate) use facts::FactExchange;
use round::{PublishState, Shared};

/// Handle of the running thread. Dropping it publishes once more and ends the thread. Changes that ClickHouse
/// does not confirm in time are sent after the next start.
pub(crate) struct Publisher {
    wake: Option<SyncSender<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// Time of the last complete publication.
#[derive(Clone)]
pub(crate) struct PublishStatus(Arc<Shared>);

impl Publisher {
    pub(crate) fn start(
        config: &Config,
        clickhouse: ClickHouse,
        stream_index: StreamIndex,
        facts: Option<FactExchange>,
    ) -> Result<Self, StoreError> {
        let every = Duration::from_secs(clickhouse.publish_seconds.into());
        let shared = Arc::new(Shared::default());
        shared.published_ms.store(time::now_ms(), Ordering::Relaxed);
        let outbox = Outbox::open(&config.data)?;
        let mut publishing = PublishState {
            collector: outbox.collector()?,
            outbox,
            client: Client::new(clickhouse),
            store: config.store.clone(),
            wait_seconds: config.server.wait_seconds,
            stream_index,
            facts,
            shared: shared.clone(),
            is_ready: false,
            version: 0,
            sent_counts: BTreeMap::new(),
            read_up_to: HashMap::new(),
            unread_from: None,
            dropped_up_to: 0,
        };
        let (wake, woken) = mpsc::sync_channel(0);
        let (ends, ended) = mpsc::sync_channel(0);
        let run = move || {
            let _ends = ends;
            publishing.run(&woken, every);
        };
        let thread =
            thread::Builder::new().name("publisher".into()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { wake: Some(wake), ended, thread: Some(thread), shared })
    }

    /// Takes the oldest revision of a peer that was not taken yet.
    pub(crate) fn next_peer_revision(&self) -> Option<PeerRevision> {
        self.shared.peer_revisions.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn published(&self) -> PublishStatus {
        PublishStatus(self.shared.clone())
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.wake = None;
        if self.ended.recv_timeout(LAST_WITHIN) == Err(RecvTimeoutError::Timeout) {
            self.shared.is_abandoned.store(true, Ordering::Relaxed);
            tracing::warn!(
                "ClickHouse did not accept all data within {LAST_WITHIN:?}; the rest waits for the next start"
            );
            return;
        }
        if let Some(thread) = self.thread.take() {
            // The panic was logged where it happened. A second panic here would abort the process.
            let _panicked = thread.join();
        }
    }
}

impl PublishStatus {
    /// Seconds since the last complete publication.
    pub(crate) fn lag_seconds(&self, now_ms: i64) -> f64 {
        (now_ms - self.0.published_ms.load(Ordering::Relaxed)).max(0) as f64 / 1e3
    }
}

impl PublishState {
    /// Publishes the first time without delay, because the tables may not exist before.
    fn run(&mut self, woken: &Receiver<()>, every: Duration) {
        let (mut failures, mut wait) = (0_u32, Duration::ZERO);
        loop {
            let last = woken.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            match self.publish() {
                Ok(()) if failures > 0 => {
                    failures = 0;
                    tracing::info!("ClickHouse is up to date again");
                }
                Ok(()) => {}
                Err(error) => {
                    if failures == 0 {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            "ClickHouse is behind; unpublished data waits in this collector"
                        );
                    }
                    failures = failures.saturating_add(1);
                }
            }
            if last || self.shared.is_abandoned.load(Ordering::Relaxed) {
                return;
            }
            wait = (every * (1 << failures.min(MOST_DOUBLINGS))).min(LONGEST_WAIT.max(every));
        }
    }

    /// One round. Rows that were sent but not confirmed are sent again in the next round, in their state at
    /// that time.
    fn publish(&mut self) -> Result<(), StoreError> {
        let began_ms = time::now_ms();
        if !self.is_ready {
            schema::make(&self.client, &self.store, self.wait_seconds)?;
            self.version = self.seen_version()?;
            self.send_markers(began_ms)?;
            self.is_ready = true;
        }
        self.version = self.outbox.next_version(self.version)?;
        // Must be read before the windows: when a peer reads a stream, the window of that stream must be
        // readable too.
        let seq_nos = self.outbox.seq_nos()?;
        // If a round fails after it has sent streams, the next round reads the peers' revisions of them.
        let unread_from = *self.unread_from.get_or_insert(seq_nos.sent);
        self.send_spans(false)?;
        self.send_windows()?;
        self.send_spans(true)?;
        self.send_counts()?;
        self.send_samples()?;
        self.send_engine_minutes(began_ms)?;
        self.send_streams(seq_nos.sent.max(seq_nos.remembered_from), seq_nos.stored)?;
        self.drop_streams(seq_nos.remembered_from)?;
        self.read_peers(unread_from)?;
        self.unread_from = None;
        if let Some(facts) = &mut self.facts {
            facts.exchange(&self.client, &self.collector, began_ms)?;
        }
        self.shared.published_ms.store(began_ms, Ordering::Relaxed);
        Ok(())
    }
}

/// Rounds slow down while ClickHouse is unreachable, up to a limit, so that its return is noticed soon.
const MOST_DOUBLINGS: u32 = 3;
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Less than the time limit of a shutdown, because the disk needs a part of that time.
const LAST_WITHIN: Duration = Duration::from_secs(10);

//! State of the publishing thread, its inserts, and the revisions that it reads from peers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::facts::FactExchange;
use crate::aggregate::changes::PeerRevision;
use crate::aggregate::dedup::SeqNo;
use crate::config;
use crate::report::stream_id::StreamId;
use crate::store::clickhouse::client::{ClickHouseError, Client, Params};
use crate::store::clickhouse::outbox::Outbox;
use crate::store::clickhouse::rows;
use crate::store::error::StoreError;
use crate::store::stream_index::StreamIndex;

/// State that the publishing thread shares with other threads.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) peer_revisions: Mutex<VecDeque<PeerRevision>>,
    pub(super) published_ms: AtomicI64,
    /// The shutdown stopped waiting for the thread. From then on another process may own the folder.
    pub(super) is_abandoned: AtomicBool,
}

/// State of the publishing thread.
pub(super) struct PublishState {
    pub(super) collector: String,
    pub(super) outbox: Outbox,
    pub(super) client: Client,
    pub(super) store: config::Store,
    pub(super) wait_seconds: u32,
    pub(super) stream_index: StreamIndex,
    /// `None` if no token may send timings of the backend.
    pub(super) facts: Option<FactExchange>,
    pub(super) shared: Arc<Shared>,
    /// The tables exist, and the highest version in them is known.
    pub(super) is_ready: bool,
    pub(super) version: u64,
    pub(super) sent_counts: BTreeMap<(&'static str, SiteAndWord), u64>,
    /// The last revision that was read from each peer.
    pub(super) read_up_to: HashMap<String, SeqNo>,
    /// First revision sent since peers were last read. After a start, all revisions of peers are read.
    pub(super) unread_from: Option<SeqNo>,
    pub(super) dropped_up_to: u64,
}

/// Site and word of a counter; with the kind they form its key.
pub(super) type SiteAndWord = (String, String);

impl PublishState {
    /// Inserts rows: one JSON array per line. Fails if the confirmation came too late, so that the rows stay
    /// in the outbox.
    pub(super) fn insert(&self, table: &str, columns: &str, rows: &[u8]) -> Result<(), ClickHouseError> {
        self.client.insert(table, columns, rows)?;
        match self.shared.is_abandoned.load(Ordering::Relaxed) {
            true => Err(ClickHouseError::TooLate),
            false => Ok(()),
        }
    }

    /// Reads the highest version in the tables. A folder restored from a backup may have an older one.
    pub(super) fn seen_version(&self) -> Result<u64, StoreError> {
        let mut seen = 0;
        for table in ["windows", "spans", "counts", "samples"] {
            let mut params = Params::default();
            let me = params.text(&self.collector);
            let query =
                format!("SELECT max(version) FROM {} WHERE collector = {me}", self.client.table(table));
            rows::each(&self.client.query(&query, &params)?, |[version]: [u64; 1]| {
                seen = seen.max(version);
                Ok(())
            })?;
        }
        Ok(seen)
    }

    /// Reads the revisions that peers have published since the last read, and all of their revisions of the
    /// streams sent since then.
    pub(super) fn read_peers(&mut self, unread_from: SeqNo) -> Result<(), StoreError> {
        let mut params = Params::default();
        let me = params.text(&self.collector);
        let is_known = |(other, seq): (&String, &SeqNo)| {
            format!(" AND NOT (collector = {} AND place <= {seq})", params.text(other))
        };
        let known: String = self.read_up_to.iter().map(is_known).collect();
        let table = self.client.table("streams");
        let query = format!(
            "SELECT collector, place, id, site, rev FROM {table} WHERE collector <> {me} AND (1{known} OR id IN
                (SELECT id FROM {table} WHERE collector = {me} AND place >= {unread_from}))
             ORDER BY collector, place"
        );
        let mut peer_revisions = Vec::new();
        let mut up_to = HashMap::new();
        let answer = self.client.query(&query, &params)?;
        rows::each(&answer, |(other, seq, id, site, rev): (String, SeqNo, String, String, u32)| {
            if let Ok(id) = StreamId::from_str_radix(&id, 16)
                && self.stream_index.knows(id)
            {
                let has_precedence = other > self.collector;
                peer_revisions.push(PeerRevision { id, site, rev, has_precedence });
            }
            let last: &mut SeqNo = up_to.entry(other).or_default();
            *last = seq.max(*last);
            Ok(())
        })?;
        for (other, seq) in up_to {
            let last = self.read_up_to.entry(other).or_default();
            *last = seq.max(*last);
        }
        self.shared.peer_revisions.lock().unwrap_or_else(PoisonError::into_inner).extend(peer_revisions);
        Ok(())
    }
}

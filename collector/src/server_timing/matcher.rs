//! Matches facts of the backend with the streams that pages report: by the id of the response, by the one that a
//! middleware put into its stream, or by the trace that the page saw. Facts and reports come in any order. Everything
//! in memory here is in the journal too, from which a start restores it.

mod sharing;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use beacon::Layers;

use crate::http::counters::{FactResult, RequestCounters};
use crate::journal::batch::{FactBatch, JournaledBatch};
use crate::journal::record;
use crate::report::accepted::AcceptedReport;
use crate::report::country::Country;
use crate::report::server_fact::{ServerFact, add_all, add_timing, revision};
use crate::report::stream_id::StreamId;

/// The recent streams and facts.
pub(crate) struct Matcher {
    state: Mutex<State>,
}

struct State {
    /// Facts and streams wait this long for each other.
    wait_ms: i64,
    by_id: HashMap<MatchKey, Entry>,
    /// Arrival and key of every entry, oldest first. An entry whose stream was reported again has a later place too.
    by_age: VecDeque<(i64, MatchKey)>,
    bytes: usize,
    /// Facts that the other collectors of a cluster lack, oldest first. `None` without a cluster.
    unshared: Option<VecDeque<Unshared>>,
}

/// A site's name and an id: another site's facts never match. The id of a trace begins with [`TRACE`].
pub(crate) type MatchKey = (Box<str>, Box<str>);

/// A fact that arrived here and that the others lack.
#[derive(Debug)]
pub(crate) struct Unshared {
    pub(crate) fact: ServerFact,
    pub(crate) received_ms: i64,
    /// It was in the journal at the start, so its result may be counted already.
    pub(crate) is_restored: bool,
    /// The stream that has it. `None`: it waits.
    pub(crate) stream: Option<StreamId>,
}

struct Entry {
    /// From when on it waits: the first arrival, or a later report of its stream.
    since_ms: i64,
    /// All facts with this id.
    layers: Layers,
    /// Facts that no stream has yet.
    waiting: u32,
    /// The first stream with this id. A second one gets no facts.
    stream: Option<KnownStream>,
    /// Another id of the same stream, whose entry has everything else.
    same_as: Option<Box<str>>,
}

/// The latest revision of a stream, in its encoded form.
struct KnownStream {
    id: StreamId,
    received_ms: i64,
    revision: u32,
    country: Option<Country>,
    record: Box<[u8]>,
}

/// A stream with a new fact.
struct ChangedStream {
    /// When its report arrived.
    received_ms: i64,
    country: Option<Country>,
    accepted: AcceptedReport,
}

impl ChangedStream {
    fn into_batch(self, fact: &ServerFact) -> FactBatch {
        let Self { received_ms, country, accepted } = self;
        FactBatch { received_ms, facts: vec![fact.clone()], changed: Some((country, accepted)) }
    }
}

impl Matcher {
    /// Facts and streams wait this long for each other.
    pub(crate) fn new(wait_seconds: u32) -> Self {
        let wait_ms = i64::from(wait_seconds) * 1_000;
        let state =
            State { wait_ms, by_id: HashMap::new(), by_age: VecDeque::new(), bytes: 0, unshared: None };
        Self { state: Mutex::new(state) }
    }

    /// The same for a collector of a cluster: its facts are for the streams of the others, too.
    pub(crate) fn in_cluster(wait_seconds: u32) -> Self {
        let matcher = Self::new(wait_seconds);
        matcher.state().unshared = Some(VecDeque::new());
        matcher
    }

    /// Adds the known facts to reports that arrive. Later facts will find these reports.
    pub(crate) fn add_to_reports(
        &self,
        received_ms: i64,
        country: Option<Country>,
        reports: &mut [AcceptedReport],
        counters: &RequestCounters,
    ) {
        let mut state = self.state();
        state.expire(received_ms, counters);
        for accepted in reports {
            let matched = state.add_to_report(received_ms, country, accepted);
            counters.facts(FactResult::Matched, matched.into());
        }
    }

    /// The batches to be written for facts that arrive: one for each stream that gets some, and one for the rest. A repeated
    /// fact is written again, because it may not have reached the disk the first time.
    pub(crate) fn add_facts(
        &self,
        received_ms: i64,
        facts: Vec<ServerFact>,
        counters: &RequestCounters,
    ) -> Vec<FactBatch> {
        let mut state = self.state();
        state.expire(received_ms, counters);
        let mut batches = Vec::new();
        let mut waiting = Vec::new();
        for fact in facts {
            let (result, changed) = state.add_fact(received_ms, &fact);
            if let Some(result) = result {
                counters.facts(result, 1);
            }
            state.share(received_ms, &fact, result, false);
            match changed {
                Some(changed) => batches.push(changed.into_batch(&fact)),
                None => waiting.push(fact),
            }
        }
        if !waiting.is_empty() {
            batches.push(FactBatch { received_ms, facts: waiting, changed: None });
        }
        batches
    }

    /// Restores what a batch in the journal has. The batches must be in the journal's order.
    pub(crate) fn restore(&self, batch: JournaledBatch) {
        let mut state = self.state();
        for fact in &batch.facts {
            // In a cluster, a report after a waiting fact need not have it: the fact may have been released before.
            let waits = state.unshared.is_some() && batch.reports.is_empty();
            let result = if waits { None } else { state.add_fact(batch.received_ms, fact).0 };
            state.share(batch.received_ms, fact, result, true);
        }
        for journaled in batch.reports {
            let mut accepted =
                AcceptedReport { id: journaled.id, visit: journaled.visit, report: journaled.report };
            state.add_to_report(batch.received_ms, journaled.country, &mut accepted);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the number of facts that were waiting for the report.
    fn add_to_report(
        &mut self,
        received_ms: i64,
        country: Option<Country>,
        accepted: &mut AcceptedReport,
    ) -> u32 {
        let Some(key) = self.key_of(accepted, received_ms) else { return 0 };
        // Half of the wait, so that an entry has at most two places.
        let refresh_ms = self.wait_ms / 2;
        let entry = self.entry(key.clone(), received_ms);
        if entry.stream.as_ref().is_some_and(|stream| stream.id != accepted.id) {
            return 0;
        }
        if let Some(layers) = &accepted.report.layers {
            // Of a batch that is restored.
            add_all(&mut entry.layers, layers);
        }
        if entry.layers != Layers::default() {
            accepted.report.layers = Some(entry.layers.clone());
        }
        let matched = std::mem::take(&mut entry.waiting);
        let revision = revision(&accepted.report);
        if entry.stream.as_ref().is_none_or(|known| known.revision <= revision) {
            let mut record = Vec::new();
            record::write(accepted.id, country, accepted.visit, &accepted.report, &mut record);
            let record = record.into_boxed_slice();
            let before = entry.stream.as_ref().map_or(0, |stream| stream.record.len());
            let added = record.len();
            entry.stream = Some(KnownStream { id: accepted.id, received_ms, revision, country, record });
            let is_old = received_ms - entry.since_ms > refresh_ms;
            if is_old {
                entry.since_ms = received_ms;
                self.by_age.push_back((received_ms, key));
            }
            self.bytes = self.bytes + added - before;
        }
        matched
    }

    /// Returns the result of the fact, unless it waits, and the new revision of its stream.
    fn add_fact(
        &mut self,
        received_ms: i64,
        fact: &ServerFact,
    ) -> (Option<FactResult>, Option<ChangedStream>) {
        let key = self.resolved(key_of_fact(fact));
        let entry = self.entry(key, received_ms);
        let is_new = add_timing(&mut entry.layers, fact.layer, &fact.timing);
        let Some(known) = &mut entry.stream else {
            entry.waiting += u32::from(is_new);
            return ((!is_new).then_some(FactResult::Duplicate), None);
        };
        let result = if is_new { FactResult::Matched } else { FactResult::Duplicate };
        // It was encoded here.
        let Some(mut read) = record::read(&known.record) else { return (Some(result), None) };
        read.report.layers = Some(entry.layers.clone());
        known.revision = revision(&read.report);
        let mut record = Vec::new();
        record::write(known.id, known.country, read.visit, &read.report, &mut record);
        let (before, added) = (known.record.len(), record.len());
        known.record = record.into_boxed_slice();
        let accepted = AcceptedReport { id: known.id, visit: read.visit, report: read.report };
        let changed = ChangedStream { received_ms: known.received_ms, country: known.country, accepted };
        self.bytes = self.bytes + added - before;
        (Some(result), Some(changed))
    }

    fn entry(&mut self, key: MatchKey, since_ms: i64) -> &mut Entry {
        let Self { by_id, by_age, bytes, .. } = self;
        by_id.entry(key).or_insert_with_key(|key| {
            by_age.push_back((since_ms, key.clone()));
            *bytes += ENTRY_BYTES + KEY_COPIES * (key.0.len() + key.1.len());
            Entry { since_ms, layers: Layers::default(), waiting: 0, stream: None, same_as: None }
        })
    }

    /// The key of a report's entry. `None` if the stream has no id.
    fn key_of(&mut self, accepted: &AcceptedReport, received_ms: i64) -> Option<MatchKey> {
        let report = &accepted.report;
        // The surest first. No two requests have the same id of a middleware. Two responses may: a cached answer has
        // that of the first. A trace may have several requests.
        let by_trace = report.trace_id.as_deref().map(|id| format!("{TRACE}{id}"));
        let ids = [report.server_id.as_deref(), report.response_id.as_deref(), by_trace.as_deref()];
        let key_with =
            |id: &str| -> MatchKey { (report.site.as_deref().unwrap_or_default().into(), id.into()) };
        let mut keys = ids.into_iter().flatten().map(key_with);
        let surest = keys.next()?;
        let surest = if report.server_id.is_some() { surest } else { self.resolved(surest) };
        for key in keys.filter(|key| *key != surest) {
            self.link(key, &surest, accepted.id, received_ms);
        }
        Some(surest)
    }

    /// Moves all that is known by an id to the entry of the same stream's surer id.
    fn link(&mut self, from: MatchKey, to: &MatchKey, stream: StreamId, received_ms: i64) {
        let entry = self.entry(from, received_ms);
        if entry.same_as.is_some() || entry.stream.as_ref().is_some_and(|known| known.id != stream) {
            return;
        }
        entry.same_as = Some(to.1.clone());
        let (layers, waiting) = (std::mem::take(&mut entry.layers), std::mem::take(&mut entry.waiting));
        let record_bytes = entry.stream.take().map_or(0, |stream| stream.record.len());
        self.bytes = self.bytes + to.1.len() - record_bytes;
        let entry = self.entry(to.clone(), received_ms);
        add_all(&mut entry.layers, &layers);
        entry.waiting += waiting;
    }

    /// The key of the entry that has what is known by this id.
    fn resolved(&self, mut key: MatchKey) -> MatchKey {
        // From a trace to a response, and from there to the id of a middleware.
        for _ in 0..2 {
            let Some(id) = self.by_id.get(&key).and_then(|entry| entry.same_as.clone()) else { break };
            key.1 = id;
        }
        key
    }

    /// Forgets the entries that waited too long, and the oldest ones over the memory limit. Counts their facts that no
    /// stream has.
    fn expire(&mut self, now_ms: i64, counters: &RequestCounters) {
        let before_ms = now_ms - self.wait_ms;
        while let Some((since_ms, _)) = self.by_age.front()
            && (*since_ms < before_ms || self.bytes > MOST_BYTES)
            && let Some((since_ms, key)) = self.by_age.pop_front()
        {
            let key_bytes = key.0.len() + key.1.len();
            if self.by_id.get(&key).is_some_and(|entry| entry.since_ms == since_ms)
                && let Some(entry) = self.by_id.remove(&key)
            {
                let record_bytes = entry.stream.as_ref().map_or(0, |stream| stream.record.len());
                let record_bytes = record_bytes + entry.same_as.map_or(0, |id| id.len());
                self.bytes -= ENTRY_BYTES + KEY_COPIES * key_bytes + record_bytes;
                counters.facts(FactResult::Expired, entry.waiting.into());
            }
        }
    }
}

/// A fact that names a response matches by it alone: a trace may have several calls of a model.
pub(crate) fn key_of_fact(fact: &ServerFact) -> MatchKey {
    let trace_id = || fact.timing.trace_id.as_deref().unwrap_or_default();
    let id = match fact.response_id.as_str() {
        "" => format!("{TRACE}{}", trace_id()).into(),
        response_id => response_id.into(),
    };
    (fact.site.as_str().into(), id)
}

/// Before the id of a trace. No id of a response has a space.
const TRACE: &str = "trace ";
/// Limit for the memory of all entries: about 60,000 streams.
const MOST_BYTES: usize = 48 * 1024 * 1024;
/// In the map, and twice in the list: an entry is there again once a later revision has arrived.
const KEY_COPIES: usize = 3;
/// An entry without its texts and its record, and its places in the two collections.
const ENTRY_BYTES: usize = size_of::<Entry>() + KEY_COPIES * size_of::<MatchKey>() + 32;

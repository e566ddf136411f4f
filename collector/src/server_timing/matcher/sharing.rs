//! Facts of a cluster: those that this collector has for the others, and those of the others for its own streams.

use super::{Matcher, State, Unshared, key_of_fact};
use crate::http::counters::{FactResult, RequestCounters};
use crate::journal::batch::FactBatch;
use crate::report::server_fact::{ServerFact, add_timing};
use crate::report::stream_id::StreamId;

impl Matcher {
    /// Ends a restoration: facts without a stream wait again.
    pub(crate) fn end_restore(&self) {
        let mut state = self.state();
        let unshared = state.unshared.take();
        for Unshared { fact, received_ms, .. } in unshared.iter().flatten() {
            if state.stream_of(fact).is_none() {
                let (_result, _changed) = state.add_fact(*received_ms, fact);
            }
        }
        state.unshared = unshared;
    }

    /// Takes all facts that the others lack. Those that wait are released: from now on the cluster decides which stream
    /// gets them.
    pub(crate) fn take_unshared(&self, now_ms: i64) -> Vec<Unshared> {
        let mut state = self.state();
        let before_ms = now_ms - state.wait_ms;
        let mut taken: Vec<_> = state.unshared.iter_mut().flat_map(|unshared| unshared.drain(..)).collect();
        taken.retain(|unshared| unshared.received_ms >= before_ms);
        for unshared in &mut taken {
            unshared.stream = state.owner_of(&unshared.fact);
            if unshared.stream.is_none() {
                state.release(&unshared.fact);
            }
        }
        taken
    }

    /// Takes facts back that could not be shared. Returns what has to be written for streams that came meanwhile.
    pub(crate) fn give_back(&self, taken: Vec<Unshared>, counters: &RequestCounters) -> Vec<FactBatch> {
        let mut state = self.state();
        let mut batches = Vec::new();
        for unshared in taken.into_iter().rev() {
            if unshared.stream.is_none() {
                let (result, changed) = state.add_fact(unshared.received_ms, &unshared.fact);
                counters.facts(FactResult::Matched, u64::from(result == Some(FactResult::Matched)));
                batches.extend(changed.map(|changed| changed.into_batch(&unshared.fact)));
            }
            if let Some(queue) = &mut state.unshared {
                queue.push_front(unshared);
            }
        }
        batches
    }

    /// The streams that are known here by the ids of these facts.
    pub(crate) fn streams_of<'a>(
        &self,
        facts: impl IntoIterator<Item = &'a ServerFact>,
    ) -> Vec<Option<StreamId>> {
        let state = self.state();
        facts.into_iter().map(|fact| state.stream_of(fact)).collect()
    }

    /// Adds facts of the cluster to the streams that it gave them to. Returns what has to be written.
    pub(crate) fn add_shared(
        &self,
        received_ms: i64,
        facts: &[(ServerFact, StreamId)],
        counters: &RequestCounters,
    ) -> Vec<FactBatch> {
        let mut state = self.state();
        let mut batches = Vec::new();
        for (fact, stream) in facts {
            // It may have waited too long since it was looked for.
            if state.stream_of(fact) != Some(*stream) {
                continue;
            }
            // A start has restored the facts in the journal, so a known one is there.
            if let (Some(FactResult::Matched), Some(changed)) = state.add_fact(received_ms, fact) {
                counters.facts(FactResult::Claimed, 1);
                batches.push(changed.into_batch(fact));
            }
        }
        batches
    }
}

impl State {
    /// Notes a fact for the others, unless it was known. Beyond the limit it waits only here.
    pub(super) fn share(
        &mut self,
        received_ms: i64,
        fact: &ServerFact,
        result: Option<FactResult>,
        is_restored: bool,
    ) {
        if let Some(unshared) = &mut self.unshared
            && result != Some(FactResult::Duplicate)
            && unshared.len() < MOST_UNSHARED
        {
            unshared.push_back(Unshared { fact: fact.clone(), received_ms, is_restored, stream: None });
        }
    }

    fn stream_of(&self, fact: &ServerFact) -> Option<StreamId> {
        let entry = self.by_id.get(&self.resolved(key_of_fact(fact)))?;
        Some(entry.stream.as_ref()?.id)
    }

    /// The stream that has this fact.
    fn owner_of(&self, fact: &ServerFact) -> Option<StreamId> {
        let entry = self.by_id.get(&self.resolved(key_of_fact(fact)))?;
        let is_missing = add_timing(&mut entry.layers.clone(), fact.layer, &fact.timing);
        Some(entry.stream.as_ref().filter(|_| !is_missing)?.id)
    }

    /// Forgets what waits by the id of this fact.
    fn release(&mut self, fact: &ServerFact) {
        let key = self.resolved(key_of_fact(fact));
        if let Some(entry) = self.by_id.get_mut(&key)
            && entry.stream.is_none()
        {
            entry.layers = beacon::Layers::default();
            entry.waiting = 0;
        }
    }
}

/// About 10 MB. Facts are shared every few seconds.
const MOST_UNSHARED: usize = 20_000;

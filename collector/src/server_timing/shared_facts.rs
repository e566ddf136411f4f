//! Facts that the collectors of a cluster share, so that one reaches the collector with the report of its stream. Each
//! collector sends its facts to a table, and reads those of the others. A fact without a stream goes to the stream that
//! was first to claim its id.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::mem;

use crate::http::counters::{FactResult, RequestCounters};
use crate::journal::batch::FactBatch;
use crate::journal::record;
use crate::report::server_fact::ServerFact;
use crate::report::stream_id::StreamId;
use crate::server_timing::matcher::{MatchKey, Matcher, Unshared, key_of_fact};

/// The tables of a cluster. Their clock gives all times, so that the clocks of the collectors do not matter.
pub(crate) trait FactTables {
    /// Why a table cannot be read or written.
    type Error;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> Result<i64, Self::Error>;
    /// Facts that were written at this time or later.
    fn facts_since(&self, since_ms: i64) -> Result<Vec<SharedFact>, Self::Error>;
    /// Claims that were written at this time or later.
    fn claims_since(&self, since_ms: i64) -> Result<Vec<Claim>, Self::Error>;
    /// Writes facts of this collector. The streams are those that have them.
    fn add_facts(&self, facts: &[(&ServerFact, Option<StreamId>)]) -> Result<(), Self::Error>;
    /// Writes claims of this collector.
    fn add_claims(&self, claims: &[(&MatchKey, StreamId)]) -> Result<(), Self::Error>;
}

/// A row of a fact.
#[derive(Debug, Clone)]
pub(crate) struct SharedFact {
    pub(crate) fact: ServerFact,
    /// The stream that has it at the collector that it reached.
    pub(crate) stream: Option<StreamId>,
    pub(crate) written_ms: i64,
}

/// A row of a claim: a stream wants the facts with an id.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) key: MatchKey,
    pub(crate) stream: StreamId,
    pub(crate) written_us: i64,
}

/// One collector's view of the tables.
pub(crate) struct SharedFacts {
    /// Facts and streams wait this long for each other.
    wait_ms: i64,
    hasher: RandomState,
    /// All facts of that time, by the hash of their record.
    known: HashMap<u64, Known>,
    /// Time and hash of each, oldest first.
    by_age: VecDeque<(i64, u64)>,
    bytes: usize,
    /// The first claim of each id.
    claims: HashMap<MatchKey, FirstClaim>,
    /// Newest time in the rows that were read.
    facts_until_ms: i64,
    claims_until_ms: i64,
    /// Batches that the journal did not take.
    unwritten: Vec<FactBatch>,
}

struct Known {
    /// `None` once it is settled for the streams of this collector.
    fact: Option<Box<ServerFact>>,
    stream: Option<StreamId>,
    bytes: usize,
}

struct FirstClaim {
    written_us: i64,
    stream: StreamId,
}

impl SharedFacts {
    pub(crate) fn new(wait_seconds: u32) -> Self {
        Self {
            wait_ms: i64::from(wait_seconds) * 1_000,
            hasher: RandomState::new(),
            known: HashMap::new(),
            by_age: VecDeque::new(),
            bytes: 0,
            claims: HashMap::new(),
            facts_until_ms: 0,
            claims_until_ms: 0,
            unwritten: Vec::new(),
        }
    }

    /// One round: sends what the others lack, reads what they sent, and adds the facts that belong to streams of this
    /// collector. `write` returns the batches that the journal does not take. They wait for the next round.
    pub(crate) fn exchange<T: FactTables>(
        &mut self,
        tables: &T,
        local_ms: i64,
        matcher: &Matcher,
        counters: &RequestCounters,
        write: impl Fn(Vec<FactBatch>) -> Vec<FactBatch>,
    ) -> Result<(), T::Error> {
        self.unwritten = write(mem::take(&mut self.unwritten));
        let now_ms = tables.now_ms()?;
        self.forget(now_ms);
        // Before the own facts are sent: after a start, the table has some of them.
        self.read(tables, now_ms)?;
        let unshared = matcher.take_unshared(local_ms);
        if let Err(error) = self.send(tables, now_ms, &unshared, counters) {
            self.unwritten.extend(matcher.give_back(unshared, counters));
            return Err(error);
        }
        let (owned, to_claim) = self.decide(now_ms, matcher);
        let batches = matcher.add_shared(local_ms, &owned, counters);
        self.unwritten.extend(write(batches));
        if !to_claim.is_empty() {
            let claims: Vec<_> = to_claim.iter().map(|(key, stream)| (key, *stream)).collect();
            tables.add_claims(&claims)?;
        }
        Ok(())
    }

    fn read<T: FactTables>(&mut self, tables: &T, now_ms: i64) -> Result<(), T::Error> {
        let oldest_ms = now_ms - self.wait_ms;
        for shared in tables.facts_since(oldest_ms.max(self.facts_until_ms - OVERLAP_MS))? {
            self.facts_until_ms = self.facts_until_ms.max(shared.written_ms);
            self.add(&shared.fact, shared.stream, shared.written_ms);
        }
        for claim in tables.claims_since(oldest_ms.max(self.claims_until_ms - OVERLAP_MS))? {
            self.claims_until_ms = self.claims_until_ms.max(claim.written_us / 1_000);
            let Claim { key, stream, written_us } = claim;
            let first = self.claims.entry(key).or_insert(FirstClaim { written_us, stream });
            if (written_us, stream) < (first.written_us, first.stream) {
                *first = FirstClaim { written_us, stream };
            }
        }
        Ok(())
    }

    /// Sends the facts that the table lacks, and counts them.
    fn send<T: FactTables>(
        &mut self,
        tables: &T,
        now_ms: i64,
        unshared: &[Unshared],
        counters: &RequestCounters,
    ) -> Result<(), T::Error> {
        let is_new = |unshared: &&Unshared| {
            let known = self.known.get(&self.hash(&unshared.fact).0);
            known.is_none_or(|known| known.stream.is_none() && unshared.stream.is_some())
        };
        let (new, known): (Vec<_>, Vec<_>) = unshared.iter().partition(is_new);
        for some in new.chunks(FACTS_AT_A_TIME) {
            let rows: Vec<_> = some.iter().map(|unshared| (&unshared.fact, unshared.stream)).collect();
            tables.add_facts(&rows)?;
        }
        // One with a stream is counted as matched. One of the journal that was shared before is counted, too.
        let waited = |unshared: &&&Unshared| unshared.stream.is_none();
        counters.facts(FactResult::Shared, new.iter().filter(waited).count() as u64);
        let again = known.iter().filter(waited).filter(|unshared| !unshared.is_restored);
        counters.facts(FactResult::Duplicate, again.count() as u64);
        for unshared in new {
            self.add(&unshared.fact, unshared.stream, now_ms);
        }
        Ok(())
    }

    fn add(&mut self, fact: &ServerFact, stream: Option<StreamId>, written_ms: i64) {
        let (hash, bytes) = self.hash(fact);
        if let Some(known) = self.known.get_mut(&hash) {
            known.stream = known.stream.or(stream);
            return;
        }
        let bytes = bytes + KNOWN_BYTES;
        self.known.insert(hash, Known { fact: Some(fact.clone().into()), stream, bytes });
        self.by_age.push_back((written_ms, hash));
        self.bytes += bytes;
    }

    /// Hash and length of the record.
    fn hash(&self, fact: &ServerFact) -> (u64, usize) {
        let mut bytes = Vec::new();
        record::write_fact(fact, &mut bytes);
        (self.hasher.hash_one(&bytes), bytes.len())
    }

    /// The facts that streams of this collector get, and the ids that they have to claim first.
    fn decide(
        &mut self,
        now_ms: i64,
        matcher: &Matcher,
    ) -> (Vec<(ServerFact, StreamId)>, HashMap<MatchKey, StreamId>) {
        let open: Vec<_> =
            self.known.iter().filter(|(_, known)| known.fact.is_some()).map(|(hash, _)| *hash).collect();
        let (mut owned, mut to_claim) = (Vec::new(), HashMap::new());
        for some in open.chunks(LOOK_UPS_AT_A_TIME) {
            let facts = some.iter().filter_map(|hash| self.known[hash].fact.as_deref());
            for (hash, stream) in some.iter().zip(matcher.streams_of(facts)) {
                let Some(stream) = stream else { continue };
                let known = self.known.get_mut(hash).expect("it is from the map");
                let key = || known.fact.as_deref().map(key_of_fact);
                let owner = match known.stream {
                    Some(owner) => owner,
                    None => match key().and_then(|key| self.claims.get(&key)) {
                        Some(claim) if claim.written_us / 1_000 + SETTLE_MS <= now_ms => claim.stream,
                        // An earlier one may still become visible.
                        Some(_) => continue,
                        None => {
                            to_claim.extend(key().map(|key| (key, stream)));
                            continue;
                        }
                    },
                };
                let fact = known.fact.take();
                owned.extend(fact.filter(|_| owner == stream).map(|fact| (*fact, stream)));
            }
        }
        (owned, to_claim)
    }

    /// Forgets what waited too long, and the oldest facts over the memory limit.
    fn forget(&mut self, now_ms: i64) {
        let before_ms = now_ms - self.wait_ms;
        while let Some((written_ms, hash)) = self.by_age.front()
            && (*written_ms < before_ms || self.bytes > MOST_BYTES)
        {
            self.bytes -= self.known.remove(hash).map_or(0, |known| known.bytes);
            self.by_age.pop_front();
        }
        self.claims.retain(|_, claim| claim.written_us / 1_000 >= before_ms);
    }
}

/// An insert becomes visible this much later at most. Rows of that time are read again.
const OVERLAP_MS: i64 = 15_000;
/// A claim decides after this time: another collector's insert may have begun before it.
const SETTLE_MS: i64 = 2_000;

const FACTS_AT_A_TIME: usize = 5_000;
/// Reports wait for the matcher meanwhile: about a millisecond.
const LOOK_UPS_AT_A_TIME: usize = 1_000;
/// Limit for the memory of all facts: about 100,000.
const MOST_BYTES: usize = 48 * 1024 * 1024;
/// A fact without its texts, and its places in the collections.
const KNOWN_BYTES: usize = 2 * size_of::<Known>() + size_of::<ServerFact>() + 64;

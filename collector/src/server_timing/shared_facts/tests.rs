use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use beacon::{LayerTiming, Layers, StreamReport};
use proptest::prelude::*;

use super::*;
use crate::journal::batch::{JournaledBatch, JournaledReport};
use crate::journal::segments::RecordLocation;
use crate::report::accepted::{AcceptedReport, Discarded};
use crate::report::server_fact::{Layer, add_timing, revision};
use crate::report::source::ReportSource;

/// What happens in a cluster.
#[derive(Debug, Clone)]
enum Event {
    Report {
        to: usize,
        stream: u128,
        rev: u32,
    },
    Fact {
        to: usize,
        stream: u128,
        layer: usize,
    },
    /// A collector publishes.
    Round(usize),
    /// A collector dies, and starts again.
    Restart(usize),
    /// ClickHouse stops answering, or answers again.
    Away(bool),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let each = prop_oneof![
        3 => (0..COLLECTORS, 0..3_u128, 0..3_u32)
            .prop_map(|(to, stream, rev)| Event::Report { to, stream, rev }),
        3 => (0..COLLECTORS, 0..3_u128, 0..5_usize)
            .prop_map(|(to, stream, layer)| Event::Fact { to, stream, layer }),
        3 => (0..COLLECTORS).prop_map(Event::Round),
        1 => (0..COLLECTORS).prop_map(Event::Restart),
        1 => any::<bool>().prop_map(Event::Away),
    ];
    proptest::collection::vec(each, 0..40)
}

/// The tables of ClickHouse.
#[derive(Default)]
struct Tables {
    /// One microsecond passes with each row.
    now_us: Cell<i64>,
    is_away: Cell<bool>,
    facts: RefCell<Vec<SharedFact>>,
    claims: RefCell<Vec<Claim>>,
}

impl Tables {
    fn now_us(&self) -> i64 {
        self.now_us.set(self.now_us.get() + 1);
        self.now_us.get()
    }

    fn answers(&self) -> Result<(), Away> {
        if self.is_away.get() { Err(Away) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct Away;

impl FactTables for Tables {
    type Error = Away;

    fn now_ms(&self) -> Result<i64, Away> {
        self.answers()?;
        Ok(self.now_us() / 1_000)
    }

    fn facts_since(&self, since_ms: i64) -> Result<Vec<SharedFact>, Away> {
        let facts = self.facts.borrow();
        Ok(facts.iter().filter(|fact| fact.written_ms >= since_ms).cloned().collect())
    }

    fn claims_since(&self, since_ms: i64) -> Result<Vec<Claim>, Away> {
        let claims = self.claims.borrow();
        Ok(claims.iter().filter(|claim| claim.written_us / 1_000 >= since_ms).cloned().collect())
    }

    fn add_facts(&self, facts: &[(&ServerFact, Option<StreamId>)]) -> Result<(), Away> {
        self.answers()?;
        for (fact, stream) in facts {
            let written_ms = self.now_us() / 1_000;
            self.facts.borrow_mut().push(SharedFact { fact: (*fact).clone(), stream: *stream, written_ms });
        }
        Ok(())
    }

    fn add_claims(&self, claims: &[(&MatchKey, StreamId)]) -> Result<(), Away> {
        self.answers()?;
        for (key, stream) in claims {
            let written_us = self.now_us();
            self.claims.borrow_mut().push(Claim { key: (*key).clone(), stream: *stream, written_us });
        }
        Ok(())
    }
}

/// A collector with its journal.
struct Simulated {
    matcher: Matcher,
    shared: SharedFacts,
    counters: RequestCounters,
    journal: RefCell<Vec<(Vec<ServerFact>, Vec<AcceptedReport>)>>,
}

impl Simulated {
    fn new() -> Self {
        Self {
            matcher: Matcher::in_cluster(WAIT_SECONDS),
            shared: SharedFacts::new(WAIT_SECONDS),
            counters: RequestCounters::default(),
            journal: RefCell::default(),
        }
    }

    fn report(&mut self, stream: u128, rev: u32, response: u128, now_ms: i64) {
        let report = StreamReport {
            rev,
            site: Some("chat".into()),
            response_id: Some(format!("chatcmpl-{response}").into()),
            ..StreamReport::new(format!("{stream:032x}"))
        };
        let mut reports = vec![AcceptedReport { id: stream, visit: None, report }];
        self.matcher.add_to_reports(now_ms, None, &mut reports, &self.counters);
        self.journal.borrow_mut().push((Vec::new(), reports));
    }

    fn fact(&mut self, fact: ServerFact, now_ms: i64) {
        let batches = self.matcher.add_facts(now_ms, vec![fact], &self.counters);
        self.write(batches);
    }

    fn write(&self, batches: Vec<FactBatch>) -> Vec<FactBatch> {
        for batch in batches {
            let changed = batch.changed.into_iter().map(|(_, changed)| changed).collect();
            self.journal.borrow_mut().push((batch.facts, changed));
        }
        Vec::new()
    }

    fn round(&mut self, tables: &Tables, now_ms: i64) {
        let mut shared = mem::replace(&mut self.shared, SharedFacts::new(WAIT_SECONDS));
        let write = |batches| self.write(batches);
        let _away = shared.exchange(tables, now_ms, &self.matcher, &self.counters, write);
        self.shared = shared;
    }

    fn restart(&mut self) {
        self.matcher = Matcher::in_cluster(WAIT_SECONDS);
        self.shared = SharedFacts::new(WAIT_SECONDS);
        for (facts, reports) in self.journal.borrow().iter() {
            self.matcher.restore(journaled(facts, reports));
        }
        self.matcher.end_restore();
    }

    /// The latest revision of each stream.
    fn streams(&self, into: &mut BTreeMap<u128, StreamReport>) {
        for AcceptedReport { id, report, .. } in self.journal.borrow().iter().flat_map(|(_, of)| of) {
            let latest = into.entry(*id).or_insert_with(|| report.clone());
            if revision(latest) < revision(report) {
                *latest = report.clone();
            }
        }
    }
}

fn journaled(facts: &[ServerFact], reports: &[AcceptedReport]) -> JournaledBatch {
    let journaled = |accepted: &AcceptedReport| JournaledReport {
        id: accepted.id,
        source: ReportSource::Unnamed,
        country: None,
        visit: None,
        report: accepted.report.clone(),
        at: RecordLocation { position: 0, len: 1 },
    };
    JournaledBatch {
        received_ms: 0,
        reports: reports.iter().map(journaled).collect(),
        discarded: Discarded::default(),
        facts: facts.to_vec(),
        position: 0,
        end: 1,
    }
}

fn fact(response: u128, layer: usize) -> ServerFact {
    let timing = LayerTiming { source: "test".into(), ttft_ms: Some(5.0), ..LayerTiming::default() };
    let response_id = format!("chatcmpl-{response}");
    ServerFact { site: "chat".into(), response_id, layer: Layer::ALL[layer], timing }
}

struct Cluster {
    tables: Tables,
    collectors: Vec<Simulated>,
}

impl Cluster {
    fn new() -> Self {
        Self { tables: Tables::default(), collectors: (0..COLLECTORS).map(|_| Simulated::new()).collect() }
    }

    fn now_ms(&self) -> i64 {
        self.tables.now_us.get() / 1_000
    }

    fn take(&mut self, event: &Event) {
        let now_ms = self.now_ms();
        match *event {
            Event::Report { to, stream, rev } => self.collectors[to].report(stream, rev, stream, now_ms),
            Event::Fact { to, stream, layer } => self.collectors[to].fact(fact(stream, layer), now_ms),
            Event::Round(of) => self.collectors[of].round(&self.tables, now_ms),
            Event::Restart(of) => self.collectors[of].restart(),
            Event::Away(is_away) => self.tables.is_away.set(is_away),
        }
    }

    /// Lets every collector publish until nothing more happens.
    fn settle(&mut self) {
        self.tables.is_away.set(false);
        for _ in 0..5 {
            for of in 0..COLLECTORS {
                self.take(&Event::Round(of));
            }
            self.tables.now_us.set(self.tables.now_us.get() + SETTLE_MS * 1_000);
        }
    }

    /// The layers of the latest revision of each stream, wherever it is.
    fn layers(&self) -> BTreeMap<u128, (u32, Layers)> {
        let mut latest = BTreeMap::new();
        self.collectors.iter().for_each(|collector| collector.streams(&mut latest));
        let layers = |report: StreamReport| (report.rev, report.layers.unwrap_or_default());
        latest.into_iter().map(|(id, report)| (id, layers(report))).collect()
    }

    /// Facts by result, over all collectors.
    fn results(&self) -> BTreeMap<&'static str, u64> {
        let mut results = BTreeMap::new();
        for collector in &self.collectors {
            for (result, count) in collector.counters.take_facts().filter(|(_, count)| *count > 0) {
                *results.entry(result.as_str()).or_default() += count;
            }
        }
        results
    }
}

/// What the latest revisions must contain: all facts of the stream.
fn expected(events: &[Event]) -> BTreeMap<u128, (u32, Layers)> {
    let mut streams = BTreeMap::new();
    for event in events {
        if let Event::Report { stream, rev, .. } = *event {
            let known: &mut (u32, Layers) = streams.entry(stream).or_default();
            known.0 = known.0.max(rev);
        }
    }
    for event in events {
        if let Event::Fact { stream, layer, .. } = *event
            && let Some((_, layers)) = streams.get_mut(&stream)
        {
            add_timing(layers, Layer::ALL[layer], &fact(stream, layer).timing);
        }
    }
    streams
}

proptest! {
    #[test]
    fn any_collector_order_and_restart_gives_the_same(events in events(), seed in any::<u64>()) {
        let mut twice = [events.clone(), events.clone()].concat();
        twice.sort_by_key(|event| crc32fast::hash(format!("{seed}{event:?}").as_bytes()));
        for events in [&events, &twice] {
            let mut cluster = Cluster::new();
            events.iter().for_each(|event| cluster.take(event));
            cluster.settle();
            prop_assert_eq!(cluster.layers(), expected(events));
        }
    }
}

#[test]
fn a_shared_fact_is_counted_once_by_each_side() {
    for fact_first in [true, false] {
        let mut cluster = Cluster::new();
        let fact = Event::Fact { to: 1, stream: 7, layer: 1 };
        let report = Event::Report { to: 0, stream: 7, rev: 1 };
        let order = if fact_first { [&fact, &report] } else { [&report, &fact] };
        for event in order {
            cluster.take(event);
            cluster.settle();
        }
        assert_eq!(cluster.results(), BTreeMap::from([("shared", 1), ("claimed", 1)]));
        assert_eq!(cluster.layers()[&7].1.facts, 1);
        // The backend sends it again, to either, and a collector starts again.
        for to in [0, 1] {
            cluster.take(&Event::Restart(to));
            cluster.settle();
            cluster.take(&Event::Fact { to, stream: 7, layer: 1 });
            cluster.settle();
        }
        assert_eq!(cluster.results(), BTreeMap::from([("duplicate", 2)]));
        assert_eq!(cluster.layers()[&7].1.facts, 1);
    }
}

#[test]
fn of_two_streams_with_one_id_one_gets_the_facts() {
    // A cached answer has the id of the first one. Both collectors learn of the fact in the same moment.
    for first in [0, 1] {
        let mut cluster = Cluster::new();
        for (collector, stream) in [(0, 7), (1, 8)] {
            cluster.collectors[collector].report(stream, 1, 7, 0);
        }
        cluster.take(&Event::Fact { to: 2, stream: 7, layer: 1 });
        for of in [2, first, 1 - first] {
            cluster.take(&Event::Round(of));
        }
        cluster.settle();
        let with_facts: Vec<_> =
            cluster.layers().into_iter().filter(|(_, (_, layers))| layers.facts > 0).collect();
        assert_eq!(with_facts.len(), 1, "{with_facts:?}");
        assert_eq!(with_facts[0].0, [7, 8][first]);
        assert_eq!(cluster.results(), BTreeMap::from([("shared", 1), ("claimed", 1)]));
    }
}

#[test]
fn a_released_fact_waits_for_its_claim_at_home_too() {
    let mut cluster = Cluster::new();
    cluster.take(&Event::Fact { to: 0, stream: 7, layer: 1 });
    cluster.take(&Event::Round(0));
    // Another stream with the id is faster.
    cluster.collectors[1].report(8, 1, 7, 0);
    cluster.take(&Event::Round(1));
    cluster.collectors[0].report(7, 1, 7, 0);
    cluster.settle();
    let facts: Vec<_> = cluster.layers().into_values().map(|(_, layers)| layers.facts).collect();
    assert_eq!(facts, [0, 1]);
}

#[test]
fn facts_stay_home_while_clickhouse_is_away() {
    let mut cluster = Cluster::new();
    cluster.take(&Event::Away(true));
    cluster.take(&Event::Fact { to: 0, stream: 7, layer: 1 });
    cluster.take(&Event::Fact { to: 0, stream: 8, layer: 1 });
    cluster.take(&Event::Round(0));
    cluster.take(&Event::Report { to: 0, stream: 7, rev: 1 });
    assert_eq!((cluster.layers()[&7].1.facts, cluster.results()), (1, BTreeMap::from([("matched", 1)])));
    cluster.take(&Event::Report { to: 1, stream: 8, rev: 1 });
    cluster.settle();
    assert_eq!(cluster.layers()[&8].1.facts, 1);
    assert_eq!(cluster.results(), BTreeMap::from([("shared", 1), ("claimed", 1)]));
}

#[test]
fn a_batch_that_the_journal_refuses_is_written_later() {
    let mut cluster = Cluster::new();
    cluster.take(&Event::Report { to: 0, stream: 7, rev: 1 });
    cluster.take(&Event::Fact { to: 1, stream: 7, layer: 1 });
    for of in [1, 0] {
        cluster.take(&Event::Round(of));
    }
    cluster.tables.now_us.set(SETTLE_MS * 1_000 + 5_000);
    let Simulated { matcher, shared, counters, .. } = &mut cluster.collectors[0];
    let Ok(()) = shared.exchange(&cluster.tables, 0, matcher, counters, |batches| batches) else {
        panic!("the tables answer");
    };
    assert_eq!(cluster.layers()[&7].1.facts, 0);
    cluster.take(&Event::Round(0));
    assert_eq!(cluster.layers()[&7].1.facts, 1);
    assert_eq!(cluster.results(), BTreeMap::from([("shared", 1), ("claimed", 1)]));
}

#[test]
fn memory_for_shared_facts_is_bounded() {
    let mut shared = SharedFacts::new(WAIT_SECONDS);
    for number in 0..100_u128 {
        for at in 0..2_000 {
            let fact = ServerFact { response_id: format!("{number}-{at}-{}", "x".repeat(100)), ..fact(1, 1) };
            shared.add(&fact, None, 0);
        }
        shared.forget(0);
        assert!(shared.bytes <= MOST_BYTES && shared.known.len() == shared.by_age.len());
    }
    assert!(shared.known.len() < 200_000, "the oldest are forgotten early");
    shared.forget(i64::from(WAIT_SECONDS) * 1_000 + 1);
    assert_eq!((shared.bytes, shared.known.len()), (0, 0));
}

const COLLECTORS: usize = 3;
const WAIT_SECONDS: u32 = 60;

use std::collections::BTreeMap;

use beacon::{LayerTiming, StreamReport};
use proptest::prelude::*;

use super::*;
use crate::journal::batch::JournaledReport;
use crate::journal::segments::RecordLocation;
use crate::report::server_fact::Layer;
use crate::report::source::ReportSource;

/// What arrives at a collector.
#[derive(Debug, Clone)]
enum Arrival {
    Report {
        stream: u128,
        rev: u32,
    },
    Fact {
        stream: u128,
        layer: usize,
        ttft_ms: u32,
        /// Named by the middleware's id.
        by_server: bool,
    },
    /// The collector dies, and starts again.
    Restart,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let each = prop_oneof![
        (0..3_u128, 0..3_u32).prop_map(|(stream, rev)| Arrival::Report { stream, rev }),
        (0..3_u128, 0..5_usize, 0..3_u32, any::<bool>()).prop_map(|(stream, layer, ttft_ms, by_server)| {
            Arrival::Fact { stream, layer, ttft_ms, by_server }
        }),
        Just(Arrival::Restart),
    ];
    proptest::collection::vec(each, 0..24)
}

fn response_id(stream: u128) -> String {
    format!("chatcmpl-{stream}")
}

fn server_id(stream: u128) -> String {
    format!("made-up-{stream}")
}

/// The first revision was sent before the middleware's comment came.
const REV_WITH_SERVER_ID: u32 = 1;

fn report(stream: u128, rev: u32) -> AcceptedReport {
    let report = StreamReport {
        rev,
        site: Some("chat".into()),
        response_id: Some(response_id(stream).into()),
        server_id: (rev >= REV_WITH_SERVER_ID).then(|| server_id(stream).into()),
        ..StreamReport::new(format!("{stream:032x}"))
    };
    AcceptedReport { id: stream, visit: Some(7), report }
}

fn fact(stream: u128, layer: usize, ttft_ms: u32) -> ServerFact {
    let timing =
        LayerTiming { source: "test".into(), ttft_ms: Some(ttft_ms.into()), ..LayerTiming::default() };
    ServerFact { site: "chat".into(), response_id: response_id(stream), layer: Layer::ALL[layer], timing }
}

/// A collector with its journal: the reports that it has written, and the facts.
struct Simulated {
    matcher: Matcher,
    counters: RequestCounters,
    journal: Vec<(Vec<ServerFact>, Vec<AcceptedReport>)>,
}

impl Simulated {
    fn new() -> Self {
        Self { matcher: Matcher::new(60), counters: RequestCounters::default(), journal: Vec::new() }
    }

    fn take(&mut self, arrival: &Arrival) {
        match *arrival {
            Arrival::Report { stream, rev } => {
                let mut reports = vec![report(stream, rev)];
                self.matcher.add_to_reports(1_000, None, &mut reports, &self.counters);
                self.journal.push((Vec::new(), reports));
            }
            Arrival::Fact { stream, layer, ttft_ms, by_server } => {
                let mut facts = vec![fact(stream, layer, ttft_ms)];
                if by_server {
                    facts[0].response_id = server_id(stream);
                }
                for batch in self.matcher.add_facts(1_000, facts, &self.counters) {
                    let changed = batch.changed.into_iter().map(|(_, changed)| changed).collect();
                    self.journal.push((batch.facts, changed));
                }
            }
            Arrival::Restart => {
                self.matcher = Matcher::new(60);
                for (facts, reports) in &self.journal {
                    self.matcher.restore(journaled(facts, reports));
                }
            }
        }
    }

    /// The latest revision of each stream, with its facts but not their number.
    fn streams(&self) -> BTreeMap<u128, (u32, Layers)> {
        let mut latest: BTreeMap<u128, &StreamReport> = BTreeMap::new();
        for AcceptedReport { id, report, .. } in self.journal.iter().flat_map(|(_, reports)| reports) {
            if latest.get(id).is_none_or(|known| revision(known) < revision(report)) {
                latest.insert(*id, report);
            }
        }
        let layers = |report: &StreamReport| Layers { facts: 0, ..report.layers.clone().unwrap_or_default() };
        latest.into_iter().map(|(id, report)| (id, (report.rev, layers(report)))).collect()
    }
}

fn journaled(facts: &[ServerFact], reports: &[AcceptedReport]) -> JournaledBatch {
    let journaled = |accepted: &AcceptedReport| JournaledReport {
        id: accepted.id,
        source: ReportSource::Unnamed,
        country: None,
        visit: accepted.visit,
        report: accepted.report.clone(),
        at: RecordLocation { position: 0, len: 1 },
    };
    JournaledBatch {
        received_ms: 1_000,
        reports: reports.iter().map(journaled).collect(),
        discarded: crate::report::accepted::Discarded::default(),
        facts: facts.to_vec(),
        position: 0,
        end: 1,
    }
}

/// What the latest revisions must contain: all facts of the stream.
fn expected(arrivals: &[Arrival]) -> BTreeMap<u128, (u32, Layers)> {
    let mut streams = BTreeMap::new();
    for arrival in arrivals {
        if let Arrival::Report { stream, rev } = *arrival {
            let known: &mut (u32, Layers) = streams.entry(stream).or_default();
            known.0 = known.0.max(rev);
        }
    }
    for arrival in arrivals {
        if let Arrival::Fact { stream, layer, ttft_ms, by_server } = *arrival
            && let Some((rev, layers)) = streams.get_mut(&stream)
            && (!by_server || *rev >= REV_WITH_SERVER_ID)
        {
            add_timing(layers, Layer::ALL[layer], &fact(stream, layer, ttft_ms).timing);
        }
    }
    for (_, layers) in streams.values_mut() {
        layers.facts = 0;
    }
    streams
}

proptest! {
    #[test]
    fn any_order_repetition_and_restart_gives_the_same(arrivals in arrivals(), seed in any::<u64>()) {
        let mut twice = [arrivals.clone(), arrivals.clone()].concat();
        twice.sort_by_key(|arrival| crc32fast::hash(format!("{seed}{arrival:?}").as_bytes()));
        for arrivals in [&arrivals, &twice] {
            let mut collector = Simulated::new();
            for arrival in arrivals {
                collector.take(arrival);
            }
            prop_assert_eq!(collector.streams(), expected(arrivals));
        }
    }
}

fn results(counters: &RequestCounters) -> Vec<(&'static str, u64)> {
    counters
        .take_facts()
        .map(|(result, count)| (result.as_str(), count))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn each_fact_has_one_result() {
    let mut collector = Simulated::new();
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, by_server: false });
    assert_eq!(results(&collector.counters), [], "it waits");
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, by_server: false });
    assert_eq!(results(&collector.counters), [("duplicate", 1)]);
    collector.take(&Arrival::Report { stream: 1, rev: 0 });
    assert_eq!(results(&collector.counters), [("matched", 1)]);
    collector.take(&Arrival::Report { stream: 1, rev: 1 });
    collector.take(&Arrival::Fact { stream: 1, layer: 4, ttft_ms: 5, by_server: false });
    assert_eq!(results(&collector.counters), [("matched", 1)]);
    collector.take(&Arrival::Fact { stream: 1, layer: 4, ttft_ms: 5, by_server: false });
    assert_eq!(results(&collector.counters), [("duplicate", 1)]);
    collector.take(&Arrival::Fact { stream: 2, layer: 4, ttft_ms: 5, by_server: false });
    let none: &mut [AcceptedReport] = &mut [];
    collector.matcher.add_to_reports(61_000, None, none, &collector.counters);
    assert_eq!(results(&collector.counters), [], "it still waits");
    collector.matcher.add_to_reports(61_001, None, none, &collector.counters);
    assert_eq!(results(&collector.counters), [("expired", 1)]);
    assert_eq!(collector.matcher.state().bytes, 0);
}

#[test]
fn a_second_stream_with_the_same_response_gets_no_facts() {
    let mut collector = Simulated::new();
    collector.take(&Arrival::Report { stream: 1, rev: 0 });
    let mut forged = report(1, 7);
    forged.id = 9;
    let mut reports = [forged];
    collector.matcher.add_to_reports(1_000, None, &mut reports, &collector.counters);
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, by_server: false });
    assert_eq!(collector.streams()[&1].1.app.as_ref().unwrap().ttft_ms, Some(5.0));
    collector.matcher.add_to_reports(1_000, None, &mut reports, &collector.counters);
    assert_eq!(reports[0].report.layers, None);
}

#[test]
fn facts_of_another_site_do_not_match() {
    let mut collector = Simulated::new();
    collector.take(&Arrival::Report { stream: 1, rev: 0 });
    let foreign = ServerFact { site: "shop".into(), ..fact(1, 1, 5) };
    let batches = collector.matcher.add_facts(1_000, vec![foreign], &collector.counters);
    assert!(batches.iter().all(|batch| batch.changed.is_none()));
}

#[test]
fn memory_for_facts_is_bounded() {
    let collector = Simulated::new();
    for number in 0..40 {
        let facts = (0..5_000).map(|at| ServerFact {
            response_id: format!("{number}-{at}-{}", "x".repeat(100)),
            ..fact(1, 1, 5)
        });
        collector.matcher.add_facts(1_000, facts.collect(), &collector.counters);
        let state = collector.matcher.state();
        assert!(state.bytes < MOST_BYTES + 5_000 * 2_000 && state.by_id.len() == state.by_age.len());
    }
    assert!(results(&collector.counters)[0].1 > 0, "the oldest expire early");
}

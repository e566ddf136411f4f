use std::borrow::Cow;
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
        named_by: Id,
    },
    /// The collector dies, and starts again.
    Restart,
}

/// An id of a stream. Each is known from another revision on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    /// The headers have it.
    Trace,
    /// The first event has it.
    Response,
    /// The middleware's comment has it.
    Server,
}

impl Id {
    const ALL: [Self; 3] = [Self::Trace, Self::Response, Self::Server];

    fn of(self, stream: u128) -> String {
        match self {
            Self::Trace => format!("{stream:032x}"),
            Self::Response => format!("chatcmpl-{stream}"),
            Self::Server => format!("made-up-{stream}"),
        }
    }

    fn in_revision(self, stream: u128, rev: u32) -> Option<Cow<'static, str>> {
        (rev >= self as u32).then(|| self.of(stream).into())
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let each = prop_oneof![
        (0..3_u128, 0..3_u32).prop_map(|(stream, rev)| Arrival::Report { stream, rev }),
        (0..3_u128, 0..5_usize, 0..3_u32, prop::sample::select(&Id::ALL[..])).prop_map(
            |(stream, layer, ttft_ms, named_by)| Arrival::Fact { stream, layer, ttft_ms, named_by }
        ),
        Just(Arrival::Restart),
    ];
    proptest::collection::vec(each, 0..24)
}

fn report(stream: u128, rev: u32) -> AcceptedReport {
    let report = StreamReport {
        rev,
        site: Some("chat".into()),
        trace_id: Id::Trace.in_revision(stream, rev),
        response_id: Id::Response.in_revision(stream, rev),
        server_id: Id::Server.in_revision(stream, rev),
        ..StreamReport::new(format!("{stream:032x}"))
    };
    AcceptedReport { id: stream, visit: Some(7), report }
}

fn fact(stream: u128, layer: usize, ttft_ms: u32, named_by: Id) -> ServerFact {
    let (response_id, trace_id) = match named_by {
        Id::Trace => (String::new(), Some(named_by.of(stream).into())),
        Id::Response | Id::Server => (named_by.of(stream), None),
    };
    let (source, ttft_ms) = ("test".into(), Some(ttft_ms.into()));
    let timing = LayerTiming { source, ttft_ms, trace_id, ..LayerTiming::default() };
    ServerFact { site: "chat".into(), response_id, layer: Layer::ALL[layer], timing }
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
            Arrival::Fact { stream, layer, ttft_ms, named_by } => {
                let facts = vec![fact(stream, layer, ttft_ms, named_by)];
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
        if let Arrival::Fact { stream, layer, ttft_ms, named_by } = *arrival
            && let Some((rev, layers)) = streams.get_mut(&stream)
            && *rev >= named_by as u32
        {
            add_timing(layers, Layer::ALL[layer], &fact(stream, layer, ttft_ms, named_by).timing);
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
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, named_by: Id::Response });
    assert_eq!(results(&collector.counters), [], "it waits");
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, named_by: Id::Response });
    assert_eq!(results(&collector.counters), [("duplicate", 1)]);
    collector.take(&Arrival::Report { stream: 1, rev: 1 });
    assert_eq!(results(&collector.counters), [("matched", 1)]);
    collector.take(&Arrival::Report { stream: 1, rev: 2 });
    collector.take(&Arrival::Fact { stream: 1, layer: 4, ttft_ms: 5, named_by: Id::Response });
    assert_eq!(results(&collector.counters), [("matched", 1)]);
    collector.take(&Arrival::Fact { stream: 1, layer: 4, ttft_ms: 5, named_by: Id::Response });
    assert_eq!(results(&collector.counters), [("duplicate", 1)]);
    collector.take(&Arrival::Fact { stream: 2, layer: 4, ttft_ms: 5, named_by: Id::Response });
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
    collector.take(&Arrival::Report { stream: 1, rev: 1 });
    let mut forged = report(1, 7);
    forged.id = 9;
    let mut reports = [forged];
    collector.matcher.add_to_reports(1_000, None, &mut reports, &collector.counters);
    collector.take(&Arrival::Fact { stream: 1, layer: 1, ttft_ms: 5, named_by: Id::Response });
    assert_eq!(collector.streams()[&1].1.app.as_ref().unwrap().ttft_ms, Some(5.0));
    collector.matcher.add_to_reports(1_000, None, &mut reports, &collector.counters);
    assert_eq!(reports[0].report.layers, None);
}

#[test]
fn facts_of_another_site_do_not_match() {
    let mut collector = Simulated::new();
    collector.take(&Arrival::Report { stream: 1, rev: 1 });
    let foreign = ServerFact { site: "shop".into(), ..fact(1, 1, 5, Id::Response) };
    let batches = collector.matcher.add_facts(1_000, vec![foreign], &collector.counters);
    assert!(batches.iter().all(|batch| batch.changed.is_none()));
}

#[test]
fn memory_for_facts_is_bounded() {
    let collector = Simulated::new();
    for number in 0..40 {
        let facts = (0..5_000).map(|at| ServerFact {
            response_id: format!("{number}-{at}-{}", "x".repeat(100)),
            ..fact(1, 1, 5, Id::Response)
        });
        collector.matcher.add_facts(1_000, facts.collect(), &collector.counters);
        let state = collector.matcher.state();
        assert!(state.bytes < MOST_BYTES + 5_000 * 2_000 && state.by_id.len() == state.by_age.len());
    }
    assert!(results(&collector.counters)[0].1 > 0, "the oldest expire early");
}

//! The latest revision of a stream counts, on any collector and after any jump of the clock.

use std::collections::BTreeMap;

use beacon::{LayerTiming, Layers};
use proptest::prelude::*;

use super::handover::MOST_WAITING;
use super::*;
use crate::aggregate::internal_metrics::Kind;
use crate::aggregate::window_stats::WindowStats;
use crate::config::{Dedupe, Store};
use crate::report::server_fact::revision_without_facts;
use crate::report::source::ReportSource;

fn journaled(id: u128, report: StreamReport, at: RecordLocation) -> JournaledReport {
    JournaledReport { id, source: ReportSource::Unnamed, country: None, visit: None, report, at }
}

/// Replaces the store and the journal.
#[derive(Default)]
pub(super) struct Past {
    pub(super) windows: HashMap<WindowKey, Vec<u8>>,
    pub(super) cumulative: HashMap<CumulativeKey, Vec<u8>>,
    reports: HashMap<u64, StreamReport>,
}

impl StoredState for Past {
    type Error = Box<dyn std::error::Error>;

    fn window(&self, at: WindowKey) -> Result<Window, Self::Error> {
        let bytes = self.windows.get(&at);
        let stats = bytes.map_or_else(|| Ok(WindowStats::default()), |bytes| WindowStats::decode(bytes))?;
        Ok(Window { stats, before: None })
    }

    fn total(&self, key: CumulativeKey) -> Result<CumulativeStats, Self::Error> {
        let bytes = self.cumulative.get(&key);
        Ok(bytes.map_or_else(|| Ok(CumulativeStats::default()), |bytes| CumulativeStats::decode(bytes))?)
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, Self::Error> {
        Ok(self.reports.get(&at.position).cloned())
    }

    fn samples(&self, _: &str, _: i64) -> Result<Vec<StoredSample>, Self::Error> {
        Ok(Vec::new())
    }
}

fn flush(aggregator: &mut Aggregator, past: &mut Past, now_ms: i64) {
    while aggregator.finalize_next(now_ms, past).unwrap() {}
    {
        let mut changes = aggregator.changes();
        past.windows.extend(changes.windows.iter().map(|(key, window)| (*key, window.stats.encode())));
        past.cumulative.extend(changes.cumulative.iter_mut().map(|(key, total)| (*key, total.encode())));
    }
    aggregator.mark_flushed(now_ms);
    while aggregator.evict_some(now_ms, past).unwrap() {}
}

/// Counts these revisions of one stream, then a peer's revision, then optionally one more.
fn counted_after(revisions: &[u32], peer_revisions: &PeerRevision, then: Option<u32>) -> (u64, u64) {
    let (mut past, mut aggregator) =
        (Past::default(), Aggregator::new(Config::default(), LoadedState::default()));
    let apply = |aggregator: &mut Aggregator, past: &mut Past, position: u64, rev: u32| {
        let site = Some("demo".into());
        let report = StreamReport { rev, site, open: false, ..StreamReport::new(format!("{:032x}", 7)) };
        past.reports.insert(position, report.clone());
        let at = RecordLocation { position, len: 1 };
        aggregator.add(&journaled(7, report, at), 60_000, past).unwrap();
        flush(aggregator, past, 60_000);
    };
    for (position, rev) in revisions.iter().enumerate() {
        apply(&mut aggregator, &mut past, position as u64, *rev);
    }
    // The peer's revision arrives twice, as after a restart.
    for _ in 0..2 {
        aggregator.yield_to_peer(peer_revisions, &past).unwrap();
        flush(&mut aggregator, &mut past, 60_000);
    }
    if let Some(rev) = then {
        apply(&mut aggregator, &mut past, 9, rev);
    }
    let streams = past.windows.values().map(|bytes| WindowStats::decode(bytes).unwrap().streams()).sum();
    (streams, aggregator.counts.get(Kind::Moved, "revised") + aggregator.counts.get(Kind::Moved, "duplicate"))
}

#[test]
fn the_later_revision_counts_wherever_it_is() {
    let peer_revisions = |rev, has_precedence| PeerRevision {
        id: 7,
        site: "demo".to_owned(),
        rev: revision_without_facts(rev),
        has_precedence,
    };
    for (revisions, peer_revisions, then, expected) in [
        (&[0][..], peer_revisions(1, false), None, (0, 1)),
        (&[0, 1], peer_revisions(2, true), None, (0, 1)),
        (&[2], peer_revisions(1, true), None, (1, 0)),
        (&[1], peer_revisions(1, false), None, (1, 0)),
        (&[1], peer_revisions(1, true), None, (0, 1)),
        // A late revision is recognized as older. A later one counts here again.
        (&[0], peer_revisions(2, false), Some(1), (0, 1)),
        (&[0], peer_revisions(2, false), Some(2), (0, 1)),
        (&[0], peer_revisions(2, false), Some(3), (1, 1)),
        (&[1], PeerRevision { id: 8, ..peer_revisions(5, true) }, None, (1, 0)),
        // Another site has a stream with the same id.
        (&[1], PeerRevision { site: "other".to_owned(), ..peer_revisions(5, true) }, None, (1, 0)),
    ] {
        assert_eq!(
            counted_after(revisions, &peer_revisions, then),
            expected,
            "{revisions:?} {peer_revisions:?} {then:?}"
        );
    }
}

#[test]
fn an_ended_stream_counts_once_after_a_flood_of_ids() {
    let dedupe = Dedupe { ids: 64, minutes: 30 };
    let store = Store { streams_kept: 0, row_files_days: 0, ..Store::default() };
    let config = Config { dedupe, store, ..Config::default() };
    let (mut past, mut aggregator) = (Past::default(), Aggregator::new(config, LoadedState::default()));
    let honest = |rev| StreamReport { rev, open: false, ..StreamReport::new(format!("{:032x}", 7)) };
    let add = |aggregator: &mut Aggregator, past: &mut Past, id: u128, network: u8, report: StreamReport| {
        let position = past.reports.len() as u64;
        past.reports.insert(position, report.clone());
        let source = ReportSource::Network(network.into());
        let at = RecordLocation { position, len: 1 };
        aggregator.add(&JournaledReport { source, ..journaled(id, report, at) }, 60_000, past).unwrap();
        flush(aggregator, past, 60_000);
    };
    add(&mut aggregator, &mut past, 7, 1, honest(1));
    for id in 1_000..2_000 {
        let made_up = StreamReport { open: false, ..StreamReport::new(format!("{id:032x}")) };
        add(&mut aggregator, &mut past, id, 2, made_up);
    }
    for (rev, result) in [(0, "stale"), (1, "duplicate"), (2, "late")] {
        add(&mut aggregator, &mut past, 7, 1, honest(rev));
        assert_eq!(aggregator.counts.get(Kind::Report, result), 1, "{result}");
    }
    assert_eq!(aggregator.counts.get(Kind::Report, "new"), 1_001);
}

#[test]
fn facts_revise_a_stream_once_and_in_its_minute() {
    let (mut past, mut aggregator) =
        (Past::default(), Aggregator::new(Config::default(), LoadedState::default()));
    let reports = [0, 1, 1, 2, 1].map(|facts| {
        let app =
            LayerTiming { source: "asgi".into(), ttft_ms: Some(f64::from(facts)), ..LayerTiming::default() };
        let layers = (facts > 0).then(|| Layers { app: Some(app), facts, ..Layers::default() });
        StreamReport { layers, open: false, ..StreamReport::new(format!("{:032x}", 7)) }
    });
    for (position, report) in (0..).zip(reports) {
        past.reports.insert(position, report.clone());
        let journaled = journaled(7, report, RecordLocation { position, len: 1 });
        match position {
            0 => aggregator.add(&journaled, 60_000, &past).unwrap(),
            _ => aggregator.add_with_facts(&journaled, 60_000, &past).unwrap(),
        }
        flush(&mut aggregator, &mut past, 600_000);
    }
    let windows: Vec<_> = past.windows.values().map(|bytes| WindowStats::decode(bytes).unwrap()).collect();
    assert_eq!((windows.len(), windows[0].streams()), (1, 1));
    let results: Vec<_> =
        aggregator.counts.iter(Kind::Report).map(|(key, count)| (&*key.word, count)).collect();
    assert_eq!(results.into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>(), [("new", 1)]);
    assert_eq!(aggregator.read_streams().get(7).unwrap().1.rev & 63, 2, "the last one has the latest facts");
}

#[test]
fn a_file_has_the_forgotten_streams_without_revised_ones() {
    let store = Store { streams_kept: 1, row_file_streams: 4, ..Store::default() };
    let dedupe = Dedupe { ids: 1, ..Dedupe::default() };
    let config = Config { store, dedupe, ..Config::default() };
    let (mut past, mut aggregator) = (Past::default(), Aggregator::new(config, LoadedState::default()));
    let add =
        |aggregator: &mut Aggregator, past: &mut Past, position: u64, (id, rev, open): (u128, u32, bool)| {
            let report = StreamReport { rev, open, ..StreamReport::new(format!("{id:032x}")) };
            past.reports.insert(position, report.clone());
            let at = RecordLocation { position, len: 1 };
            aggregator.add(&journaled(id, report, at), 60_000, past).unwrap();
        };
    // The second stream is open, and the third is revised at once.
    for (position, revision) in
        [(1, 0, false), (2, 0, true), (3, 0, false), (3, 1, false), (4, 0, false)].into_iter().enumerate()
    {
        assert!(aggregator.next_row_batch(60_000, &past).unwrap().is_none(), "memory keeps them");
        add(&mut aggregator, &mut past, position as u64, revision);
        flush(&mut aggregator, &mut past, 60_000);
    }
    let batch = aggregator.next_row_batch(60_000, &past).unwrap().unwrap();
    assert_eq!((batch.first_seq, batch.end_seq), (0, 4));
    let ids: Vec<_> = batch.streams.iter().map(|stream| (stream.id, stream.rev)).collect();
    assert_eq!(ids, [(1, 0), (2, 0), (3, revision_without_facts(1))]);
    assert!(batch.streams.iter().all(|stream| stream.finalized.is_some()), "an open one is counted first");

    // The end of the second stream comes while the file is written.
    add(&mut aggregator, &mut past, 9, (2, 1, false));
    aggregator.add_row_file(RowFile { batch, bytes: 1 });
    let changes = aggregator.changes();
    assert_eq!(changes.remembered_from, 4);
    assert_eq!(changes.row_file.as_ref().map(|stored| stored.gone.as_slice()), Some(&[2][..]));
    drop(changes);
    flush(&mut aggregator, &mut past, 60_000);
    assert!(!aggregator.has_row_file());
    let streams = aggregator.streams();
    let streams = streams.read().unwrap();
    let remembered: Vec<_> = streams.from(0).map(|(seq, stream)| (seq, stream.id, stream.rev)).collect();
    assert_eq!(remembered, [(4, 4, 0), (5, 2, revision_without_facts(1))]);
}

#[test]
fn streams_that_no_file_took_are_forgotten_and_counted() {
    let store = Store { streams_kept: 1, ..Store::default() };
    let config = Config { store, dedupe: Dedupe { ids: 1, ..Dedupe::default() }, ..Config::default() };
    let (mut past, mut aggregator) = (Past::default(), Aggregator::new(config, LoadedState::default()));
    let at = RecordLocation { position: 0, len: 1 };
    for id in 0..MOST_WAITING as u128 + 10 {
        let report = StreamReport { open: false, ..StreamReport::new("0") };
        aggregator.add(&journaled(id, report, at), 60_000, &past).unwrap();
    }
    flush(&mut aggregator, &mut past, 60_000);
    let standing = aggregator.streams().read().unwrap().standing();
    let forgotten = aggregator.counts.get(Kind::Repair, "no_row") as usize;
    assert_eq!(standing + forgotten, MOST_WAITING + 10);
    assert!((1..1_000).contains(&forgotten), "{forgotten}");
}

#[test]
fn revisions_of_one_stream_exceed_a_label_limit_once() {
    let mut config = Config::default();
    config.limits.models = 1;
    let (mut past, mut aggregator) = (Past::default(), Aggregator::new(config, LoadedState::default()));
    // The third stream names its model in a later revision only.
    let revisions =
        [(1, 0, "a"), (2, 0, "b"), (2, 1, "b"), (2, 2, "c"), (3, 0, "unknown"), (3, 1, "b"), (3, 2, "b")];
    for (position, (id, rev, model)) in revisions.into_iter().enumerate() {
        let model = Some(model.into());
        let report = StreamReport { rev, model, open: rev == 0, ..StreamReport::new(format!("{id:032x}")) };
        let at = RecordLocation { position: position as u64, len: 1 };
        past.reports.insert(at.position, report.clone());
        aggregator.add(&journaled(id, report, at), 60_000, &past).unwrap();
    }
    assert_eq!(aggregator.counts.get(Kind::Overflow, "model"), 2);
}

#[test]
fn the_weight_follows_the_cached_windows_and_totals() {
    let (mut past, mut aggregator) =
        (Past::default(), Aggregator::new(Config::default(), LoadedState::default()));
    let mut weights = vec![aggregator.weight()];
    for (position, ttft_ms) in [1.0, 1_000_000.0, 1_000_000.0].into_iter().enumerate() {
        let id = position as u128;
        let report =
            StreamReport { ttft_ms: Some(ttft_ms), open: false, ..StreamReport::new(format!("{id:032x}")) };
        let at = RecordLocation { position: position as u64, len: 1 };
        aggregator.add(&journaled(id, report, at), 60_000, &past).unwrap();
        weights.push(aggregator.weight());
    }
    assert_eq!(weights[0], 0);
    assert!(weights[1] > size_of::<WindowStats>() + size_of::<CumulativeStats>(), "{weights:?}");
    let doublings = 1_000_000_f64.log2() as usize;
    assert!(weights[2] > weights[1] + doublings * (32 + 8) * size_of::<u64>(), "{weights:?}");
    assert_eq!(weights[3], weights[2], "no bucket is new");
    flush(&mut aggregator, &mut past, 60_000);
    assert_eq!(aggregator.weight(), weights[3]);
    flush(&mut aggregator, &mut past, 120_000);
    assert_eq!(aggregator.windows.bytes(), 0, "the minute is over");
    assert!(!aggregator.over_memory_limit());
    aggregator.most_kept_bytes = aggregator.cumulative.bytes() - 1;
    flush(&mut aggregator, &mut past, 120_000);
    assert_eq!(aggregator.weight(), 0);
}

#[test]
fn an_open_stream_with_a_lost_report_counts_as_lost_once() {
    let (mut past, mut aggregator) =
        (Past::default(), Aggregator::new(Config::default(), LoadedState::default()));
    let report = StreamReport { open: true, ..StreamReport::new(format!("{:032x}", 7)) };
    let at = RecordLocation { position: 0, len: 1 };
    aggregator.add(&journaled(7, report, at), 60_000, &past).unwrap();
    for hours in 1..3 {
        flush(&mut aggregator, &mut past, hours * 3_600_000);
    }
    aggregator.counts.unflushed();
    let count = |kind, word| aggregator.counts.get(kind, word);
    assert_eq!((count(Kind::Report, "new"), count(Kind::Report, "unreadable")), (1, 0));
    assert_eq!(
        (count(Kind::Repair, "lost_stream"), aggregator.streams().read().unwrap().open().count()),
        (1, 0)
    );
}

proptest! {
    /// The wall clock may jump by days, back and forth, between reports and flushes. Every stream counts
    /// once, with its latest revision, in any window, whether or not windows stay in memory.
    #[test]
    fn no_jump_of_the_clock_loses_or_doubles_a_stream(
        steps in prop::collection::vec((0..6_u128, 0..3_u32, any::<bool>(), -200_000_000..200_000_000_i64), 1..60),
        most_kept_bytes in prop::sample::select(vec![0, usize::MAX]),
    ) {
        let config = Config {
            dedupe: Dedupe { ids: 1_000, minutes: 30 },
            store: Store { streams_kept: 1_000, ..Config::default().store },
            ..Config::default()
        };
        let (mut past, mut latest) = (Past::default(), BTreeMap::new());
        let mut aggregator = Aggregator { most_kept_bytes, ..Aggregator::new(config, LoadedState::default()) };
        for (position, (id, rev, open, now_ms)) in steps.into_iter().enumerate() {
            let at = RecordLocation { position: position as u64, len: 1 };
            let report = StreamReport { rev, open, ..StreamReport::new(format!("{id:032x}")) };
            past.reports.insert(at.position, report.clone());
            aggregator.add(&journaled(id, report, at), now_ms, &past).unwrap();
            let known = latest.entry(id).or_insert((rev, open));
            if known.0 < rev {
                *known = (rev, open);
            }
            if position % 3 == 0 {
                flush(&mut aggregator, &mut past, now_ms);
            }
        }
        flush(&mut aggregator, &mut past, i64::MAX / 2);
        flush(&mut aggregator, &mut past, i64::MAX / 2);
        let counted: u64 = past.windows.values().map(|bytes| WindowStats::decode(bytes).unwrap().streams()).sum();
        prop_assert_eq!(counted, latest.len() as u64);
        let requests = |bytes: &Vec<u8>| CumulativeStats::decode(bytes).unwrap().requests();
        let in_cumulative: u64 = past.cumulative.values().map(requests).sum();
        prop_assert_eq!(in_cumulative, latest.len() as u64);
    }
}

use beacon::{Defects, ServerTiming};
use proptest::prelude::*;

use super::*;

fn report(ttft_ms: f64) -> StreamReport {
    let mut defects = Defects::default();
    defects.set(Defect::Stall, 3);
    let mut gaps = Histogram::default();
    gaps.record(12.5);
    StreamReport {
        outcome: Outcome::Complete,
        ttft_ms: Some(ttft_ms),
        ttfv_ms: Some(ttft_ms),
        e2e_ms: Some(ttft_ms * 3.0),
        tpot_ms: Some(40.0),
        output_tokens: Some(41),
        gaps: Some(gaps),
        defects,
        server: Some(ServerTiming {
            source: "comment".into(),
            ttft_ms: Some(ttft_ms - 10.0),
            ..ServerTiming::default()
        }),
        ..StreamReport::new("0")
    }
}

/// Three seconds after the begin of a minute.
const RECEIVED_MS: i64 = 63_000;

fn of(reports: &[StreamReport]) -> WindowStats {
    let mut stats = WindowStats::default();
    for report in reports {
        stats.add(report, Judgement::WITHIN_SLO);
        stats.add_in_flight(report, RECEIVED_MS);
    }
    stats
}

#[test]
fn a_window_is_the_same_after_encoding_and_decoding() {
    let stats = of(&[report(100.0), report(2_500.0)]);
    assert_eq!(WindowStats::decode(&stats.encode()), Ok(stats));
    assert_eq!(WindowStats::decode(&WindowStats::default().encode()), Ok(WindowStats::default()));
}

#[test]
fn only_requested_histograms_are_decoded() {
    let bytes = of(&[report(100.0), report(2_500.0)]).encode();
    let found = WindowStats::decode_only(&bytes, &[Metric::Ttft, Metric::InterChunkLatency]).unwrap();
    let held = |metric: &Metric| !found.histogram(*metric).is_empty();
    assert_eq!(
        Metric::ALL.into_iter().filter(held).collect::<Vec<_>>(),
        [Metric::Ttft, Metric::InterChunkLatency]
    );
    assert_eq!(found.streams(), 2);
}

#[test]
fn bytes_of_an_unknown_layout_are_unreadable() {
    let mut bytes = of(&[report(100.0)]).encode();
    assert_eq!(WindowStats::decode(&bytes[..bytes.len() - 1]), Err(UnreadableBlob));
    bytes[0] = 200;
    assert_eq!(WindowStats::decode(&bytes), Err(UnreadableBlob));
    assert_eq!(WindowStats::decode(&[]), Err(UnreadableBlob));
}

#[test]
fn sources_of_another_version_count_as_other() {
    let sources = ["comment", "server_timing", "other"].map(|source| (source.to_owned(), 2)).to_vec();
    let stored = Stored {
        outcomes: Vec::new(),
        defects: Vec::new(),
        sources,
        wait_causes: Vec::new(),
        pace_causes: Vec::new(),
        sums: vec![0; Sum::ALL.len()],
        in_flight: Vec::new(),
        histograms: Vec::new(),
    };
    let stats = WindowStats::decode(&blob_encoding::encode(FORMAT_VERSION, &stored)).unwrap();
    assert_eq!(stats.sources().collect::<Vec<_>>(), [("comment", 2), ("other", 4)]);
}

#[test]
fn statistics_without_sums_of_the_backend_have_none() {
    let stored = |sums| Stored {
        outcomes: Vec::new(),
        defects: Vec::new(),
        sources: Vec::new(),
        wait_causes: Vec::new(),
        pace_causes: Vec::new(),
        sums,
        in_flight: Vec::new(),
        histograms: Vec::new(),
    };
    let decode = |sums| WindowStats::decode(&blob_encoding::encode(FORMAT_VERSION, &stored(sums)));
    let stats = decode((1..=8).collect()).unwrap();
    assert_eq!((stats.sum(Sum::WithinPace), stats.sum(Sum::BackendEnds)), (8, 0));
    assert_eq!(decode((1..=9).collect()), Err(UnreadableBlob));
}

#[test]
fn a_retracted_report_leaves_the_others() {
    let mut stats = of(&[report(100.0), report(2_500.0)]);
    assert!(stats.retract(&report(100.0), Judgement::WITHIN_SLO, RECEIVED_MS));
    assert_eq!(stats.encode(), of(&[report(2_500.0)]).encode());
}

#[test]
fn a_report_that_was_never_added_is_not_retracted() {
    let mut stats = of(&[report(100.0)]);
    let before = stats.clone();
    assert!(!stats.retract(&report(2_500.0), Judgement::WITHIN_SLO, RECEIVED_MS));
    assert_eq!(stats, before);
}

fn ended(outcome: Outcome, ttft_ms: Option<f64>, ttfv_ms: Option<f64>) -> StreamReport {
    StreamReport { outcome, ttft_ms, ttfv_ms, close_ms: Some(7_000.0), ..StreamReport::new("0") }
}

#[test]
fn a_wait_for_text_and_one_for_visible_text_are_kept_apart() {
    let censored = |report: StreamReport| {
        let stats = of(&[report]);
        [Metric::AbandonedTtft, Metric::FailedTtft, Metric::AbandonedTtfv, Metric::FailedTtfv]
            .map(|metric| stats.histogram(metric).count())
    };
    assert_eq!(censored(ended(Outcome::Aborted, None, None)), [1, 0, 1, 0]);
    assert_eq!(censored(ended(Outcome::Timeout, None, None)), [0, 1, 0, 1]);
    assert_eq!(censored(ended(Outcome::Aborted, Some(900.0), None)), [0, 0, 1, 0], "saw it think");
    assert_eq!(censored(ended(Outcome::Aborted, Some(900.0), Some(950.0))), [0; 4], "saw an answer");
    assert_eq!(of(&[ended(Outcome::Aborted, None, None)]).histogram(Metric::AbandonedTtfv).sum(), 7_000.0);
}

fn reports() -> impl Strategy<Value = Vec<StreamReport>> {
    // Sums of whole numbers are the same in any order.
    let one = (0..Outcome::ALL.len(), prop::option::of(1..60_000_u32), 1..60_000_u32);
    let one = one.prop_map(|(outcome, shown_ms, close_ms)| StreamReport {
        outcome: Outcome::ALL[outcome],
        ttft_ms: shown_ms.map(f64::from),
        ttfv_ms: shown_ms.map(f64::from),
        close_ms: Some(close_ms.into()),
        ..StreamReport::new("0")
    });
    prop::collection::vec(one, 0..12)
}

proptest! {
    #[test]
    fn window_stats_merge_in_any_order_and_grouping(a in reports(), b in reports(), c in reports()) {
        let merged = |parts: &[&WindowStats]| {
            let mut all = WindowStats::default();
            parts.iter().for_each(|part| all.merge(part));
            all
        };
        let [a, b, c] = [of(&a), of(&b), of(&c)];
        let bytes = merged(&[&a, &b, &c]).encode();
        prop_assert_eq!(&merged(&[&c, &a, &b]).encode(), &bytes);
        prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]).encode(), &bytes);
        prop_assert_eq!(WindowStats::decode(&bytes).unwrap().encode(), bytes);
    }
}

#[test]
fn a_server_slower_than_the_client_counts_as_zero_overhead() {
    let mut odd = report(100.0);
    odd.server.as_mut().unwrap().ttft_ms = Some(150.0);
    assert_eq!(of(&[odd]).histogram(Metric::Overhead).zero(), 1);
}

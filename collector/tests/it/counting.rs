//! Each stream counts once, as its latest revision says, over restarts too.

use std::collections::BTreeMap;

use beacon::{Defect, Defects, Dropped, Histogram, Outcome, ProbeOverhead, StreamReport};
use collector::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{TestCollector, joined, stream};

fn open(id: u128, rev: u32) -> StreamReport {
    StreamReport {
        rev,
        open: true,
        outcome: Outcome::Abandoned,
        e2e_ms: None,
        close_ms: None,
        ..stream(id, 100.0)
    }
}

fn revised(rev: u32, report: StreamReport) -> StreamReport {
    StreamReport { rev, ..report }
}

async fn outcomes(collector: &TestCollector, wished: Value) {
    collector.until("/v1/summary", |summary| summary["outcomes"] == wished).await;
}

#[tokio::test]
async fn the_same_report_twice_counts_once() {
    let collector = TestCollector::new();
    for _ in 0..3 {
        collector.report(&[stream(1, 100.0)]).await;
    }
    collector.report(&[stream(2, 100.0), stream(2, 100.0)]).await;
    collector.until_metric("llm_rum_reports_total{result=\"duplicate\"}", 3.0).await;
    outcomes(&collector, json!({ "complete": 2 })).await;
    assert_eq!(collector.json("/v1/histogram?metric=ttft").await["n"], 2);
}

#[tokio::test]
async fn an_open_stream_is_listed_and_counts_when_it_ends() {
    let collector = TestCollector::new();
    collector.report(&[open(1, 0)]).await;
    let summary = collector.until("/v1/summary", |summary| summary["open"] == 1).await;
    assert_eq!(summary["streams"], 0);
    assert_eq!(summary["verdict"]["text"], "No stream ended in this period; 1 is in flight.");
    assert_eq!(collector.json("/v1/streams").await["streams"][0]["open"], true);
    collector.report(&[revised(1, stream(1, 100.0))]).await;
    outcomes(&collector, json!({ "complete": 1 })).await;
    assert_eq!(collector.json("/v1/summary").await["open"], 0);
    assert_eq!(collector.json("/v1/streams").await["streams"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_silent_open_stream_is_finalized_as_last_reported() {
    let collector = TestCollector::with(|config| config.settle_after_seconds = 0);
    collector.report(&[open(1, 0)]).await;
    outcomes(&collector, json!({ "abandoned": 1 })).await;
    let summary = collector.json("/v1/summary").await;
    assert_eq!((&summary["open"], &summary["availability"]["total"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_later_revision_replaces_the_counted_one() {
    let collector = TestCollector::new();
    collector.report(&[revised(1, joined(1, 9_000.0, 8_000.0)), stream(2, 50.0)]).await;
    outcomes(&collector, json!({ "complete": 2 })).await;
    let mut defects = Defects::default();
    defects.set(Defect::Stall, 2);
    let later = StreamReport { defects, outcome: Outcome::Truncated, ..revised(2, stream(1, 100.0)) };
    collector.report(&[later]).await;
    outcomes(&collector, json!({ "complete": 1, "truncated": 1 })).await;
    let summary = collector.json("/v1/summary").await;
    assert_eq!(summary["defects"], json!({ "stall": 1 }));
    assert_eq!(summary["ttft"]["n"], 2);
    assert!(summary["ttft"]["p99_ms"].as_f64().unwrap() < 110.0, "the 9 s are gone");
    assert_eq!(collector.json("/v1/compare").await["matched"], 0);
    let requests = "llm_requests_total{model=\"gpt-5\",provider=\"openai\",site=\"demo\",use_case=\"chat\"}";
    assert_eq!(collector.metric(requests).await, 2.0, "counters count a stream once");
}

#[tokio::test]
async fn an_earlier_revision_changes_nothing() {
    let collector = TestCollector::new();
    collector.report(&[revised(2, stream(1, 100.0))]).await;
    collector.report(&[open(1, 1), open(1, 0)]).await;
    collector.until_metric("llm_rum_reports_total{result=\"stale\"}", 2.0).await;
    outcomes(&collector, json!({ "complete": 1 })).await;
    assert_eq!(collector.json("/v1/streams").await["streams"][0]["rev"], 2);
}

#[tokio::test]
async fn a_late_end_of_a_finalized_stream_replaces_its_outcome() {
    let mut collector = TestCollector::with(|config| config.settle_after_seconds = 0);
    collector.report(&[open(1, 0)]).await;
    outcomes(&collector, json!({ "abandoned": 1 })).await;
    collector.restart();
    collector.report(&[revised(1, stream(1, 100.0))]).await;
    outcomes(&collector, json!({ "complete": 1 })).await;
    let all = collector.get("/metrics").await.body;
    assert!(
        all.contains("llm_rum_streams_total{outcome=\"abandoned\""),
        "what was told to Prometheus stays told"
    );
    assert!(!all.contains("llm_rum_streams_total{outcome=\"complete\""));
}

#[tokio::test]
async fn a_restart_keeps_all_counts() {
    let mut collector = TestCollector::with(|config| {
        config.limits = Limits { models: 1, ..Limits::default() };
    });
    let model = |name: &'static str| StreamReport { model: Some(name.into()), ..joined(2, 800.0, 700.0) };
    collector.report(&[stream(1, 100.0), model("over-the-bound"), open(3, 0)]).await;
    let before = collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let metrics = collector.get("/metrics").await.body;
    collector.restart();
    let after = collector.json("/v1/summary").await;
    for part in ["outcomes", "ttft", "inter_chunk_latency", "overflow", "goodput", "open"] {
        if part == "goodput" {
            assert_eq!(after[part]["good"], before[part]["good"]);
        } else {
            assert_eq!(after[part], before[part], "{part}");
        }
    }
    assert_eq!(collector.get("/metrics").await.body, metrics);

    collector.report(&[stream(1, 100.0), revised(1, stream(3, 100.0)), model("over-the-bound")]).await;
    outcomes(&collector, json!({ "complete": 3 })).await;
    collector.until_metric("llm_rum_reports_total{result=\"duplicate\"}", 2.0).await;
    assert_eq!(collector.json("/v1/summary?model=other").await["streams"], 1);
}

#[tokio::test]
async fn probe_overhead_appears_once_clocks_are_precise_enough() {
    let mut collector = TestCollector::new();
    let costing = |id, chunks_ms, clock_resolution_ms| {
        let memory_bytes = Some(196_608);
        let overhead = ProbeOverhead {
            timed_chunks: Some(1000),
            chunks_ms: Some(chunks_ms),
            memory_bytes,
            sent_bytes: None,
        };
        StreamReport { clock_resolution_ms, probe_overhead: Some(overhead), ..stream(id, 100.0) }
    };
    let told = async |collector: &TestCollector, chunks| {
        let books =
            collector.until("/v1/accounting", |books| books["probe_overhead"]["timed_chunks"] == chunks);
        books.await["probe_overhead"].clone()
    };

    collector.report(&[costing(1, 0.3, Some(0.1))]).await;
    let too_few = json!({
        "timed_chunks": 1000, "us_per_chunk": null, "error_us": null, "memory_bytes": 196_608,
    });
    assert_eq!(told(&collector, 1000).await, too_few, "three steps of a clock say nothing");

    let unknown_step = costing(2, 500.0, None);
    let later = revised(1, costing(1, 0.3, Some(0.1)));
    collector.report(&[later, unknown_step, costing(3, 3.7, Some(0.1))]).await;
    let overhead = told(&collector, 2000).await;
    assert_eq!(overhead["us_per_chunk"], 2.0, "4 ms over 2,000 chunks: {overhead}");
    let error_us = overhead["error_us"].as_f64().unwrap();
    assert!((error_us - 0.632).abs() < 0.001, "2 √(4 ms · 0.1 ms) over 2,000 chunks: {error_us}");
    assert_eq!(collector.metric("llm_rum_probe_chunk_seconds_total").await, 0.004);
    assert_eq!(collector.metric("llm_rum_probe_timed_chunks_total").await, 2000.0);
    collector.restart();
    assert_eq!(told(&collector, 2000).await, overhead);
}

/// What is sent to the collector, one after the other.
#[derive(Debug, Clone)]
enum Step {
    Report { id: u128, rev: u32, open: bool, ttft_ms: u32 },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let report = (0..4_u128, 0..4_u32, any::<bool>(), 1..100_000_u32)
        .prop_map(|(id, rev, open, ttft_ms)| Step::Report { id, rev, open, ttft_ms });
    prop_oneof![8 => report, 1 => Just(Step::Restart)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever comes in whatever order, doubled and with restarts in between: the windows are those of
    /// the latest revisions alone.
    #[test]
    fn the_windows_are_those_of_the_latest_revisions(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut collector = TestCollector::new();
        let mut latest: BTreeMap<u128, StreamReport> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Restart => collector.restart(),
                Step::Report { id, rev, open: is_open, ttft_ms } => {
                    let ended = revised(rev, stream(id, f64::from(ttft_ms)));
                    let report = if is_open { open(id, rev) } else { ended };
                    runtime.block_on(collector.report(std::slice::from_ref(&report)));
                    if latest.get(&id).is_none_or(|known| known.rev < rev) {
                        latest.insert(id, report);
                    }
                }
            }
        }
        collector.restart();
        let ended: Vec<_> = latest.values().filter(|report| !report.open).collect();
        let mut exact = Histogram::default();
        for report in &ended {
            exact.record(report.ttft_ms.unwrap());
        }
        let summary = runtime.block_on(collector.json("/v1/summary"));
        prop_assert_eq!(&summary["streams"], &json!(ended.len()));
        prop_assert_eq!(&summary["open"], &json!(latest.len() - ended.len()));
        let spread = runtime.block_on(collector.json("/v1/histogram?metric=ttft"));
        let buckets = exact.folded(3).map(|bucket| json!({
            "lower_ms": bucket.lower, "upper_ms": bucket.upper, "count": bucket.count,
        }));
        prop_assert_eq!(&spread["buckets"], &json!(buckets.collect::<Vec<_>>()));
        let listed = runtime.block_on(collector.json("/v1/streams"));
        prop_assert_eq!(listed["streams"].as_array().unwrap().len(), latest.len());
    }
}

#[tokio::test]
async fn classic_buckets_hold_the_raw_values() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 100.0), stream(2, 2_000.0), stream(3, 2_000.5), stream(4, 90_000.0)]).await;
    let series = "model=\"gpt-5\",provider=\"openai\",site=\"demo\",use_case=\"chat\"";
    let bucket = |le: &str| format!("llm_first_token_duration_seconds_bucket{{{series},le=\"{le}\"}}");
    collector.until_metric(&bucket("+Inf"), 4.0).await;
    for (le, count) in [("0.05", 0.0), ("0.1", 1.0), ("1.5", 1.0), ("2", 2.0), ("2.25", 3.0), ("60", 3.0)] {
        assert_eq!(collector.metric(&bucket(le)).await, count, "{le}");
    }
    let errors = format!("llm_generation_errors_total{{{series}}}");
    assert!(collector.get("/metrics").await.body.contains(&format!("{errors} 0\n")), "initialised to 0");
    assert_eq!(collector.metric(&format!("llm_tpot_seconds{{{series}}}")).await, 0.04);
}

#[tokio::test]
async fn every_required_metric_and_bucket_is_there() {
    let collector = TestCollector::new();
    collector.report(&[joined(1, 100.0, 90.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let metrics = collector.get("/metrics").await.body;
    let bucket_is_there = |name: &str, le: &str| {
        let found = metrics.lines().any(|line| {
            line.starts_with(&format!("{name}_bucket{{")) && line.contains(&format!("le=\"{le}\""))
        });
        assert!(found, "{name} {le}");
    };
    for le in ["0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "5", "10", "30", "+Inf"] {
        bucket_is_there("llm_first_token_duration_seconds", le);
    }
    for le in ["0.5", "1", "2.5", "5", "10", "30", "60", "120", "300", "+Inf"] {
        bucket_is_there("llm_generation_duration_seconds", le);
        bucket_is_there("llm_request_duration_seconds", le);
    }
    for (name, kind) in [
        ("llm_tokens_generated_total", "counter"),
        ("llm_tpot_seconds", "gauge"),
        ("llm_requests_total", "counter"),
        ("llm_generation_errors_total", "counter"),
        ("llm_input_tokens_total", "counter"),
        ("llm_rum_streams_with_usage_total", "counter"),
        ("llm_rum_streams_total", "counter"),
        ("llm_rum_open_streams", "gauge"),
        ("llm_rum_broken_streams_total", "counter"),
        ("llm_rum_first_visible_duration_seconds", "histogram"),
        ("llm_rum_inter_chunk_latency_seconds", "histogram"),
        ("llm_rum_token_generation_seconds", "histogram"),
        ("llm_rum_first_paint_duration_seconds", "histogram"),
        ("llm_rum_abandoned_wait_seconds", "histogram"),
        ("llm_rum_time_per_output_token_seconds", "histogram"),
        ("llm_rum_server_first_token_duration_seconds", "histogram"),
        ("llm_rum_first_token_overhead_seconds", "histogram"),
        ("llm_rum_server_queue_seconds", "histogram"),
        ("llm_rum_server_token_generation_seconds", "histogram"),
        ("llm_rum_output_tokens_per_second", "histogram"),
        ("llm_rum_beacons_total", "counter"),
    ] {
        assert!(metrics.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
    }
}

/// `increase()` sees nothing of a counter that begins with what it is to see.
#[tokio::test]
async fn counters_used_by_alerts_exist_from_the_start() {
    let collector = TestCollector::with(|config| config.limits.models = 1);
    let dropped = |reason: &str| format!("llm_rum_probe_dropped_total{{reason=\"{reason}\"}}");
    let overflow =
        |label: &str| format!("llm_rum_label_limit_exceeded_total{{label=\"{label}\",site=\"demo\"}}");
    let labels = ["use_case", "provider", "model", "country", "response_model", "series"];
    let reasons = ["queue_full", "send_failed", "refused", "early"];
    let metrics = collector.get("/metrics").await.body;
    for name in reasons.map(dropped).into_iter().chain(labels.map(overflow)) {
        assert!(metrics.contains(&format!("\n{name} 0\n")), "{name}");
    }
    let lost = Some(Dropped { send_failed: 200, ..Dropped::default() });
    let other = StreamReport { model: Some("another".into()), dropped: lost, ..stream(2, 100.0) };
    collector.report(&[stream(1, 100.0), other]).await;
    collector.until_metric(&overflow("model"), 1.0).await;
    assert_eq!(collector.metric(&dropped("send_failed")).await, 200.0);
    let metrics = collector.get("/metrics").await.body;
    assert_eq!(metrics.matches("\nllm_rum_label_limit_exceeded_total{").count(), labels.len(), "each once");
    assert_eq!(metrics.matches("\nllm_rum_probe_dropped_total{").count(), reasons.len(), "each once");
}

#[tokio::test]
async fn only_the_newest_streams_are_kept_and_the_windows_keep_all() {
    let mut collector = TestCollector::with(|config| config.store.streams_kept = 10);
    let reports: Vec<_> = (0..100).map(|id| stream(id, 100.0)).collect();
    collector.report(&reports).await;
    collector.report(&[open(500, 0)]).await;
    collector.restart();
    let kept = collector
        .until("/v1/streams?limit=500", |page| page["streams"].as_array().unwrap().len() == 10)
        .await;
    assert_eq!(kept["streams"][0]["id"], format!("{:032x}", 500));
    assert_eq!(collector.json("/v1/summary").await["streams"], 100);
}

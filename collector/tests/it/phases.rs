//! The phases of the wait over many streams.

use beacon::{NetworkTiming, ServerStart, ServerTiming, StreamReport};
use serde_json::Value;

use crate::harness::{TestCollector, close_to, stream};

/// A wait of one second of which the page tells the connection and the server its queue, both growing with `id`.
fn told(id: u128) -> StreamReport {
    told_after(id, 1_000.0)
}

pub(crate) fn told_after(id: u128, ttft_ms: f64) -> StreamReport {
    let ms = id as f64;
    StreamReport {
        network_timing: Some(NetworkTiming {
            dns_ms: Some(ms),
            connect_ms: Some(ms),
            ..NetworkTiming::default()
        }),
        server: Some(ServerTiming {
            source: "vllm".into(),
            starts_from: Some(ServerStart::Arrival),
            queue_ms: Some(2.0 * ms),
            ttft_ms: Some(300.0),
            ..ServerTiming::default()
        }),
        ..stream(id, ttft_ms)
    }
}

async fn counted(reports: &[StreamReport]) -> TestCollector {
    let collector = TestCollector::new();
    for batch in reports.chunks(100) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == reports.len()).await;
    collector
}

fn phase<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let phases = answer["phases"].as_array().unwrap();
    phases.iter().find(|phase| phase["phase"] == name).unwrap()
}

#[tokio::test]
async fn each_phase_covers_the_streams_that_tell_it() {
    let silent = (101..151).map(|id| stream(id, 1_000.0));
    let collector = counted(&(1..101).map(told).chain(silent).collect::<Vec<_>>()).await;
    let answer = collector.json("/v1/phases").await;
    assert_eq!((&answer["streams"], &answer["ttft"]["n"]), (&150.into(), &150.into()));
    for (name, n, p95_ms) in
        [("dns", 100, 95.0), ("server_queue", 100, 190.0), ("prefill", 100, 290.0), ("network", 100, 690.0)]
    {
        let found = phase(&answer, name);
        assert_eq!(found["n"], n, "{found}");
        assert!(close_to(&found["p95_ms"], p95_ms), "{found}");
    }
    for untold in ["server", "main_thread", "paint"] {
        let found = phase(&answer, untold);
        assert_eq!((&found["n"], &found["p50_ms"]), (&0.into(), &Value::Null), "{found}");
    }
}

#[tokio::test]
async fn phases_of_a_filter_and_as_csv_are_the_same() {
    let collector = counted(&(1..41).map(told).collect::<Vec<_>>()).await;
    let csv = collector.get("/v1/phases?format=csv").await.body;
    assert!(csv.starts_with("phase,n,p50_ms,p90_ms,p95_ms,p99_ms\r\n\"dns\",40,"), "{csv}");
    assert!(csv.contains("\"paint\",0,,,,\r\n"), "{csv}");
    let other = collector.json("/v1/phases?use_case=coding").await;
    assert_eq!((&other["streams"], &phase(&other, "dns")["n"]), (&0.into(), &0.into()));
}

#[tokio::test]
async fn the_largest_part_of_the_slow_waits_is_a_sentence() {
    let slow = (1..51).map(|id| told_after(id, 3_000.0));
    let fast = (51..451).map(|id| stream(id, 200.0));
    let collector = counted(&slow.chain(fast).collect::<Vec<_>>()).await;
    // From windows, and from single streams.
    for path in ["/v1/phases", "/v1/phases?visibility=!hidden"] {
        let answer = collector.json(path).await;
        let around = &answer["around_p95"];
        assert_eq!((&around["largest"], &around["n"]), (&"network".into(), &50.into()), "{answer:#}");
        let parts = around["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().filter_map(|part| part["mean_ms"].as_f64()).sum();
        assert!((sum - 3_000.0).abs() < 0.01, "{around}");
        assert!(around["text"].as_str().unwrap().contains("is the network: 2.6 of 3.0 s"), "{around}");
    }
    let few = collector.json("/v1/phases?model=none").await;
    assert_eq!(few["around_p95"], Value::Null);
}

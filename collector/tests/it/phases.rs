//! The phases of the wait over many streams.

use beacon::{NetworkTiming, ServerStart, ServerTiming, StreamReport};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, close_to, stream};
use crate::import::{import, line, now_ms, started};

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

/// A wait of one second: the queue, prefill to 700 ms, 300 ms of network.
fn queued(id: u128, queue_ms: f64) -> StreamReport {
    let server = ServerTiming {
        source: "vllm".into(),
        starts_from: Some(ServerStart::Arrival),
        queue_ms: Some(queue_ms),
        ttft_ms: Some(700.0),
        ..ServerTiming::default()
    };
    StreamReport { server: Some(server), ..stream(id, 1_000.0) }
}

/// A past quarter of an hour in three steps. The first has three streams that tell their phases and one that does not, the
/// second has none, the third one that does not tell them.
fn quarter_hour(data: &TempDir) -> (TestCollector, String) {
    let from_ms = (now_ms() / STEP_MS - 6) * STEP_MS;
    let third_ms = from_ms + 2 * STEP_MS;
    let lines = [
        line(&queued(1, 100.0), from_ms, "CH"),
        line(&queued(2, 200.0), from_ms + 60_000, "CH"),
        line(&queued(3, 600.0), from_ms + 240_000, "DE"),
        line(&stream(4, 2_000.0), from_ms + 240_000, "DE"),
        line(&stream(5, 500.0), third_ms, "FR"),
    ];
    let folder = data.path().join("data");
    assert!(import(&folder, &lines).status.success());
    (started(&folder), format!("from={from_ms}&to={}", from_ms + 3 * STEP_MS))
}

const STEP_MS: i64 = 300_000;

/// Names and means of the parts of a split, after the mean wait.
fn means(split: &Value) -> Value {
    let parts = split["mean"]["parts"].as_array().unwrap();
    let parts: Vec<_> = parts.iter().map(|part| json!([part["phase"], part["mean_ms"]])).collect();
    json!([split["mean"]["ttft_mean_ms"], parts])
}

#[tokio::test]
async fn each_step_has_its_own_phases() {
    let data = TempDir::new().unwrap();
    let (collector, range) = quarter_hour(&data);
    let answer = collector.json(&format!("/v1/phases?{range}&step=300")).await;
    assert_eq!((&answer["step_ms"], &answer["streams"]), (&json!(STEP_MS), &json!(5)));
    let [first, second, third] = &answer["points"].as_array().unwrap()[..] else { panic!("{answer:#}") };
    assert_eq!((&first["streams"], &first["ttft"]["n"]), (&json!(4), &json!(4)));
    let told = first["phases"].as_array().unwrap().iter();
    let told: Vec<_> = told.map(|phase| (phase["phase"].as_str().unwrap(), &phase["n"])).collect();
    let (four, three) = (json!(4), json!(3));
    let expected = [("server_queue", &three), ("prefill", &three), ("network", &three), ("reasoning", &four)];
    assert_eq!(told, expected);
    for (name, p50_ms, p95_ms) in
        [("server_queue", 200.0, 600.0), ("prefill", 500.0, 600.0), ("network", 300.0, 300.0)]
    {
        let found = phase(first, name);
        assert!(close_to(&found["p50_ms"], p50_ms) && close_to(&found["p95_ms"], p95_ms), "{found}");
    }
    // The sums are 900, 1200 and 900 ms over four streams, and one of 2000 ms tells nothing.
    let parts =
        json!([["server_queue", 225.0], ["prefill", 300.0], ["network", 225.0], ["not_reported", 500.0]]);
    assert_eq!(means(first), json!([1_250.0, parts]));
    assert_eq!(
        (&second["streams"], &second["phases"], &second["mean"]),
        (&json!(0), &json!([]), &Value::Null)
    );
    assert_eq!(means(third), json!([500.0, [["not_reported", 500.0]]]));
    assert_eq!(means(&answer)[0], json!(1_100.0));
}

#[tokio::test]
async fn each_value_of_a_dimension_has_its_own_phases() {
    let data = TempDir::new().unwrap();
    let (collector, range) = quarter_hour(&data);
    // From windows, and from single streams.
    for filter in ["", "&visibility=!hidden"] {
        let answer = collector.json(&format!("/v1/phases?{range}&by=country&limit=2{filter}")).await;
        assert_eq!((&answer["by"], &answer["omitted"]), (&json!("country"), &json!(1)), "{answer:#}");
        let [swiss, german] = &answer["groups"].as_array().unwrap()[..] else { panic!("{answer:#}") };
        assert_eq!((&swiss["value"], &german["value"]), (&json!("CH"), &json!("DE")));
        let parts = json!([["server_queue", 150.0], ["prefill", 550.0], ["network", 300.0]]);
        assert_eq!(means(swiss), json!([1_000.0, parts]));
        let parts = json!([
            ["server_queue", 300.0],
            ["prefill", 50.0],
            ["network", 150.0],
            ["not_reported", 1_000.0]
        ]);
        assert_eq!(means(german), json!([1_500.0, parts]));
        let queue = phase(german, "server_queue");
        assert_eq!((&queue["n"], &german["ttft"]["n"]), (&json!(1), &json!(2)));
        assert!(close_to(&queue["p95_ms"], 600.0), "{queue}");
    }
    let csv = collector.get(&format!("/v1/phases?{range}&by=country&format=csv")).await.body;
    assert!(
        csv.starts_with("country,phase,n,p50_ms,p90_ms,p95_ms,p99_ms\r\n\"CH\",\"server_queue\",2,"),
        "{csv}"
    );
    let csv = collector.get(&format!("/v1/phases?{range}&step=300&format=csv")).await.body;
    assert!(csv.starts_with("timestamp_ms,phase,n,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 4 + 1, "{csv}");
    let both = collector.get("/v1/phases?step=300&by=country").await.refused(400, "bad_query");
    assert_eq!(both, "give either `step` or `by`");
}

//! What happens now: once, and as a stream of events.

use std::io::{BufRead, Read, Write};
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use beacon::{Outcome, StreamReport};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TIMEOUT, TestCollector, stream};
use crate::running::Process;

/// Listens to a collector.
struct Listener(BodyDataStream);

impl Listener {
    async fn of(collector: &TestCollector, path: &str) -> Self {
        let response = collector.open(events(path)).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self(response.into_body().into_data_stream())
    }

    /// The next snapshot. `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        let piece = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await;
        let piece = piece.expect("an event a second")?.unwrap();
        let event = std::str::from_utf8(&piece).unwrap();
        let data = event.strip_prefix("data: ").and_then(|data| data.strip_suffix("\n\n"));
        Some(serde_json::from_str(data.unwrap_or_else(|| panic!("{event}"))).unwrap())
    }

    async fn until(&mut self, wished: impl Fn(&Value) -> bool) -> Value {
        let asked = Instant::now();
        loop {
            let snapshot = self.next().await.expect("it goes on");
            if wished(&snapshot) {
                return snapshot;
            }
            assert!(asked.elapsed() < TIMEOUT, "{snapshot}");
        }
    }
}

fn events(path: &str) -> Request<Body> {
    let request = Request::get(path).header("host", "localhost").header("accept", "text/event-stream");
    request.body(Body::empty()).unwrap()
}

fn open(id: u128) -> StreamReport {
    StreamReport { open: true, outcome: Outcome::Abandoned, ..stream(id, 300.0) }
}

#[tokio::test]
async fn a_snapshot_agrees_with_the_other_answers() {
    let collector = TestCollector::new();
    let mut reports: Vec<_> = (1..=12).map(|n| stream(n, n as f64 * 100.0)).collect();
    reports.push(StreamReport { outcome: Outcome::Truncated, ..stream(13, 100.0) });
    reports.extend([open(14), open(15)]);
    collector.report(&reports).await;
    let closed = StreamReport { rev: 1, ..stream(15, 300.0) };
    collector.report(&[StreamReport { model: Some("claude".into()), ..closed }]).await;

    let live = collector.until("/v1/live", |live| live["ttft"]["n"] == 14).await;
    assert_eq!((&live["scope"], &live["open"]), (&json!("collector"), &json!(1)));
    let ended = json!({ "seconds": 60.0, "streams": 14, "outcomes": { "complete": 13, "truncated": 1 } });
    assert_eq!(live["ended"], ended);
    assert_eq!(live["reports_per_second"], 1.6, "16 in 10 s, the one that was replaced among them");
    let range = format!("from={}&to={}", live["from"], live["to"]);
    let summary = collector.json(&format!("/v1/summary?{range}")).await;
    for name in ["from", "to", "ttft", "ttfv", "open"] {
        assert_eq!(live[name], summary[name], "{name}");
    }
    assert_eq!(live["to"].as_i64().unwrap() - live["from"].as_i64().unwrap(), 300_000);
    let listed = collector.json("/v1/streams?limit=12").await;
    let ended: Vec<_> = listed["streams"].as_array().unwrap().iter().filter(|s| s["open"] != true).collect();
    let shown: Vec<_> = live["streams"].as_array().unwrap().iter().collect();
    assert_eq!((shown.len(), shown), (10, ended[..10].to_vec()));

    let claude = collector.json("/v1/live?model=claude").await;
    assert_eq!((&claude["open"], &claude["ended"]["streams"]), (&json!(0), &json!(1)));
    assert_eq!((&claude["ttft"]["n"], &claude["reports_per_second"]), (&json!(1), &json!(0.1)));
    let nothing = collector.json("/v1/live?site=unheard-of").await;
    assert_eq!((&nothing["ended"]["streams"], &nothing["ttft"]["n"]), (&json!(0), &json!(0)));
    assert_eq!(nothing["ttft"]["p50_ms"], Value::Null, "absent is not zero");
}

#[tokio::test]
async fn live_covers_fewer_seconds_if_fewer_ids_are_remembered() {
    let collector = TestCollector::with(|config| {
        config.dedupe.ids = 20;
        config.store.streams_kept = 10;
        config.store.row_files_days = 0;
    });
    for first in [0, 100] {
        collector.report(&(first..first + 100).map(|n| stream(n, 100.0)).collect::<Vec<_>>()).await;
    }
    let live = collector.until("/v1/live", |live| live["ttft"]["n"] == 200).await;
    let live =
        collector.until("/v1/live", |now| now["timestamp_ms"].as_i64() > live["timestamp_ms"].as_i64()).await;
    assert!(live["ended"]["seconds"].as_f64().unwrap() < 60.0, "{live}");
    assert!(live["ended"]["streams"].as_u64().unwrap() <= 20, "{live}");
}

#[tokio::test]
async fn live_events_continue_and_follow_new_reports() {
    let collector = TestCollector::new();
    let mut listener = Listener::of(&collector, "/v1/live").await;
    let mut of_coding = Listener::of(&collector, "/v1/live?use_case=coding").await;
    let asked = Instant::now();
    assert_eq!(listener.next().await.unwrap()["open"], 0);
    let first = asked.elapsed();
    listener.next().await.unwrap();
    assert!(first < asked.elapsed() - first, "the first does not wait for a second to pass");
    collector.report(&[open(1)]).await;
    listener.until(|live| live["open"] == 1).await;
    collector.report(&[StreamReport { rev: 1, ..stream(1, 300.0) }]).await;
    let last = listener.until(|live| live["open"] == 0 && live["ttft"]["n"] == 1).await;
    assert_eq!((&last["ended"]["streams"], &last["streams"][0]["rev"]), (&json!(1), &json!(1)));
    let other = of_coding.until(|live| live["timestamp_ms"].as_i64() >= last["timestamp_ms"].as_i64()).await;
    assert_eq!(other["ended"]["streams"], 0);
}

#[tokio::test]
async fn a_slow_listener_misses_events_and_delays_no_other() {
    let collector = TestCollector::new();
    let mut slow = Listener::of(&collector, "/v1/live").await;
    let mut quick = Listener::of(&collector, "/v1/live").await;
    let first = quick.next().await.unwrap();
    quick.next().await.unwrap();
    let third = quick.next().await.unwrap();
    assert!(
        third["timestamp_ms"].as_i64().unwrap() - first["timestamp_ms"].as_i64().unwrap() >= 1_900,
        "one a second"
    );
    assert_eq!(
        slow.next().await.unwrap()["timestamp_ms"],
        third["timestamp_ms"],
        "both are told the same, made once"
    );
}

#[tokio::test]
async fn listeners_over_the_limit_are_refused() {
    let collector = TestCollector::new();
    let mut listeners = Vec::new();
    for at in 0..64 {
        // Half of them share a filter.
        let path = if at % 2 == 0 { "/v1/live".into() } else { format!("/v1/live?model=m{at}") };
        listeners.push(Listener::of(&collector, &path).await);
    }
    collector.until_metric("llm_rum_live_listeners ", 64.0).await;
    let refused = collector.send(events("/v1/live")).await;
    refused.refused(503, "too_many_listeners");
    assert_eq!(refused.headers["retry-after"], "5");
    collector.json("/v1/live").await;
    collector.until_metric("llm_rum_live_rejected_total ", 1.0).await;
    for listener in &mut listeners {
        listener.next().await.unwrap();
    }
    listeners.pop();
    Listener::of(&collector, "/v1/live").await.next().await.unwrap();
    drop(listeners);
    collector.until_metric("llm_rum_live_listeners ", 0.0).await;
}

#[tokio::test]
async fn an_invalid_live_query_is_refused_before_any_event() {
    let collector = TestCollector::new();
    for path in ["/v1/live?range=1h", "/v1/live?limit=5", "/v1/live?site=a&site=!b"] {
        collector.get(path).await.refused(400, "bad_query");
        collector.send(events(path)).await.refused(400, "bad_query");
    }
    let elsewhere =
        Request::get("/v1/live").header("host", "evil.example").header("accept", "text/event-stream");
    collector.send(elsewhere.body(Body::empty()).unwrap()).await.refused(403, "foreign_host");
    assert_eq!(collector.metric("llm_rum_live_listeners ").await, 0.0);
}

#[tokio::test]
async fn a_collector_that_drains_ends_the_events() {
    let collector = TestCollector::new();
    let mut listener = Listener::of(&collector, "/v1/live").await;
    listener.next().await.unwrap();
    collector.drain();
    assert_eq!(listener.next().await, None);
    assert_eq!(Listener::of(&collector, "/v1/live").await.next().await, None, "nor does it begin anew");
    assert_eq!(collector.json("/v1/live").await["open"], 0);
}

#[test]
fn a_listener_does_not_keep_a_collector_from_stopping() {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path());
    let mut client = process.connect();
    let request = "GET /v1/live HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    client.stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        assert!(client.stream.read_line(&mut line).unwrap() > 0);
    }
    process.signal("TERM");
    let mut rest = String::new();
    client.stream.read_to_string(&mut rest).unwrap();
    // A request that does not end is cut off when its time is over.
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "the answer ends as an answer does: {rest:?}");
    assert!(process.child.wait().unwrap().success());
}

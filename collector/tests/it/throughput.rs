//! Tokens and requests per second, and what is said where providers send no token counts.

use beacon::{ServerStart, ServerTiming, StreamReport};
use serde_json::Value;

use crate::harness::{TestCollector, close_to, stream};

const SERIES: &str = "{model=\"gpt-5\",provider=\"openai\",site=\"demo\",use_case=\"chat\"}";

/// A stream whose tokens follow each other at this rate. Without one, the provider counts no tokens.
fn at_rate(id: u128, tokens_per_second: Option<f64>) -> StreamReport {
    let tpot_ms = tokens_per_second.map(|rate| 1_000.0 / rate);
    let tokens = tpot_ms.map(|_| 11);
    StreamReport { tpot_ms, input_tokens: tokens, output_tokens: tokens, ..stream(id, 500.0) }
}

async fn counted(reports: &[StreamReport]) -> TestCollector {
    let collector = TestCollector::new();
    for batch in reports.chunks(100) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == reports.len()).await;
    collector
}

fn last_point(answer: &Value) -> &Value {
    let points = answer["points"].as_array().unwrap();
    points.iter().rfind(|point| point["streams"] != 0).expect("a step with streams")
}

#[tokio::test]
async fn streams_without_usage_have_no_token_counter() {
    let reports: Vec<_> = (0..200).map(|id| at_rate(id, None)).collect();
    let collector = counted(&reports).await;
    let metrics = collector.get("/metrics").await.body;
    assert!(metrics.contains(&format!("llm_requests_total{SERIES} 200\n")), "{metrics}");
    assert!(metrics.contains(&format!("llm_rum_streams_with_usage_total{SERIES} 0\n")), "{metrics}");
    for name in ["llm_tokens_generated_total", "llm_input_tokens_total"] {
        assert!(!metrics.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let summary = collector.json("/v1/summary").await;
    for absent in ["input_tokens", "output_tokens"] {
        assert_eq!(summary[absent], Value::Null, "{absent}");
        assert_eq!(summary["throughput"][format!("{absent}_per_second")], Value::Null, "{absent}");
    }
    assert_eq!((&summary["with_usage"]["good"], &summary["with_usage"]["total"]), (&0.into(), &200.into()));
    assert_eq!(summary["output_rate"]["n"], 0);
    let series = collector.json("/v1/timeseries").await;
    let point = last_point(&series);
    assert!(point["requests_per_second"].as_f64().unwrap() > 0.0, "{point}");
    assert_eq!(point["output_tokens_per_second"], Value::Null, "{point}");
    assert_eq!(point["with_usage"], 0, "{point}");
}

#[tokio::test]
async fn token_rates_name_their_direction_and_cover() {
    let known = (0..30).map(|id| StreamReport { input_tokens: Some(70), ..at_rate(id, Some(50.0)) });
    let unknown = (30..40).map(|id| at_rate(id, None));
    let collector = counted(&known.chain(unknown).collect::<Vec<_>>()).await;
    let metrics = collector.get("/metrics").await.body;
    for (name, count) in [
        ("llm_tokens_generated_total", 30 * 11),
        ("llm_input_tokens_total", 30 * 70),
        ("llm_rum_streams_with_usage_total", 30),
    ] {
        assert!(metrics.contains(&format!("{name}{SERIES} {count}\n")), "{name}: {metrics}");
    }
    let summary = collector.json("/v1/summary").await;
    assert_eq!(summary["with_usage"]["ratio"], 0.75);
    let throughput = &summary["throughput"];
    let rate = |name: &str| throughput[name].as_f64().unwrap();
    let per_request = rate("output_tokens_per_second") / rate("requests_per_second");
    assert!((per_request - 330.0 / 40.0).abs() < 1e-9, "{throughput}");
    assert!((rate("input_tokens_per_second") / rate("output_tokens_per_second") - 70.0 / 11.0).abs() < 1e-9);
    let series = collector.json("/v1/timeseries").await;
    let points = series["points"].as_array().unwrap();
    assert_eq!(points.iter().filter_map(|point| point["with_usage"].as_u64()).sum::<u64>(), 30);
    let csv = collector.get("/v1/timeseries?format=csv").await.body;
    let header = csv.lines().next().unwrap();
    let columns = "requests_per_second,input_tokens_per_second,output_tokens_per_second,with_usage,in_flight";
    assert!(header.ends_with(columns), "{header}");
}

#[tokio::test]
async fn output_rates_have_percentiles_toward_the_slow_end() {
    let slow = (0..4).map(|id| at_rate(id, Some(4.0)));
    let fast = (4..100).map(|id| at_rate(id, Some(60.0)));
    let collector = counted(&slow.chain(fast).collect::<Vec<_>>()).await;
    let is = |found: &Value, name: &str, rate: f64| {
        assert!(close_to(&found[format!("{name}_output_tokens_per_second")], rate), "{name} {found}");
    };
    for route in ["summary", "histogram?metric=output_rate"] {
        let answer = collector.json(&format!("/v1/{route}")).await;
        let rates = if route == "summary" { &answer["output_rate"] } else { &answer };
        for (name, rate) in [("p50", 60.0), ("p10", 60.0), ("p5", 60.0), ("p1", 4.0)] {
            is(rates, name, rate);
        }
        assert_eq!(rates["p50_ms"], Value::Null, "a rate is no duration");
        is(&rates["intervals"]["p50"], "lower", 60.0);
    }
    let histogram = collector.json("/v1/histogram?metric=output_rate").await;
    let edge = &histogram["buckets"][0]["lower_output_tokens_per_second"];
    assert!((3.0..=4.0).contains(&edge.as_f64().unwrap()), "{histogram}");
    let group = &collector.json("/v1/breakdown?metric=output_rate").await["groups"][0];
    is(group, "p1", 4.0);
    let csv = collector.get("/v1/breakdown?metric=output_rate&format=csv").await.body;
    assert!(csv.contains("p50_output_tokens_per_second,p10_output_tokens_per_second"), "{csv}");
    let heatmap = collector.get("/v1/heatmap?metric=output_rate&format=csv").await.body;
    assert!(heatmap.contains("lower_output_tokens_per_second,upper_output_tokens_per_second"), "{heatmap}");
    let bucket = |le: &str| format!("llm_rum_output_tokens_per_second_bucket{{{},le=\"{le}\"}}", inner());
    for (le, count) in [("2", 0.0), ("5", 4.0), ("50", 4.0), ("60", 100.0)] {
        assert_eq!(collector.metric(&bucket(le)).await, count, "{le}");
    }
}

fn inner() -> &'static str {
    SERIES.trim_matches(['{', '}'])
}

#[tokio::test]
async fn summaries_count_streams_slower_than_reading() {
    let rates = [Some(4.0), Some(5.0), Some(8.0), Some(10.0), Some(60.0), None];
    let reports: Vec<_> = (0..).zip(rates).map(|(id, rate)| at_rate(id, rate)).collect();
    let summary = counted(&reports).await.json("/v1/summary").await;
    let below = |at: usize| {
        let found = &summary["below_reading_speed"][at];
        (found["output_tokens_per_second"].as_f64(), found["count"].as_u64(), found["total"].as_u64())
    };
    assert_eq!(below(0), (Some(5.0), Some(1), Some(5)));
    assert_eq!(below(1), (Some(10.0), Some(3), Some(5)));
    assert_eq!(summary["below_reading_speed"][1]["ratio"], 0.6);
}

#[tokio::test]
async fn each_step_has_its_share_slower_than_reading() {
    let rates = [Some(4.0), Some(8.0), Some(60.0), Some(60.0), None];
    let reports: Vec<_> = (0..).zip(rates).map(|(id, rate)| at_rate(id, rate)).collect();
    let collector = counted(&reports).await;
    let series = collector.json("/v1/timeseries?metric=output_rate").await;
    let shares = last_point(&series)["below_reading_speed"].as_array().unwrap();
    assert_eq!(
        shares.iter().map(|share| share["ratio"].as_f64()).collect::<Vec<_>>(),
        [Some(0.25), Some(0.5)]
    );
    let empty = &series["points"][0]["below_reading_speed"][0];
    assert_eq!((&empty["total"], &empty["ratio"]), (&0.into(), &Value::Null));
    let other = collector.json("/v1/timeseries").await;
    assert_eq!(last_point(&other)["below_reading_speed"], Value::Null);
}

#[tokio::test]
async fn a_stream_is_in_flight_from_its_request_to_its_end() {
    let minute = 60_000.0;
    let long = StreamReport { close_ms: Some(3.0 * minute), ..stream(1, 170_000.0) };
    let collector = counted(&[long]).await;
    let in_flight = |series: &Value| {
        let points = series["points"].as_array().unwrap().clone();
        points.iter().map(|point| point["in_flight"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let ended = in_flight(&collector.json("/v1/timeseries?range=15m&step=60").await);
    assert!(ended.iter().filter(|mean| **mean == 1.0).count() >= 2, "two whole minutes: {ended:?}");
    assert!(ended.iter().all(|mean| *mean <= 1.0) && ended[..10] == [0.0; 10], "{ended:?}");
    // A stream of another use case that still waits for its first token.
    let id = format!("{:032x}", 2);
    let waiting = StreamReport { open: true, use_case: Some("coding".into()), ..StreamReport::new(id) };
    collector.report(&[waiting]).await;
    let until_now = |series: &Value| in_flight(series).last().is_some_and(|newest| *newest > 0.0);
    collector.until("/v1/timeseries?range=15m&step=60&use_case=coding", until_now).await;
}

#[tokio::test]
async fn a_drop_of_the_output_rate_is_visible_over_time() {
    let collector = TestCollector::with(|config| config.reading_speeds = vec![50.0]);
    let at = |range: std::ops::Range<u128>, rate: f64| range.map(move |id| at_rate(id, Some(rate)));
    collector.report(&at(0..40, 60.0).chain(at(40..100, 40.0)).collect::<Vec<_>>()).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 100).await;
    assert!(close_to(&summary["output_rate"]["p50_output_tokens_per_second"], 40.0), "{summary}");
    assert_eq!(summary["below_reading_speed"][0]["ratio"], 0.6);
    let series = collector.json("/v1/timeseries?metric=output_rate&range=15m&compare_to=previous").await;
    let point = last_point(&series);
    assert!(point["p50_output_tokens_per_second"].as_f64().is_some(), "{point}");
    assert_eq!(series["earlier"][0]["output_tokens_per_second"], Value::Null, "nothing is known of then");
}

fn served(id: u128, starts_from: Option<ServerStart>, queue_ms: Option<f64>) -> StreamReport {
    let server = ServerTiming {
        source: "vllm".into(),
        starts_from,
        queue_ms,
        ttft_ms: Some(2_900.0),
        generation_ms: Some(2_000.0),
        ..ServerTiming::default()
    };
    StreamReport { server: Some(server), ..stream(id, 3_000.0) }
}

#[tokio::test]
async fn generation_duration_leaves_out_the_queue() {
    for (case, report, expected_s) in [
        ("the queue is known", served(1, Some(ServerStart::Arrival), Some(2_500.0)), Some(2.4)),
        ("so it is without a start", served(1, None, Some(2_500.0)), Some(2.4)),
        ("prefill begins after it", served(1, Some(ServerStart::Prefill), None), Some(4.9)),
        ("so does the schedule", served(1, Some(ServerStart::Scheduled), None), Some(4.9)),
        ("arrival may include it", served(1, Some(ServerStart::Arrival), None), None),
        ("nothing is said", served(1, None, None), None),
        ("the queue is impossible", served(1, Some(ServerStart::Arrival), Some(3_000.0)), None),
        ("no server timing", stream(1, 3_000.0), None),
    ] {
        let collector = counted(&[report]).await;
        let name = |part: &str| format!("llm_generation_duration_seconds_{part}{SERIES}");
        let count = u32::from(expected_s.is_some());
        assert_eq!(collector.metric(&name("count")).await, f64::from(count), "{case}");
        let sum = collector.metric(&name("sum")).await;
        assert!((sum - expected_s.unwrap_or_default()).abs() < 1e-9, "{case}: {sum}");
        let answer = collector.json("/v1/histogram?metric=engine_generation").await;
        assert_eq!(answer["n"], count, "{case}");
    }
}

#[tokio::test]
async fn server_queue_and_generation_have_their_own_metrics() {
    let collector = counted(&[served(1, Some(ServerStart::Arrival), Some(2_500.0)), stream(2, 100.0)]).await;
    for (name, seconds) in
        [("llm_rum_server_queue_seconds", 2.5), ("llm_rum_server_token_generation_seconds", 2.0)]
    {
        assert_eq!(collector.metric(&format!("{name}_count{SERIES}")).await, 1.0, "{name}");
        assert_eq!(collector.metric(&format!("{name}_sum{SERIES}")).await, seconds, "{name}");
    }
    let queue = collector.json("/v1/histogram?metric=server_queue").await;
    assert!(close_to(&queue["p90_ms"], 2_500.0), "{queue}");
}

#[tokio::test]
async fn open_streams_are_a_gauge_that_returns_to_zero() {
    let collector = TestCollector::new();
    let name = format!("llm_rum_open_streams{SERIES}");
    let open = StreamReport { open: true, ..stream(1, 100.0) };
    collector.report(&[open]).await;
    collector.until_metric(&name, 1.0).await;
    collector.report(&[StreamReport { rev: 1, ..stream(1, 100.0) }]).await;
    collector.until_metric(&format!("llm_requests_total{SERIES}"), 1.0).await;
    assert!(collector.get("/metrics").await.body.contains(&format!("{name} 0\n")));
}

//! What is pushed over OTLP/HTTP, read with the official crate by a receiver that answers as it is told to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use beacon::StreamReport;
use collector::{Config, OtlpNames, Temporality};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, NumberDataPoint, metric, number_data_point,
};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::harness::{TIMEOUT, TestCollector, joined, stream};

type Push = (u16, HeaderMap, ExportMetricsServiceRequest);

/// Answers so, then with 200.
async fn receiver(answers: &[u16]) -> (String, UnboundedReceiver<Push>) {
    let mut answers = VecDeque::from(answers.to_vec());
    receiver_by(move |_| answers.pop_front().unwrap_or(200)).await
}

/// Answers as it judges of a push.
async fn receiver_by(
    judge: impl FnMut(&ExportMetricsServiceRequest) -> u16 + Send + 'static,
) -> (String, UnboundedReceiver<Push>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/", listener.local_addr().unwrap());
    let judge = Arc::new(Mutex::new(judge));
    let (told, pushes) = unbounded_channel();
    let take = move |headers: HeaderMap, body: Bytes| async move {
        let request = ExportMetricsServiceRequest::decode(body).unwrap();
        let status = judge.lock().unwrap()(&request);
        told.send((status, headers, request)).unwrap();
        StatusCode::from_u16(status).unwrap()
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/v1/metrics", post(take))).await });
    (endpoint, pushes)
}

fn pushing(endpoint: &str, temporality: Temporality) -> impl FnOnce(&mut Config) {
    let endpoint = endpoint.to_owned();
    move |config| {
        config.otlp.endpoint = Some(endpoint);
        config.otlp.every_seconds = 1;
        config.otlp.temporality = temporality;
        config.otlp.headers.insert("x-token".to_owned(), "a secret".into());
    }
}

fn data(push: &ExportMetricsServiceRequest, name: &str) -> metric::Data {
    let metrics = &push.resource_metrics[0].scope_metrics[0].metrics;
    metrics.iter().find(|metric| metric.name == name).unwrap().data.clone().unwrap()
}

fn streams(push: &ExportMetricsServiceRequest) -> i64 {
    let metric::Data::Sum(sum) = data(push, "llm_rum.streams") else { panic!("a sum") };
    assert!(sum.is_monotonic);
    let counts = sum.data_points.iter().map(|point| match point.value {
        Some(number_data_point::Value::AsInt(count)) => count,
        _ => panic!("a whole number"),
    });
    counts.sum()
}

fn points(push: &ExportMetricsServiceRequest, name: &str) -> Vec<ExponentialHistogramDataPoint> {
    let metric::Data::ExponentialHistogram(histogram) = data(push, name) else { panic!("a histogram") };
    histogram.data_points
}

fn pair(attribute: &KeyValue) -> (String, String) {
    match &attribute.value.as_ref().unwrap().value {
        Some(any_value::Value::StringValue(value)) => (attribute.key.clone(), value.clone()),
        _ => panic!("a text"),
    }
}

/// The first push about so many streams.
async fn about(pushes: &mut UnboundedReceiver<Push>, wished: i64) -> Push {
    let found = async {
        loop {
            let push = pushes.recv().await.unwrap();
            if streams(&push.2) == wished {
                return push;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, found).await.expect("such a push")
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_pushed_under_the_names_of_opentelemetry() {
    let (endpoint, mut pushes) = receiver(&[]).await;
    let collector = TestCollector::with(pushing(&endpoint, Temporality::Cumulative));
    let waits_s = [0.1, 0.25, 1.0];
    collector.report(&[stream(1, 100.0), joined(2, 250.0, 200.0), stream(3, 1_000.0)]).await;
    let (_, headers, push) = about(&mut pushes, 3).await;
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["x-token"], "a secret");
    let [point] = &points(&push, "gen_ai.client.operation.time_to_first_chunk")[..] else {
        panic!("a series")
    };
    assert_eq!((point.count, point.zero_count, point.scale), (3, 0, 3));
    assert!((point.sum.unwrap() - 1.35).abs() < 1e-9);
    let buckets = point.positive.as_ref().unwrap();
    let edge = |index: i32| 2_f64.powf(f64::from(buckets.offset + index) / 8.0);
    let mut held = buckets.bucket_counts.clone();
    for wait_s in waits_s {
        let at = (0..).find(|at| wait_s <= edge(at + 1)).unwrap();
        assert!(edge(at) < wait_s, "{wait_s} lies in a bucket");
        held[at as usize] -= 1;
    }
    assert!(held.iter().all(|count| *count == 0), "and nothing else does");
    let attributes: Vec<_> = point.attributes.iter().map(pair).collect();
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "gpt-5"),
        ("llm_rum.site", "demo"),
        ("llm_rum.use_case", "chat"),
    ] {
        assert!(attributes.contains(&(key.to_owned(), value.to_owned())), "{attributes:?}");
    }
    assert_eq!(points(&push, "gen_ai.server.time_to_first_token")[0].count, 1);
    assert_eq!(points(&push, "gen_ai.client.operation.time_per_output_chunk")[0].count, 3);
    assert_eq!(points(&push, "gen_ai.client.operation.duration")[0].count, 3);
    let resource: Vec<_> =
        push.resource_metrics[0].resource.as_ref().unwrap().attributes.iter().map(pair).collect();
    assert!(resource.iter().any(|(key, value)| key == "service.instance.id" && !value.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_add_up_over_refusals_and_restarts() {
    let (endpoint, mut pushes) = receiver(&[400]).await;
    let mut collector = TestCollector::with(pushing(&endpoint, Temporality::Delta));
    collector.report(&[stream(1, 100.0), stream(2, 100.0)]).await;
    let refused = about(&mut pushes, 2).await;
    let taken = about(&mut pushes, 2).await;
    assert_eq!((refused.0, taken.0), (400, 200), "what was refused comes with the next push");
    collector.report(&[stream(3, 100.0)]).await;
    let (_, _, push) = about(&mut pushes, 1).await;
    let point = &points(&push, "gen_ai.client.operation.duration")[0];
    assert_eq!((point.count, point.scale), (1, 3));
    assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano < point.time_unix_nano);
    collector.restart();
    collector.report(&[stream(4, 100.0)]).await;
    about(&mut pushes, 1).await;
    collector.report(&[stream(5, 100.0), stream(6, 100.0)]).await;
    collector.close();
    about(&mut pushes, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_endpoint_gets_the_same_push_again() {
    let (endpoint, mut pushes) = receiver(&[503, 429]).await;
    let collector = TestCollector::with(pushing(&endpoint, Temporality::Cumulative));
    collector.report(&[stream(1, 100.0)]).await;
    let first = about(&mut pushes, 1).await;
    let second = about(&mut pushes, 1).await;
    let third = about(&mut pushes, 1).await;
    assert_eq!([first.0, second.0, third.0], [503, 429, 200]);
    assert_eq!((&first.2, &second.2), (&second.2, &third.2), "the very same push");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_otlp_endpoint_stops_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut collector = TestCollector::with(pushing(&nobody, Temporality::Cumulative));
    collector.report(&[stream(1, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let asked = Instant::now();
    collector.close();
    assert!(asked.elapsed() < Duration::from_secs(8), "supervisors wait no longer");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_2xx_status_counts_as_success() {
    for status in [202, 204] {
        let (endpoint, mut pushes) = receiver_by(move |_| status).await;
        let collector = TestCollector::with(pushing(&endpoint, Temporality::Delta));
        collector.report(&[stream(1, 100.0), stream(2, 100.0)]).await;
        about(&mut pushes, 2).await;
        collector.report(&[stream(3, 100.0)]).await;
        let (_, _, next) = tokio::time::timeout(TIMEOUT, pushes.recv()).await.unwrap().unwrap();
        assert_eq!(streams(&next), 1, "{status}: what was taken is not told again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_message_does_not_block_other_messages() {
    let has = |push: &ExportMetricsServiceRequest, model: &str| {
        let points = points(push, "gen_ai.client.operation.duration");
        points.iter().any(|point| point.attributes.iter().map(pair).any(|(_, value)| value == model))
    };
    let (endpoint, mut pushes) = receiver_by(move |push| if has(push, "m000") { 400 } else { 200 }).await;
    let collector = TestCollector::with(|config| {
        pushing(&endpoint, Temporality::Delta)(config);
        config.limits.models = 1_000;
    });
    // One series more than a message has.
    let one_each: Vec<_> = (0..501_u128)
        .map(|id| StreamReport { model: Some(format!("m{id:03}").into()), ..stream(id, 100.0) })
        .collect();
    for batch in one_each.chunks(100) {
        collector.report(batch).await;
    }
    let (mut refused, mut taken) = (0, Vec::new());
    let all_is_told = async {
        while refused < 2 || taken.is_empty() {
            let (status, _, push) = pushes.recv().await.unwrap();
            match status {
                200 => taken.push(streams(&push)),
                _ => refused = if streams(&push) == 500 { refused + 1 } else { 0 },
            }
        }
    };
    tokio::time::timeout(TIMEOUT, all_is_told).await.expect("a message behind the one that is refused");
    assert_eq!(taken, [1], "once, while the other comes again with every push");
}

fn counter(push: &ExportMetricsServiceRequest, name: &str) -> Vec<(BTreeMap<String, String>, i64)> {
    let metric::Data::Sum(sum) = data(push, name) else { panic!("a sum") };
    let point = |point: &NumberDataPoint| match point.value {
        Some(number_data_point::Value::AsInt(count)) => {
            (point.attributes.iter().map(pair).collect::<BTreeMap<_, _>>(), count)
        }
        _ => panic!("a whole number"),
    };
    sum.data_points.iter().map(point).collect()
}

fn answered(id: u128, dialect: &'static str, response_model: Option<&'static str>) -> StreamReport {
    StreamReport {
        dialect: Some(dialect.into()),
        response_model: response_model.map(Into::into),
        ..stream(id, 100.0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn points_have_the_response_model_and_the_operation() {
    let (endpoint, mut pushes) = receiver(&[]).await;
    let collector = TestCollector::with(pushing(&endpoint, Temporality::Cumulative));
    let reports = [
        answered(1, "openai_chat", Some("gpt-5-2026-08-01")),
        answered(2, "openai_chat", Some("gpt-5-2026-11-01")),
        answered(3, "openai_completions", Some("gpt-5-2026-11-01")),
        answered(4, "ag_ui", None),
    ];
    collector.report(&reports).await;
    let (_, _, push) = about(&mut pushes, 4).await;
    let mut found: Vec<_> = counter(&push, "llm_rum.output_tokens")
        .into_iter()
        .map(|(attributes, count)| {
            let of = |key: &str| attributes.get(key).cloned().unwrap_or_default();
            assert_eq!(of("gen_ai.request.model"), "gpt-5");
            (of("gen_ai.operation.name"), of("gen_ai.response.model"), count)
        })
        .collect();
    found.sort();
    let expected = [
        ("chat", "gpt-5-2026-08-01", 11),
        ("chat", "gpt-5-2026-11-01", 11),
        ("invoke_agent", "", 11),
        ("text_completion", "gpt-5-2026-11-01", 11),
    ];
    assert_eq!(found, expected.map(|(operation, model, count)| (operation.into(), model.into(), count)));
    // Prometheus has one series of all of them.
    let series = "{model=\"gpt-5\",provider=\"openai\",site=\"demo\",use_case=\"chat\"}";
    assert_eq!(collector.metric(&format!("llm_requests_total{series}")).await, 4.0);
    let first_token = format!("llm_first_token_duration_seconds_count{series}");
    assert_eq!(collector.metric(&first_token).await, 4.0);
    assert_eq!(collector.metric(&format!("llm_tpot_seconds{series}")).await, 0.04);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_follow_the_chosen_conventions() {
    for (names, duration, tokens) in [
        (OtlpNames::Operation, "gen_ai.client.operation.duration", "llm_rum.input_tokens"),
        (
            OtlpNames::Inference,
            "gen_ai.client.inference.duration",
            "gen_ai.client.inference.usage.input_tokens",
        ),
    ] {
        let (endpoint, mut pushes) = receiver(&[]).await;
        let collector = TestCollector::with(|config| {
            pushing(&endpoint, Temporality::Cumulative)(config);
            config.otlp.names = names;
        });
        collector.report(&[stream(1, 100.0)]).await;
        let (_, _, push) = about(&mut pushes, 1).await;
        assert_eq!(points(&push, duration)[0].count, 1, "{names:?}");
        assert_eq!(counter(&push, tokens)[0].1, 8, "{names:?}");
        let metrics = &push.resource_metrics[0].scope_metrics[0].metrics;
        let renamed = metrics.iter().filter(|metric| metric.name.starts_with("gen_ai.client.operation."));
        assert_eq!(renamed.count(), if names == OtlpNames::Operation { 3 } else { 0 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_without_token_counts_has_no_token_point() {
    let (endpoint, mut pushes) = receiver(&[]).await;
    let collector = TestCollector::with(pushing(&endpoint, Temporality::Cumulative));
    let unknown = StreamReport { input_tokens: None, output_tokens: None, tpot_ms: None, ..stream(1, 100.0) };
    collector.report(&[unknown]).await;
    let (_, _, push) = about(&mut pushes, 1).await;
    assert_eq!(counter(&push, "llm_rum.output_tokens"), []);
    assert_eq!(counter(&push, "llm_rum.input_tokens"), []);
}

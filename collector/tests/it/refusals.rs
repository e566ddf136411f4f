//! Every kind of bad input: a documented status and code, a count by reason, nothing stored.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::HeaderMap;
use axum::http::{Method, Request, StatusCode};
use beacon::StreamReport;
use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Answer, TestCollector, beacon_request, stream};

async fn counted(collector: &TestCollector, result: &str, count: f64) {
    collector.until_metric(&format!("llm_rum_beacons_total{{result=\"{result}\"}}"), count).await;
}

async fn nothing_is_stored(collector: &TestCollector) {
    assert_eq!(collector.json("/v1/streams").await["streams"], json!([]));
    assert_eq!(collector.json("/v1/summary").await["streams"], 0);
}

/// One report with a field replaced.
fn with(field: &str, value: Value) -> String {
    let mut report = serde_json::to_value(stream(1, 100.0)).unwrap();
    let (mut at, mut path) = (&mut report, field.split('.').peekable());
    while let Some(name) = path.next() {
        if path.peek().is_none() {
            at[name] = value;
            break;
        }
        at = &mut at[name];
    }
    json!({ "reports": [stream(2, 100.0), report] }).to_string()
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let collector = TestCollector::new();
    let deep = format!("{{\"reports\":[{{\"later\":{}", "[".repeat(100_000));
    for body in
        ["", "{", "{\"reports\":[{\"v\":1,\"id\":\"00", "\u{feff}{}", "NaN", "{\"reports\":[NaN]}", &deep]
    {
        collector.post(body.to_owned()).await.refused(400, "bad_json");
    }
    let not_utf8: &[u8] = b"{\"reports\":[{\"v\":1,\"id\":\"\xff\xfe\"}]}";
    collector.post(not_utf8).await.refused(400, "bad_json");
    collector.post(with("ttft_ms", json!(7)).replace('7', "1e999")).await.refused(400, "bad_json");
    collector.post(with("ttft_ms", json!(7)).replace('7', "NaN")).await.refused(400, "bad_json");
    counted(&collector, "bad_json", 10.0).await;
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn an_impossible_field_is_named() {
    let collector = TestCollector::new();
    let long = "x".repeat(129);
    let cases = [
        ("id", json!("00")),
        ("id", json!("zz000000000000000000000000000000")),
        ("id", json!(5)),
        ("outcome", json!("fine")),
        ("ttft_ms", json!("fast")),
        ("ttft_ms", json!(-1)),
        ("ttft_ms", json!(-0.001)),
        ("ttft_ms", json!(40 * 86_400_000_i64)),
        ("e2e_ms", json!(50)),
        ("close_ms", json!(3)),
        ("chunks", json!(-1)),
        ("chunks", json!(4_294_967_296_i64)),
        ("bytes", json!(-1)),
        ("output_tokens", json!(u64::MAX)),
        ("status", json!(99)),
        ("status", json!(70_000)),
        ("sample_rate", json!(0)),
        ("sample_rate", json!(5)),
        ("model", json!(long)),
        ("model", json!("two\nlines")),
        ("model", json!("\u{202e}reversed")),
        ("model", json!("zero\u{200b}width")),
        ("model", json!("two\u{2028}lines")),
        ("model", json!("no\u{a0}break")),
        ("model", json!("nobody's \u{e000}")),
        ("model", json!("filled\u{3164}")),
        ("model", json!("varied\u{fe00}")),
        ("model", json!("\u{2800}")),
        ("use_case", json!({ "a": 1 })),
        ("gaps", json!({ "scale": 4, "offset": 0, "counts": [1] })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [13] })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [1], "sum": 1e300 })),
        ("server", json!({ "source": "" })),
        ("server", json!({ "source": "comment", "ttft_ms": -5 })),
        ("network_timing", json!({ "dns_ms": -5 })),
        ("page", json!({ "route": "r".repeat(257) })),
        ("defects", json!({ "stall": -1 })),
        ("marks", json!([{ "name": "my medical history", "at_ms": 1 }])),
        ("marks", json!([{ "name": "", "at_ms": 1 }])),
        ("marks", json!([{ "name": "x".repeat(33), "at_ms": 1 }])),
        ("marks", json!([{ "name": "retrieval", "at_ms": -1 }])),
        ("marks", json!([{ "name": "retrieval" }])),
        ("marks", json!(vec![json!({ "name": "retrieval", "at_ms": 1 }); 9])),
        ("rev", json!(-1)),
    ];
    for (field, value) in &cases {
        let message = collector.post(with(field, value.clone())).await.refused(400, "bad_field");
        assert!(message.starts_with(&format!("reports[1].{field}")), "{field} = {value}: {message}");
    }
    counted(&collector, "bad_field", cases.len() as f64).await;
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn names_that_the_app_gives_may_use_any_script() {
    let names = [
        "通义千问-max",
        "🦙 Llama",
        "👩\u{200d}👩\u{200d}👧",
        "हिन्दी",
        "می\u{200c}شود",
        "cafe\u{301}",
        "a·b – c™",
        "❤\u{fe0f}",
    ];
    let collector = TestCollector::new();
    for (id, name) in names.into_iter().enumerate() {
        collector.report(&[StreamReport { provider: Some(name.into()), ..stream(id as u128, 100.0) }]).await;
    }
    let has_all = |table: &Value| table["groups"][names.len() - 1].is_object();
    let table = collector.until("/v1/breakdown?by=provider", has_all).await;
    let groups = table["groups"].as_array().unwrap();
    for name in names {
        assert!(groups.iter().any(|group| group["value"] == name), "{name}: {table}");
    }
}

#[tokio::test]
async fn names_that_look_empty_or_like_others_are_dropped() {
    let names = ["   ", " chat", "gp\u{200d}t", "gpt\u{200c}", "gpt\u{fe0f}", "\u{301}"];
    let collector = TestCollector::new();
    for (id, name) in names.into_iter().enumerate() {
        let (provider, variant) = (Some(name.into()), Some(name.into()));
        collector.report(&[StreamReport { provider, variant, ..stream(id as u128, 100.0) }]).await;
    }
    let all = |table: &Value| table["groups"][0]["streams"] == names.len();
    let table = collector.until("/v1/breakdown?by=provider", all).await;
    assert_eq!(table["groups"].as_array().map(Vec::len), Some(1), "{table}");
    let books = collector.json("/v1/accounting").await;
    assert_eq!(books["ignored_fields"]["demo"], 2 * names.len(), "{books}");
}

#[tokio::test]
async fn text_in_place_of_a_name_from_the_stream_is_refused() {
    let collector = TestCollector::new();
    for field in ["model", "response_model", "response_id", "finish_reason"] {
        for text in ["my medical history", "\u{6a21}\u{578b}", "a\"b", &"one-".repeat(30)] {
            let message = collector.post(with(field, json!(text))).await.refused(400, "bad_field");
            assert_eq!(message, format!("reports[1].{field} is not a valid name"), "{text}");
        }
    }
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn a_report_with_a_field_twice_is_refused() {
    let collector = TestCollector::new();
    let body =
        with("ttft_ms", json!(100)).replacen("\"rev\":0", "", 1).replacen("{\"v\":1", "{\"v\":1,\"v\":1", 1);
    let twice = body.replacen("\"chunks\"", "\"chunks\":1,\"chunks\"", 1);
    collector.post(twice).await.refused(400, "bad_field");
}

#[tokio::test]
async fn an_unknown_version_is_told_from_a_broken_field() {
    let collector = TestCollector::new();
    collector.post(with("v", json!(2))).await.refused(400, "unknown_version");
    let later = r#"{"reports":[{"v":9,"id":["moved"],"outcome":{"kind":"complete"}}]}"#;
    let message = collector.post(later).await.refused(400, "unknown_version");
    assert_eq!(message, "reports[0].v is 9, but this collector supports only 1");
    counted(&collector, "unknown_version", 2.0).await;
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn a_batch_has_1_to_100_reports() {
    let collector = TestCollector::new();
    collector.post(r#"{"reports":[]}"#).await.refused(400, "bad_batch");
    let many: Vec<_> = (0..101).map(|id| StreamReport::new(format!("{id:032x}"))).collect();
    collector.post(json!({ "reports": many }).to_string()).await.refused(400, "bad_batch");
    counted(&collector, "bad_batch", 2.0).await;
    collector.report(&many[..100]).await;
}

#[tokio::test]
async fn a_refused_report_refuses_its_whole_batch() {
    let collector = TestCollector::new();
    collector.post(with("ttft_ms", json!(-1))).await.refused(400, "bad_field");
    counted(&collector, "bad_field", 1.0).await;
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn only_known_sites_may_send() {
    let collector = TestCollector::new();
    for uri in ["/v1/beacons", "/v1/beacons?site=", "/v1/beacons?site=nobody", "/v1/beacons?xsite=demo"] {
        let request = Request::post(uri).header("content-type", "text/plain");
        collector.send(request.body(Body::from("{}")).unwrap()).await.refused(403, "unknown_site");
    }
    counted(&collector, "unknown_site", 4.0).await;
}

#[tokio::test]
async fn only_pages_of_the_sites_origins_may_send() {
    let collector = TestCollector::new();
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "HTTP://LOCALHOST"] {
        let request = beacon_request("demo").header("origin", origin).body(Body::from("{}")).unwrap();
        let answer = collector.send(request).await;
        answer.refused(403, "foreign_origin");
        assert_eq!(answer.headers.get("access-control-allow-origin"), None);
    }
    counted(&collector, "foreign_origin", 4.0).await;
    let body = json!({ "reports": [stream(1, 1.0)] }).to_string();
    let request = beacon_request("demo").header("origin", "http://localhost:5173").body(body.into()).unwrap();
    assert_eq!(collector.send(request).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn an_allowed_page_can_read_every_answer() {
    let collector = TestCollector::new();
    let origin = "http://127.0.0.1:8788";
    let ask = |method: Method, content_type: &str, body: &'static str| {
        let request = beacon_request("demo").method(method).header("origin", origin);
        let mut request = request.body(Body::from(body)).unwrap();
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        collector.send(request)
    };
    let readable = |headers: &HeaderMap| {
        assert_eq!(headers["access-control-allow-origin"], origin);
        assert_eq!(headers["vary"], "origin");
    };
    for (answer, status) in [
        (ask(Method::POST, "text/plain", "{").await, 400),
        (ask(Method::POST, "image/png", "{").await, 415),
        (ask(Method::PUT, "text/plain", "{").await, 405),
        (ask(Method::OPTIONS, "text/plain", "").await, 204),
    ] {
        assert_eq!(answer.status.as_u16(), status);
        readable(&answer.headers);
    }
    let preflight = ask(Method::OPTIONS, "text/plain", "").await;
    assert_eq!(preflight.headers["access-control-allow-methods"], "POST");
    assert_eq!(preflight.headers["access-control-allow-headers"], "content-type, content-encoding");
}

#[tokio::test]
async fn a_page_can_read_a_refusal_of_its_body() {
    let report = json!({ "reports": [stream(1, 1.0)] }).to_string();
    let never_whole = StreamBody::new(futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>());
    for (body, status, waits) in [
        (chunked(5, 100_000), 413, false),
        (Body::new(never_whole), 408, false),
        (Body::from(report), 503, true),
    ] {
        let collector = TestCollector::with(|config| {
            config.ingest.body_seconds = 1;
            config.ingest.queue_bytes = 1;
        });
        let request = beacon_request("demo").header("origin", "http://localhost").body(body).unwrap();
        let answer = collector.send(request).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert_eq!(answer.headers["access-control-allow-origin"], "http://localhost");
        assert_eq!(answer.headers["access-control-expose-headers"], "retry-after");
        assert_eq!(answer.headers.contains_key("retry-after"), waits, "{status}");
    }
}

#[tokio::test]
async fn only_text_and_json_are_read() {
    let collector = TestCollector::new();
    for content_type in ["", "application/x-www-form-urlencoded", "text/html", "application/jsonx"] {
        let request = Request::post("/v1/beacons?site=demo").header("content-type", content_type);
        let answer = collector.send(request.body(Body::from("{}")).unwrap()).await;
        answer.refused(415, "unsupported_media_type");
    }
    counted(&collector, "unsupported_media_type", 4.0).await;
    let body = json!({ "reports": [stream(1, 1.0)] }).to_string();
    let json =
        Request::post("/v1/beacons?site=demo").header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(collector.send(json.body(body.into()).unwrap()).await.status, StatusCode::NO_CONTENT);
}

fn chunked(chunks: usize, size: usize) -> Body {
    let frames = (0..chunks).map(move |_| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; size]))));
    Body::new(StreamBody::new(tokio_stream(frames)))
}

fn tokio_stream<T>(items: impl Iterator<Item = T>) -> impl futures_util::Stream<Item = T> {
    futures_util::stream::iter(items)
}

#[tokio::test]
async fn a_body_is_bounded_with_and_without_a_length() {
    let collector = TestCollector::new();
    let announced = beacon_request("demo").header("content-length", 10_000_000).body(Body::empty()).unwrap();
    collector.send(announced).await.refused(413, "body_too_large");
    let ten_megabytes = beacon_request("demo").body(chunked(1_000, 10_000)).unwrap();
    collector.send(ten_megabytes).await.refused(413, "body_too_large");
    let endless = beacon_request("demo").body(chunked(1_000_000, 10_000)).unwrap();
    collector.send(endless).await.refused(413, "body_too_large");
    counted(&collector, "body_too_large", 3.0).await;
    let just_fits = beacon_request("demo").body(chunked(256, 1_024)).unwrap();
    collector.send(just_fits).await.refused(400, "bad_json");
    nothing_is_stored(&collector).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_in_is_aborted() {
    let collector = TestCollector::new();
    let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let request = beacon_request("demo").body(Body::new(StreamBody::new(never))).unwrap();
    let asked = tokio::time::Instant::now();
    collector.send(request).await.refused(408, "body_timeout");
    assert_eq!(asked.elapsed().as_secs(), Duration::from_secs(10).as_secs());
}

#[tokio::test]
async fn a_body_over_the_queue_limit_is_refused_with_retry_after() {
    let collector = TestCollector::with(|config| config.ingest.queue_bytes = 2_000);
    let many: Vec<_> = (0..100).map(|id| stream(id, 100.0)).collect();
    let answer = collector.post(json!({ "reports": many }).to_string()).await;
    answer.refused(503, "overloaded");
    assert_eq!(answer.headers["retry-after"], "1");
    counted(&collector, "overloaded", 1.0).await;
    nothing_is_stored(&collector).await;
}

#[tokio::test]
async fn unknown_methods_and_routes_are_refused() {
    let collector = TestCollector::new();
    let delete = |path: &str| Request::delete(path).header("host", "localhost").body(Body::empty()).unwrap();
    for path in ["/v1/summary", "/v1/beacons?site=demo", "/metrics", "/healthz", "/"] {
        let answer: Answer = collector.send(delete(path)).await;
        answer.refused(405, "method_not_allowed");
        let allowed = if path.contains("beacons") { "POST, OPTIONS" } else { "GET,HEAD" };
        assert_eq!(answer.headers["allow"], allowed, "{path}");
    }
    collector.get("/v1/nothing").await.refused(404, "not_found");
    for path in ["/v1/beacon?site=demo", "/v1/beacons/?site=demo", "/beacons"] {
        let request = Request::post(path).header("content-type", "text/plain");
        collector.send(request.body(Body::from("{}")).unwrap()).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn models_over_the_limit_are_counted_as_other() {
    let collector = TestCollector::new();
    for batch in 0..10 {
        let reports = (0..100).map(|n| StreamReport {
            model: Some(format!("made-up-{batch}-{n}").into()),
            ..stream(batch * 100 + n, 100.0)
        });
        collector.report(&reports.collect::<Vec<_>>()).await;
    }
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 1_000).await;
    // Without a network, names get three quarters of the places at once.
    assert_eq!(summary["overflow"], json!({ "model": 925 }));
    let other = collector.json("/v1/summary?model=other").await;
    assert_eq!(other["streams"], 925);
    let series = collector.get("/metrics").await.body;
    assert_eq!(series.lines().filter(|line| line.starts_with("llm_requests_total{")).count(), 76);
}

#[tokio::test]
async fn labels_cannot_break_out_of_the_metrics() {
    let collector = TestCollector::new();
    let provider = r#"x"} 1 llm_requests_total{provider="\"#;
    collector.report(&[StreamReport { provider: Some(provider.into()), ..stream(1, 1.0) }]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let metrics = collector.get("/metrics").await.body;
    let line = metrics.lines().find(|line| line.starts_with("llm_requests_total{")).unwrap();
    assert!(line.contains(r#"provider="x\"} 1 llm_requests_total{provider=\"\\","#), "{line}");
}

#[tokio::test]
async fn unknown_fields_of_a_report_are_not_stored() {
    let collector = TestCollector::new();
    collector.post(with("prompt", json!("a secret"))).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    assert!(!collector.get("/v1/streams").await.body.contains("secret"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_make_the_collector_panic_or_fail(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        mangled(),
    ]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        thread_local! { static COLLECTOR: TestCollector = TestCollector::new(); }
        let status = COLLECTOR.with(|collector| runtime.block_on(collector.post(body))).status;
        prop_assert!(status == 204 || status == 400, "{status}");
    }
}

/// A good beacon with some bytes changed, cut out or doubled.
fn mangled() -> impl Strategy<Value = Vec<u8>> {
    let good = json!({ "reports": [crate::harness::joined(1, 100.0, 50.0)] }).to_string().into_bytes();
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3usize), 1..6);
    edits.prop_map(move |edits| {
        let mut bytes = good.clone();
        for (at, byte, how) in edits {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

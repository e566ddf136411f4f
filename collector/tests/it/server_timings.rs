//! Timings that the backend sends: they reach their streams in any order, over kills, once; and no text comes with them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Request};
use beacon::{Outcome, ServerTiming, StreamReport};
use collector::{Config, Scope, Site};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, TIMEOUT, TestCollector, close_to, scoped_token, stream};
use crate::running::{Process, post};

const BACKEND: &str = "backend-0123456789a";
const READER: &str = "reader-0123456789ab";
const OF_SHOP: &str = "shop-0123456789abcd";

fn config(config: &mut Config) {
    let of =
        |name: &str| Site { name: name.to_owned(), keys: vec![name.to_owned()], ..config.sites[0].clone() };
    config.sites = vec![of("demo"), of("shop")];
    config.tokens = vec![
        scoped_token("backend", BACKEND, &[Scope::ServerTimings], &[]),
        scoped_token("ops", READER, &[Scope::Read, Scope::Metrics], &[]),
        scoped_token("shop-backend", OF_SHOP, &[Scope::ServerTimings], &["shop"]),
    ];
}

fn headers(token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("host", "rum.example".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("authorization", format!("Bearer {token}")),
    ]
}

async fn send(collector: &TestCollector, token: &str, path: &str, body: impl Into<Body>) -> Answer {
    let request = Request::builder().method(Method::POST).uri(path);
    let request =
        headers(token).into_iter().fold(request, |request, (name, value)| request.header(name, value));
    collector.send(request.body(body.into()).unwrap()).await
}

async fn sent(collector: &TestCollector, facts: &Value) -> Value {
    let answer =
        send(collector, BACKEND, "/v1/server-timings?site=demo", json!({ "facts": facts }).to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

async fn get(collector: &TestCollector, path: &str) -> String {
    let bearer = format!("Bearer {READER}");
    let headers = [("host", "rum.example"), ("authorization", bearer.as_str())];
    collector.ask(Method::GET, path, &headers, String::new()).await.body
}

/// Asks until the answer is as wished.
async fn until(collector: &TestCollector, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
    let asked = Instant::now();
    loop {
        let text = get(collector, path).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        if wished(&answer) {
            return answer;
        }
        assert!(asked.elapsed() < TIMEOUT, "{path} never answered as wished: {text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn with_response(id: u128) -> StreamReport {
    StreamReport { response_id: Some(format!("chatcmpl-{id}").into()), ..stream(id, 900.0) }
}

fn app(id: u128, ttft_ms: f64) -> Value {
    json!({ "id": format!("chatcmpl-{id}"), "layer": "app", "source": "asgi", "starts_from": "arrival",
        "ttft_ms": ttft_ms, "ended": "complete" })
}

fn engine(id: u128) -> Value {
    json!({ "id": format!("chatcmpl-{id}"), "layer": "engine", "source": "vllm", "queue_ms": 300, "ttft_ms": 800 })
}

#[tokio::test]
async fn timings_reach_their_streams_in_either_order() {
    let mut collector = TestCollector::with(config);
    collector.report(&[with_response(1)]).await;
    assert_eq!(
        sent(&collector, &json!([app(1, 850.0), app(2, 860.0), engine(3)])).await,
        json!({ "accepted": 3, "skipped": 0, "refused": 0 })
    );
    collector.restart();
    collector.report(&[with_response(2)]).await;
    sent(&collector, &json!([engine(1), engine(2), app(1, 850.0)])).await;
    collector.report(&[with_response(3)]).await;
    let layers = |stream: &Value| {
        let layers = &stream["layers"];
        (layers["app"]["ttft_ms"].as_f64(), layers["engine"]["queue_ms"].as_f64())
    };
    let expected = [(Some(850.0), Some(300.0)), (Some(860.0), Some(300.0)), (None, Some(300.0))];
    for (id, expected) in (1..).zip(expected) {
        until(&collector, &format!("/v1/streams/{id:032x}"), |stream| layers(stream) == expected).await;
    }
    let books = until(&collector, "/v1/accounting", |books| books["reports"]["received"] == 3).await;
    assert_eq!(books["reports"]["by_result"], json!({ "new": 3 }), "facts are no reports of pages");
    assert_eq!(books["reports"]["unaccounted"], 0);
    let summary = until(&collector, "/v1/summary", |summary| summary["streams"] == 3).await;
    assert_eq!(summary["streams"], 3);
    let metrics = get(&collector, "/metrics").await;
    for line in [
        "llm_rum_server_facts_total{result=\"matched\"} 5",
        "llm_rum_server_facts_total{result=\"duplicate\"} 1",
        "llm_rum_server_facts_total{result=\"expired\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn the_wait_is_split_between_the_layers() {
    let collector = TestCollector::with(config);
    let reports: Vec<_> = (1..41).map(with_response).collect();
    collector.report(&reports).await;
    let facts: Vec<_> = (1..41).flat_map(|id| [app(id, 850.0), engine(id)]).collect();
    sent(&collector, &json!(facts)).await;
    let n_of = |answer: &Value, name: &str| {
        let phases = answer["phases"].as_array().unwrap();
        phases.iter().find(|phase| phase["phase"] == name).unwrap().clone()
    };
    // From windows, and from single streams.
    for path in ["/v1/phases?site=demo", "/v1/phases?site=demo&visibility=!hidden"] {
        let answer = until(&collector, path, |answer| n_of(answer, "app")["n"] == 40).await;
        for (name, p50_ms) in [("app", 50.0), ("server_queue", 300.0), ("prefill", 500.0), ("network", 50.0)]
        {
            let found = n_of(&answer, name);
            assert!(found["n"] == 40 && close_to(&found["p50_ms"], p50_ms), "{path}: {found}");
        }
    }
}

/// The trace of a stream, and the timing of a proxy that knows no other id of it.
fn traced(id: u128) -> (String, Value) {
    let trace_id = format!("{:032x}", id << 64);
    let fact = json!({ "trace_id": trace_id, "layer": "edge", "source": "nginx", "duration_ms": 1_300 });
    (trace_id, fact)
}

#[tokio::test]
async fn a_timing_with_only_a_trace_reaches_the_stream_that_saw_it() {
    let mut collector = TestCollector::with(config);
    // The headers of the first come without an id of the response.
    let seen = |id, report: StreamReport| StreamReport { trace_id: Some(traced(id).0.into()), ..report };
    let open = StreamReport { open: true, outcome: Outcome::Abandoned, ..stream(1, 900.0) };
    collector.report(&[seen(1, open), seen(2, with_response(2)), with_response(3)]).await;
    sent(&collector, &json!([traced(1).1, engine(2)])).await;
    collector.restart();
    collector.report(&[seen(1, StreamReport { rev: 1, ..with_response(1) })]).await;
    sent(&collector, &json!([traced(2).1, traced(3).1, engine(1)])).await;
    for (id, edge) in [(1, json!(1_300.0)), (2, json!(1_300.0))] {
        let path = format!("/v1/streams/{id:032x}");
        let has_both = |stream: &Value| {
            let layers = &stream["layers"];
            layers["edge"]["duration_ms"] == edge && layers["engine"]["queue_ms"] == 300.0
        };
        until(&collector, &path, has_both).await;
    }
    let third = get(&collector, &format!("/v1/streams/{:032x}", 3)).await;
    assert!(!third.contains("layers"), "its page saw no trace: {third}");
}

#[tokio::test]
async fn output_after_the_client_left_counts_by_site() {
    let collector = TestCollector::with(config);
    let without = until(&collector, "/v1/abandonment", |answer| answer["at_risk"] == 0).await;
    assert_eq!(without["unread_output"], Value::Null, "no backend says how streams ended");

    let left = |id| StreamReport { outcome: Outcome::Aborted, ..with_response(id) };
    collector.report(&[with_response(1), left(2), left(3), left(4), with_response(5)]).await;
    let ended = |id: u32, ended: &str, output: Value, after: Value| {
        json!({ "id": format!("chatcmpl-{id}"), "layer": "engine", "source": "vllm", "ended": ended,
            "output_tokens": output, "tokens_after_gone": after })
    };
    // The backend of the fourth did not count what came after, and that of the fifth says nothing.
    sent(
        &collector,
        &json!([
            ended(1, "complete", json!(600), Value::Null),
            ended(2, "client_gone", json!(400), json!(300)),
            ended(3, "client_gone", json!(100), json!(0)),
            ended(4, "client_gone", json!(50), Value::Null),
        ]),
    )
    .await;
    let counts = json!({ "users_left": 3, "backend_ends": 4, "client_gone": 3, "client_gone_counted": 2,
        "output_tokens": 1_100, "tokens_after_gone": 300, "share": 300.0 / 1_100.0 });
    let mut of_site = counts.clone();
    of_site["site"] = json!("demo");
    let mut expected = counts;
    expected["sites"] = json!([of_site]);
    for path in ["/v1/abandonment", "/v1/abandonment?outcome=aborted&outcome=complete"] {
        until(&collector, path, |answer| answer["unread_output"] == expected).await;
    }
    let of_shop = until(&collector, "/v1/abandonment?site=shop", |answer| answer["at_risk"] == 0).await;
    assert_eq!(of_shop["unread_output"], Value::Null);
}

#[tokio::test]
async fn only_tokens_with_the_scope_may_send_timings() {
    let collector = TestCollector::with(config);
    let body = json!({ "facts": [app(1, 850.0)] }).to_string();
    let path = "/v1/server-timings?site=demo";
    send(&collector, READER, path, body.clone()).await.refused(403, "missing_scope");
    send(&collector, "wrong-0123456789abc", path, body.clone()).await.refused(401, "wrong_token");
    send(&collector, OF_SHOP, path, body.clone()).await.refused(403, "site_forbidden");
    send(&collector, BACKEND, "/v1/server-timings", body.clone()).await.refused(400, "bad_query");
    assert_eq!(send(&collector, OF_SHOP, "/v1/server-timings", body.clone()).await.status, 200);
    // The stream of another site stays as it is.
    collector.report(&[with_response(1)]).await;
    let stream =
        until(&collector, &format!("/v1/streams/{:032x}", 1), |stream| stream["id"].is_string()).await;
    assert_eq!(stream["layers"], Value::Null);

    let off = TestCollector::new();
    let headers = [("host", "127.0.0.1:8787"), ("content-type", "application/json")];
    off.ask(Method::POST, "/v1/server-timings", &headers, body).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_collector_without_tokens_takes_timings_if_told_so() {
    let open = TestCollector::with(|config| config.server.without_token = true);
    let body = json!({ "facts": [app(1, 850.0)] }).to_string();
    let ask = async |headers: &[(&'static str, &str)]| {
        open.ask(Method::POST, "/v1/server-timings", headers, body.clone()).await
    };
    let json = ("content-type", "application/json");
    assert_eq!(ask(&[("host", "127.0.0.1:8787"), json]).await.status, 200);
    // Neither a name that resolves to loopback nor a page of another origin may send any.
    ask(&[("host", "rum.example"), json]).await.refused(403, "foreign_host");
    let foreign = ("sec-fetch-site", "cross-site");
    ask(&[("host", "127.0.0.1:8787"), json, foreign]).await.refused(403, "cross_origin");
}

#[tokio::test]
async fn a_stream_links_to_its_trace_in_other_tools() {
    let collector = TestCollector::with(|changed| {
        config(changed);
        let links = json!({
            "trace": "https://tempo.example/{trace_id}", "replay": "https://log.example/?id={response_id}"
        });
        changed.sites[0].links = serde_json::from_value(links).unwrap();
    });
    collector.report(&[with_response(1), with_response(2)]).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let mut traced = app(1, 850.0);
    traced["trace_id"] = trace.into();
    sent(&collector, &json!([traced, app(2, 860.0)])).await;
    let of_first = format!("/v1/streams/{:032x}", 1);
    let stream = until(&collector, &of_first, |stream| stream["layers"]["app"]["trace_id"] == trace).await;
    let expected = json!({
        "trace": format!("https://tempo.example/{trace}"), "replay": "https://log.example/?id=chatcmpl-1"
    });
    assert_eq!(stream["links"], expected);
    // Without a trace there is no link to one.
    let second = get(&collector, &format!("/v1/streams/{:032x}", 2)).await;
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["links"], json!({ "replay": "https://log.example/?id=chatcmpl-2" }));
    traced["trace_id"] = "the prompt".into();
    assert_eq!(sent(&collector, &json!([traced])).await["refused"], 1);
}

#[tokio::test]
async fn hostile_bodies_of_timings_are_refused() {
    let collector = TestCollector::with(config);
    let path = "/v1/server-timings?site=demo";
    send(&collector, BACKEND, path, "{").await.refused(400, "bad_json");
    send(&collector, BACKEND, path, vec![0xff; 100]).await.refused(400, "bad_json");
    send(&collector, BACKEND, path, "[".repeat(100_000)).await.refused(400, "bad_json");
    send(&collector, BACKEND, path, vec![b' '; 5 * 1024 * 1024]).await.refused(413, "body_too_large");
    let gzipped = |bytes: usize| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; bytes]).unwrap();
        encoder.finish().unwrap()
    };
    let packed = async |body: Vec<u8>| {
        let request = Request::post(path).header("content-encoding", "gzip");
        let request =
            headers(BACKEND).into_iter().fold(request, |request, (name, value)| request.header(name, value));
        collector.send(request.body(body.into()).unwrap()).await
    };
    packed(gzipped(21 * 1024 * 1024)).await.refused(413, "body_too_large");
    packed(b"no gzip".to_vec()).await.refused(400, "bad_encoding");
    let facts: Vec<_> = (0..5_001).map(|id| app(id, 1.0)).collect();
    let answer = sent(&collector, &json!(facts)).await;
    assert_eq!((answer["accepted"].as_u64(), answer["refused"].as_u64()), (Some(5_000), Some(1)), "{answer}");
}

#[tokio::test]
async fn no_text_of_the_backend_is_kept() {
    let mut collector = TestCollector::with(config);
    let secret = "PLANTED-7f3a";
    let texts =
        json!({ "prompt": secret, "messages": [{ "content": secret }], "user": secret, secret: secret });
    let mut fact = app(1, 850.0);
    fact.as_object_mut().unwrap().extend(texts.as_object().unwrap().clone());
    let spaced = format!("{secret} and more words");
    let wrong = [("id", 2), ("layer", 3), ("source", 4), ("starts_from", 5), ("ended", 6), ("ttft_ms", 7)];
    let wrong = wrong.map(|(field, id)| {
        let mut fact = app(id, 1.0);
        fact[field] = json!(spaced);
        fact
    });
    let facts: Vec<_> = [fact].into_iter().chain(wrong).collect();
    let answer = sent(&collector, &json!(facts)).await;
    assert_eq!((answer["accepted"].as_u64(), answer["refused"].as_u64()), (Some(1), Some(6)));
    assert!(!answer.to_string().contains(secret), "{answer}");
    collector.report(&[with_response(1)]).await;
    let path = format!("/v1/streams/{:032x}", 1);
    let stream = until(&collector, &path, |stream| stream["layers"].is_object()).await;
    assert!(!stream.to_string().contains(secret));
    assert!(!get(&collector, "/metrics").await.contains(secret));
    collector.close();
    let mut files = 0;
    each_file(&collector.config.data, &mut |bytes| {
        files += 1;
        assert!(memchr::memmem::find(bytes, secret.as_bytes()).is_none());
    });
    assert!(files > 1);
}

#[tokio::test]
async fn ids_match_as_hashes_and_are_not_kept() {
    let mut collector = TestCollector::with(|changed| {
        config(changed);
        changed.server.hash_key = Some("key-0123456789abcdef".into());
    });
    let id = "resp_PLANTED7f3a";
    let of_middleware = "made-up-PLANTED7f3a";
    let ids = StreamReport {
        response_id: Some(id.into()),
        server_id: Some(of_middleware.into()),
        ..stream(1, 900.0)
    };
    collector.report(&[ids]).await;
    let (mut app, mut engine) = (app(1, 850.0), engine(1));
    (app["id"], engine["id"]) = (json!(of_middleware), json!(id));
    sent(&collector, &json!([app, engine])).await;
    let path = format!("/v1/streams/{:032x}", 1);
    let has_both =
        |stream: &Value| stream["layers"]["app"].is_object() && stream["layers"]["engine"].is_object();
    let stream = until(&collector, &path, has_both).await;
    assert!(!stream.to_string().contains("PLANTED"), "{stream}");
    for id in ["response_id", "server_id"] {
        assert_eq!(stream[id].as_str().unwrap().len(), 32, "{id}");
    }
    collector.close();
    each_file(&collector.config.data, &mut |bytes| {
        assert!(memchr::memmem::find(bytes, b"PLANTED").is_none());
    });
}

fn each_file(folder: &Path, visit: &mut dyn FnMut(&[u8])) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { each_file(&path, visit) } else { visit(&fs::read(&path).unwrap()) }
    }
}

#[tokio::test]
async fn litellm_and_opentelemetry_reach_the_same_stream() {
    let collector = TestCollector::with(config);
    collector.report(&[with_response(1)]).await;
    let payload = json!({ "id": "chatcmpl-1", "stream": true, "startTime": 10.0, "completionStartTime": 10.5,
        "endTime": 12.0, "status": "success", "messages": "PLANTED-7f3a" });
    let answer = send(&collector, BACKEND, "/v1/server-timings/litellm?site=demo", payload.to_string()).await;
    assert_eq!((answer.status.as_u16(), &*answer.body), (200, r#"{"accepted":1,"skipped":0,"refused":0}"#));
    let span = |id: &str, ttft_s: f64| {
        json!({ "startTimeUnixNano": "1000000000", "endTimeUnixNano": "3000000000", "attributes": [
            { "key": "gen_ai.response.id", "value": { "stringValue": id } },
            { "key": "gen_ai.input.messages", "value": { "stringValue": "PLANTED-7f3a" } },
            { "key": "gen_ai.response.time_to_first_chunk", "value": { "doubleValue": ttft_s } },
        ] })
    };
    let spans = json!([span("chatcmpl-1", 0.75), span("chatcmpl-2", -1.0), { "name": "GET /" }]);
    let request =
        json!({ "resourceSpans": [{ "scopeSpans": [{ "scope": { "name": "ai" }, "spans": spans }] }] });
    let answer = send(&collector, BACKEND, "/v1/traces?site=demo", request.to_string()).await;
    let partial = json!({ "rejectedSpans": "1", "errorMessage": "item 1: `ttft_ms` must be a duration from 0 to 24 hours" });
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap(), json!({ "partialSuccess": partial }));
    let path = format!("/v1/streams/{:032x}", 1);
    let stream = until(&collector, &path, |stream| stream["layers"]["model_call"].is_object()).await;
    let layers = &stream["layers"];
    assert_eq!(
        (&layers["gateway"]["ttft_ms"], &layers["model_call"]["ttft_ms"]),
        (&json!(500.0), &json!(750.0))
    );
    assert_eq!(
        (&layers["gateway"]["source"], &layers["model_call"]["source"]),
        (&json!("litellm"), &json!("ai"))
    );
    assert!(!stream.to_string().contains("PLANTED"));
    // The empty request by which exporters test a connection.
    let request = Request::post("/v1/traces?site=demo").header("host", "rum.example");
    let request = request.header("authorization", format!("Bearer {BACKEND}"));
    let answer =
        collector.send(request.header("content-type", "application/x-protobuf").body(Body::empty()).unwrap());
    assert_eq!((answer.await.status.as_u16(), ""), (200, ""));
}

/// Own JSON, LiteLLM's payloads and spans, with a text in every place that is not on the list of what is read.
#[test]
fn no_text_of_any_backend_is_kept_or_logged() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("log");
    let mut command = command(folder.path());
    let mut process = Process::spawn_logging(command.env("RUST_LOG", "trace"), File::create(&log).unwrap());
    let mut client = process.connect();
    let mut post_as = |bearer: &str, path: &str, body: &Value| {
        let body = body.to_string();
        let head = format!("authorization: Bearer {bearer}\r\ncontent-type: application/json");
        client
            .ask(&format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ))
            .unwrap()
    };
    assert_eq!(
        process.connect().ask(&post(&json!({ "reports": [with_response(1)] }).to_string())).unwrap().0,
        204
    );
    let secret = "PLANTED-7f3a in a text";
    let chat = json!([{ "role": "user", "content": secret }]);
    let mut own = app(1, 850.0);
    own["prompt"] = json!(secret);
    own["messages"] = chat.clone();
    let litellm = json!({ "id": "chatcmpl-1", "stream": true, "startTime": 10.0, "completionStartTime": 10.5,
        "endTime": 12.0, "status": "success", "messages": chat, "response": { "choices": [{ "message": secret }] },
        "end_user": secret, "error_str": secret, "request_tags": [secret], "model_parameters": { "stop": secret },
        "metadata": { "user_api_key_alias": secret, secret: secret } });
    let texts = [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "user.id",
        "input.value",
        "llm.prompts.0.content",
        secret,
    ];
    let text = |key: &&str| json!({ "key": key, "value": { "stringValue": secret } });
    let mut attributes: Vec<_> = texts.iter().map(text).collect();
    attributes.extend([
        json!({ "key": "gen_ai.response.id", "value": { "stringValue": "chatcmpl-1" } }),
        json!({ "key": "gen_ai.response.time_to_first_chunk", "value": { "doubleValue": 0.75 } }),
    ]);
    let span = json!({ "name": secret, "startTimeUnixNano": "1000000000", "endTimeUnixNano": "3000000000",
        "status": { "message": secret }, "attributes": attributes,
        "events": [{ "name": secret, "attributes": [text(&"event")] }] });
    let spans = json!({ "resourceSpans": [{ "resource": { "attributes": [text(&"host.name")] },
        "scopeSpans": [{ "scope": { "name": "ai" }, "spans": [span] }] }] });
    for (path, body) in [
        ("/v1/server-timings?site=demo", json!({ "facts": [own] })),
        ("/v1/server-timings/litellm?site=demo", litellm),
        ("/v1/traces?site=demo", spans),
    ] {
        let (status, answer) = post_as(BACKEND, path, &body);
        assert_eq!(status, 200, "{path}: {answer}");
        assert!(!answer.contains("PLANTED"), "{path}: {answer}");
    }
    let path = format!("/v1/streams/{:032x}", 1);
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {READER}\r\n\r\n");
    let begun = Instant::now();
    loop {
        let stream = process.connect().ask(&request).unwrap().1;
        assert!(!stream.contains("PLANTED"), "{stream}");
        let layers = ["app", "gateway", "model_call"];
        if layers.iter().all(|layer| stream.contains(&format!("\"{layer}\":"))) {
            break;
        }
        assert!(begun.elapsed() < TIMEOUT, "{stream}");
        thread::sleep(Duration::from_millis(20));
    }
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success());
    let mut files = 0;
    each_file(folder.path(), &mut |bytes| {
        files += 1;
        assert!(memchr::memmem::find(bytes, b"PLANTED").is_none());
    });
    assert!(files > 3, "{files}");
    assert!(fs::read_to_string(log).unwrap().contains("SIGTERM"));
}

const KILLS: u128 = 30;

#[test]
fn kills_lose_and_double_no_timing() {
    let folder = TempDir::new().unwrap();
    let mut answered = Vec::new();
    for kill in 0..KILLS {
        let process = start(folder.path());
        let mut client = process.connect();
        for n in 0..=kill % 7 {
            let id = kill * 100 + n;
            let reports = json!({ "reports": [with_response(id)] }).to_string();
            let fact = json!({ "facts": [app(id, 850.0)] }).to_string();
            let fact = format!(
                "POST /v1/server-timings HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {BACKEND}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{fact}",
                fact.len()
            );
            let steps = if n % 2 == 0 { [post(&reports), fact] } else { [fact, post(&reports)] };
            let is_cut = n == kill % 7 && kill % 2 == 0;
            let steps = steps.into_iter().take(if is_cut { 1 } else { 2 });
            if steps.map(|request| client.ask(&request).unwrap().0).all(|status| status < 300) && !is_cut {
                answered.push(id);
            }
        }
        process.signal("KILL");
    }
    let process = start(folder.path());
    let mut client = process.connect();
    let asked = Instant::now();
    let times = loop {
        let request = format!(
            "GET /v1/streams.ndjson HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {READER}\r\n\r\n"
        );
        let lines = client.ask(&request).unwrap().1;
        let mut times: BTreeMap<u128, (u32, u32)> = BTreeMap::new();
        for line in lines.lines() {
            let stream: Value = serde_json::from_str(line).unwrap();
            let id = u128::from_str_radix(stream["id"].as_str().unwrap(), 16).unwrap();
            let (streams, matched) = times.entry(id).or_default();
            *streams += 1;
            *matched += u32::from(stream["layers"]["app"]["ttft_ms"] == 850.0);
        }
        if answered.iter().all(|id| times.contains_key(id)) || asked.elapsed() > TIMEOUT {
            break times;
        }
    };
    assert!(answered.len() > 80, "{}", answered.len());
    for id in answered {
        assert_eq!(times.get(&id), Some(&(1, 1)), "{id}");
    }
}

fn start(folder: &Path) -> Process {
    Process::spawn(&mut command(folder))
}

fn command(folder: &Path) -> Command {
    let file = folder.join("llm-rum.toml");
    let tokens = format!(
        "[[tokens]]\nname = 'backend'\ntoken = '{BACKEND}'\nscopes = ['server_timings']\n\
         [[tokens]]\nname = 'ops'\ntoken = '{READER}'\n"
    );
    fs::write(&file, format!("{tokens}[journal]\nsync = 'normal'\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data").arg(folder.join("data"));
    command
}

/// Ten streams that the app and the engine timed, two with a comment of the app, and one of each kind without a time.
async fn timed() -> TestCollector {
    let collector = TestCollector::with(config);
    let comment = |ttft_ms: f64| ServerTiming {
        source: "comment".into(),
        ttft_ms: Some(ttft_ms),
        ..ServerTiming::default()
    };
    let with_comment = |id| StreamReport { server: Some(comment(700.0)), ..stream(id, 900.0) };
    let failed = StreamReport {
        open: false,
        outcome: Outcome::NetworkError,
        close_ms: Some(100.0),
        ..StreamReport::new(stream(14, 0.0).id)
    };
    let mut reports: Vec<_> = (1..11).map(with_response).collect();
    reports.extend([with_comment(11), with_comment(12), stream(13, 900.0), failed, with_response(15)]);
    collector.report(&reports).await;
    let facts: Vec<_> = (1..11).flat_map(|id| [app(id, 850.0), engine(id)]).collect();
    sent(&collector, &json!(facts)).await;
    let duration = json!({ "id": "chatcmpl-15", "layer": "app", "source": "asgi", "duration_ms": 950 });
    sent(&collector, &json!([duration])).await;
    until(&collector, "/v1/server-layers", |answer| answer["layers"][1]["without"]["no_ttft"] == 1).await;
    collector
}

#[tokio::test]
async fn browsers_are_compared_with_one_layer_at_a_time() {
    let collector = timed().await;
    for (layer, matched, server_ms, overhead_ms) in
        [("app", 12, 850.0, 50.0), ("engine", 10, 800.0, 100.0), ("in_band", 2, 700.0, 200.0)]
    {
        let path = format!("/v1/compare?site=demo&layer={layer}");
        let answer = until(&collector, &path, |answer| answer["streams"] == 15).await;
        assert_eq!((&answer["layer"], &answer["matched"]), (&layer.into(), &matched.into()), "{answer}");
        assert_eq!((&answer["server"]["n"], &answer["overhead"]["n"]), (&matched.into(), &matched.into()));
        assert!(close_to(&answer["server"]["p50_ms"], server_ms), "{layer}: {}", answer["server"]);
        assert!(close_to(&answer["overhead"]["p50_ms"], overhead_ms), "{layer}: {}", answer["overhead"]);
        let points = answer["points"].as_array().unwrap().iter();
        let n: u64 = points.filter_map(|point| point["n"].as_u64()).sum();
        assert_eq!(n, matched, "{layer}");
    }
    let gateway = until(&collector, "/v1/compare?layer=gateway", |_| true).await;
    assert_eq!((&gateway["streams"], &gateway["matched"]), (&15.into(), &0.into()));
    let bad = get(&collector, "/v1/compare?layer=moon").await;
    assert!(bad.contains("bad_query"), "{bad}");
}

#[tokio::test]
async fn a_stream_without_a_layer_has_one_reason() {
    let collector = timed().await;
    let answer = until(&collector, "/v1/server-layers", |_| true).await;
    assert_eq!(answer["streams"], 15);
    let [_, app, _, gateway, engine] = answer["layers"].as_array().unwrap().as_slice() else {
        panic!("{answer}")
    };
    let reasons = |no_ttft: u64, no_response_id: u64, may_come: u64| {
        json!({ "no_ttft": no_ttft, "no_response": 1, "no_response_id": no_response_id, "may_come": may_come,
            "no_fact": 0 })
    };
    assert_eq!(*app, json!({ "layer": "app", "sent": 10, "in_stream": 2, "without": reasons(1, 1, 0) }));
    assert_eq!(
        *engine,
        json!({ "layer": "engine", "sent": 10, "in_stream": 0, "without": reasons(0, 3, 1) })
    );
    assert_eq!(
        *gateway,
        json!({ "layer": "gateway", "sent": 0, "in_stream": 0, "without": reasons(0, 3, 11) })
    );
    let all = until(&collector, "/v1/server-layers", |answer| answer["facts"]["matched"] == 21).await;
    let results =
        json!({ "matched": 21, "duplicate": 0, "expired": 0, "refused": 0, "shared": 0, "claimed": 0 });
    assert_eq!(all["facts"], results);
    let of_site = until(&collector, "/v1/server-layers?site=demo", |_| true).await;
    assert_eq!(of_site["facts"], Value::Null, "the counts are of all sites");
}

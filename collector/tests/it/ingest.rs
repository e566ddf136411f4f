//! Rules of the ingest endpoint: compressed bodies, memory for bodies, rate limits.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use beacon::{Page, StreamReport};
use bytes::Bytes;
use collector::{Config, Filters, Rate, Site};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use futures_util::StreamExt;
use futures_util::future::{join_all, ready};
use futures_util::stream::once;
use http_body_util::StreamBody;
use hyper::body::Frame;
use ring::hmac;
use serde_json::json;
use tokio::sync::Barrier;

use crate::harness::{Answer, TestCollector, beacon_request, stream};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn set_origins(config: &mut Config, origins: &[&str]) {
    config.sites[0].origins = serde_json::from_value(json!(origins)).unwrap();
}

fn beacon(id: u128) -> Vec<u8> {
    json!({ "reports": [stream(id, 100.0)] }).to_string().into_bytes()
}

async fn send(collector: &TestCollector, codings: &[&str], body: impl Into<Body>) -> Answer {
    let request = beacon_request("demo");
    let request = codings.iter().fold(request, |request, coding| request.header("content-encoding", *coding));
    collector.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_compressed_body_counts_as_its_content() {
    let collector = TestCollector::new();
    for (coding, body) in
        [("gzip", gzip(&beacon(1))), ("GZIP", gzip(&beacon(2))), ("deflate", zlib(&beacon(3)))]
    {
        let answer = send(&collector, &[coding], body).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{coding}: {}", answer.body);
    }
    collector.until("/v1/summary", |summary| summary["streams"] == 3).await;
}

#[tokio::test]
async fn a_body_with_a_wrong_content_encoding_is_refused() {
    let collector = TestCollector::new();
    let packed = gzip(&beacon(1));
    let cut = packed[..packed.len() - 1].to_vec();
    let mut wrong_sum = packed.clone();
    let sum_at = packed.len() - 8;
    wrong_sum[sum_at] ^= 1;
    let with_more = [packed.as_slice(), b"x"].concat();
    let twice = [packed.as_slice(), packed.as_slice()].concat();
    for (coding, body) in [
        ("gzip", beacon(1)),
        ("gzip", Vec::new()),
        ("gzip", cut),
        ("gzip", wrong_sum),
        ("gzip", with_more),
        ("gzip", twice),
        ("gzip", zlib(&beacon(1))),
        ("deflate", packed),
        ("deflate", raw_deflate(&beacon(1))),
    ] {
        send(&collector, &[coding], body).await.refused(400, "bad_encoding");
    }
}

#[tokio::test]
async fn only_one_known_content_coding_is_decoded() {
    let collector = TestCollector::new();
    let unknown: [&[&str]; 7] =
        [&["br"], &["zstd"], &["identity"], &[""], &["gzip, gzip"], &["gzip", "gzip"], &["deflate", "gzip"]];
    for codings in unknown {
        let answer = send(&collector, codings, gzip(&beacon(1))).await;
        answer.refused(415, "unsupported_encoding");
        assert_eq!(answer.headers["accept-encoding"], "gzip, deflate");
    }
}

#[tokio::test]
async fn a_compression_bomb_is_refused_at_the_body_limit() {
    let collector = TestCollector::new();
    for bytes in [256 * 1024 + 1, 100_000_000] {
        send(&collector, &["gzip"], gzip(&vec![b' '; bytes])).await.refused(413, "body_too_large");
        send(&collector, &["deflate"], zlib(&vec![b' '; bytes])).await.refused(413, "body_too_large");
    }
    let twice_packed = gzip(&gzip(&vec![b' '; 100_000_000]));
    send(&collector, &["gzip"], twice_packed).await.refused(400, "bad_json");
    send(&collector, &["gzip"], gzip(&vec![b' '; 256 * 1024])).await.refused(400, "bad_json");
}

#[tokio::test]
async fn bodies_over_the_shared_memory_limit_are_refused() {
    let collector = TestCollector::with(|config| config.ingest.bodies_bytes = 1_000);
    let long = json!({ "reports": [stream(1, 100.0)], "later": "x".repeat(1_000) }).to_string();
    let answer = collector.post(long).await;
    answer.refused(503, "overloaded");
    assert_eq!(answer.headers["retry-after"], "1");
    for id in 0..10 {
        let answer = collector.post(beacon(id)).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "room is given back: {}", answer.body);
    }
}

/// Some bodies are all under way before any of them goes on.
#[tokio::test]
async fn a_compressed_body_is_charged_for_received_bytes_only() {
    let collector = TestCollector::with(|config| config.ingest.bodies_bytes = 300_000);
    let packed = Bytes::from(gzip(&vec![b' '; 262_000]));
    let all_have_begun = Arc::new(Barrier::new(20));
    let answers = join_all((0..20).map(|_| {
        let (begin, end) = (packed.slice(..packed.len() - 8), packed.slice(packed.len() - 8..));
        let all_have_begun = all_have_begun.clone();
        let end = async move {
            all_have_begun.wait().await;
            end
        };
        let frames = once(ready(begin)).chain(once(end)).map(|data| Ok::<_, Infallible>(Frame::data(data)));
        send(&collector, &["gzip"], Body::new(StreamBody::new(frames)))
    }));
    for answer in answers.await {
        answer.refused(400, "bad_json");
    }
}

#[tokio::test]
async fn a_site_over_its_rate_gets_retry_after() {
    let collector = TestCollector::with(|config| {
        config.sites[0].rate = Some(Rate { per_second: 1, burst: Some(3) });
    });
    let answers = join_all((0..10).map(|id| collector.post(beacon(id)))).await;
    let (kept, held_back): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == StatusCode::NO_CONTENT);
    assert_eq!(kept.len(), 3);
    for answer in held_back {
        answer.refused(429, "site_limited");
        assert_eq!(answer.headers["retry-after"], "1");
    }
    let readable = beacon_request("demo").header("origin", "http://localhost");
    let answer = collector.send(readable.body(beacon(10).into()).unwrap()).await;
    answer.refused(429, "site_limited");
    assert_eq!(answer.headers["access-control-allow-origin"], "http://localhost");
    assert_eq!(answer.headers["access-control-expose-headers"], "retry-after");
    collector.until_metric("llm_rum_beacons_total{result=\"site_limited\"}", 8.0).await;
}

#[tokio::test]
async fn an_invalid_body_uses_no_rate_of_a_site() {
    let collector = TestCollector::with(|config| {
        config.sites[0].rate = Some(Rate { per_second: 1, burst: Some(1) });
    });
    for _ in 0..10 {
        collector.post("junk").await.refused(400, "bad_json");
        send(&collector, &["gzip"], beacon(1)).await.refused(400, "bad_encoding");
    }
    assert_eq!(collector.post(beacon(1)).await.status, StatusCode::NO_CONTENT);
    collector.post(beacon(2)).await.refused(429, "site_limited");
    let books = collector.until("/v1/accounting", |books| books["reports"]["received"] == 1).await;
    assert_eq!(books["reports"]["by_result"], json!({ "new": 1 }), "nothing of a refused beacon is kept");
}

#[tokio::test]
async fn a_page_can_read_that_its_site_key_is_unknown() {
    let collector = TestCollector::new();
    let request = Request::post("/v1/beacons?site=dmeo").header("origin", "https://shop.example");
    let answer = collector.send(request.body(Body::from("{}")).unwrap()).await;
    answer.refused(403, "unknown_site");
    assert_eq!(answer.headers["access-control-allow-origin"], "https://shop.example");
}

fn page_token(signing_key: &str, site_key: &str, minutes: i64) -> String {
    let signed = format!("{site_key}.{}", jiff::Timestamp::now().as_second() + minutes * 60);
    let key = hmac::Key::new(hmac::HMAC_SHA256, signing_key.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes())))
}

#[tokio::test]
async fn a_site_with_a_signing_key_needs_page_tokens() {
    let (own, other) = ("0123456789abcdef", "fedcba9876543210");
    let collector = TestCollector::with(|config| {
        let open = config.sites[0].clone();
        config.sites[0].signing_key = Some(own.into());
        let named = |name: &str| Site { name: name.to_owned(), keys: vec![name.to_owned()], ..open.clone() };
        config.sites.push(Site { signing_key: Some(own.into()), ..named("twin") });
        config.sites.push(named("open"));
    });
    let send = async |parameter: String, id| {
        let request = beacon_request(&parameter).header("origin", "http://localhost");
        collector.send(request.body(beacon(id).into()).unwrap()).await
    };
    for (parameter, code) in [
        ("demo".to_owned(), "page_token_invalid"),
        (page_token(other, "demo", 60), "page_token_invalid"),
        (page_token(own, "twin", 60).replace("twin", "demo"), "page_token_invalid"),
        (page_token(own, "demo", -1), "page_token_expired"),
        (page_token(own, "dmeo", 60), "unknown_site"),
    ] {
        let answer = send(parameter, 1).await;
        answer.refused(403, code);
        assert_eq!(answer.headers["access-control-allow-origin"], "http://localhost", "{code}");
    }
    for (id, parameter) in [
        (1, page_token(own, "demo", 60)),
        (2, page_token(own, "twin", 60)),
        (3, page_token(other, "open", 60)),
        (4, "open".to_owned()),
    ] {
        assert_eq!(send(parameter.clone(), id).await.status, StatusCode::NO_CONTENT, "{parameter}");
    }
    let books = collector.until("/v1/accounting", |books| books["reports"]["by_result"]["new"] == 4).await;
    let refused = &books["beacons"]["refused"];
    assert_eq!(refused, &json!({ "page_token_invalid": 3, "page_token_expired": 1, "unknown_site": 1 }));
}

#[tokio::test]
async fn a_sandboxed_frame_needs_an_entry_of_its_own() {
    let refusing = TestCollector::with(|config| set_origins(config, &["loopback", "https://*.shop.example"]));
    let allowing = TestCollector::with(|config| set_origins(config, &["https://shop.example", "null"]));
    let send = async |collector: &TestCollector| {
        let request = beacon_request("demo").header("origin", "null");
        collector.send(request.body(Body::from(beacon(1))).unwrap()).await
    };
    send(&refusing).await.refused(403, "foreign_origin");
    let answer = send(&allowing).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.body);
    assert_eq!(answer.headers["access-control-allow-origin"], "null");
    allowing.until("/v1/accounting", |books| books["reports"]["by_result"] == json!({ "new": 1 })).await;
}

#[tokio::test]
async fn beacons_of_bots_and_tests_are_refused_by_reason() {
    let collector = TestCollector::with(|config| {
        config.sites[0].filters = Filters { own_tests: vec!["shop-e2e".into()], ..Filters::default() };
    });
    let bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    for (header, value, code) in [
        ("user-agent", bot, "filtered_bot"),
        ("user-agent", "Mozilla/5.0 Chrome/150.0 shop-e2e/3", "filtered_test"),
        ("sec-purpose", "prefetch;prerender", "filtered_prerender"),
    ] {
        let request = beacon_request("demo").header(header, value).header("origin", "http://localhost");
        let answer = collector.send(request.body(Body::from(beacon(1))).unwrap()).await;
        answer.refused(403, code);
        assert_eq!(answer.headers["access-control-allow-origin"], "http://localhost");
        collector.until_metric(&format!("llm_rum_beacons_total{{result=\"{code}\"}}"), 1.0).await;
    }
    let user = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
    let request = beacon_request("demo").header("user-agent", user).header("sec-purpose", "prefetch");
    assert_eq!(
        collector.send(request.body(Body::from(beacon(1))).unwrap()).await.status,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn pages_of_this_machine_are_not_filtered_unless_asked_for() {
    let collector = TestCollector::new();
    let request = beacon_request("demo").header("user-agent", "HeadlessChrome/150.0");
    assert_eq!(
        collector.send(request.body(Body::from(beacon(1))).unwrap()).await.status,
        StatusCode::NO_CONTENT
    );
}

/// Also after a restart, when all that is known is what the journal holds.
#[tokio::test]
async fn a_page_gets_the_browser_that_sent_its_report() {
    let mut collector = TestCollector::new();
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
    let brave = Page { browser: Some("Brave".into()), ..Page::default() };
    let all = json!({
        "browser": "firefox", "browser_version": "firefox 150", "os": "linux", "device": "desktop",
    });
    for (id, page, agent, told) in [
        (1, Some(Page::default()), Some(firefox.to_owned()), all),
        (2, Some(brave), Some(firefox.to_owned()), json!({ "browser": "brave" })),
        (3, Some(Page::default()), None, json!({})),
        (4, None, Some(firefox.to_owned()), json!(null)),
        (
            5,
            Some(Page::default()),
            Some("\u{e9}".repeat(5_000)),
            json!({ "browser": "other", "os": "other" }),
        ),
    ] {
        let body = json!({ "reports": [StreamReport { page, ..stream(id, 100.0) }] }).to_string();
        let request = beacon_request("demo");
        let request = agent.iter().fold(request, |request, agent| request.header("user-agent", agent));
        assert_eq!(
            collector.send(request.body(Body::from(body)).unwrap()).await.status,
            StatusCode::NO_CONTENT
        );
        let path = format!("/v1/streams/{id:032x}");
        collector.until("/v1/summary", |summary| summary["streams"] == id as u64).await;
        assert_eq!(collector.json(&path).await["page"], told, "{id}");
        collector.restart();
        assert_eq!(collector.json(&path).await["page"], told, "{id} after a restart");
    }
}

#[tokio::test]
async fn a_sample_is_of_whole_streams_and_the_rest_is_counted() {
    let collector = TestCollector::with(|config| config.sites[0].sample = 0.25);
    for id in 0..400 {
        let first = StreamReport { open: true, ..stream(id, 100.0) };
        let last = StreamReport { rev: 1, ..stream(id, 100.0) };
        collector.report(&[first]).await;
        collector.report(&[last, stream(1_000 + id, 100.0)]).await;
    }
    let all_there = |books: &serde_json::Value| {
        books["beacons"]["received"] == 800
            && books["beacons"]["in_flight"] == 0
            && books["streams"]["open"] == 0
    };
    let books = collector.until("/v1/accounting", all_there).await;
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let new = number(&books["reports"]["by_result"]["new"]);
    assert!((160..240).contains(&new), "about a quarter of 800: {books}");
    let revised = number(&books["reports"]["by_result"]["revised"]);
    assert!((60..140).contains(&revised), "{books}");
    assert_eq!(number(&books["reports"]["received"]) + number(&books["reports"]["sampled_out"]), 1_200);
    assert_eq!(number(&books["beacons"]["accepted"]) + number(&books["beacons"]["sampled_out"]), 800);
    assert_eq!(
        number(&books["streams"]["counted"]),
        new,
        "in with all its revisions, or not at all: {books}"
    );
}

#[tokio::test]
async fn models_are_counted_under_their_configured_names() {
    let collector = TestCollector::with(|config| {
        config.models = [("gpt-5-*".to_owned(), "gpt-5".to_owned())].into();
    });
    for (id, model) in ["gpt-5", "gpt-5-2026-08-01", "models/gpt-5", "gpt-5-mini"].into_iter().enumerate() {
        collector.report(&[StreamReport { model: Some(model.into()), ..stream(id as u128, 100.0) }]).await;
    }
    collector.until("/v1/summary?model=gpt-5", |summary| summary["streams"] == 4).await;
}

//! Responses of `/v1` are compressed for clients that accept it.

use std::io::{Read, Write};

use axum::body::Body;
use axum::http::Request;
use flate2::read::GzDecoder;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::timeout;

use crate::harness::{TIMEOUT, TestCollector, stream};

fn accepting_gzip(path: &str, accept: &str) -> Request<Body> {
    let request = Request::get(path).header("host", "localhost").header("accept", accept);
    request.header("accept-encoding", "gzip, deflate, br, zstd").body(Body::empty()).unwrap()
}

#[tokio::test]
async fn compressed_responses_have_the_same_content() {
    let collector = TestCollector::new();
    collector.report(&(1..=50).map(|n| stream(n, 300.0)).collect::<Vec<_>>()).await;
    let path = "/v1/streams?limit=50";
    collector.until(path, |page| page["streams"].as_array().unwrap().len() == 50).await;
    let plain = collector.get(path).await;
    assert!(!plain.headers.contains_key("content-encoding"), "the client did not ask for it");

    let response = collector.open(accepting_gzip(path, "application/json")).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["vary"], "accept-encoding");
    let packed = response.into_body().collect().await.unwrap().to_bytes();
    let mut unpacked = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
    assert!(packed.len() * 4 < unpacked.len(), "{} of {} bytes", packed.len(), unpacked.len());
}

#[tokio::test]
async fn short_responses_are_not_compressed() {
    let collector = TestCollector::new();
    let response = collector.open(accepting_gzip("/v1/streams", "application/json")).await;
    assert!(!response.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn each_compressed_live_event_is_sent_at_once() {
    let collector = TestCollector::new();
    let response = collector.open(accepting_gzip("/v1/live", "text/event-stream")).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let mut chunks = response.into_body().into_data_stream();
    let mut decoder = flate2::write::GzDecoder::new(Vec::new());
    for expected in 1..=3 {
        let text = loop {
            let chunk = timeout(TIMEOUT, chunks.next()).await.expect("an event a second").unwrap().unwrap();
            decoder.write_all(&chunk).unwrap();
            decoder.flush().unwrap();
            let text = String::from_utf8(decoder.get_ref().clone()).unwrap();
            if text.ends_with("\n\n") && text.matches("data: ").count() >= expected {
                break text;
            }
        };
        let events: Vec<_> = text.split_terminator("\n\n").collect();
        assert_eq!(events.len(), expected, "an event waited for a later one");
        let last = events.last().unwrap().strip_prefix("data: ").unwrap();
        assert!(serde_json::from_str::<Value>(last).unwrap()["open"].is_u64());
    }
}

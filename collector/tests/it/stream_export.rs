//! Kept streams as files for other programs.

use std::io::Read;

use axum::body::Body;
use axum::http::Request;
use beacon::{Outcome, StreamReport};
use serde_json::Value;

use crate::harness::{TestCollector, stream};

async fn collector_with(streams: u128) -> TestCollector {
    let collector = TestCollector::new();
    let report = |id: u128| StreamReport {
        outcome: if id.is_multiple_of(4) { Outcome::Truncated } else { Outcome::Complete },
        ..stream(id, 400.0)
    };
    for batch in (1..=streams).map(report).collect::<Vec<_>>().chunks(100) {
        collector.report(batch).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == streams as u64).await;
    collector
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn exported_lines_are_the_streams_of_the_list() {
    let collector = collector_with(250).await;
    let exported = collector.get("/v1/streams.ndjson").await;
    assert_eq!(exported.headers["content-type"], "application/x-ndjson");
    assert!(!exported.headers.contains_key("llm-rum-kept-since-ms"), "all are kept");
    let mut exported = lines(&exported.body);
    exported.reverse();
    let (mut listed, mut next) = (Vec::new(), String::new());
    loop {
        let page = collector.json(&format!("/v1/streams?limit=100{next}")).await;
        listed.extend(page["streams"].as_array().unwrap().clone());
        let Some(cursor) = page["next"].as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    // The list splits the wait of each. An export has the fields of the report, as Parquet has.
    let phases: Vec<_> = listed.iter_mut().map(|stream| stream["phases"].take()).collect();
    assert!(phases.iter().all(Value::is_array), "{phases:?}");
    listed.iter_mut().for_each(|stream| drop(stream.as_object_mut().unwrap().remove("phases")));
    assert_eq!(exported, listed);
}

#[tokio::test]
async fn exports_are_filtered_and_reject_unknown_parameters() {
    let collector = collector_with(20).await;
    for (query, streams) in [
        ("?outcome=truncated", 5),
        ("?use_case=coding", 0),
        ("?use_case=!coding&outcome=complete", 15),
        ("?from=0&to=60000", 0),
    ] {
        let exported = collector.get(&format!("/v1/streams.ndjson{query}")).await;
        assert_eq!((exported.status.as_u16(), lines(&exported.body).len()), (200, streams), "{query}");
    }
    for path in ["/v1/streams.ndjson?limit=5", "/v1/streams.parquet?cursor=1"] {
        collector.get(path).await.refused(400, "bad_query");
    }
}

#[tokio::test]
async fn a_parquet_file_has_its_marks_at_both_ends() {
    let collector = collector_with(5).await;
    let request = Request::get("/v1/streams.parquet").header("host", "localhost").body(Body::empty());
    let response = collector.open(request.unwrap()).await;
    assert_eq!(response.headers()["content-type"], "application/vnd.apache.parquet");
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(body.starts_with(b"PAR1") && body.ends_with(b"PAR1"));
}

#[tokio::test]
async fn an_empty_export_is_sent_compressed_too() {
    let collector = collector_with(5).await;
    for (path, bytes) in
        [("/v1/streams.ndjson?use_case=coding", 0), ("/v1/streams.parquet?use_case=coding", 1_000)]
    {
        let request = Request::get(path).header("host", "localhost").header("accept-encoding", "gzip");
        let response = collector.open(request.body(Body::empty()).unwrap()).await;
        let is_compressed = response.headers().contains_key("content-encoding");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let mut plain = Vec::new();
        match is_compressed {
            true => _ = flate2::read::GzDecoder::new(&*body).read_to_end(&mut plain).unwrap(),
            false => plain.extend_from_slice(&body),
        }
        assert!(plain.len() >= bytes, "{path}: {} bytes", plain.len());
    }
}

#[tokio::test]
async fn exports_end_when_their_clients_leave() {
    let collector = collector_with(2_000).await;
    // Twice as many as may run: the later ones begin only if the earlier ones end.
    for _ in 0..4 {
        let request = Request::get("/v1/streams.ndjson").header("host", "localhost").body(Body::empty());
        let response = collector.open(request.unwrap()).await;
        assert_eq!(response.status(), 200);
    }
    assert_eq!(lines(&collector.get("/v1/streams.ndjson").await.body).len(), 2_000);
}

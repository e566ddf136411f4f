//! Responses to a client that has an earlier one: 304, the newest points, and only the streams that changed.

use axum::body::Body;
use axum::http::Request;
use beacon::{Outcome, StreamReport};
use serde_json::{Value, json};

use crate::harness::{Answer, TestCollector, stream};

async fn get_again(collector: &TestCollector, path: &str, tag: &str) -> Answer {
    let request = Request::get(path).header("host", "localhost").header("if-none-match", tag);
    collector.send(request.header("accept-encoding", "gzip").body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn an_unchanged_response_is_not_sent_again() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 300.0)]).await;
    let path = "/v1/streams";
    collector.until(path, |page| page["streams"].as_array().unwrap().len() == 1).await;
    let first = collector.get(path).await;
    let tag = first.headers["etag"].to_str().unwrap();
    let again = get_again(&collector, path, &format!("\"other\", {tag}")).await;
    assert_eq!((again.status.as_u16(), again.body.as_str()), (304, ""));
    assert_eq!(again.headers["etag"], first.headers["etag"]);
    assert_eq!(again.headers["cache-control"], "no-store");
    assert!(!again.headers.contains_key("content-type"));

    collector.report(&[stream(2, 300.0)]).await;
    collector.until(path, |page| page["streams"].as_array().unwrap().len() == 2).await;
    let changed = get_again(&collector, path, tag).await;
    assert_eq!(changed.status.as_u16(), 200);
    assert_ne!(changed.headers["etag"], first.headers["etag"]);
    assert!(!get_again(&collector, "/v1/streams?limit=0", tag).await.headers.contains_key("etag"));
}

#[tokio::test]
async fn since_gives_the_newest_points_of_a_series() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 300.0)]).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let to = summary["to"].as_i64().unwrap();
    let range = format!("from={}&to={to}", to - 3_600_000);
    let since = to - 600_000;
    for path in
        [format!("/v1/timeseries?{range}&step=120&compare_to=day"), format!("/v1/compare?{range}&step=120")]
    {
        let mut whole = collector.json(&path).await;
        let mut part = collector.json(&format!("{path}&since={since}")).await;
        for points in ["points", "earlier"] {
            let Some(all) = whole[points].as_array() else { continue };
            let newest: Vec<_> = all[all.len() - part[points].as_array().unwrap().len()..].to_vec();
            assert!(newest.len() < 7 && newest.len() * 4 < all.len(), "{path}: {} points", newest.len());
            whole[points] = json!(newest);
        }
        // Of the last step they are means until the request.
        for answer in [&mut whole, &mut part] {
            for point in answer["points"].as_array_mut().unwrap() {
                for mean in [
                    "in_flight",
                    "requests_per_second",
                    "input_tokens_per_second",
                    "output_tokens_per_second",
                ] {
                    point[mean].take();
                }
            }
        }
        assert_eq!(part, whole, "{path}");
    }
}

#[tokio::test]
async fn since_names_the_streams_that_arrived_before() {
    let collector = TestCollector::new();
    let open = StreamReport { open: true, outcome: Outcome::Abandoned, ..stream(2, 300.0) };
    collector.report(&[stream(1, 300.0), open, stream(3, 300.0)]).await;
    let path = "/v1/streams";
    let known = collector.until(path, |page| page["streams"].as_array().unwrap().len() == 3).await;
    let newest = known["streams"][0]["received_ms"].as_i64().unwrap();
    let since = newest + 1;
    // The next report arrives in a later millisecond.
    while collector.json("/v1/live").await["timestamp_ms"].as_i64().unwrap() <= since {}
    collector.report(&[StreamReport { rev: 1, ..stream(2, 300.0) }]).await;
    let whole = collector.until(path, |page| page["streams"][0]["rev"] == 1).await;

    let part = collector.json(&format!("{path}?since={since}")).await;
    assert_eq!(part["streams"], json!([whole["streams"][0]]));
    let id = |n: u128| format!("{n:032x}");
    let unchanged = json!([{ "index": 1, "id": id(3), "rev": 0 }, { "index": 2, "id": id(1), "rev": 0 }]);
    assert_eq!((&part["unchanged"], &part["next"]), (&unchanged, &Value::Null));
    let first = collector.json(&format!("{path}?limit=2&since={since}")).await;
    assert_eq!((&first["unchanged"], first["next"].is_string()), (&json!([unchanged[0]]), true));
}

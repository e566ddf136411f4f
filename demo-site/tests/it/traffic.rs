//! Traffic from the demo site to a collector of a few lines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::routing::post;
use beacon::{Batch, Outcome, StreamReport};
use demo_site::{Delivered, Traffic};
use tokio::net::TcpListener;

use crate::harness::Demo;

#[tokio::test]
async fn generated_streams_are_reported_once_and_correctly() {
    let demo = Demo::start().await;
    let received: Arc<Mutex<Vec<StreamReport>>> = Arc::default();
    let sink = Arc::clone(&received);
    let beacons = async move |RawQuery(query): RawQuery, body: String| {
        assert_eq!(query.as_deref(), Some("site=key"));
        sink.lock().unwrap().extend(serde_json::from_str::<Batch>(&body).unwrap().reports);
        StatusCode::NO_CONTENT
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let server =
        tokio::spawn(axum::serve(listener, Router::new().route("/v1/beacons", post(beacons))).into_future());

    let traffic = Traffic {
        demo: demo.url.clone(),
        collector,
        site: Some("key".to_owned()),
        streams: 60,
        over: Duration::ZERO,
        concurrency: 60,
        seed: 3,
    };
    let sent = traffic.send(|_| {}).await.unwrap();
    server.abort();

    assert_eq!(sent.delivered, Delivered { accepted: 60, ..Delivered::default() });
    assert_eq!(sent.outcomes.values().sum::<u32>(), 60);
    let reports = received.lock().unwrap();
    assert_eq!(reports.len(), 60);
    for report in reports.iter() {
        assert!(!report.open && report.page.is_some() && report.model.is_some(), "{report:?}");
        let is_whole = report.outcome == Outcome::Complete;
        assert!(!is_whole || report.ttft_ms.is_some() && report.output_tokens.is_some(), "{report:?}");
    }
    let whole = reports.iter().filter(|report| report.outcome == Outcome::Complete).count();
    assert!((45..60).contains(&whole), "{sent}");
}

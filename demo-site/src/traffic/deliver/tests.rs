//! Tests of delivery against a minimal collector.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::client::client;

/// Delivers `count` reports to a collector that responds with `answers` in turn and then with 204. Returns
/// the result and the sizes of the batches that arrived.
async fn delivered(count: usize, answers: Vec<Response>) -> (Delivered, Vec<usize>) {
    delivered_of(&vec![Sender { site: "demo", country: "CH" }; count], answers).await
}

async fn delivered_of(senders: &[Sender], answers: Vec<Response>) -> (Delivered, Vec<usize>) {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let seen = Arc::clone(&sizes);
    let beacons = async move |body: String| {
        let batch: Batch = serde_json::from_str(&body).unwrap();
        seen.lock().unwrap().push(batch.reports.len());
        answers.lock().unwrap().next().unwrap_or_else(|| StatusCode::NO_CONTENT.into_response())
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server =
        tokio::spawn(axum::serve(listener, Router::new().route("/v1/beacons", post(beacons))).into_future());
    let (reports, to_deliver) = mpsc::channel(64);
    for (number, sender) in senders.iter().enumerate() {
        reports.send((*sender, StreamReport::new(format!("{number:032x}")))).await.unwrap();
    }
    drop(reports);
    let delivered = Delivery::new(client().unwrap(), &url, None).run(to_deliver).await;
    server.abort();
    let sizes = sizes.lock().unwrap().clone();
    (delivered, sizes)
}

fn busy(status: StatusCode) -> Response {
    (status, [(header::RETRY_AFTER, "0")]).into_response()
}

#[tokio::test]
async fn reports_travel_in_batches() {
    let (delivered, sizes) = delivered(45, Vec::new()).await;
    assert_eq!(delivered, Delivered { accepted: 45, ..Delivered::default() });
    assert_eq!(sizes, [20, 20, 5]);
}

#[tokio::test]
async fn a_batch_has_reports_of_one_sender() {
    let [swiss, german] = ["CH", "DE"].map(|country| Sender { site: "demo", country });
    let (delivered, sizes) = delivered_of(&[swiss, swiss, german, swiss], Vec::new()).await;
    assert_eq!(delivered, Delivered { accepted: 4, ..Delivered::default() });
    assert_eq!(sizes, [2, 1, 1]);
}

#[tokio::test]
async fn a_retry_to_a_busy_collector_counts_nothing_twice() {
    let answers = vec![busy(StatusCode::TOO_MANY_REQUESTS), busy(StatusCode::SERVICE_UNAVAILABLE)];
    let (delivered, sizes) = delivered(3, answers).await;
    assert_eq!(delivered, Delivered { accepted: 3, ..Delivered::default() });
    assert_eq!(sizes, [3, 3, 3]);
}

#[tokio::test]
async fn a_refused_batch_is_not_sent_again() {
    let (delivered, sizes) = delivered(25, vec![StatusCode::BAD_REQUEST.into_response()]).await;
    assert_eq!(delivered, Delivered { accepted: 5, refused: 20, lost: 0 });
    assert_eq!(sizes, [20, 5]);
}

#[tokio::test]
async fn a_collector_that_stays_busy_loses_the_batch() {
    let answers = (0..=RETRIES).map(|_| busy(StatusCode::SERVICE_UNAVAILABLE)).collect();
    let (delivered, _) = delivered(2, answers).await;
    assert_eq!(delivered, Delivered { lost: 2, ..Delivered::default() });
}

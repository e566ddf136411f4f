//! Chunks, lengths, trailers and cancellation over a real connection.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream::{Stream, unfold};
use http_body::Frame;
use llm_rum_tower::{LlmRumLayer, Marks};
use tokio::sync::{mpsc, oneshot};

use crate::server::{BROWSER, Server};

fn app<F, Answer>(chat: F) -> Router
where
    F: FnOnce() -> Answer + Clone + Send + Sync + 'static,
    Answer: Future<Output: IntoResponse> + Send + 'static,
{
    Router::new().route("/chat", post(chat)).layer(LlmRumLayer::new())
}

fn event_stream(body: Body) -> Response {
    ([("content-type", "text/event-stream")], body).into_response()
}

/// A response whose chunks the test sends, and what says that the server dropped it.
fn by_hand() -> (Router, mpsc::UnboundedSender<&'static str>, oneshot::Receiver<()>) {
    let (chunks, source) = mpsc::unbounded_channel();
    let (alive, dropped) = oneshot::channel::<()>();
    let once = Arc::new(Mutex::new(Some((source, alive))));
    let chat = async move || {
        let source = once.lock().unwrap().take().expect("one request");
        event_stream(Body::from_stream(stream_of(source)))
    };
    (app(chat), chunks, dropped)
}

fn stream_of(
    source: (mpsc::UnboundedReceiver<&'static str>, oneshot::Sender<()>),
) -> impl Stream<Item = Result<&'static str, Infallible>> {
    unfold(source, async |(mut chunks, alive)| Some((Ok(chunks.recv().await?), (chunks, alive))))
}

#[tokio::test]
async fn each_chunk_arrives_before_the_next_is_made() {
    let (app, chunks, _dropped) = by_hand();
    let server = Server::start(app).await;
    let mut client = server.send(BROWSER).await;
    for chunk in ["data: A\n\n", "data: B", "\n\n", "event: e", "nd\n"] {
        chunks.send(chunk).unwrap();
        client.until(chunk).await;
    }
    chunks.send("data: {}\n\n").unwrap();
    drop(chunks);
    let body = client.response().await.body;
    assert!(body.starts_with(": llm-rum {\"ttft_ms\":"), "{body}");
    let (_, last) = body.split_once("event: end\ndata: {}\n\n").unwrap();
    assert!(last.starts_with(": llm-rum {\"generation_ms\":"), "{body}");
}

#[tokio::test]
async fn a_client_that_leaves_drops_the_source() {
    for sent in [None, Some("data: A\n\ndata: B"), Some("data: A\n\ndata: [DONE]\n\n")] {
        let (app, chunks, dropped) = by_hand();
        let server = Server::start(app).await;
        let mut client = server.send(BROWSER).await;
        client.until("\r\n\r\n").await;
        if let Some(sent) = sent {
            chunks.send(sent).unwrap();
            client.until(sent.rsplit('\n').find(|line| !line.is_empty()).unwrap()).await;
        }
        drop(client);
        assert!(dropped.await.is_err(), "{sent:?}");
        // It was not dropped because it had ended.
        assert!(chunks.is_closed());
    }
}

#[tokio::test]
async fn only_commented_bodies_lose_their_length() {
    let chat = async || event_stream(Body::from("data: A\n\n"));
    let server = Server::start(app(chat)).await;
    let plain = server.send("").await.response().await;
    assert!(plain.head.contains("content-length: 9"), "{}", plain.head);
    assert_eq!(plain.body, "data: A\n\n");
    let commented = server.send(BROWSER).await.response().await;
    assert!(!commented.head.contains("content-length"), "{}", commented.head);
    assert!(commented.body.ends_with("}\n\ndata: A\n\n"), "{}", commented.body);
}

#[tokio::test]
async fn curl_reads_the_bytes_of_the_app() {
    let (app, chunks, _dropped) = by_hand();
    let server = Server::start(app).await;
    let events = ["id: 7\ndata: A\n\n", "data: B\n\n", "data: [DONE]\n\n"];
    events.iter().for_each(|event| chunks.send(event).unwrap());
    drop(chunks);
    assert_eq!(server.curl().await, events.concat());
}

/// Data, then trailers.
struct WithTrailers(Option<&'static str>, Option<HeaderMap>);

impl http_body::Body for WithTrailers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.0.take().map(|text| Frame::data(Bytes::from_static(text.as_bytes())));
        Poll::Ready(data.or_else(|| self.1.take().map(Frame::trailers)).map(Ok))
    }
}

#[tokio::test]
async fn trailers_arrive_behind_the_last_comment() {
    let chat = async || {
        let trailers = HeaderMap::from_iter([("x-tokens".parse().unwrap(), "2".parse().unwrap())]);
        let body = Body::new(WithTrailers(Some("data: A\n\ndata: B\n\n"), Some(trailers)));
        ([("trailer", "x-tokens")], event_stream(body))
    };
    let server = Server::start(app(chat)).await;
    let response = server.send(BROWSER).await.response().await;
    assert!(response.body.ends_with("data: B\n\n: llm-rum {\"generation_ms\":0}\n\n"), "{}", response.body);
    assert_eq!(response.trailers, "x-tokens: 2");
}

#[tokio::test]
async fn a_spawned_task_marks_by_the_handlers_value() {
    let chat = async || {
        let marks = Marks::current().expect("a browser asks");
        let (chunks, source) = mpsc::unbounded_channel();
        let (alive, _) = oneshot::channel();
        tokio::spawn(async move {
            assert!(Marks::current().is_none());
            chunks.send("data: A\n\n").unwrap();
            marks.mark(None, Some(431));
            chunks.send("data: [DONE]\n\n").unwrap();
        });
        event_stream(Body::from_stream(stream_of((source, alive))))
    };
    let server = Server::start(app(chat)).await;
    let body = server.send(BROWSER).await.response().await.body;
    // The first comment has it if the task is that quick.
    assert!(body.contains("\"output_tokens\":431}\n\n"), "{body}");
}

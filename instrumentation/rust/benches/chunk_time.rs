//! Time that the layer adds to a chunk: `cargo bench -p llm-rum-tower`. The same stream is read with and without the
//! layer. Of each chunk the shortest time counts, which leaves out other programs' work.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use llm_rum_tower::LlmRumLayer;
use serde_json::json;
use tower::{Layer, Service, service_fn};

fn main() {
    measure("Chat Completions", 20_000, chat);
    measure("Anthropic Messages", 20_000, messages);
    measure("an event of 4 kB", 20_000, |_| event(&"x".repeat(4000)));
    measure("half an event per chunk", 20_000, |index| {
        let event = chat(index / 2);
        let (first, second) = event.split_at(event.len() / 2);
        if index % 2 == 0 { first.to_owned() } else { second.to_owned() }
    });
    measure("ten events per chunk", 2_000, |index| (index..index + 10).map(chat).collect());
}

fn chat(index: usize) -> String {
    event(&format!(" word{index}"))
}

fn event(text: &str) -> String {
    let delta = json!({ "content": text, "role": null, "tool_calls": null });
    let chunk = json!({
        "id": "chatcmpl-8f2a3b5e6d7c4a1b9e0f",
        "object": "chat.completion.chunk",
        "created": 1_796_000_000,
        "model": "large-instruct",
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }],
    });
    format!("data: {chunk}\n\n")
}

fn messages(index: usize) -> String {
    let delta = json!({ "type": "text_delta", "text": format!(" w{index}") });
    let data = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    format!("event: content_block_delta\ndata: {data}\n\n")
}

fn measure(name: &str, chunks: usize, chunk: impl Fn(usize) -> String) {
    let chunks: Vec<Bytes> = (0..chunks).map(|index| chunk(index).into()).collect();
    let size = chunks[0].len();
    let [with, without] = [true, false].map(|is_browser| {
        let runs = (0..RUNS).map(|_| times(&chunks, is_browser));
        let mut times = runs.reduce(shortest).expect("some runs");
        times.sort_unstable();
        move |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e6
    });
    println!(
        "{name:<24} {size:>5} bytes  p50 {:.2} µs  p99 {:.2} µs, for other clients p99 {:.2} µs",
        with(50),
        with(99),
        without(99)
    );
}

fn shortest(one: Vec<Duration>, other: Vec<Duration>) -> Vec<Duration> {
    one.into_iter().zip(other).map(|(one, other)| one.min(other)).collect()
}

/// Of each chunk of one stream.
fn times(chunks: &[Bytes], is_browser: bool) -> Vec<Duration> {
    let app = service_fn(|_| {
        let chunks = chunks.to_vec();
        let response = Response::builder().header("content-type", "text/event-stream");
        std::future::ready(Ok::<_, Infallible>(response.body(Chunks(chunks.into_iter())).unwrap()))
    });
    let header = if is_browser { "sec-fetch-site" } else { "user-agent" };
    let request = Request::builder().header(header, "same-origin").body(()).unwrap();
    let response = pin!(LlmRumLayer::new().layer(app).call(request));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(response)) = response.poll(&mut context) else { panic!("the app answers at once") };
    let mut body = pin!(response.into_body());
    let read = |_: &Bytes| {
        let begun = Instant::now();
        let frame = black_box(body.as_mut().poll_frame(&mut context));
        let time = begun.elapsed();
        drop(frame);
        time
    };
    chunks.iter().map(read).collect()
}

/// A body that always has its next chunk.
struct Chunks(std::vec::IntoIter<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
    }
}

const RUNS: usize = 7;

//! A chat whose stream has the server's time.

use std::convert::Infallible;

use axum::Router;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::post;
use futures_util::stream::{self, Stream, StreamExt};
use llm_rum_tower::{LlmRumLayer, mark};
use serde_json::json;
use tokio::net::TcpListener;

pub(crate) fn app() -> Router {
    // A layer that is added later is further outside, and its time does not count.
    Router::new().route("/chat", post(chat)).layer(LlmRumLayer::new())
}

async fn chat() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    mark(Some(0.0), None); // optional: the milliseconds in a queue
    let delta = |text| json!({ "choices": [{ "delta": { "content": text } }] }).to_string();
    let deltas = stream::iter(["Hello", " you"].map(delta));
    let end = stream::once(async {
        mark(None, Some(2)); // optional: the number of output tokens
        "[DONE]".to_owned()
    });
    let events = deltas.chain(end).map(|data| Ok(Event::default().data(data)));
    Sse::new(events).keep_alive(KeepAlive::default())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, app()).await
}

//! Chat over WebSocket: each text is a question, and each event of the response is sent as one text.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::{StreamExt, pin_mut};
use serde::Deserialize;
use tokio::time::Instant;

use crate::api::Api;
use crate::llm::asked;
use crate::play::play;
use crate::script::plan;
use crate::site::Site;

/// `/llm/{scenario}/socket`: responds to each text that names a model. Closes the socket after a response
/// without an end marker.
pub(crate) async fn answer(
    State(site): State<Arc<Site>>,
    Path(segment): Path<String>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade.max_message_size(MAX_QUESTION).on_upgrade(async move |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            let Message::Text(text) = message else { continue };
            let whole = match serde_json::from_str(&text) {
                Ok(Question { model }) => tell(&site, &mut socket, &segment, &model, text.len()).await,
                Err(_) => false,
            };
            if !whole {
                return;
            }
        }
    })
}

#[derive(Deserialize)]
struct Question {
    model: String,
}

/// Sends a response and returns whether its end marker was sent.
async fn tell(site: &Site, socket: &mut WebSocket, segment: &str, model: &str, bytes: usize) -> bool {
    let Ok((scenario, asked)) = asked(site, segment, model, bytes) else { return false };
    let recorder = site.log.open("web_socket", segment, Instant::now());
    let seed = site.seed.wrapping_add(recorder.seq());
    let plan = plan(&scenario, Api::OpenaiChat, &asked, seed);
    recorder.headers(plan.status, plan.id.clone());
    let body = play(plan, recorder, site.timings_of_page());
    pin_mut!(body);
    let mut whole = false;
    loop {
        tokio::select! {
            chunk = body.next() => match chunk {
                // Leaves out SSE comments: a socket has none.
                Some(Ok(chunk)) => for event in data(&chunk) {
                    whole = event == END_MARKER;
                    if socket.send(event.into()).await.is_err() {
                        return false;
                    }
                },
                Some(Err(_)) => return false,
                None => {
                    if !whole && socket.send(Message::Close(None)).await.is_ok() {
                        // A proper close before the end marker: waits for the client to close as well.
                        while let Some(Ok(_)) = socket.recv().await {}
                    }
                    return whole;
                }
            },
            // A client sends nothing during a response, so a message means that it has left. After the end
            // marker a message may be the next question, so it must stay unread.
            _ = socket.recv(), if !whole => return false,
        }
    }
}

/// The texts of the events in a write, which contains whole events.
fn data(chunk: &[u8]) -> impl Iterator<Item = &str> {
    let text = str::from_utf8(chunk).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("data: "))
}

const END_MARKER: &str = "[DONE]";

/// Enough for the prompt of a demo chat.
const MAX_QUESTION: usize = 1 << 20;

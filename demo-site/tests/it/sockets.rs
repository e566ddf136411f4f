//! Answers over WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::Demo;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_right_after_a_response_gets_an_answer() {
    let demo = Demo::start().await;
    let url = format!("ws://{}/llm/normal;first=0;gap=0;deltas=2/socket", demo.address);
    let (mut socket, _) = connect_async(url).await.unwrap();
    for asked in 0..500 {
        socket.send(Message::text(json!({ "model": "demo" }).to_string())).await.unwrap();
        loop {
            let event = socket.next().await;
            let event =
                event.and_then(Result::ok).unwrap_or_else(|| panic!("question {asked} is not answered"));
            assert!(event.is_text(), "question {asked} is not answered: {event}");
            if event.to_text().unwrap() == "[DONE]" {
                break;
            }
        }
    }
}

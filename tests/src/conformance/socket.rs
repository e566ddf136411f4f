//! The suite's WebSocket: what a page sends comes back, and some words make the server do something else.

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::request::Request;

/// Speaks with a page until either closes. `close CODE REASON` has the server close with these, `drop` end
/// the connection without a word.
pub(super) async fn speak(mut socket: TcpStream, request: &Request) -> Result<()> {
    let key = request.header("sec-websocket-key").context("the page asks for no socket")?;
    let mut head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {}\r\n",
        derive_accept_key(key.as_bytes())
    );
    if let Some(offered) = request.header("sec-websocket-protocol") {
        head +=
            &format!("sec-websocket-protocol: {}\r\n", offered.split(',').next().unwrap_or_default().trim());
    }
    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    let mut socket = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
    while let Some(message) = socket.next().await {
        match message? {
            Message::Text(text) if text == "drop" => return Ok(()),
            Message::Text(text) => match close_frame(&text) {
                Some(frame) => socket.close(Some(frame)).await?,
                None => socket.send(Message::Text(text)).await?,
            },
            Message::Binary(bytes) => socket.send(Message::Binary(bytes)).await?,
            // The protocol's own, which the library answers.
            _ => {}
        }
    }
    Ok(())
}

fn close_frame(text: &str) -> Option<CloseFrame> {
    let (code, reason) = text.strip_prefix("close ")?.split_once(' ')?;
    Some(CloseFrame { code: code.parse::<u16>().ok()?.into(), reason: reason.into() })
}

//! A connection that posts prepared beacons over a raw socket, so that a client takes as little as possible
//! of the processors that it shares with the server.

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection, one request after the other.
pub struct Wire {
    socket: TcpStream,
    answer: [u8; 4096],
}

impl Wire {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn connect(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, answer: [0; 4096] })
    }

    /// Sends a whole request and waits for its 204.
    ///
    /// # Errors
    /// When the answer is another, or none.
    pub async fn post(&mut self, request: &[u8]) -> Result<()> {
        self.socket.write_all(request).await?;
        let mut filled = 0;
        while !self.answer[..filled].ends_with(b"\r\n\r\n") {
            let read = self.socket.read(&mut self.answer[filled..]).await?;
            ensure!(read > 0, "the server closed the connection");
            filled += read;
        }
        let said = &self.answer[..filled];
        ensure!(said.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(said));
        Ok(())
    }
}

//! `llm-rum mcp`: a read-only server of the Model Context Protocol over standard input and output. Its tools ask the
//! query routes of a running collector and answer in words.

mod answer;
mod argument;
mod collector_client;
mod explain_text;
mod figures;
mod series_text;
mod server;
mod slo_text;
mod summary_text;
#[cfg(test)]
mod tests;
mod tool;

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinError;

use self::collector_client::CollectorClient;
use self::server::McpServer;
use crate::config::secret::Secret;

pub use self::collector_client::AddressError;

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The collector's address or the token cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The client sent something else first.
    #[error("the MCP client did not begin as the protocol asks")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The task of the server panicked.
    #[error("the server stopped")]
    Stopped(#[from] JoinError),
}

/// Serves the tools on standard input and output until the client closes them.
///
/// # Errors
/// If the URL or the token is not valid, or the client does not speak the protocol.
pub async fn mcp(url: &str, token: Option<&Secret>) -> Result<(), McpError> {
    let (input, output) = stdio();
    serve(McpServer::new(CollectorClient::new(url, token)?), input, output).await
}

async fn serve(
    server: McpServer,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(MAX_LINE_BYTES);
    let running = match serve_server(server, transport).await {
        Ok(running) => running,
        // A client that leaves before it asks is no mistake.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(McpError::Handshake(error.into())),
    };
    running.waiting().await?;
    Ok(())
}

/// Longest message of a client. Calls of the tools have a few hundred bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

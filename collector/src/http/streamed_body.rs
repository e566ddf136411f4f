//! The body of a response that is written while it is sent. The client's pace sets the writer's.

use std::io;

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc::Receiver;

/// A body of these chunks. An error breaks the response off, so that no client takes it for whole.
pub(crate) fn streamed(chunks: Receiver<io::Result<Bytes>>) -> Body {
    let chunks = stream::unfold(chunks, async |mut chunks: Receiver<io::Result<Bytes>>| {
        chunks.recv().await.map(|chunk| (chunk, chunks))
    });
    // Compression polls again after the end.
    Body::from_stream(chunks.fuse())
}

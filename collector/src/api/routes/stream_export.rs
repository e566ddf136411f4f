//! `GET /v1/streams.parquet` and `GET /v1/streams.ndjson`: all kept streams of a range, as a file for other programs.
//! Columns: `docs/stream-rows.md`.

mod stream_file;

use std::io;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

pub(in crate::api) use self::stream_file::ExportFormat;
use self::stream_file::{ChunkSender, StreamFile};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::{ApiError, Reason};
use crate::http::streamed_body::streamed;
use crate::rows::parquet_reader::FieldsRead;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::KeptQuery;

query! {
    /// Parameters of the routes.
    StreamExportQuery {
        range: AskedRange,
        filter: Filter,
    }
}

/// Handles `/v1/streams.parquet`.
pub(crate) async fn streams_parquet(
    State(state): State<ApiState>,
    Query(query): Query<StreamExportQuery>,
) -> Result<Response, ApiError> {
    export(state, query, ExportFormat::Parquet).await
}

/// Handles `/v1/streams.ndjson`.
pub(crate) async fn streams_ndjson(
    State(state): State<ApiState>,
    Query(query): Query<StreamExportQuery>,
) -> Result<Response, ApiError> {
    export(state, query, ExportFormat::Ndjson).await
}

/// Sends the file while it is written, so that its length does not matter. The client's pace sets the writer's.
async fn export(
    state: ApiState,
    query: StreamExportQuery,
    format: ExportFormat,
) -> Result<Response, ApiError> {
    let range = query.range.at_present(&state);
    let (begin, begun) = oneshot::channel();
    let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
    let write = move |store: &Backend<'_>| write(store, range, &query, format, begin, &sender);
    let written = tokio::spawn(state.reader.run_export(write));
    let Ok(kept_since_ms) = begun.await else {
        let failed = written.await.ok().and_then(Result::err);
        let unexplained = || ApiError::new(Reason::Internal, "the export ended before it began");
        return Err(failed.map_or_else(unexplained, ApiError::from));
    };
    let headers = [(CONTENT_TYPE, format.content_type()), (CONTENT_DISPOSITION, format.disposition())];
    let mut response = (headers, streamed(chunks)).into_response();
    if let Some(since_ms) = kept_since_ms {
        response.headers_mut().insert(KEPT_SINCE, HeaderValue::from(since_ms));
    }
    Ok(response)
}

/// Writes the file. After an error the response is cut off, so that no client takes it for whole.
fn write(
    store: &Backend<'_>,
    range: Range,
    StreamExportQuery { filter, .. }: &StreamExportQuery,
    format: ExportFormat,
    begin: oneshot::Sender<Option<i64>>,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> Result<(), StoreError> {
    // Writing fails if the client is gone. Then all further steps do nothing.
    let mut file = StreamFile::new(format, ChunkSender::new(sender.clone()));
    let begin = |kept_since_ms: Option<i64>| {
        let _ = begin.send(kept_since_ms.filter(|since_ms| *since_ms > range.from_ms));
    };
    let (minutes, fields) = (range.minutes(), FieldsRead::All);
    let asked = KeptQuery { filter, minutes, most_in_files: u64::MAX, ttft_ms: None, fields };
    let read = store.each_kept(asked, begin, |stream| file.add(stream));
    let written = if read.is_ok() { file.finish() } else { Ok(()) };
    if let Err(error) = &written
        && !sender.is_closed()
    {
        warn!(%error, "Cannot write an export of streams");
    }
    if read.is_err() || written.is_err() {
        let _ = sender.blocking_send(Err(io::Error::other("the export failed")));
    }
    read
}

/// Time since which all reports are kept, in milliseconds since 1970. Absent if the whole range is kept.
const KEPT_SINCE: HeaderName = HeaderName::from_static("llm-rum-kept-since-ms");

/// Chunks that are ready before the client reads them.
const CHUNKS_AHEAD: usize = 4;

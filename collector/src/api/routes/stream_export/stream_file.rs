//! A file of streams that is sent while it is written.

use std::io::{self, BufWriter, Write};

use axum::body::Bytes;
use tokio::sync::mpsc;

use crate::aggregate::dimension::Dimension;
use crate::api::routes::streams::with_arrival;
use crate::rows::column::{StreamRow, columns};
use crate::rows::parquet_writer::ParquetWriter;
use crate::store::query::{KeptStream, StoredStream};

/// Format of an exported file.
#[derive(Clone, Copy)]
pub(in crate::api) enum ExportFormat {
    Parquet,
    /// One JSON object per line.
    Ndjson,
}

impl ExportFormat {
    pub(in crate::api) const fn content_type(self) -> &'static str {
        match self {
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    /// Value of `Content-Disposition`.
    pub(super) const fn disposition(self) -> &'static str {
        match self {
            Self::Parquet => "attachment; filename=\"llm-rum-streams.parquet\"",
            Self::Ndjson => "attachment; filename=\"llm-rum-streams.ndjson\"",
        }
    }
}

/// The file, or the error that ended it.
pub(super) struct StreamFile(io::Result<Format>);

enum Format {
    Parquet(Box<ParquetWriter<ChunkSender>>),
    Ndjson(BufWriter<ChunkSender>),
}

impl StreamFile {
    pub(crate) fn new(format: ExportFormat, sender: ChunkSender) -> Self {
        Self(match format {
            ExportFormat::Parquet => ParquetWriter::new(sender, &columns())
                .map(Box::new)
                .map(Format::Parquet)
                .map_err(io::Error::other),
            ExportFormat::Ndjson => Ok(Format::Ndjson(BufWriter::with_capacity(LINES_BYTES, sender))),
        })
    }

    /// Adds a stream, unless an error has ended the file.
    pub(super) fn add(&mut self, stream: &KeptStream<'_>) {
        if let Ok(format) = &mut self.0
            && let Err(error) = format.add(stream)
        {
            self.0 = Err(error);
        }
    }

    /// Sends the rest. An error says that the file is not whole.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.0? {
            Format::Parquet(writer) => writer.finish().map(drop).map_err(io::Error::other),
            Format::Ndjson(mut lines) => lines.flush(),
        }
    }
}

impl Format {
    fn add(&mut self, &KeptStream { series, report, received_ms, .. }: &KeptStream<'_>) -> io::Result<()> {
        let country = &series[Dimension::Country];
        match self {
            Self::Parquet(writer) => writer
                .add(&StreamRow { report, received_ms, country, stored: None })
                .map_err(io::Error::other),
            Self::Ndjson(lines) => {
                let json = serde_json::to_string(report)?;
                writeln!(
                    lines,
                    "{}",
                    with_arrival(&StoredStream { json, received_ms, country: country.clone() }, "")
                )
            }
        }
    }
}

/// Sends what is written to it as chunks of a response. Waits while the client is behind; fails when it is gone.
pub(super) struct ChunkSender(mpsc::Sender<io::Result<Bytes>>);

impl ChunkSender {
    pub(super) const fn new(sender: mpsc::Sender<io::Result<Bytes>>) -> Self {
        Self(sender)
    }
}

impl Write for ChunkSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LINES_BYTES: usize = 64 * 1024;

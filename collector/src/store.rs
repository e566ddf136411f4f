//! What the collector keeps on disk, in terms of the pipeline: changes, and what is loaded at the start.
//! `store/writer.rs` writes it; `store/backend.rs` answers queries, from `store/reader.rs` and
//! `store/stream_index.rs`.

mod backend;
mod checkpoint;
mod clickhouse;
mod clock_jump_guard;
mod dedup_log;
pub(crate) mod error;
mod range_cover;
mod reader;
mod rollups;
mod samples;
mod schema;
mod stream_index;
mod writer;

pub(crate) use backend::{Books, Source};
pub use clickhouse::ClickHouseError;
pub(crate) use clickhouse::{Published, Publisher, Tables};
pub(crate) use reader::{
    Dimension, Filter, RATE_MS, Reader, SeriesSnapshot, Snapshot, StoredStream, StreamsAsked, WindowsAsked,
    open as open_to_read, snapshot,
};
pub(crate) use rollups::{MinutesFrom, ROLLUP_MINUTES};
pub(crate) use samples::SamplesAsked;
pub(crate) use stream_index::Listing;
pub(crate) use writer::{FILE as STORE, JOURNAL, Writer};

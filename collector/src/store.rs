//! Persistent storage for aggregated data. `writer.rs` writes it to SQLite, `clickhouse/` publishes it for
//! several collectors, and `backend.rs` answers queries from either.

pub(crate) mod backend;
mod checkpoint;
pub(crate) mod clickhouse;
mod clock_jump_guard;
mod dedup_log;
pub(crate) mod deletion;
mod dimension_columns;
pub(crate) mod engine_minutes;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod folder_lock;
pub(crate) mod label_values;
pub(crate) mod markers;
pub(crate) mod paths;
pub(crate) mod query;
mod range_cover;
pub(crate) mod reader;
pub(crate) mod reader_pool;
pub(crate) mod rollups;
pub(crate) mod row_files;
pub(crate) mod salvage;
mod samples;
mod schema;
pub(crate) mod stream_index;
pub(crate) mod writer;
